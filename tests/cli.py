#!/usr/bin/env python3
"""Tests of the command: results, exit codes, files, documentation. Usage: cli.py SKED SOURCE_FOLDER"""
import fcntl
import functools
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import xml.dom.minidom

from frame import Skip, end, test

SKED, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
BENCH = os.path.join(os.path.dirname(SKED), "sked-bench")
EXAMPLES = os.path.join(SOURCE, "examples")


def run(*args, text=None, cwd=None, program=SKED, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "SKED_BENCH_DATA")}
    return subprocess.run([program, *map(str, args)], input=text, capture_output=True, text=True, timeout=300, cwd=cwd,
                          env={**environment, **variables})


def bench(*args, **more):
    return run(*args, program=BENCH, **more)


def suite(function):
    """A test of whole suites of benchmarks: minutes with a sanitizer in them."""

    @functools.wraps(function)
    def whole(folder):
        if os.environ.get("SKED_SKIP_SUITES"):
            raise Skip("whole suites of benchmarks take minutes with a sanitizer in them")
        function(folder)

    return test(whole)


def expect(result, code, part=None):
    assert result.returncode == code, (result.args[1:], result.returncode, result.stderr[-300:])
    if part is not None:
        assert part in result.stderr, (result.args[1:], result.stderr[-300:])
        assert result.stderr.count("\n") == 1, ("one sentence", result.stderr)
    return result


def path(name):
    return os.path.join(EXAMPLES, name)


@test
def json_summary_has_the_documented_keys(folder):
    out = json.loads(expect(run("schedule", path("cholesky.json"), "--devices", 4, "--time-limit", 0.5, "--json"), 0).stdout)
    for key in "method objective value makespan lower_bound gap valid seconds seed devices".split():
        assert key in out, key
    assert out["valid"] is True and out["devices"] == 4 and out["value"] >= out["lower_bound"]


@test
def every_writer_writes_and_check_agrees(folder):
    names = ["s.json", "s.trace.json", "s.svg", "s.html", "s.dot", "s.jsonl"]
    args = [x for n in names for x in ("-o", os.path.join(folder, n))]
    expect(run("schedule", path("cholesky.json"), "--devices", 3, "--time-limit", 0.3, *args), 0)
    assert sorted(os.listdir(folder)) == sorted(names), os.listdir(folder)
    expect(run("check", path("cholesky.json"), os.path.join(folder, "s.json")), 0)
    json.load(open(os.path.join(folder, "s.trace.json")))
    xml.dom.minidom.parse(os.path.join(folder, "s.svg"))
    plan = json.load(open(os.path.join(folder, "s.json")))
    assert plan["format"] == "sked-schedule-1" and plan["devices"] == 3 and plan["ii"] is None
    for op in plan["ops"]:
        assert set(op) == {"name", "start", "finish", "device"}, op


@test
def addresses_are_shown_and_judged(folder):
    graph, plan = os.path.join(folder, "g.json"), os.path.join(folder, "plan.json")
    sizes = {"a": 4, "b": 7.5, "c": 4, "d": 12}
    with open(graph, "w") as f:
        json.dump({"format": "sked-graph-1", "ops": [{"name": n, "duration": 1, "memory": m} for n, m in sizes.items()],
                   "edges": [["a", "b"], ["a", "c"], ["b", "d"], ["c", "d"]]}, f)
    arena = ["--objective", "arena", "--align", 4]
    files = [os.path.join(folder, name) for name in ("p.svg", "p.html")]
    shown = json.loads(expect(run("schedule", graph, "--devices", 1, *arena, "--json", "-o", plan, "-o", files[0], "-o", files[1]), 0).stdout)
    assert shown["value"] == shown["arena"] == sum(shown["device_arena"]) >= shown["peak_memory"] == 23.5, shown
    assert "arena device 0" in open(files[0]).read() and '"arenas":[{"name":"arena device 0"' in open(files[1]).read().replace("\n", "")
    text = expect(run("schedule", graph, "--devices", 1, *arena), 0).stdout
    assert f"  arena          {shown['arena']}\n" in text and f", arena {shown['arena']}\n" in text, text
    written = json.load(open(plan))
    assert written["arena"] == shown["device_arena"] and all(op["offset"] % 4 == 0 for op in written["ops"]), written
    assert json.loads(expect(run("check", graph, plan, "--offsets", "--align", 4, "--json"), 0).stdout)["arena"] == shown["arena"]
    expect(run("check", graph, plan, "--offsets", "--align", 32), 8, "no multiple of 32")
    for op in written["ops"]:
        op["offset"] = 0
    del written["arena"]
    with open(plan, "w") as f:
        json.dump(written, f)
    expect(run("check", graph, plan), 8, "overlap at address 0")
    expect(run("check", graph, path("cholesky.json"), "--offsets"), 5)
    expect(run("schedule", graph, "--offsets", "--memory-limit", 23.5), 7, "not a proof")
    expect(run("schedule", graph, "--offsets", "--memory-limit", 24), 0)
    expect(run("schedule", graph, "--offsets", "--ii", 2), 6, "pipelined")


@test
def a_sweep_is_a_section_of_the_report(folder):
    files = [os.path.join(folder, name) for name in ("c.html", "c.svg", "c.json")]
    args = [x for file in files for x in ("-o", file)]
    expect(run("schedule", path("cholesky.json"), "--objective", "resource", "--sweep", "horizon=60:100:20",
               "--time-limit", 0.2, *args), 0)
    page = open(files[0]).read()
    blocks = re.findall(r'data-kind="([a-z]+)">\n(.*?)\n</script>', page, re.S)
    assert [kind for kind, _ in blocks] == ["tradeoff", "schedule"], [kind for kind, _ in blocks]
    curve, points = json.loads(blocks[0][1]), json.load(open(files[2]))["points"]
    assert len(curve["points"]) == len(points) == 3 and curve["parameter"] == "horizon", curve
    assert curve["points"][curve["shown"]]["pareto"] is True
    for a, b in zip(curve["points"], points):
        assert a["found"] == b["found"] and (not a["found"] or (a["x"], a["y"]) == (b["makespan"], b["value"])), (a, b)
    xml.dom.minidom.parse(files[1])


@test
def a_memory_limit_is_kept_swept_or_refused(folder):
    graph, picture = os.path.join(folder, "m.json"), os.path.join(folder, "m.svg")
    ops = [{"name": n, "duration": 1, "memory": 2} for n in "abcd"]
    json.dump({"format": "sked-graph-1", "ops": ops, "edges": [["a", "c"], ["b", "d"]]}, open(graph, "w"))
    asked = ("schedule", graph, "--time-limit", 0.2)
    assert json.loads(expect(run(*asked, "--memory-limit", 8, "--json"), 0).stdout)["makespan"] == 2
    tight = json.loads(expect(run(*asked, "--memory-limit", 4, "--json"), 0).stdout)
    assert tight["makespan"] == 4 and tight["peak_memory"] == 4, tight
    expect(run(*asked, "--memory-limit", 3), 7, "need 4; 4 is the smallest limit known to work")
    expect(run(*asked, "--memory-limit", 4, "--method", "heft", "--devices", 2), 6, "memory limits")
    curve = json.loads(expect(run(*asked, "--sweep", "memory-limit=2:8:2", "--json", "-o", picture), 0).stdout)
    found = {p["memory-limit"]: p.get("makespan") for p in curve["points"]}
    assert found[2] is None and found[4] == 4 and found[8] == 2, found
    assert "no schedule" in open(picture).read()
    xml.dom.minidom.parse(picture)


@test
def value_over_time_is_written(folder):
    file = os.path.join(folder, "curve.jsonl")
    asked = ("schedule", path("cholesky.json"), "--devices", 4, "--latency", 1, "--time-limit", 0.3)
    for threads in (1, 2):
        out = json.loads(expect(run(*asked, "--threads", threads, "--curve", file, "--json"), 0).stdout)
        points = [json.loads(line) for line in open(file)]
        assert all(list(p) == ["seconds", "evaluations", "value", "bound", "method"] for p in points), points
        assert points[-1]["value"] == out["value"] and points[-1]["bound"] == out["lower_bound"], (points, out)
        assert points[-1]["seconds"] <= out["seconds"] and points[-1]["evaluations"] <= out["evaluations"], (points, out)
        for a, b in zip(points, points[1:]):
            assert a["seconds"] <= b["seconds"] and a["evaluations"] <= b["evaluations"], points
            assert (a["value"] is None or a["value"] >= b["value"]) and a["bound"] <= b["bound"], points
    before = open(file).read()
    for extra, code, part in ((["--curve", "x.csv"], 2, "written as .jsonl"), (["--curve", file, "-o", file], 2, "are one file"),
                              (["--curve", file, "--sweep", "horizon=20:30:10"], 2, "--curve takes one run"),
                              (["--curve", os.path.join(folder, "no", "x.jsonl")], 4, "x.jsonl"),
                              (["--curve", file, "--horizon", 1], 7, "horizon")):
        expect(run(*asked, "--quiet", *extra), code, part)
        assert open(file).read() == before, extra  # refused before the work, or nothing found: as it was
    pipelined = run("schedule", path("dot_product_loop.json"), "--ii", "auto", "--objective", "memory", "--time-limit", 0.3, "--curve", file)
    expect(pipelined, 0)
    assert all(json.loads(line)["ii"] > 0 for line in open(file))


