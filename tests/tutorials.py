#!/usr/bin/env python3
"""Runs every command of the tutorials: tutorials.py SKED SOURCE_DIR [PAGE ...].

A fenced block `console` holds commands behind `$ ` (continued behind `> `) and what they print. Each page runs in a folder
of its own that has examples/, its blocks in order. Every command must succeed. Output that the page shows is compared:
`...` stands for any text within a line, on a line of its own for any lines; seconds may differ. A command without output
on the page may print what it likes. PAGE: only these.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sked, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
SECONDS = re.compile(r"\b\d+\.\d+ s\b")


def commands(text: str) -> list[tuple[str, str]]:
    """Pairs of a command and what the page shows of its output."""
    found = []
    for language, block in FENCE.findall(text):
        if language != "console":
            assert not re.search(r"^\$ |^sked ", block, flags=re.M), f"not in a console block: {block}"
            continue
        assert block.startswith("$ "), f"does not begin with a command: {block}"
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.rstrip("\n").split("\n")
            more = 1
            while more < len(lines) and lines[more].startswith("> "):
                more += 1
            command = "\n".join([lines[0], *(line[2:] for line in lines[1:more])])
            found.append((command, "\n".join(lines[more:])))
    return found


def pattern(shown: str) -> str:
    """What the output must match."""
    lines = []
    for line in SECONDS.sub("T s", shown).split("\n"):
        if line.strip() == "...":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(".*?".join(re.escape(part.rstrip()) for part in line.split("...")) + r"[ ]*\n")
    return "".join(lines)


def run(page: pathlib.Path) -> tuple[int, list[str]]:
    """Number of commands of a page, and what went wrong."""
    bad = []
    todo = commands(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source / "examples", os.path.join(folder, "examples"))
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "PATH": f"{sked.parent}:{os.environ['PATH']}"}
        for command, shown in todo:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = SECONDS.sub("T s", done.stdout)
            if done.returncode != 0:
                bad.append(f"{page}: exit code {done.returncode}\n$ {command}\n{done.stdout}")
            elif shown and not re.fullmatch(pattern(shown), said if said.endswith("\n") else said + "\n"):
                bad.append(f"{page}: printed something else\n$ {command}\n{done.stdout}-- the page has\n{shown}")
    return len(todo), bad


pages = [pathlib.Path(name) for name in sys.argv[3:]] or [
    source / "docs" / "index.md", *sorted((source / "docs" / "tutorials").glob("*.md"))]
results = [run(page) for page in pages]
bad = [sentence for _, sentences in results for sentence in sentences]
count = sum(number for number, _ in results)
if not sys.argv[3:] and count < 20:
    bad.append(f"only {count} commands were found")
print("\n".join(bad) if bad else f"{count} commands ran")
print(f"{count - len(bad)} passed, {len(bad)} failed")
sys.exit(1 if bad else 0)
