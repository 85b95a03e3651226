#!/usr/bin/env python3
"""sked beside the schedulers of SAGA, and on request beside CP-SAT, on heterogeneous devices.

Needs the Python package anrg-saga, with --cpsat also ortools. Where one is missing it is installed from PyPI into
build/saga-venv; where that fails the script says "skipped" and exits 0. Every schedule of every side is checked here from
its starts and devices alone, and its makespan is computed here. See bench/README.md.
"""
import argparse
import importlib.metadata
import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "build", "saga-venv")
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != os.path.join(ROOT, "bench")]  # this file has the package's name
# Schedulers of anrg-saga 2.0.2 that are not asked, and why.
LEFT_OUT = {"GDLScheduler": "its schedules break rules in this version", "HbmctScheduler": "likewise",
            "BruteForceScheduler": "enumerates everything", "SMTScheduler": "needs an SMT solver, hours on 20 tasks",
            "HybridScheduler": "the best of others, as the column is"}


class Broken(Exception):
    """A schedule of sked that breaks a rule, or no schedule at all: the comparison is void."""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(0)


def install(python, packages):
    print(f"installing {' '.join(packages)} into build/saga-venv", file=sys.stderr)
    for step in ([sys.executable, "-m", "venv", VENV],
                 [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]):
        try:
            done = subprocess.run(step, capture_output=True, text=True)
        except OSError as problem:
            skip(f"{' '.join(packages)} cannot be installed: {problem}")
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()
            skip(f"{' '.join(packages)} cannot be installed: {last[-1] if last else 'no reason given'}")


def import_peers(args):
    """The packages from here, or from a virtual environment of its own in which this script starts again."""
    packages = ["anrg-saga"] + (["ortools"] if args.cpsat else [])
    try:
        import saga.schedulers
        if args.cpsat:
            import ortools.sat.python.cp_model
        return
    except ImportError:
        pass
    python = os.path.join(VENV, "bin", "python")
    if sys.prefix == VENV and os.environ.get("SKED_SAGA_VENV"):
        skip(f"the packages in {VENV} cannot be imported; delete the folder to install them again")
    names = "import saga, ortools" if args.cpsat else "import saga"
    present = os.path.exists(python) and subprocess.run([python, "-c", names], capture_output=True).returncode == 0
    if not present:
        install(python, packages)
    os.execve(python, [python, os.path.abspath(__file__), *sys.argv[1:]], {**os.environ, "SKED_SAGA_VENV": "1"})


# ---- problems ---------------------------------------------------------------------------------------------------

class Problem:
    """time[task][node]; edges (from, to, bytes); bandwidth[a][b], INF on the diagonal, 0: no link; latency[a][b]."""

    def __init__(self, name, family, ccr, time, edges, latency, bandwidth, cost=None, speed=None):
        self.name, self.family, self.ccr = name, family, ccr
        self.time, self.edges, self.latency, self.bandwidth = time, edges, latency, bandwidth
        self.cost, self.speed = cost, speed  # where time = cost / speed; None: unrelated durations
        self.nodes = len(bandwidth)

    def transfer(self, size, a, b):
        if a == b:
            return 0
        if self.bandwidth[a][b] == 0:
            return math.inf if size > 0 else 0
        return self.latency[a][b] + size / self.bandwidth[a][b]

    def saga_can(self):
        """SAGA knows speeds and bandwidths, the same in both directions, and no latencies."""
        pairs = [(a, b) for a in range(self.nodes) for b in range(self.nodes) if a != b]
        return self.speed is not None and all(self.latency[a][b] == 0 and self.bandwidth[a][b] == self.bandwidth[b][a] > 0
                                              for a, b in pairs)


def check(problem, start, device, what):
    """The makespan, or None and the rule that is broken."""
    finish = [start[i] + problem.time[i][device[i]] for i in range(len(start))]
    slack = 1e-6 * max(finish)
    if min(start) < 0 or math.isinf(max(finish)):
        return None, f"{what}: a task starts before 0 or cannot run on its node"
    for a, b, size in problem.edges:
        if start[b] < finish[a] + problem.transfer(size, device[a], device[b]) - slack:
            return None, f"{what}: data from {a} to {b} comes late"
    last = {}
    for i in sorted(range(len(start)), key=lambda i: (start[i], finish[i])):
        if finish[i] - start[i] > 0:
            if start[i] < last.get(device[i], 0) - slack:
                return None, f"{what}: task {i} overlaps on node {device[i]}"
            last[device[i]] = max(finish[i], last.get(device[i], 0))
    return max(finish), None


