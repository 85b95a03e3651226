/*
 * Neural network operators on the processor.
 *
 * Own loops and not a BLAS: the matrices are 50 x 64 or single rows, where a library call costs more than
 * the product, and its kernels round differently from machine to machine. Here sums have eight lanes and a
 * fixed order on every vector unit; the compiler makes an AVX2 version beside the plain one and the loader
 * picks (target_clones).
 */
#include "backend/kernels.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LANES = SKED_I_LANES, FEATURES = SKED_I_PAIR_FEATURES, HEADS = SKED_I_HEADS };

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

CLONES static void linear(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *b,
                          real *y)
{
    for (int64_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < q; j += LANES) {
            vec sum = b ? CVEC(b + j) : (vec){0};
            for (int64_t k = 0; k < p; k++)
                sum += x[i * p + k] * CVEC(w + k * q + j);
            VEC(y + i * q + j) = sum;
        }
    }
}

CLONES static void linear_grad(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *dy,
                               real *dx, real *dw, real *db)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = dy + i * q;
        for (int64_t k = 0; k < p; k++) {
            if (dx != NULL)
                dx[i * p + k] += dot(q, row, w + k * q);
            if (x[i * p + k] != 0)
                add_scaled(q, x[i * p + k], row, dw + k * q);
        }
        if (db != NULL)
            add_scaled(q, 1, row, db);
    }
}

/* ------------------------------------------------------------------ norm and film */

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

static void norm_grad(int32_t n, int32_t p, const real *x, const real *gain, const real *mean,
                      const real *rstd, const real *dy, real *dx, real *dgain, real *dbias)
{
    for (int64_t i = 0; i < n; i++) {
        const real *row = x + i * p, *drow = dy + i * p;
        real sum = 0, along = 0;
        for (int32_t k = 0; k < p; k++) {
            const real unit = (row[k] - mean[i]) * rstd[i];
            dgain[k] += drow[k] * unit;
            dbias[k] += drow[k];
            sum += drow[k] * gain[k];
            along += drow[k] * gain[k] * unit;
        }
        sum /= (real)p;
        along /= (real)p;
        for (int32_t k = 0; k < p; k++)
            dx[i * p + k] += (drow[k] * gain[k] - sum - (row[k] - mean[i]) * rstd[i] * along) * rstd[i];
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
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < p; k++) {
            const real dz = y[i * p + k] > 0 ? dy[i * p + k] : 0;
            dx[i * p + k] += dz * scale[k];
            dscale[k] += dz * x[i * p + k];
            dshift[k] += dz;
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
            const double shrink = sum > 0 ? sked_i_exp(fmax(top - s, -700)) : 0;
            sum *= shrink;
            for (int32_t c = 0; c < size; c++)
                y[c] *= (real)shrink;
            top = s;
        }
        const double weight = sked_i_exp(fmax(s - top, -700));
        sum += weight;
        add_scaled(size, (real)weight, v + j * 3 * inner, y);
    }
    for (int32_t c = 0; c < size; c++)
        y[c] /= (real)sum;
    lse[i * HEADS + head] = (real)(top + sked_i_log(sum));
}

CLONES static void attention(const sked_i_masks *m, int32_t size, const real *qkv, real *y, real *lse)
{
    for (int64_t i = 0; i < m->n; i++)
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
        const real weight = (real)sked_i_exp(fmin(fmax(s - lse, -700), 0.5));
        const real ds = weight * (dot(size, dy, qkv + v) - mean) * scale;
        add_scaled(size, weight, dy, dqkv + v);
        add_scaled(size, ds, qkv + k, dqkv + at);
        add_scaled(size, ds, qkv + at, dqkv + k);
    }
}

CLONES static void attention_grad(const sked_i_masks *m, int32_t size, const real *qkv, const real *y,
                                  const real *lse, const real *dy, real *dqkv)
{
    for (int64_t i = 0; i < m->n; i++)
        for (int32_t head = 0; head < HEADS; head++) {
            const int64_t at = (i * HEADS + head) * size;
            attend_grad(m, head, i, size, qkv, y + at, lse[i * HEADS + head], dy + at, dqkv);
        }
}

