/* Services, and where they are served: Endpoints and EndpointSlices. */
#include "valid/kinds.h"

#include "format/ip.h"
#include "object/tree.h"

#include <string.h>

#define MOST_ENDPOINTS 1000 /* of a slice */
#define MOST_ADDRESSES 100  /* of an endpoint */
#define MOST_HINTS     8
#define SPEC           PL_MEMBER(NULL, "spec")

static void some_label(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    if (!pl_is_empty(value))
        pl_label(f, at, value, arg);
}

static void port_number(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    pl_range(f, at, value != NULL ? value : pl_tree_int(f->arena, 0), arg);
}

/* Returns why traffic cannot go to this address, or NULL. */
static const char *special_range(const struct pl_ip *ip)
{
    const unsigned char *b = ip->bytes;
    static const unsigned char one[16] = {[15] = 1};
    if (ip->len == 4 ? b[0] == 127 : memcmp(b, one, 16) == 0)
        return "may not be in the loopback range (127.0.0.0/8, ::1/128)";
    if (ip->len == 4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        return "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    if (ip->len == 4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0xf) == 2)
        return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    return NULL;
}

static void not_special(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value)
{
    static const unsigned char zero[16];
    struct pl_slice text = pl_tree_text(value);
    struct pl_ip ip;
    if (pl_ip_parse(text, &ip, NULL) != 0)
        return;
    if (memcmp(ip.bytes, zero, (size_t)ip.len) == 0)
        pl_bad_value(f, at, value, "may not be unspecified (%.*s)", PL_FMT(text));
    else if (special_range(&ip) != NULL)
        pl_bad_value(f, at, value, "%s", special_range(&ip));
}

static void reachable_ip(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    struct pl_api_faults none = {.arena = f->arena};
    pl_ip(&none, at, value, arg);
    if (none.causes != NULL)
        pl_ip(f, at, value, arg);
    else
        not_special(f, at, value);
}

/* ---- Services ---- */

/* The protocol and the number of a port, as Go prints them together. */
static struct pl_tree *go_port(struct pl_api_faults *f, const struct pl_tree *port)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice protocol = pl_tree_text_at(port, "protocol");
    pl_buf_add_f(&text,
                 "{\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,\"Port\":%lld,"
                 "\"TargetPort\":0,\"NodePort\":0}",
                 PL_FMT(protocol), (long long)pl_number_at(port, "port"));
    struct pl_tree *out = pl_tree_literal(f->arena, pl_buf_z(&text));
    pl_buf_deinit(&text);
    return out;
}

static void check_service_ports(struct pl_api_faults *f, const struct pl_tree *spec)
{
    static const struct pl_rule rules[] = {
        {"[].name", some_label, NULL},
        {"[].port", port_number, "1-65535"},
        {"[].protocol", pl_needs_one, "SCTP,TCP,UDP"},
        {"[].targetPort", pl_port, NULL},
        {"[].appProtocol", pl_qualified, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *ports = pl_tree_getz(spec, "ports");
    const struct pl_spot *list = PL_MEMBER(SPEC, "ports");
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    if (pl_is_empty(ports) && !pl_slice_eqz(pl_tree_text_at(spec, "clusterIP"), "None") &&
        !pl_slice_eqz(pl_tree_text_at(spec, "type"), "ExternalName"))
        pl_bad_required(f, list, "");
    pl_hold(f, list, ports, rules);
    pl_unique(f, list, ports, "name");
    PL_EACH(item, ports)
    {
        const struct pl_spot *spot = PL_INDEX(list, i++);
        if (ports->count > 1)
            pl_need(f, PL_MEMBER(spot, "name"), pl_tree_getz(item->value, "name"), NULL);
        const struct pl_tree *port = pl_tree_int(f->arena, pl_number_at(item->value, "port"));
        if (pl_comes_again(&seen, port, pl_tree_getz(item->value, "protocol")))
            pl_bad_duplicate(f, spot, go_port(f, item->value));
    }
    pl_map_deinit(&seen);
}

static void check_external_name(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *name = pl_tree_getz(spec, "externalName");
    const struct pl_spot *at = PL_MEMBER(SPEC, "externalName");
    const struct pl_tree *ip = pl_tree_getz(spec, "clusterIP");
    if (!pl_is_empty(ip))
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "clusterIPs"),
                         "may not be set for ExternalName services");
    if (pl_is_empty(name))
        pl_bad_required(f, at, "");
    else if (name->text.ptr[name->text.len - 1] == '.')
        pl_subdomain(f, at, pl_tree_str(f->arena, pl_slice(name->text.ptr, name->text.len - 1)),
                     NULL);
    else
        pl_subdomain(f, at, name, NULL);
}

