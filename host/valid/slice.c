/* ResourceSlices: the devices that a driver offers, with their attributes, capacities, counters and
 * taints. A slice belongs to one node, to nodes of a selector, or to all nodes, unless each device
 * says so itself. */
#include "valid/device_impl.h"
#include "valid/kinds.h"

#include "base/text.h"
#include "format/units.h"
#include "gotype/quantity.h"
#include "object/tree.h"
#include "schema/validate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPEC           PL_MEMBER(NULL, "spec")
#define MOST_DEVICES   128
#define MOST_SPECIAL   64 /* devices with taints or counters */
#define MOST_VALUES    32 /* attributes and capacities of a device */
#define MOST_NAME      32 /* bytes of the name of an attribute, without its domain */
#define MOST_TEXT      64 /* bytes of an attribute's text */
#define MOST_SETS      8
#define MOST_COUNTERS  32
#define MOST_CONSUMED  2
#define MOST_TAINTS    16
#define MOST_CONDITION 4
#define MOST_OPTIONS   10

#define ONE_OF_NODES                                                                               \
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
#define ONE_PER_DEVICE                                                                             \
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "                   \
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
#define C_NAME                                                                                     \
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "   \
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for " \
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"

/* ---- nodes ---- */

/* The members that are set, "`a`, `b`", and their number. */
struct set_members {
    struct pl_slice text;
    size_t count;
};

static void add_member(struct pl_api_faults *f, struct set_members *set, const char *member,
                       bool is_set)
{
    if (is_set)
        set->text = pl_arena_f(f->arena, "%.*s%s`%s`", PL_FMT(set->text),
                               set->count++ > 0 ? ", " : "", member);
}

/* A flag may be absent or true. */
static bool check_flag(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *object, const char *member)
{
    const struct pl_tree *value = pl_tree_getz(object, member);
    if (pl_is_false(value))
        pl_bad_value(f, PL_MEMBER(at, member), value, "must be either unset or set to true");
    return pl_is_true(value);
}

/* One of the three members that the spec and a device have. empty: what is wrong with "". */
static struct set_members check_node(struct pl_api_faults *f, const struct pl_spot *at,
                                     const struct pl_tree *object, const char *empty)
{
    struct set_members set = {.text = {"", 0}};
    const struct pl_tree *name = pl_tree_getz(object, "nodeName");
    const struct pl_tree *selector = pl_tree_getz(object, "nodeSelector");
    if (name != NULL && pl_is_empty(name))
        pl_bad_value(f, PL_MEMBER(at, "nodeName"), name, "%s", empty);
    pl_subdomain(f, PL_MEMBER(at, "nodeName"), name, NULL);
    if (selector != NULL)
        pl_valid_node_selector(f, PL_MEMBER(at, "nodeSelector"), selector);
    add_member(f, &set, "nodeName", !pl_is_empty(name));
    add_member(f, &set, "nodeSelector", selector != NULL);
    add_member(f, &set, "allNodes", check_flag(f, at, object, "allNodes"));
    return set;
}

static void check_nodes(struct pl_api_faults *f, const struct pl_tree *spec)
{
    struct set_members set =
        check_node(f, SPEC, spec, "must be either unset or set to a non-empty string");
    const struct pl_tree *terms = pl_tree_dig(spec, "nodeSelector.nodeSelectorTerms");
    if (pl_tree_getz(spec, "nodeSelector") != NULL && (terms == NULL || terms->count != 1))
        pl_bad_struct(f, PL_MEMBER(PL_MEMBER(SPEC, "nodeSelector"), "nodeSelectorTerms"),
                      "[]NodeSelectorTerm", terms, "must have exactly one node selector term");
    add_member(f, &set, "perDeviceNodeSelection",
               check_flag(f, SPEC, spec, "perDeviceNodeSelection"));
    if (set.count == 0)
        pl_bad_required(f, SPEC, ONE_OF_NODES);
    else if (set.count > 1)
        pl_bad_value(f, SPEC,
                     pl_tree_str(f->arena, pl_arena_f(f->arena, "{%.*s}", PL_FMT(set.text))),
                     ONE_OF_NODES ", but multiple fields are set");
}

