/* Jobs and CronJobs: counts, completion modes, policies about failures, schedules. Most members of
 * a started Job are immutable. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPEC         PL_MEMBER(NULL, "spec")
#define MOST_INDEXES 100000
#define MOST_AT_ONCE 10000 /* of more indexes than that */

static const struct pl_rule counts[] = {
    {"parallelism", pl_natural, NULL},
    {"completions", pl_natural, NULL},
    {"activeDeadlineSeconds", pl_natural, NULL},
    {"backoffLimit", pl_natural, NULL},
    {"backoffLimitPerIndex", pl_natural, NULL},
    {"maxFailedIndexes", pl_natural, NULL},
    {"ttlSecondsAfterFinished", pl_natural, NULL},
    {"completionMode", pl_if_set, "NonIndexed,Indexed"},
    {"selector", pl_selector, NULL},
    {"managedBy", pl_valid_domain_path, NULL},
    {NULL, NULL, NULL},
};

static int64_t job_number(const struct pl_tree *spec, const char *member)
{
    int64_t is = -1;
    pl_tree_integer(pl_tree_getz(spec, member), &is);
    return is;
}

static void no_more_than(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, const char *member, const char *why)
{
    if (job_number(spec, member) > MOST_INDEXES)
        pl_bad_value(f, PL_MEMBER(at, member), pl_tree_getz(spec, member), "%s", why);
}

/* A Job with very many indexes and a backoff limit for each of them has lower limits. */
static void check_many(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *spec)
{
    static const char members[][20] = {"parallelism", "maxFailedIndexes"};
    if (job_number(spec, "completions") <= MOST_INDEXES ||
        pl_tree_getz(spec, "backoffLimitPerIndex") == NULL)
        return;
    if (pl_tree_getz(spec, "maxFailedIndexes") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "maxFailedIndexes"),
                        "must be specified when completions is above 100000");
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (job_number(spec, members[i]) > MOST_AT_ONCE)
            pl_bad_value(f, PL_MEMBER(at, members[i]), pl_tree_getz(spec, members[i]),
                         "must be less than or equal to %d when completions are above %d and used "
                         "with backoff limit per index",
                         MOST_AT_ONCE, MOST_INDEXES);
}

static void check_indexed(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *spec)
{
    static const char most[] = "must be less than or equal to 100000 when completion mode is "
                               "Indexed";
    if (pl_tree_getz(spec, "completions") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "completions"), "when completion mode is Indexed");
    no_more_than(f, at, spec, "parallelism", most);
    no_more_than(f, at, spec, "maxFailedIndexes", "must be less than or equal to 100000");
    check_many(f, at, spec);
    if (pl_tree_getz(spec, "completions") != NULL &&
        job_number(spec, "maxFailedIndexes") > job_number(spec, "completions"))
        pl_bad_value(f, PL_MEMBER(at, "maxFailedIndexes"), pl_tree_getz(spec, "maxFailedIndexes"),
                     "must be less than or equal to completions");
}

static void check_not_indexed(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *spec)
{
    static const char members[][24] = {"backoffLimitPerIndex", "maxFailedIndexes"};
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_tree_getz(spec, members[i]) != NULL)
            pl_bad_value(f, PL_MEMBER(at, members[i]), pl_tree_getz(spec, members[i]),
                         "requires indexed completion mode");
}

/* ---- policies about failures ---- */

static bool has_container(const struct pl_tree *spec, const struct pl_tree *name)
{
    static const char lists[][32] = {"template.spec.containers", "template.spec.initContainers"};
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        PL_EACH(item, pl_tree_dig(spec, lists[i]))
    if (pl_tree_equal(pl_tree_getz(item->value, "name"), name))
        return true;
    return false;
}

static void one_of_these(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *allowed, const char *why)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at, why);
    else
        pl_one_of(f, at, value, allowed);
}

