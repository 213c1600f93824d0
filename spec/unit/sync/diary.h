/* A reflector on virtual time, and a sink that records every call. */
#pragma once

#include "sync/reflector.h"

#include "unit/control/bed.h"

/* A sink that records every call: "replace 10 a@1 b@2;add c@3;bookmark 9". */
struct diary {
    struct bed bed;
    struct pl_buf text;
    struct pl_reconnects *reconnects;
    struct pl_reflector *reflector;
    struct pl_resource resource;
    int gone, ended;
    bool refuse;      /* the next replace fails */
    bool refuse_page; /* the next page */
    bool takes;       /* pages */
    size_t pages;     /* that were shown, */
    size_t taken;     /* and objects of the list that goes on */
    bool stop_in_event;
};

static inline void on_ended(void *arg)
{
    ((struct diary *)arg)->ended++;
}

static inline void add_object(struct diary *diary, struct pl_doc *doc)
{
    struct pl_scratch scratch;
    struct pl_node root = pl_doc_root(doc);
    pl_buf_add_f(&diary->text, " %.*s", PL_FMT(pl_meta_name(root, &scratch)));
    pl_buf_add_f(&diary->text, "@%.*s", PL_FMT(pl_meta_rv(root, &scratch)));
}

static inline int on_page(void *arg, const struct pl_docs *items, bool first, bool anew,
                          bool *taken, struct pl_err *err)
{
    struct diary *diary = arg;
    PL_UNUSED(anew);
    if (diary->refuse_page) {
        diary->refuse_page = false;
        return pl_err_set(err, PL_EINVAL, "no");
    }
    CHECK(first == (diary->taken == 0));
    diary->pages++;
    *taken = diary->takes;
    diary->taken += diary->takes ? items->count : 0;
    return 0;
}

static inline int on_replace(void *arg, struct pl_docs *items, bool begun, struct pl_slice rv,
                             bool anew, struct pl_err *err)
{
    struct diary *diary = arg;
    CHECK(begun == (diary->taken > 0));
    diary->taken = 0;
    if (diary->refuse) {
        diary->refuse = false;
        return pl_err_set(err, PL_EINVAL, "no");
    }
    pl_buf_add_f(&diary->text, "%s %.*s", anew ? "anew" : "replace", PL_FMT(rv));
    for (size_t i = 0; i < items->count; i++)
        add_object(diary, items->items[i]);
    pl_buf_add_char(&diary->text, ';');
    return 0;
}

static inline int write_event(struct diary *diary, const char *type, struct pl_doc *doc)
{
    pl_buf_add_z(&diary->text, type);
    add_object(diary, doc);
    pl_buf_add_char(&diary->text, ';');
    if (diary->stop_in_event) {
        diary->stop_in_event = false;
        pl_reflector_stop(diary->reflector, on_ended, diary);
        diary->reflector = NULL;
    }
    return 0;
}

static inline int on_add(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    PL_UNUSED(err);
    return write_event(arg, "add", doc);
}

static inline int on_update(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    PL_UNUSED(err);
    return write_event(arg, "update", doc);
}

static inline int on_remove(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    PL_UNUSED(err);
    return write_event(arg, "remove", doc);
}

static inline void on_bookmark(void *arg, struct pl_slice rv)
{
    pl_buf_add_f(&((struct diary *)arg)->text, "bookmark %.*s;", PL_FMT(rv));
}

static inline void on_gone(void *arg)
{
    ((struct diary *)arg)->gone++;
}

static const struct pl_reflector_sink sink = {.page = on_page,
                                              .replace = on_replace,
                                              .add = on_add,
                                              .update = on_update,
                                              .remove = on_remove,
                                              .bookmark = on_bookmark};

static inline void begin_apart(struct diary *diary, bool stream, struct pl_decode_thread *thread)
{
    *diary = (struct diary){0};
    bed_init_apart(&diary->bed, NULL, false, false, thread);
    diary->reconnects = pl_reconnects_create(&diary->bed.timers, &diary->bed.rand);
    diary->resource = (struct pl_resource){.kind = {"", "v1", "ConfigMap"},
                                           .plural = "configmaps",
                                           .namespaced = true,
                                           .can_watch = true};
    struct pl_reflector_options options = {
        .listing.client = diary->bed.client,
        .listing.timers = &diary->bed.timers,
        .listing.rand = &diary->bed.rand,
        .waits = &diary->bed.waits,
        .reconnects = diary->reconnects,
        .stream = stream,
        .listing.resource = &diary->resource,
        .listing.owner = "v1/ConfigMap",
        .sink = &sink,
        .gone = on_gone,
        .arg = diary,
    };
    diary->reflector = pl_reflector_create(&options);
    pl_reflector_start(diary->reflector);
}

