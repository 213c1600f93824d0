/* One cache of one kind, kept equal to the server by reflectors and shared by all sources with the
 * same options. Counted; created by `informers`. I/O thread, except the store, which any thread
 * reads. */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "event/source.h"
#include "kube/resource.h"
#include "sync/share.h"
#include "store/store.h"

struct pl_informer;
struct pl_site;

struct pl_informer_options {
    struct pl_site *site;                   /* borrowed for life */
    const struct pl_kind *kind;             /* copied */
    const struct pl_source_options *source; /* copied */
    char *const *host_namespaces;           /* those of --namespace, borrowed for life; NULL: all */
    /* Called once, when its last reference was dropped and before it stops. */
    void (*unused)(void *arg, const struct pl_informer *informer);
    void *arg;
};

/* Only for `informers`. The caller gets one reference. */
struct pl_informer *pl_informer_create(const struct pl_informer_options *options);
void pl_informer_start(struct pl_informer *informer);
/* Makes no more requests; stored objects can be read while there are references. */
void pl_informer_stop(struct pl_informer *informer);

/* A reference; the last one stops it. */
struct pl_informer *pl_informer_ref(struct pl_informer *informer);
void pl_informer_unref(struct pl_informer *informer);

/* Both live as long as the informer. */
const struct pl_kind *pl_informer_kind(const struct pl_informer *informer);
const struct pl_source_options *pl_informer_options(const struct pl_informer *informer);
/* Its name in logs and waits: the kind, with namespaces and selectors if it has them. Lives as long
 * as the informer. */
const char *pl_informer_owner(const struct pl_informer *informer);
/* True when this wait of the registry belongs to this informer (discovery, lists, pauses). */
struct pl_wait;
bool pl_informer_is_waiting(const struct pl_informer *informer, const struct pl_wait *wait);
/* NULL until discovery has answered. Lives as long as the discovery of the site. */
const struct pl_resource *pl_informer_resource(const struct pl_informer *informer);
/* Any thread may read it; it lives as long as the informer. */
struct pl_store *pl_informer_store(struct pl_informer *informer);
/* The first list is stored and all answers of scripts for it have arrived. */
bool pl_informer_has_synced(const struct pl_informer *informer);
/* The last failure, if it has not synced; NULL when there is none. Borrowed until the loop's next
 * turn. */
const struct pl_err *pl_informer_trouble(const struct pl_informer *informer);

/* Calls back once when it has synced (later, even if it has synced already). */
struct pl_sync_wait {
    struct pl_link link;
    void (*synced)(struct pl_sync_wait *wait);
};
void pl_informer_on_sync(struct pl_informer *informer, struct pl_sync_wait *wait);
void pl_informer_forget_sync(struct pl_sync_wait *wait);

/* True when scripts have computed the index values of the key's newest object. */
bool pl_informer_is_indexed(const struct pl_informer *informer, struct pl_slice key);
/* Calls back once when that is so, later. */
struct pl_index_wait {
    struct pl_link link;
    struct pl_slice key; /* the caller's */
    void (*indexed)(struct pl_index_wait *wait);
};
void pl_informer_on_indexed(struct pl_informer *informer, struct pl_index_wait *wait);
/* An informer that ends forgets it, too. */
void pl_informer_forget_indexed(struct pl_index_wait *wait);

/* Calls back at every change of one key, after the store has changed, until it is removed. */
struct pl_key_watch {
    struct pl_link link;
    struct pl_informer *informer; /* private */
    char *key;                    /* the caller's */
    void (*changed)(struct pl_key_watch *watch);
};
void pl_informer_watch_key(struct pl_informer *informer, struct pl_key_watch *watch);
void pl_informer_unwatch_key(struct pl_key_watch *watch);

/* Takes a write's answer. It is in the store when this returns, and followers are told. The watch
 * or a list may bring the object with that uid at an older or equal version; this is ignored until
 * the watch has caught up. deleted: the object is gone. */
/* True when every known event has been delivered and the watch has brought all writes. */
bool pl_informer_is_settled(const struct pl_informer *informer);
void pl_informer_write_through(struct pl_informer *informer, struct pl_doc *object, bool deleted);

/* Delivers every event from now on, and first the stored objects. pl_backlog_unfollow ends it. A
 * follower that was full and has room again calls pl_informer_flush. */
struct pl_follower; /* sync/backlog.h */
void pl_informer_follow(struct pl_informer *informer, struct pl_follower *follower);
void pl_informer_flush(struct pl_informer *informer);

/* True when its namespaces (limited by the host's) include ns; false until discovery has answered.
 */
bool pl_informer_covers(const struct pl_informer *informer, struct pl_slice ns);
/* Its namespaces (limited by the host's), sorted, for pl_texts_free; NULL: it has all, or its kind
 * has no namespaces, or discovery has not answered. */
char **pl_informer_namespaces(const struct pl_informer *informer);

/* Shards have come or gone (sync/share.h). */
void pl_informer_shards_changed(struct pl_informer *informer);
/* True when the shard's objects are stored, or when it has not synced at all: then the first list
 * will bring them. */
bool pl_informer_has_shard(const struct pl_informer *informer, unsigned shard);
/* The part that it keeps; the whole until discovery has answered. */
enum pl_share_by pl_informer_share(const struct pl_informer *informer);

/* Sets the gauges of its kind to 0, and adds its own values to them. */
void pl_informer_clear_gauges(struct pl_informer *informer);
void pl_informer_add_gauges(struct pl_informer *informer);

/* An index that a script declares: by a path, evaluated in the core, or (path NULL) by asking
 * `ask`, see sync/script_index.h. */
struct pl_question;
struct pl_declared_index {
    const char *name;   /* its name in the script */
    const char *stored; /* its name in the store: indexes of one name are the same */
    const char *path;
    void (*ask)(void *self, struct pl_question *question);
    void *self;
};
/* An existing one is shared; each add needs one drop. */
PL_MUST_USE int pl_informer_add_index(struct pl_informer *informer,
                                      const struct pl_declared_index *index, struct pl_err *err);
void pl_informer_drop_index(struct pl_informer *informer, const struct pl_declared_index *index);
/* A list has looked at many objects and found few with this label (label_index.h). */
void pl_informer_want_label(struct pl_informer *informer, struct pl_slice key,
                            struct pl_slice value);

/* The index of controllers by the uid of their controller reference, present in every store. */
#define PL_INDEX_CONTROLLER_UID "controller-uid"
#define PL_INDEX_NAMESPACE      "namespace"
