/* Statuses that are written through the subresource `status`: counts, addresses, conditions, and
 * which conditions of a Job may follow which. Counts of Deployments and of kinds like them are
 * in workload.c, addresses of balancers in network.c: those are checked on every write. */
#include "valid/kinds.h"
#include "valid/valid.h"

#include "object/tree.h"

#include <string.h>

#define STATUS PL_MEMBER(NULL, "status")

/* ---- Pods ---- */

static void check_pod_conditions(struct pl_api_faults *f, const struct pl_tree *list)
{
    const struct pl_spot *at = PL_MEMBER(STATUS, "conditions");
    size_t i = 0;
    PL_EACH(item, list)
    {
        const struct pl_tree *seen = pl_tree_getz(item->value, "observedGeneration");
        const struct pl_spot *here = PL_INDEX(at, i++);
        int64_t is = 0;
        if (pl_tree_integer(seen, &is) && is < 0)
            pl_bad_value(f, PL_MEMBER(here, "observedGeneration"), seen,
                         "must be a non-negative integer");
        pl_qualified(f, PL_MEMBER(here, "Type"), pl_tree_getz(item->value, "type"), "always");
    }
}

static bool has_address(const struct pl_tree *list, struct pl_slice ip)
{
    PL_EACH(item, list)
    if (pl_slice_eq(pl_tree_text_at(item->value, "ip"), ip))
        return true;
    return false;
}

/* The first address of the list must be the single address. Old values may stay. */
static void check_addresses(struct pl_api_faults *f, const struct pl_tree *status,
                            const struct pl_tree *old, const char *one, const char *many)
{
    const struct pl_tree *list = pl_tree_getz(status, many);
    const struct pl_spot *at = PL_MEMBER(STATUS, many);
    size_t i = 0, four = 0, six = 0;
    PL_EACH(item, list)
    {
        struct pl_slice ip = pl_tree_text_at(item->value, "ip");
        bool is_six = pl_slice_chr(ip, ':') != NULL;
        six += is_six;
        four += !is_six;
        if (!has_address(pl_tree_getz(old, many), ip))
            pl_ip(f, PL_INDEX(at, i), pl_tree_getz(item->value, "ip"), NULL);
        i++;
    }
    if (four > 1 || six > 1)
        pl_bad_value(f, at, list, "may specify no more than one IP for each IP family");
    if (i > 0 &&
        !pl_slice_eq(pl_tree_text_at(pl_tree_at(list, 0), "ip"), pl_tree_text_at(status, one)))
        pl_bad_value(f, PL_MEMBER(PL_INDEX(at, 0), "ip"), pl_tree_getz(pl_tree_at(list, 0), "ip"),
                     "must be equal to `%s`", one);
}

/* A container that ended stays so, unless the Pod restarts it. */
static void check_ended(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    struct pl_slice policy = pl_tree_text_at(object, "spec.restartPolicy");
    const struct pl_spot *at = PL_MEMBER(STATUS, "containerStatuses");
    size_t i = 0;
    if (pl_slice_eqz(policy, "Always"))
        return;
    PL_EACH(item, pl_tree_dig(old, "status.containerStatuses"))
    {
        const struct pl_spot *here = PL_INDEX(at, i++);
        const struct pl_tree *ended = pl_tree_dig(item->value, "state.terminated");
        const struct pl_tree *is = pl_named(pl_tree_dig(object, "status.containerStatuses"),
                                            pl_tree_text_at(item->value, "name"));
        int64_t code = 0;
        pl_tree_integer(pl_tree_getz(ended, "exitCode"), &code);
        if (ended == NULL || is == NULL || pl_tree_dig(is, "state.terminated") != NULL ||
            (code != 0 && pl_slice_eqz(policy, "OnFailure")))
            continue;
        pl_bad_forbidden(f, PL_MEMBER(here, "state"),
                         "may not be transitioned to non-terminated state");
    }
}

