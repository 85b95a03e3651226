"""The learned sampler: drawing schedules, and training."""

from __future__ import annotations

import math
import os
import tempfile
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
    overload,
)

import numpy as np

from ._arrays import view
from ._call import LongCall, ProgressFunction, Settings, keep_failure
from ._check import c_path, c_path_option, fill, flag, integer, keywords, needed
from ._errors import ArgumentError, c_text, call
from ._graph import Graph
from ._machine import MachineLike
from ._native import ffi, lib
from ._problem import PROBLEM, Problem, as_problem
from ._run import fill_common, limit_of
from ._schedule import Schedule, diversity

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._problem import ProblemOptions


class Sampler:
    """A policy that samples schedules, the model of gflownet.

    Args:
        path: of a model file; None: the model that comes with sked.
    """

    def __init__(self, path: "Union[str, os.PathLike[str], None]" = None) -> None:
        out = ffi.new("sked_sampler **")
        call(lib.sked_sampler_read, c_path_option(path), out)
        self._c = ffi.gc(out[0], lib.sked_sampler_destroy)

    @classmethod
    def _take(cls, c_sampler: Any) -> "Sampler":
        sampler = cls.__new__(cls)
        sampler._c = ffi.gc(c_sampler, lib.sked_sampler_destroy)
        return sampler

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return int(lib.sked_sampler_parameter_count(self._c))

    @property
    def steps(self) -> int:
        """Updates it has seen."""
        return int(lib.sked_sampler_steps(self._c))

    def save(self, path: "Union[str, os.PathLike[str]]", *, optimiser: bool = False) -> None:
        """Writes the model.

        Args:
            path: .safetensors.
            optimiser: with what training needs to go on.
        """
        call(lib.sked_sampler_write, self._c, c_path(path), flag(optimiser, "optimiser"))

    def __repr__(self) -> str:
        return f"<sked.Sampler: {self.parameters} parameters, {self.steps} steps>"


class Samples:
    """Schedules that were drawn, as arrays. An index gives one of them as a `Schedule`, a slice a list of them.

    Attributes:
        problem: of all of them.
        start: shape (count, ops).
        device: shape (count, ops).
        makespan: shape (count,).
        log_prob: of the trajectories drawn; shape (count,).
        temperature: at which each was drawn; shape (count,).
        log_z: estimate of log Z.
        spread: standard deviation of zeta; 0 for a perfect sampler.
    """

    def __init__(self) -> None:
        raise TypeError("Samples are what sked.sample returns")

    @classmethod
    def _take(cls, problem: Problem, c_samples: Any) -> "Samples":
        samples = cls.__new__(cls)
        samples._read(problem, c_samples)
        return samples

    def _read(self, problem: Problem, c_samples: Any) -> None:
        self.problem = problem
        self._c = c_samples
        count, n = int(c_samples.count), len(problem.graph)
        self.makespan: "NDArray[np.float64]" = view(c_samples.makespan, count, "f8", c_samples)
        self.log_prob: "NDArray[np.float64]" = view(c_samples.log_prob, count, "f8", c_samples)
        self.temperature: "NDArray[np.float64]" = view(
            c_samples.temperature, count, "f8", c_samples
        )
        self.log_z = float(c_samples.log_z)
        self.spread = float(c_samples.spread)
        self.start: "NDArray[np.float64]" = np.empty((count, n), dtype="f8")
        self.device: "NDArray[np.int32]" = np.empty((count, n), dtype="i4")
        for i in range(count if n > 0 else 0):
            ffi.memmove(self.start[i], c_samples.schedule[i].start, 8 * n)
            ffi.memmove(self.device[i], c_samples.schedule[i].device, 4 * n)

    def __len__(self) -> int:
        """Number of schedules."""
        return int(self._c.count)

    @overload
    def __getitem__(self, i: int) -> Schedule: ...

    @overload
    def __getitem__(self, i: slice) -> List[Schedule]: ...

    def __getitem__(self, i: Union[int, slice]) -> Union[Schedule, List[Schedule]]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        number = integer(i, "the number of a schedule")
        index = number + len(self) if number < 0 else number
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} schedules, none is number {i}")
        return Schedule._take(self.problem, self._c.schedule[index], self._c)

    def __iter__(self) -> Iterator[Schedule]:
        return (self[i] for i in range(len(self)))

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame with one row per schedule: makespan, log_prob, temperature, and how far it is from
        the best of them: ged in percent, d_inv, d_sen."""
        pandas = needed("pandas", "pandas")
        columns = {name: getattr(self, name) for name in ("makespan", "log_prob", "temperature")}
        table = pandas.DataFrame(columns)
        if len(self) > 0:
            best = self[int(self.makespan.argmin())]
            far = pandas.DataFrame([diversity((best, schedule)) for schedule in self])
            table = table.join(far)
        return table

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Writes one JSON object a line (.jsonl), as `sked sample` does."""
        call(lib.sked_samples_write, self._c, self.problem._c, 0.0, c_path(path))

    def __repr__(self) -> str:
        best = f", best makespan {self.makespan.min():g}" if len(self) else ""
        return f"<sked.Samples: {len(self)} schedules{best}>"


