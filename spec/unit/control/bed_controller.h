/* Controllers on a bed: a reconciler whose runs wait until the test ends them. */
#pragma once

#include "bed.h"

#include "control/controller.h"
#include "control/tuning.h"
#include "control/manager.h"
#include "event/predicate.h"
#include "base/alloc.h"

#define FAKE_RUNS 64

struct fake_reconciler {
    struct pl_run *runs[FAKE_RUNS]; /* not finished yet; NULL where free */
    int running, started;
    bool began_synced; /* the controller knew its first lists whole when the first run began */
    struct pl_buf log; /* "start d/a(ADDED d/a);cancel d/a;" */
    struct pl_list questions;
    int asked;
    bool ends_at_once; /* its runs are done when they begin */
};

static const char *const fake_causes[] = {"ADDED",   "MODIFIED", "DELETED", "RESYNC",
                                          "REQUEUE", "RETRY",    "RELOAD",  "CHANNEL"};

static inline void fake_start(void *self, struct pl_run *run)
{
    struct fake_reconciler *fake = self;
    int place = 0;
    while (place < FAKE_RUNS && fake->runs[place] != NULL)
        place++;
    REQUIRE(place < FAKE_RUNS);
    for (int i = 0; i < FAKE_RUNS; i++) /* rule 126 */
        CHECK(fake->runs[i] == NULL || fake->runs[i]->controller != run->controller ||
              !pl_slice_eq(fake->runs[i]->key, run->key));
    if (fake->started++ == 0 && run->controller != NULL) /* a rehearsal's runs have none */
        fake->began_synced = pl_controller_has_synced(run->controller);
    if (fake->ends_at_once) {
        pl_run_finish(run, &(struct pl_outcome_of_run){.outcome = PL_OUTCOME_DONE});
        return;
    }
    fake->runs[place] = run;
    fake->running++;
    pl_buf_add_f(&fake->log, "start %.*s", PL_FMT(run->key));
    for (size_t i = 0; i < run->cause_count; i++)
        pl_buf_add_f(&fake->log, "%c%s", i == 0 ? '(' : ',', fake_causes[run->causes[i].type]);
    pl_buf_add_z(&fake->log, run->cause_count > 0 ? ");" : ";");
}

static inline struct pl_run *fake_run(struct fake_reconciler *fake, const char *key)
{
    for (int i = 0; i < FAKE_RUNS; i++)
        if (fake->runs[i] != NULL && pl_slice_eqz(fake->runs[i]->key, key))
            return fake->runs[i];
    return NULL;
}

static inline void fake_finish_with(struct fake_reconciler *fake, const char *key,
                                    const struct pl_outcome_of_run *outcome)
{
    struct pl_run *run = fake_run(fake, key);
    if (run == NULL)
        TEST_FAIL("no run of %s", key);
    REQUIRE(run != NULL);
    for (int i = 0; i < FAKE_RUNS; i++)
        if (fake->runs[i] == run)
            fake->runs[i] = NULL;
    fake->running--;
    pl_run_finish(run, outcome);
}

static inline void fake_finish(struct fake_reconciler *fake, const char *key,
                               enum pl_outcome outcome)
{
    struct pl_outcome_of_run result = {.outcome = outcome, .message = "it went wrong"};
    fake_finish_with(fake, key, &result);
}

static inline void fake_cancel(void *self, struct pl_run *run, const struct pl_err *why)
{
    struct fake_reconciler *fake = self;
    pl_buf_add_f(&fake->log, "cancel %.*s %s;", PL_FMT(run->key), pl_code_name(why->code));
}

static inline void fake_stop(void *self, struct pl_run *run)
{
    struct fake_reconciler *fake = self;
    pl_buf_add_f(&fake->log, "stop %.*s;", PL_FMT(run->key));
}

static inline void fake_gone(void *self, struct pl_controller *controller, struct pl_slice key)
{
    struct fake_reconciler *fake = self;
    PL_UNUSED(controller);
    pl_buf_add_f(&fake->log, "gone %.*s;", PL_FMT(key));
}

static inline void fake_ask(void *self, struct pl_question *question)
{
    struct fake_reconciler *fake = self;
    fake->asked++;
    pl_list_push(&fake->questions, &question->link);
}

static inline struct pl_question *fake_question(struct fake_reconciler *fake)
{
    struct pl_link *link = pl_list_pop(&fake->questions);
    REQUIRE(link != NULL);
    return PL_CONTAINER_OF(link, struct pl_question, link);
}

