#!/usr/bin/env python3
"""PyTorch networks at batch 1: eager, torch.compile, a plain CUDA graph, schedules of sked.

    build/venv/bin/python bench/torch_real.py            # on a GPU: the table of docs/real.md
    build/venv/bin/python bench/torch_real.py --quick    # anywhere: small, on CPU threads

Every row of a network is measured in turns with the others, on the same inputs, and checked against
the eager result. The package `sked` must be installed (`make python`). Results are printed as
Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import sked
import sked.torch
import torch
from torch_floor import CHAIN, WORK, floors
from torch_networks import networks

# ---------------------------------------------------------------------- one network


class Result:
    """What was measured of one network, in microseconds.

    Attributes:
        times: of every row in the final comparison.
        proxy: what the proxy says of the schedule of a row.
        curve: the best of every row that measures, after each measurement.
        trials: of fusion, grouping and streams.
        off: of the loop's measurements, how far proxy and model are off in the mean.
        ends: why the loop ended.
        seconds: that every stage took.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ops = 0
        self.times: Dict[str, float] = {}
        self.proxy: Dict[str, float] = {}
        self.curve: Dict[str, List[float]] = {}
        self.trials: List[Dict[str, Any]] = []
        self.off: Dict[str, float] = {}
        self.ends = ""
        self.seconds: Dict[str, float] = {}
        self._clock = time.perf_counter()

    def stage(self, name: str) -> None:
        """A stage has ended."""
        now = time.perf_counter()
        self.seconds[name], self._clock = now - self._clock, now
        print(f"  {name}: {self.seconds[name]:.1f} s", file=sys.stderr, flush=True)


class Measured(sked.torch.Fastest):
    """Remembers times and what the proxy had said. Traces are made only for who looks at them."""

    def __init__(self, trials: "Tried", traces: bool) -> None:
        super().__init__(trials.target)
        self.run, self.time = trials.fastest.run, trials.fastest.time
        self.traced = traces
        self.proxy: List[float] = []
        self.times: List[float] = []

    def __call__(self, plan: Any) -> Any:
        found = super().__call__(plan)
        self.proxy.append(plan.schedule.makespan)
        self.times.append(found[0] if isinstance(found, tuple) else found)
        return found


class Tried(sked.torch.Trials):
    """The choice of ops and streams that `sked.torch.accelerate` makes; all methods get it.

    Attributes:
        least: runs that no schedule of the ops can beat before other kernels are tried for them.
    """

    def __init__(self, a: argparse.Namespace, target: Any) -> None:
        self.least: Dict[str, Any] = {}
        self.fastest = sked.torch.Fastest(target)
        fusions = (False,) if a.no_fusion else sked.torch.FUSIONS
        most = 2 * a.measurements // 3
        super().__init__(self.fastest, fusions, sked.torch.GROUPS, a.counts, most)


def mean_off(measured: "np.ndarray[Any, Any]", said: "np.ndarray[Any, Any]") -> float:
    """In the mean over the measurements that did not fail."""
    return float(np.nanmean(np.abs(said / measured - 1)))


def find_run(a: argparse.Namespace, row: str, trials: Tried, result: Result) -> Any:
    """What ran fastest of all that was measured for a row."""
    measured = Measured(trials, row in ("loop", "accelerate") and not a.no_traces)
    left = max(1, a.measurements - len(trials.tried))
    if row == "accelerate":
        sked.torch.search(trials, measured, left, time_limit=a.time_limit, seed=a.seed)
    else:
        more: Dict[str, Any] = {"measurements": left}
        if row != "loop":
            more = {"one_shot": True, "method": row.split()[-1], "top": left}
        found = sked.robust(
            trials.graph,
            trials.best.devices,
            target=measured,
            time_limit=a.time_limit,
            seed=a.seed,
            **more,
        )
    times = np.array(measured.times)
    result.curve[row] = np.minimum.accumulate([*(t.time for t in trials.tried), *times]).tolist()
    if row == "loop":
        describe_loop(found, measured, result)
    return measured.run


def describe_loop(found: Any, measured: Measured, result: Result) -> None:
    rows = found.measurements
    result.proxy["loop"], result.ends = found.makespan, found.end
    result.off = {
        "proxy": mean_off(np.array(measured.times), np.array(measured.proxy)),
        "before": mean_off(rows["time"], rows["expected"]),
        "fitted": mean_off(rows["time"], rows["fitted"]),
    }


