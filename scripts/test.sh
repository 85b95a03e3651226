#!/bin/sh
# Runs every test of a build folder and ends with one plain line: N passed, M failed, K skipped.
set -u
folder=$1
cd "$(dirname "$0")/.."
log=$folder/test.log
ctest --test-dir "$folder" -j 2 --output-on-failure --no-tests=error -O "$log.ctest"
status=$?
python3 scripts/count.py "$folder/Testing/Temporary/LastTest.log" $status