static void check_nodes_of_device(struct pl_api_faults *f, const struct pl_spot *at,
                                  const struct pl_tree *device, const struct pl_tree *per_device)
{
    if (!pl_is_true(per_device)) {
        if (pl_tree_getz(device, "nodeName") != NULL ||
            pl_tree_getz(device, "nodeSelector") != NULL ||
            pl_tree_getz(device, "allNodes") != NULL)
            pl_bad_value(f, at, pl_tree_literal(f->arena, "null"),
                         "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                         "`perDeviceNodeSelection` is set to true in the ResourceSlice spec");
        return;
    }
    struct set_members set = check_node(f, at, device, "must not be empty");
    if (set.count == 0)
        pl_bad_required(f, at, ONE_PER_DEVICE);
    else if (set.count > 1)
        pl_bad_value(f, at, pl_tree_str(f->arena, pl_arena_f(f->arena, "{%.*s}", PL_FMT(set.text))),
                     ONE_PER_DEVICE);
}

/* ---- attributes and capacities ---- */

static void check_identifier(struct pl_api_faults *f, const struct pl_spot *at,
                             struct pl_slice name)
{
    if (name.len > MOST_NAME)
        pl_bad_long(f, at, "32 bytes");
    if (!pl_is_c_identifier(name))
        pl_bad_value(f, at, pl_tree_str(f->arena, name), C_NAME);
}

/* "name" or "domain/name". As in kube-apiserver, a name with more parts passes. */
static void check_value_name(struct pl_api_faults *f, const struct pl_spot *at,
                             struct pl_slice name)
{
    const char *slash = pl_slice_chr(name, '/');
    const struct pl_tree *nothing = pl_tree_strz(f->arena, "");
    if (slash == NULL) {
        check_identifier(f, at, name);
        return;
    }
    struct pl_slice domain = pl_slice(name.ptr, (size_t)(slash - name.ptr));
    struct pl_slice rest = pl_slice(slash + 1, name.len - domain.len - 1);
    if (pl_slice_chr(rest, '/') != NULL)
        return;
    if (domain.len == 0)
        pl_bad_value(f, at, nothing, "the domain must not be empty");
    else
        pl_valid_csi_driver_name(f, at, pl_tree_str(f->arena, domain), NULL);
    if (rest.len == 0)
        pl_bad_value(f, at, nothing, "the name must not be empty");
    else
        check_identifier(f, at, rest);
}

/* The next part of a semantic version up to one of the ends; NULL if it has none. */
static const char *identifier_end(const char *at, bool may_begin_with_zero)
{
    const char *begin = at;
    bool digits = true;
    for (; pl_is_alnum(*at) || *at == '-'; at++)
        digits = digits && pl_is_digit(*at);
    bool zero = digits && *begin == '0' && at - begin > 1;
    return at > begin && (may_begin_with_zero || !zero) ? at : NULL;
}

static bool is_semver(struct pl_api_faults *f, struct pl_slice version)
{
    const char *at = pl_arena_copy(f->arena, version).ptr;
    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || (digits > 1 && *at == '0') || (i < 2 && at[digits] != '.'))
            return false;
        at += digits + (i < 2);
    }
    for (int part = 0; part < 2; part++) {
        if (*at != "-+"[part])
            continue;
        do
            at = identifier_end(at + 1, part == 1);
        while (at != NULL && *at == '.');
        if (at == NULL)
            return false;
    }
    return *at == '\0';
}

