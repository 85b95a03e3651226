"""Long calls: progress, Ctrl-C, and exceptions that pass through C."""

from __future__ import annotations

import math
import signal
import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional

from ._check import fill, function
from ._errors import Interrupted, c_text, check, new_error, text
from ._native import ffi, lib


class Progress(NamedTuple):
    """Where a search stands.

    Attributes:
        phase: what is going on.
        share: 0 to 1, the part of the limit that is used up; nan: unknown.
        value: objective of the incumbent; nan: there is none yet.
        bound: best proven bound; nan: unknown.
    """

    phase: str
    share: float
    value: float
    bound: float


ProgressFunction = Callable[[Progress], Optional[bool]]


class LongCall:
    """One call that Ctrl-C can end, and that calls back.

    The flag `stop` goes into the options of the call. It is set by Ctrl-C, by a callback that
    raises, and by a progress function that returns False.
    """

    def __init__(self, progress: Optional[Callable[[Any], Optional[bool]]] = None) -> None:
        # Left when it is collected at the latest: the handler must never see freed memory.
        self.guard = ffi.gc(ffi.new("sked_py_guard *"), lib.sked_py_guard_leave)
        self.stop = ffi.cast("sig_atomic_t *", self.guard)
        self.handle = ffi.new_handle(self)
        self.progress = function(progress, "progress")
        self.raised: Optional[BaseException] = None
        self.warnings: List[str] = []

    def fail(self, error: BaseException) -> None:
        """An exception inside a callback: the first one is raised when C has returned."""
        self.guard.stop = 1
        if self.raised is None:
            self.raised = error

    def tell(self, event: Any) -> None:
        """Calls the progress function; after a failure it is not called again."""
        if self.progress is None or self.raised is not None:
            return
        try:
            if self.progress(event) is False:
                self.guard.stop = 1
        except BaseException as error:  # also KeyboardInterrupt: it must not vanish inside C
            self.fail(error)

    def run(self, function: Any, *arguments: Any) -> "Outcome":
        """Runs function(*arguments, err) with Ctrl-C heard."""
        err = new_error()
        main = threading.current_thread() is threading.main_thread()
        try:
            try:
                if main:
                    lib.sked_py_guard_enter(self.guard)
                # Its status is in err too, where no signal can make us lose it.
                function(*arguments, err)
            finally:
                if main:
                    lib.sked_py_guard_leave(self.guard)
            if main:  # a signal that came meanwhile is handled here and nowhere later
                signal.pthread_sigmask(signal.SIG_BLOCK, ())
        except KeyboardInterrupt as error:
            self.fail(error)
        return Outcome(self, err)


class Outcome:
    """What a long call ended with."""

    def __init__(self, call: LongCall, err: Any) -> None:
        self._call = call
        self._err = err

    def result(self, make: Callable[[], Any]) -> Any:
        """What `make` reads from the outputs, or None where they are empty.

        Raises what the call or a callback raised.
        """
        raised = self._call.raised
        found = make() if self._err.status == lib.SKED_OK else None
        if isinstance(raised, KeyboardInterrupt):
            raise Interrupted(found) from None
        if raised is not None:
            raise raised
        check(self._err.status, self._err)
        return found


def keep_failure(kind: Any, error: BaseException, traceback: Any) -> None:
    """What a callback raises outside the caller's function, Ctrl-C above all, must not vanish in C
    either. The first argument of each of them, `data`, is the handle of its call."""
    data = traceback.tb_frame.f_locals.get("data") if traceback is not None else None
    if data is not None:
        call: LongCall = ffi.from_handle(data)
        call.fail(error)


def sked_py_progress(data: Any, phase: Any, share: float, value: float, bound: float) -> None:
    call: LongCall = ffi.from_handle(data)
    call.tell(Progress(text(phase), share, value, bound))


def sked_py_warning(data: Any, message: Any) -> None:
    call: LongCall = ffi.from_handle(data)
    call.warnings.append(text(message))


ffi.def_extern(onerror=keep_failure)(sked_py_progress)
ffi.def_extern(onerror=keep_failure)(sked_py_warning)


class Settings:
    """`key=value` pairs as C wants them."""

    def __init__(self, settings: Optional[Any]) -> None:
        if not isinstance(settings, (Mapping, type(None))):
            raise TypeError(f"settings: a dict is wanted, not {type(settings).__name__}")
        self.texts = [c_text(f"{key}={written(x)}") for key, x in dict(settings or {}).items()]
        self.array = ffi.new("const char *[]", self.texts) if self.texts else ffi.NULL

    def give(self, options: Any) -> None:
        options.settings = self.array
        fill(options, n_settings=len(self.texts))


def written(value: Any) -> str:
    """A setting as it would be typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)
