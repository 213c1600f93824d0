/* Kinds of the cluster's own parts: API services, addresses and ranges of Services, objects of
 * storage drivers, migrations, bundles of certificates. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

static void bad_name(struct pl_api_faults *f, const struct pl_tree *object, const char *why)
{
    pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"),
                 pl_tree_dig(object, "metadata.name"), "%s", why);
}

static void needed_segment(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *value, const char *arg)
{
    pl_need(f, at, value, "");
    pl_valid_path_segment(f, at, value, arg);
}

/* ---- API services ---- */

/* Between 1 and most. */
static void check_priority(struct pl_api_faults *f, const struct pl_tree *spec, const char *member,
                           int64_t most)
{
    int64_t is = 0;
    const struct pl_tree *value = pl_tree_getz(spec, member);
    pl_tree_integer(value, &is);
    if (is <= 0 || is > most)
        pl_bad_value(f, PL_MEMBER(SPEC, member), value != NULL ? value : pl_tree_int(f->arena, 0),
                     "must be positive and less than %d", (int)most);
}

static void check_local(struct pl_api_faults *f, const struct pl_tree *spec)
{
    struct pl_slice bundle = pl_tree_text_at(spec, "caBundle");
    const struct pl_tree *skip = pl_tree_getz(spec, "insecureSkipTLSVerify");
    if (bundle.len > 0)
        pl_bad_value(f, PL_MEMBER(SPEC, "caBundle"),
                     pl_tree_str(f->arena, pl_arena_f(f->arena, "%zu bytes", bundle.len / 4 * 3)),
                     "local APIServices may not have a caBundle");
    if (pl_is_true(skip))
        pl_bad_value(f, PL_MEMBER(SPEC, "insecureSkipTLSVerify"), skip,
                     "local APIServices may not have insecureSkipTLSVerify");
}

static void check_remote(struct pl_api_faults *f, const struct pl_tree *spec,
                         const struct pl_tree *service)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "service");
    const struct pl_tree *port = pl_tree_getz(service, "port");
    const struct pl_tree *skip = pl_tree_getz(spec, "insecureSkipTLSVerify");
    int64_t number = 0;
    pl_need(f, PL_MEMBER(at, "namespace"), pl_tree_getz(service, "namespace"), "");
    pl_need(f, PL_MEMBER(at, "name"), pl_tree_getz(service, "name"), "");
    pl_tree_integer(port, &number);
    if (number < 1 || number > 65535)
        pl_bad_value(f, PL_MEMBER(at, "port"), port,
                     "port is not valid: must be between 1 and 65535, inclusive");
    if (pl_is_true(skip) && !pl_is_empty(pl_tree_getz(spec, "caBundle")))
        pl_bad_value(f, PL_MEMBER(SPEC, "insecureSkipTLSVerify"), skip,
                     "may not be true if caBundle is present");
}

void pl_valid_api_service(struct pl_api_faults *f, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *service = pl_tree_getz(spec, "service");
    struct pl_slice group = pl_tree_text_at(spec, "group");
    struct pl_slice version = pl_tree_text_at(spec, "version");
    struct pl_slice needed = pl_arena_f(f->arena, "%.*s.%.*s", PL_FMT(version), PL_FMT(group));
    PL_UNUSED(old);
    if (pl_tree_dig(object, "metadata.name") != NULL &&
        !pl_slice_eq(pl_tree_text_at(object, "metadata.name"), needed))
        bad_name(f, object,
                 pl_arena_f(f->arena, "must be `spec.version+\".\"+spec.group`: \"%.*s\"",
                            PL_FMT(needed))
                     .ptr);
    if (group.len == 0 && !pl_slice_eqz(version, "v1"))
        pl_bad_required(f, PL_MEMBER(SPEC, "group"),
                        "only v1 may have an empty group and it better be legacy kube");
    pl_subdomain(f, PL_MEMBER(SPEC, "group"), pl_tree_getz(spec, "group"), NULL);
    pl_dns1035(f, PL_MEMBER(SPEC, "version"), pl_or_empty(f, pl_tree_getz(spec, "version")),
               "always");
    check_priority(f, spec, "groupPriorityMinimum", 20000);
    check_priority(f, spec, "versionPriority", 1000);
    if (service == NULL)
        check_local(f, spec);
    else
        check_remote(f, spec, service);
}

/* ---- addresses and ranges of Services ---- */

void pl_valid_address(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"group", pl_subdomain, NULL},
        {"resource", needed_segment, NULL},
        {"name", needed_segment, NULL},
        {"namespace", pl_valid_path_segment, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_spot *at = PL_MEMBER(SPEC, "parentRef");
    const struct pl_tree *parent = pl_tree_dig(object, "spec.parentRef");
    if (old != NULL) {
        pl_frozen(f, at, parent, pl_tree_dig(old, "spec.parentRef"));
        if (parent == NULL)
            pl_bad_required(f, at, "");
        return;
    }
    if (pl_tree_dig(object, "metadata.name") != NULL)
        pl_ip(f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"),
              pl_tree_dig(object, "metadata.name"), NULL);
    if (parent == NULL)
        pl_bad_required(f, at, "");
    else
        pl_hold(f, at, parent, rules);
}

