/* Kinds of dynamic resource allocation: classes, claims, templates and taint rules of
 * devices; slices are in slice.c. Nothing here is allocated: these objects are only checked. */
#include "valid/device_impl.h"
#include "valid/kinds.h"

#include "base/text.h"
#include "cel/cel.h"
#include "object/tree.h"
#include "schema/validate.h"

#include <string.h>

#define SPEC            PL_MEMBER(NULL, "spec")
#define MOST_EXPRESSION 10240 /* bytes of a selector */
#define MOST_REQUESTS   32
#define MOST_CHOICES    8

void pl_valid_device_name(struct pl_api_faults *f, const struct pl_spot *at,
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

void pl_valid_pool_name(struct pl_api_faults *f, const struct pl_spot *at,
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

/* A device, as an expression sees it: its attributes and capacities by domain and name. */
#define MAX_PER_DEVICE 32
#define TEXT_OF(most)                                                                              \
    {                                                                                              \
        .kind = PL_CEL_STRING, .max_size = (most), .min_bytes = 2                                  \
    }
#define MAP_OF(names, values)                                                                      \
    {                                                                                              \
        .kind = PL_CEL_MAP, .key = (names), .elem = (values), .max_size = MAX_PER_DEVICE,          \
        .min_bytes = 2                                                                             \
    }
#define FIELD(z, of)                                                                               \
    {                                                                                              \
        {(z), sizeof(z) - 1}, {(z), sizeof(z) - 1}, (of), true                                     \
    }

#define DEVICE_OF(attributes)                                                                      \
    {                                                                                              \
        FIELD("driver", &domain_type), FIELD("allowMultipleAllocations", &flag_type),              \
            FIELD("attributes", &(attributes)), FIELD("capacity", &capacities_type)                \
    }
#define TYPE_OF(list)                                                                              \
    {                                                                                              \
        .kind = PL_CEL_OBJECT, .name = "kubernetes.DRADevice", .fields = (list),                   \
        .field_count = PL_ARRAY_LEN(list), .max_size = PL_CEL_UNBOUNDED, .min_bytes = 2            \
    }

static const struct pl_cel_type domain_type = TEXT_OF(63), id_type = TEXT_OF(32);
static const struct pl_cel_type flag_type = {.kind = PL_CEL_BOOL, .max_size = 1, .min_bytes = 1};
static const struct pl_cel_type any_type = {.kind = PL_CEL_DYN, .max_size = PL_CEL_UNBOUNDED};
static const struct pl_cel_type amount_type = {
    .kind = PL_CEL_QUANTITY, .max_size = PL_CEL_UNBOUNDED, .min_bytes = 1};
static const struct pl_cel_type attribute_type = MAP_OF(&id_type, &any_type);
static const struct pl_cel_type attributes_type = MAP_OF(&domain_type, &attribute_type);
static const struct pl_cel_type text_type = MAP_OF(&id_type, &domain_type);
static const struct pl_cel_type texts_type = MAP_OF(&domain_type, &text_type);
static const struct pl_cel_type capacity_type = MAP_OF(&id_type, &amount_type);
static const struct pl_cel_type capacities_type = MAP_OF(&domain_type, &capacity_type);
static const struct pl_cel_field device_fields[] = DEVICE_OF(attributes_type);
static const struct pl_cel_field text_fields[] = DEVICE_OF(texts_type);
static const struct pl_cel_type device_type = TYPE_OF(device_fields);
static const struct pl_cel_type device_of_texts = TYPE_OF(text_fields);

/* True if an expression of unknown type is an attribute itself: it is then a text once all
 * attributes are declared as texts. Any other expression of unknown type still has none. */
static bool is_attribute(struct pl_slice text)
{
    const struct pl_cel_var device = {"device", &device_of_texts};
    struct pl_buf why = PL_BUF_INIT;
    struct pl_cel_program *program = pl_cel_compile(text, &device, 1, &why);
    bool is = program != NULL && pl_cel_program_type(program)->kind == PL_CEL_STRING;
    pl_cel_program_destroy(program);
    pl_buf_deinit(&why);
    return is;
}

static void check_expression(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *value)
{
    const struct pl_cel_var device = {"device", &device_type};
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
             (pl_cel_program_type(program)->kind != PL_CEL_DYN || !is_attribute(text)))
        pl_bad_value(f, at, pl_tree_str(f->arena, text),
                     "must evaluate to bool or the unknown type, not %s",
                     pl_cel_program_type(program)->name != NULL
                         ? pl_cel_program_type(program)->name
                         : pl_cel_kind_name(pl_cel_program_type(program)->kind));
    else if (pl_cel_program_cost(program) > PL_CEL_CALL_LIMIT)
        pl_bad_forbidden(f, at, "too complex, exceeds cost limit");
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

void pl_valid_device_configuration(struct pl_api_faults *f, const struct pl_spot *at,
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

void pl_valid_device_toleration(struct pl_api_faults *f, const struct pl_spot *at,
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
    pl_valid_device_toleration(f, PL_INDEX(PL_MEMBER(at, "tolerations"), i++), item->value);
}

/* A duplicate is shown as a whole. */
static void unique_names(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *list)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_tree *name = pl_or_empty(f, pl_tree_getz(item->value, "name"));
        if (pl_comes_again(&seen, name, NULL))
            pl_bad_duplicate(f, PL_INDEX(at, i), item->value);
        i++;
    }
    pl_map_deinit(&seen);
}

static void check_choices(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *choices)
{
    size_t i = 0;
    pl_at_most(f, at, choices, MOST_CHOICES);
    unique_names(f, at, choices);
    PL_EACH(item, choices)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        pl_valid_device_name(f, PL_MEMBER(spot, "name"), pl_tree_getz(item->value, "name"), NULL);
        check_exact(f, spot, item->value);
    }
}