static void only_balanced(struct pl_api_faults *f, const struct pl_tree *spec, const char *member,
                          const char *shown)
{
    if (pl_tree_getz(spec, member) != NULL &&
        !pl_slice_eqz(pl_tree_text_at(spec, "type"), "LoadBalancer"))
        pl_bad_forbidden(f, PL_MEMBER(SPEC, shown),
                         "may only be used when `type` is 'LoadBalancer'");
}

static void check_traffic(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *policy = pl_tree_getz(spec, "externalTrafficPolicy");
    const struct pl_spot *at = PL_MEMBER(SPEC, "externalTrafficPolicy");
    bool outside = pl_is_among(pl_tree_text_at(spec, "type"), "LoadBalancer,NodePort") ||
                   (pl_slice_eqz(pl_tree_text_at(spec, "type"), "ClusterIP") &&
                    !pl_is_empty(pl_tree_getz(spec, "externalIPs")));
    if (!outside && !pl_is_empty(policy))
        pl_bad_value(f, at, policy, "may only be set for externally-accessible services");
    else if (outside)
        pl_one_of(f, at, policy, "Cluster,Local");
}

static void check_affinity(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *seconds =
        pl_tree_dig(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
    int64_t is = 1;
    const struct pl_spot *at = PL_MEMBER(SPEC, "sessionAffinityConfig");
    if (pl_slice_eqz(pl_tree_text_at(spec, "sessionAffinity"), "ClientIP")) {
        if (pl_tree_integer(seconds, &is) && (is <= 0 || is > 86400))
            pl_bad_value(f, PL_MEMBER(PL_MEMBER(at, "clientIP"), "timeoutSeconds"), seconds,
                         "must be greater than 0 and less than 86400");
    } else if (pl_slice_eqz(pl_tree_text_at(spec, "sessionAffinity"), "None") &&
               pl_tree_getz(spec, "sessionAffinityConfig") != NULL) {
        pl_bad_forbidden(f, at, "must not be set when session affinity is None");
    }
}

/* A Service without an address cannot be reached from outside through ports of nodes. */
static void check_headless(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *ips = pl_tree_getz(spec, "clusterIPs");
    struct pl_slice type = pl_tree_text_at(spec, "type");
    const struct pl_tree *first = pl_tree_at(ips, 0);
    if (pl_is_among(type, "LoadBalancer,NodePort") && ips != NULL && ips->count == 1 &&
        pl_slice_eqz(pl_tree_text(first), "None"))
        pl_bad_value(f, PL_INDEX(PL_MEMBER(SPEC, "clusterIPs"), 0), first,
                     "may not be set to 'None' for %.*s services", PL_FMT(type));
}

/* Two addresses must have different families, in the order of `ipFamilies`. */
static void check_families(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *ips = pl_tree_getz(spec, "clusterIPs");
    const struct pl_tree *families = pl_tree_getz(spec, "ipFamilies");
    const struct pl_spot *at = PL_MEMBER(SPEC, "clusterIPs");
    size_t i = 0, six = 0;
    if (pl_is_empty(ips) || pl_slice_eqz(pl_tree_text(pl_tree_at(ips, 0)), "None"))
        return;
    PL_EACH(item, ips)
    {
        struct pl_slice family = pl_tree_text(pl_tree_at(families, i));
        bool is_six = pl_slice_chr(pl_tree_text(item->value), ':') != NULL;
        six += is_six;
        if (pl_is_among(family, "IPv4,IPv6") && is_six != pl_slice_eqz(family, "IPv6"))
            pl_bad_value(f, PL_INDEX(at, i), item->value,
                         "expected an %.*s value as indicated by `ipFamilies[%zu]`", PL_FMT(family),
                         i);
        i++;
    }
    if (i > 1 && (six == 0 || six == i))
        pl_bad_value(f, at, ips, "may specify no more than one IP for each IP family");
}

static void check_cluster_ips(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *ip = pl_tree_getz(spec, "clusterIP");
    const struct pl_tree *ips = pl_tree_getz(spec, "clusterIPs");
    const struct pl_spot *at = PL_MEMBER(SPEC, "clusterIPs");
    if (pl_slice_eqz(pl_tree_text_at(spec, "type"), "ExternalName") || pl_is_empty(ips))
        return;
    if (pl_is_empty(ip))
        pl_bad_value(f, at, ips, "must be empty when `clusterIP` is not specified");
    else if (!pl_tree_equal(pl_tree_at(ips, 0), ip))
        pl_bad_value(f, at, ips, "first value must match `clusterIP`");
    if (pl_tree_is(ips, PL_ARRAY) && ips->count > 2)
        pl_bad_value(f, at, ips, "may only hold up to 2 values");
    check_families(f, spec);
}

/* Refuses ports of nodes where the Service's type has none. */
static void check_node_ports(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(SPEC, "ports");
    const struct pl_tree *check = pl_tree_getz(spec, "healthCheckNodePort");
    struct pl_slice type = pl_tree_text_at(spec, "type");
    bool local = pl_slice_eqz(type, "LoadBalancer") &&
                 pl_slice_eqz(pl_tree_text_at(spec, "externalTrafficPolicy"), "Local");
    size_t i = 0;
    PL_EACH(item, pl_slice_eqz(type, "ClusterIP") ? pl_tree_getz(spec, "ports") : NULL)
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        if (pl_number_at(item->value, "nodePort") != 0)
            pl_bad_forbidden(f, PL_MEMBER(here, "nodePort"),
                             "may not be used when `type` is 'ClusterIP'");
    }
    if (!local && pl_number_at(spec, "healthCheckNodePort") != 0)
        pl_bad_value(f, PL_MEMBER(SPEC, "healthCheckNodePort"), check,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
}

void pl_valid_balancer_status(struct pl_api_faults *f, const struct pl_tree *object)
{
    const struct pl_spot *list = PL_MEMBER(NULL, "status.loadBalancer.ingress");
    size_t i = 0;
    PL_EACH(item, pl_tree_dig(object, "status.loadBalancer.ingress"))
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        const struct pl_tree *ip = pl_tree_getz(item->value, "ip");
        if (!pl_is_empty(ip))
            pl_ip(f, PL_MEMBER(here, "ip"), ip, NULL);
        pl_subdomain(f, PL_MEMBER(here, "hostname"), pl_tree_getz(item->value, "hostname"), NULL);
    }
}

