/* Maps kinds to resources. A group-version is requested when one of its kinds is needed for the
 * first time, and again when a kind is unknown or doubted. Concurrent callers share one request.
 *
 * A kind that stays unknown is requested at most every two seconds, however many callers need it.
 * Suggestions ("did you mean") cost a request for each group, at most once a minute and for 300
 * groups. No answer comes inside the call, and a failed request does not prove that a kind does not
 * exist. */
#include "kube/discovery.h"

#include "base/alloc.h"
#include "base/map.h"
#include "kube/api_group.h"
#include "kube/client_impl.h"

#define REFRESH_NS (2 * PL_SECOND)  /* interval of requests for a kind that stays unknown */
#define SEARCH_NS  (5 * PL_SECOND)  /* interval of searches for suggestions */
#define BELIEVE_NS (60 * PL_SECOND) /* age at which a group is requested again for suggestions */
#define MAX_GROUPS 300

/* A caller that waits for a resource. */
struct find {
    struct pl_link link; /* in discovery->finds */
    struct pl_discovery *discovery;
    struct pl_kind kind;
    struct pl_api_group *group; /* borrowed from the discovery */
    enum { FIND_GROUP, FIND_SEARCH, FIND_ANSWER } awaits;
    struct pl_timer timer; /* FIND_ANSWER */
    const struct pl_resource *resource;
    struct pl_err err;
    pl_resource_fn on_resource;
    void *arg;
};

/* A request under way. It outlives a discovery that is destroyed meanwhile. */
struct pl_api_fetch {
    struct pl_link link;            /* in discovery->fetches */
    struct pl_discovery *discovery; /* NULL: no discovery waits for it any more */
    struct pl_api_group *group;     /* NULL: the request for the list of groups */
    struct pl_op *op;
};

struct pl_discovery {
    struct pl_client *client; /* borrowed */
    struct pl_map groups;     /* "apps/v1" -> struct pl_api_group, owned */
    struct pl_list finds, fetches;
    struct pl_api_resources resources;
    bool searching;
    size_t search_left;  /* fetches that the search still waits for */
    int64_t searched_ns; /* end of the last search; INT64_MIN: never */
};

static int64_t now_ns(const struct pl_discovery *d)
{
    return pl_client_now(d->client);
}

struct pl_discovery *pl_discovery_create(struct pl_client *client)
{
    struct pl_discovery *d = PL_NEW(struct pl_discovery);
    d->client = client;
    d->searched_ns = INT64_MIN;
    pl_list_init(&d->finds);
    pl_list_init(&d->fetches);
    return d;
}

static void free_find(struct find *find)
{
    pl_timer_stop(find->discovery->client->timers, &find->timer);
    pl_link_unlink(&find->link);
    pl_free(find);
}

void pl_discovery_destroy(struct pl_discovery *d)
{
    struct pl_link *link;
    size_t at = 0;
    struct pl_slice key;
    void *group;
    if (d == NULL)
        return;
    while ((link = pl_list_first(&d->finds)) != NULL)
        free_find(PL_CONTAINER_OF(link, struct find, link));
    while ((link = pl_list_pop(&d->fetches)) != NULL) {
        struct pl_api_fetch *fetch = PL_CONTAINER_OF(link, struct pl_api_fetch, link);
        fetch->discovery = NULL;
        pl_op_cancel(fetch->op);
    }
    while (pl_map_next(&d->groups, &at, &key, &group))
        pl_api_group_destroy(group);
    pl_map_deinit(&d->groups);
    pl_api_resources_deinit(&d->resources);
    pl_free(d);
}

/* ---- answers ---- */

static void on_answer_due(struct pl_timer *timer)
{
    struct find *find = PL_CONTAINER_OF(timer, struct find, timer);
    pl_link_unlink(&find->link);
    find->on_resource(find->arg, find->resource, find->resource ? NULL : &find->err);
    pl_free(find);
}

static void discovery_answer(struct find *find)
{
    find->awaits = FIND_ANSWER;
    pl_timer_start(find->discovery->client->timers, &find->timer, 0, on_answer_due);
}

static void answer_not_found(struct find *find)
{
    pl_api_not_found(&find->err, &find->kind, &find->discovery->groups);
    discovery_answer(find);
}

/* The known resource of its group, unless the group is doubted. */
static const struct pl_resource *find_known(const struct find *find)
{
    const struct pl_api_group *group = find->group;
    return group->stale ? NULL : pl_map_get(&group->kinds, pl_slice_z(find->kind.kind));
}

