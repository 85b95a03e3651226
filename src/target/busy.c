#include "target/busy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Every element on its way to 2, where it stays; no compiler can know. */
static void sweep(double *piece)
{
    for (int k = 0; k < SKED_I_BUSY_PIECE; k++)
        piece[k] = piece[k] * 0.5 + 1;
}

static double *next_piece(sked_i_busy *b, sked_i_busy_kind kind)
{
    if (kind == SKED_I_BUSY_ARITHMETIC)
        return b->array;
    assert(b->place >= 0 && b->place < b->pieces);
    b->place = b->place + 1 < b->pieces ? b->place + 1 : 0;
    return b->array + b->place * SKED_I_BUSY_PIECE;
}

bool sked_i_busy_run(sked_i_busy *b, sked_i_busy_kind kind, int64_t sweeps, const sked_i_limit *limit)
{
    assert(b->array != NULL && b->pieces > 0);
    enum { between_looks = 64, between_clocks = 4096 }; /* the clock takes longer than a flag */
    for (int64_t k = 0; k < sweeps; k++) {
        if (k % between_looks == between_looks - 1 && sked_i_limit_stopped(limit))
            return false;
        if (k % between_clocks == between_clocks - 1 && sked_i_limit_reached(limit))
            return false;
        sweep(next_piece(b, kind));
    }
    return true;
}

/* Short trials, so that some of them run undisturbed on a machine that others use, too. */
double sked_i_busy_calibrate(sked_i_busy *b, sked_i_busy_kind kind, const sked_i_limit *limit)
{
    enum { sweeps = 512, least = 32 };
    const double enough = sked_clock() + 0.01;
    double best = INFINITY;
    for (int k = 0; k < least || sked_clock() < enough; k++) {
        const double begin = sked_clock();
        if (!sked_i_busy_run(b, kind, sweeps, limit))
            break;
        best = fmin(best, (sked_clock() - begin) / sweeps);
    }
    return best;
}

/* ONNX operators that do next to nothing with what they read, by name, a blank after each. */
static const char moving[] =
    "Abs Add And AveragePool BatchNormalization Cast Clip Concat Copy Div Dropout Elu Equal Expand "
    "Flatten Gather GlobalAveragePool GlobalMaxPool Greater Identity LeakyRelu Less LRN Max MaxPool "
    "Mean Min Mul Neg Not Or Pad PRelu ReduceMax ReduceMean ReduceSum Relu Reshape Resize Scatter "
    "Shape Slice Split Squeeze Sub Sum Tile Transpose Upsample Unsqueeze Where ";

sked_i_busy_kind sked_i_busy_kind_of(const char *type)
{
    size_t size = 0;
    for (const char *at = moving; type != NULL && *at; at += size + 1) {
        size = strcspn(at, " ");
        if (strlen(type) == size && memcmp(type, at, size) == 0)
            return SKED_I_BUSY_MEMORY;
    }
    return SKED_I_BUSY_ARITHMETIC;
}
