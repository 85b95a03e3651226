"""A graph on a machine, with its objective and limits."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, TypedDict, Union

import numpy as np

from ._arrays import column, pointer
from ._check import c_option, c_path, fill, keywords, nearest, real
from ._errors import ArgumentError, call, text
from ._graph import Graph, pairs
from ._machine import Machine, MachineLike
from ._native import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class ProblemOptions(TypedDict, total=False):
    """Keyword arguments of `Problem`; functions of a graph and a machine take them, too."""

    devices: Optional[int]
    objective: Optional[str]
    horizon: Optional[float]
    ii: Union[float, str, None]
    alpha: Optional[float]
    capacity: Optional[Mapping[str, float]]
    memory_limit: Optional[float]
    lifetime: str
    clock: Optional[float]
    io: str
    offsets: bool
    align: int
    fix_device: Any
    fix_start: Any


PROBLEM = tuple(ProblemOptions.__annotations__)


def _named(enumeration: str, name_of: Any) -> Dict[str, int]:
    """Numbers of an enumeration of the library by their names."""
    return {text(name_of(k)): k for k in sorted(ffi.typeof(enumeration).elements)}


def choice(what: str, word: Any, names: Dict[str, int]) -> int:
    """The number of a name."""
    if not isinstance(word, str):
        raise TypeError(f"{what}: a text is wanted, not {type(word).__name__}")
    if word not in names:
        raise ArgumentError(f"{what} is one of {', '.join(names)}, not {word!r}")
    return names[word]


# What the structs of problems point into lives as long as they do.
_KEPT: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


class Problem:
    """A graph on a machine: what is to be scheduled.

    Args:
        graph: what to run.
        machine: where; a number stands for that many equal devices, None for no devices (resource
            pools only).
        devices: that many equal devices, in place of a machine.
        objective: "makespan", "resource", "memory", "cost", "ii" or "arena". None: makespan, or ii
            where ii is "auto".
        horizon: latest finish allowed.
        ii: initiation interval of a pipelined loop, or "auto" to search for it.
        alpha: weight of communication in the cost objective.
        capacity: of resources by name, in place of the graph's own.
        memory_limit: of all values held at a time.
        lifetime: "start", "finish" or "auto": when the last reader of a value lets it go; "result": as
            "start", and a value begins when its result is there. "auto" is "result" with a clock.
        offsets: give every value that is held an address; arenas then keep the memory limits.
        align: addresses are multiples of it.
        clock: clock period, in the unit of the ops' delays: ops in a chain share a cycle while they fit it.
        io: "free", or "aligned": ops without predecessors start at 0, and values without readers live
            to the end.
        fix_device: one device per op, -1 where it is free.
        fix_start: one start per op, nan where it is free.

    What a problem is made of stays: arrays are copied.
    """

    @keywords()
    def __init__(
        self,
        graph: Graph,
        machine: MachineLike = None,
        *,
        devices: Optional[int] = None,
        objective: Optional[str] = None,
        horizon: Optional[float] = None,
        ii: Union[float, str, None] = None,
        alpha: Optional[float] = None,
        capacity: Optional[Mapping[str, float]] = None,
        memory_limit: Optional[float] = None,
        lifetime: str = "auto",
        clock: Optional[float] = None,
        io: str = "free",
        offsets: bool = False,
        align: int = 1,
        fix_device: "Optional[ArrayLike]" = None,
        fix_start: "Optional[ArrayLike]" = None,
    ) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph: a Graph or a Problem, not {_named_kind(graph, 'sked.read')}")
        if machine is not None and devices is not None:
            raise ArgumentError("machine and devices are two ways to say where: name one of them")
        self._graph, self._machine = graph, _machine_of(machine)
        if devices is not None:
            self._machine = Machine.identical(devices)
        if objective is None:
            objective = "ii" if isinstance(ii, str) and ii == "auto" else "makespan"
        self._objective = objective
        names = _named("sked_objective", lib.sked_objective_name)
        lifetimes = _named("sked_lifetime", lib.sked_lifetime_name)
        p = self._c = ffi.new("sked_problem *")
        lib.sked_problem_init_sized(p, ffi.sizeof("sked_problem"), graph._c)
        self._place()
        p.objective = choice("objective", objective, names)
        p.lifetime = choice("lifetime", lifetime, lifetimes)
        p.io = choice("io", io, _named("sked_io", lib.sked_io_name))
        fill(p, offsets=offsets, align=align)
        for field, value in (
            ("horizon", horizon),
            ("alpha", alpha),
            ("memory_limit", memory_limit),
            ("clock", clock),
        ):
            if value is not None:
                fill(p, **{field: value})
        if ii is not None or objective == "ii":
            p.ii = _interval("auto" if ii is None else ii)
        kept = self._fix(fix_device, fix_start, capacity)
        self._options: ProblemOptions = {
            "objective": objective,
            "horizon": horizon,
            "ii": ii,
            "alpha": alpha,
            "capacity": None if capacity is None else dict(capacity),
            "memory_limit": memory_limit,
            "lifetime": lifetime,
            "clock": clock,
            "io": io,
            "offsets": offsets,
            "align": align,
            "fix_device": kept[0],
            "fix_start": kept[1],
        }

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @property
    def machine(self) -> Optional[Machine]:
        """The machine; None: there are no devices."""
        return self._machine

    @property
    def objective(self) -> str:
        """Name of the objective."""
        return self._objective

    def __reduce__(self) -> Any:
        return as_problem, (self.graph, self.machine, self._options)

    def _place(self) -> None:
        if self.machine is None:
            return
        if self.machine._identical is not None:
            self._c.devices, self._c.latency, self._c.bandwidth = self.machine._identical
        else:
            self._c.machine = self.machine._c

    def _fix(self, device: Any, start: Any, capacity: Optional[Mapping[str, float]]) -> Any:
        n = len(self.graph)
        kept = (
            column(device, "i4", n, "fix_device"),
            column(start, "f8", n, "fix_start"),
            _capacities(self.graph, capacity),
        )
        self._c.fix_device = pointer(kept[0], "i4")
        self._c.fix_start = pointer(kept[1], "f8")
        self._c.capacity = pointer(kept[2], "f8")
        machine = self.machine._c if self.machine is not None else None
        _KEPT[self._c] = (*kept, self.graph._c, machine)
        return kept

    @property
    def device_count(self) -> int:
        """Number of devices; 0: none."""
        return 0 if self.machine is None else len(self.machine)

    def check(self) -> None:
        """Raises what can be refuted at once: ArgumentError, or InfeasibleError with the proof."""
        call(lib.sked_problem_check, self._c)

    def bound(self) -> "Bound":
        """A lower bound of the objective over all valid schedules."""
        out, why = ffi.new("double *"), ffi.new("const char **")
        call(lib.sked_problem_bound, self._c, out, why)
        return Bound(float(out[0]), text(why[0]))

    def durations(self, device: "Optional[NDArray[np.int32]]") -> "NDArray[np.float64]":
        """Time of every op on the device given for it; without devices: its duration."""
        places = column(device, "i4", len(self.graph), "device")
        if places is None or self.machine is None:
            return self.graph.duration
        self._check_places(places)
        if self.machine._identical is not None:
            return self.graph.duration
        duration, p = lib.sked_problem_duration, self._c
        times = (duration(p, i, d) for i, d in enumerate(places.tolist()))
        return np.fromiter(times, dtype="f8", count=len(places))

    def _check_places(self, places: Any) -> None:
        if places.size > 0 and not 0 <= places.min() <= places.max() < self.device_count:
            raise ArgumentError(f"device: wants numbers from 0 to {self.device_count - 1}")

    def export(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the problem as a model for other solvers: .lp, .mps or .mzn."""
        call(lib.sked_problem_export, self._c, c_path(path), c_option(format))

    def __repr__(self) -> str:
        return f"<sked.Problem: {self.graph!r} on {self.machine!r}, objective {self.objective}>"


