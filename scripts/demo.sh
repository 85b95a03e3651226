#!/bin/sh
# A tour in one command. The graph says nothing of transfers, the target charges for them. The one-shot pipeline measures 100
# schedules of every method; the loop learns the machine and measures a dozen. Beside both: a search that knows the machine.
set -eu
cd "$(dirname "$0")/.."
sked=build/sked
graph=examples/recommender.json
mkdir -p demo

# Runs sked; what it prints is shown and kept.
kept() { file=$1; shift; $sked "$@" > "$file"; cat "$file"; }
# The number of a key that stands on a line of its own; the winner's speedup and the measurements of a robust run.
number() { sed -n "s/^ \"$2\": \([-0-9.e+]*\),*\$/\1/p" "$1"; }
won() { sed -n 's/^winner .*speedup \([0-9.]*\) there.*/\1/p' "$1"; }
measured() { sed -n 's/^measured *\([0-9]*\) times.*/\1/p' "$1"; }

echo "== $graph: a recommender, 51 ops, 4 devices; target: transfers with latency and bandwidth"
echo
echo "== one-shot: candidates of every method, the best 100 of each measured"
kept demo/one-shot.txt robust $graph --devices 4 --target linear --one-shot --time-limit 4 --quiet -o demo/one-shot.scatter.svg -o demo/one-shot.html
echo
echo "== the loop: at most 12 measurements, learning from each"
kept demo/loop.txt robust $graph --devices 4 --target linear --measurements 12 --time-limit 8 --quiet --log demo/measurements.jsonl \
    -o demo/robust.json -o demo/report.html -o demo/robust.curve.svg -o demo/fitted.machine.json
echo
echo "== what could be known: search with the target's own latency (1.5 mean durations) and bandwidth (2 for mean bytes)"
$sked info $graph --json > demo/info.json
duration=$(echo "$(number demo/info.json work) $(number demo/info.json ops)" | awk '{printf "%.17g", $1 / $2}')
bytes=$(echo "$(number demo/info.json bytes) $(number demo/info.json edges)" | awk '{printf "%.17g", $1 / $2}')
known=$(echo "$duration $bytes" | awk '{printf "--latency %.17g --bandwidth %.17g", 1.5 * $1, $2 / (2 * $1)}')
# shellcheck disable=SC2086 # two options
kept demo/known.txt schedule $graph --devices 4 $known --method search --time-limit 2 --quiet
echo
echo "== schedule: on the machine that the loop fitted"
$sked schedule $graph --machine demo/fitted.machine.json --time-limit 3 --quiet \
    -o demo/plan.json -o demo/plan.html -o demo/gantt.svg -o demo/plan.trace.json
$sked check $graph demo/plan.json --machine demo/fitted.machine.json
echo
echo "== speedup on the target"
echo "one-shot          $(won demo/one-shot.txt) after $(measured demo/one-shot.txt) measurements"
echo "loop              $(won demo/loop.txt) after $(measured demo/loop.txt) measurements"
echo "machine known     $(sed -n 's/.*speedup \([0-9.]*\),.*/\1/p' demo/known.txt)"
echo
echo "open demo/report.html in a browser: the curve, the model before and after, what was learnt, the winner;"
echo "demo/one-shot.html is the pipeline beside it, demo/plan.html the schedule on the fitted machine, demo/plan.trace.json loads in Perfetto"
