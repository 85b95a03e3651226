"""Sums of many terms as trees: their parts can run side by side."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import torch

from ._torch_draft import Draft
from ._torch_program import Ref

_aten: Any = torch.ops.aten  # its members have no types
# Shorter sums are one kernel anyway, even if each term is a product.
_FEW = 4


def balance_sums(draft: Draft) -> None:
    """Puts a tree in place of every sum of more than a few terms, each added to those before it."""
    for i in reversed(draft.alive()):
        if _is_sum(draft, i):
            terms, inner = _terms(draft, i)
            if len(terms) > _FEW:
                _put_tree(draft, i, terms, inner)


def _is_sum(draft: Draft, i: int) -> bool:
    """Of two tensors of its own shape and dtype."""
    node = draft.nodes[i]
    if node.kind != "op" or node.call is not _aten.add.Tensor or node.kwargs:
        return False
    read = [draft.known[p] for p in node.inputs]
    made = draft.known[i]
    return len(read) == 2 and all(
        isinstance(x, torch.Tensor) and (x.shape, x.dtype) == (made.shape, made.dtype) for x in read
    )


def _terms(draft: Draft, i: int) -> Tuple[List[int], List[int]]:
    """The terms of a sum, and the sums inside that nothing else reads."""
    terms: List[int] = []
    inner: List[int] = []
    stack: List[Tuple[int, Optional[int]]] = [(i, None)]
    while stack:
        k, reader = stack.pop()
        if reader is None or (_is_sum(draft, k) and draft.only_reader(k) == reader):
            inner.append(k)
            stack += [(ref.node, k) for ref in reversed(draft.nodes[k].args)]
        else:
            terms.append(k)
    return terms, inner[1:]


def _put_tree(draft: Draft, i: int, terms: List[int], inner: List[int]) -> None:
    # Terms that others read, too, stay kernels of their own: they join the last sum.
    level = [Ref(k) for k in sorted(terms, key=lambda k: draft.only_reader(k) is None)]
    name, known = draft.nodes[i].name, draft.known[i]
    while len(level) > 2:
        pairs = zip(level[::2], level[1::2])
        made = [
            draft.add_op(f"{name}_of_{a.node}", "add", _aten.add.Tensor, (a, b), known)
            for a, b in pairs
        ]
        level = made + level[2 * len(made) :]
    draft.put(i, "add", _aten.add.Tensor, level)
    for k in inner:
        draft.drop(k)
