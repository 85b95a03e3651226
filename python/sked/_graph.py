"""Graphs."""

from __future__ import annotations

import math
import operator
import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Texts, column, pointer, view, wanted_column
from ._built import file_of, finished
from ._check import (
    c_option,
    c_path,
    c_path_option,
    fill,
    flag,
    instance,
    integer,
    keywords,
    named_kind,
    nearest,
    real,
)
from ._errors import ArgumentError, c_text, call, text
from ._native import ffi, lib

if TYPE_CHECKING:
    import networkx
    from numpy.typing import ArrayLike, NDArray

    from ._machine import Machine

OpKey = Union[int, str]
_Raw = bytes  # the class below has a property of that name


class Graph:
    """A graph of operations.

    Add ops and edges, then use it. The first use checks the graph as a whole and freezes it:
    graphs are read-only from then on, and threads may share them. `copy` gives one that can grow
    again. Threads may also build one graph: calls take turns.

    Args:
        name: of the graph.

    Examples:
        >>> g = sked.Graph("saxpy")
        >>> mul = g.add_op("mul", duration=2)
        >>> add = g.add_op("add", duration=1)
        >>> g.add_edge(mul, add, bytes=64)
    """

    def __init__(self, name: str = "") -> None:
        self._lock = threading.RLock()
        self._built: Any = None
        builder = ffi.new("sked_builder **")
        call(lib.sked_builder_create, builder)
        self._builder: Any = ffi.gc(builder[0], lib.sked_builder_destroy)
        call(lib.sked_builder_set_name, self._builder, c_text(name))

    @classmethod
    def _take(cls, pointer_out: Any) -> "Graph":
        """A graph that C has made."""
        graph = cls.__new__(cls)
        graph._lock = threading.RLock()
        graph._builder = None
        graph._built = ffi.gc(pointer_out[0], lib.sked_graph_destroy)
        return graph

    # ---------------------------------------------------------------- building

    def _open(self) -> Any:
        if self._builder is None:
            raise ArgumentError(
                "the graph is in use and read-only; .copy() gives one that can grow"
            )
        return self._builder

    def _id(self, key: OpKey) -> int:
        if isinstance(key, str):
            found = lib.sked_builder_find_op(self._open(), c_text(key))
            if found < 0:
                raise ArgumentError(f"the graph has no op called {key!r}")
            return int(found)
        try:
            return integer(operator.index(key), "an op")
        except TypeError:
            raise TypeError(f"an op: an index or a name, not {named_kind(key)}") from None

    def add_resource(self, name: str, capacity: float = math.inf) -> int:
        """Adds a resource pool that ops can hold.

        Args:
            name: unique.
            capacity: amount there is of it; inf: no limit.

        Returns:
            Its index.
        """
        given = (c_text(name), real(capacity, "capacity"), ffi.new("int32_t *"))
        with self._lock:
            call(lib.sked_builder_add_resource, self._open(), *given)
        return int(given[2][0])

    def add_op(
        self,
        name: Optional[str] = None,
        duration: float = 1.0,
        *,
        type: Optional[str] = None,
        memory: float = 0.0,
        weight: float = 1.0,
        keep: bool = False,
        durations: Optional[Mapping[str, Optional[float]]] = None,
        demand: Optional[Mapping[str, float]] = None,
        verilog: Optional[str] = None,
        **attributes: float,
    ) -> int:
        """Adds an op.

        Args:
            name: unique; None: its index.
            duration: 0 or more.
            type: kind of op, which cost models learn by.
            memory: size of its result.
            weight: in the resource objective.
            keep: the result stays in memory to the end.
            durations: times by device name or device type; None there: it cannot run on it.
            demand: amounts it holds, by name of the resource.
            verilog: its result as an expression over the operands a, b, ...
            **attributes: others of `sked.attributes`.

        Returns:
            Its index.
        """
        values = {"memory": memory, "weight": weight, "keep": keep, **attributes}
        numbers = _attributes(False, values)  # refuses what no op has before there is one more
        times = [
            (c_text(device), math.inf if time is None else real(time, "durations"))
            for device, time in pairs(durations, "durations")
        ]
        given = (c_option(name), c_option(type), real(duration, "duration"), ffi.new("int32_t *"))
        text = c_option(verilog)
        with self._lock:
            b = self._open()
            amounts = [(self._resource(x), real(y, "demand")) for x, y in pairs(demand, "demand")]
            call(lib.sked_builder_add_op, b, *given)
            op = int(given[3][0])
            self._set(op, numbers)
            if verilog is not None:
                call(lib.sked_builder_set_verilog, b, op, text)
            for device, time in times:
                call(lib.sked_builder_add_duration, b, op, device, time)
            for resource, amount in amounts:
                call(lib.sked_builder_add_demand, b, op, resource, amount)
        return op

    def _set(self, i: int, values: "List[Tuple[Any, float]]") -> None:
        for info, value in values:
            if value != info.preset:
                call(lib.sked_builder_set_attribute, self._open(), info, i, value)

    def _resource(self, name: str) -> int:
        found = lib.sked_builder_find_resource(self._open(), c_text(name))
        if found < 0:
            raise ArgumentError(
                f"the graph has no resource called {name!r}; add_resource comes first"
            )
        return int(found)

    def add_edge(
        self,
        from_: OpKey,
        to: OpKey,
        *,
        lag: Optional[float] = None,
        bytes: float = 0.0,
        distance: int = 0,
        **attributes: float,
    ) -> None:
        """Adds an edge: `to` starts `lag` after the start of `from_`, or later.

        Args:
            from_: index or name of an op.
            to: index or name of an op.
            lag: start to start; None: the time of `from_` on its device.
            bytes: that pass, between devices at the price of their link.
            distance: k > 0 marks a loop-carried edge over k iterations.
            **attributes: others of `sked.attributes`.
        """
        numbers = _attributes(True, attributes)
        edge = ffi.new("sked_edge *")
        fill(edge, lag=math.nan if lag is None else lag, bytes=bytes, distance=distance)
        with self._lock:
            fill(edge, **{"from": self._id(from_), "to": self._id(to)})
            call(lib.sked_builder_add_edge, self._open(), edge)
            self._set(lib.sked_builder_edge_count(self._open()) - 1, numbers)

    def _add_columns(
        self, names: Any, types: Any, ops: Dict[str, Any], edges: Dict[str, Any]
    ) -> None:
        columns = ffi.new("sked_columns *")
        columns.size = ffi.sizeof("sked_columns")
        fill(columns, ops=ops["duration"].size, edges=edges["from"].size)
        kept = (Texts(names, columns.ops, "names"), Texts(types, columns.ops, "types"))
        columns.name, columns.type = kept[0].pointer, kept[1].pointer
        for name, array in {**ops, **edges}.items():
            if array is not None:
                setattr(columns, name, pointer(array, array.dtype.str[1:]))
        with self._lock:
            call(lib.sked_builder_add_columns, self._open(), columns)

    @property
    def _c(self) -> Any:
        """The finished graph."""
        return self._finish()

    def _finish(self) -> Any:
        return finished(self, "sked_graph", lib.sked_builder_finish, lib.sked_graph_destroy)

    # ---------------------------------------------------------------- looking

    @property
    def name(self) -> str:
        """Name of the graph; "" where it has none."""
        return text(lib.sked_graph_name(self._c))

    def __len__(self) -> int:
        """Number of ops."""
        with self._lock:
            if self._built is None:
                return int(lib.sked_builder_op_count(self._builder))
        return int(lib.sked_graph_op_count(self._built))

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return int(lib.sked_graph_edge_count(self._c))

    def _columns(self) -> Any:
        columns = ffi.new("sked_columns *")
        columns.size = ffi.sizeof("sked_columns")
        call(lib.sked_graph_columns, self._c, columns)
        return columns

    def _op_column(self, field: str, kind: str = "f8") -> Any:
        columns = self._columns()
        return view(getattr(columns, field), columns.ops, kind, self._c)

    def _edge_column(self, field: str, kind: str) -> Any:
        columns = self._columns()
        return view(getattr(columns, field), columns.edges, kind, self._c)

    @property
    def duration(self) -> "NDArray[np.float64]":
        """Durations of the ops, a read-only view."""
        return self._op_column("duration")  # type: ignore[no-any-return]

    @property
    def memory(self) -> "NDArray[np.float64]":
        """Sizes of the results, a read-only view."""
        return self._op_column("memory")  # type: ignore[no-any-return]

    @property
    def weight(self) -> "NDArray[np.float64]":
        """Weights of the ops, a read-only view."""
        return self._op_column("weight")  # type: ignore[no-any-return]

    @property
    def keep(self) -> "NDArray[np.bool_]":
        """True for ops whose result stays in memory to the end."""
        kept = self._op_column("keep", "u1")
        return kept.astype(bool) if kept.size == len(self) else np.zeros(len(self), dtype=bool)

    def attribute(self, name: str) -> "NDArray[np.float64]":
        """A number of all ops, or of all edges, by its name in `sked.attributes`.

        A lag that follows the duration is nan.
        """
        of_edges = name in attributes(of_edges=True)
        info = _info(name, of_edges)
        values = np.empty(self.edge_count if of_edges else len(self), dtype="f8")
        lib.sked_graph_attribute(self._c, info, ffi.from_buffer("double[]", values))
        return values

    @property
    def edges(self) -> "NDArray[np.int32]":
        """Both ends of all edges, sorted by the first: shape (edges, 2)."""
        ends = (self._edge_column("from", "i4"), self._edge_column("to", "i4"))
        return np.stack(ends, axis=1)

    @property
    def lag(self) -> "NDArray[np.float64]":
        """Lags of the edges, in the order of `edges`; a read-only view."""
        return self._edge_column("lag", "f8")  # type: ignore[no-any-return]

    @property
    def bytes(self) -> "NDArray[np.float64]":
        """Bytes of the edges, in the order of `edges`; a read-only view."""
        return self._edge_column("bytes", "f8")  # type: ignore[no-any-return]

    @property
    def distance(self) -> "NDArray[np.int32]":
        """Distances of the edges, in the order of `edges`; a read-only view."""
        return self._edge_column("distance", "i4")  # type: ignore[no-any-return]

    def op_name(self, op: OpKey) -> str:
        """Name of an op: the one it was given, or its index."""
        op = self._checked(op)
        size = 256
        while True:
            buffer = ffi.new("char[]", size)
            lib.sked_graph_op_name(self._c, op, buffer, size)
            name: _Raw = ffi.string(buffer)
            if len(name) < size - 1:
                return name.decode()
            size *= 16

    def op_type(self, op: OpKey) -> Optional[str]:
        """Type of an op; None: untyped."""
        found = lib.sked_graph_op_type(self._c, self._checked(op))
        return None if found == ffi.NULL else text(found)

    def _checked(self, op: OpKey) -> int:
        if isinstance(op, str):
            return self.index(op)
        number = integer(op, "op")
        if not 0 <= number < lib.sked_graph_op_count(self._c):
            raise ArgumentError(f"there is no op {op}: the graph has {len(self)}")
        return number

    @property
    def names(self) -> List[str]:
        """Names of all ops."""
        return [self.op_name(i) for i in range(len(self))]

    @property
    def types(self) -> List[Optional[str]]:
        """Types of all ops."""
        return [self.op_type(i) for i in range(len(self))]

    def index(self, name: str) -> int:
        """Index of the op of that name."""
        found = int(lib.sked_graph_find_op(self._c, c_text(name)))
        if found < 0:
            raise ArgumentError(f"the graph has no op called {name!r}")
        return found

    @property
    def resources(self) -> Dict[str, float]:
        """Capacity of every resource by its name."""
        g = self._c
        return {
            text(lib.sked_graph_resource_name(g, r)): float(lib.sked_graph_capacity(g, r))
            for r in range(lib.sked_graph_resource_count(g))
        }

    def demand(self, op: OpKey) -> Dict[str, float]:
        """What an op holds, by name of the resource."""
        op = self._checked(op)
        amounts = {
            name: lib.sked_graph_demand(self._c, op, r) for r, name in enumerate(self.resources)
        }
        return {name: float(amount) for name, amount in amounts.items() if amount > 0}

    def durations(self, op: OpKey) -> Dict[str, Optional[float]]:
        """Times of an op by device name or type; None: it cannot run there."""
        op = self._checked(op)
        found: Dict[str, Optional[float]] = {}
        for i in range(lib.sked_graph_duration_name_count(self._c)):
            device = lib.sked_graph_duration_name(self._c, i)
            time = float(lib.sked_graph_duration_on(self._c, op, device))
            if not math.isnan(time):
                found[text(device)] = time if math.isfinite(time) else None
        return found

    def topological_order(self) -> "NDArray[np.int32]":
        """A topological order of the edges of distance 0."""
        order = np.empty(len(self), dtype="i4")
        lib.sked_graph_topological(self._c, ffi.from_buffer("int32_t[]", order))
        return order

    def describe(self) -> Dict[str, Any]:
        """Sizes, depth, width, work, critical path, as `sked info` prints them."""
        info = ffi.new("sked_graph_info *")
        info.size = ffi.sizeof("sked_graph_info")
        call(lib.sked_graph_describe, self._c, info)
        fields = [name for name, _ in ffi.typeof("sked_graph_info").fields if name != "size"]
        return {name: getattr(info, name) for name in fields}

    def __eq__(self, other: object) -> bool:
        """True where ops, names, types, all numbers, resources and edges are the same."""
        if not isinstance(other, Graph):
            return NotImplemented
        return bool(lib.sked_graph_equal(self._c, other._c))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self._built is None:
            return f"<sked.Graph, {len(self)} ops so far>"
        name = f" {self.name!r}" if self.name else ""
        return f"<sked.Graph{name}: {len(self)} ops, {self.edge_count} edges>"

    # ---------------------------------------------------------------- leaving

    def copy(self) -> "Graph":
        """A copy to which ops and edges can be added."""
        twin = Graph(self.name)
        for resource, capacity in self.resources.items():
            twin.add_resource(resource, capacity)
        plain = not self.resources and lib.sked_graph_duration_name_count(self._c) == 0
        columns = self._columns()
        names, types = self.names, self.types
        if plain:
            kept = (Texts(names, len(self), "names"), Texts(types, len(self), "types"))
            columns.name, columns.type = kept[0].pointer, kept[1].pointer
        else:
            self._copy_ops(twin, names, types)
            columns.ops = 0
        call(lib.sked_builder_add_columns, twin._open(), columns)
        shown = {name for name, _ in ffi.typeof("sked_columns").fields}
        for of_edges in (False, True):
            for name in attributes(of_edges=of_edges):
                if name not in shown:
                    for i, value in enumerate(self.attribute(name).tolist()):
                        twin._set(i, [(_info(name, of_edges), value)])
        for i in range(len(self)):
            text = lib.sked_graph_verilog(self._c, i)
            if text != ffi.NULL:
                call(lib.sked_builder_set_verilog, twin._open(), i, text)
        return twin

    def _copy_ops(self, twin: "Graph", names: List[str], types: List[Optional[str]]) -> None:
        rows = zip(
            self.duration.tolist(), self.memory.tolist(), self.weight.tolist(), self.keep.tolist()
        )
        for i, (duration, memory, weight, keep) in enumerate(rows):
            twin.add_op(
                names[i],
                duration,
                type=types[i],
                memory=memory,
                weight=weight,
                keep=keep,
                durations=self.durations(i),
                demand=self.demand(i),
            )

    def to_networkx(self) -> "networkx.MultiDiGraph[Any]":
        """The graph as networkx knows graphs; `from_networkx` reads it back."""
        from ._convert import to_networkx

        return to_networkx(self)

    def profiled(self, machine: "Machine") -> "Graph":
        """A copy with the durations that the machine's profile has measured."""
        from ._machine import Machine

        measured = instance(machine, Machine, "machine")
        if measured._identical is not None:
            twin = self.copy()  # equal devices have no profile
            twin._finish()
            return twin
        out = ffi.new("sked_graph **")
        call(lib.sked_graph_profiled, self._c, measured._c, out)
        return Graph._take(out)

    def save(self, path: "Union[str, os.PathLike[str]]", format: Optional[str] = None) -> None:
        """Writes the graph; the extension picks the format unless one is named."""
        call(lib.sked_graph_write, self._c, c_path(path), c_option(format))

    def __reduce__(self) -> Any:
        return parse, (file_of(self.save), "graph.json")


