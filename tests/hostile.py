#!/usr/bin/env python3
"""Hostile input and awkward surroundings: whatever happens, sked answers with a documented exit code and one sentence.

Usage: hostile.py SKED SOURCE_FOLDER [--deep] [PART]
Every case is fixed: no clock, no randomness. --deep runs many more of them; PART runs only tests with it in their name.
"""
import concurrent.futures
import itertools
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import xml.dom.minidom

from option_table import WRITTEN, tables

import frame
from frame import test

DEEP = "--deep" in sys.argv
WORDS = [word for word in sys.argv[1:] if word != "--deep"]
SKED, SOURCE = os.path.abspath(WORDS[0]), os.path.abspath(WORDS[1])
frame.only = WORDS[2] if len(WORDS) > 2 else ""
with open(SKED, "rb") as binary:
    SANITIZED = b"__asan_init" in binary.read()
CODES = {0, 2, 3, 4, 5, 6, 7, 8, 10}
EXAMPLE = os.path.join(SOURCE, "examples", "cholesky.json")
cases = 0


# Controls (C0 but the line break, DEL, C1), separators, changes of direction, noncharacters.
UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")


def unprintable(output):
    """What a terminal would obey, or could not show; None: nothing."""
    try:
        found = UNPRINTABLE.search(output.decode())
    except UnicodeDecodeError as problem:
        return str(problem)
    return found and f"U+{ord(found[0]):04X} at {found.start()}"


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def complaint(args, done, codes=CODES):
    """What is wrong with the way a command ended, or None."""
    said, command = done.stderr.decode(errors="replace"), " ".join(map(str, args))[:400]
    if "Sanitizer" in said or "runtime error" in said:
        return f"{command}: {said[:1500]}"
    if done.returncode not in codes:
        return f"{command}: exit {done.returncode}, expected {sorted(codes)}: {said[-300:]}"
    if done.returncode != 0 and (said.count("\n") != 1 or not said.startswith("sked: ")):
        return f"{command}: not one sentence: {said[:600]!r}"
    if unprintable(done.stderr):
        return f"{command}: {unprintable(done.stderr)} of standard error: {done.stderr[:600]!r}"
    if "-" not in args and done.stdout and unprintable(done.stdout):
        return f"{command}: {unprintable(done.stdout)} of standard output: {done.stdout[:600]!r}"
    if "--json" in args and done.returncode == 0:
        try:
            json.loads(done.stdout.decode(), parse_constant=no_constant)
        except ValueError as problem:
            return f"{command}: --json printed no JSON ({problem})"
    return None


def run_case(case):
    args, options = case[0], dict(case[1]) if len(case) > 1 else {}
    codes, files = options.pop("codes", CODES), options.pop("files", None)
    try:
        done = subprocess.run([SKED, *(a if isinstance(a, bytes) else str(a) for a in args)], **{"capture_output": True, "timeout": 120, **options})
    except subprocess.TimeoutExpired:
        return f"{' '.join(map(str, args))[:400]}: still running after 120 s"
    wrong = complaint(args, done, codes)
    if wrong is None and done.returncode != 0 and files is not None and os.path.lexists(files):
        wrong = f"{' '.join(map(str, args))[:400]}: failed, but left {files}"
    return wrong


def run_all(list_of_cases):
    """All cases, two at a time; the complaints. Of long lists an eighth under a sanitizer: there fuzzing has every parser."""
    global cases
    if SANITIZED and not DEEP and len(list_of_cases) > 100:
        list_of_cases = list_of_cases[::8]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run_case, list_of_cases))
    cases += len(results)
    return [wrong for wrong in results if wrong]


def samples():
    """Every small file of every format that the project ships."""
    found = []
    for top in ("fuzz/seeds", "fuzz/regressions", "tests/data", "examples"):
        for folder, _, names in sorted(os.walk(os.path.join(SOURCE, top))):
            found += [os.path.join(folder, name) for name in sorted(names)]
    return [path for path in found if os.path.getsize(path) < 1 << 20]


def format_of(path):
    """The format whose folder of seeds or regressions holds the file, else None: by extension."""
    parent = os.path.basename(os.path.dirname(path))
    top = os.path.basename(os.path.dirname(os.path.dirname(path)))
    return parent.replace("_", "-") if top in ("seeds", "regressions") else None


HUGE = [b"99999999999999999999999", b"1e308", b"-1", b"1e999", b"nan", b"0", b"2147483648"]


