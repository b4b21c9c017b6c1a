"""Start-up: what is only looked up or counted loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("onnxruntime", "huggingface_hub", "numpy")

CASES = {
    "find": "from models.locate import locate, spec_of; locate('all-MiniLM-L6-v2'); spec_of('gte-small')",
    "miss": (
        "from models.locate import locate; from models.errors import ModelMissing\n"
        "try: locate('nobody/nothing')\nexcept ModelMissing: pass"
    ),
    "check": (
        "from models.locate import locate; from models.checksum import verify; from pathlib import Path\n"
        "verify(locate('all-MiniLM-L6-v2'), Path('/dev/null/memo'))"
    ),
    "count": (
        "from models.locate import locate; from models.tokenizer import TokenCounter\n"
        "TokenCounter.load(locate('all-MiniLM-L6-v2').tokenizer).count('some text')"
    ),
    "import": "import models.embedder, models.fetch",
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_heavy_is_loaded_to(case):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{CASES[case]}\n"
    code += f"print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