static const struct pl_reconciler_ops fake_ops = {.start = fake_start,
                                                  .cancel = fake_cancel,
                                                  .stop = fake_stop,
                                                  .gone = fake_gone,
                                                  .ask = fake_ask};

static inline void fake_init(struct fake_reconciler *fake)
{
    *fake = (struct fake_reconciler){0};
    pl_list_init(&fake->questions);
}

static inline void fake_deinit(struct fake_reconciler *fake)
{
    CHECK_INT(fake->running, 0);
    CHECK(pl_list_empty(&fake->questions));
    pl_buf_deinit(&fake->log);
}

static inline void check_log(struct fake_reconciler *fake, const char *want)
{
    CHECK_SLICE(pl_buf_slice(&fake->log), want);
    pl_buf_clear(&fake->log);
}

/* ---- specs ---- */

static inline struct pl_kind kind_of(const char *text)
{
    struct pl_kind kind;
    struct pl_err err;
    REQUIRE(pl_kind_parse(pl_slice_z(text), &kind, &err) == 0);
    return kind;
}

static inline struct pl_controller_spec spec_of(const char *name)
{
    return (struct pl_controller_spec){
        .name = pl_strdup(name), .max_concurrent = 1, .max_retries = -1};
}

static inline struct pl_source_spec *add_source(struct pl_controller_spec *spec,
                                                enum pl_source_role role, const char *kind,
                                                enum pl_map_by by)
{
    spec->sources =
        pl_reallocarray(spec->sources, spec->source_count + 1, sizeof(struct pl_source_spec));
    struct pl_source_spec *source = &spec->sources[spec->source_count++];
    *source = (struct pl_source_spec){.role = role, .kind = kind_of(kind), .map_by = by};
    return source;
}

static inline char **texts_of(const char *first, const char *second)
{
    char **texts = pl_calloc(3, sizeof(char *));
    texts[0] = pl_strdup(first);
    texts[1] = second != NULL ? pl_strdup(second) : NULL;
    return texts;
}

/* ---- a cluster with a manager ---- */

struct stage {
    struct bed bed;
    struct fake_reconciler fake;
    struct pl_manager *manager;
    int stopped, exit_code;
};

static inline void on_manager_stopped(void *arg, int exit_code)
{
    struct stage *stage = arg;
    stage->stopped++;
    stage->exit_code = exit_code;
}

static inline void stage_init_sharded(struct stage *stage, char **namespaces, bool dry_run,
                                      struct pl_shards *shards)
{
    *stage = (struct stage){.exit_code = -1};
    bed_init_sharded(&stage->bed, namespaces, dry_run, false, NULL, shards);
    fake_init(&stage->fake);
    struct pl_manager_options options = {.cluster = stage->bed.cluster,
                                         .grace_ns = 25 * PL_SECOND,
                                         .stopped = on_manager_stopped,
                                         .arg = stage};
    stage->manager = pl_manager_create(&options);
}

static inline void stage_init_with(struct stage *stage, char **namespaces, bool dry_run)
{
    stage_init_sharded(stage, namespaces, dry_run, NULL);
}

static inline void stage_init(struct stage *stage)
{
    stage_init_with(stage, NULL, false);
}

static inline struct pl_controller *stage_add(struct stage *stage, struct pl_controller_spec *spec)
{
    struct pl_err err;
    int code = pl_controller_spec_check(spec, &err);
    if (code != 0)
        TEST_FAIL("%s", err.message);
    REQUIRE(code == 0);
    struct pl_controller_options options = {
        .cluster = stage->bed.cluster, .ops = &fake_ops, .self = &stage->fake};
    struct pl_controller *controller = pl_controller_create(&options, spec);
    pl_manager_add(stage->manager, controller);
    return controller;
}

/* Answers the first list of a plural, and opens its watch, which is returned. */
static inline struct fake_request *stage_sync(struct stage *stage, const char *path,
                                              const char *list)
{
    bed_reply(&stage->bed, bed_expect(&stage->bed, "GET", path), 200, list);
    struct fake_request *watch = bed_expect(&stage->bed, "GET", path);
    fake_begin(watch, 200);
    bed_run(&stage->bed);
    return watch;
}

static inline void stage_deinit(struct stage *stage)
{
    pl_manager_stop(stage->manager);
    bed_run(&stage->bed);
    CHECK_INT(stage->stopped, 1);
    pl_manager_destroy(stage->manager);
    fake_deinit(&stage->fake);
    bed_deinit(&stage->bed);
}
