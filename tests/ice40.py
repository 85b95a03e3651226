#!/usr/bin/env python3
"""`sked robust --target ice40`: with tools of our own, whose delays are known, and with Yosys and nextpnr where there are.

Usage: ice40.py SKED SOURCE_FOLDER [PART]; PART runs only tests with it in their name.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import frame
from frame import Skip, test

SKED, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
frame.only = sys.argv[3] if len(sys.argv) > 3 else ""
FIR = os.path.join(SOURCE, "examples", "fir.dot")
LIBRARY = os.path.join(SOURCE, "examples", "delays.json")


# A nextpnr that reads the module and knows the truth: 3 ns of a stage, 8 of a product, 1.5 of a sum.
TRUTH = {"*": 8, "+": 1.5}
NEXTPNR = f"""#!{sys.executable}
import json, re
text = open("p.v").read().split("module bench")[0]
at, by, ends = {{}}, {{}}, []
for name, expression in re.findall(r"^  wire (?:\\[.*?\\] )?(\\S+) = (.*);", text, re.M):
    reads = re.findall(r"o\\d[\\w$]*", expression)
    before = max(reads, key=lambda x: at.get(x, 0), default=None)
    at[name] = at.get(before, 0) + {TRUTH!r}[re.search("[*+]", expression).group()]
    by[name] = before
takes = re.findall(r"^    \\S+ <= (\\S+);", text, re.M) + re.findall(r"^  assign \\S+ = (\\S+);", text, re.M)
ends = [(x, 3 + at[x]) for x in takes if x in at]
cell = lambda x: "dut." + x + "_SB_LUT4_O_LC"
last, total = max(ends, key=lambda x: x[1])
chain = [last]
while by.get(chain[0]) in at:
    chain.insert(0, by[chain[0]])
steps = [{{"delay": 3, "to": {{"cell": "in_SB_DFFE_Q_1_DFFLC"}}, "type": "clk-to-q"}}]
done = 0
for x in chain:
    steps.append({{"delay": at[x] - done, "to": {{"cell": cell(x)}}, "type": "logic"}})
    done = at[x]
json.dump({{"critical_paths": [{{"from": "posedge clk", "to": "posedge clk", "path": steps}},
                               {{"from": "<async>", "to": "posedge clk", "path": [{{"delay": 99, "to": {{"cell": "x"}}}}]}}],
            "detailed_net_timings": [{{"net": "n", "endpoints": [{{"cell": cell(x), "delay": t}}]}} for x, t in ends]}},
          open("r.json", "w"))
"""


def tools(folder, nextpnr, yosys="#!/bin/sh\necho '{}' > p.json\n"):
    """A PATH with these and the shell's own."""
    place = os.path.join(folder, "bin")
    os.makedirs(place, exist_ok=True)
    for name, text in (("yosys", yosys), ("nextpnr-ice40", nextpnr)):
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(place, name), 0o755)
    return dict(os.environ, PATH=f"{place}:/usr/bin:/bin")


def robust(*words, env=None, status=0, graph=FIR, library=LIBRARY):
    done = subprocess.run([SKED, "robust", graph, "--library", library, "--target", *words], capture_output=True, text=True, env=env,
                          timeout=600)  # fmt: skip
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def least(clock, folder):
    """The least registers with the true delays."""
    with open(f"{folder}/true.json", "w", encoding="utf-8") as file:
        types = {"mul": {"duration": 0, "memory": 16, "delay": 8}, "add": {"duration": 0, "memory": 16, "delay": 1.5}}
        json.dump({"types": types}, file)
    done = subprocess.run([SKED, "schedule", FIR, "--library", f"{folder}/true.json", "--clock", str(clock - 3), "--ii", "1",
                           "--objective", "memory", "--json"], capture_output=True, text=True, check=True)  # fmt: skip
    return json.loads(done.stdout)["value"]


