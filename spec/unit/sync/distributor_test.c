#include "sync/distributor.h"

#include "unit/event/objects.h"

#include "object/meta.h"

static struct pl_store *store;
static struct pl_deltafifo *fifo;
static struct pl_distributor *d;

static void begin(int64_t resync_ns)
{
    store = pl_store_create();
    fifo = pl_deltafifo_create(&(struct pl_deltafifo_options){
        .known = &pl_distributor_known_ops, .known_arg = store, .emit_replaced = true});
    d = pl_distributor_create(&(struct pl_distributor_options){store, fifo, resync_ns});
}

static void end(void)
{
    pl_distributor_destroy(d);
    pl_deltafifo_destroy(fifo);
    pl_store_destroy(store);
}

/* ---- a listener that records its events ---- */

struct ear {
    struct pl_listener listener;
    char heard[256];
    struct pl_listener *remove; /* removed at the next notice */
    struct ear *bring;          /* added at the next notice */
};

static const struct pl_listener_ops ear_ops;

static void note(struct pl_listener *listener, const char *what, struct pl_doc *a, struct pl_doc *b)
{
    struct ear *ear = PL_CONTAINER_OF(listener, struct ear, listener);
    struct pl_doc *docs[2] = {a, b};
    size_t len = strlen(ear->heard);
    len +=
        (size_t)snprintf(ear->heard + len, sizeof(ear->heard) - len, "%s%s", len ? " " : "", what);
    for (int i = 0; i < 2; i++) {
        struct pl_scratch room;
        struct pl_node meta = pl_node_getz(pl_doc_root(docs[i]), "metadata");
        struct pl_slice name = pl_node_str(pl_node_getz(meta, "name"), &room);
        if (docs[i] != NULL) {
            len +=
                (size_t)snprintf(ear->heard + len, sizeof(ear->heard) - len, "%.*s", PL_FMT(name));
            struct pl_slice rv = pl_node_str(pl_node_getz(meta, "resourceVersion"), &room);
            len += (size_t)snprintf(ear->heard + len, sizeof(ear->heard) - len, "%.*s", PL_FMT(rv));
        }
    }
    if (ear->remove != NULL)
        pl_distributor_remove(ear->remove);
    if (ear->bring != NULL)
        pl_distributor_add(d, &ear->bring->listener, &ear_ops, 0, 0);
    ear->remove = NULL;
    ear->bring = NULL;
}

static void check_key(struct pl_slice key, struct pl_doc *object)
{
    struct pl_buf own = PL_BUF_INIT;
    CHECK_INT(pl_meta_key(pl_doc_root(object), &own, NULL), 0);
    CHECK_SLICE(key, pl_buf_z(&own));
    pl_buf_deinit(&own);
}

static void on_add(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                   bool initial)
{
    check_key(key, object);
    note(listener, initial ? "+!" : "+", object, NULL);
}

static void on_update(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                      struct pl_doc *object)
{
    check_key(key, object);
    note(listener, "~", old, object);
}

static void on_delete(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                      bool stale)
{
    CHECK(key.len > 0);
    note(listener, stale ? "-?" : "-", object, NULL);
}

static const struct pl_listener_ops ear_ops = {on_add, on_update, on_delete};

/* The events since the last call. */
static const char *heard(struct ear *ear)
{
    static char text[256];
    strcpy(text, ear->heard);
    ear->heard[0] = '\0';
    return text;
}

static void listen(struct ear *ear, int64_t resync_ns)
{
    memset(ear, 0, sizeof(*ear));
    CHECK_INT(pl_distributor_add(d, &ear->listener, &ear_ops, resync_ns, 0), 0);
}

/* ---- events of the watch: "a1" is object a at version 1 ---- */

static struct pl_doc *versioned(const char *what)
{
    char meta[128];
    snprintf(meta, sizeof(meta), "{\"name\":\"%c\",\"resourceVersion\":\"%s\"}", what[0], what + 1);
    return with_meta(meta);
}

static void bring(int (*to)(struct pl_deltafifo *, struct pl_doc *, struct pl_err *),
                  const char *what)
{
    struct pl_doc *doc = versioned(what);
    CHECK_INT(to(fifo, doc, NULL), 0);
    pl_doc_unref(doc);
}

