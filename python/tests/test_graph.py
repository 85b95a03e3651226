from __future__ import annotations

import math
import os
import threading

import numpy as np
import pytest
import sked
from conftest import ROOT


def test_ops_and_edges(diamond):
    assert len(diamond) == 4 and diamond.edge_count == 4
    assert diamond.name == "diamond"
    assert diamond.names == ["a", "b", "c", "d"]
    assert diamond.types == ["Add", "Mul", "Mul", "Add"]
    assert diamond.duration.tolist() == [2, 3, 4, 1]
    assert diamond.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert diamond.lag.tolist() == [2, 2, 3, 4]
    assert diamond.bytes.tolist() == [10] * 4
    assert diamond.index("c") == 2
    assert diamond.topological_order().tolist() == [0, 1, 2, 3]


def test_all_of_an_op():
    g = sked.Graph()
    g.add_resource("alu", 2)
    g.add_resource("port")
    op = g.add_op(
        "x",
        2.5,
        type="T",
        memory=3,
        weight=4,
        keep=True,
        durations={"gpu": 0.5, "npu": None},
        demand={"alu": 1},
    )
    plain = g.add_op()
    g.add_edge(op, plain, lag=7, distance=1)
    assert g.resources == {"alu": 2, "port": math.inf}
    assert g.demand(op) == {"alu": 1} and g.demand(plain) == {}
    assert g.durations(op) == {"gpu": 0.5, "npu": None} and g.durations(plain) == {}
    assert (g.memory[op], g.weight[op]) == (3, 4)
    assert g.keep.tolist() == [True, False]
    assert g.op_name(plain) == "1" and g.op_type(plain) is None
    assert g.lag.tolist() == [7] and g.distance.tolist() == [1]
    assert g.copy() == g


def test_views_are_read_only_and_outlive_the_graph():
    duration = sked.from_arrays([1.0, 2.0]).duration
    with pytest.raises(ValueError):
        duration[0] = 5
    assert duration.tolist() == [1, 2]


def test_a_graph_in_use_is_frozen_and_its_copy_is_not(diamond):
    assert diamond.edge_count == 4
    with pytest.raises(sked.ArgumentError, match="copy"):
        diamond.add_op("e")
    twin = diamond.copy()
    assert twin == diamond
    bigger = diamond.copy()
    bigger.add_edge(bigger.add_op("e"), "a")
    assert len(bigger) == 5 and bigger != diamond
    assert bigger.topological_order()[0] == 4


def test_errors_of_building():
    g = sked.Graph()
    g.add_op("a")
    with pytest.raises(sked.ArgumentError, match="no op called 'b'"):
        g.add_edge("a", "b")
    with pytest.raises(sked.ArgumentError, match="add_resource"):
        g.add_op("b", demand={"alu": 1})
    with pytest.raises(sked.ArgumentError, match="NUL"):
        g.add_op("a\0b")
    with pytest.raises(TypeError, match="a text is wanted, not int: 5"):
        g.add_op(5)
    with pytest.raises(TypeError, match="float"):
        g.add_edge(0.5, 0)
    with pytest.raises(sked.ParseError, match="two ops are called 'a'"):
        g.add_op("a")
    loop = sked.Graph()
    loop.add_op("x"), loop.add_op("y")
    loop.add_edge("x", "y")
    loop.add_edge("y", "x")
    for _ in range(3):  # what has failed stays failed, with its cause
        with pytest.raises(sked.ParseError, match="cycle of distance 0: y -> x -> y"):
            len(loop.edges)
        with pytest.raises(sked.ParseError, match="cycle"):
            sked.schedule(loop, method="list")
        with pytest.raises(sked.ParseError, match="cycle"):
            loop.add_op("z")
    with pytest.raises(sked.ArgumentError, match="no op 9"):
        sked.from_arrays([1]).op_name(9)


def test_arrays():
    g = sked.from_arrays(
        np.array([1.0, 2.0, 3.0]),
        [0, 1],
        [1, 2],
        names=["x", "y", "ünïcode"],
        types=["A", "B", "A"],
        memory=5,
        keep=[False, False, True],
        lag=[math.nan, 9],
        bytes=[4, 0],
        distance=0,
        name="arrays",
    )
    assert g.names == ["x", "y", "ünïcode"] and g.name == "arrays"
    assert g.memory.tolist() == [5, 5, 5]
    assert g.lag.tolist() == [1, 9]
    assert g.keep.tolist() == [False, False, True]
    assert len(sked.from_arrays([])) == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([1, 2], [0], [1, 1]), "to: wants 1 numbers"),
        (([1, 2], [0.5], [1]), "from_: wants whole numbers"),
        (([1, 2], [2**40], [1]), "32 bits"),
        ((["a"],), "duration: wants numbers"),
        (([[1, 2]],), "one dimension"),
    ],
)
def test_arrays_that_do_not_fit(arguments, message):
    with pytest.raises(sked.ArgumentError, match=message):
        sked.from_arrays(*arguments)


def test_arrays_that_are_no_graph():
    with pytest.raises(sked.ParseError, match="joins ops 0 and 7"):
        sked.from_arrays([1, 2], [0], [7])
    with pytest.raises(sked.ParseError, match="duration"):
        sked.from_arrays([-1.0])
    with pytest.raises(sked.ArgumentError, match="names: wants 1"):
        sked.from_arrays([1], names=["a", "b"])
    with pytest.raises(sked.ArgumentError, match="NUL"):
        sked.from_arrays([1, 2], names=["a", "b\0c"])


