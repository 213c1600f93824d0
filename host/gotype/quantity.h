/* Quantities in their canonical form, in which kube-apiserver returns them: "0.5" -> "500m". */
#pragma once

#include "object/tree.h"

/* Writes the canonical form. False when the text is not a quantity or is canonical already. */
bool pl_api_quantity_text(struct pl_slice text, char out[64]);
