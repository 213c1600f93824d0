/* Shared by the files of warnings. Private to this folder. */
#pragma once

#include "valid/check.h"

/* `places` provides the arena; the faults in it are ignored. */
struct pl_warned {
    struct pl_api_faults places;
    struct pl_tree *texts; /* NULL while there are none */
};

void pl_warn(struct pl_warned *w, const char *fmt, ...) PL_PRINTF(2, 3);
/* The same about a position: "spec.x: " comes first. */
void pl_warn_at(struct pl_warned *w, const struct pl_spot *at, const char *fmt, ...)
    PL_PRINTF(3, 4);
/* Warns about an address or a network that is not in canonical form, if it is set. */
void pl_warn_ip(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value);
/* Warns about an amount of bytes with a fraction. */
void pl_warn_fraction(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value);
/* The advice about a deprecated label of a Node, a literal; NULL: it is not deprecated. */
const char *pl_warn_node_label(struct pl_slice key);
/* A term of a node selector. with_values: checks its values, too, as values of labels. */
void pl_warn_term(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *term,
                  bool with_values);
/* The amounts in the spec of a claim. */
void pl_warn_claim_spec(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec);

/* at: the position of a template; NULL: the object is a Pod. */
void pl_warn_pod(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *pod);
/* Deprecated kinds of volumes, and paths that overlap. */
void pl_warn_volumes(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list);
