#!/usr/bin/env python3
"""sked beside CP-SAT: the same files, the same limit, threads and seed; one row per set, limit and number of threads.

Needs the Python package ortools. Where it is missing it is installed from PyPI into build/cpsat-venv; where that
fails the script says "skipped" and exits 0. Every schedule of both sides is checked by `sked check`.
`cpsat.py curve GRAPH ...` solves one of GauS's formulations and records value over time (cpsat_gaus.py).
See bench/README.md for how each set is modelled.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import cpsat_table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "build", "cpsat-venv")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(0)


def install(python):
    print("installing ortools into build/cpsat-venv", file=sys.stderr)
    for step in ([sys.executable, "-m", "venv", VENV],
                 [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "ortools"]):
        try:
            done = subprocess.run(step, capture_output=True, text=True)
        except OSError as problem:
            skip(f"ortools cannot be installed: {problem}")
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()
            skip(f"ortools cannot be installed: {last[-1] if last else 'no reason given'}")


def import_solver():
    """ortools from here, or from a virtual environment of its own in which this script starts again."""
    try:
        from ortools.sat.python import cp_model
        return cp_model
    except ImportError:
        pass
    python = os.path.join(VENV, "bin", "python")
    if sys.prefix == VENV:
        skip(f"ortools in {VENV} cannot be imported; delete the folder to install it again")
    present = os.path.exists(python) and subprocess.run([python, "-c", "import ortools"], capture_output=True).returncode == 0
    if not present:
        install(python)
    os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


# ---- the sets, as `sked-bench quality` knows them ---------------------------------------------------------------

def rows_of(data, name):
    with open(os.path.join(data, name), newline="") as file:
        return list(csv.DictReader(file))


def instance(data, part, best=None, proven=False, devices=0, library=None, loop=False):
    return {"path": os.path.join(data, part), "best": best, "proven": proven, "devices": devices, "library": library, "loop": loop}


def list_stg(data, name):
    folder = name.split("-")[1] + "/"
    return [instance(data, "stg/" + r["file"], float(r["ub"]), r["proven"] == "1", int(r["m"]))
            for r in rows_of(data, "stg/ref_makespan.csv") if r["file"].startswith(folder)]


def list_psplib(data, name):
    return [instance(data, f"psplib/{name}/{r['file']}", float(r["ub"]), r["proven"] == "1")
            for r in rows_of(data, f"psplib/best_known_{name}.csv")]


def list_patterson(data, name):
    all_of_them = [instance(data, "rcpsp_patterson/" + r["problem"], float(r["optimum"]), True)
                   for r in rows_of(data, "rcpsp_patterson/optimum.csv")]
    return [one for one in all_of_them if os.path.exists(one["path"])]


def list_tpch(data, name):
    return [instance(data, "tpch/" + file) for file in sorted(os.listdir(os.path.join(data, "tpch"))) if file.startswith(name + "-")]


def list_jobshop(data, name):
    classic = name == "jobshop"
    return [instance(data, f"jobshop/{r['instance']}.txt", float(r["ub"]), r["proven"] == "1")
            for r in rows_of(data, "jobshop/best_known.csv") if r["instance"].startswith(("ft", "la", "abz", "orb")) == classic]


def list_jsplib(data, name):
    """Job shops of a clone of JSPLIB, less those of the set jobshop; bounds of open ones are as old as the clone."""
    file = os.path.join(data, "jsplib", "instances.json")
    if not os.path.exists(file):
        return []
    with open(file) as text:
        shops = json.load(text)
    best = lambda shop: shop["optimum"] or (shop.get("bounds") or {}).get("upper")
    return [instance(data, "jsplib/" + shop["path"], float(best(shop)), shop["optimum"] is not None)
            for shop in shops if best(shop) and shop["name"] not in TUNED]


def op_library(kind, limits):
    """MUL and DIV take two steps, all else one; MUL_ALU: everything that is no MUL runs on the ALU."""
    units = {name: int(amount) for name, amount in (word.split(":") for word in limits.split())}
    pooled = kind == "MUL_ALU"
    alu = {"demand": {"ALU": 1}} if pooled else {}
    types = {name: {"duration": 2 if name.lower() in ("mul", "div") else 1, "demand": {name: 1}}
             for name in units if not pooled or name.lower() == "mul"}
    if not any(name.lower() == "div" for name in units):
        types["div"] = {"duration": 2, **alu}
    types["*"] = {"duration": 1, **alu}
    return {"types": types, "resources": units}


def list_express(data, name):
    return [instance(data, f"express_dfg/{r['dfg']}.dot", float(r["best_latency"]), r["proven"] == "1",
                     library=op_library(r["library"], r["resource_limits"]))
            for r in rows_of(data, "express_dfg/ref_rc_latency.csv")]


def list_modulo(data, name):
    return [instance(data, "modulo/" + r["graph"], float(r["II_best"]), r["II_proven"] == "1", loop=True)
            for r in rows_of(data, "modulo/ref_II.csv")]


# The shops of jobshop and jobshop-hard: the search was tuned on them.
TUNED = {"abz5", "ft06", "ft10", "la01", "la02", "la16", "la21", "orb01", "swv01", "ta01", "ta21"}
SETS = [("stg-50", 1, list_stg), ("stg-100", 1, list_stg), ("j30", 2, list_psplib), ("j60", 5, list_psplib),
        ("j120", 10, list_psplib), ("patterson", 1, list_patterson), ("tpch-50", 5, list_tpch), ("tpch-100", 5, list_tpch),
        ("tpch-150", 5, list_tpch), ("jobshop", 5, list_jobshop), ("jobshop-hard", 5, list_jobshop),
        ("jsplib", 5, list_jsplib), ("express", 2, list_express), ("modulo", 5, list_modulo)]


# ---- sked -------------------------------------------------------------------------------------------------------

class Broken(Exception):
    """Something that must not happen in a comparison: a refused schedule, a failed command."""


def sked(args, *words):
    done = subprocess.run([args.sked, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"sked {' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def reading(one, folder):
    """The options with which sked reads the instance."""
    if one["library"] is None:
        return []
    file = os.path.join(folder, "library.json")
    with open(file, "w") as out:
        json.dump(one["library"], out)
    return ["--library", file]


def run_sked(args, one, limit, folder):
    file = os.path.join(folder, "sked.json")
    words = [*reading(one, folder), *(["--devices", one["devices"]] if one["devices"] else []),
             *(["--objective", "ii"] if one["loop"] else [])]
    out = json.loads(sked(args, "schedule", one["path"], *words, "--method", "auto", "--json", "--quiet", "--time-limit", limit,
                          "--threads", args.threads, "--seed", args.seed, "-o", file))
    seen = json.loads(sked(args, "check", one["path"], file, *reading(one, folder), "--json"))
    value = seen["ii"] if one["loop"] else seen["makespan"]
    if not math.isclose(value, out["value"], rel_tol=1e-9):
        raise Broken(f"{one['path']}: sked says {out['value']}, its schedule has {value}")
    return {"value": value, "proved": out["optimal"], "seconds": out["seconds"], "bound": out["lower_bound"]}


# ---- CP-SAT -----------------------------------------------------------------------------------------------------

class Problem:
    """A native graph in whole numbers: times multiplied by `scale` and rounded up, so that any answer is feasible."""

    def __init__(self, graph, devices, resolution):
        ops, index = graph["ops"], {}
        for i, op in enumerate(ops):
            index[op.get("name", str(i))] = i
        end = lambda x: index[x] if isinstance(x, str) else x
        edges = [e if isinstance(e, dict) else {"from": e[0], "to": e[1]} for e in graph["edges"]]
        lag_of = lambda e: ops[end(e["from"])]["duration"] if e.get("lag") is None else e["lag"]
        times = [op["duration"] for op in ops] + [lag_of(e) for e in edges]
        whole = all(t == math.floor(t) for t in times)
        self.scale = 1 if whole else resolution
        self.real = [op["duration"] for op in ops]
        self.names = [op.get("name", i) for i, op in enumerate(ops)]
        self.duration = [math.ceil(d * self.scale) for d in self.real]
        self.edges = [(end(e["from"]), end(e["to"]), math.ceil(lag_of(e) * self.scale), e.get("distance", 0)) for e in edges]
        self.pools = self.find_pools(graph, devices)

    def find_pools(self, graph, devices):
        """(capacity, [(op, demand)]) of every pool; amounts that are not whole are multiplied by 10^6, demands rounded up."""
        pools = [(devices, [(i, 1) for i in range(len(self.real))])] if devices else []
        for k, pool in enumerate(graph.get("resources", [])):
            name, capacity = pool.get("name", str(k)), pool.get("capacity")
            users = [(i, op["demand"][name]) for i, op in enumerate(graph["ops"]) if op.get("demand", {}).get(name, 0) > 0]
            if capacity is None or not users:
                continue
            whole = all(x == math.floor(x) for x in [capacity] + [d for _, d in users])
            by = 1 if whole else 10 ** 6
            pools.append((math.floor(capacity * by), [(i, math.ceil(d * by)) for i, d in users]))
        return pools

    def horizon(self):
        reach = list(self.duration)
        for i, _, lag, _ in self.edges:
            reach[i] = max(reach[i], lag)
        return max(1, sum(reach))


def new_solver(cp, args, limit):
    solver = cp.CpSolver()
    solver.parameters.num_workers = args.threads
    solver.parameters.max_time_in_seconds = max(limit, 0.001)
    solver.parameters.random_seed = args.seed % 2 ** 31
    return solver


def solve_flat(cp, args, problem, limit):
    """Intervals, precedences and one cumulative (or no-overlap) constraint per pool."""
    model, horizon = cp.CpModel(), problem.horizon()
    start = [model.new_int_var(0, horizon - d, "") for d in problem.duration]
    finish = model.new_int_var(0, horizon, "finish")
    for s, d in zip(start, problem.duration):
        model.add(finish >= s + d)
    model.minimize(finish)
    work = [model.new_fixed_size_interval_var(s, d, "") for s, d in zip(start, problem.duration)]
    for i, k, lag, distance in problem.edges:
        if distance == 0:  # a loop-carried edge joins different iterations
            model.add(start[k] >= start[i] + lag)
    for capacity, users in problem.pools:
        if all(2 * amount > capacity for _, amount in users):
            model.add_no_overlap([work[i] for i, _ in users])
        else:
            model.add_cumulative([work[i] for i, _ in users], [amount for _, amount in users], capacity)
    solver = new_solver(cp, args, limit)
    status = solver.solve(model)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return None, False, None
    return [solver.value(s) for s in start], status == cp.OPTIMAL, None


def modulo_model(cp, problem, ii):
    """Is there any schedule at this II? Ops run at phase + II * turn; each stands in its pools twice, II apart, so that the second turn holds all."""
    model = cp.CpModel()
    horizon = problem.horizon() + ii * len(problem.duration)
    start = [model.new_int_var(0, horizon - d, "") for d in problem.duration]
    for i, k, lag, distance in problem.edges:
        model.add(start[k] >= start[i] + lag - distance * ii)
    phase = {}
    for i in {i for _, users in problem.pools for i, _ in users}:
        turn = model.new_int_var(0, horizon // ii, "")
        phase[i] = model.new_int_var(0, ii - 1, "")
        model.add(start[i] == phase[i] + ii * turn)
    for capacity, users in problem.pools:
        work, amounts = [], []
        for i, amount in users:
            whole, rest = divmod(problem.duration[i], ii)
            capacity -= whole * amount  # held throughout
            for shift in (0, ii) if rest else ():
                work.append(model.new_fixed_size_interval_var(phase[i] + shift, rest, ""))
                amounts.append(amount)
        if capacity < 0:
            return None, None
        model.add_cumulative(work, amounts, capacity)
    return model, start


def recurrence_allows(problem, ii):
    """No cycle of positive length among the lags at this II (Bellman-Ford)."""
    dist = [0] * len(problem.duration)
    for _ in range(len(dist) + 1):
        changed = False
        for i, k, lag, distance in problem.edges:
            if dist[i] + lag - distance * ii > dist[k]:
                dist[k], changed = dist[i] + lag - distance * ii, True
        if not changed:
            return True
    return False


def least_interval(problem):
    """The larger of ResMII and RecMII: no smaller II is worth a try."""
    low = max([1] + [-(-sum(a * problem.duration[i] for i, a in users) // capacity) for capacity, users in problem.pools if capacity])
    high = max(low, problem.horizon())
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if recurrence_allows(problem, middle) else (middle + 1, high)
    return low


def solve_modulo(cp, args, problem, limit):
    """II by II from the least possible; each try gets half of what is left, so that a hard one does not use up the rest."""
    begin, proved, ii = time.time(), True, least_interval(problem)
    most = ii + problem.horizon() + 1
    while ii <= most and time.time() - begin < limit:
        model, start = modulo_model(cp, problem, ii)
        solver = new_solver(cp, args, (limit - (time.time() - begin)) / 2)
        status = cp.INFEASIBLE if model is None else solver.solve(model)
        if status in (cp.OPTIMAL, cp.FEASIBLE):
            return [solver.value(s) for s in start], proved, ii
        proved = proved and status == cp.INFEASIBLE
        ii += 1
    return None, False, None


def assign_devices(problem, start, devices):
    """Any op on the device that has been free for longest; ops without duration need none."""
    free, device = [0] * devices, [0] * len(start)
    for i in sorted(range(len(start)), key=lambda i: start[i]):
        if problem.duration[i] > 0:
            d = min(range(devices), key=lambda d: free[d])
            device[i], free[d] = d, start[i] + problem.duration[i]
    return device


def write_schedule(file, problem, start, devices, ii):
    device = assign_devices(problem, start, devices) if devices else None
    ops = [{"name": name, "start": s / problem.scale} for name, s in zip(problem.names, start)]
    for i, op in enumerate(ops):
        if device:
            op["device"] = device[i]
    with open(file, "w") as out:
        json.dump({"format": "sked-schedule-1", "devices": devices, "ii": ii, "ops": ops}, out)


def run_cpsat(cp, args, one, limit, folder):
    native, file = os.path.join(folder, "graph.json"), os.path.join(folder, "cpsat.json")
    sked(args, "convert", one["path"], native, *reading(one, folder))
    with open(native) as text:
        problem = Problem(json.load(text), one["devices"], args.resolution)
    begin = time.time()
    start, proved, ii = (solve_modulo if one["loop"] else solve_flat)(cp, args, problem, limit)
    seconds = time.time() - begin
    if start is None:
        return {"value": None, "proved": False, "seconds": seconds}
    write_schedule(file, problem, start, one["devices"], ii)
    seen = json.loads(sked(args, "check", one["path"], file, *reading(one, folder), "--json"))
    value = seen["ii"] if one["loop"] else seen["makespan"]
    return {"value": value, "proved": proved, "seconds": seconds}


# ---- runs, side by side -----------------------------------------------------------------------------------------

def run_one(task):
    """Both solvers, one after the other, on the cores of this process."""
    args, one, ask = WORKER["args"], task["instance"], task
    args.threads = ask["threads"]
    with tempfile.TemporaryDirectory() as folder:
        both = {"sked": run_sked(args, one, ask["limit"], folder),
                "cpsat": run_cpsat(WORKER["cp"], args, one, ask["limit"], folder)}
    return {"kind": "instance", "order": ask["order"], "set": ask["set"], "threads": ask["threads"], "limit": ask["limit"],
            "file": os.path.basename(one["path"]), "devices": one["devices"], "best": one["best"], "proven": one["proven"], **both}


WORKER = {}


def open_worker(args, slots):
    """One worker process: a set of cores of its own, and a solver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, slots.get())
    WORKER.update(args=args, cp=import_solver())


