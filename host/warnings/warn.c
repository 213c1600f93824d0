/* The table of kinds with their warnings, and the warnings of kinds that run no Pods. The texts are
 * kube-apiserver's (checked against 1.37). A warning never refuses an object; validation has done
 * that, so invalid values are ignored here. Updates of workloads are checked only when their spec
 * has changed. Updates of Pods are not checked, since people rarely make them. */
#include "warnings/warn.h"

#include "base/base64.h"
#include "base/text.h"
#include "schema/formats.h"
#include "schema/validate.h"
#include "warnings/warn_impl.h"

#include <stdio.h>
#include <string.h>

#define NAME_OF_PODS                                                                               \
    "metadata.name: this is used in %s, which can result in surprising behavior; a DNS label is "  \
    "recommended: [%s]"

/* ---- kinds ---- */

static bool has_annotation(const struct pl_tree *object, const char *key)
{
    return pl_tree_getz(pl_tree_dig(object, "metadata.annotations"), key) != NULL;
}

/* used_in: "Pod names and hostnames", for kinds whose Pods get its name. */
static void warn_name(struct pl_warned *w, const struct pl_tree *object, const char *used_in)
{
    struct pl_slice name = pl_tree_text_at(object, "metadata.name");
    struct pl_buf why = PL_BUF_INIT;
    if (name.len > 63)
        pl_buf_add_z(&why, "must be no more than 63 characters");
    if (pl_slice_chr(name, '.') != NULL)
        pl_buf_add_f(&why, "%smust not contain dots", why.len > 0 ? " " : "");
    else if (!pl_text_is_label(name))
        pl_buf_add_f(&why, "%s" PL_API_LABEL_TEXT, why.len > 0 ? " " : "");
    if (why.len > 0)
        pl_warn(w, NAME_OF_PODS, used_in, pl_buf_z(&why));
    pl_buf_deinit(&why);
}

static void warn_own_pod(struct pl_warned *w, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    if (old != NULL)
        return;
    warn_name(w, object, "the Pod's hostname");
    pl_warn_pod(w, NULL, object);
}

/* True when the spec has not changed. */
static bool is_as_before(const struct pl_tree *object, const struct pl_tree *old)
{
    return old != NULL && pl_tree_equal(pl_tree_dig(object, "metadata.generation"),
                                        pl_tree_dig(old, "metadata.generation"));
}

static void warn_template(struct pl_warned *w, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    if (!is_as_before(object, old))
        pl_warn_pod(w, PL_MEMBER(spec, "template"), pl_tree_dig(object, "spec.template"));
}

static void warn_workload(struct pl_warned *w, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    if (old == NULL)
        warn_name(w, object, "Pod names and hostnames");
    warn_template(w, object, old);
}

static void warn_pod_template(struct pl_warned *w, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    if (!is_as_before(object, old))
        pl_warn_pod(w, PL_MEMBER(NULL, "template"), pl_tree_getz(object, "template"));
}

static void warn_stateful_set(struct pl_warned *w, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    int64_t limit = 0;
    size_t i = 0;
    warn_template(w, object, old);
    PL_EACH(item, pl_tree_dig(object, "spec.volumeClaimTemplates"))
    {
        const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
        const struct pl_spot *list = PL_MEMBER(spec, "volumeClaimTemplates");
        const struct pl_spot *here = PL_INDEX(list, i++);
        pl_warn_claim_spec(w, old != NULL ? PL_MEMBER(here, "Spec") : here,
                           pl_tree_getz(item->value, "spec"));
    }
    if (pl_tree_integer(pl_tree_dig(object, "spec.revisionHistoryLimit"), &limit) && limit < 0)
        pl_warn(w,
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a "
                "value >= 0 is recommended");
}

static void warn_job_spec(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *spec)
{
    int64_t completions = 0, parallelism = 0;
    pl_tree_integer(pl_tree_getz(spec, "completions"), &completions);
    pl_tree_integer(pl_tree_getz(spec, "parallelism"), &parallelism);
    if (pl_slice_eqz(pl_tree_text_at(spec, "completionMode"), "Indexed") && completions > 100000 &&
        parallelism > 10000)
        pl_warn_at(
            w, at,
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a "
            "big number of indexes fail");
    pl_warn_pod(w, PL_MEMBER(at, "template"), pl_tree_getz(spec, "template"));
}