static void check_exit_codes(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *codes, const struct pl_tree *spec)
{
    const struct pl_tree *how = pl_tree_getz(codes, "operator");
    const struct pl_tree *values = pl_tree_getz(codes, "values");
    const struct pl_tree *name = pl_tree_getz(codes, "containerName");
    const struct pl_spot *list = PL_MEMBER(at, "values");
    size_t i = 0;
    one_of_these(f, PL_MEMBER(at, "operator"), how, "In,NotIn", "valid values: [\"In\" \"NotIn\"]");
    if (name != NULL && !has_container(spec, name))
        pl_bad_value(f, PL_MEMBER(at, "containerName"), name,
                     "must be one of the container or initContainer names in the pod template");
    if (pl_is_empty(values))
        pl_bad_value(f, list, values, "at least one value is required");
    int64_t before = INT64_MIN;
    bool ordered = true;
    PL_EACH(item, values)
    {
        int64_t code = 1;
        pl_tree_integer(item->value, &code);
        ordered = ordered && before <= code;
        before = code;
        if (code == 0 && pl_slice_eqz(pl_tree_text(how), "In"))
            pl_bad_value(f, PL_INDEX(list, i), item->value, "must not be 0 for the In operator");
        i++;
    }
    if (!ordered)
        pl_bad_value(f, list, values, "must be ordered");
    pl_unique(f, list, values, NULL);
}

static void check_failure_rule(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *rule, const struct pl_tree *spec)
{
    static const struct pl_rule conditions[] = {
        {"onPodConditions[].type", pl_qualified, "always"},
        {"onPodConditions[].status", pl_must_be, "False,True,Unknown"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *codes = pl_tree_getz(rule, "onExitCodes");
    bool has_conditions = !pl_is_empty(pl_tree_getz(rule, "onPodConditions"));
    one_of_these(f, PL_MEMBER(at, "action"), pl_tree_getz(rule, "action"),
                 "Count,FailIndex,FailJob,Ignore",
                 "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
    if (codes != NULL)
        check_exit_codes(f, PL_MEMBER(at, "onExitCodes"), codes, spec);
    pl_hold(f, at, rule, conditions);
    if ((codes != NULL) == has_conditions)
        pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %s",
                     has_conditions
                         ? "specifying both OnExitCodes and OnPodConditions is not supported"
                         : "specifying one of OnExitCodes and OnPodConditions is required");
}

static void check_failures(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *spec)
{
    const struct pl_tree *policy = pl_tree_getz(spec, "podFailurePolicy");
    const struct pl_spot *list = PL_MEMBER(PL_MEMBER(at, "podFailurePolicy"), "rules");
    const struct pl_tree *restart = pl_tree_dig(spec, "template.spec.restartPolicy");
    size_t i = 0;
    if (policy == NULL)
        return;
    PL_EACH(item, pl_tree_getz(policy, "rules"))
    check_failure_rule(f, PL_INDEX(list, i++), item->value, spec);
    if (pl_slice_eqz(pl_tree_text(restart), "OnFailure"))
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(at, "template"), "spec"), "restartPolicy"),
                     restart, "only \"Never\" is supported when podFailurePolicy is specified");
}

/* ---- Jobs ---- */

static void check_restart(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *spec)
{
    const struct pl_tree *policy = pl_tree_dig(spec, "template.spec.restartPolicy");
    const struct pl_spot *spot =
        PL_MEMBER(PL_MEMBER(PL_MEMBER(at, "template"), "spec"), "restartPolicy");
    if (pl_is_empty(policy) || pl_slice_eqz(pl_tree_text(policy), "Always"))
        pl_bad_required(f, spot, "valid values: \"OnFailure\", \"Never\"");
    else
        pl_one_of(f, spot, policy, "OnFailure,Never");
}

static void valid_job_spec(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *spec)
{
    const struct pl_tree *replacement = pl_tree_getz(spec, "podReplacementPolicy");
    pl_hold(f, at, spec, counts);
    if (pl_tree_getz(spec, "maxFailedIndexes") != NULL &&
        pl_tree_getz(spec, "backoffLimitPerIndex") == NULL)
        pl_bad_required(f, PL_MEMBER(at, "backoffLimitPerIndex"),
                        "when maxFailedIndexes is specified");
    if (pl_slice_eqz(pl_tree_text_at(spec, "completionMode"), "Indexed"))
        check_indexed(f, at, spec);
    else if (pl_slice_eqz(pl_tree_text_at(spec, "completionMode"), "NonIndexed"))
        check_not_indexed(f, at, spec);
    check_failures(f, at, spec);
    pl_valid_success_policy(f, at, spec);
    if (pl_tree_getz(spec, "podFailurePolicy") != NULL)
        pl_if_set(f, PL_MEMBER(at, "podReplacementPolicy"), replacement, "Failed");
    else
        pl_if_set(f, PL_MEMBER(at, "podReplacementPolicy"), replacement,
                  "Failed,TerminatingOrFailed");
    pl_valid_template(f, PL_MEMBER(at, "template"), pl_tree_getz(spec, "template"));
    check_restart(f, at, spec);
}

