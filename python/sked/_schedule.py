"""Schedules and what can be done with them."""

from __future__ import annotations

import base64
import html
import math
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, NamedTuple, Optional, Union

import numpy as np

from ._arrays import column, numbers, owned, pointer, view, wanted_column
from ._call import LongCall
from ._check import c_option, c_path, fill, flag, instance, integer, keywords, needed, real
from ._errors import ArgumentError, call
from ._graph import Graph, OpKey
from ._machine import MachineLike
from ._native import ffi, lib
from ._problem import PROBLEM, Problem, as_problem

if TYPE_CHECKING:
    import matplotlib.axes
    import networkx
    import pandas
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from ._problem import ProblemOptions

_MOST_SHOWN = 20_000  # a picture of more ops is larger than what a notebook bears
_ROW = np.dtype([("start", "f8"), ("finish", "f8"), ("device", "i4")])
_COPY = np.dtype([("op", "i4"), ("device", "i4"), ("offset", "i8")])


class ScheduledOp(NamedTuple):
    """Where and when one op runs.

    Attributes:
        name: of the op.
        start: of the op.
        finish: of the op.
        device: by number; None: there are no devices.
    """

    name: str
    start: float
    finish: float
    device: Optional[int]


class Schedule:
    """A start for every op, and a device where there are devices.

    In a notebook it shows itself as a Gantt chart. An index or a name gives one op: `schedule["mul"].start`.

    Args:
        problem: what it is a schedule of.
        start: one per op.
        device: one per op; None where the problem has no devices.
        ii: initiation interval of a pipelined one; 0: it is not.
    """

    @keywords()
    def __init__(
        self,
        problem: Problem,
        start: "ArrayLike",
        device: "Optional[ArrayLike]" = None,
        *,
        ii: float = 0.0,
    ) -> None:
        p = instance(problem, Problem, "problem")
        n, devices = len(p.graph), p.device_count
        starts = wanted_column(start, "f8", n, "start")
        places = column(device, "i4", n, "device")
        interval = real(ii, "ii")
        if (places is None) != (devices == 0):
            raise ArgumentError("device: one per op where the problem has devices, else None")
        if not np.isfinite(starts).all() or not 0 <= interval < math.inf:
            raise ArgumentError("start, ii: want finite numbers, ii 0 or more")
        out = ffi.new("sked_schedule **")
        call(lib.sked_schedule_create, n, devices, out)
        c_schedule = ffi.gc(out[0], lib.sked_schedule_destroy)
        c_schedule.ii = interval
        if n > 0:
            ffi.memmove(c_schedule.start, starts, 8 * n)
        if places is not None and n > 0:
            p._check_places(places)
            ffi.memmove(c_schedule.device, places, 4 * n)
        self._problem, self._c = p, c_schedule
        self._about: Dict[str, Any] = {}

    @classmethod
    def _take(
        cls, problem: Problem, c_schedule: Any, owner: Any, about: Optional[Dict[str, Any]] = None
    ) -> "Schedule":
        """A schedule in memory that `owner` keeps alive. about: what a report says beside it."""
        schedule = cls.__new__(cls)
        schedule._problem, schedule._c = problem, owned(c_schedule, owner)
        schedule._about = about or {}
        return schedule

    @property
    def problem(self) -> Problem:
        """What it is a schedule of."""
        return self._problem

    def __reduce__(self) -> Any:
        if any(self.units) or any(self.op_registers) or self.offset is not None:
            return _read_again, (self.problem, self._written("schedule.json"))
        return _restored, (self.problem, self.start, self.device, float(self._c.ii))

    # ---------------------------------------------------------------- looking

    def __len__(self) -> int:
        """Number of ops."""
        return int(self._c.ops)

    def __getitem__(self, op: OpKey) -> ScheduledOp:
        n, graph = len(self), self.problem.graph
        i = graph.index(op) if isinstance(op, str) else integer(op, "op")
        if not -n <= i < n:
            raise IndexError(f"there are {n} ops, none is number {op}")
        i %= n
        device = None if self.device is None else int(self.device[i])
        start = float(self._c.start[i])
        time = lib.sked_problem_duration(self.problem._c, i, device or 0)
        return ScheduledOp(graph.op_name(i), start, start + time, device)

    @property
    def start(self) -> "NDArray[np.float64]":
        """Start of every op, a read-only view."""
        return view(self._c.start, len(self), "f8", self._c)  # type: ignore[no-any-return]

    @property
    def device(self) -> "Optional[NDArray[np.int32]]":
        """Device of every op, a read-only view; None: there are no devices."""
        if self._c.devices == 0:
            return None
        return view(self._c.device, len(self), "i4", self._c)  # type: ignore[no-any-return]

    @property
    def phase(self) -> "Optional[NDArray[np.float64]]":
        """With a clock: when in its cycle every op begins; None: there is no clock."""
        if not self.problem._c.clock > 0:
            return None
        phase = np.zeros(len(self), dtype="f8")
        call(lib.sked_schedule_phases, self.problem._c, self._c, pointer(phase, "f8"))
        return phase

    @property
    def offset(self) -> "Optional[NDArray[np.int64]]":
        """Address of every value where its op runs, -1: it needs no memory there; a read-only view.
        None: the schedule has no addresses."""
        if self._c.offset == ffi.NULL:
            return None
        return view(self._c.offset, len(self), "i8", self._c)  # type: ignore[no-any-return]

    @property
    def copies(self) -> "NDArray[np.void]":
        """Addresses of values on other devices, one row each: op, device, offset."""
        c, n = self._c, int(self._c.copies)
        rows = np.empty(n, dtype=_COPY)
        for field, data in (("op", c.copy_op), ("device", c.copy_device), ("offset", c.copy_offset)):
            rows[field] = [data[k] for k in range(n)]
        return rows

    @property
    def arena(self) -> "Optional[NDArray[np.int64]]":
        """Largest address + size on every device (without devices: one number), a read-only view.
        None: the schedule has no addresses."""
        if self._c.arena == ffi.NULL:
            return None
        count = max(1, int(self._c.devices))
        return view(self._c.arena, count, "i8", self._c)  # type: ignore[no-any-return]

    @property
    def finish(self) -> "NDArray[np.float64]":
        """Finish of every op."""
        return self.start + self.problem.durations(self.device)

    @property
    def ii(self) -> Optional[float]:
        """Initiation interval; None: it is not pipelined."""
        return float(self._c.ii) or None

    @property
    def makespan(self) -> float:
        """Latest finish."""
        return self.metrics()["makespan"]

    @property
    def order(self) -> "NDArray[np.int32]":
        """All ops by start; those of equal start in a topological order."""
        return run_order(self.problem, self.start)

    def ops_of(self, device: int) -> "NDArray[np.int32]":
        """Ops of a device in the order they run on it."""
        number = integer(device, "device")
        if self.device is None or not 0 <= number < self._c.devices:
            raise ArgumentError(f"there is no device {device}: the schedule has {self._c.devices}")
        mine: "NDArray[np.int32]" = self.order[self.device[self.order] == number]
        return mine

    def metrics(self) -> Dict[str, float]:
        """What the library measures: makespan, speedup, idle (a share), resource, peak_memory,
        communication, transfer, arena, and the value of the objective."""
        out = ffi.new("sked_metrics *")
        out.size = ffi.sizeof("sked_metrics")
        call(lib.sked_schedule_measure, self.problem._c, self._c, out)
        fields = [name for name, _ in ffi.typeof("sked_metrics").fields if name != "size"]
        return {name: float(getattr(out, name)) for name in fields}

    def device_memory(self) -> "NDArray[np.float64]":
        """Peak memory of every device, copies included."""
        peak = np.zeros(self._c.devices, dtype="f8")
        call(
            lib.sked_schedule_device_memory,
            self.problem._c,
            self._c,
            ffi.from_buffer("double[]", peak),
        )
        return peak

    def registers(self) -> "NDArray[np.float64]":
        """What values hold from each cycle to the next: at interval 1 the registers between the stages of a pipeline."""
        bits, count = ffi.new("double **"), ffi.new("int32_t *")
        call(lib.sked_schedule_registers, self.problem._c, self._c, bits, count)
        held = np.frombuffer(ffi.buffer(bits[0], 8 * count[0]), dtype="f8").copy() if count[0] else np.zeros(0)
        lib.sked_free(bits[0])
        return held

    def validate(self) -> None:
        """Asks the independent judge; raises InvalidScheduleError with the first broken rule."""
        call(lib.sked_schedule_validate, self.problem._c, self._c)

    @keywords()
    def bind(self, time_limit: float = 1.0, *, iterations: int = 0, seed: int = 0) -> "Schedule":
        """A copy whose ops have units of their pools and whose values have registers.

        Args:
            time_limit: seconds spent on fewer inputs of multiplexers.
            iterations: steps of that search; 0: no limit but time.
            seed: of its random numbers.
        """
        out, long = ffi.new("sked_schedule **"), LongCall()
        call(lib.sked_schedule_clone, self._c, out)
        owner = ffi.gc(out[0], lib.sked_schedule_destroy)
        options, binding = ffi.new("sked_bind_options *"), ffi.new("sked_binding *")
        lib.sked_bind_options_init_sized(options, ffi.sizeof("sked_bind_options"))
        fill(options, iterations=iterations, seed=seed)
        options.time_limit = real(time_limit, "time_limit")
        options.stop = long.stop
        binding.size = ffi.sizeof("sked_binding")
        problem = self.problem._c
        outcome = long.run(lib.sked_schedule_bind, problem, options, out[0], binding)
        about = dict(self._about, sources=int(binding.sources))
        bound: "Schedule" = outcome.result(lambda: Schedule._take(self._problem, out[0], owner, about))
        return bound

    @property
    def units(self) -> "List[Dict[str, List[int]]]":
        """For every op the units of each pool that it holds; empty before `bind`."""
        graph, found = self.problem.graph, ffi.new("int32_t **")
        rows: "List[Dict[str, List[int]]]" = [{} for _ in range(len(self))]
        for r, name in enumerate(graph.resources):
            for i, row in enumerate(rows):
                n = lib.sked_schedule_units(graph._c, self._c, i, r, found)
                if n > 0:
                    row[name] = [int(found[0][k]) for k in range(n)]
        return rows

    @property
    def op_registers(self) -> "List[List[int]]":
        """For every op the registers that hold its value, one after another; empty before `bind`."""
        found = ffi.new("int32_t **")
        rows: "List[List[int]]" = []
        for i in range(len(self)):
            n = lib.sked_schedule_op_registers(self._c, i, found)
            rows.append([int(found[0][k]) for k in range(n)])
        return rows

    def __repr__(self) -> str:
        where = f" on {self._c.devices} devices" if self._c.devices else ""
        return f"<sked.Schedule of {len(self)} ops{where}, makespan {self.makespan:g}>"

    # ---------------------------------------------------------------- leaving

    def to_numpy(self) -> "NDArray[np.void]":
        """A structured array with one row per op: start, finish, device (-1: there are none)."""
        rows = np.empty(len(self), dtype=_ROW)
        rows["start"], rows["finish"] = self.start, self.finish
        rows["device"] = -1 if self.device is None else self.device
        return rows

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame with one row per op: name, type, device (by name), start, finish."""
        pandas = needed("pandas", "pandas")
        graph, machine = self.problem.graph, self.problem.machine
        columns: Dict[str, Any] = {"name": graph.names, "type": graph.types}
        if self.device is not None and machine is not None:
            labels = [d.name for d in machine.devices]
            columns["device"] = [labels[d] for d in self.device.tolist()]
        columns["start"], columns["finish"] = self.start, self.finish
        return pandas.DataFrame(columns)

    def to_networkx(self) -> "networkx.MultiDiGraph[Any]":
        """The graph with start, finish and device at every op."""
        network = self.problem.graph.to_networkx()
        rows = self.to_numpy()
        for name, row in zip(self.problem.graph.names, rows.tolist()):
            network.nodes[name].update(zip(("start", "finish", "device"), row))
        return network

    def _report(self) -> Any:
        data = ffi.new("sked_report_data *")
        lib.sked_report_data_init_sized(data, ffi.sizeof("sked_report_data"))
        data.problem, data.schedule = self.problem._c, self._c
        for field, value in self._about.items():
            if field != "sources":  # of a binding: no report shows it
                setattr(data, field, value)
        return data

    def save(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the schedule; the extension picks what it becomes.

        Args:
            path: .json a schedule file, .trace.json for Perfetto, .svg, .html, .dot
                (`sked.reports()`).
            format: name of a report, where the extension does not say it.
        """
        call(lib.sked_report_write, self._report(), c_path(path), c_option(format))

    def _written(self, name: str) -> str:
        with tempfile.TemporaryDirectory(prefix="sked-") as folder:
            path = os.path.join(folder, name)
            self.save(path)
            with open(path, encoding="utf-8") as f:
                return f.read()

    def plot(self, axes: "Optional[matplotlib.axes.Axes]" = None) -> "matplotlib.axes.Axes":
        """The Gantt chart as matplotlib draws it: a row for each device, a colour for each type of op.

        Args:
            axes: to draw into; None: a new figure's.
        """
        from ._plot import gantt

        return gantt(self, axes)

    def svg(self) -> str:
        """The Gantt chart as SVG."""
        return self._written("schedule.svg")

    def report(self) -> str:
        """The interactive report, a whole page of HTML."""
        return self._written("schedule.html")

    def _repr_html_(self) -> str:
        return shown(self, self)

    def __eq__(self, other: object) -> bool:
        """True where starts, devices and interval are the same."""
        if not isinstance(other, Schedule):
            return NotImplemented
        mine, theirs = self.to_numpy(), other.to_numpy()
        return self.ii == other.ii and all(
            np.array_equal(mine[field], theirs[field]) for field in ("start", "device")
        )

    __hash__ = None  # type: ignore[assignment]


