"""The table of options of tools/sked/cli.h: what tests drive by it covers an option that is added."""
import os
import re

READ, WRITTEN = ("READ", "RESUME", "SPEC", "SPECS"), ("WRITE", "OUTPUT", "PLACE")


class Option:
    """A line of OPTION_LIST."""

    def __init__(self, name, kind, value, commands):
        self.name, self.kind, self.value, self.commands = name, kind, value, commands


def tables(source):
    with open(os.path.join(source, "tools", "sked", "cli.h"), encoding="utf-8") as f:
        text = re.sub(r"\\\n\s*", " ", f.read())
    commands = {name: operands.split() for name, operands in re.findall(r'\bX\((\w+), "([^"]*)", \d, \d, "', text)}
    groups = {}

    def members(expression):
        found = set()
        for negative, word in re.findall(r"(~?)\s*(ON\(\w+\)|ON_\w+)", expression):
            some = {word[3:-1]} if word.startswith("ON(") else groups[word]
            found = found - some if negative else found | some
        return found
    for name, body in re.findall(r"#define (ON_\w+) +\(([^\n]*)\)", text):
        groups[name] = members(body)
    options = [Option(name, kind, value, members(where)) for kind, name, value, where in re.findall(
        r'\bX\(\w+, ([A-Z]+), "([\w-]+)", "([^"]*)", [^,]+, [^,]+, [^,]+, ([^"]*?), *"', text)]
    assert len(commands) > 10 and len(options) > 60 and all(o.commands for o in options), (commands, len(options))
    return commands, options