/* Another type has no balancer; a status that was written before the type changed may stay. */
static void check_balancer_type(struct pl_api_faults *f, const struct pl_tree *object,
                                const struct pl_tree *old)
{
    static const char list[] = "status.loadBalancer.ingress";
    const struct pl_tree *is = pl_tree_dig(object, list);
    if (old != NULL && !pl_is_empty(is) && !pl_tree_equal(is, pl_tree_dig(old, list)) &&
        !pl_slice_eqz(pl_tree_text_at(object, "spec.type"), "LoadBalancer"))
        pl_bad_forbidden(f, PL_MEMBER(NULL, list),
                         "may only be used when `spec.type` is 'LoadBalancer'");
}

static void check_service_change(struct pl_api_faults *f, const struct pl_tree *spec,
                                 const struct pl_tree *old)
{
    struct pl_slice type = pl_tree_text_at(spec, "type"), was = pl_tree_text_at(old, "type");
    bool moves = pl_slice_eqz(type, "ExternalName") || pl_slice_eqz(was, "ExternalName");
    const struct pl_tree *ips = pl_tree_getz(old, "clusterIPs");
    if (!moves && !pl_is_empty(ips) && !pl_is_empty(pl_tree_getz(spec, "clusterIPs")) &&
        !pl_tree_equal(pl_tree_at(ips, 0), pl_tree_at(pl_tree_getz(spec, "clusterIPs"), 0)))
        pl_bad_value(f, PL_INDEX(PL_MEMBER(SPEC, "clusterIPs"), 0),
                     pl_tree_getz(spec, "clusterIPs"), "may not change once set");
    if (pl_slice_eqz(type, "LoadBalancer") && pl_slice_eqz(was, "LoadBalancer") &&
        !pl_tree_equal(pl_tree_getz(spec, "loadBalancerClass"),
                       pl_tree_getz(old, "loadBalancerClass")))
        pl_bad_value(f, PL_MEMBER(SPEC, "loadBalancerClass"),
                     pl_tree_getz(spec, "loadBalancerClass"), "may not change once set");
}

