"""Fewer and faster kernels for the same result, up to rounding.

- Equal nodes run once.
- The batch norm of inference goes into the weights of the convolution before it.
- Images may have their channels last, which suits the tensor cores of GPUs.
- Equal ops side by side may be one (`_torch_merge`).
- On a GPU a convolution with bias and ReLU (and a sum in between), a linear layer with its
  activation, and pointwise ops that follow each other are one kernel each; long sums are trees of
  these.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from ._torch_convolution import Convolution, channels_last, convolution, convolve
from ._torch_draft import Draft, renamed
from ._torch_merge import merge_parallel
from ._torch_pointwise import fuse_pointwise
from ._torch_program import Group, Node, Program, Ref, fill, tensors_of
from ._torch_sums import balance_sums

# False: nodes as they are; True: fused; "channels_last": fused, and images in that layout. "merged"
# and "channels_last_merged": that, and equal ops side by side are one.
Fuse = Union[bool, str]
MERGED: Dict[Fuse, Fuse] = {True: "merged", "channels_last": "channels_last_merged"}
KINDS: Tuple[Fuse, ...] = (*MERGED, *MERGED.values(), False)
NAMES = f"{', '.join(map(repr, KINDS[:-1]))} or False"

_aten: Any = torch.ops.aten  # its members have no types


def fused(program: Program, known: Sequence[Any], fuse: Fuse, group: Group) -> Program:
    """A program of fewer nodes that gives the same result, up to rounding.

    Args:
        program: stays as it is.
        known: what every node made in a run that kept everything.
        fuse: one of `KINDS`, not False.
        group: as for `Program`.
    """
    if fuse is False or fuse not in KINDS:
        raise ValueError(f"fuse is {NAMES}, not {fuse!r}")
    draft = Draft(program, known)
    _merge_equal(draft)
    _fold_norms(draft)
    if fuse in ("channels_last", MERGED["channels_last"]):
        _lay_out(draft)
    if fuse in MERGED.values():
        merge_parallel(draft)
    if _on_gpu(known):
        _fuse_activations(draft, fuse in MERGED.values())
        _split_biases(draft)
        balance_sums(draft)
        draft.sort()
        fuse_pointwise(draft)
    draft.sort()
    return program.rewritten(
        draft.nodes, draft.values, draft.inputs, draft.output, draft.folds, group
    )


def _on_gpu(known: Sequence[Any]) -> bool:
    return all(x.is_cuda for x in tensors_of(list(known)))


def _merge_equal(draft: Draft) -> None:
    """Nodes that compute the same become one; results of the module stay apart."""
    first: Dict[str, int] = {}
    refs = [Ref(i) for i in range(len(draft.nodes))]
    for i in draft.alive():
        node = renamed(draft.nodes[i], refs)
        key = f"{id(node.call)} {node.args} {node.kwargs}"
        if i not in draft.results and first.setdefault(key, i) != i:
            refs[i] = Ref(first[key])
            draft.drop(i)
        else:
            draft.replace(i, node)


# ---------------------------------------------------------------------- convolutions


def _convolve_relu(x: Any, weight: Any, bias: Any, layout: bool, *more: Any) -> Any:
    x = channels_last(x) if layout else x
    return _aten.cudnn_convolution_relu.default(x, weight, bias, *more)


def _convolve_add_relu(z: Any, x: Any, weight: Any, bias: Any, layout: bool, *more: Any) -> Any:
    if layout:
        x, z = channels_last(x), channels_last(z)
    return _aten.cudnn_convolution_add_relu.default(x, weight, z, 1.0, bias, *more)


def _norm(node: Node) -> Optional[Tuple[List[Any], float]]:
    """The arguments of a batch norm of inference: weight, bias, mean and variance; epsilon."""
    if node.call is _aten.batch_norm.default and not node.args[5]:
        return list(node.args[1:5]), float(node.args[7])
    if node.type == "_native_batch_norm_legit_no_training":
        return list(node.args[1:5]), float(node.args[6])
    return None


def _folded(
    weight: torch.Tensor, bias: Optional[torch.Tensor], norm: Sequence[Any], epsilon: float
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of a convolution with the batch norm after it, made in double precision."""
    gamma, beta, mean, variance = (x if x is None else x.double() for x in norm)
    assert mean is not None and variance is not None
    scale = torch.rsqrt(variance + epsilon)
    scale = scale if gamma is None else scale * gamma
    shift = -mean if bias is None else bias.double() - mean
    shift = shift * scale if beta is None else shift * scale + beta
    made = weight.double() * scale.view(-1, 1, 1, 1)
    return made.to(weight.dtype), shift.to(weight.dtype)


def _fold_norms(draft: Draft) -> None:
    for i in draft.alive():
        conv, after = convolution(draft, i), draft.only_reader(i)
        norm = None if after is None else _norm(draft.nodes[after])
        if conv is None or after is None or norm is None or not draft.are_constant(norm[0]):
            continue
        last = _result_of_norm(draft, after)
        if last is not None:
            weights = _fold(draft, draft.nodes[i].name, conv, *norm)
            draft.drop(i)
            draft.drop(after)
            draft.put(last, "conv2d", convolve, (conv.x, *weights, *conv[3:]))


