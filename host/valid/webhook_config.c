/* Validation of webhook configurations: names, rules, addresses of webhooks, match conditions. All
 * faults are collected, with kube-apiserver's messages (checked against 1.37; those of the CEL
 * compiler and the URL parser are our own). It knows no request and calls no webhook. apicall/admit
 * can work with every configuration that is accepted here. An update does not check unchanged match
 * conditions again. */
#include "valid/webhook_config.h"

#include "base/text.h"
#include "cel/cel.h"
#include "schema/validate.h"
#include "valid/check.h"
#include "valid/conditions.h"
#include "valid/kinds.h"

#include <ctype.h>

#define MOST_CONDITIONS 64
#define URL_FORM        "; desired format: https://host[/path]"

static void bad_text(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice value,
                     const char *why)
{
    pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %.*s: %s",
                 PL_FMT(pl_shown(f, pl_tree_str(f->arena, value))), why);
}

/* ---- the address ---- */

/* The length of the scheme before ":", as Go finds it. 0: there is none. */
static size_t scheme_len(struct pl_slice url)
{
    size_t len = 0;
    while (len < url.len && (pl_is_letter(url.ptr[len]) || (len > 0 && pl_is_digit(url.ptr[len])) ||
                             (len > 0 && strchr("+-.", url.ptr[len]) != NULL)))
        len++;
    return len < url.len && url.ptr[len] == ':' ? len : 0;
}

/* The length of the text in front of the first "/", "?" or "#". */
static size_t segment_len(struct pl_slice text)
{
    size_t len = 0;
    while (len < text.len && strchr("/?#", text.ptr[len]) == NULL)
        len++;
    return len;
}

/* The parts that a URL of a webhook may not have, and its host, which it must have. rest: what
 * follows "https://". */
static void check_after_scheme(struct pl_api_faults *f, const struct pl_spot *field,
                               struct pl_slice rest)
{
    const char *hash = pl_slice_chr(rest, '#');
    struct pl_slice before = hash != NULL ? pl_slice(rest.ptr, (size_t)(hash - rest.ptr)) : rest;
    const char *mark = pl_slice_chr(before, '?');
    size_t host_len = segment_len(rest);
    const char *at = memchr(rest.ptr, '@', host_len);
    if (host_len == 0)
        bad_text(f, field, pl_slice_z(""),
                 pl_arena_f(f->arena, "host must be specified%s", URL_FORM).ptr);
    if (at != NULL)
        bad_text(f, field, pl_slice(rest.ptr, (size_t)(at - rest.ptr)),
                 "user information is not permitted in the URL");
    if (hash != NULL)
        bad_text(f, field, pl_slice(hash + 1, rest.len - before.len - 1),
                 "fragments are not permitted in the URL");
    if (mark != NULL)
        bad_text(f, field, pl_slice(mark + 1, before.len - (size_t)(mark - before.ptr) - 1),
                 "query parameters are not permitted in the URL");
}

static void check_url(struct pl_api_faults *f, const struct pl_spot *field, struct pl_slice url)
{
    struct pl_slice scheme = pl_slice(url.ptr, scheme_len(url));
    size_t first = segment_len(url);
    if (scheme.len == 0 && memchr(url.ptr, ':', first) != NULL) {
        pl_bad_required(f, field,
                        pl_arena_f(f->arena,
                                   "url must be a valid URL: parse \"%.*s\": first path segment in "
                                   "URL cannot contain colon%s",
                                   PL_FMT(url), URL_FORM)
                            .ptr);
        return;
    }
    size_t skipped = scheme.len + strlen("://");
    bool has_host = scheme.len > 0 && url.len >= skipped &&
                    memcmp(url.ptr + scheme.len, "://", strlen("://")) == 0;
    if (!pl_slice_eqz(scheme, "https"))
        bad_text(f, field, scheme,
                 pl_arena_f(f->arena, "'https' is the only allowed URL scheme%s", URL_FORM).ptr);
    check_after_scheme(f, field,
                       has_host ? pl_slice(url.ptr + skipped, url.len - skipped) : pl_slice("", 0));
}

