"""Searching for a schedule."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._call import LongCall, ProgressFunction, Settings, keep_failure
from ._check import c_option, c_path, fill, function, instance, keywords, real
from ._errors import ArgumentError, c_text, call, text
from ._graph import Graph
from ._machine import MachineLike
from ._native import ffi, lib
from ._problem import PROBLEM, Bound, Problem, as_problem
from ._schedule import Schedule, shown

if TYPE_CHECKING:
    import matplotlib.axes
    from typing_extensions import Unpack

    from ._problem import ProblemOptions


def _row(struct: Any) -> Dict[str, Any]:
    """A C struct of numbers and texts as a dict."""
    names = [name for name, _ in ffi.typeof(struct).fields]
    values = [getattr(struct, name) for name in names]
    return {k: text(v) if isinstance(v, ffi.CData) else v for k, v in zip(names, values)}


class Result:
    """What a search found.

    In a notebook it shows itself as the Gantt chart of its best schedule.

    Attributes:
        schedule: the best one.
        schedules: all of them, best first, where candidates were asked for.
        value: of the objective.
        objective: name of the objective.
        bound: proven lower bound of the objective.
        status: "optimal", "feasible", or "stopped" where a stop was asked for.
        method: that made the best schedule.
        evaluations: complete schedules built or evaluated.
        seconds: of the whole run.
        seed: of the run.
        note: what one may want to know; mostly "".
    """

    def __init__(self) -> None:
        raise TypeError("a Result is what sked.schedule returns")

    @classmethod
    def _take(cls, problem: Problem, c_result: Any, seed: int, stopped: bool) -> "Result":
        result = cls.__new__(cls)
        result._read(problem, c_result, seed, stopped)
        return result

    def _read(self, problem: Problem, c_result: Any, seed: int, stopped: bool) -> None:
        self.problem = problem
        self.objective = problem.objective
        self.value = float(c_result.value)
        self.bound = float(c_result.lower_bound)
        self.optimal = bool(c_result.optimal)
        self.status = "optimal" if self.optimal else "stopped" if stopped else "feasible"
        self.method = text(c_result.method)
        self.evaluations = int(c_result.evaluations)
        self.seconds = float(c_result.seconds)
        self.seed = seed
        self.note = text(c_result.note)
        self._c = c_result
        self._method = ffi.new("char[]", self.method.encode())
        about = {
            "method": self._method,
            "lower_bound": self.bound,
            "optimal": self.optimal,
            "seconds": self.seconds,
            "seed": seed,
            "curve": c_result.curve,
            "n_curve": c_result.n_curve,
        }
        owner = (c_result, self._method)
        self.schedules: Tuple[Schedule, ...] = tuple(
            Schedule._take(problem, c_result.schedule[i], owner, about)
            for i in range(c_result.count)
        )

    @property
    def schedule(self) -> Schedule:
        """The best schedule."""
        return self.schedules[0]

    @property
    def makespan(self) -> float:
        """Latest finish of the best schedule."""
        return self.schedule.makespan

    @property
    def gap(self) -> float:
        """How far the value is above the bound, as a share of the bound; 0: it is optimal."""
        if self.optimal or self.value <= self.bound:
            return 0.0
        return (self.value - self.bound) / self.bound if self.bound > 0 else math.inf

    @property
    def statistics(self) -> List[Dict[str, Any]]:
        """What ran inside, how often, how long, what it gained: a row per method and technique."""
        return [_row(self._c.statistics[i][0]) for i in range(self._c.n_statistics)]

    @property
    def curve(self) -> List[Dict[str, Any]]:
        """Value over time: seconds, evaluations, value and bound at each improvement of either."""
        return [_row(self._c.curve[i][0]) for i in range(self._c.n_curve)]

    def save(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the best schedule, with how it was found; the extension picks what it becomes.

        Args:
            path: as for `Schedule.save`; .jsonl has all schedules, one a line.
            format: name of a report, where the extension does not say it.
        """
        if format is None and os.fspath(path).endswith(".jsonl"):
            all_ = ffi.cast("const sked_schedule *const *", self._c.schedule)
            call(lib.sked_schedules_write, self.problem._c, all_, self._c.count, c_path(path))
        else:
            self.schedule.save(path, format)

    def plot(self, axes: "Optional[matplotlib.axes.Axes]" = None) -> "matplotlib.axes.Axes":
        """`Schedule.plot` of the best one.

        Args:
            axes: to draw into; None: a new figure's.
        """
        return self.schedule.plot(axes)

    def _repr_html_(self) -> str:
        return shown(self, self.schedule)

    def __repr__(self) -> str:
        return (
            f"<sked.Result: {self.objective} {self.value:g}, bound {self.bound:g}, "
            f"gap {100 * self.gap:.2f} %, {self.status}, by {self.method} in {self.seconds:.2f} s>"
        )


def fill_common(
    options: Any,
    long: LongCall,
    kept: List[Any],
    *,
    seed: int,
    threads: int,
    backend: Optional[str],
) -> None:
    """What the options of every long call have."""
    fill(options, seed=seed, threads=threads)
    options.stop = long.stop
    kept.append(c_option(backend))
    options.backend = kept[-1]


