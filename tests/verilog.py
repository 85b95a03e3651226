#!/usr/bin/env python3
"""Modules that `sked schedule -o FILE.v` writes, simulated cycle by cycle against the graphs they were made of.

Usage: verilog.py SKED SOURCE_FOLDER [PART]; PART runs only tests with it in their name.
Every output of every cycle is compared with what the unscheduled graph gives for the inputs LATENCY edges before:
1,000 random inputs each. Graphs are read and evaluated here, by code that shares nothing with sked.
"""
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys

import frame
from frame import Skip, test

SKED, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
with open(SKED, "rb") as binary:
    SANITIZED = b"__asan_init" in binary.read()
frame.only = sys.argv[3] if len(sys.argv) > 3 else ""
DATA = os.environ.get("SKED_DATA", os.path.join(SOURCE, "..", "shared", "data"))
VECTORS = 1000
GATES = os.path.join(SOURCE, "examples", "gates.json")
modules = 0


def sked(*words, status=0):
    done = subprocess.run([SKED, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


# ------------------------------------------------------------------ graphs: ports, and their values for given inputs


class Gates:
    """A netlist. Values of all vectors are the bits of one number."""

    def __init__(self):
        self.inputs, self.outputs, self.rule, self.order = [], {}, {}, []  # outputs: port -> (signal, inverted)

    def value(self, given, vectors):
        ones = (1 << vectors) - 1
        at = {name: sum((row[name] & 1) << k for k, row in enumerate(given)) for name in self.inputs}
        for name in self.order:
            at[name] = self.rule[name](at, ones)
        sums = {port: at[s] ^ (ones if turned else 0) for port, (s, turned) in self.outputs.items()}
        return [{port: x >> k & 1 for port, x in sums.items()} for k in range(vectors)]


def cover(signals, rows):
    def rule(at, ones):
        total = 0
        for row, _ in rows:
            product = ones
            for digit, s in zip(row, signals):
                product &= ones if digit == "-" else at[s] if digit == "1" else ~at[s] & ones
            total |= product
        return ~total & ones if rows and rows[0][1] == "0" else total

    return rule


def sort_gates(g, reads):
    done, open_ = set(g.inputs), []
    for root in reads:
        open_.append(root)
        while open_:
            name = open_[-1]
            missing = [] if name in done else [s for s in reads[name] if s not in done]
            if missing:
                open_.extend(missing)
                continue
            open_.pop()
            if name not in done:
                done.add(name)
                g.order.append(name)


def read_blif(path):
    g, reads, rows, name, names = Gates(), {}, None, None, []
    with open(path, encoding="utf-8") as file:
        lines = re.sub(r"\\\r?\n", " ", file.read()).splitlines()
    for line in lines:
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == ".inputs":
            g.inputs += words[1:]
        elif words[0] == ".outputs":
            names += words[1:]
        elif words[0] == ".names":
            *signals, name = words[1:]
            rows = []
            reads[name] = signals
            g.rule[name] = cover(signals, rows)
        elif words[0][0] != ".":
            digits = "".join(words)
            rows.append((digits[:-1], digits[-1]))
    sort_gates(g, reads)
    g.outputs = {s + "\0out" if s in g.inputs else s: (s, False) for s in names}
    return g


def read_aag(path):
    g, reads = Gates(), {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    _, inputs, latches, outputs, ands = map(int, lines[0].split()[1:6])
    assert latches == 0
    literal = [[int(x) for x in line.split()] for line in lines[1 : 1 + inputs + outputs + ands]]
    name = {0: "0"}
    for k in range(inputs):
        name[literal[k][0] // 2] = next((x.split(" ", 1)[1] for x in lines if x.startswith(f"i{k} ")), str(literal[k][0]))
    g.inputs = list(name.values())[1:]
    for out, *_ in literal[inputs + outputs :]:
        name[out // 2] = str(out)

    def rule(left, right):
        def term(at, ones, x):
            return (ones if x & 1 else 0) if x < 2 else at[name[x // 2]] ^ (ones if x & 1 else 0)

        return lambda at, ones: term(at, ones, left) & term(at, ones, right)

    for out, left, right in literal[inputs + outputs :]:
        reads[name[out // 2]] = [name[x // 2] for x in (left, right) if x >= 2]
        g.rule[name[out // 2]] = rule(left, right)
    sort_gates(g, reads)
    for (x,) in literal[inputs : inputs + outputs]:
        if x >= 2:
            s = name[x // 2]
            g.outputs[s + "\0not" if x & 1 else s + "\0out" if s in g.inputs else s] = (s, bool(x & 1))
    return g


def signed(x, width):
    return x - (1 << width) if x >> width - 1 else x


# type: Verilog, operands it reads (None: any number), its value from [(value, width), ...] before it is cut to the
# width of the result
TYPES = {
    "add": ("a + ...", None, lambda v, w: sum(x for x, _ in v)),
    "sub": ("a - ...", None, lambda v, w: v[0][0] - sum(x for x, _ in v[1:])),
    "mul": ("a * ...", None, lambda v, w: product(v)),
    "and": ("a & ...", None, lambda v, w: fold(v, lambda x, y: x & y)),
    "or": ("a | ...", None, lambda v, w: fold(v, lambda x, y: x | y)),
    "xor": ("a ^ b ^ c", 3, lambda v, w: v[0][0] ^ v[1][0] ^ v[2][0]),
    "not": ("~a", 1, lambda v, w: ~v[0][0]),
    "lsr": ("a >> 3", 1, lambda v, w: v[0][0] >> 3),
    "asr": ("$signed(a) >>> 2", 1, lambda v, w: signed(*v[0]) >> 2),
    "less": ("a < b", 2, lambda v, w: int(v[0][0] < v[1][0])),
    "slt": ("$signed(a) < $signed(b)", 2, lambda v, w: int(signed(*v[0]) < signed(*v[1]))),
    "mux": ("a[0] ? b : c", 3, lambda v, w: v[1][0] if v[0][0] & 1 else v[2][0]),
    "cat": ("{a, b}", 2, lambda v, w: v[0][0] << v[1][1] | v[1][0]),
    "const": ("12'hA5c + 2", 0, lambda v, w: 0xA5E),
    "copy": ("a", 1, lambda v, w: v[0][0]),
}


def product(v):
    total = 1
    for x, _ in v:
        total *= x
    return total


def fold(v, rule):
    total = v[0][0]
    for x, _ in v[1:]:
        total = rule(total, x)
    return total


class Flow:
    """A data-flow graph. ops: (name, type or None, width, operands, is output); an operand is an op's number."""

    def __init__(self, ops, outputs=None):
        self.ops, self.ports = ops, []
        read = {k for op in ops for k in op[3]}
        self.marked = outputs if outputs is not None else {k for k in range(len(ops)) if k not in read}

    def missing(self, op):
        _, kind, width, operands = op
        needs = 0 if kind is None else max(2, len(operands)) if TYPES[kind][1] is None else TYPES[kind][1]
        widest = max((self.ops[k][2] for k in operands), default=width)
        return [("abcdefghij"[k], widest) for k in range(len(operands), needs)]

    @property
    def inputs(self):
        return [op[0] for op in self.ops if op[1] is None] + [
            f"{op[0]}\0{letter}" for op in self.ops for letter, _ in self.missing(op)
        ]

    def value(self, given, vectors):
        results = []
        for row in given:
            at = []
            for op in self.ops:
                name, kind, width, operands = op
                if kind is None:
                    at.append(row[name])
                    continue
                v = [(at[k], self.ops[k][2]) for k in operands]
                v += [(row[f"{name}\0{letter}"], w) for letter, w in self.missing(op)]
                at.append(TYPES[kind][2](v, width) & (1 << width) - 1)
            results.append(
                {self.ops[k][0] + ("\0out" if self.ops[k][1] is None else ""): at[k] for k in sorted(self.marked)}
            )
        return results


# ------------------------------------------------------------------ modules


def ports_of(text):
    """The ports of a module as it says them: [direction, width, name as written, name]."""
    found = []
    for line in text[text.index("(\n") : text.index("\n);")].splitlines()[2:]:
        way, high, name = re.fullmatch(r"  (input|output) (?:\[(\d+):0\] )?(.*?) ?,?", line).groups()
        found.append((way, int(high or 0) + 1, name + " " if name[0] == "\\" else name, name.removeprefix("\\")))
    return found


def named(name):
    """A port's name: that of an op, and behind a zero what sked adds."""
    name, *ours = name.split("\0")
    if name in ("clk", "LATENCY") and not ours:
        ours = [""]
    return "$".join([escaped(name), *ours])


def escaped(name):
    return "".join(c if 32 < ord(c) < 127 and c not in "%$" else "".join(f"%{b:02X}" for b in c.encode()) for c in name)


def simulate(path, folder, graph, seed):
    """Runs 1,000 random inputs through the module. Returns what it was seen to be."""
    global modules
    with open(path, encoding="ascii") as file:
        text = file.read()
    ports = ports_of(text)
    module = re.search(r"^module (\S+ ?) ?\(", text, re.M).group(1)
    latency = int(re.search(r"localparam LATENCY = (\d+);", text).group(1))
    inputs = [p for p in ports if p[0] == "input"]
    outputs = [p for p in ports if p[0] == "output"]
    known = {named(x): x for x in graph.inputs}
    assert sorted(p[3] for p in inputs) == sorted(known), (sorted(p[3] for p in inputs)[:9], sorted(known)[:9])
    rng = random.Random(seed)
    given = [{known[p[3]]: rng.getrandbits(p[1]) for p in inputs} for _ in range(VECTORS)]
    wanted = graph.value(given, VECTORS)
    assert sorted(p[3] for p in outputs) == sorted(map(named, wanted[0])), [p[3] for p in outputs][:9]

    def wires(some, name):
        at, words = 0, []
        for p in some:
            words.append(f".{p[2]}({name}[{at + p[1] - 1}:{at}])")
            at += p[1]
        return at, words

    (wide_in, in_), (wide_out, out) = wires(inputs, "in"), wires(outputs, "out")
    with open(f"{folder}/in.hex", "w", encoding="ascii") as file:
        for row in given:
            word, at = 0, 0
            for p in inputs:
                word |= row[known[p[3]]] << at
                at += p[1]
            file.write(f"{word:x}\n")
        file.write("0\n" * latency)
    with open(f"{folder}/bench.v", "w", encoding="ascii") as file:
        file.write(f"""module bench;
  reg clk = 0;
  reg [{max(wide_in, 1) - 1}:0] in, all [0:{VECTORS + latency - 1}];
  wire [{max(wide_out, 1) - 1}:0] out;
  integer k;
  {module}dut ({", ".join([".clk(clk)", *in_, *out])});
  initial begin
    $readmemh("{folder}/in.hex", all);
    for (k = 0; k < {VECTORS + latency}; k = k + 1) begin
      in = all[k];
      #1 if (k >= {latency}) $display("%h", out);
      clk = 1; #1 clk = 0; #1;
    end
  end
endmodule
""")
    subprocess.run(["iverilog", "-g2005", "-o", f"{folder}/bench.vvp", path, f"{folder}/bench.v"], check=True, timeout=600)
    done = subprocess.run(["vvp", "-n", f"{folder}/bench.vvp"], capture_output=True, text=True, timeout=600, check=True)
    lines = done.stdout.split()
    assert len(lines) == VECTORS, done.stdout[:300]
    wrong = 0
    for line, row in zip(lines, wanted):
        assert "x" not in line and "z" not in line, line
        want, at = 0, 0
        values = {named(name): x for name, x in row.items()}
        for p in outputs:
            want |= values[p[3]] << at
            at += p[1]
        wrong += int(line, 16) != want
    assert wrong == 0, f"{path}: {wrong} of {VECTORS} outputs differ"
    modules += 1
    bits = [float(x) for x in re.search(r"registers: (\d+) between ops,\s+(\d+) inside ops, (\d+) that", text).groups()]
    # the comment counts what the module declares
    declared = sum(int(high or 0) + 1 for high in re.findall(r"^  reg (?:\[(\d+):0\] )?", text, re.M))
    assert declared == sum(bits), (declared, bits)
    return {"latency": latency, "between": bits[0], "aligning": bits[2]}


def scheduled(graph_file, folder, *words):
    """Writes the module of a schedule; what --json says of it."""
    out = f"{folder}/module.v"
    told = json.loads(sked("schedule", graph_file, "--ii", "1", "--objective", "memory", "--iterations", "2000",
                           "--time-limit", "20", *words, "-o", out, "--json"))  # fmt: skip
    return out, told


# ------------------------------------------------------------------ tests

if shutil.which("iverilog") is None:
    print("skipped: iverilog is not installed (Debian package iverilog)")
    sys.exit(77)


def random_name(rng, k):
    odd = ["reg", "clk", "LATENCY", "module", "x$1", "a b", "\\esc", "é%", "1", "wire$", "begin", "a//b", "x;y", "\t", "$3", "LATENCY$"]
    return odd[k] if k < len(odd) and rng.random() < 0.5 else rng.choice(["n", "N.", "a[", "_", "9"]) + str(k)


def random_flow(rng, multi_cycle):
    """A native graph with every kind of op, and the same as a Flow."""
    ops, rows, edges = [], [], []
    for k in range(rng.randint(3, 25)):
        kind = rng.choice([None, *TYPES]) if k > 1 else None
        most = 0 if kind is None else rng.choice([2, 3, 5]) if TYPES[kind][1] is None else TYPES[kind][1]
        operands = [rng.randrange(k) for _ in range(rng.randint(0 if rng.random() < 0.3 else most, most))]
        width = rng.choice([1, 2, 7, 16, 33])
        ops.append((random_name(rng, k), kind, width, operands))
        row = {"name": ops[k][0], "type": str(kind), "duration": 0, "delay": rng.choice([0, 1, 2]), "memory": width}
        if kind is not None:
            row["verilog"] = TYPES[kind][0]
        if kind == "mul" and multi_cycle:
            row.update(duration=1, delay={"in": 1, "out": 1})
        rows.append(row)
        for place, x in enumerate(operands):
            edges.append({"from": x, "to": k, "operand": place})
            if multi_cycle and ops[x][1] == "mul":
                edges[-1]["lag"] = 3
    for _ in range(rng.randint(0, 2)):
        x, y = sorted(rng.sample(range(len(ops)), 2))
        edges.append({"from": x, "to": y, "order": True, "lag": 0})
    rng.shuffle(edges)
    read = {x for op in ops for x in op[3]}
    outputs = {k for k in range(len(ops)) if k not in read}
    if rng.random() < 0.5:
        outputs = {k for k in range(len(ops)) if rng.random() < 0.4} | {len(ops) - 1}
        for k in outputs:
            rows[k]["output"] = True
    name = rng.choice(["module", "g", "é x", "a.b", "case"])
    return {"format": "sked-graph-1", "name": name, "ops": rows, "edges": edges}, Flow(ops, outputs)


@test
def random_graphs(folder):
    for seed in range(12 if SANITIZED else 60):
        rng = random.Random(seed)
        graph, flow = random_flow(rng, seed % 3 == 0)
        path = f"{folder}/g.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)
        if seed % 4 == 1:  # the same by way of another format
            sked("convert", path, f"{folder}/g.{'dot' if seed % 8 == 1 else 'graphml'}")
            path = f"{folder}/g.{'dot' if seed % 8 == 1 else 'graphml'}"
            if any(ord(c) < 32 for op in flow.ops for c in op[0]):
                continue
        words = ["--clock", str(rng.choice([2, 3, 9]))]
        if rng.random() < 0.5:
            words += ["--io", "aligned"]
        module, told = scheduled(path, folder, *words, "--horizon", str(rng.choice([30, 40])))
        seen = simulate(module, folder, flow, seed)
        if "aligned" not in words:
            assert seen["between"] == told["value"], (seen, told["value"])


@test
def gate_level(folder):
    rng = random.Random(5)
    for case in range(4 if SANITIZED else 20):
        inputs = [f"i{k}" for k in range(rng.randint(1, 6))]
        lines, signals, gates = [], list(inputs), []
        for k in range(rng.randint(1, 30)):
            fanin = [rng.choice(signals) for _ in range(rng.choice([0, 1, 2, 2, 3, 5]))]
            rows = {"".join(rng.choice("01-") for _ in fanin) for _ in range(rng.randint(0, 4) if fanin else rng.randint(0, 1))}
            value = rng.choice("01") if rows else "1"
            gates.append([f".names {' '.join(fanin)} g{k}", *(f"{row} {value}" for row in sorted(rows))])
            signals.append(f"g{k}")
        rng.shuffle(gates)  # signals may be used before they are driven
        outputs = rng.sample(signals, rng.randint(1, len(signals)))
        lines = [".model m", ".inputs " + " ".join(inputs), ".outputs " + " ".join(outputs)]
        path = f"{folder}/m.blif"
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines + [line for g in gates for line in g] + [".end", ""]))
        module, told = scheduled(path, folder, "--library", GATES, "--clock", "2", "--horizon", "20")
        assert simulate(module, folder, read_blif(path), case)["between"] == told["value"]


@test
def huge_cover(folder):
    """A table of 2,000 rows over 40 inputs: tools read its expression."""
    rng = random.Random(7)
    names = [f"x{k}" for k in range(40)]
    rows = ["".join(rng.choice("01" + "-" * 12) for _ in names) + " 0" for _ in range(200 if SANITIZED else 2000)]
    path = f"{folder}/m.blif"
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join([".model m", ".inputs " + " ".join(names), ".outputs y", ".names " + " ".join(names) + " y", *rows, ".end", ""]))
    module, _ = scheduled(path, folder, "--library", GATES)
    simulate(module, folder, read_blif(path), 1)


@test
def and_inverter_graphs(folder):
    rng = random.Random(11)
    for case in range(3 if SANITIZED else 15):
        inputs, ands = rng.randint(1, 8), rng.randint(1, 40)
        most = inputs + ands
        lines = [str(2 * (k + 1)) for k in range(inputs)]
        lines += [str(rng.randint(2, 2 * most + 1)) for _ in range(rng.randint(1, 6))]
        outputs = len(lines) - inputs
        for k in range(ands):
            lines.append(f"{2 * (inputs + k + 1)} {rng.randint(0, 2 * (inputs + k) + 1)} {rng.randint(0, 2 * (inputs + k) + 1)}")
        path = f"{folder}/m.aag"
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join([f"aag {most} {inputs} 0 {outputs} {ands}", *lines, "i0 first", ""]))
        module, told = scheduled(path, folder, "--library", GATES, "--clock", "3", "--horizon", "30")
        assert simulate(module, folder, read_aag(path), case)["between"] == told["value"]


@test
def refused(folder):
    def graph(ops, edges=()):
        path = f"{folder}/g.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "sked-graph-1", "ops": ops, "edges": list(edges)}, file)
        return path

    plain = {"duration": 0, "memory": 4}
    words = ("--ii", "1", "--objective", "memory", "-o", f"{folder}/x.v")
    for ops, edges, part in (
        ([plain, plain], [[0, 1]], "says no `verilog`"),
        ([dict(plain, memory=0.5)], [], "whole `memory`"),
        ([plain, dict(plain, verilog="a + 1")], [[0, 1], [0, 1]], "more operands than its Verilog reads"),
        ([plain, dict(plain, verilog="a + b")], [{"from": 0, "to": 1, "distance": 1}], "earlier iteration"),
    ):
        message = sked("schedule", graph(ops, edges), *words, status=6)
        assert part in message, message
    with open(f"{folder}/fix.json", "w", encoding="utf-8") as file:
        json.dump({"format": "sked-fix-1", "ops": [{"name": "0", "start": 2}, {"name": "1", "start": 0}]}, file)
    back = graph([dict(plain, verilog="1'b1"), dict(plain, verilog="a")], [{"from": 0, "to": 1, "lag": -2}])
    message = sked("schedule", back, *words, "--horizon", "3", "--fix", f"{folder}/fix.json", status=6)
    assert "is read before it starts" in message, message
    message = sked("schedule", graph([plain]), "--horizon", "3", "-o", f"{folder}/x.v", status=6)
    assert "--ii 1" in message, message
    for text in ("a; initial $finish", "a // b", "a /* b", "$random", "a, b", "(a", "a)", "aa", "`include", "A", "", "  ", "a @ b", "\\x ", '"s"', "a0", "a.b"):
        message = sked("info", graph([dict(plain, verilog=text)]), status=5)
        assert "Verilog" in message, (text, message)
    with open(f"{folder}/lib.json", "w", encoding="utf-8") as file:
        json.dump({"types": {"*": {"verilog": "a + " + "1 + " * 2000 + "1"}}}, file)
    assert "4096" in sked("info", graph([plain]), "--library", f"{folder}/lib.json", status=5)


def need_data():
    if not os.path.isdir(DATA):
        raise Skip("benchmark data is not beside the project")
    if SANITIZED:
        raise Skip("whole suites take minutes with a sanitizer in them")


@test
def shared_gates(folder):
    need_data()
    for path in sorted(glob.glob(os.path.join(DATA, "epfl", "*.blif"))):
        with open(path, encoding="utf-8") as file:
            gates = file.read().count(".names")
        if gates > 5000:
            continue
        for clock in (5, 20):
            module, told = scheduled(path, folder, "--library", GATES, "--clock", str(clock))
            seen = simulate(module, folder, read_blif(path), clock)
            assert seen["between"] == told["value"], path
            print(f"{os.path.basename(path)}: {gates} gates, clock {clock}, latency {seen['latency']}, "
                  f"{told['value']:.0f} + {seen['aligning']:.0f} registers, 0 of {VECTORS} outputs differ")  # fmt: skip


# The types of the data-flow graphs: their Verilog, from the kinds above.
EXPRESS = {"add": "add", "sub": "sub", "mul": "mul", "les": "less", "imp": "copy", "exp": "copy", "lod": "add",
           "str": "add", "and": "and", "asr": "asr", "lsr": "lsr", "memr": "add", "memw": "add", "lsl": "mul",
           "div": "and", "bne": "xor", "bge": "less"}  # fmt: skip


def read_dot(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kinds = dict(re.findall(r"^\s*(\S+)\s*\[\s*label\s*=\s*(\w+)\s*\]", text, re.M))
    names = list(kinds)
    operands = {name: [] for name in names}
    for x, y in re.findall(r"^\s*(\S+)\s*->\s*([^\s;\[]+)", text, re.M):
        operands[y].append(x)
    done, order = {}, []
    while len(order) < len(names):
        for name in names:
            if name not in done and all(x in done for x in operands[name]):
                done[name] = len(order)
                order.append(name)
    ops = []
    for name in order:
        inside = sorted(operands[name], key=names.index)  # operands stand in the order of their ops
        ops.append((name, EXPRESS[kinds[name].lower()], 16, [done[x] for x in inside]))
    return Flow(ops)


@test
def shared_flows(folder):
    need_data()
    types = {}
    for kind, ours in EXPRESS.items():
        text, arity, _ = TYPES[ours]
        types[kind] = {"duration": 0, "memory": 16, "delay": 3 if ours == "mul" else 1, "verilog": text}
    with open(f"{folder}/lib.json", "w", encoding="utf-8") as file:
        json.dump({"types": types}, file)
    for path in sorted(glob.glob(os.path.join(DATA, "express_dfg", "*.dot"))):
        for clock in (3, 7):
            module, told = scheduled(path, folder, "--library", f"{folder}/lib.json", "--clock", str(clock))
            flow = read_dot(path)
            seen = simulate(module, folder, flow, clock)
            assert seen["between"] == told["value"], path
            print(f"{os.path.basename(path)}: {len(flow.ops)} ops, clock {clock}, latency {seen['latency']}, "
                  f"{told['value']:.0f} + {seen['aligning']:.0f} registers, 0 of {VECTORS} outputs differ")  # fmt: skip


print(f"{modules} modules simulated")
frame.end()
