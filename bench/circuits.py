#!/usr/bin/env python3
"""Writes circuits of and-gates as binary AIGER, of the kind and size of the large EPFL benchmarks.

    bench/circuits.py divider 56 div.aig       restoring division: 50,624 ops, depth 6,499
    bench/circuits.py log2 32 log2.aig         like a logarithm's: 29,495 ops, depth 411
    bench/circuits.py multiplier 64 rows.aig   rows of carry-save adders: 32,192 ops, depth 378
    bench/circuits.py columns 64 columns.aig   a product column by column: 32,192 ops, depth 1,344
    bench/circuits.py hypotenuse 128 hyp.aig   square root of a^2 + b^2: 215,788 ops, depth 19,969
    bench/circuits.py hypotenuse 277 big.aig   the same: 1,003,551 ops, depth 85,728

The second argument is the number of bits of an operand. Gates that compute the same are made once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

Bits = list[int]  # literals, the lowest bit first: 2 * variable, + 1 where inverted


class Circuit:
    def __init__(self) -> None:
        self.inputs = 0
        self.gates: list[tuple[int, int]] = []
        self.known: dict[tuple[int, int], int] = {}

    def input(self, count: int) -> Bits:
        assert not self.gates
        self.inputs += count
        return [2 * (self.inputs - count + k + 1) for k in range(count)]

    def both(self, a: int, b: int) -> int:
        a, b = max(a, b), min(a, b)
        if b == 0 or a == b ^ 1:
            return 0
        if b == 1 or a == b:
            return a
        if (a, b) not in self.known:
            self.gates.append((a, b))
            self.known[a, b] = 2 * (self.inputs + len(self.gates))
        return self.known[a, b]

    def either(self, a: int, b: int) -> int:
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        return self.both(self.both(a, b) ^ 1, self.both(a ^ 1, b ^ 1) ^ 1)

    def choose(self, which: int, yes: int, no: int) -> int:
        return self.either(self.both(which, yes), self.both(which ^ 1, no))

    def add_bits(self, a: int, b: int, c: int) -> tuple[int, int]:
        x = self.differ(a, b)
        return self.differ(x, c), self.either(self.both(a, b), self.both(x, c))

    def add(self, a: Bits, b: Bits, carry: int = 0) -> tuple[Bits, int]:
        total = []
        for x, y in zip(a, b, strict=True):
            bit, carry = self.add_bits(x, y, carry)
            total.append(bit)
        return total, carry

    def take_off(self, a: Bits, b: Bits) -> tuple[Bits, int]:
        """a - b where that is not negative, else a; and which of the two."""
        rest, fits = self.add(a, [y ^ 1 for y in b], 1)
        return [self.choose(fits, x, y) for x, y in zip(rest, a, strict=True)], fits

    def multiply(self, a: Bits, b: Bits) -> Bits:
        """Rows of carry-save adders, then a ripple of carries."""
        result: Bits = []
        sums, carries = [self.both(x, b[0]) for x in a] + [0], [0] * len(a)
        for y in b[1:]:
            result.append(sums[0])
            columns = zip(sums[1:], carries, [self.both(x, y) for x in a], strict=True)
            added = [self.add_bits(s, c, p) for s, c, p in columns]
            sums, carries = [s for s, _ in added] + [0], [c for _, c in added]
        top, last = self.add(sums[1:], carries)
        return result + [sums[0]] + top + ([last] if last else [])

    def write(self, path: Path, outputs: Bits) -> None:
        with path.open("wb") as f:
            most = self.inputs + len(self.gates)
            f.write(f"aig {most} {self.inputs} 0 {len(outputs)} {len(self.gates)}\n".encode())
            f.write("".join(f"{bit}\n" for bit in outputs).encode())
            for k, (a, b) in enumerate(self.gates):
                own = 2 * (self.inputs + k + 1)
                f.write(number(own - a) + number(a - b))


def number(x: int) -> bytes:
    parts = []
    while x >= 128:
        parts.append(x & 127 | 128)
        x >>= 7
    return bytes([*parts, x])


def divider(c: Circuit, bits: int) -> Bits:
    """A dividend of twice the bits, high half below the divisor; quotient, then remainder.

    The comparison has gates of its own beside those of the difference.
    """
    a, rest, b = c.input(bits), c.input(bits), c.input(bits)
    quotient: Bits = []
    for k in range(bits):
        rest = [a[bits - 1 - k]] + rest
        fits = 1
        for x, y in zip(rest, b + [0], strict=True):
            fits = c.choose(c.differ(x, y), x, fits)
        less, _ = c.add(rest, [y ^ 1 for y in b + [0]], 1)
        rest = [c.choose(fits, x, y) for x, y in zip(less, rest, strict=True)][:bits]
        quotient.append(fits)
    return quotient[::-1] + rest


def multiplier(c: Circuit, bits: int) -> Bits:
    return c.multiply(c.input(bits), c.input(bits))


def columns(c: Circuit, bits: int) -> Bits:
    a, b = c.input(bits), c.input(bits)
    products: list[Bits] = [[] for _ in range(2 * bits + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            products[i + j].append(c.both(x, y))
    return sum_columns(c, products)


def log2(c: Circuit, bits: int) -> Bits:
    """A shift to the leading one and four products, as a polynomial has them: not its values.

    Two of them have the same partial products, one in the reverse order of the other. So nearly all
    pairs of different bits are alive half-way, whatever comes first: some 460 values at 32 bits.
    """
    x = c.input(bits)
    exponent: Bits = []
    for k in range((bits - 1).bit_length() - 1, -1, -1):  # 16, 8, 4, 2, 1: where the top is empty
        by = 1 << k
        full = 0
        for bit in x[bits - by :]:
            full = c.either(full, bit)
        x = [c.choose(full, bit, x[j - by] if j >= by else 0) for j, bit in enumerate(x)]
        exponent.append(full)
    t = x[:-1] + [0]
    turned = x[::-1]
    low, high = c.multiply(t, turned)[bits // 2 :][:bits], c.multiply(t, t)[bits:]
    high += [0] * (bits - len(high))
    square, _ = c.add(high, turned)
    y = c.multiply(square, low)[bits:] + c.multiply(high, t)[bits:]
    return y + exponent[::-1]


def square_root(c: Circuit, x: Bits) -> Bits:
    x = x + [0] * (len(x) % 2)
    rest: Bits = []
    root: Bits = []  # the highest bit first
    for k in range(len(x) - 2, -1, -2):
        trial = [1, 0] + root[::-1]
        rest = [x[k], x[k + 1]] + rest
        rest += [0] * (len(trial) + 1 - len(rest))
        rest, fits = c.take_off(rest[: len(trial) + 1], trial + [0])
        root.append(fits)
    return root[::-1]


def square(c: Circuit, a: Bits) -> Bits:
    columns: list[Bits] = [[] for _ in range(2 * len(a) + 1)]
    for i, x in enumerate(a):
        columns[2 * i].append(x)
        for j in range(i):
            columns[i + j + 1].append(c.both(x, a[j]))
    return sum_columns(c, columns)


def sum_columns(c: Circuit, columns: list[Bits]) -> Bits:
    """Adds three bits of a column as long as there are three, then two."""
    result = []
    for k, column in enumerate(columns):
        while len(column) > 1:
            third = column.pop(0) if len(column) > 2 else 0
            bit, carry = c.add_bits(column.pop(0), column.pop(0), third)
            column.append(bit)
            if carry != 0:
                columns[k + 1].append(carry)
        result.append(column[0] if column else 0)
    return result


def hypotenuse(c: Circuit, bits: int) -> Bits:
    a, b = c.input(bits), c.input(bits)
    total, _ = c.add(square(c, a), square(c, b))
    return square_root(c, total)


def main() -> None:
    kinds = {
        "columns": columns,
        "divider": divider,
        "hypotenuse": hypotenuse,
        "log2": log2,
        "multiplier": multiplier,
    }
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("kind", choices=sorted(kinds))
    parser.add_argument("bits", type=int)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    circuit = Circuit()
    outputs = kinds[arguments.kind](circuit, arguments.bits)
    circuit.write(arguments.file, outputs)


if __name__ == "__main__":
    main()
