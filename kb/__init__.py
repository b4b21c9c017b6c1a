"""Search everything you own, offline."""

import os

__version__ = "0.1.0"
"""The one place of it: the build reads it here, and a daemon of another version declines."""

# onnxruntime 1.32 reports its use to its makers, unless this is set before it is loaded, by whomever: the embedder, OCR or
# PyMuPDF's layout model. Worker processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

_NAMES = {
    "index.errors": "DiskFault ModelMismatch StoreDamaged StoreError StoreLocked StoreMissing StoreTooNew",
    "kb.add": "Progress",
    "kb.errors": "BadConfig BadRequest EncryptedFile KbError NoText NotFound UnreadableFile UnsupportedType",
    "kb.knowledgebase": "KnowledgeBase",
    "kb.wire": "AddAnswer CompactAnswer GetAnswer ListAnswer RemoveAnswer ShowAnswer StatusAnswer TagAnswer",
    "kb.wire_search": "FusedHit Hit SearchAnswer SearchAnswers",
    "kb.wire_similar": "SimilarAnswer",
    "models.errors": "ModelDamaged ModelError ModelMissing ModelUnusable",
}
"""What Python programs begin with, by where it is: loaded when it is asked for, since every start of `kb` comes by here."""

TYPE_CHECKING = False  # for type checkers it is true; `typing` takes milliseconds to load
if TYPE_CHECKING:
    from index.errors import DiskFault as DiskFault
    from index.errors import ModelMismatch as ModelMismatch
    from index.errors import StoreDamaged as StoreDamaged
    from index.errors import StoreError as StoreError
    from index.errors import StoreLocked as StoreLocked
    from index.errors import StoreMissing as StoreMissing
    from index.errors import StoreTooNew as StoreTooNew
    from kb.add import Progress as Progress
    from kb.errors import BadConfig as BadConfig
    from kb.errors import BadRequest as BadRequest
    from kb.errors import EncryptedFile as EncryptedFile
    from kb.errors import KbError as KbError
    from kb.errors import NoText as NoText
    from kb.errors import NotFound as NotFound
    from kb.errors import UnreadableFile as UnreadableFile
    from kb.errors import UnsupportedType as UnsupportedType
    from kb.knowledgebase import KnowledgeBase as KnowledgeBase
    from kb.wire import AddAnswer as AddAnswer
    from kb.wire import CompactAnswer as CompactAnswer
    from kb.wire import GetAnswer as GetAnswer
    from kb.wire import ListAnswer as ListAnswer
    from kb.wire import RemoveAnswer as RemoveAnswer
    from kb.wire import ShowAnswer as ShowAnswer
    from kb.wire import StatusAnswer as StatusAnswer
    from kb.wire import TagAnswer as TagAnswer
    from kb.wire_search import FusedHit as FusedHit
    from kb.wire_search import Hit as Hit
    from kb.wire_search import SearchAnswer as SearchAnswer
    from kb.wire_search import SearchAnswers as SearchAnswers
    from kb.wire_similar import SimilarAnswer as SimilarAnswer
    from models.errors import ModelDamaged as ModelDamaged
    from models.errors import ModelError as ModelError
    from models.errors import ModelMissing as ModelMissing
    from models.errors import ModelUnusable as ModelUnusable
else:

    def __getattr__(name: str) -> object:
        place = next((place for place, names in _NAMES.items() if name in names.split()), None)
        if place is None:
            raise AttributeError(f"module 'kb' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(place), name)

    def __dir__() -> list[str]:
        return sorted([*globals(), *" ".join(_NAMES.values()).split()])
