/* The component deltafifo: the delta queue, with fixed known objects; as options say also
 * the plain queue (fifo.c) or the whole informer (informer.c). */
#include "driver.h"

#include "base/alloc.h"
#include "store/deltafifo.h"

#include <stdlib.h>

struct pop_waiter {
    struct pl_link link;
    char *id;
    struct pl_doc *got;
};

struct deltas {
    struct clock *clock;
    void *informer; /* instead of everything below */
    struct fifo *plain;
    struct pl_deltafifo *fifo;
    bool closed;
    struct pl_doc *known; /* an array; NULL: none */
    char *transform;
    struct pl_list waiters;
};

/* ---- what is known ---- */

/* The entry's key, and whether its look-up finds (obj), misses or fails. */
static int known_key(struct pl_node entry, struct pl_buf *key, const char **how)
{
    static const char *const markers[] = {"$missing", "$error"};
    struct pl_scratch room;
    for (size_t i = 0; i < PL_ARRAY_LEN(markers); i++) {
        struct pl_node marked = pl_node_getz(entry, markers[i]);
        if (pl_node_is_missing(marked))
            continue;
        *how = markers[i];
        pl_buf_add_slice(key, pl_node_str(marked, &room));
        return 0;
    }
    *how = NULL;
    return key_of(entry, true, key);
}

static int known_get(void *arg, struct pl_slice key, struct pl_doc **doc)
{
    struct deltas *self = arg;
    int rc = 0;
    *doc = NULL;
    struct pl_iter it = pl_iter(pl_doc_root(self->known));
    while (pl_iter_next(&it)) {
        struct pl_buf own = PL_BUF_INIT;
        const char *how;
        if (known_key(it.value, &own, &how) == 0 && pl_slice_eq(pl_buf_slice(&own), key)) {
            if (how == NULL)
                *doc = doc_of(it.value);
            else if (strcmp(how, "$error") == 0)
                rc = PL_EIO;
        }
        pl_buf_deinit(&own);
    }
    return rc;
}

static char **known_keys(void *arg)
{
    struct deltas *self = arg;
    struct pl_node known = pl_doc_root(self->known);
    struct pl_buf text = PL_BUF_INIT;
    size_t count = 0;
    size_t *starts = pl_calloc(pl_node_len(known) + 1, sizeof(size_t));
    struct pl_iter it = pl_iter(known);
    while (pl_iter_next(&it)) {
        const char *how;
        starts[count++] = text.len;
        known_key(it.value, &text, &how);
        pl_buf_add_char(&text, '\0');
    }
    char **keys = pl_malloc((count + 1) * sizeof(char *) + text.len);
    char *bytes = (char *)(keys + count + 1);
    if (text.len > 0)
        memcpy(bytes, text.ptr, text.len);
    for (size_t i = 0; i < count; i++)
        keys[i] = bytes + starts[i];
    keys[count] = NULL;
    pl_free(starts);
    pl_buf_deinit(&text);
    return keys;
}

static const struct pl_known_ops known_ops = {known_get, known_keys};

/* ---- making ---- */

static int queue_key(void *arg, struct pl_node object, struct pl_buf *out, struct pl_err *err)
{
    PL_UNUSED(arg);
    return key_of(object, true, out) == 0 ? 0 : pl_err_set(err, PL_EINVAL, "key");
}

static struct pl_doc *queue_transform(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    struct deltas *self = arg;
    struct pl_doc *fresh = transform_doc(self->transform, doc);
    if (fresh == NULL)
        pl_err_set(err, PL_EINVAL, "transform");
    return fresh;
}

static void create_queue(struct deltas *self, struct pl_node options)
{
    self->known = doc_of(pl_node_getz(options, "knownObjects"));
    self->transform = text_of(pl_node_getz(options, "transform"));
    self->fifo = pl_deltafifo_create(&(struct pl_deltafifo_options){
        .known = self->known ? &known_ops : NULL,
        .known_arg = self,
        .emit_replaced = bool_of(pl_node_getz(options, "emitReplaced"), false),
        .key = queue_key,
        .transform = self->transform ? queue_transform : NULL,
        .arg = self,
    });
}

static void *deltas_create(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(skip);
    struct deltas *self = PL_NEW(struct deltas);
    self->clock = clock;
    pl_list_init(&self->waiters);
    if (bool_of(pl_node_getz(options, "informer"), false))
        self->informer = informer_create(clock, options);
    else if (pl_node_str_eq(pl_node_getz(options, "kind"), pl_slice_z("fifo")))
        self->plain = fifo_create();
    else
        create_queue(self, options);
    return self;
}

