/* Services, Ingresses, IngressClasses, NetworkPolicies, Endpoints and EndpointSlices. */
#include "valid/kinds.h"

#include "format/ip.h"
#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

static void some_label(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    if (!pl_is_empty(value))
        pl_label(f, at, value, arg);
}

/* A name that may be absent but not empty. */
static void given_subdomain(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *value, const char *arg)
{
    if (value != NULL && pl_is_empty(value))
        pl_subdomain(f, at, value, "always");
    else
        pl_subdomain(f, at, value, arg);
}

/* ---- Services ---- */

static int64_t network_number(const struct pl_tree *object, const char *member)
{
    int64_t is = 0;
    pl_tree_integer(pl_tree_getz(object, member), &is);
    return is;
}

static void port_number(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    pl_range(f, at, value != NULL ? value : pl_tree_int(f->arena, 0), arg);
}

/* The protocol and the number of a port, as Go prints them together. */
static struct pl_tree *go_port(struct pl_api_faults *f, const struct pl_tree *port)
{
    struct pl_buf text = PL_BUF_INIT;
    struct pl_slice protocol = pl_tree_text_at(port, "protocol");
    pl_buf_add_f(&text,
                 "{\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,\"Port\":%lld,"
                 "\"TargetPort\":0,\"NodePort\":0}",
                 PL_FMT(protocol), (long long)network_number(port, "port"));
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
        for (const struct pl_tree_item *before = ports->first; before != item;
             before = before->next)
            if (network_number(before->value, "port") == network_number(item->value, "port") &&
                pl_tree_equal(pl_tree_getz(before->value, "protocol"),
                              pl_tree_getz(item->value, "protocol"))) {
                pl_bad_duplicate(f, spot, go_port(f, item->value));
                break;
            }
    }
}

static void check_external_name(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *name = pl_tree_getz(spec, "externalName");
    const struct pl_spot *at = PL_MEMBER(SPEC, "externalName");
    const struct pl_tree *ip = pl_tree_getz(spec, "clusterIP");
    if (!pl_is_empty(ip))
        pl_bad_forbidden(f, PL_MEMBER(SPEC, "clusterIPs"),
                         "may not be set when `type` is 'ExternalName'");
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
        if (network_number(item->value, "nodePort") != 0)
            pl_bad_forbidden(f, PL_MEMBER(here, "nodePort"),
                             "may not be used when `type` is 'ClusterIP'");
    }
    if (!local && network_number(spec, "healthCheckNodePort") != 0)
        pl_bad_value(f, PL_MEMBER(SPEC, "healthCheckNodePort"), check,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
}

/* Checks status.loadBalancer of Services and Ingresses. */
static void check_balancer_status(struct pl_api_faults *f, const struct pl_tree *object)
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

/* Another type has no balancer; what was written before it changed may stay. */
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

void pl_valid_service(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"type", pl_needs_one, "ClusterIP,ExternalName,LoadBalancer,NodePort"},
        {"selector", pl_labels, NULL},
        {"sessionAffinity", pl_needs_one, "ClientIP,None"},
        {"externalIPs[]", pl_ip, NULL},
        {"internalTrafficPolicy", pl_if_set, "Cluster,Local"},
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
    only_balanced(f, spec, "loadBalancerSourceRanges", "LoadBalancerSourceRanges");
    if (pl_slice_eqz(pl_tree_text_at(spec, "type"), "LoadBalancer"))
        PL_EACH(item, pl_tree_getz(spec, "loadBalancerSourceRanges"))
    pl_cidr(f, PL_INDEX(ranges, i++), item->value, NULL);
    only_balanced(f, spec, "allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts");
    only_balanced(f, spec, "loadBalancerClass", "loadBalancerClass");
    check_traffic(f, spec);
    check_affinity(f, spec);
    check_cluster_ips(f, spec);
    check_node_ports(f, spec);
    check_balancer_status(f, object);
    check_balancer_type(f, object, old);
    if (old != NULL)
        check_service_change(f, spec, pl_tree_getz(old, "spec"));
}

/* ---- Ingresses ---- */

