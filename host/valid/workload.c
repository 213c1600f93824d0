/* Deployments, ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets. Selectors are
 * immutable, and a template must have the labels that its selector selects. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

#define SPEC PL_MEMBER(NULL, "spec")

/* True if the selector matches. A malformed selector matches nothing. */
static bool selects(const struct pl_tree *selector, const struct pl_tree *labels)
{
    PL_TREE_FOR(item, pl_tree_getz(selector, "matchLabels"))
    if (!pl_tree_equal(item->value, pl_tree_get(labels, item->key)))
        return false;
    PL_EACH(item, pl_tree_getz(selector, "matchExpressions"))
    {
        const struct pl_tree *is = pl_tree_get(labels, pl_tree_text_at(item->value, "key"));
        struct pl_slice how = pl_tree_text_at(item->value, "operator");
        bool among = false;
        PL_EACH(value, pl_tree_getz(item->value, "values"))
        among = among || (is != NULL && pl_tree_equal(is, value->value));
        bool fits = pl_slice_eqz(how, "In")       ? among
                    : pl_slice_eqz(how, "NotIn")  ? !among
                    : pl_slice_eqz(how, "Exists") ? is != NULL
                                                  : is == NULL;
        if (!fits)
            return false;
    }
    return pl_tree_is(selector, PL_OBJECT);
}

static bool is_broken(struct pl_api_faults *f, const struct pl_tree *selector)
{
    struct pl_api_faults faults = {.arena = f->arena};
    pl_selector(&faults, NULL, selector, NULL);
    return faults.causes != NULL;
}

/* kind: for the message about an empty selector. */
static void check_selector(struct pl_api_faults *f, const struct pl_tree *object, const char *kind)
{
    const struct pl_tree *selector = pl_tree_dig(object, "spec.selector");
    const struct pl_tree *labels = pl_tree_dig(object, "spec.template.metadata.labels");
    const struct pl_spot *at = PL_MEMBER(SPEC, "selector");
    bool set = strcmp(kind, "statefulset") == 0, daemon = strcmp(kind, "daemonset") == 0;
    if (selector == NULL) {
        if (!daemon)
            pl_bad_required(f, at, "");
    } else {
        pl_selector(f, at, selector, NULL);
        if (pl_is_empty(pl_tree_getz(selector, "matchLabels")) &&
            pl_is_empty(pl_tree_getz(selector, "matchExpressions")))
            pl_bad_value(f, at, selector, "empty selector is invalid for %s", kind);
    }
    if (selector != NULL && is_broken(f, selector)) {
        if (!daemon)
            pl_bad_value(f, at, selector, set ? "" : "invalid label selector");
        return;
    }
    if (!daemon && pl_is_empty(selector) && selector != NULL)
        return;
    if (selector == NULL ? true : !selects(selector, labels))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(SPEC, "template"), "metadata"), "labels"),
                     labels, "`selector` does not match template `labels`");
}

static void check_always(struct pl_api_faults *f, const struct pl_tree *object)
{
    const struct pl_tree *policy = pl_tree_dig(object, "spec.template.spec.restartPolicy");
    const struct pl_spot *spec = PL_MEMBER(PL_MEMBER(SPEC, "template"), "spec");
    struct pl_slice kind = pl_tree_text_at(object, "kind");
    if (policy != NULL && !pl_slice_eqz(pl_tree_text(policy), "Always"))
        pl_bad_unsupported(f, PL_MEMBER(spec, "restartPolicy"), policy, "Always");
    if (pl_tree_dig(object, "spec.template.spec.activeDeadlineSeconds") != NULL)
        pl_bad_forbidden(
            f, PL_MEMBER(spec, "activeDeadlineSeconds"),
            pl_arena_f(f->arena, "activeDeadlineSeconds in %.*s is not Supported",
                       PL_FMT(pl_slice_eqz(kind, "Deployment") ? pl_slice_z("ReplicaSet") : kind))
                .ptr);
}

static void check_template(struct pl_api_faults *f, const struct pl_tree *object)
{
    const struct pl_tree *template = pl_tree_dig(object, "spec.template");
    pl_valid_template(f, PL_MEMBER(SPEC, "template"), template);
    check_always(f, object);
}

static void check_same_selector(struct pl_api_faults *f, const struct pl_tree *object,
                                const struct pl_tree *old)
{
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(SPEC, "selector"), pl_tree_dig(object, "spec.selector"),
                  pl_tree_dig(old, "spec.selector"));
}

