/* Values that must not be shown: of Secrets that scripts have read, of credentials. They are cut
 * out of logs, error messages and reports wherever they turn up. Zero is empty. No thread of its
 * own. */
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
/* Copies. */
void pl_secrets_add_all(struct pl_secrets *secrets, const struct pl_secrets *more);
/* Copies those that the text holds. */
void pl_secrets_add_found(struct pl_secrets *secrets, const struct pl_secrets *known,
                          struct pl_slice text);
bool pl_secrets_has(const struct pl_secrets *secrets, struct pl_slice text);
/* A copy with "<n bytes>" in the place of each value, for the caller to free; NULL when the
 * text holds none. */
char *pl_secrets_mask(const struct pl_secrets *secrets, struct pl_slice text);
void pl_secrets_clear(struct pl_secrets *secrets);
