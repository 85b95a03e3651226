#!/bin/sh
# The command as one file: static.sh SKED. It is copied where there is nothing else (as root: made the root folder) and used.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
cp "$1" "$work/sked"
cp -r "$source/examples" "$work/examples"
passed=0 skipped=0
fail() { cat "$work/said"; echo "FAILED $1"; exit 1; }
if [ "$(id -u)" -eq 0 ] && chroot "$work" /sked --version >/dev/null 2>&1; then
    alone() { chroot "$work" /sked "$@"; }
else
    alone() { (cd "$work" && env -i ./sked "$@"); }
    skipped=1
    echo "skipped: an empty root folder (needs root)"
fi
# expect WORDS ARGUMENT...: the command succeeds and prints the words.
expect() {
    words=$1
    shift
    alone "$@" >"$work/said" 2>&1 || fail "sked $*"
    grep -qF -- "$words" "$work/said" || fail "sked $*: no '$words' in what it printed"
    passed=$((passed + 1))
}
if readelf -d "$work/sked" | grep -q NEEDED || readelf -l "$work/sked" | grep -q INTERP; then
    : >"$work/said"
    fail "the program needs shared libraries"
fi
expect "makespan 135" schedule examples/cholesky.json --devices 4
expect "ops" info examples/inception.onnx
expect "makespan" schedule examples/fir.dot --library examples/units.json --method exact --set engine=cbc
expect "makespan" schedule examples/recommender.json --machine examples/node.machine.json --threads 2 --time-limit 0.3 -o tmp/plan.html
expect "speedup" robust examples/recommender.json --devices 2 --target threads:unit=1e-7 --measurements 2 --time-limit 0.3
alone convert examples/fir.dot tmp/fir.graphml >"$work/said" 2>&1 || fail "sked convert"
expect "ops" info tmp/fir.graphml
echo "$passed passed, 0 failed, $skipped skipped"
