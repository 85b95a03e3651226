"""An ONNX model as nodes that can be cut into sessions. Names of ops are those of sked's reader."""

from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import numpy as np

try:
    import onnx
    import onnxruntime
except ImportError as cause:
    raise ImportError(
        "ONNX models run with onnx and onnxruntime: pip install 'libsked[onnxruntime]'"
    ) from cause

from ._check import integer

if TYPE_CHECKING:
    ModelLike = Union[str, "os.PathLike[str]", onnx.ModelProto]

# Names of ONNX Runtime's element types, and those of ONNX where they differ.
_ELEMENT = {"float": "FLOAT", "double": "DOUBLE"}


def element_type(text: str) -> int:
    """FLOAT for "float", as in "tensor(float)"."""
    return int(onnx.TensorProto.DataType.Value(_ELEMENT.get(text, text.upper())))


def _type_proto(text: str) -> "onnx.TypeProto":
    """The type that ONNX Runtime writes so; shapes stay open."""
    kind, _, inner = text.partition("(")
    inner = inner[:-1]
    if kind == "tensor":
        return onnx.helper.make_tensor_type_proto(element_type(inner), None)
    if kind == "seq":
        return onnx.helper.make_sequence_type_proto(_type_proto(inner))
    raise ValueError(f"values of the type {text} cannot pass from one session to another")


def _read(path: "Union[str, os.PathLike[str]]", external: bool) -> "onnx.ModelProto":
    try:
        return onnx.load(path, load_external_data=external)
    except OSError:
        raise
    except Exception as error:  # what onnx and protobuf raise depends on their versions
        raise ValueError(f"{os.fspath(path)}: not an ONNX model: {error}") from None


def load(model: "ModelLike", random_weights: bool = False) -> "onnx.ModelProto":
    """A model from a file, weights beside it and all; a model stays as it is.

    Args:
        random_weights: weights beside the file are drawn at random, so that it runs without them.
    """
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: a path or a ModelProto is wanted, not {type(model).__name__}")
    loaded = _read(model, not random_weights)
    if not random_weights:
        return loaded
    rng = np.random.default_rng(0)
    for weight in loaded.graph.initializer:
        if weight.data_location == onnx.TensorProto.EXTERNAL:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(weight.data_type)
            values = 0.05 * rng.standard_normal(list(weight.dims))
            weight.CopyFrom(onnx.numpy_helper.from_array(np.abs(values).astype(dtype), weight.name))
    return loaded


def op_names(graph: "onnx.GraphProto") -> List[str]:
    """Names of all nodes as sked's reader gives them (docs/formats/onnx.md)."""
    names: List[str] = []
    used: Set[str] = set()
    for i, node in enumerate(graph.node):
        first = node.output[0] if node.output else ""
        name = node.name or first or node.op_type or "node"
        while name in used:
            name += f"_{i}"
        used.add(name)
        names.append(name)
    return names