def test_a_million_ops():
    n = 1_000_000
    rng = np.random.default_rng(0)
    first = rng.integers(0, n - 50, 2 * n, dtype="i4")
    second = first + rng.integers(1, 50, 2 * n, dtype="i4")
    g = sked.from_arrays(rng.random(n), first, second)
    assert len(g) == n and g.edge_count == 2 * n
    assert g.duration[n - 1] > 0
    r = sked.schedule(g, 8, method="list", time_limit=None)
    assert r.gap < 0.01
    order = r.schedule.order
    assert (np.diff(r.schedule.start[order]) >= 0).all()


def test_files(tmp_path, recommender):
    path = tmp_path / "g.json"
    recommender.save(path)
    assert sked.read(path) == recommender
    assert sked.parse(path.read_bytes()) == recommender
    assert sked.read(str(path), format="native") == recommender
    with pytest.raises(sked.FileError, match="nowhere.json") as caught:
        sked.read(tmp_path / "nowhere.json")
    assert caught.value.code == 4 and isinstance(caught.value, OSError)
    (tmp_path / "bad.json").write_text('{"format": "sked-graph-1", "ops": 7}')
    with pytest.raises(sked.ParseError, match="bad.json"):
        sked.read(tmp_path / "bad.json")


def test_library_gives_durations():
    folder = os.path.join(ROOT, "examples")
    g = sked.read(os.path.join(folder, "fir.dot"), library=os.path.join(folder, "units.json"))
    assert set(g.duration) != {1.0} and g.resources


def test_describe(diamond):
    info = diamond.describe()
    assert info["ops"] == 4 and info["critical_path"] == 7 and info["width"] == 2


def test_networkx(recommender):
    networkx = pytest.importorskip("networkx")
    assert sked.from_networkx(recommender.to_networkx()) == recommender
    net = networkx.DiGraph(name="net", resources={"alu": 1})
    net.add_node(0, cost=3, type="X", demand={"alu": 1})
    net.add_edge(0, "b", volume=9, lag=5, other="ignored")
    g = sked.from_networkx(net, duration="cost", bytes="volume")
    assert g.names == ["0", "b"] and g.duration.tolist() == [3, 1]
    assert g.bytes.tolist() == [9] and g.lag.tolist() == [5] and g.demand(0) == {"alu": 1}
    with pytest.raises(sked.ArgumentError, match="directed"):
        sked.from_networkx(networkx.Graph())
    with pytest.raises(TypeError, match="not list"):
        sked.from_networkx([(0, 1)])


def test_attributes(recommender):
    assert sked.attributes(of_edges=False)[:2] == ["duration", "memory"]
    assert sked.attributes(of_edges=True)[:2] == ["lag", "bytes"]
    g = sked.Graph()
    g.add_op("a", 2, memory=3, **{"weight": 4})
    g.add_op("b", keep=True)
    g.add_edge("a", "b", bytes=5)
    with pytest.raises(sked.ArgumentError, match="edges have no attribute called 'memory'"):
        g.add_edge("a", "b", memory=1)
    with pytest.raises(sked.ArgumentError, match="ops have no attribute called 'colour'"):
        g.add_op("c", colour=1)
    assert g.attribute("memory").tolist() == [3, 0] and g.attribute("keep").tolist() == [0, 1]
    assert g.attribute("bytes").tolist() == [5] and math.isnan(g.attribute("lag")[0])
    with pytest.raises(sked.ArgumentError, match="colour"):
        g.attribute("colour")
    assert g.copy() == g and recommender.copy() == recommender


def test_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in "xyz"]
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name="first"),
        helper.make_node("Add", ["y", "x"], ["z"], name="second"),
    ]
    model = helper.make_model(helper.make_graph(nodes, "tiny", [value[0]], [value[2]]))
    g = sked.from_onnx(model)
    assert g.types == ["Relu", "Add"] and g.edges.tolist() == [[0, 1]]
    path = tmp_path / "tiny.onnx"
    onnx.save(model, str(path))
    assert sked.from_onnx(path) == g == sked.from_onnx(path.read_bytes())
    with pytest.raises(TypeError, match="not NoneType"):
        sked.from_onnx(None)


def test_generate():
    g = sked.generate("layered", 40, seed=3, settings={"width": 0.5}, duration="const:2")
    assert len(g) == 40 and set(g.duration) == {2}
    assert sked.generate("layered", 40, seed=3, settings={"width": 0.5}, duration="const:2") == g
    with pytest.raises(sked.ArgumentError, match="layered"):
        sked.generate("layerd")


def test_threads_share_the_first_use():
    g = sked.Graph()
    for i in range(20_000):
        g.add_op(duration=i % 7)
    seen, gate = [], threading.Barrier(8)

    def use() -> None:
        gate.wait()
        seen.append(g._c)

    threads = [threading.Thread(target=use) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(seen) == 8 and len(set(seen)) == 1


def test_networkx_names_what_must_be_there():
    networkx = pytest.importorskip("networkx")
    net = networkx.DiGraph()
    net.add_node("a", costs=2)
    net.add_edge("a", "b", volume=3)
    with pytest.raises(sked.ArgumentError, match="no node .* 'cost' .did you mean 'costs'"):
        sked.from_networkx(net, duration="cost")
    with pytest.raises(sked.ArgumentError, match="no edge .* 'size'"):
        sked.from_networkx(net, bytes="size")
    assert sked.from_networkx(net, duration="costs").duration.tolist() == [2, 1]
    assert sked.from_networkx(net).duration.tolist() == [1, 1]
