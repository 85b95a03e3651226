"""Packings: what comes back holds, and what cannot be packed is refused in the right class."""

from __future__ import annotations

import numpy as np
import pytest
import sked


def overlaps(lower, upper, size, offsets):
    """Pairs that share bytes and time."""
    pairs = 0
    for i in range(len(size)):
        for k in range(i):
            in_time = lower[i] < upper[k] and lower[k] < upper[i]
            pairs += in_time and offsets[i] < offsets[k] + size[k] and offsets[k] < offsets[i] + size[i]
    return pairs


def test_a_packing_holds():
    rng = np.random.default_rng(1)
    lower = rng.integers(0, 50, 60)
    upper = lower + rng.integers(1, 20, 60)
    size = rng.integers(0, 100, 60)
    p = sked.pack(lower, upper, size, alignment=4, iterations=20, time_limit=None)
    assert p.offsets.dtype == np.int64 and p.offsets.shape == (60,)
    assert overlaps(lower, upper, size, p.offsets) == 0 and not (p.offsets % 4).any()
    assert p.height == (p.offsets + size).max() >= p.lower_bound
    assert p.optimal == (p.height == p.lower_bound) and "60 buffers" in repr(p)
    again = sked.pack(lower, upper, size, alignment=4, iterations=20, time_limit=None)
    assert (again.offsets == p.offsets).all()


def test_what_is_fixed_stays():
    p = sked.pack([0, 0, 1], [2, 1, 3], [8, 8, 8], offset=[16, -1, -1], align=8)
    assert p.offsets[0] == 16 and p.height == 24 and p.optimal


def test_nothing_to_pack():
    p = sked.pack([], [], [])
    assert p.height == 0 and p.optimal and p.offsets.size == 0


def test_what_does_not_fit():
    with pytest.raises(sked.InfeasibleError, match="proven: no packing is within 15, it takes 16"):
        sked.pack([0, 0], [1, 1], [8, 8], capacity=15)
    with pytest.raises(sked.InfeasibleError, match="fixed buffers '0' and '1' overlap"):
        sked.pack([0, 0], [1, 1], [8, 8], offset=[0, 4])


@pytest.mark.parametrize(
    "change, match",
    [
        ({"lower": [0, np.nan]}, "finite"),
        ({"upper": [0, 1]}, "below upper"),
        ({"size": [-1, 1]}, "size"),
        ({"size": [0.5, 1]}, "whole numbers"),
        ({"size": [2**52, 2**52]}, "less than 2\\^53"),
        ({"size": np.array([2**63, 1], dtype="u8")}, "64 bits"),
        ({"size": [1, 2, 3]}, "3 numbers"),
        ({"alignment": 0}, "alignment"),
        ({"offset": [-2, 0]}, "offset"),
        ({"offset": [3, -1], "align": 2}, "no multiple"),
        ({"align": 0}, "align"),
        ({"capacity": -1}, "capacity"),
        ({"time_limit": -1}, "time_limit"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
    ],
)
def test_numbers_out_of_range(change, match):
    given = {"lower": [0, 0], "upper": [1, 1], "size": [8, 8], **change}
    with pytest.raises(sked.ArgumentError, match=match):
        sked.pack(**given)


@pytest.mark.parametrize("change", [{"size": None}, {"lower": "a"}, {"time_limit": "soon"}])
def test_what_is_no_number(change):
    given = {"lower": [0, 0], "upper": [1, 1], "size": [8, 8], **change}
    with pytest.raises((TypeError, sked.ArgumentError)):
        sked.pack(**given)
