/* The informer: store, delta queue and distributor of the product, with handlers that record their
 * calls. */
#include "driver.h"

#include "base/alloc.h"
#include "sync/distributor.h"
#include "object/meta.h"

#include <stdlib.h>

struct notification {
    char *key;
    struct pl_doc *json;
};

struct handler {
    struct pl_link link;
    struct pl_listener listener;
    char *name;
    char *label, *value; /* the filter; label NULL: everything passes */
    struct notification *told;
    size_t told_count;
};

struct informer {
    struct clock *clock;
    struct pl_store *store;
    struct pl_deltafifo *fifo;
    struct pl_distributor *d;
    struct pl_list handlers;
    char *transform;
    int64_t resync_ns;
};

/* ---- handlers ---- */

static struct handler *handler_of(struct pl_listener *listener)
{
    return PL_CONTAINER_OF(listener, struct handler, listener);
}

static bool passes(const struct handler *handler, struct pl_doc *object)
{
    if (handler->label == NULL)
        return true;
    struct pl_node labels = pl_meta_labels(pl_doc_root(object));
    return pl_node_str_eq(pl_node_getz(labels, handler->label), pl_slice_z(handler->value));
}

static void note(struct handler *handler, struct pl_slice key, struct pl_build *json)
{
    handler->told =
        pl_reallocarray(handler->told, handler->told_count + 1, sizeof(struct notification));
    handler->told[handler->told_count++] =
        (struct notification){pl_memdup0(key.ptr, key.len), pl_build_finish(json)};
    pl_build_destroy(json);
}

/* Opens ["add", ...]; note_object closes it. */
static struct pl_build *begin_note(const char *what)
{
    struct pl_build *json = pl_build_create(NULL);
    pl_build_array(json);
    pl_build_strz(json, what);
    return json;
}

static void note_object(struct handler *handler, struct pl_doc *object, struct pl_build *json)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_build_end(json);
    key_of(pl_doc_root(object), true, &key);
    note(handler, pl_buf_slice(&key), json);
    pl_buf_deinit(&key);
}

static void note_add(struct handler *handler, struct pl_doc *object, bool initial)
{
    struct pl_build *json = begin_note("add");
    put_doc(json, object);
    pl_build_bool(json, initial);
    note_object(handler, object, json);
}

static void on_add(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                   bool initial)
{
    PL_UNUSED(key);
    if (passes(handler_of(listener), object))
        note_add(handler_of(listener), object, initial);
}

static void note_delete(struct handler *handler, struct pl_slice key, struct pl_doc *object,
                        bool stale)
{
    struct pl_build *json = begin_note("delete");
    if (stale)
        put_tombstone(json, key, object);
    else
        put_doc(json, object);
    pl_build_end(json);
    note(handler, key, json);
}

static void on_delete(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                      bool stale)
{
    if (passes(handler_of(listener), object))
        note_delete(handler_of(listener), key, object, stale);
}

static void on_update(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                      struct pl_doc *object)
{
    PL_UNUSED(key);
    struct handler *handler = handler_of(listener);
    bool passed = passes(handler, old), now = passes(handler, object);
    if (passed && now) {
        struct pl_build *json = begin_note("update");
        put_doc(json, old);
        put_doc(json, object);
        note_object(handler, object, json);
    } else if (now) {
        note_add(handler, object, false);
    } else if (passed) {
        struct pl_buf of_old = PL_BUF_INIT;
        key_of(pl_doc_root(old), true, &of_old);
        note_delete(handler, pl_buf_slice(&of_old), old, false);
        pl_buf_deinit(&of_old);
    }
}

static const struct pl_listener_ops handler_ops = {on_add, on_update, on_delete};

static void forget_told(struct handler *handler)
{
    for (size_t i = 0; i < handler->told_count; i++) {
        pl_free(handler->told[i].key);
        pl_doc_unref(handler->told[i].json);
    }
    pl_free(handler->told);
    handler->told = NULL;
    handler->told_count = 0;
}

static void free_handler(struct handler *handler)
{
    forget_told(handler);
    pl_free(handler->name);
    pl_free(handler->label);
    pl_free(handler->value);
    pl_free(handler);
}

/* Stable: notifications are few. */
static void sort_told(struct handler *handler)
{
    for (size_t i = 1; i < handler->told_count; i++) {
        struct notification moving = handler->told[i];
        size_t at = i;
        for (; at > 0 && strcmp(handler->told[at - 1].key, moving.key) > 0; at--)
            handler->told[at] = handler->told[at - 1];
        handler->told[at] = moving;
    }
}

/* The notifications as a list, which is then forgotten. */
static void put_told(struct handler *handler, bool sorted, struct pl_build *out)
{
    if (sorted)
        sort_told(handler);
    pl_build_array(out);
    for (size_t i = 0; i < handler->told_count; i++)
        put_doc(out, handler->told[i].json);
    pl_build_end(out);
    forget_told(handler);
}

/* ---- making ---- */