@test
def learns_the_truth(folder):
    env = tools(folder, NEXTPNR)
    for clock in (11.1, 12.6, 14.1, 15.6, 30):
        told = json.loads(robust("ice40", "--clock", str(clock), "--measurements", "12", "--json", env=env))
        assert told["met"] and told["target_time"] <= clock, told
        assert told["value"] == least(clock, folder), (clock, told["value"], least(clock, folder))
        assert told["measurements"] <= 12
        late = told["runs"][-1]
        assert told["measurements"] < 4 or abs(late["expected"] / late["time"] - 1) < 0.1, told["runs"]
        assert max(told["stages"]) == told["target_time"], told
    same = [robust("ice40", "--clock", "14.1", "--measurements", "5", "--json", env=env) for _ in range(2)]
    for x in ("stages", "runs", "model", "critical_path"):
        assert json.loads(same[0])[x] == json.loads(same[1])[x]


# One that merges what one sum of the same cycle reads, and nothing else: 2 ns of a stage, 2.5 of a carry, 1 of each level of a tree
# in which three operands become two; a product has 16 of them.
TREES = f"""#!{sys.executable}
import json, re
text = open("p.v").read().split("module bench")[0]
wires = re.findall(r"^  wire (?:\\[.*?\\] )?(\\S+) = (.*);", text, re.M)
takes = re.findall(r"^    \\S+ <= (\\S+);", text, re.M) + re.findall(r"^  assign \\S+ = (\\S+);", text, re.M)
reads = {{name: re.findall(r"o\\d[\\w$]*", expression) for name, expression in wires}}
sums = {{name for name, expression in wires if "+" in expression}}
readers = lambda x: [y for y in reads if x in reads[y]]
merges = lambda x: x in reads and x not in takes and len(readers(x)) == 1 and readers(x)[0] in sums
size, latest, at = {{}}, {{}}, {{}}
for name, _ in wires:
    trees = [x for x in reads[name] if name in sums and merges(x)]
    size[name] = sum(size[x] if x in trees else 1 for x in reads[name]) if name in sums else 16
    latest[name] = max(latest[x] if x in trees else at.get(x, 0) for x in reads[name])
    rows, at[name] = size[name], latest[name] + 2.5
    while rows > 2:
        rows, at[name] = rows - rows // 3, at[name] + 1
cell = lambda x: "dut." + x + "_SB_LUT4_O_LC"
last = max((x for x in takes if x in at), key=lambda x: at[x])
path = [{{"delay": 2, "to": {{"cell": "in_SB_DFFE_Q_1_DFFLC"}}}}, {{"delay": at[last], "to": {{"cell": cell(last)}}}}]
ends = [{{"cell": cell(x), "delay": 2 + at[x]}} for x in takes if x in at]
json.dump({{"critical_paths": [{{"from": "posedge clk", "to": "posedge clk", "path": path}}],
            "detailed_net_timings": [{{"net": "n", "endpoints": ends}}]}}, open("r.json", "w"))
"""


def mixed(path):
    """Sums of products, sums of sums, products of sums; some values are read twice."""
    pick = random.Random(5)
    rows = [f"  x{i} [label={pick.choice(['mul', 'add', 'add'])}];" for i in range(24)]
    edges = {(j, i) for i in range(4, 24) for j in pick.sample(range(max(0, i - 5), i), 2)}
    rows += [f"  x{a} -> x{b};" for a, b in sorted(edges)]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(["digraph mixed {", *rows, "}", ""]))
    return path


@test
def sums_are_merged_into_trees(folder):
    env, graph = tools(folder, TREES), mixed(f"{folder}/mixed.dot")
    for clock in (14, 18, 22):
        told = json.loads(robust("ice40", "--clock", str(clock), "--measurements", "9", "--json", env=env, graph=graph))
        assert told["met"] and told["measurements"] >= 3, told
        for run in told["runs"][5:] or told["runs"][-1:]:
            assert abs(run["expected"] / run["time"] - 1) < 0.05, told["runs"]


