#!/usr/bin/env python3
"""The scripts that record value over time (bench/curves.py and its rivals). Usage: bench_curves.py SKED SOURCE_FOLDER

Installs nothing: CP-SAT's models are compared with `exact` where ortools is already there, else that test is skipped.
GS-Schedule's part is tested with a program of our own in its place. Ends with the line that scripts/count.py counts.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import types
import xml.dom.minidom

from frame import Skip, end, test

SKED, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "bench"))
import circuits  # noqa: E402
import cpsat_gaus  # noqa: E402
import gs_schedule  # noqa: E402


def curves(*words, code=0):
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "curves.py"), *map(str, words)], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == code, (words, done.returncode, done.stderr[-300:])
    return done


@test
def runs_are_recorded_shown_and_drawn(folder):
    data, out = os.path.join(folder, "data"), os.path.join(folder, "out")
    os.makedirs(os.path.join(data, "rw"))
    shutil.copy(os.path.join(SOURCE, "tests", "data", "rw.gml"), os.path.join(data, "rw", "tiny.gml"))
    words = ("record", out, "--only", "rw", "--data", data, "--sked", SKED, "--solvers", "list", "fds", "gaus", "--threads", 1, 2,
             "--time-limit", 0.3, "--machine", "a <machine>")
    shown = curves(*words).stdout
    runs = [json.loads(line) for line in open(os.path.join(out, "runs.jsonl"))]
    assert {(r["set"], r["solver"], r["threads"]) for r in runs} == {
        (s, name, t) for s in ("rw-0.01", "rw-1", "rw-100") for name, t in (("list", 1), ("fds", 1), ("gaus", 1), ("gaus", 2))}, runs
    for r in runs:
        points = [json.loads(line) for line in open(os.path.join(out, r["curve"]))]
        assert points[-1]["value"] == r["value"] and r["bound"] <= r["value"], r
    assert "| tiny | gaus, 2 threads |" in shown and "a <machine>; seeds [0]" in shown and "### rw-100" in shown, shown
    picture = xml.dom.minidom.parse(os.path.join(out, "pareto.svg")).documentElement.toxml()
    assert picture.count('class="t"') == 3 and "gaus, 2 threads" in picture
    shown = curves("table", out, "--only", "rw-1").stdout  # a whole name: this set alone
    assert "### rw-1\n" in shown and "### rw-100" not in shown, shown
    curves(*words)  # nothing is run twice
    assert len(open(os.path.join(out, "runs.jsonl")).readlines()) == len(runs)


@test
def runs_of_several_machines_stand_side_by_side(folder):
    for where, solver, more in (("here", "gaus", {}), ("there", "gaus", {"backend": "cuda"}), ("there", "gs-schedule", {"device": "a GPU"})):
        os.makedirs(os.path.join(folder, where), exist_ok=True)
        row = {"set": "rw-1", "instance": "a", "solver": solver, "threads": 1, "curve": f"{solver}.jsonl", "limit": 60, "seed": 0,
               "machine": where, "value": 10, "bound": None, **more}
        with open(os.path.join(folder, where, "runs.jsonl"), "a") as out:
            out.write(json.dumps(row) + "\n")
        with open(os.path.join(folder, where, row["curve"]), "w") as out:
            out.write(json.dumps({"seconds": 2, "evaluations": 1, "value": 10, "bound": None, "method": "x"}) + "\n")
    shown = curves("table", os.path.join(folder, "here"), os.path.join(folder, "there")).stdout
    for label in ("gaus", "gaus, GPU", "gs-schedule, GPU"):
        assert f"| a | {label} | - | 10 | 10 |" in shown, shown
    assert "here; there; seeds [0]" in shown, shown
    assert "no runs" in curves("draw", os.path.join(folder, "here"), folder, code=1).stderr


@test
def foreign_records_are_refused(folder):
    with open(os.path.join(folder, "runs.jsonl"), "w") as out:
        out.write('{"set": "rw-1"}\n')
    assert "runs.jsonl:1: not a line" in curves("table", folder, code=1).stderr
    table = [sys.executable, os.path.join(SOURCE, "bench", "cpsat.py"), "--table"]
    for file, said in ((os.path.join(folder, "runs.jsonl"), ":1: not a line"), (folder, "cpsat.py: ")):
        refused = subprocess.run([*table, file], capture_output=True, text=True)
        assert refused.returncode == 1 and said in refused.stderr and "Traceback" not in refused.stderr, refused.stderr


@test
def what_found_nothing_is_said(folder):
    rows = [{"set": "rw-1", "instance": i, "solver": s, "threads": 1, "curve": f"{i}.{s}.jsonl", "limit": 60, "seed": 0, "machine": "m",
             "value": v, "bound": None, "note": "out of memory"} for i, s, v in (("a", "gaus", 10), ("b", "gaus", 20), ("a", "cpsat", 11),
                                                                                ("b", "cpsat", None), ("a", "fds", 12))]
    with open(os.path.join(folder, "runs.jsonl"), "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
        out.write('{"set": "rw-1", "cut')  # ended while it wrote
    for row in rows:
        if row["value"]:
            with open(os.path.join(folder, row["curve"]), "w") as out:
                for seconds, value in ((0.5, 2 * row["value"]), (30, row["value"])):
                    out.write(json.dumps({"seconds": seconds, "evaluations": 1, "value": value, "bound": None, "method": "x"}) + "\n")
    shown = curves("table", folder).stdout
    assert "| a | gaus | 20 | 20 | 10 | - |" in shown and "| b | cpsat | - | - | - | - | out of memory |" in shown, shown
    assert "| cpsat | +120.0 % | +120.0 % | +10.0 % | | 1 of 2 scheduled |" in shown, shown
    curves("draw", folder, "-o", os.path.join(folder, "x.svg"))
    for solver in ("cpsat", "fds"):  # found nothing, was not run
        assert f"{solver} (1 of 2)" in open(os.path.join(folder, "x.svg")).read()
    assert "no runs" in curves("table", os.path.join(folder, "none"), code=1).stderr
    assert "no set begins" in curves("table", folder, "--only", "xyz", code=2).stderr


# ---- CP-SAT --------------------------------------------------------------------------------------


@test
def windows_follow_paths(folder):
    graph = {"ops": [{"name": n, "duration": 2, "memory": 1} for n in "abc"],
             "edges": [["b", "c"], {"from": "a", "to": "b", "lag": 3, "bytes": 4}, {"from": "c", "to": "a", "distance": 1}]}
    flat = cpsat_gaus.Instance(graph, 9, 0)
    assert (flat.low, flat.high) == ([0, 3, 5], [2, 5, 7])
    assert flat.edges == [(1, 2, 2, 0, False), (0, 1, 3, 0, True), (2, 0, 2, 1, False)]
    assert cpsat_gaus.Instance(graph, 9, 7).low == [0, 3, 5]
    for horizon, ii in ((6, 0), (9, 6)):  # too short a horizon; a recurrence that the interval breaks
        try:
            cpsat_gaus.Instance(graph, horizon, ii)
            raise AssertionError("an impossible instance is taken")
        except cpsat_gaus.Refused:
            pass


@test
def models_agree_with_exact(folder):
    python = next((p for p in (sys.executable, os.path.join(SOURCE, "build", "cpsat-venv", "bin", "python")) if os.path.exists(p) and
                   subprocess.run([p, "-c", "import ortools"], capture_output=True).returncode == 0), None)
    if python is None:
        raise Skip("ortools is not installed; bench/cpsat.py installs it")
    for seed in range(2):
        graph, curve = os.path.join(folder, "g.json"), os.path.join(folder, "c.jsonl")
        subprocess.run([SKED, "generate", "layered", "--nodes", "8", "--seed", str(seed), "--duration", "int:1,3", "--memory", "int:1,4", "--bytes", "int:0,2", "--weight",
                        "int:1,5", "--quiet", "-o", graph], check=True)
        depth = json.loads(subprocess.run([SKED, "info", graph, "--json"], capture_output=True, check=True).stdout)["critical_path"]
        for objective in (["cost", "--alpha", "0.5"], ["cost", "--alpha", "0.5", "--most-steps", "0"], ["memory"],
                          ["memory", "--most-steps", "0"]):
            asked = [graph, "--objective", *objective, "--horizon", str(int(depth) + 1), "--time-limit", "20"]
            told = subprocess.run([python, os.path.join(SOURCE, "bench", "cpsat.py"), "curve", *asked, "--curve", curve, "--sked", SKED],
                                  capture_output=True, text=True, check=True)
            theirs = json.loads(told.stdout)
            ours = json.loads(subprocess.run([SKED, "schedule", *asked[:5 if "--alpha" in asked else 3], "--horizon", str(int(depth) + 1), "--method",
                                              "exact", "--json", "--quiet"], capture_output=True, check=True).stdout)
            assert theirs["optimal"] and ours["optimal"] and theirs["value"] == ours["value"], (asked, theirs, ours["value"])
            last = [json.loads(line) for line in open(curve)][-1]
            assert last["value"] == last["bound"] == ours["value"], last


# ---- GS-Schedule ---------------------------------------------------------------------------------

# As GS-Schedule's programs do: solutions are checked by a function that reads the graph, and said to be legal or not.
PROGRAM = """
import time
st, exclude_time = time.time() - 5, 2
def legal_check(L, gmlfile):
    networkx.read_gml(gmlfile)
    return 'illegal' if L[0] > L[1] else 1
