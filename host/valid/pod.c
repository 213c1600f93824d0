/* Pods and pod templates: the whole spec, and the members of a Pod that may be changed: images,
 * additional tolerations, a shorter deadline, and labels. */
#include "valid/kinds.h"
#include "gotype/go_struct.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

/* ---- the spec ---- */

static void sysctl_name(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    bool good = text.len <= 253, edge = true;
    PL_UNUSED(arg);
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    for (size_t i = 0; good && i < text.len; i++) {
        char c = text.ptr[i];
        bool low = pl_is_lower_or_digit(c);
        bool sep = c == '.' || c == '/';
        good = low || (!edge && (sep || c == '-' || c == '_'));
        if (sep && i > 0 && (text.ptr[i - 1] == '-' || text.ptr[i - 1] == '_'))
            good = false;
        edge = sep;
    }
    char last = text.ptr[text.len - 1];
    if (!good || edge || last == '-' || last == '_')
        pl_bad_value(f, at, value,
                     "must have at most 253 characters and match regex "
                     "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
}

static void search(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                   const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (pl_slice_eqz(text, "."))
        return;
    if (text.len > 0 && text.ptr[text.len - 1] == '.')
        text.len--;
    bool good = text.len > 0, edge = true;
    for (size_t i = 0; good && i < text.len; i++) {
        char c = text.ptr[i];
        bool low = pl_is_lower_or_digit(c);
        good = low || c == '_' || (!edge && (c == '-' || c == '.'));
        edge = c == '.';
    }
    if (text.len > 253)
        pl_bad_value(f, at, value, "must be no more than 253 characters");
    if (!good || (text.len > 0 && text.ptr[text.len - 1] == '-'))
        pl_bad_value(f, at, value,
                     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                     "characters, '_', '-' or '.', and must start and end with an alphanumeric "
                     "character (e.g. 'example.com', regex used for validation is "
                     "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
}

static void not_empty(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at->up, arg);
}

static void above_zero(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    if (value != NULL)
        pl_above_zero(f, at, value, arg);
}

/* kube-apiserver's message names the gate, not its member. */
static void gate(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                 const char *arg)
{
    PL_UNUSED(arg);
    pl_qualified(f, at, pl_tree_getz(value, "name"), "always");
}

static const struct pl_rule spec_rules[] = {
    {"restartPolicy", pl_needs_one, "Always,OnFailure,Never"},
    {"dnsPolicy", pl_needs_one, "ClusterFirstWithHostNet,ClusterFirst,Default,None"},
    {"nodeSelector", pl_labels, NULL},
    {"serviceAccountName", pl_subdomain, NULL},
    {"nodeName", pl_subdomain, NULL},
    {"activeDeadlineSeconds", pl_range, "1-2147483647"},
    {"hostname", pl_label, NULL},
    {"subdomain", pl_label, NULL},
    {"priorityClassName", pl_subdomain, NULL},
    {"runtimeClassName", pl_subdomain, NULL},
    {"preemptionPolicy", pl_one_of, "Never,PreemptLowerPriority"},
    {"hostAliases[].ip", pl_ip, NULL},
    {"hostAliases[].hostnames[]", pl_subdomain, "always"},
    {"dnsConfig.nameservers[]", pl_ip, NULL},
    {"dnsConfig.searches[]", search, NULL},
    {"dnsConfig.options[].name", not_empty, "must not be empty"},
    {"readinessGates[].conditionType", pl_qualified, "always"},
    {"securityContext.sysctls[].name", sysctl_name, NULL},
    {"securityContext.sysctls", pl_unique, "name"},
    {"topologySpreadConstraints[].maxSkew", pl_above_zero, NULL},
    {"topologySpreadConstraints[].minDomains", above_zero, NULL},
    {"topologySpreadConstraints[].topologyKey", pl_need, "can not be empty"},
    {"topologySpreadConstraints[].whenUnsatisfiable", pl_must_be, "DoNotSchedule,ScheduleAnyway"},
    {"topologySpreadConstraints[].labelSelector", pl_selector, NULL},
    {"topologySpreadConstraints[].nodeAffinityPolicy", pl_if_set, "Honor,Ignore"},
    {"topologySpreadConstraints[].nodeTaintsPolicy", pl_if_set, "Honor,Ignore"},
    {"schedulingGates[]", gate, NULL},
    {"hostnameOverride", pl_given_subdomain, NULL},
    {NULL, NULL, NULL},
};

static void check_domains(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *constraint)
{
    const struct pl_tree *least = pl_tree_getz(constraint, "minDomains");
    struct pl_slice what = pl_tree_text_at(constraint, "whenUnsatisfiable");
    if (least != NULL && !pl_slice_eqz(what, "DoNotSchedule"))
        pl_bad_value(f, PL_MEMBER(at, "minDomains"), least,
                     "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s",
                     PL_FMT(what));
}

static void check_spread(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *list)
{
    struct pl_map seen = PL_MAP_INIT;
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_tree *key = pl_tree_getz(item->value, "topologyKey");
        const struct pl_tree *what = pl_tree_getz(item->value, "whenUnsatisfiable");
        if (pl_comes_again(&seen, key, what)) {
            struct pl_slice pair = pl_arena_f(f->arena, "{%.*s, %.*s}", PL_FMT(pl_tree_text(key)),
                                              PL_FMT(pl_tree_text(what)));
            pl_bad_duplicate(f, PL_MEMBER(PL_INDEX(at, i), "{topologyKey, whenUnsatisfiable}"),
                             pl_tree_str(f->arena, pair));
        }
        check_domains(f, PL_INDEX(at, i), item->value);
        pl_valid_label_keys(f, PL_INDEX(at, i), item->value);
        i++;
    }
    pl_map_deinit(&seen);
}

