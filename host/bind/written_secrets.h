/* Values that a script writes into a Secret: from then on they are cut out of its logs and errors,
 * like those that it has read. */
#pragma once

#include "lua/state.h"
#include "object/kind.h"
#include "value/doc.h"

/* Remembers the values of `data` and `stringData` in the body of a write (an object, a merge patch
 * or a JSON patch), if it is one of a Secret. body: NULL: none. */
void pl_note_written_secrets(struct pl_state *s, const struct pl_kind *kind,
                             const struct pl_doc *body);
/* The same for the body of a raw request to this path. */
void pl_note_raw_body(struct pl_state *s, struct pl_slice path, const struct pl_doc *body);
