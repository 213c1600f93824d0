/* The internals of an informer, only for informer*.c and feed.c. I/O thread. */
#pragma once

#include "sync/backoff.h"
#include "sync/backlog.h"
#include "sync/feed.h"
#include "sync/own_write.h"
#include "sync/read.h"
#include "sync/site.h"
#include "object/selector.h"

struct pl_informer {
    int refs;
    struct pl_site *site; /* borrowed for life */
    void (*unused)(void *arg, const struct pl_informer *informer);
    void *unused_arg;
    struct pl_kind kind;
    struct pl_source_options options; /* owned; as declared */
    char *const *host_namespaces;     /* borrowed */
    char kind_text[PL_KIND_TEXT];
    char *owner; /* owned; its name in logs and waits */
    const struct pl_resource *resource;
    struct pl_selector *labels; /* owned; NULL: none */
    struct pl_fields *fields;   /* owned; NULL: none */
    struct pl_store *store;
    struct pl_backlog *backlog;
    struct pl_path_index *path_indexes; /* owned; see informer_index.c */
    size_t path_index_count;
    struct pl_label_indexes *label_indexes; /* owned; NULL: none was requested, or it is stopping */
    struct pl_feed **feeds; /* owned array; each feed stays until pl_informer_feed_ended */
    size_t feed_count;
    size_t ending; /* feeds that were replaced and have not ended */

    bool resolving, synced, stopping, ended;
    bool told;                 /* an Event has reported the current trouble */
    struct pl_backoff backoff; /* of discovery */
    struct pl_reconnect turn;  /* waits while the server is away */
    struct pl_timer retry;
    struct pl_trouble trouble; /* of discovery */
    struct pl_wait wait;
    struct pl_timer tick; /* sync and index waits, end */
    struct pl_timer more; /* events that the backlog could deliver */
    struct pl_list sync_waits, index_waits;
    struct pl_map key_watches; /* key -> struct pl_list of struct pl_key_watch, owned */
    int telling;               /* key watches are being called */

    struct pl_timer compact; /* the next piece of the compaction of the store */
    size_t removed;          /* removals since a compaction last began */
    size_t compact_at;       /* the position of the compaction */

    struct pl_own_writes own;
    struct pl_timer confirm;
    struct pl_read_op *asking;    /* the live read that confirms a write; NULL: none */
    char *asking_key, *asking_rv; /* owned */

    struct pl_series *objects, *bytes, *lists, *watches; /* NULL: no metrics */
    struct pl_series *events[4];                         /* ADDED, MODIFIED, DELETED, BOOKMARK */
};

static inline struct pl_timers *pl_informer_timers(const struct pl_informer *informer)
{
    return pl_site_timers(informer->site);
}

static inline int64_t pl_informer_now(const struct pl_informer *informer)
{
    return pl_clock_mono(pl_informer_timers(informer)->clock);
}

/* ---- informer.c ---- */

void pl_informer_feed_ended(struct pl_informer *informer, struct pl_feed *feed);
/* A list was stored, answers arrived, or the trouble has changed. */
void pl_informer_check(struct pl_informer *informer);
/* Whether selectors and namespaces include the object. */
bool pl_informer_wants(const struct pl_informer *informer, struct pl_node object);
/* A new reference to the object in this source's form: only metadata, or without managedFields. */
struct pl_doc *pl_informer_shape(const struct pl_informer *informer, struct pl_doc *object);

/* ---- informer_resource.c ---- */

/* The server answered a feed with 404. */
void pl_informer_gone(struct pl_informer *informer);
/* Stops searching. */
void pl_informer_stop_search(struct pl_informer *informer);
/* Reports trouble that a person has to resolve in an Event, once. */
void pl_informer_tell_trouble(struct pl_informer *informer);

/* ---- informer_apply.c ---- */

/* The object is in the store. */
void pl_informer_added(struct pl_informer *informer, struct pl_slice key, struct pl_doc *object,
                       bool initial);
void pl_informer_updated(struct pl_informer *informer, struct pl_slice key, struct pl_doc *old,
                         struct pl_doc *object);
void pl_informer_deleted(struct pl_informer *informer, struct pl_slice key, struct pl_doc *object,
                         bool stale);
/* `count` objects were removed from the store, without events. */
void pl_informer_removed(struct pl_informer *informer, size_t count);
/* Computes the store's version from those of its feeds. */
void pl_informer_update_rv(struct pl_informer *informer);

void pl_informer_stop_compact(struct pl_informer *informer);

/* ---- informer_index.c ---- */

void pl_informer_stop_building(struct pl_informer *informer);
void pl_informer_free_indexes(struct pl_informer *informer);

/* ---- informer_write.c ---- */

/* Starts a timer to ask about the oldest unconfirmed write. */
void pl_informer_arm_confirm(struct pl_informer *informer);
void pl_informer_stop_confirm(struct pl_informer *informer);