@keywords(*PROBLEM)
def sample(
    graph: Union[Graph, Problem],
    machine: MachineLike = None,
    *,
    candidates: int = 1000,
    temperature: float = 0.0,
    raw: bool = False,
    greedy: bool = False,
    local: bool = False,
    improve: int = 0,
    any_machine: bool = False,
    model: "Union[Sampler, str, os.PathLike[str], None]" = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
    threads: int = 1,
    progress: Optional[ProgressFunction] = None,
    backend: Optional[str] = None,
    **problem: "Unpack[ProblemOptions]",
) -> Samples:
    """Draws schedules from the learned policy.

    Args:
        graph: what to schedule, or a whole problem.
        machine: where; a number stands for that many equal devices.
        candidates: how many to draw. Repeats are left out.
        temperature: small is greedy, large is diverse; 0: several that follow the size of the
            problem.
        raw: every draw in the order it was made; otherwise best first and without repeats.
        greedy: one schedule, the likeliest action at every step.
        local: reassign devices so that data stays near. Not with raw.
        improve: rounds of local search on each one. Not with raw.
        any_machine: draw for machines with transfers too, whose costs are not known.
        model: a `Sampler` or a model file; None: the model that comes with sked.
        time_limit: seconds of drawing; None: no limit.
        seed: of the random numbers.
        threads: to work with.
        progress: is told where it stands. Where it returns False, what was drawn until then is the
            result.
        backend: "cpu", "cuda" or "auto".
        **problem: as for `Problem`.

    Raises:
        Interrupted: Ctrl-C; `.result` has what was drawn until then.
    """
    p = as_problem(graph, machine, problem)
    sampler = model if isinstance(model, Sampler) else Sampler(model)
    long: LongCall = LongCall(progress)
    kept: List[Any] = []
    options = ffi.new("sked_sample_options *")
    lib.sked_sample_options_init_sized(options, ffi.sizeof("sked_sample_options"))
    fill(options, count=candidates, temperature=temperature, raw=raw, greedy=greedy)
    fill(options, local=local, improve=improve, prior=any_machine)
    options.time_limit = limit_of(time_limit)
    fill_common(options, long, kept, seed=seed, threads=threads, backend=backend)
    if progress is not None:
        options.progress, options.progress_data = lib.sked_py_progress, long.handle
    out = ffi.gc(ffi.new("sked_samples *"), lib.sked_samples_clear)
    out.size = ffi.sizeof("sked_samples")
    outcome = long.run(lib.sked_sampler_sample, sampler._c, p._c, options, out)
    found: Samples = outcome.result(lambda: Samples._take(p, out) if out.count > 0 else None)
    return found


class TrainProgress(NamedTuple):
    """What training says after an update.

    Attributes:
        step: updates so far.
        loss: of the update.
        log_z: of the update.
        norm: of the gradient.
        rate: of learning.
        seconds: so far.
        ops: of the update's graph.
        temperature: of the update.
        validated: what follows is filled in; it is nan otherwise.
        top1: speedup of the best schedule on graphs that are not trained on.
        top100: mean speedup of the best 100.
        mean: mean speedup.
        ged: diversity of the best 100.
        spread: of zeta.
        list: speedup of method list on the same graphs.
        brkga: speedup of method brkga on the same graphs.
    """

    step: int
    loss: float
    log_z: float
    norm: float
    rate: float
    seconds: float
    ops: int
    temperature: float
    validated: bool
    top1: float
    top100: float
    mean: float
    ged: float
    spread: float
    list: float
    brkga: float


