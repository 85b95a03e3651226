"""Which ops a module has, on how many devices they run, and by which schedule: what is fastest."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ._queues import PlanLike
from ._torch_fuse import MERGED, Fuse
from ._torch_program import Group, Program, Sizes

if TYPE_CHECKING:
    from ._call import ProgressFunction
    from ._graph import Graph
    from ._robust import Measurement, RobustResult
    from .torch import Target

# What `accelerate` tries, the most promising first.
FUSIONS: Tuple[Fuse, ...] = (True, "channels_last", False)
GROUPS: Tuple[Group, ...] = ("tails", False, True)
STREAMS: Tuple[int, ...] = (8, 3, 4, 5, 6, 12, 16, 24)


def graph_of(target: "Target", durations: Sequence[float]) -> "Graph":
    """The ops of a target as a graph with these durations."""
    return as_graph(target.program, durations, target.model.sizes)


def as_graph(program: Program, durations: Sequence[float], sizes: Sizes) -> "Graph":
    from ._graph import Graph

    memory, edges = sizes
    graph = Graph(program.name)
    for name, kind, duration, size in zip(program.names, program.types, durations, memory):
        graph.add_op(name, duration, type=kind, memory=size)
    for (a, b), size in sorted(edges.items()):
        graph.add_edge(a, b, bytes=size)
    return graph


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
        sms: products of matrices have kernels for so many multiprocessors; None: for all.
        priorities: whether ops with little slack went first.
    """

    fuse: Fuse
    group: Group
    devices: int
    ops: int
    time: float
    sms: Optional[int] = None
    priorities: bool = False


class Trials:
    """Chooses fusion, grouping and number of streams or threads by measuring list schedules.

    Fusions are tried with the first grouping and number of devices, then groupings with the best
    fusion, then the next smaller and larger numbers of devices, and from there on as long as it
    gets better. `try_kernels` goes on with other kernels for the same ops.

    Args:
        fastest: what measures.
        fusions: to try; one whose result differs from the eager one by more than the tolerance, or
            that does not run, is left out with a warning. Where none is left, ops stay as they are.
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
        for fuse in fusions:
            self._try_fusion(fuse, groups[0], counts[0])
        if not self.tried:
            self._try_fusion(False, groups[0], counts[0])
        for group in groups[1:]:
            self._try_ops(self.target.regrouped(group), group, counts[0])
        self._counts = counts
        self._try_counts()

    def try_kernels(self) -> None:
        """Tries kernels for a part of the GPU, then without these equal ops side by side as one.

        With the best of them come other numbers of devices once more, and priorities of ops. What
        was chosen to leave all ops as they are stays so.
        """
        before, whole = self.best, self.target
        if before.fuse in MERGED:
            for share in whole.shares():
                self._try(share, before.group, None, before.devices)
            self._try_merged(whole, before)
        if self.best is not before:
            self._try_counts()
        for urgent in self.target.prioritised(self.graph.duration.tolist()):
            self._try(urgent, self.best.group, self.graph, self.best.devices)
        self._settle()

    def _settle(self) -> None:
        self._fastest.target, self._fastest.traced = self.target, True

    def _try_fusion(self, fuse: Fuse, group: Group, count: int) -> None:
        if len(self.tried) >= self._most:
            return
        try:
            target = self.target.regrouped(group, fuse)
        except RuntimeError as error:
            if fuse is False:
                raise
            warnings.warn(f"fuse={fuse!r} is left out: {error}", stacklevel=4)
        else:
            self._try_ops(target, group, count)

    def _try_merged(self, whole: "Target", before: Trial) -> None:
        shared, best = self.target, self.best
        self.target = whole
        self._try_fusion(MERGED[before.fuse], before.group, before.devices)
        if self.best is best:
            self.target = shared

    def _try_ops(self, target: "Target", group: Group, count: int) -> None:
        if (target.program.nodes, target.program.ops) not in self._seen:
            self._seen.append((target.program.nodes, target.program.ops))
            self._try(target, group, None, count)

    def _try_counts(self) -> None:
        """From the best number of devices to the next ones, as long as it gets better."""
        for step in (-1, 1):
            self._climb(sorted(self._counts), step)
        self._settle()

    def _climb(self, ladder: List[int], step: int) -> None:
        place = ladder.index(self.best.devices) + step
        tried = [t.devices for t in self.tried if t[:2] == self.best[:2] and t.sms == self.best.sms]
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
        self._fastest.target, self._fastest.traced = target, False
        answer = self._fastest(schedule(graph, count, method="list").schedule)
        time = answer[0] if isinstance(answer, tuple) else answer
        ops, fuse = len(target.program.ops), target.model.fuse
        urgent = target.levels is not None
        self.tried.append(Trial(fuse, group, count, ops, time, target.sms, urgent))
        if time < self.best.time:
            self.best, self.target, self.graph = self.tried[-1], target, graph


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
