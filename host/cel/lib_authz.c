/* The authorizer: authorizer.group('apps').resource('deployments').check('create').allowed().
 *
 * Each step copies the check and adds one thing to it, so no value changes once it is made. Only
 * `check` asks somebody (authz.h), and it costs so much that an expression can do it twice. */
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

static struct pl_cel to_path(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_check check = *args[0].check;
    if (is_blank(args[1].s))
        return pl_cel_fail(eval->arena, "path must not be empty");
    check.path = args[1].s;
    return check_value(eval->arena, PL_CEL_PATH_CHECK, &check);
}

static struct pl_cel to_resource(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_check check = *args[0].check;
    if (is_blank(args[1].s))
        return pl_cel_fail(eval->arena, "resource must not be empty");
    check.resource = args[1].s;
    return check_value(eval->arena, PL_CEL_RESOURCE_CHECK, &check);
}

static struct pl_cel to_account(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_cel_check check = {
        .by = args[0].check->by, .account_ns = args[1].s, .account = args[2].s};
    if (!pl_cel_is_format("dns1123Subdomain", args[2].s))
        return pl_cel_fail(eval->arena, "Invalid service account name");
    if (!pl_cel_is_format("dns1123Label", args[1].s))
        return pl_cel_fail(eval->arena, "Invalid service account namespace");
    return check_value(eval->arena, PL_CEL_AUTHORIZER, &check);
}

/* A step that takes any text. */
#define STEP(fn_name, member, result)                                                              \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(n);                                                                              \
        struct pl_cel_check check = *args[0].check;                                                \
        check.member = args[1].s;                                                                  \
        return check_value(eval->arena, result, &check);                                           \
    }

STEP(to_group, group, PL_CEL_GROUP_CHECK)
STEP(with_subresource, subresource, PL_CEL_RESOURCE_CHECK)
STEP(with_namespace, ns, PL_CEL_RESOURCE_CHECK)
STEP(with_name, name, PL_CEL_RESOURCE_CHECK)
STEP(with_fields, field_selector, PL_CEL_RESOURCE_CHECK)
STEP(with_labels, label_selector, PL_CEL_RESOURCE_CHECK)

static struct pl_cel decide(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    const struct pl_cel_authorizer *by = args[0].check->by;
    struct pl_cel_decision *decision = pl_arena_alloc(eval->arena, sizeof *decision);
    *decision = by->decide(by->arg, args[0].check, args[1].s);
    return (struct pl_cel){.kind = PL_CEL_DECISION, .decision = decision};
}

#define GETTER(fn_name, expression)                                                                \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        return expression;                                                                         \
    }

GETTER(allowed, pl_cel_bool(args[0].decision->allowed))
GETTER(lib_authz_reason, pl_cel_string(args[0].decision->reason))
GETTER(errored, pl_cel_bool(args[0].decision->error.len > 0))
GETTER(lib_authz_error, pl_cel_string(args[0].decision->error))

#define MEMBER(name, signature, fn)                                                                \
    {                                                                                              \
        name, signature, true, PL_CEL_COST_ONE, PL_CEL_SIZE_TYPE, fn                               \
    }
#define MEMBER_COST(name, signature, cost, fn)                                                     \
    {                                                                                              \
        name, signature, true, cost, PL_CEL_SIZE_TYPE, fn                                          \
    }

const struct pl_cel_function pl_cel_authz_functions[] = {
    MEMBER("path", "Zs:P", to_path),
    MEMBER("group", "Zs:G", to_group),
    MEMBER("serviceAccount", "Zss:Z", to_account),
    MEMBER("resource", "Gs:R", to_resource),
    MEMBER("subresource", "Rs:R", with_subresource),
    MEMBER("namespace", "Rs:R", with_namespace),
    MEMBER("name", "Rs:R", with_name),
    MEMBER_COST("fieldSelector", "Rs:R", PL_CEL_COST_LAST, with_fields),
    MEMBER_COST("labelSelector", "Rs:R", PL_CEL_COST_LAST, with_labels),
    MEMBER_COST("check", "Ps:E", PL_CEL_COST_CHECK, decide),
    MEMBER_COST("check", "Rs:E", PL_CEL_COST_CHECK, decide),
    MEMBER("allowed", "E:b", allowed),
    MEMBER("reason", "E:s", lib_authz_reason),
    MEMBER("errored", "E:b", errored),
    MEMBER("error", "E:s", lib_authz_error),
    {0},
};
