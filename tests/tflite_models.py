#!/usr/bin/env python3
"""Writes small TFLite models: tflite_models.py FOLDER. fuzz/seeds/tflite and tests/test_tflite.c have them.

two.tflite       SPLIT with two results, an input that is left out, and tensors of all kinds
state.tflite     operators that share a variable, custom ones, and others that may move between them
unnamed.tflite   operators whose results have no names or the same one; an old file, codes in one byte
metadata.tflite  metadata, an earlier plan among it
ordered.tflite   metadata that orders operators by their numbers: it can be read, not written
graphs.tflite    two subgraphs: likewise
outside.tflite   weights behind the FlatBuffer: likewise
unknown.tflite   a field of the root that no schema has yet: likewise
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from branches import Network, Table, flatbuffer  # noqa: E402

RELU, ADD, SPLIT, CUSTOM = 19, 0, 49, 32


def simple(net: Network, code: int, inputs: list, outputs: list) -> None:
    """An operator without options."""
    if code not in net.codes:
        net.codes.append(code)
    net.operators.append(Table(_0=("<I", net.codes.index(code)), _1=inputs, _2=outputs))


def finish(net: Network, inputs: list, outputs: list, codes: "list | None" = None, again: int = 1, **fields) -> bytes:
    graph = Table(_0=net.tensors, _1=inputs, _2=outputs, _3=net.operators)
    codes = codes or [Table(_0=("<b", code), _3=("<i", code), **({"_1": f"Own{code}"} if code == CUSTOM else {}))
                      for code in net.codes]
    return flatbuffer(Table(_0=("<I", 3), _1=codes, _2=[graph] * again, _4=net.buffers, **fields), b"TFL3")


def chain() -> tuple:
    net = Network()
    x, a, b = (net.tensor(name, [4]) for name in ("x", "a", "b"))
    simple(net, RELU, [x], [a])
    simple(net, RELU, [a], [b])
    return net, [x], [b]


def two() -> bytes:
    net = Network()
    x = net.tensor("x", [2, 6])
    axis = net.tensor("axis", [], struct.pack("<i", 1))
    left, right = net.tensor("left", [2, 3]), net.tensor("right", [2, 3])
    scalar = net.tensor("scalar", [])
    simple(net, SPLIT, [axis, x], [left, right])
    simple(net, ADD, [left, -1], [scalar])
    last = net.tensor("last", [7])
    simple(net, ADD, [right, scalar, right], [last])
    return finish(net, [x], [last, x])


def state() -> bytes:
    net = Network()
    x = net.tensor("x", [8])
    net.tensors.append(Table(_0=[64], _1=("<b", 9), _3="memory", _5=("<B", 1)))
    net.shapes.append([64])
    memory = len(net.tensors) - 1
    out = [net.tensor(f"t{k}", [8]) for k in range(6)]
    simple(net, RELU, [x], [out[0]])
    simple(net, ADD, [out[0], memory], [out[1]])
    simple(net, RELU, [x], [out[2]])
    simple(net, CUSTOM, [out[2]], [out[3]])
    simple(net, ADD, [x, memory], [out[4]])
    simple(net, ADD, [out[1], out[3], out[4]], [out[5]])
    return finish(net, [x], [out[5]])


def unnamed() -> bytes:
    net = Network()
    x = net.tensor("x", [4])
    tensors = [net.tensor(name, [4]) for name in ("", "same", "same", "RELU_0", "")]
    for k, t in enumerate(tensors):
        simple(net, RELU, [x if k == 0 else tensors[k - 1]], [t])
    return finish(net, [x], tensors[-1:], [Table(_0=("<b", RELU))])


def metadata(*names: str) -> bytes:
    net, inputs, outputs = chain()
    net.buffers += [Table(_0=struct.pack("<6i", 1, 1, 3, 0, 16, 0)) for _ in names]
    entries = [Table(_0=name, _1=("<I", 1 + k)) for k, name in enumerate(names)]
    return finish(net, inputs, outputs, _3="of three", _6=entries)


def graphs() -> bytes:
    net, inputs, outputs = chain()
    return finish(net, inputs, outputs, again=2)


def outside() -> bytes:
    net, inputs, outputs = chain()
    net.buffers.append(Table(_1=("<Q", 1000), _2=("<Q", 16)))
    return finish(net, inputs, outputs)


def unknown() -> bytes:
    net, inputs, outputs = chain()
    return finish(net, inputs, outputs, _10=("<i", 1))


if __name__ == "__main__":
    for name, model in {"two": two(), "state": state(), "unnamed": unnamed(),
                        "metadata": metadata("min_runtime_version", "OfflineMemoryAllocation"),
                        "ordered": metadata("model_control_dependencies"), "graphs": graphs(), "outside": outside(),
                        "unknown": unknown()}.items():
        with open(os.path.join(sys.argv[1], name + ".tflite"), "wb") as f:
            f.write(model)
