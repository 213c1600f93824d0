/* The JSON Patch (RFC 6902) that makes one document of another. */
#pragma once

#include "value/doc.h"

/* A document of its own: the array of operations that, applied in their order, make `after` of
 * `before`; NULL when they are equal. Members that are equal are not mentioned. Of arrays what is
 * equal at the beginning and at the end stays; what is between is compared element by element.
 * Costs what differs and what has to be compared. At most PL_BUILD_DEPTH levels. */
struct pl_doc *pl_patch_diff(struct pl_node before, struct pl_node after);
