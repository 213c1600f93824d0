#include "driver.h"

#include "base/alloc.h"
#include "object/meta.h"

#include <stdlib.h>

struct keyed_store {
    struct pl_store *store;
    bool tombstones;          /* keyFunc deletionHandling */
    char *transform;          /* "" for none */
    struct pl_doc *functions; /* {"index":"function"}, for the op index */
};

static void merge_functions(struct keyed_store *self, struct pl_node more)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    struct pl_node both[2] = {pl_doc_root(self->functions), more};
    for (int i = 0; i < 2; i++) {
        struct pl_iter it = pl_iter(both[i]);
        while (pl_iter_next(&it)) {
            pl_build_key(b, it.key);
            pl_build_node(b, it.value);
        }
    }
    pl_build_end(b);
    pl_doc_unref(self->functions);
    self->functions = pl_build_close(b);
}

static void *store_create(struct clock *clock, struct pl_node options, const char **skip)
{
    PL_UNUSED(clock);
    if (pl_node_str_eq(pl_node_getz(options, "type"), pl_slice_z("ttl"))) {
        *skip = "no store with time to live";
        return NULL;
    }
    struct keyed_store *self = PL_NEW(struct keyed_store);
    self->store = pl_store_create();
    self->tombstones =
        pl_node_str_eq(pl_node_getz(options, "keyFunc"), pl_slice_z("deletionHandling"));
    self->transform = text_of(pl_node_getz(options, "transform"));
    if (self->transform == NULL)
        self->transform = pl_strdup("");
    add_indexers(self->store, pl_node_getz(options, "indexers"));
    merge_functions(self, pl_node_getz(options, "indexers"));
    return self;
}

static void store_destroy(void *arg)
{
    struct keyed_store *self = arg;
    pl_store_destroy(self->store);
    pl_free(self->transform);
    pl_doc_unref(self->functions);
    pl_free(self);
}

/* ---- writes ---- */

/* Tombstones carry no version of their own (rule 37). */
static void note_rv(struct keyed_store *self, struct pl_doc *doc)
{
    struct pl_scratch room;
    struct pl_node key, obj;
    if (!is_tombstone(pl_doc_root(doc), &key, &obj))
        pl_store_set_rv(self->store, pl_meta_rv(pl_doc_root(doc), &room));
}

/* NULL, or the code of the error. */
static const char *put_object(struct keyed_store *self, struct pl_node obj)
{
    struct pl_buf key = PL_BUF_INIT;
    const char *error = NULL;
    struct pl_doc *doc = doc_of(obj), *own = NULL;
    if (key_of(obj, self->tombstones, &key) != 0)
        error = "key";
    else if ((own = transform_doc(self->transform, doc)) == NULL)
        error = "transform";
    else
        pl_doc_unref(pl_store_put(self->store, pl_buf_slice(&key), own));
    if (error == NULL)
        note_rv(self, own);
    pl_doc_unref(own);
    pl_doc_unref(doc);
    pl_buf_deinit(&key);
    return error;
}

static const char *delete_object(struct keyed_store *self, struct pl_node obj)
{
    struct pl_buf key = PL_BUF_INIT;
    const char *error = key_of(obj, self->tombstones, &key) != 0 ? "key" : NULL;
    if (error == NULL) {
        struct pl_doc *doc = doc_of(obj);
        pl_doc_unref(pl_store_remove(self->store, pl_buf_slice(&key)));
        note_rv(self, doc);
        pl_doc_unref(doc);
    }
    pl_buf_deinit(&key);
    return error;
}

static const char *replace(struct keyed_store *self, struct pl_node objs, struct pl_node rv)
{
    size_t count = pl_node_len(objs), made = 0;
    struct pl_store_item *items = pl_calloc(count, sizeof(*items));
    struct pl_buf *keys = pl_calloc(count, sizeof(*keys));
    const char *error = NULL;
    for (; made < count && error == NULL; made++) {
        struct pl_node obj = pl_node_at(objs, made);
        struct pl_doc *doc = doc_of(obj);
        if (key_of(obj, self->tombstones, &keys[made]) != 0)
            error = "key";
        else if ((items[made].doc = transform_doc(self->transform, doc)) == NULL)
            error = "transform";
        items[made].key = pl_buf_slice(&keys[made]);
        pl_doc_unref(doc);
    }
    if (error == NULL) {
        struct pl_scratch room;
        pl_store_replace(self->store, items, count);
        pl_store_set_rv(self->store, pl_node_str(rv, &room));
    }
    for (size_t i = 0; i < count; i++) {
        pl_doc_unref(items[i].doc);
        pl_buf_deinit(&keys[i]);
    }
    pl_free(items);
    pl_free(keys);
    return error;
}

