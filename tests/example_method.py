#!/usr/bin/env python3
"""The method in CONTRIBUTING.md compiles without a warning, and the driver runs it as it runs every other.

usage: example_method.py SOURCE_DIR BUILD_DIR
"""
import os
import re
import subprocess
import sys
import tempfile

DRIVE = r"""
#include "method/driver.h"
#include <stdio.h>

int main(void)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_error err = {0};
    int32_t id;
    bool ok = sked_builder_create(&b, &err) == SKED_OK;
    for (int i = 0; ok && i < 3; i++)
        ok = sked_builder_add_op(b, NULL, NULL, i + 1, &id, &err) == SKED_OK;
    const sked_edge edge[] = {{0, 1, SKED_LAG_DEFAULT, 0, 0}, {1, 2, SKED_LAG_DEFAULT, 0, 0}};
    for (int i = 0; ok && i < 2; i++)
        ok = sked_builder_add_edge(b, &edge[i], &err) == SKED_OK;
    ok = ok && sked_builder_finish(b, &g, &err) == SKED_OK;
    sked_problem_init(&p, g);
    sked_run_options_init(&opt);
    sked_i_lowered low = {0};
    ok = ok && sked_i_lower(&p, &low, &err) == SKED_OK;
    sked_i_run run = sked_i_run_of(&low, &opt);
    sked_i_limit_init(&run.limit, &opt);
    ok = ok && sked_i_driver_open(&run, 1, &err) == SKED_OK;
    ok = ok && sked_i_driver_run(&run, &sked_i_method_asap, NULL, 0, &err) == SKED_OK;
    if (ok)
        printf("makespan %g\n", sked_i_run_best(&run));
    else
        fprintf(stderr, "%s\n", err.message);
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    sked_graph_destroy(g);
    sked_builder_destroy(b);
    return ok ? 0 : 1;
}
"""


def main():
    source, build = sys.argv[1:3]
    text = open(os.path.join(source, "CONTRIBUTING.md"), encoding="utf-8").read()
    found = re.search(r"```c\n(.*?)```", text, re.S)
    if found is None:
        sys.exit("CONTRIBUTING.md has no example in C")
    example = found.group(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "asap.c")
        with open(path, "w", encoding="utf-8") as out:
            out.write(example + DRIVE)
        libraries = subprocess.check_output(
            ["pkg-config", "--libs", "libprotobuf-c", "libxml-2.0", "cbc"], text=True).split()
        program = os.path.join(folder, "asap")
        command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(source, "include"),
                   "-I", os.path.join(source, "src"), path, os.path.join(build, "libsked.a"), *libraries,
                   *os.environ.get("SKED_LINK_FLAGS", "").split(), "-lpthread", "-lm", "-o", program]
        subprocess.run(command, check=True)
        answer = subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout
    if answer != "makespan 6\n":
        sys.exit(f"the example gave {answer!r}, not makespan 6")
    print("1 passed, 0 failed")


main()
