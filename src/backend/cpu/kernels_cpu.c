/*
 * Neural network operators on the processor.
 *
 * Own loops and not a BLAS: the matrices are 50 x 64 or single rows, where a library call costs more than
 * the product, and its kernels round differently from machine to machine. Here sums have eight lanes and a
 * fixed order on every vector unit; the compiler makes an AVX2 version beside the plain one and the loader
 * picks (target_clones).
 */
#include "backend/kernels.h"

#include "base/clones.h"
#include "base/explog.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define CLONES SKED_I_CLONES
#if SKED_I_HAS_CLONES
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define INLINE static inline __attribute__((always_inline))

enum {
    LANES = SKED_I_LANES,
    FEATURES = SKED_I_PAIR_FEATURES,
    HEADS = SKED_I_HEADS,
    PANEL = 2 * LANES,
    MOST = 12
};

/* ------------------------------------------------------------------ vectors of eight */

typedef real vec __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real)), may_alias));
#ifdef SKED_REAL_DOUBLE
typedef int64_t mask __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real))));
#else
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real))));
#endif

/* Macros: vectors passed by value would depend on the calling convention of the vector unit. */
#define VEC(p)          (*(vec *)(p))
#define CVEC(p)         (*(const vec *)(p))
#define POSITIVE(x)     ((mask)((x) > (vec){0}))
#define KEEP(x, wanted) ((vec)((mask)(x) & (wanted)))

/* The one order in which eight lanes are added. */
#define ADD_LANES(v) ((((v)[0] + (v)[4]) + ((v)[2] + (v)[6])) + (((v)[1] + (v)[5]) + ((v)[3] + (v)[7])))

/* Sums of the lanes of eight vectors, pairwise: neighbours, then twos, then fours. */
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define TWOS(a, b)         (SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15))
#define FOURS(a, b)        (SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15))
#define EIGHTS(a, b)       (SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15))

INLINE void add_scaled(int32_t n, real a, const real *x, real *y)
{
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        VEC(y + i) += a * CVEC(x + i);
    for (; i < n; i++)
        y[i] += a * x[i];
}

INLINE real dot(int32_t n, const real *x, const real *y)
{
    vec lanes = {0};
    real rest = 0;
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        lanes += CVEC(x + i) * CVEC(y + i);
    for (; i < n; i++)
        rest += x[i] * y[i];
    return ADD_LANES(lanes) + rest;
}

/* ------------------------------------------------------------------ linear */

/*
 * `rows` rows of y by `vecs` vectors of columns, kept in registers over all of p. Constants at every call, so
 * that the loops unroll. Each sum runs over p in order, whatever the tile. Rows of w lie `step` apart.
 */
INLINE void tile(int rows, int vecs, int64_t p, int64_t q, int64_t step, const real *x, const real *w,
                 const real *b, bool add, real *y)
{
    vec sum[MOST];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++)
            sum[r * vecs + v] = add ? CVEC(y + r * q + v * LANES) : b ? CVEC(b + v * LANES) : (vec){0};
    for (int64_t k = 0; k < p; k++) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++)
                sum[r * vecs + v] += x[r * p + k] * CVEC(w + k * step + v * LANES);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++)
            VEC(y + r * q + v * LANES) = sum[r * vecs + v];
}

/* All rows of `vecs` vectors of columns. */
INLINE void strip(int vecs, int64_t n, int64_t p, int64_t q, int64_t step, const real *x, const real *w,
                  const real *b, bool add, real *y)
{
    int64_t i = 0;
    for (; i + 6 <= n; i += 6)
        tile(6, vecs, p, q, step, x + i * p, w, b, add, y + i * q);
    if (i + 4 <= n) {
        tile(4, vecs, p, q, step, x + i * p, w, b, add, y + i * q);
        i += 4;
    }
    if (i + 2 <= n) {
        tile(2, vecs, p, q, step, x + i * p, w, b, add, y + i * q);
        i += 2;
    }
    if (i < n)
        tile(1, vecs, p, q, step, x + i * p, w, b, add, y + i * q);
}

