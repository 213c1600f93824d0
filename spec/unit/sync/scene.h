/* An informer over a scripted server on virtual time. */
#pragma once

#include "sync/informer.h"

#include "unit/control/bed.h"
#include "shard/shards.h"
#include "sync/backlog.h"

/* An informer on ConfigMaps with a follower that writes events down: "+a@5 ~a@5>6 -a@6 !a@6"
 * (! is a missed deletion). */
struct scene {
    struct bed bed;
    struct pl_informer *informer;
    struct fake_request *watch;
    struct pl_follower follower;
    struct pl_buf log;
    struct pl_source_options options;
    bool streams;             /* lists come as the beginning of watches */
    struct pl_shards *shards; /* the test's; NULL: none */
};

static inline void add_version(struct pl_buf *out, struct pl_doc *doc)
{
    struct pl_scratch scratch;
    pl_buf_add_slice(out, pl_meta_rv(pl_doc_root(doc), &scratch));
}

static inline void on_event(struct pl_follower *follower, const struct pl_event *event)
{
    struct scene *scene = PL_CONTAINER_OF(follower, struct scene, follower);
    struct pl_scratch scratch;
    pl_buf_add_f(&scene->log, "%s%c%.*s@", scene->log.len > 0 ? " " : "",
                 event->stale ? '!' : "+~-?"[event->type],
                 PL_FMT(pl_meta_name(pl_doc_root(event->object), &scratch)));
    if (event->old != NULL) {
        add_version(&scene->log, event->old);
        pl_buf_add_char(&scene->log, '>');
    }
    add_version(&scene->log, event->object);
}

static inline void begin_kind(struct scene *scene, char **host_namespaces, struct pl_kind kind)
{
    struct pl_source_options options = scene->options;
    bool streams = scene->streams;
    struct pl_shards *shards = scene->shards;
    *scene = (struct scene){.options = options, .streams = streams, .shards = shards};
    bed_init_sharded(&scene->bed, host_namespaces, false, streams, NULL, shards);
    scene->informer = pl_informers_take(pl_cluster_informers(scene->bed.cluster), &kind, &options);
    scene->follower.on_event = on_event;
    pl_informer_follow(scene->informer, &scene->follower);
}

static inline void begin_unsynced(struct scene *scene, char **host_namespaces)
{
    begin_kind(scene, host_namespaces, (struct pl_kind){"", "v1", "ConfigMap"});
}

static inline void check_events(struct scene *scene, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&scene->log), want);
    pl_buf_clear(&scene->log);
}

static inline struct fake_request *list_and_watch(struct scene *scene, const char *path,
                                                  const char *list)
{
    bed_reply(&scene->bed, bed_expect(&scene->bed, "GET", path), 200, list);
    char plain[128]; /* without the list's own query */
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(path, "?"), path);
    struct fake_request *watch = bed_expect(&scene->bed, "GET", plain);
    CHECK(strstr(watch->path, "watch=true") != NULL);
    fake_begin(watch, 200);
    bed_run(&scene->bed);
    return watch;
}

static inline void begin(struct scene *scene)
{
    begin_unsynced(scene, NULL);
    CHECK(!pl_informer_has_synced(scene->informer));
    scene->watch =
        list_and_watch(scene, "/api/v1/configmaps",
                       BED_MAPS("10", BED_MAP("a", "1", "5", "") "," BED_MAP("b", "2", "6", "")));
    CHECK(pl_informer_has_synced(scene->informer));
    check_events(scene, "+a@5 +b@6");
}

static inline void finish(struct scene *scene)
{
    pl_backlog_unfollow(&scene->follower);
    pl_informer_unref(scene->informer);
    bed_run(&scene->bed);
    pl_buf_deinit(&scene->log);
    bed_deinit(&scene->bed);
}

static inline void event(struct scene *scene, const char *text)
{
    bed_stream(&scene->bed, scene->watch, text);
}

static inline void write_through(struct scene *scene, const char *json, bool deleted)
{
    struct pl_doc *doc = bed_doc(json);
    pl_informer_write_through(scene->informer, doc, deleted);
    pl_doc_unref(doc);
}

static inline void check_stored(struct scene *scene, const char *key, const char *rv)
{
    struct pl_doc *doc = pl_store_get(pl_informer_store(scene->informer), pl_slice_z(key));
    struct pl_scratch scratch;
    CHECK_SLICE(doc != NULL ? pl_meta_rv(pl_doc_root(doc), &scratch) : pl_slice_z("absent"), rv);
    pl_doc_unref(doc);
}

/* The watch ends, expires, and a list follows. */
static inline void relist(struct scene *scene, const char *list)
{
    bed_pass(&scene->bed, 2 * PL_SECOND);
    fake_stream(scene->watch, BED_EVENT("ERROR", BED_STATUS(410, "Expired")));
    while (bed_is_quiet(&scene->bed))
        bed_pass(&scene->bed, 100 * PL_MS);
    scene->watch = list_and_watch(scene, "/api/v1/configmaps", list);
}
