/*
 * Models as safetensors files: 8 bytes length of the header, the header (JSON: name, type, shape, place of
 * every tensor), then the numbers, little-endian float32. Sizes, seed and step stand in __metadata__.
 */
#include "base/memory.h"
#include "engine/network/sampler.h"
#include "formats/json.h"

#include <stdio.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are copied as they lie in memory: little-endian only"
#endif

static const char old_format_id[] = "sked-gflownet-1"; /* features and shapes were others */
static const char format_id[] = "sked-gflownet-2";
enum { max_model_bytes = 1 << 30 };
static const int64_t max_steps = INT64_C(9000000000000000); /* of `sked train --steps`; never overflows */
static const char *const policy_names[] = {"encode-once", "stepwise"};
static const char *const backward_names[] = {"uniform", "learned"};
static const char *const rule_names[] = {"none", "list"};
static const char *const loss_names[] = {"variance", "tb", "ppo"};
static const char *const prefixes[] = {"", "moment1.", "moment2."};
enum { BLOCKS = SKED_I_SAMPLER_BLOCKS };

/* ------------------------------------------------------------------ writing */

/* A part of a model: a table of parameters, and the blocks they lie in, one behind the other. */
typedef struct part {
    const sked_i_parameter *table;
    int count;
    int64_t total;
    float *numbers; /* [BLOCKS * total]; NULL: the model has no such part */
} part;

static part network_of(const sked_sampler *m)
{
    return (part){m->layout.table, m->layout.n_table, m->layout.total, m->parameter};
}

static part log_z_of(const sked_sampler *m)
{
    _Static_assert(sizeof *m->log_z == BLOCKS * SKED_I_LOG_Z_TOTAL * sizeof(float), "three blocks");
    return (part){sked_i_log_z_table, SKED_I_LOG_Z_TENSORS, SKED_I_LOG_Z_TOTAL, (float *)m->log_z};
}

/* One block of tensors, its numbers from byte `at` on. */
static void write_tensors(const part *p, int block, int64_t at, sked_i_buffer *out)
{
    for (int i = 0; i < p->count; i++) {
        const sked_i_parameter *t = &p->table[i];
        const long long from = (long long)(at + 4 * t->offset);
        sked_i_buffer_format(
            out, ",\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[%lld,%lld]}",
            prefixes[block], t->name, (int)t->rows, (int)t->columns, from, from + 4LL * t->rows * t->columns);
    }
}

