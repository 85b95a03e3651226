#!/bin/sh
# A tour in one command: three methods on a shipped graph with transfer cost, a table, a report to open.
set -eu
cd "$(dirname "$0")/.."
sked=build/sked
graph=examples/cholesky.json
machine="--devices 4 --latency 1 --bandwidth 8192"
mkdir -p demo
echo "$graph: tiled Cholesky factorisation, 4 devices, a transfer costs 1 + bytes / 8192"
echo
printf '%-8s %10s %10s %8s %9s %9s\n' method makespan bound "gap %" speedup seconds
for method in list heft auto; do
    $sked schedule $graph $machine --method $method --time-limit 5 --json -o demo/$method.json >demo/$method.summary.json
    python3 - "$method" <<'PY'
import json, sys
s = json.load(open(f"demo/{sys.argv[1]}.summary.json"))
print(f"{sys.argv[1]:8} {s['makespan']:10g} {s['lower_bound']:10g} {100 * s['gap']:8.2f} {s['speedup']:9.3f} {s['seconds']:9.3f}")
PY
done
$sked schedule $graph $machine --start demo/auto.json --time-limit 1 --quiet -o demo/report.html -o demo/gantt.svg -o demo/trace.trace.json >/dev/null
$sked check $graph demo/auto.json --latency 1 --bandwidth 8192
echo
echo "open demo/report.html in a browser; demo/gantt.svg is the picture, demo/trace.trace.json loads in Perfetto"