@lru_cache(maxsize=None)
def _info(name: str, of_edges: bool) -> Any:
    info = lib.sked_attribute_find(c_text(name))
    if info == ffi.NULL or info.of_edges != of_edges:
        which, others = ("edges", ()) if of_edges else ("ops", ("type", "durations", "demand"))
        hint = nearest(name, (*attributes(of_edges=of_edges), *others))
        raise ArgumentError(f"{which} have no attribute called {name!r}{hint}")
    return info


def _attributes(of_edges: bool, values: Mapping[str, float]) -> "List[Tuple[Any, float]]":
    return [(_info(name, of_edges), real(value, name)) for name, value in values.items()]


def pairs(given: Any, what: str) -> "List[Tuple[Any, Any]]":
    """What a dict holds, or nothing for None."""
    if not isinstance(given, (Mapping, type(None))):
        raise TypeError(f"{what}: a dict is wanted, not {named_kind(given)}")
    return list((given or {}).items())


def attributes(*, of_edges: bool) -> List[str]:
    """Names of the numbers that ops, or edges, carry in files and in `Graph.attribute`."""
    wanted = flag(of_edges, "of_edges")
    infos = [lib.sked_attribute_at(i) for i in range(lib.sked_attribute_count())]
    return [text(info.name) for info in infos if info.of_edges == wanted]


