"""Tests that are functions: `@test` runs one at once, in a folder of its own, and counts it; `end()` says how many.

A test fails when it raises, or returns a list of complaints that is not empty; it is skipped when it raises Skip.
"""
import sys
import tempfile
import time

only = ""  # run tests with it in their name
counts = {"passed": 0, "failed": 0, "skipped": 0}


class Skip(Exception):
    """What the test needs is not here."""


def test(function):
    if only not in function.__name__:
        return function
    begin, problems, result = time.time(), [], "passed"
    with tempfile.TemporaryDirectory() as folder:
        try:
            problems = function(folder) or []
        except Skip as why:
            result = "skipped"
            print(f"skipped: {function.__name__}: {why}")
        except (Exception, SystemExit) as problem:  # any failure is reported and counted
            problems = [repr(problem)]
    for problem in problems[:30]:
        print(f"FAILED {function.__name__}: {problem}")
    result = "failed" if problems else result
    counts[result] += 1
    print(f"{function.__name__}: {result}, {time.time() - begin:.1f} s", flush=True)
    return function


def end():
    print(", ".join(f"{number} {result}" for result, number in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)
