#!/usr/bin/env python3
"""Files under faults: every output is the old file or the new one, whatever fails and whenever the process dies.

Usage: faults.py SKED SOURCE_FOLDER IO_FAULTS.SO [--kills N] [--part PART]
Runs the command with the n-th open, read, write, fsync, rename and close failing, for every n,
then interrupted, with short reads and writes, and ended by SIGKILL at the same places. Then kills it at N moments at random
(30, or SKED_KILLS; the delays come from a fixed seed) and compares a resumed training with one that went through.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

parser = argparse.ArgumentParser()
parser.add_argument("sked", type=os.path.abspath)
parser.add_argument("source", type=os.path.abspath)
parser.add_argument("shim", type=os.path.abspath)
parser.add_argument("--kills", type=int, default=int(os.environ.get("SKED_KILLS", 30)))
parser.add_argument("--part", default="")
options = parser.parse_args()
SKED = options.sked
GRAPH = os.path.join(options.source, "examples", "cholesky.json")
FIR = [os.path.join(options.source, "examples", "fir.dot"), "--library", os.path.join(options.source, "examples", "units.json")]
KINDS = ("open", "read", "write", "fsync", "rename", "close")
TIMED = (".html", ".svg", "w.json", "log.jsonl", "k.jsonl", ".safetensors")  # other bytes at another time, or at another checkpoint
OLD = b"the old file\n"
TEMPORARY = re.compile(r"\.sked-[0-9a-f]{16}\.tmp")
TINY = [word for pair in ("dim=8", "layers=1", "head=8", "mlp=8", "width=8", "context=8", "temperature=8", "batch=2", "held-out=1")
        for word in ("--set", pair)]
passed, failed, runs = 0, 0, 0


def preload():
    """The sanitizer of a build that has one must come first."""
    linked = subprocess.run(["ldd", SKED], capture_output=True, text=True).stdout
    first = re.findall(r"=> (\S*lib[at]san\S*)", linked)
    return " ".join([*first, options.shim])


PRELOAD = preload()
SANITIZED = PRELOAD != options.shim


class Command:
    """Arguments, the files it writes (in the folder it runs in), and files that must be there before."""

    def __init__(self, name, args, outputs, inputs=()):
        self.name, self.args, self.outputs, self.inputs = name, [str(a) for a in args], outputs, inputs

    def run(self, folder, fault=None, **more):
        for name, content in self.inputs:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)
        environment = {**os.environ, **({"LD_PRELOAD": PRELOAD, "SKED_FAULT": fault, "SKED_FAULT_LOG": os.path.join(folder, "hit")}
                                        if fault else {})}
        return subprocess.run([SKED, *self.args], cwd=folder, capture_output=True, env=environment, timeout=120, **more)

    def calls(self, kind):
        """Whether calls of the kind are expected; only models and schedules are synced."""
        durable = self.name in ("schedule", "sample", "train", "robust", "loop")
        return durable if kind == "fsync" else self.name != "generate" if kind == "read" else self.outputs or kind in ("open", "close")

    def reference(self, folder):
        """What an undisturbed run writes, but for files that hold seconds or grow: whole() judges those."""
        done = self.run(folder)
        assert done.returncode == 0, (self.args, done.stderr[-300:])
        written = {name: open(os.path.join(folder, name), "rb").read() for name in self.outputs}
        assert OLD not in written.values(), f"{self.name} wrote nothing"
        return {name: content for name, content in written.items() if not name.endswith(TIMED)}


def whole(name, content):
    """A file that differs from run to run is complete all the same."""
    if name.endswith(".safetensors"):  # any checkpoint
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8:8 + size])
        assert 8 + size + max(t["data_offsets"][1] for k, t in header.items() if k != "__metadata__") == len(content)
        return
    text = content.decode()
    if name.endswith(".json"):
        json.loads(text)
    elif name.endswith(".svg"):
        xml.dom.minidom.parseString(text)
    elif name.endswith(".html"):
        assert text.rstrip().endswith("</html>")
    else:  # a log grows line by line; a curve is there as a whole
        assert name in ("log.jsonl", "k.jsonl") and (not text or text.endswith("\n")), name
        [json.loads(line) for line in text.removeprefix(OLD.decode()).splitlines()]


def state(folder, name, reference):
    """old, new, or absent; an exception where it is neither."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return "absent"
    content = open(path, "rb").read()
    if content == OLD:
        return "old"
    if name in reference:
        assert content == reference[name], f"{name} is neither the old nor the new file"
    else:
        whole(name, content)
    return "new"