/* ---- requests ---- */

static void on_groups(struct pl_discovery *d, const struct pl_answer *got);
static void on_group(struct pl_api_group *group, struct pl_discovery *d,
                     const struct pl_answer *got);

static void on_fetched(void *arg, const struct pl_answer *got)
{
    struct pl_api_fetch *fetch = arg;
    struct pl_discovery *d = fetch->discovery;
    struct pl_api_group *group = fetch->group;
    pl_link_unlink(&fetch->link);
    pl_free(fetch);
    if (d == NULL)
        return;
    if (group != NULL)
        on_group(group, d, got);
    else
        on_groups(d, got);
}

static struct pl_api_fetch *fetch_path(struct pl_discovery *d, const char *path,
                                       struct pl_api_group *group)
{
    struct pl_api_fetch *fetch = PL_NEW(struct pl_api_fetch);
    fetch->discovery = d;
    fetch->group = group;
    pl_list_push(&d->fetches, &fetch->link);
    struct pl_call call = {
        .verb = PL_VERB_GET,
        .raw_path = pl_slice_z(path),
        .grace_period = -1,
    };
    fetch->op = pl_client_start(d->client, &call, on_fetched, fetch);
    return fetch;
}

static void fetch_group(struct pl_discovery *d, struct pl_api_group *group)
{
    if (group->fetch != NULL)
        return;
    struct pl_buf path = PL_BUF_INIT;
    bool core = strchr(group->name, '/') == NULL;
    pl_buf_add_f(&path, "%s/%s", core ? "/api" : "/apis", group->name);
    group->fetch = fetch_path(d, pl_buf_z(&path), group);
    pl_buf_deinit(&path);
}

static struct pl_api_group *discovery_group_of(struct pl_discovery *d, struct pl_slice name)
{
    struct pl_api_group *group = pl_map_get(&d->groups, name);
    if (group == NULL) {
        group = pl_api_group_create(name);
        pl_map_put(&d->groups, name, group);
    }
    return group;
}

/* ---- looking for suggestions ---- */

static void end_search(struct pl_discovery *d)
{
    d->searching = false;
    d->searched_ns = now_ns(d);
    PL_LIST_FOR (link, &d->finds) {
        struct find *find = PL_CONTAINER_OF(link, struct find, link);
        if (find->awaits != FIND_SEARCH)
            continue;
        /* The search may have found a resource that was created meanwhile. */
        find->resource = find_known(find);
        if (find->resource != NULL)
            discovery_answer(find);
        else
            answer_not_found(find);
    }
}

static void search_step(struct pl_discovery *d)
{
    if (d->searching && --d->search_left == 0)
        end_search(d);
}

static void search_group(struct pl_discovery *d, struct pl_slice name)
{
    struct pl_api_group *group = discovery_group_of(d, name);
    group->exists = true;
    bool known = group->state == PL_API_GROUP_LOADED && !group->stale && group->fetch == NULL &&
                 now_ns(d) - group->asked_ns < BELIEVE_NS;
    if (group->searched || known)
        return;
    group->searched = true;
    d->search_left++;
    fetch_group(d, group);
}

/* Groups that are gone serve nothing more: they are requested again before they are used. */
static void note_groups(struct pl_discovery *d, struct pl_node groups)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&d->groups, &at, &key, &value))
        ((struct pl_api_group *)value)->exists = false;
    struct pl_iter it = pl_iter(groups);
    while (pl_iter_next(&it)) {
        struct pl_iter versions = pl_iter(pl_node_getz(it.value, "versions"));
        while (pl_iter_next(&versions)) {
            struct pl_scratch scratch;
            struct pl_api_group *group = pl_map_get(
                &d->groups, pl_node_str(pl_node_getz(versions.value, "groupVersion"), &scratch));
            if (group != NULL)
                group->exists = true;
        }
    }
}

static void doubt_missing_groups(struct pl_discovery *d)
{
    size_t at = 0;
    struct pl_slice key;
    void *value;
    while (pl_map_next(&d->groups, &at, &key, &value)) {
        struct pl_api_group *group = value;
        if (!group->exists && group->state == PL_API_GROUP_LOADED)
            group->stale = true;
    }
}