static void check_attribute(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *attribute)
{
    static const char members[][8] = {"int", "bool", "string", "version"};
    const struct pl_tree *version = pl_tree_getz(attribute, "version");
    struct pl_slice set = {"", 0};
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_tree_getz(attribute, members[i]) != NULL)
            set =
                pl_arena_f(f->arena, "%.*s%s%s", PL_FMT(set), count++ > 0 ? ", " : "", members[i]);
    if (pl_tree_text_at(attribute, "string").len > MOST_TEXT)
        pl_bad_long(f, PL_MEMBER(at, "string"), "64 bytes");
    if (version != NULL && !is_semver(f, pl_tree_text(version)))
        pl_bad_value(f, PL_MEMBER(at, "version"), version,
                     "must be a string compatible with semver.org spec 2.0.0");
    if (pl_tree_text(version).len > MOST_TEXT)
        pl_bad_long(f, PL_MEMBER(at, "version"), "64 bytes");
    if (count == 0)
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""),
                     "must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, "
                     "`strings`, `versions`");
    else if (count > 1)
        pl_bad_value(f, at, pl_tree_str(f->arena, pl_arena_f(f->arena, "{%.*s}", PL_FMT(set))),
                     "must specify exactly one of: `int`, `bool`, `string`, `version`, `ints`, "
                     "`bools`, `strings`, `versions`");
}

static void check_options(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *capacity, const struct pl_tree *options)
{
    const struct pl_tree *most = pl_tree_getz(capacity, "value");
    const struct pl_tree *usual = pl_tree_dig(capacity, "requestPolicy.default");
    const struct pl_tree *before = NULL;
    bool found = false;
    size_t i = 0;
    if (!pl_at_most(f, at, options, MOST_OPTIONS))
        return;
    PL_EACH(item, options)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        if (before != NULL && pl_quantity_cmp(before, item->value) > 0)
            pl_bad_value(f, spot, item->value, "values must be sorted in ascending order");
        if (before != NULL && pl_quantity_cmp(before, item->value) == 0)
            pl_bad_duplicate(f, spot, item->value);
        if (pl_quantity_cmp(item->value, most) > 0)
            pl_bad_value(f, spot, item->value, "option is larger than capacity value: %.*s",
                         PL_FMT(pl_tree_text(most)));
        found = found || pl_quantity_cmp(item->value, usual) == 0;
        before = item->value;
    }
    if (!found)
        pl_bad_value(f, at, usual, "default value is not valid according to the requestPolicy");
}

/* Refuses a quantity that is above another one. */
static void not_above(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *shown, const struct pl_tree *value,
                      const struct pl_tree *most, const char *why)
{
    if (value != NULL && most != NULL && pl_quantity_cmp(value, most) > 0)
        pl_bad_value(f, at, shown, "%s: %.*s", why,
                     PL_FMT(pl_tree_text(shown == value ? most : value)));
}

/* Refuses a value that no number of steps leads to. */
static void check_step(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *range, const struct pl_tree *value)
{
    const struct pl_tree *min = pl_tree_getz(range, "min"), *step = pl_tree_getz(range, "step");
    double first = 0, width = 0, is = 0;
    if (step != NULL && value != NULL && pl_quantity_parse(pl_tree_text(min), &first) &&
        pl_quantity_parse(pl_tree_text(step), &width) &&
        pl_quantity_parse(pl_tree_text(value), &is) &&
        fmod(ceil(is) - ceil(first), ceil(width)) != 0)
        pl_bad_value(f, at, value, "value is not a multiple of a given step (%.*s) from (%.*s)",
                     PL_FMT(pl_tree_text(step)), PL_FMT(pl_tree_text(min)));
}

/* Refuses a range whose first step leads beyond the capacity. */
static void check_first_step(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *range, const struct pl_tree *most)
{
    const struct pl_tree *step = pl_tree_getz(range, "step");
    double first = 0, width = 0, all = 0;
    if (!pl_quantity_parse(pl_tree_text_at(range, "min"), &first) ||
        !pl_quantity_parse(pl_tree_text(step), &width) ||
        !pl_quantity_parse(pl_tree_text(most), &all) || first + width <= all)
        return;
    struct pl_slice min = pl_tree_text_at(range, "min");
    bool is_binary = min.len > 0 && min.ptr[min.len - 1] == 'i';
    double sum = first + width;
    char text[64], canonical[64];
    snprintf(text, sizeof text, "%.0f%s", is_binary ? sum / 1024 : sum * 1000,
             is_binary ? "Ki" : "m");
    pl_bad_value(f, at, step, "one step %s is larger than capacity value: %.*s",
                 pl_api_quantity_text(pl_slice_z(text), false, canonical) == PL_QUANTITY_CHANGED
                     ? canonical
                     : text,
                 PL_FMT(pl_tree_text(most)));
}

