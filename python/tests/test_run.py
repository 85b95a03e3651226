from __future__ import annotations

import inspect
import math
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import sked
from conftest import ROOT


def test_result(diamond):
    r = sked.schedule(diamond, sked.Machine.identical(2))
    assert (r.makespan, r.value, r.bound, r.gap) == (7, 7, 7, 0)
    assert r.status == "optimal" and r.optimal and r.objective == "makespan"
    assert r.schedules == (r.schedule,) and r.evaluations > 0 and r.seconds >= 0
    assert {"method", "technique", "calls"} <= set(r.statistics[0])
    last = r.curve[-1]
    assert (last["value"], last["bound"]) == (7, 7) and last["method"] and last["seconds"] >= 0
    assert "makespan 7" in repr(r)


def test_same_seed_same_schedule(recommender):
    runs = [
        sked.schedule(recommender, 3, method="brkga", iterations=30, seed=s, time_limit=None)
        for s in (1, 1, 2)
    ]
    assert runs[0].schedule == runs[1].schedule
    assert runs[0].schedule != runs[2].schedule


def test_candidates(recommender):
    r = sked.schedule(
        recommender, 3, method="list", candidates=20, top=5, min_distance=1, time_limit=None
    )
    assert 1 < len(r.schedules) <= 5
    spans = [s.makespan for s in r.schedules]
    assert spans == sorted(spans) and r.makespan == spans[0]
    [s.validate() for s in r.schedules]


def test_warm_start(recommender):
    first = sked.schedule(recommender, 3, method="search", iterations=2000, time_limit=None)
    again = sked.schedule(
        recommender, 3, method="search", iterations=1, start=first.schedule, time_limit=None
    )
    assert again.value <= first.value


def test_settings():
    g = sked.generate("layered", 30)
    options = {o.name: o for m in sked.methods() if m.name == "brkga" for o in m.options}
    name = next(o.name for o in options.values() if o.kind == "int")
    least = int(options[name].range[0])
    sked.schedule(g, 2, method="brkga", iterations=5, settings={name: max(least, 8)})
    with pytest.raises(sked.ArgumentError, match="nonsense"):
        sked.schedule(g, 2, method="brkga", settings={"nonsense": 1})


def test_pools_and_capacity():
    g = sked.Graph()
    g.add_resource("alu", 1)
    for _ in range(4):
        g.add_op(duration=2, demand={"alu": 1})
    assert sked.schedule(g).makespan == 8
    assert sked.schedule(g, capacity={"alu": 2}).makespan == 4
    with pytest.raises(sked.ArgumentError, match="no resource called 'mul'"):
        sked.schedule(g, capacity={"mul": 2})


def test_pipelined_loop():
    loop = sked.read(os.path.join(ROOT, "examples", "dot_product_loop.json"))
    r = sked.schedule(loop, ii="auto")
    assert r.objective == "ii" and r.schedule.ii == r.value
    assert sked.schedule(loop, ii=r.value + 1).schedule.ii == r.value + 1
    assert sked.schedule(loop, objective="ii").value == r.value
    for wrong in ("fast", 0):
        with pytest.raises(sked.ArgumentError):
            sked.schedule(loop, ii=wrong)


def test_limits_and_fixed_decisions(diamond):
    r = sked.schedule(diamond, 2, fix_device=[1, -1, -1, 1], fix_start=[1, math.nan, 4, math.nan])
    assert r.schedule.device[[0, 3]].tolist() == [1, 1]
    assert r.schedule.start[[0, 2]].tolist() == [1, 4]
    with pytest.raises(sked.InfeasibleError, match="a horizon of 7 would") as caught:
        sked.schedule(diamond, 2, horizon=6)
    assert caught.value.code == 7
    assert sked.schedule(diamond, 2, memory_limit=40).schedule.metrics()["peak_memory"] <= 40
    with pytest.raises(sked.InfeasibleError):
        sked.schedule(diamond, 2, memory_limit=7)


def test_objectives(diamond):
    r = sked.schedule(diamond, objective="memory", lifetime="start", time_limit=1)
    assert r.objective == "memory" and r.value == r.schedule.metrics()["peak_memory"]
    with pytest.raises(sked.ArgumentError, match="objective is one of makespan"):
        sked.schedule(diamond, 2, objective="fun")
    with pytest.raises(sked.ArgumentError, match="lifetime"):
        sked.schedule(diamond, 2, lifetime="long")


