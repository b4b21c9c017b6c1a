"""Init: make the store, and fetch the model it is to be built with. The only use case that fetches anything."""

from __future__ import annotations

from pathlib import Path

from index import store
from kb.model import choose
from kb.provider import endpoint
from kb.readjobs import docling_folder
from kb.rerank import located
from kb.settings import Settings
from kb.wire import InitAnswer
from models.errors import ModelMissing
from models.known import resolve
from models.locate import ModelFiles, locate
from models.rerankerfiles import RerankerFiles, full_name


def init(
    data_dir: Path, settings: Settings, name: str | None, *, docling: bool = False, reranker: str | None = None
) -> InitAnswer:
    """`reranker`: fetch this one too. What is here already is not fetched again.

    Raises HubUnreachable, ModelMissing, ModelUnusable.
    """
    built = store.model_of(data_dir, settings.storage.lock_timeout_s)
    path = endpoint(settings.embedding)  # of a service: there is nothing to fetch
    if not path:
        files = _files(resolve(name) if name else choose(settings.embedding, built, data_dir=data_dir).spec.name)
        name, path = files.spec.name, str(files.onnx)
    if docling:
        from kb.read.pdf import prefetch

        prefetch(docling_folder(data_dir))
    second = _reranker(reranker) if reranker else None
    model = choose(settings.embedding, built, name, data_dir=data_dir)
    if built is None:
        store.create(data_dir, model.built_with, settings.storage.lock_timeout_s)
    warnings = [model.missing] if model.missing else []
    if built is not None and built.model_name != model.spec.name:
        warnings.append(
            f"the store was built with {built.model_name}: kb reindex --model {model.spec.name} switches it"
        )
    if second is not None and second.name != full_name(settings.search.rerank_model):
        warnings.append(f"searches rerank with it when search.rerank_model (KB_RERANK_MODEL) is {second.name}")
    return InitAnswer(
        data_dir=str(data_dir), model=model.spec.name, model_path=path, created=built is None,
        reranker=second.name if second else None, reranker_path=str(second.onnx) if second else None,
        warnings=tuple(warnings),
    )  # fmt: skip


def _files(name: str) -> ModelFiles:
    try:
        return locate(name)
    except ModelMissing:
        from models.fetch import fetch

        return fetch(name)


def _reranker(name: str) -> RerankerFiles:
    try:
        return located(name)
    except ModelMissing:
        from models.fetch import fetch_reranker

        return fetch_reranker(name)
