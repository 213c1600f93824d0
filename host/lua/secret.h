/* Values of Secrets that a script is about to have as text: from then on they are cut out of its
 * logs and errors. Reading a member registers it (lazy.h); these functions are for texts that are
 * made of documents without reading their members. */
#pragma once

#include "lua/state.h"
#include "value/doc.h"

/* Registers a text, or all texts of a map, and what they contain as base64; does nothing for other
 * values. */
void pl_secret_note_values(struct pl_state *s, struct pl_node node);
/* Registers the values in the annotation of `kubectl apply` (PL_HIDE_APPLIED) of a Secret. */
void pl_secret_note_applied(struct pl_state *s, struct pl_slice text);
/* True for a Secret, as its apiVersion and kind say. */
bool pl_secret_is_one(struct pl_node object);
/* Registers the values of a Secret, also those of its annotation, or of the Secrets in a list or an
 * array; does nothing for other values. */
void pl_secret_note_answer(struct pl_state *s, struct pl_node root);

struct pl_level;
/* The table at index is an unread level: registers the values that are still in its document only,
 * if they belong to a Secret, and those of its annotation. */
void pl_secret_note_level(lua_State *L, struct pl_state *s, int index,
                          const struct pl_level *level);

/* True for the members of a Secret that contain its values. */
static inline bool pl_secret_is_key(struct pl_slice key)
{
    return pl_slice_eqz(key, "data") || pl_slice_eqz(key, "stringData");
}
