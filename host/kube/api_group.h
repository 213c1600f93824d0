/* Private to kube: the resources of one group-version, read from its APIResourceList, and the
 * message for a kind that no group serves. Pure. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "kube/resource.h"

/* All resources that were ever found. Pointers to them stay valid, and equal resources are the same
 * pointer. */
struct pl_api_resources {
    struct pl_api_resource *first; /* owned list */
    size_t count;
};
void pl_api_resources_deinit(struct pl_api_resources *all);

enum pl_api_group_state {
    PL_API_GROUP_NEW,
    PL_API_GROUP_LOADED,
    PL_API_GROUP_MISSING, /* the server said 404 */
    PL_API_GROUP_FAILED,  /* see err; the former knowledge stays */
};

struct pl_api_group {
    char *name; /* "apps/v1", "v1" */
    enum pl_api_group_state state;
    struct pl_map kinds; /* "Deployment" -> const struct pl_resource, borrowed */
    struct pl_err err;
    int64_t asked_ns;           /* time of the last answer */
    bool exists;                /* the list of groups names it */
    bool searched;              /* a search for suggestions waits for it */
    bool stale;                 /* must be asked again before it is used */
    struct pl_api_fetch *fetch; /* set by the discovery: a request is under way */
};

/* An empty group with a copy of the name. The caller owns it. */
struct pl_api_group *pl_api_group_create(struct pl_slice name);
void pl_api_group_destroy(struct pl_api_group *group);
/* "apps/v1" or "v1", of a reasonable length. */
bool pl_api_group_name_is_valid(struct pl_slice name);

void pl_api_group_load(struct pl_api_group *group, struct pl_api_resources *all,
                       struct pl_node list);
void pl_api_group_fail(struct pl_api_group *group, const struct pl_err *err);

/* Sets ENOTFOUND; the message names the groups that serve the kind, or the nearest kind. groups: of
 * struct pl_api_group by name. */
void pl_api_not_found(struct pl_err *err, const struct pl_kind *kind, const struct pl_map *groups);
