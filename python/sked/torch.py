"""PyTorch modules by a schedule, on CUDA streams or CPU threads.

    import sked.torch
    fast = sked.torch.accelerate(module, (example,), measurements=30)
    y = fast(x)                       # the same results, for inputs of the same shapes

`Program` is a module as a graph of ops. `CudaTarget` and `ThreadTarget` run it by a plan (device
and order of every op) and measure it: they are targets for `sked.robust`. Times are microseconds,
as are the durations of the graphs.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import statistics
import time
import warnings
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import numpy as np

try:
    import torch
except ImportError as cause:
    raise ImportError("sked.torch needs PyTorch: pip install 'libsked[torch]'") from cause

from torch.utils import _pytree as pytree

from ._queues import PlanLike, Queues, Step
from ._threads import Crew, Job
from ._torch_fuse import FUSIONS, Fuse, fused
from ._torch_program import Group, Program, Sizes, Unsupported, Value, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._call import ProgressFunction
    from ._graph import Graph
    from ._robust import Measurement, RobustResult

    Trace = Tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = [
    "Accelerated",
    "CudaTarget",
    "Mismatch",
    "Program",
    "ThreadTarget",
    "Unsupported",
    "accelerate",
    "compare",
    "from_exported",
]

# Largest deviation from the eager result, relative to its largest element; others must be equal.
_TOLERANCE = {
    torch.float64: 1e-9,
    torch.complex128: 1e-9,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
}
_cuda: Any = torch.cuda  # not all of it has types
# A profile launches so many ops behind one long kernel, so that the GPU never waits for the host.
_CHUNK = 64
# Runs of a CUDA graph between two events: launching one takes about as long as a small graph runs.
_INNER = 5
# What `accelerate` tries, the most promising first.
GROUPS: Tuple[Group, ...] = ("tails", False, True)
STREAMS: Tuple[int, ...] = (8, 3, 4, 5, 6, 12, 16, 24)


class Mismatch(RuntimeError):
    """A run gave another result than the eager module."""


def compare(result: Any, reference: Any, rounding: Sequence[float] = ()) -> None:
    """Checks a result against that of the eager module, with a tolerance by dtype.

    Args:
        rounding: tolerance of each output where that is larger.

    Raises:
        Mismatch: it says which output differs, and by how much.
    """
    found, spec = pytree.tree_flatten(result)
    wanted, other = pytree.tree_flatten(reference)
    if spec != other:
        raise Mismatch(f"the result has the structure {spec}, the eager one {other}")
    for number, (a, b) in enumerate(zip(found, wanted)):
        if isinstance(b, torch.Tensor):
            _compare_tensors(number, a, b, rounding[number] if rounding else 0.0)
        elif a != b:
            raise Mismatch(f"output {number} is {a!r}, the eager one {b!r}")


def _compare_tensors(number: int, a: torch.Tensor, b: torch.Tensor, rounding: float) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Mismatch(
            f"output {number} is {a.dtype} {tuple(a.shape)}, "
            f"the eager one {b.dtype} {tuple(b.shape)}"
        )
    if not torch.equal(torch.isfinite(a), torch.isfinite(b)):
        raise Mismatch(
            f"output {number} is finite where the eager one is not, or the other way round"
        )
    error, largest = _deviation(a, b)
    if error > max(_TOLERANCE.get(b.dtype, 0.0), rounding) * largest:
        raise Mismatch(
            f"output {number} differs from the eager one by {error:g}; "
            f"its largest element is {largest:g}"
        )


def _deviation(a: torch.Tensor, b: torch.Tensor) -> Tuple[float, float]:
    """The largest difference where both are finite, and the largest element of the second."""
    wide = torch.complex128 if b.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = torch.isfinite(a) & torch.isfinite(b)
    if torch.equal(a, b) or not bool(finite.any()):
        return 0.0, 0.0
    return float((a[finite] - b[finite]).abs().max()), float(b[finite].abs().max())


def _copied(x: Any, like: Any) -> Any:
    """A copy of a result in the layout of the eager one."""
    return torch.empty_like(like).copy_(x) if isinstance(x, torch.Tensor) else x


def _laid_out(x: Any, like: Any) -> Any:
    """A result in the layout of the eager one."""
    same = not isinstance(x, torch.Tensor) or x.stride() == like.stride()
    return x if same else _copied(x, like)


def _as_eager(move: Callable[[Any, Any], Any], result: Any, reference: Any) -> Any:
    """All parts of a result, moved to the layout of the eager one."""
    parts, spec = pytree.tree_flatten(result)
    wanted = pytree.tree_flatten(reference)[0]
    return pytree.tree_unflatten([move(x, like) for x, like in zip(parts, wanted)], spec)


def _eager(module: Any) -> Callable[..., Any]:
    """The module as a function; an ExportedProgram is none."""
    made: Callable[..., Any] = module.module() if hasattr(module, "graph_signature") else module
    return made


class _Model:
    """A module, its program, inputs of its own and what it makes of them."""

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]],
        group: Group,
        fuse: Fuse = False,
    ) -> None:
        self.eager = _eager(module)
        self.program = Program.from_module(module, args, kwargs, group)
        leaves, self._spec = pytree.tree_flatten((tuple(args), dict(kwargs or {})))
        self.inputs = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
        given = self.program.flatten(tuple(args), dict(kwargs or {}))
        if len(given) != len(leaves):
            raise Unsupported(
                "the inputs of a GraphModule must be tensors and numbers, not lists of them"
            )
        with torch.no_grad():
            self.reference = self.run_eager()
            try:
                compare(self.run_eager(), self.reference)
            except Mismatch as error:
                raise Unsupported(
                    f"the module is random: twice the same input, but {error}"
                ) from error
        self.base, self.fuse = self.program, fuse
        self.rounding: List[float] = []
        if not self.program.ops:
            raise Unsupported("the module computes nothing")
        self._make(group, fuse)

    def _make(self, group: Group, fuse: Fuse) -> None:
        if fuse is not False:
            with torch.no_grad():
                known = self.base.run(self.inputs)
            self.program = fused(self.base, known, fuse, group)
            self.rounding = self._eager_rounding()
        else:
            self.program, self.rounding = self.base.regrouped(group), []
        self.fuse = fuse
        self._run_program()

    def _eager_rounding(self) -> List[float]:
        """For each output twice what the eager one is off the result in double precision.

        Another result that is as near to it may differ from the eager one by so much.
        """
        try:
            with torch.no_grad():
                exact = self.base.widened().outputs([widened(x) for x in self.inputs])
        except RuntimeError:  # an op insists on its dtype
            return []
        found = []
        for a, b in zip(pytree.tree_flatten(self.reference)[0], pytree.tree_flatten(exact)[0]):
            error, largest = _deviation(a, b) if isinstance(a, torch.Tensor) else (0.0, 0.0)
            found.append(2 * error / largest if largest > 0 else 0.0)
        return found

    def compare(self, result: Any, reference: Any = None) -> None:
        """Checks a result against the eager one of the example inputs, or of others."""
        compare(result, self.reference if reference is None else reference, self.rounding)

    def _run_program(self) -> None:
        with torch.no_grad():
            values = self.program.run(self.inputs)
        self.compare(self.program.result(values))
        self.memory = self.program.memory(values)
        self.sizes = self.program.sizes(values)

    def regrouped(self, group: Group, fuse: Optional[Fuse]) -> "_Model":
        other = copy.copy(self)
        if fuse is None or fuse == self.fuse:
            other.program = self.program.regrouped(group)
            other._run_program()
        else:
            other._make(group, fuse)
        return other

    def run_eager(self, leaves: Optional[List[Any]] = None) -> Any:
        return self.run_with(self.eager, leaves)

    def run_with(self, module: Callable[..., Any], leaves: Optional[List[Any]] = None) -> Any:
        """Another form of the module with the example inputs, or with these."""
        args, kwargs = pytree.tree_unflatten(self.inputs if leaves is None else leaves, self._spec)
        return module(*args, **kwargs)

    def take(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
        """The leaves of new inputs, which must be like the first ones."""
        leaves: List[Any]
        leaves, spec = pytree.tree_flatten((tuple(args), kwargs))
        if spec != self._spec:
            raise ValueError(f"the inputs have the structure {spec}, not {self._spec}")
        for number, (new, old) in enumerate(zip(leaves, self.inputs)):
            if not isinstance(old, torch.Tensor):
                if new != old:
                    raise ValueError(
                        f"input {number} is {new!r}; the module was accelerated for {old!r}"
                    )
            elif not isinstance(new, torch.Tensor) or _kind(new) != _kind(old):
                kind = _kind(new) if isinstance(new, torch.Tensor) else type(new).__name__
                raise ValueError(
                    f"input {number} is {kind}; the module was accelerated for {_kind(old)}"
                )
        return leaves

    def queues(self, plan: PlanLike, devices: int) -> Queues:
        values = [(v.maker, v.readers) for v in self.memory]
        return Queues(
            self.program.preds, plan.device.tolist(), plan.order.tolist(), devices, values
        )


def _kind(x: torch.Tensor) -> str:
    return f"{x.dtype} of shape {tuple(x.shape)} on {x.device}"


# ---------------------------------------------------------------------- CUDA streams


class StreamRun:
    """Issues the steps of a schedule on streams: an event only where streams meet.

    The first stream is the one that a capture began on. The others are forked from it before their
    first op, and it waits for all of them in the end. PyTorch's allocator gives freed memory to the
    next op of the stream that allocated it, whoever still reads it elsewhere. So a value is dropped
    only where its own stream has waited for all readers; what never comes so far is kept until
    everything was issued.

    Args:
        cuda: `torch.cuda`, or what stands in for it in tests.
        marks: records when the ops begin and end; None: nothing does.
    """

    def __init__(
        self,
        program: Program,
        memory: Sequence[Value],
        inputs: Sequence[Any],
        streams: Sequence[Any],
        cuda: Any,
        marks: "Optional[Marks]" = None,
    ) -> None:
        self.program = program
        self.memory = memory
        self.values = program.begin(inputs)
        self.streams = streams
        self.cuda = cuda
        self._marks = marks
        self._event: Dict[int, Any] = {}
        self._fork: Any = None
        self._begun: Set[int] = {0}

    def issue(self, queues: Queues) -> Any:
        """Issues all steps and returns the result of the module."""
        if self._marks is not None:
            self._marks.begin(self.streams[0])
        self._fork = self._record(self.streams[0])
        for step in queues.steps:
            self._issue_step(step)
        for device in sorted(self._begun - {0}):
            self.streams[0].wait_event(self._record(self.streams[device]))
        return self.program.result(self.values)

    def free(self, value: int) -> None:
        for node in self.memory[value].nodes:
            self.values[node] = None

    def _record(self, stream: Any) -> Any:
        event = self.cuda.Event()
        event.record(stream)
        return event

    def _issue_step(self, step: Step) -> None:
        stream = self.streams[step.device]
        if step.device not in self._begun:
            self._begun.add(step.device)
            stream.wait_event(self._fork)
        for op in step.waits:
            stream.wait_event(self._event[op])
        for value in step.frees:
            self.free(value)
        if self._marks is not None:
            self._marks.start(step, stream)
        with self.cuda.stream(stream):
            self.program.run_op(step.op, self.values)
        if self._marks is not None:
            self._marks.finish(step, stream)
        if step.signals:
            self._event[step.op] = self._record(stream)


class Marks:
    """Timing events inside a CUDA graph; every replay records them anew.

    An op that waits for nobody begins where the one before it on its stream ended: events cost
    about as much as a small kernel.
    """

    def __init__(self, ops: int, cuda: Any) -> None:
        self._cuda = cuda
        self._zero: Any = None
        self._start: List[Any] = [None] * ops
        self._finish: List[Any] = [None] * ops
        self._last: Dict[int, Any] = {}

    def begin(self, stream: Any) -> None:
        self._zero = self._last[0] = self._record(stream)

    def start(self, step: Step, stream: Any) -> None:
        known = None if step.waits else self._last.get(step.device)
        self._start[step.op] = known or self._record(stream)

    def finish(self, step: Step, stream: Any) -> None:
        self._finish[step.op] = self._last[step.device] = self._record(stream)

    def _record(self, stream: Any) -> Any:
        event = self._cuda.Event(enable_timing=True, external=True)
        event.record(stream)
        return event

    def read(self) -> "Trace":
        """Start and finish of every op in the last replay, in microseconds."""
        start, finish = (
            np.array([1e3 * self._zero.elapsed_time(e) if e is not self._zero else 0.0 for e in x])
            for x in (self._start, self._finish)
        )
        return start, finish


def _without(durations: "NDArray[np.float64]", cost: float) -> "NDArray[np.float64]":
    """Durations less what an event costs; something always stays."""
    net: "NDArray[np.float64]" = np.maximum(durations - cost, 0.1 * durations)
    return net


def contract(
    queues: Queues, preds: Sequence[Sequence[int]], trace: "Trace", cost: float
) -> "Trace":
    """A trace without the cost of the events that made it: ops and waits get shorter by it."""
    start, finish = trace
    took = _without(finish - start, cost)
    begins, ends = np.zeros_like(start), np.zeros_like(finish)
    last: Dict[int, int] = {}
    for step in queues.steps:
        before = [*preds[step.op], *([last[step.device]] if step.device in last else [])]
        waited = start[step.op] - max((finish[p] for p in before), default=0.0)
        waited = max(0.0, waited - (cost if step.waits else 0.0))
        begins[step.op] = max((ends[p] for p in before), default=0.0) + waited
        ends[step.op] = begins[step.op] + took[step.op]
        last[step.device] = step.op
    return begins, ends


class _Captured:
    """A CUDA graph and the result that it writes."""

    def __init__(self, graph: Any, result: Any) -> None:
        self.graph = graph
        self.result = result

    def __call__(self) -> Any:
        self.graph.replay()
        return self.result


def _can_trace() -> bool:
    """Can this PyTorch record events inside a graph?"""
    try:
        _cuda.Event(enable_timing=True, external=True)
    except TypeError:
        return False
    return True


@contextlib.contextmanager
def _own_workspaces() -> Iterator[None]:
    """A capture takes workspaces of cuBLAS from the memory of its own graph.

    PyTorch keeps one for each stream. Graphs that share them with others would read memory that is
    gone once somebody clears them, as torch.compile does.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()