CLONES static void linear(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *b,
                          real *y)
{
    assert(q % LANES == 0);
    int64_t j = 0;
    for (; n == 1 && j + 8 * LANES <= q; j += 8 * LANES)
        tile(1, 8, p, q, q, x, w + j, b ? b + j : NULL, false, y + j);
    for (; j + PANEL <= q; j += PANEL)
        strip(2, n, p, q, q, x, w + j, b ? b + j : NULL, false, y + j);
    for (; j < q; j += LANES)
        strip(1, n, p, q, q, x, w + j, b ? b + j : NULL, false, y + j);
}

/* Panels of 16 columns one after the other, the last of 8 where q is an odd multiple of that. */
static void pack(int32_t p, int32_t q, const real *w, real *packed)
{
    assert(q % LANES == 0);
    for (int64_t j = 0; j < q; j += PANEL) {
        const int64_t width = q - j < PANEL ? q - j : PANEL;
        for (int64_t k = 0; k < p; k++)
            memcpy(packed + j * p + k * width, w + k * q + j, (size_t)width * sizeof *w);
    }
}

CLONES static void linear_packed(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *b,
                                 real *y)
{
    assert(q % LANES == 0);
    int64_t j = 0;
    for (; j + PANEL <= q; j += PANEL)
        strip(2, n, p, q, PANEL, x, w + j * p, b ? b + j : NULL, b == NULL, y + j);
    if (j < q)
        strip(1, n, p, q, LANES, x, w + j * p, b ? b + j : NULL, b == NULL, y + j);
}

/* dw of `rows` rows of w by `vecs` vectors of columns, over all n rows of x and dy. */
INLINE void outer_tile(int rows, int vecs, int64_t n, int64_t p, int64_t q, const real *x, const real *dy,
                       real *dw)
{
    vec sum[MOST];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++)
            sum[r * vecs + v] = CVEC(dw + r * q + v * LANES);
    for (int64_t i = 0; i < n; i++) {
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
            for (int v = 0; v < vecs; v++)
                sum[r * vecs + v] += x[i * p + r] * CVEC(dy + i * q + v * LANES);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vecs; v++)
            VEC(dw + r * q + v * LANES) = sum[r * vecs + v];
}

INLINE void outer_strip(int vecs, int64_t n, int64_t p, int64_t q, const real *x, const real *dy, real *dw)
{
    int64_t k = 0;
    for (; k + 4 <= p; k += 4)
        outer_tile(4, vecs, n, p, q, x + k, dy, dw + k * q);
    for (; k < p; k++)
        outer_tile(1, vecs, n, p, q, x + k, dy, dw + k * q);
}

/* Columns first to end - 1 of dw. */
INLINE void outer_columns(int64_t n, int64_t p, int64_t q, int64_t first, int64_t end, const real *x,
                          const real *dy, real *dw)
{
    int64_t j = first;
    for (; j + 2 * LANES <= end; j += 2 * LANES)
        outer_strip(2, n, p, q, x, dy + j, dw + j);
    for (; j < end; j += LANES)
        outer_strip(1, n, p, q, x, dy + j, dw + j);
}

/* Few rows: most entries of x are zeros of a ReLU or of features. */
INLINE void outer_rows(int64_t n, int64_t p, int64_t q, const real *x, const real *dy, real *dw)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < p; k++)
            if (x[i * p + k] != 0)
                add_scaled((int32_t)q, x[i * p + k], dy + i * q, dw + k * q);
}

/* dx[k] += dy . w[k] for eight rows of w at a time, each sum in the order of dot; q: a multiple of LANES. */
INLINE void dot_rows(int64_t p, int64_t q, const real *dy, const real *w, real *dx)
{
    int64_t k = 0;
    for (; k + LANES <= p; k += LANES) {
        vec t[LANES];
#pragma GCC unroll 8
        for (int u = 0; u < LANES; u++)
            t[u] = (vec){0};
        for (int64_t c = 0; c < q; c += LANES) {
            const vec y = CVEC(dy + c);
#pragma GCC unroll 8
            for (int u = 0; u < LANES; u++)
                t[u] += y * CVEC(w + (k + u) * q + c);
        }
        /* ADD_LANES of all: halves, then twos, then neighbours. */
        const vec even = FOURS(EIGHTS(t[0], t[4]), EIGHTS(t[2], t[6]));
        const vec odd = FOURS(EIGHTS(t[1], t[5]), EIGHTS(t[3], t[7]));
        VEC(dx + k) += TWOS(even, odd);
    }
    for (; k < p; k++)
        dx[k] += dot((int32_t)q, dy, w + k * q);
}

