"""What crashed the interpreter or ended in the wrong exception once, and the class of each."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sked

# ------------------------------------------------------------------ devices, starts, ids


def two() -> sked.Machine:
    m = sked.Machine(latency=1, bandwidth=10)
    m.add_device("a")
    m.add_device("b", speed=2)
    return m


@pytest.mark.parametrize("machine", [two(), 2])
@pytest.mark.parametrize("device", [10**6, 2, -1, 2**32, [0, 1, 2, 0]])
def test_devices_that_are_none(diamond, machine, device):
    p = sked.Problem(diamond, machine)
    with pytest.raises(sked.ArgumentError, match="device"):
        sked.Schedule(p, [0, 2, 2, 6], device)
    with pytest.raises(sked.ArgumentError, match="device"):
        p.durations(np.full(4, device) if np.ndim(device) == 0 else device)
    with pytest.raises(sked.ArgumentError, match="device"):
        sked.simulate(p, device=np.resize(device, 4), order=range(4))


@pytest.mark.parametrize("start", [np.nan, np.inf, [0, 1, 2, -np.inf]])
def test_starts_that_are_none(diamond, start):
    with pytest.raises(sked.ArgumentError, match="start"):
        sked.Schedule(sked.Problem(diamond, 2), start, 0)


def test_schedules_of_another_problem(diamond):
    mine = sked.Schedule(sked.Problem(diamond, two()), [0, 2, 2, 6], [0, 0, 1, 0])
    other = sked.Schedule(sked.Problem(diamond, 3), [0, 2, 2, 6], [0, 0, 2, 0])
    with pytest.raises(sked.InvalidScheduleError, match="another graph or number of devices"):
        sked.diversity([mine, other])
    with pytest.raises(AttributeError):
        mine.problem = other.problem
    with pytest.raises(AttributeError):
        mine.problem.graph = sked.Graph()


def test_a_machine_without_a_profile(diamond):
    twin = diamond.profiled(sked.Machine.identical(2))
    assert twin == diamond and twin is not diamond
    with pytest.raises(TypeError, match="Machine"):
        diamond.profiled(2)


# ------------------------------------------------------------------ arrays of the caller


def test_arrays_are_copied(hard):
    device, start = np.full(600, -1, "i4"), np.full(600, np.nan)
    p = sked.Problem(hard.graph, hard.machine, fix_device=device, fix_start=start)

    def spoil(_: sked.Progress) -> None:
        device[:], start[:] = 10**6, -1e300

    r = sked.schedule(p, time_limit=0.3, progress=spoil)
    assert device[0] == 10**6
    r.schedule.validate()
    assert (
        pickle.loads(pickle.dumps(p)).check() is None
    )  # what it was made of, not what became of it


def test_a_problem_outlives_what_it_is_made_of(diamond):
    p = sked.Problem(diamond, two(), fix_start=[np.nan] * 4)
    diamond.__init__("another")
    p.machine.__init__("another")
    assert sked._native.lib.sked_problem_check(p._c, sked._native.ffi.NULL) == 0


def test_views_stay_read_only(diamond):
    r = sked.schedule(diamond, 2, iterations=1)
    for array in (
        diamond.duration,
        diamond.edges.base,
        diamond.lag,
        r.schedule.start,
        r.schedule.device,
    ):
        for x in (array, array[:1], array.view("u1")) if array is not None else ():
            with pytest.raises(ValueError, match="WRITEABLE"):
                x.flags.writeable = True


# ------------------------------------------------------------------ types and values


@pytest.mark.parametrize(
    "call",
    [
        lambda g: sked.from_arrays(None),
        lambda g: sked.from_arrays([1], None),
        lambda g: sked.schedule(g, 2, start=5),
        lambda g: sked.schedule(g, 2, method=None),
        lambda g: sked.schedule(g, 2, settings=5),
        lambda g: sked.schedule(g, 2, progress=5),
        lambda g: sked.schedule(g, 2, iterations=1.5),
        lambda g: sked.schedule(g, 2, capacity=[1]),
        lambda g: sked.schedule(g, 2, objective=0),
        lambda g: sked.validate(g),
        lambda g: sked.diversity([g]),
        lambda g: sked.diversity({"a": g}),
        lambda g: sked.measure(g, "proxy"),
        lambda g: sked.parse(5),
        lambda g: sked.generate(None),
        lambda g: sked.Schedule(g, [0] * 4),
        lambda g: sked.Samples(g, g),
        lambda g: sked.Result(g, g, 0, False),
        lambda g: sked.Machine.identical(2, latency="5"),
        lambda g: g.op_name(0.5),
        lambda g: g.index(None),
        lambda g: sked.Graph().add_op("a", keep="yes"),
        lambda g: sked.from_networkx(g),
    ],
)
def test_wrong_types(diamond, call):
    with pytest.raises(TypeError):
        call(diamond)


@pytest.mark.parametrize("big", [2**31, 2**32, 2**63, 2**64, -(2**31) - 1, 10**400])
def test_integers_are_never_wrapped(diamond, big):
    for call in (
        lambda: sked.simulate(diamond, 2, device=[big, 0, 0, 0], order=range(4)),
        lambda: sked.Schedule(sked.Problem(diamond, 2), [0, 1, 2, 3], [big, 0, 0, 0]),
        lambda: sked.Problem(diamond, 2, fix_device=[big] * 4),
        lambda: sked.Machine.identical(big),
        lambda: sked.schedule(diamond, 2, candidates=big, time_limit=0.01),
        lambda: sked.schedule(diamond, 2, threads=big, time_limit=0.01),
        lambda: sked.generate("chain", big),
        lambda: sked.from_arrays([1, 1], [0], [1], distance=[big]),
        lambda: sked.Graph().add_edge(big, 0),
        lambda: diamond.op_name(big),
    ):
        with pytest.raises(sked.ArgumentError):
            call()


@pytest.mark.parametrize("name", ["\udc80", "\ud800", "a\0b"])
def test_names_that_are_none(name):
    for call in (
        lambda: sked.Graph(name),
        lambda: sked.Graph().add_op(name),
        lambda: sked.Graph().add_op("a", durations={name: 2}),
        lambda: sked.Graph().add_op("a", type=name),
        lambda: sked.Graph().add_resource(name),
        lambda: sked.from_arrays([1], names=[name]),
        lambda: sked.Machine(name)._c,
        lambda: sked.Machine().add_device(name),
    ):
        with pytest.raises(ValueError):
            call()


# ------------------------------------------------------------------ targets that fail


class Unspeakable(sked.DeviceError):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error", [sked.DeviceError("bad \udc80"), sked.DeviceError("é" * 5000), Unspeakable()]
)
def test_any_device_error_is_a_failed_plan(diamond, error):
    calls = []

    def target(plan: sked.Plan) -> float:
        calls.append(plan)
        if len(calls) == 1:
            raise error
        return plan.makespan

    best = sked.robust(diamond, 2, target=target, measurements=3, iterations=2, time_limit=None)
    assert best.failures == 1 and len(best.warnings) >= 1


@pytest.mark.parametrize("answer", [10**400, "\udc80", b"", [], (1.0, 5), (1.0, ("a", "b"))])
def test_any_answer_of_a_target(diamond, answer):
    with pytest.raises((TypeError, ValueError)):
        sked.robust(
            diamond, 2, target=lambda plan: answer, measurements=2, iterations=2, time_limit=None
        )


def test_nothing_vanishes_in_c(hard, monkeypatch):
    """What goes wrong in a callback before the caller's own function is reached, Ctrl-C for one."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sked._call, "Progress", interrupted)
    with pytest.raises(sked.Interrupted):
        sked.schedule(hard, time_limit=60, progress=lambda _: None)