static void pod_state(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    const struct pl_tree *is = pl_tree_getz(object, "status"), *was = pl_tree_getz(old, "status");
    const struct pl_tree *node = pl_tree_getz(is, "nominatedNodeName");
    bool moved = !pl_is_empty(node) && !pl_tree_equal(node, pl_tree_getz(was, "nominatedNodeName"));
    check_pod_conditions(f, pl_tree_getz(is, "conditions"));
    if (moved)
        pl_subdomain(f, PL_MEMBER(STATUS, "nominatedNodeName"), node, NULL);
    if (moved && pl_tree_text_at(old, "spec.nodeName").len > 0)
        pl_bad_forbidden(f, PL_MEMBER(STATUS, "nominatedNodeName"),
                         "may not be set on pods that are already bound to a node");
    pl_frozen(f, PL_MEMBER(STATUS, "qosClass"), pl_tree_getz(is, "qosClass"),
              pl_tree_getz(was, "qosClass"));
    check_ended(f, object, old);
    check_addresses(f, is, was, "podIP", "podIPs");
    check_addresses(f, is, was, "hostIP", "hostIPs");
}

/* ---- Jobs ---- */

static bool has(const struct pl_tree *job, const char *type, const char *state)
{
    PL_EACH(item, pl_tree_dig(job, "status.conditions"))
    if (pl_slice_eqz(pl_tree_text_at(item->value, "type"), type))
        return pl_slice_eqz(pl_tree_text_at(item->value, "status"), state);
    return false;
}

static bool holds(const struct pl_tree *job, const char *type)
{
    return has(job, type, "True");
}

static bool job_is_over(const struct pl_tree *job)
{
    return holds(job, "Complete") || holds(job, "Failed");
}

static int64_t count_of(const struct pl_tree *job, const char *member)
{
    int64_t is = 0;
    pl_tree_integer(pl_tree_getz(pl_tree_getz(job, "status"), member), &is);
    return is;
}

static void bad_conditions(struct pl_api_faults *f, const char *why)
{
    pl_api_fault(f, "FieldValueInvalid", pl_slice_z("status.conditions"), "Invalid value: %s", why);
}

/* A row is a fault if both of its conditions are true; absent: if the first one is true and the
 * second one is not. Unless `always` is set, this is a fault only if one of them has changed. */
