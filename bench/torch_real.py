#!/usr/bin/env python3
"""PyTorch networks at batch 1: eager, torch.compile, a plain CUDA graph, schedules of sked.

    python3 bench/torch_real.py --sked build/sked            # on a GPU: the table of docs/real.md
    python3 bench/torch_real.py --sked build/sked --quick    # anywhere: small, on CPU threads

Every row of a network is measured in turns with the others, on the same inputs, and checked against
the eager result. Schedules come from the program `sked`, which asks this one for measurements
through a socket; the compiled part of the Python package is not needed, only python/sked beside
this file. Results are printed as Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

ROWS = ["eager", "torch.compile", "plain graph", "list", "one-shot", "loop"]

# ---------------------------------------------------------------------- the program that sked runs


def ask(address: str, plan: str) -> int:
    """Passes a plan to the bench and prints its answer."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
        s.sendall(plan.encode() + b"\n")
        reply = s.makefile().readline()
    found = json.loads(reply)
    print(json.dumps(found))
    return 0 if "time" in found else 1


# ---------------------------------------------------------------------- networks


def networks(torch: Any, quick: bool) -> Dict[str, Callable[[], Tuple[Any, Tuple[Any, ...]]]]:
    """Makers of modules and example inputs."""
    nn, f = torch.nn, torch.nn.functional

    class Unit(nn.Module):
        """Convolution, normalisation, ReLU."""

        def __init__(self, c: int, d: int, k: int = 3, stride: int = 1, groups: int = 1) -> None:
            super().__init__()
            self.conv = nn.Conv2d(c, d, k, stride, k // 2, groups=groups, bias=False)
            self.norm = nn.BatchNorm2d(d)

        def forward(self, x: Any) -> Any:
            return f.relu(self.norm(self.conv(x)))

    class RandomlyWired(nn.Module):
        """A Watts-Strogatz graph, edges from lower to higher numbers (Xie et al. 2019)."""

        def __init__(self, nodes: int, c: int, near: int = 4, rewired: float = 0.75) -> None:
            super().__init__()
            rng = random.Random(0)
            pairs = set()
            for i in range(nodes):
                for k in range(1, near // 2 + 1):
                    j = rng.randrange(nodes) if rng.random() < rewired else (i + k) % nodes
                    if i != j:
                        pairs.add((min(i, j), max(i, j)))
            self.wires = [sorted(a for a, b in pairs if b == i) for i in range(nodes)]
            self.ends = [i for i in range(nodes) if all(a != i for a, _ in pairs)]
            self.units = nn.ModuleList(Unit(c, c) for _ in range(nodes))

        def forward(self, x: Any) -> Any:
            made: List[Any] = []
            for wires, unit in zip(self.wires, self.units):
                made.append(unit(sum((made[w] for w in wires[1:]), made[wires[0]]) if wires else x))
            return sum((made[i] for i in self.ends[1:]), made[self.ends[0]])

    class Separable(nn.Module):
        def __init__(self, c: int, k: int) -> None:
            super().__init__()
            self.deep, self.wide, self.norm = (
                nn.Conv2d(c, c, k, 1, k // 2, groups=c),
                nn.Conv2d(c, c, 1),
                nn.BatchNorm2d(c),
            )

        def forward(self, x: Any) -> Any:
            return self.norm(self.wide(self.deep(f.relu(x))))

    class NasCell(nn.Module):
        """Five sums of two branches each, as in the cell NASNet-A."""

        def __init__(self, c: int) -> None:
            super().__init__()
            self.here, self.before, self.join = Unit(c, c, 1), Unit(c, c, 1), Unit(5 * c, c, 1)
            self.branches = nn.ModuleList(Separable(c, k) for k in (3, 5, 3, 5, 3))

        def forward(self, x: Any, before: Any) -> Any:
            h, p = self.here(x), self.before(before)
            a, b, c, d, e = (branch(y) for branch, y in zip(self.branches, (h, p, p, p, p)))
            pool = lambda y: f.avg_pool2d(y, 3, 1, 1)  # noqa: E731
            return self.join(torch.cat([a + h, b + c, pool(h) + p, pool(p) + pool(p), d + e], 1))

    class NasNet(nn.Module):
        def __init__(self, cells: int, c: int) -> None:
            super().__init__()
            self.cells = nn.ModuleList(NasCell(c) for _ in range(cells))

        def forward(self, x: Any) -> Any:
            before, here = x, x
            for cell in self.cells:
                before, here = here, cell(here, before)
            return here

    class Inception(nn.Module):
        def __init__(self, c: int) -> None:
            super().__init__()
            q = c // 4
            self.a = Unit(c, q, 1)
            self.b = nn.Sequential(Unit(c, q, 1), Unit(q, q, 3))
            self.c = nn.Sequential(Unit(c, q, 1), Unit(q, q, 3), Unit(q, q, 3))
            self.d = nn.Sequential(nn.AvgPool2d(3, 1, 1), Unit(c, q, 1))

        def forward(self, x: Any) -> Any:
            return torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)

    class HighResolution(nn.Module):
        """Branches of halved resolution, fused after every stage (Wang et al. 2020)."""

        def __init__(self, c: int, branches: int, stages: int) -> None:
            super().__init__()
            width = [c << b for b in range(branches)]
            self.down = nn.ModuleList(
                Unit(width[b], width[b + 1], 3, 2) for b in range(branches - 1)
            )
            self.units = nn.ModuleList(
                nn.ModuleList(nn.Sequential(Unit(w, w), Unit(w, w)) for w in width)
                for _ in range(stages)
            )
            self.fuse = nn.ModuleList(
                nn.ModuleList(
                    nn.ModuleList(
                        (
                            nn.Identity()
                            if i == j
                            else Unit(width[i], width[j], 1, max(1, 1 << (j - i)) if j > i else 1)
                        )
                        for i in range(branches)
                    )
                    for j in range(branches)
                )
                for _ in range(stages)
            )

        def forward(self, x: Any) -> Any:
            now = [x]
            for down in self.down:
                now.append(down(now[-1]))
            for units, fuse in zip(self.units, self.fuse):
                now = [unit(y) for unit, y in zip(units, now)]
                now = [self.fused(now, row, j) for j, row in enumerate(fuse)]
            return tuple(now)

        @staticmethod
        def fused(now: List[Any], row: Any, j: int) -> Any:
            total = row[j](now[j])
            for i, y in enumerate(now):
                if i != j:
                    z = row[i](y)
                    total = total + (
                        f.interpolate(z, scale_factor=float(1 << (i - j))) if i > j else z
                    )
            return f.relu(total)

    class Experts(nn.Module):
        """Every expert sees all tokens; a gate weighs them."""

        def __init__(self, width: int, experts: int) -> None:
            super().__init__()
            self.gate = nn.Linear(width, experts)
            self.first = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(experts))
            self.second = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(experts))

        def forward(self, x: Any) -> Any:
            weight = torch.softmax(self.gate(x), -1)
            made = [b(f.gelu(a(x))) for a, b in zip(self.first, self.second)]
            return x + sum(
                (y * weight[:, i : i + 1] for i, y in enumerate(made[1:], 1)),
                made[0] * weight[:, :1],
            )

    class Layer(nn.Module):
        """A layer of a transformer."""

        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
            self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # noqa: E731
            q, k, v = (split(y) for y in self.mixed(self.norms[0](x)).chunk(3, -1))
            x = x + self.out(f.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + self.second(f.gelu(self.first(self.norms[1](x))))

    class Towers(nn.Module):
        """Two transformers that meet in the end."""

        def __init__(self, width: int, layers: int) -> None:
            super().__init__()
            self.left = nn.Sequential(*(Layer(width, 4) for _ in range(layers)))
            self.right = nn.Sequential(*(Layer(width, 4) for _ in range(layers)))

        def forward(self, x: Any, y: Any) -> Any:
            x, y = self.left(x), self.right(y)
            return (f.normalize(x.mean(1), dim=-1) * f.normalize(y.mean(1), dim=-1)).sum(-1)

    class Cell(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.x, self.h = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            i, g, o, r = (self.x(x) + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(r) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c

    class LstmStack(nn.Module):
        """Layers of cells over time: a wavefront."""

        def __init__(self, width: int, layers: int) -> None:
            super().__init__()
            self.cells = nn.ModuleList(Cell(width) for _ in range(layers))

        def forward(self, x: Any) -> Any:
            state = [(torch.zeros_like(x[0]), torch.zeros_like(x[0])) for _ in self.cells]
            for step in x.unbind(0):
                for k, cell in enumerate(self.cells):
                    state[k] = cell(step, *state[k])
                    step = state[k][0]
            return step

    class Branches(nn.Module):
        def __init__(self, branches: int, depth: int, c: int) -> None:
            super().__init__()
            self.branches = nn.ModuleList(
                nn.Sequential(*(Unit(c, c) for _ in range(depth))) for _ in range(branches)
            )

        def forward(self, x: Any) -> Any:
            return torch.cat([branch(x) for branch in self.branches], 1)

    image = lambda c, s: (torch.randn(1, c, s, s),)  # noqa: E731
    if quick:
        return {
            "randomly wired": lambda: (RandomlyWired(8, 4), image(4, 8)),
            "NASNet-like": lambda: (NasNet(1, 4), image(4, 8)),
            "Inception-like": lambda: (Inception(8), image(8, 8)),
            "HRNet-like": lambda: (HighResolution(4, 2, 1), image(4, 8)),
            "mixture of experts": lambda: (Experts(8, 4), (torch.randn(2, 8),)),
            "two towers": lambda: (Towers(8, 1), (torch.randn(1, 4, 8), torch.randn(1, 4, 8))),
            "LSTM stack": lambda: (LstmStack(8, 2), (torch.randn(3, 1, 8),)),
            "branches": lambda: (Branches(2, 2, 4), image(4, 8)),
        }
    return {
        "randomly wired": lambda: (RandomlyWired(60, 64), image(64, 28)),
        "NASNet-like": lambda: (NasNet(6, 64), image(64, 28)),
        "Inception-like": lambda: (
            nn.Sequential(*(Inception(256) for _ in range(9))),
            image(256, 14),
        ),
        "HRNet-like": lambda: (HighResolution(32, 4, 3), image(32, 56)),
        "mixture of experts": lambda: (
            nn.Sequential(*(Experts(512, 16) for _ in range(4))),
            (torch.randn(16, 512),),
        ),
        "two towers": lambda: (Towers(512, 4), (torch.randn(1, 64, 512), torch.randn(1, 64, 512))),
        "LSTM stack": lambda: (LstmStack(512, 4), (torch.randn(16, 1, 512),)),
        "branches": lambda: (Branches(8, 8, 64), image(64, 28)),
    }


# ---------------------------------------------------------------------- sked


class Sked:
    """Runs of the program sked for one network; they ask `target` for measurements."""

    def __init__(
        self, a: argparse.Namespace, target: Any, command: Any, graph: Dict[str, Any]
    ) -> None:
        self.a, self.target, self.command = a, target, command
        self.folder = tempfile.mkdtemp(prefix="sked-real-")
        self.graph = os.path.join(self.folder, "graph.json")
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(os.path.join(self.folder, "ask"))
        self.server.listen(1)
        self.server.settimeout(0.02)
        self.measured: List[float] = []
        with open(self.graph, "w", encoding="utf-8") as file:
            json.dump(graph, file)

    def close(self) -> None:
        self.server.close()
        shutil.rmtree(self.folder)

    def plan(self, path: str) -> Any:
        return self.command.FilePlan(path, self.target.program.names, self.target.program.preds)

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rw") as stream:
            plan = self.plan(stream.readline().strip())
            found = self.command.answer(self.target(plan), self.target.program.names, plan.device)
            self.measured.append(found["time"])
            if self.a.no_traces:
                found.pop("ops", None)
            stream.write(json.dumps(found) + "\n")

    def run(self, name: str, arguments: Sequence[str], measures: bool) -> Tuple[Any, List[float]]:
        """The plan that a call of sked ends with, and the times that it measured on the way."""
        path = os.path.join(self.folder, f"{name}.json")
        words = [
            self.a.sked,
            *arguments[:1],
            self.graph,
            "--devices",
            str(self.target.devices),
            *arguments[1:],
        ]
        words += ["--seed", str(self.a.seed), "--time-limit", str(self.a.time_limit), "-o", path]
        if measures:
            program = f"{sys.executable} -I -S {os.path.abspath(__file__)} --ask {self.folder}/ask"
            words += ["--target", f"command,timeout=600,retries=0:{program}"]
        self.measured = []
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        while child.poll() is None:
            try:
                connection, _ = self.server.accept()
            except socket.timeout:
                continue
            self._answer(connection)
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: exit code {child.returncode}")
        return self.plan(path), list(self.measured)


def load_package(folder: str) -> Tuple[Any, Any]:
    """sked.torch and sked.command from python/sked, without the compiled part of the package."""
    package = types.ModuleType("sked")
    package.__path__ = [os.path.join(folder, "sked")]  # type: ignore[attr-defined]
    sys.modules["sked"] = package
    import sked.command
    import sked.torch

    return sked.torch, sked.command


# ---------------------------------------------------------------------- one network


class Result:
    """What was measured of one network, in microseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ops = 0
        self.times: Dict[str, float] = {}
        self.proxy: Dict[str, float] = {}
        self.curve: List[float] = []


def best_so_far(times: Sequence[float]) -> List[float]:
    return [min(times[: k + 1]) for k in range(len(times))]


def planned(plan_file: str) -> float:
    with open(plan_file, encoding="utf-8") as file:
        return float(json.load(file)["makespan"])


def schedule_rows(
    a: argparse.Namespace, command: Any, target: Any, result: Result
) -> Dict[str, Any]:
    """Runs of the plain graph and of every kind of schedule."""
    durations = target.profile()
    result.ops = len(durations)
    result.proxy["one device"] = sum(durations)
    sked = Sked(a, target, command, target.program.graph_json(durations, target.model.sizes))
    n = str(a.measurements)
    calls = {
        "list": (["schedule", "--method", "list"], False),
        "one-shot": (
            ["robust", "--one-shot", "--method", "gflownet", "--candidates", "1000", "--top", n],
            True,
        ),
        "loop": (["robust", "--measurements", n], True),
    }
    runs = {"plain graph": target.plain()}
    for name, (arguments, measures) in calls.items():
        plan, times = sked.run(name, arguments, measures)
        result.proxy[name] = planned(os.path.join(sked.folder, f"{name}.json"))
        runs[name] = target.capture(plan)
        target.check(runs[name])
        target.check_other_inputs(runs[name])
        if name == "loop":
            result.curve = best_so_far(times)
        print(f"  {name}: {len(times)} measured", file=sys.stderr, flush=True)
    sked.close()
    return runs


def compiled(torch: Any, target: Any) -> Optional[Callable[[], Any]]:
    """torch.compile, which captures CUDA graphs of its own in this mode; None where it fails."""
    module = torch.compile(target.model.eager, mode="reduce-overhead")

    def run() -> Any:
        with torch.no_grad():
            return target.model.run_with(module)

    try:
        for _ in range(4):
            run()
        target.check(run)
    except Exception as error:  # its compilers may be missing, and it may not know an op
        print(
            f"  torch.compile failed: {type(error).__name__}: {str(error)[:200]}",
            file=sys.stderr,
            flush=True,
        )
        return None
    return run


def normalise(torch: Any, module: Any, args: Sequence[Any]) -> None:
    """Statistics as of a trained network: random weights alone fade out or overflow in half."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(*args)
    module.eval()


def measure(
    a: argparse.Namespace,
    torch: Any,
    runtime: Any,
    command: Any,
    name: str,
    make: Any,
    compiles: bool,
) -> Tuple[Result, float]:
    """All rows of a network, and the seconds that torch.compile took."""
    torch.manual_seed(a.seed)
    module, args = make()
    normalise(torch, module, args)
    if a.device == "cuda":
        module, args = module.cuda().half(), tuple(x.cuda().half() for x in args)
    result = Result(name)
    kind = runtime.CudaTarget if a.device == "cuda" else runtime.ThreadTarget
    target = kind(module, args, devices=a.streams)
    runs = schedule_rows(a, command, target, result)

    def eager() -> Any:
        with torch.no_grad():
            return target.model.run_eager()

    runs["eager"] = eager
    begin = time.perf_counter()
    fused = compiled(torch, target) if compiles else None
    seconds = time.perf_counter() - begin
    if fused is not None:
        runs["torch.compile"] = fused
    result.times.update(zip(runs, runtime.duel(target, list(runs.values()), a.rounds)))
    return result, seconds


# ---------------------------------------------------------------------- the table


def mean_ratio(results: Sequence[Result], over: str, under: str) -> float:
    """Geometric mean of time `over` by time `under`."""
    logs = [
        math.log(r.times[over] / r.times[under])
        for r in results
        if over in r.times and under in r.times
    ]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def print_head() -> None:
    print("\n| network | ops | " + " | ".join(ROWS) + " | loop against plain |")
    print("|---" * (len(ROWS) + 3) + "|", flush=True)


def print_row(r: Result) -> None:
    cells = " | ".join(f"{r.times[row] / 1e3:.3f}" if row in r.times else "-" for row in ROWS)
    print(
        f"| {r.name} | {r.ops} | {cells} | {r.times['plain graph'] / r.times['loop']:.2f} |",
        flush=True,
    )


def print_summary(results: Sequence[Result]) -> None:
    print(
        "\nMilliseconds, medians of measurements in turns. Geometric means: "
        + "; ".join(
            f"loop {mean_ratio(results, row, 'loop'):.3f} times as fast as {row}"
            for row in ROWS
            if row != "loop" and any(row in r.times for r in results)
        )
    )
    print(
        "\n| network | sum of ops | list: proxy | measured | loop: proxy | measured |\n"
        "|---|---|---|---|---|---|"
    )
    for r in results:
        pairs = " | ".join(
            f"{r.proxy[k] / 1e3:.3f} | {r.times[k] / 1e3:.3f}" for k in ("list", "loop")
        )
        print(f"| {r.name} | {r.proxy['one device'] / 1e3:.3f} | {pairs} |")
    print("\nBest of the loop after 1, 2, 4, ... measurements, milliseconds:\n")
    for r in results:
        steps = sorted({*(2**k for k in range(12) if 2**k < len(r.curve)), len(r.curve)})
        print(
            f"- {r.name}: " + ", ".join(f"{k}: {r.curve[k - 1] / 1e3:.3f}" for k in steps if k > 0)
        )


def describe(a: argparse.Namespace, torch: Any) -> str:
    where = torch.cuda.get_device_name() if a.device == "cuda" else f"CPU, {a.streams} threads"
    version = subprocess.run(
        [a.sked, "--version"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    return (
        f"{where}; batch 1, {'half' if a.device == 'cuda' else 'single'} precision; "
        f"{a.streams} streams; "
        f"{a.measurements} measurements, {a.time_limit:g} s of scheduling; seed {a.seed}; "
        f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"cuDNN {torch.backends.cudnn.version()}; {version}"
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument(
        "--sked", default=os.path.join(here, "..", "build", "sked"), help="the program sked"
    )
    parser.add_argument(
        "--package", default=os.path.join(here, "..", "python"), help="folder of the Python package"
    )
    parser.add_argument(
        "--device", choices=["cuda", "cpu"], help="default: cuda where there is one"
    )
    parser.add_argument(
        "--streams", type=int, help="streams or threads (default: 8; 2 with --quick)"
    )
    parser.add_argument(
        "--measurements", type=int, help="of the loop and of one-shot (default: 30; 4 with --quick)"
    )
    parser.add_argument(
        "--time-limit", type=float, help="seconds of scheduling (default: 5; 1 with --quick)"
    )
    parser.add_argument(
        "--rounds", type=int, help="of the final comparison (default: 20; 2 with --quick)"
    )
    parser.add_argument("--networks", help="names, comma-separated (default: all)")
    parser.add_argument(
        "--compile-budget",
        type=float,
        help="seconds for torch.compile (default: 240; 0 with --quick)",
    )
    parser.add_argument(
        "--no-traces", action="store_true", help="the loop sees times without traces"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", metavar="FILE", help="write all figures there, after every network"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small networks on CPU threads: does it run?"
    )
    a = parser.parse_args()
    for name, full, quick in (
        ("streams", 8, 2),
        ("measurements", 30, 4),
        ("time_limit", 5.0, 1.0),
        ("rounds", 20, 2),
        ("compile_budget", 240.0, 0.0),
    ):
        if getattr(a, name) is None:
            setattr(a, name, quick if a.quick else full)
    return a


def save(a: argparse.Namespace, about: str, results: Sequence[Result]) -> None:
    if a.json:
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump({"about": about, "results": [vars(r) for r in results]}, file, indent=1)


def main() -> int:
    a = options()
    import torch

    a.device = a.device or ("cuda" if torch.cuda.is_available() and not a.quick else "cpu")
    torch.backends.cudnn.benchmark = True
    runtime, command = load_package(a.package)
    makers = networks(torch, a.quick)
    chosen = a.networks.split(",") if a.networks else list(makers)
    unknown = [name for name in chosen if name not in makers]
    if unknown:
        raise SystemExit(f"no network is called {unknown[0]!r}; there are {', '.join(makers)}")
    about = describe(a, torch)
    print(about, flush=True)
    results: List[Result] = []
    spent = 0.0
    print_head()
    for name in chosen:
        begin = time.perf_counter()
        print(name, file=sys.stderr, flush=True)
        result, seconds = measure(
            a, torch, runtime, command, name, makers[name], spent < a.compile_budget
        )
        spent += seconds
        results.append(result)
        print_row(result)
        print(f"  {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        save(a, about, results)
    print_summary(results)
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--ask":
        sys.exit(ask(sys.argv[2], sys.argv[3]))
    sys.exit(main())
