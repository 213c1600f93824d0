/* What kube-apiserver refuses about webhook configurations: names, rules, where webhooks are, match
 * conditions. All faults are collected, in the server's words (checked against kube-apiserver 1.37;
 * what a compiler or a URL parser says is ours). It must know no request and call no webhook: what
 * is let through here is what apicall/admit can work with. Match conditions that an update leaves
 * as they were are not looked at again. */
#include "valid/webhook_config.h"

#include "cel/cel.h"
#include "object/selector.h"
#include "schema/validate.h"

#include <ctype.h>

#define MOST_CONDITIONS 64

struct check {
    struct pl_api_faults *faults;
    struct pl_arena *arena;
};

static const char *field_of(const struct check *c, const char *at, const char *member)
{
    return pl_arena_f(c->arena, "%s.%s", at, member).ptr;
}

static void webhook_config_invalid(const struct check *c, const char *field, struct pl_slice value,
                                   const char *why)
{
    pl_api_fault(c->faults, "FieldValueInvalid", pl_slice_z(field), "Invalid value: \"%.*s\": %s",
                 PL_FMT(value), why);
}

static void invalid_tree(const struct check *c, const char *field, const struct pl_tree *value,
                         const char *why)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, value);
    pl_api_fault(c->faults, "FieldValueInvalid", pl_slice_z(field), "Invalid value: %s: %s",
                 pl_buf_z(&text), why);
    pl_buf_deinit(&text);
}

static void required(const struct check *c, const char *field, const char *why)
{
    pl_api_fault(c->faults, "FieldValueRequired", pl_slice_z(field), "Required value%s%s",
                 *why != '\0' ? ": " : "", why);
}

/* A member that says one of a few words; the list is sorted and NULL-terminated. */
static void one_of(const struct check *c, const char *field, const struct pl_tree *value,
                   const char *const *words)
{
    struct pl_slice text = pl_tree_text(value);
    struct pl_buf list = PL_BUF_INIT;
    bool known = value == NULL;
    for (size_t i = 0; words[i] != NULL; i++) {
        known = known || pl_slice_eqz(text, words[i]);
        pl_buf_add_f(&list, "%s\"%s\"", i > 0 ? ", " : "", words[i]);
    }
    if (!known)
        pl_api_fault(c->faults, "FieldValueNotSupported", pl_slice_z(field),
                     "Unsupported value: \"%.*s\": supported values: %s", PL_FMT(text),
                     pl_buf_z(&list));
    pl_buf_deinit(&list);
}

static bool webhook_config_has(const struct pl_tree *list, struct pl_slice text)
{
    PL_TREE_FOR(item, list)
    if (pl_slice_eq(pl_tree_text(item->value), text))
        return true;
    return false;
}

/* ---- where it is ---- */

static void check_url(const struct check *c, const char *field, struct pl_slice url)
{
    static const char form[] = "; desired format: https://host[/path]";
    const char *colon = memmem(url.ptr, url.len, "://", 3);
    if (colon == NULL) {
        required(c, field,
                 pl_arena_f(c->arena, "url must be a valid URL: \"%.*s\" has no scheme%s",
                            PL_FMT(url), form)
                     .ptr);
        return;
    }
    struct pl_slice scheme = pl_slice(url.ptr, (size_t)(colon - url.ptr));
    struct pl_slice rest = pl_slice(colon + 3, url.len - scheme.len - 3);
    const char *hash = memchr(rest.ptr, '#', rest.len);
    struct pl_slice before = hash != NULL ? pl_slice(rest.ptr, (size_t)(hash - rest.ptr)) : rest;
    const char *mark = memchr(before.ptr, '?', before.len);
    size_t host_len = 0;
    while (host_len < rest.len && strchr("/?#", rest.ptr[host_len]) == NULL)
        host_len++;
    const char *at = memchr(rest.ptr, '@', host_len);
    if (!pl_slice_eqz(scheme, "https"))
        webhook_config_invalid(
            c, field, scheme,
            pl_arena_f(c->arena, "'https' is the only allowed URL scheme%s", form).ptr);
    if (host_len == 0)
        webhook_config_invalid(c, field, pl_slice_z(""),
                               pl_arena_f(c->arena, "host must be specified%s", form).ptr);
    if (at != NULL)
        webhook_config_invalid(c, field, pl_slice(rest.ptr, (size_t)(at - rest.ptr)),
                               "user information is not permitted in the URL");
    if (hash != NULL)
        webhook_config_invalid(c, field, pl_slice(hash + 1, rest.len - before.len - 1),
                               "fragments are not permitted in the URL");
    if (mark != NULL)
        webhook_config_invalid(c, field,
                               pl_slice(mark + 1, before.len - (size_t)(mark - before.ptr) - 1),
                               "query parameters are not permitted in the URL");
}

