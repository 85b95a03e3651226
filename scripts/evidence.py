#!/usr/bin/env python3
"""Rewrites the figures in README.md and docs from the commands that make them.

    scripts/evidence.py           run every `evidence` block, about half an hour (`make evidence`)
    scripts/evidence.py --full    run the `evidence-full` blocks (`make evidence-full`)
    scripts/evidence.py --list    name the blocks and run nothing
    scripts/evidence.py --bare    name the tables of figures that no command stands beside

A block is

    <!-- evidence: sked-bench paper --only table2 --threads 2 -->
    what the command printed
    <!-- /evidence -->

or the same with `evidence-full`. The command runs in the folder of the project, build/ first on the
PATH, with --full build/cuda before it where that is built. Markdown replaces the block as it is (the command's headings become bold lines, so that the
page keeps its own outline); other text goes into a code block. Where the command fails, or prints a
line that begins with "skipped:", the block stays as it is; a failure ends the script with code 1
after the other blocks have run.
"""

import argparse
import dataclasses
import os
import re
import signal
import subprocess
import sys
import time

BEGIN = re.compile(r"^<!-- (evidence|evidence-full): (.+?) -->$")
END = "<!-- /evidence -->"
FENCE = re.compile(r"^\s*(```|~~~)")
TABLE_RULE = re.compile(r"^\|[\s:|-]+\|$")
FIGURES = re.compile(r"\|[^|]*\d\.\d[^|]*(?=\|)")  # a cell with a decimal
# What makes figures: our programs, scripts and targets of make, as code.
COMMAND = re.compile(
    r"(?:^ {4}|`)[^`\n]*\b(?:sked(?:-bench)? [a-z-]+|make [a-z]+|(?:bench|scripts)/\w+\.(?:py|sh))",
    re.M,
)
BENCHMARK = re.compile(r"(?:^ {4}|`)[^`\n]*\b(?:sked-bench [a-z-]+|bench/\w+\.py)", re.M)


@dataclasses.dataclass
class Block:
    path: str
    line: int  # of the first marker, from 1
    full: bool
    command: str
    first: int  # lines[first:last] is what the command printed
    last: int


def find_blocks(path: str, lines: list[str]) -> list[Block]:
    """Markers inside code blocks are examples, not blocks."""
    blocks: list[Block] = []
    begin, fenced = None, False
    for i, line in enumerate(lines):
        if begin is None and FENCE.match(line):
            fenced = not fenced
        match = None if fenced else BEGIN.match(line)
        if match and begin is not None:
            raise SystemExit(
                f"{path}:{i + 1}: a block begins inside the block of line {begin[0] + 1}"
            )
        if match:
            begin = (i, match)
        elif line == END and not fenced:
            if begin is None:
                raise SystemExit(f"{path}:{i + 1}: no block begins before this end")
            at, found = begin
            blocks.append(Block(path, at + 1, found[1] == "evidence-full", found[2], at + 1, i))
            begin = None
    if begin is not None:
        raise SystemExit(f"{path}:{begin[0] + 1}: this block has no end, {END}")
    return blocks


def as_markdown(text: str) -> list[str]:
    lines = text.rstrip("\n").split("\n")
    if not any(line.startswith("|") for line in lines):
        return ["```", *lines, "```"]
    shown = ["", *(re.sub(r"^#+ (.*)$", r"**\1**", line) for line in lines), ""]
    return [line for i, line in enumerate(shown) if line or i == 0 or shown[i - 1]]