@keywords()
def read(
    path: "Union[str, os.PathLike[str]]",
    *,
    format: Optional[str] = None,
    library: "Union[str, os.PathLike[str], None]" = None,
    resources: "Union[str, os.PathLike[str], None]" = None,
    profile: "Union[str, os.PathLike[str], None]" = None,
    instance: Optional[str] = None,
) -> Graph:
    """Reads a graph: ONNX, JSON, DOT, GML, GraphML, STG and more (`sked.formats()`).

    Args:
        path: the file; "-" is standard input.
        format: by extension and content where None.
        library: op library, which gives durations and units by op type.
        resources: resource model of a GraphML file.
        profile: measured durations by op name.
        instance: of a file that has several: its name, or else its number from 1.
    """
    kept = [c_option(format), *map(c_path_option, (library, resources, profile)), c_option(instance)]
    out = ffi.new("sked_graph **")
    call(lib.sked_graph_read, c_path(path), _read_options(kept), out)
    return Graph._take(out)


def _read_options(kept: List[Any]) -> Any:
    options = ffi.new("sked_read_options *")
    lib.sked_read_options_init_sized(options, ffi.sizeof("sked_read_options"))
    options.format, options.library, options.resources, options.profile, options.instance = kept
    return options


@keywords()
def parse(
    data: Union[str, bytes],
    name: str = "graph.json",
    *,
    format: Optional[str] = None,
    library: "Union[str, os.PathLike[str], None]" = None,
    resources: "Union[str, os.PathLike[str], None]" = None,
    profile: "Union[str, os.PathLike[str], None]" = None,
    instance: Optional[str] = None,
) -> Graph:
    """Reads a graph from memory.

    Args:
        data: what the file would hold.
        name: stands for the file in messages, and its extension for the format.
        format: where the name does not say it.
        library: as for `read`.
        resources: as for `read`.
        profile: as for `read`.
        instance: as for `read`.
    """
    if not isinstance(data, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"data: bytes or a text, not {named_kind(data)}")
    raw = data.encode() if isinstance(data, str) else _Raw(data)
    kept = [c_option(format), *map(c_path_option, (library, resources, profile)), c_option(instance)]
    out = ffi.new("sked_graph **")
    call(
        lib.sked_graph_parse, c_text(name), ffi.from_buffer(raw), len(raw), _read_options(kept), out
    )
    return Graph._take(out)


