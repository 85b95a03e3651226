#include "engine/network/log_z.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { FEATURES = SKED_I_LOG_Z_FEATURES, HIDDEN = SKED_I_LOG_Z_HIDDEN, OUT = SKED_I_LOG_Z_OUT };
enum {
    HIDDEN_BIAS = FEATURES * HIDDEN,
    OUT_WEIGHT = HIDDEN_BIAS + HIDDEN,
    OUT_BIAS = OUT_WEIGHT + HIDDEN * OUT,
};
_Static_assert(OUT_BIAS + OUT == SKED_I_LOG_Z_TOTAL, "the tensors fill the block");

const sked_i_parameter sked_i_log_z_table[SKED_I_LOG_Z_TENSORS] = {
    {"log_z.hidden_weight", FEATURES, HIDDEN, SKED_I_INITIAL_NORMAL, 0},
    {"log_z.hidden_bias", 1, HIDDEN, SKED_I_INITIAL_ZERO, HIDDEN_BIAS},
    {"log_z.out_weight", HIDDEN, OUT, SKED_I_INITIAL_ZERO, OUT_WEIGHT},
    {"log_z.out_bias", 1, OUT, SKED_I_INITIAL_ZERO, OUT_BIAS},
};

/* Random streams: those of the model's own parameters are small, those of trajectories and lessons not near
 * this one. */
static const uint64_t stream = UINT64_C(1) << 61;

void sked_i_log_z_start(sked_i_log_z *z, uint64_t seed)
{
    sked_i_rng rng;
    *z = (sked_i_log_z){0};
    sked_i_rng_seed(&rng, seed, stream);
    for (int i = 0; i < HIDDEN_BIAS; i++)
        z->parameter[i] = (float)(sked_i_rng_normal(&rng) / sqrt(FEATURES));
}

static void hidden_rows(const double *w, const sked_i_log_z_input *in, double *hidden)
{
    for (int j = 0; j < HIDDEN; j++) {
        double sum = w[HIDDEN_BIAS + j];
        for (int i = 0; i < FEATURES; i++)
            sum += in->feature[i] * w[i * HIDDEN + j];
        hidden[j] = sum > 0 ? sum : 0;
    }
}

double sked_i_log_z_eval(const double *parameter, const sked_i_log_z_input *in)
{
    const double *w = parameter;
    double hidden[HIDDEN], out[OUT];
    hidden_rows(w, in, hidden);
    for (int k = 0; k < OUT; k++) {
        out[k] = w[OUT_BIAS + k];
        for (int j = 0; j < HIDDEN; j++)
            out[k] += hidden[j] * w[OUT_WEIGHT + j * OUT + k];
    }
    return in->list + in->kappa * out[0] + in->ops * out[1];
}

double sked_i_log_z_value(const sked_i_log_z *z, const sked_i_log_z_input *in)
{
    double w[SKED_I_LOG_Z_TOTAL];
    for (int i = 0; i < SKED_I_LOG_Z_TOTAL; i++)
        w[i] = z->parameter[i];
    return sked_i_log_z_eval(w, in);
}

void sked_i_log_z_grad(const double *parameter, const sked_i_log_z_input *in, double slope,
                       double *dparameter)
{
    const double *w = parameter, dout[OUT] = {slope * in->kappa, slope * in->ops};
    double hidden[HIDDEN], *dw = dparameter;
    hidden_rows(w, in, hidden);
    for (int k = 0; k < OUT; k++)
        dw[OUT_BIAS + k] += dout[k];
    for (int j = 0; j < HIDDEN; j++) {
        double dhidden = 0;
        for (int k = 0; k < OUT; k++) {
            dhidden += dout[k] * w[OUT_WEIGHT + j * OUT + k];
            dw[OUT_WEIGHT + j * OUT + k] += dout[k] * hidden[j];
        }
        if (!(hidden[j] > 0))
            continue;
        dw[HIDDEN_BIAS + j] += dhidden;
        for (int i = 0; i < FEATURES; i++)
            dw[i * HIDDEN + j] += dhidden * in->feature[i];
    }
}
