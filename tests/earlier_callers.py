#!/usr/bin/env python3
"""Programs that were compiled against an earlier header, with fewer fields at the end of a struct, lose nothing of their own.

usage: earlier_callers.py SOURCE_DIR LIBSKED.SO CC

One program uses the fields that are left of every public struct that can grow. It is compiled against include/sked/sked.h,
and once for each struct against a header where that struct ends earlier; what it prints must be the same.
"""
import os
import re
import subprocess
import sys
import tempfile

# How many fields each struct loses. A list: one earlier header for each number.
DROPPED = {
    "sked_columns": [1],
    "sked_graph_info": [1, 2],
    "sked_read_options": [1],
    "sked_generate_options": [1],
    "sked_back_edges": [1],
    # Without the inputs and outputs, the clock, the lifetime; without the memory limit, too: the machine is the last.
    "sked_problem": [1, 2, 3, 4],
    "sked_metrics": [1, 2],
    "sked_diversity": [1],
    "sked_run_options": [1, 3],
    "sked_result": [1, 2, 4],
    "sked_sample_options": [1, 2],
    "sked_samples": [1],
    "sked_train_options": [1, 2],
    "sked_measurement": [1],
    "sked_robust_options": [2, 4],
    "sked_robust_result": [1, 2],
    "sked_sweep_result": [1],
    "sked_report_data": [1, 3, 5],
    "sked_bind_options": [1],
    "sked_binding": [1],
}
# A sweep without its values is none: it never had fewer fields. Only runs of Yosys and nextpnr fill a sked_pipeline_result,
# which is as it was first; tests/ice40.py has those. Packings are as they were first, too.
WHOLE = {"sked_sweep_options", "sked_pipeline_result", "sked_buffer_columns", "sked_pack_options", "sked_packing"}