class CudaTarget:
    """Runs a module by a plan as one CUDA graph over several streams.

    Call it with a plan, and it gives the time in microseconds and, where PyTorch can record events
    inside a graph, a trace: a target for `sked.robust`. Every plan is checked against the eager
    result.

    Args:
        module: a module on a GPU, an ExportedProgram or a GraphModule.
        args: example inputs.
        kwargs: example inputs by name.
        devices: streams.
        group: True: light ops go with a producer or consumer; "tails": with a producer alone;
            False: only views do.
        fuse: True: batch norms are folded into weights, and ops fused; "channels_last": that, and
            images have their channels last; False: all ops as they are.
        repeats: timed runs of a plan, five replays each; the median counts.
        traces: whether a trace is made where it can be.
    """

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]] = None,
        *,
        devices: int = 8,
        group: Group = True,
        fuse: Fuse = False,
        repeats: int = 10,
        traces: bool = True,
    ) -> None:
        self.devices = devices
        self.repeats = repeats
        self.traces = traces and _can_trace()
        self.streams = [_cuda.Stream() for _ in range(devices)]
        self.model = _Model(module, args, kwargs, group, fuse)
        self.program = self.model.program
        self._event_cost = 0.0
        self._warm_up()

    def _warm_up(self) -> None:
        """Loads kernels, chooses algorithms, gives streams workspaces: captures cannot do that."""
        _cuda.synchronize()
        with torch.no_grad():
            for stream in self.streams:
                with _cuda.stream(stream):
                    self.model.run_eager()
                    self.program.run(self.model.inputs)
                stream.synchronize()

    def regrouped(self, group: Group, fuse: Optional[Fuse] = None) -> "CudaTarget":
        """The same module and streams, with ops joined, and fused if that is given, anew."""
        other = copy.copy(self)
        other.model = self.model.regrouped(group, fuse)
        other.program = other.model.program
        if other.model.fuse != self.model.fuse:
            other._warm_up()
        return other

    def profile(self, repeats: int = 7) -> List[float]:
        """Durations in microseconds on one stream: between events, without what these cost."""
        plan = InOrder(len(self.program.ops))
        total = statistics.median(self.times(self.capture(plan), repeats))
        if _can_trace():
            start, finish = self._marked(plan)
            found = finish - start
        else:
            found = self._between_events(repeats)
        self._event_cost = max(0.0, (found.sum() - total) / len(found))
        net = _without(found, self._event_cost)
        return [float(x) for x in net * (total / net.sum())]

    def _between_events(self, repeats: int) -> "NDArray[np.float64]":
        """Medians of runs without a graph, while the GPU has work queued."""
        samples: List[List[float]] = [[] for _ in self.program.ops]
        sleep = 20_000_000  # cycles, about 10 ms
        with torch.no_grad():
            for _ in range(repeats):
                values = self.program.begin(self.model.inputs)
                for first in range(0, len(samples), _CHUNK):
                    chunk = range(first, min(first + _CHUNK, len(samples)))
                    sleep = self._profile_chunk(chunk, values, samples, sleep)
        return np.array([statistics.median(x) for x in samples])

    def _profile_chunk(
        self, chunk: range, values: List[Any], samples: List[List[float]], sleep: int
    ) -> int:
        events = [_cuda.Event(enable_timing=True) for _ in range(len(chunk) + 1)]
        _cuda.synchronize()
        _cuda._sleep(sleep)
        begin = time.perf_counter()
        events[0].record()
        for k, op in enumerate(chunk):
            self.program.run_op(op, values)
            events[k + 1].record()
        host = time.perf_counter() - begin
        _cuda.synchronize()
        for k, op in enumerate(chunk):
            samples[op].append(1e3 * events[k].elapsed_time(events[k + 1]))
        return max(20_000_000, int(4e9 * host))

    def capture(self, plan: PlanLike, marks: Optional[Marks] = None) -> _Captured:
        """The plan as a CUDA graph."""
        queues = self.model.queues(plan, self.devices)
        run = StreamRun(
            self.program, self.model.memory, self.model.inputs, self.streams, _cuda, marks
        )
        return self._capture(lambda: run.issue(queues))

    def _marked(self, plan: PlanLike) -> "Trace":
        """Start and finish of every op of a graph with events inside, means of several replays."""
        marks = Marks(len(self.program.ops), _cuda)
        run = self.capture(plan, marks)
        found = []
        for _ in range(self.repeats):
            for _ in range(_INNER):
                run()
            _cuda.synchronize()
            found.append(marks.read())
        start, finish = np.mean(found, axis=0)
        return start, finish

    def trace(self, plan: PlanLike, time: float) -> "Trace":
        """Start and finish of every op in microseconds in a run of so many.

        Events inside a graph take time. What they cost (see `profile`) is taken out of every op and
        every wait, and the rest is scaled to the time of the graph without them.
        """
        queues = self.model.queues(plan, self.devices)
        start, finish = contract(queues, self.program.preds, self._marked(plan), self._event_cost)
        scale = time / finish.max()
        return scale * start, scale * finish

    def plain(self) -> _Captured:
        """The eager module as a CUDA graph on one stream."""
        return self._capture(self.model.run_eager)

    def _capture(self, issue: Callable[[], Any]) -> _Captured:
        graph = _cuda.CUDAGraph()
        _cuda.synchronize()
        with _own_workspaces(), torch.no_grad(), _cuda.graph(graph, stream=self.streams[0]):
            result = issue()
        return _Captured(graph, result)

    def times(self, run: Callable[[], Any], repeats: int) -> List[float]:
        """Microseconds of a run, so many times."""
        events = [[_cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
        for _ in range(_INNER):
            run()
        for begin, end in events:
            begin.record()
            for _ in range(_INNER):
                run()
            end.record()
        _cuda.synchronize()
        return [1e3 * begin.elapsed_time(end) / _INNER for begin, end in events]

    def check(self, run: Callable[[], Any]) -> None:
        """Compares what a run gives with the eager result.

        Raises:
            Mismatch: they differ.
        """
        result = run()
        _cuda.synchronize()
        self.model.compare(result)

    def check_other_inputs(self, run: Callable[[], Any]) -> None:
        """The same for the example inputs turned round: nothing of the first ones may stay behind.

        Raises:
            Mismatch: the results differ from the eager ones.
        """
        own = [x for x in self.model.inputs if isinstance(x, torch.Tensor)]
        before = [x.clone() for x in own]
        with torch.no_grad():
            try:
                for x in own:
                    x.copy_(x.flip(tuple(range(x.dim()))))
                self.model.compare(run(), self.model.run_eager())
            finally:
                for x, old in zip(own, before):
                    x.copy_(old)

    def measure(self, plan: PlanLike, traced: bool = True) -> "Tuple[_Captured, Measurement]":
        """The plan as a CUDA graph, and its time in microseconds, with a trace where it can be."""
        run = self.capture(plan)
        self.check(run)
        time = statistics.median(self.times(run, self.repeats))
        return run, ((time, self.trace(plan, time)) if self.traces and traced else time)

    def __call__(self, plan: PlanLike) -> "Measurement":
        return self.measure(plan)[1]

    def make(self, run: Callable[[], Any]) -> Callable[[List[Any]], Any]:
        """A function of new inputs: they are copied to where the graph reads them."""
        own = self.model.inputs

        def call(leaves: List[Any]) -> Any:
            with torch.no_grad():
                for old, new in zip(own, leaves):
                    if isinstance(old, torch.Tensor):
                        old.copy_(new)
                return _as_eager(_copied, run(), self.model.reference)

        return call


# ---------------------------------------------------------------------- CPU threads


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Ops that this thread calls use no other threads."""
    torch.set_num_threads(1)
    with torch.no_grad():
        yield


class ThreadTarget:
    """Runs a module by a plan on CPU threads, one for each device; its ops use no other threads.

    Call it with a plan, and it gives the time in microseconds and a trace: a target for
    `sked.robust`. Every plan is checked against the eager result.

    Args:
        module: a module on the CPU, an ExportedProgram or a GraphModule.
        args: example inputs.
        kwargs: example inputs by name.
        devices: threads.
        group: True: light ops go with a producer or consumer; "tails": with a producer alone;
            False: only views do.
        fuse: True: batch norms are folded into weights, and equal ops run once; "channels_last":
            that, and images have their channels last; False: all ops as they are.
        repeats: timed runs of a plan; the median counts.
    """

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]] = None,
        *,
        devices: int = 2,
        group: Group = True,
        fuse: Fuse = False,
        repeats: int = 10,
    ) -> None:
        self.devices = devices
        self.repeats = repeats
        self.model = _Model(module, args, kwargs, group, fuse)
        self.program = self.model.program
        threads = torch.get_num_threads()
        self._crew = Crew(devices, _one_thread)
        torch.set_num_threads(threads)  # the others keep what they have set for themselves

    def close(self) -> None:
        """Ends the threads."""
        self._crew.close()

    def regrouped(self, group: Group, fuse: Optional[Fuse] = None) -> "ThreadTarget":
        """The same module and threads, with ops joined, and fused if that is given, anew."""
        other = copy.copy(self)
        other.model = self.model.regrouped(group, fuse)
        other.program = other.model.program
        return other

    def profile(self, repeats: int = 7) -> List[float]:
        """Durations of the ops in microseconds: medians of runs on one thread."""
        plan = InOrder(len(self.program.ops))
        run = self.capture(plan)
        traces = [run.traced()[1] for _ in range(repeats + 1)][1:]
        return [float(x) for x in np.median([finish - start for start, finish in traces], axis=0)]

    def capture(self, plan: PlanLike) -> "_Scheduled":
        """The plan as something that can run."""
        return _Scheduled(self, self.model.queues(plan, self.devices))

    def plain(self) -> Callable[[], Any]:
        """The eager module, with all the threads that PyTorch takes."""

        def run() -> Any:
            with torch.no_grad():
                return self.model.run_eager()

        return run

    def times(self, run: Callable[[], Any], repeats: int) -> List[float]:
        """Microseconds of a run, so many times."""
        run()
        found = []
        for _ in range(repeats):
            begin = time.perf_counter()
            run()
            found.append(1e6 * (time.perf_counter() - begin))
        return found

    def check(self, run: Callable[[], Any]) -> None:
        """Compares what a run gives with the eager result.

        Raises:
            Mismatch: they differ.
        """
        self.model.compare(run())

    def check_other_inputs(self, run: Callable[[], Any]) -> None:
        """The same for the example inputs turned round.

        Raises:
            Mismatch: the results differ from the eager ones.
        """
        leaves = [
            x.flip(tuple(range(x.dim()))) if isinstance(x, torch.Tensor) else x
            for x in self.model.inputs
        ]
        with torch.no_grad():
            self.model.compare(self.make(run)(leaves), self.model.run_eager(leaves))

    def measure(self, plan: PlanLike, traced: bool = True) -> "Tuple[_Scheduled, Measurement]":
        """The plan as something that can run, and its time in microseconds, with a trace."""
        run = self.capture(plan)
        self.check(run)
        traces = [run.traced() for _ in range(self.repeats)]
        middle = statistics.median(t for t, _ in traces)
        nearest = min(traces, key=lambda x: abs(x[0] - middle))[1]
        return run, ((middle, nearest) if traced else middle)

    def __call__(self, plan: PlanLike) -> "Measurement":
        return self.measure(plan)[1]

    def run(self, queues: Queues, inputs: Sequence[Any]) -> "Tuple[Any, Trace]":
        """The result of one run with these inputs, and its trace."""
        values = self.program.begin(inputs)
        jobs: List[List[Job]] = [[] for _ in range(self.devices)]
        for step in queues.steps:
            call = functools.partial(self.program.run_op, step.op, values)
            jobs[step.device].append(Job(step.op, step.waits, step.signals, call))
        trace = self._crew.run(jobs, len(self.program.ops))
        return self.program.result(values), trace

    def make(self, run: Callable[[], Any]) -> Callable[[List[Any]], Any]:
        """A function of new inputs."""
        if isinstance(run, _Scheduled):
            scheduled = run

            def call_scheduled(leaves: List[Any]) -> Any:
                return _as_eager(_laid_out, scheduled.with_inputs(leaves), self.model.reference)

            return call_scheduled

        def call(leaves: List[Any]) -> Any:
            with torch.no_grad():
                return self.model.run_eager(leaves)

        return call


class InOrder:
    """The plan that runs everything on the first device."""

    def __init__(self, ops: int) -> None:
        self.device = np.zeros(ops, dtype="i4")
        self.order = np.arange(ops, dtype="i4")


class _Scheduled:
    """A plan on threads."""

    def __init__(self, target: ThreadTarget, queues: Queues) -> None:
        self._target = target
        self.queues = queues

    def __call__(self) -> Any:
        return self.with_inputs(self._target.model.inputs)

    def with_inputs(self, leaves: List[Any]) -> Any:
        return self._target.run(self.queues, leaves)[0]

    def traced(self) -> "Tuple[float, Trace]":
        """Time and trace of one run, in microseconds."""
        trace = self._target.run(self.queues, self._target.model.inputs)[1]
        return float(trace[1].max()), trace


# ---------------------------------------------------------------------- the whole

Target = Union[CudaTarget, ThreadTarget]


def graph_of(target: "Target", durations: Sequence[float]) -> "Graph":
    """The ops of a target as a graph with these durations."""
    return _graph(target.program, durations, target.model.sizes)


def _graph(program: Program, durations: Sequence[float], sizes: Sizes) -> "Graph":
    from ._graph import Graph

    memory, edges = sizes
    graph = Graph(program.name)
    for name, kind, duration, size in zip(program.names, program.types, durations, memory):
        graph.add_op(name, duration, type=kind, memory=size)
    for (a, b), size in sorted(edges.items()):
        graph.add_edge(a, b, bytes=size)
    return graph


def from_exported(
    exported: Any, inputs: Optional[Sequence[Any]] = None, group: Group = True
) -> "Graph":
    """The graph of an ExportedProgram or a torch.fx.GraphModule, with estimated durations.

    Durations are microseconds and follow from FLOP and bytes, as those of ONNX models do: they are
    the same on every machine. `CudaTarget` and `ThreadTarget` measure them.

    Args:
        exported: the program.
        inputs: of a GraphModule that does not say how large its tensors are; it runs once.
        group: True: light ops go with a producer or consumer; "tails": with a producer alone;
            False: only views do.
    """
    program = Program.from_module(exported, inputs or (), group=group)
    values = None
    if not program.is_static():
        if inputs is None:
            raise ValueError("the graph does not say how large its tensors are: give inputs")
        with torch.no_grad():
            values = program.run(program.flatten(tuple(inputs), {}))
    return _graph(program, program.estimates(values), program.sizes(values))


class Times(NamedTuple):
    """Medians of the final comparison, in microseconds.

    Attributes:
        plain: the CUDA graph of the eager module on one stream; on CPU threads the eager module.
        scheduled: the best schedule that was measured.
    """

    plain: float
    scheduled: float


class Fastest:
    """A target that keeps what ran fastest: the same plan captured again may take longer.

    Args:
        target: what measures; it may be changed.

    Attributes:
        traced: whether traces are made, which takes as long again on a GPU.
        run: the fastest until now; None: nothing was measured.
        time: its time in microseconds.
    """

    def __init__(self, target: "Target") -> None:
        self.target = target
        self.traced = True
        self.run: Optional[Callable[[], Any]] = None
        self.time = math.inf
        self.__name__ = type(target).__name__

    def __call__(self, plan: PlanLike) -> "Measurement":
        run, answer = self.target.measure(plan, self.traced)
        time = answer[0] if isinstance(answer, tuple) else answer
        if time < self.time:
            self.run, self.time = run, time
        return answer


class Trial(NamedTuple):
    """A list schedule that was measured to choose ops and number of streams or threads.

    Attributes:
        fuse: how nodes were fused.
        group: how nodes were joined to ops.
        devices: streams or threads.
        ops: how many there are.
        time: in microseconds.
    """

    fuse: Fuse
    group: Group
    devices: int
    ops: int
    time: float


class Trials:
    """Chooses fusion, grouping and number of streams or threads by measuring list schedules.

    Fusions are tried with the first grouping and number of devices, then groupings with the best
    fusion, then the next smaller and larger numbers of devices with the best of these, and from
    there on as long as it gets better.

    Args:
        fastest: what measures.
        fusions: to try; one that gives another result than the eager module, within the tolerance,
            or does not run, is left out with a warning.
        groups: groupings to try; one that gives the same ops as another is left out.
        counts: numbers of devices to try, beginning with the first.
        most: measurements, at least one.

    Attributes:
        tried: all trials.
        best: the one that won.
        target: with the ops that won.
        graph: these ops, measured.
    """

    def __init__(
        self,
        fastest: Fastest,
        fusions: Sequence[Fuse],
        groups: Sequence[Group],
        counts: Sequence[int],
        most: int,
    ) -> None:
        self._fastest = fastest
        self._most = max(1, most)
        self._seen: List[Any] = []
        self.tried: List[Trial] = []
        self.best = Trial(fusions[0], groups[0], counts[0], 0, math.inf)
        self.target = fastest.target
        self.graph: "Graph"
        fastest.traced = False
        for fuse in fusions:
            self._try_fusion(fastest.target, fuse, groups[0], counts[0])
        for group in groups[1:]:
            self._try_ops(self.target.regrouped(group), group, counts[0])
        for step in (-1, 1):
            self._try_counts(counts, step)
        fastest.target, fastest.traced = self.target, True

    def _try_fusion(self, base: "Target", fuse: Fuse, group: Group, count: int) -> None:
        try:
            target = base.regrouped(group, fuse)
        except RuntimeError as error:
            if fuse is False:
                raise
            warnings.warn(f"fuse={fuse!r} is left out: {error}", stacklevel=4)
        else:
            self._try_ops(target, group, count)

    def _try_ops(self, target: "Target", group: Group, count: int) -> None:
        if (target.program.nodes, target.program.ops) not in self._seen:
            self._seen.append((target.program.nodes, target.program.ops))
            self._try(target, group, None, count)

    def _try_counts(self, counts: Sequence[int], step: int) -> None:
        """From the best number of devices to the next ones, as long as it gets better."""
        ladder = sorted(counts)
        place = ladder.index(self.best.devices) + step
        tried = [t.devices for t in self.tried]
        while 0 <= place < len(ladder) and ladder[place] not in tried:
            self._try(self.target, self.best.group, self.graph, ladder[place])
            if self.best.devices != ladder[place]:
                return
            place += step

    def _try(self, target: "Target", group: Group, graph: "Optional[Graph]", count: int) -> None:
        from ._run import schedule

        if len(self.tried) >= self._most:
            return
        graph = graph or graph_of(target, target.profile())
        self._fastest.target = target
        answer = self._fastest(schedule(graph, count, method="list").schedule)
        time = answer[0] if isinstance(answer, tuple) else answer
        self.tried.append(Trial(target.model.fuse, group, count, len(target.program.ops), time))
        if time < self.best.time:
            self.best, self.target, self.graph = self.tried[-1], target, graph


class Accelerated:
    """A module that runs by the fastest schedule, or as it was where no schedule is faster.

    It takes inputs of the shapes, dtypes and devices of the example. Calls must not overlap.
    Weights that change in place after `accelerate` count; after such a change call `refresh` where
    ops are fused (`trials`), for folded weights are computed from them.

    Attributes:
        times: of both in the final comparison.
        scheduled: whether it runs by the schedule.
        trials: how fusion, grouping and number of streams or threads were chosen.
        robust: what the loop found with them.
    """

    def __init__(
        self,
        target: "Target",
        run: Callable[[], Any],
        times: Times,
        robust: "RobustResult",
        trials: Sequence[Trial],
        scheduled: bool,
    ) -> None:
        self._target = target
        self._call = target.make(run)
        self.times = times
        self.robust = robust
        self.trials = list(trials)
        self.scheduled = scheduled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._target.model.take(args, kwargs))

    def refresh(self) -> None:
        """Computes folded weights anew after weights of the module have changed in place."""
        self._target.program.refresh()

    def __repr__(self) -> str:
        kept = "scheduled" if self.scheduled else "plain"
        plain, best = self.times
        return f"<sked.torch.Accelerated: plain {plain:.1f} us, scheduled {best:.1f} us, {kept}>"


def duel(target: "Target", runs: Sequence[Callable[[], Any]], rounds: int = 15) -> List[float]:
    """Medians of several runs, in turns so that a slow phase of the machine meets all of them."""
    found: List[List[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for k, run in enumerate(runs):
            found[k] += target.times(run, 2)
    return [statistics.median(x) for x in found]


def search(
    trials: Trials,
    fastest: Fastest,
    measurements: int,
    *,
    time_limit: float,
    seed: int = 0,
    progress: "Optional[ProgressFunction]" = None,
) -> "RobustResult":
    """Measures schedules of the ops that were chosen: half of them the loop's, then random ones.

    List schedules of random priorities get what the loop leaves. On graphs of small ops they find
    what its model does not see, and it finds what they miss.
    """
    from ._robust import robust

    common: Dict[str, Any] = {"target": fastest, "seed": seed, "progress": progress}
    half = max(1, (measurements + 1) // 2)
    graph, devices = trials.graph, trials.best.devices
    limit = 0.75 * time_limit
    found = robust(graph, devices, measurements=half, time_limit=limit, **common)
    left = measurements - len(found.measurements)
    if left > 0 and found.end != "stopped":
        fastest.traced = False
        limit = time_limit - limit
        robust(graph, devices, one_shot=True, method="list", top=left, time_limit=limit, **common)
    return found


def accelerate(
    module: Any,
    args: Sequence[Any],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    devices: Optional[int] = None,
    measurements: int = 30,
    time_limit: float = 10.0,
    seed: int = 0,
    backend: Optional[str] = None,
    group: Optional[Group] = None,
    fuse: Fuse = "auto",
    progress: "Optional[ProgressFunction]" = None,
) -> Accelerated:
    """A module that gives the same results faster, for inputs of the same shapes.

    List schedules are measured to choose whether ops are fused, how small they are and how many
    streams there are. With these, `sked.robust` and random list schedules share the other
    measurements. The fastest of all meets the plain CUDA graph (on CPU threads: the eager module)
    in a final comparison in turns. The faster one is returned.

    Args:
        module: in eval mode; or an ExportedProgram, or a torch.fx.GraphModule.
        args: example inputs.
        kwargs: example inputs by name.
        devices: streams or threads; None: 8 streams are tried, then fewer and more as long as it
            gets faster, or as many threads as PyTorch uses.
        measurements: schedules to measure.
        time_limit: seconds of scheduling; measuring is not counted.
        seed: of the random numbers.
        backend: "cuda" or "cpu"; None: where the inputs are.
        group: True: light ops go with a producer or consumer; "tails": with a producer alone;
            False: only views do; None: all three are tried.
        fuse: False: all ops stay as they are; True: batch norms are folded into weights, and ops
            fused, in the layout of the module or with the channels of images last, which of them
            is tried; "channels_last": only the latter; "auto": all three are tried.
        progress: is told where the run stands.

    Raises:
        Unsupported: the module is random, or changes its buffers or inputs.
    """
    on_gpu = any(
        isinstance(x, torch.Tensor) and x.is_cuda
        for x in pytree.tree_flatten((tuple(args), kwargs))[0]
    )
    backend = backend or ("cuda" if on_gpu else "cpu")
    if backend not in ("cuda", "cpu"):
        raise ValueError(f"the backend is 'cuda' or 'cpu', not {backend!r}")
    kind = CudaTarget if backend == "cuda" else ThreadTarget
    counts = STREAMS if backend == "cuda" else (torch.get_num_threads(),)
    counts = counts if devices is None else (devices,)
    groups = GROUPS if group is None else (group,)
    fusions = FUSIONS if fuse == "auto" else FUSIONS[1:] if fuse is True else (fuse,)
    if any(each not in FUSIONS for each in fusions):
        raise ValueError(f"fuse is 'auto', True, 'channels_last' or False, not {fuse!r}")
    target = kind(module, args, kwargs, devices=max(counts), group=groups[0])
    fastest = Fastest(target)
    trials = Trials(fastest, fusions, groups, counts, measurements // 3)
    left = max(1, measurements - len(trials.tried))
    found = search(trials, fastest, left, time_limit=time_limit, seed=seed, progress=progress)
    assert fastest.run is not None
    runs = [target.plain(), fastest.run]
    fastest.target.check_other_inputs(runs[1])
    times = Times(*duel(target, runs))
    scheduled = times.scheduled < times.plain
    return Accelerated(
        fastest.target if scheduled else target,
        runs[scheduled],
        times,
        found,
        trials.tried,
        scheduled,
    )
