/* Lanes with scripts, without control: the functions of control that lanes call are faked
 * here, so that the linker takes none of the real ones. Stores are real. For one test file. */
#pragma once

#include "base/alloc.h"
#include "base/clock.h"
#include "bind/bind.h"
#include "cluster/cluster.h"
#include "control/key_shards.h"
#include "control/reconciler.h"
#include "lane/lane.h"
#include "lane/lanes.h"
#include "object/meta.h"
#include "support/test.h"
#include "support/turn.h"
#include "sync/informer.h"
#include "value/scan.h"
#include "value/write.h"
#include "write/gate.h"
#include "write/recorder.h"

#include <stdio.h>
#include <unistd.h>

#define CACHES 8

struct pl_informer {
    struct pl_kind kind;
    struct pl_source_options options;
    struct pl_store *store;
    bool synced;
    int refs; /* references of lanes */
    struct pl_list waits, watches, index_waits;
    bool unindexed; /* its indexes lack the newest objects */
};

struct pl_controller {
    struct pl_controller_spec spec;
    struct pl_writer writer; /* only its address matters: it represents the controller's writer */
    struct pl_informer informers[CACHES];
};

/* A run and how it ended. */
struct fake_run {
    struct pl_run run;
    int outcome; /* -1: it runs */
    bool barred, waited;
    struct fake_run *next; /* the run that follows it */
    int64_t after_ns;
    char *message, *traceback;
    char *key;
};

/* A write or live read under way, until the test answers it. */
struct fake_call {
    struct pl_link link;
    bool is_write, canceled;
    struct pl_write write;
    enum pl_verb verb;
    char *kind, *ns, *name, *body;
    pl_written_fn on_written;
    pl_answer_fn on_answer;
    void *arg;
};

static struct {
    struct pl_loop *loop;
    struct pl_lanes *lanes;
    struct pl_declarations declarations;
    struct pl_controller *controllers;
    size_t controller_count, questions_done;
    struct pl_list calls;
    size_t call_count;
    struct pl_buf enqueued, answers, reported, wanted;
    char path[64];
} fake;

/* Set by the test: the shards, and the part of its caches. */
static struct pl_shards *fake_shards;
static enum pl_share_by fake_share;

/* ---- the functions that lanes call ---- */

static char *dup_or_null(const char *text)
{
    return text ? pl_strdup(text) : NULL;
}

void pl_run_called(struct pl_run *run, struct pl_slice what, struct pl_slice result,
                   int64_t took_ns)
{
    PL_UNUSED(run), PL_UNUSED(what), PL_UNUSED(result), PL_UNUSED(took_ns);
}

void pl_run_wrote(struct pl_run *run, struct pl_node object)
{
    PL_UNUSED(run), PL_UNUSED(object);
}

void pl_run_finish(struct pl_run *run, const struct pl_outcome_of_run *outcome)
{
    struct fake_run *r = PL_CONTAINER_OF(run, struct fake_run, run);
    if (r->next != NULL) /* has begun */
        CHECK(!pl_lanes_ops()->unfollow(NULL, run, &r->next->run));
    r->outcome = (int)outcome->outcome;
    r->after_ns = outcome->after_ns;
    r->barred = outcome->barred;
    r->message = dup_or_null(outcome->message);
    r->traceback = dup_or_null(outcome->traceback);
}

void pl_run_waits(struct pl_run *run)
{
    PL_CONTAINER_OF(run, struct fake_run, run)->waited = true;
}

void pl_controller_take_back(struct pl_controller *controller)
{
    PL_UNUSED(controller);
}

const struct pl_controller_spec *pl_controller_spec(const struct pl_controller *controller)
{
    return &controller->spec;
}

const struct pl_writer *pl_controller_writer(const struct pl_controller *controller)
{
    return &controller->writer;
}

/* Each controller has one edition: both are the same here. */
const struct pl_writer *pl_edition_writer(const struct pl_edition *edition)
{
    return pl_controller_writer((const struct pl_controller *)edition);
}

const struct pl_controller_spec *pl_edition_spec(const struct pl_edition *edition)
{
    return pl_controller_spec((const struct pl_controller *)edition);
}

