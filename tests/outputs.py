#!/usr/bin/env python3
"""Files that the command writes: no two of them are one file, whatever the spelling; logs lose nothing; pictures end and hold
numbers whatever the values; a locale with a decimal comma changes no byte.

Usage: outputs.py SKED SOURCE_FOLDER IO_FAULTS.SO
The pairs come from the tables of tools/sked/cli.h, so that an option that is added is tested as well.
"""
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

from option_table import READ, WRITTEN, tables

from frame import Skip, end, test

SKED, SOURCE, SHIM = (os.path.abspath(a) for a in sys.argv[1:4])
LINKED = subprocess.run(["ldd", SKED], capture_output=True, text=True).stdout
SANITIZER = re.findall(r"=> (\S*lib[at]san\S*)", LINKED)
PRELOAD = " ".join([*SANITIZER, SHIM])  # the sanitizer of a build that has one must come first
SECONDS = 20 if SANITIZER else 4  # of processor time: ample for every command here


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run(*args, cwd, **environment):
    return subprocess.run([SKED, *map(str, args)], cwd=cwd, capture_output=True, preexec_fn=limit, timeout=300,
                          env={**os.environ, **environment})


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


# ---------------------------------------------------------------- the tables of the command

COMMANDS, OPTIONS = tables(SOURCE)

OPERANDS = ("GRAPH", "SCHEDULE", "BUFFERS", "A", "B", "IN", "OUT")  # that are files


@test
def every_option_that_names_a_file_says_so(_):
    for o in OPTIONS:
        named = re.search(r"FILE|DIR|\.[a-z]|SCHEDULE|MODEL", o.value)
        assert not named or o.kind in READ + WRITTEN, f"--{o.name} {o.value} is of kind {o.kind}"
    for name, operands in COMMANDS.items():
        for word in operands:
            assert word in OPERANDS or word in ("FAMILY", "[METHOD]", "[COMMAND]"), (name, word)


# ---------------------------------------------------------------- one file under two names

class File:
    """A place on the command line that names a file: an option or an operand."""

    def __init__(self, name, kind, at=None):
        self.name, self.kind, self.at = name, kind, at

    def words(self, path):
        text = {"SPEC": f"command:{path},x", "SPECS": f"key={path}"}.get(self.kind, path)
        return [] if self.at is not None else [f"--{self.name}", text]


def files_of(command):
    operands = [File(word, "WRITE" if word == "OUT" else "READ", i) for i, word in enumerate(COMMANDS[command])
                if word in OPERANDS]
    return operands + [File(o.name, o.kind) for o in OPTIONS if command in o.commands and o.kind in READ + WRITTEN]


def command_line(command, *places):
    operands = [f"other{i}" for i in range(len([w for w in COMMANDS[command] if not w.startswith("[")]))]
    words = []
    for file, path in places:
        if file.at is not None:
            operands[file.at] = path
        words += file.words(path)
    return [command, *operands, *words]


def may_go_on(reader, writer, path):
    """What is resumed may grow or be replaced."""
    return reader.kind == "RESUME" and (writer.kind == "WRITE" or path.endswith(".safetensors"))


def spellings(folder, name, exists):
    """Other names of a file, made as they are asked for."""
    yield name
    yield "./" + name
    yield "sub/../" + name
    yield "here/" + name  # a link to this folder
    yield os.path.join(os.path.realpath(folder), name)
    ending = name[name.index("."):]
    os.symlink("here/" + name, os.path.join(folder, "soft" + ending))
    yield "soft" + ending
    os.symlink("./soft" + ending, os.path.join(folder, "softer" + ending))
    yield "softer" + ending
    if exists:
        os.link(os.path.join(folder, name), os.path.join(folder, "hard" + ending))
        yield "hard" + ending


def snapshot(folder):
    return {name: (os.lstat(os.path.join(folder, name)).st_mtime_ns, os.lstat(os.path.join(folder, name)).st_ino)
            for name in os.listdir(folder)}


