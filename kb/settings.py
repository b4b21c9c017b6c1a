"""What a user may prefer, with the defaults: the sections of `config.yaml`.

Never what a store was built with (that is in the store). Not here: where the values in force come from (`kb.preferences`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Fusion = Literal["weighted", "min-max", "deviation", "rrf", "rrf-bonus"]
RERANK_KEY = "KB_RERANK_KEY"
"""The variable with the key of the service at `search.rerank_url`: a secret, so it is no setting and nothing prints it."""
EMBEDDING_KEY = "KB_EMBEDDING_KEY"
"""The same for the service at `embedding.url`."""
SERVE_TOKEN = "KB_SERVE_TOKEN"  # noqa: S105  a name, not a secret
"""What a client of `kb serve` has to bear, where it is not in a file of the data directory: a secret too."""
Tokens = Annotated[int, msgspec.Meta(ge=16, le=100_000)]


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: Literal["onnx", "ollama", "openai"] = "onnx"
    """onnx: on this machine. Else every text and query is sent to a service: Ollama's, or one that is asked as OpenAI's is."""
    url: str = ""
    """Of that service; unset: ollama http://127.0.0.1:11434, openai https://api.openai.com, with the key KB_EMBEDDING_KEY."""
    model: str | None = None
    """Name or folder of the embedding model; unset: the one the store was built with, at first all-MiniLM-L6-v2."""
    max_tokens: Tokens = 512
    """What a service's model sees of a text, at most; an estimate by the default model's tokenizer, so set it a fifth below."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """Seconds that a service may take for a batch."""
    query_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 4.0
    """Seconds for a query, in one try; from 5 on, a search gives up waiting for the daemon first."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 3
    """Further tries where a service is busy or does not answer, after 0.5, 1, 2 ... seconds or as long as it asks for."""
    query_prefix: str | None = None
    """Put before every query; unset: what the model's own configuration says."""
    passage_prefix: str | None = None
    """Put before every passage; unset: what the model's own configuration says."""
    windows: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    """Give each chunk of more words than this vectors of parts of that many too, and search all; 0: none. Changed by `kb reindex`."""
    batch_size: Positive = 32
    """Texts a call of the model."""
    threads: Natural = 0
    """Threads of one call; 0: one a core."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where a model on this machine runs; auto: on CUDA where the installed onnxruntime has it."""
    spinning: bool = True
    """Let the threads of a query wait for each other in a busy loop, 0.1 ms at a time: a fifth faster where cores are idle."""


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_top: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    """Results without --top."""
    default_format: Literal["auto", "json", "human"] = "auto"
    """auto: JSON unless standard output is a terminal."""
    fusion: Fusion = "weighted"
    """How hybrid search makes one ranking of two: by the scores, or by reciprocal ranks (rrf)."""
    semantic_weight: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    """What the meaning weighs where scores are fused; the words weigh the rest."""
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    """How far a hit comes up to better ones that say alike, where scores are fused as `weighted`; 0: it does not."""
    rrf_k: Positive = 60
    """Cormack et al. 2009: the constant of reciprocal rank fusion."""
    rerank: bool = False
    """Let a cross-encoder read the best hits beside the query: better order, and tenths of a second to seconds."""
    rerank_model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    """Name or folder of it; `kb init --rerank` fetches it."""
    rerank_candidates: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 40
    """How many hits it reads."""
    rerank_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 3.0
    """After so many seconds the hits stay as they were; from 5 on, a search gives up waiting for the daemon first."""
    rerank_url: str = ""
    """An address such as https://api.jina.ai/v1/rerank that reads them instead, with KB_RERANK_KEY; it is sent their text."""
    fresh: bool = False
    """Look at the sources before each search, and read what is new; the daemon answers none then."""
    fresh_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    """How long a search waits for that."""
    daemon: bool = True
    """Let the first search leave a process behind that answers the next ones in milliseconds."""
    daemon_idle_s: Positive = 1800
    """Seconds without a question after which that process ends."""


class ChunkDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_tokens: Tokens = 512
    """Of types without a value of their own."""
    overlap_tokens: Natural = 50
    """Repeated where prose is cut inside a section."""


class PdfChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["hierarchy", "fixed"] = "hierarchy"
    """hierarchy: at headings; fixed: windows."""
    max_tokens: Tokens = 1024


class MarkdownChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["header", "fixed"] = "header"
    """header: at headings; fixed: windows."""
    min_tokens: Natural = 50
    """A smaller section is merged with the next."""
    max_tokens: Tokens = 1024


class CodeChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["ast", "fixed"] = "ast"
    """ast: a chunk a function or method; fixed: windows."""
    include_context: bool = True
    """Embed a method with its class, signature and docstring."""
    max_tokens: Tokens = 1024


class NoteChunks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Literal["whole"] = "whole"
    """A note is one chunk."""


class Chunking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    defaults: ChunkDefaults = ChunkDefaults()
    pdf: PdfChunks = PdfChunks()
    markdown: MarkdownChunks = MarkdownChunks()
    code: CodeChunks = CodeChunks()
    note: NoteChunks = NoteChunks()


class Ingestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4
    """Processes that read and chunk, never more than cores."""
    cluster: str = ""
    """Address of a Dask scheduler, such as tcp://HOST:8786, whose workers read, chunk and embed instead; `cluster` extra."""
    batch_size: Positive = 50
    """Documents between two updates of the search indexes; 1,000 chunks, or a second of waiting, are enough too."""
    enable_ocr: Literal["auto", "always", "never"] = "auto"
    """auto: pages and images without usable text."""
    pdf_engine: Literal["auto", "docling", "pymupdf"] = "auto"
    """Who reads complex pages; auto: Docling where its models are installed."""
    max_ocr_pages: Natural = 200
    """Pages a document that may go through OCR."""
    file_timeout_s: Positive = 600
    """A file that takes longer to read is given up."""
    keep_original: bool = False
    """Keep files as they are in kb.db too, compressed; `kb get --original` gives them back."""


class Scrub(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    """Store `[redacted: kind]` in place of passwords, tokens and keys."""
    emails: bool = False
    """E-mail addresses too."""


class Storage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lock_timeout_s: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    """How long a writer waits for another."""


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_upload_bytes: Annotated[int, msgspec.Meta(ge=1, le=2_000_000_000)] = 500_000_000
    """Of one file that a client of `kb serve` sends; a larger one is refused before it is read."""
    max_requests: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 32
    """Requests at once; more are told to come again."""
    slow_client_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    """How long a client may take for its headers, and for a body beyond a second for each 1,000 bytes."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    env_file: str = ""
    """A file of NAME=value lines with the keys of remote services, relative to config.yaml; variables and --env-file come first."""
    embedding: Embedding = Embedding()
    search: Search = Search()
    chunking: Chunking = Chunking()
    ingestion: Ingestion = Ingestion()
    scrub: Scrub = Scrub()
    storage: Storage = Storage()
    serve: Serve = Serve()
