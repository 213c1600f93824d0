/* Where memory may be: in the Lua heaps or in the caches. The larger part is blamed on a script: of
 * the heaps on the run that has lasted longest, of the caches on the first controller that asked
 * for the largest. Both are likely causes, no proof: all scripts of a lane share its heap. */
#include "serve/memory_report.h"

#include "base/log.h"
#include "control/report.h"
#include "sync/informers.h"

#define MIB ((double)(1 << 20))

struct oldest {
    const struct pl_controller *controller;
    struct pl_buf text; /* of its run */
    int64_t age_ns;
};

static void look_at_run(void *arg, const struct pl_run *run, int64_t age_ns, bool canceled)
{
    struct oldest *oldest = arg;
    PL_UNUSED(canceled);
    if (age_ns < oldest->age_ns)
        return;
    const struct pl_controller_spec *spec = pl_controller_spec(oldest->controller);
    oldest->age_ns = age_ns;
    pl_buf_clear(&oldest->text);
    pl_buf_add_f(&oldest->text, "%s: controller %s, key %.*s, runs for %.1f s",
                 spec->declared_at != NULL ? spec->declared_at : "?", spec->name, PL_FMT(run->key),
                 (double)age_ns / 1e9);
}

/* The run that has lasted longest; of nobody when there is none. */
static void find_run(struct pl_manager *manager, struct pl_buf *out)
{
    struct oldest oldest = {.age_ns = -1};
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        oldest.controller = pl_manager_at(manager, i);
        pl_controller_each_run(oldest.controller, look_at_run, &oldest);
    }
    pl_buf_add_slice(out, pl_buf_slice(&oldest.text));
    pl_buf_deinit(&oldest.text);
}

static struct pl_informer *find_cache(struct pl_manager *manager, uint64_t *all)
{
    struct pl_informers *informers = pl_cluster_informers(pl_manager_cluster(manager));
    struct pl_informer *largest = NULL;
    size_t most = 0;
    for (size_t i = 0; i < pl_informers_count(informers); i++) {
        size_t bytes = pl_store_bytes(pl_informer_store(pl_informers_at(informers, i)));
        *all += bytes;
        if (bytes > most) {
            most = bytes;
            largest = pl_informers_at(informers, i);
        }
    }
    return largest;
}

static void add_owner(struct pl_manager *manager, struct pl_informer *cache, struct pl_buf *out)
{
    for (size_t i = 0; i < pl_manager_count(manager); i++) {
        const struct pl_controller *controller = pl_manager_at(manager, i);
        const struct pl_controller_spec *spec = pl_controller_spec(controller);
        for (size_t j = 0; j < spec->source_count; j++)
            if (pl_controller_informer(controller, j) == cache) {
                pl_buf_add_f(out, "%s: controller %s", spec->declared_at, spec->name);
                return;
            }
    }
}

void pl_memory_say(struct pl_manager *manager, uint64_t used, uint64_t limit, uint64_t scripts)
{
    struct pl_buf script = PL_BUF_INIT, cache = PL_BUF_INIT;
    uint64_t caches = 0;
    if (manager != NULL) {
        struct pl_informer *largest = find_cache(manager, &caches);
        if (scripts >= caches)
            find_run(manager, &script);
        else
            add_owner(manager, largest, &script);
        if (largest != NULL)
            pl_buf_add_f(&cache, "%s: %zu objects", pl_informer_owner(largest),
                         pl_store_count(pl_informer_store(largest)));
    }
    pl_log(PL_LOG_WARN, "memory is nearly used up: at the limit the kernel kills this process",
           pl_num("used_mib", (double)used / MIB), pl_num("limit_mib", (double)limit / MIB),
           pl_num("scripts_mib", (double)scripts / MIB), pl_num("caches_mib", (double)caches / MIB),
           pl_strn("script", pl_buf_slice(&script)), pl_strn("cache", pl_buf_slice(&cache)));
    pl_buf_deinit(&script);
    pl_buf_deinit(&cache);
}