def choose(args, name, listing):
    chosen = listing(args.data, name)[::args.sample]
    if args.most and len(chosen) > args.most:
        chosen = random.Random(args.seed).sample(chosen, args.most)
    return chosen


def tasks_of(args, threads):
    """Sets by turns, so that a run that ends early has some of each."""
    rows, names = [], [name for name, _, _ in SETS]
    for limit in args.time_limit:
        for name, own, listing in args.sets:
            order = [0 if limit == "own" else limit, threads, names.index(name)]
            ask = {"set": name, "threads": threads, "limit": own if limit == "own" else limit, "order": order}
            rows.append([{**ask, "instance": one} for one in choose(args, name, listing)])
    return [row[k] for k in range(max(map(len, rows), default=0)) for row in rows if k < len(row)]


def show(one):
    say = lambda r: f"{r['value'] if r['value'] is not None else 'none'} {'proved ' if r['proved'] else ''}{r['seconds']:.2f} s"
    best = one["best"] if one["best"] is not None else f">= {one['sked']['bound']}"
    return (f"  {one['set']} {one['file']} m={one['devices']} threads {one['threads']} limit {one['limit']:g} best {best}: "
            f"sked {say(one['sked'])}; CP-SAT {say(one['cpsat'])}")


def run_all(args, threads, record):
    """All instances with so many threads, args.jobs at a time on cores of their own. False: the time was up."""
    cores = sorted(os.sched_getaffinity(0))
    jobs = max(1, min(args.jobs, len(cores) // threads))
    slots = multiprocessing.Queue()
    for k in range(jobs):
        slots.put(set(cores[k * threads:(k + 1) * threads]))
    waiting = tasks_of(args, threads)[::-1]
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=open_worker, initargs=(args, slots)) as pool:
        running = set()
        while running or (waiting and time.time() < args.end):
            while waiting and len(running) < jobs and time.time() < args.end:
                running.add(pool.submit(run_one, waiting.pop()))
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                record(future.result())
    return not waiting


def machine():
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{models[0] if models else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def limit_of(word):
    return "own" if word == "own" else float(word)


def parse():
    parser = argparse.ArgumentParser(description="Compares sked with CP-SAT on the benchmark sets of `sked-bench quality`; prints Markdown.")
    parser.add_argument("--sked", default=os.path.join(ROOT, "build", "sked"), help="the command (default build/sked)")
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"), help="folder of the benchmark instances")
    parser.add_argument("--only", metavar="SET", nargs="+", default=[""], help="run the sets whose name begins so")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="take every N-th instance only")
    parser.add_argument("--most", type=int, metavar="N", help="and of these at most N, drawn with the seed")
    parser.add_argument("--time-limit", type=limit_of, nargs="+", default=["own"], metavar="S",
                        help="seconds per instance; own: the limit of the set (default); several: one row each")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], metavar="N", help="threads of both (default 1); several: one row each")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="instances at a time, each on cores of its own (default 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of both (default 0)")
    parser.add_argument("--resolution", type=int, default=1, metavar="N",
                        help="ticks per unit of time for CP-SAT where times are not whole numbers (default 1)")
    parser.add_argument("--stop-after", type=float, default=math.inf, metavar="S", help="begin no instance after so many seconds")
    parser.add_argument("--record", metavar="FILE", help="append every result to FILE at once, a JSON object a line")
    parser.add_argument("--table", metavar="FILE", nargs="+", help="run nothing: print the table of recorded files")
    parser.add_argument("--list", action="store_true", help="print every instance")
    args = parser.parse_args()
    least = min([args.sample, args.resolution, args.jobs, args.most or 1, *args.threads])
    if least < 1 or args.seed < 0 or any(s != "own" and not s >= 0 for s in args.time_limit):
        parser.error("--sample, --most, --threads, --jobs and --resolution want 1 or more, --seed and --time-limit 0 or more")
    if max(args.threads) > len(os.sched_getaffinity(0)):
        parser.error(f"--threads {max(args.threads)}: this process may use {len(os.sched_getaffinity(0))} cores")
    args.sets = [s for s in SETS if s[0].startswith(tuple(args.only))]
    if not args.sets:
        parser.error(f"no set begins with {' or '.join(args.only)}; sets: {' '.join(s[0] for s in SETS)}")
    return args


