"""Measures one schedule: what `sked robust --target torch:...` and `--target onnxruntime:...` run.

    python -m sked.command onnxruntime model.onnx plan.json
    python -m sked.command torch net.py:make plan.json
    python -m sked.command graph net.py:make net.json

It prints one JSON object with the time in microseconds and, where there is one, the trace. `graph`
measures the ops of a PyTorch module and writes the graph that plans are made for.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

_GROUPS: Dict[str, Union[bool, str]] = {"light": True, "tails": "tails", "views": False}
_FUSIONS: Dict[str, Union[bool, str]] = {
    "no": False,
    "yes": True,
    "channels-last": "channels_last",
    "merged": "merged",
    "channels-last-merged": "channels_last_merged",
}


class FilePlan:
    """A plan from a schedule file.

    Args:
        path: of the file.
        names: of the ops, in their order.
        preds: for every op the ops whose results it reads.

    Attributes:
        devices: number of devices.
        device: of every op.
        order: all ops by start, so that every op comes after those it needs.
    """

    def __init__(self, path: str, names: Sequence[str], preds: Sequence[Sequence[int]]) -> None:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        index = {name: i for i, name in enumerate(names)}
        lines = {str(op.get("name")): op for op in plan.get("ops", [])}
        if plan.get("format") != "sked-schedule-1" or set(lines) != set(index):
            raise ValueError(
                f"{path}: no schedule of this model: it must name each of its {len(names)} ops"
            )
        self.devices = int(plan["devices"])
        start = np.zeros(len(names))
        self.device = np.zeros(len(names), dtype="i4")
        for name, op in lines.items():
            start[index[name]], self.device[index[name]] = float(op["start"]), int(op["device"])
        self.order = np.lexsort((np.array(_ranks(preds)), start)).astype("i4")


def _ranks(preds: Sequence[Sequence[int]]) -> List[int]:
    """The length in ops of the longest path to each op: equal starts are ordered by it."""
    readers: List[List[int]] = [[] for _ in preds]
    missing = [len(set(p)) for p in preds]
    for i, p in enumerate(preds):
        for j in set(p):
            readers[j].append(i)
    rank = [0] * len(preds)
    ready = [i for i in range(len(preds)) if missing[i] == 0]
    while ready:
        i = ready.pop()
        for j in readers[i]:
            rank[j] = max(rank[j], rank[i] + 1)
            missing[j] -= 1
            if missing[j] == 0:
                ready.append(j)
    return rank


def answer(measured: Any, names: Sequence[str], device: Any) -> Dict[str, Any]:
    """What a target gave as the object that `sked` reads."""
    if not isinstance(measured, tuple):
        return {"time": measured}
    time, (start, finish) = measured
    ops = [
        {
            "name": name,
            "start": float(start[i]),
            "finish": float(finish[i]),
            "device": int(device[i]),
        }
        for i, name in enumerate(names)
    ]
    return {"time": time, "ops": ops}


# ---------------------------------------------------------------------- the two runtimes


def read_module(spec: str) -> Tuple[Any, Sequence[Any], Dict[str, Any]]:
    """A module and its example inputs.

    Args:
        spec: FILE.pt2 as torch.export.save writes it, or FILE.py:FUNCTION, where the function
            returns the module and a tuple of inputs.
    """
    import torch

    if spec.endswith(".pt2"):
        exported = torch.export.load(spec)
        if exported.example_inputs is None:
            raise ValueError(f"{spec}: the program has no example inputs")
        args, kwargs = exported.example_inputs
        return exported, args, kwargs
    path, _, function = spec.rpartition(":")
    if not path.endswith(".py"):
        raise ValueError(f"'{spec}' is neither FILE.pt2 nor FILE.py:FUNCTION")
    loader = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    if loader is None or loader.loader is None or not os.path.exists(path):
        raise ValueError(f"{path}: there is no such file")
    code = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(code)
    module, args = getattr(code, function)()
    return module, args, {}


def _torch_target(a: argparse.Namespace, devices: int) -> Any:
    from . import torch as runtime

    module, args, kwargs = read_module(a.model)
    on_gpu = any(getattr(x, "is_cuda", False) for x in args)
    backend = a.backend or ("cuda" if on_gpu else "cpu")
    kind = runtime.CudaTarget if backend == "cuda" else runtime.ThreadTarget
    group, fuse = _GROUPS[a.group], _FUSIONS[a.fuse]
    return kind(module, args, kwargs, devices=devices, group=group, fuse=fuse, repeats=a.repeats)


def _write_graph(a: argparse.Namespace) -> Dict[str, Any]:
    target = _torch_target(a, 1)
    with open(a.graph, "w", encoding="utf-8") as file:
        json.dump(target.program.graph_json(target.profile(a.repeats), target.model.sizes), file)
    return {"ops": len(target.program.ops)}


def _measure_torch(a: argparse.Namespace) -> Dict[str, Any]:
    with open(a.plan, encoding="utf-8") as file:
        target = _torch_target(a, int(json.load(file).get("devices", 1)))
    plan = FilePlan(a.plan, target.program.names, target.program.preds)
    return answer(target(plan), target.program.names, plan.device)


def _measure_onnxruntime(a: argparse.Namespace) -> Dict[str, Any]:
    from . import onnxruntime as runtime
    from ._onnx_program import load
    from .profile import read_inputs

    with open(a.plan, encoding="utf-8") as file:
        devices = int(json.load(file).get("devices", 1))
    model = load(a.model, a.random_weights)
    target = runtime.Target(
        model, read_inputs(a.inputs), devices=devices, repeats=a.repeats, split=a.split
    )
    plan = FilePlan(a.plan, target.program.names, target.program.preds)
    return answer(target(plan), target.program.names, plan.device)


# ---------------------------------------------------------------------- the command


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sked.command", description=__doc__.splitlines()[0]
    )
    kinds = parser.add_subparsers(dest="runtime", required=True)
    torch = kinds.add_parser("torch", help="a PyTorch module on CUDA streams or CPU threads")
    graph = kinds.add_parser("graph", help="the graph of a PyTorch module with measured durations")
    onnx = kinds.add_parser("onnxruntime", help="an ONNX model on CPU threads")
    for each in (torch, graph):
        each.add_argument(
            "model", help="FILE.pt2, or FILE.py:FUNCTION that returns a module and its inputs"
        )
        each.add_argument(
            "--backend", choices=["cuda", "cpu"], help="default: where the inputs are"
        )
        each.add_argument(
            "--group",
            choices=list(_GROUPS),
            default="light",
            help="what goes with other ops: light ops, those behind a producer, only views "
            "(default: light)",
        )
        each.add_argument(
            "--fuse",
            choices=list(_FUSIONS),
            default="no",
            help="fold batch norms and fuse ops; channels-last: in that layout; merged: equal ops "
            "side by side as one (default: no)",
        )
    graph.add_argument("graph", help="the file to write")
    onnx.add_argument("model", help="an ONNX model")
    onnx.add_argument("--inputs", metavar="FILE.npz", help="inputs by name (default: random)")
    onnx.add_argument(
        "--random-weights", action="store_true", help="do not read weights beside the model"
    )
    onnx.add_argument("--split", action="store_true", help="every op is a session; gives a trace")
    for each, measure in (
        (torch, _measure_torch),
        (graph, _write_graph),
        (onnx, _measure_onnxruntime),
    ):
        each.add_argument(
            "--repeats", type=int, default=10, help="timed runs; the median counts (default: 10)"
        )
        each.set_defaults(measure=measure)
        if each is not graph:
            each.add_argument("plan", help="a schedule file")
    return parser


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command ``python -m sked.command``."""
    parser = _parser()
    a = parser.parse_args(arguments)
    if a.repeats < 1:
        parser.error("--repeats must be 1 or more")
    measure: Callable[[argparse.Namespace], Dict[str, Any]] = a.measure
    try:
        found = measure(a)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        print(f"sked.command {a.runtime}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