def named(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """A copy whose nodes carry these names: ONNX Runtime refuses a name that comes twice."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node, name in zip(copy.graph.node, op_names(copy.graph)):
        node.name = name
    return copy


def random_inputs(
    session: "onnxruntime.InferenceSession", seed: int = 0
) -> Dict[str, "np.ndarray[Any, Any]"]:
    """An input for every one that the session wants; open dimensions are 1, integers 0 or 1."""
    rng = np.random.default_rng(seed)
    made: Dict[str, "np.ndarray[Any, Any]"] = {}
    for wanted in session.get_inputs():
        if not wanted.type.startswith("tensor("):
            raise ValueError(f"input {wanted.name} is a {wanted.type}; give inputs of your own")
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in wanted.shape]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element_type(wanted.type[7:-1]))
        if dtype.kind in "iub":
            made[wanted.name] = rng.integers(0, 2, shape).astype(dtype)
        elif dtype.kind == "O":
            made[wanted.name] = np.full(shape, "", dtype=object)
        else:
            made[wanted.name] = rng.standard_normal(shape).astype(dtype)
    return made


def inputs_of(
    session: "onnxruntime.InferenceSession",
    inputs: Optional[Mapping[str, "np.ndarray[Any, Any]"]],
    seed: int,
) -> Dict[str, "np.ndarray[Any, Any]"]:
    """The inputs that were given, or random ones; they must be those that the session wants."""
    if inputs is None:
        return random_inputs(session, integer(seed, "seed", 0))
    if not isinstance(inputs, Mapping):
        raise TypeError(f"inputs: a dict by name is wanted, not {type(inputs).__name__}")
    compare_names({x.name for x in session.get_inputs()}, inputs)
    return dict(inputs)


def compare_names(wanted: AbstractSet[str], inputs: Mapping[str, Any]) -> None:
    """Raises ValueError where inputs are missing or unknown."""
    for kind, names in (("missing", wanted - inputs.keys()), ("unknown", inputs.keys() - wanted)):
        if names:
            raise ValueError(f"{kind} inputs: {', '.join(sorted(map(str, names)))}")


def session_options(optimise: bool, threads: int = 1) -> "onnxruntime.SessionOptions":
    """Options of a session that uses so many threads."""
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # warnings about initializers that are not used are not ours
    return options


def open_session(
    model: "onnx.ModelProto", options: "onnxruntime.SessionOptions"
) -> "onnxruntime.InferenceSession":
    """A session on the CPU."""
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _inner_names(graph: "onnx.GraphProto") -> Iterable[str]:
    """All names that a graph inside a node reads; those of its own do no harm."""
    for node in graph.node:
        yield from node.input
        for inner in _graphs_of(node):
            yield from _inner_names(inner)
    for output in graph.output:
        yield output.name


def _graphs_of(node: "onnx.NodeProto") -> Iterable["onnx.GraphProto"]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


class OnnxProgram:
    """A model, and sessions of any of its nodes.

    Args:
        model: a file or a model.
        inputs: example inputs by name; None: random ones.
        seed: of the random inputs.

    Attributes:
        names: of the ops, as sked reads them.
        preds: for every op the ops whose results it reads.
        inputs: the example inputs.
        reference: results of the whole model for them, by name.
    """

    def __init__(
        self,
        model: "ModelLike",
        inputs: Optional[Mapping[str, "np.ndarray[Any, Any]"]] = None,
        seed: int = 0,
    ) -> None:
        self.model = named(load(model))
        graph = self.model.graph
        self.nodes = list(graph.node)
        self.names = [node.name for node in graph.node]
        self._weights = {w.name: w for w in graph.initializer}
        self._sparse = {w.values.name: w for w in graph.sparse_initializer}
        self._maker = {name: i for i, n in enumerate(self.nodes) for name in n.output if name}
        given = {x.name for x in graph.input}
        known = given | set(self._maker) | set(self._weights) | set(self._sparse)
        self.reads = [self._read_by(node, known) for node in self.nodes]
        self.preds = [self._preds_of(i) for i in range(len(self.nodes))]
        self.outputs = [x.name for x in graph.output]
        self.types: Dict[str, str] = {}
        self._try_all(inputs, seed)

    def _read_by(self, node: "onnx.NodeProto", known: Set[str]) -> List[str]:
        names = dict.fromkeys(node.input)
        for graph in _graphs_of(node):
            names.update(dict.fromkeys(_inner_names(graph)))
        return [name for name in names if name in known]

    def _preds_of(self, node: int) -> List[int]:
        return sorted({self._maker[name] for name in self.reads[node] if name in self._maker})

    def _try_all(self, inputs: Optional[Mapping[str, "np.ndarray[Any, Any]"]], seed: int) -> None:
        """Types of all tensors from a session that gives them; results from the model itself."""
        whole = onnx.ModelProto()
        whole.CopyFrom(self.model)
        del whole.graph.output[:]
        whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in self._maker)
        session = open_session(whole, session_options(optimise=False))
        for value in (*session.get_inputs(), *session.get_outputs()):
            self.types[value.name] = value.type
        self.inputs = inputs_of(session, inputs, seed)
        results = open_session(self.model, session_options(optimise=False)).run(
            self.outputs, self.inputs
        )
        self.reference = dict(zip(self.outputs, results))

    def check_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Sessions are cut for the names of the example inputs: others must have the same."""
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs: a dict by name is wanted, not {type(inputs).__name__}")
        compare_names(self.inputs.keys(), inputs)

    def constant(self, name: str) -> "np.ndarray[Any, Any]":
        """The value of an initializer."""
        return onnx.numpy_helper.to_array(self._weights[name])

    def part(self, nodes: Sequence[int]) -> Tuple["onnx.ModelProto", List[str], List[str]]:
        """The model of some nodes in this order, what it reads, and what others need of it."""
        inside = set(nodes)
        made = {name for i in nodes for name in self.nodes[i].output if name}
        reads = dict.fromkeys(name for i in nodes for name in self.reads[i] if name not in made)
        stored = [name for name in reads if self._is_stored(name)]
        inputs = [name for name in reads if not self._is_stored(name)]
        wanted = {x for j, names in enumerate(self.reads) if j not in inside for x in names} | set(
            self.outputs
        )
        outputs = [name for i in nodes for name in self.nodes[i].output if name in wanted]
        graph = onnx.helper.make_graph(
            [self.nodes[i] for i in nodes],
            "part",
            [self._value(name) for name in inputs],
            [self._value(name) for name in outputs],
            [self._weights[name] for name in stored if name in self._weights],
            sparse_initializer=[self._sparse[name] for name in stored if name in self._sparse],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=self.model.opset_import, functions=self.model.functions
        )
        model.ir_version = self.model.ir_version
        return model, inputs, outputs

    def _is_stored(self, name: str) -> bool:
        return (name in self._weights or name in self._sparse) and name not in self.inputs

    def _value(self, name: str) -> "onnx.ValueInfoProto":
        return onnx.helper.make_value_info(name, _type_proto(self.types[name]))
