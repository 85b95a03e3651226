#!/bin/sh
# valgrind.sh FOLDER [TEST ...]: runs the test programs of a build folder (all, or those named) under Valgrind's
# memcheck, one after the other, and ends with one line. Hours, not minutes: not a part of .ci/run.
set -u
tests=$(cd "$1" && pwd)/tests
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(cd "$tests" && ls test_*)
clean=0 bad=
for name; do
    case $name in
    test_growth) continue ;;  # judges processor time, which Valgrind changes
    test_alloc) continue ;;   # replaces the allocator that Valgrind watches; ASan runs it
    test_gflownet) skip='test_tiny_problems*' ;; # minutes of training by code that the other tests run too
    *) skip= ;;
    esac
    # A test that judges the clock may fail: it runs some fifty times as long. What counts is what memcheck says; leaks
    # are AddressSanitizer's part.
    SKED_SKIP=$skip valgrind --quiet --error-exitcode=99 "$tests/$name" >"$tests/$name.valgrind" 2>&1
    case $? in
    0) clean=$((clean + 1)) && printf '%s: clean\n' "$name" ;;
    99) bad="$bad $name" && printf '%s: see %s\n' "$name" "$tests/$name.valgrind" ;;
    *) clean=$((clean + 1)) && printf '%s: clean; a test failed: %s\n' "$name" \
        "$(grep '^\[  FAILED  \] [a-z_]*$' "$tests/$name.valgrind" | sort -u | awk '{print $4}' | tr '\n' ' ')" ;;
    esac
done
printf '%d programs clean under Valgrind; others:%s\n' "$clean" "${bad:- none}"
[ -z "$bad" ]
