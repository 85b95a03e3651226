#include "base/sort.h"

#include <assert.h>

enum { values = 256 };

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

/* The digits of items [from the one of weight 256^low to that of 256^high], each counted. */
static void count_digits(const sked_i_keyed *items, int64_t n, int low, int high, int64_t count[][values])
{
    memset(count, 0, (size_t)(high - low + 1) * sizeof *count);
    for (int64_t i = 0; i < n; i++)
        for (int d = low; d <= high; d++)
            count[d - low][items[i].key >> (8 * d) & (values - 1)]++;
}

/* Items are in order by the bits from `shift` on. Those that are equal there are sorted by the rest. */
static void sort_alike(sked_i_keyed *items, sked_i_keyed *spare, int64_t n, int shift)
{
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].key >> shift == items[i].key >> shift; end++)
            ;
        if (end - i > 1)
            sked_i_sort_keyed(items + i, spare, end - i);
    }
}

/*
 * The first digits that differ are sorted by counting. They distinguish most items, so that the others need
 * no pass over everything.
 */
void sked_i_sort_keyed(sked_i_keyed *items, sked_i_keyed *spare, int64_t n)
{
    enum { passes = 4 };
    assert(items != spare || n == 0);
    if (n <= 64) {
        insertion_sort(items, n);
        return;
    }
    uint64_t differ = 0;
    for (int64_t i = 1; i < n; i++)
        differ |= items[i].key ^ items[0].key;
    if (differ == 0)
        return;
    const int high = (63 - __builtin_clzll(differ)) / 8, low = high < passes ? 0 : high - passes + 1;
    int64_t count[passes][values];
    count_digits(items, n, low, high, count);
    sked_i_keyed *from = items, *to = spare;
    for (int d = low; d <= high; d++) {
        if ((differ >> (8 * d) & (values - 1)) == 0)
            continue; /* all alike: integers leave most digits of a double empty */
        scatter(from, to, n, 8 * d, count[d - low]);
        sked_i_keyed *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof *items);
    if ((differ & ((1ull << (8 * low)) - 1)) != 0)
        sort_alike(items, spare, n, 8 * low);
}

void sked_i_sort_words(uint64_t *items, uint64_t *spare, int64_t n, int low)
{
    assert(low >= 0 && low < 64 && (items != spare || n == 0));
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
