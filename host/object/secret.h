/* Finds the values in Secrets and registers them (base/secrets.h), so that they are cut out of logs
 * and errors. */
#pragma once

#include "base/secrets.h"
#include "value/doc.h"

/* True for the members of a Secret that contain its values. */
static inline bool pl_secret_is_key(struct pl_slice key)
{
    return pl_slice_eqz(key, "data") || pl_slice_eqz(key, "stringData");
}

/* True for a Secret, as its apiVersion and kind say. */
bool pl_secret_is_one(struct pl_node object);
/* Registers a text, or all texts of a map, and what they contain as base64; does nothing for other
 * values. */
void pl_secret_note_values(struct pl_secrets *secrets, struct pl_node node);
/* Registers the values in the annotation of `kubectl apply` (PL_META_APPLIED) of a Secret. */
void pl_secret_note_applied(struct pl_secrets *secrets, struct pl_slice text);
/* The same, if it is among the annotations. */
void pl_secret_note_annotations(struct pl_secrets *secrets, struct pl_node annotations);
/* Registers the values of a Secret, also those of its annotation, or of the Secrets in a list or an
 * array; does nothing for other values. */
void pl_secret_note_answer(struct pl_secrets *secrets, struct pl_node root);
