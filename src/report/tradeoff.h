/* A trade-off curve as data for the page's section "tradeoff". */
#ifndef SKED_REPORT_TRADEOFF_H
#define SKED_REPORT_TRADEOFF_H
#include "base/text.h"

void sked_i_tradeoff_json(const sked_sweep_result *t, sked_i_buffer *out);
#endif