PROGRAM = r"""
#include <sked/sked.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static sked_error err;
#define OK(call)                                                         \
    do {                                                                 \
        if ((call) != SKED_OK) {                                         \
            printf("line %d: %s\n", __LINE__, err.message);              \
            exit(1);                                                     \
        }                                                                \
    } while (0)

static sked_graph *columns(void)
{
    static const double duration[] = {3, 4, 5, 6, 7, 8}, memory[] = {10, 20, 30, 5, 15, 25};
    static const double bytes[] = {6, 12, 18, 24, 30};
    static const int32_t from[] = {0, 0, 1, 2, 3}, to[] = {1, 2, 3, 4, 5};
    sked_columns c;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_columns_init(&c);
    c.ops = 6;
    c.duration = duration;
    c.memory = memory;
    c.edges = 5;
    c.from = from;
    c.to = to;
    c.bytes = bytes;
    OK(sked_builder_create(&b, &err));
    OK(sked_builder_add_columns(b, &c, &err));
    OK(sked_builder_finish(b, &g, &err));
    sked_builder_destroy(b);
    for (int64_t e = 0; e < sked_graph_edge_count(g); e++) {
        sked_edge x;
        sked_graph_edge(g, e, &x);
        printf("edge %d %d %g %g\n", (int)x.from, (int)x.to, x.lag, x.bytes);
    }
    return g;
}

static void graphs(void)
{
    sked_graph_info info;
    sked_read_options read;
    sked_generate_options make;
    sked_back_edges draw;
    sked_graph *g = NULL, *looped = NULL;
    static const char text[] = "{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":1,\"type\":\"t\"}],\"edges\":[]}";
    sked_read_options_init(&read);
    read.format = "native";
    read.profile = "profile.json";
    OK(sked_graph_parse("x", text, sizeof text - 1, &read, &g, &err));
    printf("read %g\n", sked_graph_duration(g, 0));
    sked_graph_destroy(g);
    const char *const setting = "p=0.4";
    sked_generate_options_init(&make);
    make.nodes = 12;
    make.seed = 7;
    make.settings = &setting;
    make.n_settings = 1;
    OK(sked_graph_generate("erdos-renyi", &make, &g, &err));
    sked_graph_info_init(&info);
    OK(sked_graph_describe(g, &info, &err));
    printf("info %d %d %g %g\n", (int)info.ops, (int)info.edges, info.work, info.critical_path);
    sked_back_edges_init(&draw);
    draw.count = 3;
    draw.distance = 2;
    draw.span = 4;
    OK(sked_graph_looped(g, &draw, &looped, &err));
    printf("looped %d\n", (int)(sked_graph_edge_count(looped) - sked_graph_edge_count(g)));
    sked_graph_destroy(looped);
    sked_graph_destroy(g);
}

static sked_machine *machine(void)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create("pair", &b, &err));
    OK(sked_machine_builder_add_device(b, "slow", "cpu", 1, 90, NULL, &err));
    OK(sked_machine_builder_add_device(b, "fast", "gpu", 2, 90, NULL, &err));
    OK(sked_machine_builder_set_link(b, 1, 6, &err));
    OK(sked_machine_builder_add_duration(b, "4", "fast", 1.5, &err));
    OK(sked_machine_builder_finish(b, &m, &err));
    sked_machine_builder_destroy(b);
    return m;
}

static void show(const sked_schedule *s)
{
    for (int32_t i = 0; i < s->ops; i++)
        printf(" %g@%d", s->start[i], s->device ? (int)s->device[i] : -1);
    printf("\n");
}

static void problem(const sked_problem *p, sked_result *r)
{
    sked_run_options run;
    sked_metrics m;
    sked_diversity d;
    char name[40];
    printf("device %s, times %g %g %g, transfer %g\n", sked_problem_device_name(p, 1, name, sizeof name),
           sked_problem_duration(p, 0, 1),
           sked_problem_duration(p, 4, 0), sked_problem_duration(p, 4, 1), sked_problem_transfer(p, 1, 0, 1));
    sked_run_options_init(&run);
    run.time_limit = 60;
    run.iterations = 30;
    run.candidates = 3;
    run.seed = 5;
    OK(sked_method_run("search", p, &run, r, &err));
    printf("%s %g, bound %g, %d candidates\n", r->method, r->value, r->lower_bound, (int)r->count);
    show(r->schedule[0]);
    OK(sked_schedule_validate(p, r->schedule[0], &err));
    sked_metrics_init(&m);
    OK(sked_schedule_measure(p, r->schedule[0], &m, &err));
    printf("metrics %g %g %g %g\n", m.makespan, m.speedup, m.peak_memory, m.communication);
    sked_diversity_init(&d);
    OK(sked_schedules_diversity(p, (const sked_schedule *const *)r->schedule, r->count, &d, &err));
    printf("diversity %g %g\n", d.ged, d.d_inv);
}

static void models(const sked_problem *p)
{
    sked_train_options train;
    sked_sample_options how;
    sked_samples s;
    sked_sampler *model = NULL;
    sked_problem free;
    const char *const small[] = {"batch=2", "validate=0"};
    sked_train_options_init(&train);
    train.graphs = "layered:6-8";
    train.devices = 2;
    train.steps = 1;
    train.settings = small;
    train.n_settings = 2;
    OK(sked_train(&train, &model, &err));
    printf("trained %d\n", (int)sked_sampler_steps(model));
    sked_sampler_destroy(model);
    OK(sked_sampler_read(NULL, &model, &err));
    sked_sample_options_init(&how);
    how.count = 5;
    how.seed = 3;
    how.prior = true;
    sked_samples_init(&s);
    sked_problem_init(&free, p->graph);
    free.devices = 2;
    OK(sked_sampler_sample(model, &free, &how, &s, &err));
    printf("samples %d, log Z %.6g +- %.6g\n", (int)s.count, s.log_z, s.spread);
    for (int32_t k = 0; k < s.count; k++)
        printf("%.9g %g\n", s.log_prob[k], s.makespan[k]);
    sked_samples_clear(&s);
    sked_sampler_destroy(model);
}

static void loops(const sked_problem *p, const sked_result *r)
{
    sked_target *t = NULL;
    sked_measurement m;
    sked_robust_options how;
    sked_robust_result best;
    OK(sked_target_create("linear", p, 1, &t, &err));
    sked_measurement_init(&m);
    OK(sked_target_measure(t, r->schedule[0], &m, &err));
    printf("measured %.9g\n", m.time);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    sked_robust_options_init(&how);
    how.measurements = 3;
    how.iterations = 10;
    how.time_limit = 600;
    how.seed = 2;
    sked_robust_result_init(&best);
    OK(sked_robust(p, "linear", &how, &best, &err));
    printf("robust %d members, %d measurements\n", (int)best.count, (int)best.measurements);
    show(best.member[best.winner]->schedule[best.member[best.winner]->best]);
    sked_robust_result_clear(&best);
}

static void files(const sked_problem *p, const sked_result *r)
{
    static const double values[] = {40, 60};
    sked_sweep_options how;
    sked_sweep_result w;
    sked_run_options run;
    sked_report_data data;
    sked_problem at = *p;
    sked_run_options_init(&run);
    run.iterations = 10;
    sked_sweep_options_init(&how);
    how.parameter = SKED_SWEEP_HORIZON;
    how.values = values;
    how.n_values = 2;
    sked_sweep_result_init(&w);
    OK(sked_sweep("search", p, &how, &run, &w, &err));
    for (int32_t k = 0; k < w.count; k++)
        printf("sweep %g: %d %g\n", w.point[k]->at, w.point[k]->found, w.point[k]->value);
    sked_sweep_result_clear(&w);
    sked_sweep_apply(SKED_SWEEP_HORIZON, 12, &at);
    printf("applied %g\n", at.horizon);
#if LEFT_OF_PROBLEM > 1
    sked_sweep_apply(SKED_SWEEP_MEMORY_LIMIT, 77, &at);
    printf("limit %g\n", at.memory_limit);
#endif
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = r->schedule[0];
    data.method = "mine";
    data.lower_bound = 2;
    data.seed = 8;
    fflush(stdout);
    OK(sked_report_write(&data, "-", "json", &err));
}

static void units(const sked_graph *g)
{
    sked_problem p;
    sked_bind_options how;
    sked_binding bound;
    sked_result r;
    sked_problem_init(&p, g);
    sked_result_init(&r);
    OK(sked_method_run("list", &p, NULL, &r, &err));
    sked_bind_options_init(&how);
    how.iterations = 50;
    how.time_limit = 60;
    how.seed = 3;
    sked_binding_init(&bound);
    OK(sked_schedule_bind(&p, &how, r.schedule[0], &bound, &err));
    printf("bound %d %d %d\n", (int)bound.registers, (int)bound.sources, (int)bound.first_sources);
    sked_result_clear(&r);
}

int main(void)
{
    sked_graph *g = columns();
    sked_machine *m = machine();
    sked_problem p;
    sked_result r;
    graphs();
    sked_problem_init(&p, g);
    p.machine = m;
#if LEFT_OF_PROBLEM > 1
    p.memory_limit = 55;
#endif
    sked_result_init(&r);
    problem(&p, &r);
    models(&p);
    units(g);
    files(&p, &r);
    sked_result_clear(&r);
    sked_machine_destroy(m);
    m = NULL;
    p.machine = NULL;
    p.devices = 2;
#if LEFT_OF_PROBLEM > 1
    p.memory_limit = INFINITY;
#endif
    sked_result_init(&r);
    problem(&p, &r);
    loops(&p, &r);
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return 0;
}
"""


