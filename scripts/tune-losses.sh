#!/bin/sh
# Tunes the three losses of `sked train` with one budget: 18 trainings each, of the same number of updates, graphs, seed and
# trajectories. Prints what each reaches on held-out graphs, the best first. A training that is there already is not run again.
#   scripts/tune-losses.sh                                  encode-once, random graphs of 50 ops, 500 updates each
#   POLICY=stepwise BACKEND=cuda STEPS=2000 scripts/tune-losses.sh
#   GRAPHS=net.json LOSSES=ppo OUT=tuned scripts/tune-losses.sh
set -eu
sked=${SKED:-build/sked} policy=${POLICY:-encode-once} steps=${STEPS:-500} devices=${DEVICES:-4} seed=${SEED:-0}
graphs=${GRAPHS:-erdos-renyi:50,layered:50,stochastic-block:50,watts-strogatz:50,barabasi-albert:50}
backend=${BACKEND:-auto} threads=${THREADS:-$(nproc)} losses=${LOSSES:-variance tb ppo} out=${OUT:-tune-$policy}
rates="0.0003 0.001 0.003"
mkdir -p "$out"

# One training: name=value ... Its line is the last one of the log, which has the validation.
train() {
    name=$(echo "$*" | tr ' ' '_')
    settings=
    for s in "$@"; do settings="$settings --set $s"; done
    if ! grep -qs '"top100"' "$out/$name.jsonl"; then
        # shellcheck disable=SC2086 # one option and one value each
        "$sked" train --graphs "$graphs" --devices "$devices" --steps "$steps" --seed "$seed" --threads "$threads" --backend "$backend" \
            --quiet --set policy="$policy" --set validate="$steps" --set transfers=0 --set unequal=0 $settings \
            -o "$out/$name.safetensors" -o "$out/$name.jsonl" >/dev/null
    fi
    tail -n 1 "$out/$name.jsonl" | sed "s/.*\"top1\":\([^,]*\),\"top100\":\([^,]*\),\"mean\":\([^,]*\),\"ged\":\([^,]*\),.*/\2 \1 \3 \4 $*/"
}

grid() {
    for loss in $losses; do
        for rate in $rates; do
            case $loss in
            variance) for listed in 0 0.1 0.3; do for clip in 1 10; do train loss="$loss" rate="$rate" listed=$listed clip=$clip; done; done ;;
            tb) for z in 0.003 0.01 0.1; do for clip in 1 10; do train loss="$loss" rate="$rate" log-z-rate=$z clip=$clip; done; done ;;
            ppo) for bonus in 0.003 0.03 0.3; do for epochs in 2 6; do train loss="$loss" rate="$rate" entropy=$bonus epochs=$epochs; done; done ;;
            *) echo "no such loss: $loss" >&2 && exit 2 ;;
            esac
        done
    done
}

echo "# $policy, $graphs, $devices devices, $steps updates, seed $seed, $(uname -m), $threads threads, $("$sked" --version)"
echo "# top100 top1 mean ged settings"
grid | sort -rn