CLONES static void linear_grad(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *dy,
                               real *dx, real *dw, real *db)
{
    assert(q % LANES == 0 && (x != NULL || dw == NULL) && (w != NULL || dx == NULL));
    for (int64_t i = 0; i < n && dx != NULL; i++)
        dot_rows(p, q, dy + i * q, w, dx + i * p);
    if (n < 4 && dw != NULL)
        outer_rows(n, p, q, x, dy, dw);
    else if (dw != NULL)
        outer_columns(n, p, q, 0, q, x, dy, dw);
    for (int64_t i = 0; i < n && db != NULL; i++)
        add_scaled(q, 1, dy + i * q, db);
}

CLONES static void weight_grad(int32_t n, int32_t p, int32_t q, int32_t first, int32_t end, const real *x,
                               const real *dy, real *dw, real *db)
{
    assert(first % LANES == 0 && end % LANES == 0 && first <= end && end <= q);
    outer_columns(n, p, q, first, end, x, dy, dw);
    for (int64_t i = 0; i < n; i++)
        add_scaled(end - first, 1, dy + i * q + first, db + first);
}

/* ------------------------------------------------------------------ norm and film */

CLONES static void unit(int32_t n, int32_t p, const real *x, real *y, real *rstd)
{
    assert(p % LANES == 0);
    for (int64_t i = 0; i < n; i++) {
        const real *row = x + i * p;
        vec sum = {0}, square = {0};
        for (int32_t k = 0; k < p; k += LANES)
            sum += CVEC(row + k);
        const real mean = ADD_LANES(sum) / (real)p;
        for (int32_t k = 0; k < p; k += LANES) {
            const vec centred = CVEC(row + k) - mean;
            square += centred * centred;
        }
        rstd[i] = 1 / (real)sqrt((double)ADD_LANES(square) / p + 1e-5);
        for (int32_t k = 0; k < p; k += LANES)
            VEC(y + i * p + k) = (CVEC(row + k) - mean) * rstd[i];
    }
}

CLONES static void unit_grad(int32_t n, int32_t p, const real *y, const real *rstd, const real *dy, real *dx)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = y + i * p, *drow = dy + i * p;
        vec sum = {0}, along = {0};
        for (int32_t k = 0; k < p; k += LANES) {
            sum += CVEC(drow + k);
            along += CVEC(drow + k) * CVEC(row + k);
        }
        const real mean = ADD_LANES(sum) / (real)p, slope = ADD_LANES(along) / (real)p;
        for (int32_t k = 0; k < p; k += LANES)
            VEC(dx + i * p + k) += (CVEC(drow + k) - mean - CVEC(row + k) * slope) * rstd[i];
    }
}

static void norm(int32_t n, int32_t p, const real *x, const real *gain, const real *bias, real *y, real *mean,
                 real *rstd)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = x + i * p;
        real sum = 0, square = 0;
        for (int32_t k = 0; k < p; k++)
            sum += row[k];
        mean[i] = sum / (real)p;
        for (int32_t k = 0; k < p; k++)
            square += (row[k] - mean[i]) * (row[k] - mean[i]);
        rstd[i] = 1 / (real)sqrt((double)square / p + 1e-5);
        for (int32_t k = 0; k < p; k++)
            y[i * p + k] = (row[k] - mean[i]) * rstd[i] * gain[k] + bias[k];
    }
}

static void norm_row_grad(int32_t p, const real *x, const real *gain, real mean, real rstd, const real *dy,
                          real *dx)
{
    real sum = 0, along = 0;
    for (int32_t k = 0; k < p; k++) {
        sum += dy[k] * gain[k];
        along += dy[k] * gain[k] * ((x[k] - mean) * rstd);
    }
    sum /= (real)p;
    along /= (real)p;
    for (int32_t k = 0; k < p; k++)
        dx[k] += (dy[k] * gain[k] - sum - (x[k] - mean) * rstd * along) * rstd;
}

