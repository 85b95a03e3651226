#!/bin/sh
# fuzz/run.sh SECONDS [PARSER ...]: runs the fuzz targets (all, or those named), one for each processor at a time.
#
# Build them first: cmake --preset fuzz && cmake --build build/fuzz --target parser_fuzzer
# What libFuzzer learns stays in fuzz/corpus/PARSER (not under version control). An input that breaks a
# parser is left as fuzz/corpus/PARSER.crash-*; once fixed, it belongs into fuzz/regressions/PARSER/.
set -u
if [ $# -lt 1 ]; then
    echo "usage: fuzz/run.sh SECONDS [PARSER ...]" >&2
    exit 2
fi
seconds=$1
shift
cd "$(dirname "$0")/.." || exit 2
targets=${SKED_FUZZ_BUILD:-build/fuzz}/fuzz
if [ $# -eq 0 ]; then
    for program in "$targets"/fuzz_*; do
        [ -f "$program" ] && [ -x "$program" ] && set -- "$@" "${program##*/fuzz_}"
    done
fi
if [ $# -eq 0 ]; then
    echo "no fuzz targets in $targets; build them: make fuzz-build" >&2
    exit 2
fi
# Undefined behaviour counts as a crash.
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
export UBSAN_OPTIONS
if [ $# -gt 1 ]; then
    if ! printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" fuzz/run.sh "$seconds"; then
        echo "some failed"
        exit 1
    fi
    echo "all clean"
    exit 0
fi
name=$1
corpus=fuzz/corpus/$name
mkdir -p "$corpus"
set -- "$corpus"
for known in "fuzz/seeds/$name" "fuzz/regressions/$name"; do
    [ -d "$known" ] && set -- "$@" "$known"
done
[ -f "fuzz/dict/$name.dict" ] && set -- "-dict=fuzz/dict/$name.dict" "$@"
if ! "$targets/fuzz_$name" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="$corpus." -print_final_stats=1 "$@" >"$corpus.log" 2>&1; then
    echo "fuzz $name failed"
    tail -n 40 "$corpus.log"
    exit 1
fi
echo "fuzz $name: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus.log") inputs," \
    "$(sed -n 's/^stat::peak_rss_mb: *//p' "$corpus.log") MB"