/* ---- counts of a status ---- */

/* No count may be negative, and no count of a part may exceed `replicas`. parts: "a,b". */
static void check_counts(struct pl_api_faults *f, const struct pl_tree *object,
                         const char *const *counts, const char *const *parts, const char *ready)
{
    const struct pl_tree *status = pl_tree_getz(object, "status");
    const struct pl_spot *at = PL_MEMBER(NULL, "status");
    int64_t all = pl_number_at(status, "replicas"), able = pl_number_at(status, "readyReplicas");
    for (size_t i = 0; counts[i] != NULL; i++)
        pl_natural(f, PL_MEMBER(at, counts[i]), pl_tree_getz(status, counts[i]), NULL);
    for (size_t i = 0; parts != NULL && parts[i] != NULL; i++)
        if (pl_number_at(status, parts[i]) > all)
            pl_bad_value(f, PL_MEMBER(at, parts[i]),
                         pl_tree_int(f->arena, pl_number_at(status, parts[i])),
                         "cannot be greater than status.replicas");
    if (ready != NULL && pl_number_at(status, "availableReplicas") > able)
        pl_bad_value(f, PL_MEMBER(at, "availableReplicas"),
                     pl_tree_int(f->arena, pl_number_at(status, "availableReplicas")), "%s", ready);
}

/* ---- Deployments and the like ---- */

/* The text of a strategy as Go prints the struct: kube-apiserver shows the whole of it. */
static struct pl_tree *go_strategy(struct pl_api_faults *f, const struct pl_tree *strategy)
{
    static const char names[][2][16] = {{"maxUnavailable", "MaxUnavailable"},
                                        {"maxSurge", "MaxSurge"}};
    struct pl_tree *out = pl_tree_object(f->arena);
    const struct pl_tree *rolling = pl_tree_getz(strategy, "rollingUpdate");
    pl_tree_setz(f->arena, out, "Type", pl_tree_str(f->arena, pl_tree_text_at(strategy, "type")));
    if (rolling == NULL) {
        pl_tree_setz(f->arena, out, "RollingUpdate", pl_tree_literal(f->arena, "null"));
        return out;
    }
    struct pl_tree *inner = pl_tree_child(f->arena, out, "RollingUpdate");
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        const struct pl_tree *value = pl_tree_getz(rolling, names[i][0]);
        pl_tree_setz(f->arena, inner, names[i][1],
                     value != NULL ? pl_tree_copy(f->arena, value) : pl_tree_int(f->arena, 0));
    }
    return out;
}

static bool is_zero(const struct pl_tree *value)
{
    int64_t is = -1;
    if (pl_tree_integer(value, &is))
        return is == 0;
    return pl_slice_eqz(pl_tree_text(value), "0%");
}

static void check_strategy(struct pl_api_faults *f, const struct pl_tree *strategy)
{
    static const struct pl_rule rules[] = {
        {"maxUnavailable", pl_percent, NULL}, {"maxSurge", pl_percent, NULL}, {NULL, NULL, NULL}};
    const struct pl_spot *at = PL_MEMBER(SPEC, "strategy");
    const struct pl_spot *inner = PL_MEMBER(at, "rollingUpdate");
    struct pl_slice type = pl_tree_text_at(strategy, "type");
    const struct pl_tree *rolling = pl_tree_getz(strategy, "rollingUpdate");
    if (pl_slice_eqz(type, "Recreate")) {
        if (rolling != NULL)
            pl_bad_forbidden(f, inner, "may not be specified when strategy `type` is 'Recreate'");
        return;
    }
    if (!pl_slice_eqz(type, "RollingUpdate")) {
        pl_bad_unsupported(f, at, go_strategy(f, strategy), "Recreate,RollingUpdate");
        return;
    }
    if (rolling == NULL) {
        pl_bad_required(f, inner, "this should be defaulted and never be nil");
        return;
    }
    const struct pl_tree *unavailable = pl_tree_getz(rolling, "maxUnavailable");
    pl_hold(f, inner, rolling, rules);
    if (is_zero(unavailable) && is_zero(pl_tree_getz(rolling, "maxSurge")))
        pl_bad_value(f, PL_MEMBER(inner, "maxUnavailable"), unavailable,
                     "may not be 0 when `maxSurge` is 0");
    pl_not_above_100(f, PL_MEMBER(inner, "maxUnavailable"), unavailable, NULL);
}

