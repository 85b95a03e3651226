"""Statuses of the library as exceptions."""

from __future__ import annotations

from typing import Any, Dict, Type

from ._native import ffi, lib


class Error(Exception):
    """A call of the library failed; the message is the library's own sentence.

    Attributes:
        code: the status as a number, the exit code of the command.
    """

    code: int = 0


class ArgumentError(Error, ValueError):
    """Bad arguments."""

    code = 2


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    code = 3


class FileError(Error, OSError):
    """A file cannot be read or written."""

    code = 4


class ParseError(Error, ValueError):
    """Malformed input: a file that cannot be understood, or a graph that breaks a rule."""

    code = 5


class UnsupportedError(Error, NotImplementedError):
    """What was asked for is not supported, by the method or at all."""

    code = 6


class InfeasibleError(Error):
    """There is no feasible schedule, or (the message says so) none was found."""

    code = 7


class InvalidScheduleError(Error, ValueError):
    """A schedule breaks a rule of its problem; the message names the first one."""

    code = 8


class DeviceError(Error):
    """A device or a target failed. A target function raises it for a plan it cannot measure."""

    code = 9


class StoppedError(Error):
    """A limit or a signal ended the call before there was a result."""

    code = 10


class BugError(Error):
    """A bug in sked."""

    code = 11


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while the library worked.

    Attributes:
        result: what the call had found until then, as it would have returned it; None: nothing yet.
    """

    def __init__(self, result: Any = None) -> None:
        super().__init__(
            "interrupted" if result is None else "interrupted; .result has the incumbent"
        )
        self.result = result


_BY_CODE: Dict[int, Type[Error]] = {
    kind.code: kind
    for kind in (
        ArgumentError,
        OutOfMemoryError,
        FileError,
        ParseError,
        UnsupportedError,
        InfeasibleError,
        InvalidScheduleError,
        DeviceError,
        StoppedError,
        BugError,
    )
}


def text(cdata: Any) -> str:
    """A C string as str; NULL is the empty one."""
    return "" if cdata == ffi.NULL else ffi.string(cdata).decode("utf-8", "replace")


def error_of(status: int, err: Any) -> Error:
    """The exception of a status that is not OK."""
    message = text(err.message) or text(lib.sked_status_text(status))
    kind = _BY_CODE.get(int(status), Error)
    error = kind(message)
    error.code = int(status)
    return error


def new_error() -> Any:
    return ffi.new("sked_error *")


def check(status: int, err: Any) -> None:
    """Raises what a status says."""
    if status != lib.SKED_OK:
        raise error_of(status, err)


def call(function: Any, *arguments: Any) -> None:
    """Calls a function that takes an error last, and raises what it says."""
    err = new_error()
    check(function(*arguments, err), err)


def c_text(value: str) -> Any:
    """A str as `const char *`. The caller keeps it while C may look at it."""
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, not {type(value).__name__}: {value!r}")
    if "\0" in value:
        raise ArgumentError(f"a text must not contain the character NUL: {value!r}")
    return ffi.new("char[]", value.encode("utf-8", "surrogateescape"))
