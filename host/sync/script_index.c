/* How the values of script indexes get into the store. A question goes to the youngest script that
 * has the index; its answer is stored for all indexes of that script at once. A late index is built
 * by walking the store with few questions at a time, while answers about events continue; an older
 * answer never replaces a newer one (see fills_gap). This file calls no script: the asker's
 * function does that, and answers later. */
#include "sync/script_index.h"

#include "base/alloc.h"
#include "base/check.h"
#include "object/meta.h"

#include <string.h>

#define BUILD_OUT 16 /* questions of one build: a run on the lane waits for at most this many */

/* The script that gets the questions. */
struct asker {
    struct pl_link link;
    pl_ask_fn ask;
    void *self;
    size_t held;        /* number of indexes */
    size_t outstanding; /* number of questions */
    bool building;      /* its indexes are being built over stored objects */
    size_t build_out;   /* of the building: questions under way */
    struct pl_store_walk walk;
    bool walked;         /* of the building: all objects were asked about */
    struct pl_map given; /* of the building: keys with values by answers about events */
};

struct index {
    struct pl_link link;
    char *stored, *name;   /* owned */
    struct asker **askers; /* owned array; the last one is asked */
    size_t count;
    bool building;
};

struct question {
    struct pl_asked asked;
    struct pl_script_indexes *indexes;
    struct asker *asker;
    char *key;      /* owned */
    uint64_t round; /* 0: for a build */
};

struct pl_script_indexes {
    struct pl_script_indexes_options o;
    struct pl_list indexes, askers;
    size_t outstanding, asked;
    bool stopped;
};

struct pl_script_indexes *pl_script_indexes_create(const struct pl_script_indexes_options *options)
{
    struct pl_script_indexes *indexes = PL_NEW(struct pl_script_indexes);
    indexes->o = *options;
    pl_list_init(&indexes->indexes);
    pl_list_init(&indexes->askers);
    return indexes;
}

static struct asker *last_of(const struct index *index)
{
    return index->askers[index->count - 1];
}

static bool has_asker(const struct index *index, const struct asker *asker)
{
    for (size_t i = 0; i < index->count; i++)
        if (index->askers[i] == asker)
            return true;
    return false;
}

/* True when it has to be asked: it is the youngest for some index. */
static bool is_active(const struct pl_script_indexes *indexes, const struct asker *asker)
{
    PL_LIST_FOR (link, &indexes->indexes)
        if (last_of(PL_CONTAINER_OF(link, struct index, link)) == asker)
            return true;
    return false;
}

static void release_asker(struct asker *asker)
{
    if (asker->held > 0 || asker->outstanding > 0)
        return;
    pl_link_unlink(&asker->link);
    pl_map_deinit(&asker->given);
    pl_free(asker);
}

/* ---- answers ---- */

static void store_values(struct pl_script_indexes *indexes, const struct question *question)
{
    static const struct pl_values none;
    PL_LIST_FOR (link, &indexes->indexes) {
        const struct index *index = PL_CONTAINER_OF(link, struct index, link);
        const struct pl_values *values = &none;
        if (!has_asker(index, question->asker))
            continue;
        for (size_t v = 0; v < question->asked.value_count; v++)
            if (strcmp(question->asked.values[v].index, index->name) == 0)
                values = &question->asked.values[v].values;
        pl_store_set_values(indexes->o.store, index->stored, pl_slice_z(question->key), values);
    }
}

static void go_on_building(struct pl_script_indexes *indexes, struct asker *asker);

/* True when the store still has the object of the question, so that there is no newer question.
 * Also true when the store has a newer state whose answer is still to come: until then the older
 * values count, as everywhere. Without them the index would be complete too early, and lack the
 * object. */
static bool fills_gap(const struct pl_script_indexes *indexes, const struct question *question)
{
    struct pl_doc *asked = question->asked.q.event.object;
    struct pl_doc *doc = pl_store_get(indexes->o.store, pl_slice_z(question->key));
    bool is_it = doc != NULL && doc == asked;
    if (doc != NULL && !is_it && !pl_map_has(&question->asker->given, pl_slice_z(question->key))) {
        struct pl_scratch a, b;
        is_it = pl_slice_eq(pl_meta_uid(pl_doc_root(doc), &a), pl_meta_uid(pl_doc_root(asked), &b));
    }
    pl_doc_unref(doc);
    return is_it;
}

