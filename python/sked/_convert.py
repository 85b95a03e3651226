"""Graphs from and to other libraries, which are imported where they are used only."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ._check import keywords, needed, nearest
from ._errors import ArgumentError, c_text
from ._graph import Graph, attributes, pairs, parse, read
from ._native import lib

if TYPE_CHECKING:
    import networkx


def _number(name: str, value: float) -> Any:
    """As networkx users write it; what was not given is None."""
    if math.isnan(value):
        return None
    kind = lib.sked_attribute_find(c_text(name)).kind
    if kind == lib.SKED_ATTRIBUTE_FLAG:
        return value != 0
    return int(value) if kind == lib.SKED_ATTRIBUTE_COUNT else value


def _attribute(given: Optional[str], preset: str, rows: List[Dict[str, Any]], what: str) -> str:
    """The name of an attribute. Of one that the caller names, some row must have it."""
    if given is None:
        return preset
    c_text(given)
    if rows and not any(given in row for row in rows):
        hint = nearest(given, sorted({str(name) for row in rows for name in row}))
        raise ArgumentError(f"no {what} of the network has the attribute {given!r}{hint}")
    return given


@keywords()
def from_networkx(
    network: "networkx.Graph[Any]",
    *,
    duration: Optional[str] = None,
    bytes: Optional[str] = None,
    name: str = "",
) -> Graph:
    """A graph from a networkx DiGraph or MultiDiGraph.

    Nodes become ops, called str(node), in the order of the network. The attributes of nodes are
    those of `Graph.add_op` (type, durations, demand, and those of `sked.attributes`), those of
    edges those of `Graph.add_edge` (lag, distance, ...). `network.graph["resources"]` maps names of resources to
    capacities. Other attributes are ignored.

    Args:
        network: a directed graph.
        duration: attribute of nodes that holds their duration, 1 where it is missing; None: "duration". One that
            is named must be there.
        bytes: likewise of edges, the bytes that pass, 0 where it is missing; None: "bytes".
        name: of the graph; "": that of the network.
    """
    # Who has a network has networkx imported.
    kind = getattr(sys.modules.get("networkx"), "Graph", None)
    if kind is None or not isinstance(network, kind):
        raise TypeError(f"from_networkx wants a networkx graph, not {type(network).__name__}")
    nodes = [data for _, data in network.nodes(data=True)]
    duration = _attribute(duration, "duration", nodes, "node")
    bytes = _attribute(bytes, "bytes", [data for *_, data in network.edges(data=True)], "edge")
    if not network.is_directed():
        raise ArgumentError("from_networkx wants a directed graph: which op comes first?")
    graph = Graph(name or str(network.name))
    for resource, capacity in pairs(network.graph.get("resources"), "resources"):
        graph.add_resource(resource, capacity)
    index: Dict[Any, int] = {}
    of_ops = {"type", "durations", "demand", *attributes(of_edges=False)} - {"duration"}
    of_edges = {*attributes(of_edges=True)} - {"bytes"}
    for node, data in network.nodes(data=True):
        options = {key: data[key] for key in of_ops if data.get(key) is not None}
        index[node] = graph.add_op(str(node), data.get(duration, 1.0), **options)
    for first, second, data in network.edges(data=True):
        options = {key: data[key] for key in of_edges if data.get(key) is not None}
        graph.add_edge(index[first], index[second], bytes=data.get(bytes, 0.0), **options)
    graph._finish()
    return graph


def to_networkx(graph: Graph) -> "networkx.MultiDiGraph[Any]":
    """What `Graph.to_networkx` gives."""
    network: "networkx.MultiDiGraph[Any]" = needed("networkx", "networkx").MultiDiGraph(
        name=graph.name, resources=graph.resources
    )
    names, types = graph.names, graph.types
    of_ops, of_edges = attributes(of_edges=False), attributes(of_edges=True)
    for i, row in enumerate(zip(*(graph.attribute(name).tolist() for name in of_ops))):
        data: Dict[str, Any] = {name: _number(name, x) for name, x in zip(of_ops, row)}
        data.update(type=types[i], durations=graph.durations(i), demand=graph.demand(i))
        network.add_node(names[i], **data)
    columns = zip(*(graph.attribute(name).tolist() for name in of_edges))
    for (first, second), row in zip(graph.edges.tolist(), columns):
        data = {name: _number(name, x) for name, x in zip(of_edges, row)}
        network.add_edge(names[first], names[second], **data)
    return network


def from_onnx(model: Any, **options: Any) -> Graph:
    """A graph from an ONNX model.

    Args:
        model: an onnx.ModelProto, the bytes of a model, or its path.
        **options: as for `read`: library, profile.
    """
    if isinstance(model, (str, os.PathLike)):
        return read(model, format="onnx", **options)
    if isinstance(model, (bytes, bytearray, memoryview)):
        raw = bytes(model)
    elif hasattr(model, "SerializeToString"):
        raw = model.SerializeToString()
    else:
        raise TypeError(
            f"from_onnx wants a ModelProto, bytes or a path, not {type(model).__name__}"
        )
    return parse(raw, "model.onnx", format="onnx", **options)


def from_torch(program: Any, **options: Any) -> Graph:
    """A graph from a PyTorch program.

    Args:
        program: a torch.export.ExportedProgram or a torch.fx.GraphModule.
        **options: as for `sked.torch.from_exported`.
    """
    from .torch import from_exported  # type: ignore[import-not-found, unused-ignore]

    graph: Graph = from_exported(program, **options)
    return graph
