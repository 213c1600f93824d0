/* Kinds of dynamic resource allocation: classes, claims, templates, slices and taint rules of
 * devices. Nothing here is allocated: these objects are only checked. */
#include "valid/kinds.h"

#include "cel/cel.h"
#include "object/tree.h"
#include "schema/validate.h"

#include <string.h>

#define SPEC            PL_MEMBER(NULL, "spec")
#define MOST_EXPRESSION 10240 /* bytes of a selector */
#define MOST_REQUESTS   32
#define MOST_CHOICES    8

static void needed_label(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""), PL_API_LABEL_TEXT);
    pl_label(f, at, value, arg);
}

static void needed_subdomain(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *value, const char *arg)
{
    pl_need(f, at, value, "");
    pl_subdomain(f, at, value, arg);
}

static void pool_name(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    struct pl_slice rest = pl_tree_text(value);
    PL_UNUSED(arg);
    pl_need(f, at, value, "");
    while (rest.len > 0) {
        const char *slash = pl_slice_chr(rest, '/');
        size_t len = slash != NULL ? (size_t)(slash - rest.ptr) : rest.len;
        pl_subdomain(f, at, pl_tree_str(f->arena, pl_slice(rest.ptr, len)), "always");
        rest = slash != NULL ? pl_slice(slash + 1, rest.len - len - 1) : pl_slice("", 0);
    }
}

/* ---- expressions ---- */

static void check_expression(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *value)
{
    static const struct pl_cel_type any = {.kind = PL_CEL_DYN, .max_size = PL_CEL_UNBOUNDED};
    const struct pl_cel_var device = {"device", &any};
    struct pl_slice text = pl_tree_text(value);
    struct pl_buf why = PL_BUF_INIT;
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    if (text.len > MOST_EXPRESSION) {
        pl_bad_long(f, at, "10240");
        return;
    }
    struct pl_cel_program *program = pl_cel_compile(text, &device, 1, &why);
    if (program == NULL)
        pl_bad_value(f, at, pl_tree_str(f->arena, text), "compilation failed: %s", pl_buf_z(&why));
    else if (pl_cel_program_type(program)->kind != PL_CEL_BOOL &&
             pl_cel_program_type(program)->kind != PL_CEL_DYN)
        pl_bad_value(f, at, pl_tree_str(f->arena, text),
                     "must evaluate to bool or the unknown type, not %s",
                     pl_cel_kind_name(pl_cel_program_type(program)->kind));
    pl_buf_deinit(&why);
    pl_cel_program_destroy(program);
}

static void check_selectors(struct pl_api_faults *f, const struct pl_spot *owner,
                            const struct pl_tree *list, const struct pl_tree *old)
{
    const struct pl_spot *at = PL_MEMBER(owner, "selectors");
    size_t i = 0;
    pl_at_most(f, at, list, MOST_REQUESTS);
    if (old != NULL && pl_tree_equal(list, old))
        return;
    PL_EACH(item, list)
    {
        const struct pl_spot *spot = PL_MEMBER(PL_INDEX(at, i++), "cel");
        const struct pl_tree *cel = pl_tree_getz(item->value, "cel");
        if (cel == NULL)
            pl_bad_required(f, spot, "");
        else
            check_expression(f, PL_MEMBER(spot, "expression"), pl_tree_getz(cel, "expression"));
    }
}

/* ---- claims ---- */

static void check_configuration(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *config)
{
    const struct pl_tree *opaque = pl_tree_getz(config, "opaque");
    const struct pl_tree *values = pl_tree_getz(opaque, "parameters");
    const struct pl_spot *spot = PL_MEMBER(at, "opaque");
    if (opaque == NULL) {
        pl_bad_required(f, spot, "");
        return;
    }
    pl_valid_driver_name(f, PL_MEMBER(spot, "driver"), pl_tree_getz(opaque, "driver"), NULL);
    if (values == NULL)
        pl_bad_required(f, PL_MEMBER(spot, "parameters"), "");
    else if (!pl_tree_is(values, PL_OBJECT))
        pl_bad_value(f, PL_MEMBER(spot, "parameters"), pl_tree_strz(f->arena, "<value omitted>"),
                     "must be a valid JSON object");
}