@test
def an_interrupted_run_writes_its_curve(folder):
    file = os.path.join(folder, "curve.jsonl")
    process = subprocess.Popen([SKED, "schedule", path("cholesky.json"), "--devices", "4", "--latency", "1", "--time-limit", "60", "--method",
                                "search", "--quiet", "--curve", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    last = json.loads(open(file).read().splitlines()[-1])
    assert process.returncode == 0 and f"makespan {last['value']:g}" in out, (out, last)


@test
def statistics_say_what_ran(folder):
    asked = ("schedule", path("cholesky.json"), "--devices", 4, "--latency", 1, "--time-limit", 0.5, "--statistics")
    rows = json.loads(expect(run(*asked, "--json"), 0).stdout)["statistics"]
    whole = {row["method"]: row for row in rows if row["technique"] is None}
    assert {"auto", "list", "search"} <= set(whole), whole
    assert whole["list"]["calls"] == 3 and whole["auto"]["calls"] == 1, whole
    assert 0.3 < whole["auto"]["seconds"] < 5 and whole["search"]["evaluations"] > 100, whole
    assert sum(row["improvements"] for row in whole.values()) >= 1, whole
    assert any(row["method"] == "search" and row["technique"] == "annealing" for row in rows), rows
    for before, row in zip([None, *rows], rows):  # techniques stand behind their method
        assert row["technique"] is None or before["method"] == row["method"], rows
    table = expect(run(*asked), 0).stdout
    assert re.search(r"^  statistics +calls +seconds +evaluations", table, re.M), table
    assert re.search(r"^    annealing +\d+ ", table, re.M), table
    assert [row["technique"] for row in rows if row["method"] == "lower"] == [None, "lifetime"], rows
    assert whole["realise"]["calls"] > 0 and any(row["technique"] == "validate" for row in rows), rows
    expect(run(*asked, "--sweep", "horizon=200:210:10"), 2, "--statistics")


@test
def log_lines(folder):
    asked = expect(run("schedule", path("cholesky.json"), "--devices", 4, "--time-limit", 0.5, "--log", 1), 0)
    assert "driver: auto starts" in asked.stderr and "new incumbent" in asked.stderr, asked.stderr[:500]
    assert "auto starts" not in asked.stdout, asked.stdout
    more = run("schedule", path("cholesky.json"), "--devices", 4, "--method", "search", "--time-limit", 0.3, "--log", 2)
    if more.returncode != 0:
        expect(more, 6, "make debug")
    expect(run("schedule", path("cholesky.json"), "--devices", 4, "--log", 9), 2, "--log")


@test
def check_finds_a_broken_rule(folder):
    file = os.path.join(folder, "s.json")
    expect(run("schedule", path("cholesky.json"), "--devices", 2, "--method", "list", "-o", file), 0)
    plan = json.load(open(file))
    last = max(plan["ops"], key=lambda op: op["start"])
    duration = last["finish"] - last["start"]
    last["start"], last["finish"] = 0, duration
    plan["makespan"] = max(op["finish"] for op in plan["ops"])
    json.dump(plan, open(file, "w"))
    expect(run("check", path("cholesky.json"), file), 8, last["name"])
    plan["ops"].pop()
    json.dump(plan, open(file, "w"))
    expect(run("check", path("cholesky.json"), file), 8)
    open(file, "w").write("{")
    expect(run("check", path("cholesky.json"), file), 5)


@test
def same_seed_same_bytes(folder):
    files = [os.path.join(folder, n) for n in ("a.json", "b.json")]
    for file in files:
        expect(run("schedule", path("cholesky.json"), "--devices", 4, "--method", "list", "--seed", 7, "--set", "priority=random",
                   "-o", file), 0)
    assert open(files[0]).read() == open(files[1]).read()


@test
def standard_input_and_output(folder):
    text = open(path("cholesky.json")).read()
    plan = json.loads(expect(run("schedule", "-", "--devices", 2, "--method", "list", "-o", "-", text=text), 0).stdout)
    assert plan["format"] == "sked-schedule-1"
    dot = expect(run("convert", "-", "-", "--to", "dot", text=text), 0).stdout
    assert dot.startswith("digraph") or "digraph" in dot[:200]


@test
def op_library_and_resources(folder):
    out = json.loads(expect(run("schedule", path("fir.dot"), "--library", path("units.json"), "--json", "--time-limit", 2), 0).stdout)
    assert out["value"] == out["lower_bound"] == 12 or out["optimal"], out
    more = json.loads(expect(run("schedule", path("fir.dot"), "--library", path("units.json"), "--capacity", "MUL=8",
                                 "--capacity", "ALU=4", "--json"), 0).stdout)
    assert more["value"] == 5, more


@test
def loops_are_pipelined(folder):
    file = os.path.join(folder, "s.json")
    out = json.loads(expect(run("schedule", path("dot_product_loop.json"), "--objective", "ii", "--json", "-o", file), 0).stdout)
    assert out["ii"] == out["value"] == 2, out
    assert json.load(open(file))["ii"] == 2
    expect(run("schedule", path("dot_product_loop.json"), "--method", "gaus", "--ii", "auto"), 6, "objective")
    expect(run("check", path("dot_product_loop.json"), file), 0)
    expect(run("schedule", path("dot_product_loop.json"), "--ii", 1), 7)


@test
def infeasible_problems_say_why(folder):
    expect(run("schedule", path("cholesky.json"), "--devices", 2, "--horizon", 1), 7, "path")
    expect(run("schedule", path("fir.dot"), "--library", path("units.json"), "--capacity", "MUL=0"), 7, "MUL")


@test
def bad_arguments_exit_2_with_one_sentence(folder):
    graph = path("cholesky.json")
    for args, part in (
        (["shedule", graph], "schedule"), (["schedule"], "GRAPH"), (["schedule", graph, "--devises", 2], "devices"),
        (["schedule", graph, "--devices", 0], "devices"), (["schedule", graph, "--devices", "x"], "devices"),
        (["schedule", graph, "--devices", "1e999"], "devices"), (["schedule", graph, "--method", "lst"], "list"),
        (["schedule", graph, "--objective", "speed"], "makespan, resource, memory, cost, ii, arena"), (["schedule", graph, "--devices"], "value"),
        (["schedule", graph, "--method", "list", "--set", "prioritty=random"], "priority"), (["schedule", graph, "--ii", "-3"], "ii"),
        (["schedule", graph, "-o", "x.xyz"], ".trace.json .machine.json .svg .curve.svg .progress.svg .scatter.svg .html .dot .mlir .v .onnx .tflite .csv .jsonl"), (["schedule", graph, "--devices", 2, "--devices", 3], "twice"),
        (["schedule", graph, "--top", 2], "candidates"), (["generate", "layred", "--nodes", 5, "-o", "x.json"], "layered"),
        (["generate", "layered", "-o", "x.json"], "nodes"), (["generate", "layered", "--nodes", -1, "-o", "x.json"], "nodes"),
        (["convert", graph, "-", "--to", "doot"], "dot"), (["methods", "lst"], "list"), (["help", "infos"], "info"),
        (["schedule", graph, "extra"], "extra"), (["schedule", graph, "--capacity", "MUL"], "NAME=K"),
    ):
        expect(run(*args, cwd=folder), 2, part)
    assert os.listdir(folder) == []


@test
def bad_input_has_the_documented_codes(folder):
    expect(run("info", os.path.join(folder, "none.json")), 4, "none.json")
    expect(run("info", folder), 4)
    cases = {"a.json": '{"format":"sked-graph-1","ops":[{"duration":1}],"edges":[[0,1]]}',
             "b.json": '{"format":"sked-graph-1","ops":[{"name":"x","duration":1},{"name":"y","duration":1}],'
                       '"edges":[["x","y"],["y","x"]]}',
             "c.json": '{"format":"sked-graph-1","ops":[{"duration":-1}],"edges":[]}',
             "d.json": '{"format":"sked-graph-1","ops":[{"duration":1e999}],"edges":[]}',
             "e.json": "[" * 100000, "f.stg": "banana", "g.dot": "digraph {", "h.json": "", "i.sm": "\0\1\2\3"}
    for name, text in cases.items():
        file = os.path.join(folder, name)
        open(file, "w").write(text)
        expect(run("schedule", file, "--devices", 2, "-o", os.path.join(folder, "out.json")), 5, name)
    cyclic = expect(run("info", os.path.join(folder, "b.json")), 5, "x -> y")
    assert "cycle" in cyclic.stderr
    assert not os.path.exists(os.path.join(folder, "out.json"))


@test
def unwritable_output_leaves_nothing(folder):
    target = os.path.join(folder, "missing", "s.json")
    expect(run("schedule", path("cholesky.json"), "--devices", 2, "--method", "list", "-o", target), 4)
    assert os.listdir(folder) == []


@test
def conversion_round_trips(folder):
    native = os.path.join(folder, "g.json")
    for extension in ("dot", "gml", "graphml"):
        middle, back = os.path.join(folder, "g." + extension), os.path.join(folder, extension + ".json")
        expect(run("convert", path("dot_product_loop.json"), native), 0)
        expect(run("convert", native, middle), 0)
        expect(run("convert", middle, back), 0)
        assert open(native).read() == open(back).read(), extension


@test
def a_machine_comes_out_of_files_that_describe_one(folder):
    network = os.path.join(SOURCE, "tests", "data", "json_dnn.json")
    target, again = os.path.join(folder, "node.machine.json"), os.path.join(folder, "again.machine.json")
    expect(run("convert", network, target), 0)
    machine = json.load(open(target))
    assert machine["format"] == "sked-machine-1" and len(machine["devices"]) == 13, machine
    assert expect(run("convert", network, "-", "--to", "machine"), 0).stdout == open(target).read()
    expect(run("convert", target, again), 0)
    assert open(target).read() == open(again).read()
    expect(run("convert", path("cholesky.json"), os.path.join(folder, "none.machine.json")), 5, "format")
    assert sorted(os.listdir(folder)) == ["again.machine.json", "node.machine.json"]


@test
def generators_are_reproducible(folder):
    families = re.findall(r"^  ([a-z-]+) +\S", expect(run("help", "generate"), 0).stdout.split("families\n")[1].split("\ndist")[0],
                          flags=re.M)
    assert len(families) == 13, families
    for family in families:
        out = [expect(run("generate", family, "--nodes", 60, "--seed", seed, "-o", "-"), 0).stdout for seed in (1, 1, 2)]
        assert out[0] == out[1], family
        json.loads(out[0])
    loop, more = (os.path.join(folder, name) for name in ("loop.json", "more.json"))
    expect(run("generate", "layered", "--nodes", 60, "--back-edges", 5, "--distance", 2, "-o", loop), 0)
    assert json.loads(expect(run("info", loop, "--json"), 0).stdout)["carried_edges"] == 5
    expect(run("convert", loop, more, "--back-edges", 4, "--seed", 3), 0)
    assert json.loads(expect(run("info", more, "--json"), 0).stdout)["carried_edges"] == 9
    expect(run("convert", loop, more, "--back-edges", 4, "--distance", 0), 2, "distance")
    expect(run("generate", "loop", "--nodes", 60, "--distance", 3, "-o", more), 2, "--set distance=D")
    expect(run("generate", "layered", "--nodes", 20, "--count", 3, "-o", os.path.join(folder, "many")), 0)
    assert len(os.listdir(os.path.join(folder, "many"))) == 3


@test
def interrupt_gives_the_best_so_far(folder):
    graph, file = os.path.join(folder, "g.json"), os.path.join(folder, "s.json")
    expect(run("generate", "layered", "--nodes", 400, "--duration", "int:1,50", "-o", graph), 0)
    process = subprocess.Popen([SKED, "schedule", graph, "--devices", "7", "--time-limit", "60", "--method", "search", "-o", file],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.0)
    begin = time.time()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 0 and time.time() - begin < 10, process.returncode
    expect(run("check", graph, file), 0)


@test
def time_limit_is_kept(folder):
    graph = os.path.join(folder, "g.json")
    expect(run("generate", "erdos-renyi", "--nodes", 300, "--duration", "int:1,50", "-o", graph), 0)
    for method in ("search", "auto"):
        out = json.loads(expect(run("schedule", graph, "--devices", 5, "--time-limit", 1, "--method", method, "--json"), 0).stdout)
        assert out["optimal"] or out["seconds"] < 3, out  # generous: machines under test are busy


@test
def candidates_are_many_and_different(folder):
    file = os.path.join(folder, "s.jsonl")
    out = json.loads(expect(run("schedule", path("cholesky.json"), "--devices", 4, "--method", "list", "--set", "priority=random",
                                "--candidates", 20, "--top", 5, "--json", "-o", file), 0).stdout)
    lines = [json.loads(line) for line in open(file)]
    assert out["candidates"] == len(lines) == 5 and out["ged"] > 0
    spans = [line["makespan"] for line in lines]
    assert spans == sorted(spans)


@test
def warm_start_and_fixed_decisions(folder):
    first, second, fix = (os.path.join(folder, n) for n in ("a.json", "b.json", "fix.json"))
    expect(run("schedule", path("cholesky.json"), "--devices", 3, "--time-limit", 0.5, "-o", first), 0)
    expect(run("schedule", path("cholesky.json"), "--devices", 3, "--time-limit", 0.3, "--start", first, "-o", second), 0)
    assert json.load(open(second))["makespan"] <= json.load(open(first))["makespan"]
    name = json.load(open(first))["ops"][0]["name"]
    json.dump({"format": "sked-fix-1", "ops": [{"name": name, "device": 2}]}, open(fix, "w"))
    expect(run("schedule", path("cholesky.json"), "--devices", 3, "--time-limit", 0.3, "--fix", fix, "-o", second), 0)
    assert [op["device"] for op in json.load(open(second))["ops"] if op["name"] == name] == [2]


@test
def models_of_every_policy_are_used(folder):
    graph, small = path("cholesky.json"), ["--set", "dim=8", "--set", "layers=1", "--set", "batch=4", "--set", "validate=0"]
    for policy in ("policy=encode-once", "policy=stepwise"):
        for backward in ("backward=uniform", "backward=learned"):
            model = os.path.join(folder, policy + backward + ".safetensors")
            expect(run("train", "--graphs", "layered:6", "--devices", 3, "--steps", 2, "--quiet", *small, "--set", policy,
                       "--set", backward, "-o", model), 0)
            drawn = expect(run("sample", graph, "--devices", 3, "--candidates", 5, "--raw", "--model", model, "-o", "-"), 0)
            assert len(drawn.stdout.splitlines()) == 5
            out = run("schedule", graph, "--devices", 3, "--method", "gflownet", "--set", "model=" + model, "--json")
            assert json.loads(expect(out, 0).stdout)["valid"] is True
    expect(run("sample", graph, "--devices", 9, "--model", model, "--quiet"), 6, "up to 8 devices")
    expect(run("schedule", graph, "--devices", 3, "--method", "gflownet", "--set", "model=missing"), 4, "missing")


@test
def help_manual_and_tables_agree(folder):
    usage = expect(run("help"), 0).stdout
    commands = re.findall(r"^  ([a-z]+) ", usage, flags=re.M)
    assert "schedule" in commands and "bench" not in commands
    pages = {f"sked-{command}.1" for command in commands} | {"sked.1"}
    assert pages <= set(os.listdir(os.path.join(os.path.dirname(SKED), "man"))), pages
    for command in commands:
        text = expect(run("help", command), 0).stdout
        assert text == expect(run(command, "--help"), 0).stdout
        manual = expect(run("help", command, "--man"), 0).stdout.replace("\\-", "-")
        assert not re.search(r" $", manual, flags=re.M), command
        for option in re.findall(r"^  --([a-z-]+) ", text, flags=re.M):
            assert option in manual, (command, option)
    codes = dict(re.findall(r"^\.TP\n(\d+)\n(.+)$", expect(run("help", "--man"), 0).stdout, flags=re.M))
    assert sorted(map(int, codes)) == [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], codes


def longest(text):
    """Longest line that is not one word that cannot be broken."""
    return max((len(line) for line in text.splitlines() if len(line.split()) > 1), default=0)


@test
def help_wraps_at_the_width(folder):
    commands = re.findall(r"^  ([a-z]+) ", expect(run("help"), 0).stdout, flags=re.M)
    methods = [m["name"] for m in json.loads(expect(run("methods", "--json"), 0).stdout)]
    texts = [["help"], ["methods"], ["formats"], ["targets"], *(["help", c] for c in commands), *(["methods", m] for m in methods)]
    for columns, width in (("60", 60), (None, 80), ("", 80), ("nonsense", 80), ("0", 80), ("100", 100)):
        variables = {} if columns is None else {"COLUMNS": columns}
        for args in texts:
            shown = expect(run(*args, **variables), 0).stdout
            assert longest(shown) <= width, (args, columns, longest(shown))
            assert not re.search(r" $", shown, flags=re.M), args
    wide = expect(run("help", "schedule", COLUMNS="100"), 0).stdout
    assert longest(wide) > 80, longest(wide)
    narrow = expect(run("help", "schedule", COLUMNS="60"), 0).stdout
    assert re.sub(r"[\s\\]+", " ", wide) == re.sub(r"[\s\\]+", " ", narrow), "the same words"
    assert longest(expect(bench("help", COLUMNS="50"), 0).stdout) <= 50


def on_terminal(program, args, columns=80):
    """What the program writes to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    process = subprocess.Popen([program, *map(str, args)], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    process.wait(timeout=60)
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


@test
def help_and_errors_fit_the_terminal(folder):
    for columns in (60, 120):
        assert longest(on_terminal(SKED, ["help", "schedule"], columns)) <= columns
    assert longest(on_terminal(SKED, ["help", "schedule"], 120)) > 80
    complaint = on_terminal(SKED, ["schedule", "x.json", "--devices", "many"], 40)
    assert longest(complaint) <= 40 and complaint.count("\n") > 1 and "\n      " in complaint, complaint


@test
def help_shows_the_defaults_that_runs_use(folder):
    def default(command, option):
        shown = re.sub(r"\n {8,}", " ", expect(run("help", command), 0).stdout)
        return re.search(rf"^  --{option} .*\(default (\S+)\)$", shown, flags=re.M).group(1)
    out = json.loads(expect(run("schedule", path("fir.dot"), "--library", path("units.json"), "--json"), 0).stdout)
    assert str(out["seed"]) == default("schedule", "seed") and str(out["threads"]) == default("schedule", "threads")
    assert out["method"] == default("schedule", "method")
    graph = os.path.join(folder, "g.json")
    expect(run("generate", "layered", "--nodes", 400, "--duration", "uniform:1,50", "-o", graph), 0)
    out = json.loads(expect(run("schedule", graph, "--devices", 7, "--json"), 0).stdout)
    limit = float(default("schedule", "time-limit"))
    assert out["optimal"] or limit * 0.9 < out["seconds"] < 3 * limit, out
    drawn = expect(run("sample", path("cholesky.json"), "--devices", 3, "--raw", "--quiet"), 0).stdout.splitlines()
    assert len(drawn) == int(default("sample", "candidates"))
    assert float(default("sample", "temperature")) == 0 < json.loads(drawn[0])["temperature"]
    out = json.loads(expect(run("robust", path("cholesky.json"), "--devices", 3, "--one-shot", "--method", "list", "--set", "priority=random",
                                "--target", "noisy", "--quiet", "--json"), 0).stdout)
    assert out["methods"][0]["candidates"] == int(default("robust", "candidates")), out
    assert out["measurements"] == out["methods"][0]["measured"] == int(default("robust", "top")), out


@test
def every_method_and_format_is_documented(folder):
    for method in json.loads(expect(run("methods", "--json"), 0).stdout):
        page = os.path.join(SOURCE, "docs", "methods", method["name"] + ".md")
        assert os.path.exists(page), page
        text = open(page).read()
        for option in method["options"]:
            assert option["name"] in text, (method["name"], option["name"])
    for form in json.loads(expect(run("formats", "--json"), 0).stdout):
        assert os.path.exists(os.path.join(SOURCE, "docs", "formats", form["name"] + ".md")), form["name"]
    readme = open(os.path.join(SOURCE, "README.md")).read()
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert os.path.exists(os.path.join(SOURCE, link)), link


@test
def completion_is_valid_bash(folder):
    script = expect(run("help", "--completion"), 0).stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    assert "_sked" in script


@test
def unsupported_requests_exit_6(folder):
    expect(run("schedule", path("cholesky.json"), "--devices", 2, "--backend", "cuda"), 6, "CUDA")
    expect(run("schedule", path("cholesky.json"), "--devices", 2, "--method", "heft", "--objective", "memory"), 6, "heft")


@test
def robust_compares_and_reports(folder):
    page, picture, plan = (os.path.join(folder, n) for n in ("r.html", "r.scatter.svg", "r.json"))
    shown = expect(run("robust", path("cholesky.json"), "--devices", 4, "--target", "bandwidth", "--time-limit", 1, "--one-shot", "--candidates",
                       50, "--top", 20, "--quiet", "-o", page, "-o", picture, "-o", plan), 0).stdout
    for method in ("list", "random list", "brkga", "search", "gflownet"):
        assert re.search(rf"^{method} +\d+ ", shown, flags=re.M), (method, shown)
    assert shown.count("<- winner") == 1
    expect(run("check", path("cholesky.json"), plan), 0)
    text = open(page).read()
    data = json.loads(re.search(r'data-kind="robust">\n(.*?)\n</script>', text, flags=re.S).group(1))
    assert [m["name"] for m in data["methods"]] == ["list", "random list", "brkga", "search", "gflownet"]
    assert data["methods"][data["winner"]]["targetSpeedup"] == max(m["targetSpeedup"] for m in data["methods"])
    assert 'data-kind="schedule"' in text
    xml.dom.minidom.parse(picture)
    for name in ("r.scatter.svg", "r.curve.svg", "r.machine.json"):
        expect(run("schedule", path("cholesky.json"), "--devices", 2, "--method", "list", "-o", os.path.join(folder, name)), 6, "sked robust")


@test
def one_shot_as_json(folder):
    args = ["robust", path("cholesky.json"), "--devices", 4, "--target", "bandwidth", "--time-limit", 1, "--one-shot", "--candidates", 30,
            "--top", 5, "--quiet", "--json"]
    out = json.loads(expect(run(*args), 0).stdout)
    assert list(out) == ["target", "measurements", "failures", "target_speedup", "target_time", "proxy_speedup", "seconds", "seed", "end",
                         "noise", "curve", "winner", "methods"], list(out)
    assert out["measurements"] == len(out["curve"]) == sum(m["measured"] for m in out["methods"]) <= 21  # fewer where the time ends first
    assert out["curve"] == sorted(out["curve"]) and out["curve"][-1] == out["target_speedup"] == max(m["target_speedup"] for m in out["methods"])
    assert (out["end"], out["noise"], out["failures"], out["winner"]["valid"]) == ("budget", None, 0, True), out
    assert list(out["methods"][0]) == ["method", "candidates", "measured", "left_out", "proxy_speedup", "target_speedup", "ged", "d_inv", "d_sen", "seconds"]
    one = json.loads(expect(run(*args, "--method", "list", "--local", "off"), 0).stdout)
    other = json.loads(expect(run(*args, "--method", "list", "--improve", 2), 0).stdout)
    assert [m["method"] for m in one["methods"]] == ["random list"] and one["curve"] != other["curve"], "the stages change nothing"


@test
def one_shot_leaves_out_what_no_target_replays(folder):
    lags = [(0, 1, 1), (0, 4, -2), (0, 8, -9), (1, 3, -9), (1, 4, -6), (1, 7, 1), (2, 8, 1), (3, 7, -6), (4, 5, 1), (5, 6, -9), (5, 8, -6), (6, 8, -2)]
    graph = os.path.join(folder, "g.json")
    json.dump({"format": "sked-graph-1", "ops": [{"duration": d} for d in (4, 4, 2, 2, 4, 2, 1, 4, 3)],
               "edges": [{"from": a, "to": b, "lag": lag} for a, b, lag in lags]}, open(graph, "w"))
    args = ["robust", graph, "--devices", 2, "--target", "proxy", "--one-shot", "--candidates", 40, "--top", 20, "--time-limit", 600, "--iterations", 20]
    done = expect(run(*args, "--json"), 0)
    out = json.loads(done.stdout)
    left = sum(m["left_out"] for m in out["methods"])
    assert out["failures"] == left > 0 and out["measurements"] == left + sum(m["measured"] for m in out["methods"]), out
    assert done.stderr.count("contradict the graph") == left, done.stderr
    assert f", {left} of them left out" in expect(run(*args, "--quiet"), 0).stdout


@test
def the_loop_learns_and_reports(folder):
    page, curve, picture, plan, fitted = (os.path.join(folder, n) for n in ("r.html", "r.curve.svg", "r.scatter.svg", "r.json", "r.machine.json"))
    graph = path("recommender.json")
    args = ["robust", graph, "--devices", 4, "--target", "linear", "--measurements", 8, "--time-limit", 2]
    out = json.loads(expect(run(*args, "--json", "-o", page, "-o", curve, "-o", picture, "-o", plan, "-o", fitted), 0).stdout)
    assert list(out) == ["target", "measurements", "failures", "target_speedup", "target_time", "proxy_speedup", "seconds", "seed", "end",
                         "noise", "curve", "model", "winner", "methods"], list(out)
    assert 2 <= out["measurements"] == len(out["curve"]) <= 8 and out["curve"] == sorted(out["curve"]), out
    assert out["curve"][-1] == out["target_speedup"] and out["end"] in ("budget", "time", "settled") and out["noise"] >= 0, out
    for name in ("latency", "bandwidth"):
        assert set(out["model"][name]) == {"mean", "spread"} and out["model"][name]["mean"] > 0, out["model"]
    expect(run("check", graph, plan), 0)
    page = open(page).read()
    data = json.loads(re.search(r'data-kind="loop">\n(.*?)\n</script>', page, flags=re.S).group(1))
    assert len(data["measurements"]) == out["measurements"] and [p["name"] for p in data["parameters"]] == list(out["model"])
    assert abs(data["measurements"][-1]["best"] - out["target_speedup"]) < 1e-9
    assert any(abs(m["speedup"] - out["target_speedup"]) < 1e-6 for m in data["measurements"])
    for file in (curve, picture):
        xml.dom.minidom.parse(file)
    used = json.loads(expect(run("schedule", graph, "--machine", fitted, "--time-limit", 1, "--json"), 0).stdout)
    assert used["machine"] == "fitted" and used["devices"] == 4, used
    shown = expect(run(*args), 0).stdout
    for part in (r"^winner       time ", r"^measured     \d+ times, noise .* %; ", r"^best after +1 +2", r"^speedup +[\d.]+", r"^fitted +mean +spread",
                 r"^latency +[\d.]+ +[\d.]+ +[\d.e-]+ \.\. ", r"<- winner"):
        assert re.search(part, shown, flags=re.M), (part, shown)
    told = on_terminal(SKED, [*args[:-4], "--measurements", 3, "--time-limit", 0.5])
    assert re.search(r"measured  1 of 3, best time [\d.]+\n", told) and "scheduling" in told, told


@test
def measurements_are_kept_and_resumed(folder):
    script, count, log, other = (os.path.join(folder, n) for n in ("measure.sh", "count", "runs.jsonl", "more.jsonl"))
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\necho x >> {count}\ncksum < "$1" | cut -c1-3\n')
    os.chmod(script, 0o755)
    args = ["robust", path("cholesky.json"), "--devices", 2, "--time-limit", 1, "--quiet", "--json", "--target", f"command:{script}"]
    runs = lambda: len(open(count).read().split())
    lines = lambda file: open(file).read().splitlines()
    out = json.loads(expect(run(*args, "--measurements", 3), 0).stdout)
    assert sorted(os.listdir(folder)) == ["count", "measure.sh"], "nothing is written unasked"
    first = runs()
    out = json.loads(expect(run(*args, "--measurements", 3, "--log", log), 0).stdout)
    assert runs() - first == out["measurements"] == len(lines(log)) - 1 and json.loads(lines(log)[0])["format"] == "sked-measurements-2"
    kept, before = lines(log), runs()
    out = json.loads(expect(run(*args, "--measurements", 5, "--resume", log, "--log", other), 0).stdout)
    assert lines(log) == kept and out["curve"][:3] != [] and len(out["curve"]) == out["measurements"] <= 5
    assert runs() - before == out["measurements"] - len(kept) + 1, "measured twice"
    before = runs()
    out = json.loads(expect(run(*args, "--measurements", 5, "--resume", log), 0).stdout)
    assert lines(log)[:len(kept)] == kept and len(lines(log)) == 1 + out["measurements"] == len(kept) + runs() - before
    expect(run("robust", path("recommender.json"), *args[2:], "--resume", log), 2, "another graph")
    expect(run(*args, "--resume", os.path.join(folder, "none.jsonl")), 4)


@test
def a_loop_survives_a_target_that_fails(folder):
    script, count, graph = (os.path.join(folder, n) for n in ("measure.sh", "count", "g.json"))
    expect(run("generate", "layered", "--nodes", 20, "-o", graph), 0)
    with open(script, "w") as f:  # every third run fails
        f.write(f'#!/bin/sh\necho x >> {count}\nn=$(wc -l < {count})\n[ $((n % 3)) -eq 0 ] && exit 1\necho $((1000 + n))\n')
    os.chmod(script, 0o755)
    args = ["robust", graph, "--devices", 2, "--measurements", 6, "--iterations", 5, "--time-limit", 600, "--json"]
    out = json.loads(expect(run(*args, "--target", f"command,retries=0:{script}"), 0).stdout)
    assert 1 <= out["failures"] == len(open(count).read().split()) // 3 and out["measurements"] <= 6, out
    expect(run(*args, "--quiet", "--target", "command,retries=0,timeout=1:false"), 9)


@test
def robust_options_belong_to_one_way(folder):
    base = ["robust", path("cholesky.json"), "--devices", 2, "--target", "noisy"]
    plan = os.path.join(folder, "x.jsonl")
    for option in (("--method", "list"), ("--candidates", 5), ("--top", 5), ("--local", "off"), ("--improve", 1), ("--min-distance", 1)):
        expect(run(*base, *option), 2, f"{option[0]} is for --one-shot")
    for option in (("--measurements", 5), ("--prior", plan), ("--resume", plan), ("--log", plan)):
        expect(run(*base, "--one-shot", *option), 2, f"{option[0]} is for the loop")
    expect(run(*base, "--one-shot", "--local", "maybe"), 2, "on or off")
    expect(run(*base, "--one-shot", "-o", os.path.join(folder, "x.machine.json")), 2, "fits no machine")
    expect(run(*base, "-o", os.path.join(folder, "x.xyz")), 2, ".machine.json")
    expect(run(*base, "-o", plan), 2, "the extension selects the writer")
    expect(run(*base, "--log", "-"), 2, "standard output has the result")
    expect(run(*base, "--log", plan + ".json", "-o", plan + ".json"), 2, "are one file")
    open(plan, "w").close()
    os.symlink(plan, os.path.join(folder, "y.json"))
    expect(run(*base, "--prior", plan, "-o", os.path.join(folder, "y.json")), 2, "would replace the input")
    expect(run(*base, "--resume", plan, "-o", os.path.join(folder, "y.json")), 2, "are one file")
    os.remove(os.path.join(folder, "y.json"))
    expect(run(*base, "--prior", plan, "--log", plan), 2, "would replace the input")
    expect(run(*base, "--log", os.path.join(folder, "none", "x.jsonl")), 4)
    assert os.listdir(folder) == ["x.jsonl"] and os.path.getsize(plan) == 0


def write_machine(folder, name="gpu 0", **more):
    """Two processors and a card, and a graph that knows it; returns the paths of both."""
    graph, machine = os.path.join(folder, "g.json"), os.path.join(folder, "m.json")
    ops = [{"name": f"op{i}", "duration": 2 + i % 3, "durations": {name: 1, "npu": 3}, "memory": 10} for i in range(12)]
    edges = [{"from": i // 2, "to": i, "bytes": 8} for i in range(1, 12)]
    json.dump({"format": "sked-graph-1", "name": "tree", "ops": ops, "edges": edges}, open(graph, "w"))
    devices = [{"name": "cpu0", "type": "cpu"}, {"name": "cpu1", "type": "cpu"}, {"name": name, "type": "gpu", "speed": 2, **more}]
    json.dump({"format": "sked-machine-1", "name": "desk", "latency": 1, "bandwidth": 4, "devices": devices,
               "links": [{"from": "cpu", "to": "gpu", "latency": 1, "bandwidth": 16}]}, open(machine, "w"))
    return graph, machine


@test
def devices_of_a_machine_have_names(folder):
    graph, machine = write_machine(folder)
    plan = os.path.join(folder, "s.json")
    base = ["schedule", graph, "--machine", machine, "--method", "heft", "--time-limit", 0.5]
    out = json.loads(expect(run(*base, "--json", "-o", plan), 0).stdout)
    assert (out["machine"], out["devices"], out["device_names"]) == ("desk", 3, ["cpu0", "cpu1", "gpu 0"]), out
    assert len(out["device_memory"]) == 3 and 0 < max(out["device_memory"]) <= out["peak_memory"] <= sum(out["device_memory"])
    text = expect(run(*base), 0).stdout
    assert "machine        desk" in text and "device         gpu 0, peak memory " in text, text
    checked = json.loads(expect(run("check", graph, plan, "--machine", machine, "--json"), 0).stdout)
    assert checked["device_names"] == out["device_names"] and checked["device_memory"] == out["device_memory"]
    assert "3 devices of desk" in expect(run("check", graph, plan, "--machine", machine), 0).stdout
    written = json.load(open(plan))
    assert written["device_names"] == out["device_names"] and written["machine"] == "desk"
    for op in written["ops"]:  # by name, as another program may write it
        op["device"] = written["device_names"][op["device"]]
    json.dump(written, open(plan, "w"))
    expect(run("check", graph, plan, "--machine", machine), 0)
    expect(run("check", graph, plan), 8, "gpu 0")


@test
def info_describes_a_machine(folder):
    graph, machine = write_machine(folder, memory=1000)
    result = expect(run("info", graph, "--machine", machine), 0, "'npu'")  # misspelt, or for another machine
    assert "'gpu 0'" not in result.stderr
    for part in ("machine        desk, 3 devices", "device         gpu 0 (gpu), speed 2, memory 1000", "memory unlimited",
                 "link           cpu - gpu, latency 1, bandwidth 16", "link           all other pairs, latency 1, bandwidth 4"):
        assert part in result.stdout, (part, result.stdout)
    out = json.loads(run("info", graph, "--machine", machine, "--json").stdout)["machine"]
    assert out["devices"][2] == {"name": "gpu 0", "type": "gpu", "speed": 2, "memory": 1000} and out["bandwidth"] == 4
    assert out["links"] == [{"from": "cpu", "to": "gpu", "latency": 1, "bandwidth": 16, "oneway": False}]


def trace_back(folder, graph, *machine):
    """The graph after its own schedule's trace was read as a profile, and what the command said of it."""
    trace, back = os.path.join(folder, "s.trace.json"), os.path.join(folder, "back.json")
    expect(run("schedule", graph, *machine, "--time-limit", 0.3, "-o", trace), 0)
    said = expect(run("convert", graph, back, "--profile", trace), 0)
    return {op["name"]: op for op in json.load(open(back))["ops"]}, said.stderr


@test
def a_trace_read_back_gives_its_durations(folder):
    graph, machine = os.path.join(folder, "g.json"), os.path.join(folder, "m.json")
    times = {"a": 0.1, "b": 8.125, "c": 0.1 + 0.2}  # the shortest makes a unit of time a millisecond in the trace
    json.dump({"format": "sked-graph-1", "edges": [["a", "b"], ["a", "c"]],
               "ops": [{"name": k, "duration": v, "durations": {"gpu": v / 8}} for k, v in times.items()]}, open(graph, "w"))
    json.dump({"format": "sked-machine-1", "latency": 0, "devices": [{"name": "c0", "type": "cpu"}, {"name": "g0", "type": "gpu"}]},
              open(machine, "w"))
    ops, said = trace_back(folder, graph, "--devices", 2)
    assert {k: op["duration"] for k, op in ops.items()} == times, ops
    assert "3 of 3 ops measured" in said, said
    ops, said = trace_back(folder, graph, "--machine", machine)
    for name, op in ops.items():  # on the device it ran on; elsewhere nothing changes
        assert op["duration"] == times[name] and op["durations"]["gpu"] == times[name] / 8, op
        assert op["durations"].get("c0", times[name]) == times[name], op
        assert op["durations"].get("g0", times[name] / 8) == times[name] / 8, op
        assert ("c0" in op["durations"]) != ("g0" in op["durations"]), op


@test
def profiles_are_of_types_and_say_what_they_cover(folder):
    graph, cpu, gpu = (os.path.join(folder, name) for name in ("g.json", "c.json", "g=1.json"))
    json.dump({"format": "sked-graph-1", "ops": [{"name": f"op{k}", "duration": 5} for k in range(10)], "edges": []}, open(graph, "w"))
    json.dump({f"op{k}": 7 for k in range(9)}, open(cpu, "w"))
    json.dump([{"name": "op1", "ph": "X", "dur": 2}, {"name": "aten::mm", "ph": "X", "dur": 3}], open(gpu, "w"))
    back = os.path.join(folder, "back.json")
    said = expect(run("convert", graph, back, "--profile", "cpu=" + cpu, "--profile", "gpu=" + gpu), 0).stderr
    assert "c.json: 9 of 10 ops measured\n" in said, said  # nine of ten: no warning
    assert "g=1.json: 1 of 10 ops measured; the others keep their durations: 'op0', 'op2', 'op3'; " \
           "names in it that no op has: 'aten::mm'\n" in said, said
    ops = json.load(open(back))["ops"]
    assert ops[1] == {"name": "op1", "duration": 5, "durations": {"cpu": 7, "gpu": 2}}, ops[1]
    assert ops[9] == {"name": "op9", "duration": 5}, ops[9]
    expect(run("info", graph, "--profile", "=" + cpu), 2, "a profile is FILE or TYPE=FILE")
    expect(run("info", graph, "--profile", "gpu=missing.json"), 4, "missing.json")
    expect(run("convert", graph, gpu, "--profile", "gpu=" + gpu), 2, "would replace the input")


@test
def memory_needs_sizes(folder):
    shop = os.path.join(folder, "shop.txt")
    with open(shop, "w") as file:
        file.write("2 2\n0 3 1 2\n1 4 0 1\n")
    expect(run("schedule", shop, "--objective", "memory"), 6, "no op of the graph has a memory: give ops theirs, or every value one "
                                                               "with --memory 1")
    out = json.loads(expect(run("schedule", shop, "--objective", "memory", "--memory", 3, "--json"), 0).stdout)
    assert out["value"] > 0 and out["value"] % 3 == 0, out
    assert "the limit limits nothing" in expect(run("schedule", shop, "--memory-limit", 1), 0).stderr
    assert json.loads(expect(run("info", shop, "--memory", 3, "--json"), 0).stdout)["memory"] == 12
    expect(run("info", shop, "--memory", 0), 2, "--memory expects")


@test
def targets_say_what_they_run_where(folder):
    graph, machine = write_machine(folder)

    def said(target, *more):
        return run("robust", graph, "--target", target, "--measurements", 1, "--time-limit", 0.2, *more).stderr

    assert "note: target linear: a model of 2 devices; times are in the graph's unit\n" in said("linear+jitter", "--devices", 2)
    text = said("threads:unit=1e-5,oversubscribe=true", "--machine", machine)
    assert "note: target threads: 3 devices are pinned threads on " in text and "a duration of 1 takes 0.00001 s (unit=)" in text, text
    assert "note: target threads: devices of type 'gpu' have no counterpart" in text, text
    text = said("command:echo 1", "--devices", 2)
    assert "note: target command: 'echo 1' runs each schedule" in text and "times are in its unit" in text, text
    for target in ("onnxruntime:model.onnx", "torch:model.pt2"):
        expect(run("robust", graph, "--machine", machine, "--target", target), 6, "of the machine differ: its times would mean nothing")
    if shutil.which(os.path.join(os.path.dirname(SKED), "sked-simgrid")):
        node = os.path.join(EXAMPLES, "platforms", "two-clusters.xml")
        text = said("simgrid:" + node, "--machine", os.path.join(EXAMPLES, "platforms", "two-clusters.machine.json"))
        assert "west-0 on west-0, west-1 on west-1" in text and "a duration of 1 is 1 s of simulated time" in text, text
        assert "not all devices" not in text, text
        text = said("simgrid,unit=0.5:" + node, "--machine", machine)
        assert "on east-0" in text and "a duration of 1 is 0.5 s" in text and "not all devices have a host of their name" in text, text


@test
def schedules_are_compared(folder):
    graph, machine, a, b, both = (os.path.join(folder, name) for name in ("g.json", "m.json", "a.json", "b.json", "both.svg"))
    json.dump({"format": "sked-graph-1", "ops": [{"name": n, "duration": d, "memory": 4} for n, d in zip("xyzw", (2, 3, 4, 1))],
               "edges": [{"from": "x", "to": "z", "bytes": 8}, {"from": "x", "to": "w", "bytes": 6}]}, open(graph, "w"))

    def plan(file, starts, devices):
        json.dump({"format": "sked-schedule-1", "devices": 2, "ops": [
            {"name": n, "start": s, "device": d} for n, s, d in zip("xyzw", starts, devices)]}, open(file, "w"))

    plan(a, (0, 2, 5, 9), (0, 0, 0, 0))
    plan(b, (0, 0, 2, 2), (1, 0, 1, 1))  # not valid: z and w at once on device 1
    expect(run("compare", graph, a, b), 8)
    plan(b, (0, 0, 2, 6), (1, 0, 1, 1))
    text = expect(run("compare", graph, a, b, "-o", both), 0).stdout
    for line in ("makespan                             10              7    -30.00 %", "transfers                             0              0",
                 "busy device 0                        10              7", "busy device 1                         0              3",
                 # the devices of b are renumbered: all but y stay
                 "moved                    1 of 4 ops to another device, 3 start at another time",
                 "  y                      device 0 at 2 -> device 1 at 0", "  z                      device 0 at 5 -> device 0 at 2"):
        assert line in text, (line, text)
    svg = xml.dom.minidom.parse(both)
    assert [t.firstChild.data for t in svg.getElementsByTagName("text") if t.getAttribute("class") == "ti"] == ["a.json", "b.json"]
    out = json.loads(expect(run("compare", graph, a, b, "--json"), 0).stdout)
    assert out["moved"] == 1 and out["shifted"] == 3 and out["b"]["busy"] == [7, 3], out
    plan(b, (0, 0, 3, 2), (0, 1, 1, 0))
    assert "bytes moved                           0              8" in expect(run("compare", graph, a, b), 0).stdout
    assert expect(run("compare", graph, a, a), 0).stdout.count("0 of 4 ops to another device, 0 start") == 1
    expect(run("compare", graph, a, b, "-o", "x.html"), 2, "drawn as .svg")
    expect(run("compare", graph, a, b, "-o", a), 2)
    json.dump({"format": "sked-schedule-1", "devices": 3, "ops": [
        {"name": n, "start": s, "device": 2} for n, s in zip("xyzw", (0, 2, 5, 9))]}, open(b, "w"))
    expect(run("compare", graph, a, b), 2, "has 2 devices")


@test
def methods_stand_side_by_side(folder):
    picture, g = os.path.join(folder, "p.svg"), path("recommender.json")
    base = ["schedule", g, "--devices", 3, "--time-limit", 0.3]
    text = expect(run(*base, "--method", "heft,list,search", "-o", picture), 0).stdout
    assert text.splitlines()[0].split() == ["heft", "list", "search"] and "lower bound" in text and "bytes moved" in text, text
    assert len([t for t in xml.dom.minidom.parse(picture).getElementsByTagName("text") if t.getAttribute("class") == "ti"]) == 3
    out = json.loads(expect(run(*base, "--method", "heft,list", "--json"), 0).stdout)
    for method in out["methods"]:  # each for itself: what it gives alone
        alone = json.loads(expect(run(*base, "--method", method["name"], "--json"), 0).stdout)
        assert alone["value"] == method["value"] and method["winner"] == method["name"], (alone, method)
    expect(run(*base, "--method", "heft,heft"), 2, "twice")
    expect(run(*base, "--method", "heft,lost"), 2, "no method is called 'lost'")
    expect(run(*base, "--method", "heft,list", "--candidates", 3), 2, "leave out")
    expect(run(*base, "--method", "heft,list", "-o", "x.html"), 2, "drawn as .svg")


@test
def a_proof_is_no_victory_of_another(folder):
    text = expect(run("schedule", path("recommender.json"), "--devices", 1, "--method", "exact", "--time-limit", 3), 0).stdout
    assert "won by" not in text and re.search("method         exact: the schedule of [a-z]+, proved optimal, ", text), text


@test
def units_are_named_swept_and_tabled(folder):
    units = [path("fir.dot"), "--library", path("units.json")]
    table, svg, page = (os.path.join(folder, name) for name in ("plan.csv", "curve.svg", "knee.html"))
    base = ["schedule", *units, "--objective", "resource", "--horizon", 10, "--time-limit", 0.3]
    text = expect(run(*base, "--capacity", "MUL=4", "--capacity", "ALU=4", "-o", table), 0).stdout
    assert re.search(r"^  resource       [0-9]+: MUL [0-9], ALU [0-9]$", text, re.M), text
    out = json.loads(expect(run(*base, "--capacity", "MUL=4", "--capacity", "ALU=4", "--json"), 0).stdout)
    assert sum(out["resource_peaks"].values()) == out["value"] and set(out["resource_peaks"]) == {"MUL", "ALU"}, out
    lines = [line.split(",") for line in open(table).read().splitlines()]
    assert lines[0] == ["op", "type", "device", "start", "finish", "waits"] and len(lines) == 16, lines
    assert [float(x[3]) for x in lines[1:]] == sorted(float(x[3]) for x in lines[1:]), lines
    assert all(float(x[4]) - float(x[3]) == {"mul": 2, "add": 1}[x[1]] and float(x[5]) >= 0 for x in lines[1:]), lines
    sweep = ["schedule", *units, "--sweep", "MUL=1:4:1", "--time-limit", 0.3]
    points = json.loads(expect(run(*sweep, "--json", "-o", svg, "-o", page), 0).stdout)
    assert points["sweep"] == points["x"] == "MUL" and [p["MUL"] for p in points["points"]] == [1, 2, 3, 4], points
    for p in points["points"]:  # what the capacity alone gives
        alone = json.loads(expect(run("schedule", *units, "--capacity", f"MUL={p['MUL']}", "--time-limit", 0.3, "--json"), 0).stdout)
        assert alone["value"] == p["value"], (p, alone)
    assert [p["value"] for p in points["points"]] == [19, 11, 10, 9], points
    assert "MUL" in open(svg).read() and os.path.getsize(page) > 10000
    expect(run("schedule", *units, "--sweep", "DIV=1:4:1"), 2, "a resource of the graph, not 'DIV=1:4:1'")


@test
def what_moves_is_said(folder):
    graph, machine, table = (os.path.join(folder, name) for name in ("g.json", "m.json", "t.csv"))
    json.dump({"format": "sked-graph-1", "ops": [{"name": 'a,"b"', "duration": 2, "durations": {"c1": None}},
               {"name": "c", "duration": 1, "durations": {"c0": None}}, {"name": "d", "duration": 1, "durations": {"c0": None}}],
               "edges": [{"from": 0, "to": 1, "bytes": 8}, {"from": 0, "to": 2, "bytes": 6}]}, open(graph, "w"))
    json.dump({"format": "sked-machine-1", "latency": 1, "bandwidth": 8, "devices": [{"name": "c0"}, {"name": "c1"}]}, open(machine, "w"))
    text = expect(run("schedule", graph, "--machine", machine, "-o", table), 0).stdout
    assert "  moved          8 bytes in 1 transfer\n" in text, text  # once to each device, with the bytes of its largest edge
    out = json.loads(expect(run("schedule", graph, "--machine", machine, "--json"), 0).stdout)
    assert out["bytes_moved"] == 8 and out["transfers"] == 1, out
    trace = os.path.join(folder, "t.trace.json")
    expect(run("schedule", graph, "--machine", machine, "-o", trace), 0)
    flows = [e for e in json.load(open(trace))["traceEvents"] if e["ph"] == "s"]
    assert [(e["name"], e["args"]) for e in flows] == [("transfer", {"bytes": 8}), ("transfer", {"bytes": 6})], flows
    rows = open(table).read().splitlines()
    assert rows[1] == '"a,""b""",,c0,0,2,0', rows
    last = {row.split(",")[0]: row.split(",")[2:] for row in rows[2:]}
    assert last["d"] in (["c1", "3.75", "4.75", "0"], ["c1", "5", "6", "1.25"]) and last["c"][0] == "c1", rows


def protobuf(number, value):
    """One field of a message: text, a message, or a number."""
    if isinstance(value, int):
        return bytes([8 * number, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([8 * number + 2, len(value)]) + value


@test
def symbolic_dimensions_have_names(folder):
    def tensor(name, *dims):
        shape = b"".join(protobuf(1, protobuf(2, d) if isinstance(d, str) else d and protobuf(1, d)) for d in dims)
        return protobuf(1, name) + protobuf(2, protobuf(1, protobuf(1, 1) + protobuf(2, shape)))

    model, other = os.path.join(folder, "m.onnx"), os.path.join(folder, "g.json")
    node = protobuf(1, "x") + protobuf(2, "y") + protobuf(3, "relu") + protobuf(4, "Relu")
    graph = protobuf(1, node) + protobuf(2, "g") + protobuf(11, tensor("x", "batch", "S", 8, b"")) + \
        protobuf(12, tensor("y", "batch", "S", 8, "unknown"))
    with open(model, "wb") as file:
        file.write(protobuf(1, 8) + protobuf(7, graph))
    plain = expect(run("info", model, "--json"), 0)
    assert "m.onnx: symbolic dimensions of its inputs count as 1: 'batch', 'S', and 1 without a name; --dim batch=K" in plain.stderr
    assert json.loads(plain.stdout)["memory"] == 32, plain
    sized = expect(run("info", model, "--json", "--dim", "batch=4", "--dim", "S=16"), 0)
    assert json.loads(sized.stdout)["memory"] == 32 * 64, sized
    assert "'batch'" not in sized.stderr and "1 without a name" in sized.stderr, sized
    expect(run("info", model, "--dim", "bach=4"), 2, "no symbolic dimension 'bach'")
    assert "did you mean 'batch'" in run("info", model, "--dim", "bach=4").stderr
    for wrong in ("batch", "=3", "batch=0", "batch=x", "batch=1.5"):
        expect(run("info", model, "--dim", wrong), 2, "--dim expects NAME=K")
    expect(run("info", model, "--dim", "S=2", "--dim", "S=3"), 2, "'S' twice")
    json.dump({"format": "sked-graph-1", "ops": [], "edges": []}, open(other, "w"))
    expect(run("info", other, "--dim", "S=2"), 2, "format native has no symbolic dimensions")


@test
def durations_of_a_machine_are_used(folder):
    graph, machine = write_machine(folder)
    node, profile = json.load(open(machine)), os.path.join(folder, "p.json")
    node["durations"] = {"op0": 1000, "op1": {"gpu": 500}, "nobody": 1}
    json.dump(node, open(profile, "w"))
    said = expect(run("info", graph, "--machine", profile), 0)
    assert "machine has durations of 'nobody', which no op of the graph is called" in said.stderr, said
    assert "profile        3 durations" in said.stdout, said.stdout
    assert json.loads(expect(run("info", graph, "--machine", profile, "--json"), 0).stdout)["machine"]["durations"] == 3
    assert "durations of" not in run("info", graph, "--machine", machine).stderr
    plan, base = os.path.join(folder, "s.json"), ["schedule", graph, "--method", "heft", "--json", "--time-limit", 0.5]
    plain = json.loads(expect(run(*base, "--machine", machine), 0).stdout)["makespan"]
    slow = json.loads(expect(run(*base, "--machine", profile, "-o", plan), 0).stdout)["makespan"]
    assert plain < 100 and slow >= 500, (plain, slow)
    expect(run("check", graph, plan, "--machine", profile), 0)
    expect(run("check", graph, plan, "--machine", machine), 8)  # without the profile its times are wrong
    changed = os.path.join(folder, "g2.json")
    expect(run("convert", graph, changed, "--machine", profile), 0)
    ops = json.load(open(changed))["ops"]
    assert ops[0]["duration"] == 1000 and ops[1]["durations"]["gpu"] == 500, ops[:2]
    node["devices"] = [{"name": "a"}, {"name": "b"}]  # equal devices: the sampler takes them too
    del node["links"], node["durations"]["op1"]
    node["latency"], node["bandwidth"] = 0, None
    json.dump(node, open(profile, "w"))
    drawn = expect(run("sample", graph, "--machine", profile, "--candidates", 3), 0).stdout.splitlines()
    assert all(json.loads(line)["proxy_makespan"] >= 1000 for line in drawn)
    won = json.loads(expect(run("robust", graph, "--machine", profile, "--target", "latency", "--one-shot", "--method", "list",
                                "--candidates", 5, "--json"), 0).stdout)
    assert won["target_time"] >= 1000, won


@test
def names_of_devices_do_not_command_terminals(folder):
    graph, machine = write_machine(folder, name="\x1b[31mred\x07 </script>")
    page = os.path.join(folder, "r.html")
    for args in (["info", graph], ["schedule", graph, "--method", "list", "-o", page]):
        result = expect(run(*args, "--machine", machine), 0)
        assert "\x1b" not in result.stdout + result.stderr and "\\x1b[31mred" in result.stdout, result.stdout
    assert "red\\u0007 </script>" not in open(page).read()


@test
def robust_and_sample_take_machines_where_they_can(folder):
    graph, machine = write_machine(folder)
    base = ["robust", graph, "--machine", machine, "--one-shot", "--candidates", 10, "--top", 4, "--time-limit", 0.2]
    result = expect(run(*base, "--target", "noisy", "--json"), 0)
    assert json.loads(result.stdout)["winner"]["device_names"] == ["cpu0", "cpu1", "gpu 0"]
    expect(run(*base, "--target", "noisy+latency+contention", "--json"), 0)
    drawn = expect(run("sample", graph, "--machine", machine, "--candidates", 20, "--raw"), 0).stdout.splitlines()
    assert len(drawn) == 20 and "cpu0" in drawn[0], drawn[0]
    expect(run("sample", graph, "--machine", machine, "--any-machine"), 6, "prior")
    drawn = [json.loads(expect(run("sample", path("cholesky.json"), "--devices", 3, *cost, "--candidates", 20), 0).stdout.splitlines()[0])
             for cost in ((), ("--latency", 5), ("--bandwidth", 1e-3))]
    assert drawn[0]["proxy_makespan"] < min(d["proxy_makespan"] for d in drawn[1:]), drawn
    expect(run("sample", graph, "--machine", machine, "--improve", 2), 6, "improvement")
    expect(run("sample", graph), 2, "--machine FILE")
    expect(run("robust", graph, "--target", "noisy"), 2, "--machine FILE")
    expect(run(*base, "--devices", 2, "--target", "noisy"), 2, "exclude each other")


@test
def targets_compose_and_say_so(folder):
    text = expect(run("targets"), 0).stdout
    assert "Targets compose" in text and "repeat" in text.split("Targets compose")[1], text
    listed = json.loads(expect(run("targets", "--json"), 0).stdout)
    options = {t["name"]: [o["name"] for o in t["options"]] for t in listed}
    assert options["contention"] == ["bus", "repeat", "warm-up", "trace", "parallel"], options
    assert {"noisy", "linear", "contention", "cache", "jitter", "command"} <= set(options), options
    page = open(os.path.join(SOURCE, "docs", "targets.md")).read()
    for name, names in options.items():
        for word in [name, *names]:
            assert f"`{word}" in page, f"docs/targets.md does not describe {word}"
    base = ["robust", path("cholesky.json"), "--devices", 2, "--one-shot", "--method", "list", "--candidates", 5, "--json", "--target"]
    assert run(*base, "noisy+linear+jitter").stdout != run(*base, "noisy+linear").stdout
    expect(run(*base, "noisy+linaer"), 2, "did you mean 'linear'?")
    expect(run(*base, "noisy+command:true"), 2, "stands alone")


@test
def programs_measure_and_their_failures_are_reported(folder):
    script, count = os.path.join(folder, "measure.sh"), os.path.join(folder, "count")
    with open(script, "w") as f:  # every third run fails
        f.write(f'#!/bin/sh\necho x >> {count}\nn=$(wc -l < {count})\n[ $((n % 3)) -eq 0 ] && exit 1\n'
                'grep -c \'"device"\' "$1"\n')
    os.chmod(script, 0o755)
    args = ["robust", path("cholesky.json"), "--devices", 2, "--one-shot", "--method", "list", "--candidates", 9, "--top", 9, "--json"]
    result = expect(run(*args, "--target", f"command,retries=0:{script}"), 0)
    out = json.loads(result.stdout)
    assert out["failures"] == 3 and result.stderr.count("was not measured") == 3, (out, result.stderr)
    os.remove(count)
    out = json.loads(expect(run(*args, "--target", f"command,retries=1:{script}"), 0).stdout)
    assert out["failures"] == 0
    expect(run(*args, "--quiet", "--target", "command,retries=0,timeout=1:false"), 9, "none of the candidates")
    expect(run(*args, "--target", "command,speed=1:true"), 2, "speed")


@test
def samples_carry_what_the_manual_says(folder):
    file, better = (os.path.join(folder, n) for n in ("s.jsonl", "b.jsonl"))
    base = ["sample", path("cholesky.json"), "--devices", 3, "--candidates", 40, "--quiet"]
    expect(run(*base, "-o", file), 0)
    lines = [json.loads(line) for line in open(file)]
    assert [line["proxy_makespan"] for line in lines] == sorted(line["proxy_makespan"] for line in lines)
    for line in lines:
        assert {"log_prob", "proxy_makespan", "temperature", "ged", "d_inv", "d_sen"} <= set(line) and line["log_prob"] < 0
    assert lines[0]["ged"] == lines[0]["d_sen"] == 0 and all(line["d_sen"] > 0 for line in lines[1:])
    expect(run(*base, "--improve", 3, "-o", better), 0)
    assert json.loads(open(better).readline())["proxy_makespan"] <= lines[0]["proxy_makespan"]
    expect(run(*base, "--local", "-o", better), 0)
    assert json.loads(open(better).readline())["proxy_makespan"] == lines[0]["proxy_makespan"]
    assert len(expect(run(*base, "--greedy"), 0).stdout.splitlines()) == 1
    expect(run(*base, "--raw", "--improve", 3), 2, "--raw")


@test
def graphs_like_a_publication(folder):
    graph = os.path.join(folder, "g.json")
    expect(run("generate", "watts-strogatz", "--nodes", 50, "--like", "paper", "-o", graph), 0)
    assert len(json.load(open(graph))["edges"]) == 200
    expect(run("generate", "tree", "--nodes", 50, "--like", "paper", "-o", graph), 2, "no graphs of this family")


@suite
def paper_suite_says_where_it_loses(folder):
    shown = expect(bench("paper", "--only", "random", "--sample", 25, "--seeds", 2, "--list", "--quiet"), 0).stdout
    for part in ("Where a gflownet row is below", "in the paper", "92.02", "seed 0", "2 seed(s)", "erdos-renyi 0, 50 ops", "s in all"):
        assert part in shown, (part, shown)
    for method in ("list", "random list", "brkga", "search", "gflownet, built in"):
        for stages in ("as made", "local", "local, improve=5"):  # of the graph, and in the mean
            assert len(re.findall(rf"^\| {method} \| {stages} \| (-|\d+) \| \d+\.\d+ ± ", shown, flags=re.M)) == 2, (method, stages)
    assert "encode-once" not in shown, shown  # nothing is trained here
    expect(bench("paper", "--only", "nothing"), 2, "table1, table2, table3, figures, generators")
    picture = os.path.join(folder, "t.svg")
    expect(bench("paper", "-o", picture), 2, "--only temperature")
    expect(bench("paper", "--json", "/no/such/folder/x.jsonl"), 4, "/no/such/folder")
    expect(bench("paper", "--only", "temperature", "--sample", 25, "--quiet", "-o", picture), 0)
    xml.dom.minidom.parse(picture)


def networks(folder, *names):
    """Benchmark data of tiny networks with these names."""
    lines = ["name,kind,ops,edges,work_ms,critical_path_ms,parallelism,depth,width,edge_mb"]
    os.makedirs(os.path.join(folder, "networks"))
    for name in names:
        expect(run("generate", "layered", "--nodes", 20, "-o", os.path.join(folder, "networks", name + ".json")), 0)
        lines.append(f"{name},inference,20,40,1,1,2,5,5,1")
    with open(os.path.join(folder, "networks", "networks.csv"), "w") as file:
        file.write("\n".join(lines) + "\n")
    return folder


@suite
def paper_suite_trains_and_records(folder):
    record = os.path.join(folder, "r.jsonl")
    base = ["paper", "--seeds", 1, "--updates", 2, "--models", os.path.join(folder, "models"), "--quiet", "--json", record]
    data = networks(os.path.join(folder, "data"), "hrnet_w18", "train_mlp_8", "rgcn_12rel")
    shown = expect(bench(*base, "--only", "table1", "--data", data), 0).stdout
    for row in ("ppo, encode-once | as made", "gflownet, encode-once | local, improve=5", "ppo | in the paper"):
        assert f"\n| {row} |" in shown, (row, shown)
    shown = expect(bench(*base, "--only", "table3", "--data", data), 0).stdout
    assert "Mean of 2 graph(s), 1 seed(s)" in shown and "\n| gflownet, encode-once | as made | 2 |" in shown, shown
    rows = [json.loads(line) for line in open(record)]
    assert rows[0]["kind"] == "run" and rows[0]["seeds"] == 1 and not rows[0]["full"], rows[0]
    for method in ("list", "brkga", "ppo, encode-once", "gflownet, encode-once"):
        mine = [r for r in rows if r["kind"] == "row" and r["method"] == method]
        assert [r["stages"] for r in mine] == ["as made", "local", "local, improve=5"], mine
        assert all(1 <= r["top1"] <= 4 and r["graphs"] == 2 for r in mine), mine
        assert all((r["updates"] == 2) == ("encode" in method) for r in mine), mine
    assert [r["top1"] for r in rows if r["kind"] == "published"] == [2.74, 2.59, 2.41, 2.71], rows
    again = expect(bench(*base, "--only", "table3", "--data", data), 0).stdout  # with the models of the first run

    def without_seconds(text):
        return re.sub(r"\d+\.\d+ \|$|\d+\.\d s ", "", text, flags=re.M)

    assert without_seconds(again) == without_seconds(shown), again
    unknown = networks(os.path.join(folder, "other"), "hrnet_w18", "no_family_of_ours")
    expect(bench(*base, "--only", "table3", "--data", unknown), 6, "row 3: this network is in no family")


@suite
def paper_suite_trains_in_several_processes(folder):
    models, data = os.path.join(folder, "models"), networks(os.path.join(folder, "data"), "rgcn_12rel")
    base = ["paper", "--only", "table1", "--seeds", 1, "--updates", 3, "--stepwise", "--stepwise-updates", 1, "--data", data, "--quiet", "--models"]
    expect(bench(*base, models, "--train", "never"), 4, "there is no such model")
    expect(bench("paper", "--train", "only"), 2, "--only table1")
    expect(bench("paper", "--only", "table1", "--train", "sometimes"), 2, "auto, only or never")
    words = [BENCH, *map(str, [*base, models, "--train", "only"])]
    pair = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    shown = [p.communicate()[0] for p in pair]
    assert all(p.returncode == 0 for p in pair) and not any("| list |" in text for text in shown), shown
    alone = os.path.join(folder, "alone")
    expect(bench(*base, alone, "--train", "only"), 0)
    assert sorted(os.listdir(models)) == sorted(os.listdir(alone)) and len(os.listdir(alone)) == 6, os.listdir(models)
    for name in os.listdir(alone):  # whoever trained it: the same bytes
        assert open(os.path.join(models, name), "rb").read() == open(os.path.join(alone, name), "rb").read(), name
    base[base.index("--seeds") + 1] = 2  # of which the second has no models; trained on the CPU, drawn anywhere
    shown = expect(bench(*base, models, "--train", "never", "--backend", "auto"), 0).stdout
    assert "\n| gflownet, stepwise (1 seed) | as made | 1 |" in shown and "\n| ppo, encode-once (1 seed) | local | 3 |" in shown, shown
    assert "\n| gflownet, rule + stepwise (1 seed) | as made | 3 |" in shown, shown  # it has a start, as encode-once
    assert "\n| random list | as made |" in shown and "2 seed(s)" in shown, shown


@suite
def paper_suite_runs_what_the_pages_say(folder):
    listed = subprocess.run([sys.executable, "scripts/evidence.py", "--list"], stdout=subprocess.PIPE, text=True, check=True, cwd=SOURCE).stdout
    commands = re.findall(r": sked-bench (paper .*?)(?: &&|$)", listed, flags=re.M)
    assert len(commands) > 4, listed
    os.mkdir(os.path.join(folder, "build"))
    for command in commands:  # the words are read, then the set is refused before anything runs
        words = re.sub(r" --only \S+", "", command).split()
        expect(bench(*words, "--only", "nothing", cwd=folder), 2, "the sets of this suite are")


@suite
def paper_suite_goes_on_from_results(folder):
    models, data = os.path.join(folder, "models"), networks(os.path.join(folder, "data"), "rgcn_12rel")
    results = os.path.join(folder, "results.csv")
    base = ["paper", "--only", "table1", "--updates", 2, "--data", data, "--quiet"]

    def rows(*words):
        shown = expect(bench(*base, *words), 0).stdout
        return [re.sub(r"[^|]+\|$", "", line) for line in shown.splitlines() if re.match(r"\| (ppo, enc|gflownet, enc|random)", line)]

    whole = rows("--seeds", 2, "--models", models, "--rows", "n")  # all but brkga, search and list
    for seed in (0, 1):  # in pieces: seeds, and rows by their names
        rows("--seed", seed, "--seeds", 1, "--models", models, "--results", results, "--rows", "encode-once")
    rows("--seeds", 2, "--models", models, "--results", results, "--rows", "random")
    lines = open(results).read().splitlines()
    assert len(lines) == 1 + 3 * 3 * 2 and len(set(lines)) == len(lines), lines
    with open(results, "a") as file:  # files of several machines, joined
        file.write(lines[0] + "\n")
    none = os.path.join(folder, "none")
    joined = rows("--seeds", 2, "--train", "never", "--models", none, "--results", results, "--rows", "n")
    assert joined == whole, (joined, whole)  # no model is needed, and the missing row is made now
    shown = expect(bench(*base, "--seeds", 2, "--train", "never", "--models", none, "--results", results, "--rows", "once"), 0).stdout
    assert "| ppo, encode-once | as made | 2 |" in shown and "\n| random list | as made" not in shown, shown
    assert len(open(results).read().splitlines()) == 2 + 3 * 4 * 2, "only what was missing is added"
    with open(results, "a") as file:
        file.write("0.1.0,table1,list,0,0,as made\n")
    expect(bench(*base, "--results", results), 5, "results.csv, line 27: not a line of results")
    expect(bench(*base, "--results", "/no/such/folder/r.csv"), 4, "/no/such/folder")
    expect(bench(*base, "--rows", "stepwize"), 2, "no method of the tables")
    expect(bench("paper", "--only", "tune", "--rows", "list"), 2, "variance, tb and ppo")


@suite
def paper_suite_devices_and_tuning(folder):
    record = os.path.join(folder, "r.jsonl")
    base = ["paper", "--seeds", 1, "--updates", 1, "--sample", 10, "--models", os.path.join(folder, "models"), "--quiet", "--only"]
    data = networks(os.path.join(folder, "data"), "rgcn_12rel")
    shown = expect(bench(*base, "devices", "--data", data), 0).stdout
    for devices in ("its own", "at random", "left idle the shortest"):
        assert shown.count(f"| gflownet, encode-once | {devices} |") == 2, shown  # the graph of table 1, those of table 2
    crossing = {m.group(1): float(m.group(2)) for m in re.finditer(r"^\| random list \| ([^|]+) \|(?:[^|]+\|){5} ([0-9.]+) \|", shown, re.M)}
    assert crossing["left idle the shortest"] < crossing["at random"], crossing
    shown = expect(bench(*base, "devices", "--data", data, "--rows", "random"), 0).stdout
    assert "| random list | its own |" in shown and "| brkga |" not in shown, shown
    expect(bench(*base, "tune", "--train", "only", "--rows", "tb"), 0)
    assert {re.sub("-cpu.*", "", n) for n in os.listdir(os.path.join(folder, "models")) if n.startswith("tune")} == {"tune-tb"}, "one loss"
    expect(bench(*base, "tune", "--train", "only", "--json", record), 0)
    expect(bench(*base, "tune", "--train", "never", "--json", record), 0)
    rows = [r for r in map(json.loads, open(record)) if r["kind"] == "tune"]
    for loss in ("variance", "tb", "ppo"):
        mine = [r for r in rows if r["loss"] == loss]
        assert len(mine) == 13 and len({r["settings"] for r in mine}) == 13 and "default" in {r["settings"] for r in mine}, mine
        assert [r["top100"] for r in mine] == sorted((r["top100"] for r in mine), reverse=True) and mine[0]["updates"] == 1, mine


@suite
def paper_suite_figures_and_generators(folder):
    record, models = os.path.join(folder, "r.jsonl"), os.path.join(folder, "models")
    base = ["paper", "--seeds", 1, "--updates", 10, "--models", models, "--quiet", "--json", record, "--only"]
    expect(bench(*base, "figures"), 0)
    rows = [json.loads(line) for line in open(record)]
    kinds = [r["kind"] for r in rows]
    assert kinds.count("correlation") == 3 and kinds.count("rewards") == 8 and kinds.count("curve") == 5, kinds
    for r in rows:
        assert r["kind"] != "rewards" or sum(r["counts"]) == 1000, r
        assert r["kind"] != "curve" or r["updates"] == list(range(1, 11)) and all(1 <= x <= 4 for x in r["mean"]), r
    warm = {r["temperature"]: r["mean"] for r in rows if r["kind"] == "rewards"}
    assert warm[0.01] > warm[0.1] > warm[1], warm
    expect(bench(*base, "generators", "--sample", 10), 0)
    means = {r["set"]: r for r in map(json.loads, open(record)) if r["kind"] == "generators" and r["family"] == "mean"}
    assert means["--like paper"]["list"] < means["default"]["list"], means
    assert means["--like paper"]["edges"] > means["default"]["edges"], means


@suite
def robust_suite_says_what_was_reached(folder):
    base = ["robust", "--sample", 10, "--list", "--quiet", "--time-limit", 0.5]
    shown = expect(bench(*base, "--only", "linear"), 0).stdout
    for part in ("percent of the informed search", "loop, mean of 1", "standard deviation", "one-shot, list", "one-shot, gflownet", "seed 0", "s in all"):
        assert part in shown, (part, shown)
    assert re.search(r"^linear +after 10: +[\d.]+ % \(must 97, stretch 99\): (BELOW|reached|stretch reached)", shown, flags=re.M), shown
    shown = expect(bench(*base, "--only", "cache", "--graphs", "bare"), 0).stdout
    assert "percent of the best of 10,000 random list schedules" in shown and "cache      after 30" in shown, shown
    expect(bench(*base, "--only", "nothing"), 2, "bandwidth, latency, linear")
    expect(bench(*base, "--graphs", "nothing"), 2, "random, networks or bare")


@test
def schedules_run_on_threads(folder):
    base = ["robust", path("cholesky.json"), "--measurements", 2, "--iterations", 1, "--quiet", "--json", "--target"]
    fast = "threads:oversubscribe=true,unit=1e-6,repeat=1,warm-up=0"
    out = json.loads(expect(run(*base, fast, "--devices", 2), 0).stdout)
    assert out["target"] == fast and out["failures"] == 0 and out["target_time"] > 0, out
    expect(run(*base, "threads", "--devices", 100000), 6, "oversubscribe=true")
    expect(run(*base, "threads:memory-limit=1", "--devices", 1), 6, "memory-scale")
    expect(run(*base, "threads+jitter", "--devices", 1), 2, "stands alone")
    script = subprocess.run([os.path.join(SOURCE, "examples", "threads.sh"), SKED, folder], capture_output=True, text=True)
    assert script.returncode == 0 and json.load(open(os.path.join(folder, "threads.json")))["format"] == "sked-schedule-1", script


@test
def schedules_run_on_simgrid_or_it_says_how_to_get_it(folder):
    platform = os.path.join(SOURCE, "examples", "platforms", "two-clusters.xml")
    base = ["robust", path("cholesky.json"), "--devices", 4, "--measurements", 2, "--iterations", 1, "--quiet", "--json", "--target"]
    if os.path.exists(os.path.join(os.path.dirname(SKED), "sked-simgrid")):
        out = json.loads(expect(run(*base, f"simgrid:{platform}"), 0).stdout)
        assert out["failures"] == 0 and out["target_time"] > 0, out
    else:
        expect(run(*base, f"simgrid:{platform}"), 6, "libsimgrid-dev")
    expect(run(*base, "simgrid:nowhere.xml"), 4, "nowhere.xml")
    expect(run(*base, "simgrid"), 2, "PLATFORM.xml")


@suite
def real_suite_runs_schedules(folder):
    base = ["real", "--quick", "--list", "--quiet"]
    shown = expect(bench(*base, "--only", "threads", "--devices", 2), 0).stdout
    if "skipped: " not in shown:  # a single core
        for part in ("threads: 2 devices, target threads:kind=arithmetic", "list, one", "geometric mean of 1", "fitted to all of them", "seed 0", "s in all"):
            assert part in shown, (part, shown)
    expect(bench(*base, "--only", "threads", "--devices", 1), 2, "--devices")
    shown = expect(bench(*base, "--only", "factor", "--seeds", 2), 0).stdout
    assert "geometric mean of 1" in shown and "times as fast as search" in shown, shown
    expect(bench(*base, "--only", "nothing"), 2, "threads, memory, simgrid and factor")


@test
def benchmarks_are_a_program_of_their_own(folder):
    usage = expect(bench("help"), 0).stdout
    assert usage == expect(bench("--help"), 0).stdout
    suites = re.findall(r"^  ([a-z]+) ", usage, flags=re.M)
    assert sorted(suites) == ["arena", "gaus", "gflownet", "hardware", "help", "memory", "paper", "quality", "real", "robust", "sampler", "scale", "targets"], suites
    for suite in suites:
        assert expect(bench("help", suite), 0).stdout == expect(bench(suite, "--help"), 0).stdout
    assert bench().returncode == 2
    expect(bench("scala"), 2, "did you mean 'scale'")
    expect(bench("help", "paperr"), 2, "did you mean 'paper'")
    for args, part in ((["scale", "--model", "x"], "--model"), (["gaus", "--only", "nothing", "--data", folder], "nothing"),
                       (["quality", "--sample", 0], "--sample"), (["scale", "--only", "nothing"], "simulator")):
        expect(bench(*args), 2, part)
    for args in (["bench"], ["bench", "quality"], ["help", "bench"]):
        expect(run(*args), 2, "sked-bench")


@test
def quality_is_a_table(folder):
    """Markdown, as `make evidence` puts it into pages."""
    os.mkdir(os.path.join(folder, "rcpsp_patterson"))
    with open(os.path.join(folder, "rcpsp_patterson", "optimum.csv"), "w") as file:
        file.write("problem,optimum\npat1.rcp,1\npat2.rcp,1000\n")
    for name in ("pat1.rcp", "pat2.rcp"):
        shutil.copy(os.path.join(SOURCE, "tests", "data", "small.rcp"), os.path.join(folder, "rcpsp_patterson", name))
    shown = expect(bench("quality", "--only", "patterson", "--data", folder, "--quiet"), 0).stdout.splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown if line.startswith("|")]
    assert len(table) == 3 and set(table[1]) == {"---"} and len({len(row) for row in table}) == 1, shown
    row = dict(zip(table[0], table[2]))
    assert (row["instances"], row["n"], row["limit"], row["met"]) == ("Patterson projects", "2", "1 s", "1"), row
    assert (row["of the proven optima"], row["proved"], row["peer"]) == ("50.0 %", "100.0 %", "-"), row
    part = expect(bench("quality", "--only", "patterson", "--data", folder, "--sample", 2, "--quiet"), 0).stdout
    assert "| 1 of 2 |" in re.sub(" +", " ", part), part
    assert "skipped: " in expect(bench("quality", "--data", os.path.join(folder, "none")), 0).stdout


def tiny_instances(folder):
    """A folder of benchmark data with two graphs of set rw."""
    os.makedirs(os.path.join(folder, "rw"))
    for seed in (1, 2):
        graph = os.path.join(folder, "rw", f"g{seed}.gml")
        expect(run("generate", "layered", "--nodes", 8, "--duration", "const:1", "--seed", seed, "-o", graph), 0)


@test
def benchmark_data_by_option_or_environment(folder):
    one, none = os.path.join(folder, "one"), os.path.join(folder, "none")
    tiny_instances(one)
    args = ["gaus", "--only", "rw-1", "--time-limit", 0.1, "--sample", 2, "--quiet"]
    row = r"^rw-1 +1 legal 100.0 %"
    assert re.search(row, expect(bench(*args, "--data", one), 0).stdout, flags=re.M)
    assert re.search(row, expect(bench(*args, SKED_BENCH_DATA=one), 0).stdout, flags=re.M)
    assert re.search(row, expect(bench(*args, "--data", one, SKED_BENCH_DATA=none), 0).stdout, flags=re.M), "--data decides"
    assert f"instances in {none} " in expect(bench(*args, SKED_BENCH_DATA=none), 0).stdout
    assert "instances in ../shared/data " in expect(bench(*args, cwd=one), 0).stdout
    assert "instances in ../shared/data " in expect(bench(*args, cwd=one, SKED_BENCH_DATA=""), 0).stdout
    assert "\033[K[" in on_terminal(BENCH, [*args[:-1], "--data", one]), "progress on a terminal"
    assert "\033[K[" not in on_terminal(BENCH, [*args, "--data", one]), "none with --quiet"
    assert f"(default {none})" in re.sub(r"\s+", " ", expect(bench("help", "gaus", SKED_BENCH_DATA=none), 0).stdout)


@test
def interrupted_training_saves_its_model(folder):
    model, log, curve = (os.path.join(folder, n) for n in ("m.safetensors", "l.jsonl", "c.svg"))
    process = subprocess.Popen([SKED, "train", "--graphs", "layered:20", "--devices", "2", "--minutes", "5", "--set", "validate=0",
                                "--set", "batch=4", "--set", "graphs=1", "--set", "dim=8", "--set", "layers=1", "--quiet", "-o", model, "-o", log, "-o", curve], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0, process.returncode
    assert os.path.exists(log) and os.path.exists(curve)
    expect(run("sample", path("cholesky.json"), "--devices", 2, "--candidates", 3, "--model", model, "--quiet"), 0)


@test
def training_log_and_curve(folder):
    model, log, curve = (os.path.join(folder, n) for n in ("m.safetensors", "l.jsonl", "c.svg"))
    expect(run("train", "--graphs", "layered:8-10", "--devices", 2, "--steps", 4, "--set", "batch=4", "--set", "validate=2", "--set",
               "held-out=1", "--set", "dim=8", "--set", "layers=1", "--quiet", "-o", model, "-o", log, "-o", curve), 0)
    lines = [json.loads(line) for line in open(log)]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert all(line["speedup"] > 0 for line in lines), lines
    assert all({"top1", "top100", "mean", "ged", "spread", "list", "brkga"} <= set(line) for line in lines[1::2])
    xml.dom.minidom.parse(curve)
    expect(run("robust", path("cholesky.json"), "--devices", 2, "--one-shot", "--method", "gflownet", "--model", model, "--candidates", 5,
               "--target", "noisy", "--quiet"), 0)


end()
