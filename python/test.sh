#!/bin/sh
# test.sh BUILD: the tests of the Python package in BUILD/venv, which `make python` makes.
set -eu
cd "$(dirname "$0")/tests" # not where the sources of the package are: its module is elsewhere
if [ ! -x "$1/venv/bin/python" ]; then
    echo "skipped: the Python package is not built; \`make python\` does"
    exit 77
fi
exec "$1/venv/bin/python" -m pytest -q -p no:cacheprovider