def _restored(problem: Problem, start: Any, device: Any, ii: float) -> Schedule:
    return Schedule(problem, start, device, ii=ii)


def _read_again(problem: Problem, written: str) -> Schedule:
    """A schedule with units, registers and addresses, from its file."""
    out, data = ffi.new("sked_schedule **"), written.encode()
    call(lib.sked_schedule_parse, b"pickled schedule", data, len(data), problem._c, out)
    owner = ffi.gc(out[0], lib.sked_schedule_destroy)
    return Schedule._take(problem, owner, owner)


def run_order(problem: Problem, start: "NDArray[np.float64]") -> "NDArray[np.int32]":
    """All ops by start; those of equal start in a topological order."""
    rank = np.empty(len(start), dtype="i4")
    rank[problem.graph.topological_order()] = np.arange(len(start), dtype="i4")
    order: "NDArray[np.int32]" = np.lexsort((rank, start)).astype("i4")
    return order


def shown(result: object, schedule: Schedule) -> str:
    """HTML for a notebook: a line, and the Gantt chart as an image, so that no style leaks out."""
    line = f"<div><code>{html.escape(repr(result).strip('<>'))}</code></div>"
    if len(schedule) > _MOST_SHOWN:
        return line
    picture = base64.b64encode(schedule.svg().encode()).decode()
    return f'{line}<img src="data:image/svg+xml;base64,{picture}" alt="Gantt chart">'