static void transaction(struct keyed_store *self, struct pl_node txns, struct pl_build *out)
{
    size_t count = pl_node_len(txns), applied = 0;
    bool *ok = pl_calloc(count, sizeof(*ok));
    for (size_t i = 0; i < count; i++) {
        struct pl_node obj = pl_node_getz(pl_node_at(txns, i), "obj");
        bool is_delete =
            pl_node_str_eq(pl_node_getz(pl_node_at(txns, i), "type"), pl_slice_z("Delete"));
        ok[i] = (is_delete ? delete_object(self, obj) : put_object(self, obj)) == NULL;
        applied += ok[i];
    }
    if (applied == count) {
        pl_build_null(out);
    } else {
        pl_build_object(out);
        put_member_str(out, "error", pl_slice_z("transaction"));
        pl_build_keyz(out, "ok");
        pl_build_array(out);
        for (size_t i = 0; i < count; i++)
            if (ok[i])
                pl_build_int(out, (int64_t)i);
        pl_build_end(out);
        put_member_int(out, "total", (int64_t)count);
        pl_build_end(out);
    }
    pl_free(ok);
}

static void put_outcome(struct pl_build *out, const char *error)
{
    if (error == NULL)
        pl_build_null(out);
    else
        put_error(out, error);
}

static bool write_step(struct keyed_store *self, struct pl_slice op, struct pl_node step,
                       struct pl_build *out)
{
    struct pl_node obj = pl_node_getz(step, "obj");
    struct pl_scratch room;
    if (pl_slice_eqz(op, "add") || pl_slice_eqz(op, "update")) {
        put_outcome(out, put_object(self, obj));
    } else if (pl_slice_eqz(op, "delete")) {
        put_outcome(out, delete_object(self, obj));
    } else if (pl_slice_eqz(op, "replace")) {
        put_outcome(out, replace(self, pl_node_getz(step, "objs"), pl_node_getz(step, "rv")));
    } else if (pl_slice_eqz(op, "transaction")) {
        transaction(self, pl_node_getz(step, "txns"), out);
    } else if (pl_slice_eqz(op, "bookmark")) {
        pl_store_set_rv(self->store, pl_node_str(pl_node_getz(step, "rv"), &room));
        pl_build_null(out);
    } else if (pl_slice_eqz(op, "resync")) {
        pl_build_null(out); /* a store without a queue has nobody to tell */
    } else {
        return false;
    }
    return true;
}

/* ---- reads ---- */

static void put_stored(struct keyed_store *self, struct pl_slice key, struct pl_build *out)
{
    struct pl_doc *doc = pl_store_get(self->store, key);
    put_doc(out, doc);
    pl_doc_unref(doc);
}

/* The objects of sorted keys; frees the keys. */
static void put_objects(struct keyed_store *self, char **keys, struct pl_build *out)
{
    pl_build_array(out);
    for (char **key = keys; key != NULL && *key != NULL; key++)
        put_stored(self, pl_slice_z(*key), out);
    pl_build_end(out);
    pl_store_free_names(keys);
}

static void get(struct keyed_store *self, struct pl_node obj, struct pl_build *out)
{
    struct pl_buf key = PL_BUF_INIT;
    if (key_of(obj, self->tombstones, &key) != 0)
        put_error(out, "key");
    else
        put_stored(self, pl_buf_slice(&key), out);
    pl_buf_deinit(&key);
}

static bool shares_value(struct keyed_store *self, const char *index, const char *key,
                         const struct pl_values *values)
{
    size_t at = 0;
    struct pl_slice value;
    while (pl_values_next(values, &at, &value)) {
        char **keys = pl_store_index_keys(self->store, index, value);
        bool found = false;
        for (char **other = keys; *other != NULL && !found; other++)
            found = strcmp(*other, key) == 0;
        pl_store_free_names(keys);
        if (found)
            return true;
    }
    return false;
}

