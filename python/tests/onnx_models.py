"""Small ONNX models for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def _model(nodes: Any, inputs: Any, outputs: Any, weights: Any = ()) -> ModelProto:
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


def branches(count: int = 4, size: int = 8, twins: bool = True) -> ModelProto:
    """Branches of two products each, a constant, nodes without names; `twins`: equal names."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node(
            "Constant", [], ["two"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.0])
        )
    ]
    nodes.append(helper.make_node("Mul", ["x", "two"], ["scaled"]))
    weights = []
    for b in range(count):
        for k in range(2):
            name = f"w{b}{k}"
            weights.append(
                numpy_helper.from_array(rng.standard_normal((size, size)).astype("f4"), name)
            )
        nodes.append(helper.make_node("MatMul", ["scaled", f"w{b}0"], [f"h{b}"], name=f"first{b}"))
        nodes.append(
            helper.make_node("Relu", [f"h{b}"], [f"r{b}"], name="relu" if twins else f"relu{b}")
        )
        nodes.append(helper.make_node("MatMul", [f"r{b}", f"w{b}1"], [f"y{b}"]))
    nodes.append(helper.make_node("Sum", [f"y{b}" for b in range(count)], ["sum"], name="sum"))
    nodes.append(helper.make_node("Split", ["sum"], ["left", "right"], name="split", axis=1))
    nodes.append(helper.make_node("Neg", ["y0"], ["unread"], name="unread"))
    value = helper.make_tensor_value_info
    outputs = [
        value("left", TensorProto.FLOAT, None),
        value("right", TensorProto.FLOAT, None),
        value("h1", TensorProto.FLOAT, None),
    ]
    return _model(nodes, [value("x", TensorProto.FLOAT, ["batch", size])], outputs, weights)


def captured() -> ModelProto:
    """An If that reads tensors of the main graph, a sequence, a weight that is an output."""
    value = helper.make_tensor_value_info
    inner = [
        helper.make_graph(
            [helper.make_node(op, ["a"], ["z"])], op, [], [value("z", TensorProto.FLOAT, None)]
        )
        for op in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="a"),
        helper.make_node(
            "If", ["flag"], ["b"], name="b", then_branch=inner[0], else_branch=inner[1]
        ),
        helper.make_node("SequenceConstruct", ["a", "b"], ["s"], name="s"),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], name="y", axis=0),
        helper.make_node("Add", ["b", "w"], ["c"], name="c"),
    ]
    weight = numpy_helper.from_array(np.ones(3, dtype="f4"), "w")
    inputs = [value("x", TensorProto.FLOAT, [2, 3]), value("flag", TensorProto.BOOL, [])]
    outputs = [value(name, TensorProto.FLOAT, None) for name in ("y", "c", "w")]
    return _model(nodes, inputs, outputs, [weight])
