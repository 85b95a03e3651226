"""PyTorch modules by a schedule. In place of streams, a layer checks what happens before what."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
import types
import weakref
from typing import Any, Dict, Iterator, List, Set

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not hasattr(torch, "export") or not hasattr(torch.export, "export"):
    pytest.skip("this PyTorch has no torch.export", allow_module_level=True)

import sked
import sked.command
import sked.torch as st
from sked._queues import Queues
from sked._threads import Crew
from sked.command import FilePlan

nn = torch.nn


class Wired(nn.Module):
    """Convolutions wired at random, with views, tuples, constants and an in-place op among them."""

    def __init__(self, nodes: int = 10, channels: int = 4) -> None:
        super().__init__()
        rng = random.Random(nodes)
        self.wires = [
            sorted({rng.randrange(i) for _ in range(2)}) if i else [] for i in range(nodes)
        ]
        self.convs = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(nodes)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(nodes))
        self.register_buffer("scale", torch.linspace(0.5, 1, channels), persistent=False)
        self.head = nn.Linear(channels, 3)

    def forward(self, x: Any, shift: float = 0.0) -> Any:
        made: List[Any] = []
        for wires, conv, norm in zip(self.wires, self.convs, self.norms):
            y = sum((made[w] for w in wires), x if not wires else 0)
            made.append(torch.relu_(norm(conv(y))) * self.scale.view(1, -1, 1, 1))
        left, right = made[-1].split(2, dim=1)
        return {"head": self.head(made[-2].mean((2, 3))) + shift, "sum": left + right}, made[-3][
            :, 0
        ]


def wired(nodes: int = 10) -> Any:
    torch.manual_seed(nodes)
    return Wired(nodes).eval(), (torch.randn(1, 4, 8, 8),)


class AnyOrder:
    """A random plan that keeps the edges."""

    def __init__(self, preds: List[List[int]], devices: int, seed: int) -> None:
        rng, order = random.Random(seed), []  # type: ignore[var-annotated]
        while len(order) < len(preds):
            ready = [i for i in range(len(preds)) if i not in order and set(preds[i]) <= set(order)]
            order.append(rng.choice(ready))
        self.order = np.array(order, dtype="i4")
        self.device = np.array([rng.randrange(devices) for _ in preds], dtype="i4")


# ---------------------------------------------------------------------- programs


def test_groups_are_a_graph_of_the_heavy_ops() -> None:
    module, args = wired()
    program = st.Program.from_module(module, args)
    assert sum("conv" in kind for kind in program.types) == 10
    assert len(program.ops) <= 13  # convolutions, the head, and what leaves the module
    fine = st.Program.from_module(module, args, group=False)
    assert len(fine.ops) > 2 * len(program.ops)
    for each in (program, fine):
        assert len(set(each.names)) == len(each.names)
        assert all(p < i for i, list_ in enumerate(each.preds) for p in list_)
        with torch.no_grad():
            st.compare(each.result(each.run(list(args))), module(*args))


def test_groupings() -> None:
    module, args = wired()
    ops = {group: st.Program.from_module(module, args, group=group).ops for group in st.GROUPS}
    assert len(ops[True]) < len(ops["tails"]) < len(ops[False])
    program = st.Program.from_module(module, args)
    for group in st.GROUPS:
        again = program.regrouped(group)
        assert again.ops == ops[group] and program.ops == ops[True]
        with torch.no_grad():
            st.compare(again.result(again.run(list(args))), module(*args))
    with pytest.raises(ValueError, match="group is True, 'tails' or False, not 'heads'"):
        program.regrouped("heads")


def test_trials_choose_what_is_fastest() -> None:
    module, args = wired(6)
    target = st.ThreadTarget(module, args, devices=3, repeats=1)
    asked = []

    class Invented(st.Fastest):
        def __call__(self, plan: Any) -> Any:
            super().__call__(plan)
            devices = len(plan.problem.machine)
            asked.append((len(self.target.program.ops), devices))
            return 100 - len(self.target.program.ops) + (0 if devices == 2 else 10)

    fastest = Invented(target)
    trials = st.Trials(fastest, (False,), st.GROUPS, (3, 2), 9)
    fine = max(len(target.regrouped(group).program.ops) for group in st.GROUPS)
    assert trials.best.group is False and trials.best.devices == 2 and trials.best.ops == fine
    assert asked == [(t.ops, t.devices) for t in trials.tried] and len(asked) == 4
    assert len(trials.graph) == fine and fastest.target is trials.target
    assert len(st.Trials(st.Fastest(target), (False,), st.GROUPS, (3, 2), 0).tried) == 1
    target.close()


@pytest.mark.parametrize("best, asked", [(4, [8, 6, 4, 3]), (12, [8, 6, 12, 24]), (8, [8, 6, 12])])
def test_trials_climb_to_the_best_number_of_devices(best: int, asked: List[int]) -> None:
    module, args = wired(3)
    target = st.ThreadTarget(module, args, devices=1, repeats=1)

    class Invented(st.Fastest):
        def __call__(self, plan: Any) -> Any:
            return 1 + abs(len(plan.problem.machine) - best)

    trials = st.Trials(Invented(target), (False,), (True,), (8, 3, 4, 6, 12, 24), 9)
    assert [t.devices for t in trials.tried] == asked and trials.best.devices == best
    target.close()


def test_memory_of_views_belongs_to_who_made_it() -> None:
    class Views(nn.Module):
        def forward(self, x: Any) -> Any:
            a = x * 2
            b = a.view(-1)
            c = b + 1
            return c * 3, a.t().contiguous()

    x = torch.randn(3, 3)
    program = st.Program.from_module(Views(), (x,), group=False)
    with torch.no_grad():
        memory = program.memory(program.run([x]))
    names = {program.names[v.maker]: {program.names[r] for r in v.readers} for v in memory}
    copied = next(name for name in program.names if name in ("clone", "contiguous"))
    assert names == {"mul": {"add", copied}, "add": {"mul_1"}}


def test_views_of_inputs_are_no_ops() -> None:
    class Steps(nn.Module):
        def forward(self, x: Any) -> Any:
            total = x[0].t()
            for step in x.unbind(0)[1:]:
                total = total + step.t()
            return total, x.reshape(-1)

    x = torch.randn(5, 3, 3)
    program = st.Program.from_module(Steps(), (x,), group=False)
    assert set(program.types) == {"add", "reshape"}  # the last one might copy
    with torch.no_grad():
        st.compare(program.result(program.run([x])), Steps()(x))
    # A chain of sums does not become one op.
    grouped = st.Program.from_module(nn.Sequential(*(Steps2() for _ in range(4))), (x,))
    assert len(grouped.ops) > 1


def test_static_graph_needs_no_machine() -> None:
    module, args = wired()
    exported = torch.export.export(module, args)
    g, again = sked.from_torch(exported), sked.torch.from_exported(exported)
    assert g == again and len(g) == len(st.Program.from_exported(exported).ops)
    conv = g.index("conv2d_1")
    assert g.duration[conv] >= 1 and g.memory[conv] == 4 * 4 * 8 * 8 and g.op_type(conv) == "conv2d"
    assert g.bytes.max() > 0


def test_static_graph_of_a_graph_module() -> None:
    traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    g = sked.from_torch(traced, inputs=(torch.ones(3, 4),))
    assert len(g) == 2 and g.types == ["linear", "linear"] and g.bytes.tolist() == [4 * 3 * 8]
    with pytest.raises(ValueError, match="give inputs"):
        sked.from_torch(traced)


def test_weights_are_those_of_the_module() -> None:
    module, args = wired(4)
    program = st.Program.from_module(module, args)
    with torch.no_grad():
        module.head.bias += 1
        st.compare(program.result(program.run(list(args))), module(*args))


class Steps2(nn.Module):
    def forward(self, x: Any) -> Any:
        return sum((y.sin() * x for y in (x + 1, x + 2, x + 3)), x)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * 2


class Noise(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + torch.rand_like(x)


class Nothing(nn.Module):
    def forward(self, x: Any) -> Any:
        return x


class InPlace(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu_(x * 2) + 1


@pytest.mark.parametrize(
    "module, message",
    [(Counting(), "changes calls"), (Noise(), "is random"), (Nothing(), "computes nothing")],
)
def test_modules_that_no_schedule_can_run(module: Any, message: str) -> None:
    with pytest.raises(st.Unsupported, match=message):
        st.ThreadTarget(module, (torch.ones(2),), devices=1)


def test_graph_modules() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any, y: Any) -> Any:
            return torch.cat([self.a(x).relu(), self.b(y)], 1)

    args = (torch.randn(2, 4), torch.randn(2, 4))
    traced = torch.fx.symbolic_trace(Plain().eval())
    target = st.ThreadTarget(traced, args, devices=2)
    target.check(target.capture(AnyOrder(target.program.preds, 2, 1)))
    with pytest.raises(st.Unsupported, match="relu_.*writes to its input"):
        st.Program.from_module(torch.fx.symbolic_trace(InPlace()), (torch.ones(2),))


def test_comparison() -> None:
    x = torch.tensor([1.0, 2.0, float("nan")])
    st.compare({"a": x}, {"a": x + torch.tensor([5e-5, 0, 0])})
    for other in (x + 1e-2, torch.tensor([1.0, 2.0, 3.0]), x[:2], x.double()):
        with pytest.raises(st.Mismatch, match="output 0"):
            st.compare({"a": other}, {"a": x})
    with pytest.raises(st.Mismatch, match="structure"):
        st.compare([x], (x,))
    with pytest.raises(st.Mismatch, match="output 0"):
        st.compare(torch.tensor([1, 2]), torch.tensor([1, 3]))
    st.compare(torch.tensor([1.0, 2.0]).half(), torch.tensor([1.005, 2.0]).half())


# ---------------------------------------------------------------------- streams


class Stream:
    """Knows which ops have finished wherever it stands."""

    def __init__(self) -> None:
        self.seen: Set[int] = set()
        self.forked = False

    def wait_event(self, event: "Event") -> None:
        assert event.recorded, "waits for an event that was not recorded"
        self.seen |= event.seen
        self.forked = True


class Event:
    def __init__(self) -> None:
        self.recorded = False
        self.seen: Set[int] = set()

    def record(self, stream: Stream) -> None:
        self.recorded, self.seen = True, set(stream.seen)


class TimedEvent(Event):
    """Half a millisecond after the event before it."""

    clock = 0.0

    def __init__(self, enable_timing: bool = False, external: bool = False) -> None:
        super().__init__()
        self.timed, self.time = enable_timing, 0.0

    def record(self, stream: Any = None) -> None:
        if stream is not None:
            super().record(stream)
        if self.timed:
            TimedEvent.clock += 0.5
            self.time = TimedEvent.clock

    def elapsed_time(self, end: "TimedEvent") -> float:
        assert self.timed and end.timed
        return end.time - self.time


class Cuda:
    """In place of torch.cuda: ops run at once, and are checked against what their stream knows."""

    Event = TimedEvent

    def __init__(self, streams: int) -> None:
        self.streams = [Stream() for _ in range(streams)]
        self.streams[0].forked = True
        self.current = self.streams[0]

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        self.current = stream
        yield


class Checked(st.StreamRun):
    """Checks every op, and every value that is dropped."""

    def __init__(
        self, program: Any, memory: Any, inputs: Any, cuda: Cuda, marks: Any = None, *more: Any
    ) -> None:
        super().__init__(program, memory, inputs, cuda.streams, cuda, marks, *more)
        self.home: Dict[int, int] = {}
        self.freed: Set[int] = set()
        self.ops = program
        self.program = self  # type: ignore[assignment]

    def _go_on(self, device: int, stream: Stream) -> None:
        super()._go_on(device, stream)
        self.device, self.stream = device, stream

    def run_op(self, op: int, values: List[Any]) -> None:
        stream = self.cuda.current
        assert stream.forked, "a stream that is not part of the capture"
        before = [i for i in self.home if self.home[i] == self.device]
        assert set(before) <= stream.seen, "an op before the one before it on its device"
        assert set(self.ops.preds[op]) <= stream.seen, "an op before what it reads"
        self.ops.run_op(op, values)
        stream.seen.add(op)
        self.home[op] = self.device

    def result(self, values: List[Any]) -> Any:
        assert self.streams[0].seen == set(range(len(self.ops.ops))), "a stream that is not joined"
        return self.ops.result(values)

    def free(self, value: int) -> None:
        v = self.memory[value]
        known = self.home[v.maker] == self.device and set(v.readers) <= self.stream.seen
        assert known, "memory that another stream still reads"
        self.freed.add(value)
        super().free(value)


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("levels", [1, 4])
def test_streams_keep_every_edge_and_all_memory(group: bool, levels: int) -> None:
    module, args = wired()
    model = st.Model(module, args, None, group)
    freed = 0
    for seed in range(12):
        devices = 1 + seed % 4
        plan = AnyOrder(model.program.preds, devices, seed)
        cuda = Cuda(devices)
        rng = random.Random(seed)
        level = [rng.randrange(levels) for _ in model.program.ops]
        urgent = [[Stream() for _ in range(devices)] for _ in range(1, levels)]
        run = Checked(model.program, model.memory, model.inputs, cuda, None, level, urgent)
        with torch.no_grad():
            st.compare(run.issue(model.queues(plan, devices)), model.reference)
        freed += len(run.freed)
        if devices == 1:
            last = plan.order[-1]  # what it touches is free only after it
            assert run.freed == {
                v for v, x in enumerate(model.memory) if last not in (x.maker, *x.readers)
            }
    assert freed > 0


def test_marks_stand_where_ops_begin_and_end() -> None:
    module, args = wired()
    model = st.Model(module, args, None, True)
    ops = range(len(model.program.ops))
    for seed in range(6):
        devices, cuda = 1 + seed % 3, Cuda(1 + seed % 3)
        marks = st.Marks(len(ops), cuda)
        queues = model.queues(AnyOrder(model.program.preds, devices, seed), devices)
        with torch.no_grad():
            Checked(model.program, model.memory, model.inputs, cuda, marks).issue(queues)
        for i in ops:
            begins, ends = marks._start[i].seen, marks._finish[i].seen
            assert i not in begins and set(model.program.preds[i]) <= begins
            assert ends == begins | {i}  # nothing else on the stream in between
        start, finish = marks.read()
        assert (finish > start).all() and start.min() >= 0


def test_the_cost_of_events_is_taken_out() -> None:
    preds: List[List[int]] = [[], [0], [0], [1, 2]]
    queues = Queues(preds, [0, 0, 1, 0], [0, 1, 2, 3], 2)
    start, finish = np.array([0.0, 6, 8, 16]), np.array([6.0, 12, 13, 20])
    begins, ends = st.contract(queues, preds, (start, finish), 1.0)
    # Op 1 follows at once; ops 2 and 3 wait 2 and 3 after what they need, of which 1 is an event's.
    assert begins.tolist() == [0, 5, 6, 12] and ends.tolist() == [5, 10, 10, 15]
    same = st.contract(queues, preds, (start, finish), 0.0)
    assert same[0].tolist() == start.tolist() and same[1].tolist() == finish.tolist()
    assert (st.contract(queues, preds, (start, finish), 100.0)[1] > 0).all()


def test_loose_ops_wait_for_nothing_and_change_nothing() -> None:
    module, args = wired()
    model = st.Model(module, args, None, True)
    known = model.program.run(model.inputs)
    before, ran = list(known), []
    cuda = Cuda(3)

    class Recorder:
        def begin(self, inputs: Any) -> Any:
            return model.program.begin(inputs)

        def run_op(self, op: int, values: List[Any]) -> None:
            assert cuda.current.forked, "a stream that is not part of the capture"
            ran.append((cuda.streams.index(cuda.current), op))
            model.program.run_op(op, values)
            cuda.current.seen.add(op)

    run: Any = st.StreamRun(Recorder(), (), model.inputs, cuda.streams, cuda)  # type: ignore
    with torch.no_grad():
        run.issue_loose([[3, 1], [2], [0]], known)  # consumers may come first
    assert ran == [(0, 3), (0, 1), (1, 2), (2, 0)]
    assert cuda.streams[0].seen == {0, 1, 2, 3} and cuda.streams[1].seen == {2}
    assert all(a is b for a, b in zip(known, before))


def test_floors() -> None:
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    spec = importlib.util.spec_from_file_location(
        "torch_floor", os.path.join(root, "bench", "torch_floor.py")
    )
    assert spec is not None and spec.loader is not None
    floor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(floor)
    preds: List[List[int]] = [[], [0], [0], [1, 2], []]
    assert floor.critical_path(preds, [1.0, 2.0, 5.0, 1.0, 4.0]) == [0, 2, 3]
    assert floor.critical_path(preds, [1.0, 2.0, 5.0, 1.0, 9.0]) == [4]
    assert floor.spread([1.0, 2.0, 5.0, 1.0, 4.0], 2) == [[2, 0, 3], [4, 1]]
    assert floor.spread([1.0], 3) == [[0]]
    module, args = wired()
    target = st.ThreadTarget(module, args, devices=2, repeats=2)
    durations = target.profile(2)
    runs = floor.floors(target, durations, (1, 2))
    assert list(runs) == [floor.CHAIN, floor.WORK]
    assert all(run() is None for run in runs.values())
    target.close()


def test_the_check_finds_missing_waits() -> None:
    module, args = wired()
    model = st.Model(module, args, None, True)
    plan = AnyOrder(model.program.preds, 3, 5)
    queues = model.queues(plan, 3)
    queues.steps = [step._replace(waits=()) for step in queues.steps]
    with pytest.raises(AssertionError, match="before what it reads"):
        Checked(model.program, model.memory, model.inputs, Cuda(3)).issue(queues)


def test_the_check_finds_memory_dropped_too_early() -> None:
    module, args = wired()
    model = st.Model(module, args, None, True)
    plan = AnyOrder(model.program.preds, 3, 5)
    queues = model.queues(plan, 3)
    read = {v: set(x.readers) for v, x in enumerate(model.memory)}
    issued: Set[int] = set()
    early = []
    for step in queues.steps:  # as reference counts would: once the last reader was issued
        issued.add(step.op)
        frees = tuple(
            v for v in read if read[v] <= issued and model.memory[v].maker in issued - {step.op}
        )
        early.append(step._replace(frees=tuple(v for v in frees if step.op not in read[v])))
        for v in early[-1].frees:
            del read[v]
    queues.steps = early
    with pytest.raises(AssertionError, match="another stream still reads"):
        Checked(model.program, model.memory, model.inputs, Cuda(3)).issue(queues)


class Graph:
    """What was captured has run already, and replaying changes nothing."""

    replays = 0

    def replay(self) -> None:
        Graph.replays += 1


class WholeCuda(Cuda):
    """Enough of torch.cuda to run a target on it."""

    CUDAGraph = Graph

    def __init__(self) -> None:
        super().__init__(1)
        self.priorities: List[int] = []

    def Stream(self, priority: int = 0) -> Stream:
        stream = Stream()
        self.priorities.append(priority)
        stream.synchronize = lambda: None  # type: ignore[attr-defined]
        return stream

    def synchronize(self) -> None:
        pass

    def get_device_properties(self, device: None) -> Any:
        return types.SimpleNamespace(multi_processor_count=132)

    def _sleep(self, cycles: int) -> None:
        assert cycles > 0

    @contextlib.contextmanager
    def graph(self, graph: Graph, stream: Stream) -> Iterator[None]:
        stream.forked = True
        yield


def test_cuda_target_without_a_gpu(monkeypatch: Any) -> None:
    monkeypatch.setattr(st, "_cuda", WholeCuda())
    module, args = wired(6)
    target = st.CudaTarget(module, args, devices=3, repeats=4)
    ops = len(target.program.ops)
    assert target.profile(2) == pytest.approx([100 / ops] * ops)  # five replays in 0.5 ms
    assert target._event_cost == pytest.approx(500 - 100 / ops)
    monkeypatch.setattr(st, "_can_trace", lambda: False)  # an older PyTorch
    assert target.profile(2) == pytest.approx([100 / ops] * ops)
    monkeypatch.undo()
    monkeypatch.setattr(st, "_cuda", WholeCuda())
    for seed in range(4):
        time, (start, finish) = target(AnyOrder(target.program.preds, 3, seed))
        assert time == 100.0 and finish.max() == time  # five replays in 0.5 ms
        assert start.shape == finish.shape == (len(target.program.ops),)
    run, inputs = target.capture(AnyOrder(target.program.preds, 3, 0)), target.model.inputs
    with pytest.raises(st.Mismatch):  # a graph that keeps the first inputs, as replaying here does
        target.check_other_inputs(run)
    assert torch.equal(inputs[0], args[0])
    monkeypatch.setattr(st.CudaTarget, "check_other_inputs", lambda self, run: None)
    fast = st.accelerate(module, args, backend="cuda", devices=3, measurements=2, time_limit=1)
    assert not fast.scheduled and fast.times == (100.0, 100.0)  # no faster, so the plain one stays
    before = Graph.replays
    found = fast(*args)
    assert Graph.replays == before + 1
    with torch.no_grad():
        st.compare(found, module(*args))
    first = fast._target.model.inputs[0]
    fast(2 * args[0])
    assert torch.equal(first, 2 * args[0]) and found[1] is not fast(2 * args[0])[1]
    target.model.reference = module(*args)[::-1]
    with pytest.raises(st.Mismatch):
        target(AnyOrder(target.program.preds, 3, 0))


def test_priorities(monkeypatch: Any) -> None:
    preds: List[List[int]] = [[], [0], [0], [1, 2], [], []]
    # The critical path is 0, 2, 3; slack of the others is 5, 34, 50 of 100.
    assert st.priorities(preds, [10, 75, 80, 10, 66, 50]) == [3, 2, 3, 3, 1, 0]
    assert st.priorities([], []) == []
    cuda = WholeCuda()
    monkeypatch.setattr(st, "_cuda", cuda)
    module, args = wired(6)
    target = st.CudaTarget(module, args, devices=2, repeats=1)
    durations = [float(1 + k % 3) for k in range(len(target.program.ops))]
    (urgent,) = target.prioritised(durations)
    assert cuda.priorities == [0, 0, -1, -1, -2, -2, -3, -3]
    assert urgent.levels == st.priorities(target.program.preds, durations)
    asked: List[Any] = []
    monkeypatch.setattr(
        st, "StreamRun", lambda *given: asked.append(given[6:]) or Checked(*given[:3], cuda, None)
    )
    cuda.streams = target.streams
    for t in (target, urgent, urgent.regrouped(False)):
        t.capture(AnyOrder(t.program.preds, 2, 0))
    assert [levels for levels, _ in asked] == [None, urgent.levels, None]
    assert [len(streams) for _, streams in asked] == [0, 3, 3]
    monkeypatch.undo()
    monkeypatch.setattr(st, "_cuda", WholeCuda())

    class Invented(st.Fastest):
        def __call__(self, plan: Any) -> Any:
            super().__call__(plan)
            return 2 - (self.target.levels is not None)

    fastest = Invented(target)
    trials = st.Trials(fastest, (False,), (True,), (2,), 9)
    assert [t.priorities for t in trials.tried] == [False] and fastest.target.levels is None
    trials.try_kernels()
    assert [t.priorities for t in trials.tried] == [False, True]
    assert fastest.target is trials.target and trials.target.levels is not None


def test_kernels_for_a_part_of_the_gpu(monkeypatch: Any) -> None:
    asked: List[Any] = [None]
    monkeypatch.setattr(st, "_cuda", WholeCuda())
    monkeypatch.setattr(torch._C, "_set_sm_carveout_experimental", asked.append, raising=False)
    monkeypatch.setattr(torch._C, "_get_sm_carveout_experimental", lambda: asked[0], raising=False)
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).eval()
    target = st.CudaTarget(module, (torch.randn(2, 4),), devices=2, group=False)
    seen: List[Any] = []
    run_op = target.program.run_op

    def watched(op: int, values: Any) -> None:
        seen.append(asked[-1])
        run_op(op, values)

    monkeypatch.setattr(target.program, "run_op", watched)
    plan = st.InOrder(2)
    target.capture(plan)
    assert target.sms is None and set(seen) == {None}
    found = []
    for share in target.shares():
        seen.clear()
        share.capture(plan)
        share.loose([[1], [0]])
        share.regrouped("tails").capture(plan)
        found.append(share.sms)
        left = 132 - found[-1]  # nothing is left where ops only run to see what they make
        assert seen == [left, left, None, None, left, left, None, None, left, left]
    assert found == [66, 33, 16]
    assert asked[-1] is None  # as it was before
    share.plain()
    assert asked[-1] is None
    convolution = st.CudaTarget(nn.Conv2d(2, 2, 1).eval(), (torch.randn(1, 2, 3, 3),), devices=1)
    assert not list(convolution.shares())

    class Invented(st.Fastest):
        def __call__(self, plan: Any) -> Any:
            super().__call__(plan)
            return 200 if self.target.sms is None else 1 + abs(self.target.sms - 33)

    trials = st.Trials(Invented(target), (True,), (False,), (1, 2), 9)
    trials.try_kernels()
    assert [(t.devices, t.sms) for t in trials.tried] == [
        *((1, None), (2, None)),
        *((1, n) for n in (66, 33, 16)),
        *((2, 33), (1, 33)),  # streams again, priorities
    ]
    assert trials.best.sms == trials.target.sms == 33
    monkeypatch.delattr(torch._C, "_set_sm_carveout_experimental")  # an older PyTorch
    assert not list(target.shares())


def test_graphs_keep_what_they_read(monkeypatch: Any) -> None:
    monkeypatch.setattr(st, "_cuda", WholeCuda())
    module, args = wired(6)
    target: Any = st.CudaTarget(module, args, devices=2, group=False, fuse="channels_last")
    weights = [weakref.ref(target.program.constants[fold.node]) for fold in target.program.folds]
    made: List[Any] = []
    run = st.Program.run

    def watched(self: Any, inputs: Any) -> Any:
        values = run(self, inputs)
        made.extend(weakref.ref(x) for x in values if isinstance(x, torch.Tensor))
        return values

    monkeypatch.setattr(st.Program, "run", watched)
    scheduled = target.capture(AnyOrder(target.program.preds, 2, 0))
    loose = target.loose([[0], [1]])
    del target
    gc.collect()
    assert weights and all(x() is not None for x in weights)
    assert made and all(x() is not None for x in made)
    del scheduled, loose
    gc.collect()
    assert not any(x() is not None for x in weights)  # nothing else had kept them


gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def to_gpu(module: Any, args: Any) -> Any:
    return module.cuda().half(), tuple(x.cuda().half() for x in args)


@gpu
@pytest.mark.parametrize("group", [True, False])
def test_any_plan_on_a_gpu(group: bool) -> None:
    module, args = to_gpu(*wired())
    target = st.CudaTarget(module, args, devices=4, group=group, repeats=3)
    assert min(target.profile(3)) > 0 and target.traces
    for seed in range(12):
        plan = AnyOrder(target.program.preds, 1 + seed % 4, seed)
        time, (start, finish) = target(plan)
        assert time > 0 and (finish > start).all() and start.min() >= 0
        for i, list_ in enumerate(target.program.preds):
            assert all(finish[p] <= start[i] + 1 for p in list_)
        run = target.capture(plan)
        target.check_other_inputs(run)
        for _ in range(20):
            target.check(run)


@gpu
def test_workspaces_belong_to_their_graph() -> None:
    module = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(3))).eval()
    module, args = to_gpu(module, (torch.randn(4, 2048),))
    target = st.CudaTarget(module, args, devices=2, repeats=1)
    run = target.capture(AnyOrder(target.program.preds, 2, 1))
    torch._C._cuda_clearCublasWorkspaces()
    other = [torch.full((1 << 22,), 7, dtype=torch.int32, device="cuda") for _ in range(16)]
    for _ in range(3):
        target.check(run)
    assert all(bool((x == 7).all()) for x in other)


@gpu
def test_accelerate_on_a_gpu() -> None:
    module, args = to_gpu(*wired(12))
    fast = st.accelerate(module, args, measurements=4, time_limit=1)
    assert fast.scheduled == (fast.times.scheduled < fast.times.plain)
    assert len(fast.robust.measurements) >= 1
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn_like(args[0])
        with torch.no_grad():
            st.compare(fast(x), module(x))


# ---------------------------------------------------------------------- threads


def test_threads_give_the_same_result() -> None:
    module, args = wired()
    target = st.ThreadTarget(module, args, {"shift": 0.5}, devices=3, repeats=2)
    threads = torch.get_num_threads()
    for seed in range(8):
        plan = AnyOrder(target.program.preds, 3, seed)
        time, (start, finish) = target(plan)
        assert time > 0 and (finish >= start).all() and start.min() >= 0
        for i, list_ in enumerate(target.program.preds):
            assert all(finish[p] <= start[i] for p in list_)
    assert torch.get_num_threads() == threads
    assert len(target.profile(1)) == len(target.program.ops)
    target.close()


def test_a_regrouped_target_gives_runs_to_the_first() -> None:
    module, args = wired(5)
    target = st.ThreadTarget(module, args, devices=2, repeats=1)
    fine = target.regrouped(False)
    run = fine.capture(AnyOrder(fine.program.preds, 2, 0))
    target.check(run)
    target.check_other_inputs(run)
    target.close()


def test_errors_on_threads_come_back() -> None:
    module, args = wired(4)
    target = st.ThreadTarget(module, args, devices=2)
    run = target.make(target.capture(AnyOrder(target.program.preds, 2, 0)))
    with pytest.raises(RuntimeError):
        run([torch.randn(1, 5, 8, 8)])
    with torch.no_grad():
        st.compare(run(list(args)), module(*args))  # and the threads go on
    target.close()


def test_closed_threads_have_ended() -> None:
    left = []

    @contextlib.contextmanager
    def around() -> Iterator[None]:
        yield
        time.sleep(0.2)
        left.append(True)

    crew = Crew(2, around)
    crew.close()
    assert left == [True, True]


def test_accelerate() -> None:
    module, args = wired(6)
    fast = st.accelerate(module, args, {"shift": 0.25}, devices=2, measurements=3, time_limit=1)
    assert len(fast.robust.measurements) == 1 and len(fast.trials) == 2
    assert fast.scheduled == (fast.times.scheduled < fast.times.plain)
    x = torch.randn(1, 4, 8, 8)
    with torch.no_grad():
        st.compare(fast(x, shift=0.25), module(x, shift=0.25))
    with pytest.raises(
        ValueError, match=r"input 0 is torch.float32 of shape \(2, 4, 8, 8\).*accelerated for"
    ):
        fast(torch.randn(2, 4, 8, 8), shift=0.25)
    with pytest.raises(ValueError, match="input 1 is 1.0"):
        fast(x, shift=1.0)
    with pytest.raises(ValueError, match="structure"):
        fast(x)
    with pytest.raises(ValueError, match="backend is"):
        st.accelerate(module, args, backend="tpu")


@pytest.mark.parametrize("scheduled", [True, False])
def test_both_ways_of_an_accelerated_module(scheduled: bool) -> None:
    module, args = wired(5)
    target = st.ThreadTarget(module, args, devices=2)
    run = target.capture(AnyOrder(target.program.preds, 2, 3)) if scheduled else target.plain()
    fast = st.Accelerated(target, run, st.Times(1, 2), None, [], scheduled)  # type: ignore
    x = torch.randn(1, 4, 8, 8)
    with torch.no_grad():
        st.compare(fast(x), module(x))
    assert ("scheduled" if scheduled else "plain") in repr(fast)


# ---------------------------------------------------------------------- the command


def test_command(tmp_path: Any) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef make():\n"
        "    a, b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)\n"
        "    class Net(torch.nn.Module):\n"
        "        def __init__(self):\n            super().__init__()\n"
        "            self.a, self.b = a, b\n"
        "        def forward(self, x):\n            return self.a(x).relu() + self.b(x) * self.b(x)\n"
        "    return Net().eval(), (torch.ones(2, 4),)\n"
    )
    command = [sys.executable, "-m", "sked.command"]
    spec, graph, plan = f"{tmp_path}/net.py:make", f"{tmp_path}/net.json", f"{tmp_path}/plan.json"
    subprocess.run([*command, "graph", spec, graph, "--repeats", "1"], check=True)
    g = sked.read(graph)
    sked.schedule(g, 2, time_limit=1).schedule.save(plan)
    done = subprocess.run(
        [*command, "torch", spec, plan, "--repeats", "1"], check=True, stdout=subprocess.PIPE
    )
    found = json.loads(done.stdout)
    assert found["time"] > 0 and {op["name"] for op in found["ops"]} == set(g.names)
    assert sked.command.main(["graph", spec, graph, "--group", "views", "--repeats", "1"]) == 0
    assert len(sked.read(graph)) == len(g) + 2  # relu and the product are ops of their own
    more = ["--group", "views", "--fuse", "yes", "--repeats", "1"]
    assert sked.command.main(["graph", spec, graph, *more]) == 0
    assert len(sked.read(graph)) == len(g) + 1  # and one of two equal layers is gone
    wrong = subprocess.run(
        [*command, "torch", "net.txt", plan], stderr=subprocess.PIPE, check=False
    )
    assert wrong.returncode == 1 and b"neither FILE.pt2 nor" in wrong.stderr


def test_the_benchmark_runs(tmp_path: Any) -> None:
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    script = [sys.executable, os.path.join(root, "bench", "torch_real.py")]
    out = str(tmp_path / "out.json")
    done = subprocess.run(
        [
            *script,
            *("--quick", "--networks", "branches,LSTM stack", "--methods", "list", "--json", out),
        ],
        check=True,
        stdout=subprocess.PIPE,
    )
    assert b"| LSTM stack |" in done.stdout and b"| plain / accelerate |" in done.stdout
    again = subprocess.run([*script, "--show", out], check=True, stdout=subprocess.PIPE)
    assert again.stdout == done.stdout
    with open(out, encoding="utf-8") as file:
        results = json.load(file)["results"]
    assert [r["name"] for r in results] == ["branches", "LSTM stack"]
    assert all(
        set(r["times"])
        == {
            "eager",
            "plain graph",
            "list",
            "one stream, chosen",
            "list, chosen",
            "list, all choices",
            "one-shot list",
            "loop",
            "accelerate",
            "critical path alone",
            "all ops, no edges",
            "floor",
        }
        and set(r["off"]) == {"proxy", "before", "fitted"}
        and sorted(r["curve"]["loop"], reverse=True) == r["curve"]["loop"]
        for r in results
    )


def test_plans_of_another_model(tmp_path: Any) -> None:
    path = tmp_path / "plan.json"
    path.write_text(
        json.dumps(
            {
                "format": "sked-schedule-1",
                "devices": 1,
                "ops": [{"name": "a", "start": 0, "device": 0}],
            }
        )
    )
    assert FilePlan(str(path), ["a"], [[]]).order.tolist() == [0]
    with pytest.raises(ValueError, match="no schedule of this model"):
        FilePlan(str(path), ["b"], [[]])


def test_exported_file(tmp_path: Any) -> None:
    from sked.command import read_module

    module, args = wired(3)
    torch.export.save(torch.export.export(module, args), tmp_path / "net.pt2")
    exported, inputs, kwargs = read_module(str(tmp_path / "net.pt2"))
    target = st.ThreadTarget(exported, inputs, kwargs, devices=2, repeats=1)
    target.check(target.capture(AnyOrder(target.program.preds, 2, 0)))
    target.close()