def refused(command, a, b, name, exists, few):
    """Every spelling of b beside a: exit 2, both named, nothing written. few: two of the spellings only."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "sub"))
        os.symlink(".", os.path.join(folder, "here"))
        if exists:
            write(folder, name, "precious\n")
        for i, other in enumerate(spellings(folder, name, exists)):
            if few and i not in (1, 5):
                continue
            before = snapshot(folder)
            done = run(*command_line(command, (a, name), (b, other)), cwd=folder)
            said = done.stderr.decode()
            what = f"{command}: {a.name} {name}, {b.name} {other}, {'there' if exists else 'new'}"
            assert done.returncode == 2, f"{what}: exit {done.returncode}: {said}"
            assert name in said and other in said and ("are one file" in said or "would replace" in said), f"{what}: {said}"
            assert snapshot(folder) == before and not done.stdout, f"{what}: something is written"


@test
def no_two_outputs_are_one_file(_):
    pairs = 0
    for command in COMMANDS:
        written = [f for f in files_of(command) if f.kind in WRITTEN]
        both = [*itertools.permutations(written, 2), *((f, f) for f in written if f.kind in ("OUTPUT", "PLACE"))]
        for a, b in both:
            for exists in (True, False):
                refused(command, a, b, "result.jsonl", exists, False)
            pairs += 1
    assert pairs >= 9, pairs


@test
def no_output_is_an_input(_):
    pairs = 0
    for command in COMMANDS:
        files = files_of(command)
        for out in (f for f in files if f.kind in WRITTEN):
            for source in (f for f in files if f.kind in READ):
                name = "result.safetensors" if command != "train" or source.kind != "RESUME" else "result.svg"
                if not may_go_on(source, out, name):
                    refused(command, out, source, name, True, True)
                    pairs += 1
    assert pairs > 30, pairs


@test
def different_files_are_not_refused(folder):
    """The same name in two folders, and what may be gone on with."""
    graph = os.path.join(SOURCE, "examples", "dot_product_loop.json")
    os.mkdir(os.path.join(folder, "sub"))
    for exists in (False, True):
        done = run("schedule", graph, "--method", "list", "--devices", 2, "-o", "x.json", "-o", "sub/x.json", "-o", "X.json", "-o", "x.svg", cwd=folder)
        assert done.returncode == 0, (exists, done.stderr)
    assert read(folder, "x.json") == read(folder, "sub/x.json")
    done = run("generate", "layered", "--nodes", 5, "-o", "-", cwd=folder)
    assert done.returncode == 0 and json.loads(done.stdout), done.stderr
    done = run("train", "--graphs", "layered:6", "--steps", 1, "-o", "m.safetensors", "-o", "a.jsonl", "-o", "b.jsonl", cwd=folder)
    assert done.returncode == 2 and b"-o a.jsonl and -o b.jsonl" in done.stderr, done.stderr
    with open(os.path.join(folder, "both.json"), "wb") as out:
        done = subprocess.run([SKED, "schedule", graph, "--devices", "2", "-o", "-", "-o", "both.json"], cwd=folder, stdout=out,
                              stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and b"are one file" in done.stderr, done.stderr
    with open(os.path.join(folder, "x.json"), "rb") as source:
        done = subprocess.run([SKED, "convert", "-", "./x.json"], cwd=folder, stdin=source, capture_output=True, check=False)
    assert done.returncode == 2 and b"(standard input)" in done.stderr, done.stderr


# ---------------------------------------------------------------- logs lose nothing

def small_graph(folder):
    assert run("generate", "layered", "--nodes", 6, "-o", "g.json", cwd=folder).returncode == 0
    return ["robust", "g.json", "--devices", 2, "--iterations", 1, "--time-limit", 100, "--target", "linear", "--quiet"]


def begins_whole(now, old):
    return now.startswith(old) and now.endswith(b"\n") or now == old


@test
def measurements_survive_a_full_disk(folder):
    base = small_graph(folder)
    done = run(*base, "--measurements", 3, "--log", "first.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    whole = read(folder, "first.jsonl")
    lines = whole.count(b"\n")
    assert lines == 4, whole
    torn = whole + b'{"time": 1'
    for begin, log in ((whole, "./a.jsonl"), (torn, "./a.jsonl"), (torn, "a.jsonl"), (whole, "soft.jsonl"), (whole, "b.jsonl")):
        for kind, action in (("write", "fail"), ("fsync", "fail"), ("rename", "fail"), ("open", "fail"), ("write", "kill")):
            if SANITIZER and action == "kill":
                continue
            hits = 0
            for n in range(1, 40):
                for name in ("a.jsonl", "b.jsonl"):
                    write(folder, name, begin.decode())
                if not os.path.islink(os.path.join(folder, "soft.jsonl")):
                    os.symlink("a.jsonl", os.path.join(folder, "soft.jsonl"))
                hit = os.path.join(folder, "hit")
                done = run(*base, "--measurements", 5, "--resume", "a.jsonl", "--log", log, cwd=folder, LD_PRELOAD=PRELOAD,
                           SKED_FAULT=f"{kind}:{n}:{action}", SKED_FAULT_LOG=hit)
                what = f"{log}, {kind}:{n}:{action}: exit {done.returncode}: {done.stderr[-300:]}"
                assert read(folder, "a.jsonl").startswith(whole), what
                assert read(folder, "b.jsonl").startswith(whole), what
                assert os.path.islink(os.path.join(folder, "soft.jsonl")), what
                if not os.path.exists(hit):
                    assert done.returncode == 0 and read(folder, log).count(b"\n") == 6, what
                    break
                os.unlink(hit)
                hits += 1
            assert hits > 0 or kind == "rename", (log, kind)  # what is whole grows where it is


@test
def an_old_log_is_replaced_whole(folder):
    """A run that is not resumed begins a new file: until the disk has it, the old one is there."""
    base = small_graph(folder)
    tiny = [w for pair in ("dim=8", "layers=1", "head=8", "mlp=8", "width=8", "context=8", "temperature=8", "batch=2", "held-out=1", "validate=2")
            for w in ("--set", pair)]
    train = ["train", "--graphs", "layered:6", "--devices", 2, "--quiet", "--steps", 2, *tiny, "-o", "m.safetensors", "-o", "old.jsonl"]
    for words in ([*base, "--measurements", 2, "--log", "old.jsonl"], train):
        for n in range(1, 40):
            hit = os.path.join(folder, "hit")
            write(folder, "old.jsonl", "an old line that nobody has read yet\n")
            done = run(*words, cwd=folder, LD_PRELOAD=PRELOAD, SKED_FAULT=f"write:{n}:fail", SKED_FAULT_LOG=hit)
            now = read(folder, "old.jsonl")
            assert now and (now.startswith(b"an old line") or json.loads(now.split(b"\n")[0])), (words[0], n, now[:100], done.stderr)
            if not os.path.exists(hit):
                assert done.returncode == 0 and not now.startswith(b"an old"), (words[0], done.stderr)
                break
            os.unlink(hit)
        assert n > 2, words[0]
    before = os.path.getsize(os.path.join(folder, "old.jsonl"))
    done = run(*[w if w != 2 else 4 for w in train], "--resume", "m.safetensors", cwd=folder)
    assert done.returncode == 0 and os.path.getsize(os.path.join(folder, "old.jsonl")) > before, done.stderr


# ---------------------------------------------------------------- pictures of extreme values

NOT_A_NUMBER = re.compile(r"(?<![A-Za-z])-?(nan|inf|infinity)(?![a-z])", re.I)


def judge_picture(folder, name, what):
    text = read(folder, name).decode()
    assert len(text) < 1_000_000, f"{what}: {name} has {len(text)} bytes"
    if name.endswith(".svg"):
        xml.dom.minidom.parseString(text)
        assert text.count('class="g"') <= 60, f"{what}: {name} has {text.count('class=')} lines"
        found = NOT_A_NUMBER.search(re.sub(r"<style>.*?</style>", "", text, flags=re.S))
        assert not found, f"{what}: {name} says {text[found.start() - 60:found.end() + 20]}"
    elif name.endswith(".html"):
        for part in re.findall(r'data-kind="[a-z]+">\n(.*?)\n</script>', text, flags=re.S):
            json.loads(part, parse_constant=lambda word: sys.exit(f"{what}: {name} says {word}"))
    else:
        for line in text.splitlines() if name.endswith(".jsonl") else [text]:
            json.loads(line, parse_constant=lambda word: sys.exit(f"{what}: {name} says {word}"))


def graph_of(folder, durations):
    ops = [{"name": f"op{i}", "duration": d, "memory": d, "demand": {"r": 1}} for i, d in enumerate(durations)]
    return write(folder, "x.json", json.dumps({"format": "sked-graph-1", "resources": [{"name": "r", "capacity": 2}], "ops": ops,
                                               "edges": [{"from": 0, "to": 1, "bytes": 1}]}))


EXTREMES = [[0, 0, 0], [5e-324, 5e-324, 1e-320], [2.3e-308, 1e-300, 0], [1e-9, 1, 1], [9e15, 1, 1], [2**53 - 1, 1, 1], [2**53, 2, 0],
            [2**53 + 2, 2**53, 2], [4.5e16, 8, 8], [4.5e16, 4.5e16, 4.5e16], [1e99, 1, 0], [3e99, 3e99, 3e99], [1e100, 1e100, 1e100],
            [1.7e308, 1.7e308, 1.7e308]]


@test
def pictures_end_whatever_they_show(folder):
    drawn = 0
    for durations in EXTREMES:
        graph = graph_of(folder, durations)
        total = sum(durations)
        common = [graph, "--devices", 2, "--method", "list", "--quiet"]
        runs = [(["schedule", *common], ["s.svg", "s.progress.svg", "s.html", "s.json", "s.trace.json", "s.jsonl"])]
        for name, objective, low, high in (("horizon", "makespan", 0, 2 * total), ("horizon", "memory", total, total), ("alpha", "cost", 0, 1e300),
                                           ("memory-limit", "makespan", total / 2, total * 2)):
            step = max((high - low) / 5, 5e-324) if high > low else 1
            if high < 1.7e308:
                runs.append((["schedule", *common, "--objective", objective, "--sweep", f"{name}={low!r}:{high!r}:{step!r}"],
                             ["w.svg", "w.json", "w.html"]))
        if 1e-300 < total < 1e99:
            runs.append((["robust", graph, "--devices", 2, "--target", "linear", "--measurements", 2, "--iterations", 1, "--time-limit", 9,
                          "--quiet"], ["r.curve.svg", "r.scatter.svg", "r.html", "r.json"]))
        for words, names in runs:
            for name in names:
                done = run(*words, "-o", name, cwd=folder)
                what = f"{durations}: {' '.join(map(str, words))} -o {name}: exit {done.returncode}: {done.stderr[-200:]}"
                assert done.returncode in (0, 2, 3, 6, 7), what
                if done.returncode == 0:
                    judge_picture(folder, name, what)
                    drawn += name.endswith(".svg")
                    os.unlink(os.path.join(folder, name))
    assert drawn > 60, drawn


# ---------------------------------------------------------------- a decimal comma

def comma(folder):
    """Variables of a locale with a decimal comma, made here; None where it cannot be."""
    done = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(folder, "de_DE.UTF-8")], capture_output=True, check=False) \
        if shutil.which("localedef") else None
    return {"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8"} if done and os.path.exists(os.path.join(folder, "de_DE.UTF-8", "LC_NUMERIC")) else None


@test
def a_comma_changes_no_byte(folder):
    locale = comma(folder)
    if locale is None:
        raise Skip("there is no locale with a decimal comma, and localedef cannot make one")
    probe = subprocess.run(["printf", "%.1f", "0,5"], capture_output=True, env={**os.environ, **locale}, check=False)
    assert probe.stdout == b"0,5", probe
    graph = graph_of(folder, [0.5, 1.25, 1e-7, 12345678.5])
    fir = [os.path.join(SOURCE, "examples", "fir.dot"), "--library", os.path.join(SOURCE, "examples", "units.json")]
    schedule = ["schedule", graph, "--devices", 2, "--method", "list", "--latency", 0.25, "--quiet"]
    formats = [line.split()[0] for line in run("formats", cwd=folder).stdout.decode().splitlines() if re.match(r"\w+ .*\bw\b|\w+ +rw", line)]
    jobs = [(["info", graph], []), (["check", graph, "s.json", "--latency", 0.25], []), (["check", graph, "s.json", "--latency", 0.25, "--json"], []),
            (["generate", "layered", "--nodes", 9, "--duration", "uniform:0.5,2.5", "-o", "n.json"], ["n.json"]),
            (["convert", graph, "x.lp", "--horizon", 2e7], ["x.lp"]), (["convert", graph, "x.mzn", "--horizon", 2e7], ["x.mzn"]),
            (["sample", graph, "--devices", 2, "--candidates", 3, "--quiet", "-o", "c.jsonl"], ["c.jsonl"]),
            (["schedule", *fir, "--method", "list", "--objective", "resource", "--sweep", "horizon=20.5:30.5:2.5", "--quiet", "-o", "w.svg"], ["w.svg"]),
            (["robust", graph, "--devices", 2, "--target", "linear", "--measurements", 3, "--iterations", 1, "--time-limit", 99, "--quiet", "--log", "l.jsonl",
              "-o", "r.curve.svg", "-o", "r.machine.json"], ["r.curve.svg", "r.machine.json", "l.jsonl"]),
            (["train", "--graphs", "layered:6", "--devices", 2, "--quiet", "--steps", 2, "--set", "validate=1", "--set", "dim=8", "--set", "layers=1",
              "--set", "head=8", "--set", "mlp=8", "--set", "width=8", "--set", "context=8", "--set", "temperature=8", "--set", "batch=2",
              "--set", "held-out=1", "-o", "m.safetensors", "-o", "t.svg"], ["t.svg", "m.safetensors"])]
    jobs[0:0] = [([*schedule, *(w for n in names for w in ("-o", n))], names) for names in
                 [["s.svg", "s.json", "s.dot", "s.trace.json", "s.jsonl"]]]
    jobs += [(["convert", graph, f"f.{f}", "--to", f], [f"f.{f}"]) for f in formats]
    assert len(formats) > 3, formats
    for words, names in jobs:
        results = []
        for environment in ({}, {**locale, "LD_PRELOAD": PRELOAD, "SKED_LOCALE": "1"}):
            for name in names:
                if os.path.exists(os.path.join(folder, name)):
                    os.unlink(os.path.join(folder, name))
            done = run(*words, cwd=folder, **environment)
            texts = [read(folder, n) if os.path.exists(os.path.join(folder, n)) else None for n in names]
            out = re.sub(rb"[\d.,]+ s\b", b"", done.stdout)
            results.append((done.returncode, done.stderr if done.returncode else b"", out if not names else b"", texts))
        assert results[0] == results[1], f"{words}:\n{results[0]}\n{results[1]}"
        assert results[0][0] in (0, 6), (words, results[0])
    done = run("schedule", graph, "--devices", 2, "--curve", "k.jsonl", "--json", "-o", "s.html", cwd=folder, **locale, LD_PRELOAD=PRELOAD, SKED_LOCALE="1")
    assert done.returncode == 0 and json.loads(done.stdout)["seconds"] >= 0, done.stderr
    for name in ("k.jsonl", "s.html"):  # these hold seconds
        judge_picture(folder, name, "comma")


end()