/* "/a/b": every segment must be a DNS subdomain. */
static void webhook_config_check_path(struct pl_api_faults *f, const struct pl_spot *field,
                                      struct pl_slice path)
{
    size_t start = 1, n = 0;
    size_t end = path.len > 1 && path.ptr[path.len - 1] == '/' ? path.len - 1 : path.len;
    if (pl_slice_eqz(path, "/"))
        return;
    if (path.ptr[0] != '/')
        bad_text(f, field, path, "must start with a '/'");
    for (size_t i = start; i <= end; i++) {
        if (i < end && path.ptr[i] != '/')
            continue;
        struct pl_slice segment = pl_slice(path.ptr + start, i - start);
        if (segment.len == 0)
            bad_text(f, field, path, pl_arena_f(f->arena, "segment[%zu] may not be empty", n).ptr);
        else if (!pl_text_is_subdomain(segment))
            bad_text(f, field, path,
                     pl_arena_f(f->arena, "segment[%zu]: %s", n, PL_API_SUBDOMAIN_TEXT).ptr);
        start = i + 1;
        n++;
    }
}

static void check_service(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *service)
{
    struct pl_slice path = pl_tree_text_at(service, "path");
    int64_t port;
    /* kube-apiserver takes one for the other */
    if (pl_tree_text_at(service, "namespace").len == 0)
        pl_bad_required(f, PL_MEMBER(at, "name"), "");
    if (pl_tree_text_at(service, "name").len == 0)
        pl_bad_required(f, PL_MEMBER(at, "namespace"), "");
    if (pl_tree_integer(pl_tree_getz(service, "port"), &port) && (port < 1 || port > 65535))
        pl_bad_value(f, PL_MEMBER(at, "port"), pl_tree_getz(service, "port"),
                     "port is not valid: must be between 1 and 65535, inclusive");
    if (path.len > 0)
        webhook_config_check_path(f, PL_MEMBER(at, "path"), path);
}

static void check_client(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *client)
{
    const struct pl_tree *service = pl_tree_getz(client, "service");
    const struct pl_tree *url = pl_tree_getz(client, "url");
    if ((service == NULL) == (url == NULL))
        pl_bad_required(f, at, "exactly one of url or service is required");
    else if (url != NULL)
        check_url(f, PL_MEMBER(at, "url"), pl_tree_text(url));
    else
        check_service(f, PL_MEMBER(at, "service"), service);
}

/* ---- rules ---- */

static void webhook_config_check_texts(struct pl_api_faults *f, const struct pl_spot *at,
                                       const struct pl_tree *list, const char *what)
{
    size_t i = 0;
    if (list == NULL || list->count == 0)
        pl_bad_required(f, at, "");
    if (list != NULL && list->count > 1 && pl_tree_has_text(list, pl_slice_z("*")))
        pl_bad_value(f, at, list, "if '*' is present, must not specify other %s", what);
    PL_TREE_FOR(item, list)
    {
        if (pl_tree_text(item->value).len == 0 && strcmp(what, "API versions") == 0)
            pl_bad_required(f, PL_INDEX(at, i), "");
        i++;
    }
}

static bool webhook_is_before(const struct pl_tree *list, const struct pl_tree_item *end,
                              struct pl_slice text)
{
    for (const struct pl_tree_item *item = list->first; item != end; item = item->next)
        if (pl_slice_eq(pl_tree_text(item->value), text))
            return true;
    return false;
}

/* A resource that "a/ *" or "* /b" covers must not be listed after it (without the spaces). */
static void check_covered(struct pl_api_faults *f, const struct pl_spot *field,
                          const struct pl_tree *list, const struct pl_tree_item *end)
{
    struct pl_slice text = pl_tree_text(end->value);
    const char *slash = pl_slice_chr(text, '/');
    if (slash == NULL)
        return;
    size_t len = (size_t)(slash - text.ptr);
    struct pl_slice all = pl_arena_f(f->arena, "%.*s/*", (int)len, text.ptr);
    struct pl_slice any = pl_arena_f(f->arena, "*%.*s", (int)(text.len - len), slash);
    struct pl_slice by = webhook_is_before(list, end, all)   ? all
                         : webhook_is_before(list, end, any) ? any
                                                             : pl_slice(NULL, 0);
    if (by.len > 0)
        bad_text(f, field, text,
                 pl_arena_f(f->arena, "if '%.*s' is present, must not specify %.*s", PL_FMT(by),
                            PL_FMT(text))
                     .ptr);
}

