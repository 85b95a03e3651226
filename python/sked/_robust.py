"""Choosing a schedule by measuring it."""

from __future__ import annotations

import math
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from ._arrays import numbers, view, wanted_column
from ._call import LongCall, ProgressFunction, Settings, keep_failure
from ._check import c_option, c_path_option, fill, instance, integer, keywords
from ._errors import ArgumentError, DeviceError, c_text, text
from ._graph import Graph
from ._machine import Machine, MachineLike
from ._native import ffi, lib
from ._problem import PROBLEM, Problem, as_problem
from ._run import fill_common, limit_of
from ._schedule import Schedule, run_order, shown

if TYPE_CHECKING:
    import matplotlib.axes
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._problem import ProblemOptions

    Trace = Tuple[NDArray[np.float64], NDArray[np.float64]]


class Plan:
    """A schedule that a target is asked to run: each op on its device, in this order.

    Attributes:
        graph: what to run.
        machine: where.
        start: planned start of every op; float64.
        device: device of every op; int32.
        order: all ops by start, so that every op comes after those it needs.
    """

    def __init__(
        self, problem: Problem, start: "NDArray[np.float64]", device: "NDArray[np.int32]"
    ) -> None:
        self.problem = instance(problem, Problem, "problem")
        self.graph = problem.graph
        self.machine = problem.machine
        self.start: "NDArray[np.float64]" = wanted_column(start, "f8", len(self.graph), "start")
        self.device: "NDArray[np.int32]" = wanted_column(device, "i4", len(self.graph), "device")
        self.order = run_order(problem, self.start)

    def ops_of(self, device: int) -> "NDArray[np.int32]":
        """Ops of a device in the order they run on it."""
        number = integer(device, "device")
        mine: "NDArray[np.int32]" = self.order[self.device[self.order] == number]
        return mine

    @property
    def schedule(self) -> Schedule:
        """The plan as a schedule."""
        return Schedule(self.problem, self.start, self.device)

    @property
    def makespan(self) -> float:
        """Latest finish, as the proxy has it."""
        return self.schedule.makespan

    def __len__(self) -> int:
        """Number of ops."""
        return len(self.start)

    def __repr__(self) -> str:
        return f"<sked.Plan of {len(self)} ops on {len(self.machine or ())} devices>"


Measurement = Union[float, "Tuple[float, Optional[Trace]]"]
TargetFunction = Callable[[Plan], Measurement]


class Measured(NamedTuple):
    """What a target said of one schedule.

    Attributes:
        time: median of the runs.
        deviation: standard deviation of one run; 0 where there was one.
        runs: how many, warm-up not counted.
        start: trace of the run nearest to the median; None: the target gives none.
        finish: likewise.
    """

    time: float
    deviation: float
    runs: int
    start: "Optional[NDArray[np.float64]]"
    finish: "Optional[NDArray[np.float64]]"


@keywords()
def measure(schedule: Schedule, target: str, *, seed: int = 0) -> Measured:
    """Runs a schedule on a target.

    Args:
        schedule: what to run.
        target: its spec: "noisy+linear:repeat=5", "command:./measure.sh", ...
        seed: of simulated noise.

    Raises:
        DeviceError: it cannot be measured.
        Interrupted: Ctrl-C; what the target runs is ended.
    """
    p = instance(schedule, Schedule, "schedule").problem
    long: LongCall = LongCall()
    made = ffi.new("sked_target **")
    given = (c_text(target), p._c, integer(seed, "seed", 0, 2**64 - 1), long.stop, made)
    opened = long.run(lib.sked_target_create_stoppable, *given)
    owner = opened.result(lambda: ffi.gc(made[0], lib.sked_target_destroy))
    out = ffi.gc(ffi.new("sked_measurement *"), lib.sked_measurement_clear)
    out.size = ffi.sizeof("sked_measurement")
    long.run(lib.sked_target_measure, owner, schedule._c, out).result(lambda: None)
    trace = (
        None if x == ffi.NULL else view(x, len(schedule), "f8", out)
        for x in (out.start, out.finish)
    )
    return Measured(float(out.time), float(out.deviation), int(out.runs), *trace)