/* Steps are counted with the integers that a quantity rounds up to. */
static void for_steps(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value)
{
    double is = 0;
    if (value == NULL || !pl_quantity_parse(pl_tree_text(value), &is))
        return;
    if (is < 0)
        pl_bad_value(f, at, value, "must be greater than or equal to 0");
    else if (is >= 9223372036854775808.0)
        pl_bad_value(f, at, value, "must not be larger than 9223372036854775807");
}

static void check_range(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *capacity, const struct pl_tree *range)
{
    const struct pl_tree *value = pl_tree_getz(capacity, "value");
    const struct pl_tree *usual = pl_tree_dig(capacity, "requestPolicy.default");
    const struct pl_tree *min = pl_tree_getz(range, "min"), *max = pl_tree_getz(range, "max");
    const struct pl_tree *step = pl_tree_getz(range, "step");
    if (min == NULL) {
        pl_bad_required(f, PL_MEMBER(at, "min"), "required when validRange is defined");
        return;
    }
    not_above(f, PL_MEMBER(at, "min"), min, min, value, "min is larger than capacity value");
    not_above(f, PL_MEMBER(at, "default"), usual, min, usual, "default is less than min");
    not_above(f, PL_MEMBER(at, "max"), min, min, max, "min is larger than max");
    not_above(f, PL_MEMBER(at, "max"), max, max, value, "max is larger than capacity value");
    not_above(f, PL_MEMBER(at, "default"), usual, usual, max, "default is more than max");
    if (step != NULL && pl_quantity_sign(step) <= 0) {
        pl_bad_value(f, PL_MEMBER(at, "step"), step, "must be greater than zero");
        return;
    }
    if (step == NULL)
        return;
    check_first_step(f, PL_MEMBER(at, "step"), range, value);
    size_t before = pl_api_fault_count(f);
    for_steps(f, PL_MEMBER(at, "default"), usual);
    for_steps(f, PL_MEMBER(at, "min"), min);
    for_steps(f, PL_MEMBER(at, "max"), max);
    for_steps(f, PL_MEMBER(at, "step"), step);
    if (pl_api_fault_count(f) > before)
        return;
    check_step(f, PL_MEMBER(at, "step"), range, usual);
    check_step(f, PL_MEMBER(at, "step"), range, max);
}

static void check_capacity(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *capacity, bool is_shared)
{
    const struct pl_spot *policy_at = PL_MEMBER(at, "requestPolicy");
    const struct pl_tree *policy = pl_tree_getz(capacity, "requestPolicy");
    const struct pl_tree *options = pl_tree_getz(policy, "validValues");
    const struct pl_tree *range = pl_tree_getz(policy, "validRange");
    bool has_default = pl_tree_getz(policy, "default") != NULL;
    if (policy == NULL)
        return;
    if (!is_shared) {
        pl_bad_forbidden(f, policy_at, "allowMultipleAllocations must be true");
    } else if (!pl_is_empty(options) && range != NULL) {
        pl_bad_forbidden(f, policy_at,
                         "exactly one policy can be specified, cannot specify \"validValues\" and "
                         "\"validRange\" at the same time");
    } else if (!pl_is_empty(options)) {
        if (has_default)
            check_options(f, PL_MEMBER(policy_at, "validValues"), capacity, options);
        else
            pl_bad_required(f, PL_MEMBER(policy_at, "default"),
                            "required when validValues is defined");
    } else if (range != NULL) {
        if (has_default)
            check_range(f, PL_MEMBER(policy_at, "validRange"), capacity, range);
        else
            pl_bad_required(f, PL_MEMBER(policy_at, "default"),
                            "required when validRange is defined");
    }
}

