#!/usr/bin/env python3
"""Does a change keep the results? Usage: same-bytes.py OLD_SKED NEW_SKED [WORD ...]

Runs some 280 commands with two builds of `sked` and compares every file they write and what they print, byte by
byte. Runs end by iterations, never by the clock. With WORDs: the commands whose name holds one of them. Uses generated
graphs, the examples, and the benchmark data beside the repository where they are. Exit 1 where anything differs."""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "..", "shared", "data")
SECONDS = re.compile(r'"[a-z_]*seconds": ?[-0-9.e+]+|\b[0-9.]+ m?s\b')


def data(*path):
    return os.path.join(DATA, *path)


def generated(sked, folder):
    """name -> path of the graphs that both builds read; the old build makes them."""
    families = {"er": ("erdos-renyi", 40), "layered": ("layered", 60), "sbm": ("stochastic-block", 50), "ws": ("watts-strogatz", 45),
                "ba": ("barabasi-albert", 30), "fft": ("fft", 60), "chol": ("cholesky", 56), "fork": ("fork-join", 30),
                "loop": ("loop", 24), "tiny": ("erdos-renyi", 9), "whole": ("layered", 40), "large": ("layered", 2500)}
    paths = {}
    for name, (family, nodes) in families.items():
        paths[name] = os.path.join(folder, name + ".json")
        extra = ["--duration", "int:1,6"] if name in ("tiny", "whole") else []
        sizes = ["--memory", "int:10,90", "--bytes", "int:0,20"] if name != "sbm" else []
        subprocess.run([sked, "generate", family, "--nodes", str(nodes), "--seed", "3", "-o", paths[name], *extra, *sizes], check=True,
                       stdout=subprocess.DEVNULL)
    return paths


def schedule_commands(g):
    mixed = data("hetero", "layered_50_m6_c2.machine.json")
    small = data("hetero", "layered_10_m3_c1.machine.json")
    for name in ("er", "layered", "sbm", "ws", "ba", "fft", "chol", "fork"):
        for method, iterations in (("list", 1), ("heft", 1), ("search", 300), ("brkga", 3), ("auto", 20), ("gflownet", 2)):
            for devices in (["--devices", "3"], ["--devices", "4", "--latency", "2", "--bandwidth", "5"]):
                if name in ("er", "layered", "fft") or method in ("list", "search"):
                    yield f"{method}-{name}-{len(devices)}", [g[name], "--method", method, "--iterations", iterations, *devices]
    for threads in (2, 3):
        for method, iterations in (("search", 400), ("brkga", 4), ("auto", 30)):
            yield f"{method}-threads{threads}", [g["layered"], "--method", method, "--iterations", iterations, "--threads", threads,
                                                 "--devices", 4, "--latency", 1]
    for method, iterations in (("list", 1), ("heft", 1), ("search", 300), ("auto", 20), ("exact", 2000), ("brkga", 3)):
        yield f"{method}-machine", [data("hetero", "layered_50_m6_c2.graph.json"), "--machine", mixed, "--method", method, "--iterations", iterations]
        yield f"{method}-small-machine", [data("hetero", "layered_10_m3_c1.graph.json"), "--machine", small, "--method", method, "--iterations",
                                          iterations]
    for h in ("unrel_20_m5_c5", "heft_classic", "wf_blast43_m5_c1", "outtree_b3l3_m4_c0.5"):
        for method, iterations in (("list", 1), ("heft", 1), ("search", 200), ("auto", 20), ("gflownet", 2)):
            yield f"{method}-{h}", [data("hetero", h + ".graph.json"), "--machine", data("hetero", h + ".machine.json"), "--method", method,
                                    "--iterations", iterations]
    for option in ("device=oct", "device=critical", "device=lookahead"):
        yield f"heft-{option}", [g["layered"], "--method", "heft", "--set", option, "--devices", 3, "--latency", 1]
    for option in ("scheme=serial", "direction=backward"):
        yield f"list-{option}", [g["layered"], "--method", "list", "--set", option, "--devices", 3]
    for name in ("tiny", "whole"):
        for extra in (["--devices", 2], ["--devices", 3, "--latency", 1], ["--objective", "memory"], ["--objective", "resource"],
                      ["--objective", "cost", "--horizon", 900]):
            if name == "whole" and "--objective" in extra:
                continue  # the linear programs take minutes
            yield f"exact-{name}-{'-'.join(map(str, extra))}", [g[name], "--method", "exact", "--iterations", 3000, *extra]
    for objective in ("memory", "resource", "cost"):
        for method, iterations in (("list", 1), ("fds", 3), ("gaus", 60), ("auto", 20)):
            for source in (g["whole"], g["fork"], data("express_dfg", "cosine1.dot"), data("epfl", "ctrl.blif")):
                yield f"{method}-{objective}-{os.path.basename(source)}", [source, "--method", method, "--objective", objective, "--iterations",
                                                                          iterations]
    for method, iterations in (("list", 1), ("search", 60), ("auto", 10), ("exact", 500)):
        for limit in (900, 1500):
            yield f"{method}-limit{limit}", [g["layered"], "--method", method, "--iterations", iterations, "--memory-limit", limit,
                                             "--devices", 3]
    for source in [g["loop"], g["whole"]]:
        for method, iterations in (("modulo-list", 1), ("modulo-search", 40), ("auto", 10), ("exact", 500), ("gaus", 40)):
            yield f"{method}-loop", [source, "--method", method, "--ii", "auto", "--devices", 2, "--iterations", iterations]
            yield f"{method}-loop-memory", [source, "--method", method, "--ii", 9, "--objective", "memory", "--iterations", iterations]
    for kind, names in (("jobshop", ("ft06.txt", "la01.txt", "abz5.txt")), ("psplib/j30", ()), ("psplib/j60", ()), ("stg/50", ()),
                        ("networks", ()), ("tpch", ())):
        folder = data(kind)
        found = names or (sorted(os.listdir(folder))[:2] if os.path.isdir(folder) else [])
        for name in found:
            for method, iterations in (("list", 1), ("search", 200), ("exact", 2000), ("auto", 20)):
                devices = [] if kind.split("/")[0] in ("jobshop", "psplib") else ["--devices", 3]
                yield f"{method}-{name}", [os.path.join(folder, name), "--method", method, "--iterations", iterations, *devices]
    yield "auto-large", [g["large"], "--iterations", 3, "--devices", 8]
    yield "candidates", [g["layered"], "--method", "brkga", "--iterations", 4, "--devices", 3, "--candidates", 20, "--top", 5]
    for output in (".html", ".svg", ".trace.json", ".dot"):
        yield f"report{output}", [g["layered"], "--method", "list", "--devices", 3, "--latency", 1, "-o", "OUT" + output]
        yield f"report-memory{output}", [g["fork"], "--method", "list", "--objective", "memory", "-o", "OUT" + output]


