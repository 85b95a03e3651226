"""The table of bench/cpsat.py: what was recorded, one JSON object a line, as Markdown."""

from __future__ import annotations

import json

SIDES = ("sked", "cpsat")
NAMES = {"sked": "sked", "cpsat": "CP-SAT"}
NOTE = """gap: mean above the best known value (tpch: above sked's lower bound) where there is a
schedule; met: share of the proven optima; proved: share that the solver itself proved; s: mean
seconds. The last columns name the better side: by the gap, and by what it proved."""


FIELDS = {
    "run": {"sked", "ortools", "seed", "machine", "jobs", "date"},
    "instance": {"order", "set", "threads", "limit", "best", "proven", "sked", "cpsat"},
}


def parse(line: str) -> dict:
    """A recorded run or instance; ValueError: it is neither."""
    one = json.loads(line)
    for kind, fields in FIELDS.items():
        if isinstance(one, dict) and one.get("kind") == kind and fields <= one.keys():
            return one
    raise ValueError


def read(paths: list[str]) -> tuple[list[dict], list[dict]]:
    """Runs and instances of recorded files; a last line that was cut off is left out."""
    runs, instances = [], []
    for path in paths:
        with open(path, errors="replace") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    continue
                try:
                    one = parse(line)
                except ValueError:
                    raise ValueError(f"{path}:{number}: not a line that --record writes") from None
                (runs if one["kind"] == "run" else instances).append(one)
    return runs, instances


def heading(run: dict) -> str:
    return (
        f"{run['sked']}, method auto, beside CP-SAT of ortools {run['ortools']}; "
        f"seed {run['seed']}; {run['machine']}, {run['jobs']} at a time; {run['date']}."
    )


def reference(one: dict) -> float:
    return one["best"] if one["best"] is not None else one["sked"]["bound"]


def measure(group: list[dict], side: str) -> dict:
    """What one side reached on the instances of a row; None: nothing to measure."""
    found = [one for one in group if one[side]["value"] is not None]
    gaps = [one[side]["value"] / reference(one) - 1 for one in found]
    known = [one for one in group if one["proven"]]
    reached = [one for one in known if one[side]["value"] is not None]
    met = [one for one in reached if one[side]["value"] <= one["best"] * (1 + 1e-9)]
    return {
        "gap": 100 * sum(gaps) / len(gaps) if gaps else None,
        "met": 100 * len(met) / len(known) if known else None,
        "proved": 100 * sum(one[side]["proved"] for one in group) / len(group),
        "seconds": sum(one[side]["seconds"] for one in group) / len(group),
        "none": len(group) - len(found),
    }


def show(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def columns(m: dict) -> list[str]:
    without = f" ({m['none']} without)" if m["none"] else ""
    return [
        show(m["gap"], 3) + without,
        show(m["met"], 1),
        show(m["proved"], 1),
        show(m["seconds"], 2),
    ]


def better(a: float | None, b: float | None, digits: int) -> str:
    """Which side has less; figures that are printed alike are equal."""
    if show(a, digits) == show(b, digits):
        return "equal"
    if a is None or b is None:
        return NAMES["cpsat" if a is None else "sked"]
    return NAMES["sked" if a < b else "cpsat"]


def by_value(sked: dict, cpsat: dict) -> str:
    """A schedule for more instances comes first, then the gap."""
    if sked["none"] != cpsat["none"]:
        return NAMES["sked" if sked["none"] < cpsat["none"] else "cpsat"]
    return better(sked["gap"], cpsat["gap"], 3)


def row(name: str, threads: int, limit: float, group: list[dict]) -> str:
    sked, cpsat = (measure(group, side) for side in SIDES)
    cells = [name, str(len(group)), str(threads), f"{limit:g}", *columns(sked), *columns(cpsat)]
    cells += [by_value(sked, cpsat), better(-sked["proved"], -cpsat["proved"], 1)]
    return "| " + " | ".join(cells) + " |"


def markdown(runs: list[dict], instances: list[dict]) -> str:
    """One row per set, threads and limit: limits of the sets first, few threads first."""
    groups: dict[tuple, list[dict]] = {}
    for one in sorted(instances, key=lambda one: one["order"]):
        groups.setdefault((one["set"], one["threads"], one["limit"]), []).append(one)
    each = ["gap %", "met %", "proved %", "s"]
    head = ["set", "n", "threads", "limit s"]
    head += [f"{NAMES[side]} {word}" for side in SIDES for word in each] + ["value", "proof"]
    lines = [*(heading(run) for run in runs), "", "| " + " | ".join(head) + " |"]
    lines += ["|" + "---|" * len(head)]
    lines += [row(*key, group) for key, group in groups.items()]
    lines += ["", *NOTE.splitlines()]
    return "\n".join(lines)