/* log Z is for resuming only, as the moments are. */
static void write_header(const sked_sampler *m, bool optimiser, sked_i_buffer *out)
{
    const part network = network_of(m), log_z = log_z_of(m);
    const int blocks = optimiser ? BLOCKS : 1;
    sked_i_buffer_format(out, "{\"__metadata__\":{\"format\":\"%s\",\"sked\":\"%s\"", format_id,
                         SKED_VERSION);
    sked_i_buffer_format(out, ",\"steps\":\"%lld\",\"seed\":\"%llu\",\"rate\":\"", (long long)m->steps,
                         (unsigned long long)m->seed);
    sked_i_buffer_number(out, m->rate);
    sked_i_buffer_char(out, '"');
#define SKED_X(name, preset, least, most, help) \
    sked_i_buffer_format(out, ",\"" #name "\":\"%d\"", (int)m->layout.sizes.name);
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    sked_i_buffer_format(out, ",\"policy\":\"%s\",\"backward\":\"%s\"", policy_names[m->layout.sizes.policy],
                         backward_names[m->layout.sizes.backward]);
    if (m->loss != SKED_I_LOSS_VARIANCE) /* which files that name none have */
        sked_i_buffer_format(out, ",\"loss\":\"%s\"", loss_names[m->loss]);
    if (m->layout.sizes.rule != SKED_I_RULE_NONE) /* likewise */
        sked_i_buffer_format(out, ",\"rule\":\"%s\"", rule_names[m->layout.sizes.rule]);
    if (m->largest > 0) /* likewise */
        sked_i_buffer_format(out, ",\"largest\":\"%d\"", (int)m->largest);
    sked_i_buffer_char(out, '}');
    for (int b = 0; b < blocks; b++)
        write_tensors(&network, b, 4 * b * network.total, out);
    for (int b = 0; b < BLOCKS && optimiser && m->log_z != NULL; b++)
        write_tensors(&log_z, b, 4 * (BLOCKS * network.total + b * log_z.total), out);
    sked_i_buffer_char(out, '}');
    while (out->size % 8 != 0 && !out->failed)
        sked_i_buffer_char(out, ' ');
}

sked_status sked_sampler_write(const sked_sampler *m, const char *path, bool optimiser, sked_error *err)
{
    const part network = network_of(m), log_z = log_z_of(m);
    const size_t blocks = optimiser ? BLOCKS : 1;
    sked_i_buffer header = {0}, all = {0};
    write_header(m, optimiser, &header);
    const uint64_t length = (uint64_t)header.size;
    sked_i_buffer_add(&all, (const char *)&length, sizeof length);
    if (!header.failed)
        sked_i_buffer_add(&all, header.data, (size_t)header.size);
    sked_i_buffer_add(&all, (const char *)network.numbers, blocks * (size_t)network.total * sizeof(float));
    if (optimiser && m->log_z != NULL)
        sked_i_buffer_add(&all, (const char *)log_z.numbers, sizeof *m->log_z);
    const sked_status st =
        header.failed || all.failed ? sked_i_no_memory(err) : sked_i_file_save(path, all.data, all.size, err);
    sked_i_buffer_free(&header);
    sked_i_buffer_free(&all);
    return st;
}

/* ------------------------------------------------------------------ reading */

typedef struct reader {
    sked_i_json json;
    const char *data; /* the numbers */
    int64_t data_size;
    sked_sampler *model;
    sked_i_sizes sizes;
    int64_t steps;
    int32_t largest;
    uint64_t seed;
    double rate;
    sked_i_loss_id loss;
    uint8_t seen[BLOCKS][SKED_I_MAX_PARAMETERS], log_z_seen[BLOCKS][SKED_I_MAX_PARAMETERS];
} reader;

static const char *const meta_keys[] = {"format",
                                        "steps",
                                        "seed",
                                        "rate",
#define SKED_X(name, preset, least, most, help) #name,
                                        SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
                                            "policy",
                                        "backward",
                                        "loss",
                                        "rule",
                                        "largest"};
/*
 * Files of the first versions end with the size before slots: they are encode-once with uniform P_B. A file
 * without a loss has the variance loss, one without a rule has none.
 */
enum { n_meta = sizeof meta_keys / sizeof *meta_keys, n_sizes = n_meta - 9, n_optional = 6 };
static const sked_i_json_fields meta_fields = {"__metadata__", meta_keys, n_meta, false};

/* The place of a name in a list, or -1. */
static int name_index(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

/* The kinds of policy, loss and rule; false: not understood. */
static bool take_kind(reader *r, int field, const char *name)
{
    const int policy = name_index(policy_names, 2, name), backward = name_index(backward_names, 2, name);
    const int loss = name_index(loss_names, 3, name), rule = name_index(rule_names, 2, name);
    if (field == 4 + n_sizes && policy >= 0)
        r->sizes.policy = (sked_i_policy_id)policy;
    else if (field == 5 + n_sizes && backward >= 0)
        r->sizes.backward = (sked_i_backward_id)backward;
    else if (field == 6 + n_sizes && loss >= 0)
        r->loss = (sked_i_loss_id)loss;
    else if (field == 7 + n_sizes && rule >= 0)
        r->sizes.rule = (sked_i_rule_id)rule;
    else
        return false;
    return true;
}

static void take_meta(reader *r, int field, const sked_i_buffer *text)
{
    int32_t *const size[] = {
#define SKED_X(name, preset, least, most, help) &r->sizes.name,
        SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    };
    const char *s = text->data ? text->data : "";
    const size_t length = (size_t)text->size;
    const int64_t most = field == 1 ? max_steps : INT32_MAX;
    int64_t whole = 0, largest = r->largest;
    bool good = true;
    if (field == 0 && strcmp(s, old_format_id) == 0) {
        sked_i_json_fail(&r->json, "a model of sked before transfers were learnt (%s); train it again",
                         old_format_id);
        return;
    }
    if (field == 0)
        good = strcmp(s, format_id) == 0;
    else if (field == 8 + n_sizes)
        good = sked_i_parse_int(s, length, 1, most, &largest);
    else if (field >= 4 + n_sizes)
        good = take_kind(r, field, s);
    else if (field == 3)
        good = sked_i_parse_double(s, length, &r->rate) && r->rate > 0;
    else if (field == 2)
        good = sked_i_parse_unsigned(s, length, &r->seed);
    else
        good = sked_i_parse_int(s, length, 0, most, &whole);
    r->largest = (int32_t)largest;
    if (field == 1)
        r->steps = whole;
    if (field >= 4 && field < 4 + n_sizes)
        *size[field - 4] = (int32_t)whole;
    if (!good)
        sked_i_json_fail(&r->json, "'%s' of the model is not understood", meta_keys[field]);
}

static void read_meta(reader *r)
{
    const uint32_t required = (1u << (n_meta - n_optional)) - 1;
    sked_i_buffer text = {0};
    uint32_t seen = 0;
    int field;
    r->sizes.slots = sked_i_sizes_preset.slots;
    sked_i_json_enter(&r->json, '{', "__metadata__");
    while ((field = sked_i_json_field(&r->json, &meta_fields, &seen)) >= 0) {
        text.size = 0;
        sked_i_json_text(&r->json, meta_keys[field], &text);
        if (r->json.status == SKED_OK)
            take_meta(r, field, &text);
    }
    if (r->json.status == SKED_OK && (seen & required) != required)
        sked_i_json_fail(&r->json, "this is not a model of sked: __metadata__ is incomplete");
    sked_i_buffer_free(&text);
}

/* "moment1.layer.0.qkv_weight" to block 1 and its index; false: the part has no such parameter. */
static bool find_parameter(const reader *r, const part *p, int *block, int *index)
{
    const char *key = r->json.key;
    size_t size = r->json.key_size;
    *block = 0;
    if (size > 8 && (memcmp(key, "moment1.", 8) == 0 || memcmp(key, "moment2.", 8) == 0)) {
        *block = key[6] - '0';
        key += 8;
        size -= 8;
    }
    for (*index = 0; *index < p->count; ++*index) {
        const char *name = p->table[*index].name;
        if (strlen(name) == size && memcmp(name, key, size) == 0)
            return true;
    }
    return false;
}

static const char *const tensor_keys[] = {"dtype", "shape", "data_offsets"};
static const sked_i_json_fields tensor_fields = {"a tensor", tensor_keys, 3, false};

static void read_pair(reader *r, const char *what, int64_t out[2])
{
    int count = 0;
    sked_i_json_enter(&r->json, '[', what);
    while (sked_i_json_more(&r->json)) {
        const int64_t x = sked_i_json_integer(&r->json, what, 0, max_model_bytes);
        if (count < 2)
            out[count] = x;
        count++;
    }
    if (r->json.status == SKED_OK && count != 2)
        sked_i_json_fail(&r->json, "%s has %d numbers, not 2", what, count);
}

static void copy_tensor(reader *r, float *block, const sked_i_parameter *p, const int64_t shape[2],
                        const int64_t place[2])
{
    const int64_t count = (int64_t)p->rows * p->columns;
    if (shape[0] != p->rows || shape[1] != p->columns)
        sked_i_json_fail(&r->json, "tensor %s has the shape [%lld, %lld], not [%d, %d]", p->name,
                         (long long)shape[0], (long long)shape[1], (int)p->rows, (int)p->columns);
    else if (place[1] - place[0] != 4 * count || place[1] > r->data_size)
        sked_i_json_fail(&r->json, "tensor %s does not lie inside the file", p->name);
    if (r->json.status != SKED_OK)
        return;
    float *to = block + p->offset;
    memcpy(to, r->data + place[0], (size_t)count * sizeof *to);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(to[i])) {
            sked_i_json_fail(&r->json, "tensor %s holds a number that is not finite", p->name);
            return;
        }
}

/* The part of the model that the tensor of this key belongs to, and its place there. */
static bool find_tensor(const reader *r, part *p, int *block, int *index, bool *log_z)
{
    *p = network_of(r->model);
    *log_z = false;
    if (find_parameter(r, p, block, index))
        return true;
    *p = log_z_of(r->model);
    *log_z = true;
    return p->numbers != NULL && find_parameter(r, p, block, index);
}

static void read_tensor(reader *r)
{
    sked_i_buffer text = {0};
    part p;
    bool log_z;
    int block, index, field;
    uint32_t seen = 0;
    int64_t shape[2] = {0, 0}, place[2] = {0, 0};
    if (!find_tensor(r, &p, &block, &index, &log_z)) {
        sked_i_json_fail(&r->json, "the model has a tensor sked does not know");
        return;
    }
    sked_i_json_enter(&r->json, '{', "a tensor");
    while ((field = sked_i_json_field(&r->json, &tensor_fields, &seen)) >= 0) {
        if (field == 0) {
            text.size = 0;
            sked_i_json_text(&r->json, "dtype", &text);
            if (r->json.status == SKED_OK && strcmp(text.data ? text.data : "", "F32") != 0)
                sked_i_json_fail(&r->json, "tensors are F32 in a model of sked");
        } else {
            read_pair(r, tensor_keys[field], field == 1 ? shape : place);
        }
    }
    if (r->json.status == SKED_OK && seen != 7)
        sked_i_json_fail(&r->json, "a tensor lacks its type, shape or place");
    if (r->json.status == SKED_OK)
        copy_tensor(r, p.numbers + block * p.total, &p.table[index], shape, place);
    uint8_t *times = log_z ? &r->log_z_seen[block][index] : &r->seen[block][index];
    *times += *times < 2; /* twice is as wrong as often */
    sked_i_buffer_free(&text);
}

/* First pass: the metadata, wherever it stands. Second: the tensors. */
static void read_members(reader *r, bool metadata)
{
    sked_i_json_enter(&r->json, '{', "the header");
    while (sked_i_json_key(&r->json)) {
        const bool meta = r->json.key_size == 12 && memcmp(r->json.key, "__metadata__", 12) == 0;
        if (meta == metadata && meta)
            read_meta(r);
        else if (meta == metadata)
            read_tensor(r);
        else
            sked_i_json_skip(&r->json);
    }
    sked_i_json_end(&r->json);
}

/*
 * Each tensor stands once in all blocks (of moments: or in none), and those of log Z in all of them or in
 * none at all (--weights-only).
 */
static void check_part(reader *r, const part *p, bool network, uint8_t (*seen)[SKED_I_MAX_PARAMETERS])
{
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < p->count && r->json.status == SKED_OK; i++) {
            const int wanted = !network ? seen[0][0] : b == 0 ? 1 : seen[b][0];
            if (seen[b][i] != wanted || seen[b][i] > 1)
                sked_i_json_fail(&r->json, "tensor %s of the model is missing or stands twice",
                                 p->table[i].name);
        }
}

