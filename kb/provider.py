"""The service that `embedding.provider` names: which model of it is meant, whether it can be asked, and what asks it.

Where `embedding.provider` is `onnx`, the default, nothing here is called and nothing is sent anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from index.builtwith import BuiltWith
from kb.envfile import secret
from kb.errors import BadConfig
from kb.settings import EMBEDDING_KEY, Embedding
from models.errors import ModelMissing, ModelUnusable
from models.spec import UNKNOWN_DIM, ModelSpec

if TYPE_CHECKING:
    from models.remote_embedder import RemoteEmbedder

SERVICES = ("ollama", "openai")
"""As in `models.providers`, which need not be loaded to know them."""


def service_of(model_name: str) -> str:
    """`openai` of `openai:NAME`; empty for a model on this machine: names of the hub have no colon."""
    provider, colon, _ = model_name.partition(":")
    return provider if colon and provider in SERVICES else ""


def spec_of(settings: Embedding, built: BuiltWith | None, name: str | None) -> ModelSpec:
    """The numbers of the model meant; of its size is known what the store knows. Raises ModelUnusable."""
    provider = settings.provider
    own = built.model_name if built and service_of(built.model_name) == provider else ""
    wanted = (name or settings.model or own).removeprefix(f"{provider}:")
    if not wanted or service_of(wanted):
        why = f"{wanted} is the model of another service" if wanted else "no model is named"
        raise ModelUnusable(
            f"embedding.provider is {provider}, and {why}.", f"Set embedding.model to one that {provider} has."
        )
    spec = ModelSpec(name=f"{provider}:{wanted}", dim=UNKNOWN_DIM, max_tokens=settings.max_tokens, pooling="mean")
    spec = spec.with_prefixes(settings.query_prefix, settings.passage_prefix)
    if built and built.model_key == spec.key:
        spec = msgspec.structs.replace(spec, dim=built.embedding_dim)
    return spec


def endpoint(settings: Embedding) -> str:
    """Where texts and queries are sent, as it may be printed; empty: nowhere."""
    if settings.provider not in SERVICES:
        return ""
    from models.service import shown

    return shown(_url(settings))


def unaskable(settings: Embedding) -> str | None:
    """Why nothing can be sent there, with what mends it; None if it can. Asks nobody."""
    from models.service import address, is_private

    url = address(_url(settings))
    if url is None:
        hint = "Set embedding.url to https://HOST, without a password in it."
        return f"The address {endpoint(settings)!r} is none to embed at. {hint}"
    try:
        key = secret(EMBEDDING_KEY)
    except BadConfig as error:
        return f"{error.message}: {error.hint}."
    if key and not is_private(url):
        return f"A key is not sent unencrypted to {url.hostname}. Use https, or unset {EMBEDDING_KEY}."
    if not key and settings.provider == "openai" and not settings.url:
        return f"There is no key for {url.hostname}. Set {EMBEDDING_KEY}."
    return None


def embedder(spec: ModelSpec, settings: Embedding, *, for_queries: bool) -> RemoteEmbedder:
    """For one command, with the key that its caller has now; asks for nothing yet. Raises ModelMissing.

    Only where `unaskable` has nothing to say.
    """
    from models.embedding_service import EmbeddingService
    from models.providers import PROVIDERS
    from models.remote_embedder import RemoteEmbedder
    from models.service import address

    if for_queries and spec.dim == UNKNOWN_DIM:
        raise ModelMissing(f"No text has a vector of {spec.name} yet.", "Make them: kb reindex.")
    url = address(_url(settings))
    assert url is not None  # `unaskable` would say so  # noqa: S101
    service = EmbeddingService(
        provider=PROVIDERS[settings.provider], url=url, model=spec.name.partition(":")[2],
        timeout_s=settings.timeout_s, retries=settings.retries, query_timeout_s=settings.query_timeout_s,
    )  # fmt: skip
    return RemoteEmbedder(spec, service, secret(EMBEDDING_KEY))


def _url(settings: Embedding) -> str:
    """Whole, with what must not be printed."""
    from models.providers import PROVIDERS

    return PROVIDERS[settings.provider].endpoint(settings.url)