def other_commands(g):
    for name in ("er", "layered", "loop", "fork"):
        yield f"info-{name}", ["info", g[name]]
        for to in (".dot", ".gml", ".graphml", ".stg"):
            if to != ".stg" or name != "loop":
                yield f"convert-{name}{to}", ["convert", g[name], "OUT" + to]
    yield "info-machine", ["info", data("hetero", "layered_50_m6_c2.graph.json"), "--machine", data("hetero", "layered_50_m6_c2.machine.json")]
    for temperature in (0.005, 0.2):
        yield f"sample-{temperature}", ["sample", g["er"], "--devices", 4, "--candidates", 60, "--temperature", temperature, "--raw", "-o",
                                        "OUT.jsonl"]
    yield "sample-machine", ["sample", data("hetero", "heft_classic.graph.json"), "--machine", data("hetero", "heft_classic.machine.json"),
                             "--candidates", 40, "-o", "OUT.jsonl"]
    yield "sample-stepwise", ["sample", g["er"], "--devices", 4, "--candidates", 20, "--model",
                              os.path.join(ROOT, "models", "stepwise.safetensors"), "-o", "OUT.jsonl"]
    for target in ("linear", "bandwidth", "contention+jitter", "noisy+linear", "cache"):
        yield f"robust-{target}", ["robust", g["layered"], "--devices", 3, "--latency", 1, "--bandwidth", 10, "--target", target,
                                   "--measurements", 6, "--iterations", 30, "--time-limit", 600, "--json"]
    yield "robust-machine", ["robust", data("hetero", "unrel_20_m5_c5.graph.json"), "--machine", data("hetero", "unrel_20_m5_c5.machine.json"),
                             "--target", "linear", "--measurements", 5, "--iterations", 30, "--time-limit", 600, "-o", "OUT.machine.json"]
    yield "one-shot", ["robust", g["er"], "--devices", 3, "--latency", 1, "--target", "linear", "--one-shot", "--method", "brkga",
                       "--candidates", 50, "--top", 10, "--iterations", 5, "--time-limit", 600, "--json"]
    yield "sweep", ["schedule", g["fork"], "--method", "list", "--objective", "memory", "--sweep", "horizon=600:900:100"]
    for option in ("policy=encode-once", "policy=stepwise", "loss=tb", "loss=ppo"):
        yield f"train-{option}", ["train", "--graphs", "erdos-renyi:10-14", "--devices", 3, "--steps", 4, "--set", option, "--set", "batch=8", "-o",
                                  "OUT.safetensors", "--weights-only"]


def commands(g):
    for name, words in schedule_commands(g):
        out = [] if "OUT" in "".join(map(str, words)) else ["-o", "OUT.json"]
        yield "schedule-" + name, ["schedule", *words, "--time-limit", 600, "--json", *out]
    yield from other_commands(g)


def run(sked, words, folder):
    """What the command prints and writes: {file: bytes}, with the seconds taken out."""
    os.makedirs(folder)
    line = [sked, *(str(w) if not str(w).startswith("OUT") else str(w).replace("OUT", "out") for w in words), "--seed", "5", "--quiet"]
    if words[0] in ("info", "convert"):
        line = line[:-3]
    try:
        done = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return {"exit": "took too long", "stderr": ""}
    seen = {"exit": str(done.returncode).encode(), "stdout": done.stdout, "stderr": done.stderr if done.returncode else b""}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            seen[name] = f.read()
    return {k: SECONDS.sub("", v.decode("latin-1")) for k, v in seen.items()}


def main():
    old, new, words = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    differing, refused, count = [], 0, 0
    with tempfile.TemporaryDirectory() as tmp:
        chosen = [(n, c) for n, c in commands(generated(old, tmp)) if not words or any(w in n for w in words)]

        def compare(k):
            name, line = chosen[k]
            a, b = run(old, line, f"{tmp}/{k}a"), run(new, line, f"{tmp}/{k}b")
            return name, line, a, b

        with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
            for name, line, a, b in pool.map(compare, range(len(chosen))):
                count += 1
                refused += a["exit"] != "0"
                if a != b:
                    differing.append(name)
                    print("differs:", name, "in", ", ".join(k for k in sorted({*a, *b}) if a.get(k) != b.get(k)), "|", *line)
                    if a["exit"] != b["exit"]:
                        print("   exit", a["exit"], "->", b["exit"], b["stderr"][:300])
    print(f"{count} commands, {refused} of them refused by the old build, {len(differing)} differ")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