@keywords(*PROBLEM)
def read_schedule(
    path: "Union[str, os.PathLike[str]]",
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    **problem: "Unpack[ProblemOptions]",
) -> Schedule:
    """Reads a schedule file of a graph on a machine and checks what the file claims.

    Args:
        path: the file.
        graph: of the schedule, or the whole problem.
        machine: of the schedule.
        **problem: as for `Problem`.
    """
    p = as_problem(graph, machine, problem)
    out = ffi.new("sked_schedule **")
    call(lib.sked_schedule_read, c_path(path), p._c, out)
    owner = ffi.gc(out[0], lib.sked_schedule_destroy)
    return Schedule._take(p, owner, owner)


@keywords(*PROBLEM)
def validate(
    schedule: Schedule,
    graph: Union[Graph, Problem, None] = None,
    machine: MachineLike = None,
    **problem: "Unpack[ProblemOptions]",
) -> None:
    """Asks the independent judge about a schedule.

    Args:
        schedule: what to judge.
        graph: of another problem than the schedule's own, or that problem.
        machine: likewise.
        **problem: as for `Problem`.

    Raises:
        InvalidScheduleError: with the first broken rule.
    """
    own = instance(schedule, Schedule, "schedule").problem
    if graph is None and (machine is not None or problem):
        raise ArgumentError("a machine and options belong to a graph: name it, too")
    p = own if graph is None else as_problem(graph, machine, problem)
    call(lib.sked_schedule_validate, p._c, schedule._c)