static void list(const char *a, const char *b)
{
    struct pl_doc *docs[2] = {NULL, NULL};
    size_t count = 0;
    if (a != NULL)
        docs[count++] = versioned(a);
    if (b != NULL)
        docs[count++] = versioned(b);
    CHECK_INT(pl_deltafifo_replace(fifo, docs, count, NULL), 0);
    pl_doc_unref(docs[0]);
    pl_doc_unref(docs[1]);
}

static void process_all(void)
{
    while (pl_distributor_process(d) == 0) {
    }
}

static const char *store_rv(void)
{
    static char text[32];
    struct pl_buf rv = PL_BUF_INIT;
    pl_store_rv(store, &rv);
    snprintf(text, sizeof(text), "%s", pl_buf_z(&rv));
    pl_buf_deinit(&rv);
    return text;
}

/* rule 29 */
TEST(the_store_decides_between_add_and_update)
{
    struct ear ear;
    begin(0);
    listen(&ear, 0);
    pl_distributor_start(d);
    bring(pl_deltafifo_update, "a1");
    process_all();
    CHECK_STR(heard(&ear), "+a1");
    bring(pl_deltafifo_add, "a2");
    bring(pl_deltafifo_delete, "a3");
    process_all();
    CHECK_STR(heard(&ear), "~a1a2 -a3");
    CHECK_INT(pl_store_count(store), 0);
    CHECK_INT(pl_distributor_process(d), PL_EAGAIN);
    pl_deltafifo_close(fifo);
    CHECK_INT(pl_distributor_process(d), PL_ECLOSED);
    end();
}

/* rules 15, 49 */
TEST(the_first_list_is_initial_and_a_relist_tells_of_missed_deletions)
{
    struct ear ear;
    begin(0);
    listen(&ear, 0);
    pl_distributor_start(d);
    list("a1", "b2");
    process_all();
    CHECK_STR(heard(&ear), "+!a1 +!b2");
    list("a3", "c4");
    process_all();
    CHECK_STR(heard(&ear), "~a1a3 +c4 -?b2");
    end();
}

/* rule 40 */
TEST(a_late_listener_hears_what_is_stored_and_then_every_change)
{
    struct ear early, late;
    begin(0);
    listen(&early, 0);
    pl_distributor_start(d);
    list("a1", NULL);
    process_all();
    listen(&late, 0);
    CHECK_STR(heard(&late), "+!a1");
    CHECK_STR(heard(&early), "+!a1");
    bring(pl_deltafifo_update, "a2");
    process_all();
    CHECK_STR(heard(&late), "~a1a2");
    end();
}

TEST(a_listener_that_comes_during_a_change_hears_of_it_once)
{
    struct ear first, second;
    begin(0);
    listen(&first, 0);
    memset(&second, 0, sizeof(second));
    pl_distributor_start(d);
    first.bring = &second;
    bring(pl_deltafifo_add, "a1");
    bring(pl_deltafifo_update, "a2");
    process_all();
    CHECK_STR(heard(&first), "+a1 ~a1a2");
    CHECK_STR(heard(&second), "+!a1 ~a1a2");
    end();
}

TEST(listeners_may_go_while_they_are_told)
{
    struct ear a, b, c;
    begin(0);
    listen(&a, 0);
    listen(&b, 0);
    listen(&c, 0);
    pl_distributor_start(d);
    a.remove = &b.listener; /* the one that comes next */
    c.remove = &c.listener; /* itself */
    bring(pl_deltafifo_add, "x1");
    process_all();
    bring(pl_deltafifo_add, "y1");
    process_all();
    CHECK_STR(heard(&a), "+x1 +y1");
    CHECK_STR(heard(&b), "");
    CHECK_STR(heard(&c), "+x1");
    CHECK(!pl_distributor_has(&b.listener) && !pl_distributor_has(&c.listener));
    pl_distributor_remove(&c.listener);
    end();
}