static void norm_grad(int32_t n, int32_t p, const real *x, const real *gain, const real *mean,
                      const real *rstd, const real *dy, real *dx, real *dgain, real *dbias)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = x + i * p, *drow = dy + i * p;
        for (int32_t k = 0; k < p && dgain != NULL; k++) {
            dgain[k] += drow[k] * ((row[k] - mean[i]) * rstd[i]);
            dbias[k] += drow[k];
        }
        if (dx != NULL)
            norm_row_grad(p, row, gain, mean[i], rstd[i], drow, dx + i * p);
    }
}

static void film(int32_t n, int32_t p, const real *x, const real *scale, const real *shift, real *y)
{
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < p; k++) {
            const real z = scale[k] * x[i * p + k] + shift[k];
            y[i * p + k] = z > 0 ? z : 0;
        }
}

static void film_grad(int32_t n, int32_t p, const real *x, const real *scale, const real *y, const real *dy,
                      real *dx, real *dscale, real *dshift)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = x + i * p, *drow = dy + i * p, *active = y + i * p;
        for (int32_t k = 0; k < p && dx != NULL; k++)
            dx[i * p + k] += (active[k] > 0 ? drow[k] : 0) * scale[k];
        for (int32_t k = 0; k < p && dscale != NULL; k++) {
            const real dz = active[k] > 0 ? drow[k] : 0;
            dscale[k] += dz * row[k];
            dshift[k] += dz;
        }
    }
}

/* ------------------------------------------------------------------ attention */

/* The next allowed column at or after j, or n. */
INLINE int32_t next_allowed(const sked_i_masks *m, const uint64_t *row, int32_t j)
{
    while (j < m->n) {
        const uint64_t word = row[j >> 6] >> (j & 63);
        if (word != 0)
            return j + __builtin_ctzll(word);
        j = (j | 63) + 1;
    }
    return m->n;
}

INLINE const uint64_t *mask_row(const sked_i_masks *m, int32_t head, int64_t i)
{
    return m->bits + ((int64_t)head * m->n + i) * m->words;
}

/* One op's view in one head: a running maximum keeps the exponentials in range in a single pass. */
INLINE void attend(const sked_i_masks *m, int32_t head, int64_t i, int32_t size, const real *qkv, real *y,
                   real *lse)
{
    const int64_t inner = (int64_t)HEADS * size;
    const real *q = qkv + i * 3 * inner + head * size, *k = qkv + inner + head * size, *v = k + inner;
    const uint64_t *row = mask_row(m, head, i);
    const real scale = 1 / (real)sqrt((double)size);
    double top = -INFINITY, sum = 0;
    memset(y, 0, (size_t)size * sizeof *y);
    for (int32_t j = next_allowed(m, row, 0); j < m->n; j = next_allowed(m, row, j + 1)) {
        const double s = dot(size, q, k + j * 3 * inner) * scale;
        if (s > top) {
            const double shrink = sum > 0 ? sked_i_exp_quick(fmax(top - s, -700)) : 0;
            sum *= shrink;
            for (int32_t c = 0; c < size; c++)
                y[c] *= (real)shrink;
            top = s;
        }
        const double weight = sked_i_exp_quick(fmax(s - top, -700));
        sum += weight;
        add_scaled(size, (real)weight, v + j * 3 * inner, y);
    }
    for (int32_t c = 0; c < size; c++)
        y[c] /= (real)sum;
    lse[i * HEADS + head] = (real)(top + sked_i_log(sum));
}

CLONES static void attention(const sked_i_masks *m, int32_t first, int32_t end, int32_t size, const real *qkv,
                             real *y, real *lse)
{
    for (int64_t i = first; i < end; i++)
        for (int32_t head = 0; head < HEADS; head++)
            attend(m, head, i, size, qkv, y + (i * HEADS + head) * size, lse);
}

