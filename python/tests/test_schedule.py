from __future__ import annotations

import copy
import json
import math
import os
import pickle

import numpy as np
import pytest
import sked
from conftest import ROOT


@pytest.fixture
def best(diamond) -> sked.Schedule:
    return sked.schedule(diamond, 2).schedule


def test_what_it_says(best, diamond):
    assert len(best) == 4 and best.makespan == 7 and best.ii is None
    assert best.start.dtype == np.float64 and best.device.dtype == np.int32
    assert (best.finish == best.start + diamond.duration).all()
    assert best.order[0] == 0 and best.order[-1] == 3
    ops = [op for d in (0, 1) for op in best.ops_of(d).tolist()]
    assert sorted(ops) == [0, 1, 2, 3]
    assert best.metrics()["speedup"] == pytest.approx(10 / 7)
    assert best.device_memory().shape == (2,)
    assert best.registers().max() == best.metrics()["peak_memory"]
    assert "makespan 7" in repr(best)
    with pytest.raises(sked.ArgumentError, match="no device 2"):
        best.ops_of(2)


def test_ties_go_by_precedence():
    g = sked.from_arrays([1, 0, 0], [2, 1], [1, 0])  # 2 before 1 before 0, two of them take no time
    s = sked.schedule(g, 1).schedule
    assert s.order.tolist() == [2, 1, 0]


def test_arrays_and_tables(best):
    rows = best.to_numpy()
    assert rows.dtype.names == ("start", "finish", "device")
    assert rows["finish"].max() == 7
    pandas = pytest.importorskip("pandas")
    table = best.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["name", "type", "device", "start", "finish"]
    assert table.set_index("name").finish["d"] == 7


def test_networkx(best):
    pytest.importorskip("networkx")
    nodes = best.to_networkx().nodes
    assert nodes["d"]["finish"] == 7 and nodes["a"]["start"] == 0 and "device" in nodes["b"]


def test_files(best, diamond, tmp_path):
    for name in ("s.json", "s.svg", "s.html", "s.trace.json", "s.dot"):
        best.save(tmp_path / name)
    assert json.loads((tmp_path / "s.json").read_text())["makespan"] == 7
    assert sked.read_schedule(tmp_path / "s.json", diamond, 2) == best
    assert (tmp_path / "s.svg").read_text() == best.svg()
    with pytest.raises(sked.Error):
        best.save(tmp_path / "s.nonsense")
    with pytest.raises(sked.ParseError):
        sked.read_schedule(tmp_path / "s.svg", diamond, 2)


def test_pictures(best, diamond):
    assert best.svg().startswith("<svg") and "<html" in best.report()
    page = best._repr_html_()
    assert "data:image/svg+xml;base64," in page and "<sked" not in page
    result = sked.schedule(diamond, 2)
    assert "data:image/svg+xml;base64," in result._repr_html_()


def test_large_ones_are_not_drawn():
    s = sked.schedule(sked.from_arrays(np.ones(20_001)), 2, method="list").schedule
    assert "<img" not in s._repr_html_() and "makespan" in s._repr_html_()


def test_views_outlive_the_result(diamond):
    start = sked.schedule(diamond, 2).schedule.start
    with pytest.raises(ValueError):
        start[0] = 1
    assert start[0] == 0


def test_the_judge(diamond):
    p = sked.Problem(diamond, 2)
    good = sked.Schedule(p, [0, 2, 2, 6], [0, 1, 0, 0])
    good.validate()
    sked.validate(good)
    late = sked.Machine.identical(2, latency=1)
    with pytest.raises(sked.InvalidScheduleError, match="b"):
        sked.validate(good, diamond, late)
    bad = sked.Schedule(p, [0, 1, 2, 6], [0, 1, 0, 0])
    with pytest.raises(sked.InvalidScheduleError) as caught:
        bad.validate()
    assert caught.value.code == 8 and "a" in str(caught.value)
    with pytest.raises(sked.InvalidScheduleError):
        bad.save("/dev/null", "svg")  # nothing invalid is ever written


def test_own_schedules_are_checked(diamond):
    p = sked.Problem(diamond, 2)
    with pytest.raises(sked.ArgumentError, match="start: wants 4"):
        sked.Schedule(p, [0], [0])
    with pytest.raises(sked.ArgumentError, match="device"):
        sked.Schedule(p, [0, 2, 2, 6])
    pools = sked.Schedule(sked.Problem(diamond), [0, 2, 2, 6])
    assert pools.device is None and pools.to_numpy()["device"].tolist() == [-1] * 4
    with pytest.raises(sked.ArgumentError):
        pools.ops_of(0)


def test_equality(diamond):
    p = sked.Problem(diamond, 2)
    first = sked.Schedule(p, [0, 2, 2, 6], [0, 1, 0, 0])
    assert first == sked.Schedule(p, [0, 2, 2, 6], [0, 1, 0, 0])
    assert first != sked.Schedule(p, [0, 2, 2, 6], [1, 1, 0, 0])
    assert first != "schedule"


