/* Records the events of a watch, and makes the events that a server sends it. */
#pragma once

#include "harness.h"

/* Records the calls of a watch: "open", "ADDED default/a@5", "end ...". */
struct diary {
    struct pl_buf text;
    int ends;
    struct pl_err err;
    struct pl_watch *watch;
    struct bench *bench;
    int cancel_at, destroy_at; /* the n-th event does it; 0: never */
    int events;
};

static inline void on_open(void *arg)
{
    struct diary *diary = arg;
    pl_buf_add_z(&diary->text, "open;");
}

static inline void on_event(void *arg, enum pl_watch_type type, struct pl_doc *object)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?"};
    struct diary *diary = arg;
    struct pl_node root = pl_doc_root(object);
    struct pl_scratch scratch;
    diary->events++;
    pl_buf_add_f(&diary->text, "%s ", names[type]);
    if (type == PL_WATCH_ERROR)
        pl_buf_add_f(&diary->text, "%.*s",
                     PL_FMT(pl_node_str(pl_node_getz(root, "message"), &scratch)));
    else
        pl_meta_put_key(root, &diary->text);
    pl_buf_add_f(&diary->text, "@%.*s;", PL_FMT(pl_meta_rv(root, &scratch)));
    if (type == PL_WATCH_ERROR) {
        CHECK(pl_node_str_eq(pl_node_getz(root, "kind"), pl_slice_z("Status")));
    } else if (type == PL_WATCH_ADDED) {
        CHECK(pl_node_str_eq(pl_node_getz(root, "kind"), pl_slice_z("Pod")));
        CHECK(pl_node_str_eq(pl_node_getz(root, "apiVersion"), pl_slice_z("v1")));
    }
    pl_doc_unref(object);
    if (diary->events == diary->cancel_at)
        pl_watch_cancel(diary->watch);
    if (diary->events == diary->destroy_at) {
        pl_client_destroy(diary->bench->client);
        diary->bench->client = NULL;
    }
}

static inline void on_end(void *arg, const struct pl_err *err)
{
    struct diary *diary = arg;
    diary->ends++;
    pl_err_clear(&diary->err);
    if (err != NULL)
        diary->err = *err;
    pl_buf_add_f(&diary->text, "end %s", err != NULL ? pl_code_name(err->code) : "ok");
}

static const struct pl_watch_ops ops = {on_open, on_event, on_end};

#define EVENT(type, name, rv)                                                                      \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"     \
    "\"namespace\":\"d\",\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}}\n"