def test_clock(tmp_path):
    chain = sked.Graph()
    for k in range(3):
        chain.add_op(f"g{k}", 0, memory=1, delay_in=2, delay_out=2)
        if k > 0:
            chain.add_edge(k - 1, k)
    r = sked.schedule(chain, clock=4, io="aligned", ii=1, objective="memory", horizon=1)
    assert r.value == 1 and r.optimal
    assert (r.schedule.start.tolist(), r.schedule.phase.tolist()) in (
        ([0, 0, 1], [0, 2, 0]),
        ([0, 1, 1], [0, 0, 2]),
    )
    assert sked.schedule(chain).schedule.phase is None
    with pytest.raises(sked.InfeasibleError, match="op 'g0' has a delay of 2"):
        sked.schedule(chain, clock=1)
    with pytest.raises(sked.ArgumentError, match="io is one of free, aligned"):
        sked.schedule(chain, clock=4, io="both")
    with pytest.raises(sked.UnsupportedError, match="without devices"):
        sked.schedule(chain, 2, clock=4)


def test_problem(diamond, tmp_path):
    p = sked.Problem(diamond, 2, horizon=20)
    p.check()
    assert sked.schedule(p).makespan == 7 and p.device_count == 2
    with pytest.raises(sked.ArgumentError, match="already"):
        sked.schedule(p, 2)
    p.export(tmp_path / "p.mzn")
    assert (tmp_path / "p.mzn").stat().st_size > 0
    assert "diamond" in repr(p)


def test_bounds(diamond):
    bound = sked.bounds(diamond, 2)
    assert bound == 7 and bound.why
    assert sked.bounds(sked.Problem(diamond, 1)) == 10


def test_bad_arguments(diamond):
    for wrong in ({"seed": -1}, {"threads": 0}, {"method": "lst"}, {"backend": "abacus"}):
        with pytest.raises(sked.ArgumentError) as caught:
            sked.schedule(diamond, 2, **wrong)
        assert caught.value.code == 2 and isinstance(caught.value, ValueError)
    with pytest.raises(sked.UnsupportedError) as caught:
        sked.schedule(diamond, 2, method="fds")
    assert caught.value.code == 6
    for limit in (-1, math.nan):
        with pytest.raises(sked.ArgumentError, match="time_limit must be 0 or more"):
            sked.schedule(diamond, 2, time_limit=limit)
    with pytest.raises(TypeError):
        sked.schedule(diamond, 2, tempo=1)


@pytest.mark.parametrize(
    "graph, machine, message",
    [
        ("net.onnx", 2, "graph: a Graph or a Problem, not str; sked.read"),
        (None, 2, "graph: .* not NoneType$"),
        (sked.Graph(), "4", "machine: .* not str; sked.Machine.read"),
        (sked.Graph(), 2.5, "machine: a Machine or a number of devices, not float$"),
    ],
)
def test_wrong_kinds(graph, machine, message):
    with pytest.raises(TypeError, match=message):
        sked.schedule(graph, machine)


def test_every_status_has_its_exception():
    kinds = [k for k in vars(sked).values() if isinstance(k, type) and issubclass(k, sked.Error)]
    codes = sorted(k.code for k in kinds if k is not sked.Error)
    assert codes == sorted(
        code
        for code in sked._errors.ffi.typeof("sked_status").elements
        if code != sked._errors.lib.SKED_OK
    )


# ------------------------------------------------------------------ progress


def test_progress_is_told(hard):
    seen = []
    r = sked.schedule(hard, time_limit=0.5, progress=seen.append)
    assert seen and all(isinstance(p, sked.Progress) for p in seen)
    assert all(math.isnan(p.share) or 0 <= p.share <= 1 for p in seen)
    assert all(p.phase for p in seen) and r.status != "stopped"


def test_progress_can_stop_it(hard):
    r = sked.schedule(hard, time_limit=60, progress=lambda p: False)
    assert r.status == "stopped" and r.seconds < 30
    r.schedule.validate()


