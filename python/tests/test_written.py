"""Models that the command writes back give the same outputs in the runtimes they are for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

BRANCHES = Path(ROOT, "examples", "branches.tflite")
SHARED = Path(os.environ.get("SKED_DATA", os.path.join(ROOT, "..", "shared", "data")))
COMMAND = Path(sys.prefix).parent / "sked"
RUNS = 4


def rewritten(model: Path, folder: Path, *options: str) -> tuple[Path, Any]:
    """The model in the order of least memory, and what the command said."""
    if not COMMAND.exists():
        pytest.skip("the command is not built beside the package")
    out = folder / ("written" + model.suffix)
    said = subprocess.run(
        [COMMAND, "schedule", model, "--devices", "1", "--objective", "memory", "--lifetime", "finish", "--iterations",
         "1000", "--json", "-o", out, *options], check=True, stdout=subprocess.PIPE)  # fmt: skip
    return out, json.loads(said.stdout)


def draw(rng: np.random.Generator, shape: Any, kind: Any) -> Any:
    kind = np.dtype(kind)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, size=shape, dtype=kind)


def networks() -> list[Path]:
    return sorted((SHARED / "tflite").glob("*.tflite"))


def micro_outputs(model: Path) -> list[Any]:
    """Of several runs, one after the other: operators with state show whether they kept their order."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    rng, outputs = np.random.default_rng(0), []
    interpreter = runtime.Interpreter.from_file(str(model), arena_size=1 << 20)
    for _ in range(RUNS):
        detail = interpreter.get_input_details(0)
        interpreter.set_input(draw(rng, detail["shape"], detail["dtype"]), 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0).copy())
    return outputs


def arena(model: Path, capfd: pytest.CaptureFixture[str]) -> int:
    """Of the tensors, as TFLite Micro lays it out."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    capfd.readouterr()
    interpreter = runtime.Interpreter.from_file(str(model), arena_size=1 << 20)
    interpreter.print_allocations()
    captured = capfd.readouterr()
    lines = (captured.out + captured.err).splitlines()
    return next(int(line.split()[-2]) for line in lines if "Arena allocation head" in line)


@pytest.mark.parametrize("model", [BRANCHES, *networks()], ids=lambda path: path.stem)
def test_tflite_micro(model: Path, tmp_path: Path) -> None:
    before = micro_outputs(model)
    after = micro_outputs(rewritten(model, tmp_path)[0])
    assert all(np.array_equal(a, b) for a, b in zip(before, after))


def test_tflite_micro_takes_the_plan(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, said = rewritten(BRANCHES, tmp_path)
    assert (arena(BRANCHES, capfd), arena(out, capfd)) == (said["file_order_model_arena"], said["model_arena"])
    assert said["model_arena"] == 68608 and said["file_order_model_arena"] == 155648


def lite_outputs(model: Path) -> list[Any]:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    interpreter = litert.Interpreter(
        model_path=str(model),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    rng = np.random.default_rng(0)
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], draw(rng, detail["shape"], detail["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]).copy() for detail in interpreter.get_output_details()]


# LiteRT itself refuses the other networks, as they are: custom operators, quantisation of another time.
@pytest.mark.parametrize(
    "model",
    [BRANCHES, *(path for path in networks() if path.stem in ("dtln_noise_suppression", "trained_lstm_int8"))],
    ids=lambda path: path.stem,
)
def test_litert(model: Path, tmp_path: Path) -> None:
    before = lite_outputs(model)
    after = lite_outputs(rewritten(model, tmp_path)[0])
    assert before and all(np.array_equal(a, b) for a, b in zip(before, after))


def onnx_outputs(model: Path) -> list[Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    return session.run(None, {x.name: 0.1 * draw(rng, x.shape, np.float32) for x in session.get_inputs()})


def test_onnx_runtime(tmp_path: Path) -> None:
    model = Path(ROOT, "examples", "inception.onnx")
    out, said = rewritten(model, tmp_path)
    assert said["peak_memory"] <= said["file_order_peak_memory"]
    before, after = onnx_outputs(model), onnx_outputs(out)
    assert before and all(np.array_equal(a, b) for a, b in zip(before, after))
    assert out.read_bytes() != model.read_bytes() and out.stat().st_size == model.stat().st_size
