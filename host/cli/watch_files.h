/* Watches everything that generations were made of, names that were looked for in vain included.
 * I/O thread. */
#pragma once

#include "base/err.h"
#include "lane/origin.h"
#include "net/loop.h"

struct pl_watch_files;

/* changed: some content is another one; began_ns: monotonic, of the first sign of it. NULL and err
 * when files can't be watched. */
struct pl_watch_files *pl_watch_files_create(struct pl_loop *loop,
                                             void (*changed)(void *arg, int64_t began_ns),
                                             void *arg, struct pl_err *err);
void pl_watch_files_destroy(struct pl_watch_files *files); /* accepts NULL */

/* Forgets all. What changes while nothing is watched is not told: look yourself. */
void pl_watch_files_begin(struct pl_watch_files *files);
void pl_watch_files_add(struct pl_watch_files *files, struct pl_origin *origin);
/* Something was not there to be watched, only the folder that it would be in some levels up. */
bool pl_watch_files_is_partial(const struct pl_watch_files *files);