static void deltas_destroy(void *arg)
{
    struct deltas *self = arg;
    struct pl_link *link;
    while ((link = pl_list_pop(&self->waiters)) != NULL) {
        struct pop_waiter *waiter = PL_CONTAINER_OF(link, struct pop_waiter, link);
        pl_doc_unref(waiter->got);
        pl_free(waiter->id);
        pl_free(waiter);
    }
    if (self->informer != NULL)
        informer_destroy(self->informer);
    fifo_destroy(self->plain);
    pl_deltafifo_destroy(self->fifo);
    pl_doc_unref(self->known);
    pl_free(self->transform);
    pl_free(self);
}

/* ---- popping ---- */

static bool is_empty(const struct deltas *self)
{
    return self->plain ? fifo_is_empty(self->plain) : pl_deltafifo_len(self->fifo) == 0;
}

static void put_deltas(struct pl_build *out, const struct pl_deltas *deltas)
{
    static const char *const types[] = {"Added", "Updated", "Deleted", "Replaced", "Sync"};
    pl_build_keyz(out, "deltas");
    pl_build_array(out);
    for (size_t i = 0; i < deltas->count; i++) {
        pl_build_array(out);
        pl_build_strz(out, types[deltas->items[i].type]);
        if (deltas->items[i].stale)
            put_tombstone(out, deltas->key, deltas->items[i].doc);
        else
            put_doc(out, deltas->items[i].doc);
        pl_build_end(out);
    }
    pl_build_end(out);
}

