/* The status of a ResourceClaim: its allocation, which never changes, who has reserved it, and what
 * drivers say about its devices. */
#include "valid/device_impl.h"
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define STATUS          PL_MEMBER(NULL, "status")
#define MOST_USERS      256
#define MOST_RESULTS    32
#define MOST_CONFIGS    64
#define MOST_CONDITIONS 8
#define MOST_ADDRESSES  16

static const struct pl_rule device_names[] = {
    {"driver", pl_valid_csi_driver_name, NULL},
    {"pool", pl_valid_pool_name, NULL},
    {"device", pl_valid_device_name, NULL},
    {NULL, NULL, NULL},
};

/* ---- the allocation ---- */

static void check_result(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *result, const struct pl_tree *requests)
{
    const struct pl_spot *list = PL_MEMBER(at, "tolerations");
    size_t i = 0;
    pl_valid_device_reference(f, PL_MEMBER(at, "request"), pl_tree_getz(result, "request"),
                              requests);
    pl_hold(f, at, result, device_names);
    pl_valid_device_conditions(f, at, result);
    PL_EACH(item, pl_tree_getz(result, "tolerations"))
    pl_valid_device_toleration(f, PL_INDEX(list, i++), item->value);
}

static void check_allocation(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *allocation, const struct pl_tree *requests)
{
    const struct pl_tree *devices = pl_tree_getz(allocation, "devices");
    const struct pl_tree *results = pl_tree_getz(devices, "results");
    const struct pl_tree *configs = pl_tree_getz(devices, "config");
    const struct pl_spot *result_at = PL_MEMBER(PL_MEMBER(at, "devices"), "results");
    const struct pl_spot *config_at = PL_MEMBER(PL_MEMBER(at, "devices"), "config");
    size_t i = 0;
    if (pl_at_most(f, result_at, results, MOST_RESULTS))
        PL_EACH(item, results)
    check_result(f, PL_INDEX(result_at, i++), item->value, requests);
    i = 0;
    if (pl_at_most(f, config_at, configs, MOST_CONFIGS))
        PL_EACH(item, configs)
        {
            const struct pl_spot *spot = PL_INDEX(config_at, i++);
            pl_needs_one(f, PL_MEMBER(spot, "source"), pl_tree_getz(item->value, "source"),
                         "FromClaim,FromClass");
            pl_valid_device_references(f, spot, item->value, requests);
            pl_valid_device_configuration(f, spot, item->value);
        }
    if (pl_tree_getz(allocation, "nodeSelector") != NULL)
        pl_valid_node_selector(f, PL_MEMBER(at, "nodeSelector"),
                               pl_tree_getz(allocation, "nodeSelector"));
}

/* ---- devices ---- */

static bool is_same_device(const struct pl_tree *a, const struct pl_tree *b)
{
    static const char members[][8] = {"driver", "pool", "device", "shareID"};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (!pl_slice_eq(pl_tree_text_at(a, members[i]), pl_tree_text_at(b, members[i])))
            return false;
    return true;
}

static bool is_allocated(const struct pl_tree *results, const struct pl_tree *device)
{
    PL_EACH(item, results)
    if (is_same_device(item->value, device))
        return true;
    return false;
}

/* An address with the length of its prefix, in canonical form. */
static void interface_address(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *value)
{
    struct pl_slice text = pl_tree_text(value);
    const char *slash = pl_slice_chr(text, '/');
    bool six = pl_slice_chr(text, ':') != NULL;
    struct pl_slice ip =
        slash != NULL ? pl_slice(text.ptr, (size_t)(slash - text.ptr)) : pl_slice("", 0);
    struct pl_slice bits =
        slash != NULL ? pl_slice(slash + 1, text.len - ip.len - 1) : pl_slice("", 0);
    long length = -1;
    unsigned char bytes[16];
    char shown[INET6_ADDRSTRLEN] = "";
    if (bits.len > 0 && bits.len < 4 && pl_is_digit(bits.ptr[0]))
        length = strtol(pl_arena_copy(f->arena, bits).ptr, NULL, 10);
    const char *address = pl_arena_copy(f->arena, ip).ptr;
    if (length < 0 || length > (six ? 128 : 32) || !pl_is_ip(ip)) {
        pl_bad_value(f, at, value,
                     "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
                     "2001:db8::1/64)");
        return;
    }
    if (inet_pton(six ? AF_INET6 : AF_INET, address, bytes) != 1)
        return;
    inet_ntop(six ? AF_INET6 : AF_INET, bytes, shown, sizeof(shown));
    struct pl_slice canonical = pl_arena_f(f->arena, "%s/%ld", shown, length);
    if (!pl_slice_eq(canonical, text))
        pl_bad_value(f, at, value, "must be in canonical form (\"%.*s\")", PL_FMT(canonical));
}

