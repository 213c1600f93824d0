/* Replaces the values of Secrets with pseudonyms. A value has the same pseudonym in the whole
 * record, also inside other texts; existing pseudonyms are not changed. A pseudonym reveals nothing
 * about the value, because it depends on a key that is not in the record. One thread. */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

#define PL_VEIL_KEY 32

struct pl_veil;

/* key: of PL_VEIL_KEY random bytes, borrowed for the call. */
struct pl_veil *pl_veil_create(const unsigned char *key);
void pl_veil_destroy(struct pl_veil *veil); /* accepts NULL */
/* Appends the document as sorted JSON, with pseudonyms for the values of Secrets. */
void pl_veil_write(struct pl_veil *veil, struct pl_node root, struct pl_buf *out);
/* Appends a text from a script, with pseudonyms for values that earlier documents held and for
 * private keys. veil NULL: the text itself. */
void pl_veil_text(struct pl_veil *veil, struct pl_slice text, struct pl_buf *out);

/* From now on the value has a pseudonym, as if a Secret had held it. */
void pl_veil_hide(struct pl_veil *veil, struct pl_slice value);

/* Appends the text with one fixed word for each pseudonym; true if there was one. */
bool pl_veil_level(struct pl_slice text, struct pl_buf *out);
/* True if the text contains a pseudonym. */
bool pl_veil_marks(struct pl_slice text);

/* ---- for replays ---- */

/* True if `now`, written by this veil, equals the text of another veil except for pseudonyms that
 * match one to one. From then on this veil uses the other's pseudonyms. NULL, which
 * stands for a record without pseudonyms: equal texts. */
bool pl_veil_same(struct pl_veil *veil, struct pl_slice then, struct pl_slice now);
/* Appends the text with values for pseudonyms whose values are known here, because the scripts have
 * made them. json: the text is JSON. */
void pl_veil_lift(const struct pl_veil *veil, struct pl_slice text, bool json, struct pl_buf *out);