/* "/a/b": every segment is the name of a resource or the like. */
static void webhook_config_check_path(const struct check *c, const char *field,
                                      struct pl_slice path)
{
    size_t start = 1, n = 0;
    size_t end = path.len > 1 && path.ptr[path.len - 1] == '/' ? path.len - 1 : path.len;
    if (pl_slice_eqz(path, "/"))
        return;
    if (path.ptr[0] != '/')
        webhook_config_invalid(c, field, path, "must start with a '/'");
    for (size_t i = start; i <= end; i++) {
        if (i < end && path.ptr[i] != '/')
            continue;
        struct pl_slice segment = pl_slice(path.ptr + start, i - start);
        if (segment.len == 0)
            webhook_config_invalid(c, field, path,
                                   pl_arena_f(c->arena, "segment[%zu] may not be empty", n).ptr);
        else if (!pl_api_is_subdomain(segment))
            webhook_config_invalid(
                c, field, path,
                pl_arena_f(c->arena, "segment[%zu]: %s", n, PL_API_SUBDOMAIN_TEXT).ptr);
        start = i + 1;
        n++;
    }
}

static void check_service(const struct check *c, const char *at, const struct pl_tree *service)
{
    struct pl_slice path = pl_tree_text_at(service, "path");
    int64_t port;
    if (pl_tree_text_at(service, "name").len == 0)
        required(c, field_of(c, at, "name"), "");
    if (pl_tree_text_at(service, "namespace").len == 0)
        required(c, field_of(c, at, "namespace"), "");
    if (pl_tree_integer(pl_tree_getz(service, "port"), &port) && (port < 1 || port > 65535))
        invalid_tree(c, field_of(c, at, "port"), pl_tree_getz(service, "port"),
                     "port is not valid: must be between 1 and 65535, inclusive");
    if (path.len > 0)
        webhook_config_check_path(c, field_of(c, at, "path"), path);
}

static void check_client(const struct check *c, const char *at, const struct pl_tree *client)
{
    const struct pl_tree *service = pl_tree_getz(client, "service");
    const struct pl_tree *url = pl_tree_getz(client, "url");
    if ((service == NULL) == (url == NULL))
        required(c, at, "exactly one of url or service is required");
    else if (url != NULL)
        check_url(c, field_of(c, at, "url"), pl_tree_text(url));
    else
        check_service(c, field_of(c, at, "service"), service);
}

/* ---- rules ---- */

static void webhook_config_check_texts(const struct check *c, const char *at,
                                       const struct pl_tree *list, const char *what)
{
    size_t i = 0;
    if (list == NULL || list->count == 0)
        required(c, at, "");
    if (list != NULL && list->count > 1 && webhook_config_has(list, pl_slice_z("*")))
        invalid_tree(
            c, at, list,
            pl_arena_f(c->arena, "if '*' is present, must not specify other %s", what).ptr);
    PL_TREE_FOR(item, list)
    {
        if (pl_tree_text(item->value).len == 0 && strcmp(what, "API groups") != 0)
            required(c, pl_arena_f(c->arena, "%s[%zu]", at, i).ptr, "");
        i++;
    }
}

/* What "a/ *" or "* /b" says already is not said again (without the spaces). */
static void check_covered(const struct check *c, const char *field, const struct pl_tree *list,
                          struct pl_slice text)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    if (slash == NULL)
        return;
    size_t len = (size_t)(slash - text.ptr);
    struct pl_slice all = pl_arena_f(c->arena, "%.*s/*", (int)len, text.ptr);
    struct pl_slice any = pl_arena_f(c->arena, "*%.*s", (int)(text.len - len), slash);
    struct pl_slice by = webhook_config_has(list, all) && !pl_slice_eq(text, all) ? all
                         : webhook_config_has(list, any) && !pl_slice_eq(text, any)
                             ? any
                             : pl_slice(NULL, 0);
    if (by.len > 0)
        webhook_config_invalid(c, field, text,
                               pl_arena_f(c->arena, "if '%.*s' is present, must not specify %.*s",
                                          PL_FMT(by), PL_FMT(text))
                                   .ptr);
}

