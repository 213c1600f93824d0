/* Writes of this process that the watch has not brought yet (read your writes). If a watch or a
 * list brings an older or equal version of such an object, it is not news. The server is asked
 * about writes that stay unconfirmed. One informer's; I/O thread. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "value/doc.h"

#include <stdint.h>

struct pl_own_write {
    struct pl_link link; /* by age, oldest first */
    char *key, *uid;     /* owned */
    char *rv;            /* owned; the answer's version, or the last one before a deletion */
    struct pl_doc *doc;  /* counted; NULL: deleted, or not an object of this source */
    bool deleted;
    bool suppressed; /* an event or a list entry of the key was dropped as no news */
    int64_t since_ns;
};

struct pl_own_writes {
    struct pl_map by_key;
    struct pl_list by_age;
};

void pl_own_writes_init(struct pl_own_writes *writes);
void pl_own_writes_deinit(struct pl_own_writes *writes);
/* Notes a write's answer; replaces an older note of the key. The write is copied, with another
 * reference to its document. */
void pl_own_writes_note(struct pl_own_writes *writes, const struct pl_own_write *write);
/* The note of the key; NULL when there is none. It belongs to the table, until it is confirmed,
 * replaced or forgotten. */
const struct pl_own_write *pl_own_writes_find(const struct pl_own_writes *writes,
                                              struct pl_slice key);
void pl_own_writes_forget(struct pl_own_writes *writes, struct pl_slice key);
/* The oldest note, as long as pl_own_writes_find's; NULL when there is none. */
const struct pl_own_write *pl_own_writes_oldest(const struct pl_own_writes *writes);
/* Moves it to the end of the queue: it was asked about at now_ns. */
void pl_own_writes_postpone(struct pl_own_writes *writes, const struct pl_own_write *write,
                            int64_t now_ns);

/* The watch or a list brings this version of key. True: it is news and must be taken; then, or when
 * it is the echo itself, the write is confirmed and removed. `deletion`: a DELETED event. */
bool pl_own_writes_is_news(struct pl_own_writes *writes, struct pl_slice key, struct pl_slice uid,
                           struct pl_slice rv, bool deletion);
/* All events up to rv have arrived in the namespace (NULL: in all). Deletions, whose version is
 * unknown, stay. */
void pl_own_writes_confirm(struct pl_own_writes *writes, const char *ns, struct pl_slice rv);

/* True when a is older than b, or the same; false if either is not a number. */
bool pl_rv_is_at_most(struct pl_slice a, struct pl_slice b);