# One of gates: 1.2 ns of a stage, 1 ns of each table of four inputs in the least deep covering of it, by all cuts there are.
TABLES = f"""#!{sys.executable}
import json, re
text = open("p.v").read().split("module bench")[0]
cuts, level = {{}}, {{}}
for name, expression in re.findall(r"^  wire (?:\\[.*?\\] )?(\\S+) = (.*);", text, re.M):
    found = {{frozenset()}}
    for x in re.findall(r"o\\d[\\w$]*", expression):
        found = {{a | b for a in found for b in [frozenset([x]), *cuts.get(x, [])] if len(a | b) <= 4}}
    cuts[name] = found
    level[name] = 1 + min(max((level.get(x, 0) for x in cut), default=0) for cut in found)
takes = re.findall(r"^    \\S+ <= (\\S+);", text, re.M) + re.findall(r"^  assign \\S+ = (\\S+);", text, re.M)
ends = [(x, 1.2 + level[x]) for x in takes if x in level]
cell = lambda x: "dut." + x + "_SB_LUT4_O_LC"
last, total = max(ends, key=lambda x: x[1])
path = [{{"delay": 1.2, "to": {{"cell": "in_SB_DFFE_Q_1_DFFLC"}}}}, {{"delay": total - 1.2, "to": {{"cell": cell(last)}}}}]
json.dump({{"critical_paths": [{{"from": "posedge clk", "to": "posedge clk", "path": path}}],
            "detailed_net_timings": [{{"net": "n", "endpoints": [{{"cell": cell(x), "delay": t}}]}} for x, t in ends]}},
          open("r.json", "w"))
"""


def ripple_adder(path, bits):
    """Sums and carries of single gates."""
    rows = [".model ripple", ".inputs c0 " + " ".join(f"a{i} b{i}" for i in range(bits)),
            ".outputs " + " ".join(f"s{i}" for i in range(bits)) + f" c{bits}"]  # fmt: skip
    for i in range(bits):
        for z, x, y, cover in ((f"p{i}", f"a{i}", f"b{i}", "01 1\n10 1"), (f"g{i}", f"a{i}", f"b{i}", "11 1"), (f"s{i}", f"p{i}", f"c{i}", "01 1\n10 1"),
                               (f"t{i}", f"p{i}", f"c{i}", "11 1"), (f"c{i + 1}", f"g{i}", f"t{i}", "1- 1\n-1 1")):  # fmt: skip
            rows.append(f".names {x} {y} {z}\n{cover}")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join([*rows, ".end", ""]))
    return path


@test
def gates_are_merged_into_tables(folder):
    env, graph = tools(folder, TABLES), ripple_adder(f"{folder}/ripple.blif", 24)
    with open(f"{folder}/gates.json", "w", encoding="utf-8") as file:
        json.dump({"types": {"input": {"duration": 0}, "*": {"duration": 0, "delay": 0.7}}}, file)
    told = json.loads(robust("ice40", "--clock", "5.5", "--measurements", "12", "--json", env=env, graph=graph, library=f"{folder}/gates.json"))
    assert told["met"] and abs(told["target_time"] - 5.2) < 1e-6, told  # four tables
    assert told["measurements"] >= 3, told
    for run in told["runs"][1:]:
        assert abs(run["expected"] / run["time"] - 1) < 0.02, told["runs"]


@test
def names_the_critical_path(folder):
    env = tools(folder, NEXTPNR)
    told = json.loads(robust("ice40", "--clock", "30", "--json", env=env))
    assert told["value"] == 0 and told["target_time"] == 15.5, told  # a product and three sums in one stage
    path = told["critical_path"]
    assert len(path) == 4 and path[0][0] == "m" and path[-1] == "out", path


@test
def cannot_meet(folder):
    env = tools(folder, NEXTPNR)
    told = json.loads(robust("ice40", "--clock", "9", "--measurements", "9", "--json", env=env))
    assert not told["met"] and told["target_time"] == 11, told  # a product alone


@test
def files(folder):
    env = tools(folder, NEXTPNR)
    names = [f"{folder}/x.{kind}" for kind in ("v", "json", "html", "svg", "dot")]
    text = robust("ice40", "--clock", "14.1", *[w for x in names for w in ("-o", x)], env=env)
    assert "meets 14.1 ns" in text and "critical path" in text, text
    for x in names:
        assert os.path.getsize(x) > 100, x
    with open(names[0], encoding="utf-8") as file:
        assert "module fir (" in file.read()