/* The namespaces of the node that a pod uses, and its name there. */
static void check_node_parts(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec)
{
    static const struct {
        const char *member, *shown;
    } parts[] = {{"hostNetwork", "hostNetwork"}, {"hostPID", "HostPID"}, {"hostIPC", "HostIPC"}};
    const struct pl_tree *shares = pl_tree_getz(spec, "shareProcessNamespace");
    const struct pl_spot *own_name = PL_MEMBER(at, "hostnameOverride");
    if (pl_is_true(shares) && pl_is_true(pl_tree_getz(spec, "hostPID")))
        pl_bad_value(f, PL_MEMBER(at, "shareProcessNamespace"), shares,
                     "ShareProcessNamespace and HostPID cannot both be enabled");
    for (size_t i = 0; i < PL_ARRAY_LEN(parts); i++)
        if (pl_is_false(pl_tree_getz(spec, "hostUsers")) &&
            pl_is_true(pl_tree_getz(spec, parts[i].member)))
            pl_bad_forbidden(f, PL_MEMBER(at, parts[i].shown), "when `hostUsers` is false");
    if (pl_tree_getz(spec, "hostnameOverride") == NULL)
        return;
    if (pl_is_true(pl_tree_getz(spec, "setHostnameAsFQDN")))
        pl_bad_forbidden(f, own_name, "may not be specified when setHostnameAsFQDN is true");
    if (pl_is_true(pl_tree_getz(spec, "hostNetwork")))
        pl_bad_forbidden(f, own_name, "may not be specified when hostNetwork is true");
    if (pl_tree_text_at(spec, "hostnameOverride").len > 64)
        pl_bad_long(f, own_name, "64 bytes");
}

/* A gate must be named only once. */
static void check_same_gates(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *list)
{
    struct pl_tree *seen = pl_tree_object(f->arena);
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        if (pl_tree_get(seen, pl_tree_text(name)) != NULL)
            pl_bad_duplicate(f, here, name);
        pl_tree_set(f->arena, seen, pl_tree_text(name), pl_tree_bool(f->arena, true));
    }
}

static void check_host(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(at, "containers");
    size_t i = 0;
    if (!pl_is_true(pl_tree_getz(spec, "hostNetwork")))
        return;
    PL_EACH(item, pl_tree_getz(spec, "containers"))
    {
        const struct pl_spot *ports = PL_MEMBER(PL_INDEX(list, i++), "ports");
        size_t k = 0;
        PL_EACH(port, pl_tree_getz(item->value, "ports"))
        {
            int64_t container = 0, host = 0;
            pl_tree_integer(pl_tree_getz(port->value, "containerPort"), &container);
            pl_tree_integer(pl_tree_getz(port->value, "hostPort"), &host);
            if (host != 0 && host != container)
                pl_bad_value(f, PL_MEMBER(PL_INDEX(ports, k), "hostPort"),
                             pl_tree_getz(port->value, "hostPort"),
                             "must match `containerPort` when `hostNetwork` is true");
            k++;
        }
    }
}

