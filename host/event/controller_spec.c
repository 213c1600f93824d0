/* The declaration of a controller, and the errors that every builder refuses. */
#include "event/controller_spec.h"

#include "base/alloc.h"
#include "base/text.h"
#include "event/predicate.h"

#include <string.h>

static void free_source(struct pl_source_spec *source)
{
    pl_source_options_deinit(&source->options);
    pl_free(source->cluster_name);
    pl_predicate_destroy(source->predicate);
    pl_texts_free(source->writes);
    pl_texts_free(source->finalizers);
}

void pl_controller_spec_deinit(struct pl_controller_spec *spec)
{
    for (size_t i = 0; i < spec->source_count; i++)
        free_source(&spec->sources[i]);
    for (size_t i = 0; i < spec->write_count; i++)
        pl_texts_free(spec->writes[i].verbs);
    pl_texts_free(spec->channels);
    pl_hook_spec_destroy(spec->hook);
    pl_free(spec->sources);
    pl_free(spec->writes);
    pl_free(spec->name);
    pl_free(spec->schedule);
    pl_free((char *)spec->declared_at);
    *spec = (struct pl_controller_spec){0};
}

static int check_numbers(const struct pl_controller_spec *spec, struct pl_err *err)
{
    if (spec->max_concurrent < 1)
        return pl_err_set(err, PL_EINVAL, "max_concurrent_reconciles must be at least 1");
    if (spec->reconcile_timeout_ns < 0 || spec->resync_period_ns < 0 ||
        spec->cache_sync_timeout_ns < 0)
        return pl_err_set(err, PL_EINVAL,
                          "reconcile_timeout, resync_period and cache_sync_timeout cannot be "
                          "negative");
    if (spec->max_retries < -1)
        return pl_err_set(err, PL_EINVAL, "max_retries cannot be negative");
    if (spec->rate.base_ns < 0 || spec->rate.max_ns < 0 || spec->rate.fast_ns < 0 ||
        spec->rate.slow_ns < 0 || spec->rate.fast_attempts < 0 || spec->rate.max_wait_ns < 0)
        return pl_err_set(err, PL_EINVAL, "rate_limiter has a negative number");
    if (spec->rate.max_ns > 0 && spec->rate.base_ns > spec->rate.max_ns)
        return pl_err_set(err, PL_EINVAL, "rate_limiter: base is longer than max");
    if (spec->rate.qps < 0 || (spec->rate.qps > 0 && spec->rate.burst < 1))
        return pl_err_set(err, PL_EINVAL, "rate_limiter: qps needs a burst of at least 1");
    return 0;
}

static int controller_spec_check_source(const struct pl_source_spec *source, bool has_for,
                                        struct pl_err *err)
{
    char kind[PL_KIND_TEXT];
    pl_kind_text(&source->kind, kind);
    if (source->role == PL_SOURCE_OWNS && !has_for)
        return pl_err_set(err, PL_EINVAL,
                          "Owns(\"%s\") needs For: it enqueues the owner, which is of the For kind",
                          kind);
    if (pl_source_is_family(source) && source->role != PL_SOURCE_WATCHES)
        return pl_err_set(err, PL_EINVAL, "%s takes one kind: WatchesKinds follows several",
                          pl_source_role_name(source->role));
    if (source->finalizers != NULL && source->role != PL_SOURCE_FOR)
        return pl_err_set(err, PL_EINVAL, "%s: only For declares finalizers", kind);
    if (source->match_every_owner && source->role != PL_SOURCE_OWNS)
        return pl_err_set(err, PL_EINVAL, "%s: match_every_owner is an option of Owns", kind);
    bool fits = source->role == PL_SOURCE_OWNS      ? source->map_by == PL_MAP_OWNER
                : source->role == PL_SOURCE_WATCHES ? source->map_by != PL_MAP_OWNER
                                                    : source->map_by == PL_MAP_SELF;
    if (!fits)
        return pl_err_set(err, PL_EINVAL, "%s: the map does not fit the source", kind);
    return 0;
}