class Bound(float):
    """A lower bound: a float with the name of the argument that decides it in `.why`."""

    why: str

    def __new__(cls, value: float, why: str) -> "Bound":
        bound = super().__new__(cls, value)
        bound.why = why
        return bound


def _machine_of(machine: MachineLike) -> Optional[Machine]:
    if isinstance(machine, (int, np.integer)):
        return Machine.identical(machine)  # type: ignore[arg-type, unused-ignore]
    if machine is None or isinstance(machine, Machine):
        return machine
    kind = _named_kind(machine, "sked.Machine.read")
    raise TypeError(f"machine: a Machine or a number of devices, not {kind}")


def _named_kind(value: object, reader: str) -> str:
    """The type of a wrong argument; a path gets the function that reads files."""
    path = isinstance(value, (str, os.PathLike))
    return type(value).__name__ + (f"; {reader}(path) reads a file" if path else "")


def _interval(ii: Union[float, str]) -> float:
    if isinstance(ii, str):
        if ii != "auto":
            raise ArgumentError(f'ii is a number or "auto", not {ii!r}')
        return -1.0
    interval = real(ii, "ii")
    if not interval > 0:
        raise ArgumentError(f"ii must be above 0, not {ii}")
    return interval


def _capacities(graph: Graph, given: Optional[Mapping[str, float]]) -> Optional[Any]:
    wanted = pairs(given, "capacity")
    if not wanted:
        return None
    capacities = graph.resources
    for name, capacity in wanted:
        if name not in capacities:
            hint = nearest(str(name), capacities)
            raise ArgumentError(f"the graph has no resource called {name!r}{hint}")
        capacities[name] = real(capacity, "capacity")
    return np.array(list(capacities.values()), dtype="f8")


def as_problem(
    graph: Union[Graph, Problem], machine: MachineLike, options: Mapping[str, Any]
) -> Problem:
    """The problem that a function was given in either form."""
    if isinstance(graph, Problem):
        if machine is not None or options:
            raise ArgumentError("a Problem has its machine and options already")
        return graph
    return Problem(graph, machine, **options)
