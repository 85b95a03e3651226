#include "formats/flatbuffer.h"

/* Lists are followed up to three times: sizes, results, inputs. */
static const double lists_per_byte = 4;

sked_i_flat_table sked_i_flat_begin(sked_i_flat *f, const sked_i_source *source, const char *kind,
                                    sked_error *err)
{
    *f = (sked_i_flat){
        .source = source, .kind = kind, .budget = lists_per_byte * (double)source->size, .err = err};
    if (source->size < 8) {
        sked_i_flat_broken(f, 0, "it ends before its first table");
        return (sked_i_flat_table){0};
    }
    return sked_i_flat_element(f, (sked_i_flat_list){0, 1}, 0);
}

void sked_i_flat_broken(sked_i_flat *f, int64_t at, const char *rule)
{
    if (f->status == SKED_OK)
        f->status = sked_i_fail(f->err, SKED_ERR_FORMAT, "%s: byte %lld: not %s: %s", f->source->name,
                                (long long)at, f->kind, rule);
}

uint64_t sked_i_flat_bytes(const sked_i_flat *f, int64_t at, int width)
{
    uint64_t x = 0;
    for (int k = 0; k < width; k++)
        x |= (uint64_t)(uint8_t)f->source->text[at + k] << 8 * k;
    return x;
}

static bool inside(const sked_i_flat *f, int64_t at, int64_t size)
{
    return at >= 0 && size <= (int64_t)f->source->size && at <= (int64_t)f->source->size - size;
}

static sked_i_flat_table table_at(sked_i_flat *f, int64_t at)
{
    sked_i_flat_table t = {.at = at};
    if (!inside(f, at, 4)) {
        sked_i_flat_broken(f, at, "a table begins behind its end");
        return (sked_i_flat_table){0};
    }
    t.vtable = at - (int32_t)sked_i_flat_bytes(f, at, 4);
    const int64_t entries = inside(f, t.vtable, 4) ? (int64_t)sked_i_flat_bytes(f, t.vtable, 2) : 0;
    t.size = entries >= 4 ? (int64_t)sked_i_flat_bytes(f, t.vtable + 2, 2) : 0;
    t.fields = (int)(entries - 4) / 2;
    if (entries < 4 || !inside(f, t.vtable, entries) || t.size < 4 || !inside(f, at, t.size)) {
        sked_i_flat_broken(f, at, "a table or its list of fields does not lie inside the file");
        return (sked_i_flat_table){0};
    }
    return t;
}

int64_t sked_i_flat_field(sked_i_flat *f, sked_i_flat_table t, int field, int width)
{
    const int64_t offset =
        t.at > 0 && field < t.fields ? (int64_t)sked_i_flat_bytes(f, t.vtable + 4 + 2 * field, 2) : 0;
    if (offset == 0 || f->status != SKED_OK)
        return 0;
    if (offset >= 4 && offset + width <= t.size)
        return t.at + offset;
    sked_i_flat_broken(f, t.at, "a field does not lie inside its table");
    return 0;
}

uint64_t sked_i_flat_number(sked_i_flat *f, sked_i_flat_table t, int field, int width, uint64_t otherwise)
{
    const int64_t at = sked_i_flat_field(f, t, field, width);
    return at > 0 ? sked_i_flat_bytes(f, at, width) : otherwise;
}

sked_i_flat_table sked_i_flat_element(sked_i_flat *f, sked_i_flat_list list, int64_t i)
{
    const int64_t at = list.at + 4 * i;
    return f->status == SKED_OK ? table_at(f, at + (int64_t)sked_i_flat_bytes(f, at, 4))
                                : (sked_i_flat_table){0};
}

sked_i_flat_table sked_i_flat_child(sked_i_flat *f, sked_i_flat_table t, int field)
{
    const int64_t at = sked_i_flat_field(f, t, field, 4);
    return at > 0 ? table_at(f, at + (int64_t)sked_i_flat_bytes(f, at, 4)) : (sked_i_flat_table){0};
}

sked_i_flat_list sked_i_flat_vector(sked_i_flat *f, sked_i_flat_table t, int field, int width)
{
    const int64_t from = sked_i_flat_field(f, t, field, 4);
    if (from == 0)
        return (sked_i_flat_list){0};
    const int64_t at = from + (int64_t)sked_i_flat_bytes(f, from, 4);
    const int64_t count = inside(f, at, 4) ? (int64_t)sked_i_flat_bytes(f, at, 4) : -1;
    f->budget -= 4 + (double)count * width;
    if (count < 0 || !inside(f, at + 4, count * width))
        sked_i_flat_broken(f, from, "a list does not lie inside the file");
    else if (f->budget < 0)
        sked_i_flat_broken(f, from, "tables share lists that would take more than the file to read");
    return f->status == SKED_OK ? (sked_i_flat_list){at + 4, count} : (sked_i_flat_list){0};
}
