"""Which embedding model is meant, and its parts as the use cases need them.

The configuration's model, else the one the store was built with, else the default. Loading is left until a vector is
needed: counting tokens does not need onnxruntime, and a missing model need not stop a keyword search.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from index.store import BuiltWith
from kb.settings import Embedding
from models.errors import ModelMissing
from models.known import DEFAULT_MODEL, resolve
from models.locate import is_folder, locate, spec_of
from models.spec import ModelSpec
from models.tokenizer import TokenCounter

if TYPE_CHECKING:
    from models.embedder import Embedder


class Model(msgspec.Struct, frozen=True):
    """A model by its numbers; its files may be missing."""

    spec: ModelSpec
    tokenizer: Path
    """Of the model, or the default's where the model's own is not here: then sizes are near, not exact."""
    missing: str | None = None
    """Why no vector can be made, with the command that mends it; None if the files are here."""
    settings: Embedding = Embedding()

    @property
    def built_with(self) -> BuiltWith:
        return BuiltWith(
            model_name=self.spec.name,
            model_key=self.spec.key,
            embedding_dim=self.spec.dim,
            model_max_tokens=self.spec.max_tokens,
        )

    def room(self) -> int:
        """Tokens of text that the model sees, special tokens and passage prefix left out."""
        return TokenCounter.load(self.tokenizer).room(self.spec)

    def load(self, data_dir: Path) -> Embedder:
        """The session, 150 ms and 80 MB for the default model. Raises ModelMissing, ModelDamaged, ModelUnusable."""
        from models.checksum import verify
        from models.embedder import Embedder

        files = locate(self.spec.name).with_prefixes(self.spec.query_prefix, self.spec.passage_prefix)
        verify(files, data_dir / "run" / "model-checked.json")
        return Embedder.load(files, threads=self.settings.threads, spinning=self.settings.spinning)


def choose(settings: Embedding, built: BuiltWith | None, name: str | None = None) -> Model:
    """The model in force; `name` overrides the settings.

    Raises ModelMissing only where not even the model's numbers are known: an unknown name whose files are not here.
    """
    wanted = resolve(name or settings.model or (built.model_name if built else DEFAULT_MODEL))
    if is_folder(wanted):  # its one name, by which a store still knows it when the folder is gone
        wanted = str(Path(wanted).expanduser().resolve())
    missing = None
    try:
        files = locate(wanted)
        spec, tokenizer = files.spec, files.tokenizer
    except ModelMissing as error:
        missing = f"{error.message} {error.hint}"
        spec, tokenizer = _numbers(wanted, built), shipped_tokenizer()
    return Model(spec.with_prefixes(settings.query_prefix, settings.passage_prefix), tokenizer, missing, settings)


def shipped_tokenizer() -> Path:
    import models

    return Path(next(iter(models.__path__))) / DEFAULT_MODEL / "tokenizer.json"


def _numbers(name: str, built: BuiltWith | None) -> ModelSpec:
    if built and built.model_name == name:
        return ModelSpec(name=name, dim=built.embedding_dim, max_tokens=built.model_max_tokens, pooling="mean")
    return spec_of(name)