static void check_progress(struct pl_api_faults *f, const struct pl_tree *spec)
{
    int64_t deadline, ready = 0;
    const struct pl_tree *value = pl_tree_getz(spec, "progressDeadlineSeconds");
    const struct pl_spot *at = PL_MEMBER(SPEC, "progressDeadlineSeconds");
    if (!pl_tree_integer(value, &deadline))
        return;
    pl_tree_integer(pl_tree_getz(spec, "minReadySeconds"), &ready);
    pl_natural(f, at, value, NULL);
    if (deadline <= ready)
        pl_bad_value(f, at, value, "must be greater than minReadySeconds");
}

static const struct pl_rule counts[] = {{"replicas", pl_natural, NULL},
                                        {"minReadySeconds", pl_natural, NULL},
                                        {"revisionHistoryLimit", pl_natural, NULL},
                                        {NULL, NULL, NULL}};

void pl_valid_deployment(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    pl_hold(f, SPEC, spec, counts);
    check_selector(f, object, "deployment");
    check_template(f, object);
    check_strategy(f, pl_tree_getz(spec, "strategy"));
    check_progress(f, spec);
    check_same_selector(f, object, old);
    static const char *const all[] = {
        "observedGeneration",  "replicas",          "updatedReplicas",
        "readyReplicas",       "availableReplicas", "unavailableReplicas",
        "terminatingReplicas", "collisionCount",    NULL};
    static const char *const parts[] = {"updatedReplicas", "readyReplicas", "availableReplicas",
                                        NULL};
    check_counts(f, object, all, parts, "cannot be greater than readyReplicas");
}

static void check_replica_counts(struct pl_api_faults *f, const struct pl_tree *object)
{
    static const char *const all[] = {"replicas",
                                      "fullyLabeledReplicas",
                                      "readyReplicas",
                                      "availableReplicas",
                                      "observedGeneration",
                                      "terminatingReplicas",
                                      NULL};
    static const char *const parts[] = {"fullyLabeledReplicas", "readyReplicas",
                                        "availableReplicas", NULL};
    check_counts(f, object, all, parts, "cannot be greater than readyReplicas");
}

void pl_valid_replica_set(struct pl_api_faults *f, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    pl_hold(f, SPEC, pl_tree_getz(object, "spec"), counts);
    check_selector(f, object, "deployment");
    check_template(f, object);
    check_same_selector(f, object, old);
    check_replica_counts(f, object);
}

void pl_valid_replication_controller(struct pl_api_faults *f, const struct pl_tree *object,
                                     const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *selector = pl_tree_getz(spec, "selector");
    const struct pl_tree *template = pl_tree_getz(spec, "template");
    const struct pl_tree *labels = pl_tree_dig(template, "metadata.labels");
    bool matches = true;
    PL_UNUSED(old);
    check_replica_counts(f, object);
    pl_hold(f, SPEC, spec, counts);
    pl_need(f, PL_MEMBER(SPEC, "selector"), selector, NULL);
    if (template == NULL) {
        pl_bad_required(f, PL_MEMBER(SPEC, "template"), "");
        return;
    }
    PL_TREE_FOR(item, selector)
    matches = matches && pl_tree_equal(item->value, pl_tree_get(labels, item->key));
    if (!matches)
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(SPEC, "template"), "metadata"), "labels"),
                     labels, "`selector` does not match template `labels`");
    check_template(f, object);
}

/* ---- StatefulSets ---- */