def damaged(data):
    """The data cut, flipped, doubled, and with its numbers made absurd; always the same list."""
    cuts, flips, most = (40, 40, 12) if DEEP else (4, 3, 3)
    yield from (data[: len(data) * k // cuts] for k in range(cuts))
    for k in range(flips):
        where = (2 * k + 1) * len(data) // (2 * flips)
        if where < len(data):
            yield data[:where] + bytes([data[where] ^ (0x01, 0xff, 0x80)[k % 3]]) + data[where + 1:]
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    chosen = numbers[:: max(1, len(numbers) // most)]
    for k, number in enumerate(chosen):
        for word in HUGE if DEEP else [HUGE[(k + len(data)) % len(HUGE)]]:
            yield data[: number.start()] + word + data[number.end():]
    yield data + data
    yield data + b"\0"
    yield b"\xef\xbb\xbf" + data


def command_on(path, given, k):
    """Commands that read a graph, one of them in turn."""
    options = ["--from", given] if given else []
    return [["info", path, *options, "--json"],
             ["schedule", path, *options, "--devices", 2, "--method", "list", "--json", "--quiet"],
             ["convert", path, "-", *options, "--to", "native"],
             ["schedule", path, *options, "--method", "auto", "--time-limit", 0.01, "--quiet", "--json"]][k % 4]


@test
def damaged_graphs(folder):
    list_of_cases = []
    for i, path in enumerate(samples()):
        data = open(path, "rb").read()
        for k, bad in enumerate(damaged(data)):
            name = os.path.join(folder, f"{i}-{k}{os.path.splitext(path)[1]}")
            with open(name, "wb") as out:
                out.write(bad)
            list_of_cases.append((command_on(name, format_of(path), i + k),))
    return run_all(list_of_cases)


@test
def wrong_format_and_standard_input(folder):
    formats = [f["name"] for f in json.loads(subprocess.run([SKED, "formats", "--json"], capture_output=True).stdout)]
    list_of_cases, seen = [], set()
    for path in samples():
        kind = format_of(path) or os.path.splitext(path)[1]
        with_input = {"input": open(path, "rb").read()}
        list_of_cases += [(["info", "-", "--json"], with_input), (["check", "-", path], with_input)]
        if kind in seen and not DEEP:
            continue
        seen.add(kind)
        list_of_cases += [(["info", "-", "--from", name], with_input) for name in formats]
        list_of_cases += [(["schedule", EXAMPLE, option, path, "--method", "list"], {})
                          for option in ("--library", "--resources", "--profile", "--start", "--fix")]
    return run_all(list_of_cases)


@test
def damaged_companions(folder):
    """Schedules, libraries, profiles and fixed decisions as broken as graphs."""
    plan = os.path.join(folder, "plan.json")
    subprocess.run([SKED, "schedule", EXAMPLE, "--devices", "2", "--method", "list", "-o", plan], capture_output=True, check=True)
    name = json.load(open(plan))["ops"][0]["name"]
    texts = {"--start": open(plan, "rb").read(), "check": open(plan, "rb").read(),
             "--library": open(os.path.join(SOURCE, "examples", "units.json"), "rb").read(),
             "--profile": json.dumps({name: 3, "nobody": 4}).encode(),
             "--fix": json.dumps({"format": "sked-fix-1", "ops": [{"name": name, "device": 1, "start": 0}]}).encode()}
    list_of_cases = []
    for option, data in texts.items():
        for k, bad in enumerate(damaged(data)):
            file = os.path.join(folder, f"{option.strip('-')}-{k}.json")
            open(file, "wb").write(bad)
            args = ["check", EXAMPLE, file, "--json"] if option == "check" else \
                ["schedule", EXAMPLE, "--devices", 2, "--method", "list", option, file, "--quiet"]
            list_of_cases.append((args,))
    return run_all(list_of_cases)


@test
def unreadable_input(folder):
    plain = os.path.join(folder, "file.json")
    open(plain, "w").write("{}")
    loop = os.path.join(folder, "loop.json")
    os.symlink(loop, loop)
    places = [folder, "/", os.path.join(folder, "none.json"), os.path.join(plain, "x.json"), loop, "x" * 5000 + ".json",
              os.path.join("y" * 300 + ".json"), "", "/proc/self/mem", "/dev/null"]
    list_of_cases = []
    for place in places:
        codes = {4, 5, 6} if place == "/dev/null" else {4}
        list_of_cases += [(args, {"codes": codes | {2} if place == "" else codes}) for args in (
            ["info", place], ["check", place, EXAMPLE], ["check", EXAMPLE, place], ["convert", place, "-"],
            ["schedule", place], ["schedule", EXAMPLE, "--start", place], ["schedule", EXAMPLE, "--fix", place],
            ["schedule", EXAMPLE, "--library", place], ["schedule", EXAMPLE, "--profile", place])]
    return run_all(list_of_cases)


@test
def unwritable_output(folder):
    plain = os.path.join(folder, "file.json")
    open(plain, "w").write("kept")
    os.mkdir(os.path.join(folder, "folder.json"))
    problems, before = [], sorted(os.listdir(folder))
    for extension in (".json", ".jsonl", ".svg", ".html", ".dot", ".trace.json"):
        for place in (os.path.join(folder, "missing", "x" + extension), os.path.join(plain, "x" + extension),
                      os.path.join(folder, "z" * 300 + extension), os.path.join(folder, "z" * 5000 + extension)):
            problems += run_all([(["schedule", EXAMPLE, "--devices", 2, "--method", "list", "-o", place], {"codes": {4}})])
    problems += run_all([(["convert", EXAMPLE, os.path.join(folder, "missing", "x.dot")], {"codes": {4}}),
                         (["convert", EXAMPLE, os.path.join(folder, "folder.json")], {"codes": {4}}),
                         (["convert", EXAMPLE, "/dev/full", "--to", "native"], {"codes": {4}}),
                         (["schedule", EXAMPLE, "--devices", 2, "--method", "list", "-o", os.path.join(folder, "folder.json")],
                          {"codes": {4}}),
                         (["generate", "chain", "--nodes", 3, "-o", os.path.join(plain, "x.json")], {"codes": {4}}),
                         (["generate", "chain", "--nodes", 3, "--count", 2, "-o", plain], {"codes": {2, 4}})])
    if sorted(os.listdir(folder)) != before or open(plain).read() != "kept":
        problems.append(f"files were left or changed: {os.listdir(folder)}")
    return problems


@test
def inputs_are_never_replaced(folder):
    """An output that is one of the inputs, by whatever name, is refused before any work; nothing is changed."""
    place = lambda name: os.path.join(folder, name)
    graph_file, library, plan = place("g.json"), place("lib.json"), place("p.json")
    shutil.copy(EXAMPLE, graph_file)
    shutil.copy(os.path.join(SOURCE, "examples", "units.json"), library)
    json.dump({"format": "sked-fix-1", "ops": []}, open(plan, "w"))
    os.symlink("g.json", place("link.json"))
    os.symlink(place("link.json"), place("link2.json"))
    os.link(graph_file, place("hard.json"))
    os.mkdir(place("sub"))
    model = place("m.safetensors")
    shutil.copy(os.path.join(SOURCE, "models", "gflownet.safetensors"), model)
    before = {name: open(place(name), "rb").read() for name in sorted(os.listdir(folder)) if name != "sub"}
    run, list_of_cases = ["--devices", 2, "--method", "list"], []
    for name in ("g.json", "link.json", "link2.json", "hard.json", "sub/../g.json"):
        list_of_cases += [(["schedule", graph_file, *run, "-o", place("x.svg"), "-o", place(name)], {"codes": {2}}),
                          (["schedule", place(name), *run, "-o", graph_file], {"codes": {2}}),
                          (["convert", graph_file, place(name)], {"codes": {2}}),
                          (["schedule", graph_file, "--sweep", "horizon=1000:1001:1", "-o", place(name)], {"codes": {2}}),
                          (["sample", graph_file, "--devices", 2, "-o", place(name)], {"codes": {2}}),
                          (["robust", graph_file, "--devices", 2, "--target", "noisy", "-o", place(name)], {"codes": {2}})]
    list_of_cases += [(["schedule", graph_file, *run, "--library", library, "-o", library], {"codes": {2}}),
                      (["schedule", graph_file, *run, "--fix", plan, "-o", plan], {"codes": {2}}),
                      (["schedule", graph_file, "--devices", 2, "--start", plan, "-o", plan], {"codes": {2}}),
                      (["schedule", graph_file, "--machine", plan, "-o", plan], {"codes": {2}}),
                      (["schedule", graph_file, "--devices", 2, "--profile", plan, "-o", plan], {"codes": {2}}),
                      (["sample", graph_file, "--devices", 2, "--model", model, "-o", model], {"codes": {2}})]
    os.symlink("g.json", place("log.jsonl"))
    os.symlink("m.safetensors", place("curve.svg"))
    before.update({name: open(place(name), "rb").read() for name in ("log.jsonl", "curve.svg")})
    train = ["train", "--devices", 2, "--steps", 10**6, "-o", place("new.safetensors"), "--quiet"]
    list_of_cases += [([*train, "--graphs", f"layered:5,{graph_file}", "-o", place("log.jsonl")], {"codes": {2}}),
                      ([*train, "--graphs", "layered:5", "--resume", model, "-o", place("curve.svg")], {"codes": {2}})]
    problems = run_all(list_of_cases)
    for args in (["convert", "-", graph_file, "--to", "native"], ["schedule", "-", *run, "-o", graph_file]):
        done = subprocess.run([SKED, *map(str, args)], stdin=open(graph_file), capture_output=True)
        problems += filter(None, [complaint(args, done, {2})])
    after = {name: open(place(name), "rb").read() for name in sorted(os.listdir(folder)) if name != "sub"}
    return problems + ([] if before == after else ["files changed"])


def edit_model(source, target, **numbers):
    """Writes the model with other entries in its metadata."""
    data = open(source, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"].update({key: str(value) for key, value in numbers.items()})
    text = json.dumps(header).encode()
    open(target, "wb").write(len(text).to_bytes(8, "little") + text + data[8 + size:])


@test
def crafted_models(folder):
    shipped, model = os.path.join(SOURCE, "models", "gflownet.safetensors"), os.path.join(folder, "m.safetensors")
    problems = []
    for numbers, code in (({"seed": 2**63}, 0), ({"seed": 2**64 - 1}, 0), ({"seed": 2**64}, 5), ({"seed": -1}, 5), ({"seed": ""}, 5),
                          ({"steps": 2**63 - 1}, 5), ({"steps": 2**63}, 5), ({"steps": 9 * 10**15}, 0), ({"dim": 1}, 5), ({"dim": 0}, 5),
                          ({"dim": 2**31 - 1}, 5), ({"layers": 10**6}, 5), ({"head": 7}, 5), ({"dim": 2**40}, 5)):
        edit_model(shipped, model, **numbers)
        sample = ["sample", EXAMPLE, "--devices", 2, "--candidates", 1, "--quiet", "--model", model, "-o", os.path.join(folder, "c.jsonl")]
        problems += [f"{numbers}: {wrong}" for wrong in run_all([(sample, {"codes": {code}})])]
    # Updates beyond the largest number of steps are refused, not wrapped around.
    edit_model(shipped, model, steps=2**63 - 2)
    resume = ["train", "--graphs", "layered:6", "--devices", 2, "--steps", 9e15, "--resume", model, "-o", model, "--quiet"]
    return problems + run_all([(resume, {"codes": {5}})])


@test
def training_tries_its_outputs_first(folder):
    """A million updates would outlast the test's patience: the refusal comes before the first."""
    kept = [os.path.join(folder, name) for name in ("m.safetensors", "l.jsonl", "c.svg")]
    for name in kept:
        open(name, "w").write("kept")
    os.mkdir(os.path.join(folder, "d.safetensors"))
    train = ["train", "--graphs", "layered:30", "--devices", 2, "--steps", 1000000, "--quiet"]
    gone = os.path.join(folder, "none")
    problems = run_all([([*train, "-o", f"{gone}/m.safetensors", "-o", kept[1]], {"codes": {4}}),
                        ([*train, "-o", os.path.join(folder, "d.safetensors"), "-o", kept[1]], {"codes": {4}}),
                        ([*train, "-o", kept[0], "-o", f"{gone}/l.jsonl"], {"codes": {4}}),
                        ([*train, "-o", kept[0], "-o", kept[1], "-o", f"{gone}/c.svg"], {"codes": {4}}),
                        ([*train, "-o", kept[0], "-o", kept[1], "--set", "nonsense=1"], {"codes": {2}})])
    return problems + [f"{name} was changed" for name in kept if open(name).read() != "kept"]


PRINTING = [["info", EXAMPLE], ["info", EXAMPLE, "--json"], ["methods"], ["formats", "--json"], ["targets"], ["help"], ["--version"],
            ["help", "--man"], ["schedule", EXAMPLE, "--method", "list", "--quiet"],
            ["schedule", EXAMPLE, "--method", "list", "--quiet", "-o", "-"],
            ["convert", EXAMPLE, "-", "--to", "dot"], ["generate", "chain", "--nodes", "100000", "-o", "-"]]


@test
def full_or_closed_standard_output(folder):
    problems = []
    for args in PRINTING:
        for redirect in (">&-", ">/dev/full"):
            done = subprocess.run(["sh", "-c", f'"$@" {redirect}', "sh", SKED, *args], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            problems.append(complaint([*args, redirect], done, {4}))
    return [p for p in problems if p]


@test
def closed_streams_do_not_reach_files(folder):
    """With streams closed a file may be opened in their place; what belongs to them must not end up in it."""
    problems, file = [], os.path.join(folder, "s.json")
    for closed in ("2>&-", ">&- 2>&-", "<&- >&- 2>&-", "<&-"):
        done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", SKED, "schedule", EXAMPLE, "--method", "list", "-o", file],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode not in (0, 4):
            problems.append(f"{closed}: exit {done.returncode}")
        if subprocess.run([SKED, "check", EXAMPLE, file], capture_output=True).returncode != 0:
            problems.append(f"{closed}: the file is broken")
        os.unlink(file)
    return problems


@test
def outputs_replace_files_in_one_step(folder):
    """A failing run leaves an older file alone; a good one replaces it and keeps no temporary file."""
    problems, file = [], os.path.join(folder, "s.json")
    open(file, "w").write("old")
    problems += run_all([(["schedule", EXAMPLE, "--devices", 2, "--horizon", 0.001, "-o", file], {"codes": {7}})])
    if open(file).read() != "old":
        problems.append("the older file was lost")
    problems += run_all([(["schedule", EXAMPLE, "--devices", 2, "--method", "list", "-o", file], {"codes": {0}})])
    os.symlink(file, os.path.join(folder, "link.json"))
    problems += run_all([(["convert", EXAMPLE, os.path.join(folder, "link.json")], {"codes": {0}})])
    if not os.path.islink(os.path.join(folder, "link.json")) or json.load(open(file))["format"] != "sked-graph-1":
        problems.append("the link was replaced, not what it points to")
    if sorted(os.listdir(folder)) != ["link.json", "s.json"]:
        problems.append(f"left behind: {os.listdir(folder)}")
    mode = stat.S_IMODE(os.stat(file).st_mode)
    if mode & 0o111:
        problems.append(f"mode {mode:o}")
    return problems


@test
def file_size_limit(folder):
    """A disk that takes no more is a failed write, not the end of the process with half a file left behind."""
    file = os.path.join(folder, "g.json")
    done = subprocess.run(["sh", "-c", 'ulimit -f 1; "$@"', "sh", SKED, "generate", "chain", "--nodes", "10000", "-o", file],
                          capture_output=True)
    wrong = [complaint(["generate with ulimit -f 1"], done, {4})] + [f"left behind: {name}" for name in os.listdir(folder)]
    return [w for w in wrong if w]


@test
def odd_file_names(folder):
    """Names of files become names of graphs: whatever is in them, JSON stays JSON."""
    source, problems = open(os.path.join(SOURCE, "tests", "data", "small.stg"), "rb").read(), []
    for name in (b"\xff\x01.stg", b"a\nb.stg", b" .stg", b"%s%n.stg", b"\xed\xa0\x80.stg", b"\"}.stg"):
        path, out = os.path.join(os.fsencode(folder), name), os.path.join(folder, "out.json")
        open(path, "wb").write(source)
        for args in (["info", path, "--json"], ["schedule", path, "--devices", "2", "--time-limit", "0.05", "--json", "-o", out]):
            done = subprocess.run([SKED, *args], capture_output=True)
            problems.append(complaint(args, done, {0}))
        json.load(open(out, encoding="utf-8"))
    return [p for p in problems if p]


def graph(durations, edges, **more):
    ops = [{"duration": d, **more.get("op", {})} for d in durations]
    return {"format": "sked-graph-1", "ops": ops, "edges": edges, **{k: v for k, v in more.items() if k != "op"}}


def awkward_graphs():
    """Small problems at the edges of the model."""
    edge = lambda i, k, **more: {"from": i, "to": k, **more}
    pool = {"resources": [{"name": "r", "capacity": 2}], "op": {"demand": {"r": 1}}}
    return {
        "none": graph([], []), "one": graph([3], []), "one-zero": graph([0], []),
        "all-zero": graph([0] * 5, [[0, 1], [1, 2], [0, 3]]), "some-zero": graph([0, 2, 0, 3, 0], [[0, 1], [1, 2], [2, 3], [3, 4]]),
        "disconnected": graph([1, 2, 3, 4, 5, 6], []), "huge": graph([1e15, 3, 1e15, 7], [[0, 1], [1, 2]]),
        "tiny": graph([1e-15, 1e-15, 2e-15, 1], [[0, 1], [0, 2]]), "largest": graph([1e308, 1e308, 1e308], [[0, 1], [1, 2]]),
        "beyond-integers": graph([9e15, 9007199254740991, 3, 5], [[0, 1], [1, 2]]),
        "area": graph([1e200, 1e200], [], resources=[{"name": "r", "capacity": 1e200}], op={"demand": {"r": 1e200}}),
        "memory-largest": graph([1, 1, 1], [[0, 1]], op={"memory": 1e308, "weight": 1e308}),
        "mixed": graph([1e15, 1e-15, 1e15, 1e-15], [[0, 1], [1, 2], [2, 3]]),
        "lag-zero": graph([2, 3, 4], [edge(0, 1, lag=0), edge(1, 2, lag=0)]),
        "lag-negative": graph([2, 3, 4, 5], [edge(0, 1, lag=-5), edge(1, 2, lag=-1), edge(0, 3, lag=-100)]),
        "lag-long": graph([1, 1, 1], [edge(0, 1, lag=1000), edge(1, 2, lag=1e12)]),
        "twice": graph([1, 2], [[0, 1], [0, 1], edge(0, 1, lag=9)]),
        "bytes": graph([1, 2, 3], [edge(0, 1, bytes=1e18), edge(0, 2, bytes=1e-18)], op={"memory": 1e18, "weight": 0}),
        "loop": graph([1, 2, 1], [[0, 1], [1, 2], edge(2, 0, distance=1)]),
        "loop-self": graph([3], [edge(0, 0, distance=1)]), "loop-zero": graph([0, 0], [[0, 1], edge(1, 0, distance=1)]),
        "loop-far": graph([1, 1], [[0, 1], edge(1, 0, lag=5, distance=1000000)]),
        "loop-real": graph([0.3, 0.7], [[0, 1], edge(1, 0, distance=3)], **pool),
        "pool": graph([1, 2, 3, 4], [[0, 1]], **pool), "pool-zero-time": graph([0, 0, 5], [[0, 1]], **pool),
        "pool-none": graph([1, 2], [], resources=[{"name": "r", "capacity": 0}]),
        "pool-short": graph([1, 2], [], resources=[{"name": "r", "capacity": 0.5}], op={"demand": {"r": 1}}),
        "pool-open": graph([1, 2], [], resources=[{"name": "r", "capacity": None}], op={"demand": {"r": 1e300}}),
        "pool-tenths": graph([0.1] * 6, [], resources=[{"name": "r", "capacity": 0.3}], op={"demand": {"r": 0.1}}),
        "memory": graph([1, 1, 1, 1], [[0, 1], [0, 2], [1, 3], [2, 3]], op={"memory": 5}),
        "same": graph([1] * 12, [[i, j] for i in range(4) for j in range(4, 8)]),
    }


def machines():
    every = [[], ["--devices", 1], ["--devices", 3], ["--devices", 1000], ["--devices", 2, "--latency", 1e300],
             ["--devices", 2, "--latency", 0.5, "--bandwidth", 1e-300]]
    return every if DEEP else [[], ["--devices", 1], ["--devices", 40, "--latency", 1, "--bandwidth", 0.5]]


def objectives():
    every = [["--objective", name] for name in ("makespan", "resource", "memory", "cost", "ii", "arena")]
    with_limits = [[*o, *limit] for o in every for limit in ([], ["--horizon", 20], ["--ii", 2], ["--horizon", 0], ["--ii", 1e300])]
    return with_limits if DEEP else [*every[:1], ["--objective", "resource", "--horizon", 20], ["--objective", "memory"], ["--objective", "arena"],
                                     ["--objective", "cost", "--horizon", 1e300], ["--objective", "ii"], ["--ii", 2]]


@test
def methods_on_awkward_problems(folder):
    methods = [m["name"] for m in json.loads(subprocess.run([SKED, "methods", "--json"], capture_output=True).stdout)]
    lists = [list(awkward_graphs().items()), methods, machines(), objectives()]
    list_of_cases = []
    for k, places in enumerate(itertools.product(*(range(len(x)) for x in lists))):
        if sum(place * weight for place, weight in zip(places, (1, 2, 3, 1))) % (3 if DEEP else 11) != 0:
            continue  # a share of them, spread evenly
        (name, problem), method, machine, objective = (x[place] for x, place in zip(lists, places))
        file = os.path.join(folder, name + ".json")
        if not os.path.exists(file):
            json.dump(problem, open(file, "w"))
        out = os.path.join(folder, f"{k}.json")
        limit = [["--time-limit", 0], ["--time-limit", 0.02], ["--time-limit", 0.2, "--iterations", 3]][k % 3]
        list_of_cases.append((["schedule", file, "--method", method, *machine, *objective, *limit, "--json", "--quiet", "-o", out],
                              {"codes": {0, 6, 7, 10}, "files": out}))
    problems = run_all(list_of_cases)
    checks = [(["check", args[1], args[-1], *(w for i, w in enumerate(args) if w in ("--latency", "--bandwidth", "--horizon")
                                              or args[i - 1] in ("--latency", "--bandwidth", "--horizon"))], {"codes": {0}})
              for args, _ in list_of_cases if os.path.exists(args[-1])]
    return problems + run_all(checks if DEEP else checks[::7])


@test
def other_commands_on_awkward_problems(folder):
    list_of_cases = []
    for name, problem in awkward_graphs().items():
        file = os.path.join(folder, name + ".json")
        json.dump(problem, open(file, "w"))
        list_of_cases += [(["info", file, "--json"], {"codes": {0, 6, 7}}), (["info", file, "--devices", 3, "--ii", "auto"],)]
        list_of_cases += [(["convert", file, os.path.join(folder, f"{name}-{k}"), "--to", kind],)
                          for k, kind in enumerate(("native", "stg", "rcp", "dot", "graphml", "gml"))]
        list_of_cases += [(["schedule", file, "--devices", 2, "--method", "list", "--quiet", "-o", os.path.join(folder, name + end)],
                           {"codes": {0, 6, 7}}) for end in (".svg", ".html", ".dot", ".trace.json", ".jsonl")]
        list_of_cases += [(["schedule", file, "--devices", 2, "--candidates", 5, "--top", 2, "--time-limit", 0.02, "--json", "--quiet"],),
                          (["robust", file, "--devices", 2, "--one-shot", "--method", "list", "--candidates", 5, "--target", "noisy", "--json"],)]
    return run_all(list_of_cases)


NASTY = ("\x1b]0;title\x07", "\x1b[31mred", "\x7f\x80\x9b31m\x9f", "\u202eevil\u202c", "\u2066x\u2069\u200f", "a\u2028b\u2029c",
         "\ufffe\uffff\U0001fffe", "\r\nsked: ok", "gr\u00fc\u00df \U0001f600")


@test
def nothing_from_outside_commands_the_terminal(folder):
    """Names in files, file names, and words of the command line, in every place that is printed."""
    list_of_cases, pictures = [], []
    for k, name in enumerate(NASTY):
        file, picture = os.path.join(folder, f"{k}.json"), os.path.join(folder, f"{k}.svg")
        ops = [{"name": name, "type": name, "duration": 2, "demand": {name: 1}}, {"name": name + "2", "type": name, "duration": 1}]
        text = {"format": "sked-graph-1", "name": name, "resources": [{"name": name, "capacity": 1}], "ops": ops, "edges": [[name, name + "2"]]}
        json.dump(text, open(file, "w"))
        odd = os.path.join(folder, f"odd{name}.json")
        json.dump(text, open(odd, "w"))
        bad, profile = os.path.join(folder, f"bad{k}.json"), os.path.join(folder, f"profile{k}.json")
        json.dump({"format": "sked-machine-1", "name": name, "devices": [{"name": name, "type": name + "t"}],
                   "durations": {name: {name: 3}, name + "4": 1}}, open(profile, "w"))
        json.dump({**text, "edges": [[name, name + "3"]]}, open(bad, "w"))
        run = ["--method", "list", "--devices", 2]
        list_of_cases += [(["info", file], {"codes": {0}}), (["info", file, "--json"], {"codes": {0}}), (["info", odd], {"codes": {0}}),
                          (["info", bad], {"codes": {5}}), (["info", file + name], {"codes": {4}}),
                          (["schedule", file, *run], {"codes": {0}}), (["schedule", file, *run, "--json"], {"codes": {0}}),
                          (["schedule", file, *run, "--capacity", f"{name}=0"], {"codes": {7}}),
                          (["schedule", file, *run, "--capacity", f"{name}3=0"], {"codes": {2}}),
                          (["schedule", file, "--method", "list", "--sweep", "horizon=1:4:1"], {"codes": {0}}),
                          (["schedule", file, "--method", "list", "--sweep", "horizon=1:4:1", "--json"], {"codes": {0}}),
                          (["schedule", file, *run, "-o", os.path.join(folder, name, "x.json")], {"codes": {4}}),
                          (["robust", odd, "--devices", 2, "--measurements", 1, "--iterations", 1, "--target", "linear", "--json"], {"codes": {0}}),
                          (["robust", odd, "--devices", 2, "--measurements", 1, "--iterations", 1, "--target", "linear"], {"codes": {0}}),
                          (["info", file, "--machine", profile], {"codes": {0}}), (["info", file, "--machine", profile, "--json"], {"codes": {0}}),
                          (["robust", file, *run, "--one-shot", "--candidates", 3, "--target", f"command:echo '{name}' >/dev/null; echo 1 #", "--json"], {"codes": {0}}),
                          (["robust", file, *run, "--one-shot", "--candidates", 3, "--target", f"command:echo '{name}' >/dev/null; echo 1 #"], {"codes": {0}}),
                          (["robust", file, *run, "--one-shot", "--candidates", 3, "--quiet", "--target", f"command:false '{name}'"], {"codes": {9}}),
                          (["train", "--graphs", odd + name, "--devices", 2, "--steps", 1, "--quiet", "-o", f"{folder}/{name}.safetensors"], {"codes": {2, 4}}),
                          (["sample", file, "--devices", 2, "--model", odd], {"codes": {5}}),
                          (["check", file, file], {"codes": {5}})]
        pictures += [(["schedule", file, *run, "-o", picture], {"codes": {0}}), (["schedule", file, *run, "-o", picture + ".html"], {"codes": {0}})]
    for k, raw in enumerate((b"\xff\xfe", b"\xc2", b"\xed\xa0\x80", b"\xc0\xaf", b"\x9b31m")):  # no UTF-8
        list_of_cases += [(["robust", EXAMPLE, "--devices", 2, "--one-shot", "--method", "list", "--candidates", 2, "--target", b"command:echo 1 #" + raw, "--json"],
                           {"codes": {0}}), (["schedule", EXAMPLE, "--method", raw], {"codes": {2}}), ([raw], {"codes": {2}}),
                          (["info", os.path.join(os.fsencode(folder), raw)], {"codes": {4}})]
    problems = run_all(list_of_cases) + run_all(pictures)
    for args, _ in pictures:
        if args[-1].endswith(".svg"):
            xml.dom.minidom.parse(args[-1])
    return problems


@test
def hostile_names(folder):
    long, odd = "n" * 100000, "a\n\x1b[31m\"<&\\'\u202e%s%n"
    list_of_cases = []
    for k, name in enumerate((long, odd, "", "\ud7ff", "-o", "--json", "/", "x" * 255)):
        file = os.path.join(folder, f"{k}.json")
        ops = [{"name": name, "type": name, "duration": 1, "demand": {name: 1}}, {"name": name + "2", "duration": 1}]
        text = {"format": "sked-graph-1", "name": name, "resources": [{"name": name, "capacity": 1}], "ops": ops}
        ends = [[name, name + "2"]]
        for edges, codes in ((ends, {0, 5}), (ends + [[name + "2", name]], {5}), ([[name, "nobody" + name]], {5})):
            file = os.path.join(folder, f"{k}-{len(list_of_cases)}.json")
            json.dump({**text, "edges": edges}, open(file, "w"))
            list_of_cases += [(["info", file, "--json"], {"codes": codes}),
                              (["schedule", file, "--devices", 2, "--time-limit", 0, "--json", "--quiet"], {"codes": {*codes, 10}}),
                              (["schedule", file, "--horizon", 0.5, "--capacity", name + "=0"], {"codes": {2, 5, 7}})]
            if k in (0, 1) and edges is ends:  # whole, whatever its length
                list_of_cases += [(["schedule", file, "--method", "list", "--capacity", name + "=2"], {"codes": {0}}),
                                  (["schedule", file, "--method", "list", "--capacity", name + "2=2"], {"codes": {2}})]
            list_of_cases += [(["convert", file, "-", "--to", kind], {"codes": {*codes, 6}})
                              for kind in ("native", "dot", "graphml", "gml", "stg", "rcp")]
            list_of_cases += [(["schedule", file, "--method", "list", "--quiet", "-o", os.path.join(folder, f"{k}{end}")],
                               {"codes": codes}) for end in (".svg", ".html", ".dot", ".trace.json", ".jsonl")]
        for args in (["schedule", EXAMPLE, "--method", name], ["schedule", EXAMPLE, "--objective", name], ["info", EXAMPLE, "--from", name],
                     ["schedule", EXAMPLE, "--set", name], ["schedule", EXAMPLE, "--capacity", name], [name],
                     ["schedule", EXAMPLE, "--" + name], ["methods", name], ["help", name],
                     ["generate", name, "--nodes", 3], ["schedule", EXAMPLE, "--devices", name], ["convert", EXAMPLE, "-", "--to", name],
                     ["robust", EXAMPLE, "--target", name], ["schedule", EXAMPLE, "--set", "priority=" + name, "--method", "list"]):
            if "\0" not in name and args not in (["--json"], ["-o"]):
                list_of_cases.append((args, {"codes": {0, 2, 4, 5, 6}, "stdin": subprocess.DEVNULL}))
    return run_all(list_of_cases)


def hostile_answers(ops):
    """What targets may print for a graph of ops with these names: (name, text)."""
    def answer(time, moment):
        trace = [dict(zip(("name", "start", "finish"), (op, *moment(k)))) for k, op in enumerate(ops)]
        return json.dumps({"time": time, "ops": trace})
    for time in ("9e99", "1e-100", "2e-100", "1e-320", "0", "-0.0", "1e100", "1e308", "1e999", "nan", "inf", "-inf", "9007199254740993"):
        yield time, time
        yield "{" + time, f'{{"time": {time}}}'
    traces = {"late": lambda k: (0, 9e99), "one late": lambda k: (0, 9e99 if k == 1 else 1), "never": lambda k: (0, 0), "early": lambda k: (0, 5e-324),
              "mixed": lambda k: (1e-320 * k, 9e99 if k % 2 else 1e-300), "instant": lambda k: (9e99, 9e99), "last": lambda k: (0, 1e100),
              "negative": lambda k: (-1, 1), "backwards": lambda k: (2, 1), "order": lambda k: (10 - k, 11 - k), "negative 0": lambda k: (-0.0, -0.0)}
    for name, moment in traces.items():
        for time in (1, 9e99, 1e-100):
            yield f"{name} {time}", answer(time, moment)
    yield "log", '{"step": 1}\n{"time": 5}'
    yield "half", '{"time": 5, "ops": ['
    yield "nothing", ""


@test
def files_of_hostile_targets_can_be_read(folder):
    """Whatever a target answers: what `sked robust` writes is read by the command that takes it, and no number in it is inf or nan."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
    machine = {"format": "sked-machine-1", "latency": 1, "bandwidth": 3, "devices": [{"name": "A", "type": "x"}, {"name": "B", "type": "x"}, {"name": "C", "speed": 2}]}
    long = "n" * 5000
    plain = {"format": "sked-graph-1", "ops": [{"name": f"{long}{k}", "type": long + "ab"[k % 2], "duration": 1 + k, "memory": 1} for k in range(5)],
             "edges": [{"from": f"{long}{a}", "to": f"{long}{b}", "bytes": a} for a, b in ((0, 1), (0, 2), (1, 3), (2, 4))]}
    shapes = {"plain": plain, "bare": {**plain, "edges": [{**e, "bytes": 0} for e in plain["edges"]]}}
    for name, factor in (("large", 1e95), ("tiny", 1e-90)):
        shapes[name] = {**plain, "ops": [{**op, "duration": op["duration"] * factor} for op in plain["ops"]]}
    json.dump(machine, open(os.path.join(folder, "m.json"), "w"))
    for name, shape in shapes.items():
        json.dump(shape, open(os.path.join(folder, name + ".json"), "w"))
    answers = list(hostile_answers([op["name"] for op in plain["ops"]]))

    def attack(number):
        (name, text), shape = answers[number], list(shapes)[number % 4]
        file, base = os.path.join(folder, shape + ".json"), os.path.join(folder, str(number))
        open(base + ".txt", "w").write(text)
        on = ["--machine", os.path.join(folder, "m.json")] if number % 3 else ["--devices", "2"]
        outputs = [base + end for end in (".machine.json", ".plan.json", ".html", ".curve.svg", ".scatter.svg", ".svg")]
        # Every other run has another number in place of a plain one: a noisy target.
        script = f"cat {base}.txt" if "{" in text or number % 2 else f"[ -e {base}.flag ] && rm {base}.flag && echo 7 || {{ touch {base}.flag; cat {base}.txt; }}"
        args = ["robust", file, *on, "--measurements", "4", "--iterations", "2", "--time-limit", "600", "--quiet", "--target", f"command,retries=0:{script} #", "--json"]
        wanted = [word for path in outputs for word in ("-o", path)]
        done = subprocess.run([SKED, *args, *wanted, "--log", base + ".jsonl"], capture_output=True, timeout=120, preexec_fn=limit)
        wrong = [complaint(args[:2] + [name], done, {0, 9})]
        if done.returncode == 0:
            takers = [["schedule", file, "--machine", outputs[0], "--method", "list"], ["check", file, outputs[1], *(on if number % 3 else [])],
                      [*args[:-1], "--resume", base + ".jsonl"]]
            for taker in takers:
                again = subprocess.run([SKED, *taker], capture_output=True, timeout=120, preexec_fn=limit)
                wrong.append(complaint([name, *taker], again, {0}))
                done.stdout += again.stdout
            for path in [*outputs, base + ".jsonl"]:
                said = open(path, encoding="utf-8").read()
                if path.endswith(".html"):  # a page has scripts, its data are JSON
                    said = "".join(re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', said, flags=re.S))
                if re.search(r"(?<![\w\"])-?(inf|nan|infinity)(?![\w\"])", said, flags=re.I):
                    wrong.append(f"{name}: {path} has a number that is none")
            if re.search(rb"[\s:\[]-?(inf|nan|infinity)\b", done.stdout, flags=re.I):
                wrong.append(f"{name}: {done.stdout!r}")
        elif text in ("9e99", "1e-100", "2e-100") or name == "log":
            wrong.append(f"{name} is a time, but: {done.stderr[:300]!r}")
        return [w for w in wrong if w]
    huge = os.path.join(folder, "huge.json")
    json.dump(graph([1.7e308, 1.7e308], []), open(huge, "w"))
    refused = [["robust", huge, "--devices", "2", "--target", target, *way] for target in ("proxy", "command:echo 1 #") for way in ([], ["--one-shot"])]
    problems = run_all([(args, {"codes": {6}, "preexec_fn": limit}) for args in refused])
    global cases
    chosen = range(0, len(answers), 8 if SANITIZED and not DEEP else 1)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(attack, chosen))
    cases += len(chosen)
    return problems + [w for wrong in results for w in wrong]


EXTREMES = ["-1", "0", "-0", "-0.0", "5e-324", "-5e-324", "2.3e-308", "0.1", "1.5", "1e100", "-1e100", "1e300", "1.7e308", "-1.7e308", "1e999", "nan",
            "inf", "-inf", "0x10", " 1", "1 ", "", "1,5", "+1", "9007199254740991", "9007199254740992", "9007199254740993", "2147483647", "2147483648",
            "-2147483649", "9223372036854775807", "99999999999999999999"]
# Texts that hold numbers.
NUMBERS_IN = {"ii": ["{}"], "sweep": ["horizon={}:{}:1", "horizon=1:{}:1e300", "alpha=1:2:{}", "memory-limit=0:{}:{}"], "capacity": ["r={}"],
              "duration": ["uniform:{},{}", "int:1,{}"], "bytes": ["uniform:{},{}"], "memory": ["uniform:0,{}"], "weight": ["int:{},{}"],
              "demand": ["r:{}:int:1,2", "r:4:uniform:1,{}"], "graphs": ["layered:{}", "layered:6-{}"], "clock": ["{}"], "align": ["{}"]}


def command_for(command, folder, tiny):
    """A short run of the command as a list of (option, value), and its operands; None: it takes no numbers."""
    place = lambda name: os.path.join(folder, name)
    small = [("set", f"{key}={value}") for key, value in {"dim": 8, "layers": 1, "head": 8, "mlp": 8, "width": 8, "context": 8, "temperature": 8,
                                                         "batch": 2, "held-out": 1, "validate": 1}.items()]
    on = [("devices", 2)]
    return {
        "schedule": ([tiny], on + [("method", "list"), ("time-limit", 1), ("quiet", None), ("json", None), ("output", "-.json"), ("output", "-.svg")]),
        "info": ([tiny], [("json", None)]), "check": ([tiny, place("plan.json")], [("json", None)]),
        "compare": ([tiny, place("plan.json"), place("plan.json")], [("json", None)]),
        "pack": ([os.path.join(SOURCE, "examples", "buffers.csv")], [("time-limit", 1), ("json", None)]),
        "convert": ([tiny, place("out.dot")], []), "generate": (["layered"], [("nodes", 6), ("output", "-.json")]),
        "sample": ([tiny], on + [("candidates", 3), ("quiet", None), ("output", "-.jsonl")]),
        "robust": ([tiny], on + [("target", "linear"), ("measurements", 2), ("iterations", 1), ("time-limit", 1), ("quiet", None), ("json", None), ("output", "-.curve.svg")]),
        "train": ([], on + [("graphs", "layered:6"), ("steps", 1), ("minutes", 0.01), ("quiet", None), ("output", "-.safetensors"), *small]),
    }.get(command)


@test
def extreme_numbers_in_every_option(folder):
    """Every option of the table that takes a number, of every command: an answer or one sentence, in 10 s of processor time, without nan and inf."""
    tiny, commands_and_options = os.path.join(folder, "tiny.json"), tables(SOURCE)
    json.dump(graph([1, 2, 3], [[0, 1], {"from": 1, "to": 2, "bytes": 3}], resources=[{"name": "r", "capacity": 2}], op={"demand": {"r": 1}, "memory": 2}),
              open(tiny, "w"))
    subprocess.run([SKED, "schedule", tiny, "--devices", "2", "--method", "list", "-o", os.path.join(folder, "plan.json")], capture_output=True, check=True)

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (100 if SANITIZED else 10,) * 2)

    def attack(number):
        command, option, value = chosen[number]
        operands, given = command_for(command, folder, tiny)
        # What is asked for replaces what the short run says; --one-shot has a meaning of its own for some.
        words = [f"--{name}" if text is None else f"--{name}={text}" for name, text in given if name not in (option, "output")]
        files = [os.path.join(folder, f"{number}{text[1:]}") for name, text in given if name == "output" and option != "sweep"]
        args = [command, *operands, *words, *(f"--output={path}" for path in files), f"--{option}={value}"]
        done = subprocess.run([SKED, *map(str, args)], capture_output=True, timeout=600, preexec_fn=limit)
        wrong = [complaint(args, done, CODES | ({9} if command == "robust" else set()))]
        said = [done.stdout] + [open(path, "rb").read() for path in files if os.path.isfile(path) and not path.endswith(".safetensors")]
        for text in said:
            found = re.search(rb"[\s:\[\",=]-?(inf|nan|infinity)(?![\w-])", re.sub(rb"resources=\S*", b"", text), flags=re.I)
            if found:
                wrong.append(f"{' '.join(map(str, args))} says {text[max(0, found.start() - 60):found.end() + 20]!r}")
        for path in files:
            if os.path.isdir(path):
                shutil.rmtree(path)  # --count
            elif os.path.exists(path):
                os.unlink(path)
        return [w for w in wrong if w]
    chosen = []
    for option in commands_and_options[1]:
        forms = ["{}"] if option.kind in ("INT", "REAL") else NUMBERS_IN.get(option.name, [])
        for command in sorted(option.commands):
            if forms and option.name != "log" and option.kind not in WRITTEN and command not in ("help", "methods", "formats", "targets"):
                if command_for(command, folder, tiny) is None:
                    return [f"`sked {command}` takes numbers, but has no short run in command_for"]
                chosen += [(command, option.name, form.format(*[number] * form.count("{}"))) for form in forms for number in EXTREMES]
    if len(chosen) < 1000:
        return [f"{len(chosen)} cases are too few"]
    global cases
    order = range(0, len(chosen), 1 if DEEP else 35 if SANITIZED else 5)  # numbers in turn; in the deep run every one with every option
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(attack, order))
    cases += len(order)
    return [w for wrong in results for w in wrong]


@test
def numbers_out_of_range(folder):
    """Options of methods, and sizes of families."""
    numbers = [n for n in EXTREMES if n not in ("0.1", "1.5")]
    tiny = os.path.join(folder, "tiny.json")
    json.dump(graph([1, 2, 3], [[0, 1]]), open(tiny, "w"))
    list_of_cases = []
    for method in json.loads(subprocess.run([SKED, "methods", "--json"], capture_output=True).stdout):
        for setting in method["options"]:
            list_of_cases += [(["schedule", tiny, "--method", method["name"], "--quiet", "--time-limit", 0.02, "--devices", 2, "--set",
                                f"{setting['name']}={number}"], {"codes": {0, 2, 6, 7, 10} | ({4} if setting["name"] == "model" else set())})
                              for number in numbers[:: 1 if DEEP else 6]]
    families = re.findall(r"^  ([a-z-]+) +\S", subprocess.run([SKED, "help", "generate"], capture_output=True, text=True).stdout
                          .split("families\n")[1].split("\ndist")[0], flags=re.M)
    for family in families:
        list_of_cases += [(["generate", family, "--nodes", nodes, "-o", "-"], {"codes": {0, 2}}) for nodes in (0, 1, 2, 3, -1, "1e99")]
    return run_all(list_of_cases)


@test
def large_and_plain_graphs(folder):
    """Depth without recursion: a chain; width: no edges at all; both at once; many edges on few ops."""
    n = 100000
    shapes = {"chain": graph([1] * n, [[i, i + 1] for i in range(n - 1)]), "wide": graph([1] * n, []),
              "fan": graph([1] * n, [[0, i] for i in range(1, n)]),
              "dense": graph([1] * 400, [[i, j] for i in range(400) for j in range(i + 1, 400)])}
    methods = [m["name"] for m in json.loads(subprocess.run([SKED, "methods", "--json"], capture_output=True).stdout)]
    list_of_cases = []
    for name, shape in shapes.items():
        file = os.path.join(folder, name + ".json")
        json.dump(shape, open(file, "w"))
        list_of_cases += [(["info", file], {"codes": {0}}), (["convert", file, os.path.join(folder, name + ".graphml")], {"codes": {0}}),
                          (["convert", file, os.path.join(folder, name + ".dot")], {"codes": {0}})]
        for method in methods if DEEP else ["list", "heft", "auto"]:
            list_of_cases.append((["schedule", file, "--devices", 3, "--method", method, "--time-limit", 0.2, "--quiet"],
                                  {"codes": {0, 6, 10}}))
    return run_all(list_of_cases)


print(f"{cases} cases")
frame.end()
