/* Adds requests to a set: the object's own key, its owners' keys (those before and after an
 * update), or the result of a map function. Keys are texts in one buffer. This file knows no queue.
 */
#include "event/handler.h"

#include "base/alloc.h"
#include "store/workqueue.h"
#include "object/meta.h"

/* ---- requests ---- */

/* Up to this number comparing with each is cheaper than hashing. */
enum { FEW = 8 };

void pl_requests_deinit(struct pl_requests *requests)
{
    pl_buf_deinit(&requests->text);
    pl_free(requests->starts);
    pl_map_deinit(&requests->seen);
    *requests = (struct pl_requests){0};
}

void pl_requests_clear(struct pl_requests *requests)
{
    pl_buf_clear(&requests->text);
    pl_map_deinit(&requests->seen);
    requests->count = 0;
}

struct pl_slice pl_requests_key(const struct pl_requests *requests, size_t i)
{
    size_t start = requests->starts[i];
    return pl_slice(requests->text.ptr + start, requests->starts[i + 1] - 1 - start);
}

/* Names of Kubernetes contain no slash, so the first one ends the namespace. */
struct pl_request pl_requests_at(const struct pl_requests *requests, size_t i)
{
    struct pl_slice key = pl_requests_key(requests, i);
    const char *slash = pl_slice_chr(key, '/');
    if (slash == NULL)
        return (struct pl_request){.ns = pl_slice("", 0), .name = key};
    size_t ns_len = (size_t)(slash - key.ptr);
    return (struct pl_request){.ns = pl_slice(key.ptr, ns_len),
                               .name = pl_slice(slash + 1, key.len - ns_len - 1)};
}

static bool handler_is_known(const struct pl_requests *requests, struct pl_slice key)
{
    if (requests->count > FEW)
        return pl_map_has(&requests->seen, key);
    for (size_t i = 0; i < requests->count; i++)
        if (pl_slice_eq(pl_requests_key(requests, i), key))
            return true;
    return false;
}

/* starts has one element more than there are keys: the end of the last one. */
static void handler_make_room(struct pl_requests *requests)
{
    if (requests->count + 1 < requests->cap)
        return;
    requests->cap = requests->cap ? requests->cap * 2 : 4;
    requests->starts = pl_reallocarray(requests->starts, requests->cap, sizeof(*requests->starts));
}

/* Makes the text after the last key the next key. */
static void handler_keep(struct pl_requests *requests, size_t start)
{
    pl_buf_add_char(&requests->text, '\0');
    handler_make_room(requests);
    requests->starts[requests->count++] = start;
    requests->starts[requests->count] = requests->text.len;
    if (requests->count <= FEW)
        return;
    for (size_t i = 0; requests->count == FEW + 1 && i < FEW; i++)
        pl_map_put(&requests->seen, pl_requests_key(requests, i), NULL);
    pl_map_put(&requests->seen, pl_requests_key(requests, requests->count - 1), NULL);
}

int pl_requests_add(struct pl_requests *requests, struct pl_slice ns, struct pl_slice name)
{
    if (requests->count >= PL_REQUESTS_MAX)
        return PL_ELIMIT;
    size_t start = requests->text.len;
    pl_key_add(&requests->text, ns, name);
    struct pl_slice key = pl_slice(pl_buf_z(&requests->text) + start, requests->text.len - start);
    if (handler_is_known(requests, key))
        requests->text.len = start;
    else
        handler_keep(requests, start);
    return 0;
}

/* ---- handlers ---- */

static void add_self(const struct pl_event *event, struct pl_requests *out)
{
    struct pl_node object = pl_doc_root(event->object != NULL ? event->object : event->old);
    struct pl_scratch ns_room, name_room;
    struct pl_slice name = pl_meta_name(object, &name_room);
    if (name.len != 0)
        pl_requests_add(out, pl_meta_namespace(object, &ns_room), name);
}

/* An invalid apiVersion matches nothing; references after it still count. client-go differs here
 * (rule 135). */
static void add_if_owner(const struct pl_handler *handler, struct pl_node object,
                         const struct pl_owner *owner, struct pl_requests *out)
{
    struct pl_kind kind;
    struct pl_scratch ns_room;
    if (pl_kind_from(owner->api_version, owner->kind, &kind, NULL) != 0 ||
        !pl_kind_eq_group(&kind, &handler->owner) || owner->name.len == 0)
        return;
    struct pl_slice ns =
        handler->owner_cluster_scoped ? pl_slice("", 0) : pl_meta_namespace(object, &ns_room);
    pl_requests_add(out, ns, owner->name);
}

static void add_owners(const struct pl_handler *handler, struct pl_doc *doc,
                       struct pl_requests *out)
{
    struct pl_node object = pl_doc_root(doc);
    struct pl_owner owner;
    if (!handler->every_owner) {
        if (pl_meta_controller(object, &owner))
            add_if_owner(handler, object, &owner, out);
        return;
    }
    for (size_t i = 0; pl_meta_owner(object, i, &owner); i++)
        add_if_owner(handler, object, &owner, out);
}

bool pl_handler_requests(const struct pl_handler *handler, const struct pl_event *event,
                         struct pl_requests *out)
{
    switch (handler->by) {
    case PL_MAP_SELF:
        add_self(event, out);
        return true;
    case PL_MAP_OWNER:
        add_owners(handler, event->old, out); /* owners before and after (rule 136) */
        add_owners(handler, event->object, out);
        return true;
    case PL_MAP_EXTERNAL:
        break;
    }
    return false;
}

int pl_event_priority(const struct pl_event *event)
{
    if (event->type == PL_EVENT_CREATE)
        return event->initial ? PL_PRIORITY_LOW : 0;
    if (event->type != PL_EVENT_UPDATE || event->old == NULL || event->object == NULL)
        return 0;
    return pl_meta_same_rv(pl_doc_root(event->old), pl_doc_root(event->object)) ? PL_PRIORITY_LOW
                                                                                : 0;
}
