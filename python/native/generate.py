"""Writes the C source of the extension module: generate.py COMPILER HEADER OUT.c

The declarations are those of the public header itself, as the C preprocessor leaves them, so that
no list of functions is kept twice. interrupt.h beside this file is the only C code of our own.
"""

import os
import re
import subprocess
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))

# Python functions that C calls (python/sked/_call.py, _run.py, _learn.py, _robust.py).
CALLBACKS = """
extern "Python" void sked_py_progress(void *, const char *, double, double, double);
extern "Python" void sked_py_incumbent(void *, const sked_schedule *, double);
extern "Python" void sked_py_train(void *, const sked_train_progress *);
extern "Python" void sked_py_warning(void *, const char *);
extern "Python" sked_status sked_py_measure(void *, const sked_schedule *, double *, double *,
                                            double *, sked_error *);
"""


def preprocessed(compiler: str, header: str) -> str:
    """The header after the preprocessor, without what it includes or attributes of GNU C."""
    command = [compiler, "-E", "-U__GNUC__", header]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines, inside = [], False
    for line in text.split("\n"):
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            inside = os.path.basename(marker[1]) == os.path.basename(header)
        elif inside:
            lines.append(line)
    return "\n".join(lines)


def declarations(compiler: str, header: str) -> str:
    text = preprocessed(compiler, header)
    text = re.sub(r"static inline [^{]*\{[^}]*\}", "", text)  # other languages call _init_sized
    with open(os.path.join(HERE, "interrupt.h"), encoding="utf-8") as f:
        guard = re.search(r"/\* public \*/(.*?)/\* end \*/", f.read(), flags=re.S)
    assert guard is not None
    return f"typedef int... sig_atomic_t;\n{text}\n{guard[1]}\n{CALLBACKS}"


def main() -> None:
    compiler, header, out = sys.argv[1:4]
    ffi = cffi.FFI()
    ffi.cdef(declarations(compiler, header))
    with open(os.path.join(HERE, "interrupt.h"), encoding="utf-8") as f:
        guard = f.read()
    ffi.set_source("sked._native", f'#include "sked/sked.h"\n{guard}')
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
