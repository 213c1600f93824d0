/* Checks of label keys and values, as in the API server. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define PL_LABEL_KEY_MAX 317 /* characters: 253 of a prefix, the slash, 63 of a name */

/* "name" or "prefix/name"; annotations have the same keys. EINVAL with the violated rule. */
PL_MUST_USE int pl_label_check_key(struct pl_slice key, struct pl_err *err);
/* Empty, or at most 63 characters. EINVAL with the violated rule. */
PL_MUST_USE int pl_label_check_value(struct pl_slice value, struct pl_err *err);