def run(command: str, root: str, limit: float | None, full: bool) -> tuple[str, str]:
    """What it printed, and why that does not count ("" where it does)."""
    builds = [os.path.join(root, "build", "cuda")] if full else []
    path = [*builds, os.path.join(root, "build"), os.environ["PATH"]]
    environment = dict(os.environ, PATH=os.pathsep.join(path))
    child = subprocess.Popen(
        command,
        shell=True,
        cwd=root,
        env=environment,
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        text, _ = child.communicate(timeout=limit)
    except BaseException as end:  # a limit or Ctrl-C ends what the command has started, too
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        if isinstance(end, subprocess.TimeoutExpired):
            return "", f"took more than {limit:g} s"
        raise
    if child.returncode != 0:
        return "", f"ended with code {child.returncode}"
    if not text.strip():
        return "", "printed nothing"
    skipped = re.search(r"^skipped: .*", text, re.M)
    return text, skipped[0] if skipped else ""


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")


def replace(page: str, root: str, command: str, inside: list[str]) -> None:
    """In the page as it is now, since someone may have edited it meanwhile; a page is never half
    written."""
    path = os.path.join(root, page)
    lines = read(path)
    for block in reversed(find_blocks(page, lines)):
        if block.command == command:
            lines[block.first : block.last] = inside
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(path + ".new", path)


def renew(blocks: list[Block], root: str, limit: float | None) -> int:
    """Runs every command once, however many pages show what it prints; returns the failures."""
    failures = 0
    for command in dict.fromkeys(block.command for block in blocks):
        places = [block for block in blocks if block.command == command]
        begin = time.monotonic()
        text, reason = run(command, root, limit, places[0].full)
        seconds = f"{time.monotonic() - begin:.1f} s"
        for block in places:
            print(f"{block.path}:{block.line}: {command}: {reason or 'renewed'}, {seconds}", flush=True)
        failures += len(places) if reason and not reason.startswith("skipped:") else 0
        for page in dict.fromkeys(block.path for block in places if not reason):
            replace(page, root, command, as_markdown(text))
    return failures


def bare_tables(lines: list[str]) -> list[int]:
    """Lines of tables with figures in sections without a command. A benchmark that stands above the
    first section is for the whole page."""
    found, section, tables, fenced = [], [], [], False
    intro = "\n".join(lines).split("\n## ", 1)[0]
    if BENCHMARK.search(intro):
        return []

    def close() -> None:
        if not COMMAND.search("\n".join(section)):
            found.extend(tables)
        section.clear()
        tables.clear()

    for i, line in enumerate(lines):
        fenced ^= bool(FENCE.match(line))
        if re.match(r"^#+ ", line) and not fenced:
            close()
        section.append("    " + line if fenced else line)
        body = lines[i + 1] if i + 1 < len(lines) else ""
        if TABLE_RULE.match(line) and FIGURES.search(body):
            tables.append(i)
    close()
    return [i + 1 for i in found]


def pages(root: str) -> list[str]:
    """What git tracks or would track; without git, all pages."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=root, text=True, capture_output=True)
    names = listed.stdout.split("\n")
    if listed.returncode != 0:
        walk = [(folder, name) for folder, _, files in os.walk(root) for name in files]
        names = [os.path.relpath(os.path.join(folder, name), root) for folder, name in walk]
    found = {name for name in names if name.endswith(".md")}
    return sorted(name for name in found if os.path.exists(os.path.join(root, name)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    )
    parser.add_argument("--full", action="store_true", help="run the evidence-full blocks")
    parser.add_argument("--only", default="", help="only commands that contain this text")
    parser.add_argument("--limit", type=float, help="seconds for one command")
    parser.add_argument("--list", action="store_true", help="name the blocks and run nothing")
    parser.add_argument(
        "--bare", action="store_true", help="name tables of figures without a command"
    )
    a = parser.parse_args()
    root, failures, count = os.path.abspath(a.root), 0, 0
    wanted: list[Block] = []
    for page in pages(root):
        lines = read(os.path.join(root, page))
        if a.bare:
            for line in bare_tables(lines):
                print(f"{page}:{line}: figures without a command")
                count += 1
            continue
        blocks = find_blocks(page, lines)
        wanted += [b for b in blocks if a.only in b.command and (a.list or b.full == a.full)]
    if a.list:
        for b in wanted:
            print(f"{b.path}:{b.line}: {'evidence-full' if b.full else 'evidence'}: {b.command}")
    elif not a.bare:
        failures = renew(wanted, root, a.limit)
    count += len(wanted)
    print(f"{count} {'tables' if a.bare else 'blocks'}, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
