#!/usr/bin/env python3
"""Turns the public header into one page of the site: c_reference.py HEADER prints Markdown.

The header is the only text there is: a contract stands above its declaration, or behind it on the same line. A function
without one takes part in a convention of the header (destroy, clear, count, at, find, init), or the page is refused with
the place. So is any line that is not understood: nothing may be missing from the page in silence.
"""
from __future__ import annotations

import dataclasses
import re
import sys

RULE = re.compile(r"/\* -{10,} (.+?) \*/$")
NAME = re.compile(r"\b(sked_\w+)\(")
# What the conventions at the top of the header say for all functions of these names.
CONVENTIONS = (
    (re.compile(r"_builder_destroy$"), "Ends a builder, finished or not; NULL is fine."),
    (re.compile(r"_destroy$"), "Ends the object and frees what it holds; NULL is fine."),
    (re.compile(r"_clear$"), "Frees what stands in the struct and leaves it as after `_init`."),
    (re.compile(r"_count\(void\)"), "Number of entries of the list."),
    (re.compile(r"_at\(int i\)"), "Entry `i` of the list; NULL past its end."),
    (re.compile(r"_find\(const char \*name\)"), "Entry of that name; NULL: there is none."),
    (re.compile(r"_init_sized\b"), "What `_init` calls, for other languages: sets size and presets."),
)


class HeaderError(Exception):
    """The header has something that cannot become part of the page."""


@dataclasses.dataclass
class Entry:
    """One declaration with its contract."""

    name: str
    kind: str  # function, type or macro
    code: str
    text: str
    line: int


def comment_text(comment: str) -> str:
    """The words of a comment, without its frame; lists and paragraphs keep their lines."""
    body = re.sub(r"^/\*|\*/$", "", comment.strip())
    lines = [re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in body.split("\n")]
    return "\n".join(lines).strip()


