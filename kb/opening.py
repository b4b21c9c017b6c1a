"""What every command and every call begins with: where the store is, and what the user prefers."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kb import envfile, preferences
from kb.caller import caller
from kb.preferences import Loaded
from kb.settings import Settings


class Setup(msgspec.Struct, frozen=True):
    """Where the store is, and what the user prefers."""

    data_dir: Path
    loaded: Loaded

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def lock_timeout_s(self) -> float:
        return self.loaded.settings.storage.lock_timeout_s


def setup(env_file: str | None = None) -> Setup:
    """For the caller. Raises BadConfig, and BadRequest for an --env-file that is not there."""
    environ = caller().environ
    folder = preferences.data_dir(environ, caller().folder)
    loaded = preferences.load(folder, environ)
    if loaded.settings.embedding.model is not None:
        from kb.switch import settled  # SQLite, numpy and tantivy, which not every command needs

        loaded = settled(folder, loaded)
    envfile.use(env_file, loaded, folder)
    return Setup(folder, loaded)
