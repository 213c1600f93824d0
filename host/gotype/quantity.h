/* Quantities in their canonical form, in which kube-apiserver returns them: "0.5" -> "500m". Pure.
 */
#pragma once

#include "object/tree.h"

enum pl_quantity {
    PL_QUANTITY_AS_IS,     /* it stays as it is */
    PL_QUANTITY_CHANGED,   /* out has its canonical form */
    PL_QUANTITY_MALFORMED, /* it is none */
    PL_QUANTITY_NO_SUFFIX, /* it is none, as there is no such suffix */
};

/* in_milli: of a list of resources, in which parts of thousandths round up. */
enum pl_quantity pl_api_quantity_text(struct pl_slice text, bool in_milli, char out[64]);
