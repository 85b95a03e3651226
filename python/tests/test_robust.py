from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest
import sked

QUICK = {"iterations": 20, "time_limit": 30.0}


def makespan(plan: sked.Plan) -> float:
    return float((plan.start + plan.graph.duration).max())


def test_plan(diamond):
    machine, plans = sked.Machine.identical(2, latency=1, bandwidth=10), []

    def target(plan: sked.Plan) -> float:
        plans.append(plan)
        return 1.5 * makespan(plan)

    best = sked.robust(diamond, machine, target=target, measurements=4, **QUICK)
    assert plans and len(plans) == len(best.measurements)
    for plan in plans:
        assert plan.graph is diamond and plan.machine is machine and len(plan) == 4
        assert plan.start.dtype == np.float64 and plan.device.dtype == np.int32
        assert (np.diff(plan.start[plan.order]) >= 0).all()
        place = {op: k for k, op in enumerate(plan.order.tolist())}
        assert all(place[a] < place[b] for a, b in diamond.edges.tolist())
        mine = [op for d in range(2) for op in plan.ops_of(d).tolist()]
        assert sorted(mine) == [0, 1, 2, 3]
        plan.schedule.validate()
        assert plan.makespan == pytest.approx(makespan(plan))
    assert best.time == pytest.approx(1.5 * best.makespan)
    assert best.target == "target" and best.end in ("budget", "settled", "time")
    assert best.schedule in [plan.schedule for plan in plans]


def test_result(recommender, tmp_path):
    best = sked.robust(recommender, 3, target="noisy+linear", measurements=5, **QUICK)
    assert 0 < len(best.measurements) <= 5 and best.failures == 0
    assert best.curve.tolist() == sorted(best.curve.tolist())
    assert best.curve[-1] == pytest.approx(best.speedup)
    assert best.parameters["latency"].spread >= 0 and len(best.parameters["latency"].prior) == 5
    assert best.members and best.method in {m.label for m in best.members}
    assert best.machine.profile and len(best.machine) == 3
    best.machine.save(tmp_path / "fitted.json")
    assert sked.schedule(recommender, best.machine, time_limit=0.2).makespan > 0
    best.schedule.save(tmp_path / "report.html")
    assert "noisy" in (tmp_path / "report.html").read_text()
    assert "<img" in best._repr_html_() and "noisy+linear" in repr(best)


def test_traces_teach_the_loop(recommender):
    factor = {"Conv": 3.0}
    scale = np.array([factor.get(t, 1.0) for t in recommender.types])

    def target(plan: sked.Plan):
        sim = sked.simulate(slow, 3, device=plan.device, order=plan.order)
        return sim.makespan, (sim.start, sim.start + slow.duration)

    slow = sked.from_arrays(
        recommender.duration * scale, *recommender.edges.T, names=recommender.names
    )
    best = sked.robust(recommender, 3, target=target, measurements=6, **QUICK)
    assert best.parameters["type Conv"].mean > 2 > best.parameters["type MatMul"].mean


def test_one_shot(recommender):
    best = sked.robust(
        recommender,
        3,
        target=makespan,
        one_shot=True,
        method="list",
        candidates=30,
        top=4,
        **QUICK,
    )
    assert len(best.measurements) == 4 and best.machine is None and best.parameters == {}
    assert [m.measured for m in best.members] == [4]


def test_plans_that_cannot_be_measured(recommender):
    calls = []

    def target(plan: sked.Plan) -> float:
        calls.append(plan)
        if len(calls) % 2:
            raise sked.DeviceError("too hot")
        return makespan(plan)

    best = sked.robust(recommender, 3, target=target, measurements=6, **QUICK)
    assert best.failures == sum(math.isnan(t) for t in best.measurements["time"]) > 0
    assert any("too hot" in w for w in best.warnings)

    def broken(plan: sked.Plan) -> float:
        raise sked.DeviceError("always ünwell")

    with pytest.raises(sked.DeviceError, match="always ünwell"):
        sked.robust(recommender, 3, target=broken, measurements=3, **QUICK)


@pytest.mark.parametrize(
    "answer, error, message",
    [
        (-1.0, sked.DeviceError, "time -1"),
        (math.nan, sked.DeviceError, "time"),
        ((1.0, ([1.0], [2.0])), sked.ArgumentError, "4 starts"),
        ((1.0, ([0.0] * 4,)), sked.ArgumentError, "pair"),
        ((1.0, (np.ones(4), np.zeros(4))), sked.DeviceError, "start <= finish"),
        ("soon", ValueError, "soon"),
        (None, TypeError, "the target function returned None, neither a time nor"),
        ((1.0, None, None), TypeError, "neither a time nor"),
    ],
)
def test_answers_are_checked(diamond, answer, error, message):
    with pytest.raises(error, match=message):
        sked.robust(diamond, 2, target=lambda plan: answer, measurements=2, **QUICK)


def test_exceptions_pass_through(diamond):
    def target(plan: sked.Plan) -> float:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        sked.robust(diamond, 2, target=target, **QUICK)


def test_interrupt_gives_the_best_measured(recommender):
    calls = []

    def target(plan: sked.Plan) -> float:
        calls.append(plan)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return makespan(plan)

    with pytest.raises(sked.Interrupted) as caught:
        sked.robust(recommender, 3, target=target, measurements=30, **QUICK)
    best = caught.value.result
    assert best.end == "stopped" and 1 <= len(best.measurements) <= 3
    best.schedule.validate()


def test_log_and_resume(recommender, tmp_path):
    log = tmp_path / "log.jsonl"
    first = sked.robust(recommender, 3, target="noisy", measurements=3, log=log, **QUICK)
    count = len(first.measurements)
    again = sked.robust(recommender, 3, target="noisy", measurements=count + 2, resume=log, **QUICK)
    assert again.measurements["resumed"].sum() == count


def test_measure(recommender):
    s = sked.schedule(recommender, 3, method="list").schedule
    assert sked.measure(s, "proxy") == (s.makespan, 0, 1, None, None)
    m = sked.measure(s, "jitter:repeat=5,trace=true", seed=1)
    assert m.runs == 5 and m.deviation > 0 and m.finish.max() > 0
    assert (m.finish >= m.start).all() and m.start.shape == (len(s),)
    assert m.time == sked.measure(s, "jitter:repeat=5,trace=true", seed=1).time
    with pytest.raises(sked.ArgumentError, match="no target is called"):
        sked.measure(s, "jiter")
    with pytest.raises(sked.DeviceError):
        sked.measure(s, "command,retries=0:false")


def test_bad_targets(diamond):
    with pytest.raises(sked.ArgumentError, match="noisy"):
        sked.robust(diamond, 2, target="noisi")
    with pytest.raises(sked.ArgumentError, match="devices"):
        sked.robust(diamond, target=makespan)
    with pytest.raises(TypeError, match="target: a spec or a function, not NoneType"):
        sked.robust(diamond, 2, target=None)
    with pytest.raises(sked.ArgumentError, match="time limit or a number of iterations"):
        sked.robust(diamond, 2, target="proxy", time_limit=None)
    assert sked.robust(diamond, 2, target="proxy", time_limit=None, iterations=5).time == 7


def test_a_result_is_saved(diamond, tmp_path):
    r = sked.robust(diamond, 2, target="linear", measurements=3, iterations=5)
    for name in ("s.json", "s.html", "m.machine.json"):
        r.save(tmp_path / name)
    assert sked.read_schedule(tmp_path / "s.json", diamond, 2) == r.schedule
    assert len(sked.Machine.read(tmp_path / "m.machine.json")) == 2
