"""ONNX models by a schedule, on CPU threads.

    import sked, sked.onnxruntime
    target = sked.onnxruntime.Target("model.onnx", devices=2)
    graph = sked.read("model.onnx", profile="model.profile.json")
    best = sked.robust(graph, 2, target=target, measurements=30)
    run = target.load(best.schedule)
    outputs = run(inputs)             # {name: array} in, {name: array} out

Ops that follow each other on a device become one session of ONNX Runtime; tensors pass between
them. Times are microseconds.
"""

from __future__ import annotations

import functools
import statistics
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

import numpy as np

from ._arrays import numbers
from ._check import flag, integer
from ._onnx_program import OnnxProgram, open_session, session_options
from ._queues import PlanLike, Queues, Step
from ._threads import Crew, Job

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._onnx_program import ModelLike

    Arrays = Mapping[str, "np.ndarray[Any, Any]"]
    Trace = Tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = ["Loaded", "Mismatch", "Target", "compare"]

# Largest deviation from the whole model, relative to its largest element; others must be equal.
_TOLERANCE = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-4, "float64": 1e-9}


class Mismatch(RuntimeError):
    """A run gave another result than the model as a whole."""


def compare(found: "Arrays", wanted: "Arrays") -> None:
    """Checks results against those of the whole model, with a tolerance by dtype.

    Raises:
        Mismatch: it says which output differs, and by how much.
    """
    for given in (found, wanted):
        if not isinstance(given, Mapping):
            raise TypeError(f"results: a dict by name is wanted, not {type(given).__name__}")
    for name in wanted:
        if name not in found:
            raise Mismatch(f"output {name} is missing")
    for name, b in wanted.items():
        pairs = zip(found[name], b) if isinstance(b, list) else [(found[name], b)]
        for x, y in pairs:
            _compare_arrays(name, np.asarray(x), np.asarray(y))


def _compare_arrays(name: str, a: "np.ndarray[Any, Any]", b: "np.ndarray[Any, Any]") -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Mismatch(
            f"output {name} is {a.dtype} {a.shape}, that of the model {b.dtype} {b.shape}"
        )
    tolerance = _TOLERANCE.get(str(b.dtype))
    if tolerance is None or b.size == 0:
        if not np.array_equal(a, b):
            raise Mismatch(f"output {name} differs from that of the model")
        return
    a, b = a.astype("f8"), b.astype("f8")
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)):
        raise Mismatch(
            f"output {name} is finite where that of the model is not, or the other way round"
        )
    largest = float(np.max(np.abs(b[finite]), initial=0.0))
    error = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    if error > tolerance * largest:
        raise Mismatch(
            f"output {name} differs from that of the model by {error:g}; "
            f"its largest element is {largest:g}"
        )


class _Part(NamedTuple):
    """Ops of one device that run as one session."""

    ops: Tuple[int, ...]
    waits: Tuple[int, ...]
    signals: bool


def cut(steps: List[Step], devices: int, split: bool = False) -> List[List[_Part]]:
    """The parts of every device. One ends where others wait for its last op, or the next waits."""
    parts: List[List[_Part]] = [[] for _ in range(devices)]
    for step in steps:
        mine = parts[step.device]
        if split or not mine or mine[-1].signals or step.waits:
            mine.append(_Part((step.op,), step.waits, step.signals))
        else:
            mine[-1] = _Part((*mine[-1].ops, step.op), mine[-1].waits, step.signals)
    return parts


class _Session:
    """A session of some nodes, reading from and writing to the values of a run."""

    def __init__(self, program: OnnxProgram, nodes: Tuple[int, ...]) -> None:
        model, self._inputs, self._outputs = program.part(nodes)
        self._session = (
            open_session(model, session_options(optimise=True)) if self._outputs else None
        )

    def run(self, values: Dict[str, Any]) -> None:
        if self._session is None:
            return  # no result depends on these nodes
        results = self._session.run(self._outputs, {name: values[name] for name in self._inputs})
        values.update(zip(self._outputs, results))


