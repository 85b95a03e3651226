"""ExecuTorch programs in less memory: a better order of their nodes, and tensors packed closer.

    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass
    import sked.executorch

    planning = MemoryPlanningPass(memory_planning_algo=sked.executorch.memory_planning)
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
"""

from __future__ import annotations

import operator
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch
from executorch.exir import memory
from executorch.exir.memory_planning import (
    MemoryAlgoResult,
    get_node_tensor_specs,
    greedy,
    update_all_tensors_lifetime,
)
from executorch.exir.tensor import TensorSpec
from torch.utils._pytree import tree_flatten

from ._errors import InfeasibleError
from ._graph import Graph
from ._pack import pack
from ._run import schedule
from ._schedule import Schedule

__all__ = ["memory_planning"]

# Every element of the result is written after all of an input of the same shape that it needs.
_ELEMENTWISE = frozenset(
    "abs add clamp div elu exp gelu hardtanh leaky_relu maximum minimum mul neg relu rsqrt sigmoid "
    "sqrt sub tanh".split()
)
# Bisections of the peak: the last is about a millionth of it.
_STEPS = 20


def memory_planning(
    alignment: int,
    specs: Iterable[TensorSpec],
    graph_module: torch.fx.GraphModule,
    graph_signature: Any,
    extra_padding: int = 0,
    *,
    reorder: bool = True,
    inplace: bool = False,
    time_limit: Optional[float] = 5.0,
    seed: int = 0,
    threads: int = 1,
    iterations: int = 0,
) -> List[int]:
    """Plans the memory of a graph module; the `memory_planning_algo` of a MemoryPlanningPass.

    No memory gets larger than ExecuTorch's `greedy` makes it in the given order: where it would,
    greedy's offsets are kept, or the order is.

    Args:
        alignment: that all offsets are multiples of.
        specs: the tensors to plan, with their lifetimes.
        graph_module: whose nodes they belong to.
        graph_signature: of the exported program.
        extra_padding: bytes to add to every memory.
        reorder: may nodes change places? False: offsets alone are sought. functools.partial sets
            this and what follows.
        inplace: may elementwise ops write over an input that nothing else reads? The kernels that
            come with ExecuTorch can; kernels of your own must.
        time_limit: seconds of each search: one for an order, up to three for every memory. None:
            no limit.
        seed: of the random numbers.
        threads: to work with.
        iterations: of each search; 0: no limit. Unlike time it gives the same result on every run.

    Returns:
        The bytes of every memory, by mem_id.
    """
    search = dict(time_limit=time_limit, seed=seed, threads=threads, iterations=iterations)
    planned, given = list(specs), list(graph_module.graph.nodes)

    def tried(order: Sequence[torch.fx.Node]) -> MemoryAlgoResult:
        _arrange(graph_module, graph_signature, order)
        return _offsets(alignment, planned, graph_module, extra_padding, search)

    best = _offsets(alignment, planned, graph_module, extra_padding, search)
    pairs = _overwrites(given, set(planned)) if inplace else []
    if pairs:
        _share(pairs)
        found = tried(given)
        if _no_larger(found, best):
            best = found
        else:
            _share([(spec, None) for spec, _ in pairs])
            _arrange(graph_module, graph_signature, given)
    if reorder and _may_move(graph_module):
        found = tried(_order(given, planned, search))
        if _no_larger(found, best) and found.bufsizes != best.bufsizes:
            best = found
        else:
            _arrange(graph_module, graph_signature, given)
    for spec, place in best.spec_dict.items():
        spec.mem_id, spec.mem_obj_id = place.mem_id, place.mem_obj_id
        spec.mem_offset = place.mem_offset
    return list(best.bufsizes)


def _no_larger(a: MemoryAlgoResult, b: MemoryAlgoResult) -> bool:
    return all(map(operator.le, a.bufsizes, b.bufsizes))


# ---------------------------------------------------------------------- offsets