static void check_complete(reader *r)
{
    const part network = network_of(r->model), log_z = log_z_of(r->model);
    check_part(r, &network, true, r->seen);
    check_part(r, &log_z, false, r->log_z_seen);
    if (r->log_z_seen[0][0] == 0) {
        free(r->model->log_z);
        r->model->log_z = NULL;
    }
}

/* Before memory is taken for a model: its sizes are allowed, and the file holds as many numbers. */
static sked_status check_sizes(const reader *r, const char *file, sked_error *err)
{
    sked_i_layout layout;
    sked_error cause = {0};
    if (r->sizes.dim == 0)
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: this is not a model of sked", file);
    if (sked_i_layout_init(&layout, &r->sizes, &cause) != SKED_OK)
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: %s", file, cause.message);
    if (r->data_size < layout.total * (int64_t)sizeof(float))
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: %lld bytes of numbers; a model of this size has %lld",
                           file, (long long)r->data_size, (long long)(layout.total * (int64_t)sizeof(float)));
    return SKED_OK;
}

static sked_status read_header(reader *r, const sked_i_source *source, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_json_begin(&r->json, source, err);
    read_members(r, true);
    SKED_TRY(r->json.status);
    sked_i_json_free(&r->json);
    SKED_TRY(check_sizes(r, source->name, err));
    SKED_TRY(sked_i_sampler_create(&r->sizes, &r->model, err));
    r->model->steps = r->steps;
    r->model->largest = r->largest;
    r->model->seed = r->seed;
    r->model->rate = r->rate;
    r->model->loss = r->loss;
    if (r->loss == SKED_I_LOSS_TB)
        SKED_TRY(sked_i_sampler_open_log_z(r->model, err));
    sked_i_json_begin(&r->json, source, err);
    read_members(r, false);
    check_complete(r);
    st = r->json.status;
cleanup:
    sked_i_json_free(&r->json);
    return st;
}