static void check_resources(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *list)
{
    bool others = false;
    size_t i = 0;
    if (list == NULL || list->count == 0)
        pl_bad_required(f, at, "");
    if (list != NULL && list->count > 1 && pl_tree_has_text(list, pl_slice_z("*/*")))
        pl_bad_value(f, at, list, "if '*/*' is present, must not specify other resources");
    PL_TREE_FOR(item, list)
    {
        struct pl_slice text = pl_tree_text(item->value);
        const struct pl_spot *field = PL_INDEX(at, i++);
        others = others || (pl_slice_chr(text, '/') == NULL && !pl_slice_eqz(text, "*"));
        if (text.len == 0)
            pl_bad_required(f, field, "");
        else
            check_covered(f, field, list, item);
    }
    if (others && pl_tree_has_text(list, pl_slice_z("*")))
        pl_bad_value(f, at, list,
                     "if '*' is present, must not specify other resources without subresources");
}

void pl_webhook_rule(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *rule)
{
    const struct pl_tree *list = pl_tree_getz(rule, "operations");
    const struct pl_spot *field = PL_MEMBER(at, "operations");
    size_t i = 0;
    webhook_config_check_texts(f, field, list, "operations");
    PL_TREE_FOR(item, list)
    pl_if_set(f, PL_INDEX(field, i++), item->value, "*,CONNECT,CREATE,DELETE,UPDATE");
    webhook_config_check_texts(f, PL_MEMBER(at, "apiGroups"), pl_tree_getz(rule, "apiGroups"),
                               "API groups");
    webhook_config_check_texts(f, PL_MEMBER(at, "apiVersions"), pl_tree_getz(rule, "apiVersions"),
                               "API versions");
    check_resources(f, PL_MEMBER(at, "resources"), pl_tree_getz(rule, "resources"));
    pl_if_set(f, PL_MEMBER(at, "scope"), pl_tree_getz(rule, "scope"), "*,Cluster,Namespaced");
}

/* ---- conditions and selectors ---- */

static void check_expression(struct pl_api_faults *f, const struct pl_spot *field,
                             struct pl_slice text, const struct pl_cel_var *vars)
{
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program = pl_cel_compile(text, vars, PL_VAR_COUNT, &why);
    if (program == NULL) {
        bad_text(f, field, text,
                 pl_arena_f(f->arena, "compilation failed: %s", pl_buf_z(&why)).ptr);
    } else {
        const struct pl_cel_type *type = pl_cel_program_type(program);
        pl_cel_type_write(&why, type);
        if (type->kind != PL_CEL_BOOL)
            bad_text(f, field, text,
                     pl_arena_f(f->arena, "must evaluate to bool but got %s", pl_buf_z(&why)).ptr);
    }
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

static void check_condition(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *condition, const struct pl_tree *before,
                            const struct pl_cel_var *vars)
{
    struct pl_slice name = pl_tree_text_at(condition, "name");
    struct pl_slice text = pl_tree_text_at(condition, "expression");
    bool known = false;
    PL_TREE_FOR(item, before)
    known = known || pl_slice_eq(pl_tree_text_at(item->value, "expression"), text);
    if (name.len == 0)
        pl_bad_required(f, PL_MEMBER(at, "name"), "");
    else
        pl_qualified(f, PL_MEMBER(at, "name"), pl_tree_getz(condition, "name"), NULL);
    if (text.len == 0)
        pl_bad_required(f, PL_MEMBER(at, "expression"), "");
    else if (!known)
        check_expression(f, PL_MEMBER(at, "expression"), text, vars);
}

/* Two elements with the same name: the fault is reported at the second one. */
static void check_twice(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *list)
{
    size_t i = 0;
    PL_TREE_FOR(item, list)
    {
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        bool twice = false;
        PL_TREE_FOR(other, list)
        {
            if (other == item)
                break;
            twice =
                twice || (name.len > 0 && pl_slice_eq(name, pl_tree_text_at(other->value, "name")));
        }
        if (twice)
            pl_bad_duplicate(f, PL_MEMBER(PL_INDEX(at, i), "name"),
                             pl_tree_getz(item->value, "name"));
        i++;
    }
}

void pl_webhook_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *list, const struct pl_tree *before,
                           const struct pl_cel_var *vars)
{
    size_t i = 0;
    if (!pl_at_most(f, at, list, MOST_CONDITIONS))
        return;
    PL_TREE_FOR(item, list)
    check_condition(f, PL_INDEX(at, i++), item->value, before, vars);
    check_twice(f, at, list);
}