class Parameter(NamedTuple):
    """A parameter of the cost model after measuring.

    Attributes:
        mean: of what the loop believes.
        spread: its standard deviation.
        prior: quantiles before measuring, at 5, 25, 50, 75 and 95 percent.
        posterior: the same after it.
    """

    mean: float
    spread: float
    prior: Tuple[float, ...]
    posterior: Tuple[float, ...]


class Member(NamedTuple):
    """What one method reached.

    Attributes:
        label: the method and how it was set.
        candidates: how many of its schedules the proxy kept.
        measured: how many of these were measured.
        failures: how many could not be measured.
        time: of its best on the target; inf: none was measured.
        seconds: it took.
    """

    label: str
    candidates: int
    measured: int
    failures: int
    time: float
    seconds: float


_MEASURED = np.dtype(
    [
        ("member", "i4"),
        ("candidate", "i4"),
        ("time", "f8"),
        ("deviation", "f8"),
        ("expected", "f8"),
        ("fitted", "f8"),
        ("best", "f8"),
        ("again", "?"),
        ("resumed", "?"),
    ]
)


class RobustResult:
    """The schedule that won on the target, and what was learnt on the way.

    In a notebook it shows itself as the Gantt chart of the winner.

    Attributes:
        schedule: the winner.
        time: of the winner on the target.
        speedup: of the winner on the target, against the best single device.
        target: its name or spec.
        method: that made the winner.
        measurements: one row per measurement in the order they were made: a structured array with
            the fields member, candidate, time, deviation, expected, fitted, best (speedup of the
            best until then), again, resumed.
        failures: measurements that failed.
        parameters: of the fitted cost model, by name; empty with one_shot.
        machine: the fitted machine with its profile of durations; None with one_shot.
        members: what each method reached.
        end: "budget", "time", "settled" or "stopped": why it ended.
        noise: estimated relative deviation of one measurement; nan with one_shot.
        seconds: in all.
        seed: of the run.
        warnings: candidates that were not measured, and why.
    """

    def __init__(self) -> None:
        raise TypeError("a RobustResult is what sked.robust returns")

    @classmethod
    def _take(cls, problem: Problem, r: Any, seed: int, warned: Sequence[str]) -> "RobustResult":
        result = cls.__new__(cls)
        result._read(problem, r, seed, warned)
        return result

    def _read(self, problem: Problem, r: Any, seed: int, warned: Sequence[str]) -> None:
        won = r.member[r.winner]
        self.problem = problem
        self.target = text(r.target)
        self.method = text(won.label)
        self.time = float(won.time)
        self.speedup = float(won.target[won.best])
        self.measurements = _measurements(r)
        self.failures = int(r.failures)
        self.parameters = {
            text(r.parameter[i].name): _parameter(r.parameter[i]) for i in range(r.parameters)
        }
        self.members = [_member(r.member[i]) for i in range(r.count)]
        self.machine: Optional[Machine] = None if r.machine == ffi.NULL else _fitted(r)
        self.end = ffi.typeof("sked_robust_end").elements[int(r.end)].rsplit("_", 1)[1].lower()
        self.noise = float(r.noise)
        self.seconds = float(r.seconds)
        self.seed = seed
        self.warnings = list(warned)
        label = c_text(self.method)
        about = {
            "method": label,
            "lower_bound": won.lower_bound,
            "seconds": self.seconds,
            "seed": seed,
            "robust": r,
        }
        self.schedule = Schedule._take(problem, won.schedule[won.best], (r, label), about)

    @property
    def makespan(self) -> float:
        """Latest finish of the winner on the proxy."""
        return self.schedule.makespan

    @property
    def curve(self) -> "NDArray[np.float64]":
        """Speedup on the target of the best after 1, 2, ... measurements."""
        return np.array(self.measurements["best"])

    def save(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the winner, with what was measured; the extension picks what it becomes.

        Args:
            path: as for `Schedule.save`; .html is the report of the loop, .machine.json the fitted machine.
            format: name of a report, where the extension does not say it.
        """
        self.schedule.save(path, format)

    def plot(self, axes: "Optional[matplotlib.axes.Axes]" = None) -> "matplotlib.axes.Axes":
        """`Schedule.plot` of the winner.

        Args:
            axes: to draw into; None: a new figure's.
        """
        return self.schedule.plot(axes)

    def _repr_html_(self) -> str:
        return shown(self, self.schedule)

    def __repr__(self) -> str:
        return (
            f"<sked.RobustResult: {self.time:g} on {self.target}, speedup {self.speedup:g}, "
            f"by {self.method} after {len(self.measurements)} measurements>"
        )


def _measurements(r: Any) -> Any:
    rows = np.empty(r.measurements, dtype=_MEASURED)
    for i in range(r.measurements):
        rows[i] = tuple(getattr(r.measurement[i], name) for name in _MEASURED.names or ())
    return rows


def _parameter(p: Any) -> Parameter:
    return Parameter(float(p.mean), float(p.spread), tuple(p.prior), tuple(p.posterior))


def _member(m: Any) -> Member:
    measured = sum(not math.isnan(m.target[i]) for i in range(m.count))
    return Member(
        text(m.label), int(m.count), measured, int(m.failures), float(m.time), float(m.seconds)
    )


def _fitted(r: Any) -> Machine:
    return Machine._take(ffi.gc(ffi.cast("sked_machine *", r.machine), lambda _, owner=r: None))


class _Measuring(LongCall):
    """A robust call whose target is a Python function."""

    def __init__(
        self,
        problem: Problem,
        function: Optional[TargetFunction],
        progress: Optional[ProgressFunction],
    ):
        super().__init__(progress)
        self.problem = problem
        self.function = function

    def measure(self, s: Any, time: Any, start: Any, finish: Any) -> None:
        if self.function is None:
            return
        n = int(s.ops)
        starts, devices = view(s.start, n, "f8", None), view(
            s.device, n, "i4", None
        )  # copied there
        time[0], trace = _answer(self.function(Plan(self.problem, starts, devices)))
        for out, column in zip((start, finish), _columns(trace)):
            values = numbers(column, "f8", "a trace")
            if values.shape != (n,):
                raise ArgumentError(
                    f"a trace has {n} starts and {n} finishes, not shape {values.shape}"
                )
            if n > 0:
                ffi.memmove(out, values, 8 * n)


def _answer(answer: Any) -> Tuple[float, Any]:
    """Time and trace of what a target function has returned."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    time, trace = answer if pair else (answer, None)
    try:
        return float(time), trace
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(
            f"the target function returned {answer!r}, neither a time nor (time, trace)"
        ) from None


def _columns(trace: Any) -> Any:
    if trace is None:
        return ()
    if len(trace) != 2:
        raise ArgumentError(
            f"a trace is a pair of arrays, start and finish, not {len(trace)} things"
        )
    return trace


def sked_py_measure(data: Any, s: Any, time: Any, start: Any, finish: Any, err: Any) -> int:
    long: _Measuring = ffi.from_handle(data)
    try:
        long.measure(s, time, start, finish)
        return int(lib.SKED_OK)
    except DeviceError as error:  # this plan cannot be measured, others can
        try:
            message = str(error)
        except Exception as other:
            message = f"{type(error).__name__}, and its text raises {type(other).__name__}"
        return _report(err, lib.SKED_ERR_DEVICE, message)
    except BaseException as error:
        long.fail(error)
        return _report(err, lib.SKED_ERR_STOPPED, "the target function raised an exception")


ffi.def_extern(error=lib.SKED_ERR_STOPPED, onerror=keep_failure)(sked_py_measure)


def _report(err: Any, status: int, message: str) -> int:
    """Into an error of C, whole characters of UTF-8: others as Python writes them in a literal."""
    if err != ffi.NULL:
        err.status = status
        room = len(err.message) - 1
        whole = message.encode("utf-8", "backslashreplace")[:room].decode("utf-8", "ignore")
        raw = whole.encode() + b"\0"
        ffi.memmove(err.message, raw, len(raw))
    return int(status)


def _called(function: Any) -> str:
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


@keywords(*PROBLEM)
def robust(
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    *,
    target: Union[str, TargetFunction],
    measurements: int = 30,
    time_limit: Optional[float] = 10.0,
    one_shot: bool = False,
    method: Optional[str] = None,
    candidates: int = 1000,
    top: int = 100,
    min_distance: float = 0.0,
    local: bool = True,
    improve: int = 0,
    iterations: int = 0,
    prior: "Union[str, os.PathLike[str], None]" = None,
    resume: "Union[str, os.PathLike[str], None]" = None,
    log: "Union[str, os.PathLike[str], None]" = None,
    model: "Union[str, os.PathLike[str], None]" = None,
    settings: Optional[Mapping[str, Any]] = None,
    seed: int = 0,
    threads: int = 1,
    progress: Optional[ProgressFunction] = None,
    backend: Optional[str] = None,
    **problem: "Unpack[ProblemOptions]",
) -> RobustResult:
    """Finds the schedule that is best where it runs: by measuring, and learning the machine while
    doing so.

    Args:
        graph: what to schedule, or a whole problem.
        machine: where; a number stands for that many equal devices.
        target: what measures. A spec as `sked targets` lists them ("noisy+linear"), or a function
            that gets a `Plan` and returns its time, or the time and a trace: a pair of arrays,
            start and finish of every op. It is called on the thread of this call. Where it raises
            DeviceError, this plan counts as one that cannot be measured; any other exception ends
            the call.
        measurements: budget of the loop, failed ones counted.
        time_limit: seconds of scheduling in all; measuring is not counted. None: no limit, which
            wants iterations.
        one_shot: gather candidates, measure the best of them, learn nothing.
        method: one_shot: the only one to give candidates; None: all that can.
        candidates: one_shot: schedules that each method gives.
        top: one_shot: of these, how many are measured.
        min_distance: one_shot: least distance between two of these, GED in percent.
        local: one_shot: reassign devices so that data stays near.
        improve: one_shot: rounds of local search on each candidate.
        iterations: limit of each run inside, in the method's own unit; 0: none.
        prior: file of what is known of the machine.
        resume: file of an earlier run's measurements, which count as made.
        log: file that gets the measurements as they come.
        model: of gflownet; None: the one that comes with sked.
        settings: options of the methods.
        seed: of the random numbers.
        threads: to work with.
        progress: is told where the run stands. Where it returns False, the best that was measured
            wins.
        backend: "cpu", "cuda" or "auto".
        **problem: as for `Problem`.

    Raises:
        DeviceError: nothing could be measured.
        Interrupted: Ctrl-C; `.result` has the best that was measured.
    """
    if not isinstance(target, str) and not callable(target):
        raise TypeError(f"target: a spec or a function, not {type(target).__name__}")
    p = as_problem(graph, machine, problem)
    function = None if isinstance(target, str) else target
    long, pairs = _Measuring(p, function, progress), Settings(settings)
    kept = [*map(c_path_option, (prior, resume, log, model)), c_option(method)]
    options = ffi.new("sked_robust_options *")
    lib.sked_robust_options_init_sized(options, ffi.sizeof("sked_robust_options"))
    options.prior, options.resume, options.log, options.model, options.method = kept
    options.time_limit = limit_of(time_limit)
    fill(options, one_shot=one_shot, measurements=measurements, candidates=candidates, top=top)
    fill(options, min_distance=min_distance, local=local, improve=improve, iterations=iterations)
    fill_common(options, long, kept, seed=seed, threads=threads, backend=backend)
    pairs.give(options)
    options.warning, options.warning_data = lib.sked_py_warning, long.handle
    if progress is not None:
        options.progress, options.progress_data = lib.sked_py_progress, long.handle
    if function is not None:
        options.measure, options.measure_data = lib.sked_py_measure, long.handle
    name = c_text(target if isinstance(target, str) else _called(target))
    out = ffi.gc(ffi.new("sked_robust_result *"), lib.sked_robust_result_clear)
    out.size = ffi.sizeof("sked_robust_result")
    outcome = long.run(lib.sked_robust, p._c, name, options, out)

    def make() -> Optional[RobustResult]:
        return RobustResult._take(p, out, seed, long.warnings) if out.count > 0 else None

    try:
        found: RobustResult = outcome.result(make)
        return found
    except DeviceError as error:
        why = f": {long.warnings[-1]}" if long.warnings else ""
        raise DeviceError(f"{error}{why}") from None