# ------------------------------------------------------------------ several threads


def at_once(work, count: int = 4) -> list:
    """The exceptions of `count` threads that do the same."""
    raised, begin = [], threading.Barrier(count)

    def run(k: int) -> None:
        begin.wait()
        try:
            work(k)
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # `make python-tsan` sees what even this does not show
    [t.start() for t in threads]
    [t.join() for t in threads]
    sys.setswitchinterval(before)
    return raised


def test_threads_build_one_graph():
    g = sked.Graph()
    g.add_resource("alu", 3)

    def work(k: int) -> None:
        for i in range(300):
            op = g.add_op(f"{k}.{i}", k + i % 7, memory=k, demand={"alu": 1}, durations={"gpu": 1})
            assert len(g) > op
            if i > 0:
                g.add_edge(f"{k}.{i - 1}", op, bytes=1)

    assert at_once(work) == []
    assert len(g) == 1200 and g.edge_count == 4 * 299
    assert all(g.duration[g.index(f"{k}.{i}")] == k + i % 7 for k in range(4) for i in range(300))


def test_threads_build_one_machine():
    m = sked.Machine(latency=1, bandwidth=1)
    assert at_once(lambda k: [m.add_device(f"{k}.{i}") for i in range(200)]) == []
    assert len(m) == 800 and len({d.name for d in m.devices}) == 800