@keywords(*PROBLEM)
def simulate(
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    *,
    device: "ArrayLike",
    order: "ArrayLike",
    transfers: bool = True,
    **problem: "Unpack[ProblemOptions]",
) -> "Simulation":
    """Start times from devices and orders: the proxy that methods rank schedules by.

    Args:
        graph: of the schedules, or the whole problem.
        machine: its devices.
        device: device of every op; shape (ops,), or (count, ops) for many schedules at once.
        order: all ops so that those of one device stand in the order they run on it; shape as
            `device`. A topological order always qualifies.
        transfers: count transfer costs or not.
        **problem: as for `Problem`.

    Returns:
        Makespans and starts; a makespan is inf where order and graph contradict each other.
    """
    p = as_problem(graph, machine, problem)
    n = len(p.graph)
    places, orders = (
        np.atleast_2d(numbers(x, "i4", what)) for x, what in ((device, "device"), (order, "order"))
    )
    if places.shape != orders.shape or places.ndim != 2 or places.shape[1] != n:
        raise ArgumentError(
            f"device and order: want shape (count, {n}) both, not {places.shape} and {orders.shape}"
        )
    single = np.ndim(device) == 1
    with_transfers = flag(transfers, "transfers")
    _check_simulated(p, places, orders)
    count = places.shape[0]
    out = ffi.new("sked_simulator **")
    call(lib.sked_simulator_create, p._c, out)
    simulator = ffi.gc(out[0], lib.sked_simulator_destroy)
    makespan, start = np.empty(count, dtype="f8"), np.empty((count, n), dtype="f8")
    pointers = [ffi.from_buffer("int32_t[]", x) for x in (places, orders)]
    times = [ffi.from_buffer("double[]", x) for x in (makespan, start)]
    lib.sked_simulator_run(simulator, count, *pointers, with_transfers, *times)
    return Simulation(makespan[0] if single else makespan, start[0] if single else start)


