"""What a builder of C becomes when it is first used."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Tuple

from ._errors import call
from ._native import ffi

_FINISHING = threading.Lock()  # threads may share a graph or a machine, its first use too


class Built:
    """Has a builder, then what the builder makes, which is read-only."""

    # The type of what is made, the function that makes it from the builder, the one that frees it.
    _maker: ClassVar[Tuple[str, Any, Any]]
    _builder: Any  # None: it is finished
    _built: Any  # None: not yet

    def _finish(self) -> Any:
        """The finished one. The first call checks it as a whole."""
        if self._built is None:
            with _FINISHING:
                if self._built is None:  # otherwise another thread was quicker
                    kind, finish, destroy = self._maker
                    out = ffi.new(f"{kind} **")
                    call(finish, self._builder, out)
                    self._built = ffi.gc(out[0], destroy)
                    self._builder = None
        return self._built
