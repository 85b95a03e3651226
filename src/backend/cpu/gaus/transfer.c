/*
 * Expected shortfall of an edge whose lag depends on the devices of its ends. With q = sum over d of
 * share_from(d) share_to(d), the chance that both run on one device, and h(x) = E[max(0, x - (X_to -
 * X_from))]: q h(lag) + (1 - q) h(lag + transfer). This is the expectation itself, not the shortfall of an
 * expected transfer.
 *
 * Unequal devices: the sum over all pairs of devices, gathered by kinds. With A, B the shares of the two ops
 * by kind, q(k) = sum over d of kind k of share_from(d) share_to(d), and x(k) the lag after `from` on kind k,
 *   sum over k of q(k) h(x(k)) + sum over k, l of (A(k) B(l) - [k = l] q(k)) h(x(k) + transfer(k, l)).
 */
#include "backend/cpu/gaus/device.h"

typedef struct edge {
    double same;       /* chance of one device */
    double here, away; /* shortfalls */
    double dm, ds;     /* of their mean, by the difference of means and its deviation */
    double deviation;
} edge;

static edge look(const sked_i_gaus_device_evaluator *s, int32_t from, int64_t e)
{
    const sked_i_gaus_device_view *v = s->view;
    const sked_i_gaus_device_point *x = s->at;
    const int32_t to = v->edge_to[e], m = v->devices;
    const double *a = x->share + (int64_t)from * m, *b = x->share + (int64_t)to * m;
    const double more = v->transfer != NULL ? v->transfer[e] : 0;
    edge r = {.deviation = sqrt(x->sigma[from] * x->sigma[from] + x->sigma[to] * x->sigma[to]), .same = 1};
    const double gap = v->lag[e] + x->mu[from] - x->mu[to];
    r.here = sked_i_gaus_excess(&s->normal, gap, r.deviation, &r.dm, &r.ds);
    r.away = r.here;
    if (more > 0 && m > 1) {
        double dm, ds;
        r.same = 0;
        for (int32_t d = 0; d < m; d++)
            r.same += a[d] * b[d];
        assert(r.same >= 0 && r.same <= 1 + 1e-9); /* shares of an op sum to 1 */
        r.away = sked_i_gaus_excess(&s->normal, gap + more, r.deviation, &dm, &ds);
        r.dm = r.same * r.dm + (1 - r.same) * dm;
        r.ds = r.same * r.ds + (1 - r.same) * ds;
    }
    return r;
}

/* ------------------------------------------------------------------ unequal devices */

/* One edge between two ops whose shares by kind stand in part->kind[0] and [1]. */
typedef struct kinds_edge {
    double value, dm, ds; /* expected shortfall; by the difference of means and its deviation */
    double deviation;
} kinds_edge;

static double pass(const sked_i_gaus_device_kinds *kinds, int64_t e, int32_t k, int32_t l)
{
    const int32_t pair = k * kinds->count + l;
    return fmin(kinds->latency[kinds->links[e] + pair] + kinds->bytes[e] * kinds->per_byte[pair],
                kinds->longest);
}

static void add_shortfall(const sked_i_gaus_device_evaluator *s, double gap, double chance, kinds_edge *r,
                          double *h)
{
    double dm, ds;
    *h = sked_i_gaus_excess(&s->normal, gap, r->deviation, &dm, &ds);
    r->value += chance * *h;
    r->dm += chance * dm;
    r->ds += chance * ds;
}

/* q of every kind into `same`. */
static void shares_together(const sked_i_gaus_device_view *v, const double *a, const double *b, double *same)
{
    for (int32_t k = 0; k < v->kinds->count; k++)
        same[k] = 0;
    for (int32_t d = 0; d < v->devices; d++)
        same[v->kinds->of[d]] += a[d] * b[d];
}

/*
 * kind[2], kind[3]: dvalue/dA and dvalue/dB; kind[4]: by how much a share of one device in common lowers the
 * value, h(x) - h(x + transfer) within the kind.
 */