static const struct {
    const char *type, *other;
    bool absent, always;
    const char *why;
} pairs[] = {
    {"Complete", "Failed", false, false, "cannot set Complete=True and Failed=true conditions"},
    {"Complete", "FailureTarget", false, false,
     "cannot set Complete=True and FailureTarget=true conditions"},
    {"Failed", "FailureTarget", true, false,
     "cannot set Failed=True condition without the FailureTarget=true condition"},
    {"Complete", "SuccessCriteriaMet", true, false,
     "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
    {"SuccessCriteriaMet", "Failed", false, true,
     "cannot set SuccessCriteriaMet=True and Failed=true conditions"},
    {"SuccessCriteriaMet", "FailureTarget", false, true,
     "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"},
};

static void check_pairs(struct pl_api_faults *f, const struct pl_tree *job,
                        const struct pl_tree *old)
{
    static const char last[][20] = {"Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"};
    for (size_t i = 0; i < PL_ARRAY_LEN(pairs); i++) {
        bool first = holds(job, pairs[i].type), second = holds(job, pairs[i].other);
        bool changed =
            first != holds(old, pairs[i].type) ||
            (second != holds(old, pairs[i].other) && strcmp(pairs[i].type, "Failed") != 0);
        if (first && second != pairs[i].absent && (changed || pairs[i].always))
            bad_conditions(f, pairs[i].why);
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(last); i++)
        if (holds(old, last[i]) && !holds(job, last[i]))
            bad_conditions(f, pl_arena_f(f->arena, "cannot disable the %s%s=True condition",
                                         i < 3 ? "terminal " : "", last[i])
                                  .ptr);
    if (holds(old, "Complete") && !holds(old, "SuccessCriteriaMet") &&
        holds(job, "SuccessCriteriaMet"))
        bad_conditions(f, "cannot set SuccessCriteriaMet=True for Job already has Complete=true "
                          "conditions");
}

static bool moved(const struct pl_tree *job, const struct pl_tree *old, const char *member)
{
    const struct pl_tree *is = pl_tree_getz(pl_tree_getz(job, "status"), member);
    const struct pl_tree *was = pl_tree_getz(pl_tree_getz(old, "status"), member);
    return is == NULL || was == NULL ? is != was : !pl_tree_equal(is, was);
}

static void check_times(struct pl_api_faults *f, const struct pl_tree *job,
                        const struct pl_tree *old)
{
    const struct pl_tree *start = pl_tree_dig(job, "status.startTime");
    const struct pl_tree *end = pl_tree_dig(job, "status.completionTime");
    const struct pl_spot *at = PL_MEMBER(STATUS, "completionTime");
    bool complete = holds(job, "Complete"), over = job_is_over(job);
    bool new_end = moved(job, old, "completionTime"), new_start = moved(job, old, "startTime");
    bool resumes = holds(old, "Suspended") && has(job, "Suspended", "False");
    bool suspended = pl_is_true(pl_tree_dig(job, "spec.suspend"));
    int64_t completions = 1;
    pl_tree_integer(pl_tree_dig(job, "spec.completions"), &completions);
    if (complete != holds(old, "Complete") || new_end) {
        if (end != NULL && !complete)
            pl_bad_value(f, at, end,
                         "cannot set completionTime when there is no Complete=True condition");
        if (end == NULL && complete)
            pl_bad_required(f, at, "completionTime is required for Complete jobs");
    }
    if ((new_start || new_end) && start != NULL && end != NULL &&
        pl_slice_cmp(pl_tree_text(end), pl_tree_text(start)) < 0)
        pl_bad_value(f, at, end, "must be equal to or after `startTime`");
    if ((over != job_is_over(old) || new_start) && over && start == NULL &&
        !(suspended && completions == 0))
        pl_bad_required(f, PL_MEMBER(STATUS, "startTime"),
                        "startTime is required for finished job");
    if (end != NULL && pl_tree_dig(old, "status.completionTime") != NULL && new_end)
        pl_bad_value(f, at, end, "field is immutable");
    if (new_start && !resumes && !suspended && pl_tree_dig(old, "status.startTime") != NULL)
        pl_bad_value(f, PL_MEMBER(STATUS, "startTime"), start,
                     "field is immutable for unsuspended job once set");
}

/* Indexes as a Job's status lists them: "1,3-5". */
static void check_indexes(struct pl_api_faults *f, const struct pl_tree *job, const char *member)
{
    const struct pl_tree *list = pl_tree_getz(pl_tree_getz(job, "status"), member);
    const struct pl_tree *count = pl_tree_dig(job, "spec.completions");
    int64_t completions = 0, number;
    if (list == NULL || !pl_tree_integer(count, &completions))
        return;
    const char *why = pl_valid_indexes(f, pl_tree_text(list), completions, &number);
    if (why != NULL)
        pl_bad_value(f, PL_MEMBER(STATUS, member), list, "error parsing %s: %s", member, why);
}

static bool is_indexed_job(const struct pl_tree *job)
{
    return pl_slice_eqz(pl_tree_text_at(job, "spec.completionMode"), "Indexed");
}

static void check_pods_of_job(struct pl_api_faults *f, const struct pl_tree *job,
                              const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"active", pl_natural, NULL},      {"succeeded", pl_natural, NULL},
        {"failed", pl_natural, NULL},      {"ready", pl_natural, NULL},
        {"terminating", pl_natural, NULL}, {NULL, NULL, NULL},
    };
    static const char none[][12] = {"active", "terminating"};
    static const char grow[][12] = {"failed", "succeeded"};
    const struct pl_tree *status = pl_tree_getz(job, "status");
    bool elastic = is_indexed_job(job) && pl_tree_equal(pl_tree_dig(job, "spec.completions"),
                                                        pl_tree_dig(job, "spec.parallelism"));
    pl_hold(f, STATUS, status, rules);
    for (size_t i = 0; i < PL_ARRAY_LEN(none); i++)
        if (job_is_over(job) && count_of(job, none[i]) > 0 &&
            (!job_is_over(old) || moved(job, old, none[i])))
            pl_bad_value(f, PL_MEMBER(STATUS, none[i]), pl_tree_getz(status, none[i]),
                         "%s>0 is invalid for finished job", none[i]);
    for (size_t i = 0; i < PL_ARRAY_LEN(grow); i++)
        if (count_of(job, grow[i]) < count_of(old, grow[i]) && !(i == 1 && elastic))
            pl_bad_value(f, PL_MEMBER(STATUS, grow[i]),
                         pl_tree_int(f->arena, count_of(job, grow[i])),
                         "cannot decrease the %s counter", grow[i]);
    if (pl_tree_getz(status, "ready") != NULL && count_of(job, "ready") > count_of(job, "active") &&
        (moved(job, old, "ready") || moved(job, old, "active")))
        pl_bad_value(f, PL_MEMBER(STATUS, "ready"), pl_tree_getz(status, "ready"),
                     "cannot set more ready pods than active");
}

