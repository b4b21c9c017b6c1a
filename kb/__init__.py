"""Search everything you own, offline."""

import os

# onnxruntime 1.32 reports its use to its makers, unless this is set before it is loaded, by whomever: the embedder, OCR or
# PyMuPDF's layout model. Worker processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