int pl_edition_check_key(const struct pl_edition *edition, const char *verb, struct pl_slice key,
                         struct pl_err *err)
{
    PL_UNUSED(edition), PL_UNUSED(verb), PL_UNUSED(key), PL_UNUSED(err);
    return 0;
}

struct pl_informer *pl_edition_informer(const struct pl_edition *edition, size_t source)
{
    const struct pl_controller *controller = (const struct pl_controller *)edition;
    return (struct pl_informer *)&controller->informers[source];
}

void pl_edition_select(struct pl_edition *edition, size_t source, const struct pl_kind *kinds,
                       size_t count, const struct pl_kind *unknown, size_t unknown_count)
{
    PL_UNUSED(edition), PL_UNUSED(source), PL_UNUSED(kinds), PL_UNUSED(count);
    PL_UNUSED(unknown), PL_UNUSED(unknown_count);
}

void pl_controller_enqueue(struct pl_controller *controller, struct pl_slice key,
                           const struct pl_add *how, enum pl_cause_type cause)
{
    PL_UNUSED(cause);
    pl_buf_add_f(&fake.enqueued, "%s %.*s after %d ms priority %d;", controller->spec.name,
                 PL_FMT(key), (int)(how->after_ns / PL_MS), how->priority);
}

/* The namespace "elsewhere" belongs to another replica. */
bool pl_controller_is_foreign(struct pl_controller *controller, struct pl_slice key)
{
    PL_UNUSED(controller);
    return key.len > 10 && memcmp(key.ptr, "elsewhere/", 10) == 0;
}

bool pl_controller_watches_channel(const struct pl_controller *controller, struct pl_slice name)
{
    for (char **channel = controller->spec.channels; channel != NULL && *channel != NULL; channel++)
        if (pl_slice_eqz(name, *channel))
            return true;
    return false;
}

void pl_controller_send(struct pl_controller *controller, const char *channel, struct pl_slice key)
{
    pl_buf_add_f(&fake.enqueued, "%s %.*s by %s;", controller->spec.name, PL_FMT(key), channel);
}

struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster)
{
    return (struct pl_recorder *)cluster;
}

void pl_recorder_event(struct pl_recorder *recorder, const struct pl_report *report)
{
    PL_UNUSED(recorder);
    pl_buf_add_f(&fake.reported, "%.*s %.*s/%.*s %s %.*s: %.*s;", PL_FMT(report->controller),
                 PL_FMT(report->regarding.ns), PL_FMT(report->regarding.name),
                 report->warning ? "Warning" : "Normal", PL_FMT(report->reason),
                 PL_FMT(report->note));
}

void pl_recorder_lost(struct pl_recorder *recorder, uint64_t count)
{
    PL_UNUSED(recorder);
    if (count > 0)
        pl_buf_add_f(&fake.reported, "%d lost;", (int)count);
}

struct pl_informer *pl_informer_ref(struct pl_informer *informer)
{
    informer->refs++;
    return informer;
}

void pl_informer_unref(struct pl_informer *informer)
{
    if (informer != NULL)
        informer->refs--;
}

struct pl_store *pl_informer_store(struct pl_informer *informer)
{
    return informer->store;
}

const struct pl_source_options *pl_informer_options(const struct pl_informer *informer)
{
    return &informer->options;
}

char **pl_informer_namespaces(const struct pl_informer *informer)
{
    return pl_texts_sorted(informer->options.namespaces);
}

bool pl_informer_has_synced(const struct pl_informer *informer)
{
    return informer->synced;
}

const struct pl_resource *pl_informer_resource(const struct pl_informer *informer)
{
    PL_UNUSED(informer);
    return NULL; /* of any scope */
}

const struct pl_err *pl_informer_trouble(const struct pl_informer *informer)
{
    PL_UNUSED(informer);
    return NULL;
}

void pl_informer_on_sync(struct pl_informer *informer, struct pl_sync_wait *wait)
{
    pl_list_push(&informer->waits, &wait->link);
}

void pl_informer_forget_sync(struct pl_sync_wait *wait)
{
    pl_link_unlink(&wait->link);
}

void pl_informer_watch_key(struct pl_informer *informer, struct pl_key_watch *watch)
{
    pl_list_push(&informer->watches, &watch->link);
}

void pl_informer_unwatch_key(struct pl_key_watch *watch)
{
    pl_link_unlink(&watch->link);
}