def test_threads_build_what_others_use():
    """Whoever comes too late is told so."""
    g = sked.Graph()
    g.add_op("first")

    def work(k: int) -> None:
        for i in range(200):
            if k == 0 and i == 100:
                assert g.edge_count == 0
            elif k > 0:
                g.add_op(f"{k}.{i}")

    late = at_once(work)
    assert all(
        isinstance(error, sked.ArgumentError) and "read-only" in str(error) for error in late
    )
    assert len(g.names) == len(g) and copy.deepcopy(g) == g


def test_one_of_everything_in_several_threads(diamond):
    """First uses, searches, views and writers on shared objects."""
    p = sked.Problem(diamond, two())
    sampler, s = sked.Sampler(), sked.schedule(p, iterations=5, time_limit=None).schedule

    def work(k: int) -> None:
        for i in range(5):
            r = sked.schedule(p, iterations=3, time_limit=None, seed=i, start=s)
            assert r.makespan <= s.makespan and s.metrics()["makespan"] == s.makespan
            sked.sample(p, candidates=3, model=sampler, seed=k)
            assert sked.measure(s, "noisy+linear", seed=k).time > 0
            assert pickle.loads(pickle.dumps(s)) == s and s.svg().startswith("<")

    assert at_once(work) == []


# ------------------------------------------------------------------ Ctrl-C where a program runs

MEASURING = """
import os, sys, threading, time, signal, sked
p = sked.Problem(sked.from_arrays([1, 2]), 2)
s = sked.Schedule(p, [0, 0], [0, 1])
def press():
    while not os.path.exists("begun"):
        time.sleep(0.001)
    press.at = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    {call}
except KeyboardInterrupt as error:
    print(type(error).__name__, time.perf_counter() - press.at)
"""


@pytest.mark.parametrize(
    "call",
    [
        'sked.measure(s, "command:./slow.sh")',
        'sked.measure(s, "command,retries=3,repeat=9:./slow.sh")',
        'sked.measure(s, "torch:net.py:make")',
        'sked.robust(p, target="command:./slow.sh", time_limit=0.2)',
        'sked.robust(p, target="torch:net.py:make", time_limit=0.2)',
    ],
)
def test_ctrl_c_ends_what_a_target_runs(tmp_path, call):
    """The child has ended, its file is gone, and the wait was no time-out. torch: the question whether it
    is there is asked of a python3, which hangs."""
    for name in ("slow.sh", "python3"):
        program = tmp_path / name
        program.write_text('#!/bin/sh\necho $$ "$@" >begun.new\nmv begun.new begun\nsleep 55\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run(
        [sys.executable, "-c", MEASURING.format(call=call)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=50,  # the program sleeps longer, and its own time-out is 60
    )
    assert done.stdout.startswith("Interrupted "), (done.stdout, done.stderr)
    pid, *rest = (tmp_path / "begun").read_text().split()
    until = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}")
    assert not any(os.path.exists(word) for word in rest if word.startswith("/tmp/sked-plan-"))


def test_ctrl_c_leaves_the_handler_in_place(diamond):
    s = sked.schedule(diamond, 2, iterations=1).schedule
    before = signal.getsignal(signal.SIGINT)
    assert sked.measure(s, "command:echo 3").time == 3
    assert signal.getsignal(signal.SIGINT) is before
