#!/bin/sh
# Two processes on one problem: what they find is valid, never worse than what one finds and for some seed better
# (then the winner is the second process and its schedule has travelled), and their work adds up.
# Usage: mpi.sh SKED, a command built with MPI. Ends with the line that scripts/count.py counts.
set -u
sked=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Two ranks on any machine: as root, and with fewer cores than ranks.
start() {
    ranks=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -n "$ranks" "$sked" "$@"
}

two_ranks_beat_one() (
    set -e
    "$sked" generate layered --nodes 60 --duration int:1,20 -o "$folder/g.json"
    for seed in 0 1 2 3; do
        for n in 1 2; do
            start $n schedule "$folder/g.json" --devices 3 --method list --set priority=random --set tries=1 \
                --seed $seed --json -o "$folder/s.json" >"$folder/$seed-$n.json"
            "$sked" check "$folder/g.json" "$folder/s.json"
        done
    done
    python3 - "$folder" <<'PY'
import json, sys
better = 0
for seed in range(4):
    one, two = (json.load(open(f"{sys.argv[1]}/{seed}-{n}.json")) for n in (1, 2))
    assert two["value"] <= one["value"], (seed, one["value"], two["value"])
    assert two["value"] == two["makespan"], (seed, two["value"], two["makespan"])
    assert two["evaluations"] == 2 * one["evaluations"], (seed, one["evaluations"], two["evaluations"])
    better += two["value"] < one["value"]
assert better > 0, "the second process never won"
print("mpi: the second process won", better, "of 4")
PY
)

two_ranks_beat_one # not behind && or if: they would switch set -e off inside
if [ $? -eq 0 ]; then
    echo "1 passed, 0 failed"
else
    echo "0 passed, 1 failed"
    exit 1
fi
