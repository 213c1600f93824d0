/* Making documents in code. Values are added in document order:
 *
 *     struct pl_build *b = pl_build_create(NULL);
 *     pl_build_object(b);
 *     pl_build_key(b, pl_slice_z("name"));
 *     pl_build_str(b, name);
 *     pl_build_end(b);
 *     struct pl_doc *doc = pl_build_finish(b);
 *
 * One thread a builder. A builder without a pool may be used on any thread.
 * Misuse (a value where a key must come, an unbalanced end) is a broken invariant;
 * depth is the caller's to limit: at most PL_BUILD_DEPTH levels. */
#pragma once

#include "base/buf.h"
#include "base/utf8.h"
#include "value/doc.h"

struct pl_pool;
struct pl_build;

#define PL_BUILD_DEPTH 600

/* pool: share strings and subtrees with other documents through it; NULL: an independent document.
 * The caller owns the builder and ends it with pl_build_destroy or pl_build_close. The pool is
 * borrowed and must outlive the builder. */
struct pl_build *pl_build_create(struct pl_pool *pool);
/* Accepts NULL, and a builder with a half-built document. */
void pl_build_destroy(struct pl_build *b);

void pl_build_object(struct pl_build *b);
void pl_build_array(struct pl_build *b);
void pl_build_end(struct pl_build *b); /* of the innermost object or array */
/* The next member's name. The caller must not name a member twice in one object. */
void pl_build_key(struct pl_build *b, struct pl_slice key);
void pl_build_keyz(struct pl_build *b, const char *key);

void pl_build_null(struct pl_build *b);
void pl_build_bool(struct pl_build *b, bool value);
void pl_build_int(struct pl_build *b, int64_t value);
/* A finite value. Integers below 1e21 are written without a fraction or exponent, other values with
 * the fewest digits that read back the same. */
void pl_build_double(struct pl_build *b, double value);
/* Text that is a JSON number; the caller has checked it (pl_is_json_number). */
void pl_build_number(struct pl_build *b, struct pl_slice text);
/* Valid UTF-8; the caller has checked it (pl_is_utf8) where it came from outside. */
void pl_build_str(struct pl_build *b, struct pl_slice text);
void pl_build_strz(struct pl_build *b, const char *text);
/* A member: its name and its value. */
void pl_build_put_bool(struct pl_build *b, const char *key, bool value);
void pl_build_put_int(struct pl_build *b, const char *key, int64_t value);
void pl_build_put_str(struct pl_build *b, const char *key, struct pl_slice text);
void pl_build_put_strz(struct pl_build *b, const char *key, const char *text);
/* Text that may be invalid: if it is not UTF-8, each byte that is not ASCII becomes a question
 * mark. */
void pl_build_text(struct pl_build *b, struct pl_slice text);
void pl_build_put_text(struct pl_build *b, const char *key, struct pl_slice text);
/* A copy of a value of another document; PL_MISSING is null. */
void pl_build_node(struct pl_build *b, struct pl_node node);

/* Returns the document of the one complete value and empties the builder for the next one. The
 * caller owns a reference. */
struct pl_doc *pl_build_finish(struct pl_build *b);
/* The same, and frees the builder: for one that makes a single document. */
struct pl_doc *pl_build_close(struct pl_build *b);

/* A document that holds a copy of the node; PL_MISSING gives NULL. The caller owns a reference.
 * pool: as in pl_build_create. */
struct pl_doc *pl_doc_from_node(struct pl_node node, struct pl_pool *pool);

bool pl_is_json_number(struct pl_slice text);
