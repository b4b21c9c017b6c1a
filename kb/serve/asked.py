"""What a client may ask for: the parameters of each operation. Types, limits and texts of the OpenAPI schema are these.

A parameter that is not here is refused. The names are those of `kb.KnowledgeBase`.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from kb.detect import supported_types
from kb.wire_jobs import State

MOST = 1_000_000_000
Top = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
BLANK = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
"""White space and what shows as nothing, written out: regular expressions of different makers differ in `\\s`."""
SEEN = f"[^{BLANK}]"
PAIR = f"^[^={BLANK}][^=]*="
RANGE = r"^[1-9][0-9]{0,8}:[1-9][0-9]{0,8}$"
MEANT = {SEEN: "something that is not blank", PAIR: "KEY=VALUE", RANGE: "FIRST:LAST, two numbers from 1"}
"""What each pattern says, for who wrote something else."""
Words = Annotated[str, msgspec.Meta(pattern=SEEN)]
Pair = Annotated[str, msgspec.Meta(pattern=PAIR)]
FileType = Annotated[str, msgspec.Meta(min_length=1, extra_json_schema={"enum": supported_types()})]
Type = Annotated[str, msgspec.Meta(extra_json_schema={"enum": sorted([*supported_types(), "note"])})]
Lines = Annotated[str, msgspec.Meta(pattern=RANGE)]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation without parameters."""


class Which(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which documents."""

    tags: tuple[Words, ...] = ()
    """Only documents that have all of these."""
    types: tuple[Type, ...] = ()
    """Only documents of any of these types."""
    path: str = ""
    """Only below this folder, or where the path matches; `*` also crosses `/`."""
    since: date | UnsetType = UNSET
    """Only documents of this day or later; of a conversation what was said then."""
    before: date | UnsetType = UNSET
    """Only documents of before this day."""
    meta: tuple[Pair, ...] = ()
    """KEY=VALUE: only documents that were given this or state it; all of them."""


class Listing(Which, frozen=True, kw_only=True, forbid_unknown_fields=True):
    top: Top = 50
    """How many on this page."""
    offset: Offset = 0
    """How many to pass over first."""


class FailureListing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    top: Top = 50
    """How many on this page."""
    offset: Offset = 0
    """How many to pass over first."""


class Likeness(Which, frozen=True, kw_only=True, forbid_unknown_fields=True):
    top: Top = 10
    """How many."""


class ChunkLikeness(Likeness, frozen=True, kw_only=True, forbid_unknown_fields=True):
    elsewhere: bool = False
    """Leave out the chunk's own document."""


class Search(Which, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: Words
    """What to look for; also what a search engine would take: "a phrase", -without."""
    also: tuple[Words, ...] = ()
    """Ask these as well, and fuse the results; `keyword:` or `semantic:` before one says how."""
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    """By words and meaning, or by one of them."""
    top: Top | UnsetType = UNSET
    """How many; unset: as the setting search.default_top says."""
    roles: tuple[Words, ...] = ()
    """Only where any of these speaks in a conversation: user, assistant or a name."""
    min_score: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Leave out what scores less."""
    group: bool = False
    """One hit a document: its best."""
    per_document: Positive | UnsetType = UNSET
    """At most so many hits a document; unset: 3, and more to fill the page."""
    rerank: bool | UnsetType = UNSET
    """Let a cross-encoder read the best hits; unset: as the setting search.rerank says."""
    explain: bool = False
    """Say how each hit came by its score."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    page: Positive | UnsetType = UNSET
    """Only this page, slide or sheet."""
    lines: Lines | UnsetType = UNSET
    """FIRST:LAST: only these lines of the file."""


class Around(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    around: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """So many chunks before and after it too."""


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    page: Positive | UnsetType = UNSET
    """Which; unset: the first."""


class Sending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Words
    """What the file is called; its ending says what it is. Of a path the last part."""
    type: FileType | UnsetType = UNSET
    """What it is read as; unset: as its name and content say."""
    title: Words | UnsetType = UNSET
    """Unset: what it states itself, else its name."""
    tags: tuple[Words, ...] = ()
    """To be given to it."""
    meta: tuple[Pair, ...] = ()
    """KEY=VALUE, to be given to it."""
    keep_original: bool = True
    """Keep the file as it is too, so that it can be had again."""


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Words
    """It becomes one passage."""
    title: Words | UnsetType = UNSET
    """Unset: how it begins."""
    tags: tuple[Words, ...] = ()
    """To be given to it."""
    meta: tuple[Pair, ...] = ()
    """KEY=VALUE, to be given to it."""


class TagNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tags: Annotated[tuple[Words, ...], msgspec.Meta(min_length=1)]
    """At least one."""


class Described(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Words
    """Of the tag."""
    description: str
    """What it means; it comes back with the hits that have the tag."""


class JobListing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    states: tuple[State, ...] = ()
    """Only jobs in any of these."""
    top: Top = 50
    """How many on this page."""
    offset: Offset = 0
    """How many to pass over first."""


class JobFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    statuses: tuple[Words, ...] = ()
    """Only files of these statuses: `waiting`, `added`, `failed` ..."""
    top: Top = 100
    """How many of its files."""
    offset: Offset = 0
    """How many to pass over first."""