/* Two containers must not use the same port of the node. */
static void check_host_ports(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(at, "containers");
    struct pl_tree *used = pl_tree_object(f->arena);
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(spec, "containers"))
    {
        const struct pl_spot *ports = PL_MEMBER(PL_INDEX(list, i++), "ports");
        size_t k = 0;
        PL_EACH(port, pl_tree_getz(item->value, "ports"))
        {
            int64_t host = 0;
            const struct pl_spot *here = PL_INDEX(ports, k++);
            pl_tree_integer(pl_tree_getz(port->value, "hostPort"), &host);
            struct pl_slice name = pl_arena_f(
                f->arena, "%.*s/%.*s/%lld", PL_FMT(pl_tree_text_at(port->value, "protocol")),
                PL_FMT(pl_tree_text_at(port->value, "hostIP")), (long long)host);
            if (host != 0 && pl_tree_get(used, name) != NULL)
                pl_bad_duplicate(f, PL_MEMBER(here, "hostPort"), pl_tree_str(f->arena, name));
            pl_tree_set(f->arena, used, name, pl_tree_bool(f->arena, true));
        }
    }
}

/* In a template an image's name may still be missing. */
static void check_images(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *volumes)
{
    size_t i = 0;
    PL_EACH(item, volumes)
    {
        const struct pl_tree *image = pl_tree_getz(item->value, "image");
        const struct pl_spot *here = PL_MEMBER(PL_INDEX(at, i++), "image");
        if (image != NULL)
            pl_need(f, PL_MEMBER(here, "reference"), pl_tree_getz(image, "reference"), NULL);
    }
}

/* own: the spec belongs to a Pod, not to a template. name: the Pod's. */
static void valid_pod_spec(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *spec, struct pl_slice name, bool own)
{
    pl_valid_containers(f, at, spec, pl_valid_volumes(f, at, spec, name), own);
    if (spec == NULL) /* otherwise the server fills it in */
        return;
    pl_valid_pod_resources(f, at, spec);
    pl_hold(f, at, spec, spec_rules);
    check_spread(f, PL_MEMBER(at, "topologySpreadConstraints"),
                 pl_tree_getz(spec, "topologySpreadConstraints"));
    check_host(f, at, spec);
    check_host_ports(f, at, spec);
    check_node_parts(f, at, spec);
    if (own)
        check_images(f, PL_MEMBER(at, "volumes"), pl_tree_getz(spec, "volumes"));
    check_same_gates(f, PL_MEMBER(at, "schedulingGates"), pl_tree_getz(spec, "schedulingGates"));
    pl_valid_pod_context(f, PL_MEMBER(at, "securityContext"),
                         pl_tree_getz(spec, "securityContext"));
    pl_valid_host_processes(f, at, spec);
    pl_valid_token_volumes(f, at, spec);
    pl_valid_system(f, at, spec);
    pl_valid_pod_claims(f, PL_MEMBER(at, "resourceClaims"), pl_tree_getz(spec, "resourceClaims"));
    pl_valid_affinity(f, PL_MEMBER(at, "affinity"), pl_tree_getz(spec, "affinity"));
    pl_valid_tolerations(f, PL_MEMBER(at, "tolerations"), pl_tree_getz(spec, "tolerations"));
    bool own_dns = pl_slice_eqz(pl_tree_text_at(spec, "dnsPolicy"), "None");
    if (own_dns && pl_tree_getz(spec, "dnsConfig") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "dnsConfig"),
                        "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (own_dns && pl_is_empty(pl_tree_dig(spec, "dnsConfig.nameservers")))
        pl_bad_required(f, PL_MEMBER(PL_MEMBER(at, "dnsConfig"), "nameservers"),
                        "must provide at least one DNS nameserver when `dnsPolicy` is None");
}

void pl_valid_template(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *template)
{
    const struct pl_tree *meta = pl_tree_getz(template, "metadata");
    pl_labels(f, PL_MEMBER(at, "labels"), pl_tree_getz(meta, "labels"), NULL);
    pl_annotations(f, PL_MEMBER(at, "annotations"), pl_tree_getz(meta, "annotations"), NULL);
    valid_pod_spec(f, PL_MEMBER(at, "spec"), pl_tree_getz(template, "spec"), pl_slice("", 0),
                   false);
}