def _result_of_norm(draft: Draft, norm: int) -> Optional[int]:
    """The node itself, or where it gives several results the one that takes the first of them."""
    if draft.nodes[norm].call is _aten.batch_norm.default:
        return norm
    reader = draft.only_reader(norm)
    return reader if reader is not None and draft.nodes[reader].args[1:] == (0,) else None


def _fold(
    draft: Draft, name: str, conv: Convolution, norm: Sequence[Any], epsilon: float
) -> List[Ref]:
    weight, bias = draft.value(conv.weight), draft.value(conv.bias)
    statistics = [draft.value(r) for r in norm]

    def make(part: int) -> torch.Tensor:
        return _folded(weight, bias, statistics, epsilon)[part]

    return [
        draft.add_fold(f"{name}_folded_weight", lambda: make(0)),
        draft.add_fold(f"{name}_folded_bias", lambda: make(1)),
    ]


def _lay_out(draft: Draft) -> None:
    """Channels last for every convolution, and views that copy where they must."""
    for i in draft.alive():
        conv = convolution(draft, i)
        if conv is not None:
            made = conv._replace(weight=_laid_out(draft, conv.weight), layout=True)
            draft.put(i, "conv2d", convolve, made)
        elif draft.nodes[i].call is _aten.view.default:
            draft.put(i, "reshape", _aten.reshape.default, draft.nodes[i].args)


def _laid_out(draft: Draft, weight: Ref) -> Ref:
    value, name = draft.value(weight), f"{draft.nodes[weight.node].name}_channels_last"
    return draft.add_fold(name, lambda: value.clone(memory_format=torch.channels_last))


# ---------------------------------------------------------------------- kernels of a GPU


def _fuse_activations(draft: Draft, grouped: bool) -> None:
    """Convolutions, grouped ones too or not, and linear layers with what follows, where a kernel
    does both. Convolutions of single channels have kernels of their own."""
    for i in draft.alive():
        conv = convolution(draft, i)
        if conv is not None and conv.bias is not None and _fits(draft, conv, grouped):
            _fuse_convolution(draft, i, conv)
        elif draft.nodes[i].call is _aten.linear.default:
            _fuse_linear(draft, i)


def _fits(draft: Draft, conv: Convolution, grouped: bool) -> bool:
    return conv.groups == 1 or (grouped and draft.value(conv.weight).shape[1] > 1)


def _fuse_convolution(draft: Draft, i: int, conv: Convolution) -> None:
    after = draft.only_reader(i)
    if after is None:
        return
    if draft.nodes[after].type == "relu":
        _put_if_it_runs(draft, (i, after), _convolve_relu, conv)
    elif draft.nodes[after].call is _aten.add.Tensor and not draft.nodes[after].kwargs:
        others = [x for x in draft.nodes[after].args if x != Ref(i)]
        last = draft.only_reader(after)
        if last is None or draft.nodes[last].type != "relu" or len(others) != 1:
            return
        z = fill(others[0], draft.known)
        if isinstance(z, torch.Tensor) and z.shape == draft.known[i].shape:
            _put_if_it_runs(draft, (i, after, last), _convolve_add_relu, (others[0], *conv))


def _put_if_it_runs(
    draft: Draft, chain: Sequence[int], call: Callable[..., Any], args: Sequence[Any]
) -> None:
    """The libraries have no kernel for some shapes, and say so when they are called."""
    try:
        with torch.no_grad():
            call(*fill(tuple(args), draft.known))
    except RuntimeError:
        return
    kind = draft.nodes[chain[0]].type
    for i in chain:
        draft.drop(i)
    draft.put(chain[-1], kind, call, args)


def _linear_activated(x: Any, weight: Any, bias: Any, gelu: bool) -> Any:
    flat = x.reshape(-1, x.shape[-1])
    made = _aten._addmm_activation.default(bias, flat, weight.t(), use_gelu=gelu)
    return made.view(*x.shape[:-1], made.shape[-1])


def _fuse_linear(draft: Draft, i: int) -> None:
    after, args = draft.only_reader(i), draft.nodes[i].args
    if after is None or len(args) != 3 or args[2] is None:
        return
    node, dtype = draft.nodes[after], draft.known[i].dtype
    # The kernel has the form of GELU by tanh, which differs by less than half precision rounds.
    near = node.kwargs == {"approximate": "tanh"} or dtype in (torch.float16, torch.bfloat16)
    if node.type == "relu" or (node.type == "gelu" and near):
        _put_if_it_runs(draft, (i, after), _linear_activated, (*args, node.type == "gelu"))


def _split_biases(draft: Draft) -> None:
    """The bias of a convolution is a kernel of its own there. It may join other pointwise ops."""
    for i in draft.alive():
        conv = convolution(draft, i)
        if conv is None or conv.bias is None or conv.groups > 1:
            continue
        name = draft.nodes[i].name
        shift = draft.add_constant(f"{name}_bias", draft.value(conv.bias).view(1, -1, 1, 1))
        without = conv._replace(bias=None)
        alone = draft.add_op(f"{name}_only", "conv2d", convolve, without, draft.known[i])
        draft.put(i, "add", _aten.add.Tensor, (alone, shift))