/* rules 41, 27 */
TEST(a_listener_is_synced_when_the_list_has_been_processed)
{
    struct ear ear;
    begin(0);
    listen(&ear, 0);
    pl_distributor_start(d);
    CHECK(!pl_listener_has_synced(&ear.listener));
    list("a1", NULL);
    CHECK(!pl_listener_has_synced(&ear.listener));
    process_all();
    CHECK(pl_listener_has_synced(&ear.listener));
    end();
}

/* rule 42 */
TEST(unchanged_objects_go_to_all_at_first_and_then_to_those_due)
{
    struct ear never, often;
    begin(PL_SECOND);
    listen(&never, 0);
    listen(&often, PL_SECOND);
    pl_distributor_start(d);
    list("a1", NULL);
    process_all();
    list("a1", NULL);
    process_all();
    CHECK_STR(heard(&never), "+!a1 ~a1a1");
    CHECK_STR(heard(&often), "+!a1 ~a1a1");
    CHECK(pl_distributor_resync(d, PL_SECOND));
    process_all();
    CHECK_STR(heard(&never), "");
    CHECK_STR(heard(&often), "~a1a1");
    list("a1", "b1");
    process_all();
    CHECK_STR(heard(&never), "+b1");
    CHECK_STR(heard(&often), "~a1a1 +b1");
    CHECK(!pl_distributor_resync(d, PL_SECOND + 1));
    list("a1", "b1");
    process_all();
    CHECK_STR(heard(&often), "");
    end();
}

/* rule 43 */
TEST(periods_are_raised_to_a_second_and_to_the_check)
{
    struct ear a, b, c;
    begin(60 * PL_SECOND);
    listen(&a, 90 * PL_SECOND);
    CHECK_INT(a.listener.resync_ns, 90 * PL_SECOND);
    listen(&b, PL_MS);
    CHECK_INT(b.listener.resync_ns, PL_SECOND);
    CHECK_INT(pl_distributor_check_period(d), PL_SECOND);
    pl_distributor_start(d);
    listen(&c, PL_MS);
    CHECK_INT(c.listener.resync_ns, PL_SECOND);
    end();
    begin(60 * PL_SECOND);
    pl_distributor_start(d);
    listen(&a, 5 * PL_SECOND);
    CHECK_INT(a.listener.resync_ns, 60 * PL_SECOND);
    CHECK_INT(pl_distributor_check_period(d), 60 * PL_SECOND);
    end();
    begin(0);
    listen(&a, 5 * PL_SECOND);
    CHECK_INT(a.listener.resync_ns, 0);
    CHECK(!pl_distributor_resync(d, 3600 * PL_SECOND));
    end();
}

/* rule 46 */
TEST(a_stopped_distributor_has_no_listeners_and_takes_none)
{
    struct ear a, b;
    begin(0);
    listen(&a, 0);
    pl_distributor_start(d);
    pl_distributor_stop(d);
    CHECK(pl_distributor_is_stopped(d));
    CHECK(!pl_distributor_has(&a.listener));
    CHECK_INT(pl_distributor_add(d, &b.listener, &ear_ops, 0, 0), PL_ECLOSED);
    bring(pl_deltafifo_add, "a1");
    process_all();
    CHECK_STR(heard(&a), "");
    end();
}

/* rules 24, 37 */
TEST(the_stores_version_never_runs_ahead_of_its_content)
{
    begin(0);
    pl_distributor_start(d);
    bring(pl_deltafifo_add, "a5");
    bring(pl_deltafifo_add, "b6");
    pl_distributor_set_rv(d, pl_slice_z("9"));
    CHECK_STR(store_rv(), "");
    CHECK_INT(pl_distributor_process(d), 0);
    CHECK_STR(store_rv(), "5");
    CHECK_INT(pl_distributor_process(d), 0);
    CHECK_STR(store_rv(), "9");
    pl_distributor_set_rv(d, pl_slice_z("10"));
    CHECK_STR(store_rv(), "10");
    bring(pl_deltafifo_delete, "a12");
    pl_distributor_set_rv(d, pl_slice_z("11"));
    process_all();
    CHECK_STR(store_rv(), "12");
    end();
}

/* Rules 3 and 49: the store may still have what the queue has lost. */
/* A listener that reads the whole store at each event. */
struct eye {
    struct pl_listener listener;
    int notices;
    char seen[64]; /* the store at the first event; the same at every other */
};

