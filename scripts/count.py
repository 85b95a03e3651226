#!/usr/bin/env python3
"""Counts single tests in a ctest log: cmocka's and our scripts' own lines. A program that died counts as failed, one
that skipped itself as skipped; why something was skipped is printed."""
import re
import sys

text = open(sys.argv[1], errors="replace").read()
ctest_status = int(sys.argv[2])
passed = failed = skipped = 0
for block in re.split(r"^\d+/\d+ Testing: ", text, flags=re.M)[1:]:
    name = block.split("\n", 1)[0]
    good = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", block))
    bad = sum(int(n) for n in re.findall(r"\[  FAILED  \] (\d+) test", block))
    missed = sum(int(n) for n in re.findall(r"\[  SKIPPED \] (\d+) test", block))
    for p, f, s in re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", block, flags=re.M):
        good, bad, missed = good + int(p), bad + int(f), missed + int(s or 0)
    if re.search(r"^Test Failed\.|^\*\*\*", block, flags=re.M) and bad == 0:
        bad = 1
        print("died:", name)
    reasons = sorted(set(re.findall(r"^skipped: .*", block, flags=re.M)))
    if good + bad + missed == 0:
        missed = 1
        reasons = reasons or ["skipped: no word why"]
    for reason in reasons:
        print(f"{name}: {reason}")
    passed, failed, skipped = passed + good, failed + bad, skipped + missed
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or ctest_status or not passed else 0)
