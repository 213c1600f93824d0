/* The plug-in LimitRanger. Its messages are kube-apiserver's. Requests and limits are compared as
 * numbers and shown as they were written.
 *
 * Only new objects are checked: a later LimitRange does not change existing objects. */
#include "admission/limit_ranges.h"

#include "format/units.h"

#define FAULTS_MAX 32
#define NAMES_MAX  32 /* limit of resources that get defaults in one container */

/* The object that is checked. */
struct limited {
    struct pl_api_ctx *ctx;
    const char *type; /* "Container", "Pod", "PersistentVolumeClaim" */
    const struct pl_tree *requests, *limits;
    struct pl_slice faults[FAULTS_MAX];
    size_t fault_count;
    struct pl_buf added; /* text for the annotation */
};

static void limit_fault(struct limited *limited, struct pl_slice text)
{
    if (limited->fault_count < FAULTS_MAX)
        limited->faults[limited->fault_count++] = text;
}

static bool amount_of(const struct pl_tree *value, double *amount)
{
    if (value == NULL || value->type == PL_NULL)
        return false;
    return pl_quantity_parse(value->text, amount);
}

/* ---- one rule of one resource ---- */

struct rule {
    struct pl_slice resource;
    const struct pl_tree *value;
    double amount;
    const struct pl_tree *request, *limit; /* of the object; NULL: not set */
    double requested, limited_to;
    bool has_request, has_limit;
};

static bool find_rule(const struct limited *limited, const struct pl_tree_item *item,
                      struct rule *rule)
{
    *rule = (struct rule){.resource = item->key, .value = item->value};
    rule->request = pl_tree_get(limited->requests, item->key);
    rule->limit = pl_tree_get(limited->limits, item->key);
    rule->has_request = amount_of(rule->request, &rule->requested);
    rule->has_limit = amount_of(rule->limit, &rule->limited_to);
    return amount_of(rule->value, &rule->amount);
}

/* which: "minimum" or "maximum"; what: "request" or "limit"; given NULL: not set. */
static void bound_fault(struct limited *limited, const struct rule *rule, const char *which,
                        const char *what, const struct pl_tree *given)
{
    struct pl_slice tail =
        given == NULL
            ? pl_arena_f(&limited->ctx->arena, ".  No %s is specified", what)
            : pl_arena_f(&limited->ctx->arena, ", but %s is %.*s", what, PL_FMT(given->text));
    limit_fault(limited, pl_arena_f(&limited->ctx->arena, "%s %.*s usage per %s is %.*s%.*s", which,
                                    PL_FMT(rule->resource), limited->type,
                                    PL_FMT(rule->value->text), PL_FMT(tail)));
}

static void check_least(struct limited *limited, const struct rule *rule)
{
    if (!rule->has_request)
        bound_fault(limited, rule, "minimum", "request", NULL);
    else if (rule->requested < rule->amount)
        bound_fault(limited, rule, "minimum", "request", rule->request);
    else if (rule->has_limit && rule->limited_to < rule->amount)
        bound_fault(limited, rule, "minimum", "limit", rule->limit);
}

/* A claim has only requests. */
static void check_most(struct limited *limited, const struct rule *rule)
{
    bool is_claim = strcmp(limited->type, "PersistentVolumeClaim") == 0;
    if (is_claim && !rule->has_request)
        bound_fault(limited, rule, "maximum", "request", NULL);
    else if (!is_claim && !rule->has_limit)
        bound_fault(limited, rule, "maximum", "limit", NULL);
    else if (!is_claim && rule->limited_to > rule->amount)
        bound_fault(limited, rule, "maximum", "limit", rule->limit);
    else if (rule->has_request && rule->requested > rule->amount)
        bound_fault(limited, rule, "maximum", "request", rule->request);
}

static void check_ratio(struct limited *limited, const struct rule *rule)
{
    const char *missing = !rule->has_request || rule->requested <= 0  ? "request"
                          : !rule->has_limit || rule->limited_to <= 0 ? "limit"
                                                                      : NULL;
    struct pl_arena *arena = &limited->ctx->arena;
    struct pl_slice tail = {0};
    if (missing != NULL)
        tail = pl_arena_f(arena, "but no %s is specified or %s is 0", missing, missing);
    else if (rule->limited_to / rule->requested > rule->amount)
        tail = pl_arena_f(arena, "but provided ratio is %f", rule->limited_to / rule->requested);
    if (tail.len > 0)
        limit_fault(limited,
                    pl_arena_f(arena, "%.*s max limit to request ratio per %s is %.*s, %.*s",
                               PL_FMT(rule->resource), limited->type, PL_FMT(rule->value->text),
                               PL_FMT(tail)));
}

