"""What can be wrong with a store.

StoreError              always carries a hint: what to do
├── StoreMissing        there is no store in this folder
├── StoreLocked         another process is writing, and did not finish in time
├── StoreTooNew         written by a newer kb
├── StoreDamaged        kb.db itself cannot be read
├── DiskFault           the disk of the store is full, fails, or may not be written
└── ModelMismatch       built with another embedding model than the one configured
"""

from __future__ import annotations


class StoreError(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ProjectionDamaged(Exception):
    """The matrix or the lexical index cannot be used; caught within `index`, where it is made anew from `kb.db`."""


class StoreMissing(StoreError):
    pass


class StoreLocked(StoreError):
    pass


class StoreTooNew(StoreError):
    pass


class StoreDamaged(StoreError):
    pass


class DiskFault(StoreError):
    pass


class ModelMismatch(StoreError):
    pass
