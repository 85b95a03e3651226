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
import statistics
import time
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
    Tuple,
    Union,
)

import numpy as np

try:
    import torch
except ImportError as cause:
    raise ImportError("sked.torch needs PyTorch: pip install 'libsked[torch]'") from cause

from torch.utils import _pytree as pytree

from ._queues import PlanLike, Queues
from ._threads import Crew, Job
from ._torch_choice import (
    FUSIONS,
    GROUPS,
    STREAMS,
    Fastest,
    Trial,
    Trials,
    as_graph,
    graph_of,
    search,
)
from ._torch_fuse import KINDS, MERGED, NAMES, Fuse
from ._torch_model import Mismatch, Model, as_eager, compare, copied, laid_out
from ._torch_program import Group, Program, Unsupported
from ._torch_streams import Marks, StreamRun, contract, priorities, without

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

_cuda: Any = torch.cuda  # not all of it has types
# A profile launches so many ops behind one long kernel, so that the GPU never waits for the host.
_CHUNK = 64
# Runs of a CUDA graph between two events: launching one takes about as long as a small graph runs.
_INNER = 5


# ---------------------------------------------------------------------- CUDA streams


class _Captured:
    """A CUDA graph and the result that it writes.

    Args:
        reads: what owns memory that the graph reads; it lives as long as the graph does.
    """

    def __init__(self, graph: Any, result: Any, reads: Any) -> None:
        self.graph = graph
        self.result = result
        self._reads = reads

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


