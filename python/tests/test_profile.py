"""Profiles of ONNX models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import onnx_models
import sked
from sked import profile


def test_every_node_but_constants(tmp_path: Any) -> None:
    path, out = str(tmp_path / "m.onnx"), str(tmp_path / "m.profile.json")
    onnx.save(onnx_models.branches(), path)
    assert profile.main([path, "-o", out, "--repeats", "3", "--warm-up", "1"]) == 0
    with open(out, encoding="utf-8") as file:
        durations = json.load(file)
    g = sked.read(path)
    wanted = {name for name, kind in zip(g.names, g.types) if kind != "Constant"}
    assert set(durations) == wanted
    profiled = sked.read(path, profile=out)
    assert [profiled.duration[g.index(name)] for name in durations] == list(durations.values())


def test_traces_of_the_runtime_are_profiles(tmp_path: Any) -> None:
    """Nodes without names, too, are found in what ONNX Runtime writes itself."""
    path = str(tmp_path / "m.onnx")
    onnx.save(onnx_models.branches(twins=False), path)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.ones((1, 8), dtype="f4")})
    trace = session.end_profiling()
    with open(trace, encoding="utf-8") as file:
        events = {e["name"]: e["dur"] for e in json.load(file) if e.get("cat") == "Node"}
    g = sked.read(path, profile=trace)
    assert g.duration[g.index("scaled")] == events["Mul_0_kernel_time"]
    assert g.duration[g.index("first2")] == events["first2_kernel_time"]
    assert g.duration[g.index("y0")] == events["MatMul_3_kernel_time"]


def test_warm_up_does_not_count() -> None:
    events = [{"cat": "Node", "name": "a_kernel_time", "dur": d} for d in (100, 5, 3, 4)]
    events += [
        {"cat": "Session", "name": "a_kernel_time", "dur": 9},
        {"cat": "Node", "name": "b_kernel_time", "dur": 1},
    ]
    assert profile._medians(events, {"a"}, 3) == {"a": 4.0}


def test_bad_arguments(tmp_path: Any, capsys: Any) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(onnx_models.branches(), path)
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xff\xff no model")
    for arguments, message in (
        ([str(tmp_path / "absent.onnx")], "absent.onnx"),
        ([str(tmp_path / "bad.onnx")], "bad.onnx: not an ONNX model"),
        ([path, "--repeats", "1", "-o", str(tmp_path / "none" / "x.json")], "x.json"),
        ([str(tmp_path / "bad.onnx"), "--repeats", "0"], "1 or more"),
    ):
        with pytest.raises(SystemExit) as stopped:
            profile.main(arguments)
        assert stopped.value.code == 2 and message in capsys.readouterr().err
