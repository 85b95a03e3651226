from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
import sked


def test_samples_are_arrays(recommender):
    c = sked.sample(recommender, 3, candidates=50, temperature=0.005)
    assert 1 < len(c) <= 50
    assert c.start.shape == c.device.shape == (len(c), len(recommender))
    assert c.makespan.shape == c.log_prob.shape == c.temperature.shape == (len(c),)
    assert (np.diff(c.makespan) >= 0).all() and set(c.temperature) == {0.005}
    finish = (c.start + recommender.duration).max(axis=1)
    assert finish == pytest.approx(c.makespan)
    first, last = c[0], c[-1]
    first.validate()
    assert (first.start == c.start[0]).all() and last.makespan == c.makespan[-1]
    assert len(list(c)) == len(c)
    with pytest.raises(IndexError):
        c[len(c)]


def test_draws(recommender, tmp_path):
    raw = sked.sample(recommender, 3, candidates=20, raw=True, seed=1)
    assert len(raw) == 20
    again = sked.sample(recommender, 3, candidates=20, raw=True, seed=1, threads=2)
    assert (raw.start == again.start).all()
    assert len(sked.sample(recommender, 3, greedy=True)) == 1
    raw.save(tmp_path / "c.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [x["proxy_makespan"] for x in lines] == pytest.approx(raw.makespan.tolist())


def test_progress_stops_drawing():
    g = sked.generate("layered", 150)
    c = sked.sample(g, 4, candidates=100_000, progress=lambda p: False)
    assert 0 < len(c) < 100_000


def test_unsupported():
    g = sked.Graph()
    g.add_resource("alu", 1)
    g.add_op(demand={"alu": 1})
    with pytest.raises(sked.UnsupportedError):
        sked.sample(g, 2)


def test_train(tmp_path, diamond):
    seen = []
    model = sked.train(
        ["layered:6-9", diamond],
        devices=2,
        steps=4,
        settings={"batch": 4},
        output=tmp_path / "m.safetensors",
        progress=seen.append,
    )
    assert model.steps == 4 and model.parameters > 0 and "4 steps" in repr(model)
    assert [p.step for p in seen] == [1, 2, 3, 4]
    assert all(isinstance(p, sked.TrainProgress) for p in seen)
    assert {p.ops for p in seen} & {4}
    again = sked.train(
        diamond, devices=2, steps=5, settings={"batch": 4}, resume=tmp_path / "m.safetensors"
    )
    assert again.steps == 5
    model.save(tmp_path / "copy.safetensors")
    for source in (
        model,
        tmp_path / "copy.safetensors",
        sked.Sampler(tmp_path / "copy.safetensors"),
    ):
        assert len(sked.sample(diamond, 2, candidates=5, model=source)) >= 1


def test_training_can_be_ended(diamond):
    model = sked.train(
        diamond, devices=2, minutes=5, settings={"batch": 4}, progress=lambda p: p.step < 3
    )
    assert model.steps == 3


def test_bad_training(diamond, tmp_path):
    with pytest.raises(sked.ArgumentError, match="steps or minutes"):
        sked.train([diamond])
    with pytest.raises(sked.ArgumentError, match="a graph at least"):
        sked.train([], steps=1)
    with pytest.raises(sked.ArgumentError, match="minutes must be 0 or more"):
        sked.train([diamond], minutes=-1)
    with pytest.raises(sked.ArgumentError, match="nonsense"):
        sked.train([diamond], steps=1, settings={"nonsense": 1})
    with pytest.raises(sked.ArgumentError, match="comma"):
        sked.train([tmp_path / "a,b.json"], steps=1)
    with pytest.raises(sked.FileError):
        sked.Sampler(tmp_path / "none.safetensors")


def test_interrupt_gives_the_model(diamond):
    def progress(p: sked.TrainProgress) -> None:
        if p.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(sked.Interrupted) as caught:
        sked.train(diamond, devices=2, minutes=5, settings={"batch": 4}, progress=progress)
    assert caught.value.result.steps >= 2


def test_a_slice_and_a_table(recommender):
    pytest.importorskip("pandas")
    drawn = sked.sample(recommender, 3, candidates=30)
    assert drawn[:10] == [drawn[i] for i in range(10)] and drawn[::-1][0] == drawn[len(drawn) - 1]
    table = drawn.to_pandas()
    assert table.shape[0] == len(drawn) and table["makespan"].tolist() == drawn.makespan.tolist()
    pair = sked.diversity([drawn[0], drawn[3]])
    assert table.loc[3, ["ged", "d_inv", "d_sen"]].tolist() == [pair[k] for k in ("ged", "d_inv", "d_sen")]
    assert table.loc[0, "ged"] == 0 and sked.diversity(drawn[:5])["ged"] == pytest.approx(sked.diversity(drawn[4::-1])["ged"])
    assert list(sked.sample(sked.generate("layered", 1), 1, candidates=2).to_pandas()["ged"]) == [0]


def test_training_goes_on_with_a_sampler():
    how = {"settings": {"dim": 16, "layers": 1, "graphs": 1, "batch": 8}, "devices": 2}
    first = sked.train("layered:6-9", steps=2, **how)
    again = sked.train("layered:6-9", steps=4, resume=first, **how)
    whole = sked.train("layered:6-9", steps=4, **how)
    assert (first.steps, again.steps, whole.steps) == (2, 4, 4)
    g = sked.generate("layered", 12)
    assert list(sked.sample(g, 2, model=again, candidates=5)) == list(sked.sample(g, 2, model=whole, candidates=5))
