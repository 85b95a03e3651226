"""Times that no schedule of a network's ops can beat on a machine.

The ops of its critical path run one after the other, whatever the schedule, and all ops share the
machine. Both are measured: the critical path alone on one stream or thread, and all ops without an
edge between them side by side.
"""

from __future__ import annotations

import statistics
from typing import Any, Callable, Dict, List, Sequence

CHAIN, WORK = "critical path alone", "all ops, no edges"


def critical_path(preds: Sequence[Sequence[int]], durations: Sequence[float]) -> List[int]:
    """The ops of a longest path; every op comes after those that it reads."""
    finish: List[float] = []
    before: List[int] = []
    for op, duration in enumerate(durations):
        last = max(preds[op], key=lambda p: finish[p], default=-1)
        before.append(last)
        finish.append(duration + (finish[last] if last >= 0 else 0.0))
    path = [max(range(len(finish)), key=lambda op: finish[op])]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    return path[::-1]


def spread(durations: Sequence[float], queues: int) -> List[List[int]]:
    """All ops on so many queues, the longest first, each on the one that is free first."""
    made: List[List[int]] = [[] for _ in range(queues)]
    load = [0.0] * queues
    for op in sorted(range(len(durations)), key=lambda op: -durations[op]):
        k = load.index(min(load))
        made[k].append(op)
        load[k] += durations[op]
    return [ops for ops in made if ops]


def floors(
    target: Any, durations: Sequence[float], counts: Sequence[int]
) -> Dict[str, Callable[[], Any]]:
    """Runs whose times no schedule can beat.

    Args:
        target: with the ops.
        durations: of its ops.
        counts: numbers of streams or threads; all ops side by side take the best of them.
    """
    path = critical_path(target.program.preds, durations)
    sides = [target.loose(spread(durations, count)) for count in counts]
    times = [statistics.median(target.times(run, target.repeats)) for run in sides]
    return {CHAIN: target.loose([path]), WORK: sides[times.index(min(times))]}
