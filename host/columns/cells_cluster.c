/* The cells of kinds that administrators read: quotas, classes, definitions, policies, requests for
 * certificates, devices. The object is only read; a value may be absent. */
#include "columns/cells_impl.h"

#include "base/text.h"
#include "columns/cells.h"

#include <inttypes.h>
#include <string.h>

#define MAX_SHOWN  3
#define CELL(name) void pl_cell_##name(struct pl_buf *out, struct pl_node object, int64_t now_ns)

static void or_none(struct pl_buf *out, const char *none)
{
    if (out->len == 0)
        pl_buf_add_z(out, none);
}

/* Texts of a list, or a member of its objects. */
static void add_texts(struct pl_buf *out, struct pl_node list, const char *path)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(list);
    while (pl_iter_next(&it)) {
        pl_cell_separate(out, ",");
        if (path != NULL)
            pl_cell_add(out, it.value, path);
        else
            pl_buf_add_slice(out, pl_node_str(it.value, &scratch));
    }
}

/* "first/second", or the other text if the first is absent. */
static void add_slashed(struct pl_buf *out, struct pl_node object, const char *first,
                        const char *second, const char *none)
{
    if (!pl_cell_add(out, object, first)) {
        pl_buf_add_z(out, none);
        return;
    }
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, second);
}

/* ".group", or nothing. */
static void add_dotted(struct pl_buf *out, struct pl_node object, const char *path)
{
    if (pl_cell_has(object, path))
        pl_buf_add_char(out, '.');
    pl_cell_add(out, object, path);
}

/* "kind.group/", in small letters. */
static void add_group_kind(struct pl_buf *out, struct pl_node object, const char *kind,
                           struct pl_slice group)
{
    size_t from = out->len;
    pl_cell_add(out, object, kind);
    if (group.len > 0)
        pl_buf_add_char(out, '.');
    pl_buf_add_slice(out, group);
    pl_cell_lower(out, from);
    pl_buf_add_char(out, '/');
}

/* ---- quotas, revisions, endpoints ---- */

static void add_amounts(struct pl_buf *out, struct pl_node quota, bool limits)
{
    struct pl_node used = pl_cell_at(quota, ".status.used");
    struct pl_scratch hard_scratch, used_scratch;
    struct pl_iter it = pl_iter(pl_cell_at(quota, ".status.hard"));
    while (pl_iter_next(&it)) {
        bool is = it.key.len > 7 && pl_text_begins(it.key, "limits.");
        if (is != limits)
            continue;
        struct pl_slice amount = pl_node_str(pl_node_get(used, it.key), &used_scratch);
        pl_cell_separate(out, ", ");
        pl_buf_add_slice(out, it.key);
        pl_buf_add_z(out, ": ");
        pl_buf_add_slice(out, amount.len > 0 ? amount : pl_slice_z("0"));
        pl_buf_add_char(out, '/');
        pl_buf_add_slice(out, pl_node_str(it.value, &hard_scratch));
    }
}

CELL(quota_requests)
{
    (void)now_ns;
    add_amounts(out, object, false);
}

CELL(quota_limits)
{
    (void)now_ns;
    add_amounts(out, object, true);
}

CELL(revision_of)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_cell_at(object, ".metadata.ownerReferences"));
    (void)now_ns;
    while (pl_iter_next(&it)) {
        struct pl_slice version = pl_node_str(pl_node_getz(it.value, "apiVersion"), &scratch);
        const char *slash = pl_slice_chr(version, '/');
        if (!pl_node_bool(pl_node_getz(it.value, "controller")))
            continue;
        add_group_kind(out, it.value, ".kind",
                       pl_slice(version.ptr, slash != NULL ? (size_t)(slash - version.ptr) : 0));
        pl_cell_add(out, it.value, ".name");
        return;
    }
    pl_buf_add_z(out, "<none>");
}

/* Adds the addresses of a subset, with a port or without (0). Returns their number. */
static size_t add_addresses(struct pl_buf *out, struct pl_node subset, int64_t port, size_t shown)
{
    struct pl_scratch scratch;
    struct pl_iter it = pl_iter(pl_node_getz(subset, "addresses"));
    size_t count = 0;
    while (pl_iter_next(&it)) {
        struct pl_slice ip = pl_node_str(pl_node_getz(it.value, "ip"), &scratch);
        bool six = pl_slice_chr(ip, ':') != NULL && port > 0;
        if (shown + count++ >= MAX_SHOWN)
            continue;
        pl_cell_separate(out, ",");
        pl_buf_add_f(out, "%s%.*s%s", six ? "[" : "", PL_FMT(ip), six ? "]" : "");
        if (port > 0)
            pl_buf_add_f(out, ":%" PRId64, port);
    }
    return count;
}

CELL(endpoints)
{
    struct pl_node subsets = pl_cell_at(object, ".subsets");
    struct pl_iter it = pl_iter(subsets);
    size_t count = 0;
    (void)now_ns;
    while (pl_iter_next(&it)) {
        struct pl_node list = pl_node_getz(it.value, "ports");
        struct pl_iter ports = pl_iter(list);
        if (pl_node_len(list) == 0)
            count += add_addresses(out, it.value, 0, count);
        while (pl_iter_next(&ports))
            count += add_addresses(out, it.value, pl_cell_int(ports.value, ".port"), count);
    }
    if (count > MAX_SHOWN)
        pl_buf_add_f(out, " + %zu more...", count - MAX_SHOWN);
    if (pl_node_len(subsets) == 0)
        pl_buf_add_z(out, "<none>");
}

/* ---- classes and storage ---- */

