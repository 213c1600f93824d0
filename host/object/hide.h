/* Documents as people may see them: without the values of Secrets. */
#pragma once

#include "base/secrets.h"
#include "value/build.h"

/* Writes a copy of the node. Texts under the data of a Secret, which may be anywhere in it, are
 * "<n bytes>", and so are all with `all`; from other texts, and from names, what is among the
 * secrets is cut out. secrets: NULL for none. */
void pl_hide_build(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                   bool all);
/* The text without them. */
void pl_hide_text(struct pl_build *b, struct pl_slice text, const struct pl_secrets *secrets);
