"""A PyTorch module as a graph of ops that can run in any order its edges allow."""

from __future__ import annotations

import copy
import operator
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import torch
import torch.fx
from torch.utils import _pytree as pytree

# Ops that keep a device busy. The others are light: in groups they go with a producer or consumer.
_HEAVY = (
    "conv",
    "mm",
    "linear",
    "matmul",
    "attention",
    "lstm",
    "gru",
    "rnn",
    "einsum",
    "pool",
    "dot",
)
# Ops that only look at the memory of others.
_VIEWS = frozenset(
    "view reshape permute transpose t expand squeeze unsqueeze select slice split "
    "split_with_sizes chunk unbind getitem detach alias as_strided flatten unflatten narrow".split()
)
# Some of them copy where they must.
_COPIES = frozenset(["reshape", "flatten", "unflatten"])
# So many light ops, views not counted, may go with what reads them; so many are in it then.
_FEW, _MANY = 3, 6
# A first estimate of durations, as for ONNX models: FLOP and bytes per microsecond.
_FLOP, _BYTES = 100e3, 10e3

# How nodes become ops. True: light ops go with a producer or consumer; "tails": with a producer
# alone; False: only views do.
Group = Union[bool, str]

# Bytes of the results of every op, and of every edge.
Sizes = Tuple[List[int], Dict[Tuple[int, int], int]]


class Unsupported(ValueError):
    """The module cannot run by a schedule; the message says why."""


class Ref(NamedTuple):
    """In the arguments of a node: the result of that node."""

    node: int


class Node(NamedTuple):
    """A constant, an input, a view of inputs, or an op: a call with references to other nodes."""

    name: str
    kind: str
    type: str
    call: Optional[Callable[..., Any]] = None
    args: Any = ()
    kwargs: Any = {}
    inputs: Tuple[int, ...] = ()


class Fold(NamedTuple):
    """A constant that was computed from weights of the module: its node, and what makes it anew."""

    node: int
    make: Callable[[], torch.Tensor]


def tensors_of(value: Any) -> List[torch.Tensor]:
    """All tensors in a nested value."""
    return [x for x in pytree.tree_flatten(value)[0] if isinstance(x, torch.Tensor)]


