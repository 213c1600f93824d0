/* Label and field selectors as the API server parses them. Immutable once made; any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "value/doc.h"

struct pl_selector;

/* "app=web,tier!=db,env in (a,b),!legacy,weight>3". NULL and err with the offset. The caller owns
 * the selector. */
struct pl_selector *pl_selector_parse(struct pl_slice text, struct pl_err *err);
/* {"matchLabels":{},"matchExpressions":[{key,operator,values}]}. As pl_selector_parse. */
struct pl_selector *pl_selector_from_node(struct pl_node node, struct pl_err *err);
/* A plain map {"app":"web"}. As pl_selector_parse. */
struct pl_selector *pl_selector_from_map(struct pl_node node, struct pl_err *err);
void pl_selector_destroy(struct pl_selector *selector);
/* labels: the object's labels, PL_MISSING when it has none. */
bool pl_selector_matches(const struct pl_selector *selector, struct pl_node labels);
/* The same for an object in a scan over many (see pl_hint). hints: an array of pl_selector_hints
 * elements. Keeps the bits of the object's labels for the next scan. */
bool pl_selector_scans(const struct pl_selector *selector, struct pl_node object,
                       struct pl_hint *hints);
size_t pl_selector_hints(const struct pl_selector *selector);
/* Visits the labels that every matching object has: the requirements with a single value. Start
 * with *at = 0; false at the end. Borrowed from the selector. */
bool pl_selector_single(const struct pl_selector *selector, size_t *at, struct pl_slice *key,
                        struct pl_slice *value);
/* The Bloom filter bits of those labels (label_bloom.h). */
uint64_t pl_selector_bloom(const struct pl_selector *selector);
bool pl_selector_is_empty(const struct pl_selector *selector); /* matches everything */
/* Appends the canonical text, as a labelSelector parameter takes it. */
void pl_selector_text(const struct pl_selector *selector, struct pl_buf *out);

/* Field selectors: "metadata.name=x,status.phase!=Running" (=, ==, !=, \ escapes). */
struct pl_fields;
/* NULL and err when the text is malformed. The caller owns the result and destroys it with
 * pl_fields_destroy. */
struct pl_fields *pl_fields_parse(struct pl_slice text, struct pl_err *err);
void pl_fields_destroy(struct pl_fields *fields);
/* An absent path compares as the empty string. */
bool pl_fields_match(const struct pl_fields *fields, struct pl_node object);
void pl_fields_text(const struct pl_fields *fields, struct pl_buf *out);
size_t pl_fields_count(const struct pl_fields *fields);
/* Term i: its path, its value, and whether it is "equals". */
void pl_fields_term(const struct pl_fields *fields, size_t i, struct pl_slice *path,
                    struct pl_slice *value, bool *equals);
