/* Several schedules in one file, one object a line. */
#include "report/jsonl.h"

#include "base/file.h"
#include "base/sized.h"
#include "formats/format.h"
#include "problem/lower.h"

/* Line breaks only ever stand between values (inside strings they are escaped): they become spaces. */
static void flatten(char *text, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = ' ';
}

sked_status sked_i_lines_add(sked_i_buffer *all, const sked_problem *p, const sked_schedule *s,
                             const char *more, sked_error *err)
{
    sked_i_buffer one = {0};
    sked_status st = sked_schedule_validate(p, s, err);
    if (st == SKED_OK)
        st = sked_i_native_schedule_write(p, s, &one, err);
    while (st == SKED_OK && one.size > 0 && one.data[one.size - 1] != '}')
        one.size--;
    if (st == SKED_OK && one.size > 0) {
        flatten(one.data, one.size);
        sked_i_buffer_add(all, one.data, (size_t)one.size - 1);
        sked_i_buffer_text(all, more);
        sked_i_buffer_text(all, "}\n");
    }
    sked_i_buffer_free(&one);
    return st;
}

sked_status sked_i_lines_write(sked_i_buffer *all, sked_status st, const char *path, sked_error *err)
{
    if (st == SKED_OK && all->failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = sked_i_file_save(path, all->data ? all->data : "", all->size, err);
    sked_i_buffer_free(all);
    return st;
}

sked_status sked_schedules_write(const sked_problem *p, const sked_schedule *const *s, int32_t count,
                                 const char *path, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_i_buffer all = {0};
    sked_status st = SKED_OK;
    if (count < 0)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "a number of schedules is 0 or more");
    for (int32_t k = 0; st == SKED_OK && k < count; k++)
        st = sked_i_lines_add(&all, p, s[k], "", err);
    return sked_i_lines_write(&all, st, path, err);
}