static void put_sharing(struct keyed_store *self, const char *index, struct pl_node obj,
                        struct pl_build *out)
{
    struct pl_values values = {0};
    char *function = text_of(pl_node_getz(pl_doc_root(self->functions), index));
    if (function == NULL) {
        put_error(out, "noIndex");
    } else if (index_values(function, obj, &values) != 0) {
        put_error(out, "index");
    } else {
        char **keys = pl_store_keys(self->store);
        pl_build_array(out);
        for (char **key = keys; *key != NULL; key++)
            if (shares_value(self, index, *key, &values))
                put_stored(self, pl_slice_z(*key), out);
        pl_build_end(out);
        pl_store_free_names(keys);
    }
    pl_free(function);
    pl_values_deinit(&values);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_indexers(struct keyed_store *self, struct pl_build *out)
{
    struct pl_node functions = pl_doc_root(self->functions);
    size_t count = 0;
    char **names = pl_calloc(pl_node_len(functions) + 1, sizeof(char *));
    struct pl_iter it = pl_iter(functions);
    while (pl_iter_next(&it))
        names[count++] = pl_memdup0(it.key.ptr, it.key.len);
    qsort(names, count, sizeof(char *), compare_texts);
    pl_build_array(out);
    for (size_t i = 0; i < count; i++) {
        pl_build_strz(out, names[i]);
        pl_free(names[i]);
    }
    pl_build_end(out);
    pl_free(names);
}

static bool index_step(struct keyed_store *self, struct pl_slice op, struct pl_node step,
                       struct pl_build *out)
{
    struct pl_scratch room;
    struct pl_slice value = pl_node_str(pl_node_getz(step, "value"), &room);
    char *index = text_of(pl_node_getz(step, "index"));
    bool mine = true;
    if (pl_slice_eqz(op, "index")) {
        put_sharing(self, index, pl_node_getz(step, "obj"), out);
    } else if (pl_slice_eqz(op, "listIndexValues")) {
        put_names(out, pl_store_index_values(self->store, index));
    } else if (pl_slice_eqz(op, "indexKeys") || pl_slice_eqz(op, "byIndex")) {
        char **keys = pl_store_index_keys(self->store, index, value);
        if (keys == NULL)
            put_error(out, "noIndex");
        else if (pl_slice_eqz(op, "indexKeys"))
            put_names(out, keys);
        else
            put_objects(self, keys, out);
    } else if (pl_slice_eqz(op, "addIndexers")) {
        struct pl_node indexers = pl_node_getz(step, "indexers");
        int rc = add_indexers(self->store, indexers);
        if (rc == 0)
            merge_functions(self, indexers);
        put_outcome(out, rc == 0 ? NULL : "conflict");
    } else if (pl_slice_eqz(op, "getIndexers")) {
        put_indexers(self, out);
    } else {
        mine = false;
    }
    pl_free(index);
    return mine;
}

static void put_key(struct keyed_store *self, struct pl_node obj, struct pl_build *out)
{
    struct pl_buf key = PL_BUF_INIT;
    if (key_of(obj, self->tombstones, &key) != 0)
        put_error(out, "key");
    else
        pl_build_str(out, pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

/* The product refuses empty parts; the scenarios take them, so only these are cut here. */
static void split_key(struct pl_slice key, struct pl_build *out)
{
    struct pl_slice ns, name;
    const char *slash = key.len ? memchr(key.ptr, '/', key.len) : NULL;
    if (pl_key_split(key, &ns, &name) != 0) {
        size_t at = slash ? (size_t)(slash - key.ptr) : 0;
        ns = pl_slice(key.ptr, at);
        name = slash ? pl_slice(slash + 1, key.len - at - 1) : key;
        if (slash != NULL && memchr(name.ptr, '/', name.len) != NULL) {
            put_error(out, "badKey");
            return;
        }
    }
    pl_build_array(out);
    pl_build_str(out, ns.len ? ns : pl_slice("", 0));
    pl_build_str(out, name.len ? name : pl_slice("", 0));
    pl_build_end(out);
}

static void read_step(struct keyed_store *self, struct pl_slice op, struct pl_node step,
                      struct pl_build *out)
{
    struct pl_scratch room;
    struct pl_slice key = pl_node_str(pl_node_getz(step, "key"), &room);
    if (pl_slice_eqz(op, "get")) {
        get(self, pl_node_getz(step, "obj"), out);
    } else if (pl_slice_eqz(op, "getByKey")) {
        put_stored(self, key, out);
    } else if (pl_slice_eqz(op, "list")) {
        put_objects(self, pl_store_keys(self->store), out);
    } else if (pl_slice_eqz(op, "listKeys")) {
        put_names(out, pl_store_keys(self->store));
    } else if (pl_slice_eqz(op, "keyOf")) {
        put_key(self, pl_node_getz(step, "obj"), out);
    } else if (pl_slice_eqz(op, "splitKey")) {
        split_key(key, out);
    } else {
        struct pl_buf rv = PL_BUF_INIT;
        pl_store_rv(self->store, &rv);
        pl_build_str(out, pl_buf_slice(&rv));
        pl_buf_deinit(&rv);
    }
}

static void store_step(void *arg, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    struct keyed_store *self = arg;
    if (!write_step(self, op, step, out) && !index_step(self, op, step, out))
        read_step(self, op, step, out);
}

const struct component store_component = {
    .name = "store",
    .create = store_create,
    .step = store_step,
    .destroy = store_destroy,
};