INLINE void attend_grad(const sked_i_masks *m, int32_t head, int64_t i, int32_t size, const real *qkv,
                        const real *y, real lse, const real *dy, real *dqkv)
{
    const int64_t inner = (int64_t)HEADS * size, at = i * 3 * inner + head * size, key = inner + head * size;
    const uint64_t *row = mask_row(m, head, i);
    const real scale = 1 / (real)sqrt((double)size), mean = dot(size, dy, y);
    for (int32_t j = next_allowed(m, row, 0); j < m->n; j = next_allowed(m, row, j + 1)) {
        const int64_t k = j * 3 * inner + key, v = k + inner;
        const double s = dot(size, qkv + at, qkv + k) * scale;
        const real weight = (real)sked_i_exp_quick(fmin(fmax(s - lse, -700), 0.5));
        const real ds = weight * (dot(size, dy, qkv + v) - mean) * scale;
        add_scaled(size, weight, dy, dqkv + v);
        add_scaled(size, ds, qkv + k, dqkv + at);
        add_scaled(size, ds, qkv + at, dqkv + k);
    }
}

CLONES static void attention_grad(const sked_i_masks *m, int32_t first, int32_t end, int32_t first_head,
                                  int32_t end_head, int32_t size, const real *qkv, const real *y,
                                  const real *lse, const real *dy, real *dqkv)
{
    for (int64_t i = first; i < end; i++)
        for (int32_t head = first_head; head < end_head; head++) {
            const int64_t at = (i * HEADS + head) * size;
            attend_grad(m, head, i, size, qkv, y + at, lse[i * HEADS + head], dy + at, dqkv);
        }
}

/* ------------------------------------------------------------------ attention by lists */

/* x[0..7] = exp(x[0..7]) for x <= 0, to about two units in the last place of a float. */
INLINE void exp_lanes(real *x)
{
#ifdef SKED_REAL_DOUBLE
    for (int i = 0; i < LANES; i++)
        x[i] = sked_i_exp_quick(fmax(x[i], -700));
#else
    vec t = CVEC(x) + 87.0f;
    t = KEEP(t, POSITIVE(t)) - 87.0f; /* below: as good as 0 */
    const vec whole = (t * 1.44269504f + 12582912.0f) - 12582912.0f;
    const vec r = (t - whole * 0.693359375f) + whole * 2.12194440e-4f;
    vec sum = r * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * r + 8.3334519073e-3f;
    sum = sum * r + 4.1665795894e-2f;
    sum = sum * r + 1.6666665459e-1f;
    sum = sum * r + 5.0000001201e-1f;
    const mask power = (__builtin_convertvector(whole, mask) + 127) << 23;
    VEC(x) = (sum * r * r + r + 1.0f) * (vec)power;
#endif
}

/* out[p] = a[from[p]..] . b[to[p]..] of `size` numbers, for all pairs of an op. */
INLINE void pair_dots(int32_t stride, int32_t size, const int32_t *from, const real *a, const int32_t *to,
                      const real *b, real *out)
{
    for (int32_t p = 0; p < stride; p += LANES) {
        vec t[LANES];
#pragma GCC unroll 8
        for (int u = 0; u < LANES; u++) {
            const real *x = a + from[p + u], *y = b + to[p + u];
            t[u] = CVEC(x) * CVEC(y);
            for (int32_t c = LANES; c < size; c += LANES)
                t[u] += CVEC(x + c) * CVEC(y + c);
        }
        const vec low = FOURS(TWOS(t[0], t[1]), TWOS(t[2], t[3]));
        const vec high = FOURS(TWOS(t[4], t[5]), TWOS(t[6], t[7]));
        VEC(out + p) = EIGHTS(low, high);
    }
}

/* Softmax of each head's pairs, in place; what fills the row up gets 0. */
INLINE void pair_softmax(int32_t stride, const int32_t *end, real *s)
{
    for (int32_t h = 0, p = 0; h < HEADS; h++) {
        real top = s[p];
        for (int32_t k = p + 1; k < end[h]; k++)
            top = s[k] > top ? s[k] : top;
        for (; p < end[h]; p++)
            s[p] -= top;
    }
    for (int32_t p = end[HEADS - 1]; p < stride; p++)
        s[p] = 0;
    for (int32_t p = 0; p < stride; p += LANES)
        exp_lanes(s + p);
    for (int32_t h = 0, p = 0; h < HEADS; h++) {
        real sum = 0;
        for (int32_t k = p; k < end[h]; k++)
            sum += s[k];
        const real share = 1 / sum;
        for (; p < end[h]; p++)
            s[p] *= share;
    }
    for (int32_t p = end[HEADS - 1]; p < stride; p++)
        s[p] = 0;
}

