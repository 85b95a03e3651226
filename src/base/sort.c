#include "base/sort.h"

enum { digits = 8, values = 256 };

static void insertion_sort(sked_i_keyed *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const sked_i_keyed x = a[i];
        int64_t k = i;
        for (; k > 0 && a[k - 1].key > x.key; k--)
            a[k] = a[k - 1];
        a[k] = x;
    }
}

static void scatter(const sked_i_keyed *from, sked_i_keyed *to, int64_t n, int shift, const int64_t *count)
{
    int64_t next[values], sum = 0;
    for (int v = 0; v < values; v++) {
        next[v] = sum;
        sum += count[v];
    }
    for (int64_t i = 0; i < n; i++)
        to[next[from[i].key >> shift & (values - 1)]++] = from[i];
}

void sked_i_sort_keyed(sked_i_keyed *items, sked_i_keyed *spare, int64_t n)
{
    if (n <= 64) {
        insertion_sort(items, n);
        return;
    }
    int64_t count[digits][values] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < digits; d++)
            count[d][items[i].key >> (8 * d) & (values - 1)]++;
    sked_i_keyed *from = items, *to = spare;
    for (int d = 0; d < digits; d++) {
        if (count[d][items[0].key >> (8 * d) & (values - 1)] == n)
            continue; /* all alike: integers leave most digits of a double empty */
        scatter(from, to, n, 8 * d, count[d]);
        sked_i_keyed *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof *items);
}

void sked_i_sort_words(uint64_t *items, uint64_t *spare, int64_t n, int low)
{
    uint64_t *from = items, *to = spare;
    for (int shift = low; shift < 64; shift += 8) {
        int64_t next[values] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            next[from[i] >> shift & (values - 1)]++;
        if (n == 0 || next[from[0] >> shift & (values - 1)] == n)
            continue;
        for (int v = 0; v < values; v++) {
            const int64_t count = next[v];
            next[v] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[next[from[i] >> shift & (values - 1)]++] = from[i];
        uint64_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof *items);
}
