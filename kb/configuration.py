"""`kb config`: every setting with its origin, and what the model makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from index import store
from kb import preferences
from kb.model import Model, choose
from kb.preferences import Loaded, Setting
from kb.provider import endpoint
from kb.settings import Settings
from kb.wire import ConfigAnswer, SettingValue
from models.errors import ModelError
from models.service import shown


def describe(data_dir: Path, loaded: Loaded, environ: Mapping[str, str]) -> ConfigAnswer:
    warnings = [_meaningless(name) for name in preferences.unknown_variables(environ)]
    model: Model | None = None
    try:
        model = choose(
            loaded.settings.embedding,
            store.model_of(data_dir, loaded.settings.storage.lock_timeout_s),
            data_dir=data_dir,
        )
    except ModelError as error:
        warnings.append(f"{error.message} {error.hint}")
    return ConfigAnswer(
        data_dir=str(data_dir),
        settings=tuple(_value(setting, model, loaded.settings) for setting in preferences.table(loaded)),
        warnings=tuple(warnings),
    )


def _meaningless(name: str) -> str:
    known = [variable for row in preferences.variables().values() for variable in row]
    similar = get_close_matches(name, known, 1)
    return f"{name} is no setting; did you mean {similar[0]}?" if similar else f"{name} is no setting"


def _value(setting: Setting, model: Model | None, loaded: Settings) -> SettingValue:
    value, note = setting.value, ""
    sent_to = endpoint(loaded.embedding)
    if setting.key in {"embedding.url", "search.rerank_url"}:
        value = shown(value)
    if setting.key == "embedding.provider" and sent_to:
        note = f"all texts and queries are sent to {sent_to}"
    if model is not None:
        if setting.key == "embedding.model" and value is None:
            value, note = model.spec.name, "the store's own model, or the default where there is no store"
        if setting.key.startswith("chunking") and setting.key.endswith("max_tokens") and value > model.room():
            note = f"capped at {model.room()}, what {model.spec.name} sees of a text"
    return SettingValue(key=setting.key, value=value, origin=setting.origin, variable=setting.variable, note=note)