# ---- families ---------------------------------------------------------------------------------------------------

def tree(r, n, inward):
    branch = r.choice([2, 3, 4])
    edges = [((i - 1) // branch, i) for i in range(1, n)]
    return n, [(n - 1 - b, n - 1 - a) for a, b in edges] if inward else edges


def chains(r, n):
    k = r.randint(2, 8)
    length = max(1, (n - 2) // k)
    edges = []
    for c in range(k):
        row = [1 + c * length + j for j in range(length)]
        edges += [(0, row[0])] + list(zip(row, row[1:])) + [(row[-1], 1 + k * length)]
    return 2 + k * length, edges


def layered(r, n, share=0.4):
    rows, edges, done = [], [], 0
    while done < n:
        width = min(n - done, r.randint(1, max(2, int(1.5 * math.sqrt(n)))))
        rows.append(list(range(done, done + width)))
        done += width
    for above, below in zip(rows, rows[1:]):
        for b in below:
            chosen = [a for a in above if r.random() < share] or [r.choice(above)]
            edges += [(a, b) for a in chosen]
    return n, edges


def random_dag(r, n):
    share = r.uniform(1.5, 4) / n
    return n, [(a, b) for a in range(n) for b in range(a + 1, n) if r.random() < share or (b == a + 1 and r.random() < 0.1)]


def fork_join(r, n):
    edges, last, count = [], 0, 1
    while count < n:
        width = min(r.randint(2, 10), max(1, n - count - 1))
        row = list(range(count, count + width))
        count += width
        edges += [(last, i) for i in row] + [(i, count) for i in row]
        last, count = count, count + 1
    return count, edges


def branching(r, n):
    """Series and parallel parts nested at random."""
    edges, todo, count = [], [(0, 1)], 2
    while count < n and todo:
        a, b = todo.pop(r.randrange(len(todo)))
        if r.random() < 0.4:
            todo += [(a, count), (count, b)]
            count += 1
        else:
            width = r.randint(2, 3)
            todo += [(a, count + k) for k in range(width)] + [(count + k, b) for k in range(width)]
            count += width
    return count, sorted(set(edges + todo))


def fft(r, n):
    size = 2
    while 4 * size - 1 + 2 * size * math.log2(2 * size) <= n:
        size *= 2
    edges, count = [], 2 * size - 1
    edges += [((i - 1) // 2, i) for i in range(1, count)]
    row = list(range(size - 1, 2 * size - 1))
    for level in range(int(math.log2(size))):
        below = list(range(count, count + size))
        count += size
        for k in range(size):
            edges += [(row[k], below[k]), (row[k ^ (1 << level)], below[k])]
        row = below
    return count, edges


def gauss(r, n):
    m = max(3, int((math.sqrt(8 * n + 9) - 1) / 2))
    edges, count, above = [], 0, None
    for k in range(m - 1):
        pivot, row = count, list(range(count + 1, count + m - k))
        count += m - k
        edges += [(pivot, i) for i in row]
        if above:
            edges += [(above[0], pivot)] + list(zip(above[1:], row))
        above = row
    return count, edges


def workflow(r, n):
    """A preparation, wide stages of two or three steps, a merge after each, some data for all."""
    edges, count, last = [], 2, 0
    edges.append((0, 1))
    while count + 3 <= n:
        steps = r.randint(1, 3)
        width = max(1, min(r.randint(3, 20), (n - count - 1) // steps))
        ends = []
        for _ in range(width):
            row = list(range(count, count + steps))
            count += steps
            edges += [(last, row[0])] + list(zip(row, row[1:]))
            if r.random() < 0.2:
                edges.append((1, row[-1]))
            ends.append(row[-1])
        edges += [(i, count) for i in ends]
        last, count = count, count + 1
    return count, sorted(set(edges))


FAMILIES = {"in_tree": lambda r, n: tree(r, n, True), "out_tree": lambda r, n: tree(r, n, False), "chains": chains,
            "branching": branching, "layered": layered, "random": random_dag, "fork_join": fork_join, "fft": fft,
            "gauss": gauss, "workflow": workflow, "unrelated": layered}
CCRS = [0.2, 0.5, 1.0, 2.0, 5.0]


def generate(family, ccr, number, seed, most):
    """Tasks, sizes, speeds and bandwidths drawn at random; the mean transfer is ccr times the mean time of a task."""
    r = random.Random(f"{seed} {family} {ccr} {number}")
    nodes = r.randint(3, 8)
    n, edges = FAMILIES[family](r, r.randint(10, most))
    heavy = family == "workflow"
    cost = [r.lognormvariate(2, 1) if heavy else r.uniform(1, 19) for _ in range(n)]
    size = [r.lognormvariate(2, 1) if heavy else r.uniform(1, 19) for _ in edges]
    speed = [r.uniform(0.5, 2) for _ in range(nodes)]
    time = [[c / s for s in speed] for c in cost]
    if family == "unrelated":
        time = [[t * r.uniform(0.3, 1.7) for t in row] for row in time]
    wide = [[math.inf] * nodes for _ in range(nodes)]
    for a in range(nodes):
        for b in range(a):
            wide[a][b] = wide[b][a] = r.uniform(0.5, 1.5)
    links = [1 / wide[a][b] for a in range(nodes) for b in range(nodes) if a != b]
    mean_time = sum(map(sum, time)) / (n * nodes)
    mean_transfer = sum(size) / max(1, len(size)) * sum(links) / len(links)
    factor = mean_transfer / (ccr * mean_time) if edges else 1
    bandwidth = [[w * factor for w in row] for row in wide]
    latency = [[0] * nodes for _ in range(nodes)]
    related = family != "unrelated"
    return Problem(f"{family}_{n}_m{nodes}_c{ccr:g}_{number}", family, ccr, time, [(a, b, s) for (a, b), s in zip(edges, size)],
                   latency, bandwidth, cost if related else None, speed if related else None)


# ---- files of sked ----------------------------------------------------------------------------------------------

def write(problem, folder):
    names = [f"n{d}" for d in range(problem.nodes)]
    ops = []
    for i, row in enumerate(problem.time):
        op = {"name": f"t{i}", "duration": problem.cost[i] if problem.cost else sum(row) / len(row)}
        if problem.cost is None:
            op["durations"] = dict(zip(names, row))
        ops.append(op)
    edges = [{"from": a, "to": b, "bytes": s} for a, b, s in problem.edges]
    links = [{"from": names[a], "to": names[b], "latency": problem.latency[a][b], "bandwidth": problem.bandwidth[a][b]}
             for a in range(problem.nodes) for b in range(a + 1, problem.nodes)]
    devices = [{"name": name, "speed": problem.speed[d] if problem.speed else 1} for d, name in enumerate(names)]
    graph, machine = (os.path.join(folder, f"{problem.name}.{kind}.json") for kind in ("graph", "machine"))
    with open(graph, "w") as out:
        json.dump({"format": "sked-graph-1", "name": problem.name, "ops": ops, "edges": edges}, out)
    with open(machine, "w") as out:
        json.dump({"format": "sked-machine-1", "name": problem.name, "devices": devices, "links": links}, out)
    return graph, machine


def read(folder, row):
    """One of the shared instances: a graph and a machine whose links name devices."""
    with open(os.path.join(folder, f"{row['instance']}.graph.json")) as text:
        graph = json.load(text)
    with open(os.path.join(folder, f"{row['instance']}.machine.json")) as text:
        machine = json.load(text)
    names = [d["name"] for d in machine["devices"]]
    speed = [d.get("speed", 1) for d in machine["devices"]]
    related = all("durations" not in op for op in graph["ops"])
    time = [[op.get("durations", {}).get(name, op["duration"] / s) for name, s in zip(names, speed)] for op in graph["ops"]]
    place = {op["name"]: i for i, op in enumerate(graph["ops"])}
    m = len(names)
    latency = [[0] * m for _ in range(m)]
    bandwidth = [[math.inf if a == b else 0 for a in range(m)] for b in range(m)]
    for link in machine["links"]:
        a, b = names.index(link["from"]), names.index(link["to"])
        for x, y in ((a, b), (b, a)):
            latency[x][y], bandwidth[x][y] = link.get("latency", 0), link["bandwidth"]
    edges = [(place[e["from"]], place[e["to"]], e.get("bytes", 0)) for e in graph["edges"]]
    return Problem(row["instance"], "shared", "-", time, edges, latency, bandwidth,
                   [op["duration"] for op in graph["ops"]] if related else None, speed if related else None)


# ---- the sides --------------------------------------------------------------------------------------------------

def run_sked(args, problem, folder, method):
    graph, machine = write(problem, folder)
    out = os.path.join(folder, "schedule.json")
    command = [args.sked, "schedule", graph, "--machine", machine, "--method", method, "--time-limit", str(args.time_limit),
               "--threads", "1", "--seed", str(args.seed), "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"{problem.name}: sked exits with {done.returncode}: {done.stderr.strip()}")
    with open(out) as text:
        ops = {op["name"]: op for op in json.load(text)["ops"]}
    start = [ops[f"t{i}"]["start"] for i in range(len(problem.time))]
    device = [ops[f"t{i}"]["device"] for i in range(len(problem.time))]
    device = [int(d.removeprefix("n")) if isinstance(d, str) else d for d in device]
    value, why = check(problem, start, device, "sked")
    if why:
        raise Broken(f"{problem.name}: {why}")
    return value


def ring(*_):
    raise TimeoutError("no schedule within --saga-limit")


def run_saga(args, problem, refused):
    """Makespan by scheduler; `refused` counts those that fail, take too long or break a rule."""
    import saga
    import saga.schedulers as schedulers
    m = problem.nodes
    network = saga.Network.create([(f"n{d}", problem.speed[d]) for d in range(m)],
                                  [(f"n{a}", f"n{b}", problem.bandwidth[a][b]) for a in range(m) for b in range(a + 1, m)])
    graph = saga.TaskGraph.create([(f"t{i}", c) for i, c in enumerate(problem.cost)],
                                  [(f"t{a}", f"t{b}", s) for a, b, s in problem.edges])
    found = {}
    for name in schedulers.__all__:
        if name in LEFT_OUT:
            continue
        start, device = [None] * len(problem.cost), [None] * len(problem.cost)
        signal.alarm(args.saga_limit)
        try:
            mapping = getattr(schedulers, name)().schedule(network, graph).mapping
            for node, tasks in mapping.items():
                for task in tasks:
                    if not task.name.startswith("__"):
                        start[int(task.name[1:])], device[int(task.name[1:])] = task.start, int(node[1:])
            value, why = check(problem, start, device, name)
        except Exception as trouble:  # a peer's bug is its own
            value, why = None, f"{name}: {type(trouble).__name__}: {trouble}"
        signal.alarm(0)
        if why:
            refused.setdefault(name, []).append(f"{problem.name}: {why}")
        else:
            found[name] = value
    return found


def run_cpsat(args, problem):
    """One optional interval per task and node, exactly one of them present; times in ticks, rounded up."""
    from ortools.sat.python import cp_model as cp
    n, m = len(problem.time), problem.nodes
    horizon = min(sum(row[d] for row in problem.time) for d in range(m))
    tick = horizon / args.ticks
    ticks = lambda x: math.ceil(x / tick - 1e-9)
    most = min(sum(ticks(row[d]) for row in problem.time) for d in range(m))  # all on one node is a schedule
    model = cp.CpModel()
    start = [model.new_int_var(0, most, "") for _ in range(n)]
    finish = [model.new_int_var(0, most, "") for _ in range(n)]
    on = [[model.new_bool_var("") for _ in range(m)] for _ in range(n)]
    for i in range(n):
        model.add_exactly_one(on[i])
    for d in range(m):
        model.add_no_overlap([model.new_optional_interval_var(start[i], ticks(problem.time[i][d]), finish[i], on[i][d], "")
                              for i in range(n)])
    for a, b, size in problem.edges:
        model.add(start[b] >= finish[a])
        for x in range(m):
            for y in range(m):
                if x != y:
                    model.add(start[b] >= finish[a] + ticks(problem.transfer(size, x, y))).only_enforce_if(on[a][x], on[b][y])
    end = model.new_int_var(0, most, "")
    model.add_max_equality(end, finish)
    model.minimize(end)
    solver = cp.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = args.cpsat_limit, 1
    solver.parameters.random_seed = args.seed
    if solver.solve(model) not in (cp.OPTIMAL, cp.FEASIBLE):
        return None
    device = [next(d for d in range(m) if solver.value(on[i][d])) for i in range(n)]
    return retime(problem, [solver.value(s) for s in start], device)


def retime(problem, start, device):
    """The same orders and devices with the true times: what rounding to ticks added is taken off."""
    pred = [[] for _ in start]
    for a, b, size in problem.edges:
        pred[b].append((a, problem.transfer(size, device[a], device[b])))
    free, at = [0] * problem.nodes, [0] * len(start)
    for i in topological(problem, start):
        d = device[i]
        at[i] = max([free[d]] + [at[a] + problem.time[a][device[a]] + t for a, t in pred[i]])
        free[d] = at[i] + problem.time[i][d]
    value, why = check(problem, at, device, "CP-SAT")
    if why:
        raise Broken(f"{problem.name}: {why}")
    return value


def topological(problem, start):
    """By start; tasks of no length may share one with a successor."""
    waiting, after = [0] * len(start), [[] for _ in start]
    for a, b, _ in problem.edges:
        waiting[b] += 1
        after[a].append(b)
    ready, order = [i for i, w in enumerate(waiting) if w == 0], []
    while ready:
        i = min(ready, key=lambda i: start[i])
        ready.remove(i)
        order.append(i)
        for b in after[i]:
            waiting[b] -= 1
            if waiting[b] == 0:
                ready.append(b)
    return order


# ---- the table --------------------------------------------------------------------------------------------------

def mean(values):
    return f"{math.exp(sum(map(math.log, values)) / len(values)):9.4f}" if values else f"{'-':>9s}"


def show(label, rows):
    """Geometric means of ratios to ours: below 1 the other side is better."""
    worse = sum(r["saga"] is not None and r["saga"] < r["sked"] * (1 - 1e-9) for r in rows)
    cells = [mean([r[side] / r["sked"] for r in rows if r.get(side) is not None]) for side in ("saga", "heft", "cpsat")]
    lost = sum(r.get("cpsat") is not None and r["cpsat"] < r["sked"] * (1 - 1e-6) for r in rows)
    print(f"{label:24s} {len(rows):5d} {cells[0]} {cells[1]} {worse:6d} {cells[2]} {lost:6d}", flush=True)


def run_one(args, problem, folder, refused):
    row = {"problem": problem, "saga": None, "heft": None, "cpsat": None}
    row["sked"] = run_sked(args, problem, folder, args.method)
    if problem.saga_can() and not args.no_saga:
        found = run_saga(args, problem, refused)
        row["saga"], row["heft"] = min(found.values()), found.get("HeftScheduler")
    else:
        row["heft"] = run_sked(args, problem, folder, "heft")
    if args.cpsat and len(problem.time) <= args.cpsat_tasks:
        row["cpsat"] = run_cpsat(args, problem)
    if args.list:
        cells = " ".join(f"{side} {row[side]:.6g}" if row[side] is not None else f"{side} -" for side in ("sked", "saga", "heft", "cpsat"))
        print(f"  {problem.name}: {cells}", flush=True)
    return row


def run_generated(args, refused):
    rows = []
    for family in args.families:
        for ccr in args.ccr:
            for number in range(args.count):
                problem = generate(family, ccr, number, args.seed, args.tasks)
                with tempfile.TemporaryDirectory() as folder:
                    rows.append(run_one(args, problem, folder, refused))
            show(f"{family} ccr {ccr:g}", rows[-args.count:])
    for ccr in args.ccr:
        show(f"all, ccr {ccr:g}", [r for r in rows if r["problem"].ccr == ccr])
    show("all", rows)


def run_shared(args, refused):
    import csv
    rows = []
    with open(os.path.join(args.data, "best_known.csv"), newline="") as text:
        for row in csv.DictReader(text):
            problem = read(args.data, row)
            with tempfile.TemporaryDirectory() as folder:
                rows.append(run_one(args, problem, folder, refused))
            best = float(row["best_known"])
            print(f"  {problem.name:26s} {rows[-1]['sked']:12.4f} best known {best:12.4f} {100 * (rows[-1]['sked'] / best - 1):+8.3f} %")
    show("shared", rows)


def write_all(args):
    os.makedirs(args.write, exist_ok=True)
    for family in args.families:
        for ccr in args.ccr:
            for number in range(args.count):
                write(generate(family, ccr, number, args.seed, args.tasks), args.write)


def parse():
    parser = argparse.ArgumentParser(description="Compares sked with the schedulers of SAGA on heterogeneous devices.")
    parser.add_argument("--sked", default=os.path.join(ROOT, "build", "sked"), help="the command (default build/sked)")
    parser.add_argument("--method", default="auto", help="of sked (default auto)")
    parser.add_argument("--time-limit", type=float, default=1, metavar="S", help="seconds of sked per instance (default 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the instances and of sked (default 0)")
    parser.add_argument("--count", type=int, default=4, metavar="N", help="instances per family and ccr (default 4)")
    parser.add_argument("--tasks", type=int, default=120, metavar="N", help="most tasks of an instance (default 120)")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES), metavar="F",
                        help=f"of {' '.join(FAMILIES)}")
    parser.add_argument("--ccr", nargs="+", type=float, default=CCRS, metavar="C",
                        help="mean transfer to mean time of a task (default 0.2 0.5 1 2 5)")
    parser.add_argument("--data", metavar="DIR", help="run the instances of this folder's best_known.csv instead of generated ones")
    parser.add_argument("--write", metavar="DIR", help="only write the generated instances there")
    parser.add_argument("--no-saga", action="store_true", help="without SAGA")
    parser.add_argument("--saga-limit", type=int, default=20, metavar="S", help="seconds for each of its schedulers (default 20)")
    parser.add_argument("--cpsat", action="store_true", help="CP-SAT as well, one worker")
    parser.add_argument("--cpsat-limit", type=float, default=20, metavar="S", help="its seconds per instance (default 20)")
    parser.add_argument("--cpsat-tasks", type=int, default=60, metavar="N", help="only up to so many tasks (default 60)")
    parser.add_argument("--ticks", type=int, default=20000, metavar="N", help="its ticks for all tasks on one node (default 20000)")
    parser.add_argument("--list", action="store_true", help="print every instance")
    args = parser.parse_args()
    if min(args.count, args.ticks) < 1 or args.tasks < 10 or args.seed < 0 or not min(args.time_limit, *args.ccr) > 0:
        parser.error("--count and --ticks want 1 or more, --tasks 10 or more, --seed 0 or more, --time-limit and --ccr more than 0")
    return args


def machine_name():
    try:
        with open("/proc/cpuinfo") as text:
            names = [line.split(":", 1)[1].strip() for line in text if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"


def main():
    args = parse()
    if args.write:
        write_all(args)
        return
    if not os.path.exists(args.sked):
        sys.exit(f"{args.sked} does not exist: build sked first, or name it with --sked")
    if not args.no_saga or args.cpsat:
        import_peers(args)
    logging.disable(logging.WARNING)
    version = subprocess.run([args.sked, "--version"], capture_output=True, text=True).stdout.strip()
    peers = [] if args.no_saga else [f"SAGA (anrg-saga {importlib.metadata.version('anrg-saga')})"]
    peers += [f"CP-SAT of ortools {importlib.metadata.version('ortools')}, {args.cpsat_limit:g} s, one worker"] if args.cpsat else []
    print(f"{version}, method {args.method}, {args.time_limit:g} s, one thread, seed {args.seed}; beside {' and '.join(peers) or 'heft'}\n"
          f"{machine_name()}; {time.strftime('%Y-%m-%d')}")
    if not args.no_saga:
        print("left out: " + "; ".join(f"{name} ({why})" for name, why in LEFT_OUT.items()))
        print("unrelated durations: SAGA cannot state them; heft is sked's own there")
    print("geometric means of makespan / ours; above: instances where SAGA's best, or CP-SAT, is shorter than ours")
    print(f"{'':24s} {'n':>5s} {'SAGA/us':>9s} {'HEFT/us':>9s} {'above':>6s} {'CPSAT/us':>9s} {'above':>6s}")
    refused = {}
    signal.signal(signal.SIGALRM, ring)
    (run_shared if args.data else run_generated)(args, refused)
    for name, cases in sorted(refused.items()):
        print(f"{name}: {len(cases)} schedules refused, the first {cases[0]}")


try:
    main()
except Broken as problem:
    sys.exit(f"saga.py: {problem}")
except KeyboardInterrupt:
    sys.exit(130)
