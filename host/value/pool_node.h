/* What the pool offers to documents and encoders. Only host/value includes this. */
#pragma once

#include "value/pool.h"
#include "value/tape.h"

/* Frees a pooled document without references: at once on the owner's thread, else at
 * its next pl_pool_collect. */
void pl_pool_drop(struct pl_doc *doc);
