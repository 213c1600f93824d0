/* What kubectl shows of objects of built-in kinds, computed from the object as kube-apiserver
 * computes it. Pure. */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

/* Are there cells for the kind? Then they follow the columns of the packed table (message.h). */
bool pl_api_cells_have(const char *kind);
/* Appends the cells, with commas between them. There must be some. */
void pl_api_cells_write(struct pl_buf *out, const char *kind, struct pl_node object,
                        int64_t now_ns);
/* "3d4h", "5m", "12s" as kubectl prints ages. */
void pl_api_age_text(int64_t age_ns, char out[32]);
