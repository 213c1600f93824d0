/* Warnings about Pods and pod templates: deprecated labels and annotations, duplicates, overlapping
 * ports, amounts with fractions of a byte. */
#include "warnings/warn_impl.h"

#include "base/map.h"
#include "object/tree.h"

#include <string.h>

#define PORTS_MAX 500 /* limit of ports that are compared with each other */

/* ---- scheduling ---- */

static void warn_selectors(struct pl_warned *w, const struct pl_spot *at,
                           const struct pl_tree *terms, bool is_weighted)
{
    size_t i = 0;
    PL_EACH(item, terms)
    {
        const struct pl_spot *one = PL_INDEX(at, i++);
        const struct pl_spot *weighted = PL_MEMBER(one, "podAffinityTerm");
        const struct pl_tree *term =
            is_weighted ? pl_tree_getz(item->value, "podAffinityTerm") : item->value;
        if (pl_tree_getz(term, "labelSelector") == NULL)
            pl_warn_at(w, PL_MEMBER(is_weighted ? weighted : one, "labelSelector"),
                       "a null labelSelector results in matching no pod");
    }
}

static void warn_affinity(struct pl_warned *w, const struct pl_spot *at,
                          const struct pl_tree *affinity)
{
    static const char kinds[][16] = {"podAffinity", "podAntiAffinity"};
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++) {
        const struct pl_tree *one = pl_tree_getz(affinity, kinds[i]);
        const struct pl_spot *here = PL_MEMBER(at, kinds[i]);
        warn_selectors(w, PL_MEMBER(here, required), pl_tree_getz(one, required), false);
        warn_selectors(w, PL_MEMBER(here, preferred), pl_tree_getz(one, preferred), true);
    }
}

static void warn_nodes(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec)
{
    const struct pl_tree *affinity = pl_tree_dig(spec, "affinity.nodeAffinity");
    const struct pl_spot *all = PL_MEMBER(at, "affinity.nodeAffinity");
    size_t i = 0, j = 0;
    PL_TREE_FOR(item, pl_tree_getz(spec, "nodeSelector"))
    {
        const char *why = pl_warn_node_label(item->key);
        const struct pl_spot *selector = PL_MEMBER(at, "nodeSelector");
        if (why != NULL)
            pl_warn_at(w, PL_OF_KEY(selector, item->key), "%s", why);
    }
    PL_EACH(item, pl_tree_dig(affinity, "requiredDuringSchedulingIgnoredDuringExecution."
                                        "nodeSelectorTerms"))
    {
        const struct pl_spot *terms =
            PL_MEMBER(all, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
        pl_warn_term(w, PL_INDEX(terms, i++), item->value, false);
    }
    PL_EACH(item, pl_tree_getz(affinity, "preferredDuringSchedulingIgnoredDuringExecution"))
    {
        const struct pl_spot *terms =
            PL_MEMBER(all, "preferredDuringSchedulingIgnoredDuringExecution");
        const struct pl_spot *here = PL_INDEX(terms, j++);
        pl_warn_term(w, PL_MEMBER(here, "preference"), pl_tree_getz(item->value, "preference"),
                     true);
    }
}

static void warn_spread(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list)
{
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        struct pl_slice key = pl_tree_text_at(item->value, "topologyKey");
        const char *why = pl_warn_node_label(key);
        if (why != NULL)
            pl_warn_at(w, PL_MEMBER(here, "topologyKey"), "%.*s is %s", PL_FMT(key), why);
        if (pl_tree_getz(item->value, "labelSelector") == NULL)
            pl_warn_at(w, PL_MEMBER(here, "labelSelector"),
                       "a null labelSelector results in matching no pod");
    }
}

/* ---- annotations ---- */

static void warn_annotation(struct pl_warned *w, const struct pl_spot *at,
                            const struct pl_tree *annotations, struct pl_slice key, const char *why)
{
    const struct pl_spot *metadata = PL_MEMBER(at, "metadata");
    const struct pl_spot *all = PL_MEMBER(metadata, "annotations");
    if (pl_tree_get(annotations, key) != NULL)
        pl_warn_at(w, PL_OF_KEY(all, key), "%s", why);
}

