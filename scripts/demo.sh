#!/bin/sh
# A tour in one command: candidates of every method on a shipped graph, measured on a target with transfer costs that the
# proxy does not know; then the best schedule for a machine whose transfer costs are known, with a report to open.
set -eu
cd "$(dirname "$0")/.."
sked=build/sked
graph=examples/cholesky.json
mkdir -p demo
echo "== $graph: tiled Cholesky factorisation, 120 ops, 4 devices"
echo
echo "== robust: the proxy knows no transfers, the target charges for them"
$sked robust $graph --devices 4 --target linear --time-limit 2 --quiet -o demo/robust.json -o demo/report.html -o demo/robust.scatter.svg
echo
echo "== schedule: transfers known (1 + bytes / 8192)"
$sked schedule $graph --devices 4 --latency 1 --bandwidth 8192 --time-limit 3 --quiet \
    -o demo/plan.json -o demo/plan.html -o demo/gantt.svg -o demo/plan.trace.json
$sked check $graph demo/plan.json --latency 1 --bandwidth 8192
echo
echo "open demo/report.html in a browser: all candidates on proxy and target, and the winner; demo/plan.html is the second schedule,"
echo "demo/gantt.svg its picture, demo/plan.trace.json loads in Perfetto"
