"""A schedule on CUDA streams, and the events that show when its ops ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._queues import Queues, Step
from ._torch_program import Program, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Trace = Tuple[NDArray[np.float64], NDArray[np.float64]]


class StreamRun:
    """Issues the steps of a schedule on streams: an event only where streams meet.

    The first stream is the one that a capture began on. The others are forked from it before their
    first op, and it waits for all of them in the end. PyTorch's allocator gives freed memory to the
    next op of the stream that allocated it, even if another stream still reads it. So a value is dropped
    only where its own stream has waited for all readers; what never comes so far is kept until
    everything was issued.

    A device may have several streams, one for each priority. An op that is on another one than the
    op before it on its device waits for that.

    Args:
        streams: of every device.
        cuda: `torch.cuda`, or what stands in for it in tests.
        marks: records when the ops begin and end; None: nothing does.
        levels: of every op its priority, from 0; None: all have the same.
        urgent: for each priority from 1 streams of every device.
    """

    def __init__(
        self,
        program: Program,
        memory: Sequence[Value],
        inputs: Sequence[Any],
        streams: Sequence[Any],
        cuda: Any,
        marks: "Optional[Marks]" = None,
        levels: Optional[Sequence[int]] = None,
        urgent: Sequence[Sequence[Any]] = (),
    ) -> None:
        self.program = program
        self.memory = memory
        self.values = program.begin(inputs)
        self.streams = streams
        self.cuda = cuda
        self._marks = marks
        self._levels, self._all_streams = levels, [streams, *urgent]
        self._event: Dict[int, Any] = {}
        self._fork: Any = None
        self._last: Dict[int, Any] = {}  # of every device the stream of its last op
        self._used: List[Any] = []

    def issue(self, queues: Queues) -> Any:
        """Issues all steps and returns the result of the module."""
        if self._marks is not None:
            self._marks.begin(self.streams[0])
        self._fork = self._record(self.streams[0])
        for step in queues.steps:
            self._issue_step(step)
        self._join()
        return self.program.result(self.values)

    def issue_loose(self, queues: Sequence[Sequence[int]], known: Sequence[Any]) -> None:
        """Issues ops that wait for nothing but what is before them in their queue.

        Args:
            queues: ops of each stream.
            known: what every node made in an earlier run; ops read that.
        """
        self._fork = self._record(self.streams[0])
        for device, ops in enumerate(queues):
            self._go_on(device, self.streams[device])
            with self.cuda.stream(self.streams[device]):
                for op in ops:
                    self.program.run_op(op, list(known))
        self._join()

    def _go_on(self, device: int, stream: Any) -> None:
        """The stream follows what its device has done until now."""
        last = self._last.get(device)
        if last is None and stream is not self.streams[0]:
            stream.wait_event(self._fork)
        elif last is not None and last is not stream:
            stream.wait_event(self._record(last))
        self._last[device] = stream
        if stream not in self._used:
            self._used.append(stream)

    def _join(self) -> None:
        for stream in self._used:
            if stream is not self.streams[0]:
                self.streams[0].wait_event(self._record(stream))

    def free(self, value: int) -> None:
        for node in self.memory[value].nodes:
            self.values[node] = None

    def _record(self, stream: Any) -> Any:
        event = self.cuda.Event()
        event.record(stream)
        return event

    def _issue_step(self, step: Step) -> None:
        level = 0 if self._levels is None else self._levels[step.op]
        stream = self._all_streams[level][step.device]
        self._go_on(step.device, stream)
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


# Ops whose slack is less than these parts of the critical path have a priority each.
_SLACK = (0.35, 0.12, 0.03)


def priorities(preds: Sequence[Sequence[int]], durations: Sequence[float]) -> List[int]:
    """Of every op, from 0 for those that can wait to 3 for the critical path."""
    count = len(durations)
    before, after = np.zeros(count), np.array(durations, dtype=float)
    for op in range(count):
        before[op] = max((before[p] + durations[p] for p in preds[op]), default=0.0)
    for op in reversed(range(count)):
        for p in preds[op]:
            after[p] = max(after[p], durations[p] + after[op])
    length = float(after.max(initial=0.0))
    slack = length - before - after
    return [sum(bool(x < part * length) for part in _SLACK) for x in slack]


class Marks:
    """Timing events inside a CUDA graph; every replay records them anew.

    An op that waits for no other stream begins where the one before it on its stream ended: events cost
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


def without(durations: "NDArray[np.float64]", cost: float) -> "NDArray[np.float64]":
    """Durations less what an event costs; something always stays."""
    net: "NDArray[np.float64]" = np.maximum(durations - cost, 0.1 * durations)
    return net


def contract(
    queues: Queues, preds: Sequence[Sequence[int]], trace: "Trace", cost: float
) -> "Trace":
    """A trace without the cost of the events that made it: ops and waits get shorter by it."""
    start, finish = trace
    took = without(finish - start, cost)
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