@keywords()
def from_arrays(
    duration: "ArrayLike",
    from_: "ArrayLike" = (),
    to: "ArrayLike" = (),
    *,
    names: Optional[Sequence[str]] = None,
    types: Optional[Sequence[str]] = None,
    memory: "Optional[ArrayLike]" = None,
    weight: "Optional[ArrayLike]" = None,
    keep: "Optional[ArrayLike]" = None,
    lag: "Optional[ArrayLike]" = None,
    bytes: "Optional[ArrayLike]" = None,
    distance: "Optional[ArrayLike]" = None,
    name: str = "",
) -> Graph:
    """A graph from whole arrays, the quick way in for large ones.

    Args:
        duration: one per op.
        from_: first end of every edge, as indices of ops.
        to: second end of every edge.
        names: of the ops; None: their indices.
        types: of the ops; None: untyped.
        memory: sizes of the results; None: 0.
        weight: of the ops; None: 1.
        keep: True where the result stays in memory to the end.
        lag: of the edges, nan where it follows the duration; None: all follow it.
        bytes: of the edges; None: 0.
        distance: of the edges; None: 0.
        name: of the graph.

    A single number stands for a whole column. Arrays are copied.
    """
    durations = wanted_column(duration, "f8", None, "duration")
    first = wanted_column(from_, "i4", None, "from_")
    kept = column(keep, "f8", durations.size, "keep")
    n, m = durations.size, first.size
    ops = {
        "duration": durations,
        "memory": column(memory, "f8", n, "memory"),
        "weight": column(weight, "f8", n, "weight"),
        "keep": None if kept is None else (kept != 0).astype("u1"),
    }
    edges = {
        "from": first,
        "to": wanted_column(to, "i4", m, "to"),
        "lag": column(lag, "f8", m, "lag"),
        "bytes": column(bytes, "f8", m, "bytes"),
        "distance": column(distance, "i4", m, "distance"),
    }
    graph = Graph(name)
    graph._add_columns(names, types, ops, edges)
    graph._finish()
    return graph
