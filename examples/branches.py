#!/usr/bin/env python3
"""Writes branches.tflite, the network of docs/tutorials/microcontrollers.md: branches.py FILE.

Four branches widen an image and pool it. They stand in the file layer by layer, so four wide tensors are held at a time.
A FlatBuffer is a tree of tables, and this is all it takes to write one: no package is needed.
"""
import math
import random
import struct
import sys


class Table:
    """Fields by their number in the schema: ("<i", 3) is a number; text, bytes, lists and tables are pointed to."""

    def __init__(self, **fields):
        self.fields = {int(name[1:]): value for name, value in fields.items()}


def flatbuffer(root: Table, identifier: bytes) -> bytes:
    """Parents before children, since offsets point forward."""
    out = bytearray(4) + identifier
    todo = [(0, root)]  # where an offset stands, and what it points to

    def align(size: int, after: int = 0) -> None:
        out.extend(bytes(-(len(out) + after) % size))

    while todo:
        slot, value = todo.pop(0)
        if isinstance(value, Table):
            place, offsets = 4, {}
            for number, field in value.fields.items():
                size = struct.calcsize(field[0]) if isinstance(field, tuple) else 4
                place += -place % size
                offsets[number] = place
                place += size
            numbers = range(max(offsets, default=-1) + 1)
            align(4, 4 + 2 * len(numbers))
            start = len(out) + 4 + 2 * len(numbers)
            out += struct.pack(f"<HH{len(numbers)}H", 4 + 2 * len(numbers), place, *(offsets.get(n, 0) for n in numbers))
            out += struct.pack("<i", 4 + 2 * len(numbers)) + bytes(place - 4)
            for number, field in value.fields.items():
                if isinstance(field, tuple):
                    struct.pack_into(field[0], out, start + offsets[number], field[1])
                else:
                    todo.append((start + offsets[number], field))
        elif isinstance(value, list) and value and isinstance(value[0], Table):
            align(4)
            start = len(out)
            out += struct.pack("<I", len(value)) + bytes(4 * len(value))
            todo += [(start + 4 + 4 * k, child) for k, child in enumerate(value)]
        else:
            data = (struct.pack(f"<{len(value)}i", *value) if isinstance(value, list)
                    else value.encode() if isinstance(value, str) else value)
            align(16, 4)
            start = len(out)
            out += struct.pack("<I", len(value)) + data + b"\0"
        struct.pack_into("<I", out, slot, start - slot)
    align(16)
    return bytes(out)


class Network:
    """Tensors and operators of a TFLite model; numbers of fields and operators are those of its schema."""

    def __init__(self):
        self.tensors, self.buffers, self.operators, self.codes = [], [Table()], [], []
        self.shapes = []

    def tensor(self, name: str, shape: list, weights: bytes = b"") -> int:
        if weights:
            self.buffers.append(Table(_0=weights))
        buffer = len(self.buffers) - 1 if weights else 0
        self.tensors.append(Table(_0=shape, _1=("<b", 0), _2=("<I", buffer), _3=name))
        self.shapes.append(shape)
        return len(self.tensors) - 1

    def op(self, code: int, inputs: list, name: str, shape: list, kind: int, options: Table) -> int:
        if code not in self.codes:
            self.codes.append(code)
        output = self.tensor(name, shape)
        self.operators.append(Table(_0=("<I", self.codes.index(code)), _1=inputs, _2=[output], _3=("<B", kind), _4=options))
        return output

    def conv(self, x: int, name: str, channels: int) -> int:
        """1 x 1, with a ReLU."""
        *image, before = self.shapes[x]
        draw = random.Random(name)
        count = channels * before
        weights = struct.pack(f"<{count}f", *(draw.gauss(0, 1 / math.sqrt(before)) for _ in range(count)))
        w = self.tensor(name + "/weights", [channels, 1, 1, before], weights)
        b = self.tensor(name + "/bias", [channels], bytes(4 * channels))
        return self.op(3, [x, w, b], name, [*image, channels], 1,
                       Table(_1=("<i", 1), _2=("<i", 1), _3=("<b", 1)))

    def pool(self, x: int, name: str, size: int) -> int:
        batch, height, width, channels = self.shapes[x]
        return self.op(17, [x], name, [batch, height // size, width // size, channels], 5,
                       Table(_0=("<b", 1), _1=("<i", size), _2=("<i", size), _3=("<i", size), _4=("<i", size)))

    def concatenation(self, parts: list, name: str) -> int:
        shape = [*self.shapes[parts[0]][:3], sum(self.shapes[part][3] for part in parts)]
        return self.op(2, parts, name, shape, 10, Table(_0=("<i", 3)))

    def model(self, inputs: list, outputs: list) -> bytes:
        codes = [Table(_0=("<b", code), _2=("<i", 1), _3=("<i", code)) for code in self.codes]
        graph = Table(_0=self.tensors, _1=inputs, _2=outputs, _3=self.operators, _4="main")
        return flatbuffer(Table(_0=("<I", 3), _1=codes, _2=[graph], _3="branches", _4=self.buffers), b"TFL3")


def branches() -> bytes:
    net, widths = Network(), (8, 12, 4, 10)
    image = net.tensor("image", [1, 32, 32, 4])
    wide = [net.conv(image, f"wide{k}", width) for k, width in enumerate(widths)]
    pooled = [net.pool(x, f"pool{k}", 4) for k, x in enumerate(wide)]
    mixed = [net.conv(x, f"mix{k}", 8) for k, x in enumerate(pooled)]
    joined = net.conv(net.concatenation(mixed, "concat"), "join", 8)
    classes = net.pool(net.conv(joined, "classes", 4), "scores", 8)
    return net.model([image], [classes])


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as f:
        f.write(branches())
