/* The authorizer: authorizer.group('apps').resource('deployments').check('create').allowed().
 *
 * Each step copies the check and sets one field of the copy, so values never change. Only `check`
 * asks for a decision (authz.h), and its cost is so high that an expression can afford only two. */
#include "cel/authz.h"
#include "cel/function.h"

#include <string.h>

static struct pl_cel check_value(struct pl_arena *arena, enum pl_cel_kind kind,
                                 const struct pl_cel_check *check)
{
    struct pl_cel_check *copy = pl_arena_alloc(arena, sizeof *copy);
    *copy = *check;
    return (struct pl_cel){.kind = kind, .check = copy};
}

struct pl_cel pl_cel_authorizer_value(struct pl_arena *arena, const struct pl_cel_authorizer *by)
{
    return check_value(arena, PL_CEL_AUTHORIZER, &(struct pl_cel_check){.by = by});
}

struct pl_cel pl_cel_resource_check_value(struct pl_arena *arena, const struct pl_cel_check *check)
{
    return check_value(arena, PL_CEL_RESOURCE_CHECK, check);
}

static bool is_blank(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(" \t\n\v\f\r", text.ptr[i]) == NULL)
            return false;
    return true;
}

static struct pl_cel to_account(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_check check = {
        .by = args[0].check->by, .account_ns = args[1].s, .account = args[2].s};
    if (!pl_cel_is_format(eval, "dns1123Subdomain", args[2].s))
        return pl_cel_fail(eval->arena, "Invalid service account name");
    if (!pl_cel_is_format(eval, "dns1123Label", args[1].s))
        return pl_cel_fail(eval->arena, "Invalid service account namespace");
    return check_value(eval->arena, PL_CEL_AUTHORIZER, &check);
}

/* A step that sets one member. empty: the error for a blank text; NULL: any text is accepted. */
#define STEP(fn_name, member, result, empty)                                                       \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(n);                                                                              \
        const char *error = empty;                                                                 \
        struct pl_cel_check check = *args[0].check;                                                \
        if (error != NULL && is_blank(args[1].s))                                                  \
            return pl_cel_fail(eval->arena, "%s", error);                                          \
        check.member = args[1].s;                                                                  \
        return check_value(eval->arena, result, &check);                                           \
    }

STEP(to_path, path, PL_CEL_PATH_CHECK, "path must not be empty")
STEP(to_group, group, PL_CEL_GROUP_CHECK, NULL)
STEP(to_resource, resource, PL_CEL_RESOURCE_CHECK, "resource must not be empty")
STEP(with_subresource, subresource, PL_CEL_RESOURCE_CHECK, NULL)
STEP(with_namespace, ns, PL_CEL_RESOURCE_CHECK, NULL)
STEP(with_name, name, PL_CEL_RESOURCE_CHECK, NULL)
STEP(with_fields, field_selector, PL_CEL_RESOURCE_CHECK, NULL)
STEP(with_labels, label_selector, PL_CEL_RESOURCE_CHECK, NULL)

static struct pl_cel decide(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_authorizer *by = args[0].check->by;
    struct pl_cel_decision *decision = pl_arena_alloc(eval->arena, sizeof *decision);
    *decision = by->decide(by->arg, args[0].check, args[1].s);
    return (struct pl_cel){.kind = PL_CEL_DECISION, .decision = decision};
}

PL_CEL_GETTER(allowed, pl_cel_bool(args[0].decision->allowed))
PL_CEL_GETTER(lib_authz_reason, pl_cel_string(args[0].decision->reason))
PL_CEL_GETTER(errored, pl_cel_bool(args[0].decision->error.len > 0))
PL_CEL_GETTER(lib_authz_error, pl_cel_string(args[0].decision->error))

#define MEMBER_COST(name, signature, cost, fn)                                                     \
    PL_CEL_ROW(name, signature, true, cost, PL_CEL_SIZE_NONE, fn)

const struct pl_cel_function pl_cel_authz_functions[] = {
    PL_CEL_MEMBER("path", "Zs:P", to_path),
    PL_CEL_MEMBER("group", "Zs:G", to_group),
    PL_CEL_MEMBER("serviceAccount", "Zss:Z", to_account),
    PL_CEL_MEMBER("resource", "Gs:R", to_resource),
    PL_CEL_MEMBER("subresource", "Rs:R", with_subresource),
    PL_CEL_MEMBER("namespace", "Rs:R", with_namespace),
    PL_CEL_MEMBER("name", "Rs:R", with_name),
    MEMBER_COST("fieldSelector", "Rs:R", PL_CEL_COST_LAST, with_fields),
    MEMBER_COST("labelSelector", "Rs:R", PL_CEL_COST_LAST, with_labels),
    MEMBER_COST("check", "Ps:E", PL_CEL_COST_CHECK, decide),
    MEMBER_COST("check", "Rs:E", PL_CEL_COST_CHECK, decide),
    PL_CEL_MEMBER("allowed", "E:b", allowed),
    PL_CEL_MEMBER("reason", "E:s", lib_authz_reason),
    PL_CEL_MEMBER("errored", "E:b", errored),
    PL_CEL_MEMBER("error", "E:s", lib_authz_error),
    {0},
};