def shorter(header, struct, fields):
    """The header where that struct lacks its last fields."""
    found = re.search(rf"typedef struct {struct} \{{\n(.*?)\n\}} {struct};", header, flags=re.S)
    plain = re.sub(r"/\*.*?\*/", "", found[1], flags=re.S)
    declared = [x.strip() for x in plain.split(";") if x.strip()]
    words = []  # `double ged, d_inv, d_sen` is three fields
    for declaration in declared:
        kind, names = re.match(r"(.*?\s)(\**\w+(?:\[\w+\])?(?:\s*,\s*\**\w+)*)$", declaration, flags=re.S).groups()
        words += [f"{kind}{name.strip()};" for name in names.split(",")]
    assert len(words) > fields + 1, (struct, words)
    body = "    " + "\n    ".join(words[:-fields])
    return header[: found.start(1)] + body + header[found.end(1) :]


def main():
    source, library, cc = sys.argv[1:4]
    with open(os.path.join(source, "include", "sked", "sked.h"), encoding="utf-8") as f:
        header = f.read()
    bare = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    sized = {name for name, body in re.findall(r"typedef struct (sked_\w+) \{(.*?)\n\} \1;", bare, flags=re.S) if "size_t size;" in body}
    assert sized == set(DROPPED) | WHOLE, ("no case for", sized ^ (set(DROPPED) | WHOLE))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "profile.json"), "w", encoding="utf-8") as f:
            f.write('{"a": 4.5}')
        with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as f:
            f.write(PROGRAM)

        def printed(text, left):
            os.makedirs(os.path.join(folder, "sked"), exist_ok=True)
            with open(os.path.join(folder, "sked", "sked.h"), "w", encoding="utf-8") as f:
                f.write(text)
            command = [cc, "-std=c11", "-Wall", "-Werror", f"-DLEFT_OF_PROBLEM={left}", "-I", folder, "main.c", library,
                       f"-Wl,-rpath,{os.path.dirname(library)}", *os.environ.get("SKED_LINK_FLAGS", "").split(), "-o", "program"]
            subprocess.run(command, check=True, cwd=folder)
            return subprocess.run(["./program"], cwd=folder, text=True, capture_output=True, check=False)

        today = {left: printed(header, left) for left in (1, 2)}
        for answer in today.values():
            assert answer.returncode == 0, answer.stdout + answer.stderr
        assert today[1].stdout != today[2].stdout, "the memory limit makes no difference: it could get lost"
        for struct, numbers in DROPPED.items():
            for fields in numbers:
                left = 1 if struct == "sked_problem" and fields > 3 else 2
                answer = printed(shorter(header, struct, fields), left)
                same = answer.returncode == 0 and answer.stdout == today[left].stdout
                passed, failed = passed + same, failed + (not same)
                if not same:
                    print(f"FAILED {struct} without its last {fields}: exit {answer.returncode}\n{answer.stdout}{answer.stderr}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