static int queue_key(void *arg, struct pl_node object, struct pl_buf *out, struct pl_err *err)
{
    PL_UNUSED(arg);
    return key_of(object, true, out) == 0 ? 0 : pl_err_set(err, PL_EINVAL, "key");
}

static struct pl_doc *queue_transform(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    struct informer *self = arg;
    struct pl_doc *fresh = transform_doc(self->transform, doc);
    if (fresh == NULL)
        pl_err_set(err, PL_EINVAL, "transform");
    return fresh;
}

void *informer_create(struct clock *clock, struct pl_node options)
{
    struct informer *self = PL_NEW(struct informer);
    self->clock = clock;
    self->store = pl_store_create();
    self->transform = text_of(pl_node_getz(options, "transform"));
    self->resync_ns = duration_of(pl_node_getz(options, "resync"), 0);
    pl_list_init(&self->handlers);
    add_indexers(self->store, pl_node_getz(options, "indexers"));
    self->fifo = pl_deltafifo_create(&(struct pl_deltafifo_options){
        .known = &pl_distributor_known_ops,
        .known_arg = self->store,
        .emit_replaced = true,
        .key = queue_key,
        .transform = self->transform ? queue_transform : NULL,
        .arg = self,
    });
    self->d = pl_distributor_create(
        &(struct pl_distributor_options){self->store, self->fifo, self->resync_ns});
    return self;
}

void informer_destroy(void *arg)
{
    struct informer *self = arg;
    struct pl_link *link;
    pl_distributor_destroy(self->d);
    pl_deltafifo_destroy(self->fifo);
    pl_store_destroy(self->store);
    while ((link = pl_list_pop(&self->handlers)) != NULL)
        free_handler(PL_CONTAINER_OF(link, struct handler, link));
    pl_free(self->transform);
    pl_free(self);
}

/* ---- steps about handlers ---- */

static struct handler *find_handler(struct informer *self, struct pl_node name)
{
    PL_LIST_FOR (link, &self->handlers) {
        struct handler *handler = PL_CONTAINER_OF(link, struct handler, link);
        if (pl_node_str_eq(name, pl_slice_z(handler->name)) &&
            pl_distributor_has(&handler->listener))
            return handler;
    }
    return NULL;
}

static void set_filter(struct handler *handler, struct pl_node filter)
{
    handler->label = text_of(filter);
    char *equals = handler->label ? strchr(handler->label, '=') : NULL;
    if (equals == NULL)
        return;
    *equals = '\0';
    handler->value = pl_strdup(equals + 1);
}

static void add_handler(struct informer *self, struct pl_node step, struct pl_build *out)
{
    struct handler *handler = PL_NEW(struct handler);
    int64_t resync_ns = duration_of(pl_node_getz(step, "resync"), self->resync_ns);
    handler->name = text_of(pl_node_getz(step, "name"));
    set_filter(handler, pl_node_getz(step, "filter"));
    int rc = pl_distributor_add(self->d, &handler->listener, &handler_ops, resync_ns,
                                self->clock->now_ns);
    if (rc == 0) {
        pl_list_push(&self->handlers, &handler->link);
        put_told(handler, true, out);
    } else {
        free_handler(handler);
        put_error(out, "stopped");
    }
}

static void put_periods(struct informer *self, struct pl_build *out)
{
    pl_build_object(out);
    put_member_int(out, "check", pl_distributor_check_period(self->d));
    PL_LIST_FOR (link, &self->handlers) {
        struct handler *handler = PL_CONTAINER_OF(link, struct handler, link);
        put_member_int(out, handler->name, handler->listener.resync_ns);
    }
    pl_build_end(out);
}

static bool handler_step(struct informer *self, struct pl_slice op, struct pl_node step,
                         struct pl_build *out)
{
    struct handler *handler = find_handler(self, pl_node_getz(step, "name"));
    if (pl_slice_eqz(op, "addHandler")) {
        add_handler(self, step, out);
    } else if (pl_slice_eqz(op, "removeHandler")) {
        if (handler != NULL)
            pl_distributor_remove(&handler->listener);
        pl_build_null(out);
    } else if (pl_slice_eqz(op, "registered")) {
        pl_build_bool(out, handler != NULL);
    } else if (pl_slice_eqz(op, "handlerSynced")) {
        pl_build_bool(out, handler != NULL && pl_listener_has_synced(&handler->listener));
    } else if (pl_slice_eqz(op, "resyncPeriods")) {
        put_periods(self, out);
    } else {
        return false;
    }
    return true;
}

/* ---- steps about the queue ---- */

static int replace(struct informer *self, struct pl_node objs, struct pl_err *err)
{
    struct pl_docs docs = {0};
    for (size_t i = 0; i < pl_node_len(objs); i++)
        pl_docs_add(&docs, doc_of(pl_node_at(objs, i)));
    int rc = pl_deltafifo_replace(self->fifo, docs.items, docs.count, err);
    pl_docs_deinit(&docs);
    return rc;
}

