/* A map from kind and key to the newest document. Its size is limited by that of the record. A
 * deleted object stays known in its last state: a record contains deletions only as far as runs
 * have seen them. */
#include "record/known_objects.h"

#include "base/alloc.h"
#include "object/meta.h"
#include "value/scan.h"

#define DEPTH 20

static char *name_of(struct pl_slice kind, struct pl_slice key)
{
    return pl_format("%.*s %.*s", PL_FMT(kind), PL_FMT(key));
}

void pl_known_deinit(struct pl_known *known)
{
    size_t at = 0;
    struct pl_slice key;
    void *doc;
    while (pl_map_next(&known->objects, &at, &key, &doc))
        pl_doc_unref(doc);
    pl_map_deinit(&known->objects);
    pl_map_deinit(&known->kept);
}

static void learn_object(struct pl_known *known, struct pl_slice json)
{
    const struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    struct pl_scratch api, kind;
    pl_err_clear(&err);
    struct pl_doc *doc = pl_scan_text(json, &options, &err);
    struct pl_node root = doc != NULL ? pl_doc_root(doc) : PL_NODE_MISSING;
    struct pl_buf key = PL_BUF_INIT;
    if (doc == NULL || pl_meta_key(root, &key, NULL) != 0) {
        pl_doc_unref(doc);
        pl_buf_deinit(&key);
        return;
    }
    char *whole =
        pl_format("%.*s/%.*s", PL_FMT(pl_node_str(pl_node_getz(root, "apiVersion"), &api)),
                  PL_FMT(pl_node_str(pl_node_getz(root, "kind"), &kind)));
    char *name = name_of(pl_slice_z(whole), pl_buf_slice(&key));
    bool kept = pl_map_has(&known->kept, pl_slice_z(name));
    pl_doc_unref(kept ? doc : pl_map_put(&known->objects, pl_slice_z(name), doc));
    pl_free(name);
    pl_free(whole);
    pl_buf_deinit(&key);
}

static void learn(struct pl_known *known, struct pl_bytes *from, int depth)
{
    uint64_t count;
    char type = depth < DEPTH ? pl_bytes_char(from) : '\0';
    switch (type) {
    case 'n':
        pl_bytes_take(from, sizeof(double));
        return;
    case 's':
    case 'j':
    case '?':
        pl_bytes_text(from);
        return;
    case 'd':
        pl_bytes_int(from);
        learn_object(known, pl_bytes_text(from));
        return;
    case 'a':
        for (count = pl_bytes_int(from); count > 0 && !from->bad; count--)
            learn(known, from, depth + 1);
        return;
    case 'b':
        pl_bytes_int(from);
        for (count = pl_bytes_int(from); count > 0 && !from->bad; count--)
            learn_object(known, pl_bytes_text(from));
        return;
    case 'e':
        for (count = pl_bytes_int(from); count > 0 && !from->bad; count--) {
            pl_bytes_text(from);
            learn(known, from, depth + 1);
        }
        return;
    default: /* the others are only a letter */
        from->bad = from->bad || type == '\0';
    }
}

void pl_known_learn_all(struct pl_known *known, struct pl_slice result)
{
    struct pl_bytes from = pl_bytes_of(result);
    for (uint64_t count = pl_bytes_int(&from); count > 0 && !from.bad; count--)
        learn(known, &from, 0);
}

char *pl_known_name(const struct pl_kind *kind, struct pl_slice key)
{
    char text[PL_KIND_TEXT];
    return name_of(pl_slice_z(pl_kind_text(kind, text)), key);
}

void pl_known_keep(struct pl_known *known, const struct pl_kind *kind, struct pl_slice key)
{
    char *name = pl_known_name(kind, key);
    pl_map_put(&known->kept, pl_slice_z(name), NULL);
    pl_free(name);
}

struct pl_doc *pl_known_get(const struct pl_known *known, const struct pl_kind *kind,
                            struct pl_slice key)
{
    char *name = pl_known_name(kind, key);
    struct pl_doc *doc = pl_map_get(&known->objects, pl_slice_z(name));
    pl_free(name);
    return doc;
}
