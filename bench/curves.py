#!/usr/bin/env python3
"""Value over time of gaus, list, fds, CP-SAT and GS-Schedule on GauS's formulations: record, table, picture.

    bench/curves.py record DIR     # runs every solver on every instance: hours; goes on where it was ended
    bench/curves.py table DIR      # value after 1, 10 and 60 s
    bench/curves.py draw DIR       # DIR/pareto.svg: quality against time
    bench/curves.py table DIR ELSEWHERE     # with the runs of another machine

DIR gets one file of JSON lines for each run, in the format of `sked schedule --curve`, and runs.jsonl, one
line for each run: what it was and how it ended. `sked check` has judged every schedule. See bench/README.md.
"""
import argparse
import csv
import html
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from typing import Any, Iterator, NamedTuple, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(ROOT, "bench")
TIMES = (1, 10, 60)


class Instance(NamedTuple):
    set: str
    name: str
    path: str
    objective: str
    horizon: int
    alpha: float = 1
    ii: int = 0

    def options(self) -> list[str]:
        words = ["--objective", self.objective, "--horizon", str(self.horizon)]
        words += ["--alpha", repr(self.alpha)] if self.objective == "cost" else []
        return words + (["--ii", str(self.ii)] if self.ii else [])


class Solver(NamedTuple):
    name: str
    threaded: bool
    loops: bool  # takes pipelined problems
    flat: bool  # takes others


SOLVERS = [Solver("list", False, False, True), Solver("modulo-list", False, True, False),
           Solver("fds", False, False, True), Solver("gaus", True, True, True),
           Solver("cpsat", True, True, True), Solver("gs-schedule", True, False, True)]
COLORS = {"list": "#808890", "modulo-list": "#808890", "fds": "#e08214", "gaus": "#4393c3", "cpsat": "#1b9e77",
          "gs-schedule": "#9970ab"}