static void warn_job(struct pl_warned *w, const struct pl_tree *object, const struct pl_tree *old)
{
    if (old == NULL)
        warn_name(w, object, "Pod names and hostnames");
    if (!is_as_before(object, old))
        warn_job_spec(w, PL_MEMBER(NULL, "spec"), pl_tree_getz(object, "spec"));
}

static void warn_cron_job(struct pl_warned *w, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    const struct pl_spot *template = PL_MEMBER(spec, "jobTemplate");
    struct pl_slice schedule = pl_tree_text_at(object, "spec.schedule");
    if (old == NULL)
        warn_name(w, object, "Pod names and hostnames");
    if (!is_as_before(object, old))
        warn_job_spec(w, PL_MEMBER(template, "spec"), pl_tree_dig(object, "spec.jobTemplate.spec"));
    if (old != NULL && schedule.len > 0 && strstr(schedule.ptr, "TZ") != NULL)
        pl_warn(w, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                   "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more "
                   "details");
}

static void warn_ips(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *list)
{
    size_t i = 0;
    PL_EACH(item, list)
    pl_warn_ip(w, PL_INDEX(at, i++), item->value);
}

static void warn_headless(struct pl_warned *w, const struct pl_tree *spec)
{
    if (pl_tree_text_at(spec, "loadBalancerIP").len > 0)
        pl_warn(w, "spec.loadBalancerIP is ignored for headless services");
    if (!pl_is_empty(pl_tree_getz(spec, "externalIPs")))
        pl_warn(w, "spec.externalIPs is ignored for headless services");
    if (!pl_slice_eqz(pl_tree_text_at(spec, "sessionAffinity"), "None"))
        pl_warn(w, "spec.SessionAffinity is ignored for headless services");
}

