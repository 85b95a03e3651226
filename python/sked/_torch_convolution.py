"""Convolutions of images with constant weights, in a program that is rewritten."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import torch

from ._torch_draft import Draft
from ._torch_program import Ref

_aten: Any = torch.ops.aten  # its members have no types


class Convolution(NamedTuple):
    """What a node that convolves images with constant weights is called with."""

    x: Ref
    weight: Ref
    bias: Optional[Ref]
    layout: bool
    stride: Sequence[int] = (1, 1)
    padding: Sequence[int] = (0, 0)
    dilation: Sequence[int] = (1, 1)
    groups: int = 1


def channels_last(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def convolve(x: Any, weight: Any, bias: Any, layout: bool, *more: Any) -> Any:
    """A convolution, of an image with its channels last if `layout` says so."""
    return _aten.conv2d.default(channels_last(x) if layout else x, weight, bias, *more)


def convolution(draft: Draft, i: int) -> Optional[Convolution]:
    """The arguments of a convolution, of ATen or of this file; None: it is something else."""
    node = draft.nodes[i]
    args = list(node.args)
    if node.kind != "op" or node.kwargs:
        return None
    if node.call is convolve:
        return Convolution(*args)
    if node.call is _aten.conv2d.default:
        args += [None] * (3 - len(args))
    elif node.call is _aten.convolution.default and not args[6] and len(args[3]) == 2:
        del args[6:8]  # not transposed, so without padding of the output
    else:
        return None
    x, weight, bias, *more = args
    return Convolution(x, weight, bias, False, *more) if draft.are_constant(args[1:3]) else None
