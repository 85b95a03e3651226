#!/bin/sh
# cppcheck on all C files of the library, the command, the benchmarks and the fuzz targets: 40 s on two cores.
set -eu
cd "$(dirname "$0")/.."
files=$(git ls-files 'src/*.c' 'tools/*.c' 'bench/*.c' 'fuzz/*.c')
# shellcheck disable=SC2086
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --suppress=missingIncludeSystem --suppress=nullPointerRedundantCheck -j "$(nproc)" -Iinclude -Isrc -Ibuild/generated \
    --suppress='*:build/*' $files
echo "lint: $(echo "$files" | wc -w) files clean"