static void check_toleration(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *one)
{
    static const struct pl_rule rules[] = {
        {"key", pl_qualified, NULL},
        {"operator", pl_one_of, "Equal,Exists"},
        {"effect", pl_one_of, "NoExecute,NoSchedule,None"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *value = pl_tree_getz(one, "value");
    pl_hold(f, at, one, rules);
    if (pl_slice_eqz(pl_tree_text_at(one, "operator"), "Exists") && !pl_is_empty(value))
        pl_bad_value(f, PL_MEMBER(at, "value"), value, "must be empty for operator `Exists`");
    else
        pl_label_value(f, PL_MEMBER(at, "value"), value, NULL);
}

/* A request, or one of the choices of a request. */
static void check_exact(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *request)
{
    struct pl_slice mode = pl_tree_text_at(request, "allocationMode");
    const struct pl_tree *count = pl_tree_getz(request, "count");
    int64_t number = 0;
    size_t i = 0;
    pl_tree_integer(count, &number);
    needed_subdomain(f, PL_MEMBER(at, "deviceClassName"), pl_tree_getz(request, "deviceClassName"),
                     NULL);
    check_selectors(f, at, pl_tree_getz(request, "selectors"), NULL);
    pl_must_be(f, PL_MEMBER(at, "allocationMode"), pl_tree_getz(request, "allocationMode"),
               "All,ExactCount");
    if (pl_slice_eqz(mode, "All") && number != 0)
        pl_bad_value(f, PL_MEMBER(at, "count"), count,
                     "must not be specified when allocationMode is 'All'");
    if (pl_slice_eqz(mode, "ExactCount"))
        pl_above_zero(f, PL_MEMBER(at, "count"), count, "must be greater than zero");
    PL_EACH(item, pl_tree_getz(request, "tolerations"))
    check_toleration(f, PL_INDEX(PL_MEMBER(at, "tolerations"), i++), item->value);
}

static void check_choices(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *choices)
{
    size_t i = 0;
    pl_at_most(f, at, choices, MOST_CHOICES);
    pl_unique(f, at, choices, "name");
    PL_EACH(item, choices)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        needed_label(f, PL_MEMBER(spot, "name"), pl_tree_getz(item->value, "name"), NULL);
        check_exact(f, spot, item->value);
    }
}

static void check_request(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *request)
{
    const struct pl_tree *exact = pl_tree_getz(request, "exactly");
    const struct pl_tree *choices = pl_tree_getz(request, "firstAvailable");
    needed_label(f, PL_MEMBER(at, "name"), pl_tree_getz(request, "name"), NULL);
    if (exact == NULL && pl_is_empty(choices))
        pl_bad_required(f, at, "exactly one of `exactly` or `firstAvailable` is required");
    else if (exact != NULL && !pl_is_empty(choices))
        pl_bad_value(f, at, NULL,
                     "exactly one of `exactly` or `firstAvailable` is required, but multiple "
                     "fields are set");
    else if (exact != NULL)
        check_exact(f, PL_MEMBER(at, "exactly"), exact);
    else
        check_choices(f, PL_MEMBER(at, "firstAvailable"), choices);
}

/* True if a claim has a request of that name, "request" or "request/choice". */
static bool has_request(const struct pl_tree *requests, struct pl_slice name)
{
    const char *slash = pl_slice_chr(name, '/');
    struct pl_slice first = slash != NULL ? pl_slice(name.ptr, (size_t)(slash - name.ptr)) : name;
    PL_EACH(item, requests)
    {
        if (!pl_slice_eq(pl_tree_text_at(item->value, "name"), first))
            continue;
        if (slash == NULL)
            return true;
        struct pl_slice second = pl_slice(slash + 1, name.len - first.len - 1);
        PL_EACH(choice, pl_tree_getz(item->value, "firstAvailable"))
        if (pl_slice_eq(pl_tree_text_at(choice->value, "name"), second))
            return true;
    }
    return false;
}

static void check_references(struct pl_api_faults *f, const struct pl_spot *owner,
                             const struct pl_tree *one, const struct pl_tree *requests)
{
    const struct pl_spot *at = PL_MEMBER(owner, "requests");
    const struct pl_tree *names = pl_tree_getz(one, "requests");
    size_t i = 0;
    pl_at_most(f, at, names, MOST_REQUESTS);
    pl_unique(f, at, names, NULL);
    PL_EACH(item, names)
    {
        if (!has_request(requests, pl_tree_text(item->value)))
            pl_bad_value(f, PL_INDEX(at, i), item->value,
                         "must be the name of a request in the claim or the name of a request and "
                         "a subrequest separated by '/'");
        i++;
    }
}

static void check_constraint(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *one, const struct pl_tree *requests)
{
    static const char *const members[] = {"matchAttribute", "distinctAttribute"};
    check_references(f, at, one, requests);
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        const struct pl_tree *name = pl_tree_getz(one, members[i]);
        if (name == NULL)
            continue;
        const char *slash = pl_slice_chr(pl_tree_text(name), '/');
        if (slash == NULL)
            pl_bad_value(f, PL_MEMBER(at, members[i]), name,
                         "a fully qualified name must be a domain and a name separated by a slash");
        else
            pl_subdomain(f, PL_MEMBER(at, members[i]),
                         pl_tree_str(f->arena, pl_slice(pl_tree_text(name).ptr,
                                                        (size_t)(slash - pl_tree_text(name).ptr))),
                         "always");
        return;
    }
    pl_bad_required(f, at,
                    "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                    "multiple fields are set");
}

static void check_claim(struct pl_api_faults *f, const struct pl_spot *spec_at,
                        const struct pl_tree *spec)
{
    const struct pl_tree *devices = pl_tree_getz(spec, "devices");
    const struct pl_tree *requests = pl_tree_getz(devices, "requests");
    const struct pl_spot *at = PL_MEMBER(spec_at, "devices");
    size_t i = 0;
    pl_at_most(f, PL_MEMBER(at, "requests"), requests, MOST_REQUESTS);
    pl_unique(f, PL_MEMBER(at, "requests"), requests, "name");
    PL_EACH(item, requests)
    check_request(f, PL_INDEX(PL_MEMBER(at, "requests"), i++), item->value);
    pl_at_most(f, PL_MEMBER(at, "constraints"), pl_tree_getz(devices, "constraints"),
               MOST_REQUESTS);
    i = 0;
    PL_EACH(item, pl_tree_getz(devices, "constraints"))
    check_constraint(f, PL_INDEX(PL_MEMBER(at, "constraints"), i++), item->value, requests);
    i = 0;
    PL_EACH(item, pl_tree_getz(devices, "config"))
    {
        const struct pl_spot *spot = PL_INDEX(PL_MEMBER(at, "config"), i++);
        check_references(f, spot, item->value, requests);
        check_configuration(f, spot, item->value);
    }
}

void pl_valid_device_claim(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (old == NULL)
        check_claim(f, SPEC, spec);
    else
        pl_frozen_unseen(f, SPEC, spec, pl_tree_getz(old, "spec"));
}

void pl_valid_device_template(struct pl_api_faults *f, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (old == NULL) {
        pl_labels(f, PL_MEMBER(PL_MEMBER(SPEC, "metadata"), "labels"),
                  pl_tree_dig(spec, "metadata.labels"), NULL);
        check_claim(f, PL_MEMBER(SPEC, "spec"), pl_tree_getz(spec, "spec"));
    } else
        pl_frozen(f, SPEC, spec, pl_tree_getz(old, "spec"));
}

/* ---- classes and taints ---- */

void pl_valid_device_class(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *config = pl_tree_getz(spec, "config");
    size_t i = 0;
    check_selectors(f, SPEC, pl_tree_getz(spec, "selectors"), pl_tree_dig(old, "spec.selectors"));
    pl_at_most(f, PL_MEMBER(SPEC, "config"), config, MOST_REQUESTS);
    PL_EACH(item, config)
    check_configuration(f, PL_INDEX(PL_MEMBER(SPEC, "config"), i++), item->value);
}

#define TAINT(path)                                                                                \
    {path "key", pl_qualified, "always"}, {path "value", pl_label_value, NULL},                    \
    {                                                                                              \
        path "effect", pl_needs_one, "NoExecute,NoSchedule,None"                                   \
    }

void pl_valid_taint_rule(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {TAINT("taint."), {NULL, NULL, NULL}};
    static const struct pl_rule devices[] = {
        {"driver", pl_valid_driver_name, NULL},
        {"pool", pool_name, NULL},
        {"device", needed_label, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *which = pl_tree_getz(spec, "deviceSelector");
    PL_UNUSED(old);
    for (size_t i = 0; i < PL_ARRAY_LEN(devices); i++) {
        const struct pl_tree *value = pl_tree_getz(which, devices[i].path);
        if (value != NULL)
            devices[i].check(f, PL_MEMBER(PL_MEMBER(SPEC, "deviceSelector"), devices[i].path),
                             value, NULL);
    }
    pl_hold(f, SPEC, spec, rules);
}

/* ---- slices ---- */

#define ONE_OF_NODES                                                                               \
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"

/* A flag may be absent or true. */
static bool check_flag(struct pl_api_faults *f, const struct pl_tree *spec, const char *member)
{
    const struct pl_tree *value = pl_tree_getz(spec, member);
    if (pl_is_false(value))
        pl_bad_value(f, PL_MEMBER(SPEC, member), value, "must be either unset or set to true");
    return pl_is_true(value);
}

static void check_nodes(struct pl_api_faults *f, const struct pl_tree *spec)
{
    static const char *const members[] = {"nodeName", "nodeSelector", "allNodes",
                                          "perDeviceNodeSelection"};
    const struct pl_tree *name = pl_tree_getz(spec, "nodeName");
    const struct pl_tree *selector = pl_tree_getz(spec, "nodeSelector");
    bool all = check_flag(f, spec, "allNodes");
    bool is[] = {!pl_is_empty(name), selector != NULL, all,
                 check_flag(f, spec, "perDeviceNodeSelection")};
    struct pl_slice set = pl_slice("", 0);
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(is); i++)
        if (is[i])
            set = pl_arena_f(f->arena, "%.*s%s`%s`", PL_FMT(set), count++ > 0 ? ", " : "",
                             members[i]);
    if (name != NULL && pl_is_empty(name))
        pl_bad_value(f, PL_MEMBER(SPEC, "nodeName"), name,
                     "must be either unset or set to a non-empty string");
    pl_subdomain(f, PL_MEMBER(SPEC, "nodeName"), name, NULL);
    if (selector != NULL)
        pl_valid_node_selector(f, PL_MEMBER(SPEC, "nodeSelector"), selector);
    if (count == 0)
        pl_bad_required(f, SPEC, ONE_OF_NODES);
    else if (count > 1)
        pl_bad_value(f, SPEC, pl_tree_str(f->arena, pl_arena_f(f->arena, "{%.*s}", PL_FMT(set))),
                     ONE_OF_NODES ", but multiple fields are set");
}

static void check_pool(struct pl_api_faults *f, const struct pl_tree *pool)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "pool");
    pool_name(f, PL_MEMBER(at, "name"), pl_tree_getz(pool, "name"), NULL);
    pl_above_zero(f, PL_MEMBER(at, "resourceSliceCount"), pl_tree_getz(pool, "resourceSliceCount"),
                  "must be greater than zero");
    pl_natural(f, PL_MEMBER(at, "generation"), pl_tree_getz(pool, "generation"),
               "must be greater than or equal to zero");
}

