"""Init: make the store, and fetch the model it is to be built with. The only use case that may touch the network."""

from __future__ import annotations

from pathlib import Path

from index import store
from kb.add import built_with
from kb.jobs import docling_folder
from kb.model import choose
from kb.settings import Settings
from kb.wire import InitAnswer
from models.errors import ModelMissing
from models.known import resolve
from models.locate import locate


def init(data_dir: Path, settings: Settings, name: str | None, *, docling: bool = False) -> InitAnswer:
    """Raises HubUnreachable, ModelMissing, ModelUnusable. A model that is here already is not fetched again."""
    built = built_with(data_dir, settings)
    wanted = resolve(name) if name else choose(settings.embedding, built).spec.name
    try:
        files = locate(wanted)
    except ModelMissing:
        from models.fetch import fetch

        files = fetch(wanted)
    if docling:
        from kb.read.pdf import prefetch

        prefetch(docling_folder(data_dir))
    model = choose(settings.embedding, built, files.spec.name)
    if built is None:
        store.create(data_dir, model.built_with, settings.storage.lock_timeout_s)
    warnings = []
    if built is not None and built.model_name != model.spec.name:
        warnings.append(
            f"the store was built with {built.model_name}: kb reindex --model {model.spec.name} switches it"
        )
    return InitAnswer(
        data_dir=str(data_dir), model=model.spec.name, model_path=str(files.onnx), created=built is None,
        warnings=tuple(warnings),
    )  # fmt: skip
