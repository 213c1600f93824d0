/* The cells that kubectl shows for objects of built-in kinds, computed as in kube-apiserver. Pure.
 */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

/* True if the kind has cells. They follow the columns of the packed table (message.h). */
bool pl_api_cells_have(const char *kind);
/* Appends the cells, separated by commas. The kind must have cells. */
void pl_api_cells_write(struct pl_buf *out, const char *kind, struct pl_node object,
                        int64_t now_ns);
/* Formats an age as kubectl does: "3d4h", "5m", "12s". */
void pl_api_age_text(int64_t age_ns, char out[32]);