static inline void begin_with(struct diary *diary, bool stream)
{
    begin_apart(diary, stream, NULL);
}

static inline void begin(struct diary *diary)
{
    begin_with(diary, false);
}

static inline void stop(struct diary *diary)
{
    if (diary->reflector != NULL)
        pl_reflector_stop(diary->reflector, on_ended, diary);
    bed_run(&diary->bed);
    CHECK_INT(diary->ended, 1);
    CHECK_INT(diary->bed.net.open_count, 0);
}

static inline void put_away(struct diary *diary)
{
    pl_reconnects_destroy(diary->reconnects);
    bed_deinit(&diary->bed);
    pl_buf_deinit(&diary->text);
}

static inline void finish(struct diary *diary)
{
    stop(diary);
    put_away(diary);
}

static inline struct fake_request *take_list(struct diary *diary, const char *query)
{
    struct fake_request *list = bed_expect(&diary->bed, "GET", "/api/v1/configmaps");
    const char *got = strchr(list->path, '?');
    CHECK_STR(got != NULL ? got + 1 : "", query);
    return list;
}

static inline bool is_watch(const struct fake_request *request)
{
    struct pl_buf value = PL_BUF_INIT;
    bool watch = fake_query(request, "watch", &value);
    pl_buf_deinit(&value);
    return watch;
}

static inline struct fake_request *take_watch(struct diary *diary, const char *rv)
{
    struct fake_request *watch = bed_expect(&diary->bed, "GET", "/api/v1/configmaps");
    struct pl_buf value = PL_BUF_INIT;
    CHECK(is_watch(watch));
    fake_query(watch, "resourceVersion", &value);
    CHECK_SLICE(pl_buf_slice(&value), rv);
    pl_buf_clear(&value);
    CHECK(fake_query(watch, "allowWatchBookmarks", &value));
    pl_buf_deinit(&value);
    return watch;
}

static inline void check_diary(struct diary *diary, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&diary->text), want);
    pl_buf_clear(&diary->text);
}

/* Lists one object at version 10 and opens a watch from there that has settled. */
static inline struct fake_request *get_going(struct diary *diary)
{
    begin(diary);
    bed_reply(&diary->bed, take_list(diary, "limit=500&resourceVersion=0"), 200,
              BED_MAPS("10", BED_MAP("a", "1", "5", "")));
    struct fake_request *watch = take_watch(diary, "10");
    fake_begin(watch, 200);
    bed_pass(&diary->bed, 2 * PL_SECOND);
    check_diary(diary, "replace 10 a@5;");
    return watch;
}

/* After a silence or an outage, the server's version is checked before a watch. */
static inline void answer_version(struct diary *diary, const char *ours, const char *its)
{
    char query[80], list[300];
    snprintf(query, sizeof query, "limit=1&resourceVersion=%s&resourceVersionMatch=NotOlderThan",
             ours);
    snprintf(list, sizeof list,
             "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\","
             "\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[]}",
             its);
    bed_reply(&diary->bed, take_list(diary, query), 200, list);
}

/* The server is ahead of us: the newest known object is requested at its version. */
static inline struct fake_request *take_witness(struct diary *diary, const char *query)
{
    struct fake_request *list =
        bed_expect(&diary->bed, "GET", "/api/v1/namespaces/d/configmaps?fieldSelector=");
    CHECK_STR(strchr(list->path, '=') + 1, query);
    return list;
}

#define BED_PARTIAL(name, rv)                                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"1\",\"resourceVersion\":"  \
    "\"" rv "\"}}"
#define BED_PARTIALS(rv, ...)                                                                      \
    "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"     \
    "\"resourceVersion\":\"" rv "\"},\"items\":[" __VA_ARGS__ "]}"

static const char too_large[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"message\":\"Too "
    "large resource version: 30, current: 2\",\"code\":504,\"details\":{\"causes\":[{"
    "\"reason\":\"ResourceVersionTooLarge\"}]}}";