INLINE void view_op(const sked_i_attention_views *v, int32_t size, int64_t i, const real *q, const real *kv,
                    real *y, real *weight)
{
    const int32_t *key = v->key + i * v->stride, *end = v->end + i * HEADS;
    const real *value = kv + (int64_t)HEADS * size;
    pair_dots(v->stride, size, v->query + i * v->stride, q, key, kv, weight);
    pair_softmax(v->stride, end, weight);
    for (int32_t h = 0, first = 0; h < HEADS; first = end[h++])
        for (int32_t c = 0; c < size; c += LANES) {
            vec sum = {0};
            for (int32_t p = first; p < end[h]; p++)
                sum += weight[p] * CVEC(value + key[p] + c);
            VEC(y + h * size + c) = sum;
        }
}

CLONES static void view(const sked_i_attention_views *v, int32_t size, int32_t rows, const int32_t *op,
                        const int32_t *row, const real *q, const real *kv, real *y, real *weight)
{
    const int64_t inner = (int64_t)HEADS * size;
    for (int64_t r = 0; r < rows; r++) {
        if (size == 2 * LANES) /* the usual size, as a constant */
            view_op(v, 2 * LANES, op[r], q + row[r] * inner, kv, y + r * inner, weight + r * v->stride);
        else
            view_op(v, size, op[r], q + row[r] * inner, kv, y + r * inner, weight + r * v->stride);
    }
}

/* dy [heads * size] of op i; slope [stride] is scratch. */
INLINE void view_op_grad(const sked_i_attention_views *v, int32_t size, int64_t i, const real *q,
                         const real *kv, const real *weight, const real *dy, real *slope, real *dq, real *dkv)
{
    const int32_t *key = v->key + i * v->stride, *end = v->end + i * HEADS;
    const int64_t inner = (int64_t)HEADS * size;
    pair_dots(v->stride, size, v->query + i * v->stride, dy, key, kv + inner, slope);
    for (int32_t h = 0, first = 0; h < HEADS; first = end[h++]) {
        real mean = 0;
        for (int32_t p = first; p < end[h]; p++)
            mean += weight[p] * slope[p];
        for (int32_t p = first; p < end[h]; p++)
            slope[p] = weight[p] * (slope[p] - mean);
        for (int32_t c = h * size; c < (h + 1) * size; c += LANES) {
            const vec dout = CVEC(dy + c), query = CVEC(q + c);
            vec sum = CVEC(dq + c);
            for (int32_t p = first; p < end[h]; p++) {
                const int64_t at = key[p] + (c - h * size);
                sum += slope[p] * CVEC(kv + at);
                VEC(dkv + at) += slope[p] * query;
                VEC(dkv + inner + at) += weight[p] * dout;
            }
            VEC(dq + c) = sum;
        }
    }
}

CLONES static void view_grad(const sked_i_attention_views *v, int32_t size, int32_t rows, const int32_t *op,
                             const int32_t *row, const real *q, const real *kv, const real *weight,
                             const real *dy, real *slope, real *dq, real *dkv)
{
    const int64_t inner = (int64_t)HEADS * size;
    for (int64_t r = 0; r < rows; r++) {
        const real *query = q + row[r] * inner, *w = weight + r * v->stride, *dout = dy + r * inner;
        if (size == 2 * LANES)
            view_op_grad(v, 2 * LANES, op[r], query, kv, w, dout, slope, dq + row[r] * inner, dkv);
        else
            view_op_grad(v, size, op[r], query, kv, w, dout, slope, dq + row[r] * inner, dkv);
    }
}

/* ------------------------------------------------------------------ scores of pairs */

/*
 * The gradient of scores has a version for AVX-512, too, where two vectors of columns go side by side and 32
 * registers hold all weights of a pair and their gradients: an update of encode-once takes 10 to 14 % less on
 * an AMD EPYC (`sked train --graphs layered:50 --devices 4 --set graphs=1`). The scores alone gained 3 to 7 %
 * of drawing, and have none. Each sum has the same order as with eight lanes.
 */
