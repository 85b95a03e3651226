/*
 * WfFormat 1.5 of WfCommons (and the flat layout of 1.4 and before): docs/formats/wfformat.md.
 *
 * The file is walked several times in memory: who the tasks are, then how they hang together (they name
 * each other in any order), then what their execution cost.
 */
#include "formats/wfformat_machine.h"

#include <assert.h>
#include <string.h>

enum { TOP_NAME, TOP_WORKFLOW };
static const sked_i_json_fields top_fields = SKED_I_JSON_FIELDS("a WfFormat file", false, "name", "workflow");

enum { FLOW_SPECIFICATION, FLOW_EXECUTION, FLOW_TASKS, FLOW_MACHINES };
static const sked_i_json_fields flow_fields =
    SKED_I_JSON_FIELDS("\"workflow\"", false, "specification", "execution", "tasks", "machines");

enum { PART_TASKS, PART_FILES, PART_MACHINES };
static const sked_i_json_fields part_fields =
    SKED_I_JSON_FIELDS("\"specification\"", false, "tasks", "files", "machines");

enum {
    TASK_ID,
    TASK_NAME,
    TASK_PARENTS,
    TASK_CHILDREN,
    TASK_INPUTS,
    TASK_OUTPUTS,
    TASK_FILES,
    TASK_RUNTIME,
    TASK_RUNTIME_OLD,
    TASK_MEMORY,
    TASK_CORES,
    TASK_CORES_OLD,
    TASK_MACHINES,
    TASK_MACHINE_OLD
};
static const sked_i_json_fields task_fields = SKED_I_JSON_FIELDS(
    "a task", false, "id", "name", "parents", "children", "inputFiles", "outputFiles", "files",
    "runtimeInSeconds", "runtime", "memoryInBytes", "coreCount", "cores", "machines", "machine");

enum { FILE_ID, FILE_NAME, FILE_SIZE, FILE_SIZE_OLD, FILE_LINK };
static const sked_i_json_fields file_fields =
    SKED_I_JSON_FIELDS("a file", false, "id", "name", "sizeInBytes", "size", "link");

typedef struct task {
    double runtime, memory, cores; /* NAN: not given */
    int64_t first_input;           /* in reader.input; those of the next task follow */
    int32_t type;                  /* in reader.types, -1: none */
    int32_t node;                  /* in reader.nodes: where it ran, -1: the file does not say */
} task;

typedef struct datafile {
    double size;
    int32_t producer; /* task that writes it, -1: none */
    int32_t reader;   /* last task counted as reading it */
} datafile;

typedef struct dependency {
    int32_t from, to;
    double bytes;
} dependency;

typedef struct reader {
    sked_i_arena arena;
    sked_i_json j;
    sked_builder *b;
    sked_i_names ids, names, types, files;
    bool unique_names; /* parents and children may be given by name */
    task *task;        /* [ids.count + 1] */
    datafile *file;    /* [files.count] */
    int32_t *input;    /* files read, task by task */
    dependency *link;
    int64_t task_cap, file_cap, n_inputs, input_cap, n_links, link_cap;
    int32_t current; /* the task being read */
    sked_i_wfnodes nodes;
    sked_i_buffer text, name, title;
    const char *specification, *execution, *tasks, *file_list, *executed,
        *machines; /* sections, NULL: not there */
} reader;

/* "mProject_ID0000001" and "mProject_1" are of type "mProject". */
static size_t type_size(const char *name, size_t size)
{
    size_t n = size;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    const bool digits = n < size;
    if (digits && n >= 2 && memcmp(name + n - 2, "ID", 2) == 0)
        n -= 2;
    return digits && n >= 2 && name[n - 1] == '_' ? n - 1 : size;
}

