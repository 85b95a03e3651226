"""Addresses for buffers with known lifetimes."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from ._arrays import column, pointer, view, wanted_column
from ._call import LongCall
from ._check import fill, integer
from ._native import ffi, lib
from ._run import limit_of


class Packing:
    """Offsets for buffers, as `pack` returns them.

    Attributes:
        offsets: where each buffer lies.
        height: largest offset + size.
        lower_bound: proven; no packing is lower.
        optimal: the height is the least.
        seconds: of the search.
    """

    def __init__(self) -> None:
        raise TypeError("a Packing is what sked.pack returns")

    @classmethod
    def _take(cls, found: Any) -> "Packing":
        packing = cls.__new__(cls)
        packing.offsets = view(found.offset, int(found.count), "i8", found)
        packing.height = int(found.height)
        packing.lower_bound = int(found.lower_bound)
        packing.optimal = bool(found.optimal)
        packing.seconds = float(found.seconds)
        return packing

    offsets: Any
    height: int
    lower_bound: int
    optimal: bool
    seconds: float

    def __repr__(self) -> str:
        return (
            f"<sked.Packing: height {self.height}, bound {self.lower_bound}, "
            f"{self.offsets.size} buffers in {self.seconds:.2f} s>"
        )


def _columns(lower: Any, upper: Any, size: Any, alignment: Any, offset: Any) -> Tuple[Any, Dict[str, Any]]:
    """The C struct, and the arrays it points into."""
    bytes_ = wanted_column(size, "i8", None, "size")
    n = bytes_.size
    kept = {
        "lower": (wanted_column(lower, "f8", n, "lower"), "f8"),
        "upper": (wanted_column(upper, "f8", n, "upper"), "f8"),
        "bytes": (bytes_, "i8"),
        "alignment": (column(alignment, "i8", n, "alignment"), "i8"),
        "offset": (column(offset, "i8", n, "offset"), "i8"),
    }
    c = ffi.new("sked_buffer_columns *")
    c.size, c.count = ffi.sizeof("sked_buffer_columns"), n
    for name, (array, kind) in kept.items():
        setattr(c, name, pointer(array, kind))
    return c, kept


def pack(
    lower: Any,
    upper: Any,
    size: Any,
    alignment: Any = None,
    offset: Any = None,
    capacity: Optional[int] = None,
    align: int = 1,
    time_limit: Optional[float] = 5.0,
    seed: int = 0,
    threads: int = 1,
    iterations: int = 0,
) -> Packing:
    """Finds offsets for buffers so that no two that are held at the same time overlap.

    >>> sked.pack(lower=[0, 1, 2], upper=[2, 3, 4], size=[16, 8, 16]).height
    24

    Args:
        lower: when each buffer begins to be held.
        upper: when that ends.
        size: of each buffer, in bytes; the length of this column is the number of buffers.
        alignment: that each offset is a multiple of; a number stands for all.
        offset: where buffers must lie; -1: free.
        capacity: most height: the first packing within it will do. None: the least is sought.
        align: all offsets are multiples of this, too.
        time_limit: seconds; None: no limit.
        seed: of the random numbers.
        threads: to work with.
        iterations: searches of each thread; 0: no limit. Unlike time it gives the same result on
            every run.

    Raises:
        InfeasibleError: no packing within the capacity was found, or fixed buffers overlap; the
            message says what is proven.
        Interrupted: Ctrl-C; `.result` has the incumbent.
    """
    columns, kept = _columns(lower, upper, size, alignment, offset)
    long = LongCall()
    options = ffi.new("sked_pack_options *")
    lib.sked_pack_options_init_sized(options, ffi.sizeof("sked_pack_options"))
    if capacity is not None:
        options.capacity = integer(capacity, "capacity", 0, 2**53 - 1)
    options.time_limit = limit_of(time_limit)
    fill(options, align=align, seed=seed, threads=threads, iterations=iterations)
    options.stop = long.stop
    out = ffi.gc(ffi.new("sked_packing *"), lib.sked_packing_clear)
    out.size = ffi.sizeof("sked_packing")
    found: Packing = long.run(lib.sked_pack, columns, options, out).result(lambda: Packing._take(out))
    del kept
    return found
