/* Values that the server assigns to a Service: its address, the ports of nodes, and the address
 * families. There is one network, 10.0.0.0/16, with IPv4 only. An address or port that a client
 * chose is accepted if no other Service has it. The server never chooses one that a client has
 * chosen. Assigned values stay until the Service gets a type that does not use them. Checked
 * against kube-apiserver 1.37. */
#include "admission/prepare_service.h"

#include "format/ip.h"

#include <stdio.h>

#define FIRST_IP   256 /* lower addresses are for clients that choose theirs, as in a cluster */
#define LAST_IP    65000
#define FIRST_PORT 30000
#define LAST_PORT  32767

/* A Service that is being written. */
struct service {
    struct pl_api_ctx *ctx;
    struct pl_tree *spec;
    const struct pl_tree *was; /* its spec before the change; NULL: it is new */
    struct pl_slice name;
    struct pl_api_faults faults;
};

static bool has_type(const struct pl_tree *spec, const char *type)
{
    return pl_slice_eqz(pl_tree_text_at(spec, "type"), type);
}

static bool needs_ports(const struct pl_tree *spec)
{
    return has_type(spec, "NodePort") || has_type(spec, "LoadBalancer");
}

static bool needs_check(const struct pl_tree *spec)
{
    return has_type(spec, "LoadBalancer") &&
           pl_slice_eqz(pl_tree_text_at(spec, "externalTrafficPolicy"), "Local");
}

static void copy_if_absent(struct pl_arena *arena, struct pl_tree *to, const struct pl_tree *from,
                           const char *member)
{
    struct pl_tree *value = pl_tree_getz(from, member);
    if (value != NULL && pl_tree_getz(to, member) == NULL)
        pl_tree_setz(arena, to, member, pl_tree_copy(arena, value));
}

/* ---- the values of other Services ---- */

typedef bool (*has_fn)(struct pl_node spec, struct pl_slice what);

static bool has_address(struct pl_node spec, struct pl_slice what)
{
    return pl_node_str_eq(pl_node_getz(spec, "clusterIP"), what);
}

static bool is_this_port(struct pl_node node, struct pl_slice what)
{
    char text[24];
    int64_t port = 0;
    pl_node_int(node, &port);
    snprintf(text, sizeof(text), "%lld", (long long)port);
    return pl_slice_eqz(what, text);
}

static bool has_port(struct pl_node spec, struct pl_slice what)
{
    struct pl_iter it = pl_iter(pl_node_getz(spec, "ports"));
    if (is_this_port(pl_node_getz(spec, "healthCheckNodePort"), what))
        return true;
    while (pl_iter_next(&it))
        if (is_this_port(pl_node_getz(it.value, "nodePort"), what))
            return true;
    return false;
}

/* True when another Service has it. */
static bool is_taken(const struct service *s, struct pl_slice what, has_fn has)
{
    const struct pl_api_table *table = s->ctx->type->table;
    struct pl_slice own = pl_api_key(&s->ctx->arena, s->ctx->request.ns, s->name);
    for (size_t i = 0; i < table->count; i++) {
        struct pl_node spec = pl_node_getz(pl_doc_root(table->entries[i]->doc), "spec");
        if (!pl_slice_eqz(own, table->entries[i]->key) && has(spec, what))
            return true;
    }
    return false;
}

/* From now on the server does not choose it for another Service. */
static void remember(const struct service *s, struct pl_slice what)
{
    pl_map_put(&s->ctx->api->chosen, what, s->ctx->api);
}

/* ---- addresses ---- */

static bool is_headless(const struct pl_tree *spec)
{
    return pl_slice_eqz(pl_tree_text_at(spec, "clusterIP"), "None");
}

static struct pl_slice shown(const struct service *s, const char *member)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_tree_write(&text, pl_tree_getz(s->spec, member));
    struct pl_slice out = pl_arena_copy(&s->ctx->arena, pl_buf_slice(&text));
    pl_buf_deinit(&text);
    return out;
}

static void refuse_address(struct service *s, struct pl_slice ip, const char *why)
{
    pl_api_fault(&s->faults, "FieldValueInvalid", pl_slice_z("spec.clusterIPs"),
                 "Invalid value: %.*s: failed to allocate IP %.*s: %s",
                 PL_FMT(shown(s, "clusterIPs")), PL_FMT(ip), why);
}

/* Checks an address that a client chose. An invalid address is left to validation. */
static void take_address(struct service *s, struct pl_slice text)
{
    struct pl_ip ip;
    if (pl_slice_eq(text, pl_tree_text_at(s->was, "clusterIP")) ||
        pl_ip_parse(text, &ip, NULL) != 0)
        return;
    if (ip.len != 4 || ip.bytes[0] != 10 || ip.bytes[1] != 0)
        refuse_address(s, text, "the provided network does not match the current range");
    else if (is_taken(s, text, has_address))
        refuse_address(s, text, "provided IP is already allocated");
    else
        remember(s, text);
}

