/* Secrets' values as pseudonyms: the same value has the same one throughout a record, also inside
 * of other texts, and what is one already stays. Nothing of the value can be found from it, as it
 * depends on a key that the record does not hold. One thread. */
#pragma once

#include "base/buf.h"
#include "value/doc.h"

#define PL_VEIL_KEY 32

struct pl_veil;

/* key: of PL_VEIL_KEY random bytes, borrowed for the call. */
struct pl_veil *pl_veil_create(const unsigned char *key);
void pl_veil_destroy(struct pl_veil *veil); /* accepts NULL */
/* Appends the document as sorted JSON, with pseudonyms in the place of what Secrets hold. */
void pl_veil_write(struct pl_veil *veil, struct pl_node root, struct pl_buf *out);
/* Appends a text of a script's, with pseudonyms in the place of values that documents held before,
 * and of private keys. */
void pl_veil_text(struct pl_veil *veil, struct pl_slice text, struct pl_buf *out);

/* Appends the text with the same word in the place of each pseudonym. */
void pl_veil_level(struct pl_slice text, struct pl_buf *out);

/* ---- who replays ---- */

/* Is `now`, which this veil has written, what another one wrote: the same but for pseudonyms, of
 * which each stands for one of the other's? From then on this veil uses the other's. */
bool pl_veil_same(struct pl_veil *veil, struct pl_slice then, struct pl_slice now);
/* Appends the text with values in the place of pseudonyms whose values are known here, as the
 * scripts have made them themselves. json: the text is JSON. */
void pl_veil_lift(const struct pl_veil *veil, struct pl_slice text, bool json, struct pl_buf *out);
