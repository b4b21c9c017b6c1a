"""What the tools take, as types: the JSON Schema that a model reads, and the check of what it sends, are made of them.

Descriptions are part of the interface: a model knows nothing else of a parameter. Not here: what is done with them (`kb.mcp.tools`).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from kb.errors import BadRequest
from kb.mcp import schemas

Given = TypeVar("Given", bound="Arguments")
TOP = 5
"""Passages of an answer where nothing else is said: with MOST_SNIPPET of `kb.mcp.answers`, about 1,000 tokens."""
MOST_TOP = 50
MOST_OFFSET = 950
"""With MOST_TOP, as many as a search gives at most."""
MOST_ALSO = 8
LISTED = 20
MOST_LISTED = 200
MOST_CHARACTERS = 8_000
"""Of a text where nothing else is said: about 2,000 tokens."""
LARGEST_NUMBER = 2**53 - 1
"""Larger ones are not exact in every language that writes JSON."""

Text = Annotated[str, Meta(min_length=1)]
Number = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
Detail = Annotated[
    Literal["brief", "full"],
    Meta(description="`full`: whole texts and every field. `brief`, the default, is what to read first."),
]
Tags = Annotated[
    tuple[Text, ...],
    Meta(description="Only documents with all of these tags; `status` lists the tags and what they mean."),
]
Types = Annotated[
    tuple[Text, ...],
    Meta(
        description="Only documents of any of these types, such as pdf, docx, markdown, code, note; `status` lists them."
    ),
]
Path = Annotated[
    Text,
    Meta(
        description="Only files below this folder, or whose path matches this pattern (`*` also crosses `/`): `/home/u/notes`, `*.md`."
    ),
]
Since = Annotated[
    Text,
    Meta(
        description="Only documents of this day or later: 2026-11-29, 2026-11 or 2026. In conversations it is when something was said."
    ),
]
Before = Annotated[Text, Meta(description="Only documents from before this day, as for `since`.")]
Pairs = Annotated[
    dict[str, str], Meta(description='Only documents that were given all of these values, such as {"kind": "fact"}.')
]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool's arguments are: named, and no others."""


class Narrowed(Arguments, frozen=True, kw_only=True):
    """What `search`, `similar` and `list` all take: which documents there are to choose from."""

    tags: Tags = ()
    types: Types = ()
    path: Path | None = None
    since: Since | None = None
    before: Before | None = None
    meta: Pairs = {}


class Search(Narrowed, frozen=True, kw_only=True):
    query: Annotated[
        Text,
        Meta(
            description="What to look for: a question or its key words in the language of the documents. Words are alternatives; "
            '"quoted words" are a phrase, -word excludes. Paste names, paths and error codes as they are.'
        ),
    ]
    also: Annotated[
        tuple[Text, ...],
        Meta(
            max_length=MOST_ALSO,
            description="More queries, answered with it in one list of passages: the parts of a question, or other words for it. "
            "`keyword:` or `semantic:` before one says how it is searched.",
        ),
    ] = ()
    mode: Annotated[
        Literal["hybrid", "keyword", "semantic"],
        Meta(
            description="hybrid: by words and by meaning. keyword: for exact names and codes, fastest. semantic: by meaning alone."
        ),
    ] = "hybrid"
    top: Annotated[int, Meta(ge=1, le=MOST_TOP, description="How many passages.")] = TOP
    offset: Annotated[
        int,
        Meta(ge=0, le=MOST_OFFSET, description="How many passages to pass over: `next_offset` of the answer before."),
    ] = 0
    roles: Annotated[
        tuple[Text, ...],
        Meta(description="Only where one of these speaks in a conversation: user, assistant, or a person's name."),
    ] = ()
    min_score: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Leave out passages that score less. Seldom needed: `confidence` says whether any fits.",
        ),
    ] = 0.0
    per_document: (
        Annotated[int, Meta(ge=1, description="At most so many passages a document; 1 to survey documents.")] | None
    ) = None
    rerank: (
        Annotated[
            bool, Meta(description="Let a second model read the best passages: better order, takes up to seconds.")
        ]
        | None
    ) = None
    explain: Annotated[bool, Meta(description="Say how each passage came by its score.")] = False
    detail: Detail = "brief"


