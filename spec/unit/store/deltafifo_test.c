#include "store/deltafifo.h"

#include "base/alloc.h"
#include "store/store.h"
#include "support/test.h"
#include "object/meta.h"
#include "value/scan.h"

/* {"metadata":{"name":NAME},"v":V}; a name of "" makes an object without a key. */
static struct pl_doc *object(const char *name, int v)
{
    char text[128];
    int len = snprintf(text, sizeof(text), "{\"metadata\":{%s%s%s},\"v\":%d}",
                       *name ? "\"name\":\"" : "", name, *name ? "\"" : "", v);
    struct pl_doc *doc =
        pl_scan_text(pl_slice(text, (size_t)len), &(struct pl_scan_options){0}, NULL);
    REQUIRE(doc != NULL);
    return doc;
}

static struct pl_deltafifo *fifo;

static int give(int (*to)(struct pl_deltafifo *, struct pl_doc *, struct pl_err *),
                const char *name, int v)
{
    struct pl_doc *doc = object(name, v);
    int rc = to(fifo, doc, NULL);
    pl_doc_unref(doc);
    return rc;
}

#define ADD(name, v)    CHECK_INT(give(pl_deltafifo_add, name, v), 0)
#define UPDATE(name, v) CHECK_INT(give(pl_deltafifo_update, name, v), 0)
#define DELETE(name, v) CHECK_INT(give(pl_deltafifo_delete, name, v), 0)

static void delete_stale(const char *name, int v)
{
    struct pl_doc *doc = object(name, v);
    pl_deltafifo_delete_stale(fifo, pl_slice_z(name), doc);
    pl_doc_unref(doc);
}

/* names: one letter each; every object has version v. */
static int replace(const char *names, int v)
{
    struct pl_doc *docs[32] = {NULL};
    size_t count = 0;
    for (; names[count] != '\0'; count++) {
        char name[2] = {names[count] == '-' ? '\0' : names[count], '\0'};
        docs[count] = object(name, v);
    }
    int rc = pl_deltafifo_replace(fifo, docs, count, NULL);
    for (size_t i = 0; i < count; i++)
        pl_doc_unref(docs[i]);
    return rc;
}

/* "key:A1U2X3" with A, U, D, R, S for the types and X for a tombstone, "?" for a lost
 * object; "!" in front while the first list is being worked off. */
static const char *pop(void)
{
    static char text[256];
    struct pl_deltas deltas;
    int rc = pl_deltafifo_take(fifo, &deltas);
    if (rc != 0)
        return rc == PL_ECLOSED ? "closed" : "-";
    int len =
        snprintf(text, sizeof(text), "%s%.*s:", deltas.initial ? "!" : "", PL_FMT(deltas.key));
    for (size_t i = 0; i < deltas.count; i++) {
        const struct pl_delta *delta = &deltas.items[i];
        int64_t v = 0;
        char type = delta->stale ? 'X' : "AUDRS"[delta->type];
        if (pl_node_int(pl_node_getz(pl_doc_root(delta->doc), "v"), &v))
            len += snprintf(text + len, sizeof(text) - (size_t)len, "%c%d", type, (int)v);
        else
            len += snprintf(text + len, sizeof(text) - (size_t)len, "%c?", type);
    }
    pl_deltafifo_done(fifo, &deltas);
    return text;
}

/* ---- what is known: a fixed string of names; a capital one fails to be looked up ---- */

static const char *known_names;

static int known_get(void *arg, struct pl_slice key, struct pl_doc **doc)
{
    PL_UNUSED(arg);
    char name[2] = {key.ptr[0], '\0'};
    *doc = NULL;
    if (name[0] >= 'A' && name[0] <= 'Z')
        return PL_EIO;
    if (strchr(known_names, name[0]) != NULL)
        *doc = object(name, 0);
    return 0;
}

static char **known_keys(void *arg)
{
    PL_UNUSED(arg);
    size_t count = strlen(known_names);
    char **keys = pl_malloc((count + 1) * sizeof(char *) + count * 2);
    char *text = (char *)(keys + count + 1);
    for (size_t i = 0; i < count; i++) {
        keys[i] = text + 2 * i;
        keys[i][0] = known_names[i];
        keys[i][1] = '\0';
    }
    keys[count] = NULL;
    return keys;
}

static const struct pl_known_ops known_ops = {known_get, known_keys};

static void begin(const char *known, struct pl_deltafifo_options options)
{
    known_names = known;
    options.known = known ? &known_ops : NULL;
    fifo = pl_deltafifo_create(&options);
}

static void end(void)
{
    pl_deltafifo_destroy(fifo);
}

#define PLAIN ((struct pl_deltafifo_options){0})

/* ---- events ---- */

