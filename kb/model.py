"""Which embedding model is meant, and its parts as the use cases need them.

The configuration's model, else the one the store was built with, else the default. Loading is left until a vector is
needed: counting tokens does not need onnxruntime, and a missing model need not stop a keyword search.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from index.store import BuiltWith
from kb.caller import caller
from kb.settings import Embedding
from models.checksum import identified, verify
from models.errors import ModelMissing
from models.known import DEFAULT_MODEL, resolve
from models.locate import ModelFiles, is_folder, locate, spec_of
from models.spec import ModelSpec, content_in
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

    def load(self, data_dir: Path, *, for_queries: bool = False) -> Embedder:
        """The session, 150 ms and 140 MB for the default model. Raises ModelMissing, ModelDamaged, ModelUnusable.

        Only for queries do its threads spin (`embedding.spinning`): passages are embedded beside processes that read.
        """
        files = msgspec.structs.replace(locate(self.spec.name), spec=self.spec)
        status = files.onnx.stat()
        state = status.st_ino, status.st_size, status.st_mtime_ns
        return _session(files, data_dir, self.settings.threads, for_queries and self.settings.spinning, state)


@lru_cache(maxsize=2)
def _session(files: ModelFiles, data_dir: Path, threads: int, spinning: bool, _state: tuple[int, int, int]) -> Embedder:
    """Checked and loaded once in a process, as long as the file stays as it is."""
    from models.embedder import Embedder

    verify(files, data_dir / "run" / "model-checked.json")
    return Embedder.load(files, threads=threads, spinning=spinning)


def choose(
    settings: Embedding, built: BuiltWith | None, name: str | None = None, *, data_dir: Path | None = None
) -> Model:
    """The model in force; `name` overrides the settings. What a folder's files hold is remembered below `data_dir`.

    Raises ModelMissing only where not even the model's numbers are known: an unknown name whose files are not here.
    """
    wanted = one_name(name or settings.model or (built.model_name if built else DEFAULT_MODEL))
    missing = None
    try:
        files = identified(locate(wanted), data_dir and data_dir / "run" / "model-folder.json")
        spec, tokenizer = files.spec, files.tokenizer
    except ModelMissing as error:
        missing = f"{error.message} {error.hint}"
        spec, tokenizer = _numbers(wanted, built), shipped_tokenizer()
    return Model(spec.with_prefixes(settings.query_prefix, settings.passage_prefix), tokenizer, missing, settings)


def one_name(name: str) -> str:
    """The name by which a store knows a model, however it was written: a folder has one even when it is gone."""
    return str(Path(caller().absolute(name)).resolve()) if is_folder(name) else resolve(name)


def shipped_tokenizer() -> Path:
    import models

    return Path(next(iter(models.__path__))) / DEFAULT_MODEL / "tokenizer.json"


def _numbers(name: str, built: BuiltWith | None) -> ModelSpec:
    if built and built.model_name == name:
        return ModelSpec(
            name=name, dim=built.embedding_dim, max_tokens=built.model_max_tokens, pooling="mean",
            content=content_in(built.model_key, name),
        )  # fmt: skip
    return spec_of(name)
