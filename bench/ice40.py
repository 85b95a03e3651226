#!/usr/bin/env python3
"""Registers of pipelines that meet a clock on an iCE40, measured: the loop of `sked robust --target ice40` against the
library's own delays times the factor that meets the clock (--own-delays), with as many runs each.

Usage: ice40.py SKED [--data DIR] [--runs 12] [GRAPH:CLOCK ...]
The library's delays are measured first, as libraries have them: each op alone between registers. Columns: registers by the
library's delays as they are, by these times the factor that is measured, and by the loop; how many fewer than with the
factor; critical paths; runs; the factor; how far the loop's expectation was off, at most, from the ninth run on.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile

VERILOG = {"mul": "a * ...", "add": "a + ...", "sub": "a - ...", "les": "a < b", "and": "a & ...", "asr": "a >> 3",
           "lsr": "a >> 3", "lod": "a + ...", "str": "a + ...", "memr": "a + ...", "memw": "a + ...", "imp": "a", "exp": "a"}  # fmt: skip
CASES = ["ewf:14", "hal:18", "arf:18", "fir1:18", "cosine1:18", "horner_bezier_surf_dfg__12:14", "adder:6", "multiplier-6:7"]


def sked(args, *words):
    done = subprocess.run([args.sked, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def characterise(args, folder, types):
    """The path of each op alone, between registers."""
    library = {}
    for kind, text in types.items():
        path = os.path.join(folder, "one.json")
        op = {"name": "x", "type": kind, "duration": 0, "memory": 16, "delay": 1, "verilog": text}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "sked-graph-1", "name": "one", "ops": [op], "edges": []}, file)
        told = sked(args, "robust", path, "--target", "ice40", "--clock", "1", "--measurements", "1")
        library[kind] = {"duration": 0, "memory": 16, "delay": round(told["target_time"], 2), "verilog": text}
    return library


def multiplier(folder, bits):
    """The gates of an array multiplier, as BLIF."""
    out = [".model multiplier", ".inputs " + " ".join(f"a{i} b{i}" for i in range(bits))]
    out.append(".outputs " + " ".join(f"p{i}" for i in range(2 * bits)))
    columns = [[] for _ in range(2 * bits)]
    gates = []

    def gate(name, inputs, rows):
        gates.append(f".names {' '.join(inputs)} {name}\n" + "\n".join(rows))
        return name

    for i in range(bits):
        for j in range(bits):
            columns[i + j].append(gate(f"g{i}_{j}", [f"a{i}", f"b{j}"], ["11 1"]))
    for c, column in enumerate(columns):
        k = 0
        while len(column) > 1:
            x, y, *z = column[:3]
            del column[: 2 + len(z)]
            h = gate(f"h{c}_{k}", [x, y], ["10 1", "01 1"])
            low = gate(f"s{c}_{k}", [h, *z], ["10 1", "01 1"]) if z else h
            carry = gate(f"c{c}_{k}", [x, y], ["11 1"])
            if z:
                carry = gate(f"d{c}_{k}", [carry, gate(f"e{c}_{k}", [h, *z], ["11 1"])], ["1- 1", "-1 1"])
            column.append(low)
            if c + 1 < 2 * bits:
                columns[c + 1].append(carry)
            k += 1
    for c, column in enumerate(columns):
        gate(f"p{c}", column, ["1 1"] if column else [])
    path = os.path.join(folder, f"multiplier-{bits}.blif")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join([*out, *gates, ".end", ""]))
    return path


def compare(args, folder, case, flow, gates):
    name, clock = case.rsplit(":", 1)
    path = os.path.join(args.data, "express_dfg", name + ".dot")
    library = flow
    if not os.path.exists(path):
        library = gates
        path = multiplier(folder, int(name.split("-")[1])) if "-" in name else os.path.join(args.data, "epfl", name + ".blif")
    words = ["robust", path, "--library", library, "--target", "ice40", "--clock", clock, "--measurements", str(args.runs),
             "--time-limit", "60", "--io", args.io]  # fmt: skip
    ours, own = sked(args, *words), sked(args, *words, "--own-delays")
    plain = subprocess.run([args.sked, "schedule", path, "--library", library, "--clock", clock, "--ii", "1", "--objective",
                            "memory", "--io", args.io, "--json"], capture_output=True, text=True)  # fmt: skip
    summed = f"{json.loads(plain.stdout)['value']:.0f}" if plain.returncode == 0 else "-"  # an op alone may exceed the clock
    late = [abs(math.log(r["expected"] / r["time"])) for r in ours["runs"][8:] or ours["runs"][-1:]]
    gain = 1 - ours["value"] / own["value"] if own["value"] > 0 else 0
    print(f"{name:28} {clock:>5} {summed:>8} {own['value']:8.0f} {ours['value']:8.0f} {100 * gain:6.1f} % "
          f"{own['target_time']:7.2f} {ours['target_time']:7.2f} {own['measurements']:5} {ours['measurements']:4} "
          f"{own['model']['factor']:7.2f} {100 * max(late):9.1f} %"
          + ("" if ours["met"] and own["met"] else f"   met: {ours['met']}, {own['met']}"), flush=True)  # fmt: skip
    return ours, own


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sked")
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--data", default=os.path.join(os.path.dirname(__file__), "..", "..", "shared", "data"))
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--io", default="free")
    args = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        flow, gates = os.path.join(folder, "flow.json"), os.path.join(folder, "gates.json")
        types = characterise(args, folder, VERILOG)
        with open(flow, "w", encoding="utf-8") as file:
            json.dump({"types": types}, file)
        with open(gates, "w", encoding="utf-8") as file:
            json.dump({"types": {"input": {"duration": 0}, "*": {"duration": 0, "delay": 1.3}}}, file)
        print("delays alone, ns:", ", ".join(f"{k} {v['delay']}" for k, v in types.items()))
        print(f"{'graph':28} {'clock':>5} {'summed':>8} {'factor':>8} {'loop':>8} {'fewer':>8} {'factor':>7} {'loop':>7} {'runs':>5} {'loop':>4} {'fitted':>7} {'off after 8':>11}", flush=True)
        ratios = []
        for case in args.cases:
            ours, own = compare(args, folder, case, flow, gates)
            if ours["met"] and own["met"] and ours["value"] > 0 and own["value"] > 0:
                ratios.append(ours["value"] / own["value"])
        if ratios:
            print(f"geometric mean of {len(ratios)} where registers are left: {100 * (1 - math.prod(ratios) ** (1 / len(ratios))):.1f} % fewer")


if __name__ == "__main__":
    main()
