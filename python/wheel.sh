#!/bin/sh
# wheel.sh BUILD: BUILD/wheel gets a wheel of the package, linked with BUILD/libsked.a. auditwheel puts the libraries that it
# needs into it, and names it after the oldest C library that it runs with.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
tools=$build/venv/bin
rm -rf "$build/wheel" "$build/wheel-plain"
# Debian's pip does not know the short form of --config-settings yet.
"$tools/python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$build/wheel-plain" \
    --config-settings=build-dir="$build/python" --config-settings=cmake.define.SKED_PYTHON_LIBRARY="$build/libsked.a" .
PATH=$tools:$PATH "$tools/auditwheel" repair -w "$build/wheel" "$build"/wheel-plain/*.whl >"$build/wheel-plain/log" 2>&1 ||
    { cat "$build/wheel-plain/log" >&2; exit 1; }
ls "$build"/wheel/*.whl
