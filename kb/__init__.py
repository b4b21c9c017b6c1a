"""Search everything you own, offline."""

import os

__version__ = "0.1.0"
"""The one place of it: the build reads it here, and a daemon of another version declines."""

# onnxruntime 1.32 reports its use to its makers, unless this is set before it is loaded, by whomever: the embedder, OCR or
# PyMuPDF's layout model. Worker processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
