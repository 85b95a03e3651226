/*
 * Targets of the Python package: `python3 -m sked.command NAME MODEL` measures as a program of the user's
 * does (command.h). Opened only where Python, the package and the runtime are installed.
 */
#include "target/command.h"
#include "target/shell.h"

#include <string.h>
#include <unistd.h>

static const sked_option options[] = {SKED_I_COMMAND_OPTIONS("300")};
enum { n_options = sizeof options / sizeof *options };

/* Prints the first part that is missing, or "complete"; then which Python was asked, for there may be
 * several. A folder called sked is not the package. */
static const char probe[] =
    "if ! command -v python3 >/dev/null; then echo python3; exit 0; fi; "
    "python3 -c 'import importlib.util as u, sys\n"
    "def has(m):\n"
    "    try:\n"
    "        return u.find_spec(m) is not None\n"
    "    except ImportError:\n"
    "        return False\n"
    "print(next((m for m in sys.argv[1:] if not has(m)), \"complete\"), sys.executable, sep=\"\\n\")' "
    "sked.command ";

static sked_status say_missing(const char *name, const char *part, sked_error *err)
{
    if (strncmp(part, "python3", 7) == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "target %s needs Python: there is no python3 on the PATH; install it, then "
                           "`pip install 'libsked[%s]'`",
                           name, name);
    const int size = (int)strcspn(part, "\n");
    const char *which = part[size] == 0 || part[size + 1] == 0 ? "python3" : part + size + 1;
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "target %s needs the Python module '%.*s', which %.*s does not find: "
                       "`pip install 'libsked[%s]'`",
                       name, size, part, (int)strcspn(which, "\n"), which, name);
}

/* Is all there that the target needs? */
static sked_status look(const sked_target *t, const char *name, sked_error *err)
{
    sked_i_buffer command = {0}, answer = {0};
    sked_i_buffer_text(&command, probe);
    sked_i_buffer_text(&command, name);
    sked_status st = command.failed ? sked_i_no_memory(err) : SKED_OK;
    if (st == SKED_OK) {
        const sked_i_shell_command p = {.command = command.data, .file = "", .timeout = 60, .stop = t->stop};
        const sked_i_shell_end end = sked_i_shell_run(&p, &answer);
        if (answer.failed)
            st = sked_i_no_memory(err);
        else if (end == SKED_I_SHELL_STOPPED)
            st = sked_i_fail(err, SKED_ERR_STOPPED, "the measurement was stopped");
        else if (end != SKED_I_SHELL_DONE || answer.size == 0)
            st = sked_i_fail(err, SKED_ERR_DEVICE, "target %s: python3 could not be asked for its modules",
                             name);
        else if (strncmp(answer.data, "complete\n", 9) != 0)
            st = say_missing(name, answer.data, err);
    }
    sked_i_buffer_free(&command);
    sked_i_buffer_free(&answer);
    return st;
}

/* Every device is a CPU thread (or a stream) like the others: times of a machine whose devices differ would
 * mean nothing. */
static sked_status check_alike(const sked_target *t, const char *name, sked_error *err)
{
    const sked_machine *m = t->problem.machine;
    for (int32_t d = 1; m != NULL && d < sked_machine_device_count(m); d++) {
        const char *one = sked_machine_device_type(m, 0), *other = sked_machine_device_type(m, d);
        const bool same = one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
        if (!same || sked_machine_device_speed(m, 0) != sked_machine_device_speed(m, d))
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                               "target %s runs all devices alike, on CPU threads%s, and '%s' and '%s' of the "
                               "machine differ: its times would mean nothing there; see target command",
                               name, strcmp(name, "torch") == 0 ? " or CUDA streams" : "",
                               sked_i_quoted_text(sked_machine_device_name(m, 0)).text,
                               sked_i_quoted_text(sked_machine_device_name(m, d)).text);
    }
    return SKED_OK;
}

static void tell(sked_target *t, const char *name)
{
    const bool torch = strcmp(name, "torch") == 0;
    const char *other = sked_i_target_other_type(t);
    sked_i_buffer_format(&t->about, "%d device%s %s of this machine; times are microseconds",
                         (int)t->problem.devices, t->problem.devices == 1 ? " is one of the" : "s are",
                         torch ? "CUDA streams where the model's inputs are on a GPU, else CPU threads"
                               : "CPU threads");
    if (other != NULL && !torch)
        sked_i_buffer_format(&t->about,
                             "\ndevices of type '%s' have no counterpart: CPU threads run their ops",
                             sked_i_quoted_text(other).text);
}

static sked_status open_python(sked_target *t, const double *setting, sked_error *err)
{
    const char *name = t->part[0].kind->info.name;
    (void)setting;
    if (t->argument[strspn(t->argument, " ")] == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "target %s wants a model: %s:MODEL", name, name);
    const sked_status st = check_alike(t, name, err);
    tell(t, name);
    return st == SKED_OK ? look(t, name, err) : st;
}

static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    sked_i_buffer program = {0};
    sked_i_buffer_format(&program, "python3 -m sked.command %s ", t->part[0].kind->info.name);
    if (access(t->argument, F_OK) == 0) /* options may follow a model: a file may have blanks in its name */
        sked_i_shell_quote(&program, t->argument);
    else
        sked_i_buffer_text(&program, t->argument);
    const sked_status st =
        program.failed ? sked_i_no_memory(err) : sked_i_command_run(t, program.data, setting, s, out, err);
    sked_i_buffer_free(&program);
    return st;
}

const sked_i_target sked_i_target_torch = {
    .info = {"torch",
             "torch:MODEL runs a PyTorch module by the schedule, on CUDA streams or CPU threads; MODEL is "
             "FILE.pt2 or FILE.py:FUNCTION; needs the Python package; stands alone",
             options, n_options},
    .free_text = true,
    .open = open_python,
    .run = run};

const sked_i_target sked_i_target_onnxruntime = {
    .info = {"onnxruntime",
             "onnxruntime:MODEL.onnx runs an ONNX model by the schedule on CPU threads; needs the Python "
             "package; stands alone",
             options, n_options},
    .free_text = true,
    .open = open_python,
    .run = run};