static void check_set_update(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *update = pl_tree_getz(spec, "updateStrategy");
    const struct pl_spot *at = PL_MEMBER(SPEC, "updateStrategy");
    struct pl_slice type = pl_tree_text_at(update, "type");
    static const struct pl_rule rules[] = {{"rollingUpdate.partition", pl_natural, NULL},
                                           {"rollingUpdate.maxUnavailable", pl_percent, NULL},
                                           {NULL, NULL, NULL}};
    if (pl_slice_eqz(type, "OnDelete")) {
        if (pl_tree_getz(update, "rollingUpdate") != NULL)
            pl_bad_struct(f, PL_MEMBER(at, "rollingUpdate"), "*@RollingUpdateStatefulSetStrategy",
                          pl_tree_getz(update, "rollingUpdate"),
                          "only allowed for updateStrategy 'RollingUpdate'");
    } else if (pl_slice_eqz(type, "RollingUpdate")) {
        const struct pl_tree *most = pl_tree_dig(update, "rollingUpdate.maxUnavailable");
        const struct pl_spot *most_at = PL_MEMBER(PL_MEMBER(at, "rollingUpdate"), "maxUnavailable");
        pl_hold(f, at, update, rules);
        if (most != NULL && is_zero(most))
            pl_bad_value(f, most_at, most, "cannot be 0");
        pl_not_above_100(f, most_at, most, NULL);
    } else if (type.len == 0) {
        pl_bad_required(f, at, "");
    } else {
        pl_bad_struct(f, at, "@StatefulSetUpdateStrategy", update,
                      "must be 'RollingUpdate' or 'OnDelete'");
    }
}

static void check_claims(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(SPEC, "volumeClaimTemplates");
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(spec, "volumeClaimTemplates"))
    pl_valid_claim_spec(f, PL_MEMBER(PL_INDEX(list, i++), "spec"),
                        pl_tree_getz(item->value, "spec"), NULL);
}

/* The template with claims added as volumes, as kube-apiserver validates it. */
static const struct pl_tree *with_claims(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *claims = pl_tree_getz(spec, "volumeClaimTemplates");
    const struct pl_tree *template = pl_tree_getz(spec, "template");
    if (pl_is_empty(claims) || pl_tree_getz(template, "spec") == NULL)
        return template;
    struct pl_tree *whole = pl_tree_copy(f->arena, template);
    struct pl_tree *pod = pl_tree_getz(whole, "spec");
    struct pl_tree *volumes = pl_tree_array(f->arena);
    PL_EACH(item, claims)
    {
        struct pl_tree *volume = pl_tree_object(f->arena);
        if (pl_named(volumes, pl_tree_text_at(item->value, "metadata.name")) != NULL)
            continue;
        struct pl_slice name = pl_tree_text_at(item->value, "metadata.name");
        pl_tree_setz(f->arena, volume, "name", pl_tree_str(f->arena, name));
        pl_tree_setz(f->arena, pl_tree_child(f->arena, volume, "persistentVolumeClaim"),
                     "claimName", pl_tree_str(f->arena, name));
        pl_tree_push(f->arena, volumes, volume);
    }
    PL_EACH(item, pl_tree_getz(pod, "volumes"))
    if (pl_named(volumes, pl_tree_text_at(item->value, "name")) == NULL)
        pl_tree_push(f->arena, volumes, item->value);
    pl_tree_setz(f->arena, pod, "volumes", volumes);
    return whole;
}

static void check_set_change(struct pl_api_faults *f, const struct pl_tree *spec,
                             const struct pl_tree *old)
{
    static const char frozen[][24] = {"serviceName", "podManagementPolicy", "selector",
                                      "volumeClaimTemplates"};
    static const char may[][40] = {"replicas",
                                   "ordinals",
                                   "template",
                                   "updateStrategy",
                                   "minReadySeconds",
                                   "revisionHistoryLimit",
                                   "persistentVolumeClaimRetentionPolicy"};
    struct pl_tree *is = pl_tree_copy(f->arena, spec), *was = pl_tree_copy(f->arena, old);
    for (size_t i = 0; i < PL_ARRAY_LEN(may); i++) {
        pl_tree_removez(is, may[i]);
        pl_tree_removez(was, may[i]);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(frozen); i++) {
        if (strcmp(frozen[i], "volumeClaimTemplates") == 0)
            pl_frozen_struct(f, PL_MEMBER(SPEC, frozen[i]), "[@PersistentVolumeClaim",
                             pl_tree_getz(is, frozen[i]), pl_tree_getz(was, frozen[i]));
        else
            pl_frozen(f, PL_MEMBER(SPEC, frozen[i]), pl_tree_getz(is, frozen[i]),
                      pl_tree_getz(was, frozen[i]));
        pl_tree_removez(is, frozen[i]);
        pl_tree_removez(was, frozen[i]);
    }
    if (!pl_tree_equal(is, was))
        pl_bad_forbidden(f, SPEC,
                         "updates to statefulset spec for fields other than 'replicas', "
                         "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                         "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                         "forbidden");
}