def schedule_rows(
    a: argparse.Namespace, target: Any, result: Result
) -> Tuple[Dict[str, Any], Tried]:
    """Runs of the plain graph and of every kind of schedule; the choice of ops."""
    durations = target.profile()
    graph = sked.torch.graph_of(target, durations)
    grouped = sked.schedule(graph, a.counts[0], method="list").schedule
    runs = {"plain graph": target.plain(), "list": target.capture(grouped)}
    result.ops = len(durations)
    result.proxy.update({"one device": sum(durations), "list": grouped.makespan})
    trials = Tried(a, target)
    runs["one stream, chosen"] = trials.target.capture(sked.torch.InOrder(trials.best.ops))
    runs["list, chosen"] = trials.fastest.run
    trials.least = floors(trials.target, trials.graph.duration, a.counts)
    if not a.no_fusion:
        trials.try_kernels()
    runs["list, all choices"] = trials.fastest.run
    result.trials = [t._asdict() for t in trials.tried]
    result.stage("trials")
    for row in [*(f"one-shot {m}" for m in a.methods.split(",") if m), "loop", "accelerate"]:
        runs[row] = find_run(a, row, trials, result)
        result.stage(row)
    for row, run in runs.items():
        trials.target.check(run)
        trials.target.check_other_inputs(run)
    return runs, trials


def compiled(target: Any) -> Optional[Callable[[], Any]]:
    """torch.compile, which captures CUDA graphs of its own in this mode; None where it fails."""
    module = torch.compile(target.model.eager, mode="reduce-overhead")

    def run() -> Any:
        with torch.no_grad():
            return target.model.run_with(module)

    try:
        for _ in range(4):
            run()
        target.check(run)
    except sked.torch.Mismatch as error:  # it rounds less often; this is no reason to leave it out
        print(f"  torch.compile: {error}", file=sys.stderr, flush=True)
    except Exception as error:  # its compilers may be missing, and it may not know an op
        print(
            f"  torch.compile failed: {type(error).__name__}: {str(error)[:200]}",
            file=sys.stderr,
            flush=True,
        )
        return None
    return run


