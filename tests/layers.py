#!/usr/bin/env python3
"""Who may include whom. Usage: layers.py SOURCE_FOLDER

Reads every #include "..." of src, tools and bench and prints file, line and rule for each that breaks one. First it
proves on small made-up trees that each rule can fail. Ends with the line that scripts/count.py counts."""
import os
import re
import sys
import tempfile

# What a room stands on, beside itself. What those stand on follows.
STANDS_ON = {
    "base": [],
    "graph": ["base"],
    "formats": ["graph"],
    "problem": ["graph"],
    "backend": ["base"],
    "schedule": ["formats", "problem"],
    "form": ["schedule", "backend"],  # relaxation.h is what the kernels read
    "engine": ["form"],
    "method": ["engine", "report", "dist"],  # samples are written as reports are; ranks share a run
    "target": ["schedule"],
    "report": ["engine"],  # plans of memory are packed
    "dist": ["schedule", "backend"],  # a rank takes the GPU of its place
    "robust": ["method", "target"],
}
CUDA = re.compile(r"(cuda|cublas|curand|cusolver|cusparse|cub/|thrust/|cooperative_groups|nvToolsExt|nvtx|nccl)")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def allowed_rooms(room):
    rooms, todo = {room}, list(STANDS_ON[room])
    while todo:
        lower = todo.pop()
        rooms.add(lower)
        todo += STANDS_ON[lower]
    return rooms


class Tree:
    """The C files of a source folder and what they include."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        for top in ("src", "tools", "bench"):
            for folder, _, names in sorted(os.walk(os.path.join(root, top))):
                for name in sorted(names):
                    if name.endswith((".c", ".h", ".cu", ".cuh")):
                        path = os.path.join(folder, name)
                        with open(path, encoding="utf-8") as f:
                            self.files[os.path.relpath(path, root)] = f.read()
        self.methods = self.method_names()

    def method_names(self):
        """Methods are the folders of src/method, and the files there that carry the name of a method in its table."""
        table = without_comments(self.files.get("src/method/table.h", ""))
        listed = set(re.findall(r"\bX\((\w+)", table))
        folders = {path.split("/")[2] for path in self.files if path.startswith("src/method/") and path.count("/") > 2}
        files = {path.split("/")[2].rsplit(".", 1)[0] for path in self.files if path.startswith("src/method/")}
        return folders | (listed & files)

    def method_of(self, path):
        """The method a file belongs to; None: another room, or what all methods share."""
        parts = path.split("/")
        if parts[:2] != ["src", "method"]:
            return None
        name = parts[2] if len(parts) > 3 else parts[2].rsplit(".", 1)[0]
        return name if name in self.methods else None

    def find(self, path, name):
        """The file an #include "..." means, by the compiler's order: beside the file, then in src."""
        for folder in (os.path.dirname(path), "src"):
            found = os.path.normpath(os.path.join(folder, name))
            if found in self.files:
                return found
        return None

    def includes(self):
        """(file, line, "quote or angle", name as written, file it means or None)"""
        for path, text in self.files.items():
            for number, line in enumerate(text.split("\n"), 1):
                match = INCLUDE.match(line)
                if match:
                    kind, name = match.groups()
                    yield path, number, kind, name, self.find(path, name) if kind == '"' else None