static void warn_annotations(struct pl_warned *w, const struct pl_spot *at,
                             const struct pl_tree *annotations)
{
    static const char keys[][2][68] = {
        {"scheduler.alpha.kubernetes.io/critical-pod",
         "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
        {"security.alpha.kubernetes.io/sysctls",
         "non-functional in v1.11+; use the \"sysctls\" field instead"},
        {"security.alpha.kubernetes.io/unsafe-sysctls",
         "non-functional in v1.11+; use the \"sysctls\" field instead"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(keys); i++)
        warn_annotation(w, at, annotations, pl_slice_z(keys[i][0]), keys[i][1]);
}

static const char seccomp[] = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

static void warn_container_annotations(struct pl_warned *w, const struct pl_spot *at,
                                       const struct pl_tree *annotations,
                                       const struct pl_tree *container)
{
    struct pl_slice name = pl_tree_text_at(container, "name");
    if (pl_tree_dig(container, "securityContext.seccompProfile") == NULL)
        warn_annotation(w, at, annotations,
                        pl_arena_f(w->places.arena,
                                   "container.seccomp.security.alpha.kubernetes.io/%.*s",
                                   PL_FMT(name)),
                        seccomp);
    if (at != NULL && pl_tree_dig(container, "securityContext.appArmorProfile") == NULL)
        warn_annotation(w, at, annotations,
                        pl_arena_f(w->places.arena,
                                   "container.apparmor.security.beta.kubernetes.io/%.*s",
                                   PL_FMT(name)),
                        "deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

/* ---- duplicates ---- */

static void warn_twice(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list,
                       const char *member)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        struct pl_slice text = pl_tree_text_at(item->value, member);
        if (pl_map_has(&seen, text))
            pl_warn_at(w, PL_MEMBER(here, member), "duplicate %s \"%.*s\"", member, PL_FMT(text));
        pl_map_put(&seen, text, &seen);
    }
    pl_map_deinit(&seen);
}

static void warn_empty_names(struct pl_warned *w, const struct pl_spot *at,
                             const struct pl_tree *list)
{
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        if (pl_tree_text_at(item->value, "name").len == 0)
            pl_warn_at(w, PL_MEMBER(here, "name"), "invalid empty name \"\"");
    }
}

/* A variable may be repeated if its new value refers to the old one. */
static bool is_built_on(struct pl_warned *w, const struct pl_tree *variable, struct pl_slice name)
{
    struct pl_slice value = pl_tree_text_at(variable, "value");
    struct pl_slice ref = pl_arena_f(w->places.arena, "$(%.*s)", PL_FMT(name));
    return pl_tree_getz(variable, "valueFrom") == NULL && !pl_slice_eq(value, ref) &&
           value.len > 0 && strstr(pl_arena_copy(w->places.arena, value).ptr, ref.ptr) != NULL;
}

static void warn_environment(struct pl_warned *w, const struct pl_spot *at,
                             const struct pl_tree *list)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        if (pl_map_has(&seen, name) && !is_built_on(w, item->value, name))
            pl_warn_at(w, here,
                       "hides previous definition of \"%.*s\", which may be dropped when using "
                       "apply",
                       PL_FMT(name));
        pl_map_put(&seen, name, &seen);
    }
    pl_map_deinit(&seen);
}

/* ---- ports ---- */

struct port {
    struct pl_slice where, name, protocol, ip;
    int64_t number, host;
};

struct ports {
    struct port *list;
    size_t count, room;
};

static void warn_pair(struct pl_warned *w, const struct port *is, const struct port *other)
{
    const char *what = NULL;
    bool same_ip = pl_slice_eq(is->ip, other->ip);
    if (is->number != other->number || !pl_slice_eq(is->protocol, other->protocol))
        return;
    if (same_ip && is->host == other->host)
        what = "duplicate";
    else if (is->host == 0 || other->host == 0)
        what = "overlapping";
    else if (is->host == other->host && (is->ip.len == 0) != (other->ip.len == 0))
        what = "dangerously ambiguous";
    if (what != NULL)
        pl_warn(w, "%.*s: %s port definition with %.*s", PL_FMT(is->where), what,
                PL_FMT(other->where));
}