/* Capacities that have not changed are not checked again; old: NULL for a new device. */
static void check_values(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *device, const struct pl_tree *old)
{
    const struct pl_tree *attributes = pl_tree_getz(device, "attributes");
    const struct pl_tree *capacities = pl_tree_getz(device, "capacity");
    bool is_shared = pl_is_true(pl_tree_getz(device, "allowMultipleAllocations"));
    size_t count =
        (attributes != NULL ? attributes->count : 0) + (capacities != NULL ? capacities->count : 0);
    if (count > MOST_VALUES)
        pl_bad_value(f, at, pl_tree_int(f->arena, (int64_t)count),
                     "the total number of attributes and capacities must not exceed %d",
                     MOST_VALUES);
    PL_TREE_FOR(item, attributes)
    {
        const struct pl_spot *list = PL_MEMBER(at, "attributes");
        check_value_name(f, list, item->key);
        check_attribute(f, PL_OF_KEY(list, item->key), item->value);
    }
    bool is_new = old == NULL || !pl_tree_equal(capacities, pl_tree_getz(old, "capacity"));
    PL_TREE_FOR(item, is_new ? capacities : NULL)
    {
        const struct pl_spot *list = PL_MEMBER(at, "capacity");
        check_value_name(f, list, item->key);
        check_capacity(f, PL_OF_KEY(list, item->key), item->value, is_shared);
    }
}

/* ---- counters, taints and conditions ---- */

/* Counters of a set, or those that a device consumes; name: the member that names the set. */
static void check_counters(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *set, const char *name)
{
    const struct pl_spot *list = PL_MEMBER(at, "counters");
    const struct pl_tree *counters = pl_tree_getz(set, "counters");
    pl_need(f, PL_MEMBER(at, name), pl_tree_getz(set, name), "");
    pl_label(f, PL_MEMBER(at, name), pl_tree_getz(set, name), NULL);
    pl_need(f, list, counters, "");
    if (counters != NULL && counters->count > MOST_COUNTERS) {
        pl_api_fault(f, "FieldValueTooMany", pl_spot_text(f, list),
                     "Too many: %zu: must have at most %d items", counters->count, MOST_COUNTERS);
        return;
    }
    PL_TREE_FOR(item, counters)
    if (item->key.len > 0)
        pl_label(f, list, pl_tree_str(f->arena, item->key), NULL);
    else
        pl_bad_value(f, list, pl_tree_strz(f->arena, ""), PL_API_LABEL_TEXT);
}

/* A list of sets of counters with different names. A duplicate is shown as a whole. */
static void check_sets(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *sets, const char *name, size_t most)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    if (!pl_at_most(f, at, sets, most))
        return;
    PL_EACH(item, sets)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        if (pl_comes_again(&seen, pl_or_empty(f, pl_tree_getz(item->value, name)), NULL))
            pl_bad_duplicate(f, spot, item->value);
        check_counters(f, spot, item->value, name);
    }
    pl_map_deinit(&seen);
}

void pl_valid_device_conditions(struct pl_api_faults *f, const struct pl_spot *at,
                                const struct pl_tree *device)
{
    static const char members[][28] = {"bindingConditions", "bindingFailureConditions"};
    const struct pl_tree *lists[] = {pl_tree_getz(device, members[0]),
                                     pl_tree_getz(device, members[1])};
    for (size_t k = 0; k < PL_ARRAY_LEN(members); k++) {
        const struct pl_spot *spot = PL_MEMBER(at, members[k]);
        size_t i = 0;
        if (!pl_at_most(f, spot, lists[k], MOST_CONDITION))
            continue;
        PL_EACH(item, lists[k])
        {
            const struct pl_spot *place = PL_INDEX(spot, i++);
            pl_qualified(f, place, item->value, "always");
            if (k == 1 && lists[0] != NULL && pl_tree_has_text(lists[0], pl_tree_text(item->value)))
                pl_bad_value(f, place, item->value,
                             "bindingFailureConditions must not overlap with bindingConditions");
        }
        pl_unique(f, spot, lists[k], "");
        const char *other = members[1 - k];
        if (pl_is_empty(lists[k]) && !pl_is_empty(lists[1 - k]))
            pl_bad_value(f, spot, pl_tree_literal(f->arena, "null"), "%s are required to use %s",
                         members[k], other);
    }
}

static const struct pl_tree *device_named(const struct pl_tree *devices, const struct pl_tree *name)
{
    PL_EACH(item, devices)
    if (pl_slice_eq(pl_tree_text_at(item->value, "name"), pl_tree_text(name)))
        return item->value;
    return NULL;
}

