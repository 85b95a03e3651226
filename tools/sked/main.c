/* The program sked: its tables, and what they cannot say: a paragraph and examples per command. */
#include "cli.h"

static void print_schedule_tables(FILE *out)
{
    print_objectives(out);
    print_methods(out);
    print_outputs(out);
}

static const manual manuals[COMMAND_COUNT] = {
    [COMMAND_schedule] =
        {"Reads GRAPH (- is standard input), finds a schedule that obeys every rule of the "
         "problem, and prints its value beside a proven lower bound. The independent "
         "validator checks every schedule first. Method auto runs several methods in turn; "
         "its result is never worse than what each of them found in its share of the time. "
         "Ctrl-C, SIGTERM or SIGHUP end the search and give the incumbent. Output files are replaced in one "
         "step; an output that is one of the inputs is refused.",
         "sked schedule examples/cholesky.json --devices 4\n"
         "sked schedule examples/recommender.json --machine examples/node.machine.json\n"
         "sked schedule graph.stg --devices 8 --time-limit 1 -o plan.json -o plan.html\n"
         "sked schedule hal.dot --library lib.json --json\n"
         "sked schedule loop.graphml --objective ii",
         print_schedule_tables},
    [COMMAND_robust] =
        {"Learns what the graph and the machine file do not say (latency, bandwidth, start-up cost, true "
         "durations) while it measures: it keeps guesses of the machine, makes good schedules for them, "
         "measures the one that promises most on the target, and corrects the guesses. The fastest schedule "
         "measured wins. The curve shows the best after each measurement; -o FILE.machine.json writes the "
         "fitted machine for `sked schedule --machine`. A measurement that fails is reported and costs its "
         "part of the budget. --one-shot learns nothing: several methods give candidates, a simulation (the "
         "proxy) keeps the best, the target measures those, and a table compares the methods.",
         "sked robust net.json --devices 4 --target 'command:./measure.sh' -o best.json -o "
         "fitted.machine.json\n"
         "sked robust net.json --devices 4 --target noisy+linear --measurements 20 --log runs.jsonl\n"
         "sked robust net.json --devices 4 --target noisy+linear --measurements 40 --resume runs.jsonl -o "
         "report.html\n"
         "sked robust net.json --devices 4 --target bandwidth --one-shot --method brkga",
         print_reports},
    [COMMAND_sample] = {"Draws schedules from a learned model (a GFlowNet). A low temperature gives good "
                        "schedules, a high one diverse schedules. Writes one JSON object per line, with "
                        "log_prob, proxy_makespan and temperature, best first and without repeats; equal "
                        "devices are interchangeable. With --local or --improve, candidates whose makespans "
                        "differ by at most one percent are ordered by transfer cost.",
                        "sked sample net.json --devices 4 -o candidates.jsonl\n"
                        "sked sample net.json --devices 4 --candidates 5000 --temperature 0.05 --raw -o -",
                        NULL},
    [COMMAND_train] =
        {"Trains a model on the graphs given: files, folders and generator families. Reports "
         "its quality on held-out graphs. Ctrl-C saves the model; --resume continues from one, which -o may "
         "replace. "
         "--set changes policy, loss, batch, temperatures and sizes (docs/training.md).",
         "sked train --graphs erdos-renyi:20-50,layered:20-50 --devices 4 --minutes 60 -o "
         "model.safetensors\n"
         "sked train --graphs nets/ --devices 8 --steps 5000 --resume model.safetensors -o "
         "tuned.safetensors -o log.jsonl -o curve.svg",
         NULL},
    [COMMAND_pack] =
        {"Reads BUFFERS, a CSV file with a header: id,lower,upper,size and, where wanted, alignment "
         "and offset. A buffer is held in [lower, upper); an offset that is given is kept. Finds "
         "offsets so that no two buffers that are held at the same time overlap, and prints the "
         "height beside a proven lower bound. With --capacity, exit 7 where no packing within it "
         "was found; the message says whether that is proven. -o writes the table with offsets "
         "(.csv) or a picture of the arena (.svg).",
         "sked pack buffers.csv -o packed.csv -o arena.svg\n"
         "sked pack buffers.csv --capacity 1048576 --align 64",
         NULL},
    [COMMAND_check] = {"Validates SCHEDULE against GRAPH from the definition of the problem alone. Give the "
                       "transfer costs and capacities with the options of `sked schedule`; the number of "
                       "devices and the initiation interval come from SCHEDULE.",
                       "sked check graph.stg plan.json\n"
                       "sked check net.json plan.json --latency 2 --bandwidth 1e9",
                       NULL},
    [COMMAND_generate] = {"Generates a graph of about N ops. With --count, or if the output is a folder, the "
                          "files are named FAMILY-N-SEED.json. The same seed gives the same bytes.",
                          "sked generate layered --nodes 1000 -o graph.json\n"
                          "sked generate erdos-renyi --nodes 50 --count 100 --set p=0.1 -o graphs/",
                          print_families},
    [COMMAND_convert] =
        {"Reads IN and writes OUT. The extensions select the formats; --from and --to "
         "override them. An OUT of .lp, .mps or .mzn exports the problem for another solver; one "
         "of .machine.json is the machine that IN describes. OUT is replaced in one step; it "
         "cannot be IN.",
         "sked convert graph.stg graph.json\n"
         "sked convert workflow.json cluster.machine.json\n"
         "sked convert model.onnx - --to dot\n"
         "sked convert hal.dot hal.lp --library lib.json --horizon 12",
         print_objectives},
    [COMMAND_info] = {"Describes a graph. With the options of a machine it also prints a lower bound of the "
                      "objective.",
                      "sked info graph.stg --devices 4", print_objectives},
    [COMMAND_methods] = {"Lists the methods, or explains one of them with all its options.",
                         "sked methods\nsked methods search", NULL},
    [COMMAND_formats] = {"Lists the file formats: r can be read, w can be written.", "sked formats", NULL},
    [COMMAND_targets] = {"Lists the targets and their options.", "sked targets --json", NULL},
    [COMMAND_help] = {"Explains sked or one of its commands.",
                      "sked help schedule\nsked help schedule --man | man -l -", NULL},
};

static const command_line commands[COMMAND_COUNT] = {
#define X(name, operands, least, most, help) \
    {#name, operands, help, least, most, run_##name, &manuals[COMMAND_##name], (ON(name) & ON_WORK) != 0},
    COMMAND_LIST(X)
#undef X
};

static const option_line options[] = {OPTION_LIST(OPTION_LINE)};
static const arguments presets = {OPTION_LIST(OPTION_PRESET)};
static const moved_word moved[] = {{"bench", "`sked-bench` runs the benchmarks (see bench/README.md)"}};

const program sked_program = {
    .name = "sked",
    .summary = "schedules computation graphs",
    .noun = "command",
    .operand = "COMMAND",
    .hint = "`sked help COMMAND` explains one. Try: sked schedule GRAPH --devices 4",
    .commands = commands,
    .n_commands = COMMAND_COUNT,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .presets = &presets,
    .size = sizeof(arguments),
    .operands = offsetof(arguments, operand),
    .moved = moved,
    .n_moved = sizeof moved / sizeof *moved,
    .complete = complete_arguments,
};

int main(int argc, char **argv)
{
    return run_program(&sked_program, argc, argv);
}
