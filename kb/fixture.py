"""Questions with the documents that answer them, from a JSON file; and which documents of a store those are.

    {"queries": [{"query": "words", "id": "q1", "type": "exact", "k": 3,
                  "relevant": ["notes/a.md", "A title", 12, {"document": "b.md", "grade": 2}]}]}

Only `query` and `relevant` must be there. A document is named by its id (a number), its path or the end of it (`dir/name`,
never a part of a name), or its title; case does not matter. qmd's fixtures are read as they are: `expected_files` are
relevant documents, `expected_in_top_k` is k. Not here: asking the questions (`kb.bench`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from index.rows import DocumentRow
from kb.errors import BadRequest, NotFound

Positive = Annotated[int, msgspec.Meta(ge=1)]
SCHEME = "qmd://"
"""qmd writes `qmd://collection/path`."""


class Graded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relevant document, and how relevant it is."""

    document: int | str
    grade: Positive = 1


class Question(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    id: str = ""
    type: str = ""
    k: Positive | None = None
    relevant: tuple[int | str | Graded, ...] = ()
    expected_files: tuple[str, ...] = ()
    expected_in_top_k: Positive | None = None

    @property
    def name(self) -> str:
        return self.id or self.query

    @property
    def cutoff(self) -> int | None:
        """The k of precision and recall, if the question has its own."""
        return self.k or self.expected_in_top_k

    @property
    def grades(self) -> dict[str, int]:
        """The grade of each relevant document, by what it is called."""
        named = [each if isinstance(each, Graded) else Graded(each) for each in (*self.relevant, *self.expected_files)]
        return {str(each.document): each.grade for each in named}


class Fixture(msgspec.Struct, frozen=True):
    queries: tuple[Question, ...]


def load(path: Path) -> Fixture:
    """Raises NotFound, and BadRequest for a file that is no fixture or has a question without an answer."""
    try:
        fixture = msgspec.json.decode(path.read_bytes(), type=Fixture)
    except FileNotFoundError:
        raise NotFound(f"no such file: {path}", "name a JSON file with queries and their relevant documents") from None
    except (OSError, msgspec.DecodeError) as error:
        raise BadRequest(f"{path}: {error}", "docs/ranking.md shows what a fixture looks like") from error
    for problem in _problems(fixture):
        raise BadRequest(f"{path}: {problem}", "docs/ranking.md shows what a fixture looks like")
    return fixture


def _problems(fixture: Fixture) -> Iterator[str]:
    if not fixture.queries:
        yield "holds no queries"
    for question in fixture.queries:
        if not question.query.strip():
            yield f"query {question.id!r} is empty"
        if not question.grades:
            yield f"query {question.name!r} names no relevant document"
    for name, count in Counter(question.name for question in fixture.queries).items():
        if count > 1:
            yield f"{count} queries are called {name!r}"


class Library:
    """The documents of a store by all that a fixture may call them."""

    def __init__(self, rows: Iterable[DocumentRow]) -> None:
        self._by_id: dict[str, DocumentRow] = {}
        self._by_title: defaultdict[str, set[int]] = defaultdict(set)
        self._by_name: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for row in rows:
            self._by_id[str(row.id)] = row
            self._by_title[row.title.casefold()].add(row.id)
            if row.source_path:
                path = _comparable(row.source_path)
                self._by_name[path.rpartition("/")[2]].append((path, row.id))

    def find(self, called: str) -> set[int]:
        """Ids of the documents called so: every version of a file, every document of a title; none where there is none."""
        if called in self._by_id:
            return {int(called)}
        wanted = _comparable(called)
        same_name = self._by_name.get(wanted.rpartition("/")[2], [])
        found = {document_id for path, document_id in same_name if f"/{path}".endswith(f"/{wanted}")}
        return found or set(self._by_title.get(called.casefold(), ()))


def _comparable(path: str) -> str:
    if path.startswith(SCHEME):
        path = path.removeprefix(SCHEME).partition("/")[2]
    return path.casefold().strip("/")