static void read_identity(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    bool fresh = true;
    sked_i_json_enter(j, '{', "a task");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &task_fields, &seen)) >= 0;) {
        if (k == TASK_ID || k == TASK_NAME)
            sked_i_json_text(j, task_fields.names[k], k == TASK_ID ? &r->text : &r->name);
        else
            sked_i_json_skip(j);
    }
    j->token = j->status == SKED_OK ? begin : j->token;
    const bool has_id = SKED_I_JSON_HAS(seen, TASK_ID), has_name = SKED_I_JSON_HAS(seen, TASK_NAME);
    if (!has_id && !has_name)
        sked_i_json_fail(j, "a task without \"id\"");
    if (j->status != SKED_OK)
        return;
    const sked_i_buffer *id = has_id ? &r->text : &r->name, *name = has_name ? &r->name : &r->text;
    const int32_t i = sked_i_names_add(&r->ids, id->data, (size_t)id->size, &fresh);
    if (i >= 0 && !fresh) {
        sked_i_json_fail(j, "two tasks have the id '%s'",
                         sked_i_quoted_bytes(id->data, (size_t)id->size).text);
        return;
    }
    if (i < 0 || !SKED_OWN_GROW(&r->arena, r->task, r->task_cap, (int64_t)i + 2)) {
        sked_i_json_no_memory(&r->j);
        return;
    }
    r->task[i] = (task){.runtime = NAN, .memory = NAN, .cores = NAN, .node = -1};
    r->task[i].type =
        sked_i_names_add(&r->types, name->data, type_size(name->data, (size_t)name->size), &fresh);
    if (r->task[i].type < 0 ||
        (r->unique_names && sked_i_names_add(&r->names, name->data, (size_t)name->size, &fresh) < 0))
        sked_i_json_no_memory(&r->j);
    r->unique_names = r->unique_names && fresh;
}

/* The file of this name, added where it is new; -1 after a failure. */
static int32_t find_file(reader *r, const sked_i_buffer *name)
{
    bool fresh = false;
    const int32_t i = sked_i_names_add(&r->files, name->data, (size_t)name->size, &fresh);
    if (i < 0 || !SKED_OWN_GROW(&r->arena, r->file, r->file_cap, r->files.count)) {
        sked_i_json_no_memory(&r->j);
        return -1;
    }
    if (fresh)
        r->file[i] = (datafile){.producer = -1, .reader = -1};
    return i;
}

static void use_file(reader *r, int32_t file, bool reads)
{
    assert(file >= 0 && file < r->files.count);
    if (!reads) {
        if (r->file[file].producer < 0)
            r->file[file].producer = r->current;
    } else if (SKED_OWN_GROW(&r->arena, r->input, r->input_cap, r->n_inputs + 1)) {
        r->input[r->n_inputs++] = file;
    } else {
        sked_i_json_no_memory(&r->j);
    }
}

/* An element of specification.files, or (1.4) of a task's files, which also says how it is used. */
static void read_file(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double size = NAN;
    bool reads = false;
    sked_i_json_enter(j, '{', "a file");
    for (int k; (k = sked_i_json_field(j, &file_fields, &seen)) >= 0;) {
        if (k == FILE_SIZE || k == FILE_SIZE_OLD) {
            size = sked_i_json_number(j, "a file's size");
            if (size < 0)
                sked_i_json_fail(j, "a file's size must be 0 or more");
        } else if (k == FILE_LINK) {
            sked_i_json_text(j, "a file's link", &r->name);
            reads = j->status == SKED_OK && strcmp(r->name.data, "input") == 0;
        } else if (k == FILE_ID || !SKED_I_JSON_HAS(seen, FILE_ID)) {
            sked_i_json_text(j, "a file's id", &r->text);
        } else {
            sked_i_json_skip(j);
        }
    }
    if (!SKED_I_JSON_HAS(seen, FILE_ID) && !SKED_I_JSON_HAS(seen, FILE_NAME))
        sked_i_json_fail(j, "a file without \"id\"");
    const int32_t file = j->status == SKED_OK ? find_file(r, &r->text) : -1;
    if (file < 0)
        return;
    if (!isnan(size))
        r->file[file].size = size;
    if (SKED_I_JSON_HAS(seen, FILE_LINK))
        use_file(r, file, reads);
}

/* ["a", "b"]: the files that a task reads or writes. */
static void read_file_names(reader *r, bool reads)
{
    sked_i_json *j = &r->j;
    sked_i_json_enter(j, '[', reads ? "inputFiles" : "outputFiles");
    while (sked_i_json_more(j)) {
        sked_i_json_text(j, "a file's id", &r->text);
        const int32_t file = j->status == SKED_OK ? find_file(r, &r->text) : -1;
        if (file >= 0)
            use_file(r, file, reads);
    }
}

