#!/bin/sh
# Builds the documentation site into build/site; warnings are errors. The tools live in a virtual environment of their own
# under build/, which is made anew when requirements-docs.txt changes.
set -eu
cd "$(dirname "$0")/.."
tools=build/site-tools
if ! cmp -s requirements-docs.txt $tools/made-from.txt; then
    rm -rf $tools
    python3 -m venv $tools
    $tools/bin/pip install -q --disable-pip-version-check -r requirements-docs.txt
    cp requirements-docs.txt $tools/made-from.txt
fi
# Not --quiet: with it mkdocs does not count warnings.
log=build/site.log
if ! NO_MKDOCS_2_WARNING=1 $tools/bin/mkdocs build --strict >$log 2>&1; then
    grep -v '^INFO' $log >&2
    exit 1
fi
echo "build/site/index.html"