/* Only requests start it. */
static int check_hook(const struct pl_controller_spec *spec, struct pl_err *err)
{
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].role != PL_SOURCE_READS)
            return pl_err_set(err, PL_EINVAL, "webhook \"%s\" can only read kinds", spec->name);
    if (spec->max_concurrent < 1)
        return pl_err_set(err, PL_EINVAL, "max_concurrent must be at least 1");
    return 0;
}

/* Owned objects are in the cluster of their owner. */
static int check_clusters(const struct pl_controller_spec *spec, struct pl_err *err)
{
    const struct pl_source_spec *owner = NULL;
    for (size_t i = 0; i < spec->source_count; i++)
        if (spec->sources[i].role == PL_SOURCE_FOR)
            owner = &spec->sources[i];
    for (size_t i = 0; i < spec->source_count; i++) {
        const char *name = spec->sources[i].cluster_name;
        if (spec->sources[i].role != PL_SOURCE_OWNS || owner == NULL)
            continue;
        if (strcmp(name != NULL ? name : "", owner->cluster_name ? owner->cluster_name : "") != 0)
            return pl_err_set(err, PL_EINVAL,
                              "controller \"%s\": Owns and For must be of one cluster, as owner "
                              "references reach no further; use Watches with a map",
                              spec->name);
    }
    return 0;
}

/* waking: the number of sources whose events queue keys. */
static int check_waking(const struct pl_controller_spec *spec, int waking, struct pl_err *err)
{
    if (spec->task.form != PL_NO_TASK && (waking > 0 || spec->channels != NULL))
        return pl_err_set(err, PL_EINVAL, "task \"%s\" can only read kinds", spec->name);
    if (spec->task.form == PL_TASK_EVERY && spec->task.period_ns <= 0)
        return pl_err_set(err, PL_EINVAL, "task \"%s\": the period must be above zero", spec->name);
    if (waking == 0 && spec->channels == NULL && spec->task.form == PL_NO_TASK)
        return pl_err_set(err, PL_EINVAL,
                          "nothing wakes controller \"%s\": it needs For, Owns, Watches or "
                          "WatchesChannel",
                          spec->name);
    return 0;
}

int pl_controller_spec_check(const struct pl_controller_spec *spec, struct pl_err *err)
{
    if (spec->hook != NULL)
        return check_hook(spec, err);
    if (spec->name == NULL || strlen(spec->name) > 63 || !pl_text_is_label(pl_slice_z(spec->name)))
        return pl_err_set(err, PL_EINVAL,
                          "\"%s\" is not a controller name: lower-case letters, digits and \"-\", "
                          "at most 63, as in \"website\"",
                          spec->name != NULL ? spec->name : "");
    int fors = 0, waking = 0;
    for (size_t i = 0; i < spec->source_count; i++) {
        fors += spec->sources[i].role == PL_SOURCE_FOR;
        waking += spec->sources[i].role != PL_SOURCE_READS;
    }
    if (fors > 1)
        return pl_err_set(err, PL_EINVAL,
                          "controller \"%s\" has For twice: give the other kind to Watches or to a "
                          "controller of its own",
                          spec->name);
    for (size_t i = 0; i < spec->source_count; i++) {
        int code = controller_spec_check_source(&spec->sources[i], fors == 1, err);
        if (code != 0)
            return code;
    }
    int code = check_waking(spec, waking, err);
    if (code != 0)
        return code;
    if (spec->resync_period_ns > 0 && fors == 0)
        return pl_err_set(err, PL_EINVAL, "resync_period needs For: it enqueues the For objects");
    code = check_clusters(spec, err);
    if (code != 0)
        return code;
    code = check_numbers(spec, err);
    if (code != 0)
        pl_err_prefix(err, "controller \"%s\"", spec->name);
    return code;
}