void pl_valid_device_slice(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"name", needed_label, NULL}, TAINT("taints[]."), {NULL, NULL, NULL}};
    static const char *const frozen[] = {"driver", "nodeName"};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *was = pl_tree_getz(old, "spec");
    const struct pl_tree *devices = pl_tree_getz(spec, "devices");
    const struct pl_spot *at = PL_MEMBER(SPEC, "devices");
    size_t i = 0;
    pl_valid_driver_name(f, PL_MEMBER(SPEC, "driver"), pl_tree_getz(spec, "driver"), NULL);
    check_pool(f, pl_tree_getz(spec, "pool"));
    if (old != NULL) {
        pl_frozen(f, PL_MEMBER(PL_MEMBER(SPEC, "pool"), "name"), pl_tree_dig(spec, "pool.name"),
                  pl_tree_dig(was, "pool.name"));
        for (size_t k = 0; k < PL_ARRAY_LEN(frozen); k++)
            pl_frozen(f, PL_MEMBER(SPEC, frozen[k]), pl_tree_getz(spec, frozen[k]),
                      pl_tree_getz(was, frozen[k]));
    }
    check_nodes(f, spec);
    pl_at_most(f, at, devices, 128);
    pl_unique(f, at, devices, "name");
    PL_EACH(item, devices)
    pl_hold(f, PL_INDEX(at, i++), item->value, rules);
}
