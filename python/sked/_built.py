"""What a builder of C becomes when it is first used, and how that is pickled: as its file."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable

from ._errors import call
from ._native import ffi


def finished(owner: Any, kind: str, finish: Any, destroy: Any) -> Any:
    """What the builder of `owner` makes: the first call checks it as a whole and makes it read-only.

    Args:
        owner: has `_builder`, and `_built`, which is None until then; and `_lock`, which whoever
            calls the builder holds, for C leaves that to its callers.
        kind: C's name of what is made.
        finish: makes it from the builder.
        destroy: frees it.
    """
    if owner._built is None:
        with owner._lock:
            if owner._built is None:  # otherwise another thread was quicker
                out = ffi.new(f"{kind} **")
                call(finish, owner._builder, out)
                owner._built = ffi.gc(out[0], destroy)
                owner._builder = None
    return owner._built


def file_of(save: Callable[[str], None]) -> bytes:
    """What `save` writes."""
    with tempfile.TemporaryDirectory(prefix="sked-") as folder:
        path = os.path.join(folder, "it.json")
        save(path)
        with open(path, "rb") as file:
            return file.read()