static void check_each(struct limited *limited, const struct pl_tree *item, const char *member,
                       void (*check)(struct limited *limited, const struct rule *rule))
{
    PL_TREE_FOR(one, pl_tree_getz(item, member))
    {
        struct rule rule;
        if (find_rule(limited, one, &rule))
            check(limited, &rule);
    }
}

static void check_item(struct limited *limited, const struct pl_tree *item)
{
    check_each(limited, item, "min", check_least);
    check_each(limited, item, "max", check_most);
    if (strcmp(limited->type, "PersistentVolumeClaim") != 0)
        check_each(limited, item, "maxLimitRequestRatio", check_ratio);
}

/* ---- defaults for containers ---- */

static void add_names(struct limited *limited, struct pl_slice *names, size_t count,
                      const char *what, const char *which, struct pl_slice container)
{
    for (size_t i = 1; i < count; i++) /* sorts them by name */
        for (size_t j = i; j > 0 && pl_slice_cmp(names[j], names[j - 1]) < 0; j--) {
            struct pl_slice one = names[j];
            names[j] = names[j - 1];
            names[j - 1] = one;
        }
    if (count > 0 && limited->added.len > 0)
        pl_buf_add_z(&limited->added, "; ");
    for (size_t i = 0; i < count; i++)
        pl_buf_add_f(&limited->added, "%s%.*s", i > 0 ? ", " : "", PL_FMT(names[i]));
    if (count > 0)
        pl_buf_add_f(&limited->added, " %s for %s %.*s", what, which, PL_FMT(container));
}

/* member: a member of the container; from: a member of the LimitRange's item. */
static void give(struct limited *limited, struct pl_tree *container, const char *which,
                 const char *member, const struct pl_tree *from)
{
    struct pl_arena *arena = &limited->ctx->arena;
    struct pl_slice names[NAMES_MAX];
    size_t count = 0;
    PL_TREE_FOR(item, from)
    {
        struct pl_tree *resources = pl_tree_child(arena, container, "resources");
        struct pl_tree *has = pl_tree_child(arena, resources, member);
        if (pl_tree_get(has, item->key) != NULL || count == NAMES_MAX)
            continue;
        pl_tree_set(arena, has, item->key, pl_tree_copy(arena, item->value));
        names[count++] = item->key;
    }
    add_names(limited, names, count, strcmp(member, "requests") == 0 ? "request" : "limit", which,
              pl_tree_text_at(container, "name"));
}

