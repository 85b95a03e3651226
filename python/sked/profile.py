"""Measured durations of the ops of an ONNX model: a profile that ``sked --profile`` reads.

python -m sked.profile model.onnx -o model.profile.json
sked schedule model.onnx --devices 2 --profile model.profile.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from ._check import integer
from ._onnx_program import inputs_of, load, named, open_session, session_options

if TYPE_CHECKING:
    from ._onnx_program import ModelLike

__all__ = ["measure", "read_inputs"]

_SUFFIX = "_kernel_time"


def measure(
    model: "ModelLike",
    inputs: "Optional[Mapping[str, np.ndarray[Any, Any]]]" = None,
    *,
    repeats: int = 20,
    warm_up: int = 3,
    threads: int = 1,
    seed: int = 0,
) -> Dict[str, float]:
    """Median durations in microseconds by op name, as sked names the nodes of the model.

    ONNX Runtime profiles its own kernels, with its optimiser off so that every node stays a node.
    Constants take no time and are left out.

    Args:
        model: a file or a model.
        inputs: by name; None: random ones, open dimensions 1.
        repeats: runs that count.
        warm_up: runs before them.
        threads: that a kernel may use.
        seed: of the random inputs.
    """
    runs = integer(repeats, "repeats", 1), integer(warm_up, "warm_up", 0)
    loaded = named(load(model))
    options = session_options(optimise=False, threads=integer(threads, "threads", 1, 1024))
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        session = open_session(loaded, options)
        feed = inputs_of(session, inputs, seed)
        for _ in range(sum(runs)):
            session.run(None, feed)
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    return _medians(events, {node.name for node in loaded.graph.node}, repeats)


def _medians(
    events: Sequence[Mapping[str, Any]], names: "set[str]", repeats: int
) -> Dict[str, float]:
    """Of the last runs: those before them were to warm up."""
    samples: Dict[str, List[float]] = {}
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "Node" and name.endswith(_SUFFIX):
            samples.setdefault(name[: -len(_SUFFIX)], []).append(float(event["dur"]))
    return {name: statistics.median(x[-repeats:]) for name, x in samples.items() if name in names}


def read_inputs(path: Optional[str]) -> "Optional[Dict[str, np.ndarray[Any, Any]]]":
    """Inputs by name from an .npz file; None for None."""
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _write(text: str, path: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command ``python -m sked.profile``."""
    parser = argparse.ArgumentParser(
        prog="python -m sked.profile", description=__doc__.splitlines()[0]
    )
    parser.add_argument("model", help="an ONNX model")
    parser.add_argument(
        "-o", "--output", default="-", help="file to write (default: standard output)"
    )
    parser.add_argument("--inputs", metavar="FILE.npz", help="inputs by name (default: random)")
    parser.add_argument("--repeats", type=int, default=20, help="runs that count (default: 20)")
    parser.add_argument("--warm-up", type=int, default=3, help="runs before them (default: 3)")
    parser.add_argument("--threads", type=int, default=1, help="threads of a kernel (default: 1)")
    parser.add_argument(
        "--random-weights", action="store_true", help="do not read weights beside the model"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    a = parser.parse_args(arguments)
    if a.repeats < 1 or a.warm_up < 0 or a.threads < 1:
        parser.error("--repeats and --threads must be 1 or more, --warm-up 0 or more")
    try:
        model, inputs = load(a.model, a.random_weights), read_inputs(a.inputs)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    durations = measure(
        model, inputs, repeats=a.repeats, warm_up=a.warm_up, threads=a.threads, seed=a.seed
    )
    text = json.dumps(durations, indent=1) + "\n"
    try:
        _write(text, a.output)
    except OSError as error:
        parser.error(str(error))
    print(f"{len(durations)} of {len(model.graph.node)} nodes measured", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