static kinds_edge look_kinds(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                             int32_t from, int64_t e)
{
    const sked_i_gaus_device_view *v = s->view;
    const sked_i_gaus_device_kinds *kinds = v->kinds;
    const sked_i_gaus_device_point *x = s->at;
    const int32_t to = v->edge_to[e], count = kinds->count;
    const double *a = part->kind[0], *b = part->kind[1];
    double *da = part->kind[2], *db = part->kind[3], *own = part->kind[4], h;
    kinds_edge r = {.deviation = sqrt(x->sigma[from] * x->sigma[from] + x->sigma[to] * x->sigma[to])};
    shares_together(v, x->share + (int64_t)from * v->devices, x->share + (int64_t)to * v->devices, own);
    for (int32_t k = 0; k < count; k++)
        da[k] = db[k] = 0;
    for (int32_t k = 0; k < count; k++) {
        const double same = own[k], time = kinds->time[(int64_t)from * count + k];
        own[k] = 0;
        if (!(a[k] > 0) || time == INFINITY)
            continue;
        const double gap = v->lag[e] + (kinds->follows[e] > 0 ? time : 0) + x->mu[from] - x->mu[to];
        if (b[k] > 0)
            add_shortfall(s, gap, s->members[k] > 1 ? same : a[k] * b[k], &r, &own[k]);
        for (int32_t l = 0; l < count; l++) {
            if (!(b[l] > 0))
                continue;
            if (l == k && s->members[k] == 1)
                h = own[k];
            else
                add_shortfall(s, gap + pass(kinds, e, k, l), a[k] * b[l] - (k == l ? same : 0), &r, &h);
            da[k] += b[l] * h;
            db[l] += a[k] * h;
            own[k] -= l == k ? h : 0;
        }
    }
    return r;
}

static void transfer_kinds(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part, int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    sked_i_gaus_kind_shares(s, i, part->kind[0]);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        sked_i_gaus_kind_shares(s, v->edge_to[e], part->kind[1]);
        part->violation[SKED_I_GAUS_DEPENDENCY] += look_kinds(s, part, i, e).value;
    }
}

static void transfer_kinds_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double weight = s->coefficient[SKED_I_GAUS_DEPENDENCY];
    const int32_t m = v->devices;
    sked_i_gaus_kind_shares(s, i, part->kind[0]);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t j = v->edge_to[e];
        const double *a = s->at->share + (int64_t)i * m, *b = s->at->share + (int64_t)j * m;
        double *da = part->dshare + (int64_t)i * m, *db = part->dshare + (int64_t)j * m;
        sked_i_gaus_kind_shares(s, j, part->kind[1]);
        const kinds_edge r = look_kinds(s, part, i, e);
        part->dmu[i] += weight * r.dm;
        part->dmu[j] -= weight * r.dm;
        part->dsigma[i] += weight * r.ds * s->at->sigma[i] / r.deviation;
        part->dsigma[j] += weight * r.ds * s->at->sigma[j] / r.deviation;
        for (int32_t d = 0; d < m; d++) {
            const int32_t k = v->kinds->of[d];
            da[d] += weight * (part->kind[2][k] + b[d] * part->kind[4][k]);
            db[d] += weight * (part->kind[3][k] + a[d] * part->kind[4][k]);
        }
    }
}

/* ------------------------------------------------------------------ the term */

void sked_i_gaus_device_transfer(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                 int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    if (v->kinds != NULL) {
        transfer_kinds(s, part, i);
        return;
    }
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const edge r = look(s, i, e);
        part->violation[SKED_I_GAUS_DEPENDENCY] += r.same * r.here + (1 - r.same) * r.away;
    }
}

void sked_i_gaus_device_transfer_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                      int32_t i)
{
    const sked_i_gaus_device_view *v = s->view;
    const double weight = s->coefficient[SKED_I_GAUS_DEPENDENCY];
    const int32_t m = v->devices;
    if (v->kinds != NULL) {
        transfer_kinds_back(s, part, i);
        return;
    }
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++) {
        const int32_t j = v->edge_to[e];
        const edge r = look(s, i, e);
        part->dmu[i] += weight * r.dm;
        part->dmu[j] -= weight * r.dm;
        part->dsigma[i] += weight * r.ds * s->at->sigma[i] / r.deviation;
        part->dsigma[j] += weight * r.ds * s->at->sigma[j] / r.deviation;
        const double gain = weight * (r.here - r.away);
        if (gain == 0)
            continue;
        const double *a = s->at->share + (int64_t)i * m, *b = s->at->share + (int64_t)j * m;
        double *da = part->dshare + (int64_t)i * m, *db = part->dshare + (int64_t)j * m;
        for (int32_t d = 0; d < m; d++) {
            da[d] += gain * b[d];
            db[d] += gain * a[d];
        }
    }
}