void pl_valid_stateful_set(struct pl_api_faults *f, const struct pl_tree *object,
                           const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"replicas", pl_natural, NULL},
        {"minReadySeconds", pl_natural, NULL},
        {"ordinals.start", pl_natural, NULL},
        {"persistentVolumeClaimRetentionPolicy.whenDeleted", pl_must_be, "Retain,Delete"},
        {"persistentVolumeClaimRetentionPolicy.whenScaled", pl_must_be, "Retain,Delete"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *policy = pl_tree_getz(spec, "podManagementPolicy");
    if (pl_is_empty(policy))
        pl_bad_required(f, PL_MEMBER(SPEC, "podManagementPolicy"), "");
    else if (!pl_is_among(pl_tree_text(policy), "OrderedReady,Parallel"))
        pl_bad_value(f, PL_MEMBER(SPEC, "podManagementPolicy"), policy,
                     "must be 'OrderedReady' or 'Parallel'");
    check_set_update(f, spec);
    pl_hold(f, SPEC, spec, rules);
    if (old == NULL)
        pl_label(f, PL_MEMBER(SPEC, "serviceName"), pl_tree_getz(spec, "serviceName"), NULL);
    check_selector(f, object, "statefulset");
    pl_valid_template(f, PL_MEMBER(SPEC, "template"), with_claims(f, spec));
    check_always(f, object);
    if (old == NULL)
        check_claims(f, spec);
    else
        check_set_change(f, spec, pl_tree_getz(old, "spec"));
    static const char *const all[] = {
        "replicas",          "readyReplicas",      "currentReplicas", "updatedReplicas",
        "availableReplicas", "observedGeneration", "collisionCount",  NULL};
    static const char *const parts[] = {"readyReplicas", "currentReplicas", "updatedReplicas",
                                        "availableReplicas", NULL};
    check_counts(f, object, all, parts, "cannot be greater than status.readyReplicas");
}

/* ---- DaemonSets ---- */

static void check_daemon_update(struct pl_api_faults *f, const struct pl_tree *spec)
{
    static const struct pl_rule rules[] = {
        {"maxUnavailable", pl_percent, NULL}, {"maxSurge", pl_percent, NULL}, {NULL, NULL, NULL}};
    const struct pl_tree *update = pl_tree_getz(spec, "updateStrategy");
    const struct pl_tree *rolling = pl_tree_getz(update, "rollingUpdate");
    const struct pl_spot *at = PL_MEMBER(SPEC, "updateStrategy");
    const struct pl_spot *inner = PL_MEMBER(at, "rollingUpdate");
    struct pl_slice type = pl_tree_text_at(update, "type");
    if (pl_slice_eqz(type, "OnDelete"))
        return;
    if (!pl_slice_eqz(type, "RollingUpdate")) {
        pl_bad_unsupported(f, at, go_strategy(f, update), "RollingUpdate,OnDelete");
        return;
    }
    if (rolling == NULL) {
        pl_bad_required(f, inner, "");
        return;
    }
    const struct pl_tree *unavailable = pl_tree_getz(rolling, "maxUnavailable");
    const struct pl_tree *surge = pl_tree_getz(rolling, "maxSurge");
    pl_hold(f, inner, rolling, rules);
    pl_not_above_100(f, PL_MEMBER(inner, "maxUnavailable"), unavailable, NULL);
    pl_not_above_100(f, PL_MEMBER(inner, "maxSurge"), surge, NULL);
    if (!is_zero(unavailable) && unavailable != NULL && !is_zero(surge) && surge != NULL)
        pl_bad_value(f, PL_MEMBER(inner, "maxSurge"), surge,
                     "may not be set when maxUnavailable is non-zero");
    else if (is_zero(unavailable) && is_zero(surge))
        pl_bad_required(f, PL_MEMBER(inner, "maxUnavailable"), "cannot be 0 when maxSurge is 0");
}

void pl_valid_daemon_set(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    check_selector(f, object, "daemonset");
    check_template(f, object);
    pl_hold(f, SPEC, spec, counts);
    check_daemon_update(f, spec);
    check_same_selector(f, object, old);
    static const char *const all[] = {"currentNumberScheduled", "numberMisscheduled",
                                      "desiredNumberScheduled", "numberReady",
                                      "observedGeneration",     "updatedNumberScheduled",
                                      "numberAvailable",        "numberUnavailable",
                                      "collisionCount",         NULL};
    check_counts(f, object, all, NULL, NULL);
}