/* Takes the member from another object, also where that has none. */
static void take_member(struct pl_arena *arena, struct pl_tree *to, const struct pl_tree *from,
                        const char *member)
{
    struct pl_tree *value = pl_tree_getz(from, member);
    if (value != NULL)
        pl_tree_setz(arena, to, member, pl_tree_copy(arena, value));
    else
        pl_tree_removez(to, member);
}

static void take_resources(struct pl_arena *arena, struct pl_tree *to, const struct pl_tree *from,
                           const char *list)
{
    const struct pl_tree *containers = pl_tree_getz(from, list);
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(to, list))
    {
        const struct pl_tree *other = pl_tree_at(containers, i++);
        if (pl_slice_eq(pl_tree_text_at(item->value, "name"), pl_tree_text_at(other, "name")))
            take_member(arena, item->value, other, "resources");
    }
}

/* While a Job is suspended, the scheduling and the resources of its pods may change. */
static void check_suspended(struct pl_api_faults *f, const struct pl_tree *spec,
                            const struct pl_tree *old)
{
    static const char free[][16] = {"nodeSelector", "tolerations", "schedulingGates"};
    struct pl_tree *was = pl_tree_copy(f->arena, old);
    struct pl_tree *affinity = pl_tree_child(f->arena, was, "affinity");
    for (size_t i = 0; i < PL_ARRAY_LEN(free); i++)
        take_member(f->arena, was, spec, free[i]);
    take_member(f->arena, affinity, pl_tree_getz(spec, "affinity"), "nodeAffinity");
    if (affinity->count == 0 && pl_tree_getz(spec, "affinity") == NULL)
        pl_tree_removez(was, "affinity");
    take_resources(f->arena, was, spec, "containers");
    take_resources(f->arena, was, spec, "initContainers");
    pl_frozen_struct(f, PL_MEMBER(PL_MEMBER(SPEC, "template"), "spec"), "@PodSpec", spec, was);
}

static void check_job_change(struct pl_api_faults *f, const struct pl_tree *spec,
                             const struct pl_tree *old)
{
    static const char frozen[][24] = {"selector", "completionMode", "backoffLimitPerIndex",
                                      "managedBy"};
    static const char structs[][2][20] = {{"podFailurePolicy", "*@PodFailurePolicy"},
                                          {"successPolicy", "*@SuccessPolicy"}};
    bool indexed = pl_slice_eqz(pl_tree_text_at(spec, "completionMode"), "Indexed");
    const struct pl_tree *count = pl_tree_getz(spec, "completions");
    if (!indexed)
        pl_frozen(f, PL_MEMBER(SPEC, "completions"), count, pl_tree_getz(old, "completions"));
    else if (count != NULL && !pl_tree_equal(count, pl_tree_getz(old, "completions")) &&
             job_number(spec, "completions") != job_number(spec, "parallelism"))
        pl_bad_value(f, PL_MEMBER(SPEC, "completions"), count,
                     "can only be modified in tandem with spec.parallelism");
    for (size_t i = 0; i < PL_ARRAY_LEN(frozen); i++)
        pl_frozen(f, PL_MEMBER(SPEC, frozen[i]), pl_tree_getz(spec, frozen[i]),
                  pl_tree_getz(old, frozen[i]));
    for (size_t i = 0; i < PL_ARRAY_LEN(structs); i++)
        pl_frozen_struct(f, PL_MEMBER(SPEC, structs[i][0]), structs[i][1],
                         pl_tree_getz(spec, structs[i][0]), pl_tree_getz(old, structs[i][0]));
    if (!pl_is_true(pl_tree_getz(old, "suspend")))
        pl_frozen_struct(f, PL_MEMBER(SPEC, "template"), "@PodTemplateSpec",
                         pl_tree_getz(spec, "template"), pl_tree_getz(old, "template"));
    else
        check_suspended(f, pl_tree_dig(spec, "template.spec"), pl_tree_dig(old, "template.spec"));
}

