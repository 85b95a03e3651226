"""sked schedules computation graphs.

Examples:
    >>> import sked
    >>> g = sked.read("model.onnx")
    >>> m = sked.Machine.identical(4, latency=2, bandwidth=100)
    >>> r = sked.schedule(g, m, time_limit=5)
    >>> r.makespan, r.bound, r.gap
"""

from __future__ import annotations

import importlib
from typing import Any

from ._call import Progress
from ._compare import compare
from ._convert import from_networkx, from_onnx, from_torch
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
from ._errors import (
    text as _text,
)
from ._graph import Graph, attributes, from_arrays, parse, read
from ._learn import Sampler, Samples, TrainProgress, sample, train
from ._lists import (
    Family,
    Format,
    Method,
    Option,
    Report,
    Target,
    families,
    formats,
    generate,
    methods,
    reports,
    target_options,
    targets,
    train_options,
)
from ._machine import Device, Machine
from ._native import lib as _lib
from ._pack import Packing, pack
from ._problem import Bound, Problem
from ._robust import Measured, Member, Parameter, Plan, RobustResult, measure, robust
from ._run import Result, bounds, schedule
from ._schedule import (
    Schedule,
    ScheduledOp,
    Simulation,
    diversity,
    read_schedule,
    simulate,
    validate,
)
from ._sweep import Sweep, SweepPoint, sweep

__version__: str = _text(_lib.sked_version())

__all__ = [
    "ArgumentError",
    "Bound",
    "BugError",
    "Device",
    "DeviceError",
    "Error",
    "Family",
    "FileError",
    "Format",
    "Graph",
    "InfeasibleError",
    "Interrupted",
    "InvalidScheduleError",
    "Machine",
    "Measured",
    "Member",
    "Method",
    "Option",
    "OutOfMemoryError",
    "Packing",
    "Parameter",
    "ParseError",
    "Plan",
    "Problem",
    "Progress",
    "Report",
    "Result",
    "RobustResult",
    "Sampler",
    "Samples",
    "Schedule",
    "ScheduledOp",
    "Simulation",
    "StoppedError",
    "Sweep",
    "SweepPoint",
    "Target",
    "TrainProgress",
    "UnsupportedError",
    "attributes",
    "bounds",
    "compare",
    "diversity",
    "families",
    "formats",
    "from_arrays",
    "from_networkx",
    "from_onnx",
    "from_torch",
    "generate",
    "measure",
    "methods",
    "pack",
    "parse",
    "read",
    "read_schedule",
    "reports",
    "robust",
    "sample",
    "schedule",
    "simulate",
    "sweep",
    "target_options",
    "targets",
    "train",
    "train_options",
    "validate",
]

_RUNTIMES = ("command", "executorch", "onnxruntime", "profile", "torch")


def __getattr__(name: str) -> Any:
    """Runtimes are imported when they are first used: what they stand on is optional."""
    if name in _RUNTIMES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
