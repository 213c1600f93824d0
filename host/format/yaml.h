/* YAML in and out, with JSON's data model.
 *
 * Unquoted scalars mean what they mean to kubectl (sigs.k8s.io/yaml), which accepts more than YAML
 * 1.2's core schema: yes, no, on, off, y and n are also booleans, 0777 and 0o777 are octal, 0x1F
 * and 0b11 are integers, '_' may group digits. Dates stay strings; numbers of more than 64 bits
 * stay as written. kubectl and YAML differ on "<<"; here, members of the mapping itself always win
 * over merged ones. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/docs.h"

/* Reads all documents of a stream; empty ones are left out. ESYNTAX with the line; also for
 * duplicate keys, keys that are not scalars, and aliases that inflate a document beyond the
 * scanner's limits. JSON is YAML, so this reads both. */
PL_MUST_USE int pl_yaml_decode(struct pl_slice text, struct pl_docs *out, struct pl_err *err);
/* Block style; strings that would be read back as another type are quoted. */
void pl_yaml_encode(struct pl_node node, struct pl_buf *out);
