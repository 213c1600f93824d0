/* A list of writes by key, oldest first, each with the version that the server assigned. A write
 * stays until the watch brings that version or a newer one, or the object's deletion. Versions are
 * compared only if both are numbers (see pl_rv_is_at_most). */
#include "sync/own_write.h"

#include "base/alloc.h"
#include "object/meta.h"

#include <string.h>

bool pl_rv_is_at_most(struct pl_slice a, struct pl_slice b)
{
    return pl_rv_is_valid(a) && pl_rv_is_valid(b) && pl_rv_compare(a, b) <= 0;
}

static void own_write_drop(struct pl_own_writes *writes, struct pl_own_write *write)
{
    pl_map_remove(&writes->by_key, pl_slice_z(write->key));
    pl_link_unlink(&write->link);
    pl_free(write->key);
    pl_free(write->uid);
    pl_free(write->rv);
    pl_doc_unref(write->doc);
    pl_free(write);
}

void pl_own_writes_init(struct pl_own_writes *writes)
{
    *writes = (struct pl_own_writes){0};
    pl_list_init(&writes->by_age);
}

void pl_own_writes_deinit(struct pl_own_writes *writes)
{
    PL_LIST_FOR (link, &writes->by_age)
        own_write_drop(writes, PL_CONTAINER_OF(link, struct pl_own_write, link));
    pl_map_deinit(&writes->by_key);
}

void pl_own_writes_forget(struct pl_own_writes *writes, struct pl_slice key)
{
    struct pl_own_write *write = pl_map_get(&writes->by_key, key);
    if (write != NULL)
        own_write_drop(writes, write);
}

void pl_own_writes_note(struct pl_own_writes *writes, const struct pl_own_write *noted)
{
    pl_own_writes_forget(writes, pl_slice_z(noted->key));
    struct pl_own_write *write = PL_NEW(struct pl_own_write);
    write->key = pl_strdup(noted->key);
    write->uid = pl_strdup(noted->uid);
    write->rv = pl_strdup(noted->rv);
    write->doc = pl_doc_ref(noted->doc);
    write->deleted = noted->deleted;
    write->since_ns = noted->since_ns;
    pl_map_put(&writes->by_key, pl_slice_z(write->key), write);
    pl_list_push(&writes->by_age, &write->link);
}

const struct pl_own_write *pl_own_writes_find(const struct pl_own_writes *writes,
                                              struct pl_slice key)
{
    return pl_map_get(&writes->by_key, key);
}

const struct pl_own_write *pl_own_writes_oldest(const struct pl_own_writes *writes)
{
    struct pl_link *link = pl_list_first(&writes->by_age);
    return link != NULL ? PL_CONTAINER_OF(link, struct pl_own_write, link) : NULL;
}

void pl_own_writes_postpone(struct pl_own_writes *writes, const struct pl_own_write *oldest,
                            int64_t now_ns)
{
    struct pl_own_write *write = pl_map_get(&writes->by_key, pl_slice_z(oldest->key));
    write->since_ns = now_ns;
    pl_link_unlink(&write->link);
    pl_list_push(&writes->by_age, &write->link);
}

bool pl_own_writes_is_news(struct pl_own_writes *writes, struct pl_slice key, struct pl_slice uid,
                           struct pl_slice rv, bool deletion)
{
    struct pl_own_write *write = pl_map_get(&writes->by_key, key);
    if (write == NULL)
        return true;
    struct pl_slice written = pl_slice_z(write->rv);
    bool same_object = pl_slice_eqz(uid, write->uid);
    /* The deletion of the object is news whatever its version: some servers send the version of the
     * last change. Other events of an object that we deleted precede its deletion. */
    bool news = deletion && same_object;
    if (!news && write->deleted)
        news = !same_object && !pl_rv_is_at_most(rv, written);
    else if (!news)
        news = !deletion && !pl_rv_is_at_most(rv, written);
    bool echo = !write->deleted && same_object && pl_slice_eq(rv, written);
    if (news || echo)
        own_write_drop(writes, write);
    else
        write->suppressed = true;
    return news;
}

static bool is_in(const char *key, const char *ns)
{
    if (ns == NULL)
        return true;
    size_t len = strlen(ns);
    return strncmp(key, ns, len) == 0 && key[len] == '/';
}

void pl_own_writes_confirm(struct pl_own_writes *writes, const char *ns, struct pl_slice rv)
{
    PL_LIST_FOR (link, &writes->by_age) {
        struct pl_own_write *write = PL_CONTAINER_OF(link, struct pl_own_write, link);
        if (!write->deleted && is_in(write->key, ns) && pl_rv_is_at_most(pl_slice_z(write->rv), rv))
            own_write_drop(writes, write);
    }
}
