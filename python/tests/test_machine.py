from __future__ import annotations

import math
import os

import pytest
import sked
from conftest import ROOT


def node() -> sked.Machine:
    m = sked.Machine("node", latency=5, bandwidth=100)
    assert m.add_device("cpu0", type="cpu", memory=64) == 0
    assert m.add_device("gpu0", type="gpu", speed=8) == 1
    assert m.add_device("odd") == 2
    m.add_link("cpu", "gpu", latency=1, bandwidth=10, oneway=True)
    return m


def test_identical():
    m = sked.Machine.identical(3, latency=2, bandwidth=50)
    assert len(m) == 3 and m.link(0, 1) == (2, 50) and m.link(1, 1) == (0, math.inf)
    assert [d.name for d in m.devices] == ["0", "1", "2"]
    assert repr(m) == "sked.Machine.identical(3, latency=2, bandwidth=50)"
    with pytest.raises(sked.ArgumentError):
        sked.Machine.identical(0)
    with pytest.raises(TypeError, match="float"):
        sked.Machine.identical(2.5)
    with pytest.raises(sked.ArgumentError, match="read-only"):
        m.add_device("x")


def test_unequal():
    m = node()
    assert m.devices[0] == ("cpu0", "cpu", 1, 64)
    assert m.devices[2] == ("odd", None, 1, math.inf)
    assert m.link(0, 1) == (1, 10) and m.link(1, 0) == (5, 100)
    assert m.name == "node"
    lost = sked.Machine()
    lost.add_device("a")
    lost.add_link("a", "nowhere", latency=1)
    for _ in range(3):
        with pytest.raises(sked.ParseError, match="nowhere"):
            len(lost.devices)
    with pytest.raises(sked.ParseError, match="at least one device"):
        len(sked.Machine())
    apart = sked.Machine()
    apart.add_device("a"), apart.add_device("b")
    assert apart.link(0, 1) is None
    with pytest.raises(sked.ArgumentError, match="no device 2"):
        apart.link(0, 2)


def test_files(tmp_path):
    m = node()
    m.save(tmp_path / "m.json")
    again = sked.Machine.read(tmp_path / "m.json")
    assert again.devices == m.devices and again.link(0, 1) == m.link(0, 1)
    equal = sked.Machine.identical(2, latency=3, bandwidth=7)
    equal.save(tmp_path / "equal.json")
    again = sked.Machine.read(tmp_path / "equal.json")
    assert len(again) == 2 and again.link(0, 1) == (3, 7)
    with pytest.raises(sked.ParseError):
        (tmp_path / "bad.json").write_text("{}")
        sked.Machine.read(tmp_path / "bad.json")


def test_both_forms_give_the_same_schedule(tmp_path, recommender):
    short = sked.Machine.identical(3, latency=20, bandwidth=1e4)
    short.save(tmp_path / "m.json")
    first, second = (
        sked.schedule(recommender, m, method="search", iterations=200, time_limit=None).schedule
        for m in (short, sked.Machine.read(tmp_path / "m.json"))
    )
    assert (first.start == second.start).all() and (first.device == second.device).all()


def test_durations_by_device(recommender):
    m = sked.Machine.read(os.path.join(ROOT, "examples", "node.machine.json"))
    s = sked.schedule(recommender, m, method="heft").schedule
    s.validate()
    gpu = {i for i, d in enumerate(m.devices) if d.type == "gpu"}
    for op, device in enumerate(s.device.tolist()):
        assert not (device in gpu and recommender.durations(op).get("gpu", 1) is None)
    assert s.finish.max() == pytest.approx(s.makespan)


def test_profile(diamond):
    m = sked.Machine("measured", latency=0)
    m.add_device("x"), m.add_device("y")
    m.add_duration("b", 30)
    m.add_duration("c", None, on="x")
    m.add_duration("c", 5, on="y")
    assert m.profile == {("b", None): 30, ("c", "x"): math.inf, ("c", "y"): 5}
    assert diamond.profiled(m).duration.tolist() == [2, 30, 4, 1]
    p = sked.Problem(diamond, m)
    assert p.graph is diamond
    s = sked.schedule(p).schedule
    assert p.durations(s.device).tolist() == [2, 30, 5, 1]
    s.validate()
    assert s.makespan == 33 and m.devices[s.device[2]].name == "y"
