#!/usr/bin/env python3
"""The rules of docs/api.md that the public header can break: header.py SOURCE_DIR LIBSKED.SO CC CXX."""
import os
import re
import subprocess
import sys

# Never change; or allocated by the library alone, so that they may grow at their end.
FIXED = {"sked_error", "sked_edge", "sked_option"}
LIBRARY = {"sked_schedule", "sked_statistic", "sked_curve_point", "sked_train_progress", "sked_robust_member", "sked_sweep_point",
           "sked_robust_measurement", "sked_robust_parameter", "sked_pipeline_trial"}
OWNED = {"sked_result", "sked_samples", "sked_robust_result", "sked_sweep_result", "sked_measurement", "sked_pipeline_result",
         "sked_packing"}  # hold memory

source, library, cc, cxx = sys.argv[1:5]
header = os.path.join(source, "include", "sked", "sked.h")
text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
structs = dict(re.findall(r"typedef struct (sked_\w+) \{(.*?)\n\} \1;", text, flags=re.S))
opaque = set(re.findall(r"typedef struct (sked_\w+) \1;", text))
functions = set(re.findall(r"\b(sked_\w+)\(", text))
inits = set(re.findall(r"SKED_INIT_(?:INPUT|OUTPUT)\((sked_\w+)\)", text))
inits |= {name[:-5] for name in functions if name.endswith("_init")}
bad = []


def rule(holds, sentence):
    if not holds:
        bad.append(sentence)


rule(len(structs) > 20 and len(opaque) > 4 and len(functions) > 100, "the header was not understood")
for name, body in structs.items():
    info = name.endswith("_info") and name != "sked_graph_info"
    if name in FIXED | LIBRARY or info:
        rule("size_t size;" not in body, f"{name}: has a size, but callers do not allocate it or it never changes")
        continue
    rule(body.lstrip().startswith("size_t size;"), f"{name}: does not begin with size_t size")
    rule(name in inits, f"{name}: has no _init")
    rule((f"{name}_clear" in functions) == (name in OWNED), f"{name}: _clear is for structs that hold memory")
for name in opaque:
    rule(f"{name}_destroy" in functions, f"{name}: has no _destroy")
for name in functions:
    rule(name == "sked_free" or not re.search(r"_(open|close|free|delete|release|help)$", name),
         f"{name}: not a word of docs/api.md")
for name in {n[:-3] for n in functions if n.endswith("_at")}:
    rule(f"{name}_count" in functions, f"{name}: has no _count")
    kind = re.search(rf"(const \w+ \*){name}_at\(int i\)", text)
    want = "const sked_option *" if name.endswith("_option") else f"const {name}_info *"
    rule(kind and kind[1] == want, f"{name}_at does not return {want}")
rule("sked_descent" not in text and "sked_record_fn" not in text, "steps of a method are public")

symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = set(re.findall(r" T (sked_\w+)$", symbols, flags=re.M))
declared = set(re.findall(r"SKED_API\b[^;{]*?\b(sked_\w+)\(", text))
for name in sorted(declared - exported):
    rule(False, f"{name}: declared, but not in the library")
for name in sorted(exported - declared):
    rule(False, f"{name}: exported, but not in the header")

for compiler, language, standards in ((cc, "c", ("c11", "c17")), (cxx, "c++", ("c++11", "c++17"))):
    for standard in standards:
        done = subprocess.run([compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-pedantic",
                               "-Werror", "-fsyntax-only", header], capture_output=True, text=True)
        rule(done.returncode == 0, f"{compiler} -std={standard}: {done.stderr}")

blocks = re.findall(r"```c\n(.*?)```", open(os.path.join(source, "docs", "api.md")).read(), flags=re.S)
rule(len(blocks) >= 3, "docs/api.md: the examples were not found")
for block in blocks:
    program = f'#include "{header}"\n#include <stdio.h>\nvoid f(void);\nvoid f(void)\n{{\n{block}}}\n'
    done = subprocess.run([cc, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-fsyntax-only", "-"],
                          input=program, capture_output=True, text=True)
    rule(done.returncode == 0, f"docs/api.md: {done.stderr}")

for sentence in bad:
    print(sentence)
print(f"{len(structs)} structs, {len(opaque)} handles, {len(functions)} functions")
print(f"0 passed, {len(bad)} failed" if bad else "1 passed, 0 failed")
sys.exit(1 if bad else 0)