class Reader:
    """Walks over the header line by line and collects sections of entries."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.at = 0
        self.intro = ""
        self.sections: list[tuple[str, list[Entry]]] = []
        self.contract = ""

    def fail(self, sentence: str) -> HeaderError:
        return HeaderError(f"{self.path}:{self.at + 1}: {sentence}")

    def take(self, ends: re.Pattern[str], what: str) -> str:
        """The lines from here to the first that matches; the reader stands behind it."""
        first = self.at
        while self.at < len(self.lines):
            self.at += 1
            if ends.search(self.lines[self.at - 1]):
                return "\n".join(self.lines[first : self.at])
        self.at = first
        raise self.fail(f"{what} has no end")

    def add(self, name: str, kind: str, code: str, line: int) -> None:
        behind = re.search(r"[;})]\s*(/\*(?:(?!/\*).)*\*/)$", code, flags=re.S)
        text = self.contract
        if behind and kind != "type":
            text = (text + "\n\n" + comment_text(behind[1])).strip()
            code = code[: behind.start(1)].rstrip()
        self.contract = ""
        group = self.sections[-1][1]
        if kind == "macro" and not text and group and group[-1].kind == kind and self.lines[line - 2].strip():
            group[-1].code += "\n" + code  # one contract for several in a row
        else:
            group.append(Entry(name, kind, code, text, line))

    def declaration(self) -> None:
        line, first = self.lines[self.at], self.at + 1
        if line.startswith("#define"):
            code = self.take(re.compile(r"[^\\]$"), "a macro")
            self.add(re.match(r"#define (\w+)", code)[1], "macro", code, first)
        elif line.startswith(("typedef", "enum")):
            ends = r"^\}.*;" if line.rstrip().endswith("{") else r";\s*(/\*.*\*/)?$"
            code = self.take(re.compile(ends), "a type")
            found = re.search(r"\(\*(\w+)\)\(|\b(\w+);\s*(?:/\*.*\*/)?$", code)
            self.add((found[1] or found[2]) if found else "", "type", code, first)
        elif line.startswith("SKED_INIT_"):
            kind = re.match(r"SKED_INIT_(INPUT|OUTPUT)\((\w+)\)", line)
            says = "the presets" if kind[1] == "INPUT" else "zeros"
            self.contract = self.contract or f"Sets the size and {says}. Call it before anything else."
            code = re.sub(r"^SKED_INIT_\w+\(\w+\)", f"static inline void {kind[2]}_init({kind[2]} *x);", line)
            self.at += 1
            self.add(f"{kind[2]}_init", "function", code, first)
        elif line.startswith("static inline"):
            code = self.take(re.compile(r"^\}"), "a function").split("\n{")[0] + ";"
            self.contract = self.contract or "Sets the size and the presets. Call it before anything else."
            self.add(NAME.search(code)[1], "function", code, first)
        elif line.startswith("SKED_API"):
            code = self.take(re.compile(r";\s*(/\*.*\*/)?$"), "a declaration")
            self.add(NAME.search(code)[1], "function", re.sub(r"^SKED_API (SKED_MUST_CHECK )?", "", code), first)
        else:
            raise self.fail(f"not understood: {line}")

    def comment(self) -> None:
        comment = self.take(re.compile(r"\*/$"), "a comment")
        title = RULE.match(comment)
        if title:
            self.sections.append((title[1], []))
        elif not self.sections and not self.intro:
            self.intro = comment_text(comment)
        else:
            self.contract = comment_text(comment)

    def read(self) -> None:
        """Everything but the part between the first comment and the version, which is for the compiler."""
        self.comment()
        while not self.lines[self.at].startswith("/*"):
            self.at += 1
        self.sections.append(("version", []))
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("/*"):
                self.comment()
            elif line.startswith(("#ifdef", "#endif", "}")) or not line.strip():
                self.contract = ""
                self.at += 1
            else:
                self.declaration()


def documented(entry: Entry) -> str:
    """The contract of an entry, or that of the convention it belongs to; "" where there is none."""
    if entry.text or entry.kind != "function":
        return entry.text
    flat = " ".join(entry.code.split())
    return next((text for pattern, text in CONVENTIONS if pattern.search(flat.split("(")[0]) or pattern.search(flat)), "")


def expand(entry: Entry, lists: dict[str, Entry]) -> tuple[str, str]:
    """The contract of the list that an enum is made from, and its members as a table; empty where there is no list."""
    made = re.search(r"#define SKED_X\((.*?)\) (SKED_\w*?)##name.*?\n\s+(SKED_\w+_LIST)\(SKED_X\)", entry.code, re.S)
    if not made:
        return "", ""
    columns = [part.strip() for part in made[1].split(",")]
    rows = re.findall(r"X\((\w+), ([^\n]*?)\)\s*\\?(?:\n|$)", lists[made[3]].code.split("\n", 1)[1])
    table = [f"| name | {' | '.join(columns[1:])} |", "|---" * len(columns) + "|"]
    for name, rest in rows:
        values = re.findall(r'"[^"]*"|[^,\s][^,]*', rest)
        table.append(f"| `{made[2]}{name}` | {' | '.join(v.strip(chr(34)) for v in values)} |")
    return lists[made[3]].text, "\n".join(table)


class Page:
    """Writes the entries as Markdown."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        entries = [entry for _, group in reader.sections for entry in group]
        self.names = {entry.name for entry in entries if entry.name and not entry.name.endswith("_LIST")}
        self.lists = {entry.name: entry for entry in entries if entry.name.endswith("_LIST")}

    def prose(self, text: str) -> str:
        """Words of a comment: names become links, the rest is kept from meaning anything in Markdown."""
        parts = re.split(r"(`[^`]*`|\b(?:sked|SKED)_\w+\*?(?:\(\))?|\bdocs/[\w/-]+\.md\b)", text)
        return "".join(self.part(part) for part in parts)

    def part(self, part: str) -> str:
        name = part.strip("`").removesuffix("()")
        if name in self.names:
            return f"[`{name}`](#{name})"
        if re.fullmatch(r"docs/[\w/-]+\.md", part):
            return f"[{part[5:-3]}](../{part[5:]})"
        if part.startswith("`"):
            return part
        if re.match(r"sked_|SKED_", part):
            return f"`{part}`"
        return re.sub(r"([*_<>\[\]|\\])", r"\\\1", part)

    def entry(self, entry: Entry) -> str:
        text = documented(entry)
        inside = entry.kind == "macro" or (entry.kind == "type" and "{" in entry.code)
        if not text and not inside:
            raise HeaderError(f"{self.reader.path}:{entry.line}: {entry.name} has no contract")
        told, table = expand(entry, self.lists)
        body = table or f"```c\n{entry.code}\n```"
        head = f"### `{entry.name}` {{#{entry.name}}}" if entry.name else ""
        return "\n\n".join(part for part in (head, self.prose(told), body, self.prose(text)) if part)

    def render(self) -> str:
        """The whole page. Lists that enums are made of appear as the tables of those enums."""
        parts = ["# C reference", self.prose(self.reader.intro)]
        for title, entries in self.reader.sections:
            shown = [e for e in entries if not re.search(r"_LIST$|^SKED_(X|STRINGIFY|INIT)", e.name)]
            if shown:
                parts.append(f"## {title[0].upper()}{title[1:]}")
            parts += [self.entry(e) for e in shown]
        return "\n\n".join(parts) + "\n"


def page(path: str) -> str:
    """The page of a header; HeaderError where a function has no contract or a line is not understood."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    reader = Reader(path, text)
    reader.read()
    done = Page(reader)
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lost = set(re.findall(r"SKED_API\b[^;{]*?\b(sked_\w+)\(", bare)) - done.names
    if lost:
        raise HeaderError(f"{path}: not found: {', '.join(sorted(lost))}")
    return done.render()


if __name__ == "__main__":
    try:
        sys.stdout.write(page(sys.argv[1]))
    except HeaderError as error:
        sys.exit(str(error))