static void check_request(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *request)
{
    const struct pl_tree *exact = pl_tree_getz(request, "exactly");
    const struct pl_tree *choices = pl_tree_getz(request, "firstAvailable");
    pl_valid_device_name(f, PL_MEMBER(at, "name"), pl_tree_getz(request, "name"), NULL);
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

void pl_valid_device_reference(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *name, const struct pl_tree *requests)
{
    static const char unknown[] = "must be the name of a request in the claim or the name of a "
                                  "request and a subrequest separated by '/'";
    struct pl_slice rest = pl_tree_text(name);
    size_t slashes = 0;
    for (size_t i = 0; i < rest.len; i++)
        slashes += rest.ptr[i] == '/';
    for (size_t i = 0; i <= slashes && slashes < 2; i++) {
        const char *slash = pl_slice_chr(rest, '/');
        size_t len = slash != NULL ? (size_t)(slash - rest.ptr) : rest.len;
        pl_valid_device_name(f, at, pl_tree_str(f->arena, pl_slice(rest.ptr, len)), NULL);
        if (slash != NULL)
            rest = pl_slice(slash + 1, rest.len - len - 1);
    }
    if (!has_request(requests, pl_tree_text(name)))
        pl_bad_value(f, at, pl_or_empty(f, name), unknown);
}

void pl_valid_device_references(struct pl_api_faults *f, const struct pl_spot *owner,
                                const struct pl_tree *one, const struct pl_tree *requests)
{
    const struct pl_spot *at = PL_MEMBER(owner, "requests");
    const struct pl_tree *names = pl_tree_getz(one, "requests");
    size_t i = 0;
    pl_at_most(f, at, names, MOST_REQUESTS);
    pl_unique(f, at, names, NULL);
    PL_EACH(item, names)
    pl_valid_device_reference(f, PL_INDEX(at, i++), item->value, requests);
}

static void check_constraint(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *one, const struct pl_tree *requests)
{
    static const char members[][20] = {"matchAttribute", "distinctAttribute"};
    pl_valid_device_references(f, at, one, requests);
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
    unique_names(f, PL_MEMBER(at, "requests"), requests);
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
        pl_valid_device_references(f, spot, item->value, requests);
        pl_valid_device_configuration(f, spot, item->value);
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
        pl_valid_template_meta(f, PL_MEMBER(SPEC, "metadata"), pl_tree_getz(spec, "metadata"));
        check_claim(f, PL_MEMBER(SPEC, "spec"), pl_tree_getz(spec, "spec"));
    } else
        pl_frozen(f, SPEC, spec, pl_tree_getz(old, "spec"));
}

/* ---- classes and taints ---- */

/* The name of a resource that pods may ask for in place of a claim. */
static void check_extended(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *name)
{
    struct pl_slice text = pl_tree_text(name);
    struct pl_api_faults found = {.arena = f->arena};
    if (name == NULL)
        return;
    if (pl_slice_chr(text, '/') == NULL)
        pl_bad_value(f, at, name,
                     "a name must be a domain-prefixed path, such as 'example.com/my-prop'");
    else if (strstr(pl_arena_copy(f->arena, text).ptr, "kubernetes.io/") != NULL)
        pl_bad_value(f, at, name, "must not have \"kubernetes.io/\" domain");
    if (pl_text_begins(text, "requests."))
        pl_bad_value(f, at, name, "must not have \"requests.\" prefix");
    pl_qualified(&found, at,
                 pl_tree_str(f->arena, pl_arena_f(f->arena, "requests.%.*s", PL_FMT(text))), NULL);
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice message = pl_tree_text_at(item->value, "message");
        const char *why = strstr(pl_arena_copy(f->arena, message).ptr, "\": ");
        if (why != NULL)
            pl_bad_value(f, at, name, "%s", why + 3);
    }
}

void pl_valid_device_class(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *config = pl_tree_getz(spec, "config");
    size_t i = 0;
    check_extended(f, PL_MEMBER(SPEC, "extendedResourceName"),
                   pl_tree_getz(spec, "extendedResourceName"));
    check_selectors(f, SPEC, pl_tree_getz(spec, "selectors"), pl_tree_dig(old, "spec.selectors"));
    pl_at_most(f, PL_MEMBER(SPEC, "config"), config, MOST_REQUESTS);
    PL_EACH(item, config)
    pl_valid_device_configuration(f, PL_INDEX(PL_MEMBER(SPEC, "config"), i++), item->value);
}

void pl_valid_device_taint(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *taint)
{
    static const struct pl_rule rules[] = {
        {"key", pl_qualified, "always"},
        {"value", pl_label_value, NULL},
        {"effect", pl_needs_one, "NoExecute,NoSchedule,None"},
        {NULL, NULL, NULL},
    };
    pl_hold(f, at, taint, rules);
}

void pl_valid_taint_rule(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const struct pl_rule devices[] = {
        {"driver", pl_valid_driver_name, NULL},
        {"pool", pl_valid_pool_name, NULL},
        {"device", pl_valid_device_name, NULL},
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
    pl_valid_device_taint(f, PL_MEMBER(SPEC, "taint"), pl_tree_getz(spec, "taint"));
}
