"""A schedule as queues: what every device runs in which order, and where it waits for others.

Both runtimes (``sked.torch``, ``sked.onnxruntime``) issue ops from here. A device knows of another
what it has waited for, and all that was known there at that point: a vector clock. A wait that
adds nothing is left out.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Protocol, Sequence, Set, Tuple


class PlanLike(Protocol):
    """What a plan, a schedule or a file of one has: arrays of a device and an order of all ops."""

    @property
    def device(self) -> Any: ...

    @property
    def order(self) -> Any: ...


class Step(NamedTuple):
    """One op in the order of issue."""

    op: int
    device: int
    waits: Tuple[int, ...]
    """Ops of other devices that must have finished, as far as this device does not know it."""
    signals: bool
    """Some other device waits for this op."""
    frees: Tuple[int, ...]
    """Values (see `Queues`) whose memory may be used again from this op on, on this device."""


class Queues:
    """The steps of a schedule.

    Args:
        preds: for every op the ops whose results it reads.
        device: for every op its device, from 0.
        order: all ops, in an order in which every op comes after what it reads.
        devices: number of devices.
        values: for every value the op that makes it and all ops that read it. Its memory belongs to
            the device of its maker and is free there as soon as that device knows that all readers
            have finished. Values that stay to the end are not listed.

    Raises:
        ValueError: `order` is no order of all ops, or an op comes before one that it reads.
    """

    def __init__(
        self,
        preds: Sequence[Sequence[int]],
        device: Sequence[int],
        order: Sequence[int],
        devices: int,
        values: Sequence[Tuple[int, Sequence[int]]] = (),
    ) -> None:
        self.devices = devices
        self._preds = preds
        self._device = [int(d) for d in device]
        self._order = [int(i) for i in order]
        self._check()
        self._place = self._places()
        self.steps: List[Step] = []
        self._issue(values)

    def ops_of(self, device: int) -> List[int]:
        """The ops of a device in its order."""
        return [i for i in self._order if self._device[i] == device]

    def _check(self) -> None:
        n = len(self._preds)
        if sorted(self._order) != list(range(n)) or len(self._device) != n:
            raise ValueError(
                f"the order must name each of the {n} ops once, with a device for every op"
            )
        if any(not 0 <= d < self.devices for d in self._device):
            raise ValueError(f"the devices of ops must be 0 to {self.devices - 1}")
        seen: Set[int] = set()
        for i in self._order:
            for p in self._preds[i]:
                if p not in seen:
                    raise ValueError(f"op {i} comes before op {p}, whose result it reads")
            seen.add(i)

    def _places(self) -> List[int]:
        """The number of each op on its device, from 1."""
        count = [0] * self.devices
        place = [0] * len(self._order)
        for i in self._order:
            count[self._device[i]] += 1
            place[i] = count[self._device[i]]
        return place

    def _issue(self, values: Sequence[Tuple[int, Sequence[int]]]) -> None:
        knows = [[0] * self.devices for _ in range(self.devices)]  # [device][other]: finished there
        after: Dict[int, List[int]] = {}  # what is known once this op has finished
        waits: Dict[int, Tuple[int, ...]] = {}
        frees: Dict[int, Tuple[int, ...]] = {}
        held: List[List[int]] = [[] for _ in range(self.devices)]
        made: Dict[int, List[int]] = {}
        for v, (maker, _) in enumerate(values):
            made.setdefault(maker, []).append(v)
        for i in self._order:
            d = self._device[i]
            waits[i] = self._waits(i, knows[d], after)
            frees[i] = self._frees(d, knows[d], held, values)
            held[d].extend(made.get(i, ()))
            knows[d][d] = self._place[i]
            after[i] = list(knows[d])
        awaited = {p for list_ in waits.values() for p in list_}
        for i in self._order:
            self.steps.append(Step(i, self._device[i], waits[i], i in awaited, frees[i]))

    def _waits(self, op: int, knows: List[int], after: Dict[int, List[int]]) -> Tuple[int, ...]:
        """The latest producers first: what they know may make a wait for others needless."""
        needed = []
        for p in sorted(set(self._preds[op]), key=lambda p: (-sum(after[p]), p)):
            e = self._device[p]
            if e != self._device[op] and knows[e] < self._place[p]:
                needed.append(p)
                for k in range(self.devices):
                    knows[k] = max(knows[k], after[p][k])
        return tuple(needed)

    def _frees(
        self,
        device: int,
        knows: List[int],
        held: List[List[int]],
        values: Sequence[Tuple[int, Sequence[int]]],
    ) -> Tuple[int, ...]:
        free = [
            v
            for v in held[device]
            if all(knows[self._device[r]] >= self._place[r] for r in values[v][1])
        ]
        gone = set(free)
        held[device] = [v for v in held[device] if v not in gone]
        return tuple(free)