/* ["a", "b"]: tasks before or after the current one, by id or (where those are unique) by name. */
static void read_neighbours(reader *r, bool parents)
{
    sked_i_json *j = &r->j;
    sked_i_json_enter(j, '[', parents ? "parents" : "children");
    while (sked_i_json_more(j)) {
        sked_i_json_text(j, "a task's id", &r->text);
        if (j->status != SKED_OK)
            return;
        int32_t other = sked_i_names_find(&r->ids, r->text.data, (size_t)r->text.size);
        if (other < 0 && r->unique_names)
            other = sked_i_names_find(&r->names, r->text.data, (size_t)r->text.size);
        if (other < 0) {
            sked_i_json_fail(j, "no task has the id '%s'",
                             sked_i_quoted_bytes(r->text.data, (size_t)r->text.size).text);
        } else if (!SKED_OWN_GROW(&r->arena, r->link, r->link_cap, r->n_links + 1)) {
            sked_i_json_no_memory(&r->j);
        } else {
            r->link[r->n_links++] =
                (dependency){parents ? other : r->current, parents ? r->current : other, 0};
        }
    }
}

/* The node a task ran on: a name, or a list of them, of which only a single one says what was measured
 * where. */
static void read_place(reader *r, task *t)
{
    sked_i_json *j = &r->j;
    int count = 0;
    const bool list = sked_i_json_peek(j) == '[';
    if (!list && sked_i_json_peek(j) != '"') {
        sked_i_json_skip(j);
        return;
    }
    if (list)
        sked_i_json_enter(j, '[', "machines");
    while (list ? sked_i_json_more(j) : count == 0) {
        sked_i_json_text(j, "a machine's name", &r->name);
        count++;
    }
    if (j->status == SKED_OK && count == 1)
        t->node = sked_i_names_find(&r->nodes.names, r->name.data, (size_t)r->name.size);
}

/* What a task cost and where, in the specification (1.4) or in the execution (1.5). */
static void read_cost(reader *r, int key, task *t)
{
    if (key == TASK_MACHINES || key == TASK_MACHINE_OLD) {
        read_place(r, t);
        return;
    }
    double *slot = key == TASK_MEMORY                               ? &t->memory
                   : key == TASK_RUNTIME || key == TASK_RUNTIME_OLD ? &t->runtime
                                                                    : &t->cores;
    if (sked_i_json_null(&r->j))
        return;
    *slot = sked_i_json_number(&r->j, task_fields.names[key]);
    if (*slot < 0)
        sked_i_json_fail(&r->j, "\"%s\" must be 0 or more", task_fields.names[key]);
}

static void read_task(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    r->current = (int32_t)j->number;
    task *t = &r->task[r->current];
    t->first_input = r->n_inputs;
    sked_i_json_enter(j, '{', "a task");
    for (int k; (k = sked_i_json_field(j, &task_fields, &seen)) >= 0;) {
        if (k == TASK_PARENTS || k == TASK_CHILDREN) {
            read_neighbours(r, k == TASK_PARENTS);
        } else if (k == TASK_INPUTS || k == TASK_OUTPUTS) {
            read_file_names(r, k == TASK_INPUTS);
        } else if (k == TASK_FILES) {
            sked_i_json_enter(j, '[', "files");
            while (sked_i_json_more(j))
                read_file(r);
        } else if (k >= TASK_RUNTIME) {
            read_cost(r, k, t);
        } else {
            sked_i_json_skip(j);
        }
    }
}

/* An element of execution.tasks: its id may come after its numbers. */
static void read_executed(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    task t = {.runtime = NAN, .memory = NAN, .cores = NAN, .node = -1};
    sked_i_json_enter(j, '{', "an executed task");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &task_fields, &seen)) >= 0;) {
        if (k == TASK_ID)
            sked_i_json_text(j, "an executed task's id", &r->text);
        else if (k >= TASK_RUNTIME)
            read_cost(r, k, &t);
        else
            sked_i_json_skip(j);
    }
    j->token = j->status == SKED_OK ? begin : j->token;
    if (!SKED_I_JSON_HAS(seen, TASK_ID))
        sked_i_json_fail(j, "an executed task without \"id\"");
    if (j->status != SKED_OK)
        return;
    const int32_t i = sked_i_names_find(&r->ids, r->text.data, (size_t)r->text.size);
    if (i < 0) {
        sked_i_json_fail(j, "no task of the specification has the id '%s'",
                         sked_i_quoted_bytes(r->text.data, (size_t)r->text.size).text);
        return;
    }
    const double *const found[] = {&t.runtime, &t.memory, &t.cores};
    double *const kept[] = {&r->task[i].runtime, &r->task[i].memory, &r->task[i].cores};
    for (int k = 0; k < 3; k++)
        if (!isnan(*found[k]))
            *kept[k] = *found[k];
    r->task[i].node = t.node >= 0 ? t.node : r->task[i].node;
}

