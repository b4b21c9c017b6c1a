"""What a text means as numbers: models found, fetched, checked, and run with onnxruntime.

    errors     the tree of what can go wrong
    spec       the numbers of a model: size, limit, pooling, prefixes
    known      a literal table of well-known models
    layout     a sentence-transformers folder read into a spec
    locate     a model's files on this machine, never through the network
    fetch      the one module that fetches anything
    checksum   the default model's file compared with its sha256, once
    tokenizer  token counts and offsets, without onnxruntime
    onnxfile   as much of ONNX's format as reading weights and writing a graph take
    minilm     the default model's graph written anew, for speed
    session    what all models that are run have in common
    embedder   texts to unit vectors
    rerankerfiles  a reranker's files on this machine
    reranker   how well passages answer a query, by a cross-encoder
    remote     the same by a service, if one is configured

Knows nothing of documents, stores or settings. Nothing is imported here: `import models` costs nothing.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime 1.32 calls home otherwise; read when it is loaded
