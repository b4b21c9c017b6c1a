"""What can go wrong with a model.

ModelError              something about a model that the user can act on; carries a hint
├── ModelMissing        its files are not on this machine
├── ModelDamaged        a file is there, and is not what it should be
├── ModelUnusable       its files are whole, and this program cannot run such a model
├── HubUnreachable      the hub did not answer while a model was being fetched
├── EmbedderFailed      a service that makes vectors did not answer as it should
└── RerankerFailed      a reranker on another machine did not answer as it should
"""

from __future__ import annotations


class ModelError(Exception):
    """One line that says what is wrong, and one that says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ModelMissing(ModelError):
    pass


class ModelDamaged(ModelError):
    pass


class ModelUnusable(ModelError):
    pass


class HubUnreachable(ModelError):
    pass


class EmbedderFailed(ModelError):
    pass


class RerankerFailed(ModelError):
    pass
