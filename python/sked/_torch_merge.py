"""Equal ops side by side, as one kernel.

Linear layers of one shape that read the same tensor become one with the weights of all of them; so
do convolutions. Where each of them has one reader, and these are equal, too, they follow: as a
product of stacked matrices, a grouped convolution, or an activation of the whole. IOS (Ding et al.,
MLSys 2021) calls it operator merge and lets its schedules choose it, as `sked.torch` does.
"""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ._torch_convolution import Convolution, channels_last, convolution, convolve
from ._torch_draft import Draft
from ._torch_program import Ref, references

_aten: Any = torch.ops.aten  # its members have no types
_UNARY = frozenset(["relu", "gelu", "silu", "sigmoid", "tanh", "leaky_relu"])


def merge_parallel(draft: Draft) -> None:
    """Puts one node in place of equal ones wherever this needs no copies of their results."""
    before = len(draft.nodes)
    for source in range(before):
        for members in _equal_readers(draft, source):
            levels = _levels(draft, members)
            if not _needs_copies(draft, levels):
                _merge(draft, levels)
    if len(draft.nodes) > before:
        _let_views_copy(draft)


def _key(draft: Draft, i: int, x: int) -> Optional[Tuple[Hashable, ...]]:
    """What must be the same of nodes that read x; None: this one is not merged."""
    node, conv = draft.nodes[i], convolution(draft, i)
    if conv is not None:
        if conv.x != Ref(x) or conv.groups != 1:
            return None
        more = (conv.layout, tuple(conv.stride), tuple(conv.padding), tuple(conv.dilation))
        return ("conv", _shape(draft, conv.weight), conv.bias is None, *more)
    if node.call is _aten.linear.default and node.args[0] == Ref(x) and not node.kwargs:
        weights = node.args[1:]
        plain = len(weights) < 2 or weights[1] is None
        return ("linear", _shape(draft, weights[0]), plain) if draft.are_constant(weights) else None
    if node.type in _UNARY and node.inputs == (x,) and node.args[:1] == (Ref(x),):
        return ("unary", node.type, repr(node.args[1:]), repr(node.kwargs))
    return None


def _shape(draft: Draft, weight: Ref) -> Hashable:
    value = draft.value(weight)
    return (tuple(value.shape), value.dtype)


def _equal_readers(draft: Draft, source: int) -> List[List[int]]:
    """Convolutions or linear layers that can read the source as one, and whose readers agree."""
    found: Dict[Any, List[int]] = {}
    for i in sorted(draft.readers(source) - {-1}):
        key, after = _key(draft, i, source), draft.only_reader(i)
        if key is not None and key[0] != "unary":
            follows = None if after is None else _key(draft, after, i)
            found.setdefault((key, follows), []).append(i)
    return [members for members in found.values() if len(members) > 1]


def _levels(draft: Draft, members: List[int]) -> List[List[int]]:
    """These nodes, their readers as long as each has just one and all are equal, and so on."""
    first = draft.nodes[members[0]]
    kind = "linear" if first.call is _aten.linear.default else "conv"
    levels = [members]
    while True:
        readers = [draft.only_reader(i) for i in levels[-1]]
        keys = {None if r is None else _key(draft, r, i) for r, i in zip(readers, levels[-1])}
        key = keys.pop() if len(keys) == 1 else None
        if key is None or key[0] not in (kind, "unary"):
            return levels
        levels.append([r for r in readers if r is not None])


def _needs_copies(draft: Draft, levels: List[List[int]]) -> bool:
    """A convolution takes no part of an image as it is."""
    if convolution(draft, levels[0][0]) is None:
        return False
    after = {r for i in levels[-1] for r in draft.readers(i) - {-1}}
    return any(convolution(draft, r) is not None for r in after)


# ---------------------------------------------------------------------- rewriting


class _Whole(NamedTuple):
    """The results of all members: side by side along a dimension, or stacked along a new one."""

    ref: Ref
    dim: Optional[int]


def _merge(draft: Draft, levels: List[List[int]]) -> None:
    whole: Optional[_Whole] = None
    for members in levels:
        conv = convolution(draft, members[0])
        if conv is not None:
            whole = _merge_convolutions(draft, members, whole)
        elif draft.nodes[members[0]].call is _aten.linear.default:
            whole = _merge_linears(draft, members, whole)
        else:
            assert whole is not None
            whole = _merge_unary(draft, members, whole)
    assert whole is not None
    _put_parts(draft, levels[-1], whole)
    for members in levels[-2::-1]:
        for i in members:
            draft.drop(i)


def _known(draft: Draft, members: Sequence[int], dim: Optional[int]) -> torch.Tensor:
    """A result of the shape and layout of the whole."""
    known = [draft.known[i] for i in members]
    if dim is not None:
        return torch.cat(known, dim)
    return torch.stack([x.reshape(-1, x.shape[-1]) for x in known])


