#!/usr/bin/env python3
"""The constraint and the objective in CONTRIBUTING.md: the changes are made to a copy, compiled without a warning, and run.

usage: example_changes.py SOURCE_DIR BUILD_DIR CC
"""
import os
import re
import subprocess
import sys
import tempfile

# What sees the fields of a problem on the way of these two programs; the rest comes from the library as it is.
COMPILED = re.compile(r"src/(problem|schedule)/\w+\.c|src/method/(method|driver|share|memory_limits|result_pool)\.c|src/method/list/list\.c")
COMMAND = "tools/sked/setup.c"  # its options compile

PROGRAM = r"""
#include "method/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sked_error err;
#define OK(call)                                            \
    do {                                                    \
        if ((call) != SKED_OK) {                            \
            printf("line %d: %s\n", __LINE__, err.message); \
            exit(1);                                        \
        }                                                   \
    } while (0)

static sked_graph *pairs(int ops, const sked_edge *edge, int edges)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, &err));
    for (int i = 0; i < ops; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, i + 1, NULL, &err));
        OK(sked_builder_set_memory(b, i, i < 2 ? 4 : 0, &err));
    }
    for (int e = 0; e < edges; e++)
        OK(sked_builder_add_edge(b, &edge[e], &err));
    OK(sked_builder_finish(b, &g, &err));
    sked_builder_destroy(b);
    return g;
}

/* Two values of 4 held at a time on a device of 10 that keeps 4 free. */
static void constraint(void)
{
    static const sked_edge edge[] = {{0, 2, SKED_LAG_DEFAULT, 1, 0}, {1, 3, SKED_LAG_DEFAULT, 1, 0}};
    sked_graph *g = pairs(4, edge, 2);
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    sked_schedule *s = NULL;
    sked_problem p;
    sked_run_options run;
    sked_result r;
    OK(sked_machine_builder_create(NULL, &b, &err));
    OK(sked_machine_builder_add_device(b, "one", NULL, 1, 10, NULL, &err));
    OK(sked_machine_builder_add_device(b, "two", NULL, 1, 10, NULL, &err));
    OK(sked_machine_builder_set_link(b, 0, 1, &err));
    OK(sked_machine_builder_finish(b, &m, &err));
    sked_machine_builder_destroy(b);
    sked_problem_init(&p, g);
    p.machine = m;
    OK(sked_schedule_create(4, 2, &s, &err));
    const double start[] = {0, 1, 3, 6};
    memcpy(s->start, start, sizeof start);
    printf("reserve 0: %d\n", sked_schedule_validate(&p, s, &err));
    p.reserve = 4;
    printf("reserve 4: %d\n", sked_schedule_validate(&p, s, &err));
    sked_run_options_init(&run);
    sked_result_init(&r);
    OK(sked_method_run("list", &p, &run, &r, &err));
    printf("list: %d", sked_schedule_validate(&p, r.schedule[0], &err));
    for (int32_t k = 0; k < r.n_statistics; k++)
        if (strcmp(r.statistics[k]->method, "lower") == 0 && r.statistics[k]->technique[0])
            printf(", %s", r.statistics[k]->technique);
    p.reserve = -1;
    printf("\nreserve -1: %d\n", sked_problem_check(&p, &err));
    sked_result_clear(&r);
    sked_schedule_destroy(s);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void objective(void)
{
    static const sked_edge edge[] = {{0, 1, SKED_LAG_DEFAULT, 0, 0}, {1, 2, SKED_LAG_DEFAULT, 0, 0}};
    sked_graph *g = pairs(3, edge, 2);
    sked_problem p;
    sked_run_options opt;
    sked_i_lowered low;
    double bound;
    const char *why;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_WAITING;
    sked_run_options_init(&opt);
    OK(sked_i_lower(&p, &low, &err));
    sked_i_run run = sked_i_run_of(&low, &opt);
    sked_i_limit_init(&run.limit, &opt);
    OK(sked_i_driver_open(&run, 1, &err));
    OK(sked_i_method_check(&sked_i_method_asap, &p, &opt, &err));
    OK(sked_i_driver_run(&run, &sked_i_method_asap, NULL, 0, &err));
    OK(sked_problem_bound(&p, &bound, &why, &err));
    printf("%s %g, bound %g (%s)\n", sked_objective_name(p.objective), sked_i_run_best(&run), bound, why);
    sked_result r = {.size = sizeof r};
    printf("heft: %d\n", sked_method_run("heft", &p, &opt, &r, &err));
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    sked_graph_destroy(g);
}

int main(void)
{
    constraint();
    objective();
    return 0;
}
"""

