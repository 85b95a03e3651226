"""Graphs from and to other libraries, which are imported where they are used only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict

from ._errors import ArgumentError
from ._graph import Graph, parse, read

if TYPE_CHECKING:
    import networkx

_OP = ("type", "memory", "weight", "keep", "durations", "demand")
_EDGE = ("lag", "distance")


def from_networkx(
    network: "networkx.Graph[Any]",
    *,
    duration: str = "duration",
    bytes: str = "bytes",
    name: str = "",
) -> Graph:
    """A graph from a networkx DiGraph or MultiDiGraph.

    Nodes become ops, called str(node), in the order of the network. The attributes of nodes are
    those of `Graph.add_op` (type, memory, weight, keep, durations, demand), those of edges those
    of `Graph.add_edge` (lag, distance). `network.graph["resources"]` maps names of resources to
    capacities. Other attributes are ignored.

    Args:
        network: a directed graph.
        duration: attribute of nodes that holds their duration; 1 where it is missing.
        bytes: attribute of edges that holds the bytes that pass; 0 where it is missing.
        name: of the graph; "": that of the network.
    """
    if not hasattr(network, "is_directed"):
        raise TypeError(f"from_networkx wants a networkx graph, not {type(network).__name__}")
    if not network.is_directed():
        raise ArgumentError("from_networkx wants a directed graph: which op comes first?")
    graph = Graph(name or str(network.name))
    for resource, capacity in network.graph.get("resources", {}).items():
        graph.add_resource(resource, capacity)
    index: Dict[Any, int] = {}
    for node, data in network.nodes(data=True):
        options = {key: data[key] for key in _OP if key in data}
        index[node] = graph.add_op(str(node), data.get(duration, 1.0), **options)
    for first, second, data in network.edges(data=True):
        options = {key: data[key] for key in _EDGE if key in data}
        graph.add_edge(index[first], index[second], bytes=data.get(bytes, 0.0), **options)
    graph._finish()
    return graph


def to_networkx(graph: Graph) -> "networkx.MultiDiGraph[Any]":
    """What `Graph.to_networkx` gives."""
    import networkx

    network: "networkx.MultiDiGraph[Any]" = networkx.MultiDiGraph(
        name=graph.name, resources=graph.resources
    )
    names, types = graph.names, graph.types
    numbers = zip(
        graph.duration.tolist(), graph.memory.tolist(), graph.weight.tolist(), graph.keep.tolist()
    )
    for i, (duration, memory, weight, keep) in enumerate(numbers):
        data: Dict[str, Any] = {
            "duration": duration,
            "memory": memory,
            "weight": weight,
            "keep": keep,
        }
        data.update(type=types[i], durations=graph.durations(i), demand=graph.demand(i))
        network.add_node(names[i], **data)
    columns = (
        graph.edges.tolist(),
        graph.lag.tolist(),
        graph._follows.tolist(),
        graph.bytes,
        graph.distance,
    )
    for (first, second), lag, follows, size, distance in zip(*columns):
        data = {"bytes": float(size), "distance": int(distance), "lag": None if follows else lag}
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