sked_status sked_i_sampler_parse(const char *name, const char *bytes, int64_t size, sked_sampler **out,
                                 sked_error *err)
{
    static const sked_read_options none;
    uint64_t length = 0;
    sked_status st = SKED_OK;
    char *header = NULL;
    reader *r = NULL;
    if (size >= 8)
        memcpy(&length, bytes, sizeof length);
    if (length == 0 || length > (uint64_t)size - 8)
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: this is not a safetensors file", name);
    SKED_NEW0(r, 1);
    SKED_NEW(header, (int64_t)length + 1);
    memcpy(header, bytes + 8, length);
    header[length] = 0;
    r->data = bytes + 8 + length;
    r->data_size = size - 8 - (int64_t)length;
    const sked_i_source source = {name, header, length, &none};
    SKED_TRY(read_header(r, &source, err));
    *out = r->model;
    r->model = NULL;
cleanup:
    if (r)
        sked_sampler_destroy(r->model);
    free(r);
    free(header);
    return st;
}

/* models/gflownet.safetensors, put in by cmake/embed.cmake. */
extern const char sked_i_embed_model[];
extern const unsigned long sked_i_embed_model_size;

sked_status sked_sampler_read(const char *path, sked_sampler **out, sked_error *err)
{
    if (path == NULL)
        return sked_i_sampler_parse("the built-in model", sked_i_embed_model,
                                    (int64_t)sked_i_embed_model_size, out, err);
    char *bytes = NULL;
    int64_t size = 0;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_file_read(path, max_model_bytes, &bytes, &size, err));
    SKED_TRY(sked_i_sampler_parse(path, bytes, size, out, err));
cleanup:
    free(bytes);
    return st;
}
