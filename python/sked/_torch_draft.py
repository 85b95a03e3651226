"""The nodes of a program while they are rewritten."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import torch

from ._torch_program import Fold, Node, Program, Ref, fill, references

# The kind of a node that has gone into another one.
_GONE = "gone"


class Draft:
    """Nodes that can be replaced, dropped and added.

    Args:
        program: stays as it is.
        known: what every node made in a run that kept everything.

    Attributes:
        nodes: those of the program, and new ones behind them until `sort` is called.
        values: of constants.
        known: results of the nodes by which shapes and dtypes are known.
        inputs, output, folds: as in `Program`.
    """

    def __init__(self, program: Program, known: Sequence[Any]) -> None:
        self.nodes: List[Node] = list(program.nodes)
        self.values: List[Any] = list(program.constants)
        self.known: List[Any] = list(known)
        self.inputs = program.inputs
        self.output = program.output
        self.folds: List[Fold] = list(program.folds)
        self._index()

    def _index(self) -> None:
        self.results = {ref.node for ref in references(self.output)}
        self._read: Dict[int, Set[int]] = {}
        for i in self.alive():
            self._reads(i)

    def _reads(self, i: int) -> None:
        for p in self.nodes[i].inputs:
            self._read.setdefault(p, set()).add(i)

    def alive(self) -> List[int]:
        """The ops of now."""
        return [i for i, n in enumerate(self.nodes) if n.kind == "op"]

    def readers(self, i: int) -> Set[int]:
        """Nodes that read a node; -1 stands for the result of the module."""
        return self._read.get(i, set()) | ({-1} if i in self.results else set())

    def only_reader(self, i: int) -> Optional[int]:
        """The node that reads this one, if there is just one."""
        found = self.readers(i)
        return next(iter(found)) if len(found) == 1 and -1 not in found else None

    def value(self, ref: Optional[Ref]) -> Any:
        """Of a constant."""
        return None if ref is None else self.values[ref.node]

    def are_constant(self, refs: Sequence[Optional[Ref]]) -> bool:
        return all(r is None or self.nodes[r.node].kind == "constant" for r in refs)

    def drop(self, i: int) -> None:
        """Nothing may read the node any more."""
        for p in self.nodes[i].inputs:
            self._read[p].discard(i)
        self.nodes[i] = self.nodes[i]._replace(kind=_GONE)

    def put(self, i: int, kind: str, call: Callable[..., Any], args: Sequence[Any]) -> None:
        """Another call in place of a node; it gives the same result."""
        self.replace(i, _op(self.nodes[i].name, kind, call, args))

    def replace(self, i: int, node: Node) -> None:
        """Another node in place of one; it gives the same result."""
        self.drop(i)
        self.nodes[i] = node
        self._reads(i)

    def add_op(
        self, name: str, kind: str, call: Callable[..., Any], args: Sequence[Any], known: Any
    ) -> Ref:
        """A new node; `known` is a result of its shape and dtype."""
        return self._append(_op(name, kind, call, args), None, known)

    def add_like(self, name: str, i: int, first: Ref, known: Any) -> Ref:
        """A new node that does with another first argument what a node does."""
        node = self.nodes[i]
        inputs = tuple(dict.fromkeys(ref.node for ref in [first, *references(node.args[1:])]))
        made = node._replace(name=name, args=(first, *node.args[1:]), inputs=inputs)
        return self._append(made, None, known)

    def add_constant(self, name: str, value: torch.Tensor) -> Ref:
        return self._append(Node(name, "constant", "constant"), value, value)

    def add_fold(self, name: str, make: Callable[[], torch.Tensor]) -> Ref:
        """A constant that is computed from others, now and whenever the program is refreshed."""
        ref = self.add_constant(name, make())
        self.folds.append(Fold(ref.node, make))
        return ref

    def _append(self, node: Node, value: Any, known: Any) -> Ref:
        self.nodes.append(node)
        self.values.append(value)
        self.known.append(known)
        self._reads(len(self.nodes) - 1)
        return Ref(len(self.nodes) - 1)

    def sort(self) -> None:
        """Numbers the nodes anew: each after those that it reads, without those that are gone."""
        order = self._order()
        refs: List[Any] = [None] * len(self.nodes)
        for k, i in enumerate(order):
            refs[i] = Ref(k)
        self.nodes = [renamed(self.nodes[i], refs) for i in order]
        self.values = [self.values[i] for i in order]
        self.known = [self.known[i] for i in order]
        self.inputs = [refs[i].node for i in self.inputs]
        self.folds = [Fold(refs[f.node].node, f.make) for f in self.folds]
        self.output = fill(self.output, refs)
        self._index()

    def _order(self) -> List[int]:
        order: Dict[int, None] = {}
        for start, node in enumerate(self.nodes):
            stack = [start] if node.kind != _GONE else []
            while stack:
                missing = [p for p in self.nodes[stack[-1]].inputs if p not in order]
                if missing:
                    stack += missing
                else:
                    order[stack.pop()] = None
        return list(order)


def _op(name: str, kind: str, call: Callable[..., Any], args: Sequence[Any]) -> Node:
    inputs = tuple(dict.fromkeys(ref.node for ref in references(list(args))))
    return Node(name, "op", kind, call, tuple(args), {}, inputs)


def renamed(node: Node, refs: Sequence[Ref]) -> Node:
    """The node with other references in place of those that it has."""
    inputs = tuple(dict.fromkeys(refs[p].node for p in node.inputs))
    return node._replace(args=fill(node.args, refs), kwargs=fill(node.kwargs, refs), inputs=inputs)
