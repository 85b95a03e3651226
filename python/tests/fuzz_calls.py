"""Calls of everything public with arguments of all kinds: none may crash the interpreter, none may end in
another exception than those that docs/python.md names.

    python fuzz_calls.py SECONDS [SEED]   # in processes of their own; says how many calls it made

What is public is found by introspection. A parameter is drawn by its name from PLAUSIBLE, or is JUNK.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import hypothesis
import numpy as np
import sked
from hypothesis import strategies as st

try:  # what they stand on is optional, and its C++ does not load under a sanitizer
    if "san.so" in os.environ.get("LD_PRELOAD", ""):
        raise ImportError
    import onnx_models
    import sked.onnxruntime
    import sked.profile

    MODEL = onnx_models.branches(2)
    RUNTIMES = [sked.onnxruntime, sked.profile]
except ImportError:
    MODEL, RUNTIMES = None, []

# What a call may raise: the package's classes (but for bugs), wrong types, wrong values; and what has
# nothing to do with sked: an index of a sequence, a package that is not installed.
ALLOWED = (sked.Error, TypeError, ValueError, IndexError, ImportError)
if RUNTIMES:
    from onnxruntime.capi import onnxruntime_pybind11_state as raised

    # A model may refuse what it is given, or its results differ; the runtime has its own words for the former.
    ALLOWED += (
        sked.onnxruntime.Mismatch,
        raised.InvalidArgument,
        raised.Fail,
        FileNotFoundError,
        IsADirectoryError,
    )


# ---------------------------------------------------------------------- what is public


class Call(NamedTuple):
    """A public callable.

    Attributes:
        name: "Schedule.ops_of".
        owner: class of the object that it is called on; None: none is needed.
        make: what to call; with an owner, on an object of it.
        parameters: by name.
    """

    name: str
    owner: Any
    make: Callable[..., Any]
    parameters: Dict[str, inspect.Parameter]


_SPECIAL = (
    "__call__",
    "__eq__",
    "__getitem__",
    "__iter__",
    "__len__",
    "__reduce__",
    "__repr__",
    "_repr_html_",
)


def _parameters(function: Any, skip: int) -> Dict[str, inspect.Parameter]:
    try:
        listed = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        return {}
    found = {p.name: p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    for p in listed:
        if p.kind == p.VAR_KEYWORD:
            found.update(_keywords(p))
    return found


def _keywords(p: inspect.Parameter) -> Dict[str, inspect.Parameter]:
    names = {
        "problem": sked._problem.ProblemOptions.__annotations__,
        "attributes": sked.attributes(of_edges=False) + sked.attributes(of_edges=True),
        "options": ["format", "library", "resources", "profile", "instance"],
    }[p.name]
    return {name: p.replace(name=name, kind=p.KEYWORD_ONLY, default=None) for name in names}


def _members(name: str, kind: Any) -> Iterator[Call]:
    for part in dir(kind):
        member = inspect.getattr_static(kind, part)
        if part.startswith("_") and (part not in _SPECIAL or part not in vars(kind)):
            continue
        if isinstance(member, classmethod):
            bound = getattr(kind, part)
            yield Call(f"{name}.{part}", None, bound, _parameters(bound, 0))
        elif isinstance(member, property):
            yield Call(f"{name}.{part}", kind, member.fget, {})
        elif inspect.isfunction(member):
            yield Call(f"{name}.{part}", kind, member, _parameters(member, 1))


def public_calls() -> List[Call]:
    """Functions, constructors, methods and properties of all that sked names as public."""
    found: List[Call] = []
    for name in sked.__all__:
        thing = getattr(sked, name)
        if not inspect.isclass(thing):
            found.append(Call(name, None, thing, _parameters(thing, 0)))
        elif not issubclass(thing, (tuple, BaseException)):
            skip = 1 if thing.__init__ is not object.__init__ else 0
            function = thing.__init__ if skip else thing.__new__
            found.append(Call(name, None, thing, _parameters(function, 1)))
            found.extend(_members(name, thing))
    for module in RUNTIMES:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing):
                found.append(Call(f"{module.__name__}.{name}", None, thing, _parameters(thing, 0)))
            elif (
                not issubclass(thing, BaseException) and name != "Loaded"
            ):  # what Target.load makes
                found.append(
                    Call(f"{module.__name__}.{name}", None, thing, _parameters(thing.__init__, 1))
                )
            if inspect.isclass(thing) and not issubclass(thing, BaseException):
                found.extend(_members(f"{module.__name__}.{name}", thing))
    return found


# ---------------------------------------------------------------------- values


class Liar(list):
    """A list that says it is long."""

    def __len__(self) -> int:
        return 1_000_000


def _raises(*_: Any) -> Any:
    raise sked.DeviceError("bad \udc80 \0 \x1b")


INTEGERS = [-1, 0, 1, 2, 3, -(2**31), -(2**31) - 1, 2**31, 2**32, 2**63, 2**64, 10**400, -(10**400)]
NUMBERS = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    7.25,
    float("nan"),
    float("inf"),
    -float("inf"),
    5e-324,
    1.7e308,
]
TEXTS = [
    "",
    "a",
    "b",
    "alu",
    "gpu",
    "zz",
    "\0",
    "\udc80",
    "\ud800",
    "x" * 5000,
    "\x1b[31m",
    "日本",
    "%s%n",
]
ARRAYS = [
    np.zeros(0),
    np.arange(4),
    np.arange(4.0)[::-1],
    np.full(4, np.nan),
    np.full(4, 10**6),
    np.array([2**32, -1, 0, 1]),
    np.array([1, 2**63], dtype="u8"),
    np.arange(4, dtype=">i4"),
    np.zeros((2, 4), dtype="i4"),
    np.zeros((1, 2, 2)),
    np.array(["a", None], dtype=object),
    np.array([1j, 2]),
    np.array("2020-01-01", dtype="M8[D]"),
    np.array(True),
    np.float32(1.5),
    np.int64(2),
    np.bool_(True),
]
ODD = [
    None, True, False, b"raw", b"\xff\0", bytearray(b"ab"), (), [], {}, set(), [1, 2], ["a", 5], [[0], [1, 2]],
    {"a": 1}, {"gpu": None}, {5: "x"}, {"a": "\0"}, {"alu": float("nan")}, object(), object, len, _raises,
    lambda *_: False, iter([1]), Liar([0, 1]), range(4), 1 + 2j, slice(0, 1), Ellipsis, NotImplemented,
]  # fmt: skip
JUNK = st.one_of(*(st.sampled_from(values) for values in (INTEGERS, NUMBERS, TEXTS, ARRAYS, ODD)))


def _graph(kind: str) -> sked.Graph:
    g = sked.Graph(kind)
    if kind == "empty":
        return g
    if kind == "pooled":
        g.add_resource("alu", 2)
    for name, time in zip("abcd", (2, 3, 4, 0)):
        g.add_op(name, time, type="Mul", memory=8, demand={"alu": 1} if kind == "pooled" else None)
    for first, second in ("ab", "ac", "bd", "cd"):
        g.add_edge(first, second, bytes=10)
    if kind == "loop":
        g.add_edge("d", "a", distance=1)
    if kind == "cyclic":
        g.add_edge("d", "a")
    if kind == "used":
        g.edges
    return g


def _machine(kind: str) -> sked.Machine:
    if kind == "identical":
        return sked.Machine.identical(3, latency=1, bandwidth=10)
    m = sked.Machine("node", latency=1, bandwidth=10)
    m.add_device("zz", type="cpu")
    if kind == "two":
        m.add_device("g", type="gpu", speed=4, memory=1e3)
        m.add_duration("a", 2.5)
    return m


def _problem(kind: Tuple[str, Any]) -> sked.Problem:
    graph, machine = kind
    return sked.Problem(_graph(graph), _machine(machine) if isinstance(machine, str) else machine)


GRAPHS = st.sampled_from(["open", "used", "pooled", "loop", "cyclic", "empty"]).map(_graph)
MACHINES = st.sampled_from(["identical", "one", "two"]).map(_machine)
PROBLEMS = st.sampled_from(
    [("used", "identical"), ("used", "two"), ("pooled", None), ("loop", 2), ("empty", 1)]
).map(_problem)


def _schedule(p: sked.Problem) -> sked.Schedule:
    n, devices = len(p.graph), p.device_count
    return sked.Schedule(p, np.arange(n) * 5.0, np.arange(n) % devices if devices else None)


OF: Dict[Any, Any] = {
    sked.Graph: GRAPHS,
    sked.Machine: MACHINES,
    sked.Problem: PROBLEMS,
    sked.Schedule: PROBLEMS.map(_schedule),
    sked.Plan: PROBLEMS.map(lambda p: sked.Plan(p, np.zeros(len(p.graph)), [0] * len(p.graph))),
    sked.Sampler: st.builds(sked.Sampler),
    sked.Packing: st.builds(lambda: sked.pack([0, 1], [2, 3], [4, 5])),
    sked.Samples: st.builds(lambda: sked.sample(_graph("used"), 2, candidates=3)),
    sked.Result: st.builds(lambda: sked.schedule(_graph("used"), 2, time_limit=0.02, iterations=2)),
    sked.RobustResult: st.builds(
        lambda: sked.robust(_graph("used"), 2, target="proxy", measurements=2, iterations=1)
    ),
    sked.Sweep: st.builds(
        lambda: sked.sweep(_graph("used"), 2, parameter="horizon", values=[4, 20], time_limit=0.02)
    ),
    sked.Simulation: st.builds(sked.Simulation, st.just(1.0), st.just(np.zeros(2))),
    sked.Bound: st.builds(sked.Bound, st.just(1.0), st.just("path")),
}


class InOrder:
    """The plan that runs all ops of a model on its first device."""

    def __init__(self, ops: int) -> None:
        self.device = np.zeros(ops, dtype="i4")
        self.order = np.arange(ops, dtype="i4")


def _runtime() -> Any:
    return sked.onnxruntime.Target(MODEL, devices=2, repeats=1)


def _loaded() -> Any:
    target = _runtime()
    return target.load(InOrder(len(target.program.nodes)))


if RUNTIMES:
    OF[sked.onnxruntime.Target] = st.builds(_runtime)
    OF[sked.onnxruntime.Loaded] = st.builds(_loaded)

_RESULTS = st.sampled_from([{}, {"x": np.zeros((1, 8), "f4")}, {"x": [np.zeros(3)]}, {"y": 5}])
_ENDS = [
    "g.json",
    "g.dot",
    "s.svg",
    "s.html",
    "m.json",
    "x.lp",
    "x.mzn",
    "y.jsonl",
    "none/x.json",
    ".",
    "",
]
_PATHS = st.sampled_from(_ENDS)
_OPS = st.sampled_from([0, 1, 3, 4, -1, "a", "d", "nobody"])
_COLUMN = st.one_of(
    st.sampled_from(ARRAYS),
    st.just([0, 1, 0, 1]),
    st.just([3, 2, 1, 0]),
    st.just(0),
    st.none(),
    st.just(10**6),
)
_AMOUNT = st.sampled_from(NUMBERS)
_TEXT = st.sampled_from(TEXTS)
_DICT = st.sampled_from([None, {}, {"alu": 1}, {"gpu": 2.5, "cpu": None}, {"zz": -1}, {"seed": 3}])
_FEW = st.sampled_from([-1, 0, 1, 2, 5, 2**31, 2**64])
_SPEC = [
    "proxy",
    "noisy+linear:repeat=2",
    "command:echo 3",
    "command:exit 1",
    "nonsense",
    "linear+jitter",
    "threads",
]

# A strategy for each parameter by its name. A new parameter needs a line here: test_fuzz.py says so.
PLAUSIBLE: Dict[str, Any] = {
    "align": _FEW,
    "alignment": st.one_of(_FEW, _COLUMN),
    "alpha": _AMOUNT,
    "axes": st.none(),
    "any_machine": st.booleans(),
    "backend": st.sampled_from([None, "cpu", "auto", "nonsense"]),
    "bandwidth": _AMOUNT,
    "bytes": st.one_of(_AMOUNT, _COLUMN, st.sampled_from([None, "const:3"])),
    "candidates": _FEW,
    "capacity": st.one_of(_AMOUNT, _DICT),
    "clock": _AMOUNT,
    "operand": st.sampled_from([None, 0, 1, -1, 2**31, "a"]),
    "output_not": st.booleans(),
    "verilog": st.sampled_from([None, "a + b", "~(a & ...)", "a[3:0]", "", "$display", "a" * 5000]),
    "data": st.sampled_from(
        ["{}", b"", b"\0\xff", "digraph { a -> b }", "[" * 100, memoryview(b"{}")]
    ),
    "delay_in": st.one_of(_AMOUNT, _COLUMN),
    "delay_out": st.one_of(_AMOUNT, _COLUMN),
    "demand": st.one_of(_DICT, st.just("alu:2:const:1")),
    "device": st.one_of(_COLUMN, _OPS),
    "devices": _FEW,
    "distance": st.one_of(_FEW, _COLUMN),
    "duration": st.one_of(_AMOUNT, _COLUMN, st.sampled_from(["uniform:1,3", "duration"])),
    "durations": _DICT,
    "family": st.sampled_from([f.name for f in sked.families()] + ["nonsense"]),
    "fix_device": _COLUMN,
    "fix_start": _COLUMN,
    "format": st.sampled_from([None, "json", "dot", "svg", "nonsense"]),
    "from_": st.one_of(_OPS, _COLUMN),
    "found": _RESULTS,
    "graph": st.one_of(GRAPHS, PROBLEMS),
    "graphs": st.one_of(
        GRAPHS, GRAPHS.map(lambda g: [g]), st.sampled_from(["layered:3-5", "none.json", []])
    ),
    "greedy": st.booleans(),
    "horizon": _AMOUNT,
    "i": _FEW,
    "incumbent": st.sampled_from([None, lambda s: None, lambda s: False, _raises]),
    "inputs": st.one_of(_RESULTS, st.none()),
    "ii": st.one_of(_AMOUNT, st.just("auto")),
    "io": st.sampled_from(["free", "aligned", "nonsense"]),
    "improve": _FEW,
    "index": _FEW,
    "instance": st.sampled_from([None, "1", "nonsense", ""]),
    "iterations": _FEW,
    "inplace": _COLUMN,
    "keep": st.one_of(st.booleans(), _COLUMN),
    "lag": st.one_of(_AMOUNT, _COLUMN),
    "latency": _AMOUNT,
    "library": _PATHS,
    "lifetime": st.sampled_from(["auto", "start", "finish", "result", "nonsense"]),
    "local": st.booleans(),
    "log": _PATHS,
    "lower": st.one_of(_AMOUNT, _COLUMN),
    "machine": st.one_of(MACHINES, st.sampled_from([None, 1, 2, 0, -1])),
    "makespan": _AMOUNT,
    "measurements": _FEW,
    "memory": st.one_of(_AMOUNT, _COLUMN, st.sampled_from(["const:1"])),
    "memory_limit": _AMOUNT,
    "method": st.sampled_from([m.name for m in sked.methods()] + [None, "nonsense"]),
    "min_distance": _AMOUNT,
    "minutes": st.sampled_from([0.0, 1e-4, -1.0, float("nan")]),
    "model": st.one_of(st.just(MODEL), _PATHS, st.builds(sked.Sampler)),
    "name": _TEXT,
    "names": st.sampled_from([None, ["a", "b", "c", "d"], ["a"] * 4, ["\udc80", "b", "c", "d"]]),
    "network": st.just(None),
    "nodes": st.sampled_from([-1, 0, 1, 7, 20, 2**31]),
    "objective": st.sampled_from(
        [None, "makespan", "memory", "resource", "cost", "ii", "nonsense"]
    ),
    "of_edges": st.booleans(),
    "offset": st.one_of(_FEW, _COLUMN),
    "offsets": st.booleans(),
    "on": _TEXT,
    "one_shot": st.booleans(),
    "oneway": st.booleans(),
    "op": st.one_of(_OPS, _TEXT),
    "optimiser": st.booleans(),
    "order": _COLUMN,
    "other": st.one_of(GRAPHS, OF[sked.Schedule]),
    "output": st.one_of(_PATHS, st.booleans()),
    "parameter": st.sampled_from(["horizon", "ii", "alpha", "memory_limit", "clock", "nonsense"]),
    "path": _PATHS,
    "plan": st.one_of(OF[sked.Plan], st.builds(InOrder, st.integers(0, 20)), st.builds(object)),
    "prior": _PATHS,
    "problem": PROBLEMS,
    "profile": _PATHS,
    "program": st.just(None),
    "progress": st.sampled_from([None, lambda p: None, lambda p: False, _raises]),
    "raw": st.booleans(),
    "repeats": st.sampled_from([-1, 0, 1, 2**31]),
    "resources": _PATHS,
    "resume": _PATHS,
    "schedule": OF[sked.Schedule],
    "schedules": st.lists(OF[sked.Schedule], max_size=2),
    "seed": _FEW,
    "settings": st.sampled_from(
        [None, {}, {"hidden": 8, "graphs": 1}, {"tries": 1}, {"a\0b": "\udc80"}]
    ),
    "size": _COLUMN,
    "speed": _AMOUNT,
    "split": st.booleans(),
    "start": st.one_of(_COLUMN, OF[sked.Schedule]),
    "steps": st.sampled_from([-1, 0, 1]),
    "target": st.one_of(
        st.sampled_from(_SPEC),
        st.sampled_from([lambda plan: plan.makespan, lambda plan: plan, _raises]),
    ),
    "temperature": _AMOUNT,
    "threads": st.sampled_from([-1, 0, 1, 2, 1025]),
    "time": _AMOUNT,
    "time_limit": st.sampled_from([0, 0.01, 0.03, -1, float("nan"), "soon"]),
    "to": st.one_of(_OPS, _COLUMN),
    "top": _FEW,
    "transfers": st.booleans(),
    "type": _TEXT,
    "types": st.sampled_from([None, ["a", None, "c", "d"], ["a"]]),
    "upper": st.one_of(_AMOUNT, _COLUMN),
    "value": _AMOUNT,
    "values": st.sampled_from([[5, 12, 30], [0.0], [], [-1]]),
    "wanted": _RESULTS,
    "warm_up": st.sampled_from([-1, 0, 1, 2**31]),
    "weight": st.one_of(_AMOUNT, _COLUMN, st.sampled_from(["const:1"])),
    "why": _TEXT,
}

# Drawn from their own values only, and never left out: other ones take minutes.
COSTLY = (
    "candidates",
    "devices",
    "iterations",
    "measurements",
    "minutes",
    "nodes",
    "repeats",
    "steps",
    "threads",
    "time_limit",
    "warm_up",
)


# ---------------------------------------------------------------------- a call


def _argument(name: str, parameter: inspect.Parameter) -> Any:
    if name in COSTLY:
        return PLAUSIBLE[name]
    likely = PLAUSIBLE[name]
    return st.one_of(likely, likely, likely, JUNK, st.one_of(*OF.values()))


def _arguments(draw: Any, call: Call) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name, parameter in call.parameters.items():
        needed = parameter.default is parameter.empty or (name in COSTLY and name != "devices")
        if needed or draw(st.integers(0, 3)) == 0:
            found[name] = draw(_argument(name, parameter))
    return found


def _invoke(call: Call, owner: Any, arguments: Dict[str, Any]) -> Any:
    plain = [
        n for n, p in call.parameters.items() if p.kind == p.POSITIONAL_ONLY and n in arguments
    ]
    positional = [arguments.pop(name) for name in plain]
    return call.make(*(() if call.owner is None else (owner,)), *positional, **arguments)


def _look(thing: Any) -> None:
    """Uses an object as its owner might: what is wrong inside shows."""
    if type(thing).__module__.split(".")[0] != "sked" or isinstance(thing, tuple):
        return
    for part in (
        "ii",
        "makespan",
        "start",
        "finish",
        "device",
        "devices",
        "metrics",
        "device_memory",
        "registers",
        "order",
    ):
        with contextlib.suppress(*ALLOWED):
            member = getattr(thing, part, None)
            if callable(member):
                member()
    with contextlib.suppress(*ALLOWED):
        repr(thing)


def examine(draw: Any, calls: List[Call], note: Callable[[str], None]) -> bool:
    """One call, and a look at what it gives and what it was made on. Says whether it was answered."""
    call = draw(st.sampled_from(calls))
    owner = None if call.owner is None else draw(OF[call.owner])
    arguments = _arguments(draw, call)
    note(
        f"{call.name} on {type(owner).__name__}: {sorted(arguments)} {list(arguments.values())!a}"[
            :2000
        ]
    )
    try:
        result = _invoke(call, owner, arguments)
    except sked.BugError as error:
        raise AssertionError(f"{call.name}: {error}") from error
    except IndexError as error:
        assert call.name.endswith("__getitem__"), f"{call.name}: {error!r}"
        return False
    except ALLOWED:
        _look(owner)
        return False
    _look(result)
    _look(owner)
    return True


def run(
    examples: int, seed: int, note: Callable[[str], None] = lambda text: None
) -> Tuple[int, int]:
    """Makes that many calls; says how many, and how many of them were answered."""
    calls, answers = public_calls(), []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate,),
    )
    @hypothesis.given(st.data())
    def one(data: Any) -> None:
        answers.append(examine(data.draw, calls, note))

    one()
    return len(answers), sum(answers)


# ---------------------------------------------------------------------- the long run


def _batch(seed: int) -> Tuple[int, int]:
    """In a process of its own, whose last line says what it did last."""
    log = os.open("last-call.txt", os.O_CREAT | os.O_WRONLY)

    def note(text: str) -> None:
        raw = text.encode("utf-8", "backslashreplace").ljust(2100)
        os.pwrite(log, raw, 0)

    return run(400, seed, note)


def main() -> int:
    if sys.argv[1] == "batch":
        print(*_batch(int(sys.argv[2])), file=sys.stderr)
        return 0
    end, seed = time.monotonic() + float(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    made = answered = failed = 0
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="sked-fuzz-") as folder:
            command = [sys.executable, os.path.abspath(__file__), "batch", str(seed)]
            quiet = {
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.DEVNULL,
                "stderr": subprocess.PIPE,
            }
            done = subprocess.run(command, cwd=folder, timeout=600, **quiet)
            said = done.stderr.decode(errors="replace").splitlines()
            if done.returncode == 0:
                made += int(said[-1].split()[0])
                answered += int(said[-1].split()[1])
            else:
                failed += 1
                last = pathlib.Path(folder, "last-call.txt")
                where = last.read_text("utf-8").strip() if last.exists() else "its imports"
                print(f"batch {seed} ended with {done.returncode} in {where}")
                print("\n".join(said[-60:]), flush=True)
        seed += 1
    print(f"fuzz_calls: {made} calls, {answered} answered, others refused; {failed} batches failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
