/* Documents and indices for the store's tests. */
#pragma once

#include "store/store.h"
#include "support/test.h"
#include "value/scan.h"

/* {"v":N,"tags":["a","b"]} of its own; tags are the letters of `tags`. */
static inline struct pl_doc *tagged(int v, const char *tags)
{
    char text[256];
    int len = snprintf(text, sizeof(text), "{\"v\":%d,\"tags\":[", v);
    for (const char *tag = tags; *tag != '\0'; tag++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%s\"%c\"", tag > tags ? "," : "",
                        *tag);
    len += snprintf(text + len, sizeof(text) - (size_t)len, "]}");
    struct pl_doc *doc =
        pl_scan_text(pl_slice(text, (size_t)len), &(struct pl_scan_options){0}, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

static inline int version_of(const struct pl_doc *doc)
{
    int64_t v = -1;
    pl_node_int(pl_node_getz(pl_doc_root(doc), "v"), &v);
    return (int)v;
}

/* Indexes by tags; an object tagged "!" is refused. */
static inline int tag_values(void *arg, struct pl_node object, struct pl_values *out,
                             struct pl_err *err)
{
    int *calls = arg;
    if (calls != NULL)
        ++*calls;
    struct pl_iter it = pl_iter(pl_node_getz(object, "tags"));
    while (pl_iter_next(&it)) {
        struct pl_scratch scratch;
        struct pl_slice tag = pl_node_str(it.value, &scratch);
        if (pl_slice_eqz(tag, "!"))
            return pl_err_set(err, PL_ESCRIPT, "refused");
        pl_values_add(out, tag);
    }
    return 0;
}

static const struct pl_index_ops tag_ops = {tag_values, NULL};

static inline void put(struct pl_store *store, const char *key, int v, const char *tags)
{
    struct pl_doc *doc = tagged(v, tags);
    pl_doc_unref(pl_store_put(store, pl_slice_z(key), doc));
    pl_doc_unref(doc);
}

/* The names joined by spaces, "NULL" for NULL; frees them. */
static inline const char *joined(char **names)
{
    static char text[1024];
    text[0] = '\0';
    if (names == NULL)
        return "NULL";
    for (char **name = names; *name != NULL; name++) {
        if (name != names)
            strcat(text, " ");
        strcat(text, *name);
    }
    pl_store_free_names(names);
    return text;
}

static inline const char *keys_under(struct pl_store *store, const char *index, const char *value)
{
    return joined(pl_store_index_keys(store, index, pl_slice_z(value)));
}

/* -1 when absent. */
static inline int stored(struct pl_store *store, const char *key)
{
    struct pl_doc *doc = pl_store_get(store, pl_slice_z(key));
    int v = doc ? version_of(doc) : -1;
    pl_doc_unref(doc);
    return v;
}