static void on_script_index_answer(struct pl_asked *asked)
{
    struct question *question = PL_CONTAINER_OF(asked, struct question, asked);
    struct pl_script_indexes *indexes = question->indexes;
    struct asker *asker = question->asker;
    indexes->outstanding--;
    indexes->asked -= question->round != 0;
    asker->outstanding--;
    asker->build_out -= question->round == 0;
    bool wanted = question->round == 0
                      ? fills_gap(indexes, question)
                      : indexes->o.wants(indexes->o.arg, question->key, question->round);
    if (wanted)
        store_values(indexes, question);
    if (wanted && question->round != 0 && asker->building)
        pl_map_put(&asker->given, pl_slice_z(question->key), asker);
    if (asker->held > 0)
        go_on_building(indexes, asker);
    release_asker(asker);
    indexes->o.answered(indexes->o.arg, question->key, question->round);
    pl_asked_deinit(&question->asked);
    pl_free(question->key);
    pl_free(question);
}

/* ---- questions ---- */

static void script_index_send(struct pl_script_indexes *indexes, struct asker *asker,
                              const char *key, const struct pl_event *event, uint64_t round)
{
    struct question *question = PL_NEW(struct question);
    pl_asked_init(&question->asked, event, on_script_index_answer);
    question->asked.q.ask_indexes = true;
    question->asked.q.kind = indexes->o.kind;
    question->asked.q.external = asker->self;
    question->indexes = indexes;
    question->asker = asker;
    question->key = pl_strdup(key);
    question->round = round;
    indexes->outstanding++;
    indexes->asked += round != 0;
    asker->outstanding++;
    asker->build_out += round == 0;
    asker->ask(asker->self, &question->asked.q);
}

size_t pl_script_indexes_ask(struct pl_script_indexes *indexes, const char *key,
                             const struct pl_event *event, uint64_t round)
{
    size_t count = 0;
    PL_REQUIRE(round != 0);
    PL_LIST_FOR (link, &indexes->askers) {
        struct asker *asker = PL_CONTAINER_OF(link, struct asker, link);
        if (!is_active(indexes, asker))
            continue;
        script_index_send(indexes, asker, key, event, round);
        count++;
    }
    return count;
}

/* ---- building ---- */

static void end_building(struct pl_script_indexes *indexes, struct asker *asker)
{
    asker->building = false;
    pl_map_deinit(&asker->given);
    PL_LIST_FOR (link, &indexes->indexes) {
        struct index *index = PL_CONTAINER_OF(link, struct index, link);
        if (!index->building || !has_asker(index, asker))
            continue;
        index->building = false;
        pl_store_set_building(indexes->o.store, index->stored, false);
    }
}

static void ask_about(struct pl_script_indexes *indexes, struct asker *asker, struct pl_doc *doc)
{
    struct pl_event event = {.type = PL_EVENT_GENERIC, .object = doc, .initial = true};
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(doc), &key);
    script_index_send(indexes, asker, pl_buf_z(&key), &event, 0);
    pl_buf_deinit(&key);
}

static void go_on_building(struct pl_script_indexes *indexes, struct asker *asker)
{
    while (asker->building && !indexes->stopped && !asker->walked && asker->build_out < BUILD_OUT) {
        struct pl_docs docs = {0};
        asker->walked =
            !pl_store_walk(indexes->o.store, &asker->walk, BUILD_OUT - asker->build_out, &docs);
        for (size_t i = 0; i < docs.count; i++)
            ask_about(indexes, asker, docs.items[i]);
        pl_docs_deinit(&docs);
    }
    if (asker->building && asker->walked && asker->build_out == 0)
        end_building(indexes, asker);
}

static void begin_building(struct pl_script_indexes *indexes, struct index *index)
{
    struct asker *asker = last_of(index);
    index->building = true;
    pl_store_set_building(indexes->o.store, index->stored, true);
    asker->building = true;
    asker->walked = false;
    asker->walk = (struct pl_store_walk){
        0}; /* from the beginning, also for indexes that it was building before */
    go_on_building(indexes, asker);
}