def without_comments(text):
    """Comments become blanks; line numbers stay."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def rooms_go_one_way(tree):
    for path in tree.files:
        room = room_of(path)
        if path.startswith("src/") and room not in STANDS_ON:
            yield path, 1, f"src/{room} is no room of the list in tests/layers.py"
    for path, line, _, name, found in tree.includes():
        room, other = room_of(path), room_of(found) if found else None
        if room in STANDS_ON and other in STANDS_ON and other not in allowed_rooms(room):
            yield path, line, f'{room} does not stand on {other}: "{name}"'


def methods_do_not_meet(tree):
    for path, line, _, name, found in tree.includes():
        if found is None or room_of(found) != "method":
            continue
        mine, other = tree.method_of(path), tree.method_of(found)
        if other is not None and mine != other:
            who = f"method {mine}" if mine else "what methods share"
            yield path, line, f'{who} includes method {other}: "{name}"'


def the_driver_is_private(tree):
    for path, line, _, name, found in tree.includes():
        shared = room_of(path) == "method" and path.count("/") == 2 and tree.method_of(path) is None
        if found == "src/method/driver.h" and not shared:
            yield path, line, f'only the driver touches what is the driver\'s: "{name}"'


# What a user calls, and what calls a method on the user's behalf.
CALLERS = ("src/method/method.c", "src/method/sweep.c", "src/method/addressing.c")


def methods_do_not_start_over(tree):
    for path, text in tree.files.items():
        if path.startswith("src/method/") and path not in CALLERS:
            for number, line in enumerate(without_comments(text).split("\n"), 1):
                if re.search(r"\bsked_method_run\s*\(", line):
                    yield path, number, "a run inside a run: sked_i_run_member or sked_i_inner_run, not sked_method_run"


def the_library_uses_no_tool(tree):
    for path, line, _, name, found in tree.includes():
        if path.startswith("src/") and found and not found.startswith("src/"):
            yield path, line, f'the library includes "{name}"'


# What pictures of the library and of the programs have in common; it includes nothing of the library itself.
SHARED_WITH_TOOLS = ("src/report/axis.h",)


def tools_use_the_public_header(tree):
    for path, line, kind, name, found in tree.includes():
        if path in SHARED_WITH_TOOLS and kind == '"':
            yield path, line, f'"{name}": a header that tools share includes nothing of the library'
        if path.startswith("src/") or kind != '"' or name == "sked/sked.h" or found in SHARED_WITH_TOOLS:
            continue
        own = ("tools/",) if path.startswith("tools/") else ("tools/", "bench/")
        if found is None or not found.startswith(own):
            yield path, line, f'"{name}": only sked/sked.h and headers of its own'


def the_validator_stands_alone(tree):
    for path, line, _, name, found in tree.includes():
        if path == "src/schedule/validate.c" and found and found != "src/problem/machine.h" \
                and room_of(found) not in ("base", "graph"):
            yield path, line, f'the validator shares no code with what it judges: "{name}"'


def cuda_stays_in_its_folder(tree):
    for path in tree.files:
        if path.endswith((".cu", ".cuh")) and not path.startswith("src/backend/cuda/"):
            yield path, 1, "CUDA code lives in src/backend/cuda"
    for path, line, kind, name, found in tree.includes():
        if CUDA.match(name) and found is None and not path.startswith("src/backend/cuda/"):
            yield path, line, f"CUDA header outside src/backend/cuda: {name}"


# The writer itself; the plan a measuring program reads, in the temporary folder.
WRITERS = ("src/base/file_write.c", "src/target/shell.c")
WRITES = re.compile(r"\b(fopen|freopen|creat|rename|renameat|mkstemps?|mkostemps?|tmpfile)\s*\(|\bO_(CREAT|TMPFILE)\b")


def files_are_written_in_one_place(tree):
    for path, text in tree.files.items():
        if path in WRITERS or path.startswith("bench/"):
            continue
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            match = WRITES.search(line)
            if match:
                yield path, number, f"{match[0]}: files are written by src/base/file_write.c (sked_file_write)"


# What prints a number with the locale of the program: text.c takes its digits alone; a key that is compared; messages.
PRINTERS = ("src/base/text.c", "src/problem/costs.c", "src/problem/memory_limit.c", "src/method/memory_limits.c",
            "src/robust/robust_loop.c")
PRINTS = re.compile(r"\b(?:sked_i_buffer_format|v?s?n?printf|fprintf|sprintf|vfprintf|dprintf|asprintf)\s*\(")
REAL = re.compile(r"%(?!\.0f)[-+ #0-9.*]*l?[aefgAEFG]")
READS = re.compile(r"\b(?:strtod|strtof|strtold|atof|sscanf|fscanf|setlocale|newlocale|uselocale|localeconv)\s*\(")


def arguments_of(text, begin):
    depth = 0
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return text[begin:]


def numbers_know_no_locale(tree):
    """Programs set locales with a decimal comma. Errors may follow it, what is written and read may not: numbers go through
    sked_format_number, sked_i_buffer_number, sked_i_digits and sked_parse_number."""
    for path, text in tree.files.items():
        if not path.startswith("src/") or path in PRINTERS:
            continue
        clean = without_comments(text)
        for match in PRINTS.finditer(clean):
            for literal in re.findall(r'"(?:[^"\\]|\\.)*"', arguments_of(clean, match.end() - 1)):
                if REAL.search(literal.replace("%%", "")):
                    yield path, clean.count("\n", 0, match.start()) + 1, f"{literal[:40]} prints a number with the locale"
        for match in READS.finditer(clean):
            yield path, clean.count("\n", 0, match.start()) + 1, f"{match[0]}: numbers are read by sked_parse_number"


# Who calls what makes the solved problem from the one asked for, and back; all others get what the driver has made.
LOWERING = {
    "sked_i_lower": {
        "src/method/method.c",  # the driver, once a run
        "src/method/inner.c",  # a method on another problem than the run's
        "src/method/memory_limits.c",  # advice beside a refusal: the driver has not lowered yet
        "src/method/gflownet/api.c",  # samples are drawn without a run
        "src/form/export.c",  # the model that is written is that of the solved problem
        "src/robust/one_shot.c",  # stages on the candidates of several runs
        "src/problem/problem.c",  # sked_problem_check: what a clock is lowered to refutes it
        "src/problem/bounds.c",  # sked_problem_bound, likewise
    },
    "sked_i_lower_within": {"src/method/method.c"},  # the same as sked_i_lower, and the limit of the run
    "sked_i_lower_profile": {
        "src/problem/lower.h",  # SKED_TAKE_PROBLEM
        "src/schedule/simulator.c",  # both keep the problem longer than the call
        "src/target/target.c",
    },
    "sked_i_realise": {"src/method/driver.c"},
    "sked_i_lower_memory_may_bind": {"src/problem/problem.c", "src/problem/memory_limit.c"},  # before lowering: the check
    "sked_i_costs_make": {
        "src/problem/problem.c",  # the check, and the bound alone: no run
        "src/problem/bounds.c",
        "src/schedule/metrics.c",  # public questions about one schedule
        "src/schedule/profile.c",
        "src/schedule/schedule_json.c",
        "src/schedule/replay.c",  # the reference for times, of targets and tests
        "src/dist/best.c",
        "src/report/view.c",
        "src/method/addressing.c",  # around whole runs: of the problem with addresses, which no method sees
        "src/target/transfer.c",  # a target's own machine
        "src/robust/model.c",  # the machine that is guessed
    },
}
DEFINED = {"sked_i_lower": "problem/lower", "sked_i_lower_profile": "problem/lower", "sked_i_realise": "schedule/realise",
           "sked_i_lower_memory_may_bind": "problem/lower", "sked_i_costs_make": "problem/costs"}


def problems_are_lowered_by_the_driver(tree):
    for path, text in tree.files.items():
        clean = without_comments(text)
        for call, callers in LOWERING.items():
            if path in callers or path[4:-2] in DEFINED.values():
                continue
            for match in re.finditer(rf"\b{call}\s*\(", clean):
                yield path, clean.count("\n", 0, match.start()) + 1, f"{call}: the driver has done it (src/problem/lower.h)"


def definitions(text):
    """(line, name) of each sked_i_ type the text defines; a declaration that only names it is none."""
    patterns = (
        r"\b(?:struct|union|enum)\s+(sked_i_\w+)\s*\{",
        r"\}\s*(sked_i_\w+)\s*;",
        r"\btypedef\s+[^;{}]*\(\s*\*\s*(sked_i_\w+)\s*\)\s*\(",
        r"\btypedef\s+(?!(?:struct|union|enum)\s+(sked_i_\w+)\s+\1\s*;)[^;{}()]*\b(sked_i_\w+)\s*;",
    )
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            name = next(g for g in reversed(match.groups()) if g)
            yield text.count("\n", 0, match.start()) + 1, name


def a_type_is_defined_once(tree):
    places = {}
    for path, text in tree.files.items():
        for line, name in definitions(without_comments(text)):
            places.setdefault(name, {}).setdefault(path, line)
    for name, where in sorted(places.items()):
        for path, line in list(where.items())[1:]:
            yield path, line, f"{name} is defined in {next(iter(where))} too"


def list_entries_only(body, name):
    """True for NAME(...) NAME(...) ..., whatever stands between the outer brackets."""
    body = body.strip()
    while body:
        if not re.match(name + r"\s*\(", body):
            return False
        depth, end = 0, body.index("(")
        while end < len(body):
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
            if depth == 0:
                break
        if depth:
            return False
        body = body[end:].strip()
    return True


def entries_of(text):
    """The members of a table.h: what follows #define NAME_LIST(X), or the lines NAME(member) of a file that is made to
    be included several times. None: it has none, or something else in it."""
    joined = re.sub(r"\\\n", "  ", without_comments(text))
    lines = [line.strip() for line in joined.split("\n") if line.strip()]
    lines = [line for line in lines if not re.match(r"#\s*(ifndef\s+\w+|define\s+\w+|endif|undef\s+\w+)$", line)]
    body = " ".join(re.sub(r"^#\s*define\s+\w+_LIST\(X\)", "", line) for line in lines)
    first = re.match(r"\s*(\w+)", body)
    return body if first and list_entries_only(body, first.group(1)) else None


def a_table_is_a_list(tree):
    for path, text in tree.files.items():
        if os.path.basename(path) == "table.h" and not entries_of(text):
            yield path, 1, "a table.h is a list of members and nothing else"


def base_names_do_not_repeat(tree):
    """A file is found by its name alone. Lists (table.h) carry the name of what they are."""
    seen = {}
    for path in sorted(tree.files):
        name = os.path.basename(path)
        if path.startswith("src/") and name != "table.h" and seen.setdefault(name, path) != path:
            yield path, 1, f"{seen[name]} has the same name"


# A function that a header of src declares: what stands before the name on its line is a type.
DECLARED = re.compile(r"^(?:SKED_MUST_CHECK |static inline |extern |const )*(?:struct )?[A-Za-z_]\w*[ *]+(?:const )?(sked_i_(\w+))\s*\(", re.M)


def prefixes_name_the_room(tree):
    """sked_i_sequence_try is in src/engine/sequence: where a file or folder of another room has the first word of a
    function's name, and none on its own path has, a reader looks for it in the wrong place."""
    functions, owners = [], {}
    for path, text in tree.files.items():
        if not (path.startswith("src/") and path.endswith(".h")):
            continue
        parts = path[4:-2].split("/")
        room = "/".join(parts[:2]) if parts[0] in ("engine", "method") and len(parts) > 2 else parts[0]
        clean = without_comments(text)
        for match in DECLARED.finditer(clean):
            name, first = match.group(2), match.group(2).split("_")[0]
            home = any(name.startswith(part) or part.startswith(first) for part in parts)
            line = clean.count("\n", 0, match.start(1)) + 1
            functions.append((path, line, name, first, room, home))
            if home:
                owners.setdefault(first, {}).setdefault(room, path)
    for path, line, name, first, room, home in functions:
        others = [other for owner, other in owners.get(first, {}).items() if owner != room]
        if not home and name != first and others:
            yield path, line, f"sked_i_{name}: the prefix is that of {others[0]}"


