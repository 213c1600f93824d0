/* What may be a label's key or value, as the API server checks it. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define PL_LABEL_KEY_MAX 317 /* characters: 253 of a prefix, the slash, 63 of a name */

/* "name" or "prefix/name"; annotations have the same keys. EINVAL and the rule that is broken. */
PL_MUST_USE int pl_label_check_key(struct pl_slice key, struct pl_err *err);
/* Empty, or at most 63 characters. EINVAL and the rule that is broken. */
PL_MUST_USE int pl_label_check_value(struct pl_slice value, struct pl_err *err);
