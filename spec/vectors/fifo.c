/* A queue that keeps only the newest object of each key. The product does not use one; the
 * scenarios about it need it. */
#include "driver.h"

#include "base/alloc.h"
#include "base/map.h"

struct fifo_item {
    struct pl_link link;
    char *key;
    struct pl_doc *doc;
};

struct fifo {
    struct pl_list order;
    struct pl_map items;
    bool populated;
    size_t first_left;
};

struct fifo *fifo_create(void)
{
    struct fifo *fifo = PL_NEW(struct fifo);
    pl_list_init(&fifo->order);
    return fifo;
}

static void drop(struct fifo *fifo, struct fifo_item *item)
{
    pl_map_remove(&fifo->items, pl_slice_z(item->key));
    pl_link_unlink(&item->link);
    pl_doc_unref(item->doc);
    pl_free(item->key);
    pl_free(item);
}

static void clear(struct fifo *fifo)
{
    struct pl_link *link;
    while ((link = pl_list_first(&fifo->order)) != NULL)
        drop(fifo, PL_CONTAINER_OF(link, struct fifo_item, link));
}

void fifo_destroy(struct fifo *fifo)
{
    if (fifo == NULL)
        return;
    clear(fifo);
    pl_map_deinit(&fifo->items);
    pl_free(fifo);
}

static void put(struct fifo *fifo, struct pl_slice key, struct pl_node obj)
{
    struct fifo_item *item = pl_map_get(&fifo->items, key);
    if (item == NULL) {
        item = PL_NEW(struct fifo_item);
        item->key = pl_memdup0(key.ptr, key.len);
        pl_map_put(&fifo->items, key, item);
        pl_list_push(&fifo->order, &item->link);
    }
    pl_doc_unref(item->doc);
    item->doc = doc_of(obj);
}

static bool replace(struct fifo *fifo, struct pl_node objs)
{
    for (size_t i = 0; i < pl_node_len(objs); i++) {
        struct pl_buf key = PL_BUF_INIT;
        int rc = key_of(pl_node_at(objs, i), true, &key);
        pl_buf_deinit(&key);
        if (rc != 0)
            return false;
    }
    clear(fifo);
    for (size_t i = 0; i < pl_node_len(objs); i++) {
        struct pl_buf key = PL_BUF_INIT;
        key_of(pl_node_at(objs, i), true, &key);
        put(fifo, pl_buf_slice(&key), pl_node_at(objs, i));
        pl_buf_deinit(&key);
    }
    if (!fifo->populated)
        fifo->first_left = fifo->items.count;
    fifo->populated = true;
    return true;
}

/* One of add, update and delete. */
static bool change(struct fifo *fifo, struct pl_node obj, bool is_delete)
{
    struct pl_buf key = PL_BUF_INIT;
    bool keyed = key_of(obj, true, &key) == 0;
    struct fifo_item *item = pl_map_get(&fifo->items, pl_buf_slice(&key));
    fifo->populated = fifo->populated || keyed;
    if (keyed && !is_delete)
        put(fifo, pl_buf_slice(&key), obj);
    else if (keyed && item != NULL)
        drop(fifo, item);
    pl_buf_deinit(&key);
    return keyed;
}

bool fifo_step(struct fifo *fifo, struct pl_slice op, struct pl_node step, struct pl_build *out)
{
    bool is_delete = pl_slice_eqz(op, "delete"), ok;
    if (is_delete || pl_slice_eqz(op, "add") || pl_slice_eqz(op, "update"))
        ok = change(fifo, pl_node_getz(step, "obj"), is_delete);
    else if (pl_slice_eqz(op, "replace"))
        ok = replace(fifo, pl_node_getz(step, "objs"));
    else
        return false;
    if (ok)
        pl_build_null(out);
    else
        put_error(out, "key");
    return true;
}

bool fifo_is_empty(const struct fifo *fifo)
{
    return pl_list_empty(&fifo->order);
}

bool fifo_has_synced(const struct fifo *fifo)
{
    return fifo->populated && fifo->first_left == 0;
}

void fifo_pop(struct fifo *fifo, struct pl_build *out)
{
    struct fifo_item *item = PL_CONTAINER_OF(pl_list_first(&fifo->order), struct fifo_item, link);
    put_member_str(out, "key", pl_slice_z(item->key));
    pl_build_keyz(out, "obj");
    put_doc(out, item->doc);
    pl_build_keyz(out, "initial");
    pl_build_bool(out, !fifo_has_synced(fifo));
    if (fifo->first_left > 0)
        fifo->first_left--;
    drop(fifo, item);
}
