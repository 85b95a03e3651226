"""sked schedules computation graphs.

    import sked

    g = sked.read("model.onnx")
    m = sked.Machine.identical(4, latency=2, bandwidth=100)
    r = sked.schedule(g, m, time_limit=5)
    print(r.makespan, r.bound, r.gap)
"""

from __future__ import annotations

from ._call import Progress
from ._errors import (
    ArgumentError,
    BugError,
    DeviceError,
    Error,
    FileError,
    InfeasibleError,
    Interrupted,
    InvalidScheduleError,
    OutOfMemoryError,
    ParseError,
    StoppedError,
    UnsupportedError,
)
from ._graph import Graph, from_arrays, parse, read
from ._machine import Device, Machine
from ._problem import Bound, Problem
from ._robust import Plan, RobustResult, robust
from ._run import Result, bounds, schedule
from ._schedule import Schedule, Simulation, diversity, read_schedule, simulate, validate
