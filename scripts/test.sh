#!/bin/sh
# test.sh FOLDER [CTEST OPTION ...]: runs the tests of a build folder (all, or those the options choose) and ends
# with one plain line: N passed, M failed, K skipped. Two tests more at a time than there are processors: many of them wait,
# for limits, signals and other processes.
set -u
folder=$1
shift
cd "$(dirname "$0")/.."
ctest --test-dir "$folder" -j "$(($(nproc) + 2))" --output-on-failure --no-tests=error -O "$folder/test.log.ctest" "$@"
status=$?
python3 scripts/count.py "$folder/Testing/Temporary/LastTest.log" $status