/* ---- a webhook ---- */

static bool is_version(struct pl_slice text)
{
    bool good =
        text.len > 0 && islower((unsigned char)text.ptr[0]) && text.ptr[text.len - 1] != '-';
    for (size_t i = 0; i < text.len; i++)
        good = good && (pl_is_lower_or_digit(text.ptr[i]) || text.ptr[i] == '-');
    return good;
}

/* Only if all versions are well-formed: at least one of them must be supported. */
static void check_versions(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *list, bool only_good)
{
    size_t i = 0;
    bool good = true;
    PL_TREE_FOR(item, list)
    {
        const struct pl_spot *field = PL_INDEX(at, i++);
        struct pl_slice text = pl_tree_text(item->value);
        good = good && is_version(text);
        if (!is_version(text))
            bad_text(f, field, text,
                     "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                     "start with an alphabetic character, and end with an alphanumeric character "
                     "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                     "'[a-z]([-a-z0-9]*[a-z0-9])?')");
        PL_TREE_FOR(other, list)
        {
            if (other == item)
                break;
            if (pl_slice_eq(text, pl_tree_text(other->value)))
                bad_text(f, field, text, "duplicate version");
        }
    }
    if (list != NULL && list->count > 0 && (good || !only_good) &&
        !pl_tree_has_text(list, pl_slice_z("v1")) && !pl_tree_has_text(list, pl_slice_z("v1beta1")))
        pl_bad_value(f, at, list, "must include at least one of v1, v1beta1");
}

static void webhook_config_check_name(struct pl_api_faults *f, const struct pl_spot *field,
                                      struct pl_slice name)
{
    size_t dots = 0;
    for (size_t i = 0; i < name.len; i++)
        dots += name.ptr[i] == '.';
    if (name.len == 0)
        pl_bad_required(f, field, "");
    else if (name.len > 253)
        bad_text(f, field, name, "must be no more than 253 characters");
    else if (!pl_text_is_subdomain(name))
        bad_text(f, field, name, PL_API_SUBDOMAIN_TEXT);
    else if (dots < 2)
        bad_text(f, field, name,
                 "should be a domain with at least three segments separated by dots");
}

static void check_words(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *webhook)
{
    if (pl_tree_getz(webhook, "sideEffects") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "sideEffects"), "must specify one of None, NoneOnDryRun");
    pl_if_set(f, PL_MEMBER(at, "sideEffects"), pl_tree_getz(webhook, "sideEffects"),
              "None,NoneOnDryRun");
    pl_if_set(f, PL_MEMBER(at, "failurePolicy"), pl_tree_getz(webhook, "failurePolicy"),
              "Fail,Ignore");
    pl_if_set(f, PL_MEMBER(at, "matchPolicy"), pl_tree_getz(webhook, "matchPolicy"),
              "Equivalent,Exact");
    pl_if_set(f, PL_MEMBER(at, "reinvocationPolicy"), pl_tree_getz(webhook, "reinvocationPolicy"),
              "IfNeeded,Never");
}