def limit_of(value: Optional[float], name: str = "time_limit") -> float:
    """A limit as the library knows it: inf where there is none."""
    if value is None:
        return math.inf
    limit = real(value, name)
    if not limit >= 0:
        raise ArgumentError(f"{name} must be 0 or more, not {value}")
    return limit


def run_options(
    long: LongCall,
    kept: List[Any],
    pairs: Settings,
    time_limit: Optional[float],
    iterations: int,
    start: Optional[Schedule],
) -> Any:
    """What a run and a sweep have; the caller keeps what it stands on."""
    options = ffi.new("sked_run_options *")
    lib.sked_run_options_init_sized(options, ffi.sizeof("sked_run_options"))
    options.time_limit = limit_of(time_limit)
    pairs.give(options)
    fill(options, iterations=iterations)
    if start is not None:
        kept.append(instance(start, Schedule, "start")._c)
        options.start = kept[-1]
    if long.progress is not None:
        options.progress, options.progress_data = lib.sked_py_progress, long.handle
    return options


IncumbentFunction = Callable[[Schedule], Optional[bool]]


class _Searching(LongCall):
    """A run that tells its incumbents."""

    def __init__(
        self,
        problem: Problem,
        progress: Optional[ProgressFunction],
        incumbent: Optional[IncumbentFunction],
    ) -> None:
        super().__init__(progress)
        self.problem = problem
        self.incumbent = function(incumbent, "incumbent")

    def tell_incumbent(self, c_schedule: Any) -> None:
        if self.incumbent is None or self.raised is not None:
            return
        copy = ffi.new("sked_schedule **")
        call(lib.sked_schedule_clone, c_schedule, copy)
        owner = ffi.gc(copy[0], lib.sked_schedule_destroy)
        if self.incumbent(Schedule._take(self.problem, owner, owner)) is False:
            self.guard.stop = 1


def sked_py_incumbent(data: Any, c_schedule: Any, value: float) -> None:
    long: _Searching = ffi.from_handle(data)
    long.tell_incumbent(c_schedule)


ffi.def_extern(onerror=keep_failure)(sked_py_incumbent)


@keywords(*PROBLEM)
def schedule(
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    *,
    method: str = "auto",
    time_limit: Optional[float] = 5.0,
    iterations: int = 0,
    seed: int = 0,
    threads: int = 1,
    settings: Optional[Mapping[str, Any]] = None,
    start: Optional[Schedule] = None,
    candidates: int = 1,
    top: int = 0,
    min_distance: float = 0.0,
    progress: Optional[ProgressFunction] = None,
    incumbent: Optional[IncumbentFunction] = None,
    backend: Optional[str] = None,
    **problem: "Unpack[ProblemOptions]",
) -> Result:
    """Schedules a graph on a machine.

    Args:
        graph: what to schedule, or a whole problem.
        machine: where; a number stands for that many equal devices, None for no devices.
        method: `sked.methods()` lists them; "auto" takes the strongest for the problem.
        time_limit: seconds; None: no limit.
        iterations: limit in the method's own unit; 0: none. Unlike time it gives the same result
            on every run.
        seed: of the random numbers.
        threads: to work with.
        settings: options of the method.
        start: a schedule for a warm start.
        candidates: how many different schedules to find.
        top: how many of these to keep; 0: all.
        min_distance: least distance between two kept ones, GED in percent.
        progress: is told where the search stands. Where it returns False the search ends with its
            incumbent.
        incumbent: is given every schedule that is better than all before it, as it is found. Where it returns
            False the search ends.
        backend: "cpu", "cuda" or "auto".
        **problem: as for `Problem`: devices, objective, horizon, ii, alpha, capacity, memory_limit,
            lifetime, fix_device, fix_start.

    Raises:
        InfeasibleError: there is no schedule, or none was found.
        StoppedError: a limit came before the first schedule.
        Interrupted: Ctrl-C; `.result` has the incumbent.
    """
    p = as_problem(graph, machine, problem)
    long, pairs, kept = _Searching(p, progress, incumbent), Settings(settings), [c_text(method)]
    options = run_options(long, kept, pairs, time_limit, iterations, start)
    fill_common(options, long, kept, seed=seed, threads=threads, backend=backend)
    fill(options, candidates=candidates, top=top, min_distance=min_distance)
    if incumbent is not None:
        options.incumbent, options.incumbent_data = lib.sked_py_incumbent, long.handle
    out = ffi.gc(ffi.new("sked_result *"), lib.sked_result_clear)
    out.size = ffi.sizeof("sked_result")
    outcome = long.run(lib.sked_method_run, kept[0], p._c, options, out)

    def make() -> Optional[Result]:
        return Result._take(p, out, seed, long.guard.stop != 0) if out.count > 0 else None

    found: Result = outcome.result(make)
    return found


@keywords(*PROBLEM)
def bounds(
    graph: Union[Graph, Problem], machine: MachineLike = None, **problem: "Unpack[ProblemOptions]"
) -> Bound:
    """A lower bound of the objective over all valid schedules; `.why` names the argument that
    decides.

    Args:
        graph: what to schedule, or a whole problem.
        machine: where.
        **problem: as for `Problem`.
    """
    return as_problem(graph, machine, problem).bound()