@contextlib.contextmanager
def _kernels_for(sms: Optional[int], all_sms: int) -> Iterator[None]:
    """Products of matrices take kernels for so many multiprocessors; None: for all of them."""
    if sms is None:
        yield
        return
    c: Any = torch._C  # it has no types for these, and older versions do not have them
    before = c._get_sm_carveout_experimental()
    c._set_sm_carveout_experimental(all_sms - sms)
    try:
        yield
    finally:
        c._set_sm_carveout_experimental(before)


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
            images have their channels last; "merged", "channels_last_merged": that, and equal ops
            side by side are one; False: all ops as they are.
        repeats: timed runs of a plan, five replays each; the median counts.
        traces: whether a trace is made where it can be.

    Attributes:
        sms: products of matrices take kernels made for so many multiprocessors; None: for all.
        levels: priority of every op, 0 to 3; None: all have the same.
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
        self.model = Model(module, args, kwargs, group, fuse)
        self.program = self.model.program
        self.sms: Optional[int] = None
        self.levels: Optional[List[int]] = None
        self._urgent: List[List[Any]] = []
        self._all_sms = int(_cuda.get_device_properties(None).multi_processor_count)
        self._event_cost = 0.0
        self._warm_up()

    def _warm_up(self) -> None:
        """Loads kernels, chooses algorithms, gives streams workspaces: captures cannot do that."""
        _cuda.synchronize()
        with _kernels_for(self.sms, self._all_sms), torch.no_grad():
            for stream in self.streams:
                with _cuda.stream(stream):
                    if stream is self.streams[0]:  # the one that `plain` is captured on
                        self.model.run_eager()
                    self.program.run(self.model.inputs)
                stream.synchronize()

    def regrouped(self, group: Group, fuse: Optional[Fuse] = None) -> "CudaTarget":
        """The same module and streams, with ops joined, and fused if that is given, anew."""
        other = copy.copy(self)
        other.model = self.model.regrouped(group, fuse)
        other.program, other.levels = other.model.program, None
        if other.model.fuse != self.model.fuse:
            other._warm_up()
        return other

    def shares(self) -> Iterator["CudaTarget"]:
        """The same with kernels for a half, a quarter and an eighth of the multiprocessors.

        The library of matrix products picks the kernel that is fastest alone, and it spreads over
        the whole GPU; side by side those of less work are faster. None, where there are no products
        or this PyTorch cannot choose.
        """
        products = any("mm" in x or "linear" in x or "matmul" in x for x in self.program.types)
        if products and hasattr(torch._C, "_set_sm_carveout_experimental"):
            for part in (2, 4, 8):
                other = copy.copy(self)
                other.sms = max(1, self._all_sms // part)
                other._warm_up()
                yield other

    def prioritised(self, durations: Sequence[float]) -> Iterator["CudaTarget"]:
        """The same where ops get multiprocessors first that have little slack, one target."""
        other = copy.copy(self)
        other.levels = priorities(self.program.preds, durations)
        other._urgent = [[_cuda.Stream(priority=-k) for _ in self.streams] for k in (1, 2, 3)]
        yield other

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
        net = without(found, self._event_cost)
        return [float(x) for x in net * (total / net.sum())]

    def _between_events(self, repeats: int) -> "NDArray[np.float64]":
        """Medians of runs without a graph, while the GPU has work queued."""
        samples: List[List[float]] = [[] for _ in self.program.ops]
        sleep = 20_000_000  # cycles, about 10 ms
        with _kernels_for(self.sms, self._all_sms), torch.no_grad():
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
        given = (self.program, self.model.memory, self.model.inputs, self.streams, _cuda, marks)
        run = StreamRun(*given, self.levels, self._urgent)
        with _kernels_for(self.sms, self._all_sms):
            return self._capture(lambda: run.issue(queues), (self.model, self.program))

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

    def loose(self, queues: Sequence[Sequence[int]]) -> _Captured:
        """Ops in queues, one for each stream, that wait for nothing but what is before them there.

        They read results of an earlier run. So it shows how long a chain of ops takes at least, or
        all of them side by side, whatever the schedule; it has no result.
        """
        with torch.no_grad():
            known = self.program.run(self.model.inputs)
        run = StreamRun(self.program, (), self.model.inputs, self.streams, _cuda)
        with _kernels_for(self.sms, self._all_sms):
            issue = functools.partial(run.issue_loose, queues, known)
            return self._capture(issue, (self.model, self.program, known))

    def plain(self) -> _Captured:
        """The eager module as a CUDA graph on one stream."""
        return self._capture(self.model.run_eager, self.model)

    def _capture(self, issue: Callable[[], Any], reads: Any) -> _Captured:
        graph = _cuda.CUDAGraph()
        _cuda.synchronize()
        with _own_workspaces(), torch.no_grad(), _cuda.graph(graph, stream=self.streams[0]):
            result = issue()
        return _Captured(graph, result, reads)

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
                return as_eager(copied, run(), self.model.reference)

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
            that, and images have their channels last; "merged", "channels_last_merged": that, and
            equal ops side by side are one; False: all ops as they are.
        repeats: timed runs of a plan; the median counts.
    """

    sms: Optional[int] = None
    levels: Optional[List[int]] = None

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
        self.model = Model(module, args, kwargs, group, fuse)
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

    def shares(self) -> Iterator["ThreadTarget"]:
        """An op has one thread: there is nothing to choose."""
        return iter(())

    def prioritised(self, durations: Sequence[float]) -> Iterator["ThreadTarget"]:
        """A thread has its core for itself: there is nothing to choose."""
        return iter(())

    def profile(self, repeats: int = 7) -> List[float]:
        """Durations of the ops in microseconds: medians of runs on one thread."""
        plan = InOrder(len(self.program.ops))
        run = self.capture(plan)
        traces = [run.traced()[1] for _ in range(repeats + 1)][1:]
        return [float(x) for x in np.median([finish - start for start, finish in traces], axis=0)]

    def capture(self, plan: PlanLike) -> "_Scheduled":
        """The plan as something that can run."""
        return _Scheduled(self, self.model.queues(plan, self.devices))

    def loose(self, queues: Sequence[Sequence[int]]) -> Callable[[], None]:
        """Ops in queues, one for each thread, that wait for nothing but what is before them there.

        They read results of an earlier run. So it shows how long a chain of ops takes at least, or
        all of them side by side, whatever the schedule; it has no result.
        """
        with torch.no_grad():
            known = self.program.run(self.model.inputs)

        def run() -> None:
            jobs = [
                [
                    Job(op, (), False, functools.partial(self.program.run_op, op, list(known)))
                    for op in ops
                ]
                for ops in queues
            ]
            self._crew.run(jobs, len(self.program.ops))

        return run

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
                return as_eager(laid_out, scheduled.with_inputs(leaves), self.model.reference)

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
    return as_graph(program, program.estimates(values), program.sizes(values))


class Times(NamedTuple):
    """Medians of the final comparison, in microseconds.

    Attributes:
        plain: the CUDA graph of the eager module on one stream; on CPU threads the eager module.
        scheduled: the best schedule that was measured.
    """

    plain: float
    scheduled: float


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

    List schedules are measured to choose whether ops are fused or merged, how small they are, for
    which part of the GPU their kernels are made and how many streams there are. With these, `sked.robust` and random list schedules share the other
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
            is tried, and then with kernels for a part of the GPU, with equal ops side by side as
            one, and with priorities; "channels_last": only in that layout; "merged",
            "channels_last_merged": only with equal ops as one; "auto": all of this is tried.
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
    fusions = {"auto": FUSIONS, True: FUSIONS[:2]}.get(fuse, (fuse,))
    if fuse not in ("auto", *KINDS):
        raise ValueError(f"fuse is 'auto', {NAMES}, not {fuse!r}")
    target = kind(module, args, kwargs, devices=max(counts), group=groups[0])
    fastest = Fastest(target)
    trials = Trials(fastest, fusions, groups, counts, 2 * measurements // 3)
    if fuse in ("auto", True):
        trials.try_kernels()
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