static void check_webhook(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *webhook, const struct pl_tree *before)
{
    const struct pl_tree *timeout = pl_tree_getz(webhook, "timeoutSeconds");
    const struct pl_spot *rules = PL_MEMBER(at, "rules");
    int64_t seconds;
    size_t i = 0;
    webhook_config_check_name(f, PL_MEMBER(at, "name"), pl_tree_text_at(webhook, "name"));
    PL_TREE_FOR(item, pl_tree_getz(webhook, "rules"))
    pl_webhook_rule(f, PL_INDEX(rules, i++), item->value);
    check_words(f, at, webhook);
    if (pl_tree_integer(timeout, &seconds) && (seconds < 1 || seconds > 30))
        pl_bad_value(f, PL_MEMBER(at, "timeoutSeconds"), timeout,
                     "the timeout value must be between 1 and 30 seconds");
    pl_selector(f, PL_MEMBER(at, "namespaceSelector"), pl_tree_getz(webhook, "namespaceSelector"),
                NULL);
    pl_selector(f, PL_MEMBER(at, "objectSelector"), pl_tree_getz(webhook, "objectSelector"), NULL);
    check_client(f, PL_MEMBER(at, "clientConfig"), pl_tree_getz(webhook, "clientConfig"));
    pl_webhook_conditions(f, PL_MEMBER(at, "matchConditions"),
                          pl_tree_getz(webhook, "matchConditions"),
                          pl_tree_getz(before, "matchConditions"), pl_condition_vars());
    const struct pl_tree *versions = pl_tree_getz(webhook, "admissionReviewVersions");
    if (versions == NULL || versions->count == 0)
        pl_bad_required(f, PL_MEMBER(at, "admissionReviewVersions"),
                        "must specify one of v1, v1beta1");
    check_versions(f, PL_MEMBER(at, "admissionReviewVersions"), versions, false);
}

static const struct pl_tree *of_name(const struct pl_tree *list, struct pl_slice name)
{
    PL_TREE_FOR(item, list)
    if (pl_slice_eq(pl_tree_text_at(item->value, "name"), name))
        return item->value;
    return NULL;
}

void pl_webhook_config_validate(struct pl_api_faults *faults, const struct pl_tree *object,
                                const struct pl_tree *old)
{
    const struct pl_spot *at = PL_MEMBER(NULL, "webhooks");
    const struct pl_tree *list = pl_tree_getz(object, "webhooks");
    const struct pl_tree *before = pl_tree_getz(old, "webhooks");
    size_t i = 0;
    PL_TREE_FOR(item, list)
    check_webhook(faults, PL_INDEX(at, i++), item->value,
                  of_name(before, pl_tree_text_at(item->value, "name")));
    check_twice(faults, at, list);
}

/* ---- conversion ---- */

static void check_conversion(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *conversion)
{
    static const char no[] = "should not be set when strategy is not set to Webhook";
    const struct pl_spot *client_at = PL_MEMBER(at, "webhookClientConfig");
    const struct pl_spot *versions_at = PL_MEMBER(at, "conversionReviewVersions");
    struct pl_slice strategy = pl_tree_text_at(conversion, "strategy");
    const struct pl_tree *client = pl_tree_dig(conversion, "webhook.clientConfig");
    const struct pl_tree *versions = pl_tree_dig(conversion, "webhook.conversionReviewVersions");
    pl_needs_one(f, PL_MEMBER(at, "strategy"), pl_tree_getz(conversion, "strategy"),
                 "None,Webhook");
    if (!pl_slice_eqz(strategy, "Webhook")) {
        if (client != NULL)
            pl_bad_forbidden(f, client_at, no);
        if (versions != NULL && versions->count > 0)
            pl_bad_forbidden(f, versions_at, no);
        return;
    }
    if (client == NULL)
        pl_bad_required(f, client_at, "required when strategy is set to Webhook");
    else
        check_client(f, client_at, client);
    if (versions == NULL || versions->count == 0)
        pl_bad_required(f, versions_at, "");
    check_versions(f, versions_at, versions, true);
}

void pl_webhook_conversion_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                                    const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    const struct pl_spot *at = PL_MEMBER(spec, "conversion");
    const struct pl_tree *conversion = pl_tree_dig(crd, "spec.conversion");
    bool preserves = pl_is_true(pl_tree_dig(crd, "spec.preserveUnknownFields"));
    if (preserves && pl_slice_eqz(pl_tree_text_at(conversion, "strategy"), "Webhook"))
        pl_bad_value(faults, PL_MEMBER(at, "strategy"), pl_tree_getz(conversion, "strategy"),
                     "must be None if spec.preserveUnknownFields is true");
    if (conversion != NULL)
        check_conversion(faults, at, conversion);
    if (preserves && !pl_is_true(pl_tree_dig(old, "spec.preserveUnknownFields")))
        pl_bad_value(faults, PL_MEMBER(spec, "preserveUnknownFields"),
                     pl_tree_dig(crd, "spec.preserveUnknownFields"),
                     "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                     "spec.versions[*].schema instead");
}