def compare(args):
    """Runs what is asked for and returns what was recorded."""
    import_solver()
    import ortools
    args.end, instances = time.time() + args.stop_after, []
    run = {"kind": "run", "sked": sked(args, "--version").strip(), "ortools": ortools.__version__, "seed": args.seed,
           "machine": machine(), "jobs": min(args.jobs, len(os.sched_getaffinity(0))), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    with open(args.record or os.devnull, "a") as file:
        def record(one):
            file.write(json.dumps(one) + "\n")
            file.flush()
            if one["kind"] == "instance":
                instances.append(one)
                if args.list:
                    print(show(one), flush=True)
        record(run)
        for threads in args.threads:
            if not run_all(args, threads, record):
                print(f"cpsat.py: the time was up with instances of {threads} threads left", file=sys.stderr)
    return [run], instances


def main():
    if sys.argv[1:2] == ["curve"]:
        import cpsat_gaus
        return cpsat_gaus.main(import_solver(), sys.argv[2:], os.path.join(ROOT, "build", "sked"))
    args = parse()
    if args.table:
        try:
            return print(cpsat_table.markdown(*cpsat_table.read(args.table)))
        except ValueError as problem:
            raise Broken(problem)
    if not os.path.isdir(args.data):
        skip(f"no benchmark instances in {args.data} (see --data)")
    if not os.path.exists(args.sked):
        sys.exit(f"{args.sked} does not exist: build sked first, or name it with --sked")
    print(cpsat_table.markdown(*compare(args)))


if __name__ == "__main__":
    try:
        main()
    except (Broken, OSError) as problem:
        sys.exit(f"cpsat.py: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