static void check_indexes_of_job(struct pl_api_faults *f, const struct pl_tree *job,
                                 const struct pl_tree *old)
{
    const struct pl_tree *status = pl_tree_getz(job, "status");
    check_indexes(f, job, "completedIndexes");
    if (pl_tree_dig(job, "spec.backoffLimitPerIndex") != NULL)
        check_indexes(f, job, "failedIndexes");
    if (!is_indexed_job(job) && pl_tree_text_at(status, "completedIndexes").len > 0 &&
        moved(job, old, "completedIndexes"))
        pl_bad_value(f, PL_MEMBER(STATUS, "completedIndexes"),
                     pl_tree_getz(status, "completedIndexes"),
                     "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (pl_tree_dig(job, "spec.backoffLimitPerIndex") == NULL &&
        pl_tree_getz(status, "failedIndexes") != NULL && moved(job, old, "failedIndexes"))
        pl_bad_value(f, PL_MEMBER(STATUS, "failedIndexes"), pl_tree_getz(status, "failedIndexes"),
                     "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
}

static void job_state(struct pl_api_faults *f, const struct pl_tree *object,
                      const struct pl_tree *old)
{
    check_pods_of_job(f, object, old);
    check_indexes_of_job(f, object, old);
    check_pairs(f, object, old);
    check_times(f, object, old);
}

/* ---- other kinds ---- */

static void namespace_state(struct pl_api_faults *f, const struct pl_tree *object,
                            const struct pl_tree *old)
{
    const struct pl_tree *phase = pl_tree_dig(object, "status.phase");
    bool goes = pl_tree_text_at(object, "metadata.deletionTimestamp").len > 0;
    PL_UNUSED(old);
    if (!pl_slice_eqz(pl_tree_text(phase), goes ? "Terminating" : "Active"))
        pl_bad_value(f, PL_MEMBER(STATUS, "Phase"), pl_or_empty(f, phase),
                     goes ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                          : "may only be 'Active' if `deletionTimestamp` is empty");
}

static void autoscaler_state(struct pl_api_faults *f, const struct pl_tree *object,
                             const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"conditions[].observedGeneration", pl_natural, NULL},
        {"currentReplicas", pl_natural, NULL},
        {"desiredReplicas", pl_natural, NULL},
        {NULL, NULL, NULL},
    };
    PL_UNUSED(old);
    pl_hold(f, STATUS, pl_tree_getz(object, "status"), rules);
}

