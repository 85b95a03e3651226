"""A PyTorch module with its inputs and results, and the comparison with what the module alone returns."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from ._queues import PlanLike, Queues
from ._torch_fuse import Fuse, fused
from ._torch_program import Group, Program, Unsupported, widened

# Largest deviation from the eager result, relative to its largest element; others must be equal.
_TOLERANCE = {
    torch.float64: 1e-9,
    torch.complex128: 1e-9,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
}


class Mismatch(RuntimeError):
    """A run gave another result than the eager module."""


def compare(result: Any, reference: Any, rounding: Sequence[float] = ()) -> None:
    """Checks a result against that of the eager module, with a tolerance by dtype.

    Args:
        rounding: tolerance of each output where that is larger.

    Raises:
        Mismatch: it says which output differs, and by how much.
    """
    found, spec = pytree.tree_flatten(result)
    wanted, other = pytree.tree_flatten(reference)
    if spec != other:
        raise Mismatch(f"the result has the structure {spec}, the eager one {other}")
    for number, (a, b) in enumerate(zip(found, wanted)):
        if isinstance(b, torch.Tensor):
            _compare_tensors(number, a, b, rounding[number] if rounding else 0.0)
        elif a != b:
            raise Mismatch(f"output {number} is {a!r}, the eager one {b!r}")


def _compare_tensors(number: int, a: torch.Tensor, b: torch.Tensor, rounding: float) -> None:
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Mismatch(
            f"output {number} is {a.dtype} {tuple(a.shape)}, "
            f"the eager one {b.dtype} {tuple(b.shape)}"
        )
    if not torch.equal(torch.isfinite(a), torch.isfinite(b)):
        raise Mismatch(
            f"output {number} is finite where the eager one is not, or the other way round"
        )
    error, largest = _deviation(a, b)
    if error > max(_TOLERANCE.get(b.dtype, 0.0), rounding) * largest:
        raise Mismatch(
            f"output {number} differs from the eager one by {error:g}; "
            f"its largest element is {largest:g}"
        )


def _deviation(a: torch.Tensor, b: torch.Tensor) -> Tuple[float, float]:
    """The largest difference where both are finite, and the largest element of the second."""
    wide = torch.complex128 if b.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = torch.isfinite(a) & torch.isfinite(b)
    if torch.equal(a, b) or not bool(finite.any()):
        return 0.0, 0.0
    return float((a[finite] - b[finite]).abs().max()), float(b[finite].abs().max())


def copied(x: Any, like: Any) -> Any:
    """A copy of a result in the layout of the eager one."""
    return torch.empty_like(like).copy_(x) if isinstance(x, torch.Tensor) else x


def laid_out(x: Any, like: Any) -> Any:
    """A result in the layout of the eager one."""
    same = not isinstance(x, torch.Tensor) or x.stride() == like.stride()
    return x if same else copied(x, like)


def as_eager(move: Callable[[Any, Any], Any], result: Any, reference: Any) -> Any:
    """All parts of a result, moved to the layout of the eager one."""
    parts, spec = pytree.tree_flatten(result)
    wanted = pytree.tree_flatten(reference)[0]
    return pytree.tree_unflatten([move(x, like) for x, like in zip(parts, wanted)], spec)


def _eager(module: Any) -> Callable[..., Any]:
    """The module as a function; an ExportedProgram is none."""
    made: Callable[..., Any] = module.module() if hasattr(module, "graph_signature") else module
    return made


class Model:
    """A module, its program, inputs of its own and what it makes of them."""

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]],
        group: Group,
        fuse: Fuse = False,
    ) -> None:
        self.eager = _eager(module)
        self.program = Program.from_module(module, args, kwargs, group)
        leaves, self._spec = pytree.tree_flatten((tuple(args), dict(kwargs or {})))
        self.inputs = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
        given = self.program.flatten(tuple(args), dict(kwargs or {}))
        if len(given) != len(leaves):
            raise Unsupported(
                "the inputs of a GraphModule must be tensors and numbers, not lists of them"
            )
        with torch.no_grad():
            self.reference = self.run_eager()
            try:
                compare(self.run_eager(), self.reference)
            except Mismatch as error:
                raise Unsupported(
                    f"the module is random: twice the same input, but {error}"
                ) from error
        self.base, self.fuse = self.program, fuse
        self.rounding: List[float] = []
        if not self.program.ops:
            raise Unsupported("the module computes nothing")
        self._make(group, fuse)

    def _make(self, group: Group, fuse: Fuse) -> None:
        if fuse is not False:
            with torch.no_grad():
                known = self.base.run(self.inputs)
            self.program = fused(self.base, known, fuse, group)
            self.rounding = self._eager_rounding()
        else:
            self.program, self.rounding = self.base.regrouped(group), []
        self.fuse = fuse
        self._run_program()

    def _eager_rounding(self) -> List[float]:
        """For each output twice what the eager one is off the result in double precision.

        Another result that is as near to it may differ from the eager one by so much.
        """
        try:
            with torch.no_grad():
                exact = self.base.widened().outputs([widened(x) for x in self.inputs])
        except RuntimeError:  # an op insists on its dtype
            return []
        found = []
        for a, b in zip(pytree.tree_flatten(self.reference)[0], pytree.tree_flatten(exact)[0]):
            error, largest = _deviation(a, b) if isinstance(a, torch.Tensor) else (0.0, 0.0)
            found.append(2 * error / largest if largest > 0 else 0.0)
        return found

    def compare(self, result: Any, reference: Any = None) -> None:
        """Checks a result against the eager one of the example inputs, or of others."""
        compare(result, self.reference if reference is None else reference, self.rounding)

    def _run_program(self) -> None:
        with torch.no_grad():
            values = self.program.run(self.inputs)
        self.compare(self.program.result(values))
        self.memory = self.program.memory(values)
        self.sizes = self.program.sizes(values)

    def regrouped(self, group: Group, fuse: Optional[Fuse]) -> "Model":
        other = copy.copy(self)
        if fuse is None or fuse == self.fuse:
            other.program = self.program.regrouped(group)
            other._run_program()
        else:
            other._make(group, fuse)
        return other

    def run_eager(self, leaves: Optional[List[Any]] = None) -> Any:
        return self.run_with(self.eager, leaves)

    def run_with(self, module: Callable[..., Any], leaves: Optional[List[Any]] = None) -> Any:
        """Another form of the module with the example inputs, or with these."""
        args, kwargs = pytree.tree_unflatten(self.inputs if leaves is None else leaves, self._spec)
        return module(*args, **kwargs)

    def take(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
        """The leaves of new inputs, which must be like the first ones."""
        leaves: List[Any]
        leaves, spec = pytree.tree_flatten((tuple(args), kwargs))
        if spec != self._spec:
            raise ValueError(f"the inputs have the structure {spec}, not {self._spec}")
        for number, (new, old) in enumerate(zip(leaves, self.inputs)):
            if not isinstance(old, torch.Tensor):
                if new != old:
                    raise ValueError(
                        f"input {number} is {new!r}; the module was accelerated for {old!r}"
                    )
            elif not isinstance(new, torch.Tensor) or _kind(new) != _kind(old):
                kind = _kind(new) if isinstance(new, torch.Tensor) else type(new).__name__
                raise ValueError(
                    f"input {number} is {kind}; the module was accelerated for {_kind(old)}"
                )
        return leaves

    def queues(self, plan: PlanLike, devices: int) -> Queues:
        values = [(v.maker, v.readers) for v in self.memory]
        return Queues(
            self.program.preds, plan.device.tolist(), plan.order.tolist(), devices, values
        )


def _kind(x: torch.Tensor) -> str:
    return f"{x.dtype} of shape {tuple(x.shape)} on {x.device}"
