"""A YAML file that declares sources, to what it means: `kb source import FILE`.

    sources:
      - path: notes               # relative to this file; ~ is the home folder
        name: notes               # unset: what the folder is called
        description: What I write down.
        tags: [personal]          # lists may be one word
        globs: ["*.md"]
        excludes: [drafts/]
        type: markdown
        chunker: fixed
        follow_symlinks: true
        scrub: false

Does not look whether the paths are there.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from kb.errors import BadRequest, NotFound
from kb.sourcerules import Chunker, SourceRules
from kb.sources import Declared

Words = tuple[str, ...] | str


class _Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    name: str | None = None
    description: str = ""
    tags: Words = ()
    globs: Words = ()
    excludes: Words = ()
    type: str | None = None
    chunker: Chunker | None = None
    follow_symlinks: bool = False
    scrub: bool | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[_Source, ...]


def read(path: Path) -> list[Declared]:
    """The sources that a file declares, in its order. Raises NotFound and BadRequest, which names the place in the file."""
    import yaml

    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path}: no such file", "check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise BadRequest(f"{path}: {' '.join(str(error).split())}", "correct the YAML") from error
    try:
        declared = msgspec.convert(tree, _File)
    except msgspec.ValidationError as error:
        message = str(error).replace("`$.", "`").replace("`$`", "the file")
        raise BadRequest(f"{path}: {message}", "kb source import --help shows what can be declared") from error
    return [_declared(source, path.parent) for source in declared.sources]


def _declared(source: _Source, folder: Path) -> Declared:
    rules = SourceRules(
        tags=_words(source.tags), globs=_words(source.globs), excludes=_words(source.excludes), doc_type=source.type,
        chunker=source.chunker, follow_symlinks=source.follow_symlinks, scrub=source.scrub,
    )  # fmt: skip
    # Verbatim: resolve() would rewrite symlinked paths.
    path = os.path.abspath(folder / os.path.expanduser(source.path))  # noqa: PTH100, PTH111
    return Declared(path=path, name=source.name, description=source.description, rules=rules)


def _words(said: Words) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else said
