/* YAML in and out, with JSON's data model (the YAML 1.2 core schema, as kubectl reads it). */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/docs.h"

/* All documents of a stream; empty ones are left out. ESYNTAX with the line; also
 * for duplicate keys, keys that are no scalars, and aliases that inflate beyond
 * the scanner's limits. JSON is YAML, so this reads both. */
int pl_yaml_decode(struct pl_slice text, struct pl_docs *out, struct pl_err *err);
/* Block style; strings that would read back as something else are quoted. */
void pl_yaml_encode(struct pl_node node, struct pl_buf *out);
