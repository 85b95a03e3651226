"""The page of the Python package: its public names by the module they come from, shown by mkdocstrings from the docstrings.

The source is read, never run. A public class, function, method or module without a docstring is refused.
"""
from __future__ import annotations

import pathlib
import re

import griffe

# What a reader needs first stands first; modules that are not named here follow by name, errors end the page.
FIRST = ("_graph", "_convert", "_machine", "_problem", "_run", "_schedule", "_robust", "_learn")
LAST = ("_call", "_errors")


class DocstringError(Exception):
    """A public name that says nothing of itself."""


def rank(module: str) -> tuple[int, int, str]:
    """Place of a module on the page."""
    name = module.split(".")[-1]
    if name in FIRST:
        return 0, FIRST.index(name), ""
    return (2, LAST.index(name), "") if name in LAST else (1, 0, name)


def demand(item: griffe.Object | griffe.Alias) -> None:
    """Refuses a public object, or a public member of a class, without a docstring."""
    if item.kind in (griffe.Kind.CLASS, griffe.Kind.FUNCTION, griffe.Kind.MODULE) and not item.docstring:
        raise DocstringError(f"{item.filepath}:{item.lineno}: {item.path} has no docstring")
    if item.is_class:
        for name, member in item.members.items():
            if not name.startswith("_") and (member.is_function or "property" in member.labels) and not member.docstring:
                raise DocstringError(f"{member.filepath}:{member.lineno}: {member.path} has no docstring")


def title(module: griffe.Module) -> str:
    """First sentence of a module's docstring."""
    return re.split(r"\n|[:,] ", module.docstring.value.strip())[0].rstrip(".")


def page(source: pathlib.Path) -> str:
    """The page as Markdown with the directives of mkdocstrings."""
    package = griffe.load("sked", search_paths=[str(source)], allow_inspection=False)
    groups: dict[str, list[str]] = {}
    for name in package.exports or ():
        item = package.members[str(name)]
        if isinstance(item, griffe.Alias):
            demand(item.final_target)
            groups.setdefault(item.final_target.module.path, []).append(str(name))
    parts = ["# Python reference", package.docstring.value.split("\n")[0]]
    for path in sorted(groups, key=rank):
        module = package[path.removeprefix("sked.")]
        demand(module)
        parts.append(f"## {title(module)}")
        parts += [f"::: sked.{name}" for name in sorted(groups[path])]
    for name, module in sorted(package.members.items()):
        if not module.is_alias and module.is_module and not name.startswith("_"):
            demand(module)
            parts += [f"## Module `sked.{name}`", f"::: sked.{name}\n    options:\n      show_root_heading: false"]
    return "\n\n".join(parts) + "\n"