static void check_device(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *device, const struct pl_tree *old,
                         const struct pl_tree *per_device)
{
    const struct pl_tree *taints = pl_tree_getz(device, "taints");
    const struct pl_spot *list = PL_MEMBER(at, "taints");
    size_t i = 0;
    pl_valid_device_name(f, PL_MEMBER(at, "name"), pl_tree_getz(device, "name"), NULL);
    check_values(f, at, device, old);
    if (pl_at_most(f, list, taints, MOST_TAINTS))
        PL_EACH(item, taints)
    pl_valid_device_taint(f, PL_INDEX(list, i++), item->value);
    check_sets(f, PL_MEMBER(at, "consumesCounters"), pl_tree_getz(device, "consumesCounters"),
               "counterSet", MOST_CONSUMED);
    check_nodes_of_device(f, at, device, per_device);
    pl_valid_device_conditions(f, at, device);
}

/* ---- the slice ---- */

static void check_pool(struct pl_api_faults *f, const struct pl_tree *pool)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "pool");
    pl_valid_pool_name(f, PL_MEMBER(at, "name"), pl_tree_getz(pool, "name"), NULL);
    pl_above_zero(f, PL_MEMBER(at, "resourceSliceCount"), pl_tree_getz(pool, "resourceSliceCount"),
                  "must be greater than zero");
    pl_natural(f, PL_MEMBER(at, "generation"), pl_tree_getz(pool, "generation"),
               "must be greater than or equal to zero");
}

static size_t most_devices(const struct pl_tree *devices)
{
    PL_EACH(item, devices)
    if (!pl_is_empty(pl_tree_getz(item->value, "taints")) ||
        !pl_is_empty(pl_tree_getz(item->value, "consumesCounters")))
        return MOST_SPECIAL;
    return MOST_DEVICES;
}

static void check_offers(struct pl_api_faults *f, const struct pl_tree *spec,
                         const struct pl_tree *old)
{
    const struct pl_tree *devices = pl_tree_getz(spec, "devices");
    const struct pl_spot *at = PL_MEMBER(SPEC, "devices");
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    if (!pl_at_most(f, at, devices, most_devices(devices)))
        return;
    PL_EACH(item, devices)
    {
        const struct pl_tree *name = pl_or_empty(f, pl_tree_getz(item->value, "name"));
        const struct pl_spot *spot = PL_INDEX(at, i++);
        check_device(f, spot, item->value, device_named(pl_tree_getz(old, "devices"), name),
                     pl_tree_getz(spec, "perDeviceNodeSelection"));
        if (pl_comes_again(&seen, name, NULL))
            pl_bad_duplicate(f, spot, name);
    }
    pl_map_deinit(&seen);
}

void pl_valid_device_slice(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    static const char frozen[][12] = {"driver", "nodeName"};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *was = pl_tree_getz(old, "spec");
    pl_valid_csi_driver_name(f, PL_MEMBER(SPEC, "driver"), pl_tree_getz(spec, "driver"), NULL);
    check_pool(f, pl_tree_getz(spec, "pool"));
    if (old != NULL) {
        pl_frozen(f, PL_MEMBER(PL_MEMBER(SPEC, "pool"), "name"), pl_tree_dig(spec, "pool.name"),
                  pl_tree_dig(was, "pool.name"));
        for (size_t k = 0; k < PL_ARRAY_LEN(frozen); k++)
            pl_frozen(f, PL_MEMBER(SPEC, frozen[k]), pl_tree_getz(spec, frozen[k]),
                      pl_tree_getz(was, frozen[k]));
    }
    check_nodes(f, spec);
    if (pl_tree_getz(spec, "sharedCounters") != NULL && pl_tree_getz(spec, "devices") != NULL)
        pl_bad_value(f, SPEC, pl_tree_strz(f->arena, ""),
                     "only one of `sharedCounters` or `devices` is allowed");
    check_offers(f, spec, was);
    check_sets(f, PL_MEMBER(SPEC, "sharedCounters"), pl_tree_getz(spec, "sharedCounters"), "name",
               MOST_SETS);
}
