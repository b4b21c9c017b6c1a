"""Text of a picture by RapidOCR's bundled models, as lines with their places: turned upright and straightened first.

The models (PP-OCRv6, small) know Latin script with its accents, Greek, Chinese and Japanese; not Cyrillic, Arabic,
Hebrew, Korean or Indian scripts. Nothing is downloaded. One engine a process, made when first needed. The angle
classifier stays off: it turns long lines upside down. Does not open files and does not order lines.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from kb.read.line import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]
    """(height, width, 3), RGB."""

THREADS = 1  # a page took 5.3 s of CPU with one and 8.4 s with two, which spin; files are read in parallel instead
DETECTION_SIDE_PX = 960  # PaddleOCR's own; RapidOCR's takes 1.3 times as long, 1 GB for a page, and found no more
LINES_A_BATCH = 1  # six lines padded to the longest took as long, and 300 MB more
EXTRACTOR = "rapidocr"
MIN_SCORE = 0.5  # of a line, 0 to 1; below are specks and drawings
PROBE_SIDE_PX = 1000  # orientation and skew show in a small copy
SAMPLE_LINES = 6  # the longest, to tell which way is up
UPRIGHT_SCORE = 0.9  # upright lines reach 0.98, upside down ones 0.3 to 0.8
MIN_SKEW_DEGREES = 0.3
MAX_SKEW_DEGREES = 15.0
MIN_SKEW_LINES = 5
MIN_LINE_ASPECT = 3.0  # shorter boxes have no clear angle
FONT_SIZE_SHARE = 0.75  # of a box's height
MIN_SIDE_PX = 8
MIN_CHARACTERS = 3  # fewer in a whole picture are a drawing taken for a letter


def is_available() -> bool:
    return find_spec("rapidocr") is not None


def read(picture: Picture) -> list[Line]:
    """The lines of a picture, in no particular order; places are pixels of the picture after it was turned.

    Empty where the picture holds no text. Raises ImportError where RapidOCR is not installed.
    """
    if min(picture.shape[:2]) < MIN_SIDE_PX:
        return []
    upright = straightened(picture)
    result = _engine()(_bgr(upright), use_det=True, use_cls=False, use_rec=True)
    if result.boxes is None or not result.txts:
        return []
    found = zip(result.boxes, result.txts, result.scores, strict=True)
    lines = [_line(box, text) for box, text, score in found if score >= MIN_SCORE]
    return lines if sum(map(str.isalnum, "".join(line.text for line in lines))) >= MIN_CHARACTERS else []


def straightened(picture: Picture) -> Picture:
    """The picture turned by quarters until its text is upright, then by the few degrees that a scan is askew."""
    probe, factor = _shrunk(picture)
    boxes = _detect(probe)
    if not boxes:
        return picture
    quarter_turns = _quarter_turns([_crop(picture, box, factor) for box in _longest(boxes)])
    if quarter_turns:
        picture, probe = _turned(picture, quarter_turns), _turned(probe, quarter_turns)
        boxes = _detect(probe)
    skew = _skew(boxes)
    return _rotated(picture, skew) if abs(skew) >= MIN_SKEW_DEGREES else picture


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.text_score": MIN_SCORE,
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": THREADS,
            "Det.limit_type": "max",
            "Det.limit_side_len": DETECTION_SIDE_PX,
            "Rec.rec_batch_num": LINES_A_BATCH,
        }
    )


def _detect(picture: Picture) -> list[Any]:
    """Corners of the lines' boxes, each (4, 2): top left, top right, bottom right, bottom left."""
    result = _engine()(_bgr(picture), use_det=True, use_cls=False, use_rec=False)
    return [] if result.boxes is None else list(result.boxes)


def _quarter_turns(crops: Sequence[Picture]) -> int:
    """How often to turn by 90 degrees, counterclockwise, until lines cut out of the picture are read best."""
    sideways = sum(crop.shape[0] > crop.shape[1] for crop in crops) > len(crops) / 2
    scores: dict[int, float] = {}
    for turns in (1, 3) if sideways else (0, 2):
        scores[turns] = fmean(_engine().recognize_txt([_bgr(_turned(crop, turns)) for crop in crops]).scores)
        if scores[turns] >= UPRIGHT_SCORE:
            break
    return max(scores, key=scores.__getitem__)


def _longest(boxes: Sequence[Any]) -> list[Any]:
    return sorted(boxes, key=lambda box: max(_width(box), _height(box)), reverse=True)[:SAMPLE_LINES]


def _crop(picture: Picture, box: Any, factor: int) -> Picture:
    xs, ys = [int(x) * factor for x, _ in box], [int(y) * factor for _, y in box]
    return picture[max(0, min(ys)) : max(ys) + factor, max(0, min(xs)) : max(xs) + factor]


def _skew(boxes: Sequence[Any]) -> float:
    """Degrees by which lines fall to the right, the median over long lines; 0 where there are too few."""
    import numpy as np

    angles = []
    for (x0, y0), (x1, y1), *_ in boxes:
        angle = float(np.degrees(np.arctan2(y1 - y0, x1 - x0)))
        angles.append(angle)
    long_lines = [a for a, box in zip(angles, boxes, strict=True) if _width(box) >= MIN_LINE_ASPECT * _height(box)]
    skew = median(long_lines) if len(long_lines) >= MIN_SKEW_LINES else 0.0
    return skew if abs(skew) <= MAX_SKEW_DEGREES else 0.0


def _line(box: Any, text: str) -> Line:
    xs, ys = [float(x) for x, _ in box], [float(y) for _, y in box]
    x0, y0, x1, y1 = min(xs), min(ys), max(xs), max(ys)
    return Line(text, x0, y0, x1, y1, FONT_SIZE_SHARE * _height(box))


def _width(box: Any) -> float:
    (x0, y0), (x1, y1), *_ = box
    return float(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)


def _height(box: Any) -> float:
    (x0, y0), _, _, (x1, y1) = box
    return float(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)


def _bgr(picture: Picture) -> Picture:
    """RapidOCR takes colours in OpenCV's order."""
    return picture[:, :, ::-1]


def _shrunk(picture: Picture) -> tuple[Picture, int]:
    """A small copy, and how many times smaller it is."""
    import numpy as np
    from PIL import Image

    factor = max(1, -(-max(picture.shape[:2]) // PROBE_SIDE_PX))
    return (np.asarray(Image.fromarray(picture).reduce(factor)), factor) if factor > 1 else (picture, 1)


def _turned(picture: Picture, quarter_turns: int) -> Picture:
    import numpy as np

    return np.ascontiguousarray(np.rot90(picture, quarter_turns))


def _rotated(picture: Picture, degrees: float) -> Picture:
    import numpy as np
    from PIL import Image

    turned = Image.fromarray(picture).rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor="white")
    return np.asarray(turned)