static void check_backend(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *backend)
{
    static const struct pl_rule rules[] = {
        {"service.name", pl_need, NULL},
        {"service.name", pl_label, NULL},
        {"resource.kind", pl_need, NULL},
        {"resource.name", pl_need, NULL},
        {"service.port.name", pl_some_port_name, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *service = pl_tree_getz(backend, "service");
    const struct pl_tree *resource = pl_tree_getz(backend, "resource");
    const struct pl_tree *name = pl_tree_dig(service, "port.name");
    const struct pl_tree *port = pl_tree_dig(service, "port.number");
    const struct pl_spot *spot = PL_MEMBER(PL_MEMBER(at, "service"), "port");
    if (service != NULL && resource != NULL) {
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""),
                     "cannot set both resource and service backends");
        return;
    }
    if (service == NULL && resource == NULL) {
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""), "resource or service backend is required");
        return;
    }
    pl_hold(f, at, backend, rules);
    if (service == NULL)
        return;
    if (!pl_is_empty(name) && network_number(pl_tree_getz(service, "port"), "number") != 0)
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""), "cannot set both port name & port number");
    else if (pl_is_empty(name) && network_number(pl_tree_getz(service, "port"), "number") == 0)
        pl_bad_required(f, at, "port name or number is required");
    else if (pl_is_empty(name))
        pl_range(f, PL_MEMBER(spot, "number"), port, "1-65535");
}

/* Parts of a path that a proxy would resolve. */
static void check_normal(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *path)
{
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const ends[] = {"/..", "/."};
    struct pl_slice is = pl_tree_text(path);
    for (size_t i = 0; i < PL_ARRAY_LEN(inside); i++)
        if (memmem(is.ptr, is.len, inside[i], strlen(inside[i])) != NULL)
            pl_bad_value(f, at, path, "must not contain '%s'", inside[i]);
    for (size_t i = 0; i < PL_ARRAY_LEN(ends); i++) {
        size_t len = strlen(ends[i]);
        if (is.len >= len && memcmp(is.ptr + is.len - len, ends[i], len) == 0)
            pl_bad_value(f, at, path, "cannot end with '%s'", ends[i]);
    }
}

static void network_check_path(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *path)
{
    const struct pl_tree *type = pl_tree_getz(path, "pathType");
    const struct pl_tree *text = pl_tree_getz(path, "path");
    struct pl_slice is = pl_tree_text(text);
    if (type == NULL)
        pl_bad_required(f, PL_MEMBER(at, "pathType"), "pathType must be specified");
    else if (pl_is_among(pl_tree_text(type), "Exact,Prefix")) {
        if (is.len == 0 || is.ptr[0] != '/')
            pl_bad_value(f, PL_MEMBER(at, "path"), pl_or_empty(f, text),
                         "must be an absolute path");
        if (is.len > 0)
            check_normal(f, PL_MEMBER(at, "path"), text);
    } else if (pl_slice_eqz(pl_tree_text(type), "ImplementationSpecific")) {
        if (is.len > 0 && is.ptr[0] != '/')
            pl_bad_value(f, PL_MEMBER(at, "path"), text, "must be an absolute path");
    } else {
        pl_bad_unsupported(f, PL_MEMBER(at, "pathType"), type,
                           "Exact,ImplementationSpecific,Prefix");
    }
    check_backend(f, PL_MEMBER(at, "backend"), pl_tree_getz(path, "backend"));
}

/* Accepts *.example.com, too. */
static void host(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                 const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0) {
        if (arg != NULL)
            pl_subdomain(f, at, NULL, "always");
        return;
    }
    if (pl_is_ip(text)) {
        if (arg == NULL)
            pl_bad_value(f, at, value, "must be a DNS name, not an IP address");
        return;
    }
    if (pl_slice_chr(text, '*') == NULL) {
        pl_subdomain(f, at, value, NULL);
        return;
    }
    struct pl_api_faults rest = {.arena = f->arena};
    bool star = text.len > 2 && memcmp(text.ptr, "*.", 2) == 0;
    if (star)
        pl_subdomain(&rest, at, pl_tree_str(f->arena, pl_slice(text.ptr + 2, text.len - 2)), NULL);
    if (!star || rest.causes != NULL)
        pl_bad_value(f, at, value,
                     "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                     "subdomain, which must consist of lower case alphanumeric characters, '-' or "
                     "'.' and end with an alphanumeric character (e.g. '*.example.com', regex used "
                     "for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
                     "[a-z0-9])?)*')");
}

