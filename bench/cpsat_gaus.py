"""CP-SAT models of GauS's formulations A (load and communication), B (memory), C (pipelined memory).

`bench/cpsat.py curve GRAPH ...` runs one of them and records value over time in the format of
`sked schedule --curve`. Times, weights and sizes must be whole numbers. `sked check` judges every
solution; what is recorded is the value that it computes.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from typing import Any, Callable, Optional

Edge = tuple[int, int, int, int, bool]  # from, to, lag, distance, counts as communication


class Refused(Exception):
    """The instance does not fit: what it has that a model cannot state, or its size."""


def whole(x: float, what: str) -> int:
    if x != math.floor(x):
        raise Refused(f"{what} {x} is not a whole number")
    return int(x)


class Instance:
    """A native graph with a horizon and, where pipelined, an interval."""

    def __init__(self, graph: dict[str, Any], horizon: int, ii: int) -> None:
        ops = graph["ops"]
        self.names = [op.get("name", str(i)) for i, op in enumerate(ops)]
        index = {name: i for i, name in enumerate(self.names)}
        self.duration = [whole(op["duration"], "duration") for op in ops]
        self.weight = [whole(op.get("weight", 1), "weight") for op in ops]
        self.memory = [whole(op.get("memory", 0), "memory") for op in ops]
        self.kept = [bool(op.get("keep")) for op in ops]
        self.edges = [self.read_edge(e, index) for e in graph["edges"]]
        self.pools = self.read_pools(graph)
        self.demands = any(op.get("demand") for op in ops)
        self.horizon, self.ii = horizon, ii
        self.low, self.high = self.windows()

    def read_edge(self, e: Any, index: dict[str, int]) -> Edge:
        e = e if isinstance(e, dict) else {"from": e[0], "to": e[1]}
        end = lambda x: index[x] if isinstance(x, str) else x
        i, k = end(e["from"]), end(e["to"])
        lag = self.duration[i] if e.get("lag") is None else whole(e["lag"], "lag")
        return i, k, lag, e.get("distance", 0), e.get("bytes", 0) > 0

    def read_pools(self, graph: dict[str, Any]) -> list[tuple[int, list[tuple[int, int]]]]:
        pools = []
        for k, pool in enumerate(graph.get("resources", [])):
            name, capacity = pool.get("name", str(k)), pool.get("capacity")
            held = ((i, op.get("demand", {}).get(name, 0)) for i, op in enumerate(graph["ops"]))
            users = [(i, whole(d, "demand")) for i, d in held if d > 0]
            if capacity is not None and users:
                pools.append((whole(capacity, "capacity"), users))
        return pools

    def windows(self) -> tuple[list[int], list[int]]:
        """Earliest and latest starts: longest paths at the interval, to a fixed point."""
        n = len(self.names)
        low, high = [0] * n, [self.horizon - d for d in self.duration]
        place = self.topological()
        edges = [(i, k, lag - distance * self.ii) for i, k, lag, distance, _ in self.edges
                 if self.ii > 0 or distance == 0]
        forward = sorted(edges, key=lambda e: place[e[0]])
        backward = sorted(edges, key=lambda e: -place[e[1]])
        for _ in range(n + 1):
            changed = False
            for i, k, gap in forward:
                if low[i] + gap > low[k]:
                    low[k], changed = low[i] + gap, True
            for i, k, gap in backward:
                if high[k] - gap < high[i]:
                    high[i], changed = high[k] - gap, True
            if not changed:
                break
        if changed or any(a > b for a, b in zip(low, high)):
            raise Refused("no schedule fits into the horizon")
        return low, high

    def topological(self) -> list[int]:
        """Place of each op in an order that edges within an iteration follow."""
        after: list[list[int]] = [[] for _ in self.names]
        waits = [0] * len(after)
        for i, k, _, distance, _ in self.edges:
            if distance == 0:
                after[i].append(k)
                waits[k] += 1
        order = [i for i, count in enumerate(waits) if count == 0]
        for i in order:
            for k in after[i]:
                waits[k] -= 1
                if waits[k] == 0:
                    order.append(k)
        place = [0] * len(after)
        for position, i in enumerate(order):
            place[i] = position
        return place

    def steps(self) -> int:
        return sum(b - a + 1 for a, b in zip(self.low, self.high))


# ---- the models ----------------------------------------------------------------------------------


def add_starts(model: Any, x: Instance) -> list[Any]:
    """Starts within their windows, and what edges say of them."""
    start = [model.new_int_var(a, b, "") for a, b in zip(x.low, x.high)]
    for i, k, lag, distance, _ in x.edges:
        if x.ii > 0 or distance == 0:
            model.add(start[k] >= start[i] + lag - distance * x.ii)
    return start


def add_load_by_steps(cp: Any, model: Any, x: Instance, start: list[Any], peak: Any) -> None:
    """One Boolean per op and step: the load of each step is a sum, which gives a strong bound."""
    load: list[list[tuple[Any, int]]] = [[] for _ in range(x.horizon)]
    for i, s in enumerate(start):
        at = {t: model.new_bool_var("") for t in range(x.low[i], x.high[i] + 1)}
        model.add_exactly_one(at.values())
        model.add(s == cp.LinearExpr.weighted_sum(list(at.values()), list(at)))
        for t, b in at.items():
            for step in range(t, t + x.duration[i]) if x.weight[i] else ():
                load[step].append((b, x.weight[i]))
    for held in load:
        if held:
            model.add(cp.LinearExpr.weighted_sum(*map(list, zip(*held))) <= peak)


def add_load_by_intervals(model: Any, x: Instance, start: list[Any], peak: Any) -> None:
    users = [i for i in range(len(start)) if x.weight[i] and x.duration[i]]
    work = [model.new_fixed_size_interval_var(start[i], x.duration[i], "") for i in users]
    model.add_cumulative(work, [x.weight[i] for i in users], peak)


def model_cost(cp: Any, model: Any, x: Instance, alpha: float, most_steps: int) -> tuple[list[Any], float]:
    """A: peak load + alpha * communication. Returns the starts and what the objective is scaled by."""
    if x.demands or x.ii:
        raise Refused("formulation A is for graphs without resources and without an interval")
    scale = next((k for k in (1, 10, 100, 1000) if k * alpha == round(k * alpha)), None)
    if scale is None:
        raise Refused(f"alpha {alpha} has more than three decimals")
    start = add_starts(model, x)
    peak = model.new_int_var(0, sum(x.weight), "peak")
    if x.steps() <= most_steps:
        add_load_by_steps(cp, model, x, start, peak)
    else:
        add_load_by_intervals(model, x, start, peak)
    times = [0] * len(start)  # of each start in the steps that edges span
    for i, k, _, _, counts in x.edges:
        times[k] += counts
        times[i] -= counts
    spans = cp.LinearExpr.weighted_sum(start, [round(scale * alpha) * t for t in times])
    model.minimize(scale * peak + spans)
    return start, scale


def readers(x: Instance) -> list[list[tuple[int, int]]]:
    """(reader, distance) of every value that takes room; a value without a reader takes none."""
    by_value: list[list[tuple[int, int]]] = [[] for _ in x.names]
    for i, k, _, distance, _ in x.edges:
        if x.memory[i] > 0 and (x.ii > 0 or distance == 0):
            by_value[i].append((k, distance))
    return by_value


def add_memory_by_steps(cp: Any, model: Any, x: Instance, start: list[Any], peak: Any) -> None:
    """Booleans "has started by step t": a value takes room where its op has and a reader has not."""
    begun = [[model.new_bool_var("") for _ in range(low, high)] for low, high in zip(x.low, x.high)]
    by = lambda i, t: 0 if t < x.low[i] else 1 if t >= x.high[i] else begun[i][t - x.low[i]]
    for i, row in enumerate(begun):
        model.add(start[i] == x.high[i] - cp.LinearExpr.sum(row))
        for earlier, later in zip(row, row[1:]):
            model.add_implication(earlier, later)
    for i, k, lag, distance, _ in x.edges:
        for t in range(x.low[k], x.high[k]) if distance == 0 else ():
            model.add(by(k, t) <= by(i, t - lag))
    load: list[list[tuple[Any, int]]] = [[] for _ in range(x.horizon)]
    for i, reading in enumerate(readers(x)):
        last = max((x.high[k] for k, _ in reading), default=0)
        for t in range(x.low[i], last):
            alive = model.new_bool_var("")
            for k, _ in reading:
                model.add(alive >= by(i, t) - by(k, t))
            load[t].append((alive, x.memory[i]))
    for held in load:
        if held:
            model.add(cp.LinearExpr.weighted_sum(*map(list, zip(*held))) <= peak)


def add_memory_by_intervals(model: Any, x: Instance, start: list[Any], peak: Any) -> None:
    """A value is an interval from the start of its op to that of its last reader."""
    alive, sizes = [], []
    for i, by in enumerate(readers(x)):
        if not by:
            continue
        end = model.new_int_var(x.low[i], x.horizon, "")
        for k, _ in by:
            model.add(end >= start[k])
        length = model.new_int_var(0, x.horizon, "")
        alive.append(model.new_interval_var(start[i], length, end, ""))
        sizes.append(x.memory[i])
    model.add_cumulative(alive, sizes, peak)


def model_memory(cp: Any, model: Any, x: Instance, most_steps: int) -> tuple[list[Any], float]:
    """B: the peak of what is alive."""
    if x.pools or any(x.kept):
        raise Refused("formulation B is for graphs without resources and without kept values")
    start = add_starts(model, x)
    peak = model.new_int_var(0, sum(x.memory), "peak")
    if 40 * x.steps() <= most_steps:
        add_memory_by_steps(cp, model, x, start, peak)
    else:
        add_memory_by_intervals(model, x, start, peak)
    model.minimize(peak)
    return start, 1


def add_phases(model: Any, x: Instance, start: list[Any]) -> list[Any]:
    phase = []
    for s in start:
        turn = model.new_int_var(0, x.horizon // x.ii, "")
        phase.append(model.new_int_var(0, x.ii - 1, ""))
        model.add(s == phase[-1] + x.ii * turn)
    return phase


def add_modulo_pools(model: Any, x: Instance, phase: list[Any]) -> None:
    """Each op stands in its pools twice, II apart: the second turn holds all that wraps around."""
    for capacity, users in x.pools:
        work, amounts = [], []
        for i, amount in users:
            times, rest = divmod(x.duration[i], x.ii)
            capacity -= times * amount  # held throughout
            for shift in (0, x.ii) if rest else ():
                work.append(model.new_fixed_size_interval_var(phase[i] + shift, rest, ""))
                amounts.append(amount)
        if capacity < 0:
            raise Refused("no schedule fits into the interval")
        model.add_cumulative(work, amounts, capacity)


def model_pipelined(model: Any, x: Instance) -> tuple[list[Any], float]:
    """C: a value that lives q * II + r steps holds its size q times throughout, and once more for r steps."""
    if any(x.kept):
        raise Refused("formulation C is for graphs without kept values")
    start = add_starts(model, x)
    phase = add_phases(model, x, start)
    add_modulo_pools(model, x, phase)
    longest = x.horizon + x.ii * max([e[3] for e in x.edges] + [0])
    throughout, alive, sizes = [], [], []
    for i, by in enumerate(readers(x)):
        if not by:
            continue
        turns = model.new_int_var(0, longest // x.ii + 1, "")
        rest = model.new_int_var(0, x.ii - 1, "")
        for k, distance in by:
            model.add(start[i] + x.ii * turns + rest >= start[k] + distance * x.ii)
        throughout.append(x.memory[i] * turns)
        for shift in (0, x.ii):
            end = model.new_int_var(shift, 2 * x.ii + shift, "")
            alive.append(model.new_interval_var(phase[i] + shift, rest, end, ""))
            sizes.append(x.memory[i])
    peak = model.new_int_var(0, sum(x.memory), "peak")
    model.add_cumulative(alive, sizes, peak)
    model.minimize(peak + sum(throughout))
    return start, 1


# ---- solving -------------------------------------------------------------------------------------


class Recorder:
    """Keeps every solution and bound with its time; callbacks come from any thread."""

    def __init__(self, start: list[Any], scale: float, begin: float) -> None:
        self.start, self.scale, self.begin = start, scale, begin
        self.lock = threading.Lock()
        self.events: list[tuple[float, Optional[array], Optional[float], float]] = []
        self.bound = 0.0

    def now(self) -> float:
        return time.monotonic() - self.begin

    def solution(self, values: Callable[[Any], int], objective: float, bound: float) -> None:
        with self.lock:
            self.bound = max(self.bound, bound / self.scale)
            found = array("q", (values(s) for s in self.start))
            self.events.append((self.now(), found, objective / self.scale, self.bound))

    def better_bound(self, bound: float) -> None:
        with self.lock:
            if bound / self.scale > self.bound:
                self.bound = bound / self.scale
                self.events.append((self.now(), None, None, self.bound))


def solve(cp: Any, model: Any, recorder: Recorder, args: argparse.Namespace) -> bool:
    """Whether the last solution is proved optimal. The limit counts from the begin, building included."""

    class Watch(cp.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            recorder.solution(self.value, self.objective_value, self.best_objective_bound)

    solver = cp.CpSolver()
    solver.parameters.num_workers = args.threads
    solver.parameters.random_seed = args.seed % 2**31
    solver.parameters.max_time_in_seconds = max(0.01, args.time_limit - recorder.now())
    solver.best_bound_callback = recorder.better_bound
    status = solver.solve(model, Watch())
    if status == cp.INFEASIBLE:
        raise Refused("CP-SAT proves that there is no schedule")
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        recorder.better_bound(solver.best_objective_bound)
    return status == cp.OPTIMAL


def write_schedule(file: str, names: list[str], start: Any, ii: int) -> None:
    ops = [{"name": name, "start": s} for name, s in zip(names, start)]
    with open(file, "w") as out:
        json.dump({"format": "sked-schedule-1", "devices": 0, "ii": ii or None, "ops": ops}, out)


def judge(args: argparse.Namespace, file: str) -> float:
    """The value that `sked check` computes; a refused schedule ends the run."""
    words = [args.sked, "check", args.graph, file, "--json", "--horizon", str(args.horizon)]
    words += ["--library", args.library] if args.library else []
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sked refuses a solution of CP-SAT: {done.stderr.strip()}")
    seen = json.loads(done.stdout)
    if args.objective == "memory":
        return seen["peak_memory"]
    return seen["resource"] + args.alpha * seen["communication"]


def lines_of(args: argparse.Namespace, x: Instance, recorder: Recorder, folder: str) -> list[dict]:
    """The curve: every solution judged, only what improves."""
    lines: list[dict] = []
    best, bound, count = None, None, 0
    for seconds, start, claimed, low in recorder.events:
        if start is not None:
            count += 1
            file = os.path.join(folder, "solution.json")
            write_schedule(file, x.names, start, x.ii)
            value = judge(args, file)
            if value > claimed + 1e-6:
                sys.exit(f"CP-SAT says {claimed}, its schedule has {value}")
            if best is None or value < best:
                best = value
                if args.output:
                    write_schedule(args.output, x.names, start, x.ii)
            elif bound is not None and low <= bound:
                continue
        bound = low
        point = {"seconds": round(seconds, 6), "evaluations": count, "value": best, "bound": low}
        lines.append({**point, **({"ii": x.ii} if x.ii else {}), "method": "cpsat"})
    return lines


def build(cp: Any, model: Any, x: Instance, args: argparse.Namespace) -> tuple[list[Any], float]:
    if args.objective == "cost":
        return model_cost(cp, model, x, args.alpha, args.most_steps)
    return model_pipelined(model, x) if args.ii else model_memory(cp, model, x, args.most_steps)


def parse(words: list[str], sked: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="cpsat.py curve", description="CP-SAT on one of GauS's formulations; value over time as JSON lines.")
    parser.add_argument("graph")
    parser.add_argument("--objective", choices=["cost", "memory"], required=True)
    parser.add_argument("--horizon", type=int, required=True, metavar="D", help="latest finish")
    parser.add_argument("--ii", type=int, default=0, metavar="K", help="initiation interval: formulation C")
    parser.add_argument("--alpha", type=float, default=1, metavar="A", help="weight of communication")
    parser.add_argument("--library", metavar="LIB.json", help="op library, as for sked")
    parser.add_argument("--time-limit", type=float, default=60, metavar="S", help="building included (default 60)")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--memory", type=float, default=8, metavar="GB",
                        help="most memory of the process (default 8); beyond it the run ends with 'out of memory'")
    parser.add_argument("--most-steps", type=int, default=200000, metavar="N",
                        help="A: up to so many pairs of op and step a Boolean for each, beyond it intervals; B: a fortieth of it")
    parser.add_argument("--curve", metavar="FILE.jsonl", required=True)
    parser.add_argument("-o", dest="output", metavar="SCHEDULE.json", help="the best schedule")
    parser.add_argument("--sked", default=sked)
    args = parser.parse_args(words)
    if args.threads < 1 or args.time_limit <= 0 or args.horizon < 1 or args.ii < 0 or args.memory <= 0:
        parser.error("--threads, --time-limit, --horizon and --memory must be above 0")
    return args


def run(cp: Any, args: argparse.Namespace) -> dict:
    """One object: value, bound, optimal, seconds, solutions; value null with a note where there is none."""
    limit = int(args.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    out = {"value": None, "bound": None, "optimal": False, "seconds": 0.0, "solutions": 0, "note": ""}
    with tempfile.TemporaryDirectory() as folder:
        native = os.path.join(folder, "graph.json")
        words = [args.sked, "convert", args.graph, native]
        words += ["--library", args.library] if args.library else []
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        with open(native) as text:
            graph = json.load(text)
        begin, lines = time.monotonic(), []
        try:
            x = Instance(graph, args.horizon, args.ii)
            model = cp.CpModel()
            start, scale = build(cp, model, x, args)
            recorder = Recorder(start, scale, begin)
            out["optimal"] = solve(cp, model, recorder, args)
            out["seconds"] = recorder.now()
            lines = lines_of(args, x, recorder, folder)
            out["solutions"] = sum(event[1] is not None for event in recorder.events)
        except Refused as why:
            out["note"] = str(why)
        except MemoryError:
            out["note"] = "out of memory"
    if lines:
        out["value"], out["bound"] = lines[-1]["value"], lines[-1]["bound"]
    elif not out["note"]:
        out["note"] = "no schedule within the time"
    partial = args.curve + ".part"
    with open(partial, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    os.replace(partial, args.curve)
    return out


def main(cp: Any, words: list[str], sked: str) -> None:
    print(json.dumps(run(cp, parse(words, sked))))
