/* perilune.memo: data that scripts keep about a key while the process lives, as documents outside
 * of every Lua state, so that reloads and replaced lanes lose nothing. One store for all
 * generations. Counted; any thread. */
#pragma once

#include "base/err.h"
#include "value/doc.h"

#define PL_MEMO_BYTES  ((size_t)64 << 10) /* limit for one key, as JSON */
#define PL_MEMOS_BYTES ((size_t)64 << 20) /* limit for all keys */

struct pl_memos;

/* The caller owns the first reference. */
struct pl_memos *pl_memos_create(void);
/* Takes a reference; returns memos, for chaining. */
struct pl_memos *pl_memos_ref(struct pl_memos *memos);
/* Accepts NULL. */
void pl_memos_unref(struct pl_memos *memos);

/* A reference, or NULL when there is no memo. */
struct pl_doc *pl_memos_get(struct pl_memos *memos, const char *controller, const char *key);
/* Replaces the memo; doc NULL removes it. On ELIMIT the old one stays. */
PL_MUST_USE int pl_memos_put(struct pl_memos *memos, const char *controller, const char *key,
                             struct pl_doc *doc, struct pl_err *err);
/* The controller is not declared any more. */
void pl_memos_forget(struct pl_memos *memos, const char *controller);
size_t pl_memos_count(struct pl_memos *memos);