/* Spaces around it do not matter. */
static void check_source_range(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *range)
{
    pl_cidr(f, at, pl_tree_str(f->arena, pl_slice_trim(pl_tree_text(range))), NULL);
}

void pl_valid_service(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"type", pl_needs_one, "ClusterIP,ExternalName,LoadBalancer,NodePort"},
        {"selector", pl_labels, NULL},
        {"sessionAffinity", pl_needs_one, "ClientIP,None"},
        {"externalIPs[]", reachable_ip, NULL},
        {"internalTrafficPolicy", pl_if_set, "Cluster,Local"},
        {"trafficDistribution", pl_if_set, "PreferClose,PreferSameZone,PreferSameNode"},
        {"ipFamilyPolicy", pl_if_set, "PreferDualStack,RequireDualStack,SingleStack"},
        {"ipFamilies[]", pl_must_be, "IPv4,IPv6"},
        {"ipFamilies", pl_unique, ""},
        {"loadBalancerClass", pl_qualified, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    check_service_ports(f, spec);
    pl_hold(f, SPEC, spec, rules);
    if (pl_slice_eqz(pl_tree_text_at(spec, "type"), "ExternalName"))
        check_external_name(f, spec);
    else if (!pl_slice_eqz(pl_tree_text_at(spec, "clusterIP"), "None") &&
             !pl_is_empty(pl_tree_getz(spec, "clusterIP")))
        pl_ip(f, PL_INDEX(PL_MEMBER(SPEC, "clusterIPs"), 0), pl_tree_getz(spec, "clusterIP"), NULL);
    const struct pl_spot *ranges = PL_MEMBER(SPEC, "LoadBalancerSourceRanges");
    size_t i = 0;
    check_headless(f, spec);
    only_balanced(f, spec, "loadBalancerSourceRanges", "LoadBalancerSourceRanges");
    PL_EACH(item, pl_tree_getz(spec, "loadBalancerSourceRanges"))
    check_source_range(f, PL_INDEX(ranges, i++), item->value);
    only_balanced(f, spec, "allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts");
    only_balanced(f, spec, "loadBalancerClass", "loadBalancerClass");
    check_traffic(f, spec);
    check_affinity(f, spec);
    check_cluster_ips(f, spec);
    check_node_ports(f, spec);
    pl_valid_balancer_status(f, object);
    check_balancer_type(f, object, old);
    if (old != NULL)
        check_service_change(f, spec, pl_tree_getz(old, "spec"));
}

/* ---- Endpoints ---- */

static void address(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    struct pl_api_faults none = {.arena = f->arena};
    pl_ip(&none, at, value, arg);
    if (none.causes != NULL) {
        pl_ip(f, at, value, arg);
        if (!pl_is_old_ip(pl_tree_text(value)))
            pl_bad_value(f, at, pl_or_empty(f, value), "must be a valid IP address");
        return;
    }
    not_special(f, at, value);
}

void pl_valid_endpoints(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"subsets[].addresses[].ip", address, NULL},
        {"subsets[].addresses[].hostname", pl_label, NULL},
        {"subsets[].addresses[].nodeName", pl_given_subdomain, NULL},
        {"subsets[].notReadyAddresses[].ip", address, NULL},
        {"subsets[].notReadyAddresses[].hostname", pl_label, NULL},
        {"subsets[].notReadyAddresses[].nodeName", pl_given_subdomain, NULL},
        {"subsets[].ports[].name", some_label, NULL},
        {"subsets[].ports[].port", port_number, "1-65535"},
        {"subsets[].ports[].protocol", pl_needs_one, "SCTP,TCP,UDP"},
        {"subsets[].ports[].appProtocol", pl_qualified, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_spot *list = PL_MEMBER(NULL, "subsets");
    size_t i = 0;
    PL_UNUSED(old);
    PL_EACH(item, pl_tree_getz(object, "subsets"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++), *ports = PL_MEMBER(at, "ports");
        const struct pl_tree *all = pl_tree_getz(item->value, "ports");
        size_t k = 0;
        if (pl_is_empty(pl_tree_getz(item->value, "addresses")) &&
            pl_is_empty(pl_tree_getz(item->value, "notReadyAddresses")))
            pl_bad_required(f, at, "must specify `addresses` or `notReadyAddresses`");
        PL_EACH(port, all)
        {
            if (all->count > 1)
                pl_need(f, PL_MEMBER(PL_INDEX(ports, k), "name"), pl_tree_getz(port->value, "name"),
                        NULL);
            k++;
        }
    }
    pl_hold(f, NULL, object, rules);
}