_AFTER_VALIDATION = TrainProgress._fields[TrainProgress._fields.index("validated") + 1 :]


def sked_py_train(data: Any, p: Any) -> None:
    long: LongCall = ffi.from_handle(data)
    values = {name: getattr(p, name) for name in TrainProgress._fields}
    if not p.validated:
        values.update(dict.fromkeys(_AFTER_VALIDATION, math.nan))
    long.tell(TrainProgress(**values))


ffi.def_extern(onerror=keep_failure)(sked_py_train)


TrainItem = Union[Graph, str, "os.PathLike[str]"]


def _graph_spec(graphs: Union[TrainItem, Sequence[TrainItem]], folder: str) -> str:
    """The list as the library wants it; graphs in memory go through files."""
    items = [graphs] if isinstance(graphs, (Graph, str, os.PathLike)) else list(graphs)
    if not items:
        raise ArgumentError("train needs a graph at least")
    words = []
    for i, item in enumerate(items):
        if isinstance(item, Graph):
            path = os.path.join(folder, f"{i}.json")
            item.save(path)
            words.append(path)
        else:
            words.append(os.fspath(item))
        if "," in words[-1] and not isinstance(item, str):
            raise ArgumentError(
                f"the path of a graph to train on must not contain a comma: {words[-1]}"
            )
    return ",".join(words)


@keywords()
def train(
    graphs: Union[TrainItem, Sequence[TrainItem]],
    *,
    devices: int = 4,
    steps: int = 0,
    minutes: Optional[float] = None,
    resume: "Union[Sampler, str, os.PathLike[str], None]" = None,
    output: "Union[str, os.PathLike[str], None]" = None,
    settings: Optional[Mapping[str, Any]] = None,
    seed: int = 0,
    threads: int = 1,
    progress: Optional[Callable[[TrainProgress], Optional[bool]]] = None,
    backend: Optional[str] = None,
) -> Sampler:
    """Trains the policy that `sample` draws from.

    Args:
        graphs: what to train on, one or several: graphs, files, folders, or "FAMILY:LEAST-MOST"
            for a fresh generated graph of that many ops in every update.
        devices: to train for.
        steps: updates in all, those of a resumed model counted; 0: no limit.
        minutes: None: no limit. One of the two limits must be given.
        resume: a `Sampler` that was trained, or its model file, to go on with.
        output: model file, written at every validation and at the end.
        settings: `sked.train_options()` lists them.
        seed: of the random numbers.
        threads: to work with.
        progress: is told of every update. Where it returns False, training ends.
        backend: "cpu", "cuda" or "auto".

    Raises:
        Interrupted: Ctrl-C; `.result` has the model as it is.
    """
    if integer(steps, "steps", 0, 2**63 - 1) == 0 and minutes is None:
        raise ArgumentError("train needs steps or minutes")
    long, pairs = LongCall(progress), Settings(settings)
    out = ffi.new("sked_sampler **")
    with tempfile.TemporaryDirectory(prefix="sked-") as folder:
        if isinstance(resume, Sampler):
            given, resume = resume, os.path.join(folder, "resume.safetensors")
            given.save(resume, optimiser=True)
        kept: List[Any] = [
            c_text(_graph_spec(graphs, folder)),
            c_path_option(resume),
            c_path_option(output),
        ]
        options = ffi.new("sked_train_options *")
        lib.sked_train_options_init_sized(options, ffi.sizeof("sked_train_options"))
        options.graphs, options.resume, options.output = kept
        fill(options, devices=devices, steps=steps)
        options.minutes = limit_of(minutes, "minutes")
        fill_common(options, long, kept, seed=seed, threads=threads, backend=backend)
        pairs.give(options)
        if progress is not None:
            options.progress, options.progress_data = lib.sked_py_train, long.handle
        outcome = long.run(lib.sked_train, options, out)
    found: Sampler = outcome.result(lambda: Sampler._take(out[0]) if out[0] != ffi.NULL else None)
    return found