class Similar(Narrowed, frozen=True, kw_only=True):
    document: Annotated[int | str, Meta(description="Like this document: its `document_id` or path.")] | None = None
    chunk_id: Annotated[Number, Meta(description="Like this passage: a `chunk_id`.")] | None = None
    elsewhere: Annotated[
        bool,
        Meta(description="Only passages of other documents: what else is said of it. With `document` it is so anyway."),
    ] = False
    top: Annotated[int, Meta(ge=1, le=MOST_TOP, description="How many passages.")] = TOP
    detail: Detail = "brief"


class Get(Arguments, frozen=True, kw_only=True):
    document: (
        Annotated[int | str, Meta(description="A document: its `document_id` or path. Give this or `chunk_id`.")] | None
    ) = None
    chunk_id: Annotated[Number, Meta(description="A passage of an answer; see `around`.")] | None = None
    around: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=1000,
                description="With `chunk_id`: how many chunks before and after it, too. The default is 1.",
            ),
        ]
        | None
    ) = None
    page: (
        Annotated[int, Meta(ge=1, le=LARGEST_NUMBER, description="With `document`: this page, slide or sheet.")] | None
    ) = None
    lines: (
        Annotated[
            list[Number],
            Meta(
                min_length=2,
                max_length=2,
                description="With `document`: first and last line, from 1, such as [40, 62].",
            ),
        ]
        | None
    ) = None
    max_characters: Annotated[
        int, Meta(ge=200, le=400_000, description="The most to give at once; a token is about four characters.")
    ] = MOST_CHARACTERS
    offset: Annotated[
        int, Meta(ge=0, le=LARGEST_NUMBER, description="From which character on: `next_offset` of the answer before.")
    ] = 0
    detail: Detail = "brief"


class List(Narrowed, frozen=True, kw_only=True):
    failed: Annotated[
        bool,
        Meta(
            description="In place of documents the files that were to be added and could not be read or hold no text, and why; takes no filters."
        ),
    ] = False
    top: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="How many documents.")] = LISTED
    offset: Annotated[
        int, Meta(ge=0, le=LARGEST_NUMBER, description="How many to pass over: `next_offset` of the answer before.")
    ] = 0
    detail: Detail = "brief"


class Status(Arguments, frozen=True, kw_only=True):
    detail: Detail = "brief"


class View(Arguments, frozen=True, kw_only=True):
    document: (
        Annotated[int | str, Meta(description="A document: its `document_id` or path. Give this or `chunk_id`.")] | None
    ) = None
    chunk_id: Annotated[Number, Meta(description="A passage of an answer: it is marked on its page.")] | None = None
    page: (
        Annotated[
            int, Meta(ge=1, le=LARGEST_NUMBER, description="With `document`: this page; the first if it is not said.")
        ]
        | None
    ) = None


class AddNote(Arguments, frozen=True, kw_only=True):
    text: Annotated[
        Text, Meta(description="One fact or decision, whole sentences that make sense alone; say where it comes from.")
    ]
    title: Annotated[Text, Meta(description="A few words; its first words if it is not said.")] | None = None
    tags: Annotated[tuple[Text, ...], Meta(description="Tags to file it under; prefer those that `status` lists.")] = ()
    meta: Annotated[
        dict[str, str],
        Meta(
            description='What to find it by later with `meta` of `search`: {"kind": "fact", "source": "/home/u/contract.pdf, page 3"}.'
        ),
    ] = {}


def checked(kind: type[Given], raw: Mapping[str, Any]) -> Given:
    """The arguments as their type; null is not said. Raises BadRequest, which names the parameter and what it takes."""
    said = {name: _whole(value) for name, value in raw.items() if value is not None}
    about = schemas.of_arguments(kind)["properties"]
    for name in said:
        if name not in about:
            close = get_close_matches(name, about, 1)
            guess = f"did you mean `{close[0]}`? " if close else ""
            raise BadRequest(f"there is no parameter `{name}`", f"{guess}parameters are {', '.join(about)}")
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace(" | null", "").partition(" - at `$.")
        if not place:  # a required one is missing, and named at the end
            name = message.split("`")[1]
            raise BadRequest(f"the parameter `{name}` is missing", about[name]["description"]) from error
        place = place.rstrip("`")
        name = place.partition("[")[0]
        raise BadRequest(f"{place}: {message[0].lower()}{message[1:]}", about[name]["description"]) from error


def _whole(value: Any) -> Any:
    """5.0 is an integer to JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