def commands():
    schedule = ["schedule", GRAPH, "--devices", 2, "--method", "list", "--quiet"]
    train = ["train", "--graphs", "layered:6", "--devices", 2, "--quiet", "--set", "validate=1", *TINY]
    plan = subprocess.run([SKED, *map(str, schedule), "-o", "-"], capture_output=True, check=True).stdout
    small = subprocess.run([SKED, "generate", "layered", "--nodes", "6", "-o", "-"], capture_output=True, check=True).stdout
    fix = json.dumps({"format": "sked-fix-1", "ops": [{"name": json.loads(plan)["ops"][0]["name"], "device": 1}]}).encode()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SKED, *map(str, train), "--steps", "1", "-o", "m.safetensors"], cwd=folder, check=True, capture_output=True)
        model = open(os.path.join(folder, "m.safetensors"), "rb").read()
    outputs = ["s.json", "s.svg", "s.html", "s.trace.json", "s.dot", "s.jsonl"]
    written = [word for name in outputs for word in ("-o", name)]
    trained = ["t.safetensors", "log.jsonl", "curve.svg"]
    return [
        Command("schedule", [*schedule, "--fix", "fix.json", *written], outputs, [("fix.json", fix)]),
        Command("convert", ["convert", GRAPH, "g.graphml"], ["g.graphml"]),
        Command("export", ["convert", FIR[0], "fir.lp", *FIR[1:]], ["fir.lp"]),
        Command("generate", ["generate", "layered", "--nodes", 9, "--count", 2, "-o", "g"], ["g/layered-9-0.json", "g/layered-9-1.json"]),
        Command("sample", ["sample", GRAPH, "--devices", 2, "--candidates", 2, "--model", "m.safetensors", "--quiet", "-o", "c.jsonl"],
                ["c.jsonl"], [("m.safetensors", model)]),
        Command("train", [*train, "--steps", 3, "--resume", "m.safetensors", *(w for n in trained for w in ("-o", n))], trained,
                [("m.safetensors", model)]),
        Command("robust", ["robust", GRAPH, "--devices", 2, "--one-shot", "--method", "list", "--candidates", 3, "--target", "noisy", "--quiet", "-o",
                           "r.json", "-o", "r.html", "-o", "r.scatter.svg"], ["r.json", "r.html", "r.scatter.svg"]),
        Command("loop", ["robust", "small.json", "--devices", 2, "--measurements", 1, "--iterations", 1, "--time-limit", 100, "--target", "linear",
                         "--quiet", "-o", "l.json", "-o", "l.machine.json", "-o", "l.curve.svg"], ["l.json", "l.machine.json", "l.curve.svg"],
                [("small.json", small)]),
        Command("sweep", ["schedule", *FIR, "--method", "list", "--objective", "resource", "--sweep", "horizon=20:24:2", "--quiet", "-o",
                          "w.json", "-o", "w.svg", "-o", "w.html"], ["w.json", "w.svg", "w.html"]),
        Command("curve", ["schedule", GRAPH, "--devices", 2, "--method", "list", "--quiet", "--curve", "k.jsonl"], ["k.jsonl"]),
        Command("check", ["check", GRAPH, "old.json"], [], [("old.json", plan)]),
        Command("info", ["info", GRAPH], []),
    ]


def prepare(command, folder):
    for name in command.outputs:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(OLD)


