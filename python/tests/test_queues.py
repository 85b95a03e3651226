"""Schedules as queues: edges are kept, no wait is needless, no memory is used again early."""

from __future__ import annotations

import random
from typing import Dict, List, Sequence, Set, Tuple

import pytest

from sked._queues import Queues, Step


def known_before(steps: Sequence[Step]) -> Dict[int, Set[int]]:
    """For every op what has finished when it starts: queues and waits, and nothing else, say so."""
    before: Dict[int, Set[int]] = {}
    last: Dict[int, int] = {}
    for step in steps:
        seen: Set[int] = set()
        for other in (*step.waits, *([last[step.device]] if step.device in last else [])):
            seen |= before[other] | {other}
        before[step.op] = seen
        last[step.device] = step.op
    return before


def random_problem(seed: int) -> Tuple[List[List[int]], List[int], List[int], int]:
    rng = random.Random(seed)
    n, devices = rng.randrange(1, 40), rng.randrange(1, 6)
    preds = [
        sorted({rng.randrange(i) for _ in range(rng.randrange(4))}) if i else [] for i in range(n)
    ]
    missing = [set(p) for p in preds]
    order: List[int] = []
    while len(order) < n:
        i = rng.choice([k for k in range(n) if k not in order and not missing[k] - set(order)])
        order.append(i)
    return preds, [rng.randrange(devices) for _ in range(n)], order, devices


@pytest.mark.parametrize("seed", range(60))
def test_random_schedules(seed: int) -> None:
    preds, device, order, devices = random_problem(seed)
    values = [(i, [j for j in range(len(preds)) if i in preds[j]]) for i in range(len(preds))]
    steps = Queues(preds, device, order, devices, values).steps
    assert [s.op for s in steps] == order and [s.device for s in steps] == [
        device[i] for i in order
    ]
    before = known_before(steps)
    for i, list_ in enumerate(preds):
        assert set(list_) <= before[i]
    freed: Set[int] = set()
    for step in steps:
        for v in step.frees:
            assert device[v] == step.device and v not in freed
            assert {v, *values[v][1]} <= before[step.op]
            freed.add(v)
        for v in range(len(preds)):  # and what may go has gone
            if device[v] == step.device and {v, *values[v][1]} <= before[step.op]:
                assert v in freed
    signals = {s.op for s in steps if s.signals}
    assert signals == {p for s in steps for p in s.waits}


@pytest.mark.parametrize("seed", range(20))
def test_no_wait_is_needless(seed: int) -> None:
    preds, device, order, devices = random_problem(seed)
    steps = Queues(preds, device, order, devices).steps
    for k, step in enumerate(steps):
        for op in step.waits:
            fewer = step._replace(waits=tuple(p for p in step.waits if p != op))
            before = known_before([*steps[:k], fewer])
            assert op not in before[step.op]


def test_waits_that_follow_from_others() -> None:
    # 0 and 1 on device 0, 2 reads both on device 1, 3 on device 2 reads 0 and 2.
    steps = Queues([[], [], [0, 1], [0, 2]], [0, 0, 1, 2], [0, 1, 2, 3], 3).steps
    assert [s.waits for s in steps] == [(), (), (1,), (2,)]
    assert [s.signals for s in steps] == [False, True, True, False]


def test_memory_waits_for_readers_elsewhere() -> None:
    # Device 1 reads what 0 made. Device 0 knows of it only at 3, which reads the result of 1.
    steps = Queues([[], [0], [], [1]], [0, 1, 0, 0], [0, 1, 2, 3], 2, [(0, [1])]).steps
    assert [s.frees for s in steps] == [(), (), (), (0,)]


@pytest.mark.parametrize(
    "device, order, message",
    [
        ([0, 0], [1, 0], "op 1 comes before op 0"),
        ([0, 0], [0, 0], "each of the 2 ops once"),
        ([0], [0, 1], "each of the 2 ops once"),
        ([0, 2], [0, 1], "must be 0 to 1"),
    ],
)
def test_bad_plans(device: List[int], order: List[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Queues([[], [0]], device, order, 2)