#ifdef WIDE
typedef real vec2 __attribute__((vector_size(2 * LANES * sizeof(real)), aligned(sizeof(real)), may_alias));
#ifdef SKED_REAL_DOUBLE
typedef int64_t mask2 __attribute__((vector_size(2 * LANES * sizeof(real)), aligned(sizeof(real))));
#else
typedef int32_t mask2 __attribute__((vector_size(2 * LANES * sizeof(real)), aligned(sizeof(real))));
#endif
static bool is_wide(int32_t width)
{
    return width % (2 * LANES) == 0 && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* Eight entries of a pair's hidden row, before the ReLU. Without `far` the last features are all 0. */
#define HIDDEN(w, op, device, f)                                                                       \
    ((((op) + (device)) + ((f)[0] * (w)[0] + (f)[1] * (w)[1])) + ((f)[2] * (w)[2] + (f)[3] * (w)[3]) + \
     ((f)[4] * (w)[4] + (f)[5] * (w)[5]) + ((f)[6] * (w)[6] + (f)[7] * (w)[7]) +                       \
     ((f)[8] * (w)[8] + (f)[9] * (w)[9]) + ((f)[10] * (w)[10] + (f)[11] * (w)[11]))
#define HIDDEN_FAR(w, op, device, f)                                      \
    (HIDDEN(w, op, device, f) + ((f)[12] * (w)[12] + (f)[13] * (w)[13]) + \
     ((f)[14] * (w)[14] + (f)[15] * (w)[15]))
#define INLINE static inline __attribute__((always_inline))

INLINE void score_of(const RN(pairs) * s, bool far, real *logit)
{
    const int32_t width = s->width, devices = s->devices, features = far ? FEATURES : SKED_I_NEAR_FEATURES;
    for (int64_t i = 0; i < s->ops; i++) {
        const real *op = s->op_part + (int64_t)s->row[i] * width;
        for (int32_t d = 0; d < devices; d++) {
            const real *f = s->feature + (i * devices + d) * FEATURES, *device = s->device + d * width;
            vec sum = {0};
            for (int32_t c = 0; c < width; c += LANES) {
                vec w[FEATURES] = {{0}};
                for (int32_t k = 0; k < features; k++)
                    w[k] = CVEC(s->weight + k * width + c);
                const vec h = far ? HIDDEN_FAR(w, CVEC(op + c), CVEC(device + c), f)
                                  : HIDDEN(w, CVEC(op + c), CVEC(device + c), f);
                sum += KEEP(h, POSITIVE(h)) * CVEC(s->out + c);
            }
            logit[i * devices + d] = ADD_LANES(sum);
        }
    }
}

CLONES static void score(const RN(pairs) * s, real *logit)
{
    assert(s->width % LANES == 0);
    if (s->far)
        score_of(s, true, logit);
    else
        score_of(s, false, logit);
}

/* A vector of columns at a time: weights and their gradients stay in registers over all pairs. */
#define SCORE_GRAD(attributes, name, vec, mask)                                                        \
    INLINE void name##_of(const RN(pairs) * s, bool far, const real *dlogit, real *dop, real *ddevice, \
                          real *dweight, real *dout)                                                   \
    {                                                                                                  \
        enum { lanes = sizeof(vec) / sizeof(real) };                                                   \
        const int32_t width = s->width, devices = s->devices,                                          \
                      features = far ? FEATURES : SKED_I_NEAR_FEATURES;                                \
        for (int32_t c = 0; c < width; c += lanes) {                                                   \
            vec w[FEATURES] = {{0}}, dw[FEATURES] = {{0}}, dv = {0};                                   \
            const vec out = *(const vec *)(s->out + c);                                                \
            for (int32_t k = 0; k < features; k++) {                                                   \
                w[k] = *(const vec *)(s->weight + k * width + c);                                      \
                dw[k] = (vec){0};                                                                      \
            }                                                                                          \
            for (int64_t i = 0; i < s->ops; i++) {                                                     \
                const int64_t row = (int64_t)s->row[i] * width + c;                                    \
                const vec op = *(const vec *)(s->op_part + row);                                       \
                vec drow = {0};                                                                        \
                for (int32_t d = 0; d < devices; d++) {                                                \
                    const int64_t p = i * devices + d;                                                 \
                    const real *f = s->feature + p * FEATURES;                                         \
                    const vec device = *(const vec *)(s->device + d * width + c);                      \
                    const vec h = far ? HIDDEN_FAR(w, op, device, f) : HIDDEN(w, op, device, f);       \
                    const mask on = (mask)(h > (vec){0});                                              \
                    const vec dh = (vec)((mask)(dlogit[p] * out) & on);                                \
                    dv += dlogit[p] * (vec)((mask)h & on);                                             \
                    drow += dh;                                                                        \
                    *(vec *)(ddevice + d * width + c) += dh;                                           \
                    for (int32_t k = 0; k < features; k++)                                             \
                        dw[k] += f[k] * dh;                                                            \
                }                                                                                      \
                *(vec *)(dop + row) += drow;                                                           \
            }                                                                                          \
            for (int32_t k = 0; k < features; k++)                                                     \
                *(vec *)(dweight + k * width + c) += dw[k];                                            \
            *(vec *)(dout + c) += dv;                                                                  \
        }                                                                                              \
    }                                                                                                  \
    attributes static void name(const RN(pairs) * s, const real *dlogit, real *dop, real *ddevice,     \
                                real *dweight, real *dout)                                             \
    {                                                                                                  \
        if (s->far)                                                                                    \
            name##_of(s, true, dlogit, dop, ddevice, dweight, dout);                                   \
        else                                                                                           \
            name##_of(s, false, dlogit, dop, ddevice, dweight, dout);                                  \
    }
