"""The table of everything that `kb serve` can be asked: at which path, by which method, and what does it (`kb.serve.operations`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from kb.serve import operations as do


class Operation(msgspec.Struct, frozen=True):
    method: Literal["GET", "POST", "DELETE"]
    path: str
    work: Callable[..., Any]
    status: int = 200
    """Of its success."""
    is_reading: bool = False
    """Of a POST: that it only asks."""

    @property
    def changes(self) -> bool:
        """Whether it changes something, so that the token is needed for it."""
        return self.method != "GET" and not self.is_reading


OPERATIONS = (
    Operation("GET", "/search", do.search),
    Operation("POST", "/search", do.search, is_reading=True),
    Operation("GET", "/documents", do.list_documents),
    Operation("POST", "/documents", do.upload, status=202),
    Operation("GET", "/documents/{number}", do.show_document),
    Operation("DELETE", "/documents/{number}", do.delete_document),
    Operation("GET", "/documents/{number}/text", do.text_of_document),
    Operation("GET", "/documents/{number}/original", do.original_of_document),
    Operation("GET", "/documents/{number}/view", do.view_document),
    Operation("GET", "/documents/{number}/picture", do.picture_of_document),
    Operation("GET", "/documents/{number}/similar", do.similar_to_document),
    Operation("POST", "/documents/{number}/tags", do.tag_document),
    Operation("DELETE", "/documents/{number}/tags", do.untag_document),
    Operation("GET", "/chunks/{number}/text", do.text_around_chunk),
    Operation("GET", "/chunks/{number}/view", do.view_chunk),
    Operation("GET", "/chunks/{number}/picture", do.picture_of_chunk),
    Operation("GET", "/chunks/{number}/similar", do.similar_to_chunk),
    Operation("GET", "/failures", do.list_failures),
    Operation("POST", "/notes", do.add_note, status=201),
    Operation("GET", "/tags", do.list_tags),
    Operation("POST", "/tags", do.describe_tag),
    Operation("GET", "/jobs", do.list_jobs),
    Operation("GET", "/jobs/{number}", do.show_job),
    Operation("POST", "/jobs/{number}/cancel", do.cancel_job),
    Operation("POST", "/jobs/{number}/retry", do.retry_job),
    Operation("GET", "/status", do.status),
    Operation("GET", "/metrics", do.metrics),
    Operation("GET", "/health", do.health),
    Operation("GET", "/openapi.json", do.openapi),
)
