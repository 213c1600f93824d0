/* Keys of paused objects. At its turn such a key is parked here, with a wait in the registry, and
 * not run. An event that brings its object without the annotation, being deleted or gone puts it
 * back into the queue. Its causes are kept meanwhile. */
#include "control/controller_impl.h"

#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

bool pl_controller_is_paused(struct pl_controller *c, struct pl_slice key)
{
    struct pl_doc *object = pl_controller_for_object(c, key);
    bool paused = object != NULL && pl_object_is_paused(pl_doc_root(object));
    pl_doc_unref(object);
    return paused;
}

static void free_parked(struct pl_parked *parked)
{
    pl_wait_end(&parked->wait);
    pl_free(parked->key);
    pl_free(parked);
}

static void parked_park(struct pl_controller *c, struct pl_slice key, int priority)
{
    struct pl_parked *parked = pl_map_get(&c->parked, key);
    if (parked == NULL) {
        parked = PL_NEW(struct pl_parked);
        parked->key = pl_format("%s %.*s", c->name, PL_FMT(key));
        parked->priority = priority;
        pl_map_put(&c->parked, key, parked);
        if (pl_site_waits(c->site) != NULL)
            pl_wait_begin_open(pl_site_waits(c->site), &parked->wait, "paused", parked->key,
                               "until it is resumed or deleted");
        pl_log(PL_LOG_INFO, "paused: not reconciled", pl_str("controller", c->name),
               pl_strn("key", key));
        pl_controller_note(c, key, PL_HAPPENED_PARKED, 0, "its For object is paused");
    }
    if (parked->priority < priority)
        parked->priority = priority;
}

bool pl_controller_park(struct pl_controller *c, const struct pl_item *item)
{
    if (!pl_controller_is_paused(c, item->key))
        return false;
    parked_park(c, item->key, item->priority);
    pl_workqueue_done(c->queue, item->key, pl_controller_now(c));
    return true;
}

void pl_controller_unpark(struct pl_controller *c, struct pl_slice key)
{
    struct pl_parked *parked = pl_map_remove(&c->parked, key);
    if (parked == NULL)
        return;
    struct pl_add how = {.priority = parked->priority};
    free_parked(parked);
    pl_workqueue_add(c->queue, key, &how, pl_controller_now(c));
    pl_controller_drive(c);
}

void pl_controller_drop_parked(struct pl_controller *c, struct pl_slice key)
{
    struct pl_parked *parked = pl_map_remove(&c->parked, key);
    if (parked != NULL)
        free_parked(parked);
}

void pl_controller_check_parked(struct pl_controller *c)
{
    struct pl_list resumed;
    pl_list_init(&resumed);
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&c->parked, &at, &key, &value)) {
        struct pl_parked *parked = value;
        if (!pl_controller_is_paused(c, key))
            pl_list_push(&resumed, &parked->resumed);
    }
    PL_LIST_FOR (link, &resumed) {
        struct pl_parked *parked = PL_CONTAINER_OF(link, struct pl_parked, resumed);
        pl_link_unlink(link);
        char *own = pl_strdup(parked->key + strlen(c->name) + 1);
        pl_controller_unpark(c, pl_slice_z(own));
        pl_free(own);
    }
}

void pl_controller_free_parked(struct pl_controller *c)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&c->parked, &at, &key, &value))
        free_parked(value);
    pl_map_deinit(&c->parked);
}