PRINTED = """reserve 0: 0
reserve 4: %(INVALID)d
list: 0, lifetime, reserve
reserve -1: %(ARGUMENT)d
waiting 4, bound 4 (longest paths to all ops)
heft: %(UNSUPPORTED)d
"""


def changes(block):
    """(file, lines before, lines after) of each @@ in a diff without numbers."""
    for part in re.split(r"^\+\+\+ ", block, flags=re.M)[1:]:
        path, _, hunks = part.partition("\n")
        for hunk in re.split(r"^@@\n", hunks, flags=re.M)[1:]:
            lines = hunk.rstrip("\n").split("\n")
            yield (path, "".join(x[1:] + "\n" for x in lines if x[:1] != "+"), "".join(x[1:] + "\n" for x in lines if x[:1] != "-"))


def mirror(source, folder):
    """Links to every file of the source, so that some of them can be replaced."""
    for top in ("include", "src", "tools"):
        for at, _, names in os.walk(os.path.join(source, top)):
            to = os.path.join(folder, os.path.relpath(at, source))
            os.makedirs(to)
            for name in names:
                os.symlink(os.path.abspath(os.path.join(at, name)), os.path.join(to, name))


def apply(folder, block):
    for path, before, after in changes(block):
        place = os.path.join(folder, path)
        with open(place, encoding="utf-8") as f:
            text = f.read()
        assert text.count(before) == 1, f"{path}: CONTRIBUTING.md shows what is not there (or twice):\n{before}"
        os.unlink(place)
        with open(place, "w", encoding="utf-8") as f:
            f.write(text.replace(before, after))


def main():
    source, build, cc = sys.argv[1:4]
    with open(os.path.join(source, "CONTRIBUTING.md"), encoding="utf-8") as f:
        text = f.read()
    asap = re.search(r"```c\n(.*?)```", text, re.S).group(1)
    blocks = re.findall(r"```diff\n(.*?)```", text, re.S)
    assert len(blocks) == 2, len(blocks)
    asap, known = re.subn(r"SKED_CAN_MAKESPAN", "SKED_CAN_MAKESPAN | SKED_CAN_WAITING", asap)
    assert known == 1
    with tempfile.TemporaryDirectory() as folder:
        mirror(source, folder)
        for block in blocks:
            apply(folder, block)
        with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as f:
            f.write(asap + PROGRAM)
        files = [os.path.relpath(os.path.join(at, n), folder) for at, _, names in os.walk(folder) for n in names]
        units = sorted(x for x in files if COMPILED.fullmatch(x)) + ["main.c", COMMAND]
        flags = ["-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-I", "include", "-I", "src", "-I", "tools", "-I", "tools/cli"]
        running = []
        for number, unit in enumerate(units):
            running.append(subprocess.Popen([cc, *flags, "-c", unit, "-o", f"{number}.o"], cwd=folder))
            if len(running) == 2:
                assert running.pop(0).wait() == 0
        assert all(x.wait() == 0 for x in running)
        objects = [f"{number}.o" for number, unit in enumerate(units) if unit != COMMAND]
        libraries = subprocess.check_output(["pkg-config", "--libs", "libprotobuf-c", "libxml-2.0", "cbc"], text=True).split()
        subprocess.run([cc, *objects, os.path.join(os.path.abspath(build), "libsked.a"), *libraries,
                        *os.environ.get("SKED_LINK_FLAGS", "").split(), "-lpthread", "-lm", "-o", "changed"], cwd=folder, check=True)
        answer = subprocess.run(["./changed"], cwd=folder, text=True, stdout=subprocess.PIPE, check=False).stdout
    want = PRINTED % {"INVALID": 8, "ARGUMENT": 2, "UNSUPPORTED": 6}  # as the exit codes: docs/cli.md
    if answer != want:
        sys.exit(f"the examples gave\n{answer}not\n{want}")
    print("2 passed, 0 failed")


main()