static void check_ranges(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *ranges)
{
    size_t i = 0, six = 0;
    if (pl_is_empty(ranges)) {
        pl_bad_required(f, at, "at least one CIDR required");
        return;
    }
    if (ranges->count > 2) {
        struct pl_tree *shown = pl_tree_object(f->arena);
        pl_tree_setz(f->arena, shown, "CIDRs", pl_tree_copy(f->arena, ranges));
        pl_bad_value(f, at, shown, "may only hold up to 2 values");
        return;
    }
    size_t before = pl_api_fault_count(f);
    PL_EACH(item, ranges)
    {
        six += pl_slice_chr(pl_tree_text(item->value), ':') != NULL;
        pl_cidr(f, PL_INDEX(at, i++), item->value, NULL);
    }
    if (ranges->count == 2 && six != 1 && pl_api_fault_count(f) == before)
        pl_bad_value(f, at, ranges,
                     "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
                     "2001:db8::/64");
}

void pl_valid_range(struct pl_api_faults *f, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "cidrs");
    const struct pl_tree *is = pl_tree_dig(object, "spec.cidrs");
    const struct pl_tree *was = pl_tree_dig(old, "spec.cidrs");
    size_t i = 0, count = pl_tree_is(is, PL_ARRAY) ? is->count : 0;
    size_t had = pl_tree_is(was, PL_ARRAY) ? was->count : 0;
    if (old == NULL || (had == 1 && count == 2))
        check_ranges(f, at, is);
    if (old == NULL)
        return;
    if (had != count && !(had == 1 && count == 2)) {
        pl_bad_value(f, at, is != NULL ? is : pl_tree_literal(f->arena, "null"),
                     "field is immutable");
        return;
    }
    PL_EACH(item, was)
    {
        const struct pl_tree *now = pl_tree_at(is, i);
        if (!pl_tree_equal(now, item->value))
            pl_bad_value(f, PL_INDEX(at, i), now, "field is immutable");
        i++;
    }
}

/* ---- storage ---- */

#define MOST_NODE_ID 192

static void check_node_id(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    pl_need(f, at, value, "");
    if (pl_tree_text(value).len > MOST_NODE_ID)
        pl_bad_value(f, at, value, "must be %d characters or less", MOST_NODE_ID);
}

static void check_driver(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *driver)
{
    static const struct pl_rule rules[] = {
        {"name", pl_valid_driver_name, NULL},
        {"nodeID", check_node_id, NULL},
        {"allocatable.count", pl_natural, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *keys = pl_tree_getz(driver, "topologyKeys");
    struct pl_map seen = PL_MAP_INIT;
    pl_hold(f, at, driver, rules);
    PL_EACH(item, keys)
    {
        if (pl_is_empty(item->value))
            pl_bad_required(f, at, "");
        if (pl_comes_again(&seen, item->value, NULL))
            pl_bad_duplicate(f, at, item->value);
        pl_qualified(f, at, item->value, "always");
    }
    pl_map_deinit(&seen);
}

/* Only the allocatable count of a driver may change. */
static bool driver_changed(struct pl_api_faults *f, const struct pl_tree *is,
                           const struct pl_tree *was)
{
    struct pl_tree *left = pl_tree_copy(f->arena, is), *right = pl_tree_copy(f->arena, was);
    pl_tree_removez(left, "allocatable");
    pl_tree_removez(right, "allocatable");
    return !pl_tree_equal(left, right);
}

void pl_valid_csi_node(struct pl_api_faults *f, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    const struct pl_tree *drivers = pl_tree_dig(object, "spec.drivers");
    const struct pl_spot *at = PL_MEMBER(SPEC, "drivers");
    size_t i = 0;
    PL_EACH(item, drivers)
    check_driver(f, PL_INDEX(at, i++), item->value);
    pl_unique(f, at, drivers, "name");
    PL_EACH(item, pl_tree_dig(old, "spec.drivers"))
    {
        const struct pl_tree *is = pl_named(drivers, pl_tree_text_at(item->value, "name"));
        if (is != NULL && driver_changed(f, is, item->value))
            pl_bad_value(f, at, is, "field is immutable");
    }
}

void pl_valid_capacity(struct pl_api_faults *f, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"nodeTopology", pl_selector, NULL},
        {"storageClassName", pl_subdomain, "always"},
        {NULL, NULL, NULL},
    };
    static const char frozen[][20] = {"nodeTopology", "storageClassName"};
    const struct pl_tree *capacity = pl_tree_getz(object, "capacity");
    if (old == NULL) {
        pl_hold(f, NULL, object, rules);
        if (pl_quantity_sign(capacity) < 0)
            pl_bad_value(f, PL_MEMBER(NULL, "capacity"), capacity,
                         "must be greater than or equal to 0");
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(frozen); i++)
        pl_frozen(f, PL_MEMBER(NULL, frozen[i]), pl_tree_getz(object, frozen[i]),
                  pl_tree_getz(old, frozen[i]));
}

