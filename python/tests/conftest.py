"""What the tests share, and the line that scripts/count.py counts."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
import sked

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def pytest_configure() -> None:
    """A shell starts background jobs with SIGINT ignored; tests of Ctrl-C need it heard."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        terminalreporter.write_line(f"skipped: {report.longrepr[2]}")
    counts = {kind: len(stats.get(kind, [])) for kind in ("passed", "failed", "error", "skipped")}
    failed = counts["failed"] + counts["error"]
    terminalreporter.write_line("")
    terminalreporter.write_line(
        f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped"
    )


@pytest.fixture
def diamond() -> sked.Graph:
    """a before b and c before d."""
    g = sked.Graph("diamond")
    for name, duration in (("a", 2), ("b", 3), ("c", 4), ("d", 1)):
        g.add_op(name, duration, type="Mul" if name in "bc" else "Add", memory=8)
    for first, second in ("ab", "ac", "bd", "cd"):
        g.add_edge(first, second, bytes=10)
    return g


@pytest.fixture
def recommender() -> sked.Graph:
    return sked.read(os.path.join(ROOT, "examples", "recommender.json"))


@pytest.fixture
def hard() -> sked.Problem:
    """Transfers cost so much that no bound is met: a search runs until its limit."""
    rng = np.random.default_rng(7)
    n = 600
    first = rng.integers(0, n - 40, 3 * n)
    second = first + rng.integers(1, 40, 3 * n)
    graph = sked.from_arrays(rng.integers(1, 100, n), first, second, bytes=100)
    return sked.Problem(graph, sked.Machine.identical(6, latency=50, bandwidth=1))