bool pl_informer_is_indexed(const struct pl_informer *informer, struct pl_slice key)
{
    PL_UNUSED(key);
    return !informer->unindexed;
}

void pl_informer_on_indexed(struct pl_informer *informer, struct pl_index_wait *wait)
{
    pl_list_push(&informer->index_waits, &wait->link);
}

void pl_informer_forget_indexed(struct pl_index_wait *wait)
{
    pl_link_unlink(&wait->link);
}

int pl_informer_add_index(struct pl_informer *informer, const struct pl_declared_index *index,
                          struct pl_err *err)
{
    PL_UNUSED(informer);
    PL_UNUSED(index);
    PL_UNUSED(err);
    return 0;
}

void pl_informer_drop_index(struct pl_informer *informer, const struct pl_declared_index *index)
{
    PL_UNUSED(informer);
    PL_UNUSED(index);
}

void pl_informer_want_label(struct pl_informer *informer, struct pl_slice key,
                            struct pl_slice value)
{
    PL_UNUSED(informer);
    pl_buf_add_f(&fake.wanted, "%.*s=%.*s;", PL_FMT(key), PL_FMT(value));
}

struct pl_site *pl_cluster_site(struct pl_cluster *cluster)
{
    return (struct pl_site *)cluster;
}

struct pl_shards *pl_site_shards(const struct pl_site *site)
{
    PL_UNUSED(site);
    return fake_shards;
}

enum pl_share_by pl_informer_share(const struct pl_informer *informer)
{
    PL_UNUSED(informer);
    return fake_share;
}

struct pl_informers *pl_cluster_informers(struct pl_cluster *cluster)
{
    return (struct pl_informers *)cluster;
}

void pl_informers_each(struct pl_informers *informers, const struct pl_kind *kind,
                       void (*visit)(void *arg, struct pl_informer *informer), void *arg)
{
    PL_UNUSED(informers);
    for (size_t i = 0; i < fake.controller_count; i++) {
        struct pl_controller *controller = &fake.controllers[i];
        for (size_t j = 0; j < controller->spec.source_count; j++) {
            if (pl_kind_eq(&controller->spec.sources[j].kind, kind))
                visit(arg, &controller->informers[j]);
        }
    }
}

struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster)
{
    return (struct pl_gate *)cluster;
}

static struct fake_call *new_call(const struct pl_kind *kind, struct pl_slice ns,
                                  struct pl_slice name, void *arg)
{
    struct fake_call *call = PL_NEW(struct fake_call);
    char text[PL_KIND_TEXT];
    call->kind = pl_strdup(pl_kind_text(kind, text));
    call->ns = pl_memdup0(ns.ptr ? ns.ptr : "", ns.len);
    call->name = pl_memdup0(name.ptr ? name.ptr : "", name.len);
    call->arg = arg;
    pl_list_push(&fake.calls, &call->link);
    fake.call_count++;
    return call;
}

struct pl_gate_op *pl_gate_write(struct pl_gate *gate, const struct pl_write *write,
                                 pl_written_fn on_written, void *arg)
{
    PL_UNUSED(gate);
    struct fake_call *call = new_call(&write->kind, write->ns, write->name, arg);
    struct pl_buf body = PL_BUF_INIT;
    pl_write(&body, pl_doc_root(write->body), PL_WRITE_SORTED);
    call->body = pl_buf_take(&body);
    call->write = *write;
    call->verb = write->verb;
    call->is_write = true;
    call->on_written = on_written;
    return (struct pl_gate_op *)call;
}

void pl_gate_op_cancel(struct pl_gate_op *op)
{
    ((struct fake_call *)op)->canceled = true;
}

struct pl_read_op *pl_read_start(struct pl_site *site, const struct pl_read *read,
                                 pl_answer_fn on_answer, void *arg)
{
    PL_UNUSED(site);
    struct fake_call *call = new_call(&read->kind, read->ns, read->name, arg);
    call->verb = read->verb;
    call->on_answer = on_answer;
    return (struct pl_read_op *)call;
}

void pl_read_op_cancel(struct pl_read_op *op)
{
    ((struct fake_call *)op)->canceled = true;
}

void pl_question_verdict(struct pl_question *question, int leaf, bool pass)
{
    PL_UNUSED(question);
    pl_buf_add_f(&fake.answers, "leaf %d %s;", leaf, pass ? "passes" : "drops");
}