def test_exceptions_pass_through(hard):
    def fail(p: sked.Progress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        sked.schedule(hard, time_limit=60, progress=fail)


# ------------------------------------------------------------------ Ctrl-C and threads


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("progress", [None, lambda p: None])
def test_interrupt_gives_the_incumbent(hard, progress):
    interrupt_after(0.7)
    with pytest.raises(KeyboardInterrupt) as caught:
        sked.schedule(hard, time_limit=60, progress=progress)
    assert isinstance(caught.value, sked.Interrupted)
    r = caught.value.result
    assert r.status == "stopped" and r.seconds < 30
    r.schedule.validate()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sked.schedule(sked.from_arrays([1]), 1).makespan == 1  # and all goes on


def test_handlers_of_the_program_are_heard(hard):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        interrupt_after(0.7)
        r = sked.schedule(hard, time_limit=60)
        assert heard and r.status == "stopped"
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_ignores_it_still_does(hard):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interrupt_after(0.1)
        assert sked.schedule(hard, time_limit=0.4).status == "feasible"
    finally:
        signal.signal(signal.SIGINT, before)


def test_calls_nest(hard, diamond):
    inner = []

    def again(p: sked.Progress) -> None:
        inner.append(sked.schedule(diamond, 2).makespan)

    interrupt_after(0.7)
    with pytest.raises(sked.Interrupted) as caught:
        sked.schedule(hard, time_limit=60, progress=again)
    assert caught.value.result is None or caught.value.result.status == "stopped"
    assert inner and set(inner) == {7}


def test_others_run_meanwhile(hard):
    ticks, over = [], threading.Event()

    def tick() -> None:
        while not over.wait(0.01):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    sked.schedule(hard, time_limit=0.5)
    over.set()
    other.join()
    assert len(ticks) > 3  # none, if the call held the lock of the interpreter


def test_threads_at_once(recommender):
    found = [None] * 4

    def work(i: int) -> None:
        found[i] = sked.schedule(
            recommender, 3, method="search", iterations=300, seed=i % 2, time_limit=None
        ).schedule

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found[0] == found[2] and found[1] == found[3]


# ------------------------------------------------------------------ lists


def test_lists():
    methods = {m.name: m for m in sked.methods()}
    assert {"auto", "list", "search", "gflownet", "gaus"} <= set(methods)
    assert {"devices", "makespan"} <= set(methods["list"].features)
    assert all(m.summary for m in methods.values())
    assert {"proxy", "noisy", "command"} <= {t.name for t in sked.targets()}
    assert "repeat" in {o.name for o in sked.target_options()}
    assert "batch" in {o.name for o in sked.train_options()}
    assert any(f.reads and ".onnx" in f.extensions for f in sked.formats())
    assert {"svg", "html"} <= {r.name for r in sked.reports()}
    assert "layered" in {f.name for f in sked.families()}
    kinds = {o.kind for m in methods.values() for o in m.options}
    assert kinds <= {"int", "real", "bool", "enum", "text"}
    assert all(o.choices for m in methods.values() for o in m.options if o.kind == "enum")
    assert np.all([o.range is not None for o in sked.train_options() if o.kind in ("int", "real")])


def test_devices_as_a_keyword(diamond):
    assert sked.schedule(diamond, devices=2).makespan == 7
    assert sked.bounds(diamond, devices=1) == 10
    assert len(sked.sample(diamond, devices=2, candidates=3)) > 0
    problem = pickle.loads(pickle.dumps(sked.Problem(diamond, devices=3)))
    assert problem.device_count == 3
    with pytest.raises(sked.ArgumentError, match="name one of them"):
        sked.schedule(diamond, 2, devices=2)
    with pytest.raises(sked.ArgumentError, match="devices must be from 1"):
        sked.schedule(diamond, devices=0)


def keyword_functions():
    """All that is public and has arguments which only a keyword can name."""
    for name in sked.__all__:
        thing = getattr(sked, name)
        if not inspect.isclass(thing):
            yield name, thing
        elif thing.__init__ is not object.__init__ and not issubclass(thing, (BaseException, tuple)):
            yield name, thing
            yield from ((f"{name}.{part}", getattr(thing, part)) for part in vars(thing) if part[0] != "_")


def test_a_misspelt_keyword_is_answered_with_the_nearest():
    tried = 0
    for name, function in keyword_functions():
        if not callable(function) or isinstance(function, property):
            continue
        kinds = inspect.signature(function).parameters.values()
        words = [p.name for p in kinds if p.kind == p.KEYWORD_ONLY and len(p.name) > 3]
        if words and name not in ("Graph.add_op", "Graph.add_edge", "attributes", "Sampler.save"):
            word = max(words, key=len)
            with pytest.raises(TypeError, match=f"did you mean '{word}'"):
                function(**{word[:2] + word[3:]: 1})
            tried += 1
    assert tried > 15
    with pytest.raises(TypeError, match="^schedule has no argument 'memory_limt' .did you mean 'memory_limit'"):
        sked.schedule(sked.Graph(), memory_limt=3)
    with pytest.raises(sked.ArgumentError, match="no attribute called 'memroy' .did you mean 'memory'"):
        sked.Graph().add_op("a", memroy=3)
    with pytest.raises(TypeError, match="^Problem has no argument 'nothing_like_it'$"):
        sked.Problem(sked.Graph(), nothing_like_it=3)


def test_incumbents_are_told(hard):
    seen = []
    r = sked.schedule(hard, method="brkga", iterations=20, time_limit=None, incumbent=seen.append)
    assert len(seen) > 1 and seen[-1] == r.schedule
    [s.validate() for s in seen]
    spans = [s.makespan for s in seen]
    assert spans == sorted(spans, reverse=True)
    plain = sked.schedule(hard, method="brkga", iterations=20, time_limit=None)
    assert plain.schedule == r.schedule


def test_an_incumbent_can_be_enough(hard):
    first = []

    def enough(s):
        first.append(s)
        return False

    begin = time.monotonic()
    r = sked.schedule(hard, time_limit=60, incumbent=enough)
    assert r.status == "stopped" and time.monotonic() - begin < 40 and r.makespan <= first[0].makespan

    def fails(_):
        raise KeyError("mine")

    begin = time.monotonic()
    with pytest.raises(KeyError, match="mine"):
        sked.schedule(hard, time_limit=60, incumbent=fails)
    assert time.monotonic() - begin < 40


def test_results_are_saved(recommender, tmp_path):
    r = sked.schedule(recommender, 3, method="list", candidates=5, time_limit=None)
    for name in ("s.json", "s.svg", "s.html", "s.trace.json", "all.jsonl"):
        r.save(tmp_path / name)
    again = sked.read_schedule(tmp_path / "s.json", recommender, 3)
    assert again == r.schedule
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == len(r.schedules) > 1
    whole = sked.schedule(recommender, 3, iterations=500, time_limit=None)
    assert len(whole.curve) > 0
    whole.save(tmp_path / "curve.progress.svg")  # value over time: only a result has it
    with pytest.raises(sked.FileError):
        r.save(tmp_path / "none" / "s.json")


def test_plot(recommender, diamond):
    pytest.importorskip("matplotlib").use("Agg")
    r = sked.schedule(recommender, 3, method="heft")
    axes = r.plot()
    assert [t.get_text() for t in axes.get_yticklabels()] == ["0", "1", "2"]
    bars = [path for c in axes.collections for path in c.get_paths()]
    assert len(bars) == len(recommender)
    assert max(path.vertices[:, 0].max() for path in bars) == pytest.approx(r.makespan)
    alone = sked.schedule(diamond).plot(axes=axes)
    assert alone is axes and "diamond" in axes.get_title()
    lanes = {round(p.vertices[:, 1].mean()) for c in sked.schedule(diamond).plot().collections for p in c.get_paths()}
    assert lanes == {0, 1}  # b and c side by side
    with pytest.raises(TypeError, match="axes"):
        r.plot(axes=5)


def test_sweep(recommender):
    fastest = sked.schedule(recommender, objective="makespan").makespan
    problem = sked.Problem(recommender, objective="memory")
    values = [fastest * f for f in (0.5, 1, 1.5, 2)]
    s = sked.sweep(problem, parameter="horizon", values=values, method="list")
    assert [p.at for p in s] == values and len(s) == 4 and s[0].schedule is None and s[0].reason
    assert math.isnan(s[0].value)
    assert (s.parameter, s.x, s.y) == ("horizon", "makespan", "memory")
    for p in s:
        if p.pareto:
            p.schedule.validate()
            assert p.schedule.makespan == p.makespan <= p.at and p.value == p.y
    assert s.knee in s.points
    with pytest.raises(sked.ArgumentError, match="parameter is one of horizon, ii, alpha"):
        sked.sweep(problem, parameter="speed", values=[1])
    with pytest.raises(sked.ArgumentError, match="one value"):
        sked.sweep(problem, parameter="horizon", values=[])


def test_sweep_leaves(recommender, tmp_path):
    pytest.importorskip("pandas")
    s = sked.sweep(recommender, objective="memory", parameter="horizon", values=[7000, 9000, 20000], method="list")
    table = s.to_pandas()
    assert list(table["horizon"]) == [7000, 9000, 20000] and "schedule" not in table
    s.save(tmp_path / "s.html")
    assert "tradeoff" in (tmp_path / "s.html").read_text()
    none = sked.sweep(recommender, 2, parameter="horizon", values=[1e-3], method="list")
    assert none.knee is None
    with pytest.raises(ValueError, match="no value"):
        none.save(tmp_path / "none.html")


def test_compare(recommender):
    pytest.importorskip("pandas")
    runs = {m: sked.schedule(recommender, 3, method=m, iterations=100, time_limit=None) for m in ("list", "search")}
    table = sked.compare(runs)
    assert list(table.index) == ["list", "search"]
    assert table["makespan"].tolist() == [r.makespan for r in runs.values()]
    assert table.loc["list", ["moved", "shifted"]].tolist() == [0, 0] and table.loc["search", "shifted"] > 0
    assert sked.compare([runs["list"], runs["list"].schedule]).shape == (2, table.shape[1])
    with pytest.raises(sked.ArgumentError, match="one graph"):
        sked.compare([runs["list"], sked.schedule(sked.generate("layered", 5), 2)])
    with pytest.raises(sked.ArgumentError, match="one at least"):
        sked.compare([])