static void look(struct pl_listener *listener)
{
    struct eye *eye = PL_CONTAINER_OF(listener, struct eye, listener);
    char now[64] = "";
    char **keys = pl_store_keys(store);
    for (char **key = keys; *key != NULL; key++) {
        struct pl_scratch room;
        struct pl_doc *doc = pl_store_get(store, pl_slice_z(*key));
        strcat(now, *key);
        strncat(now, pl_meta_rv(pl_doc_root(doc), &room).ptr, 1);
        pl_doc_unref(doc);
    }
    pl_store_free_names(keys);
    if (eye->notices++ == 0)
        strcpy(eye->seen, now);
    CHECK_STR(now, eye->seen);
}

static void look_add(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                     bool initial)
{
    PL_UNUSED(key);
    PL_UNUSED(object);
    PL_UNUSED(initial);
    look(listener);
}

static void look_update(struct pl_listener *listener, struct pl_slice key, struct pl_doc *old,
                        struct pl_doc *object)
{
    PL_UNUSED(key);
    PL_UNUSED(old);
    PL_UNUSED(object);
    look(listener);
}

static void look_delete(struct pl_listener *listener, struct pl_slice key, struct pl_doc *object,
                        bool stale)
{
    PL_UNUSED(key);
    PL_UNUSED(object);
    PL_UNUSED(stale);
    look(listener);
}

static const struct pl_listener_ops eye_ops = {look_add, look_update, look_delete};

TEST(F26_a_relist_is_seen_as_a_whole_or_not_at_all)
{
    struct ear ear;
    struct eye eye = {.notices = 0};
    begin(0);
    pl_distributor_start(d);
    list("a1", "b1");
    CHECK_INT(pl_distributor_process_all(d), 0);
    CHECK_INT(pl_distributor_add(d, &eye.listener, &eye_ops, 0, 0), 0);
    eye.notices = 0;
    listen(&ear, 0);
    heard(&ear);
    list("c3", "b2");
    CHECK_INT(pl_distributor_process_all(d), 0);
    CHECK_INT(eye.notices, 3);
    CHECK_STR(eye.seen, "b2c3");
    CHECK_STR(heard(&ear), "+c3 ~b1b2 -?a1");
    CHECK_INT(pl_distributor_process_all(d), PL_EAGAIN);
    end();
}

TEST(deltas_of_one_key_in_a_batch_are_told_one_after_another) /* F4 */
{
    struct ear ear;
    begin(0);
    pl_distributor_start(d);
    list("a1", "b1");
    CHECK_INT(pl_distributor_process_all(d), 0);
    listen(&ear, 0);
    heard(&ear);
    struct pl_doc *known = pl_store_get(store, pl_slice_z("a"));
    pl_deltafifo_delete_stale(fifo, pl_slice_z("a"), known);
    pl_doc_unref(known);
    bring(pl_deltafifo_add, "a5");
    bring(pl_deltafifo_update, "b6");
    bring(pl_deltafifo_update, "b7");
    CHECK_INT(pl_distributor_process_all(d), 0);
    CHECK_STR(heard(&ear), "-?a1 +a5 ~b1b6 ~b6b7");
    CHECK_STR(store_rv(), "7");
    end();
}

TEST(who_comes_while_a_batch_is_told_has_seen_all_of_it) /* rule 40 */
{
    struct ear ear, late;
    begin(0);
    pl_distributor_start(d);
    listen(&ear, 0);
    memset(&late, 0, sizeof late);
    ear.bring = &late;
    list("a1", "b1");
    CHECK_INT(pl_distributor_process_all(d), 0);
    CHECK_INT(strlen(heard(&late)), strlen("+!a1 +!b1"));
    end();
}

TEST(a_tombstone_without_an_object_tells_the_stored_one)
{
    struct ear ear;
    begin(0);
    listen(&ear, 0);
    pl_distributor_start(d);
    bring(pl_deltafifo_add, "a1");
    process_all();
    pl_deltafifo_delete_stale(fifo, pl_slice_z("a"), NULL);
    process_all();
    CHECK_STR(heard(&ear), "+a1 -?a1");
    end();
}

TEST_MAIN()