static void check_resources(const struct check *c, const char *at, const struct pl_tree *list)
{
    bool others = false;
    size_t i = 0;
    if (list == NULL || list->count == 0)
        required(c, at, "");
    if (list != NULL && list->count > 1 && webhook_config_has(list, pl_slice_z("*/*")))
        invalid_tree(c, at, list, "if '*/*' is present, must not specify other resources");
    PL_TREE_FOR(item, list)
    {
        struct pl_slice text = pl_tree_text(item->value);
        const char *field = pl_arena_f(c->arena, "%s[%zu]", at, i++).ptr;
        others = others || (memchr(text.ptr != NULL ? text.ptr : "", '/', text.len) == NULL &&
                            !pl_slice_eqz(text, "*"));
        if (text.len == 0)
            required(c, field, "");
        else
            check_covered(c, field, list, text);
    }
    if (others && webhook_config_has(list, pl_slice_z("*")))
        invalid_tree(c, at, list,
                     "if '*' is present, must not specify other resources without subresources");
}

static void webhook_config_check_rule(const struct check *c, const char *at,
                                      const struct pl_tree *rule)
{
    static const char *const operations[] = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL};
    static const char *const scopes[] = {"*", "Cluster", "Namespaced", NULL};
    const struct pl_tree *list = pl_tree_getz(rule, "operations");
    const char *field = field_of(c, at, "operations");
    size_t i = 0;
    webhook_config_check_texts(c, field, list, "operations");
    PL_TREE_FOR(item, list)
    one_of(c, pl_arena_f(c->arena, "%s[%zu]", field, i++).ptr, item->value, operations);
    webhook_config_check_texts(c, field_of(c, at, "apiGroups"), pl_tree_getz(rule, "apiGroups"),
                               "API groups");
    webhook_config_check_texts(c, field_of(c, at, "apiVersions"), pl_tree_getz(rule, "apiVersions"),
                               "API versions");
    check_resources(c, field_of(c, at, "resources"), pl_tree_getz(rule, "resources"));
    one_of(c, field_of(c, at, "scope"), pl_tree_getz(rule, "scope"), scopes);
}

/* ---- conditions and selectors ---- */

const struct pl_cel_var *pl_webhook_condition_vars(size_t *count)
{
    static const struct pl_cel_var vars[] = {
        {"object", NULL}, {"oldObject", NULL}, {"request", NULL}};
    *count = PL_ARRAY_LEN(vars);
    return vars;
}

static void check_expression(const struct check *c, const char *field, struct pl_slice text)
{
    size_t count;
    const struct pl_cel_var *vars = pl_webhook_condition_vars(&count);
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program = pl_cel_compile(text, vars, count, &why);
    if (program == NULL) {
        webhook_config_invalid(c, field, text,
                               pl_arena_f(c->arena, "compilation failed: %s", pl_buf_z(&why)).ptr);
    } else {
        const struct pl_cel_type *type = pl_cel_program_type(program);
        pl_cel_type_write(&why, type);
        if (type->kind != PL_CEL_BOOL)
            webhook_config_invalid(
                c, field, text,
                pl_arena_f(c->arena, "must evaluate to bool but got %s", pl_buf_z(&why)).ptr);
    }
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
}

static void check_condition(const struct check *c, const char *at, const struct pl_tree *condition,
                            const struct pl_tree *before)
{
    struct pl_slice name = pl_tree_text_at(condition, "name");
    struct pl_slice text = pl_tree_text_at(condition, "expression");
    bool known = false;
    PL_TREE_FOR(item, before)
    known = known || pl_slice_eq(pl_tree_text_at(item->value, "expression"), text);
    if (name.len == 0)
        required(c, field_of(c, at, "name"), "");
    else
        pl_api_validate_qualified(c->faults, field_of(c, at, "name"), name);
    if (text.len == 0)
        required(c, field_of(c, at, "expression"), "");
    else if (!known)
        check_expression(c, field_of(c, at, "expression"), text);
}

/* Two elements of one name: the second is the fault. */
static void check_twice(const struct check *c, const char *at, const struct pl_tree *list)
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
            pl_api_fault(c->faults, "FieldValueDuplicate",
                         pl_arena_f(c->arena, "%s[%zu].name", at, i), "Duplicate value: \"%.*s\"",
                         PL_FMT(name));
        i++;
    }
}

static void check_conditions(const struct check *c, const char *at, const struct pl_tree *list,
                             const struct pl_tree *before)
{
    size_t i = 0;
    if (list != NULL && list->count > MOST_CONDITIONS) {
        pl_api_fault(c->faults, "FieldValueTooMany", pl_slice_z(at),
                     "Too many: %zu: must have at most %d items", list->count, MOST_CONDITIONS);
        return;
    }
    PL_TREE_FOR(item, list)
    check_condition(c, pl_arena_f(c->arena, "%s[%zu]", at, i++).ptr, item->value, before);
    check_twice(c, at, list);
}

