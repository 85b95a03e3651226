#!/usr/bin/env python3
"""GS-Schedule, unchanged, on one graph: value over time in the format of `sked schedule --curve`.

GS-Schedule is the published code of "Differentiable Combinatorial Scheduling at Scale" (ICML 2024, MIT).
Its script parse_graph_w_attr.py writes a program for one graph; that program is run here as it is. What is
around it: without a GPU `.cuda()` leaves tensors where they are, and each time the program reads the graph in
order to check a solution, the solution is kept. `sked check` judges every solution that the program calls
legal. Seconds are the program's own: from its start, without the time that its checks take.

Its objective is ratio * (largest load of a stage) + (stage boundaries crossed), so ratio = 1 / alpha.
Needs torch, networkx, numpy and matplotlib: installed from PyPI into build/gs-venv where they are missing;
where that fails the script says "skipped" and exits 0.
"""
import argparse
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "build", "gs-venv")
PACKAGES = ["torch", "networkx", "numpy", "matplotlib"]


def skip(why: str) -> NoReturn:
    print(f"skipped: {why}")
    sys.exit(0)


def install(python: str) -> None:
    print(f"installing {' '.join(PACKAGES)} into build/gs-venv: some gigabytes", file=sys.stderr)
    quiet = ["--quiet", "--disable-pip-version-check"]
    for step in ([sys.executable, "-m", "venv", VENV], [python, "-m", "pip", "install", *quiet, *PACKAGES]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()
            skip(f"{' '.join(PACKAGES)} cannot be installed: {last[-1] if last else 'no reason given'}")


def need_packages() -> None:
    """The packages from here, or from a virtual environment in which this script starts again."""
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        return
    if sys.prefix == VENV:
        skip(f"{VENV} lacks a package; delete the folder to install it again")
    python = os.path.join(VENV, "bin", "python")
    looks = "import " + ", ".join(PACKAGES)
    if not os.path.exists(python) or subprocess.run([python, "-c", looks], capture_output=True).returncode != 0:
        install(python)
    os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


class TimeUp(BaseException):
    """Not an Exception: the program's own handlers, if it had any, must not catch it."""


def end_by_alarm(*_: Any) -> NoReturn:
    raise TimeUp


class Watch:
    """What the program found: (seconds, epochs, steps of the ops) of every solution that it calls legal."""

    def __init__(self, read_gml: Any) -> None:
        self.read_gml = read_gml
        self.program: dict[str, Any] = {}
        self.pending: Any = None
        self.found: list[tuple[float, int, list[int]]] = []

    def clock(self) -> float:
        """Seconds of the program: those in which it checks solutions do not count."""
        return time.time() - self.program["st"] - self.program["exclude_time"]

    def read(self, path: str, *more: Any, **named: Any) -> Any:
        """networkx.read_gml as the program calls it, from its check of one solution."""
        caller = sys._getframe(1)
        if caller.f_code.co_name == "legal_check":
            self.pending = (self.clock(), self.program["i"], [int(step) for step in caller.f_locals["L"]])
        return self.read_gml(path, *more, **named)

    def say(self, *words: Any, **_: Any) -> None:
        if words == ("Legal Solution!",):
            self.found.append(self.pending)


def write_program(args: argparse.Namespace, folder: str) -> str:
    """The program that GS-Schedule's own script writes for this graph."""
    script = os.path.join(os.path.abspath(args.peer), "parse_graph_w_attr.py")
    file = os.path.join(folder, "schedulenet_w_attr.py")
    words = [sys.executable, script, str(args.horizon), repr(1 / args.alpha), os.path.abspath(args.graph)]
    with open(file, "w") as out:
        subprocess.run(words, check=True, stdout=out, cwd=folder)
    return file


def stay_on_the_cpu(torch: Any, gigabytes: float) -> None:
    """Without a GPU, what moves to it stays where it is; memory has a limit, for graphs that it cannot hold."""
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.nn.Module.cuda = lambda self, *_, **__: self


def run_program(args: argparse.Namespace, file: str, watch: Watch) -> str:
    """Runs it to its end or to the time limit; "" or why it ended early."""
    import networkx
    import torch

    torch.set_num_threads(args.threads)
    if args.device == "cpu" or not torch.cuda.is_available():
        stay_on_the_cpu(torch, args.memory)
    networkx.read_gml = watch.read
    with open(file) as text:
        source = text.read()
    watch.program.update({"__name__": "__main__", "print": watch.say})
    before = sys.argv
    sys.argv = [file, os.path.abspath(args.graph), str(args.temperature), str(args.rate), str(args.horizon), str(args.batch)]
    signal.signal(signal.SIGALRM, end_by_alarm)
    try:
        code = compile(source, file, "exec")
        signal.setitimer(signal.ITIMER_REAL, args.time_limit)
        exec(code, watch.program)
    except TimeUp:
        pass
    except torch.OutOfMemoryError:
        return "out of memory of the GPU"
    except (MemoryError, RuntimeError, TypeError) as problem:
        return f"it ended: {(str(problem) or 'out of memory').splitlines()[0][:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        sys.argv = before
        networkx.read_gml = watch.read_gml
    return ""


def judge(args: argparse.Namespace, names: list[str], steps: list[int], file: str) -> float:
    ops = [{"name": name, "start": step} for name, step in zip(names, steps)]
    with open(file, "w") as out:
        json.dump({"format": "sked-schedule-1", "devices": 0, "ii": None, "ops": ops}, out)
    words = [args.sked, "check", args.graph, file, "--json", "--horizon", str(args.horizon)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sked refuses a solution of GS-Schedule: {done.stderr.strip()}")
    seen = json.loads(done.stdout)
    return seen["resource"] + args.alpha * seen["communication"]


def lines_of(args: argparse.Namespace, watch: Watch, names: list[str], folder: str) -> list[dict]:
    """Every legal solution judged; only those that improve, for its own output is not always better."""
    lines: list[dict] = []
    for seconds, epoch, steps in watch.found:
        file = os.path.join(folder, "solution.json")
        value = judge(args, names, steps, file)
        if lines and value >= lines[-1]["value"]:
            continue
        lines.append({"seconds": round(seconds, 6), "evaluations": epoch * args.batch, "value": value, "bound": None,
                      "method": "gs-schedule"})
        if args.output:
            os.replace(file, args.output)
    return lines


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs GS-Schedule, unchanged, and records value over time.")
    parser.add_argument("graph", help="GML graph with `parameter` of nodes and edges")
    parser.add_argument("--horizon", type=int, required=True, metavar="D", help="number of stages, at least 2")
    parser.add_argument("--alpha", type=float, default=1, metavar="A", help="weight of communication: its ratio is 1 / A")
    parser.add_argument("--time-limit", type=float, default=60, metavar="S", help="wall-clock seconds (default 60)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of torch (default 1)")
    parser.add_argument("--batch", type=int, default=250, metavar="N", help="its batch (default 250, as its README)")
    parser.add_argument("--temperature", type=float, default=50, metavar="T", help="as its README: 50")
    parser.add_argument("--rate", type=float, default=1, metavar="R", help="learning rate; as its README: 1")
    parser.add_argument("--device", choices=["auto", "cpu"], default="auto", help="auto: a GPU where there is one")
    parser.add_argument("--memory", type=float, default=16, metavar="GB", help="on the CPU: most memory (default 16)")
    parser.add_argument("--curve", metavar="FILE.jsonl", required=True)
    parser.add_argument("-o", dest="output", metavar="SCHEDULE.json", help="the best schedule")
    parser.add_argument("--peer", default=os.path.join(ROOT, "..", "shared", "peers", "gs-schedule"), metavar="DIR",
                        help="folder of its code")
    parser.add_argument("--sked", default=os.path.join(ROOT, "build", "sked"))
    args = parser.parse_args()
    if args.horizon < 2 or args.alpha <= 0 or args.threads < 1 or args.batch < 1 or min(args.time_limit, args.memory) <= 0:
        parser.error("--horizon wants 2 or more; --alpha, --threads, --batch, --time-limit and --memory more than 0")
    return args


def main() -> None:
    args = parse()
    if not os.path.exists(os.path.join(args.peer, "parse_graph_w_attr.py")):
        skip(f"GS-Schedule is not in {args.peer} (see --peer)")
    need_packages()
    import networkx
    import torch

    watch = Watch(networkx.read_gml)
    names = sorted(networkx.read_gml(args.graph).nodes(), key=int)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = write_program(args, folder)
        parsing = time.monotonic() - begin
        note = run_program(args, file, watch)
        lines = lines_of(args, watch, names, folder)
    partial = args.curve + ".part"
    with open(partial, "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    os.replace(partial, args.curve)
    on_gpu = args.device == "auto" and torch.cuda.is_available()
    print(json.dumps({
        "value": lines[-1]["value"] if lines else None, "bound": None, "optimal": False,
        "seconds": args.time_limit if not note else time.monotonic() - begin - parsing,
        "epochs": watch.program.get("i", 0), "legal": len(watch.found), "parse_seconds": parsing,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu", "torch": torch.__version__,
        "note": note or ("" if lines else "no legal schedule within the time")}))


if __name__ == "__main__":
    main()
