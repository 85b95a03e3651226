#!/bin/sh
# cppcheck on the C files changed since a commit, or on all of them.
set -eu
cd "$(dirname "$0")/.."
if [ $# -ge 1 ] && git rev-parse -q --verify "$1^{commit}" >/dev/null; then
    files=$(git diff --name-only --diff-filter=d "$1" -- '*.c')
else
    files=$(git ls-files 'src/*.c' 'tools/*.c')
fi
[ -n "$files" ] || { echo "lint: no C file changed"; exit 0; }
# shellcheck disable=SC2086
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppress=missingIncludeSystem --suppress=nullPointerRedundantCheck -j 2 -Iinclude -Isrc -Ibuild/generated \
    --suppress='*:build/*' $files
echo "lint: $(echo "$files" | wc -w) files clean"
