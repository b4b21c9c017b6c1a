"""Texts to tokens: for counting and cutting (`TokenCounter`), and for the model (`load_tokenizer`).

Truncation and padding are always ours. The files have their own, and they are wrong for us: the `tokenizer.json` of
all-MiniLM-L6-v2 cuts at 128 tokens and pads to 128, while the model was made for 256.

Does not load onnxruntime, so that a chunking worker can count without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import ModelDamaged

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from models.spec import ModelSpec


def load_tokenizer(path: Path, max_tokens: int | None) -> Tokenizer:
    """A tokenizer that cuts at `max_tokens` (special tokens included; None: never) and does not pad."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception for every fault of a file
        raise ModelDamaged(f"{path} is not a tokenizer: {error}", "Remove it and fetch the model again.") from error
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def encodable(text: str) -> str:
    """The text, with `?` for each lone surrogate (they come from undecodable bytes in argv), which tokenizers refuses.

    Character for character, so that offsets into the result are offsets into the text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


class TokenCounter:
    """Counts and places tokens as the model sees them. Special tokens are not counted, nothing is cut."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, path: Path) -> TokenCounter:
        return cls(load_tokenizer(path, None))

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(encodable(text), add_special_tokens=False))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """As `count` for each text, in parallel."""
        batch = [encodable(text) for text in texts]
        return [len(found) for found in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token in characters of `text`, in order."""
        found: list[tuple[int, int]] = self._tokenizer.encode(encodable(text), add_special_tokens=False).offsets
        return found

    def room(self, spec: ModelSpec) -> int:
        """How many tokens of a passage the model sees: its limit less special tokens and the passage prefix."""
        special: int = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        return spec.max_tokens - special - self.count(spec.passage_prefix)
