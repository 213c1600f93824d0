/* Traffic from outside and between pods: Ingresses, IngressClasses, NetworkPolicies. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/ip.h"
#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

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
    if (!pl_is_empty(name) && pl_number_at(pl_tree_getz(service, "port"), "number") != 0)
        pl_bad_value(f, at, pl_tree_strz(f->arena, ""), "cannot set both port name & port number");
    else if (pl_is_empty(name) && pl_number_at(pl_tree_getz(service, "port"), "number") == 0)
        pl_bad_required(f, at, "port name or number is required");
    else if (pl_is_empty(name))
        pl_range(f, PL_MEMBER(spot, "number"), port, "1-65535");
}

/* Parts of a path that a proxy would resolve. */
static void check_normal(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *path)
{
    static const char inside[][8] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char ends[][4] = {"/..", "/."};
    struct pl_slice is = pl_tree_text(path);
    for (size_t i = 0; i < PL_ARRAY_LEN(inside); i++)
        if (pl_text_find(is, inside[i]) != NULL)
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
    bool star = text.len > 2 && pl_text_begins(text, "*.");
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

/* A new Ingress that still has the annotation must not name its class twice. */
static void check_class_annotation(struct pl_api_faults *f, const struct pl_tree *object,
                                   const struct pl_tree *old)
{
    static const char mark[] = "kubernetes.io/ingress.class";
    const struct pl_tree *is = pl_tree_getz(pl_tree_dig(object, "metadata.annotations"), mark);
    const struct pl_tree *class = pl_tree_dig(object, "spec.ingressClassName");
    if (old == NULL && is != NULL && class != NULL && !pl_tree_equal(is, class))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "annotations"), mark), is,
                     "must match `ingressClassName` when both are specified");
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
    pl_valid_balancer_status(f, object);
    if (pl_is_empty(pl_tree_getz(spec, "rules")) && backend == NULL)
        pl_bad_value(f, SPEC, pl_tree_getz(spec, "rules"),
                     "either `defaultBackend` or `rules` must be specified");
    check_class_annotation(f, object, old);
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
        {"parameters.apiGroup", pl_given_subdomain, NULL},
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

/* Exceptions are networks inside the block. They are looked at only if that is a network. */
static void check_except(struct pl_api_faults *f, const struct pl_spot *list,
                         const struct pl_tree *block)
{
    struct pl_ip whole, part;
    size_t i = 0;
    if (pl_ip_parse(pl_tree_text_at(block, "cidr"), &whole, NULL) != 0 || !whole.is_network)
        return;
    PL_EACH(item, pl_tree_getz(block, "except"))
    {
        const struct pl_spot *at = PL_INDEX(list, i++);
        pl_cidr(f, at, item->value, NULL);
        if (pl_ip_parse(pl_tree_text(item->value), &part, NULL) == 0 &&
            !(pl_ip_contains(&whole, &part) && part.prefix > whole.prefix))
            pl_bad_value(f, at, item->value, "must be a strict subset of `cidr`");
    }
}

static void check_peer(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *peer)
{
    static const struct pl_rule rules[] = {{"podSelector", pl_selector, NULL},
                                           {"namespaceSelector", pl_selector, NULL},
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
    if (block == NULL)
        return;
    if (pl_is_empty(cidr))
        pl_bad_required(f, spot, "");
    else
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
    else if (pl_number_at(one, "endPort") < pl_number_at(one, "port"))
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
