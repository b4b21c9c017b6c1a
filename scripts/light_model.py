"""A model that costs next to nothing, for measurements of all the rest: it looks its words up in a table."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import tiny_model

WORDS = 4_000
MAX_TOKENS = 256


def light_model(folder: Path, counts: Counter[str], dim: int) -> Path:
    """The folder, filled: the commonest of `counts`, each in a direction of its own at random."""
    chances = Random(0)
    known = {word: [chances.gauss() for _ in range(dim)] for word, _ in counts.most_common(WORDS)}
    return tiny_model.write_model(folder, dim=dim, max_tokens=MAX_TOKENS, table={**tiny_model.TABLE, **known})