def ask(args: argparse.Namespace, *words: Any) -> dict:
    done = subprocess.run([args.sked, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sked {' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# ---- instances -----------------------------------------------------------------------------------


def files(args: argparse.Namespace, part: str, extension: str) -> list[tuple[str, str]]:
    folder = os.path.join(args.data, part)
    names = sorted(n for n in os.listdir(folder) if n.endswith(extension))
    return [(n[:-len(extension)], os.path.join(folder, n)) for n in names]


def list_cost(args: argparse.Namespace, name: str) -> Iterator[Instance]:
    """Formulation A: ten stages, load and communication."""
    for graph, path in files(args, "rw", ".gml"):
        yield Instance(name, graph, path, "cost", 10, float(name.split("-")[1]))


def list_memory(args: argparse.Namespace, name: str) -> Iterator[Instance]:
    """Formulation B: circuits, their depth or more of it as horizon."""
    for graph, path in files(args, "epfl", ".blif"):
        depth = ask(args, "info", path, "--json")["critical_path"]
        yield Instance(name, graph, path, "memory", math.floor(float(name.split("-")[2]) * depth + 1e-9))


def list_pipelined(args: argparse.Namespace, name: str) -> Iterator[Instance]:
    """Formulation C: loops at their best known interval, as long as modulo-list or the reference needs."""
    with open(os.path.join(args.data, "modulo", "ref_II.csv"), newline="") as text:
        rows = list(csv.DictReader(text))
    for row in rows[::args.sample]:
        path, ii = os.path.join(args.data, "modulo", row["graph"]), int(row["II_best"])
        loose = ask(args, "schedule", path, "--library", args.library, "--objective", "memory", "--ii", ii, "--method",
                    "modulo-list", "--json", "--quiet")
        length = max(int(row["schedule_length_at_II_best"]), int(loose["makespan"]))
        graph = row["graph"].rsplit(".", 1)[0].replace("/", "-")
        yield Instance(name, graph, path, "memory", length, ii=ii)


SETS = {"rw-0.01": list_cost, "rw-1": list_cost, "rw-100": list_cost, "epfl-memory-1": list_memory,
        "epfl-memory-1.2": list_memory, "modulo": list_pipelined}


def wanted(args: argparse.Namespace, name: str) -> bool:
    """--only names a set, or begins the names of several."""
    return name == args.only if args.only in SETS else name.startswith(args.only or "")


def instances(args: argparse.Namespace) -> Iterator[Instance]:
    for name, listing in SETS.items():
        if wanted(args, name):
            every = 1 if listing is list_pipelined else args.sample
            yield from (x for x in list(listing(args, name))[::every] if args.match in x.name)


# ---- recording -----------------------------------------------------------------------------------


def command(args: argparse.Namespace, one: Instance, solver: Solver, threads: int, curve: str) -> list[str]:
    common = ["--time-limit", repr(args.time_limit), "--threads", str(threads), "--curve", curve]
    library = ["--library", args.library] if one.ii else []
    if solver.name == "cpsat":
        return [sys.executable, os.path.join(BENCH, "cpsat.py"), "curve", one.path, *one.options(), *library, *common,
                "--memory", repr(args.memory), "--seed", str(args.seed), "--sked", args.sked]
    if solver.name == "gs-schedule":
        return [sys.executable, os.path.join(BENCH, "gs_schedule.py"), one.path, "--horizon", str(one.horizon),
                "--alpha", repr(one.alpha), *common, "--memory", repr(args.memory), "--batch", str(args.batch),
                "--sked", args.sked, *(["--peer", args.peer] if args.peer else [])]
    return [args.sked, "schedule", one.path, *one.options(), *library, *common, "--method", solver.name, "--backend",
            args.backend, "--seed", str(args.seed), "--json", "--quiet"]


def takes(solver: Solver, one: Instance) -> bool:
    if solver.name == "gs-schedule":  # its file format, and its objective
        return one.path.endswith(".gml") and one.objective == "cost"
    return solver.loops if one.ii else solver.flat


def outcome(args: argparse.Namespace, words: list[str], curve: str) -> Optional[dict]:
    """How the run ended; None: the rival cannot be installed here."""
    try:  # a rival that ends late gets twice its time, and something for its start and for checking
        done = subprocess.run(words, capture_output=True, text=True, timeout=2 * args.time_limit + 600)
    except subprocess.TimeoutExpired:
        return {"value": None, "note": "did not end"}
    if done.stdout.startswith("skipped"):
        print(f"  {done.stdout.strip()}", file=sys.stderr)
        return None
    if words[0] == args.sked and done.returncode in (7, 10):
        return {"value": None, "note": done.stderr.strip()}
    if done.returncode < 0 or "out of memory" in done.stderr:
        return {"value": None, "note": "out of memory"}
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    told = json.loads(done.stdout)
    with open(curve) as text:
        last = [json.loads(line) for line in text][-1:]
    if last and not math.isclose(last[0]["value"], told["value"], rel_tol=1e-9):
        sys.exit(f"{curve}: ends with {last[0]['value']}, the run with {told['value']}")
    keys = ("value", "optimal", "seconds", "note", "device", "epochs", "solutions")
    return {**{k: told[k] for k in keys if k in told}, "bound": told.get("lower_bound", told.get("bound"))}


def known_run(path: str, number: int, line: str) -> dict:
    wanted_fields = {"set", "instance", "solver", "threads", "curve", "limit", "seed", "machine", "value"}
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not wanted_fields <= row.keys():
        sys.exit(f"curves.py: {path}:{number}: not a line that `record` writes")
    return row


def known_runs(folder: str) -> list[dict]:
    path = os.path.join(folder, "runs.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as text:
        return [known_run(path, number, line) for number, line in enumerate(text, 1) if line.endswith("\n")]


def record(args: argparse.Namespace) -> None:
    os.makedirs(args.folder, exist_ok=True)
    done = {(r["set"], r["instance"], r["solver"], r["threads"], r.get("backend")) for r in known_runs(args.folder)}
    with tempfile.TemporaryDirectory() as folder:
        args.library = os.path.join(folder, "library.json")
        with open(args.library, "w") as out:
            json.dump({"types": {"*": {"memory": 1}}}, out)
        for one in instances(args):
            for solver in SOLVERS:
                for threads in args.threads if solver.threaded else args.threads[:1]:
                    named = (one.set, one.name, solver.name, threads, backend_of(args, solver))
                    if takes(solver, one) and solver.name in args.solvers and named not in done:
                        record_one(args, one, solver, threads)


def backend_of(args: argparse.Namespace, solver: Solver) -> Optional[str]:
    return args.backend if solver.name == "gaus" and args.backend != "cpu" else None


def record_one(args: argparse.Namespace, one: Instance, solver: Solver, threads: int) -> None:
    backend = backend_of(args, solver)
    name = f"{one.set}.{one.name}.{solver.name}-{threads}{'-' + backend if backend else ''}.jsonl"
    ended = outcome(args, command(args, one, solver, threads, os.path.join(args.folder, name)),
                    os.path.join(args.folder, name))
    if ended is None:
        return
    row = {"set": one.set, "instance": one.name, "solver": solver.name, "threads": threads, "curve": name,
           "horizon": one.horizon, "limit": args.time_limit, "seed": args.seed, "machine": args.machine,
           **({"batch": args.batch} if solver.name == "gs-schedule" else {}), **({"backend": backend} if backend else {}),
           **ended}
    with open(os.path.join(args.folder, "runs.jsonl"), "a") as out:
        out.write(json.dumps(row) + "\n")
    shown = row["value"] if row["value"] is not None else f"none: {row['note']}"
    print(f"{one.set:16s} {one.name:28s} {solver.name:12s} {threads} thread{'s' * (threads > 1):1s} {shown}", flush=True)


# ---- what was recorded ---------------------------------------------------------------------------


class Curve:
    """Value over time of one run: a step function."""

    def __init__(self, folder: str, row: dict) -> None:
        self.row = row
        gpu = row.get("backend") == "cuda" or row.get("device", "cpu") != "cpu"
        self.label = row["solver"] + (f", {row['threads']} threads" if row["threads"] > 1 else "") + (", GPU" if gpu else "")
        self.points: list[tuple[float, float]] = []
        if row["value"] is not None:
            with open(os.path.join(folder, row["curve"])) as text:
                lines = [json.loads(line) for line in text]
            limit = row["limit"]  # what is found in the last moments may be noted a moment later
            self.points = [(min(p["seconds"], limit), p["value"]) for p in lines if p["value"] is not None]

    def at(self, seconds: float) -> Optional[float]:
        before = [value for when, value in self.points if when <= seconds]
        return before[-1] if before else None


def curves(args: argparse.Namespace) -> list[Curve]:
    found = []
    for folder in [args.folder, *args.more]:
        rows = [r for r in known_runs(folder) if wanted(args, r["set"])]
        if not rows:
            sys.exit(f"{folder}: no runs are recorded there")
        found += [Curve(folder, row) for row in rows]
    order = {name: k for k, name in enumerate(SETS)}
    return sorted(found, key=lambda c: (order.get(c.row["set"], len(order)), c.row["instance"]))


def sets_of(all_curves: list[Curve]) -> list[str]:
    return list(dict.fromkeys(c.row["set"] for c in all_curves))


def labels_of(some: list[Curve]) -> list[str]:
    order = [s.name for s in SOLVERS]
    return sorted({c.label for c in some}, key=lambda x: (order.index(x.split(",")[0]), x))


def bests_of(some: list[Curve]) -> dict[str, float]:
    best: dict[str, float] = {}
    for c in some:
        if c.points:
            name = c.row["instance"]
            best[name] = min(best.get(name, math.inf), c.points[-1][1])
    return best


def quality(mine: list[Curve], best: dict[str, float], seconds: float) -> Optional[float]:
    """Geometric mean of value / best of all, over the instances that it ever has a schedule for; None: not yet all."""
    logs = []
    for c in (c for c in mine if c.points):
        value = c.at(seconds)
        if value is None:
            return None
        logs.append(math.log(max(value, 1e-9) / max(best[c.row["instance"]], 1e-9)))
    return math.exp(sum(logs) / len(logs)) if logs else None


def table(args: argparse.Namespace) -> None:
    """One row per instance, solver and number of threads; then the geometric means of a set."""
    everything = curves(args)
    limit = max(c.row["limit"] for c in everything)
    times = [t for t in TIMES if t < limit] + [limit]
    head = " | ".join(f"{t:g} s" for t in times)
    machines = "; ".join(dict.fromkeys(c.row["machine"] for c in everything))
    print(f"{machines}; seeds {sorted({c.row['seed'] for c in everything})}; limit {limit:g} s")
    for name in sets_of(everything):
        some = [c for c in everything if c.row["set"] == name]
        print(f"\n### {name}\n\n| instance | solver | {head} | bound | |\n|---|---|{'---|' * (len(times) + 2)}")
        for c in some:
            values = [c.at(t) for t in times]
            cells = " | ".join("-" if v is None else f"{v:.10g}" for v in values)
            bound = c.row.get("bound")
            end = "optimal" if c.row.get("optimal") else "" if c.points else c.row.get("note", "")
            print(f"| {c.row['instance']} | {c.label} | {cells} | {'-' if bound is None else f'{bound:.10g}'} | {end} |")
        best = bests_of(some)
        for label in labels_of(some):
            mine = [c for c in some if c.label == label]
            means = [quality(mine, best, t) for t in times]
            cells = " | ".join("-" if q is None else f"{100 * (q - 1):+.1f} %" for q in means)
            found = sum(bool(c.points) for c in mine)
            print(f"| mean above the best of all | {label} | {cells} | | {found} of {len(mine)} scheduled |")


# ---- the picture ---------------------------------------------------------------------------------

STYLE = """svg{max-width:100%;height:auto}text{font:12px -apple-system,'Segoe UI',Roboto,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.t{font-size:14px;font-weight:600}.m{fill:#59636e}.mi{text-anchor:middle}.e{text-anchor:end}.bg{fill:#fff}.g{stroke:#e3e8ed;fill:none}
.f{fill:none;stroke:#1f2328;stroke-width:1.2;stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.m{fill:#a3adb8}.bg{fill:#14171c}.g{stroke:#2a3039}.f{stroke:#e6e9ed}}"""
WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 760, 300, 70, 150, 34, 46
LEAST = 1e-4  # above the best: less is drawn as the best itself


class Panel:
    """Quality against time of one set: both axes logarithmic."""

    def __init__(self, name: str, some: list[Curve], y: float) -> None:
        self.name, self.y = name, y
        best, count = bests_of(some), len({c.row["instance"] for c in some})
        self.steps: dict[str, list[tuple[float, float]]] = {}
        self.counts: dict[str, str] = {}
        self.end = max(c.row["limit"] for c in some)
        for label in labels_of(some):
            mine = [c for c in some if c.label == label]
            whens = sorted({t for c in mine for t, _ in c.points})
            points = [(max(t, 1e-4), q) for t in whens if (q := quality(mine, best, t)) is not None]
            if points:
                self.steps[label] = points
                found = sum(bool(c.points) for c in mine)
                self.counts[label] = "" if found == count else f" ({found} of {count})"
        firsts = [points[0] for points in self.steps.values()]
        self.begin = min(t for t, _ in firsts)
        self.most = max(1.01, *(q for _, q in firsts))

    def at_x(self, t: float) -> float:
        share = math.log(t / self.begin) / math.log(self.end / self.begin)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    def at_y(self, q: float) -> float:
        share = math.log(max(q - 1, LEAST) / LEAST) / math.log((self.most - 1) / LEAST)
        return self.y + PANEL - BOTTOM - (PANEL - TOP - BOTTOM) * share

    def front(self) -> list[tuple[float, float]]:
        """The best quality at each time of any solver that has a schedule of every instance."""
        least, kept = math.inf, []
        whole = [points for label, points in self.steps.items() if not self.counts[label]]
        for t, q in sorted(p for points in whole for p in points):
            if q < least:
                least = q
                kept.append((t, q))
        return kept

    def path(self, points: list[tuple[float, float]]) -> str:
        first = f"M{self.at_x(points[0][0]):.1f} {self.at_y(points[0][1]):.1f}"
        rest = "".join(f"H{self.at_x(t):.1f}V{self.at_y(q):.1f}" for t, q in points[1:])
        return f"{first}{rest}H{self.at_x(self.end):.1f}"

    def grid(self) -> Iterator[str]:
        foot, right = self.y + PANEL - BOTTOM, WIDTH - RIGHT
        for k in range(math.ceil(math.log10(self.begin)), math.floor(math.log10(self.end)) + 1):
            x = self.at_x(10.0**k)
            yield f'<path class="g" d="M{x:.1f} {self.y + TOP}V{foot}"/>'
            yield f'<text class="m mi" x="{x:.1f}" y="{foot + 16}">{10.0**k:g}</text>'
        for k in range(round(math.log10(LEAST)), math.floor(math.log10(self.most - 1)) + 1):
            y, text = self.at_y(1 + 10.0**k), "best" if 10.0**k == LEAST else f"+{100 * 10.0**k:g} %"
            yield f'<path class="g" d="M{LEFT} {y:.1f}H{right}"/><text class="m e" x="{LEFT - 8}" y="{y + 4:.1f}">{text}</text>'
        yield f'<text class="m mi" x="{(LEFT + right) / 2:.0f}" y="{foot + 34}">seconds</text>'

    def draw(self) -> Iterator[str]:
        yield f'<text class="t" x="{LEFT}" y="{self.y + 20}">{html.escape(self.name)}: value above the best of all, geometric mean</text>'
        yield from self.grid()
        taken: list[float] = []
        for label, points in sorted(self.steps.items(), key=lambda item: item[1][-1][1]):
            color, dash = COLORS[label.split(",")[0]], ' stroke-dasharray="7 3"' if "," in label else ""
            yield f'<path fill="none" stroke="{color}" stroke-width="2"{dash} d="{self.path(points)}"/>'
            y = self.at_y(points[-1][1])
            while any(abs(y - other) < 14 for other in taken):
                y -= 1
            taken.append(y)
            yield f'<text x="{WIDTH - RIGHT + 6}" y="{y + 4:.1f}" style="fill:{color}">{html.escape(label + self.counts[label])}</text>'
        if self.front():
            yield f'<path class="f" d="{self.path(self.front())}"/>'


def draw(args: argparse.Namespace) -> None:
    everything = curves(args)
    panels = []
    for name in sets_of(everything):
        some = [c for c in everything if c.row["set"] == name]
        if any(c.points for c in some):
            panels.append(Panel(name, some, len(panels) * PANEL))
    if not panels:
        sys.exit(f"{args.folder}: no run found a schedule")
    height = PANEL * len(panels)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
             f"<title>Quality against time</title>\n<style>{STYLE}</style>", '<rect class="bg" width="100%" height="100%"/>']
    for panel in panels:
        parts += panel.draw()
    file = args.output or os.path.join(args.folder, "pareto.svg")
    with open(file + ".part", "w") as out:
        out.write("\n".join(parts) + "\n</svg>\n")
    os.replace(file + ".part", file)
    print(file)


# ---- the command ---------------------------------------------------------------------------------


def machine_name() -> str:
    try:
        with open("/proc/cpuinfo") as text:
            model = next(line.split(":", 1)[1].strip() for line in text if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("record", "run the solvers; then table and picture"), ("table", "values over time"),
                       ("draw", "quality against time as SVG")):
        part = commands.add_parser(name, help=text)
        part.add_argument("folder", metavar="DIR")
        part.add_argument("more", nargs="*", metavar="ELSEWHERE", help="folders of runs on other machines, shown beside")
        part.add_argument("--only", metavar="SET", help="a set, or those whose names begin so: " + " ".join(SETS))
        part.add_argument("-o", dest="output", metavar="FILE.svg", help="the picture (default DIR/pareto.svg)")
        if name == "record":
            part.add_argument("--solvers", nargs="+", choices=[s.name for s in SOLVERS],
                              default=[s.name for s in SOLVERS], metavar="NAME")
            part.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="(default 1 2)")
            part.add_argument("--time-limit", type=float, default=60, metavar="S", help="(default 60)")
            part.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th instance only")
            part.add_argument("--match", default="", metavar="TEXT", help="of these, those whose name contains the text")
            part.add_argument("--seed", type=int, default=0, metavar="N")
            part.add_argument("--memory", type=float, default=8, metavar="GB", help="of each rival (default 8)")
            part.add_argument("--batch", type=int, default=250, metavar="N", help="of GS-Schedule (default 250)")
            part.add_argument("--backend", default="cpu", help="of gaus (default cpu)")
            part.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"), metavar="DIR")
            part.add_argument("--peer", metavar="DIR", help="folder of GS-Schedule's code")
            part.add_argument("--sked", default=os.path.join(ROOT, "build", "sked"))
            part.add_argument("--machine", default=machine_name(), help="what to call this machine")
    args = parser.parse_args()
    if args.command == "record" and (min(args.threads) < 1 or args.sample < 1 or args.time_limit <= 0):
        parser.error("--threads and --sample want 1 or more, --time-limit more than 0")
    if args.only and not any(name.startswith(args.only) for name in SETS):
        parser.error(f"no set begins with '{args.only}'; sets: {' '.join(SETS)}")
    return args


def main() -> None:
    args = parse()
    if args.command == "record":
        if not os.path.isdir(args.data):
            print(f"skipped: no benchmark instances in {args.data} (see --data)")
            return
        if not os.path.exists(args.sked):
            sys.exit(f"{args.sked} does not exist: build sked first, or name it with --sked")
        record(args)
    if args.command != "draw":
        table(args)
    if args.command != "table":
        draw(args)


if __name__ == "__main__":
    try:
        main()
    except OSError as problem:
        sys.exit(f"curves.py: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