def _check_simulated(p: Problem, device: Any, order: Any) -> None:
    """The simulator trusts its input; ours comes from anywhere."""
    n = len(p.graph)
    p._check_places(device)
    if not np.array_equal(np.sort(order, axis=1), np.broadcast_to(np.arange(n), order.shape)):
        raise ArgumentError(f"order: wants every op from 0 to {n - 1} once in each row")


class Simulation:
    """What `simulate` gives.

    Attributes:
        makespan: one per schedule, a plain number where one schedule was given.
        start: starts, shape (count, ops), or (ops,) where one schedule was given.
    """

    def __init__(self, makespan: Any, start: "NDArray[np.float64]") -> None:
        self.makespan = makespan
        self.start = start

    def __repr__(self) -> str:
        return f"<sked.Simulation: makespan {self.makespan}>"


def of_one_graph(schedules: Iterable[Schedule]) -> List[Schedule]:
    """As a list, of one schedule at least."""
    found = [instance(s, Schedule, "schedules") for s in schedules]
    if not found:
        raise ArgumentError("schedules: wants one at least")
    if any(s.problem.graph is not found[0].problem.graph for s in found):
        raise ArgumentError("schedules: wants those of one graph")
    return found


def diversity(schedules: Iterable[Schedule]) -> Dict[str, float]:
    """Mean distance between pairs of schedules of one problem: ged in percent, d_inv, d_sen."""
    found = of_one_graph(schedules)
    out = ffi.new("sked_diversity *")
    out.size = ffi.sizeof("sked_diversity")
    array = ffi.new("const sked_schedule *[]", [s._c for s in found])
    call(lib.sked_schedules_diversity, found[0].problem._c, array, len(found), out)
    return {"ged": out.ged, "d_inv": out.d_inv, "d_sen": out.d_sen}