def test_pickling(diamond, recommender):
    """As other processes get them; copies are made in the same way."""
    full = sked.Graph("full")
    full.add_resource("alu", 2)
    full.add_op("a", 1.1, type="X", memory=3, weight=2, keep=True, durations={"gpu": None})
    full.add_op(None, 0, demand={"alu": 0.3})
    full.add_edge("a", 1, lag=0.1, bytes=1e9 / 3, distance=1)
    for graph in (full, diamond, recommender, sked.Graph(), sked.from_arrays([1, 2], [0], [1])):
        again = pickle.loads(pickle.dumps(graph))
        assert again == graph == copy.deepcopy(graph) and again.name == graph.name
    node = sked.Machine.read(os.path.join(ROOT, "examples", "node.machine.json"))
    for machine in (node, sked.Machine.identical(3, latency=0.1)):
        problem = sked.Problem(
            recommender, machine, horizon=1e6, fix_device=[-1] * len(recommender)
        )
        s = sked.schedule(problem, method="list", time_limit=None).schedule
        again = pickle.loads(pickle.dumps(s))
        assert again == s and again.problem.machine.devices == machine.devices
        sked.validate(again)
    loop = sked.read(os.path.join(ROOT, "examples", "dot_product_loop.json"))
    s = sked.schedule(loop, ii="auto").schedule
    assert pickle.loads(pickle.dumps(s)).ii == s.ii
    bound = s.bind(0)
    again = pickle.loads(pickle.dumps(bound))
    assert any(bound.units) and again == bound
    assert again.units == bound.units and again.op_registers == bound.op_registers


def test_simulate(diamond, best):
    one = sked.simulate(diamond, 2, device=best.device, order=best.order)
    assert one.makespan == 7 and one.start.shape == (4,)
    many = sked.simulate(
        diamond,
        sked.Machine.identical(2, latency=1),
        device=[[0, 0, 0, 0], [0, 1, 0, 0]],
        order=[[0, 1, 2, 3]] * 2,
    )
    assert many.makespan.tolist() == [10, 8]
    free = sked.simulate(
        diamond,
        sked.Machine.identical(2, latency=9),
        device=[0, 1, 0, 0],
        order=[0, 1, 2, 3],
        transfers=False,
    )
    assert free.makespan == 7
    stuck = sked.simulate(diamond, 1, device=[0] * 4, order=[3, 2, 1, 0])
    assert math.isinf(stuck.makespan)


@pytest.mark.parametrize(
    "device, order, message",
    [
        ([0, 0, 0, 2], [0, 1, 2, 3], "from 0 to 1"),
        ([0, 0, 0, -1], [0, 1, 2, 3], "from 0 to 1"),
        ([0, 0, 0, 0], [0, 1, 2, 2], "every op"),
        ([0, 0, 0], [0, 1, 2], "shape"),
    ],
)
def test_simulate_trusts_nobody(diamond, device, order, message):
    with pytest.raises(sked.ArgumentError, match=message):
        sked.simulate(diamond, 2, device=device, order=order)


def test_diversity(diamond):
    p = sked.Problem(diamond, 2)
    first = sked.Schedule(p, [0, 2, 2, 6], [0, 1, 0, 0])
    second = sked.Schedule(p, [0, 2, 5, 9], [0, 0, 0, 0])
    assert sked.diversity([first, first])["ged"] == 0
    assert sked.diversity([first, second])["ged"] > 0
    with pytest.raises(sked.ArgumentError):
        sked.diversity([])


def test_addresses(diamond, tmp_path):
    sized = sked.from_arrays(diamond.duration, *diamond.edges.T, memory=[4, 7.5, 4, 12])
    r = sked.schedule(sized, 1, objective="arena", align=4)
    s = r.schedule
    assert r.value == s.metrics()["arena"] == s.arena.sum() and s.arena.dtype == np.int64
    assert (s.offset % 4 == 0).all() and not s.offset.flags.writeable and len(s.copies) == 0
    assert sked.schedule(sized, 1).schedule.offset is None and sked.schedule(sized, 1).schedule.arena is None
    two = sked.schedule(sized, 2, offsets=True).schedule
    assert two.arena.shape == (2,) and two.copies.dtype.names == ("op", "device", "offset")
    for row in two.copies:
        assert two.device[row["op"]] != row["device"] and row["offset"] >= 0
    again = pickle.loads(pickle.dumps(two))
    assert (again.offset == two.offset).all() and (again.copies == two.copies).all()
    two.save(tmp_path / "s.json")
    read = sked.read_schedule(tmp_path / "s.json", sized, 2, offsets=True)
    read.validate()
    assert (read.arena == two.arena).all()
    wrong = json.loads((tmp_path / "s.json").read_text())
    for op in wrong["ops"]:
        op["offset"] = 0
    del wrong["arena"], wrong["transfers"]
    (tmp_path / "s.json").write_text(json.dumps(wrong))
    with pytest.raises(sked.InvalidScheduleError, match="address"):
        sked.read_schedule(tmp_path / "s.json", sized, 2, offsets=True).validate()
    with pytest.raises(sked.ArgumentError, match="align must be"):
        sked.schedule(sized, 1, objective="arena", align=0)
    with pytest.raises(TypeError, match="offsets"):
        sked.schedule(sized, 1, offsets="yes")


def test_one_op_by_its_name(diamond):
    s = sked.schedule(diamond, 2).schedule
    c = s["c"]
    assert c == s[2] == s[-2] and (c.name, c.start, c.finish) == ("c", 2, 6) and c.device == s.device[2]
    assert [op.name for op in s] == list("abcd")
    assert sked.schedule(diamond).schedule["b"].device is None
    with pytest.raises(sked.ArgumentError, match="no op called 'e'"):
        s["e"]
    with pytest.raises(IndexError):
        s[4]
    assert diamond.op_type("b") == "Mul" and diamond.durations("b") == {} == diamond.demand("b")