SCORE_GRAD(CLONES, score_grad_narrow, vec, mask)
#ifdef WIDE
SCORE_GRAD(WIDE, score_grad_wide, vec2, mask2)
#endif
#undef SCORE_GRAD

static void score_grad(const RN(pairs) * s, const real *dlogit, real *dop, real *ddevice, real *dweight,
                       real *dout)
{
    assert(s->width % LANES == 0 && s->ops > 0 && s->devices > 0);
#ifdef WIDE
    if (is_wide(s->width)) {
        score_grad_wide(s, dlogit, dop, ddevice, dweight, dout);
        return;
    }
#endif
    score_grad_narrow(s, dlogit, dop, ddevice, dweight, dout);
}

/* ------------------------------------------------------------------ log-softmax */

/* Below this an exponential adds next to nothing to a sum that is at least 1. */
static const double negligible = -36;

static bool log_softmax(int32_t n, const real *x, const int32_t *count, real *logp)
{
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        if (count[i] > 0 && x[i] > top)
            top = x[i];
    if (!(top > -INFINITY && top < INFINITY))
        return false;
    for (int32_t i = 0; i < n; i++)
        if (count[i] > 0 && x[i] - top > negligible)
            sum += count[i] * sked_i_exp_quick(x[i] - top);
    const double lse = top + sked_i_log(sum);
    for (int32_t i = 0; i < n; i++)
        logp[i] = count[i] > 0 ? (real)(x[i] - lse) : (real)-INFINITY;
    return true;
}

static void log_softmax_grad(int32_t n, const real *logp, const int32_t *count, const real *dlogp, real *dx)
{
    real total = 0;
    for (int32_t i = 0; i < n; i++)
        total += count[i] > 0 ? dlogp[i] : 0;
    for (int32_t i = 0; i < n; i++)
        if (count[i] > 0)
            dx[i] +=
                dlogp[i] - (logp[i] > negligible ? total * (real)(count[i] * sked_i_exp_quick(logp[i])) : 0);
}

const RN(kernels) RN(kernels_cpu) = {
    .linear = linear,
    .linear_grad = linear_grad,
    .weight_grad = weight_grad,
    .pack = pack,
    .linear_packed = linear_packed,
    .unit = unit,
    .unit_grad = unit_grad,
    .norm = norm,
    .norm_grad = norm_grad,
    .film = film,
    .film_grad = film_grad,
    .attention = attention,
    .attention_grad = attention_grad,
    .attend = view,
    .attend_grad = view_grad,
    .score = score,
    .score_grad = score_grad,
    .log_softmax = log_softmax,
    .log_softmax_grad = log_softmax_grad,
};