/* ---- changes ---- */

static void copy_images(struct pl_api_faults *f, struct pl_tree *to, const struct pl_tree *from,
                        const char *list)
{
    const struct pl_tree *olds = pl_tree_getz(from, list);
    struct pl_tree *news = pl_tree_getz(to, list);
    size_t i = 0;
    PL_EACH(item, news)
    {
        struct pl_tree *image = pl_tree_getz(pl_tree_at(olds, i++), "image");
        if (image != NULL)
            pl_tree_setz(f->arena, item->value, "image", image);
    }
}

static void check_counts(struct pl_api_faults *f, const struct pl_tree *spec,
                         const struct pl_tree *old, const char *list, bool *stop)
{
    const struct pl_tree *is = pl_tree_getz(spec, list), *was = pl_tree_getz(old, list);
    if ((is != NULL ? is->count : 0) == (was != NULL ? was->count : 0))
        return;
    pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(NULL, "spec"), list),
                     "pod updates may not add or remove containers");
    *stop = true;
}

static void check_deadline(struct pl_api_faults *f, const struct pl_tree *spec,
                           const struct pl_tree *old)
{
    int64_t is, was;
    const struct pl_tree *value = pl_tree_getz(spec, "activeDeadlineSeconds");
    const struct pl_spot *at = PL_MEMBER(PL_MEMBER(NULL, "spec"), "activeDeadlineSeconds");
    if (!pl_tree_integer(pl_tree_getz(old, "activeDeadlineSeconds"), &was))
        return;
    if (!pl_tree_integer(value, &is))
        pl_bad_value(f, at, value, "must not update from a positive integer to nil value");
    else if (is > was)
        pl_bad_value(f, at, value, "must be less than or equal to previous value");
}

/* Equal, but for the seconds, which may change. */
static bool is_same_toleration(const struct pl_tree *a, const struct pl_tree *b)
{
    static const char members[][12] = {"key", "operator", "value", "effect"};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (!pl_slice_eq(pl_tree_text_at(a, members[i]), pl_tree_text_at(b, members[i])))
            return false;
    return true;
}

static void check_kept_tolerations(struct pl_api_faults *f, const struct pl_tree *spec,
                                   const struct pl_tree *old)
{
    const struct pl_tree *list = pl_tree_getz(spec, "tolerations");
    PL_EACH(item, pl_tree_getz(old, "tolerations"))
    {
        bool kept = false;
        PL_EACH(have, list)
        kept = kept || is_same_toleration(have->value, item->value);
        if (!kept) {
            pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(NULL, "spec"), "tolerations"),
                             "existing toleration can not be modified except its "
                             "tolerationSeconds");
            return;
        }
    }
}

/* Gates can only be removed. */
static void check_gates(struct pl_api_faults *f, const struct pl_tree *spec,
                        const struct pl_tree *old)
{
    const struct pl_spot *list = PL_MEMBER(PL_MEMBER(NULL, "spec"), "schedulingGates");
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(spec, "schedulingGates"))
    {
        struct pl_slice name = pl_tree_text_at(item->value, "name");
        const struct pl_spot *at = PL_INDEX(list, i++);
        bool had = false;
        PL_EACH(was, pl_tree_getz(old, "schedulingGates"))
        had = had || pl_slice_eq(pl_tree_text_at(was->value, "name"), name);
        if (!had)
            pl_bad_forbidden(f, PL_MEMBER(at, "name"),
                             pl_arena_f(f->arena,
                                        "only deletion is allowed, but found new scheduling gate "
                                        "'%.*s'",
                                        PL_FMT(name))
                                 .ptr);
    }
}

/* Sets the member of `to` to that of `from`, which may have none. */
static void pod_put_member(struct pl_api_faults *f, struct pl_tree *to, const struct pl_tree *from,
                           const char *member)
{
    struct pl_tree *value = pl_tree_getz(from, member);
    if (value != NULL)
        pl_tree_setz(f->arena, to, member, value);
    else
        pl_tree_removez(to, member);
}

/* While a Pod waits at its gates, its choice of nodes may become narrower. Parts that may change
 * are taken from the old spec. */