def widened(value: Any) -> Any:
    """A tensor of floating point numbers in double precision; all else as it is."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def _bytes(value: Any) -> int:
    return sum(x.numel() * x.element_size() for x in tensors_of(value))


def _address(x: torch.Tensor) -> int:
    return int(x.untyped_storage().data_ptr())


def fill(template: Any, values: Sequence[Any]) -> Any:
    """The template with results in place of its references."""
    if isinstance(template, Ref):
        return values[template.node]
    if isinstance(template, (list, tuple)):
        return type(template)([fill(x, values) for x in template])
    if isinstance(template, dict):
        return {k: fill(x, values) for k, x in template.items()}
    if isinstance(template, slice):
        return slice(*(fill(x, values) for x in (template.start, template.stop, template.step)))
    return template


# ---------------------------------------------------------------------- nodes of torch.fx


def _base_name(node: torch.fx.Node, owner: torch.nn.Module) -> str:
    """conv2d for aten.conv2d.default, torch.conv2d, torch.nn.Conv2d and a method of that name."""
    if node.op == "call_method":
        return str(node.target)
    if node.op == "call_module":
        return type(owner.get_submodule(str(node.target))).__name__.lower()
    schema = getattr(node.target, "_schema", None)
    name = schema.name if schema is not None else getattr(node.target, "__name__", str(node.target))
    return str(name).split("::")[-1]


def _writes(node: torch.fx.Node, owner: torch.nn.Module) -> bool:
    """Does the op write to one of its inputs?"""
    if node.op not in ("call_function", "call_method", "call_module"):
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is not None:
        return bool(schema.is_mutable)
    if node.op == "call_module":
        return bool(getattr(owner.get_submodule(str(node.target)), "inplace", False))
    name = _base_name(node, owner)
    in_place = name.endswith("_") and not name.endswith("__")
    assigns = node.op == "call_function" and name in ("iadd", "isub", "imul", "itruediv", "setitem")
    return (
        in_place
        or assigns
        or bool(node.kwargs.get("inplace"))
        or node.kwargs.get("out") is not None
    )


def _method(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    return call


def _callee(node: torch.fx.Node, owner: torch.nn.Module) -> Callable[..., Any]:
    if node.op == "call_method":
        return _method(str(node.target))
    callee: Any = node.target
    if node.op == "call_module":
        callee = owner.get_submodule(str(node.target))
    if not callable(callee):
        raise Unsupported(f"node {node.name} of the graph calls {callee!r}, which is no function")
    function: Callable[..., Any] = callee
    return function


def _attribute(owner: torch.nn.Module, path: str) -> Any:
    value: Any = owner
    for part in path.split("."):
        value = getattr(value, part)
    return value


class _Reader:
    """Nodes of a torch.fx graph, with placeholders that stand for constants already known."""

    def __init__(
        self, graph: torch.fx.Graph, owner: torch.nn.Module, known: Dict[str, Any]
    ) -> None:
        self.nodes: List[Node] = []
        self.values: List[Any] = []
        self.inputs: List[int] = []
        self.static: List[Any] = []
        self.output: Any = None
        self._index: Dict[torch.fx.Node, int] = {}
        for node in graph.nodes:
            self._add(node, owner, known)

    def _refer(self, argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda n: Ref(self._index[n]))

    def _append(self, node: torch.fx.Node, made: Node, value: Any = None) -> None:
        self._index[node] = len(self.nodes)
        self.nodes.append(made)
        self.values.append(value)
        self.static.append(node.meta.get("val"))

    def _add(self, node: torch.fx.Node, owner: torch.nn.Module, known: Dict[str, Any]) -> None:
        if node.op == "output":
            self.output = self._refer(node.args[0])
        elif node.op == "placeholder" and node.name not in known:
            self.inputs.append(len(self.nodes))
            self._append(node, Node(node.name, "input", "input"))
        elif node.op in ("placeholder", "get_attr"):
            value = (
                known[node.name]
                if node.op == "placeholder"
                else _attribute(owner, str(node.target))
            )
            self._append(node, Node(node.name, "constant", "constant"), value)
        else:
            inputs = tuple(self._index[n] for n in node.all_input_nodes)
            name = _base_name(node, owner)
            args, kwargs = self._refer(tuple(node.args)), self._refer(dict(node.kwargs))
            made = Node(node.name, "op", name, _callee(node, owner), args, kwargs, inputs)
            value = self._view_of_constants(made)
            if value is not None:
                made = made._replace(kind="constant")
            elif self._is_view_of_inputs(made):
                made = made._replace(kind="view")
            self._append(node, made, value)

    def _is_view_of_inputs(self, node: Node) -> bool:
        """An op of ATen that never copies, or one that picks from the list that such an op made."""
        if not node.inputs or any(self.nodes[i].kind == "op" for i in node.inputs):
            return False
        if node.call is operator.getitem:
            return self.nodes[node.inputs[0]].kind == "view" and len(node.inputs) == 1
        return hasattr(node.call, "_schema") and node.type in _VIEWS - _COPIES

    def _view_of_constants(self, node: Node) -> Any:
        """A view of a weight is a constant that follows the weight where it changes; else None."""
        if node.type not in _VIEWS or any(self.nodes[i].kind != "constant" for i in node.inputs):
            return None
        with torch.no_grad():
            assert node.call is not None
            value = node.call(*fill(node.args, self.values), **fill(node.kwargs, self.values))
        given = {_address(x) for i in node.inputs for x in tensors_of(self.values[i])}
        return value if {_address(x) for x in tensors_of(value)} <= given else None


def _refuse_writes(graph: torch.fx.Graph, owner: torch.nn.Module, advice: str) -> None:
    for node in graph.nodes:
        if _writes(node, owner):
            raise Unsupported(
                f"op {node.name} ({_base_name(node, owner)}) writes to its input; {advice}"
            )


# ---------------------------------------------------------------------- groups


def _is_heavy(node: Node) -> bool:
    return any(word in node.type for word in _HEAVY)


class _Groups:
    """Nodes joined to ops. Only joins that leave the graph without a cycle are made:

    a node with its one producer, and a group with its one consumer.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.ops = [i for i, n in enumerate(nodes) if n.kind == "op"]
        self.of = {i: i for i in self.ops}
        self.members = {i: [i] for i in self.ops}
        self.readers: Dict[int, List[int]] = {i: [] for i in self.ops}
        for i in self.ops:
            for p in nodes[i].inputs:
                if p in self.readers:
                    self.readers[p].append(i)

    def _producers(self, node: int) -> Set[int]:
        return {self.of[p] for p in self.nodes[node].inputs if p in self.of}

    def consumers(self, group: int) -> Set[int]:
        return {self.of[r] for i in self.members[group] for r in self.readers[i]} - {group}

    def _join(self, group: int, into: int) -> None:
        for i in self.members.pop(group):
            self.of[i] = into
            self.members[into].append(i)

    def _join_producer(self, node: int, always: bool) -> None:
        producers = self._producers(node)
        if len(producers) != 1:
            return
        (producer,) = producers
        if always or self.consumers(producer) == {self.of[node]}:
            self._join(self.of[node], producer)

    def _busy(self, group: int) -> List[Node]:
        return [self.nodes[i] for i in self.members[group] if self.nodes[i].type not in _VIEWS]

    def _join_consumer(self, group: int) -> None:
        busy = self._busy(group)
        if len(busy) > _FEW or any(map(_is_heavy, busy)):
            return
        consumers = self.consumers(group)
        if len(consumers) == 1:
            (consumer,) = consumers
            if len(busy) + len(self._busy(consumer)) <= _MANY:
                self._join(group, consumer)

    def join(self, group: Group) -> None:
        """Views with their producers, and light ops as `group` says."""
        for i in self.ops:
            if self.nodes[i].type in _VIEWS:
                self._join_producer(i, always=True)
            elif group and not _is_heavy(self.nodes[i]):
                self._join_producer(i, always=False)
        for i in reversed(self.ops if group is True else []):
            self._join_consumer(self.of[i])

    def ordered(self) -> List[List[int]]:
        """The members of each group, groups after those that they read."""
        missing = {g: set() for g in self.members}  # type: Dict[int, Set[int]]
        for g in self.members:
            for c in self.consumers(g):
                missing[c].add(g)
        order: List[List[int]] = []
        ready = sorted(g for g in missing if not missing[g])
        while ready:
            g = ready.pop(0)
            order.append(sorted(self.members[g]))
            for c in sorted(self.consumers(g)):
                missing[c].discard(g)
                if not missing[c]:
                    ready.append(c)
        return order