def left_over(command, folder):
    known = {"hit", *(name for name, _ in command.inputs), *command.outputs}
    return [os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names
            if os.path.relpath(os.path.join(top, name), folder) not in known]


def judge(command, folder, done, fault, reference):
    """What is wrong with a run under a fault, or None."""
    kind, _, action = fault.split(":")
    states = [state(folder, name, reference) for name in command.outputs]
    rest, code = left_over(command, folder), done.returncode
    if "Sanitizer" in done.stderr.decode(errors="replace"):
        return done.stderr.decode(errors="replace")[-1500:]
    if action == "kill":
        strange = [name for name in rest if not TEMPORARY.fullmatch(os.path.basename(name))]
        return f"left {rest}" if strange or len(rest) > 1 else f"exit {code}" if code != -9 else None
    if rest:
        return f"left {rest}"
    if action in ("eintr", "short"):
        return f"exit {code}: {done.stderr!r}" if code != 0 or "old" in states else None
    # A folder or an input that cannot be closed harms nobody; a fault in whatever else ends the command.
    allowed = {0, 4} if kind in ("close", "open") else {4}
    if code not in allowed:
        return f"exit {code}: {done.stderr!r}"
    if code == 0 and "old" in states:
        return f"exit 0, but {[n for n, s in zip(command.outputs, states) if s == 'old']} is the old file"
    if code == 4 and (done.stderr.count(b"\n") != 1 or b"Input/output error" not in done.stderr):
        return f"not one sentence with its cause: {done.stderr!r}"
    return None


def under_fault(command, fault, reference):
    """One run; None where the fault never came, else what is wrong with it ("" nothing)."""
    global runs
    with tempfile.TemporaryDirectory() as folder:
        prepare(command, folder)
        done = command.run(folder, fault)
        runs += 1
        if not os.path.exists(os.path.join(folder, "hit")):
            return None
        try:
            wrong = judge(command, folder, done, fault, reference)
        except Exception as problem:  # a file that is neither
            wrong = repr(problem)
        return f"{command.name}, {fault}: {wrong}" if wrong else ""


def everywhere(command, reference):
    """All faults of a command, until the n-th call is one too many."""
    problems = []
    for kind in KINDS:
        for action in ("fail",) if SANITIZED else ("fail", "kill"):
            n, wrong = 1, ""
            while wrong is not None:
                wrong = under_fault(command, f"{kind}:{n}:{action}", reference)
                problems += [wrong] if wrong else []
                if n == 1 and (wrong is None) != (not command.calls(kind)):
                    problems.append(f"{command.name}: {'no' if wrong is None else 'a'} call of {kind}")
                n += 3 if SANITIZED and n > 3 else 1
                if n > 3000:
                    return problems + [f"{command.name}, {kind}: no end of calls"]
    for fault in ("read:0:eintr", "write:0:eintr", "fsync:0:eintr", "read:0:short", "write:0:short"):
        problems += filter(None, [under_fault(command, fault, reference)])
    return problems


def synced_in_order():
    """The file before the rename, the folder after it: killed at the first fsync it is the old file, at the second the new one."""
    command = Command("schedule", ["schedule", GRAPH, "--devices", 2, "--method", "list", "--quiet", "-o", "s.json"], ["s.json"])
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        reference = command.reference(folder)
        for n, want in ((1, "old"), (2, "new")):
            prepare(command, folder)
            done = command.run(folder, f"fsync:{n}:kill")
            found = state(folder, "s.json", reference)
            problems += [] if found == want and done.returncode == -9 else [f"fsync {n}: {found} file, exit {done.returncode}"]
    return problems


def check(name, problems):
    global passed, failed
    for problem in problems[:20]:
        print(f"FAILED {name}: {problem}")
    passed, failed = passed + (not problems), failed + bool(problems)