TEST(an_object_whose_key_is_known_is_queued_like_any_other)
{
    begin(NULL, PLAIN);
    struct pl_doc *doc = object("a", 2);
    ADD("a", 1);
    pl_deltafifo_queue(fifo, PL_DELTA_UPDATED, pl_slice_z("a"), doc);
    CHECK_STR(pop(), "a:A1U2");
    end();
    begin(NULL, PLAIN);
    CHECK(!pl_deltafifo_has_synced(fifo));
    pl_deltafifo_queue(fifo, PL_DELTA_ADDED, pl_slice_z("a"), doc);
    CHECK(pl_deltafifo_has_synced(fifo)); /* rule 10 */
    CHECK_STR(pop(), "a:A2");
    end();
    pl_doc_unref(doc);
}

/* rule 1 */
TEST(events_of_a_queued_key_gather_without_moving_it)
{
    begin(NULL, PLAIN);
    ADD("a", 1);
    ADD("b", 1);
    UPDATE("a", 2);
    UPDATE("a", 2);
    CHECK_INT(pl_deltafifo_len(fifo), 2);
    CHECK_STR(pop(), "a:A1U2U2");
    ADD("a", 3);
    CHECK_STR(pop(), "b:A1");
    CHECK_STR(pop(), "a:A3");
    CHECK_STR(pop(), "-");
    end();
}

/* rules 2, 3 */
TEST(two_deletions_in_a_row_become_the_one_that_knows_more)
{
    begin(NULL, PLAIN);
    ADD("a", 1);
    DELETE("a", 2);
    DELETE("a", 3);
    CHECK_STR(pop(), "a:A1D2");
    ADD("b", 1);
    delete_stale("b", 2);
    DELETE("b", 3);
    CHECK_STR(pop(), "b:A1D3");
    ADD("c", 1);
    DELETE("c", 2);
    delete_stale("c", 3);
    CHECK_STR(pop(), "c:A1D2");
    ADD("d", 1);
    delete_stale("d", 2);
    delete_stale("d", 3);
    CHECK_STR(pop(), "d:A1X3");
    ADD("e", 1);
    DELETE("e", 2);
    ADD("e", 3);
    DELETE("e", 4);
    CHECK_STR(pop(), "e:A1D2A3D4");
    end();
}

/* rules 4, 5 */
TEST(a_deletion_of_what_nobody_knows_is_dropped)
{
    begin("kE", PLAIN);
    DELETE("x", 1);
    CHECK_STR(pop(), "-");
    DELETE("k", 1);
    CHECK_STR(pop(), "k:D1");
    DELETE("E", 1);
    CHECK_STR(pop(), "E:D1");
    ADD("x", 1);
    DELETE("x", 2);
    CHECK_STR(pop(), "x:A1D2");
    delete_stale("y", 1);
    CHECK_STR(pop(), "-");
    end();
}

/* rule 16 */
TEST(an_object_without_a_key_changes_nothing)
{
    begin(NULL, PLAIN);
    CHECK_INT(give(pl_deltafifo_add, "", 1), PL_EINVAL);
    CHECK_INT(give(pl_deltafifo_delete, "", 1), PL_EINVAL);
    CHECK_INT(replace("a-b", 1), PL_EINVAL);
    CHECK(!pl_deltafifo_has_synced(fifo));
    CHECK_STR(pop(), "-");
    end();
}

/* ---- replace ---- */

/* rules 7, 8 */
TEST(a_list_comes_before_the_tombstones_of_what_it_lacks)
{
    begin("ckE", (struct pl_deltafifo_options){.emit_replaced = true});
    ADD("q", 1);
    delete_stale("c", 5);
    CHECK_INT(replace("ba", 2), 0);
    CHECK_STR(pop(), "q:A1X1");
    CHECK_STR(pop(), "c:X5");
    CHECK_STR(pop(), "b:R2");
    CHECK_STR(pop(), "a:R2");
    CHECK_STR(pop(), "k:X0");
    CHECK_STR(pop(), "E:X?");
    CHECK_STR(pop(), "-");
    end();
}

TEST(without_emit_replaced_a_list_reads_as_sync)
{
    begin(NULL, PLAIN);
    CHECK_INT(replace("aa", 1), 0);
    CHECK_STR(pop(), "!a:S1S1");
    CHECK(pl_deltafifo_has_synced(fifo));
    end();
}

/* rules 9, 15, 27 */
TEST(synced_when_the_first_list_and_its_deletions_are_worked_off)
{
    begin("ak", PLAIN);
    CHECK(!pl_deltafifo_has_synced(fifo));
    CHECK_INT(replace("ab", 1), 0);
    CHECK_STR(pop(), "!a:S1");
    CHECK_STR(pop(), "!b:S1");
    struct pl_deltas deltas;
    CHECK_INT(pl_deltafifo_take(fifo, &deltas), 0);
    CHECK(deltas.initial);
    CHECK(!pl_deltafifo_has_synced(fifo)); /* taken is not worked off (rule 27) */
    pl_deltafifo_done(fifo, &deltas);
    CHECK(pl_deltafifo_has_synced(fifo));
    CHECK_INT(replace("ak", 2), 0);
    CHECK(pl_deltafifo_has_synced(fifo));
    CHECK_STR(pop(), "a:S2");
    end();
}

