/* Values of Secrets that scripts have read, so that they can be cut out of logs and error
 * messages wherever they turn up. Kept while runs are active; the state's own thread. */
#pragma once

#include "base/slice.h"

#include <stddef.h>

struct pl_secrets {
    char **texts; /* owned */
    size_t *lens;
    size_t count;
};

/* Remembers a value; short ones are not told from ordinary words and left alone. */
void pl_secrets_add(struct pl_secrets *secrets, struct pl_slice text);
bool pl_secrets_has(const struct pl_secrets *secrets, struct pl_slice text);
/* A copy with "<n bytes>" in the place of each value, for the caller to free; NULL when the
 * text holds none. */
char *pl_secrets_mask(const struct pl_secrets *secrets, struct pl_slice text);
void pl_secrets_clear(struct pl_secrets *secrets);
