#include "world/ahead.h"

#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

void pl_ahead_load(struct pl_ahead *ahead, const struct pl_replica_options *options)
{
    struct pl_err ignored;
    pl_err_clear(&ignored);
    pl_ahead_deinit(ahead);
    ahead->replica = pl_replica_create(options, &ignored);
    if (ahead->replica == NULL)
        return;
    ahead->text = pl_strdup(options->text);
    ahead->seed = options->seed;
    if (pl_replica_asked_time(ahead->replica))
        pl_ahead_deinit(ahead);
}

struct pl_replica *pl_ahead_take(struct pl_ahead *ahead, const struct pl_replica_options *options)
{
    struct pl_replica *taken = NULL;
    if (ahead->replica != NULL && ahead->seed == options->seed && options->text != NULL &&
        strcmp(ahead->text, options->text) == 0) {
        taken = ahead->replica;
        ahead->replica = NULL;
    }
    pl_ahead_deinit(ahead);
    return taken;
}

void pl_ahead_deinit(struct pl_ahead *ahead)
{
    pl_replica_destroy(ahead->replica);
    pl_free(ahead->text);
    *ahead = (struct pl_ahead){.replica = NULL};
}