TEST(an_empty_first_list_is_synced_at_once)
{
    begin(NULL, PLAIN);
    CHECK_INT(replace("", 1), 0);
    CHECK(pl_deltafifo_has_synced(fifo));
    end();
}

/* rule 10 */
TEST(an_event_before_any_list_ends_the_initial_state)
{
    begin(NULL, PLAIN);
    DELETE("x", 1);
    CHECK(pl_deltafifo_has_synced(fifo));
    CHECK_INT(replace("a", 1), 0);
    CHECK(pl_deltafifo_has_synced(fifo));
    CHECK_STR(pop(), "a:S1");
    end();
}

/* ---- resync ---- */

/* rule 12 */
TEST(resync_brings_back_known_objects_with_nothing_queued) /* rule 12, F2 */
{
    begin("abE", PLAIN);
    ADD("a", 9);
    pl_deltafifo_resync(fifo);
    pl_deltafifo_resync(fifo);
    CHECK_STR(pop(), "a:A9");
    CHECK_STR(pop(), "b:S0");
    CHECK_STR(pop(), "-");
    end();
    begin("ab", PLAIN);
    DELETE("a", 9);
    pl_deltafifo_resync(fifo);
    CHECK_STR(pop(), "a:D9");
    CHECK_STR(pop(), "b:S0");
    CHECK_STR(pop(), "-");
    end();
    begin(NULL, PLAIN);
    CHECK_INT(pl_deltafifo_resync(fifo), 0);
    CHECK_STR(pop(), "-");
    end();
}

/* ---- transformations ---- */

static int transforms;

/* Version 13 is refused; others become 100 more. */
static struct pl_doc *add_hundred(void *arg, struct pl_doc *doc, struct pl_err *err)
{
    PL_UNUSED(arg);
    int64_t v = 0;
    transforms++;
    pl_node_int(pl_node_getz(pl_doc_root(doc), "v"), &v);
    if (v == 13) {
        pl_err_set(err, PL_ESCRIPT, "thirteen");
        return NULL;
    }
    struct pl_buf key = PL_BUF_INIT;
    pl_meta_put_key(pl_doc_root(doc), &key);
    struct pl_doc *fresh = object(pl_buf_z(&key), (int)v + 100);
    pl_buf_deinit(&key);
    return fresh;
}

/* rule 6 */
static bool takes_its_own_key(void)
{
    struct pl_deltas deltas;
    ADD("a", 1);
    REQUIRE(pl_deltafifo_take(fifo, &deltas) == 0);
    bool own = deltas.own_key;
    pl_deltafifo_done(fifo, &deltas);
    return own;
}

TEST(what_is_not_transformed_is_queued_under_its_own_key)
{
    begin(NULL, (struct pl_deltafifo_options){.transform = add_hundred});
    CHECK(!takes_its_own_key());
    end();
    begin(NULL, PLAIN);
    CHECK(takes_its_own_key());
    end();
}

TEST(each_incoming_object_is_transformed_once)
{
    begin("k", (struct pl_deltafifo_options){.transform = add_hundred});
    transforms = 0;
    ADD("a", 1);
    DELETE("a", 2);
    CHECK_INT(replace("b", 3), 0);
    CHECK_INT(transforms, 3);
    CHECK_STR(pop(), "a:A101D102");
    CHECK_STR(pop(), "b:S103");
    CHECK_STR(pop(), "k:X0");
    pl_deltafifo_resync(fifo);
    delete_stale("k", 7);
    CHECK_INT(transforms, 3);
    CHECK_STR(pop(), "k:S0X7");
    end();
}

TEST(a_refused_object_is_not_queued_and_refuses_its_list)
{
    begin(NULL, (struct pl_deltafifo_options){.transform = add_hundred});
    CHECK(give(pl_deltafifo_add, "a", 13) != 0);
    CHECK(replace("ab", 13) != 0);
    CHECK_STR(pop(), "-");
    end();
}

/* ---- closing ---- */

/* rule 14 */
TEST(a_closed_queue_hands_out_the_rest_first)
{
    begin(NULL, PLAIN);
    ADD("a", 1);
    pl_deltafifo_close(fifo);
    CHECK(pl_deltafifo_is_closed(fifo));
    CHECK_STR(pop(), "a:A1");
    CHECK_STR(pop(), "closed");
    ADD("b", 1);
    CHECK_STR(pop(), "b:A1");
    pl_deltafifo_close(fifo);
    CHECK_STR(pop(), "closed");
    end();
}

TEST(what_is_left_is_freed_with_the_queue)
{
    begin(NULL, PLAIN);
    ADD("a", 1);
    UPDATE("a", 2);
    CHECK_INT(replace("b", 1), 0);
    CHECK_INT(pl_deltafifo_len(fifo), 2);
    end();
    pl_deltafifo_destroy(NULL);
}

TEST_MAIN()