/* The key of the newest delta's object, which a transformation may have renamed. */
static void put_newest_key(struct pl_build *out, const struct pl_deltas *deltas)
{
    const struct pl_delta *newest = &deltas->items[deltas->count - 1];
    struct pl_buf key = PL_BUF_INIT;
    if (newest->stale || key_of(pl_doc_root(newest->doc), true, &key) != 0)
        put_member_str(out, "key", deltas->key);
    else
        put_member_str(out, "key", pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

/* Something is queued. */
static void put_popped(struct deltas *self, bool fail, struct pl_build *out)
{
    pl_build_object(out);
    if (self->plain != NULL) {
        fifo_pop(self->plain, out);
    } else {
        struct pl_deltas deltas;
        pl_deltafifo_take(self->fifo, &deltas);
        put_newest_key(out, &deltas);
        put_deltas(out, &deltas);
        pl_build_keyz(out, "initial");
        pl_build_bool(out, deltas.initial);
        pl_deltafifo_done(self->fifo, &deltas);
    }
    if (fail)
        put_member_str(out, "error", pl_slice_z("process"));
    pl_build_end(out);
}

static void pop(struct deltas *self, bool fail, struct pl_build *out)
{
    if (!is_empty(self))
        put_popped(self, fail, out);
    else if (self->closed)
        put_error(out, "closed");
    else
        put_flag(out, "blocked");
}

static struct pl_doc *popped(struct deltas *self)
{
    struct pl_build *b = pl_build_create(NULL);
    pop(self, false, b);
    return pl_build_close(b);
}

static int compare_keys(const void *a, const void *b)
{
    struct pl_scratch room_a, room_b;
    struct pl_node x = pl_doc_root(*(struct pl_doc *const *)a);
    struct pl_node y = pl_doc_root(*(struct pl_doc *const *)b);
    return pl_slice_cmp(pl_node_str(pl_node_getz(x, "key"), &room_a),
                        pl_node_str(pl_node_getz(y, "key"), &room_b));
}

static void drain(struct deltas *self, bool sorted, struct pl_build *out)
{
    struct pl_docs docs = {0};
    while (!is_empty(self))
        pl_docs_add(&docs, popped(self));
    if (sorted && docs.count > 0)
        qsort(docs.items, docs.count, sizeof(struct pl_doc *), compare_keys);
    pl_build_array(out);
    for (size_t i = 0; i < docs.count; i++)
        put_doc(out, docs.items[i]);
    pl_build_end(out);
    pl_docs_deinit(&docs);
}

static void deltas_settle(void *arg)
{
    struct deltas *self = arg;
    PL_LIST_FOR (link, &self->waiters) {
        struct pop_waiter *waiter = PL_CONTAINER_OF(link, struct pop_waiter, link);
        if (waiter->got == NULL && (!is_empty(self) || self->closed))
            waiter->got = popped(self);
    }
}

static void poll(struct deltas *self, struct pl_node id, struct pl_build *out)
{
    PL_LIST_FOR (link, &self->waiters) {
        struct pop_waiter *waiter = PL_CONTAINER_OF(link, struct pop_waiter, link);
        if (waiter->got != NULL && pl_node_str_eq(id, pl_slice_z(waiter->id))) {
            put_doc(out, waiter->got);
            return;
        }
    }
    put_flag(out, "blocked");
}

/* ---- steps ---- */

static void put_outcome(struct pl_build *out, int rc, const struct pl_err *err)
{
    if (rc == 0)
        pl_build_null(out);
    else
        put_error(out, err->message);
}

static int delete_object(struct deltas *self, struct pl_node node, struct pl_err *err)
{
    struct pl_node key, obj;
    struct pl_scratch room;
    struct pl_doc *doc;
    int rc;
    if (is_tombstone(node, &key, &obj)) {
        doc = doc_of(obj);
        rc = pl_deltafifo_delete_stale(self->fifo, pl_node_str(key, &room), doc);
    } else {
        doc = doc_of(node);
        rc = pl_deltafifo_delete(self->fifo, doc, err);
    }
    pl_doc_unref(doc);
    return rc;
}

static int replace(struct deltas *self, struct pl_node objs, struct pl_err *err)
{
    struct pl_docs docs = {0};
    for (size_t i = 0; i < pl_node_len(objs); i++)
        pl_docs_add(&docs, doc_of(pl_node_at(objs, i)));
    int rc = pl_deltafifo_replace(self->fifo, docs.items, docs.count, err);
    pl_docs_deinit(&docs);
    return rc;
}

static bool produce_step(struct deltas *self, struct pl_slice op, struct pl_node step,
                         struct pl_build *out)
{
    struct pl_err err;
    struct pl_doc *doc = doc_of(pl_node_getz(step, "obj"));
    bool mine = true;
    pl_err_clear(&err);
    if (self->plain != NULL)
        mine = fifo_step(self->plain, op, step, out);
    else if (pl_slice_eqz(op, "add"))
        put_outcome(out, pl_deltafifo_add(self->fifo, doc, &err), &err);
    else if (pl_slice_eqz(op, "update"))
        put_outcome(out, pl_deltafifo_update(self->fifo, doc, &err), &err);
    else if (pl_slice_eqz(op, "delete"))
        put_outcome(out, delete_object(self, pl_node_getz(step, "obj"), &err), &err);
    else if (pl_slice_eqz(op, "replace"))
        put_outcome(out, replace(self, pl_node_getz(step, "objs"), &err), &err);
    else
        mine = false;
    pl_doc_unref(doc);
    return mine;
}

static void put_key(struct pl_node step, struct pl_build *out)
{
    struct pl_node deltas = pl_node_getz(step, "deltas"), object = pl_node_getz(step, "obj");
    struct pl_buf key = PL_BUF_INIT;
    if (pl_node_len(deltas) > 0)
        object = pl_node_at(pl_node_at(deltas, pl_node_len(deltas) - 1), 1);
    if (key_of(object, true, &key) != 0)
        put_error(out, "key");
    else
        pl_build_str(out, pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

static bool consume_step(struct deltas *self, struct pl_slice op, struct pl_node step,
                         struct pl_build *out)
{
    if (pl_slice_eqz(op, "pop"))
        pop(self, bool_of(pl_node_getz(step, "fail"), false), out);
    else if (pl_slice_eqz(op, "drain"))
        drain(self, bool_of(pl_node_getz(step, "sort"), false), out);
    else if (pl_slice_eqz(op, "poll"))
        poll(self, pl_node_getz(step, "id"), out);
    else if (pl_slice_eqz(op, "keyOf"))
        put_key(step, out);
    else if (pl_slice_eqz(op, "hasSynced"))
        pl_build_bool(out, self->plain ? fifo_has_synced(self->plain)
                                       : pl_deltafifo_has_synced(self->fifo));
    else if (pl_slice_eqz(op, "isClosed"))
        pl_build_bool(out, self->plain ? self->closed : pl_deltafifo_is_closed(self->fifo));
    else
        return false;
    return true;
}

static void pop_async(struct deltas *self, struct pl_node id)
{
    struct pop_waiter *waiter = PL_NEW(struct pop_waiter);
    waiter->id = text_of(id);
    pl_list_push(&self->waiters, &waiter->link);
}

static void deltas_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct deltas *self = arg;
    if (self->informer != NULL) {
        informer_step(self->informer, op, step, out);
        return;
    }
    if (produce_step(self, op, step, out) || consume_step(self, op, step, out))
        return;
    if (pl_slice_eqz(op, "close")) {
        self->closed = true;
        if (self->fifo != NULL)
            pl_deltafifo_close(self->fifo);
    } else if (pl_slice_eqz(op, "setKnown")) {
        pl_doc_unref(self->known);
        self->known = doc_of(pl_node_getz(step, "objs"));
    } else if (pl_slice_eqz(op, "popAsync")) {
        pop_async(self, pl_node_getz(step, "id"));
    } else if (self->fifo != NULL) {
        pl_deltafifo_resync(self->fifo);
    }
    pl_build_null(out);
}

const struct component deltafifo_component = {
    .name = "deltafifo",
    .create = deltas_create,
    .step = deltas_step,
    .destroy = deltas_destroy,
    .settle = deltas_settle,
};