static void check_gated(struct pl_api_faults *f, struct pl_tree *spec, const struct pl_tree *old)
{
    static const char terms[] = "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    const struct pl_tree *is = pl_tree_getz(spec, "nodeSelector");
    struct pl_tree *affinity = pl_tree_getz(spec, "affinity");
    const struct pl_tree *had = pl_tree_getz(old, "affinity");
    PL_TREE_FOR(item, pl_tree_getz(old, "nodeSelector"))
    if (!pl_tree_equal(item->value, pl_tree_get(is, item->key))) {
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "spec"), "nodeSelector"), is,
                     "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
        break;
    }
    pod_put_member(f, spec, old, "nodeSelector");
    if (affinity == NULL || !pl_is_empty(pl_tree_dig(had, terms)))
        return;
    pod_put_member(f, affinity, had, "nodeAffinity");
    if (had == NULL && affinity->count == 0)
        pl_tree_removez(spec, "affinity");
}

/* The spec with the old values of all that may change. */
static struct pl_tree *without_changes(struct pl_api_faults *f, const struct pl_tree *spec,
                                       const struct pl_tree *was)
{
    static const char free_members[][24] = {"activeDeadlineSeconds", "tolerations",
                                            "schedulingGates"};
    struct pl_tree *out = pl_tree_copy(f->arena, spec);
    copy_images(f, out, was, "containers");
    copy_images(f, out, was, "initContainers");
    if (pl_number_at(was, "terminationGracePeriodSeconds") < 0 &&
        pl_number_at(spec, "terminationGracePeriodSeconds") == 1)
        pl_tree_setz(f->arena, out, "terminationGracePeriodSeconds",
                     pl_tree_getz(was, "terminationGracePeriodSeconds"));
    for (size_t i = 0; i < PL_ARRAY_LEN(free_members); i++) {
        struct pl_tree *before = pl_tree_getz(was, free_members[i]);
        if (before != NULL)
            pl_tree_setz(f->arena, out, free_members[i], before);
        else
            pl_tree_removez(out, free_members[i]);
    }
    if (!pl_is_empty(pl_tree_getz(was, "schedulingGates")))
        check_gated(f, out, was);
    return out;
}

static void check_update(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec"), *was = pl_tree_getz(old, "spec");
    bool stop = false;
    check_counts(f, spec, was, "containers", &stop);
    check_counts(f, spec, was, "initContainers", &stop);
    if (stop)
        return;
    check_deadline(f, spec, was);
    check_kept_tolerations(f, spec, was);
    check_gates(f, spec, was);
    struct pl_tree *changed = without_changes(f, spec, was);
    if (!pl_tree_equal(changed, was))
        pl_api_fault(f, "FieldValueForbidden", pl_slice_z("spec"),
                     "Forbidden: pod updates may not change fields other than "
                     "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                     "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                     "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to "
                     "be set to 1 if it was previously negative)\n%.*s",
                     PL_FMT(pl_go_struct_diff(f->arena, "@PodSpec", was, changed)));
}

void pl_valid_own_spec(struct pl_api_faults *f, const struct pl_tree *pod)
{
    valid_pod_spec(f, PL_MEMBER(NULL, "spec"), pl_tree_getz(pod, "spec"),
                   pl_tree_text_at(pod, "metadata.name"), true);
}

void pl_valid_pod(struct pl_api_faults *f, const struct pl_tree *object, const struct pl_tree *old)
{
    pl_valid_own_spec(f, object);
    if (old != NULL) {
        check_update(f, object, old);
        return;
    }
    if (!pl_is_empty(pl_tree_dig(object, "spec.ephemeralContainers")))
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(NULL, "spec"), "ephemeralContainers"),
                         "cannot be set on create");
    if (!pl_is_empty(pl_tree_dig(object, "spec.nodeName")) &&
        !pl_is_empty(pl_tree_dig(object, "spec.schedulingGates")))
        pl_bad_forbidden(f, PL_MEMBER(PL_MEMBER(NULL, "spec"), "nodeName"),
                         "cannot be set until all schedulingGates have been cleared");
}

void pl_valid_pod_template(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    PL_UNUSED(old);
    pl_valid_template(f, PL_MEMBER(NULL, "template"), pl_tree_getz(object, "template"));
}
