/* Keys and objects that are not run again: the code of a controller or an index could not be
 * interrupted on them. They stay barred until that code changes. Each attempt would cost a lane, so
 * a single key that is retried would end the process. One store for all generations. Counted; I/O
 * thread. */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define PL_BARRED_MAX 1000 /* more are not remembered */

struct pl_barred;

/* The caller owns the first reference. */
struct pl_barred *pl_barred_create(void);
/* Takes a reference; returns barred, for chaining. */
struct pl_barred *pl_barred_ref(struct pl_barred *barred);
/* Accepts NULL. */
void pl_barred_unref(struct pl_barred *barred);

/* what: "run website default/a"; digest: of the code. */
void pl_barred_add(struct pl_barred *barred, const char *what, const char *digest);
/* Forgets the entry when the code has changed. */
bool pl_barred_has(struct pl_barred *barred, const char *what, const char *digest);
size_t pl_barred_count(const struct pl_barred *barred);