for i, L in enumerate(([0, 1], [1, 0], [0, 0], [0, 1]), 1):
    print('Legal Solution!' if legal_check(L, 'g') != 'illegal' else 'Illegal Solution!')
"""


@test
def solutions_of_gs_schedule_are_watched_and_judged(folder):
    watch = gs_schedule.Watch(lambda path: path)
    watch.program.update({"print": watch.say, "networkx": types.SimpleNamespace(read_gml=watch.read)})
    exec(compile(PROGRAM, "program", "exec"), watch.program)
    assert [(epoch, steps) for _, epoch, steps in watch.found] == [(1, [0, 1]), (3, [0, 0]), (4, [0, 1])], watch.found
    assert all(3 <= seconds < 4 for seconds, _, _ in watch.found), watch.found
    graph = os.path.join(folder, "g.gml")
    with open(graph, "w") as out:
        out.write('graph [ directed 1 node [ id 0 label "0" parameter 8 ] node [ id 1 label "1" parameter 5 ]\n'
                  "edge [ source 0 target 1 parameter 3 ] ]\n")
    best = os.path.join(folder, "best.json")
    args = argparse.Namespace(sked=SKED, graph=graph, horizon=2, alpha=1.0, batch=10, output=best)
    lines = gs_schedule.lines_of(args, watch, ["0", "1"], folder)
    assert [(x["value"], x["evaluations"]) for x in lines] == [(9, 10)], lines  # 8 in a stage and a crossing; then 13: no better
    assert json.load(open(best))["ops"][1]["start"] == 1
    watch.found = [(1.0, 1, [1, 0])]
    try:
        gs_schedule.lines_of(args, watch, ["0", "1"], folder)
        raise AssertionError("an illegal solution is taken")
    except SystemExit as problem:
        assert "sked refuses a solution" in str(problem), problem


def simulate(circuit, outputs, value):
    """The outputs as a number, the lowest bit first; value: of the inputs, likewise."""
    bit = [0] + [value >> k & 1 for k in range(circuit.inputs)]
    for a, b in circuit.gates:
        bit.append((bit[a >> 1] ^ a & 1) & (bit[b >> 1] ^ b & 1))
    return sum((bit[x >> 1] ^ x & 1) << k for k, x in enumerate(outputs))


@test
def circuits_compute_what_they_say(folder):
    divider, root = circuits.Circuit(), circuits.Circuit()
    quotient, hypotenuse = circuits.divider(divider, 6), circuits.hypotenuse(root, 6)
    for a, b in ((0, 1), (35, 7), (62, 63), (1000, 41), (2900, 63)):
        found = simulate(divider, quotient, a | b << 12)
        assert found == a // b | a % b << 6, (a, b, found)
        x, y = a % 64, b
        assert simulate(root, hypotenuse, x | y << 6) == int((x * x + y * y) ** 0.5), (x, y)
    path = os.path.join(folder, "log2.aig")
    script = os.path.join(SOURCE, "bench", "circuits.py")
    subprocess.run([sys.executable, script, "log2", "8", path], check=True)
    shown = subprocess.run([SKED, "info", path], check=True, capture_output=True, text=True).stdout
    assert "8 sources" in shown, shown


@test
def chains_move_as_one(folder):
    """Ops that break edges move on together: 52. Each pushed as far as it must alone, they end at 56."""
    path = os.path.join(folder, "hypotenuse.aig")
    root = circuits.Circuit()
    root.write(circuits.Path(path), circuits.hypotenuse(root, 12))
    words = [SKED, "schedule", path, "--method", "gaus", "--objective", "memory", "--horizon", "398", "--json"]
    words += ["--iterations", "1", "--time-limit", "1000", "--set", "starts=1", "--set", "steps=40", "--set", "polish=false"]
    found = subprocess.run(words, check=True, capture_output=True, text=True)
    assert json.loads(found.stdout)["value"] <= 54, found.stdout


end()