static void take_port(struct pl_warned *w, struct ports *ports, const struct pl_spot *at,
                      const struct pl_tree *port)
{
    struct port is = {.where = pl_spot_text(&w->places, at),
                      .name = pl_tree_text_at(port, "name"),
                      .protocol = pl_tree_text_at(port, "protocol"),
                      .ip = pl_tree_text_at(port, "hostIP")};
    pl_tree_integer(pl_tree_getz(port, "containerPort"), &is.number);
    pl_tree_integer(pl_tree_getz(port, "hostPort"), &is.host);
    if (is.ip.len > 0 && is.host == 0)
        pl_warn(w,
                "%.*s: hostIP set without hostPort: {Name:%.*s HostPort:0 ContainerPort:%lld "
                "Protocol:%.*s HostIP:%.*s}",
                PL_FMT(is.where), PL_FMT(is.name), (long long)is.number, PL_FMT(is.protocol),
                PL_FMT(is.ip));
    for (size_t i = 0; i < ports->count; i++)
        warn_pair(w, &is, &ports->list[i]);
    if (ports->count < ports->room)
        ports->list[ports->count++] = is;
}

static void warn_port_names(struct pl_warned *w, const struct ports *ports)
{
    for (size_t i = 0; i < ports->count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct port *is = &ports->list[i], *other = &ports->list[j];
            if (is->name.len == 0 || !pl_slice_eq(is->name, other->name))
                continue;
            pl_warn(w,
                    "%.*s: duplicate port name \"%.*s\" with %.*s, services and probes that select "
                    "ports by name will use %.*s",
                    PL_FMT(is->where), PL_FMT(is->name), PL_FMT(other->where),
                    PL_FMT(other->where));
            break;
        }
}

/* ---- containers ---- */

static void warn_amounts(struct pl_warned *w, const struct pl_spot *at,
                         const struct pl_tree *resources)
{
    static const char names[][20] = {"memory", "ephemeral-storage"};
    static const char lists[][12] = {"limits", "requests"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        for (size_t j = 0; j < PL_ARRAY_LEN(lists); j++) {
            const struct pl_spot *list = PL_MEMBER(at, lists[j]);
            pl_warn_fraction(w, PL_OF_KEY(list, pl_slice_z(names[i])),
                             pl_tree_getz(pl_tree_getz(resources, lists[j]), names[i]));
        }
}

static const char containers[][20] = {"initContainers", "containers", "ephemeralContainers"};

static void warn_containers(struct pl_warned *w, const struct pl_spot *at,
                            const struct pl_tree *pod)
{
    const struct pl_tree *annotations = pl_tree_dig(pod, "metadata.annotations");
    const struct pl_spot *spec = PL_MEMBER(at, "spec");
    for (size_t i = 0; i < PL_ARRAY_LEN(containers); i++) {
        const struct pl_spot *list = PL_MEMBER(spec, containers[i]);
        size_t j = 0;
        PL_EACH(item, pl_tree_getz(pl_tree_getz(pod, "spec"), containers[i]))
        {
            const struct pl_spot *here = PL_INDEX(list, j++);
            warn_container_annotations(w, at, annotations, item->value);
            warn_amounts(w, PL_MEMBER(here, "resources"), pl_tree_getz(item->value, "resources"));
            warn_environment(w, PL_MEMBER(here, "env"), pl_tree_getz(item->value, "env"));
        }
    }
}

/* So many ports need room. */
static size_t room_of_ports(const struct pl_tree *spec)
{
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(containers); i++) {
        PL_EACH(item, pl_tree_getz(spec, containers[i]))
        {
            const struct pl_tree *list = pl_tree_getz(item->value, "ports");
            count += pl_tree_is(list, PL_ARRAY) ? list->count : 0;
        }
    }
    return count < PORTS_MAX ? count : PORTS_MAX;
}