void pl_valid_attributes_class(struct pl_api_faults *f, const struct pl_tree *object,
                               const struct pl_tree *old)
{
    static const char frozen[][12] = {"driverName", "parameters"};
    const struct pl_spot *at = PL_MEMBER(NULL, "parameters");
    const struct pl_tree *driver = pl_tree_getz(object, "driverName");
    const struct pl_tree *values = pl_tree_getz(object, "parameters");
    size_t bytes = 0;
    for (size_t i = 0; old != NULL && i < PL_ARRAY_LEN(frozen); i++)
        if (!pl_tree_equal(pl_tree_getz(object, frozen[i]), pl_tree_getz(old, frozen[i])))
            pl_bad_forbidden(f, PL_MEMBER(NULL, frozen[i]),
                             pl_arena_f(f->arena, "updates to %s are forbidden.", frozen[i]).ptr);
    pl_need(f, PL_MEMBER(NULL, "driverName"), driver, "");
    if (!pl_is_empty(driver))
        pl_qualified(f, PL_MEMBER(NULL, "driverName"), pl_in_small_letters(f, driver), NULL);
    if (pl_is_empty(values))
        pl_bad_required(f, at, "must contain at least one key/value pair");
    else if (values->count > 512)
        pl_bad_long(f, at, "512");
    PL_TREE_FOR(item, pl_tree_is(values, PL_OBJECT) ? values : NULL)
    {
        if (item->key.len == 0)
            pl_bad_value(f, at, pl_tree_str(f->arena, item->key), "field can not be empty.");
        bytes += item->key.len + pl_tree_text(item->value).len;
    }
    if (bytes > (size_t)256 << 10)
        pl_bad_long(f, at, "262144 characters");
}

/* ---- migrations and bundles ---- */

void pl_valid_migration(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "resource");
    const struct pl_tree *resource = pl_tree_dig(object, "spec.resource");
    pl_need(f, PL_MEMBER(at, "resource"), pl_tree_getz(resource, "resource"),
            "resource is required to be set");
    pl_dns1035(f, PL_MEMBER(at, "resource"), pl_tree_getz(resource, "resource"), NULL);
    pl_subdomain(f, PL_MEMBER(at, "group"), pl_tree_getz(resource, "group"), NULL);
    if (old != NULL)
        pl_frozen(f, SPEC, pl_tree_getz(object, "spec"), pl_tree_getz(old, "spec"));
}

/* The number of blocks in a bundle; those that are no certificates are faults. */
static size_t certificates_in(struct pl_api_faults *f, struct pl_slice text,
                              const struct pl_spot *at)
{
    static const char begin[] = "-----BEGIN ";
    size_t count = 0;
    const char *end = text.ptr + text.len, *is = text.ptr;
    while ((is = memmem(is, (size_t)(end - is), begin, sizeof(begin) - 1)) != NULL) {
        is += sizeof(begin) - 1;
        const char *stop = memmem(is, (size_t)(end - is), "-----", 5);
        if (stop == NULL)
            break;
        struct pl_slice type = pl_slice(is, (size_t)(stop - is));
        if (!pl_slice_eqz(type, "CERTIFICATE"))
            pl_bad_value(f, at, pl_tree_strz(f->arena, "<value omitted>"),
                         "entry %zu has bad block type: %.*s", count, PL_FMT(type));
        count++;
        is = stop;
    }
    return count;
}

void pl_valid_trust_bundle(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    const struct pl_spot *at = PL_MEMBER(SPEC, "trustBundle");
    struct pl_slice signer = pl_tree_text_at(object, "spec.signerName");
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    struct pl_slice text = pl_tree_text_at(object, "spec.trustBundle");
    struct pl_slice prefix = pl_arena_f(f->arena, "%.*s:", PL_FMT(signer));
    for (size_t i = 0; i < prefix.len; i++)
        if (prefix.ptr[i] == '/')
            ((char *)prefix.ptr)[i] = ':';
    if (signer.len == 0 && pl_slice_chr(name, ':') != NULL)
        bad_name(f, object,
                 "ClusterTrustBundle without signer name must not have \":\" in its name");
    else if (signer.len > 0 &&
             (name.len < prefix.len || memcmp(name.ptr, prefix.ptr, prefix.len) != 0))
        bad_name(f, object,
                 pl_arena_f(f->arena,
                            "ClusterTrustBundle for signerName %.*s must be named with prefix %.*s",
                            PL_FMT(signer), PL_FMT(prefix))
                     .ptr);
    if (signer.len > 0)
        pl_valid_signer_name(f, PL_MEMBER(SPEC, "signerName"),
                             pl_tree_dig(object, "spec.signerName"), NULL);
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(SPEC, "signerName"), pl_tree_dig(object, "spec.signerName"),
                  pl_tree_dig(old, "spec.signerName"));
    if (old != NULL && pl_slice_eq(text, pl_tree_text_at(old, "spec.trustBundle")))
        return;
    if (certificates_in(f, text, at) == 0)
        pl_bad_value(f, at, pl_tree_strz(f->arena, "<value omitted>"),
                     "at least one trust anchor must be provided");
}
