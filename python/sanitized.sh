#!/bin/sh
# sanitized.sh asan|tsan ARGUMENT ...: runs Python with these arguments and the package linked with the library of
# build/asan or build/tsan. The runtime of the sanitizer is loaded first, for the interpreter itself has none. `make
# python-asan` and `make python-tsan` build what it needs.
set -eu
kind=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/$kind
python=$root/build/venv/bin/python
define=SKED_$(echo "$kind" | tr a-z A-Z)=ON
# Debian's pip does not know the short form of --config-settings yet.
"$python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --upgrade --target "$build/package" \
    --config-settings=build-dir="$build/python" --config-settings=cmake.define."$define" \
    --config-settings=cmake.define.SKED_PYTHON_LIBRARY="$build/libsked.a" "$root"
export PYTHONPATH="$build/package" PYTHONDONTWRITEBYTECODE=1
export PYTHONMALLOC=malloc # else the sanitizer sees nothing of what Python's own pools hold
# A stack of four calls says where the library allocates; where Python does so, one of them is Python's.
export LSAN_OPTIONS="suppressions=$root/python/leaks.txt:print_suppressions=0:${LSAN_OPTIONS-}"
export ASAN_OPTIONS="detect_leaks=1:malloc_context_size=4:allocator_may_return_null=1:${ASAN_OPTIONS-}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1:${TSAN_OPTIONS-}"
runtime=$(${CC:-cc} -print-file-name=lib"$kind".so)
exec env LD_PRELOAD="$runtime" "$python" "$@"
