/*
 * The caller of an engine. The engine counts its evaluations here, draws its random numbers from here, and
 * asks here whether it must return what it has. Owners embed it.
 */
#ifndef SKED_ENGINE_CLIENT_H
#define SKED_ENGINE_CLIENT_H
#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sked_i_client {
    int64_t evaluations; /* complete schedules built or evaluated so far */
    sked_i_rng rng;
    bool (*over)(struct sked_i_client *client); /* asked once per evaluation */
} sked_i_client;

static inline bool sked_i_client_over(sked_i_client *client)
{
    return client->over(client);
}
#endif