def io_faults():
    def one(command):
        with tempfile.TemporaryDirectory() as folder:
            prepare(command, folder)
            reference = command.reference(folder)
        return everywhere(command, reference)
    chosen = [c for c in commands() if options.part in c.name]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command, problems in zip(chosen, pool.map(one, chosen)):
            check(command.name, problems)
    if options.part in "synced":
        check("synced in order", synced_in_order())


# ---------------------------------------------------------------- SIGKILL at random moments

def killed(args, folder, delay):
    """Runs until the delay is over, then kills; True: it had ended before."""
    process = subprocess.Popen([SKED, *map(str, args)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(delay)
        assert process.returncode == 0, process.returncode
        return True
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def seconds_of(args, folder):
    begin = time.time()
    subprocess.run([SKED, *map(str, args)], cwd=folder, check=True, capture_output=True)
    return time.time() - begin


def kill_writers(times, rng):
    """schedule and robust with several outputs over old files."""
    problems, kills = [], 0
    files = ["k.json", "k.dot", "k.svg", "k.html"]
    written = [word for name in files for word in ("-o", name)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SKED, "generate", "layered", "--nodes", "3000", "-o", "g.json"], cwd=folder, check=True)
        for args in (["schedule", "g.json", "--devices", 8, "--method", "list", "--quiet", *written],
                     ["robust", GRAPH, "--devices", 2, "--one-shot", "--method", "list", "--candidates", 20, "--target", "noisy", "--quiet", *written]):
            command = Command(args[0], args, files)
            reference = command.reference(folder)
            length = seconds_of(args, folder)
            wanted = kills + times // 2
            while kills < wanted:
                prepare(command, folder)
                kills += not killed(args, folder, rng.uniform(0, 1.1 * length))
                try:
                    [state(folder, name, reference) for name in files]
                except Exception as problem:
                    problems.append(f"{args[0]}: {problem!r}")
                for name in os.listdir(folder):
                    if name not in (*files, "g.json"):
                        problems += [] if TEMPORARY.fullmatch(name) else [f"left {name}"]
                        os.unlink(os.path.join(folder, name))
    return problems, kills


def kill_training(times, rng):
    """Training that is killed repeatedly and resumed from what is there ends with the bits of one that went through."""
    problems, kills = [], 0
    train = ["train", "--graphs", "layered:12-16", "--devices", 2, "--quiet", "--steps", 24, "--set", "validate=2", *TINY]
    with tempfile.TemporaryDirectory() as folder:
        path, log = os.path.join(folder, "m.safetensors"), os.path.join(folder, "log.jsonl")
        length = seconds_of([*train, "-o", "reference.safetensors"], folder)
        wanted = open(os.path.join(folder, "reference.safetensors"), "rb").read()
        while kills < times and not problems:
            for name in (path, log):
                if os.path.exists(name):
                    os.unlink(name)
            ended = False
            while not ended:
                more = ["--resume", "m.safetensors"] if os.path.exists(path) else []
                ended = killed([*train, *more, "-o", "m.safetensors", "-o", "log.jsonl"], folder,
                               rng.uniform(0, 0.7 * length) if kills < times else 100)
                kills += not ended
                if os.path.exists(log):
                    whole("log.jsonl", open(log, "rb").read())
            if open(path, "rb").read() != wanted:
                problems.append(f"resumed after {kills} kills: other bits")
    return problems, kills


def random_kills():
    rng, total = random.Random(10), 0
    for name, function, share in (("kill -9 of schedule and robust", kill_writers, 0.6), ("kill -9 of train", kill_training, 0.4)):
        problems, kills = function(max(2, round(share * options.kills)), rng)
        total += kills
        check(name, problems + ([] if kills > 0 else ["no run was killed"]))
    print(f"{total} runs killed at random")


if not shutil.which("ldd"):
    sys.exit("ldd is missing")
io_faults()
if SANITIZED:  # a process that is killed tells a sanitizer nothing
    print("skipped: SIGKILL, under a sanitizer")
elif not options.part or options.part == "kill":
    random_kills()
print(f"{runs} runs under faults")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or passed == 0 else 0)