CELL(class_parameters)
{
    (void)now_ns;
    if (!pl_cell_add(out, object, ".spec.parameters.kind"))
        pl_buf_add_z(out, "<none>");
    else {
        add_dotted(out, object, ".spec.parameters.apiGroup");
        pl_buf_add_char(out, '/');
        pl_cell_add(out, object, ".spec.parameters.name");
    }
}

CELL(audiences)
{
    (void)now_ns;
    add_texts(out, pl_cell_at(object, ".spec.tokenRequests"), ".audience");
    if (pl_node_is_missing(pl_cell_at(object, ".spec.tokenRequests")))
        pl_buf_add_z(out, "<unset>");
}

CELL(modes)
{
    (void)now_ns;
    add_texts(out, pl_cell_at(object, ".spec.volumeLifecycleModes"), NULL);
    or_none(out, "<none>");
}

CELL(migrated)
{
    (void)now_ns;
    pl_cell_add(out, object, ".spec.resource.resource");
    add_dotted(out, object, ".spec.resource.group");
}

CELL(migration)
{
    static const char states[][12] = {"Running", "Failed", "Succeeded"};
    const char *is = "Unknown";
    (void)now_ns;
    for (size_t i = 0; i < PL_ARRAY_LEN(states); i++)
        if (pl_cell_condition(object, states[i], "True"))
            is = states[i];
    pl_buf_add_z(out, is);
}

/* ---- certificates ---- */

static bool has_condition(struct pl_node object, const char *type)
{
    return !pl_node_is_missing(pl_cell_condition_of(object, type));
}

CELL(signing_duration)
{
    char text[32];
    (void)now_ns;
    if (pl_node_is_missing(pl_cell_at(object, ".spec.expirationSeconds"))) {
        pl_buf_add_z(out, "<none>");
        return;
    }
    pl_api_age_text(pl_cell_int(object, ".spec.expirationSeconds") * PL_SECOND, text);
    pl_buf_add_z(out, text);
}

CELL(signing)
{
    (void)now_ns;
    pl_buf_add_z(out, has_condition(object, "Denied")     ? "Denied"
                      : has_condition(object, "Approved") ? "Approved"
                                                          : "Pending");
    if (has_condition(object, "Failed"))
        pl_buf_add_z(out, ",Failed");
    if (pl_cell_has(object, ".status.certificate"))
        pl_buf_add_z(out, ",Issued");
}

CELL(pod_certificate)
{
    (void)now_ns;
    pl_buf_add_z(out, has_condition(object, "Issued")   ? "Issued"
                      : has_condition(object, "Denied") ? "Denied"
                      : has_condition(object, "Failed") ? "Failed"
                                                        : "Pending");
}

/* ---- addresses, flows, API services ---- */

CELL(address_owner)
{
    struct pl_scratch scratch;
    (void)now_ns;
    add_group_kind(out, object, ".spec.parentRef.resource",
                   pl_node_str(pl_cell_at(object, ".spec.parentRef.group"), &scratch));
    if (pl_cell_add(out, object, ".spec.parentRef.namespace"))
        pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".spec.parentRef.name");
}

CELL(ranges)
{
    (void)now_ns;
    add_texts(out, pl_cell_at(object, ".spec.cidrs"), NULL);
}

CELL(dangling)
{
    (void)now_ns;
    pl_cell_add_or(out, pl_cell_condition_of(object, "Dangling"), ".status", "?");
}

CELL(api_service)
{
    (void)now_ns;
    add_slashed(out, object, ".spec.service.namespace", ".spec.service.name", "Local");
}

CELL(available)
{
    struct pl_node is = pl_cell_condition_of(object, "Available");
    (void)now_ns;
    pl_cell_add_or(out, is, ".status", "Unknown");
    if (!pl_node_is_missing(is) && !pl_cell_is(is, ".status", "True") &&
        pl_cell_has(is, ".reason")) {
        pl_buf_add_z(out, " (");
        pl_cell_add(out, is, ".reason");
        pl_buf_add_char(out, ')');
    }
}

/* ---- definitions, policies, devices ---- */

CELL(versions)
{
    struct pl_iter it = pl_iter(pl_cell_at(object, ".spec.versions"));
    (void)now_ns;
    while (pl_iter_next(&it)) {
        pl_cell_separate(out, ",");
        pl_cell_add(out, it.value, ".name");
        if (pl_node_bool(pl_node_getz(it.value, "storage")))
            pl_buf_add_z(out, "(storage)");
    }
}

CELL(short_names)
{
    (void)now_ns;
    add_texts(out, pl_cell_at(object, ".spec.names.shortNames"), NULL);
}

CELL(param_kind)
{
    (void)now_ns;
    add_slashed(out, object, ".spec.paramKind.apiVersion", ".spec.paramKind.kind", "<unset>");
}

/* A selector is not shown: kube-apiserver shows its Go structure. */
CELL(param_name)
{
    (void)now_ns;
    if (!pl_cell_has(object, ".spec.paramRef.name")) {
        pl_buf_add_z(out, "<unset>");
        return;
    }
    pl_cell_add_or(out, object, ".spec.paramRef.namespace", "*");
    pl_buf_add_char(out, '/');
    pl_cell_add(out, object, ".spec.paramRef.name");
}

CELL(claim_state)
{
    bool is_going = pl_cell_has(object, ".metadata.deletionTimestamp");
    bool has = !pl_node_is_missing(pl_cell_at(object, ".status.allocation"));
    (void)now_ns;
    if (is_going)
        pl_buf_add_z(out, "deleted");
    if (!has && !is_going)
        pl_buf_add_z(out, "pending");
    if (!has)
        return;
    pl_cell_separate(out, ",");
    pl_buf_add_z(out, "allocated");
    if (pl_node_len(pl_cell_at(object, ".status.reservedFor")) > 0)
        pl_buf_add_z(out, ",reserved");
}
