/* Values that must not be shown: values of Secrets that scripts have read, and credentials. They
 * are cut out of logs, error messages and reports. Zero-initialised it is empty. It has no lock;
 * the owner provides one. */
#pragma once

#include "base/slice.h"

#include <stddef.h>

struct pl_secrets {
    char **texts; /* owned */
    size_t *lens;
    size_t count;
    bool has_lines; /* some value has, or had, more than one line */
};

/* Remembers a value. Very short values are ignored, since they look like ordinary words. */
void pl_secrets_add(struct pl_secrets *secrets, struct pl_slice text);
/* Copies all values of `more`. */
void pl_secrets_add_all(struct pl_secrets *secrets, const struct pl_secrets *more);
/* Copies the values that occur in the text. */
void pl_secrets_add_found(struct pl_secrets *secrets, const struct pl_secrets *known,
                          struct pl_slice text);
bool pl_secrets_has(const struct pl_secrets *secrets, struct pl_slice text);
/* Returns a copy with "<n bytes>" in place of each value, also where it is escaped as in JSON, or
 * indented as a block in YAML; the caller frees it. NULL when the text contains none. */
char *pl_secrets_mask(const struct pl_secrets *secrets, struct pl_slice text);
void pl_secrets_clear(struct pl_secrets *secrets);
