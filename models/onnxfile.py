"""ONNX as bytes: as much protobuf as reading a file's tensors and writing a small graph take.

Not the `onnx` package, whose 20 MB would be there for this alone. Numbers of fields and types: onnx.proto3 of onnx 1.17. A
written graph holds no weights: it says that they are elsewhere, and onnxruntime is handed them beside it; only numbers that
decide shapes are in it.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""
FLOAT, INT32, INT64 = 1, 6, 7

_TYPES = {FLOAT: "<f4", 2: "|u1", 3: "|i1", INT64: "<i8"}
"""Element types by their number; tensors of others are not read."""
_VARINT, _EIGHT_BYTES, _BLOCK, _FOUR_BYTES = 0, 1, 2, 5
_OPSET, _IR_VERSION = 17, 8

_Value = int | memoryview


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The file's constants by name, in their order there; read-only views of the mapped file."""
    with path.open("rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    graph = next(value for number, value in _fields(content) if number == 7)  # noqa: PLR2004
    found = (_tensor(value) for number, value in _fields(graph) if number == 5)  # noqa: PLR2004
    return {name: array for name, array in found if array is not None}


def node(
    operator: str, inputs: Sequence[str], output: str | Sequence[str], domain: str = "", **attributes: float
) -> bytes:
    """One step, with one output or several. An input that is left out is an empty name."""
    outputs = [output] if isinstance(output, str) else output
    named = (
        b"".join(_text(1, name) for name in inputs) + b"".join(_text(2, name) for name in outputs) + _text(4, operator)
    )
    given = b"".join(_block(5, _attribute(name, value)) for name, value in attributes.items())
    return named + given + _text(7, domain)


def model(
    nodes: Iterable[bytes],
    weights: Mapping[str, NDArray[Any]],
    numbers: Mapping[str, int],
    inputs: Iterable[str],
    output: tuple[str, tuple[str | int, ...]],
) -> bytes:
    """A whole file of nodes in the order they run. Inputs are int64 (texts, tokens); the output is float32, of this shape."""
    graph = b"".join(_block(1, each) for each in nodes) + _text(2, "graph")
    graph += b"".join(_block(5, _elsewhere(*each)) for each in weights.items())
    graph += b"".join(_block(5, _vector_of_one(*each)) for each in numbers.items())
    graph += b"".join(_block(11, _described(each, INT64, ("texts", "tokens"))) for each in inputs)
    graph += _block(12, _described(output[0], FLOAT, output[1]))
    opsets = _block(8, _text(1, "") + _number(2, _OPSET)) + _block(8, _text(1, MICROSOFT) + _number(2, 1))
    return _number(1, _IR_VERSION) + opsets + _block(7, graph)


def _fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """Each field's number and value: an int, or the bytes of what is in it."""
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(key & 7, 0)
        if key & 7 == _VARINT:
            value, at = _read_varint(content, at)
            yield key >> 3, value
            continue
        if key & 7 == _BLOCK:
            size, at = _read_varint(content, at)
        yield key >> 3, content[at : at + size]
        at += size


def _read_varint(content: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends."""
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004
            return value, at


def _tensor(content: memoryview) -> tuple[str, NDArray[Any] | None]:
    import numpy as np

    shape, name, kind, raw = [], "", 0, memoryview(b"")
    for number, value in _fields(content):
        match number:
            case 1:
                shape += [value] if isinstance(value, int) else _varints(value)
            case 2:
                kind = value
            case 8:
                name = bytes(value).decode()
            case 9:
                raw = value
    return name, np.frombuffer(raw, _TYPES[kind]).reshape(shape) if kind in _TYPES and raw else None


def _varints(content: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(content):
        value, at = _read_varint(content, at)
        values.append(value)
    return values


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + _varint(2 << 3 | _FOUR_BYTES) + struct.pack("<f", value) + _number(20, 1)


def _elsewhere(name: str, array: NDArray[Any]) -> bytes:
    """A constant without its values; the place must be named and is never looked at."""
    kind = next(number for number, written in _TYPES.items() if array.dtype == written)
    shape = b"".join(_number(1, size) for size in array.shape)
    return shape + _number(2, kind) + _text(8, name) + _block(13, _text(1, "location") + _text(2, "-")) + _number(14, 1)


def _vector_of_one(name: str, value: int) -> bytes:
    """An int64 constant of shape (1,), with its value."""
    return _number(1, 1) + _number(2, INT64) + _number(7, value) + _text(8, name)


def _described(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_block(1, _number(1, size) if isinstance(size, int) else _text(2, size)) for size in shape)
    return _text(1, name) + _block(2, _block(1, _number(1, kind) + _block(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _block(field, value.encode())


def _block(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BLOCK) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Protobuf writes a negative number as its 64-bit complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
