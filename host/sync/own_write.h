/* What this process has written and the watch has not brought yet (read your writes). An older
 * or equal version that a watch or list brings of such an object is not news; what
 * stays unconfirmed is asked of the server. One informer's; I/O thread. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "value/doc.h"

#include <stdint.h>

struct pl_own_write {
    struct pl_link link; /* by age, oldest first */
    char *key, *uid;     /* owned */
    char *rv;            /* owned; of the answer, or the last one before a deletion */
    struct pl_doc *doc;  /* counted; NULL: deleted, or no object of this source */
    bool deleted;
    bool suppressed; /* something was said of the key that was not taken for news */
    int64_t since_ns;
};

struct pl_own_writes {
    struct pl_map by_key;
    struct pl_list by_age;
};

void pl_own_writes_init(struct pl_own_writes *writes);
void pl_own_writes_deinit(struct pl_own_writes *writes);
/* A write's answer; replaces what was noted of the key. The write is copied, its document
 * gets another reference. */
void pl_own_writes_note(struct pl_own_writes *writes, const struct pl_own_write *write);
const struct pl_own_write *pl_own_writes_find(const struct pl_own_writes *writes,
                                              struct pl_slice key);
void pl_own_writes_forget(struct pl_own_writes *writes, struct pl_slice key);
/* The oldest, NULL when there is none. */
const struct pl_own_write *pl_own_writes_oldest(const struct pl_own_writes *writes);
/* It goes to the end of the line: asked now, at now_ns. */
void pl_own_writes_postpone(struct pl_own_writes *writes, const struct pl_own_write *write,
                            int64_t now_ns);

/* The watch or a list brings this version of key. True: it is news, to be taken; then, and
 * when it is the echo itself, the write is confirmed and forgotten. `deletion`: a DELETED event. */
bool pl_own_writes_is_news(struct pl_own_writes *writes, struct pl_slice key, struct pl_slice uid,
                           struct pl_slice rv, bool deletion);
/* Everything up to rv has been heard of in the namespace (NULL: in all). Deletions, whose version
 * is not known, stay. */
void pl_own_writes_confirm(struct pl_own_writes *writes, const char *ns, struct pl_slice rv);

/* a is older than b, or the same; false where either is no number. */
bool pl_rv_is_at_most(struct pl_slice a, struct pl_slice b);