void pl_valid_ingress(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {{"tls[].hosts[]", host, "need"},
                                           {"tls[].secretName", pl_subdomain, NULL},
                                           {"rules[].host", host, NULL},
                                           {"rules[].http.paths", pl_need, NULL},
                                           {NULL, NULL, NULL}};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *class = pl_tree_getz(spec, "ingressClassName");
    const struct pl_tree *backend = pl_tree_getz(spec, "defaultBackend");
    const struct pl_spot *list = PL_MEMBER(SPEC, "rules");
    size_t i = 0;
    PL_UNUSED(old);
    check_balancer_status(f, object);
    if (pl_is_empty(pl_tree_getz(spec, "rules")) && backend == NULL)
        pl_bad_value(f, SPEC, pl_tree_getz(spec, "rules"),
                     "either `defaultBackend` or `rules` must be specified");
    if (backend != NULL)
        check_backend(f, PL_MEMBER(SPEC, "defaultBackend"), backend);
    pl_hold(f, SPEC, spec, rules);
    PL_EACH(item, pl_tree_getz(spec, "rules"))
    {
        const struct pl_spot *paths = PL_MEMBER(PL_MEMBER(PL_INDEX(list, i++), "http"), "paths");
        size_t k = 0;
        PL_EACH(path, pl_tree_dig(item->value, "http.paths"))
        network_check_path(f, PL_INDEX(paths, k++), path->value);
    }
    if (class != NULL && pl_is_empty(class))
        pl_subdomain(f, PL_MEMBER(SPEC, "ingressClassName"), class, "always");
    else
        pl_subdomain(f, PL_MEMBER(SPEC, "ingressClassName"), class, NULL);
}