static void check_selector(const struct check *c, const char *at, const struct pl_tree *selector)
{
    struct pl_err err;
    pl_err_clear(&err);
    if (selector == NULL || selector->count == 0)
        return;
    struct pl_doc *doc = pl_tree_doc(selector, NULL);
    struct pl_selector *parsed = pl_selector_from_node(pl_doc_root(doc), &err);
    if (parsed == NULL)
        invalid_tree(c, at, selector, err.message);
    pl_selector_destroy(parsed);
    pl_doc_unref(doc);
}

/* ---- a webhook ---- */

static bool is_version(struct pl_slice text)
{
    bool good =
        text.len > 0 && islower((unsigned char)text.ptr[0]) && text.ptr[text.len - 1] != '-';
    for (size_t i = 0; i < text.len; i++)
        good = good && (islower((unsigned char)text.ptr[i]) ||
                        isdigit((unsigned char)text.ptr[i]) || text.ptr[i] == '-');
    return good;
}

/* That there is one which the server speaks is only looked at when all are well formed. */
static void check_versions(const struct check *c, const char *at, const struct pl_tree *list,
                           bool only_good)
{
    size_t i = 0;
    bool good = true;
    PL_TREE_FOR(item, list)
    {
        const char *field = pl_arena_f(c->arena, "%s[%zu]", at, i++).ptr;
        struct pl_slice text = pl_tree_text(item->value);
        good = good && is_version(text);
        if (!is_version(text))
            webhook_config_invalid(
                c, field, text,
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                "start with an alphabetic character, and end with an alphanumeric character "
                "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                "'[a-z]([-a-z0-9]*[a-z0-9])?')");
        PL_TREE_FOR(other, list)
        {
            if (other == item)
                break;
            if (pl_slice_eq(text, pl_tree_text(other->value)))
                webhook_config_invalid(c, field, text, "duplicate version");
        }
    }
    if (list != NULL && list->count > 0 && (good || !only_good) &&
        !webhook_config_has(list, pl_slice_z("v1")) &&
        !webhook_config_has(list, pl_slice_z("v1beta1")))
        invalid_tree(c, at, list, "must include at least one of v1, v1beta1");
}

static void webhook_config_check_name(const struct check *c, const char *field,
                                      struct pl_slice name)
{
    size_t dots = 0;
    for (size_t i = 0; i < name.len; i++)
        dots += name.ptr[i] == '.';
    if (name.len == 0)
        required(c, field, "");
    else if (!pl_api_is_subdomain(name))
        webhook_config_invalid(c, field, name, PL_API_SUBDOMAIN_TEXT);
    else if (dots < 2)
        webhook_config_invalid(c, field, name,
                               "should be a domain with at least three segments separated by dots");
}

static void check_words(const struct check *c, const char *at, const struct pl_tree *webhook)
{
    static const char *const effects[] = {"None", "NoneOnDryRun", NULL};
    static const char *const failures[] = {"Fail", "Ignore", NULL};
    static const char *const matches[] = {"Equivalent", "Exact", NULL};
    static const char *const again[] = {"IfNeeded", "Never", NULL};
    if (pl_tree_getz(webhook, "sideEffects") == NULL)
        required(c, field_of(c, at, "sideEffects"), "must specify one of None, NoneOnDryRun");
    one_of(c, field_of(c, at, "sideEffects"), pl_tree_getz(webhook, "sideEffects"), effects);
    one_of(c, field_of(c, at, "failurePolicy"), pl_tree_getz(webhook, "failurePolicy"), failures);
    one_of(c, field_of(c, at, "matchPolicy"), pl_tree_getz(webhook, "matchPolicy"), matches);
    one_of(c, field_of(c, at, "reinvocationPolicy"), pl_tree_getz(webhook, "reinvocationPolicy"),
           again);
}

