"""What the library offers, by its own tables."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ._call import Settings
from ._check import c_option, fill, keywords
from ._errors import c_text, call, text
from ._graph import Graph
from ._native import ffi, lib


class Option(NamedTuple):
    """An option of a method, a target or a family.

    Attributes:
        name: key in `settings`.
        kind: "int", "real", "bool", "enum" or "text".
        preset: its default, as it would be typed.
        range: least and greatest value of a number; None for other kinds.
        choices: of an enum; empty for other kinds.
        help: one line.
    """

    name: str
    kind: str
    preset: str
    range: Optional[Tuple[float, float]]
    choices: Tuple[str, ...]
    help: str


class Method(NamedTuple):
    """A scheduling method.

    Attributes:
        name: for `schedule(method=...)`.
        summary: one line.
        features: what it can take: "devices", "resources", "loops", ...
        options: for `settings`.
    """

    name: str
    summary: str
    features: Tuple[str, ...]
    options: Tuple[Option, ...]


class Target(NamedTuple):
    """Something that measures schedules.

    Attributes:
        name: for `robust(target=...)`.
        summary: one line.
        options: "name:key=value,key=value" in a spec.
    """

    name: str
    summary: str
    options: Tuple[Option, ...]


class Format(NamedTuple):
    """A file format of graphs.

    Attributes:
        name: for `read(format=...)`.
        summary: one line.
        extensions: of its files.
        reads: it can be read.
        writes: it can be written.
    """

    name: str
    summary: str
    extensions: Tuple[str, ...]
    reads: bool
    writes: bool


class Family(NamedTuple):
    """A family of generated graphs.

    Attributes:
        name: for `generate`.
        summary: one line.
        options: for `settings`.
    """

    name: str
    summary: str
    options: Tuple[Option, ...]


class Report(NamedTuple):
    """A kind of picture or report of a schedule.

    Attributes:
        name: for `Schedule.save(format=...)`.
        extension: that picks it.
        summary: one line.
    """

    name: str
    extension: str
    summary: str


def _all(kind: str) -> Iterator[Any]:
    count, at = getattr(lib, f"sked_{kind}_count"), getattr(lib, f"sked_{kind}_at")
    return (at(i) for i in range(count()))


def _option(o: Any) -> Option:
    kind = ffi.typeof("sked_option_kind").elements[int(o.kind)].rsplit("_", 1)[1].lower()
    numbers = (float(o.min), float(o.max)) if kind in ("int", "real") else None
    choices = tuple(text(o.choices).split("|")) if kind == "enum" else ()
    return Option(text(o.name), kind, text(o.preset), numbers, choices, text(o.help))


def _options(info: Any) -> Tuple[Option, ...]:
    return tuple(_option(info.options[i]) for i in range(info.n_options))


def _features(bits: int) -> Tuple[str, ...]:
    prefix = "SKED_CAN_"
    names = [name for name in dir(lib) if name.startswith(prefix) and bits & getattr(lib, name)]
    return tuple(
        name[len(prefix) :].lower() for name in sorted(names, key=lambda n: int(getattr(lib, n)))
    )


def methods() -> List[Method]:
    """The scheduling methods."""
    return [
        Method(text(m.name), text(m.summary), _features(m.features), _options(m))
        for m in _all("method")
    ]


def targets() -> List[Target]:
    """The targets that a spec can name. Options of all of them are in `target_options`."""
    return [Target(text(t.name), text(t.summary), _options(t)) for t in _all("target")]


def target_options() -> List[Option]:
    """Options that every target has beside its own."""
    return [_option(o) for o in _all("target_option")]


def train_options() -> List[Option]:
    """Options of training."""
    return [_option(o) for o in _all("train_option")]


def formats() -> List[Format]:
    """The file formats of graphs."""
    return [
        Format(
            text(f.name),
            text(f.summary),
            tuple(text(f.extensions).split()),
            bool(f.reads),
            bool(f.writes),
        )
        for f in _all("format")
    ]


def families() -> List[Family]:
    """The families of generated graphs."""
    return [Family(text(f.name), text(f.summary), _options(f)) for f in _all("family")]


def reports() -> List[Report]:
    """The pictures and reports that `Schedule.save` writes."""
    return [Report(text(r.name), text(r.extension), text(r.summary)) for r in _all("report")]


@keywords()
def generate(
    family: str,
    nodes: int = 100,
    *,
    seed: int = 0,
    duration: Optional[str] = None,
    bytes: Optional[str] = None,
    memory: Optional[str] = None,
    weight: Optional[str] = None,
    demand: Optional[str] = None,
    settings: Optional[Mapping[str, Any]] = None,
) -> Graph:
    """A random graph; the same for the same arguments on every machine.

    Args:
        family: `sked.families()` lists them.
        nodes: ops, or the most there may be where the family exists in certain sizes only.
        seed: of the random numbers.
        duration: what durations are drawn from: "uniform:1,10", "const:1", ...
        bytes: of edges, likewise.
        memory: of ops, likewise.
        weight: of ops, likewise.
        demand: "RESOURCE:capacity:distribution", several joined by ";".
        settings: parameters of the family.
    """
    options, pairs = ffi.new("sked_generate_options *"), Settings(settings)
    lib.sked_generate_options_init_sized(options, ffi.sizeof("sked_generate_options"))
    kept = [c_option(x) for x in (duration, bytes, memory, weight, demand)]
    options.duration, options.bytes, options.memory, options.weight, options.demand = kept
    fill(options, nodes=nodes, seed=seed)
    pairs.give(options)
    out = ffi.new("sked_graph **")
    call(lib.sked_graph_generate, c_text(family), options, out)
    return Graph._take(out)