static void warn_ports(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec)
{
    struct ports ports = {.room = room_of_ports(spec)};
    ports.list = pl_arena_alloc(w->places.arena, ports.room * sizeof *ports.list);
    for (size_t i = 0; i < PL_ARRAY_LEN(containers); i++) {
        const struct pl_spot *list = PL_MEMBER(at, containers[i]);
        size_t j = 0;
        PL_EACH(item, pl_tree_getz(spec, containers[i]))
        {
            const struct pl_spot *here = PL_INDEX(list, j++);
            const struct pl_spot *all = PL_MEMBER(here, "ports");
            size_t k = 0;
            PL_EACH(port, pl_tree_getz(item->value, "ports"))
            take_port(w, &ports, PL_INDEX(all, k++), port->value);
        }
    }
    warn_port_names(w, &ports);
}

/* ---- the whole Pod ---- */

static void warn_addresses(struct pl_warned *w, const struct pl_spot *at,
                           const struct pl_tree *spec)
{
    size_t i = 0, j = 0;
    PL_EACH(item, pl_tree_dig(spec, "dnsConfig.nameservers"))
    {
        const struct pl_spot *list = PL_MEMBER(at, "dnsConfig.nameservers");
        pl_warn_ip(w, PL_INDEX(list, i++), item->value);
    }
    PL_EACH(item, pl_tree_getz(spec, "hostAliases"))
    {
        const struct pl_spot *list = PL_MEMBER(at, "hostAliases");
        const struct pl_spot *here = PL_INDEX(list, j++);
        pl_warn_ip(w, PL_MEMBER(here, "ip"), pl_tree_getz(item->value, "ip"));
    }
}

static void warn_overhead(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list)
{
    pl_warn_fraction(w, PL_OF_KEY(at, pl_slice_z("memory")), pl_tree_getz(list, "memory"));
    pl_warn_fraction(w, PL_OF_KEY(at, pl_slice_z("ephemeral-storage")),
                     pl_tree_getz(list, "ephemeral-storage"));
}

void pl_warn_pod(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *pod)
{
    const struct pl_tree *spec = pl_tree_getz(pod, "spec");
    const struct pl_tree *annotations = pl_tree_dig(pod, "metadata.annotations");
    const struct pl_spot *here = PL_MEMBER(at, "spec");
    int64_t grace = 0;
    warn_nodes(w, here, spec);
    warn_spread(w, PL_MEMBER(here, "topologySpreadConstraints"),
                pl_tree_getz(spec, "topologySpreadConstraints"));
    warn_annotations(w, at, annotations);
    pl_warn_volumes(w, PL_MEMBER(here, "volumes"), pl_tree_getz(spec, "volumes"));
    warn_twice(w, PL_MEMBER(here, "hostAliases"), pl_tree_getz(spec, "hostAliases"), "ip");
    warn_twice(w, PL_MEMBER(here, "imagePullSecrets"), pl_tree_getz(spec, "imagePullSecrets"),
               "name");
    warn_empty_names(w, PL_MEMBER(here, "imagePullSecrets"),
                     pl_tree_getz(spec, "imagePullSecrets"));
    warn_overhead(w, PL_MEMBER(here, "overhead"), pl_tree_getz(spec, "overhead"));
    if (pl_tree_dig(spec, "securityContext.seccompProfile") == NULL)
        warn_annotation(w, at, annotations, pl_slice_z("seccomp.security.alpha.kubernetes.io/pod"),
                        seccomp);
    warn_containers(w, at, pod);
    warn_ports(w, here, spec);
    if (pl_tree_integer(pl_tree_getz(spec, "terminationGracePeriodSeconds"), &grace) && grace < 0)
        pl_warn_at(w, PL_MEMBER(here, "terminationGracePeriodSeconds"),
                   "must be >= 0; negative values are invalid and will be treated as 1");
    warn_affinity(w, PL_MEMBER(here, "affinity"), pl_tree_getz(spec, "affinity"));
    warn_addresses(w, here, spec);
}