/* ---- adding and dropping ---- */

static struct asker *asker_of(struct pl_script_indexes *indexes, pl_ask_fn ask, void *self)
{
    PL_LIST_FOR (link, &indexes->askers) {
        struct asker *asker = PL_CONTAINER_OF(link, struct asker, link);
        if (asker->ask == ask && asker->self == self)
            return asker;
    }
    struct asker *asker = PL_NEW(struct asker);
    asker->ask = ask;
    asker->self = self;
    pl_list_push(&indexes->askers, &asker->link);
    return asker;
}

static struct index *script_index_of(const struct pl_script_indexes *indexes, const char *stored)
{
    PL_LIST_FOR (link, &indexes->indexes) {
        struct index *index = PL_CONTAINER_OF(link, struct index, link);
        if (strcmp(index->stored, stored) == 0)
            return index;
    }
    return NULL;
}

static void add_asker(struct index *index, struct asker *asker)
{
    index->askers = pl_reallocarray(index->askers, index->count + 1, sizeof *index->askers);
    index->askers[index->count++] = asker;
    asker->held++;
}

int pl_script_indexes_add(struct pl_script_indexes *indexes, const char *stored, const char *name,
                          pl_ask_fn ask, void *self, struct pl_err *err)
{
    struct index *index = script_index_of(indexes, stored);
    if (index != NULL) {
        struct asker *asker = asker_of(indexes, ask, self);
        if (!has_asker(index, asker))
            add_asker(index, asker);
        if (index->building) /* the script that built it may go */
            begin_building(indexes, index);
        return 0;
    }
    int failed = pl_store_add_index(indexes->o.store, stored, NULL, NULL, err);
    if (failed)
        return failed;
    index = PL_NEW(struct index);
    index->stored = pl_strdup(stored);
    index->name = pl_strdup(name);
    add_asker(index, asker_of(indexes, ask, self));
    pl_list_push(&indexes->indexes, &index->link);
    begin_building(indexes, index);
    return 0;
}

static void free_index(struct index *index)
{
    pl_link_unlink(&index->link);
    pl_free(index->askers);
    pl_free(index->stored);
    pl_free(index->name);
    pl_free(index);
}

void pl_script_indexes_drop(struct pl_script_indexes *indexes, const char *stored, void *self)
{
    struct index *index = script_index_of(indexes, stored);
    struct asker *gone = NULL;
    size_t kept = 0;
    for (size_t i = 0; index != NULL && i < index->count; i++) {
        if (gone == NULL && index->askers[i]->self == self)
            gone = index->askers[i];
        else
            index->askers[kept++] = index->askers[i];
    }
    if (gone == NULL)
        return;
    index->count = kept;
    gone->held--;
    if (kept == 0) {
        pl_store_drop_index(indexes->o.store, index->stored);
        free_index(index);
    } else if (index->building) {
        begin_building(indexes, index);
    }
    release_asker(gone);
}

/* ---- the rest ---- */

void pl_script_indexes_destroy(struct pl_script_indexes *indexes)
{
    if (indexes == NULL)
        return;
    PL_REQUIRE(indexes->outstanding == 0);
    PL_LIST_FOR (link, &indexes->indexes)
        free_index(PL_CONTAINER_OF(link, struct index, link));
    PL_LIST_FOR (link, &indexes->askers) {
        pl_link_unlink(link);
        pl_free(PL_CONTAINER_OF(link, struct asker, link));
    }
    pl_free(indexes);
}

bool pl_script_indexes_any(const struct pl_script_indexes *indexes)
{
    return !pl_list_empty(&indexes->indexes);
}

size_t pl_script_indexes_outstanding(const struct pl_script_indexes *indexes)
{
    return indexes->outstanding;
}

size_t pl_script_indexes_asked(const struct pl_script_indexes *indexes)
{
    return indexes->asked;
}

void pl_script_indexes_stop(struct pl_script_indexes *indexes)
{
    indexes->stopped = true;
}
