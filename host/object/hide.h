/* Documents without the values of Secrets, to show to people. */
#pragma once

#include "base/secrets.h"
#include "value/build.h"

/* Writes a copy of the node. Texts under the data of a Secret, which may be anywhere in it, become
 * "<n bytes>", as does its annotation PL_META_APPLIED; with `all`, every text does. In other
 * texts, and in names, the known secrets are cut out. secrets: NULL for none. */
void pl_hide_build(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                   bool all);
/* The text without the secrets. */
void pl_hide_text(struct pl_build *b, struct pl_slice text, const struct pl_secrets *secrets);
