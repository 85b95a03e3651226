/* Bytes right before memory that may not be touched: reading one byte too far ends the program. */
#ifndef SKED_TESTS_GUARD_H
#define SKED_TESTS_GUARD_H
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct guard {
    char *base;
    size_t room; /* bytes before the page that may not be touched */
    size_t page;
} guard;

/* Room for `most` bytes. */
static inline guard guard_open(size_t most)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guard g = {.room = (most / page + 1) * page, .page = page};
    g.base = mmap(NULL, g.room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.base != MAP_FAILED);
    assert_int_equal(mprotect(g.base + g.room, page, PROT_NONE), 0);
    return g;
}

/* A copy that ends where the guard begins; valid until the next call. */
static inline const char *guard_copy(const guard *g, const void *bytes, size_t size)
{
    char *copy = g->base + g->room - size;
    assert_true(size <= g->room);
    memcpy(copy, bytes, size);
    return copy;
}

static inline void guard_close(guard *g)
{
    munmap(g->base, g->room + g->page);
}
#endif
