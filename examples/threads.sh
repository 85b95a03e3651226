#!/bin/sh
# Finds a schedule of a small graph that is fast on this machine: the loop runs schedules on pinned threads, learns what
# transfers and caches cost here, and keeps the fastest. Usage: examples/threads.sh [SKED] [FOLDER for the results]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sked=${1:-sked}
folder=${2:-.}
# As many devices as there are cores, four at most.
devices=$(nproc)
[ "$devices" -le 4 ] || devices=4
# 8 KB a tile would hardly be felt; these are 320 KB: what a device reads from another one is no longer free.
"$sked" robust "$here/cholesky.json" --devices "$devices" --target threads:memory-scale=40 --measurements 10 --time-limit 2 \
    -o "$folder/threads.json" -o "$folder/threads.machine.json" -o "$folder/threads.html"
echo "the schedule: $folder/threads.json; the machine as learnt: $folder/threads.machine.json; a report: $folder/threads.html"
