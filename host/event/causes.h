/* The reasons why each waiting key was queued: at most PL_CAUSES_MAX for a key, more are only
 * counted. I/O thread. */
#pragma once

#include "base/keyset.h"
#include "event/event.h"

#define PL_CAUSES_MAX  16
#define PL_CHANGED_MAX 16 /* paths of a cause */

enum pl_cause_type {
    PL_CAUSE_ADDED,
    PL_CAUSE_MODIFIED,
    PL_CAUSE_DELETED,
    PL_CAUSE_RESYNC,
    PL_CAUSE_REQUEUE,
    PL_CAUSE_RETRY,
    PL_CAUSE_RELOAD,
    PL_CAUSE_CHANNEL,
};

/* Why a key was queued. It is shown in logs; no decision depends on it. */
struct pl_cause {
    enum pl_cause_type type;
    /* Borrowed from the controller: an event's kind, or a channel's name; else NULL. */
    const char *kind;
    char *key;      /* owned: of the event's object; NULL: none */
    char **changed; /* owned, NULL-terminated paths, all in one block; NULL: none */
};

struct pl_causes {
    struct pl_keyset by_key; /* owned: keys with their lists */
};

struct pl_cause_list {
    struct pl_cause *items; /* owned */
    size_t count;
    size_t dropped;
};

void pl_causes_init(struct pl_causes *causes);
void pl_causes_deinit(struct pl_causes *causes);
/* Adds a cause for key. The event, if there is one, gives the details. kind is borrowed while the
 * cause exists. */
void pl_causes_add(struct pl_causes *causes, struct pl_slice key, enum pl_cause_type type);
/* The same for a channel, whose name is borrowed while the cause exists. */
void pl_causes_add_channel(struct pl_causes *causes, struct pl_slice key, const char *channel);
/* object: the key of the event's object. Returns the cause (borrowed until the next change), or
 * NULL when the key has the maximal number of causes. */
const struct pl_cause *pl_causes_add_event(struct pl_causes *causes, struct pl_slice key,
                                           const struct pl_event *event, struct pl_slice object,
                                           const char *kind);
/* "ADDED", "RELOAD". Literals. */
const char *pl_cause_type_name(enum pl_cause_type type);
enum pl_cause_type pl_cause_type_of(const struct pl_event *event);
/* Moves a key's causes out; empty when it has none. */
void pl_causes_take(struct pl_causes *causes, struct pl_slice key, struct pl_cause_list *out);
/* Puts back causes that were taken for a run that did not begin, before those that came since.
 * Leaves list empty. */
void pl_causes_give_back(struct pl_causes *causes, struct pl_slice key, struct pl_cause_list *list);
void pl_cause_list_deinit(struct pl_cause_list *list);
/* True for members of metadata that change in every write, and so say nothing. */
bool pl_path_is_noise(struct pl_slice path);