static void give_all(struct limited *limited, struct pl_tree *spec, const struct pl_tree *item)
{
    static const struct {
        const char *list, *which;
    } lists[] = {{"containers", "container"}, {"initContainers", "init container"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_TREE_FOR(one, pl_tree_getz(spec, lists[i].list))
        {
            give(limited, one->value, lists[i].which, "requests",
                 pl_tree_getz(item, "defaultRequest"));
            give(limited, one->value, lists[i].which, "limits", pl_tree_getz(item, "default"));
        }
}

/* ---- Pods ---- */

static void check_containers(struct limited *limited, const struct pl_tree *list,
                             const struct pl_tree *item)
{
    PL_TREE_FOR(one, list)
    {
        limited->requests = pl_tree_dig(one->value, "resources.requests");
        limited->limits = pl_tree_dig(one->value, "resources.limits");
        check_item(limited, item);
    }
}

/* Formats a sum as Kubernetes does: as an integer, or in thousandths. */
static struct pl_tree *sum_text(struct pl_arena *arena, double amount)
{
    int64_t whole = (int64_t)amount;
    if ((double)whole == amount)
        return pl_tree_str(arena, pl_arena_f(arena, "%lld", (long long)whole));
    return pl_tree_str(arena, pl_arena_f(arena, "%lldm", (long long)(amount * 1000 + 0.5)));
}

/* The sum of the containers, or the largest init container if that is more. A resource that no
 * container names is left out. */
static struct pl_tree *sum_of(struct pl_arena *arena, const struct pl_tree *spec, const char *path)
{
    struct pl_tree *sums = pl_tree_object(arena);
    static const char lists[][16] = {"containers", "initContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_TREE_FOR(one, pl_tree_getz(spec, lists[i]))
    PL_TREE_FOR(item, pl_tree_dig(one->value, path))
    {
        double before = 0, amount = 0;
        const struct pl_tree *has = pl_tree_get(sums, item->key);
        if (!amount_of(item->value, &amount))
            continue;
        amount_of(has, &before);
        double sum = i == 0 ? before + amount : amount > before ? amount : before;
        pl_tree_set(arena, sums, item->key,
                    has == NULL ? pl_tree_copy(arena, item->value) : sum_text(arena, sum));
    }
    return sums;
}

static void limit_pod(struct limited *limited, struct pl_tree *pod, const struct pl_tree *item)
{
    const struct pl_tree *spec = pl_tree_getz(pod, "spec");
    struct pl_slice type = pl_tree_text_at(item, "type");
    if (pl_slice_eqz(type, "Container")) {
        limited->type = "Container";
        check_containers(limited, pl_tree_getz(spec, "containers"), item);
        check_containers(limited, pl_tree_getz(spec, "initContainers"), item);
    } else if (pl_slice_eqz(type, "Pod")) {
        limited->type = "Pod";
        limited->requests = sum_of(&limited->ctx->arena, spec, "resources.requests");
        limited->limits = sum_of(&limited->ctx->arena, spec, "resources.limits");
        check_item(limited, item);
    }
}

static void limit_claim(struct limited *limited, const struct pl_tree *claim,
                        const struct pl_tree *item)
{
    if (!pl_slice_eqz(pl_tree_text_at(item, "type"), "PersistentVolumeClaim"))
        return;
    limited->type = "PersistentVolumeClaim";
    limited->requests = pl_tree_dig(claim, "spec.resources.requests");
    limited->limits = NULL;
    check_item(limited, item);
}

/* ---- the LimitRanges of the namespace ---- */

typedef void (*limit_fn)(struct limited *limited, struct pl_tree *object,
                         const struct pl_tree *item);

static void give_defaults(struct limited *limited, struct pl_tree *pod, const struct pl_tree *item)
{
    if (pl_slice_eqz(pl_tree_text_at(item, "type"), "Container"))
        give_all(limited, pl_tree_child(&limited->ctx->arena, pod, "spec"), item);
}

static void check_object(struct limited *limited, struct pl_tree *object,
                         const struct pl_tree *item)
{
    if (strcmp(limited->type, "Pod") == 0)
        limit_pod(limited, object, item);
    else
        limit_claim(limited, object, item);
}

static void each_item(struct limited *limited, struct pl_tree *object, const char *type,
                      limit_fn run)
{
    struct pl_api_ctx *ctx = limited->ctx;
    const struct pl_api_table *table = pl_api_builtin_table(ctx->api->registry, "", "limitranges");
    struct pl_api_span span =
        pl_api_table_span(table, pl_tree_text_at(object, "metadata.namespace"));
    for (size_t i = span.first; i < span.end; i++) {
        struct pl_tree *range = pl_tree_from_node(&ctx->arena, pl_doc_root(table->entries[i]->doc));
        PL_TREE_FOR(item, pl_tree_dig(range, "spec.limits"))
        {
            limited->type = type;
            run(limited, object, item->value);
        }
    }
}

static void annotate(struct limited *limited, struct pl_tree *pod)
{
    struct pl_arena *arena = &limited->ctx->arena;
    struct pl_tree *metadata = pl_tree_child(arena, pod, "metadata");
    if (limited->added.len > 0)
        pl_tree_setz(arena, pl_tree_child(arena, metadata, "annotations"),
                     "kubernetes.io/limit-ranger",
                     pl_tree_str(arena, pl_arena_f(arena, "LimitRanger plugin set: %s",
                                                   pl_buf_z(&limited->added))));
    pl_buf_deinit(&limited->added);
}

static int limit_refuse(struct limited *limited, const struct pl_tree *object)
{
    struct pl_api_ctx *ctx = limited->ctx;
    struct pl_buf text = PL_BUF_INIT;
    bool several = limited->fault_count > 1;
    for (size_t i = 0; i < limited->fault_count; i++)
        pl_buf_add_f(&text, "%s%.*s",
                     i > 0     ? ", "
                     : several ? "["
                               : "",
                     PL_FMT(limited->faults[i]));
    if (several)
        pl_buf_add_char(&text, ']');
    int code = pl_api_forbid(ctx, pl_tree_text_at(object, "metadata.name"),
                             pl_arena_copy(&ctx->arena, pl_buf_slice(&text)));
    pl_buf_deinit(&text);
    return code;
}

int pl_api_admit_limits(struct pl_api_ctx *ctx, const char *plural, struct pl_tree *object)
{
    struct limited limited = {.ctx = ctx};
    bool is_pod = strcmp(plural, "pods") == 0;
    if (is_pod) {
        each_item(&limited, object, "Pod", give_defaults);
        annotate(&limited, object);
    }
    each_item(&limited, object, is_pod ? "Pod" : "PersistentVolumeClaim", check_object);
    return limited.fault_count > 0 ? limit_refuse(&limited, object) : 0;
}