static void warn_service(struct pl_warned *w, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_spot *at = PL_MEMBER(NULL, "spec");
    struct pl_slice type = pl_tree_text_at(spec, "type"), ip = pl_tree_text_at(spec, "clusterIP");
    bool headless = pl_slice_eqz(type, "ClusterIP") && pl_slice_eqz(ip, "None");
    bool external = pl_slice_eqz(type, "ExternalName");
    bool has_ips = !pl_is_empty(pl_tree_getz(spec, "externalIPs"));
    PL_UNUSED(old);
    if (has_annotation(object, "service.kubernetes.io/topology-aware-hints"))
        pl_warn(w,
                "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
                "service.kubernetes.io/topology-mode instead");
    if (ip.len > 0 && !pl_slice_eqz(ip, "None"))
        warn_ips(w, PL_MEMBER(at, "clusterIPs"), pl_tree_getz(spec, "clusterIPs"));
    if (headless)
        warn_headless(w, spec);
    warn_ips(w, PL_MEMBER(at, "externalIPs"), pl_tree_getz(spec, "externalIPs"));
    if (has_ips && !headless && !external)
        pl_warn(w, "spec.externalIPs is deprecated and may no longer be implemented in some "
                   "clusters");
    pl_warn_ip(w, PL_MEMBER(at, "loadBalancerIP"), pl_tree_getz(spec, "loadBalancerIP"));
    warn_ips(w, PL_MEMBER(at, "loadBalancerSourceRanges"),
             pl_tree_getz(spec, "loadBalancerSourceRanges"));
    if (external && has_ips)
        pl_warn(w, "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    if (!external && pl_tree_text_at(spec, "externalName").len > 0)
        pl_warn(w, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (pl_slice_eqz(pl_tree_text_at(spec, "trafficDistribution"), "PreferClose"))
        pl_warn(w, "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
                   "\"PreferSameZone\"");
}

static void warn_ingress(struct pl_warned *w, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    if (old == NULL && has_annotation(object, "kubernetes.io/ingress.class") &&
        pl_tree_dig(object, "spec.ingressClassName") == NULL)
        pl_warn(w, "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
                   "'spec.ingressClassName' instead");
}

static void warn_peers(struct pl_warned *w, const struct pl_spot *at, const struct pl_tree *rules,
                       const char *peers)
{
    size_t i = 0;
    PL_EACH(rule, rules)
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_spot *list = PL_MEMBER(here, peers);
        size_t j = 0;
        PL_EACH(peer, pl_tree_getz(rule->value, peers))
        {
            const struct pl_tree *block = pl_tree_getz(peer->value, "ipBlock");
            const struct pl_spot *one = PL_INDEX(list, j++);
            const struct pl_spot *place = PL_MEMBER(one, "ipBlock");
            pl_warn_ip(w, PL_MEMBER(place, "cidr"), pl_tree_getz(block, "cidr"));
            warn_ips(w, PL_MEMBER(place, "except"), pl_tree_getz(block, "except"));
        }
    }
}

static void warn_network_policy(struct pl_warned *w, const struct pl_tree *object,
                                const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    PL_UNUSED(old);
    warn_peers(w, PL_MEMBER(spec, "ingress"), pl_tree_dig(object, "spec.ingress"), "from");
    warn_peers(w, PL_MEMBER(spec, "egress"), pl_tree_dig(object, "spec.egress"), "to");
}

static void warn_endpoint_slice(struct pl_warned *w, const struct pl_tree *object,
                                const struct pl_tree *old)
{
    size_t i = 0;
    if (old == NULL && pl_slice_eqz(pl_tree_text_at(object, "addressType"), "FQDN"))
        pl_warn(w, "spec.addressType: FQDN endpoints are deprecated");
    PL_EACH(item, pl_tree_getz(object, "endpoints"))
    {
        const struct pl_spot *list = PL_MEMBER(NULL, "endpoints");
        const struct pl_spot *here = PL_INDEX(list, i++);
        warn_ips(w, PL_MEMBER(here, "addresses"), pl_tree_getz(item->value, "addresses"));
    }
}

static void warn_volume(struct pl_warned *w, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const char annotations[][2][40] = {
        {"volume.beta.kubernetes.io/storage-class", "1.8; use \"storageClassName\""},
        {"volume.beta.kubernetes.io/mount-options", "1.31; use \"mountOptions\""}};
    static const char *const gone[][3] = {
        {"cephfs", "1.28", "1.31"},    {"photonPersistentDisk", "1.11", "1.16"},
        {"scaleIO", "1.16", "1.22"},   {"storageos", "1.22", "1.25"},
        {"glusterfs", "1.25", "1.26"}, {"rbd", "1.28", "1.31"}};
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    size_t term = 0;
    PL_UNUSED(old);
    for (size_t i = 0; i < PL_ARRAY_LEN(annotations); i++)
        if (has_annotation(object, annotations[i][0]))
            pl_warn(w, "metadata.annotations[%s]: deprecated since v%s attribute instead",
                    annotations[i][0], annotations[i][1]);
    if (pl_slice_eqz(pl_tree_text_at(spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        pl_warn(w, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                   "Instead, the recommended approach is to use dynamic provisioning.");
    PL_EACH(item, pl_tree_dig(spec, "nodeAffinity.required.nodeSelectorTerms"))
    pl_warn_term(w,
                 PL_INDEX(PL_MEMBER(NULL, "spec.nodeAffinity.required.nodeSelectorTerms"), term++),
                 item->value, false);
    for (size_t i = 0; i < PL_ARRAY_LEN(gone); i++)
        if (pl_tree_getz(spec, gone[i][0]) != NULL)
            pl_warn(w, "spec.%s: deprecated in v%s, non-functional in v%s+",
                    strcmp(gone[i][0], "storageos") == 0 ? "storageOS" : gone[i][0], gone[i][1],
                    gone[i][2]);
}

static void warn_claim(struct pl_warned *w, const struct pl_tree *object, const struct pl_tree *old)
{
    PL_UNUSED(old);
    if (has_annotation(object, "volume.beta.kubernetes.io/storage-class"))
        pl_warn(w,
                "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since "
                "v1.8; use \"storageClassName\" attribute instead");
    pl_warn_claim_spec(w, PL_MEMBER(NULL, "spec"), pl_tree_getz(object, "spec"));
}

static void warn_storage_class(struct pl_warned *w, const struct pl_tree *object,
                               const struct pl_tree *old)
{
    size_t i = 0;
    PL_UNUSED(old);
    PL_EACH(item, pl_tree_getz(object, "allowedTopologies"))
    {
        size_t j = 0;
        PL_EACH(one, pl_tree_getz(item->value, "matchLabelExpressions"))
        {
            const char *why = pl_warn_node_label(pl_tree_text_at(one->value, "key"));
            if (why != NULL)
                pl_warn(w, "allowedTopologies[%zu].matchLabelExpressions[%zu].key: %s", i, j, why);
            j++;
        }
        i++;
    }
}

static void warn_runtime_class(struct pl_warned *w, const struct pl_tree *object,
                               const struct pl_tree *old)
{
    PL_UNUSED(old);
    PL_TREE_FOR(item, pl_tree_dig(object, "scheduling.nodeSelector"))
    if (pl_warn_node_label(item->key) != NULL)
        pl_warn(w, "scheduling.nodeSelector: %s", pl_warn_node_label(item->key));
}

static void warn_csi_driver(struct pl_warned *w, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    const struct pl_tree *requests = pl_tree_dig(object, "spec.tokenRequests");
    if (pl_is_empty(requests) || pl_tree_dig(object, "spec.serviceAccountTokenInSecrets") != NULL ||
        (old != NULL && pl_tree_equal(requests, pl_tree_dig(old, "spec.tokenRequests"))))
        return;
    pl_warn(w,
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to "
            "true to prevent possible logging of tokens in volume attributes");
}

static void warn_node(struct pl_warned *w, const struct pl_tree *object, const struct pl_tree *old)
{
    const struct pl_spot *spec = PL_MEMBER(NULL, "spec");
    PL_UNUSED(old);
    if (pl_tree_dig(object, "spec.configSource") != NULL)
        pl_warn(w, "spec.configSource: the feature is removed");
    if (pl_tree_text_at(object, "spec.externalID").len > 0)
        pl_warn(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes");
    warn_ips(w, PL_MEMBER(spec, "podCIDRs"), pl_tree_dig(object, "spec.podCIDRs"));
}

static void warn_account(struct pl_warned *w, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const char mark[] = "kubernetes.io/enforce-mountable-secrets";
    if (has_annotation(object, mark) && (old == NULL || !has_annotation(old, mark)))
        pl_warn(w,
                "metadata.annotations[%s]: deprecated in v1.32+; prefer separate namespaces to "
                "isolate access to mounted secrets",
                mark);
}

static bool has_pem(const struct pl_tree *object, const char *key)
{
    struct pl_buf bytes = PL_BUF_INIT;
    pl_base64_decode(pl_tree_text(pl_tree_getz(pl_tree_getz(object, "data"), key)), &bytes);
    bool found = pl_text_find(pl_buf_slice(&bytes), "-----BEGIN ") != NULL;
    pl_buf_deinit(&bytes);
    return found;
}

/* It does not check whether the key belongs to the certificate. */
static void warn_secret(struct pl_warned *w, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    PL_UNUSED(old);
    if (!pl_slice_eqz(pl_tree_text_at(object, "type"), "kubernetes.io/tls"))
        return;
    if (!has_pem(object, "tls.crt"))
        pl_warn(w, "tls: failed to find any PEM data in certificate input");
    else if (!has_pem(object, "tls.key"))
        pl_warn(w, "tls: failed to find any PEM data in key input");
}

/* Warns when requests are above limits. */
static void warn_quota(struct pl_warned *w, const struct pl_tree *object, const struct pl_tree *old)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage"};
    const struct pl_tree *hard = pl_tree_dig(object, "spec.hard");
    for (size_t i = 0; old == NULL && i < PL_ARRAY_LEN(names); i++) {
        char request[40], limit[40];
        snprintf(request, sizeof(request), "requests.%s", names[i]);
        snprintf(limit, sizeof(limit), "limits.%s", names[i]);
        if (pl_tree_getz(hard, request) == NULL && i < 2)
            snprintf(request, sizeof(request), "%s", names[i]);
        const struct pl_tree *least = pl_tree_getz(hard, request),
                             *most = pl_tree_getz(hard, limit);
        if (least != NULL && most != NULL && pl_quantity_cmp(least, most) > 0)
            pl_warn(w, "ResourceQuota %s (%.*s) should be less than %s (%.*s)", request,
                    PL_FMT(least->text), limit, PL_FMT(most->text));
    }
}

/* ---- CRDs ---- */

static bool is_known_format(struct pl_slice type, struct pl_slice format)
{
    if (pl_slice_eqz(type, "integer"))
        return pl_is_among(format, "int32,int64");
    if (pl_slice_eqz(type, "number"))
        return pl_is_among(format, "float,double");
    return (type.len == 0 || pl_slice_eqz(type, "string")) &&
           (pl_slice_eqz(format, "password") || pl_api_format_is_known(format));
}

/* Unknown formats, once for each schema that has one. */
static void warn_schema(struct pl_warned *w, const struct pl_tree *schema)
{
    static const char below[][24] = {"items", "not", "additionalProperties"};
    static const char lists[][8] = {"allOf", "anyOf", "oneOf"};
    struct pl_slice format = pl_tree_text_at(schema, "format");
    if (!pl_tree_is(schema, PL_OBJECT))
        return;
    if (format.len > 0 && !is_known_format(pl_tree_text_at(schema, "type"), format))
        pl_warn(w, "unrecognized format \"%.*s\"", PL_FMT(format));
    for (size_t i = 0; i < PL_ARRAY_LEN(below); i++)
        warn_schema(w, pl_tree_getz(schema, below[i]));
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_EACH(item, pl_tree_getz(schema, lists[i]))
    warn_schema(w, item->value);
    PL_TREE_FOR(item, pl_tree_getz(schema, "properties"))
    warn_schema(w, item->value);
}

static void warn_definition(struct pl_warned *w, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    const struct pl_tree *versions = pl_tree_dig(object, "spec.versions"), *first = NULL;
    if (old != NULL && pl_tree_equal(versions, pl_tree_dig(old, "spec.versions")))
        return;
    PL_EACH(item, versions)
    {
        const struct pl_tree *schema = pl_tree_dig(item->value, "schema.openAPIV3Schema");
        if (first == NULL || !pl_tree_equal(schema, first)) /* one that all share counts once */
            warn_schema(w, schema);
        first = first != NULL ? first : schema;
    }
}

static const struct {
    const char *kind;
    void (*warn)(struct pl_warned *w, const struct pl_tree *object, const struct pl_tree *old);
} kinds[] = {
    {"Pod", warn_own_pod},
    {"PodTemplate", warn_pod_template},
    {"Deployment", warn_workload},
    {"ReplicaSet", warn_workload},
    {"ReplicationController", warn_workload},
    {"DaemonSet", warn_template},
    {"StatefulSet", warn_stateful_set},
    {"Job", warn_job},
    {"CronJob", warn_cron_job},
    {"Service", warn_service},
    {"Ingress", warn_ingress},
    {"NetworkPolicy", warn_network_policy},
    {"EndpointSlice", warn_endpoint_slice},
    {"PersistentVolume", warn_volume},
    {"PersistentVolumeClaim", warn_claim},
    {"StorageClass", warn_storage_class},
    {"RuntimeClass", warn_runtime_class},
    {"CSIDriver", warn_csi_driver},
    {"Node", warn_node},
    {"Secret", warn_secret},
    {"ServiceAccount", warn_account},
    {"ResourceQuota", warn_quota},
    {"CustomResourceDefinition", warn_definition},
};

struct pl_tree *pl_valid_warnings(struct pl_arena *arena, const struct pl_api_type *type,
                                  const struct pl_tree *object, const struct pl_tree *old)
{
    struct pl_warned w = {.places = {.arena = arena}};
    for (size_t i = 0; i < PL_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, type->kind) == 0)
            kinds[i].warn(&w, object, old);
    return w.texts;
}
