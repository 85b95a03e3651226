#!/bin/sh
# Two processes on one problem: the result is valid, at least as good as one process's, and the work adds up.
set -eu
sked=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$sked" generate layered --nodes 60 --duration int:1,20 -o "$folder/g.json"
for n in 1 2; do
    mpirun --allow-run-as-root --oversubscribe -n $n "$sked" schedule "$folder/g.json" --devices 3 --method list \
        --set priority=random --set tries=50 --json -o "$folder/s$n.json" >"$folder/r$n.json"
    "$sked" check "$folder/g.json" "$folder/s$n.json"
done
python3 - "$folder" <<'PY'
import json, sys
one, two = (json.load(open(f"{sys.argv[1]}/r{n}.json")) for n in (1, 2))
assert two["value"] <= one["value"], (one["value"], two["value"])
assert two["evaluations"] == 2 * one["evaluations"], (one["evaluations"], two["evaluations"])
print("mpi: 2 processes found", two["value"], "one found", one["value"])
PY