static void check_network(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *network)
{
    const struct pl_tree *ips = pl_tree_getz(network, "ips");
    const struct pl_spot *list = PL_MEMBER(at, "ips");
    size_t i = 0;
    if (pl_tree_text_at(network, "interfaceName").len > 256)
        pl_bad_long(f, PL_MEMBER(at, "interfaceName"), "256 bytes");
    if (pl_tree_text_at(network, "hardwareAddress").len > 128)
        pl_bad_long(f, PL_MEMBER(at, "hardwareAddress"), "128 bytes");
    if (!pl_at_most(f, list, ips, MOST_ADDRESSES))
        return;
    PL_EACH(item, ips)
    interface_address(f, PL_INDEX(list, i++), item->value);
    pl_unique(f, list, ips, "");
}

/* What names a device, in the form of messages. */
static const struct pl_tree *device_id(struct pl_api_faults *f, const struct pl_tree *device)
{
    static const char members[][2][8] = {
        {"Driver", "driver"}, {"Pool", "pool"}, {"Device", "device"}, {"ShareID", "shareID"}};
    struct pl_tree *id = pl_tree_object(f->arena);
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        pl_tree_setz(f->arena, id, members[i][0],
                     pl_tree_str(f->arena, pl_tree_text_at(device, members[i][1])));
    return id;
}

static void check_device(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *device, const struct pl_tree *results)
{
    const struct pl_tree *data = pl_tree_getz(device, "data");
    pl_hold(f, at, device, device_names);
    if (!is_allocated(results, device)) { /* the members have this order */
        struct pl_buf id = PL_BUF_INIT;
        pl_tree_write(&id, device_id(f, device));
        pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at),
                     "Invalid value: %s: must be an allocated device in the claim", pl_buf_z(&id));
        pl_buf_deinit(&id);
    }
    if (pl_at_most(f, PL_MEMBER(at, "conditions"), pl_tree_getz(device, "conditions"),
                   MOST_CONDITIONS))
        pl_valid_conditions(f, PL_MEMBER(at, "conditions"), pl_tree_getz(device, "conditions"));
    if (data != NULL && !pl_tree_is(data, PL_OBJECT))
        pl_bad_value(f, PL_MEMBER(at, "data"), pl_tree_strz(f->arena, "<value omitted>"),
                     "must be a valid JSON object");
    check_network(f, PL_MEMBER(at, "networkData"), pl_tree_getz(device, "networkData"));
}

static void check_states(struct pl_api_faults *f, const struct pl_tree *status)
{
    const struct pl_tree *results = pl_tree_dig(status, "allocation.devices.results");
    const struct pl_spot *at = PL_MEMBER(STATUS, "devices");
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(status, "devices"))
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        check_device(f, spot, item->value, results);
        if (pl_comes_again(&seen, device_id(f, item->value), NULL))
            pl_bad_duplicate(f, spot, device_id(f, item->value));
    }
    pl_map_deinit(&seen);
}

/* ---- users ---- */

static void check_users(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"resource", pl_need, ""}, {"name", pl_need, ""}, {"uid", pl_need, ""}, {NULL, NULL, NULL}};
    const struct pl_tree *users = pl_tree_dig(object, "status.reservedFor");
    const struct pl_tree *before = pl_tree_dig(old, "status.reservedFor");
    const struct pl_spot *at = PL_MEMBER(STATUS, "reservedFor");
    bool is_going = pl_tree_text_at(object, "metadata.deletionTimestamp").len > 0, is_new = false;
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    if (!pl_at_most(f, at, users, MOST_USERS))
        return;
    PL_EACH(item, users)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        bool known = false;
        pl_hold(f, spot, item->value, rules);
        if (pl_comes_again(&seen, pl_or_empty(f, pl_tree_getz(item->value, "uid")), NULL))
            pl_bad_duplicate(f, spot, item->value);
        PL_EACH(was, before)
        known = known || pl_tree_equal(was->value, item->value);
        is_new = is_new || !known;
    }
    pl_map_deinit(&seen);
    if (i > 0 && pl_tree_dig(object, "status.allocation") == NULL)
        pl_bad_forbidden(f, at, "may not be specified when `allocated` is not set");
    else if (is_going && is_new)
        pl_bad_forbidden(f, at,
                         "new entries may not be added while `deallocationRequested` or "
                         "`deletionTimestamp` are set");
}

static void check_same(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const struct pl_tree *old)
{
    if (!pl_tree_equal(value, old))
        pl_bad_value(f, at, pl_tree_literal(f->arena, "null"), "field cannot be modified once set");
}

void pl_valid_device_claim_state(struct pl_api_faults *f, const struct pl_tree *object,
                                 const struct pl_tree *old)
{
    const struct pl_tree *status = pl_tree_getz(object, "status");
    const struct pl_tree *allocation = pl_tree_getz(status, "allocation");
    const struct pl_tree *was = pl_tree_dig(old, "status.allocation");
    const struct pl_spot *at = PL_MEMBER(STATUS, "allocation");
    check_users(f, object, old);
    check_states(f, status);
    if (allocation != NULL && was != NULL)
        check_same(f, at, allocation, was);
    else if (allocation != NULL)
        check_allocation(f, at, allocation, pl_tree_dig(object, "spec.devices.requests"));
}