static void choose_address(struct service *s)
{
    struct pl_api *api = s->ctx->api;
    struct pl_slice ip;
    size_t tries = 0;
    do {
        unsigned n = api->next_ip++;
        if (n < FIRST_IP || n > LAST_IP)
            n = FIRST_IP, api->next_ip = FIRST_IP + 1;
        ip = pl_arena_f(&s->ctx->arena, "10.0.%u.%u", n >> 8, n & 255);
    } while (pl_map_has(&api->chosen, ip) && tries++ < LAST_IP);
    pl_tree_setz(&s->ctx->arena, s->spec, "clusterIP", pl_tree_str(&s->ctx->arena, ip));
}

static struct pl_tree *list_of(struct pl_arena *arena, const char *text)
{
    struct pl_tree *list = pl_tree_array(arena);
    pl_tree_push(arena, list, pl_tree_strz(arena, text));
    return list;
}

/* clusterIP and clusterIPs say the same: if a client has changed one of them, the other follows. */
static void match_addresses(struct service *s)
{
    struct pl_arena *arena = &s->ctx->arena;
    struct pl_slice ip = pl_tree_text_at(s->spec, "clusterIP");
    const struct pl_tree *ips = pl_tree_getz(s->spec, "clusterIPs");
    if (s->was != NULL && !pl_slice_eq(ip, pl_tree_text_at(s->was, "clusterIP")) &&
        pl_tree_equal(ips, pl_tree_getz(s->was, "clusterIPs")))
        pl_tree_removez(s->spec, "clusterIPs");
    if (ip.len == 0)
        pl_tree_removez(s->spec, "clusterIP");
    else if (pl_tree_getz(s->spec, "clusterIPs") == NULL)
        pl_tree_setz(arena, s->spec, "clusterIPs", list_of(arena, ip.ptr));
}

static void assign_families(struct service *s)
{
    struct pl_arena *arena = &s->ctx->arena;
    const struct pl_tree *selector = pl_tree_getz(s->spec, "selector");
    bool both = is_headless(s->spec) && (selector == NULL || selector->count == 0);
    const struct pl_tree *given = pl_tree_getz(s->spec, "ipFamilies");
    struct pl_slice policy = pl_tree_text_at(s->spec, "ipFamilyPolicy");
    size_t i = 0;
    if (!both && pl_slice_eqz(policy, "RequireDualStack"))
        pl_api_fault(&s->faults, "FieldValueInvalid", pl_slice_z("spec.ipFamilyPolicy"),
                     "Invalid value: \"RequireDualStack\": this cluster is not configured for "
                     "dual-stack services");
    PL_TREE_FOR(item, both ? NULL : given)
    {
        if (pl_slice_eqz(pl_tree_text(item->value), "IPv6"))
            pl_api_fault(&s->faults, "FieldValueInvalid",
                         pl_arena_f(arena, "spec.ipFamilies[%zu]", i),
                         "Invalid value: \"IPv6\": not configured on this cluster");
        i++;
    }
    both = both && given == NULL && !pl_slice_eqz(policy, "SingleStack");
    struct pl_tree *families = list_of(arena, "IPv4");
    if (both)
        pl_tree_push(arena, families, pl_tree_strz(arena, "IPv6"));
    pl_tree_default(arena, s->spec, "ipFamilies", families);
    pl_tree_default(arena, s->spec, "ipFamilyPolicy",
                    pl_tree_strz(arena, both ? "RequireDualStack" : "SingleStack"));
}

static void assign_address(struct service *s)
{
    static const char kept[][16] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    struct pl_arena *arena = &s->ctx->arena;
    match_addresses(s);
    if (pl_tree_getz(s->spec, "clusterIP") == NULL && pl_tree_getz(s->spec, "clusterIPs") != NULL)
        return; /* validation refuses it */
    bool stays = s->was != NULL && !has_type(s->was, "ExternalName");
    for (size_t i = 0; stays && i < PL_ARRAY_LEN(kept); i++)
        copy_if_absent(arena, s->spec, s->was, kept[i]);
    struct pl_slice ip = pl_tree_text_at(s->spec, "clusterIP");
    bool may_change = s->was == NULL || has_type(s->was, "ExternalName");
    if (ip.len == 0)
        choose_address(s);
    else if (may_change)
        take_address(s, ip);
    pl_tree_default(arena, s->spec, "clusterIPs",
                    list_of(arena, pl_tree_text_at(s->spec, "clusterIP").ptr));
    assign_families(s);
}

/* ---- ports of nodes ---- */

static struct pl_tree *choose_port(struct service *s)
{
    struct pl_api *api = s->ctx->api;
    unsigned n;
    size_t tries = 0;
    do {
        n = api->next_port++;
        if (n < FIRST_PORT || n > LAST_PORT)
            n = FIRST_PORT, api->next_port = FIRST_PORT + 1;
    } while (pl_map_has(&api->chosen, pl_arena_f(&s->ctx->arena, "%u", n)) &&
             tries++ < LAST_PORT - FIRST_PORT);
    return pl_tree_int(&s->ctx->arena, n);
}

static bool had_port(const struct service *s, const struct pl_tree *number)
{
    PL_TREE_FOR(item, pl_tree_getz(s->was, "ports"))
    if (pl_tree_equal(pl_tree_getz(item->value, "nodePort"), number))
        return true;
    return pl_tree_equal(pl_tree_getz(s->was, "healthCheckNodePort"), number);
}

