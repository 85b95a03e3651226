#!/bin/sh
# setup.sh BUILD: BUILD/venv gets the package, linked with BUILD/libsked.a, and what its tests need.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
venv=$build/venv
wanted=python/requirements-test.txt
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$wanted"
    cp "$wanted" "$venv/installed.txt"
fi
# Debian's pip does not know the short form of --config-settings yet.
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
    --config-settings=build-dir="$build/python" --config-settings=cmake.define.SKED_PYTHON_LIBRARY="$build/libsked.a" .
