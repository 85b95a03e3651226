"""Schedules side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Union

import numpy as np

from ._check import needed
from ._errors import text
from ._robust import RobustResult
from ._run import Result
from ._schedule import Schedule, of_one_graph

if TYPE_CHECKING:
    import pandas

    Found = Union[Schedule, Result, RobustResult]


def compare(schedules: "Union[Mapping[str, Found], Iterable[Found]]") -> "pandas.DataFrame":
    """A DataFrame with one row per schedule: what `Schedule.metrics` measures, moved (ops on another device
    than in the first one) and shifted (ops that start at another time).

    Args:
        schedules: of one graph; results stand for their best ones. Keys of a dict name the rows; otherwise
            methods do.

    Examples:
        >>> runs = {m: sked.schedule(graph, 4, method=m) for m in ("heft", "list", "search")}
        >>> sked.compare(runs)
    """
    pandas = needed("pandas", "pandas")
    named = schedules if isinstance(schedules, Mapping) else None
    given = list(schedules.values() if named is not None else schedules)  # type: ignore[union-attr]
    results = (Result, RobustResult)
    found = of_one_graph(x.schedule if isinstance(x, results) else x for x in given)
    names = list(named) if named is not None else [_method(s, i) for i, s in enumerate(found)]
    rows = [_row(schedule, found[0]) for schedule in found]
    return pandas.DataFrame(rows, index=names)


def _method(schedule: Schedule, i: int) -> str:
    method = schedule._about.get("method")
    return str(i) if method is None else text(method)


def _row(schedule: Schedule, first: Schedule) -> Dict[str, Any]:
    moved = np.zeros(0)
    if schedule.device is not None and first.device is not None:
        moved = schedule.device != first.device
    shifted = np.count_nonzero(schedule.start != first.start)
    return {**schedule.metrics(), "moved": np.count_nonzero(moved), "shifted": shifted}
