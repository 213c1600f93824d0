/* Authorization by the stored Roles, ClusterRoles and bindings. */
#pragma once

#include "apicall/core.h"
#include "apicall/user.h"

/* True if the user is in that group. */
bool pl_api_user_is_in(const struct pl_api_user *user, struct pl_slice group);

/* The attributes of an access. Borrowed texts. */
struct pl_api_attributes {
    struct pl_slice verb;
    bool is_resource;
    struct pl_slice path; /* for paths that are not resources */
    struct pl_slice group, resource, subresource, ns, name;
};

/* The attributes of the request. */
struct pl_api_attributes pl_api_attributes_of(struct pl_api_ctx *ctx);
/* reason (or NULL) is set to why access is allowed, or why rules could not be read; in the
 * request's arena. */
bool pl_api_rbac_allows(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                        const struct pl_api_attributes *asked, struct pl_slice *reason);
/* All rules of the user in the namespace ("": cluster-wide rules), as an array. In the request's
 * arena. */
struct pl_tree *pl_api_rbac_rules(struct pl_api_ctx *ctx, const struct pl_api_user *user,
                                  struct pl_slice ns);
/* 403 in kube-apiserver's words. */
int pl_api_fail_forbidden(struct pl_api_ctx *ctx, const struct pl_api_attributes *asked,
                          struct pl_slice reason);
/* Checks that the request's user may do what it requests. -1 and 403 if not. */
int pl_api_authorize(struct pl_api_ctx *ctx);
/* The same for another verb on the same object, for example for a patch that creates. */
int pl_api_authorize_verb(struct pl_api_ctx *ctx, const char *verb);

/* The rules of a role (a copy; aggregated if the role says so). NULL if it does not exist. In the
 * request's arena. */
struct pl_tree *pl_api_rbac_role(struct pl_api_ctx *ctx, struct pl_slice ns, struct pl_slice kind,
                                 struct pl_slice name);

/* ---- rbac_escalation.c ---- */

/* Prevents privilege escalation: -1 and 403 if the written Role, ClusterRole or binding gives
 * rights that the request's user lacks. old: NULL for a new object. */
int pl_api_rbac_check_write(struct pl_api_ctx *ctx, const struct pl_tree *object,
                            const struct pl_tree *old);