RULES = [rooms_go_one_way, base_names_do_not_repeat, prefixes_name_the_room, methods_do_not_meet, the_driver_is_private, methods_do_not_start_over, the_library_uses_no_tool, tools_use_the_public_header,
         the_validator_stands_alone, cuda_stays_in_its_folder, files_are_written_in_one_place,
         a_type_is_defined_once, a_table_is_a_list, problems_are_lowered_by_the_driver, numbers_know_no_locale]

# A tree that breaks nothing, and for each rule changes that must break that rule (and perhaps others).
GOOD = {
    "src/base/a.h": "typedef struct sked_i_a {\n    int x;\n} sked_i_a;\ntypedef struct sked_i_shut sked_i_shut;\n",
    "src/base/a.c": '#include "base/a.h"\n#include <stdio.h>\nstruct sked_i_shut {\n    int y;\n};\n',
    "src/graph/graph.h": '#include "base/a.h"\n',
    "src/schedule/validate.c": '#include "base/a.h"\n#include "graph/graph.h"\n',
    "src/schedule/schedule.h": '#include "graph/graph.h"\n',
    "src/engine/tabu.h": '#include "schedule/schedule.h"\n#include "backend/backend.h"\n',
    "src/backend/backend.h": "",
    "src/backend/cuda/run.cu": '#include "backend/backend.h"\n#include <cuda_runtime.h>\n',
    "src/method/method.h": "",
    "src/method/method.c": "int sked_method_run(int name);\n",
    "src/method/driver.h": "",
    "src/method/driver.c": '#include "method/driver.h"\n',
    "src/method/table.h": "/* The list. */\n#define SKED_METHOD_LIST(X) \\\n    X(one)                  \\\n    X(two)\n",
    "src/graph/families/table.h": "/* Included with SKED_FAMILY defined. */\nSKED_FAMILY(chain)\nSKED_FAMILY(tree)\n",
    "src/method/one.c": '#include "method/method.h"\n#include "engine/tabu.h"\n',
    "src/method/two/two.h": "",
    "src/method/two/two.c": '#include "method/two/two.h"\n#include "onnx.pb-c.h"\n',
    "tools/sked/cli.h": '#include "sked/sked.h"\n',
    "tools/sked/main.c": '#include "cli.h"\n',
    "bench/main.c": '#include "sked/sked.h"\n#include "../tools/sked/cli.h"\n',
}
BAD = [
    (rooms_go_one_way, {"src/base/b.c": '#include "graph/graph.h"\n'}),
    (rooms_go_one_way, {"src/engine/b.c": '#include "method/method.h"\n'}),
    (rooms_go_one_way, {"src/schedule/b.c": '#include "backend/backend.h"\n'}),
    (rooms_go_one_way, {"src/attic/b.c": ""}),
    (methods_do_not_meet, {"src/method/one.c": '\n#include "method/two/two.h"\n'}),
    (methods_do_not_meet, {"src/method/method.c": '#include "method/two/two.h"\n'}),
    (methods_do_not_meet, {"src/method/one.h": "", "src/method/two/b.c": '#include "method/one.h"\n'}),
    (the_driver_is_private, {"src/method/one.c": '#include "method/driver.h"\n'}),
    (the_driver_is_private, {"src/method/two/b.c": '#include "method/driver.h"\n'}),
    (methods_do_not_start_over, {"src/method/two/b.c": "int x = sked_method_run(name);\n"}),
    (methods_do_not_start_over, {"src/method/share.c": "int x = sked_method_run (name);\n"}),
    (the_library_uses_no_tool, {"src/base/b.c": '#include "../../tools/sked/cli.h"\n'}),
    (tools_use_the_public_header, {"tools/sked/b.c": '#include "base/a.h"\n'}),
    (tools_use_the_public_header, {"tools/sked/b.c": '#include "../../src/base/a.h"\n'}),
    (tools_use_the_public_header, {"bench/b.c": '#include "graph/graph.h"\n'}),
    (tools_use_the_public_header, {"src/report/axis.h": '#include "base/a.h"\n'}),
    (the_validator_stands_alone, {"src/schedule/validate.c": '#include "schedule/schedule.h"\n'}),
    (cuda_stays_in_its_folder, {"src/backend/b.c": "#include <cuda_runtime.h>\n"}),
    (cuda_stays_in_its_folder, {"src/engine/b.cu": ""}),
    (files_are_written_in_one_place, {"tools/sked/b.c": 'FILE *f = fopen(path, "w");\n'}),
    (files_are_written_in_one_place, {"src/report/b.c": "int fd = open(path, O_WRONLY | O_CREAT, 0666);\n"}),
    (a_type_is_defined_once, {"src/graph/b.h": "typedef struct sked_i_a {\n    int y;\n} sked_i_a;\n"}),
    (a_type_is_defined_once, {"src/graph/b.h": "struct sked_i_shut {\n    int z;\n};\n"}),
    (base_names_do_not_repeat, {"src/schedule/a.c": "int x;\n"}),
    (prefixes_name_the_room, {"src/base/tabu.h": "int sked_i_tabu_open(void);\n", "src/engine/tabu.h": "int sked_i_tabu_run(void);\n",
                              "src/form/form.h": "int\nsked_i_x(void);\nbool sked_i_tabu_close(int a);\n"}),
    (a_type_is_defined_once, {"src/graph/b.h": "typedef int sked_i_a;\n"}),
    (a_type_is_defined_once, {"src/graph/b.h": "typedef void (*sked_i_a)(int x);\n"}),
    (a_table_is_a_list, {"src/graph/table.h": "int x;\n"}),
    (a_table_is_a_list, {"src/graph/table.h": "#define SKED_B_LIST(X) X(a, f(1)) int x;\n"}),
    (a_table_is_a_list, {"src/graph/table.h": "SKED_FAMILY(a)\nOTHER(b)\n"}),
    (a_table_is_a_list, {"src/graph/table.h": "#define SKED_B_LIST(X) X(a)\n#include \"base/a.h\"\n"}),
    (a_table_is_a_list, {"src/graph/table.h": ""}),
    (problems_are_lowered_by_the_driver, {"src/method/one.c": "st = sked_i_lower(p, &x, err);\n"}),
    (problems_are_lowered_by_the_driver, {"src/engine/b.c": "SKED_TRY(sked_i_costs_make(p, &c, err));\n"}),
    (problems_are_lowered_by_the_driver, {"src/method/two/b.c": "if (sked_i_lower_memory_may_bind (p))\n"}),
    (problems_are_lowered_by_the_driver, {"src/report/b.c": "st = sked_i_realise(x, s, &r, err);\n"}),
    (problems_are_lowered_by_the_driver, {"src/form/b.c": "st = sked_i_lower_profile(p, &x, err);\n"}),
    (numbers_know_no_locale, {"src/form/b.c": 'sked_i_buffer_format(b, "%d %.17g",\n    i, x);\n'}),
    (numbers_know_no_locale, {"src/report/b.c": 'snprintf(text, f(sizeof text), "%-8.3lf", x);\n'}),
    (numbers_know_no_locale, {"src/formats/b.c": "double x = strtod(text, NULL);\n"}),
]


def made_up(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        return Tree(root)


def self_test():
    tree = made_up(GOOD)
    for rule in RULES:
        found = list(rule(tree))
        assert not found, (rule.__name__, found)
    for rule, change in BAD:
        path = list(change)[-1]
        found = list(rule(made_up({**GOOD, **change})))
        assert found and found[-1][0] == path, (rule.__name__, change, found)
        if rule is methods_do_not_meet and path == "src/method/one.c":
            assert found[0][1] == 2, found
    assert {rule for rule, _ in BAD} == set(RULES)


def main():
    self_test()
    tree = Tree(sys.argv[1])
    assert len(tree.files) > 100, "this is not the source folder of sked"
    passed = failed = 0
    for rule in RULES:
        found = sorted(rule(tree))
        for path, line, message in found:
            print(f"{path}:{line}: {message}")
        passed, failed = passed + (not found), failed + bool(found)
        if found:
            print(f"FAILED {rule.__name__}: {len(found)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
