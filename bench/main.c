/* The program sked-bench: reproduces tables of results, ours beside the published figures. */
#include "bench.h"

#include <stdlib.h>

static const manual manuals[SUITE_COUNT] = {
    [SUITE_quality] = {"Schedules every family of benchmark instances and compares the values with the best "
                       "known ones. --only SET takes the sets whose names begin with SET.",
                       "sked-bench quality\nsked-bench quality --only stg --sample 4", NULL},
    [SUITE_scale] = {"Sets: formats, list, simulator, search, gaps.",
                     "sked-bench scale\nsked-bench scale --only search", NULL},
    [SUITE_gaus] = {"Compares method gaus with list, fds and, on request, exact on the problems it is made "
                    "for. --only SET takes the sets whose names begin with SET.",
                    "sked-bench gaus --threads 2\nsked-bench gaus --exact --list --time-limit 5 --sample 10",
                    NULL},
    [SUITE_gflownet] = {"Sets: speed, threads, backends, quality.",
                        "sked-bench gflownet --only speed --threads 2", NULL},
    [SUITE_sampler] =
        {"Sets: free, known, mixed, networks, speed.",
         "sked-bench sampler --quick --model model.safetensors\nsked-bench sampler --only known --list",
         NULL},
    [SUITE_paper] =
        {"Sets: table1, table2, table3, figures, generators; on request (--only) random, networks, "
         "temperature, devices (how much lies in the devices of given starts) and tune (the losses with one "
         "budget). The first five take some ten minutes on two cores: two seeds, a part of the graphs, "
         "short training. --full is the whole protocol. Models are kept in --models, so a run that was "
         "stopped goes on, and several runs with --train only share the training; --results does the same "
         "for "
         "the rows of the tables. bench/figures/paper.py draws what --json has recorded.",
         "sked-bench paper --threads 2 --json paper.jsonl\n"
         "sked-bench paper --full --backend cuda --json paper.jsonl\n"
         "sked-bench paper --only table2 --train only --seeds 5 --updates 10000 --stepwise --backend cuda\n"
         "sked-bench paper --only table2 --train never --seeds 5 --updates 10000 --stepwise\n"
         "sked-bench paper --only table2 --rows brkga --seed 3 --seeds 1 --results results.csv\n"
         "sked-bench paper --only networks --sample 4 --seeds 2 --list\n"
         "sked-bench paper --only temperature -o temperature.svg",
         NULL},
    [SUITE_robust] = {"Sets, by target: bandwidth, latency, linear, noisy, traces, contention, cache. All of "
                      "them take some "
                      "half an hour; --only, --sample and --time-limit limit that.",
                      "sked-bench robust --threads 2\n"
                      "sked-bench robust --only noisy --list\n"
                      "sked-bench robust --only linear --graphs networks --sample 4 --list",
                      NULL},
    [SUITE_real] = {"Sets: threads, memory (ops that stream memory), simgrid (where SimGrid is installed; in "
                    "the source folder, for its platform), factor (simulated: the proxy is right but for one "
                    "factor and noise). Nothing else should run on the machine.",
                    "sked-bench real --list\nsked-bench real --only threads --seeds 4", NULL},
    [SUITE_targets] = {"Measures draws of the sampler at several temperatures on every target and on the "
                       "proxy.",
                       "sked-bench targets --sample 5 --list", NULL},
    [SUITE_memory] = {"Schedules networks freely, then at 60 % of the peak memory that took. Sets: four, one "
                      "(devices).",
                      "sked-bench memory --only four --time-limit 5", NULL},
    [SUITE_arena] =
        {"Schedules networks for the least peak memory, then for the least arena. Sets: four, one "
         "(devices).",
         "sked-bench arena --only one", NULL},
    [SUITE_hardware] =
        {"Pipelines EPFL circuits at clocks of 5, 10 and 20 gates, in the least stages. --only NAME "
         "takes the circuits whose names begin with NAME.",
         "sked-bench hardware\nsked-bench hardware --only mult", NULL},
    [SUITE_help] = {"Explains sked-bench or one of its suites.", "sked-bench help quality", NULL},
};

static const command_line suites[SUITE_COUNT] = {
#define X(name, operands, least, most, help) \
    {#name, operands, help, least, most, bench_##name, &manuals[SUITE_##name], false},
    SUITE_LIST(X)
#undef X
};

static const option_line options[] = {OPTION_LIST(OPTION_LINE)};
static arguments presets = {OPTION_LIST(OPTION_PRESET)};

static const program bench_program = {
    .name = "sked-bench",
    .summary = "reproduces tables of results, ours beside the published figures",
    .noun = "suite",
    .operand = "SUITE",
    .hint = "`sked-bench help SUITE` explains one. Try: sked-bench quality --sample 20",
    .commands = suites,
    .n_commands = SUITE_COUNT,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .presets = &presets,
    .size = sizeof(arguments),
    .operands = offsetof(arguments, operand),
};

sked_status bench_help(arguments *a, sked_error *err)
{
    int suite = -1;
    const sked_status st =
        a->operand.count > 0 ? find_command(&bench_program, a->operand.at[0], &suite, err) : SKED_OK;
    if (st == SKED_OK)
        print_help(&bench_program, stdout, suite);
    return st;
}

int main(int argc, char **argv)
{
    const char *folder = getenv("SKED_BENCH_DATA");
    if (folder != NULL && folder[0] != 0)
        presets.data = folder;
    return run_program(&bench_program, argc, argv);
}
