/* Computes the JSON Patch (RFC 6902) that turns one document into another. */
#pragma once

#include "value/doc.h"

/* The array of operations that turn `before` into `after` when applied in order; NULL when they are
 * equal. An independent document, to which the caller owns a reference. Equal members are not
 * mentioned. In arrays, the common beginning and end stay, and the elements between are compared
 * one by one. The cost depends on the parts that differ or have to be compared. At most
 * PL_BUILD_DEPTH levels. */
struct pl_doc *pl_patch_diff(struct pl_node before, struct pl_node after);