@test
def wrong_tools(folder):
    def message(text, status=9):
        return robust("ice40", "--clock", "14", "--measurements", "2", env=tools(folder, text), status=status)

    assert "no path" in message("#!/bin/sh\necho '{}' > r.json\n")
    assert "report" in message("#!/bin/sh\necho '{\"critical_paths\": 3}' > r.json\n")
    assert "report" in message("#!/bin/sh\necho '{' > r.json\n")
    assert "error" in message("#!/bin/sh\nrm -f r.json\nexit 1\n")
    assert "No room" in message("#!/bin/sh\necho 'ERROR: No room on this device'\nexit 1\n")
    slow = tools(folder, "#!/bin/sh\nsleep 60\n")
    assert "time-out" in robust("ice40:timeout=0.3", "--clock", "14", "--measurements", "1", env=slow, status=9)


@test
def wrong_words(folder):
    none = dict(os.environ, PATH=folder)
    text = robust("ice40", "--clock", "14", env=none, status=6)
    assert "yosys" in text and "nextpnr-ice40" in text and "Debian" in text, text
    env = tools(folder, NEXTPNR)
    assert "--clock" in robust("ice40", env=env, status=2)
    assert "--devices" in robust("ice40", "--devices", "2", "--clock", "5", env=env, status=2)
    assert "ice40" in robust("linear", "--devices", "2", "--clock", "5", env=env, status=2)
    assert "alone" in robust("ice40+jitter", "--clock", "5", env=env, status=2)


@test
def signals(folder):
    """Ctrl-C ends the tools, and nothing is left; nor where sked is killed."""
    env = tools(folder, f"#!/bin/sh\necho $$ $TMPDIR > {folder}/pid\nsleep 60\n")
    for number in (signal.SIGINT, signal.SIGKILL):
        words = [SKED, "robust", FIR, "--library", LIBRARY, "--target", "ice40", "--clock", "14"]
        process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if os.path.exists(f"{folder}/pid") and os.path.getsize(f"{folder}/pid") > 1:
                break
            time.sleep(0.05)
        with open(f"{folder}/pid", encoding="utf-8") as file:
            tool, its = file.read().split()
        assert its.startswith("/tmp/sked-ice40-") and os.path.isdir(its), its
        os.remove(f"{folder}/pid")
        process.send_signal(number)
        code = process.wait(timeout=20)
        assert code == (10 if number == signal.SIGINT else -9), code
        for _ in range(100):
            if not os.path.exists(its) and not os.path.exists(f"/proc/{tool}"):
                break
            time.sleep(0.05)
        assert not os.path.exists(its), its
        assert not os.path.exists(f"/proc/{tool}")


@test
def real_tools(folder):
    if shutil.which("yosys") is None or shutil.which("nextpnr-ice40") is None:
        raise Skip("no Yosys or nextpnr (Debian packages yosys, nextpnr-ice40)")
    graph = {"format": "sked-graph-1", "ops": [], "edges": []}
    for k in range(5):  # a chain of sums: one takes 3.9 ns between registers, another one 1 ns more
        graph["ops"].append({"name": f"s{k}", "type": "add", "duration": 0, "memory": 16, "delay": 3.9, "verilog": "a + ..."})
        graph["edges"] += [[k - 1, k]] if k else []
    with open(f"{folder}/g.json", "w", encoding="utf-8") as file:
        json.dump(graph, file)
    done = subprocess.run([SKED, "robust", f"{folder}/g.json", "--target", "ice40", "--clock", "6.5", "--measurements", "6", "--json"],
                          capture_output=True, text=True, timeout=600, check=True)  # fmt: skip
    told = json.loads(done.stdout)
    # by the library's delays a stage has one sum, and there are four registers of 16 bits between the five
    assert told["met"] and told["value"] <= 32, told
    # what a first sum takes is for the fit to share out; another one behind it takes far less
    assert 0.3 < told["model"]["level"] < 2 and 3 < told["model"]["overhead"] + told["model"]["add 16"] < 5, told["model"]


frame.end()
