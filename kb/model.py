"""Which embedding model is meant, and its parts as the use cases need them.

The configuration's model, else the one the store was built with, else the default. Loading is left until a vector is
needed: counting tokens does not need onnxruntime, and a missing model need not stop a keyword search.

The model of a service is named `PROVIDER:NAME`, and so are its vectors: a switch of either is a switch of models. The address is
not part of it, since the same model may be served elsewhere. A store that was built by a service is never reason enough to send
anything there: that takes `embedding.provider`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from index.builtwith import BuiltWith
from kb import provider
from kb.caller import caller
from kb.provider import service_of
from kb.settings import Embedding
from models.checksum import identified, verify
from models.errors import ModelMissing, ModelUnusable
from models.known import DEFAULT_MODEL, resolve
from models.locate import ModelFiles, is_folder, locate, spec_of
from models.spec import ModelSpec, content_in
from models.tokenizer import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from models.embedder import Embedder as LocalEmbedder


class Embedder(Protocol):
    """What makes vectors, on this machine or by a service. Raises ModelError."""

    def embed_passages(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Unit rows, float32 (len(texts), dim), in their order; a row that is none belongs to a text that cannot be embedded."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, float32 (dim,)."""
        ...


class Model(msgspec.Struct, frozen=True):
    """A model by its numbers; its files may be missing."""

    spec: ModelSpec
    tokenizer: Path
    """Of the model, or the default's where the model's own is not here: then sizes are near, not exact."""
    missing: str | None = None
    """Why no vector can be made, with the command that mends it; None if the files are here."""
    settings: Embedding = Embedding()
    endpoint: str = ""
    """Where its texts and queries are sent; empty: they stay on this machine."""
    files: ModelFiles | None = None
    """Where they were found; None if they are not here."""

    @property
    def built_with(self) -> BuiltWith:
        return BuiltWith(
            model_name=self.spec.name,
            model_key=self.spec.key,
            embedding_dim=self.spec.dim,
            model_max_tokens=self.spec.max_tokens,
            windows=self.settings.windows,
        )

    def room(self) -> int:
        """Tokens of text that the model sees, special tokens and passage prefix left out."""
        return TokenCounter.load(self.tokenizer).room(self.spec)

    def load(self, data_dir: Path, *, for_queries: bool = False) -> Embedder:
        """The session, 150 ms and 140 MB for the default model. Raises ModelMissing, ModelDamaged, ModelUnusable.

        Only for queries do its threads spin (`embedding.spinning`): passages are embedded beside processes that read.
        """
        if self.missing and self.endpoint:
            raise ModelMissing(self.missing)
        if self.endpoint:
            return provider.embedder(self.spec, self.settings, for_queries=for_queries)
        files = msgspec.structs.replace(self.files or locate(self.spec.name), spec=self.spec)
        status = files.onnx.stat()
        state = status.st_ino, status.st_size, status.st_mtime_ns
        settings = self.settings
        how = settings.threads, for_queries and settings.spinning, settings.device
        return _session(files, data_dir, how, for_queries, state)


@lru_cache(maxsize=2)
def _session(
    files: ModelFiles, data_dir: Path, how: tuple[int, bool, str], for_queries: bool, _state: tuple[int, int, int]
) -> LocalEmbedder:
    """Checked and loaded once in a process, as long as the file stays as it is."""
    from models.embedder import Embedder

    verify(files, data_dir / "run" / "model-checked.json")
    threads, spinning, device = how
    return Embedder.load(files, threads=threads, spinning=spinning, for_queries=for_queries, device=device)


def choose(
    settings: Embedding, built: BuiltWith | None, name: str | None = None, *, data_dir: Path | None = None
) -> Model:
    """The model in force; `name` overrides the settings. What a folder's files hold is remembered below `data_dir`.

    Raises ModelMissing only where not even the model's numbers are known: an unknown name whose files are not here; and
    ModelUnusable where name and provider do not fit.
    """
    if settings.provider != "onnx":
        spec = provider.spec_of(settings, built, name)
        return Model(spec, shipped_tokenizer(), provider.unaskable(settings), settings, provider.endpoint(settings))
    own = built.model_name if built and not service_of(built.model_name) else DEFAULT_MODEL
    wanted = one_name(name or settings.model or own)
    if service := service_of(wanted):
        raise ModelUnusable(
            f"{wanted} is the model of a service, and embedding.provider is onnx.",
            f"Set embedding.provider to {service}, which sends all texts and queries there; or name another model.",
        )
    files = missing = None
    try:
        files = identified(locate(wanted), data_dir and data_dir / "run" / "model-folder.json")
        spec, tokenizer = files.spec, files.tokenizer
    except ModelMissing as error:
        missing = f"{error.message} {error.hint}"
        spec, tokenizer = _numbers(wanted, built), shipped_tokenizer()
    spec = spec.with_prefixes(settings.query_prefix, settings.passage_prefix)
    return Model(spec, tokenizer, missing, settings, files=files)


def one_name(name: str) -> str:
    """The name by which a store knows a model, however it was written: a folder has one even when it is gone."""
    return str(Path(caller().absolute(name)).resolve()) if is_folder(name) else resolve(name)


def means(written: str, model_name: str) -> bool:
    """Whether what is written in a configuration is the name of this model: that of a service may go without its provider."""
    return written in {model_name, as_written(model_name)} or one_name(written) == model_name


def as_written(model_name: str) -> str:
    """A model as `embedding.model` names it, beside `embedding.provider`."""
    return model_name.partition(":")[2] if service_of(model_name) else model_name


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