void pl_question_request(struct pl_question *question, struct pl_slice ns, struct pl_slice name)
{
    PL_UNUSED(question);
    pl_buf_add_f(&fake.answers, "request %.*s/%.*s;", PL_FMT(ns), PL_FMT(name));
}

void pl_question_value(struct pl_question *question, const char *index, struct pl_slice value)
{
    PL_UNUSED(question);
    pl_buf_add_f(&fake.answers, "%s=%.*s;", index, PL_FMT(value));
}

void pl_question_map_failed(struct pl_question *question, const char *message,
                            const char *traceback)
{
    PL_UNUSED(question);
    PL_UNUSED(traceback);
    pl_buf_add_f(&fake.answers, "map failed: %s;", message);
}

void pl_question_done(struct pl_question *question)
{
    PL_UNUSED(question);
    fake.questions_done++;
}

/* ---- the harness ---- */

static void make_controllers(void)
{
    fake.controller_count = fake.declarations.controller_count;
    fake.controllers = pl_calloc(fake.controller_count + 1, sizeof *fake.controllers);
    for (size_t i = 0; i < fake.controller_count; i++) {
        struct pl_controller *controller = &fake.controllers[i];
        controller->spec = fake.declarations.controllers[i];
        fake.declarations.controllers[i] = (struct pl_controller_spec){.name = NULL};
        for (size_t j = 0; j < controller->spec.source_count; j++) {
            struct pl_informer *informer = &controller->informers[j];
            informer->kind = controller->spec.sources[j].kind;
            pl_source_options_copy(&informer->options, &controller->spec.sources[j].options);
            informer->store = pl_store_create();
            REQUIRE(pl_store_add_index(informer->store, PL_INDEX_NAMESPACE, NULL, NULL, NULL) == 0);
            informer->synced = true;
            pl_list_init(&informer->waits);
            pl_list_init(&informer->watches);
            pl_list_init(&informer->index_waits);
        }
        pl_lanes_add_edition(fake.lanes, (struct pl_edition *)controller);
        pl_lanes_add_controller(fake.lanes, controller);
    }
}

/* 0, or the code with err. */
static inline int load_script(const char *script, struct pl_lanes_options options,
                              struct pl_err *err)
{
    memset(&fake, 0, sizeof fake);
    pl_list_init(&fake.calls);
    strcpy(fake.path, "/tmp/pl_lane_XXXXXX.lua");
    int fd = mkstemps(fake.path, 4);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, script, strlen(script)) == (ssize_t)strlen(script));
    close(fd);
    if (options.cpu_limit_ns == 0)
        options.cpu_limit_ns = 10 * PL_SECOND;
    if (options.memory_limit == 0)
        options.memory_limit = (size_t)64 << 20;
    options.hooks = &pl_bind_state_hooks;
    fake.lanes = pl_lanes_create(&options);
    pl_err_clear(err);
    const char *paths[] = {fake.path};
    int failed = pl_lanes_load(fake.lanes, paths, 1, &fake.declarations, err);
    return failed;
}

static inline void begin(const char *script, struct pl_lanes_options options)
{
    struct pl_err err;
    int failed = load_script(script, options, &err);
    if (failed)
        fprintf(stderr, "%s\n", err.message);
    REQUIRE(failed == 0);
    fake.loop = pl_loop_create(pl_clock_system());
    pl_loop_turn(fake.loop, 0);
    pl_lanes_attach(fake.lanes, (struct pl_cluster *)&fake, fake.loop);
    make_controllers();
}

static inline void finish(void)
{
    pl_lanes_destroy(fake.lanes);
    unlink(fake.path);
    if (fake.loop != NULL) {
        for (int i = 0; i < 3; i++)
            pl_loop_turn(fake.loop, 0);
        pl_loop_destroy(fake.loop);
    }
    for (size_t i = 0; i < fake.controller_count; i++) {
        for (size_t j = 0; j < fake.controllers[i].spec.source_count; j++) {
            CHECK_INT(fake.controllers[i].informers[j].refs, 0);
            pl_store_destroy(fake.controllers[i].informers[j].store);
            pl_source_options_deinit(&fake.controllers[i].informers[j].options);
        }
        pl_controller_spec_deinit(&fake.controllers[i].spec);
    }
    pl_free(fake.controllers);
    pl_declarations_deinit(&fake.declarations);
    pl_buf_deinit(&fake.enqueued);
    pl_buf_deinit(&fake.reported);
    pl_buf_deinit(&fake.wanted);
    pl_buf_deinit(&fake.answers);
    CHECK(pl_list_empty(&fake.calls));
}

