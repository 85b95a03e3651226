"""One problem at many values of a parameter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, NamedTuple, Optional, Union

import numpy as np

from ._arrays import pointer, wanted_column
from ._call import LongCall, ProgressFunction, Settings
from ._check import fill, keywords, needed
from ._errors import c_text, text
from ._graph import Graph
from ._machine import MachineLike
from ._native import ffi, lib
from ._problem import PROBLEM, Problem, as_problem, choice
from ._run import fill_common, run_options
from ._schedule import Schedule

if TYPE_CHECKING:
    import pandas
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._problem import ProblemOptions


class SweepPoint(NamedTuple):
    """What one value of the parameter gave.

    Attributes:
        at: the value.
        schedule: of points on the Pareto front; None elsewhere.
        pareto: no other point is better on one side and as good on the other.
        x: the first side of the trade-off.
        y: the second one.
        value: of the objective; nan: there is no schedule.
        bound: proven lower bound of the objective.
        optimal: the value is the best there is.
        makespan: latest finish.
        peak_memory: of values held at a time.
        resource: sum over resources of the peak weighted load.
        communication: steps spanned by edges with bytes.
        ii: initiation interval; 0: not pipelined.
        method: that made the schedule.
        seconds: it took.
        reason: why there is no schedule; "" where there is one.
    """

    at: float
    schedule: Optional[Schedule]
    pareto: bool
    x: float
    y: float
    value: float
    bound: float
    optimal: bool
    makespan: float
    peak_memory: float
    resource: float
    communication: float
    ii: float
    method: str
    seconds: float
    reason: str


_NUMBERS = ("x", "y", "value", "makespan", "peak_memory", "resource", "communication", "ii")


class Sweep:
    """The points of a sweep, in the order of the values.

    Attributes:
        parameter: its name.
        x: what it trades, the first side.
        y: the second side.
        points: a list of `SweepPoint`.
        knee: the point nearest to the best of both sides at once; None: no value has a schedule.
    """

    def __init__(self) -> None:
        raise TypeError("a Sweep is what sked.sweep returns")

    @classmethod
    def _take(cls, problem: Problem, parameter: str, c_sweep: Any, seed: int) -> "Sweep":
        sweep = cls.__new__(cls)
        sweep.parameter, sweep.x, sweep.y = parameter, text(c_sweep.x), text(c_sweep.y)
        rows = [c_sweep.point[i] for i in range(c_sweep.count)]
        sweep.points = [_point(problem, parameter, row, c_sweep, seed) for row in rows]
        sweep.knee = sweep.points[c_sweep.knee] if c_sweep.knee >= 0 else None
        return sweep

    parameter: str
    x: str
    y: str
    points: List[SweepPoint]
    knee: Optional[SweepPoint]

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    def __iter__(self) -> Iterator[SweepPoint]:
        return iter(self.points)

    def __getitem__(self, i: int) -> SweepPoint:
        return self.points[i]

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame with one row per point; the first column has the name of the parameter."""
        pandas = needed("pandas", "pandas")
        table = pandas.DataFrame(self.points, columns=SweepPoint._fields)
        return table.drop(columns="schedule").rename(columns={"at": self.parameter})

    def save(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the knee; the extension picks what it becomes, and .html shows the whole curve.

        Args:
            path: as for `Schedule.save`.
            format: name of a report, where the extension does not say it.
        """
        if self.knee is None or self.knee.schedule is None:
            raise ValueError("no value of this sweep has a schedule")
        self.knee.schedule.save(path, format)

    def __repr__(self) -> str:
        good = sum(point.pareto for point in self.points)
        return f"<sked.Sweep of {self.parameter}: {len(self)} points, {good} on the Pareto front>"


def _point(problem: Problem, parameter: str, row: Any, sweep: Any, seed: int) -> SweepPoint:
    made, at = None, float(row.at)
    if row.schedule != ffi.NULL:
        options: Any = {**problem._options, parameter: at if at > 0 or parameter != "ii" else None}
        own = Problem(problem.graph, problem.machine, **options)
        method = ffi.new("char[]", ffi.string(row.method))
        about = {
            "method": method,
            "lower_bound": row.lower_bound,
            "optimal": row.optimal,
            "seconds": row.seconds,
            "seed": seed,
            "sweep": sweep,
        }
        made = Schedule._take(own, row.schedule, (sweep, method), about)
    numbers = {name: float(getattr(row, name)) if row.found else np.nan for name in _NUMBERS}
    return SweepPoint(
        at=at,
        schedule=made,
        pareto=bool(row.pareto),
        bound=float(row.lower_bound) if row.found else np.nan,
        optimal=bool(row.optimal),
        method=text(row.method),
        seconds=float(row.seconds),
        reason=text(row.reason),
        **numbers,
    )


def _parameters() -> "dict[str, int]":
    named = ffi.typeof("sked_sweep_parameter").elements
    return {name[len("SKED_SWEEP_") :].lower(): number for number, name in sorted(named.items())}


@keywords(*PROBLEM)
def sweep(
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    *,
    parameter: str,
    values: "ArrayLike",
    method: str = "auto",
    time_limit: Optional[float] = 5.0,
    iterations: int = 0,
    seed: int = 0,
    threads: int = 1,
    settings: Optional[Mapping[str, Any]] = None,
    start: Optional[Schedule] = None,
    progress: Optional[ProgressFunction] = None,
    backend: Optional[str] = None,
    **problem: "Unpack[ProblemOptions]",
) -> Sweep:
    """Schedules one problem at many values of a parameter, and says which of them are worth choosing
    between.

    Args:
        graph: what to schedule, or a whole problem.
        machine: where; a number stands for that many equal devices, None for no devices.
        parameter: "horizon", "ii", "alpha", "memory_limit" or "clock".
        values: of the parameter.
        method: `sked.methods()` lists them.
        time_limit: seconds for each value; None: no limit.
        iterations: limit for each value in the method's own unit; 0: none.
        seed: of the random numbers.
        threads: to work with.
        settings: options of the method.
        start: a schedule for a warm start.
        progress: is told where the run of each value stands. Where it returns False, the sweep ends.
        backend: "cpu", "cuda" or "auto".
        **problem: as for `Problem`.

    Raises:
        Interrupted: Ctrl-C; `.result` has the points until then.
    """
    p = as_problem(graph, machine, problem)
    wanted = wanted_column(values, "f8", None, "values")
    long, pairs, kept = LongCall(progress), Settings(settings), [c_text(method)]
    run = run_options(long, kept, pairs, time_limit, iterations, start)
    fill_common(run, long, kept, seed=seed, threads=threads, backend=backend)
    options = ffi.new("sked_sweep_options *")
    lib.sked_sweep_options_init_sized(options, ffi.sizeof("sked_sweep_options"))
    options.parameter = choice("parameter", parameter, _parameters())
    options.values = pointer(wanted, "f8")
    fill(options, n_values=wanted.size)
    out = ffi.gc(ffi.new("sked_sweep_result *"), lib.sked_sweep_result_clear)
    out.size = ffi.sizeof("sked_sweep_result")
    outcome = long.run(lib.sked_sweep, kept[0], p._c, options, run, out)

    def make() -> Optional[Sweep]:
        return Sweep._take(p, parameter, out, seed) if out.count > 0 else None

    found: Sweep = outcome.result(make)
    return found
