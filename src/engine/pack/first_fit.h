/* First fit: boxes one after another, each at the lowest address that is free for as long as it is held. */
#ifndef SKED_ENGINE_PACK_FIRST_FIT_H
#define SKED_ENGINE_PACK_FIRST_FIT_H
#include "engine/pack/boxes.h"

typedef struct sked_i_first_fit sked_i_first_fit;

SKED_MUST_CHECK sked_status sked_i_first_fit_make(const sked_i_boxes *x, sked_i_arena *arena,
                                                  sked_i_first_fit **out, sked_error *err);
/*
 * Boxes that are fixed, then the rest in this order ([n]). Returns the height, -1 where fixed boxes overlap.
 * When the limit is reached, what is left is stacked on the top. O((n + pairs of boxes that meet) log n).
 */
int64_t sked_i_first_fit_run(sked_i_first_fit *f, const int32_t *order, const sked_i_limit *limit,
                             int64_t *offset);
#endif
