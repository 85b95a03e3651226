"""What mkdocs does for us beside its own work.

- A line `folder/*` of the navigation stands for all pages of that folder that it does not name elsewhere; `*` for those of
  docs/ itself.
- The reference pages are made from the header, from what the command says of itself and from the Python package.
- Pages link to files of the repository as in any browser of it (`../examples/fir.dot`). The site carries those files under
  source/, and such links lead there. A folder appears as the list of its files.
"""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "scripts" / "site"))
import c_reference  # noqa: E402 (mkdocs loads a hook without its folder on the path)
import python_reference  # noqa: E402

LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```|~~~).*?^\1", flags=re.M | re.S)
COMMAND = os.environ.get("SKED", str(ROOT / "build" / "sked"))


def named(nav: object) -> set[str]:
    """Every page that the navigation names."""
    if isinstance(nav, str):
        return {nav}
    inner = nav.values() if isinstance(nav, dict) else nav
    return set().union(*(named(item) for item in inner))


def expand(nav: list, pages: set[str]) -> list:
    """The navigation with `folder/*` replaced by the other pages of the folder, by name; without empty sections."""
    done: list = []
    for item in nav:
        if isinstance(item, dict):
            key, value = next(iter(item.items()))
            inner = expand(value, pages) if isinstance(value, list) else value
            done += [{key: inner}] if inner else []
        elif item.endswith("*"):
            found = {path.relative_to(DOCS).as_posix() for path in (DOCS / item).parent.glob("*.md")}
            done += sorted(found - pages)
        else:
            done.append(item)
    return done


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = expand(config.nav, named(config.nav))
    return config


def command_page() -> str:
    """What the command prints of itself: the list of its commands, then each of them."""

    def say(*words: str) -> str:
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True).stdout.strip()

    front = say("help")
    names = re.findall(r"^  ([a-z]+) {2,}", front, flags=re.M)
    if "schedule" not in names:
        raise PluginError(f"{COMMAND} help names no commands")
    parts = ["# The command", "`sked help` prints this page, `man sked` the same.", f"```text\n{front}\n```"]
    for name in names:
        title, text = say("help", name).split("\n", 1)
        parts.append(f"## {title.split(':')[0]} {{#{name}}}\n\n```text\n{text.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def outside(text: str, place: pathlib.PurePath) -> dict[str, pathlib.Path]:
    """Links of a page at `place` in the repository that lead to files and folders outside docs/."""
    found = {}
    for link in LINK.findall(FENCE.sub("", text)):
        path = (ROOT / place.parent / link[1]).resolve()
        if path.exists() and path.is_relative_to(ROOT) and not path.is_relative_to(DOCS):
            found[link[1]] = path.relative_to(ROOT)
    return found


def place_of(source: str) -> pathlib.PurePath:
    """Where a page of the site is in the repository."""
    return pathlib.PurePath(source[7:]) if source.startswith("source/") else pathlib.PurePath("docs", source)


def inside(folder: pathlib.Path) -> list[str]:
    """Names of the files in a folder of the repository."""
    return sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file())


def carried(files: Files) -> set[pathlib.Path]:
    """The files and folders outside docs/ that pages lead to, and those that these lead to in turn."""
    waiting = [pathlib.Path("docs", file.src_uri) for file in files.documentation_pages()]
    known: set[pathlib.Path] = set()
    while waiting:
        place = waiting.pop()
        new: set[pathlib.Path] = set()
        if (ROOT / place).is_dir():
            new = {place / name for name in inside(place)} - known
        elif place.suffix == ".md":
            new = set(outside((ROOT / place).read_text(encoding="utf-8"), place).values()) - known
        known |= new
        waiting += new
    return known


def target(path: pathlib.Path) -> str:
    """Where the site has a file or folder of the repository; a folder's README is its page."""
    if (ROOT / path).is_dir():
        return f"source/{path}/README.md" if (ROOT / path / "README.md").exists() else f"source/{path}/index.md"
    return f"source/{path}"


def header_page() -> str:
    try:
        return c_reference.page(str(ROOT / "include" / "sked" / "sked.h"))
    except c_reference.HeaderError as error:
        raise PluginError(str(error)) from error


def python_page() -> str:
    try:
        return python_reference.page(ROOT / "python")
    except python_reference.DocstringError as error:
        raise PluginError(str(error)) from error


# Pages that only the site has: docs/ has no files of these names.
MADE = {"reference/c.md": header_page, "reference/command.md": command_page, "reference/python.md": python_page}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted(carried(files)):
        if (ROOT / path).is_dir():
            if target(path).endswith("README.md"):
                continue
            lines = [f"# {path}", "", *(f"- [{name}]({name})" for name in inside(path))]
            made = File.generated(config, target(path), content="\n".join(lines) + "\n", inclusion=InclusionLevel.NOT_IN_NAV)
        else:
            made = File.generated(config, target(path), abs_src_path=str(ROOT / path), inclusion=InclusionLevel.NOT_IN_NAV)
        files.append(made)
    for name, make in MADE.items():
        files.append(File.generated(config, name, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files of the repository lead to their copy in the site, links from there into docs/ to the page."""
    source, place = page.file.src_uri, place_of(page.file.src_uri)
    leave = outside(markdown, place)

    def lead(match: re.Match[str]) -> str:
        path = (ROOT / place.parent / match[2]).resolve()
        if match[2] in leave:
            to = target(leave[match[2]])
        elif source.startswith("source/") and path.is_relative_to(DOCS):
            to = str(path.relative_to(DOCS))
        else:
            return match[0]
        return f"{match[1]}{os.path.relpath(to, os.path.dirname(source) or '.')}{match[3]}"

    return LINK.sub(lead, markdown)