static void check_addresses(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *endpoint, struct pl_slice type)
{
    const struct pl_tree *list = pl_tree_getz(endpoint, "addresses");
    const struct pl_spot *spot = PL_MEMBER(at, "addresses");
    size_t i = 0;
    if (pl_is_empty(list))
        pl_bad_required(f, spot, "");
    PL_EACH(item, list)
    {
        bool six = pl_slice_chr(item->value->text, ':') != NULL;
        const struct pl_spot *one = PL_INDEX(spot, i++);
        if (pl_slice_eqz(type, "FQDN")) {
            pl_subdomain(f, one, item->value, NULL);
            continue;
        }
        struct pl_api_faults none = {.arena = f->arena};
        pl_ip(&none, one, item->value, NULL);
        pl_ip(f, one, item->value, NULL);
        if (none.causes == NULL && pl_slice_eqz(type, "IPv4") && six)
            pl_bad_value(f, spot, item->value, "must be an IPv4 address");
        else if (none.causes == NULL && pl_slice_eqz(type, "IPv6") && !six)
            pl_bad_value(f, spot, item->value, "must be an IPv6 address");
        if (none.causes == NULL)
            not_special(f, one, item->value);
    }
}

/* The zones and nodes that should use an endpoint. */
static void check_hints(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *hints)
{
    static const struct pl_rule rules[] = {{"forZones[].name", pl_label_value, NULL},
                                           {"forNodes[].name", pl_subdomain, "always"},
                                           {NULL, NULL, NULL}};
    static const char lists[][12] = {"forZones", "forNodes"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++) {
        const struct pl_tree *list = pl_tree_getz(hints, lists[i]);
        if (!pl_at_most(f, PL_MEMBER(at, lists[i]), list, MOST_HINTS))
            return;
        pl_unique(f, PL_MEMBER(at, lists[i]), list, "name");
    }
    if (hints != NULL)
        pl_hold(f, at, hints, rules);
}

void pl_valid_endpoint_slice(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"endpoints[].nodeName", pl_given_subdomain, NULL},
        {"ports[].name", some_label, NULL},
        {"ports[].protocol", pl_must_be, "SCTP,TCP,UDP"},
        {"ports[].appProtocol", pl_qualified, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *type = pl_tree_getz(object, "addressType");
    const struct pl_spot *list = PL_MEMBER(NULL, "endpoints");
    size_t i = 0;
    pl_needs_one(f, PL_MEMBER(NULL, "addressType"), type, "FQDN,IPv4,IPv6");
    if (!pl_at_most(f, list, pl_tree_getz(object, "endpoints"), MOST_ENDPOINTS))
        return;
    PL_EACH(item, pl_tree_getz(object, "endpoints"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        const struct pl_tree *name = pl_tree_getz(item->value, "hostname");
        if (pl_is_among(pl_tree_text(type), "FQDN,IPv4,IPv6") &&
            (old == NULL || pl_tree_equal(type, pl_tree_getz(old, "addressType"))))
            check_addresses(f, at, item->value, pl_tree_text(type));
        check_hints(f, PL_MEMBER(at, "hints"), pl_tree_getz(item->value, "hints"));
        pl_at_most(f, PL_MEMBER(at, "addresses"), pl_tree_getz(item->value, "addresses"),
                   MOST_ADDRESSES);
        pl_label(f, PL_MEMBER(at, "hostname"), name, NULL);
        if (name != NULL && pl_is_empty(name))
            pl_bad_value(f, PL_MEMBER(at, "hostname"), name,
                         "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                         "characters or '-', and must start and end with an alphanumeric character "
                         "(e.g. 'my-name',  or '123-abc', regex used for validation is "
                         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
    }
    pl_hold(f, NULL, object, rules);
    pl_unique(f, PL_MEMBER(NULL, "ports"), pl_tree_getz(object, "ports"), "name");
    if (old != NULL)
        pl_frozen_unseen(f, PL_MEMBER(NULL, "addressType"), type, pl_tree_getz(old, "addressType"));
}