static int by_target(const void *a, const void *b)
{
    const dependency *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/*
 * Parents and children say everything twice: sorted, repetitions fall together. Then the bytes of a link
 * are what its target reads of what its source writes; bytes_from[] is zero between targets.
 */
static void settle_links(reader *r, double *bytes_from)
{
    int64_t kept = 0;
    if (r->n_links > 0)
        qsort(r->link, (size_t)r->n_links, sizeof *r->link, by_target);
    for (int64_t k = 0; k < r->n_links; k++)
        if (kept == 0 || by_target(&r->link[kept - 1], &r->link[k]) != 0)
            r->link[kept++] = r->link[k];
    r->n_links = kept;
    int64_t k = 0;
    for (int32_t i = 0; i < r->ids.count; i++) {
        for (int64_t f = r->task[i].first_input; f < r->task[i + 1].first_input; f++) {
            datafile *file = &r->file[r->input[f]];
            if (file->producer >= 0 && file->reader != i)
                bytes_from[file->producer] += file->size;
            file->reader = i;
        }
        for (; k < kept && r->link[k].to == i; k++)
            r->link[k].bytes = bytes_from[r->link[k].from];
        for (int64_t f = r->task[i].first_input; f < r->task[i + 1].first_input; f++)
            if (r->file[r->input[f]].producer >= 0)
                bytes_from[r->file[r->input[f]].producer] = 0;
    }
}

/*
 * Nodes of different clocks: what a task took where it ran, and what it would take elsewhere by the clock. A
 * graph says so for few nodes only; with more, the speeds in the machine file have to do.
 */
static sked_status add_durations(reader *r, int32_t op, sked_error *err)
{
    enum { most_nodes = 16 };
    const task *t = &r->task[op];
    const double own = t->node >= 0 ? r->nodes.node[t->node].clock : NAN;
    sked_status st = SKED_OK;
    if (isnan(own) || r->nodes.names.count > most_nodes || !sked_i_wfnodes_differ(&r->nodes))
        return SKED_OK;
    for (int32_t i = 0; i < r->nodes.names.count && st == SKED_OK; i++) {
        const double there = t->runtime * (own / r->nodes.node[i].clock);
        if (isfinite(there))
            st = sked_builder_add_duration(r->b, op, sked_i_names_at(&r->nodes.names, i), there, err);
    }
    return st;
}

static sked_status add_tasks(reader *r, sked_error *err)
{
    bool any = false;
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < r->ids.count; i++)
        any = any || !isnan(r->task[i].runtime);
    for (int32_t i = 0; i < r->ids.count; i++) {
        const task *t = &r->task[i];
        const char *id = sked_i_names_at(&r->ids, i);
        if (any && isnan(t->runtime))
            return sked_i_source_fail(r->j.source, NULL, err, "task '%s' has no runtime, but others have",
                                      sked_i_quoted_text(id).text);
        SKED_TRY(sked_builder_add_op(r->b, id, sked_i_names_at(&r->types, t->type), any ? t->runtime : 1,
                                     NULL, err));
        SKED_TRY(sked_builder_set_memory(r->b, i, isnan(t->memory) ? 0 : t->memory, err));
        SKED_TRY(sked_builder_set_weight(r->b, i, isnan(t->cores) ? 1 : t->cores, err));
        if (any)
            SKED_TRY(add_durations(r, i, err));
    }
    for (int64_t k = 0; k < r->n_links; k++) {
        const sked_edge edge = {r->link[k].from, r->link[k].to, NAN, r->link[k].bytes, 0};
        SKED_TRY(sked_builder_add_edge(r->b, &edge, err));
    }
cleanup:
    return st;
}

static sked_status build(reader *r, sked_graph **out, sked_error *err)
{
    double *bytes_from = NULL;
    sked_status st = SKED_OK;
    SKED_NEW0(bytes_from, r->ids.count);
    settle_links(r, bytes_from);
    SKED_TRY(sked_i_source_begin(r->j.source, r->title.size > 0 ? r->title.data : NULL, &r->b, err));
    SKED_TRY(add_tasks(r, err));
    SKED_BUILD(r->j.source, NULL, sked_builder_finish(r->b, out, &cause));
cleanup:
    free(bytes_from);
    return st;
}