def _name(draft: Draft, members: Sequence[int]) -> str:
    return f"{draft.nodes[members[0]].name}_and_{len(members) - 1}"


def _merge_convolutions(draft: Draft, members: List[int], whole: Optional[_Whole]) -> _Whole:
    """As one with more channels, or one group of channels for each member."""
    convs = [c for c in (convolution(draft, i) for i in members) if c is not None]
    name, layout = _name(draft, members), convs[0].layout
    weights = [draft.value(c.weight) for c in convs]
    biases = [draft.value(c.bias) for c in convs]

    def weight() -> torch.Tensor:
        return channels_last(torch.cat(weights)) if layout else torch.cat(weights)

    args = Convolution(
        convs[0].x if whole is None else whole.ref,
        draft.add_fold(f"{name}_weight", weight),
        None if biases[0] is None else draft.add_fold(f"{name}_bias", lambda: torch.cat(biases)),
        *convs[0][3:7],
        groups=1 if whole is None else len(members),
    )
    return _Whole(draft.add_op(name, "conv2d", convolve, args, _known(draft, members, 1)), 1)


def _products(x: Any, weight: Any, bias: Any, stacked: bool) -> Any:
    """A product for every matrix of weights, with its part of x."""
    if not stacked:
        x = x.reshape(-1, weight.shape[0], weight.shape[1]).transpose(0, 1)
    return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias, x, weight)


def _merge_linears(draft: Draft, members: List[int], whole: Optional[_Whole]) -> _Whole:
    """As one with more columns, or a product for each member with what it reads."""
    name, nodes = _name(draft, members), [draft.nodes[i] for i in members]
    weights = [draft.value(node.args[1]) for node in nodes]
    biases: List[Any] = [draft.value((*node.args, None)[2]) for node in nodes]
    bias: Optional[Ref] = None
    if whole is None:
        weight = draft.add_fold(f"{name}_weight", lambda: torch.cat(weights))
        if biases[0] is not None:
            bias = draft.add_fold(f"{name}_bias", lambda: torch.cat(biases))
        known = _known(draft, members, -1)
        wide = (nodes[0].args[0], weight, bias)
        return _Whole(draft.add_op(name, "linear", _aten.linear.default, wide, known), -1)
    weight = draft.add_fold(f"{name}_weight", lambda: torch.stack(weights).transpose(1, 2))
    if biases[0] is not None:
        bias = draft.add_fold(f"{name}_bias", lambda: torch.stack(biases).unsqueeze(1))
    args = (whole.ref, weight, bias, whole.dim is None)
    made = draft.add_op(name, "bmm", _products, args, _known(draft, members, None))
    return _Whole(made, None)


def _merge_unary(draft: Draft, members: List[int], whole: _Whole) -> _Whole:
    known = _known(draft, members, whole.dim)
    name = _name(draft, members)
    return _Whole(draft.add_like(name, members[0], whole.ref, known), whole.dim)


def _part(whole: Any, dim: int, number: int, size: int) -> Any:
    return whole.narrow(dim, number * size, size)


def _stacked_part(whole: Any, number: int, shape: Sequence[int]) -> Any:
    return whole[number].view(shape)


def _put_parts(draft: Draft, members: List[int], whole: _Whole) -> None:
    """The members become parts of the whole; where they are joined again, that is the whole."""
    after = {draft.only_reader(i) for i in members}
    for k, i in enumerate(members):
        shape = draft.known[i].shape
        if whole.dim is None:
            draft.put(i, "select", _stacked_part, (whole.ref, k, list(shape)))
        else:
            draft.put(i, "narrow", _part, (whole.ref, whole.dim, k, shape[whole.dim]))
    last = after.pop()
    if not after and last is not None and _joins(draft, last, members, whole.dim):
        draft.put(last, "alias", _aten.alias.default, (whole.ref,))
        for i in members:
            draft.drop(i)


def _joins(draft: Draft, i: int, members: List[int], dim: Optional[int]) -> bool:
    node = draft.nodes[i]
    if (
        dim is None
        or node.type != "cat"
        or node.kwargs
        or references(node.args) != [Ref(k) for k in members]
    ):
        return False
    along = node.args[1] if len(node.args) > 1 else 0
    dims = draft.known[i].dim()
    return bool(along % dims == dim % dims)


def _let_views_copy(draft: Draft) -> None:
    """Parts of a tensor have gaps."""
    for i in draft.alive():
        if draft.nodes[i].call is _aten.view.default:
            draft.put(i, "reshape", _aten.reshape.default, draft.nodes[i].args)
