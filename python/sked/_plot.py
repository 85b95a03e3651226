"""The Gantt chart that matplotlib draws."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ._check import instance, needed
from ._schedule import Schedule

if TYPE_CHECKING:
    import matplotlib.axes

_MOST_NAMED = 40  # ops whose names are written into their bars
_MOST_APART = 300  # ops with a seam between them, which looks like idle time where they are narrow
_MOST_TYPES = 20  # colours there are, and lines of the legend


def gantt(
    schedule: Schedule, axes: "Optional[matplotlib.axes.Axes]"
) -> "matplotlib.axes.Axes":
    """Bars of all ops; what `Schedule.plot` returns."""
    pyplot = needed("matplotlib.pyplot", "plot")
    if axes is None:
        axes = pyplot.subplots(figsize=(10, 4), layout="constrained")[1]
    instance(axes, pyplot.Axes, "axes")
    graph, rows = schedule.problem.graph, _rows(schedule)
    shades = pyplot.get_cmap("tab20").colors
    kinds = dict.fromkeys(graph.types)
    colour = {kind: shades[i % len(shades)] for i, kind in enumerate(kinds)}
    seam = 0.5 if len(rows) <= _MOST_APART else 0.0
    bars: Dict[Tuple[int, Optional[str]], List[Tuple[float, float]]] = {}
    named = enumerate(zip(rows, graph.types, schedule.start.tolist(), schedule.finish.tolist()))
    for i, (row, kind, start, finish) in named:
        bars.setdefault((row, kind), []).append((start, finish - start))
        if len(rows) <= _MOST_NAMED:
            middle: Dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small", "clip_on": True}
            axes.text((start + finish) / 2, row, graph.op_name(i), **middle)
    for (row, kind), spans in bars.items():
        axes.broken_barh(spans, (row - 0.4, 0.8), facecolor=colour[kind], edgecolor="white", linewidth=seam)
    _explain(axes, schedule, colour, max(rows, default=0) + 1, pyplot)
    return axes


def _rows(schedule: Schedule) -> List[int]:
    """The row of every op: its device; without devices the first one that is free."""
    if schedule.device is not None:
        return schedule.device.tolist()  # type: ignore[no-any-return, unused-ignore]
    rows, start, finish = [0] * len(schedule), schedule.start, schedule.finish
    free: List[int] = []
    ends: List[Tuple[float, int]] = []
    for i in schedule.order.tolist():
        while ends and ends[0][0] <= start[i]:
            heapq.heappush(free, heapq.heappop(ends)[1])
        rows[i] = heapq.heappop(free) if free else len(ends)
        heapq.heappush(ends, (float(finish[i]), rows[i]))
    return rows


def _explain(axes: Any, schedule: Schedule, colour: Dict[Any, Any], rows: int, pyplot: Any) -> None:
    machine = schedule.problem.machine
    axes.set_xlabel("time")
    names = [] if machine is None else [device.name for device in machine.devices]
    axes.set_yticks(range(len(names)), names)
    rows = len(names) or rows
    axes.set_xlim(left=0)
    axes.set_ylim(rows - 0.5, -0.5)  # the first one on top
    axes.set_title(f"{schedule.problem.graph.name or 'schedule'}: makespan {schedule.makespan:g}")
    kinds = [kind for kind in colour if kind is not None]
    if 1 < len(kinds) <= _MOST_TYPES:
        patches = [pyplot.Rectangle((0, 0), 1, 1, color=colour[kind]) for kind in kinds]
        axes.legend(patches, kinds, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