/* Only its own subresource approves or denies. */
static void signing_state(struct pl_api_faults *f, const struct pl_tree *object,
                          const struct pl_tree *old)
{
    static const char verdicts[][12] = {"Approved", "Denied"};
    for (size_t i = 0; i < PL_ARRAY_LEN(verdicts); i++)
        if (pl_has_condition(object, verdicts[i]) && !pl_has_condition(old, verdicts[i]))
            pl_bad_forbidden(
                f, PL_MEMBER(STATUS, "conditions"),
                pl_arena_f(f->arena, "updates may not add a condition of type \"%s\"", verdicts[i])
                    .ptr);
}

static void quota_state(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"hard", pl_natural_all, NULL}, {"used", pl_natural_all, NULL}, {NULL, NULL, NULL}};
    PL_UNUSED(old);
    pl_hold(f, STATUS, pl_tree_getz(object, "status"), rules);
    pl_valid_quota_amounts(f, PL_MEMBER(STATUS, "hard"), pl_tree_dig(object, "status.hard"));
    pl_valid_quota_amounts(f, PL_MEMBER(STATUS, "used"), pl_tree_dig(object, "status.used"));
}

static void claim_state(struct pl_api_faults *f, const struct pl_tree *object,
                        const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {{"capacity", pl_natural_all, NULL},
                                           {"allocatedResources", pl_natural_all, NULL},
                                           {NULL, NULL, NULL}};
    static const char known[] = "ControllerResizeInProgress,ControllerResizeInfeasible,"
                                "NodeResizeInProgress,NodeResizeInfeasible,NodeResizePending";
    PL_UNUSED(old);
    pl_hold(f, STATUS, pl_tree_getz(object, "status"), rules);
    PL_TREE_FOR(item, pl_tree_dig(object, "status.allocatedResourceStatuses"))
    if (!pl_is_among(pl_tree_text(item->value), known)) /* the name is shown, as there */
        pl_bad_unsupported(f, PL_MEMBER(STATUS, "allocatedResourceStatuses"),
                           pl_tree_str(f->arena, item->key), known);
}

static void budget_state(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"disruptionsAllowed", pl_natural, NULL},
        {"currentHealthy", pl_natural, NULL},
        {"desiredHealthy", pl_natural, NULL},
        {"expectedPods", pl_natural, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *status = pl_tree_getz(object, "status");
    PL_UNUSED(old);
    pl_valid_conditions(f, PL_MEMBER(STATUS, "conditions"), pl_tree_getz(status, "conditions"));
    pl_hold(f, STATUS, status, rules);
}

static void policy_state(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"expressionWarnings[].fieldRef", pl_need, NULL},
        {"expressionWarnings[].warning", pl_need, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *status = pl_tree_getz(object, "status");
    PL_UNUSED(old);
    pl_hold(f, PL_MEMBER(STATUS, "typeChecking"), pl_tree_getz(status, "typeChecking"), rules);
    pl_valid_conditions(f, PL_MEMBER(STATUS, "conditions"), pl_tree_getz(status, "conditions"));
}

static const struct {
    const char *kind;
    pl_kind_check *check;
} states[] = {
    {"Pod", pod_state},
    {"ValidatingAdmissionPolicy", policy_state},
    {"CertificateSigningRequest", signing_state},
    {"PodCertificateRequest", pl_valid_pod_certificate_state},
    {"Job", job_state},
    {"Namespace", namespace_state},
    {"HorizontalPodAutoscaler", autoscaler_state},
    {"ResourceQuota", quota_state},
    {"PersistentVolumeClaim", claim_state},
    {"ResourceClaim", pl_valid_device_claim_state},
    {"PodDisruptionBudget", budget_state},
};

void pl_valid_state(struct pl_api_faults *faults, const char *kind, const struct pl_tree *object,
                    const struct pl_tree *old)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(states); i++)
        if (strcmp(states[i].kind, kind) == 0)
            states[i].check(faults, object, old);
}
