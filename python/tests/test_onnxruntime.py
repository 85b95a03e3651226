"""ONNX models by a schedule."""

from __future__ import annotations

import gc
import glob
import json
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import onnx_models
import sked
import sked.onnxruntime as so
from sked._onnx_program import load, op_names
from sked._queues import Queues

SHARED = os.path.join(
    os.path.dirname(__file__), "..", "..", "..", "shared", "data", "networks", "onnx"
)


class AnyOrder:
    """A random plan that keeps the edges."""

    def __init__(self, preds: List[List[int]], devices: int, seed: int) -> None:
        rng, order = random.Random(seed), []  # type: ignore[var-annotated]
        while len(order) < len(preds):
            ready = [i for i in range(len(preds)) if i not in order and set(preds[i]) <= set(order)]
            order.append(rng.choice(ready))
        self.order = np.array(order, dtype="i4")
        self.device = np.array([rng.randrange(devices) for _ in preds], dtype="i4")


def saved(model: Any, folder: Any) -> str:
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("model", [onnx_models.branches(), onnx_models.captured()])
def test_ops_and_edges_are_those_of_the_reader(model: Any, tmp_path: Any) -> None:
    g = sked.read(saved(model, tmp_path))
    target = so.Target(model, devices=1)
    assert target.program.names == g.names
    found = sorted((p, i) for i, list_ in enumerate(target.program.preds) for p in list_)
    assert found == sorted((int(a), int(b)) for a, b in g.edges)
    target.close()


def test_names_of_real_models() -> None:
    paths = sorted(glob.glob(os.path.join(SHARED, "*.onnx")))
    if not paths:
        pytest.skip("the shared models are not there")
    for path in paths:
        assert sked.read(path).names == op_names(
            onnx.load(path, load_external_data=False).graph
        ), path


@pytest.mark.parametrize("model", [onnx_models.branches(), onnx_models.captured()])
def test_any_plan_gives_the_same_result(model: Any) -> None:
    whole = so.Target(model, devices=3, repeats=2)
    split = so.Target(model, devices=3, repeats=2, split=True)
    for seed in range(6):
        plan = AnyOrder(whole.program.preds, 3, seed)
        assert whole(plan) > 0
        time, (start, finish) = split(plan)
        assert time > 0 and all(
            finish[p] <= start[i] for i, list_ in enumerate(split.program.preds) for p in list_
        )
    whole.close()
    split.close()


def test_new_inputs_and_fewer_sessions() -> None:
    model = onnx_models.branches()
    target = so.Target(model, devices=2)
    n = len(target.program.nodes)
    plan = AnyOrder(target.program.preds, 1, 0)
    run = target.load(plan)
    assert run.sessions == 1  # one device has nobody to wait for
    x = np.full((5, 8), 0.5, dtype="f4")
    other = target.load(AnyOrder(target.program.preds, 2, 1))
    assert 1 < other.sessions < n
    so.compare(other({"x": x}), run({"x": x}))
    assert other({"x": x})["left"].shape == (5, 4)
    target.close()


def test_parts_end_where_devices_meet() -> None:
    # a0 b0 on device 0, c1 reads a0, d0 reads c1.
    steps = Queues([[], [0], [0], [1, 2]], [0, 0, 1, 0], [0, 1, 2, 3], 2).steps
    parts = so.cut(steps, 2)
    assert [[p.ops for p in list_] for list_ in parts] == [[(0,), (1,), (3,)], [(2,)]]
    assert [
        [p.ops for p in list_] for list_ in so.cut(Queues([[], [0]], [0, 0], [0, 1], 1).steps, 1)
    ] == [[(0, 1)]]


def test_the_loop_measures_it(tmp_path: Any) -> None:
    model = onnx_models.branches()
    target = so.Target(model, devices=2, repeats=1)
    found = sked.robust(
        sked.read(saved(model, tmp_path)), 2, target=target, measurements=3, time_limit=1
    )
    so.compare(target.load(found.schedule)(target.program.inputs), target.program.reference)
    target.close()


def test_comparison() -> None:
    x = {"y": np.array([1, 2, np.inf], dtype="f4")}
    so.compare({"y": x["y"] + np.float32(1e-5)}, x)
    for other in (x["y"] + 1, x["y"][:2], x["y"].astype("f8"), np.zeros(3, dtype="f4")):
        with pytest.raises(so.Mismatch, match="output y"):
            so.compare({"y": other}, x)
    with pytest.raises(so.Mismatch, match="output y"):
        so.compare({"y": np.array([1, 2])}, {"y": np.array([1, 3])})


def test_bad_calls() -> None:
    for wrong in ({"devices": 0}, {"repeats": 0}):
        with pytest.raises(ValueError, match="must be 1 or more, not 0"):
            so.Target(onnx_models.branches(), **wrong)
    target = so.Target(onnx_models.branches(), devices=2)
    run = target.load(AnyOrder(target.program.preds, 2, 0))
    with pytest.raises(ValueError, match="missing inputs: x"):
        run({})
    with pytest.raises(ValueError, match="unknown inputs: z"):
        run({**target.program.inputs, "z": np.zeros(1)})
    target.close()
    with pytest.raises(RuntimeError, match="closed"):
        run(target.program.inputs)


def test_calls_from_several_threads_take_turns() -> None:
    target = so.Target(onnx_models.branches(), devices=2)
    run = target.load(AnyOrder(target.program.preds, 2, 0))
    with ThreadPoolExecutor(4) as pool:
        for outputs in pool.map(run, [target.program.inputs] * 40):
            so.compare(outputs, target.program.reference)


def test_threads_end_with_their_target() -> None:
    before = set(threading.enumerate())
    target = so.Target(onnx_models.branches(), devices=3)
    threads = set(threading.enumerate()) - before
    assert len(threads) == 3
    del target
    gc.collect()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_weights_beside_the_model(tmp_path: Any) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(
        onnx_models.branches(),
        path,
        save_as_external_data=True,
        location="weights",
        size_threshold=0,
    )
    assert so.Target(path, devices=1, repeats=1)(AnyOrder(so.Target(path).program.preds, 1, 0)) > 0
    os.unlink(tmp_path / "weights")
    with pytest.raises(Exception, match="weights"):
        load(path)
    assert so.Target(load(path, random_weights=True), devices=1).program.reference[
        "left"
    ].shape == (1, 4)


def test_command(tmp_path: Any) -> None:
    path, plan = saved(onnx_models.branches(), tmp_path), str(tmp_path / "plan.json")
    sked.schedule(sked.read(path), 2, time_limit=1).schedule.save(plan)
    np.savez(tmp_path / "in.npz", x=np.ones((3, 8), dtype="f4"))
    command = [
        sys.executable,
        "-m",
        "sked.command",
        "onnxruntime",
        path,
        "--inputs",
        str(tmp_path / "in.npz"),
    ]
    done = subprocess.run([*command, "--repeats", "1", plan], check=True, stdout=subprocess.PIPE)
    assert set(json.loads(done.stdout)) == {"time"}
    done = subprocess.run(
        [*command, "--split", "--repeats", "1", plan], check=True, stdout=subprocess.PIPE
    )
    assert len(json.loads(done.stdout)["ops"]) == len(sked.read(path))
    failed = subprocess.run(
        [*command, str(tmp_path / "absent.json")], stderr=subprocess.PIPE, check=False
    )
    assert failed.returncode == 1 and b"absent.json" in failed.stderr
    command[4] = plan
    failed = subprocess.run([*command, plan], stderr=subprocess.PIPE, check=False)
    assert failed.returncode == 1 and b"plan.json: not an ONNX model" in failed.stderr