class Loaded:
    """A model that runs by a schedule: call it with inputs by name."""

    def __init__(
        self, target: "Target", parts: List[List[_Part]], sessions: Dict[Tuple[int, ...], _Session]
    ) -> None:
        self._target = target
        self._parts = parts
        self._sessions = sessions
        self.sessions = sum(map(len, parts))
        """Number of sessions."""

    def __call__(self, inputs: "Arrays") -> Dict[str, "np.ndarray[Any, Any]"]:
        return self.traced(inputs)[0]

    def traced(self, inputs: "Arrays") -> "Tuple[Dict[str, np.ndarray[Any, Any]], float, Trace]":
        """Outputs by name, microseconds, and start and finish of the session of every op."""
        program = self._target.program
        program.check_inputs(inputs)
        values: Dict[str, Any] = dict(inputs)
        jobs = [[self._job(part, values) for part in parts] for parts in self._parts]
        start, finish = self._target._crew.run(jobs, len(program.nodes))
        for parts in self._parts:
            for part in parts:
                start[list(part.ops)], finish[list(part.ops)] = (
                    start[part.ops[-1]],
                    finish[part.ops[-1]],
                )
        outputs = {x: values[x] if x in values else program.constant(x) for x in program.outputs}
        return outputs, float(finish.max()), (start, finish)

    def _job(self, part: _Part, values: Dict[str, Any]) -> Job:
        """Numbered by its last op: that is the one others wait for."""
        call = functools.partial(self._sessions[part.ops].run, values)
        return Job(part.ops[-1], part.waits, part.signals, call)


class Target:
    """Runs an ONNX model by a plan, on one thread for each device; sessions use no other threads.

    Call it with a plan, and it gives the time in microseconds: a target for `sked.robust`. Every
    plan is checked against the results of the model as a whole.

    Args:
        model: a file or a model.
        inputs: example inputs by name; None: random ones.
        devices: threads.
        repeats: timed runs of a plan; the median counts.
        split: every op is a session of its own. Runs are slower, and come with a trace.
        seed: of the random inputs.
    """

    def __init__(
        self,
        model: "ModelLike",
        inputs: "Optional[Arrays]" = None,
        *,
        devices: int = 2,
        repeats: int = 10,
        split: bool = False,
        seed: int = 0,
    ) -> None:
        if integer(repeats, "repeats") < 1:
            raise ValueError(f"repeats must be 1 or more, not {repeats}")
        self.program = OnnxProgram(model, inputs, seed)
        self.devices = devices
        self.repeats = repeats
        self.split = flag(split, "split")
        self._crew = Crew(devices)
        self._sessions: Dict[Tuple[int, ...], _Session] = {}

    def load(self, plan: PlanLike) -> Loaded:
        """The model by this plan. Sessions in common with other plans are opened once."""
        device, order = (getattr(plan, name, None) for name in ("device", "order"))
        places, ops = (numbers(x, "i4", "a plan").reshape(-1).tolist() for x in (device, order))
        queues = Queues(self.program.preds, places, ops, self.devices)
        parts = cut(queues.steps, self.devices, self.split)
        for part in (part for list_ in parts for part in list_):
            if part.ops not in self._sessions:
                self._sessions[part.ops] = _Session(self.program, part.ops)
        return Loaded(self, parts, self._sessions)

    def __call__(self, plan: PlanLike) -> "Union[float, Tuple[float, Trace]]":
        run = self.load(plan)
        compare(run(self.program.inputs), self.program.reference)
        runs = [run.traced(self.program.inputs) for _ in range(self.repeats)]
        middle = statistics.median(time for _, time, _ in runs)
        if not self.split:
            return middle
        return middle, min(runs, key=lambda x: abs(x[1] - middle))[2]

    def close(self) -> None:
        """Ends the threads."""
        self._crew.close()