# ---------------------------------------------------------------------- memory


class Value(NamedTuple):
    """Memory that may be used again: nodes that share it, the op that makes it, its users."""

    nodes: Tuple[int, ...]
    maker: int
    readers: Tuple[int, ...]


def _shared(values: Sequence[Any], start: Iterable[int]) -> List[Set[int]]:
    """Sets of nodes whose results share memory, directly or through others."""
    root: Dict[int, int] = {i: i for i in start}

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    first: Dict[int, int] = {}
    for i in root:
        for address in {_address(x) for x in tensors_of(values[i])} - {0}:  # 0: it has no elements
            root[find(i)] = find(first.setdefault(address, i))
    sets: Dict[int, Set[int]] = {}
    for i in root:
        sets.setdefault(find(i), set()).add(i)
    return list(sets.values())


# ---------------------------------------------------------------------- the program


class Program:
    """A module whose ops run one by one.

    Attributes:
        name: of the module.
        ops: for every op its nodes.
        names, types: of every op.
        preds: for every op the ops whose results it reads.
        folds: constants that were computed from weights of the module.
    """

    def __init__(
        self,
        name: str,
        reader: _Reader,
        group: Group,
        flatten: Callable[[Sequence[Any], Dict[str, Any]], List[Any]],
        unflatten: Callable[[Any], Any],
    ) -> None:
        self.name = name
        self.nodes = reader.nodes
        self.constants = reader.values
        self._static = reader.static
        self.inputs = reader.inputs
        self._views = [i for i, n in enumerate(self.nodes) if n.kind == "view"]
        self.output = reader.output
        self.folds: List[Fold] = []
        self.flatten = flatten
        self._unflatten = unflatten
        self._make_ops(group)

    def _make_ops(self, group: Group) -> None:
        if group not in (True, "tails", False):
            raise ValueError(f"group is True, 'tails' or False, not {group!r}")
        groups = _Groups(self.nodes)
        groups.join(group)
        self.ops = groups.ordered()
        self._op_of = {i: k for k, members in enumerate(self.ops) for i in members}
        main = [self._main(members) for members in self.ops]
        self.names = [self.nodes[i].name for i in main]
        self.types = [self.nodes[i].type for i in main]
        self.preds = [self._read_by(k) for k in range(len(self.ops))]

    def regrouped(self, group: Group) -> "Program":
        """The same nodes, joined to ops in another way."""
        other = copy.copy(self)
        other._make_ops(group)
        return other

    def rewritten(
        self,
        nodes: List[Node],
        constants: List[Any],
        inputs: List[int],
        output: Any,
        folds: List[Fold],
        group: Group,
    ) -> "Program":
        """Other nodes that give the same result for the same inputs."""
        other = copy.copy(self)
        other.nodes, other.constants, other.inputs = nodes, constants, inputs
        other.output, other.folds = output, folds
        other._static = [None] * len(nodes)
        other._views = [i for i, n in enumerate(nodes) if n.kind == "view"]
        other._make_ops(group)
        return other

    def widened(self) -> "Program":
        """The same in double precision."""
        other = copy.copy(self)
        other.constants = [widened(x) for x in self.constants]
        return other

    def _main(self, members: List[int]) -> int:
        """The node that an op is called after: the first heavy one, else the last that computes."""
        heavy = [i for i in members if _is_heavy(self.nodes[i])]
        busy = [i for i in members if self.nodes[i].type not in _VIEWS]
        return heavy[0] if heavy else (busy or members)[-1]

    def _read_by(self, op: int) -> List[int]:
        read = {
            self._op_of[p] for i in self.ops[op] for p in self.nodes[i].inputs if p in self._op_of
        }
        return sorted(read - {op})

    # -- where it comes from

    @classmethod
    def from_module(
        cls,
        module: Any,
        args: Sequence[Any],
        kwargs: Optional[Dict[str, Any]] = None,
        group: Group = True,
    ) -> "Program":
        """An ExportedProgram, a torch.fx.GraphModule, or a module, which torch.export traces.

        Args:
            group: True: light ops go with a producer or consumer; "tails": with a producer alone;
                False: only views do.

        Raises:
            Unsupported: the module changes its buffers or inputs.
        """
        if hasattr(module, "graph_signature"):
            return cls.from_exported(module, group)
        if isinstance(module, torch.fx.GraphModule):
            return cls._from_graph_module(module, group)
        with torch.no_grad():
            exported = torch.export.export(module, tuple(args), dict(kwargs or {}), strict=False)
        return cls.from_exported(exported, group, type(module).__name__)

    @classmethod
    def from_exported(cls, exported: Any, group: Group = True, name: str = "torch") -> "Program":
        """A torch.export.ExportedProgram."""
        module = torch.nn.Module()
        if any(_writes(node, module) for node in exported.graph.nodes):
            exported = exported.run_decompositions({})
        signature = exported.graph_signature
        written = list(signature.buffers_to_mutate.values())
        written += list(getattr(signature, "user_inputs_to_mutate", {}).values())
        if written:
            raise Unsupported(
                f"the module changes {', '.join(map(str, written[:3]))} when it runs; "
                "call module.eval() first"
            )
        _refuse_writes(exported.graph, module, "this op has no functional form")
        known = cls._constants(exported)
        reader = _Reader(exported.graph, exported.graph_module, known)
        spec = exported.call_spec

        def flatten(args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
            leaves, given = pytree.tree_flatten((tuple(args), dict(kwargs)))
            if given != spec.in_spec:
                raise ValueError(f"the inputs have the structure {given}, not {spec.in_spec}")
            return list(leaves)

        def unflatten(output: Any) -> Any:
            return pytree.tree_unflatten(list(output), spec.out_spec)

        return cls(name, reader, group, flatten, unflatten)

    @staticmethod
    def _constants(exported: Any) -> Dict[str, Any]:
        signature = exported.graph_signature
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        names.update(getattr(signature, "inputs_to_lifted_tensor_constants", {}))
        names.update(getattr(signature, "inputs_to_lifted_custom_objs", {}))
        stored = {**exported.constants, **exported.state_dict}
        return {placeholder: stored[name] for placeholder, name in names.items()}

    @classmethod
    def _from_graph_module(cls, module: torch.fx.GraphModule, group: Group) -> "Program":
        _refuse_writes(
            module.graph, module, "trace it with torch.export, which removes such writes"
        )
        reader = _Reader(module.graph, module, {})
        count = len(reader.inputs)

        def flatten(args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
            if len(args) != count or kwargs:
                raise ValueError(f"the module takes {count} inputs by position, not {len(args)}")
            return list(args)

        return cls(type(module).__name__, reader, group, flatten, lambda output: output)

    # -- running

    def begin(self, inputs: Sequence[Any]) -> List[Any]:
        """Room for the results of all nodes, with constants, inputs (`flatten`) and their views."""
        values = list(self.constants)
        for node, x in zip(self.inputs, inputs):
            values[node] = x
        with torch.no_grad():
            for i in self._views:
                self._call(i, values)
        return values

    def _call(self, i: int, values: List[Any]) -> None:
        node = self.nodes[i]
        assert node.call is not None
        values[i] = node.call(*fill(node.args, values), **fill(node.kwargs, values))

    def run_op(self, op: int, values: List[Any]) -> None:
        """Runs one op; its producers have run."""
        for i in self.ops[op]:
            self._call(i, values)

    def refresh(self) -> None:
        """Computes folded weights anew from those of the module, in place."""
        with torch.no_grad():
            for fold in self.folds:
                self.constants[fold.node].copy_(fold.make())

    def result(self, values: Sequence[Any]) -> Any:
        """The result of the module once all ops have run."""
        return self._unflatten(fill(self.output, values))

    def run(self, inputs: Sequence[Any]) -> List[Any]:
        """Runs all ops one after the other and keeps what they made."""
        values = self.begin(inputs)
        for op in range(len(self.ops)):
            self.run_op(op, values)
        return values

    def outputs(self, inputs: Sequence[Any]) -> Any:
        """The result of the module for these inputs."""
        return self.result(self.run(inputs))

    # -- memory and durations

    def memory(self, values: Sequence[Any]) -> List[Value]:
        """What may be freed while the ops run, from the results of a run that kept all of them.

        Memory of inputs, constants and results of the module is not in it, nor memory that several
        ops made.
        """
        kept = {ref.node for ref in references(self.output)}
        found = []
        for nodes in _shared(values, range(len(self.nodes))):
            if nodes & kept or any(self.nodes[i].kind != "op" for i in nodes):
                continue
            touched = {self._op_of[i] for i in nodes}
            touched |= {
                self._op_of[j] for j in self._op_of for i in self.nodes[j].inputs if i in nodes
            }
            makers = {self._op_of[i] for i in nodes if not self._looks_at(i, nodes)}
            if len(makers) == 1:
                maker = makers.pop()
                found.append(Value(tuple(sorted(nodes)), maker, tuple(sorted(touched - {maker}))))
        return found

    def _looks_at(self, node: int, nodes: Set[int]) -> bool:
        return any(i in nodes for i in self.nodes[node].inputs)

    def sizes(self, values: Optional[Sequence[Any]] = None) -> Sizes:
        """Bytes of the results of every op that others read, and of every edge."""
        known = self._static if values is None else values
        edges: Dict[Tuple[int, int], Set[int]] = {}
        for i, op in self._op_of.items():
            for p in self.nodes[i].inputs:
                if p in self._op_of and self._op_of[p] != op:
                    edges.setdefault((self._op_of[p], op), set()).add(p)
        leaving: List[Set[int]] = [set() for _ in self.ops]
        for ref in references(self.output):
            if ref.node in self._op_of:
                leaving[self._op_of[ref.node]].add(ref.node)
        for (maker, _), nodes in edges.items():
            leaving[maker] |= nodes
        bytes_of = [_bytes(x) for x in known]
        memory = [sum(bytes_of[i] for i in nodes) for nodes in leaving]
        return memory, {edge: sum(bytes_of[i] for i in nodes) for edge, nodes in edges.items()}

    def is_static(self) -> bool:
        """Does the graph itself say how large all results are?"""
        return all(x is not None for x, n in zip(self._static, self.nodes) if n.kind != "constant")

    def estimates(self, values: Optional[Sequence[Any]] = None) -> List[float]:
        """Durations in microseconds by FLOP and bytes, as for ONNX models, on no machine."""
        known = self._static if values is None else values
        return [float(sum(self._estimate(i, known) for i in members)) for members in self.ops]

    def _estimate(self, node: int, known: Sequence[Any]) -> int:
        n = self.nodes[node]
        if n.type in _VIEWS:
            return 0
        moved = sum(_bytes(known[i]) for i in n.inputs) + _bytes(known[node])
        longest = max(_flop(n, known, node) / _FLOP, moved / _BYTES)
        return max(1, -int(-longest // 1))

    def graph_json(self, durations: Sequence[float], sizes: Sizes) -> Dict[str, Any]:
        """The graph in sked's own format (docs/formats/native.md)."""
        memory, edges = sizes
        ops = [
            {
                "name": self.names[k],
                "type": self.types[k],
                "duration": durations[k],
                "memory": memory[k],
            }
            for k in range(len(self.ops))
        ]
        lines = [{"from": a, "to": b, "bytes": size} for (a, b), size in sorted(edges.items())]
        return {"format": "sked-graph-1", "name": self.name, "ops": ops, "edges": lines}


def references(template: Any) -> List[Ref]:
    if isinstance(template, Ref):
        return [template]
    if isinstance(template, dict):
        template = list(template.values())
    if isinstance(template, (list, tuple)):
        return [ref for x in template for ref in references(x)]
    return []


def _flop(node: Node, static: Sequence[Any], number: int) -> float:
    """Of convolutions and products of matrices; of others one for each element."""
    results = sum(x.numel() for x in tensors_of(static[number]))
    shapes = [tuple(x.shape) for i in node.inputs for x in tensors_of(static[i])]
    if "conv" in node.type and len(shapes) > 1:
        inner = 1
        for size in shapes[1][1:]:
            inner *= size
        return 2.0 * float(results * inner)
    if any(word in node.type for word in ("mm", "linear", "matmul")) and len(shapes) > 1:
        operands = shapes[-2:] if "add" in node.type else shapes[:2]
        return 2.0 * float(results * operands[0][-1])
    return float(results)
