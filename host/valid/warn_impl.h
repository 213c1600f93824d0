/* What the files of warnings share. Private to this folder. */
#pragma once

#include "valid/check.h"

/* `places` has the arena; what it collects is not looked at. */
struct pl_warned {
    struct pl_api_faults places;
    struct pl_tree *texts; /* NULL while there are none */
};

void pl_warn(struct pl_warned *w, const char *fmt, ...) PL_PRINTF(2, 3);
/* The same, about a place: "spec.x: " comes first. */
void pl_warn_at(struct pl_warned *w, const struct pl_spot *at, const char *fmt, ...)
    PL_PRINTF(3, 4);
/* An address or a network that is not written as everybody writes it; absent passes. */
void pl_warn_ip(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value);
/* A number of bytes that is not whole. */
void pl_warn_fraction(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *value);
/* The advice about a deprecated label of a Node, a literal; NULL: it is not deprecated. */
const char *pl_warn_node_label(struct pl_slice key);
/* A term of a node selector. with_values: its values are labels' values, too. */
void pl_warn_term(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *term,
                  bool with_values);
/* The spec of a claim: its amounts. */
void pl_warn_claim_spec(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec);

/* at: of a template; NULL: the object is a Pod. */
void pl_warn_pod(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *pod);
/* Volumes: kinds that are no more, and paths that overlap. */
void pl_warn_volumes(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list);