static void check_job_selector(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *selector = pl_tree_getz(spec, "selector");
    const struct pl_tree *labels = pl_tree_dig(spec, "template.metadata.labels");
    bool matches = selector != NULL;
    if (selector == NULL)
        pl_bad_required(f, PL_MEMBER(SPEC, "selector"), "");
    PL_TREE_FOR(item, pl_tree_getz(selector, "matchLabels"))
    matches = matches && pl_tree_equal(item->value, pl_tree_get(labels, item->key));
    if (!matches)
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(PL_MEMBER(SPEC, "template"), "metadata"), "labels"),
                     labels, "`selector` does not match template `labels`");
}

/* Only a manual selector may be the client's. */
static void check_made_selector(struct pl_api_faults *f, const struct pl_tree *object)
{
    static const char uid[] = "batch.kubernetes.io/controller-uid";
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *selector = pl_tree_getz(spec, "selector");
    const struct pl_tree *match = pl_tree_getz(selector, "matchLabels");
    bool made = pl_tree_is(match, PL_OBJECT) && match->count == 1 && selector->count == 1 &&
                pl_slice_eq(pl_tree_text(pl_tree_getz(match, uid)),
                            pl_tree_text_at(object, "metadata.uid"));
    if (!pl_is_true(pl_tree_getz(spec, "manualSelector")) && selector != NULL && !made)
        pl_bad_value(f, PL_MEMBER(SPEC, "selector"), selector, "`selector` not auto-generated");
}

void pl_valid_job(struct pl_api_faults *f, const struct pl_tree *object, const struct pl_tree *old)
{
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (pl_tree_text_at(object, "metadata.name").len > 63)
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"),
                     pl_tree_dig(object, "metadata.name"), "must be no more than 63 characters");
    valid_job_spec(f, SPEC, spec);
    if (old == NULL)
        check_made_selector(f, object);
    check_job_selector(f, spec);
    if (old != NULL)
        check_job_change(f, spec, pl_tree_getz(old, "spec"));
}

/* ---- CronJobs ---- */

static bool is_known_zone(struct pl_slice name)
{
    char path[256];
    if (name.len == 0 || name.len > 200 || name.ptr[0] == '/' || name.ptr[0] == '-' ||
        pl_text_find(name, "..") != NULL)
        return false;
    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", PL_FMT(name));
    return pl_is_among(name, "UTC,Etc/UTC,Local") || access("/usr/share/zoneinfo", R_OK) != 0 ||
           access(path, R_OK) == 0;
}

static void time_zone(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (value == NULL)
        return;
    if (text.len == 0)
        pl_bad_value(f, at, value, "timeZone must be nil or non-empty string");
    else if (pl_slice_eqz(text, "Local"))
        pl_bad_value(f, at, value,
                     "timeZone must be an explicit time zone as defined in "
                     "https://www.iana.org/time-zones");
    else if (!is_known_zone(text))
        pl_bad_value(f, at, value, "unknown time zone %.*s", PL_FMT(text));
}

void pl_valid_cron_job(struct pl_api_faults *f, const struct pl_tree *object,
                       const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"startingDeadlineSeconds", pl_natural, NULL},
        {"concurrencyPolicy", pl_needs_one, "Allow,Forbid,Replace"},
        {"successfulJobsHistoryLimit", pl_natural, NULL},
        {"failedJobsHistoryLimit", pl_natural, NULL},
        {"timeZone", time_zone, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    const struct pl_tree *schedule = pl_tree_getz(spec, "schedule");
    PL_UNUSED(old);
    if (pl_tree_text_at(object, "metadata.name").len > 52)
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(NULL, "metadata"), "name"),
                     pl_tree_dig(object, "metadata.name"), "must be no more than 52 characters");
    if (pl_is_empty(schedule))
        pl_bad_required(f, PL_MEMBER(SPEC, "schedule"), "");
    else
        pl_valid_schedule(f, PL_MEMBER(SPEC, "schedule"), schedule);
    pl_hold(f, SPEC, spec, rules);
    const struct pl_tree *job = pl_tree_dig(spec, "jobTemplate.spec");
    const struct pl_spot *at = PL_MEMBER(PL_MEMBER(SPEC, "jobTemplate"), "spec");
    if (pl_is_true(pl_tree_getz(job, "manualSelector")))
        pl_bad_unsupported(f, PL_MEMBER(at, "manualSelector"), pl_tree_getz(job, "manualSelector"),
                           "nil,false");
    valid_job_spec(f, at, job);
}