/* Checks a port that a client chose. field: its path. */
static void take_port(struct service *s, const struct pl_tree *number, struct pl_slice field)
{
    int64_t is = 0;
    pl_tree_integer(number, &is);
    if (had_port(s, number))
        return;
    if (is < FIRST_PORT || is > LAST_PORT)
        pl_api_fault(&s->faults, "FieldValueInvalid", field,
                     "Invalid value: %lld: provided port is not in the valid range. The range of "
                     "valid ports is %d-%d",
                     (long long)is, FIRST_PORT, LAST_PORT);
    else if (is_taken(s, number->text, has_port))
        pl_api_fault(&s->faults, "FieldValueInvalid", field,
                     "Invalid value: %lld: provided port is already allocated", (long long)is);
    else
        remember(s, number->text);
}

static bool is_set(const struct pl_tree *number)
{
    int64_t is = 0;
    return pl_tree_integer(number, &is) && is != 0;
}

static void assign_ports(struct service *s)
{
    struct pl_arena *arena = &s->ctx->arena;
    const struct pl_tree *wants = pl_tree_getz(s->spec, "allocateLoadBalancerNodePorts");
    bool chooses = !has_type(s->spec, "LoadBalancer") || wants == NULL || wants->boolean;
    size_t i = 0;
    PL_TREE_FOR(item, pl_tree_getz(s->spec, "ports"))
    {
        struct pl_tree *port = item->value;
        struct pl_slice field = pl_arena_f(arena, "spec.ports[%zu].nodePort", i++);
        PL_TREE_FOR(was, pl_tree_getz(s->was, "ports"))
        if (pl_tree_equal(pl_tree_getz(was->value, "port"), pl_tree_getz(port, "port")) &&
            pl_tree_equal(pl_tree_getz(was->value, "protocol"), pl_tree_getz(port, "protocol")))
            copy_if_absent(arena, port, was->value, "nodePort");
        if (is_set(pl_tree_getz(port, "nodePort")))
            take_port(s, pl_tree_getz(port, "nodePort"), field);
        else if (chooses)
            pl_tree_setz(arena, port, "nodePort", choose_port(s));
    }
}

static void assign_check(struct service *s)
{
    struct pl_arena *arena = &s->ctx->arena;
    copy_if_absent(arena, s->spec, s->was, "healthCheckNodePort");
    const struct pl_tree *number = pl_tree_getz(s->spec, "healthCheckNodePort");
    if (is_set(number))
        take_port(s, number, pl_slice_z("spec.healthCheckNodePort"));
    else
        pl_tree_setz(arena, s->spec, "healthCheckNodePort", choose_port(s));
}

/* ---- values that a new type does not use ---- */

/* Drops a member that the client has sent back unchanged. */
static void drop_same(struct service *s, const char *member)
{
    if (pl_tree_equal(pl_tree_getz(s->spec, member), pl_tree_getz(s->was, member)))
        pl_tree_removez(s->spec, member);
}

static void drop_ports(struct service *s)
{
    PL_TREE_FOR(item, pl_tree_getz(s->spec, "ports"))
    if (had_port(s, pl_tree_getz(item->value, "nodePort")))
        pl_tree_removez(item->value, "nodePort");
}

static void drop_unused(struct service *s)
{
    static const char inner[][24] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy",
                                     "internalTrafficPolicy"};
    bool external = has_type(s->spec, "ExternalName");
    for (size_t i = 0; external && i < PL_ARRAY_LEN(inner); i++)
        drop_same(s, inner[i]);
    if (!needs_ports(s->spec)) {
        drop_ports(s);
        drop_same(s, "externalTrafficPolicy");
    }
    if (!needs_check(s->spec))
        drop_same(s, "healthCheckNodePort");
    if (!has_type(s->spec, "LoadBalancer")) {
        drop_same(s, "allocateLoadBalancerNodePorts");
        drop_same(s, "loadBalancerClass");
    }
}

int pl_api_prepare_service(struct pl_api_ctx *ctx, struct pl_tree *object,
                           const struct pl_tree *old)
{
    struct service s = {.ctx = ctx,
                        .spec = pl_tree_child(&ctx->arena, object, "spec"),
                        .was = pl_tree_getz(old, "spec"),
                        .name = pl_tree_text_at(object, "metadata.name"),
                        .faults = {.arena = &ctx->arena}};
    bool typed = s.was != NULL &&
                 !pl_slice_eq(pl_tree_text_at(s.spec, "type"), pl_tree_text_at(s.was, "type"));
    if (typed || (s.was != NULL && needs_check(s.was) && !needs_check(s.spec)))
        drop_unused(&s);
    if (!has_type(s.spec, "ExternalName"))
        assign_address(&s);
    if (needs_ports(s.spec))
        assign_ports(&s);
    if (needs_check(s.spec))
        assign_check(&s);
    return pl_api_fail_faults(&ctx->status, &s.faults, pl_slice_z(""), pl_slice_z("Service"),
                              s.name);
}