def normalise(module: Any, args: Sequence[Any]) -> None:
    """Statistics as of a trained network: random weights alone fade out or overflow in half."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(*args)
    module.eval()


def make_target(a: argparse.Namespace, make: Callable[[], Tuple[Any, Tuple[Any, ...]]]) -> Any:
    torch.manual_seed(a.seed)
    module, args = make()
    normalise(module, args)
    if a.device == "cuda":
        module, args = module.cuda().half(), tuple(x.cuda().half() for x in args)
    kind = sked.torch.CudaTarget if a.device == "cuda" else sked.torch.ThreadTarget
    return kind(module, args, devices=max(a.counts))


def measure(a: argparse.Namespace, name: str, make: Any, compiles: bool) -> Result:
    """All rows of a network."""
    result = Result(name)
    target = make_target(a, make)
    result.stage("capture")
    runs, trials = schedule_rows(a, target, result)

    def eager() -> Any:
        with torch.no_grad():
            return target.model.run_eager()

    runs["eager"] = eager
    fused = compiled(target) if compiles else None
    if fused is not None:
        runs["torch.compile"] = fused
    result.stage("torch.compile")
    every = {**runs, **trials.least}
    result.times.update(zip(every, sked.torch.duel(target, list(every.values()), a.rounds)))
    result.times["floor"] = max(result.times[row] for row in trials.least)
    for row, run in runs.items():
        if row != "torch.compile":
            trials.target.check(run)
    result.stage("comparison")
    return result


# ---------------------------------------------------------------------- the tables


def mean_ratio(results: Sequence[Result], over: str, under: str) -> float:
    """Geometric mean of time `over` by time `under`."""
    logs = [
        math.log(r.times[over] / r.times[under])
        for r in results
        if over in r.times and under in r.times
    ]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def print_head(rows: Sequence[str]) -> None:
    print("\n| network | ops | " + " | ".join(rows) + " | plain / accelerate | list / accelerate |")
    print("|---" * (len(rows) + 4) + "|", flush=True)


def print_row(rows: Sequence[str], r: Result) -> None:
    cells = [f"{r.times[row] / 1e3:.3f}" if row in r.times else "-" for row in rows]
    cells += [f"{r.times[row] / r.times['accelerate']:.2f}" for row in ("plain graph", "list")]
    print(f"| {r.name} | {r.ops} | " + " | ".join(cells) + " |", flush=True)


def print_means(rows: Sequence[str], results: Sequence[Result]) -> None:
    print(
        "\nMilliseconds, medians of measurements in turns. Geometric means: "
        + "; ".join(
            f"accelerate {mean_ratio(results, row, 'accelerate'):.3f} times as fast as {row}"
            for row in rows
            if row != "accelerate" and any(row in r.times for r in results)
        )
        + "; "
        + "; ".join(
            f"loop {mean_ratio(results, row, 'loop'):.3f} times as fast as {row}"
            for row in ("list", "list, chosen", "list, all choices")
        )
    )


def print_models(results: Sequence[Result]) -> None:
    print(
        "\n| network | sum of ops | list: proxy | measured | loop: proxy | measured "
        "| off what was measured: proxy | the loop's model before a measurement | fitted to all |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for r in results:
        pairs = " | ".join(
            f"{r.proxy[k] / 1e3:.3f} | {r.times[k] / 1e3:.3f}" for k in ("list", "loop")
        )
        off = " | ".join(f"{100 * r.off[k]:.0f} %" for k in ("proxy", "before", "fitted"))
        print(f"| {r.name} | {r.proxy['one device'] / 1e3:.3f} | {pairs} | {off} |")


def print_parts(results: Sequence[Result]) -> None:
    """What fused ops on one stream, several streams, other kernels, and the order of ops are worth."""
    steps = ("plain graph", "one stream, chosen", "list, chosen", "list, all choices", "accelerate")
    print(
        "\n| network | ops | fused kernels | streams | other kernels | order of ops | all |\n"
        "|---|---|---|---|---|---|---|"
    )
    for r in results:
        times = [r.times[row] for row in steps]
        parts = [a / b for a, b in zip(times, times[1:])] + [times[0] / times[-1]]
        best = min(r.trials, key=lambda t: t["time"])
        what = f"fuse={best['fuse']}, group={best['group']}, {best['devices']}"
        what += f", {best['sms']} SMs" if best["sms"] else ""
        what += ", priorities" if best["priorities"] else ""
        print(f"| {r.name} | {what} | " + " | ".join(f"{x:.2f}" for x in parts) + " |")


def print_floors(results: Sequence[Result]) -> None:
    """How far schedules are above what no schedule of the ops can beat without other kernels."""
    rows = ("list, chosen", "loop", "accelerate")
    print(
        f"\n| network | {CHAIN} | {WORK} | floor | "
        + " | ".join(f"{row} / floor" for row in rows)
        + " |\n|---|---|---|---|---|---|---|"
    )
    for r in results:
        parts = (r.times[CHAIN], r.times[WORK])
        cells = [f"{x / 1e3:.3f}" for x in (*parts, r.times["floor"])]
        cells += [f"{r.times[row] / r.times['floor']:.3f}" for row in rows]
        print(f"| {r.name} | " + " | ".join(cells) + " |")
    means = ", ".join(f"{row} {mean_ratio(results, row, 'floor'):.3f}" for row in rows)
    print(f"\nTimes the floor, geometric means: {means}")


def print_trials(results: Sequence[Result]) -> None:
    print("\nList schedules by fusion, grouping and streams, milliseconds:\n")
    for r in results:
        cells = ", ".join(
            f"{t['fuse']} {t['group']} ({t['ops']} ops{', %d SMs' % t['sms'] if t['sms'] else ''}) "
            f"x {t['devices']}{', priorities' if t['priorities'] else ''}: {t['time'] / 1e3:.3f}"
            for t in r.trials
        )
        print(f"- {r.name}: {cells}")


def print_curves(results: Sequence[Result]) -> None:
    print("\nBest after 1, 2, 4, ... measurements, milliseconds:\n")
    for r in results:
        for row, curve in r.curve.items():
            steps = sorted({*(2**k for k in range(12) if 2**k < len(curve)), len(curve)})
            best = ", ".join(f"{k}: {curve[k - 1] / 1e3:.3f}" for k in steps)
            print(f"- {r.name}, {row}: {best}")


def describe(a: argparse.Namespace) -> str:
    on_gpu = a.device == "cuda"
    where = torch.cuda.get_device_name() if on_gpu else "CPU"
    return (
        f"{where}; {'large networks, ' if a.large else ''}batch 1, "
        f"{'half' if on_gpu else 'single'} precision; "
        f"{a.counts[0]} {'streams' if on_gpu else 'threads'}; "
        f"{a.measurements} measurements, {a.time_limit:g} s of scheduling; seed {a.seed}; "
        f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"cuDNN {torch.backends.cudnn.version()}; sked {sked.__version__}"
    )


def save(a: argparse.Namespace, rows: Sequence[str], results: Sequence[Result]) -> None:
    if a.json:
        every = {"about": describe(a), "rows": rows, "results": [vars(r) for r in results]}
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump(every, file, indent=1)


# ---------------------------------------------------------------------- the command


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--device", choices=["cuda", "cpu"], help="default: cuda where there is one")
    add(
        "--streams",
        help="numbers of streams or threads to try, comma-separated; the first one is that of the "
        "row `list` (default: 8, then 3 to 24; 2 with --quick)",
    )
    add(
        "--measurements",
        type=int,
        help="of the loop and of one-shot (default: 30; 4 with --quick)",
    )
    add("--time-limit", type=float, help="seconds of scheduling (default: 5; 1 with --quick)")
    add("--rounds", type=int, help="of the final comparison (default: 20; 2 with --quick)")
    add("--networks", help="names, comma-separated (default: all)")
    add(
        "--methods",
        default="gflownet",
        help="of the one-shot pipeline, comma-separated (default: gflownet)",
    )
    add(
        "--compile-budget",
        type=float,
        help="seconds for torch.compile; networks after that go without it "
        "(default: 240; 0 with --quick)",
    )
    add("--no-fusion", action="store_true", help="all ops stay as they are")
    add("--no-traces", action="store_true", help="the loop sees times without traces")
    add("--seed", type=int, default=0)
    add("--json", metavar="FILE", help="write all figures there, after every network")
    add("--show", metavar="FILE", help="print the tables of such a file, and measure nothing")
    add("--large", action="store_true", help="larger networks: single ops fill the GPU")
    add("--quick", action="store_true", help="tiny networks on CPU threads: does it run?")
    a = parser.parse_args()
    for name, full, quick in (
        ("streams", ",".join(map(str, sked.torch.STREAMS)), "2"),
        ("measurements", 30, 4),
        ("time_limit", 5.0, 1.0),
        ("rounds", 20, 2),
        ("compile_budget", 240.0, 0.0),
    ):
        if getattr(a, name) is None:
            setattr(a, name, quick if a.quick else full)
    a.counts = [int(x) for x in a.streams.split(",")]
    a.device = a.device or ("cuda" if torch.cuda.is_available() and not a.quick else "cpu")
    return a


def rows_of(a: argparse.Namespace) -> List[str]:
    shots = [f"one-shot {m}" for m in a.methods.split(",") if m]
    return [
        *("eager", "torch.compile", "plain graph", "list", "one stream, chosen", "list, chosen"),
        "list, all choices",
        *shots,
        *("loop", "accelerate", "floor"),
    ]


def print_rest(rows: Sequence[str], results: Sequence[Result]) -> None:
    """All that stands below the table."""
    print_means(rows, results)
    print_parts(results)
    print_floors(results)
    print_trials(results)
    print_models(results)
    print_curves(results)


def show(path: str) -> int:
    """The tables of an earlier run, which may have ended early."""
    with open(path, encoding="utf-8") as file:
        read = json.load(file)
    results = [Result(r["name"]) for r in read["results"]]
    for result, r in zip(results, read["results"]):
        vars(result).update(r)
    print(read["about"])
    print_head(read["rows"])
    for result in results:
        print_row(read["rows"], result)
    print_rest(read["rows"], results)
    return 0


def main() -> int:
    a = options()
    if a.show:
        return show(a.show)
    torch.backends.cudnn.benchmark = True
    makers = networks("quick" if a.quick else "large" if a.large else "small")
    chosen = a.networks.split(",") if a.networks else list(makers)
    unknown = [name for name in chosen if name not in makers]
    if unknown:
        raise SystemExit(f"no network is called {unknown[0]!r}; there are {', '.join(makers)}")
    rows = rows_of(a)
    print(describe(a), flush=True)
    print_head(rows)
    results: List[Result] = []
    for name in chosen:
        print(name, file=sys.stderr, flush=True)
        spent = sum(r.seconds["torch.compile"] for r in results)
        results.append(measure(a, name, makers[name], spent < a.compile_budget))
        print_row(rows, results[-1])
        save(a, rows, results)
    print_rest(rows, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
