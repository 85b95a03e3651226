"""What comes from callers, checked where it enters: nothing else reaches C."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import os
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Type, TypeVar, Union, cast

import numpy as np

from ._errors import ArgumentError, c_text, text
from ._native import ffi, lib

_Kind = TypeVar("_Kind")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_INT32 = (-(2**31), 2**31 - 1)

# Ranges of fields that are narrower than their C type, whatever the struct.
_RANGES: Dict[str, Tuple[int, int]] = {
    "candidates": (0, _INT32[1]),
    "count": (0, _INT32[1]),
    "improve": (0, 2**63 - 1),
    "iterations": (0, 2**63 - 1),
    "measurements": (0, _INT32[1]),
    "nodes": (0, _INT32[1]),
    "steps": (0, 2**63 - 1),
    "threads": (1, 1024),
    "top": (0, _INT32[1]),
}


def named_kind(value: object) -> str:
    """How a message calls what was given."""
    return type(value).__name__


def nearest(word: str, names: Iterable[str]) -> str:
    """" (did you mean 'x'?)", or "" where none of the names is near."""
    kept, answer = [c_text(name) for name in names], ffi.new("char[]", 200)
    known = ffi.new("const char *[]", kept)
    return text(lib.sked_suggest(c_text(word), known, len(kept), answer, len(answer)))


def keywords(*more: str) -> Callable[[_Function], _Function]:
    """A keyword that a function does not have is answered with the nearest of those that it has.

    Args:
        more: those that it has beside the ones of its signature.
    """

    def decorate(function: _Function) -> _Function:
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        listed = inspect.signature(function).parameters.values()
        names = [p.name for p in listed if p.kind in kinds] + list(more)
        known = frozenset(names)

        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            for word in options:
                if word not in known:
                    called = function.__qualname__.replace(".__init__", "")
                    hint = nearest(word, (name for name in names if name != "self"))
                    raise TypeError(f"{called} has no argument {word!r}{hint}")
            return function(*arguments, **options)

        return cast(_Function, checked)

    return decorate


def needed(module: str, extra: str) -> Any:
    """An optional package; where it is missing the error says how it comes."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        package = module.split(".")[0]
        raise ImportError(f"this needs {package}: pip install 'libsked[{extra}]'") from cause


def integer(value: Any, what: str, least: int = _INT32[0], most: int = _INT32[1]) -> int:
    """A whole number within a range; others are refused, never rounded or wrapped."""
    try:
        number = operator.index(value.item() if isinstance(value, np.bool_) else value)
    except TypeError:
        raise TypeError(f"{what}: a whole number is wanted, not {named_kind(value)}") from None
    if not least <= number <= most:
        shown = number if abs(number) < 10**30 else f"a number of {number.bit_length()} bits"
        raise ArgumentError(f"{what} must be from {least} to {most}, not {shown}")
    return number


def real(value: Any, what: str) -> float:
    """A number as a float; a text is none."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{what}: the number does not fit into a double") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what}: a number is wanted, not {named_kind(value)}") from None


def flag(value: Any, what: str) -> bool:
    """True or False, of Python or numpy; 0 and 1 will do."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__bool__") or value not in (0, 1):
        raise TypeError(f"{what}: True or False is wanted, not {named_kind(value)}")
    return bool(value)


def instance(value: Any, kind: Type[_Kind], what: str) -> _Kind:
    """An object of that class."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: a {kind.__name__} is wanted, not {named_kind(value)}")
    return value


def function(value: Any, what: str) -> Optional[Callable[..., Any]]:
    """Something to call, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{what}: a function is wanted, not {named_kind(value)}")
    return value  # type: ignore[no-any-return]


def c_path(path: "Union[str, os.PathLike[str]]") -> Any:
    """A path as `const char *`; the caller keeps it."""
    return c_text(os.fspath(path))


def c_option(value: Optional[str]) -> Any:
    """A text as `const char *`, or NULL for None; the caller keeps it."""
    return ffi.NULL if value is None else c_text(value)


def c_path_option(path: "Union[str, os.PathLike[str], None]") -> Any:
    """A path as `const char *`, or NULL for None; the caller keeps it."""
    return ffi.NULL if path is None else c_path(path)


def fill(struct: Any, **values: Any) -> None:
    """Sets numbers and flags of a C struct, each by the type that the field has there."""
    fields = dict(ffi.typeof(struct).item.fields)
    for name, value in values.items():
        kind = fields[name].type
        if kind.cname == "double":
            setattr(struct, name, real(value, name))
        elif kind.cname == "_Bool":
            setattr(struct, name, flag(value, name))
        else:
            bits = 8 * ffi.sizeof(kind)
            unsigned = int(ffi.cast(kind, -1)) > 0
            whole = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            setattr(struct, name, integer(value, name, *_RANGES.get(name, whole)))