/* The list of groups has arrived: requests each group's preferred version. */
static void on_groups(struct pl_discovery *d, const struct pl_answer *got)
{
    size_t count = 0;
    if (got->err == NULL) {
        struct pl_iter it = pl_iter(pl_node_getz(pl_doc_root(got->doc), "groups"));
        note_groups(d, pl_node_getz(pl_doc_root(got->doc), "groups"));
        search_group(d, pl_slice_z("v1"));
        while (pl_iter_next(&it) && count++ < MAX_GROUPS) {
            struct pl_scratch scratch;
            struct pl_slice name =
                pl_node_str(pl_node_dig(it.value, "preferredVersion", "groupVersion"), &scratch);
            if (pl_api_group_name_is_valid(name))
                search_group(d, name);
        }
        doubt_missing_groups(d);
    }
    search_step(d);
}

static void await_search(struct find *find)
{
    struct pl_discovery *d = find->discovery;
    if (!d->searching && d->searched_ns != INT64_MIN && now_ns(d) - d->searched_ns < SEARCH_NS) {
        answer_not_found(find);
        return;
    }
    find->awaits = FIND_SEARCH;
    if (d->searching)
        return;
    d->searching = true;
    d->search_left = 1;
    fetch_path(d, "/apis", NULL);
}

/* ---- one group ---- */

static void discovery_resolve(struct find *find)
{
    struct pl_api_group *group = find->group;
    find->resource = pl_map_get(&group->kinds, pl_slice_z(find->kind.kind));
    if (find->resource != NULL) {
        discovery_answer(find);
    } else if (group->state == PL_API_GROUP_FAILED) {
        find->err = group->err;
        pl_err_prefix(&find->err, "discovery of %s", group->name);
        discovery_answer(find);
    } else {
        await_search(find);
    }
}

static void on_group(struct pl_api_group *group, struct pl_discovery *d,
                     const struct pl_answer *got)
{
    bool searched = group->searched;
    group->fetch = NULL;
    group->searched = false;
    group->asked_ns = now_ns(d);
    if (got->err == NULL)
        pl_api_group_load(group, &d->resources, pl_doc_root(got->doc));
    else
        pl_api_group_fail(group, got->err);
    PL_LIST_FOR (link, &d->finds) {
        struct find *find = PL_CONTAINER_OF(link, struct find, link);
        if (find->group == group && find->awaits == FIND_GROUP)
            discovery_resolve(find);
    }
    if (searched)
        search_step(d);
}

/* ---- public functions ---- */

void pl_discovery_find(struct pl_discovery *d, const struct pl_kind *kind,
                       pl_resource_fn on_resource, void *arg)
{
    char name[PL_KIND_TEXT];
    pl_kind_api_version(kind, name);
    struct find *find = PL_NEW(struct find);
    find->discovery = d;
    find->kind = *kind;
    find->group = discovery_group_of(d, pl_slice_z(name));
    find->on_resource = on_resource;
    find->arg = arg;
    pl_list_push(&d->finds, &find->link);
    struct pl_api_group *group = find->group;
    find->resource = find_known(find);
    bool recent = group->state != PL_API_GROUP_NEW && group->state != PL_API_GROUP_FAILED &&
                  now_ns(d) - group->asked_ns < REFRESH_NS;
    if (find->resource != NULL) {
        discovery_answer(find);
    } else if (recent && group->fetch == NULL) {
        discovery_resolve(find);
    } else {
        find->awaits = FIND_GROUP;
        fetch_group(d, group);
    }
}

void pl_discovery_forget(struct pl_discovery *d, void *arg)
{
    PL_LIST_FOR (link, &d->finds) {
        struct find *find = PL_CONTAINER_OF(link, struct find, link);
        if (find->arg == arg)
            free_find(find);
    }
}

const struct pl_resource *pl_discovery_known(struct pl_discovery *d, const struct pl_kind *kind)
{
    char name[PL_KIND_TEXT];
    struct pl_api_group *group =
        pl_map_get(&d->groups, pl_slice_z(pl_kind_api_version(kind, name)));
    return group != NULL ? pl_map_get(&group->kinds, pl_slice_z(kind->kind)) : NULL;
}

void pl_discovery_doubt(struct pl_discovery *d, const struct pl_kind *kind)
{
    char name[PL_KIND_TEXT];
    struct pl_api_group *group =
        pl_map_get(&d->groups, pl_slice_z(pl_kind_api_version(kind, name)));
    if (group != NULL)
        group->stale = true;
}
