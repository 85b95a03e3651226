#!/usr/bin/env python3
"""Writes examples/inception.onnx: inception.py FILE (needs the package onnx).

Two Inception modules of four branches each between a stem and a classifier. Weights are inputs of the model, so that the
file holds the graph and its shapes and no numbers.
"""
import sys

from onnx import TensorProto, checker, helper, save

nodes, inputs = [], []


def weight(name, shape):
    inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return name


def convolution(name, source, channels, to, size, stride=1):
    """A convolution that keeps the picture's size (but for its stride), and a Relu behind it."""
    kernel = weight(f"{name}_w", [to, channels, size, size])
    nodes.append(helper.make_node("Conv", [source, kernel], [f"{name}_y"], name=name, kernel_shape=[size, size],
                                  pads=[size // 2] * 4, strides=[stride, stride]))
    nodes.append(helper.make_node("Relu", [f"{name}_y"], [f"{name}_relu_y"], name=f"{name}_relu"))
    return f"{name}_relu_y"


def module(name, source, channels, wide):
    """1x1; 1x1 and 3x3; 1x1 and 5x5; pool and 1x1: their results side by side."""
    one = convolution(f"{name}_a", source, channels, 2 * wide, 1)
    three = convolution(f"{name}_b2", convolution(f"{name}_b1", source, channels, wide, 1), wide, wide, 3)
    five = convolution(f"{name}_c2", convolution(f"{name}_c1", source, channels, wide // 2, 1), wide // 2, wide // 2, 5)
    nodes.append(helper.make_node("MaxPool", [source], [f"{name}_pool_y"], name=f"{name}_pool", kernel_shape=[3, 3],
                                  pads=[1] * 4))
    pool = convolution(f"{name}_d", f"{name}_pool_y", channels, wide, 1)
    nodes.append(helper.make_node("Concat", [one, three, five, pool], [f"{name}_y"], name=f"{name}_concat", axis=1))
    return f"{name}_y", 4 * wide + wide // 2


value, channels = convolution("stem", weight("picture", [1, 3, 64, 64]), 3, 32, 7, stride=2), 32
value, channels = module("mixed1", value, channels, 32)
value, channels = module("mixed2", value, channels, 48)
nodes.append(helper.make_node("GlobalAveragePool", [value], ["mean_y"], name="mean"))
nodes.append(helper.make_node("Flatten", ["mean_y"], ["flat_y"], name="flat"))
nodes.append(helper.make_node("Gemm", ["flat_y", weight("fc_w", [channels, 10])], ["scores"], name="fc"))
output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])
model = helper.make_model(helper.make_graph(nodes, "inception", inputs, [output]),
                          opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
checker.check_model(model, full_check=True)
save(model, sys.argv[1])