def _root(spec: TensorSpec) -> Tuple[TensorSpec, int]:
    """The tensor whose storage this one lies in, and where it begins there."""
    shift = 0
    while getattr(spec, "storage_base", None) is not None:
        shift, spec = shift + spec.storage_base_offset, spec.storage_base
    return spec, shift


def _overwrites(
    nodes: Sequence[torch.fx.Node], planned: Set[TensorSpec]
) -> List[Tuple[TensorSpec, TensorSpec]]:
    """Results of elementwise ops, each with an input of its kind that nothing else reads."""
    pairs = []
    for node in nodes:
        out = node.meta.get("spec")
        if _is_elementwise(node) and out in planned and out.storage_base is None:
            like = [
                x.meta["spec"]
                for x in node.args
                if isinstance(x, torch.fx.Node)
                and isinstance(x.target, torch._ops.OpOverload)
                and len(x.users) == 1
                and _is_pure(x)
                and x.meta.get("spec") in planned
                and _kind(x.meta["spec"]) == _kind(out)
            ]
            pairs += [(out, like[0])] if like else []
    return pairs


def _is_elementwise(node: torch.fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload) or not _is_pure(node):
        return False
    library, name = node.target._schema.name.split("::")
    return library == "aten" and name in _ELEMENTWISE


def _kind(spec: TensorSpec) -> Any:
    return spec.dtype, spec.shape, tuple(spec.dim_order), spec.mem_id, spec.shape_dynamism


def _share(pairs: Iterable[Tuple[TensorSpec, Optional[TensorSpec]]]) -> None:
    for spec, base in pairs:
        spec.storage_base, spec.storage_base_offset = base, 0


def _offsets(
    alignment: int,
    specs: List[TensorSpec],
    graph_module: torch.fx.GraphModule,
    padding: int,
    search: Dict[str, Any],
) -> MemoryAlgoResult:
    """Greedy's plan, with offsets of our own in every memory that they make smaller."""
    plan = greedy(alignment, specs, graph_module, None, padding)
    inner = getattr(graph_module, "input_mem_buffer_sizes", None) or []
    for mem_id in sorted({place.mem_id for place in plan.spec_dict.values()}):
        here = [s for s in specs if plan.spec_dict[s].mem_id == mem_id]
        roots = [s for s in here if _root(s)[0] is s]
        packing = pack(
            lower=[s.lifetime[0] for s in roots],
            upper=[s.lifetime[1] + 1 for s in roots],
            size=[s.allocated_memory for s in roots],
            align=alignment,
            **search,
        )
        # What submodules (cond, map, ...) use lies below: their results stay there after the call.
        first = inner[mem_id] if mem_id < len(inner) else 0
        size = first + packing.height + padding
        if size < plan.bufsizes[mem_id]:
            plan.bufsizes[mem_id] = size
            offset = dict(zip(roots, packing.offsets.tolist()))
            for spec in here:
                root, shift = _root(spec)
                place = plan.spec_dict[spec]
                place.mem_offset, place.mem_obj_id = first + offset[root] + shift, 0
    return plan


# ---------------------------------------------------------------------- order


def _may_move(graph_module: torch.fx.GraphModule) -> bool:
    """Planning is asked for device by device, and the first of them could not undo its order."""
    specs = [s for node in graph_module.graph.nodes for s in get_node_tensor_specs(node)]
    return len({(getattr(s, "device", 0), getattr(s, "device_index", 0)) for s in specs}) <= 1


def _is_own_alloc(node: torch.fx.Node) -> bool:
    """Is this the memory for the result of one node? It moves with that node."""
    return node.target is memory.alloc and len(node.users) == 1


def _is_pure(node: torch.fx.Node) -> bool:
    """Do only the values that it reads say where it may stand?"""
    if node.op != "call_function":
        return node.op in ("placeholder", "get_attr")
    if not isinstance(node.target, torch._ops.OpOverload):
        known = node.target in (memory.alloc, memory.view)
        return known or getattr(node.target, "__module__", "") in ("_operator", "math")
    written = [
        a
        for a in node.target._schema.arguments
        if a.alias_info is not None and a.alias_info.is_write
    ]
    outs = torch.fx.node.map_arg([node.kwargs.get(a.name) for a in written], _is_own_alloc)
    return (
        torch.Tag.nondeterministic_seeded not in node.target.tags
        and all(a.is_out for a in written)
        and all(out is not False for out in tree_flatten(outs)[0])
    )


