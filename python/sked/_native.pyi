"""The extension module that cffi makes of sked/sked.h."""

from typing import Any

ffi: Any
lib: Any
