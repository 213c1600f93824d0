/* Whether a user may do something, by the Roles, ClusterRoles and bindings that are stored. */
#pragma once

#include "apicall/core.h"
#include "apicall/user.h"

/* Is the user in that group? */
bool pl_api_user_is_in(const struct pl_api_user *user, struct pl_slice group);

/* What somebody wants to do. Borrowed texts. */
struct pl_api_attributes {
    struct pl_slice verb;
    bool is_resource;
    struct pl_slice path; /* when it is no resource */
    struct pl_slice group, resource, subresource, ns, name;
};

/* Of the request. */
struct pl_api_attributes pl_api_attributes_of(struct pl_api_ctx *ctx);
/* reason (or NULL) becomes why, or why not where rules could not be read; in the request's arena.
 */
bool pl_api_rbac_allows(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                        const struct pl_api_attributes *asked, struct pl_slice *reason);
/* Every rule that the user has in the namespace ("": those of the whole cluster): an array. */
struct pl_tree *pl_api_rbac_rules(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                                  struct pl_slice ns);
/* 403 in kube-apiserver's words. */
int pl_api_fail_forbidden(struct pl_api_ctx *ctx, const struct pl_api_attributes *asked,
                          struct pl_slice reason);
/* May the request's user do what it asks for? -1 and 403 when not. */
int pl_api_authorize(struct pl_api_ctx *ctx);
/* The same for another verb of the same object, as of a patch that creates. */
int pl_api_authorize_verb(struct pl_api_ctx *ctx, const char *verb);

/* The rules of a role (a copy; aggregated where the role says so); NULL when there is none. */
struct pl_tree *pl_api_rbac_role(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_slice kind,
                                 struct pl_slice name);

/* ---- rbac_escalation.c ---- */

/* Nobody gives what he has not: -1 and 403 when the Role, ClusterRole or binding that is written
 * gives rights that the request's user lacks. old: NULL for a new object. */
int pl_api_rbac_check_write(struct pl_api_ctx *ctx, const struct pl_tree *object,
                            const struct pl_tree *old);