static void check_webhook(const struct check *c, const char *at, const struct pl_tree *webhook,
                          const struct pl_tree *before)
{
    const struct pl_tree *timeout = pl_tree_getz(webhook, "timeoutSeconds");
    const char *rules = field_of(c, at, "rules");
    int64_t seconds;
    size_t i = 0;
    webhook_config_check_name(c, field_of(c, at, "name"), pl_tree_text_at(webhook, "name"));
    PL_TREE_FOR(item, pl_tree_getz(webhook, "rules"))
    webhook_config_check_rule(c, pl_arena_f(c->arena, "%s[%zu]", rules, i++).ptr, item->value);
    check_words(c, at, webhook);
    if (pl_tree_integer(timeout, &seconds) && (seconds < 1 || seconds > 30))
        invalid_tree(c, field_of(c, at, "timeoutSeconds"), timeout,
                     "the timeout value must be between 1 and 30 seconds");
    check_selector(c, field_of(c, at, "namespaceSelector"),
                   pl_tree_getz(webhook, "namespaceSelector"));
    check_selector(c, field_of(c, at, "objectSelector"), pl_tree_getz(webhook, "objectSelector"));
    check_client(c, field_of(c, at, "clientConfig"), pl_tree_getz(webhook, "clientConfig"));
    check_conditions(c, field_of(c, at, "matchConditions"),
                     pl_tree_getz(webhook, "matchConditions"),
                     pl_tree_getz(before, "matchConditions"));
    const struct pl_tree *versions = pl_tree_getz(webhook, "admissionReviewVersions");
    if (versions == NULL || versions->count == 0)
        required(c, field_of(c, at, "admissionReviewVersions"), "must specify one of v1, v1beta1");
    check_versions(c, field_of(c, at, "admissionReviewVersions"), versions, false);
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
    const struct check c = {.faults = faults, .arena = faults->arena};
    const struct pl_tree *list = pl_tree_getz(object, "webhooks");
    const struct pl_tree *before = pl_tree_getz(old, "webhooks");
    size_t i = 0;
    PL_TREE_FOR(item, list)
    check_webhook(&c, pl_arena_f(c.arena, "webhooks[%zu]", i++).ptr, item->value,
                  of_name(before, pl_tree_text_at(item->value, "name")));
    check_twice(&c, "webhooks", list);
}

/* ---- conversion ---- */

static void forbidden(const struct check *c, const char *field)
{
    pl_api_fault(c->faults, "FieldValueForbidden", pl_slice_z(field),
                 "Forbidden: should not be set when strategy is not set to Webhook");
}

static void check_conversion(const struct check *c, const struct pl_tree *conversion)
{
    static const char client_at[] = "spec.conversion.webhookClientConfig";
    static const char versions_at[] = "spec.conversion.conversionReviewVersions";
    static const char *const strategies[] = {"None", "Webhook", NULL};
    struct pl_slice strategy = pl_tree_text_at(conversion, "strategy");
    const struct pl_tree *client = pl_tree_dig(conversion, "webhook.clientConfig");
    const struct pl_tree *versions = pl_tree_dig(conversion, "webhook.conversionReviewVersions");
    if (strategy.len == 0)
        required(c, "spec.conversion.strategy", "");
    else
        one_of(c, "spec.conversion.strategy", pl_tree_getz(conversion, "strategy"), strategies);
    if (!pl_slice_eqz(strategy, "Webhook")) {
        if (client != NULL)
            forbidden(c, client_at);
        if (versions != NULL && versions->count > 0)
            forbidden(c, versions_at);
        return;
    }
    if (client == NULL)
        required(c, client_at, "required when strategy is set to Webhook");
    else
        check_client(c, client_at, client);
    if (versions == NULL || versions->count == 0)
        required(c, versions_at, "");
    check_versions(c, versions_at, versions, true);
}

static bool webhook_config_is_true(const struct pl_tree *value)
{
    return pl_tree_is(value, PL_BOOL) && value->boolean;
}

void pl_webhook_conversion_validate(struct pl_api_faults *faults, const struct pl_tree *crd,
                                    const struct pl_tree *old)
{
    const struct check c = {.faults = faults, .arena = faults->arena};
    const struct pl_tree *conversion = pl_tree_dig(crd, "spec.conversion");
    bool preserves = webhook_config_is_true(pl_tree_dig(crd, "spec.preserveUnknownFields"));
    bool webhook = pl_slice_eqz(pl_tree_text_at(conversion, "strategy"), "Webhook");
    if (preserves && webhook)
        webhook_config_invalid(&c, "spec.conversion.strategy", pl_slice_z("Webhook"),
                               "must be None if spec.preserveUnknownFields is true");
    if (conversion != NULL)
        check_conversion(&c, conversion);
    if (preserves && !webhook_config_is_true(pl_tree_dig(old, "spec.preserveUnknownFields")))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("spec.preserveUnknownFields"),
                     "Invalid value: true: cannot set to true, set "
                     "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
                     "instead");
}
