"""Pointwise ops that follow each other, as one CUDA kernel."""

from __future__ import annotations

import functools
import hashlib
import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ._torch_draft import Draft
from ._torch_program import Node, Ref

# torch.cuda.jiterator takes no more of either.
_MOST = 8
# Code of an element for ops whose arguments are tensors of one dtype and numbers; T is float for
# half precision.
_CODE: Dict[str, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "exp": "::exp({0})",
    "relu": "{0} < T(0) ? T(0) : {0}",
    "leaky_relu": "{0} > T(0) ? {0} : {0} * {1}",
    "sigmoid": "T(1) / (T(1) + ::exp(-{0}))",
    "silu": "{0} / (T(1) + ::exp(-{0}))",
    "tanh": "::tanh({0})",
    "gelu": "T(0.5) * {0} * (T(1) + ::erf({0} * T(0.70710678118654752)))",
}
_PRESET: Dict[str, Tuple[float, ...]] = {"leaky_relu": (0.01,)}


def _operands(node: Node) -> List[Any]:
    return [*node.args, *_PRESET.get(node.type, ())[len(node.args) - 1 :]]


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, int)) and not isinstance(x, bool) and math.isfinite(x)


def _code(node: Node) -> Optional[str]:
    """The code of a pointwise op; None: it is none, or has arguments that the code does not know."""
    code, operands = _CODE.get(node.type), _operands(node)
    if code is None or node.kwargs:
        return None
    fit = all(isinstance(x, Ref) or _is_number(x) for x in operands)
    return code if fit and len(operands) == 1 + ("{1}" in code) else None


@functools.lru_cache(maxsize=None)
def _kernel(code: str, outputs: int) -> Callable[..., Any]:
    """It is compiled at its first call."""
    from torch.cuda import jiterator

    if outputs == 1:
        made: Callable[..., Any] = jiterator._create_jit_fn(code)
    else:
        made = jiterator._create_multi_output_jit_fn(code, num_outputs=outputs)
    return made


def _chain(lines: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    """The kernel of these lines; all names in them are of type T."""
    body, given = " ".join(lines), [f"T {name}" for name in inputs]
    if len(outputs) == 1:
        kind, body = "T", f"{body} return {outputs[0]};"
    else:
        kind, given = "void", given + [f"T& o{k}" for k in range(len(outputs))]
        body += "".join(f" o{k} = {name};" for k, name in enumerate(outputs))
    name = f"chain_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
    code = f"template <typename T> {kind} {name}({', '.join(given)}) {{ {body} }}"
    return _kernel(code, len(outputs))


class _Chains:
    """Pointwise nodes of one shape and dtype joined to groups, as long as no cycle comes of it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.nodes = draft.nodes
        self.of = {i: i for i in draft.alive() if self._is_pointwise(i)}
        self.members = {i: [i] for i in self.of}
        for i in self.of:
            self._join(i)

    def _is_pointwise(self, i: int) -> bool:
        if _code(self.nodes[i]) is None:
            return False
        read = [self.draft.known[p] for p in self.nodes[i].inputs]
        if not read or not all(isinstance(x, torch.Tensor) for x in read):
            return False
        made = self.draft.known[i]
        alike = all(x.dtype == made.dtype and x.device == made.device for x in read)
        return alike and bool(made.is_floating_point())

    def inputs(self, members: Sequence[int]) -> List[int]:
        """What a group reads, in the order of first use."""
        inside = set(members)
        found = (p for i in members for p in self.nodes[i].inputs)
        return list(dict.fromkeys(p for p in found if p not in inside))

    def outputs(self, members: Sequence[int]) -> List[int]:
        """What others read of a group."""
        inside = set(members)
        return [i for i in members if self.draft.readers(i) - inside]

    def _join(self, i: int) -> None:
        """Node i, which is younger than all nodes in groups, with the groups of its producers."""
        for p in self.nodes[i].inputs:
            mine, theirs = self.of[i], self.of.get(p)
            if theirs is None or theirs == mine or not self._fit(theirs, mine):
                continue
            if not self._between(theirs, mine) and not self._between(mine, theirs):
                for k in self.members[mine]:
                    self.of[k] = theirs
                self.members[theirs] = sorted(self.members[theirs] + self.members.pop(mine))

    def _fit(self, a: int, b: int) -> bool:
        x, y = self.draft.known[a], self.draft.known[b]
        both = sorted(self.members[a] + self.members[b])
        few = max(len(self.inputs(both)), len(self.outputs(both))) <= _MOST
        return few and bool(x.shape == y.shape and x.dtype == y.dtype)

    def _group(self, i: int) -> List[int]:
        return self.members[self.of[i]] if i in self.of else [i]

    def _between(self, first: int, last: int) -> bool:
        """Does group `last` read something, outside of both, that needs group `first`?"""
        goal, seen = set(self.members[first]), set(self.members[last])
        stack = [p for i in seen for p in self.nodes[i].inputs if p not in goal | seen]
        while stack:
            i = stack.pop()
            if i in goal:
                return True
            group = self._group(i)
            if i not in seen and max(group) > min(goal):  # older nodes need nothing of it
                seen.update(group)
                stack += [p for k in group for p in self.nodes[k].inputs]
        return False


def fuse_pointwise(draft: Draft) -> None:
    """Puts a kernel in place of each group of more than one node. The nodes must be sorted."""
    chains = _Chains(draft)
    for members in chains.members.values():
        if len(members) > 1:
            _put_chain(draft, members, chains.inputs(members), chains.outputs(members))


def _put_chain(draft: Draft, members: List[int], inputs: List[int], outputs: List[int]) -> None:
    names = {p: f"a{k}" for k, p in enumerate(inputs)}
    lines = []
    for i in members:
        code, operands = _code(draft.nodes[i]), _operands(draft.nodes[i])
        assert code is not None
        words = [names[x.node] if isinstance(x, Ref) else f"T({float(x)!r})" for x in operands]
        names[i] = f"v{len(names)}"
        lines.append(f"T {names[i]} = {code.format(*words)};")
    call = _chain(lines, [names[p] for p in inputs], [names[i] for i in outputs])
    args = [Ref(p) for p in inputs]
    for i in members:
        draft.drop(i)
    if len(outputs) == 1:
        draft.put(outputs[0], "pointwise", call, args)
        return
    name = f"{draft.nodes[outputs[-1]].name}_chain"
    kernel = draft.add_op(name, "pointwise", call, args, None)
    for k, i in enumerate(outputs):
        draft.put(i, "getitem", operator.getitem, (kernel, k))
