/* The admin command "repl": sessions that evaluate Lua. {"command":"repl","text":...} opens one,
 * and its answer has its id; later lines have {"session":ID}. {"close":true} ends it, as do ten
 * minutes without a line. At most 4 at a time. I/O thread. */
#pragma once

#include "admin/admin.h"
#include "bind/repl.h"

struct pl_repls;

/* Both are borrowed for life; options' content is copied. */
struct pl_repls *pl_repls_create(struct pl_admin *admin, const struct pl_repl_options *options);
/* The host is stopping: closes every session; stopped (may be NULL) is called once, later, when all
 * have closed or a second has passed. */
void pl_repls_stop(struct pl_repls *repls, void (*stopped)(void *arg), void *arg);
/* True when no session is left, or for NULL. */
bool pl_repls_is_closed(const struct pl_repls *repls);
/* After all are closed. Accepts NULL. */
void pl_repls_destroy(struct pl_repls *repls);