class _Draft:
    """Nodes as ops of a graph to schedule. What must stay in its place comes after all before it
    and before all after it: the inputs, the output, and what is not pure.

    Attributes:
        nodes: of every op; None: it only stands between what must not change places.
    """

    def __init__(self, nodes: Sequence[torch.fx.Node], specs: List[TensorSpec]) -> None:
        self.graph = Graph("executorch")
        self.nodes: List[Optional[torch.fx.Node]] = []
        self._sinks: Set[int] = set()
        self._maker: Dict[TensorSpec, int] = {}
        self._op: Dict[torch.fx.Node, int] = {}
        self._size = {s: s.allocated_memory for s in specs if _root(s)[0] is s}
        last = len(nodes) - 1
        self._kept = [s for s in self._size if s.lifetime[1] == last]
        self._gate: Optional[int] = None
        for node in nodes:
            if not _is_own_alloc(node):
                self._take(node)

    def _add(self, node: Optional[torch.fx.Node], size: int, before: Set[int]) -> int:
        op: int = self.graph.add_op(f"op{len(self.nodes)}", 1 if node else 0, memory=size)
        firsts = sorted(before)
        for first in firsts:
            self.graph.add_edge(first, op)
        self._sinks.difference_update(firsts)
        self._sinks.add(op)
        self.nodes.append(node)
        return op

    def _take(self, node: torch.fx.Node) -> None:
        if self._gate is None and node.op != "placeholder":
            self._gate = self._add(None, 0, self._sinks)
        near = [node, *node.all_input_nodes]
        storages = {_root(s)[0] for x in near for s in get_node_tensor_specs(x)}
        before = {self._maker[s] for s in storages if s in self._maker}
        before |= {self._op[x] for x in near if x in self._op}
        if self._gate is not None:
            before.add(self._gate)
        if node.op == "output":
            before |= {self._maker[s] for s in self._kept if s in self._maker}
        pure = _is_pure(node)
        made = storages - self._maker.keys()
        size = sum(self._size.get(s, 0) for s in made)
        op = self._add(node, size, before if pure else before | self._sinks)
        self._maker.update((s, op) for s in made)
        self._op[node] = op
        if not pure:
            self._gate = self._add(None, 0, {op})


def _order(
    nodes: Sequence[torch.fx.Node], specs: List[TensorSpec], search: Dict[str, Any]
) -> List[torch.fx.Node]:
    """The nodes in an order of low peak: the least limit in memory that a schedule was found for."""
    draft = _Draft(nodes, specs)

    def found(limit: float) -> Schedule:
        seconds = search["time_limit"]
        part = {**search, "time_limit": None if seconds is None else seconds / _STEPS}
        return schedule(draft.graph, 1, memory_limit=limit, lifetime="finish", **part).schedule

    low, best = 0.0, found(float(draft.graph.memory.sum()))
    for _ in range(_STEPS):
        high = best.metrics()["peak_memory"]
        try:
            best = found((low + high) / 2)
        except InfeasibleError:
            low = (low + high) / 2
    inputs = [node for node in nodes if node.op == "placeholder"]  # in the order of the call
    placed = [draft.nodes[op] for op in best.order]
    return inputs + [
        x
        for node in placed
        if node is not None and node.op != "placeholder"
        for x in (*filter(_is_own_alloc, node.all_input_nodes), node)
    ]


def _arrange(
    graph_module: torch.fx.GraphModule, graph_signature: Any, order: Sequence[torch.fx.Node]
) -> None:
    """Puts the nodes in this order, and the lifetimes right."""
    for spec in update_all_tensors_lifetime(graph_module, graph_signature):
        spec.lifetime = [None, None]
    for node in order[:-1]:
        order[-1].prepend(node)
    graph_module.recompile()
    update_all_tensors_lifetime(graph_module, graph_signature)