static inline struct fake_run *make_run(const char *key)
{
    struct fake_run *r = PL_NEW(struct fake_run);
    r->outcome = -1;
    r->key = pl_strdup(key);
    r->run.controller = &fake.controllers[0];
    r->run.edition = (struct pl_edition *)&fake.controllers[0];
    r->run.key = pl_slice_z(r->key);
    pl_key_split(r->run.key, &r->run.ns, &r->run.name);
    strcpy(r->run.id, "0123456789abcdef");
    return r;
}

static inline struct fake_run *start_run(const char *key)
{
    struct fake_run *r = make_run(key);
    pl_lanes_ops()->start(fake.lanes, &r->run);
    return r;
}

static inline void free_run(struct fake_run *r)
{
    pl_free(r->message);
    pl_free(r->traceback);
    pl_free(r->key);
    pl_free(r);
}

/* Runs one key to its end. */
static inline struct fake_run *run_key(const char *key)
{
    struct fake_run *r = start_run(key);
    TURN_UNTIL(fake.loop, r->outcome >= 0);
    return r;
}

static inline void put_object(size_t source, const char *json)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc =
        pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){.max_depth = 0}, &err);
    REQUIRE(doc != NULL);
    struct pl_buf key = PL_BUF_INIT;
    REQUIRE(pl_meta_key(pl_doc_root(doc), &key, NULL) == 0);
    struct pl_informer *informer = &fake.controllers[0].informers[source];
    pl_doc_unref(pl_store_put(informer->store, pl_buf_slice(&key), doc));
    struct pl_values values = {.count = 0};
    struct pl_scratch scratch;
    pl_values_add(&values, pl_meta_namespace(pl_doc_root(doc), &scratch));
    pl_store_set_values(informer->store, PL_INDEX_NAMESPACE, pl_buf_slice(&key), &values);
    pl_buf_deinit(&values.text);
    PL_LIST_FOR (link, &informer->watches) {
        struct pl_key_watch *watch = PL_CONTAINER_OF(link, struct pl_key_watch, link);
        if (pl_slice_eqz(pl_buf_slice(&key), watch->key))
            watch->changed(watch);
    }
    pl_buf_deinit(&key);
    pl_doc_unref(doc);
}

/* Waits for the next call. */
static inline struct fake_call *next_call(void)
{
    TURN_UNTIL(fake.loop, !pl_list_empty(&fake.calls));
    REQUIRE(!pl_list_empty(&fake.calls));
    return PL_CONTAINER_OF(pl_list_first(&fake.calls), struct fake_call, link);
}

/* Answers with a document of the JSON, or with err. */
static inline void answer(struct fake_call *call, const char *json, const struct pl_err *err)
{
    struct pl_doc *doc = NULL;
    if (json != NULL)
        doc = pl_scan_text(pl_slice_z(json), &(struct pl_scan_options){.max_depth = 0}, NULL);
    if (call->is_write)
        call->on_written(call->arg, &(struct pl_written){.err = err, .object = doc});
    else
        call->on_answer(call->arg, &(struct pl_answer){.err = err, .doc = doc});
    pl_doc_unref(doc);
    pl_link_unlink(&call->link);
    pl_free(call->kind);
    pl_free(call->ns);
    pl_free(call->name);
    pl_free(call->body);
    pl_free(call);
}

#define CHECK_RUN(key, want_outcome, want_message)                                                 \
    do {                                                                                           \
        struct fake_run *test_run = run_key(key);                                                  \
        CHECK_INT(test_run->outcome, want_outcome);                                                \
        const char *test_message = test_run->message ? test_run->message : "";                     \
        if (strstr(test_message, (want_message)) == NULL)                                          \
            TEST_FAIL("%s: got \"%s\", want \"%s\"", key, test_message, want_message);             \
        free_run(test_run);                                                                        \
    } while (0)
