"""Between numpy and C."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from ._errors import ArgumentError
from ._native import ffi

_C_TYPES = {"f8": "double[]", "i4": "int32_t[]", "i8": "int64_t[]", "u1": "uint8_t[]"}
_BITS = {"i4": 32, "i8": 64}


def numbers(values: Any, kind: str, what: str) -> Any:
    """A contiguous array of that kind ("f8", "i4", "i8", "u1"), of any shape.

    It is a copy, whatever was given: nobody else can change it while C works, or after it was
    checked. Numbers that do not fit are refused, never wrapped.
    """
    array = np.array(values)
    if array.dtype.kind not in "biuf" and array.size > 0:
        if array.ndim == 0 and not isinstance(values, int):
            raise TypeError(f"{what}: wants numbers, not {type(values).__name__}")
        raise ArgumentError(f"{what}: wants numbers, not {array.dtype}")
    bits = _BITS.get(kind)
    if bits and array.dtype.kind == "f" and array.size > 0:
        raise ArgumentError(f"{what}: wants whole numbers, not {array.dtype}")
    if bits and array.size > 0:
        if int(array.max()) > 2 ** (bits - 1) - 1 or int(array.min()) < -(2 ** (bits - 1)):
            raise ArgumentError(f"{what}: a number does not fit into {bits} bits")
    return np.ascontiguousarray(array, dtype=kind).reshape(array.shape)


def column(values: Any, kind: str, size: Optional[int], what: str) -> Optional[Any]:
    """The same as a column. A single number stands for all. None stays None."""
    if values is None:
        return None
    array = numbers(values, kind, what)
    if array.ndim == 0 and size is not None:
        array = np.full(size, array)
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "one dimension" if size is None else f"{size} numbers"
        raise ArgumentError(f"{what}: wants {wanted}, not shape {array.shape}")
    return array


def wanted_column(values: Any, kind: str, size: Optional[int], what: str) -> Any:
    """The same where None is none."""
    if values is None:
        raise TypeError(f"{what}: wants numbers, not None")
    return column(values, kind, size, what)


def pointer(array: Optional[Any], kind: str) -> Any:
    """What C gets for a column; the array must stay."""
    return ffi.NULL if array is None else ffi.from_buffer(_C_TYPES[kind], array)


def view(data: Any, size: int, kind: str, owner: Any) -> Any:
    """A read-only array over memory of C, which `owner` keeps alive. It stays read-only: what lies
    under it cannot be written to either."""
    if size == 0 or data == ffi.NULL:
        return np.zeros(0, dtype=kind)
    nbytes = size * np.dtype(kind).itemsize
    kept = owned(ffi.cast("char *", data), owner)
    return np.frombuffer(memoryview(ffi.buffer(kept, nbytes)).toreadonly(), dtype=kind)


def owned(cdata: Any, owner: Any) -> Any:
    """A pointer that keeps alive what it points into."""
    return ffi.gc(cdata, lambda _, owner=owner: None)


class Texts:
    """A list of str as `const char *const *`: a block of bytes, pointers into it, NULL for None."""

    def __init__(self, texts: Optional[Sequence[Optional[str]]], size: int, what: str) -> None:
        self.pointer = ffi.NULL
        if texts is None:
            return
        texts = list(texts)  # nobody else changes it meanwhile
        if len(texts) != size:
            raise ArgumentError(f"{what}: wants {size} texts, not {len(texts)}")
        if size == 0:
            return
        missing = [i for i, text in enumerate(texts) if text is None]
        for text in texts:
            if not isinstance(text, (str, type(None))):
                raise TypeError(f"{what}: wants texts, not {type(text).__name__}")
        joined = "\0".join(text or "" for text in texts) + "\0"
        self._block = np.frombuffer(joined.encode("utf-8", "surrogateescape"), dtype="u1")
        ends = np.flatnonzero(self._block == 0)
        if ends.size != size:
            raise ArgumentError(f"{what}: a text must not contain the character NUL")
        starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.uintp)
        self._pointers = starts + np.uintp(self._block.ctypes.data)
        self._pointers[missing] = 0
        self.pointer = ffi.cast("const char *const *", ffi.from_buffer(self._pointers))