static int delete_object(struct informer *self, struct pl_node node, struct pl_err *err)
{
    struct pl_node key, obj;
    struct pl_scratch room;
    bool stale = is_tombstone(node, &key, &obj);
    struct pl_doc *doc = doc_of(stale ? obj : node);
    int rc = stale ? pl_deltafifo_delete_stale(self->fifo, pl_node_str(key, &room), doc)
                   : pl_deltafifo_delete(self->fifo, doc, err);
    pl_doc_unref(doc);
    return rc;
}

/* 1 when the step is none of these. */
static int produce(struct informer *self, struct pl_slice op, struct pl_node step,
                   struct pl_err *err)
{
    struct pl_doc *doc = doc_of(pl_node_getz(step, "obj"));
    int rc = 1;
    if (pl_slice_eqz(op, "add"))
        rc = pl_deltafifo_add(self->fifo, doc, err);
    else if (pl_slice_eqz(op, "update"))
        rc = pl_deltafifo_update(self->fifo, doc, err);
    else if (pl_slice_eqz(op, "delete"))
        rc = delete_object(self, pl_node_getz(step, "obj"), err);
    else if (pl_slice_eqz(op, "replace"))
        rc = replace(self, pl_node_getz(step, "objs"), err);
    else if (pl_slice_eqz(op, "resync"))
        rc = pl_deltafifo_resync(self->fifo);
    pl_doc_unref(doc);
    return rc;
}

static bool produce_step(struct informer *self, struct pl_slice op, struct pl_node step,
                         struct pl_build *out)
{
    struct pl_err err;
    int rc = produce(self, op, step, &err);
    if (rc == 1)
        return false;
    if (rc == 0)
        pl_build_null(out);
    else
        put_error(out, err.message);
    return true;
}

static void put_all_told(struct informer *self, bool sorted, struct pl_build *out)
{
    pl_build_object(out);
    PL_LIST_FOR (link, &self->handlers) {
        struct handler *handler = PL_CONTAINER_OF(link, struct handler, link);
        if (!pl_distributor_has(&handler->listener))
            continue;
        pl_build_keyz(out, handler->name);
        put_told(handler, sorted, out);
    }
    pl_build_end(out);
}

static bool process_step(struct informer *self, struct pl_slice op, struct pl_node step,
                         struct pl_build *out)
{
    if (pl_slice_eqz(op, "process")) {
        if (pl_distributor_process(self->d) == 0)
            put_all_told(self, false, out);
        else
            put_flag(out, "blocked");
    } else if (pl_slice_eqz(op, "processAll")) {
        while (pl_distributor_process(self->d) == 0) {
        }
        put_all_told(self, bool_of(pl_node_getz(step, "sort"), false), out);
    } else if (pl_slice_eqz(op, "resyncTick")) {
        pl_build_bool(out, pl_distributor_resync(self->d, self->clock->now_ns));
    } else {
        return false;
    }
    return true;
}

/* ---- steps about the store ---- */

static void add_indexers_step(struct informer *self, struct pl_node step, struct pl_build *out)
{
    if (pl_distributor_is_stopped(self->d))
        put_error(out, "stopped");
    else if (add_indexers(self->store, pl_node_getz(step, "indexers")) != 0)
        put_error(out, "conflict");
    else
        pl_build_null(out);
}

static void put_index_keys(struct informer *self, struct pl_node step, struct pl_build *out)
{
    struct pl_scratch room;
    char *index = text_of(pl_node_getz(step, "index"));
    char **keys =
        pl_store_index_keys(self->store, index, pl_node_str(pl_node_getz(step, "value"), &room));
    if (keys != NULL)
        put_names(out, keys);
    else
        put_error(out, "noIndex");
    pl_free(index);
}

static void store_step(struct informer *self, struct pl_slice op, struct pl_node step,
                       struct pl_build *out)
{
    struct pl_scratch room;
    if (pl_slice_eqz(op, "start")) {
        pl_distributor_start(self->d);
        pl_build_null(out);
    } else if (pl_slice_eqz(op, "stop")) {
        pl_distributor_stop(self->d);
        pl_build_null(out);
    } else if (pl_slice_eqz(op, "addIndexers")) {
        add_indexers_step(self, step, out);
    } else if (pl_slice_eqz(op, "storeKeys")) {
        put_names(out, pl_store_keys(self->store));
    } else if (pl_slice_eqz(op, "storeGet")) {
        struct pl_doc *doc =
            pl_store_get(self->store, pl_node_str(pl_node_getz(step, "key"), &room));
        put_doc(out, doc);
        pl_doc_unref(doc);
    } else if (pl_slice_eqz(op, "storeIndexKeys")) {
        put_index_keys(self, step, out);
    } else {
        pl_build_bool(out, pl_deltafifo_has_synced(self->fifo)); /* hasSynced, informerSynced */
    }
}

void informer_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct informer *self = arg;
    if (!handler_step(self, op, step, out) && !produce_step(self, op, step, out) &&
        !process_step(self, op, step, out))
        store_step(self, op, step, out);
}