/* The places of members of the object at `place`; members that are not wanted have a NULL slot. */
static void locate(reader *r, const char *place, const char *what, const sked_i_json_fields *fields,
                   const char **const *slots)
{
    uint32_t seen = 0;
    if (place == NULL || r->j.status != SKED_OK)
        return;
    sked_i_json_seek(&r->j, place);
    sked_i_json_enter(&r->j, '{', what);
    for (int k; (k = sked_i_json_field(&r->j, fields, &seen)) >= 0;) {
        if (slots[k] != NULL)
            *slots[k] = sked_i_json_defer(&r->j);
        else
            sked_i_json_skip(&r->j);
    }
}

static void read_top(reader *r)
{
    sked_i_json *j = &r->j;
    const char *workflow = NULL, *flat = NULL;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "a WfFormat file");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_NAME)
            sked_i_json_text(j, "the workflow's name", &r->title);
        else
            workflow = sked_i_json_defer(j);
    }
    sked_i_json_end(j);
    const char **const flow[] = {&r->specification, &r->execution, &flat, &r->machines};
    const char **const specification[] = {&r->tasks, &r->file_list, NULL};
    const char **const execution[] = {&r->executed, NULL, &r->machines};
    locate(r, workflow, "\"workflow\"", &flow_fields, flow);
    locate(r, r->specification, "\"specification\"", &part_fields, specification);
    locate(r, r->execution, "\"execution\"", &part_fields, execution);
    if (r->tasks == NULL)
        r->tasks = flat;
    if (r->tasks == NULL)
        sked_i_json_fail(j, "no workflow.specification.tasks (WfFormat 1.5) and no workflow.tasks (1.4)");
}

static void free_reader(reader *r)
{
    sked_builder_destroy(r->b);
    sked_i_json_free(&r->j);
    sked_i_names *const tables[] = {&r->ids, &r->names, &r->types, &r->files};
    for (int i = 0; i < 4; i++)
        sked_i_names_free(tables[i]);
    sked_i_wfnodes_free(&r->nodes);
    sked_i_buffer_free(&r->text);
    sked_i_buffer_free(&r->name);
    sked_i_buffer_free(&r->title);
    sked_i_arena_free(&r->arena);
}

static sked_status wfformat_read(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    reader r = {.unique_names = true};
    sked_i_json_begin(&r.j, source, err);
    read_top(&r);
    sked_i_wfnodes_read(&r.j, r.machines, &r.nodes);
    while (sked_i_json_each(&r.j, r.tasks, "task", "task"))
        read_identity(&r);
    while (sked_i_json_each(&r.j, r.file_list, "file", "file"))
        read_file(&r);
    while (sked_i_json_each(&r.j, r.tasks, "task", "task"))
        read_task(&r);
    if (r.j.status == SKED_OK && r.ids.count > 0)
        r.task[r.ids.count].first_input = r.n_inputs;
    while (sked_i_json_each(&r.j, r.executed, "executed task", "executed task"))
        read_executed(&r);
    sked_status st = r.j.status;
    if (st == SKED_OK)
        st = build(&r, out, err);
    free_reader(&r);
    return st;
}

static sked_status wfformat_machine(const sked_i_source *source, sked_machine **out, sked_error *err)
{
    reader r = {0};
    sked_i_json_begin(&r.j, source, err);
    read_top(&r);
    sked_i_wfnodes_read(&r.j, r.machines, &r.nodes);
    if (r.nodes.names.count == 0)
        sked_i_json_fail(&r.j, "no machines: \"machines\" of the execution is missing or empty");
    sked_status st = r.j.status;
    if (st == SKED_OK)
        st = sked_i_wfnodes_machine(source, &r.nodes, r.title.data, out, err);
    free_reader(&r);
    return st;
}

static bool sniff(const char *text, size_t size)
{
    return sked_i_json_mentions(text, size, "workflow") &&
           (sked_i_json_mentions(text, size, "schemaVersion") ||
            sked_i_json_mentions(text, size, "specification") || sked_i_json_mentions(text, size, "tasks"));
}

const sked_i_format sked_i_format_wfformat = {
    .info = {"wfformat", "WfCommons workflows (WfFormat 1.5, 1.4), JSON", ".json", true, false},
    .sniff = sniff,
    .read = wfformat_read,
    .machine = wfformat_machine,
};