/* ------------------------------------------------------------------ scores of pairs */

/* Eight entries of a pair's hidden row, before the ReLU. */
#define HIDDEN(w, op, device, f)                                                                       \
    ((((op) + (device)) + ((f)[0] * (w)[0] + (f)[1] * (w)[1])) + ((f)[2] * (w)[2] + (f)[3] * (w)[3]) + \
     ((f)[4] * (w)[4] + (f)[5] * (w)[5]) + ((f)[6] * (w)[6] + (f)[7] * (w)[7]))

CLONES static void score(const RN(pairs) * s, real *logit)
{
    const int32_t width = s->width, devices = s->devices;
    for (int64_t i = 0; i < s->ops; i++) {
        const real *op = s->op_part + (int64_t)s->row[i] * width;
        for (int32_t d = 0; d < devices; d++) {
            const real *f = s->feature + (i * devices + d) * FEATURES, *device = s->device + d * width;
            vec sum = {0};
            for (int32_t c = 0; c < width; c += LANES) {
                vec w[FEATURES];
                for (int32_t k = 0; k < FEATURES; k++)
                    w[k] = CVEC(s->weight + k * width + c);
                const vec h = HIDDEN(w, CVEC(op + c), CVEC(device + c), f);
                sum += KEEP(h, POSITIVE(h)) * CVEC(s->out + c);
            }
            logit[i * devices + d] = ADD_LANES(sum);
        }
    }
}

/* Eight columns at a time: weights and their gradients stay in registers over all pairs. */
CLONES static void score_grad(const RN(pairs) * s, const real *dlogit, real *dop, real *ddevice,
                              real *dweight, real *dout)
{
    const int32_t width = s->width, devices = s->devices;
    for (int32_t c = 0; c < width; c += LANES) {
        vec w[FEATURES], dw[FEATURES], dv = {0};
        const vec out = CVEC(s->out + c);
        for (int32_t k = 0; k < FEATURES; k++) {
            w[k] = CVEC(s->weight + k * width + c);
            dw[k] = (vec){0};
        }
        for (int64_t i = 0; i < s->ops; i++) {
            const int64_t row = (int64_t)s->row[i] * width + c;
            vec drow = {0};
            for (int32_t d = 0; d < devices; d++) {
                const int64_t p = i * devices + d;
                const real *f = s->feature + p * FEATURES;
                const vec h = HIDDEN(w, CVEC(s->op_part + row), CVEC(s->device + d * width + c), f);
                const mask on = POSITIVE(h);
                const vec dh = KEEP(dlogit[p] * out, on);
                dv += dlogit[p] * KEEP(h, on);
                drow += dh;
                VEC(ddevice + d * width + c) += dh;
                for (int32_t k = 0; k < FEATURES; k++)
                    dw[k] += f[k] * dh;
            }
            VEC(dop + row) += drow;
        }
        for (int32_t k = 0; k < FEATURES; k++)
            VEC(dweight + k * width + c) += dw[k];
        VEC(dout + c) += dv;
    }
}

/* ------------------------------------------------------------------ log-softmax */

static bool log_softmax(int32_t n, const real *x, const int32_t *count, real *logp)
{
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        if (count[i] > 0 && x[i] > top)
            top = x[i];
    if (!(top > -INFINITY && top < INFINITY))
        return false;
    for (int32_t i = 0; i < n; i++)
        if (count[i] > 0)
            sum += count[i] * sked_i_exp(fmax(x[i] - top, -700));
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
            dx[i] += dlogp[i] - total * (real)(count[i] * sked_i_exp(fmax(logp[i], -700)));
}

const RN(kernels) RN(kernels_cpu) = {
    .linear = linear,
    .linear_grad = linear_grad,
    .norm = norm,
    .norm_grad = norm_grad,
    .film = film,
    .film_grad = film_grad,
    .attention = attention,
    .attention_grad = attention_grad,
    .score = score,
    .score_grad = score_grad,
    .log_softmax = log_softmax,
    .log_softmax_grad = log_softmax_grad,
};
