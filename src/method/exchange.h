/*
 * Incumbents between the ranks of one run (sked_run_options: together). A rank writes to all others; messages
 * of one rank arrive in order, and the last one says that its run is over. No rank waits for one that has
 * left, so ranks may call sked_i_run_exchange as often as they like.
 */
#ifndef SKED_METHOD_EXCHANGE_H
#define SKED_METHOD_EXCHANGE_H
#include "base/status.h"

typedef struct sked_i_exchange sked_i_exchange;

/*
 * NULL: there is no other rank to exchange with. Nothing is sent yet. Where there is no memory for it, all
 * ranks end: the others would wait for ever.
 */
sked_i_exchange *sked_i_exchange_open(const sked_run_options *opt);
/* Leaves, and waits until all others have left. NULL is fine. */
void sked_i_exchange_close(sked_i_exchange *x);
#endif