void pl_valid_ingress_class(struct pl_api_faults *f, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"parameters.apiGroup", given_subdomain, NULL},
        {"parameters.kind", pl_need, NULL},
        {"parameters.name", pl_need, NULL},
        {"parameters.scope", pl_must_be, "Cluster,Namespace"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *controller = pl_tree_getz(spec, "controller");
    struct pl_slice text = pl_tree_text(controller);
    const struct pl_spot *at = PL_MEMBER(SPEC, "controller");
    const char *slash = pl_slice_chr(text, '/');
    if (text.len == 0)
        pl_bad_required(f, at, "");
    else if (text.len > 250)
        pl_bad_long(f, at, "250 bytes");
    if (text.len > 0 && (slash == NULL || slash == text.ptr || slash + 1 == text.ptr + text.len))
        pl_bad_value(f, at, controller, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    else if (slash != NULL)
        pl_subdomain(f, at, pl_tree_str(f->arena, pl_slice(text.ptr, (size_t)(slash - text.ptr))),
                     NULL);
    pl_hold(f, SPEC, spec, rules);
    if (pl_slice_eqz(pl_tree_text_at(spec, "parameters.scope"), "Namespace"))
        pl_need(f, PL_MEMBER(PL_MEMBER(SPEC, "parameters"), "namespace"),
                pl_tree_dig(spec, "parameters.namespace"),
                "`parameters.scope` is set to 'Namespace'");
    if (old != NULL)
        pl_frozen(f, at, pl_or_empty(f, controller), pl_tree_dig(old, "spec.controller"));
}

/* ---- NetworkPolicies ---- */

/* Exceptions are networks inside the block. */
static void check_except(struct pl_api_faults *f, const struct pl_spot *list,
                         const struct pl_tree *block)
{
    struct pl_ip whole, part;
    size_t i = 0;
    bool known = pl_ip_parse(pl_tree_text_at(block, "cidr"), &whole, NULL) == 0;
    PL_EACH(item, pl_tree_getz(block, "except"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        if (known && pl_ip_parse(pl_tree_text(item->value), &part, NULL) == 0 &&
            !(pl_ip_contains(&whole, &part) && part.prefix > whole.prefix))
            pl_bad_value(f, at, item->value, "must be a strict subset of `cidr`");
    }
}

static void check_peer(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *peer)
{
    static const struct pl_rule rules[] = {{"podSelector", pl_selector, NULL},
                                           {"namespaceSelector", pl_selector, NULL},
                                           {"ipBlock.except[]", pl_cidr, NULL},
                                           {NULL, NULL, NULL}};
    const struct pl_tree *block = pl_tree_getz(peer, "ipBlock");
    const struct pl_tree *cidr = pl_tree_getz(block, "cidr");
    const struct pl_spot *spot = PL_MEMBER(PL_MEMBER(at, "ipBlock"), "cidr");
    bool selects = pl_tree_getz(peer, "podSelector") != NULL ||
                   pl_tree_getz(peer, "namespaceSelector") != NULL;
    if (!selects && block == NULL)
        pl_bad_required(f, at, "must specify a peer");
    else if (selects && block != NULL)
        pl_bad_forbidden(f, at, "may not specify both ipBlock and another peer");
    pl_hold(f, at, peer, rules);
    if (block != NULL && pl_is_empty(cidr))
        pl_bad_required(f, spot, "");
    else if (block != NULL)
        pl_cidr(f, spot, cidr, NULL);
    check_except(f, PL_MEMBER(PL_MEMBER(at, "ipBlock"), "except"), block);
}

static void check_policy_port(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *one)
{
    const struct pl_tree *port = pl_tree_getz(one, "port"), *end = pl_tree_getz(one, "endPort");
    pl_must_be(f, PL_MEMBER(at, "protocol"), pl_tree_getz(one, "protocol"), "TCP,UDP,SCTP");
    if (port != NULL)
        pl_port(f, PL_MEMBER(at, "port"), port, NULL);
    if (end == NULL)
        return;
    if (port == NULL)
        pl_bad_value(f, PL_MEMBER(at, "endPort"), end,
                     "may not be specified when `port` is not specified");
    else if (pl_tree_is(port, PL_STRING))
        pl_bad_value(f, PL_MEMBER(at, "endPort"), end,
                     "may not be specified when `port` is non-numeric");
    else if (network_number(one, "endPort") < network_number(one, "port"))
        pl_bad_value(f, PL_MEMBER(at, "endPort"), end, "must be greater than or equal to `port`");
    pl_range(f, PL_MEMBER(at, "endPort"), end, "1-65535");
}

static void check_side(struct pl_api_faults *f, const struct pl_tree *spec, const char *side,
                       const char *peers)
{
    const struct pl_spot *list = PL_MEMBER(SPEC, side);
    size_t i = 0;
    PL_EACH(rule, pl_tree_getz(spec, side))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        const struct pl_spot *ports = PL_MEMBER(at, "ports"), *ends = PL_MEMBER(at, peers);
        size_t k = 0;
        PL_EACH(item, pl_tree_getz(rule->value, "ports"))
        check_policy_port(f, PL_INDEX(ports, k++), item->value);
        k = 0;
        PL_EACH(item, pl_tree_getz(rule->value, peers))
        check_peer(f, PL_INDEX(ends, k++), item->value);
    }
}

void pl_valid_network_policy(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *types = pl_tree_getz(spec, "policyTypes");
    const struct pl_spot *list = PL_MEMBER(SPEC, "policyTypes");
    size_t i = 0;
    PL_UNUSED(old);
    pl_selector(f, PL_MEMBER(SPEC, "podSelector"), pl_tree_getz(spec, "podSelector"), NULL);
    check_side(f, spec, "ingress", "from");
    check_side(f, spec, "egress", "to");
    if (types != NULL && types->count > 2) {
        pl_bad_value(f, list, types, "may not specify more than two policyTypes");
        return;
    }
    PL_EACH(item, types)
    pl_must_be(f, PL_INDEX(list, i++), item->value, "Ingress,Egress");
}

/* ---- Endpoints ---- */

static void address(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    struct pl_api_faults none = {.arena = f->arena};
    pl_ip(&none, at, value, arg);
    pl_ip(f, at, value, arg);
    if (none.causes != NULL) {
        pl_bad_value(f, at, pl_or_empty(f, value), "must be a valid IP address");
        return;
    }
    if (text.len > 4 && memcmp(text.ptr, "127.", 4) == 0)
        pl_bad_value(f, at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (text.len > 8 && memcmp(text.ptr, "169.254.", 8) == 0)
        pl_bad_value(f, at, value,
                     "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (pl_is_among(text, "0.0.0.0,::"))
        pl_bad_value(f, at, value, "may not be unspecified (%.*s)", PL_FMT(text));
}

void pl_valid_endpoints(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"subsets[].addresses[].ip", address, NULL},
        {"subsets[].addresses[].hostname", pl_label, NULL},
        {"subsets[].addresses[].nodeName", given_subdomain, NULL},
        {"subsets[].notReadyAddresses[].ip", address, NULL},
        {"subsets[].notReadyAddresses[].hostname", pl_label, NULL},
        {"subsets[].notReadyAddresses[].nodeName", given_subdomain, NULL},
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
            pl_bad_value(f, one, item->value, "must be an IPv4 address");
        else if (none.causes == NULL && pl_slice_eqz(type, "IPv6") && !six)
            pl_bad_value(f, one, item->value, "must be an IPv6 address");
    }
}

void pl_valid_endpoint_slice(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"endpoints[].nodeName", given_subdomain, NULL},
        {"ports[].name", some_label, NULL},
        {"ports[].protocol", pl_needs_one, "SCTP,TCP,UDP"},
        {"ports[].appProtocol", pl_qualified, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *type = pl_tree_getz(object, "addressType");
    const struct pl_spot *list = PL_MEMBER(NULL, "endpoints");
    size_t i = 0;
    pl_needs_one(f, PL_MEMBER(NULL, "addressType"), type, "FQDN,IPv4,IPv6");
    PL_EACH(item, pl_tree_getz(object, "endpoints"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        const struct pl_tree *name = pl_tree_getz(item->value, "hostname");
        if (pl_is_among(pl_tree_text(type), "FQDN,IPv4,IPv6") &&
            (old == NULL || pl_tree_equal(type, pl_tree_getz(old, "addressType"))))
            check_addresses(f, at, item->value, pl_tree_text(type));
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
