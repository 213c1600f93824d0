#include "cluster/history.h"

#include "base/buf.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static void add(struct pl_history *history, const char *key, int64_t at, enum pl_happening what,
                const char *detail)
{
    struct pl_slice parts[] = {pl_slice_z(detail), pl_slice_z("!")};
    pl_history_add(history, pl_slice_z("web"), pl_slice_z(key), at, what, at * 2, parts, 2);
}

static void collect(void *arg, const struct pl_happened *happened)
{
    pl_buf_add_f(arg, "%d %s %d %.*s\n", (int)happened->at_ns, pl_happening_name(happened->what),
                 (int)happened->amount, PL_FMT(happened->detail));
}

static const char *told(const struct pl_history *history, const char *controller, const char *key)
{
    static struct pl_buf text;
    pl_buf_deinit(&text);
    pl_history_each(history, pl_slice_z(controller), pl_slice_z(key), collect, &text);
    return pl_buf_z(&text);
}

static size_t lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

TEST(what_happened_to_a_key_is_told_oldest_first)
{
    struct pl_history history;
    pl_history_init(&history, 0);
    add(&history, "ns/a", 1, PL_HAPPENED_EVENT, "ADDED v1/Pod ns/a");
    add(&history, "ns/b", 2, PL_HAPPENED_QUEUED, "RESYNC");
    add(&history, "ns/a", 3, PL_HAPPENED_STARTED, "id");
    CHECK_STR(told(&history, "web", "ns/a"), "1 event 2 ADDED v1/Pod ns/a!\n3 started 6 id!\n");
    CHECK_STR(told(&history, "web", "ns/b"), "2 queued 4 RESYNC!\n");
    CHECK_STR(told(&history, "web", "ns/c"), "");
    CHECK_STR(told(&history, "other", "ns/a"), "");
    pl_history_deinit(&history);
    told(&history, "web", "none");
}

TEST(the_last_64_things_are_kept)
{
    struct pl_history history;
    pl_history_init(&history, 0);
    for (int i = 1; i <= 100; i++)
        add(&history, "ns/a", i, PL_HAPPENED_STARTED, "id");
    const char *text = told(&history, "web", "ns/a");
    CHECK_INT(lines(text), PL_HISTORY_LENGTH);
    CHECK(strncmp(text, "37 ", 3) == 0);
    pl_history_deinit(&history);
}

TEST(long_details_are_cut_and_never_hold_more_than_4_KiB_a_key)
{
    struct pl_history history;
    char detail[2000];
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    pl_history_init(&history, 0);
    for (int i = 1; i <= 20; i++)
        add(&history, "ns/a", i, PL_HAPPENED_ENDED, detail);
    const char *text = told(&history, "web", "ns/a");
    CHECK(strlen(text) <= 4096 + 200);
    CHECK(lines(text) >= 6);
    CHECK(strstr(text, "\n20 ended") != NULL);
    pl_history_deinit(&history);
}

TEST(the_quietest_keys_go_first_when_memory_is_full)
{
    struct pl_history history;
    char key[32];
    pl_history_init(&history, 20000);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "ns/%d", i);
        add(&history, key, i, PL_HAPPENED_EVENT, "ADDED");
        add(&history, "ns/busy", i, PL_HAPPENED_STARTED, "id");
        CHECK(history.bytes <= 20000);
    }
    CHECK_STR(told(&history, "web", "ns/0"), "");
    CHECK_STR(told(&history, "web", "ns/999"), "999 event 1998 ADDED!\n");
    CHECK_INT(lines(told(&history, "web", "ns/busy")), PL_HISTORY_LENGTH);
    pl_history_deinit(&history);
    CHECK_INT(history.bytes, 0);
}

TEST(names_too_long_for_kubernetes_are_left_out)
{
    struct pl_history history;
    char key[600];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    pl_history_init(&history, 0);
    add(&history, key, 1, PL_HAPPENED_EVENT, "ADDED");
    CHECK_STR(told(&history, "web", key), "");
    CHECK_INT(history.bytes, 0);
    pl_history_deinit(&history);
}

static void call(struct pl_history *history, const char *what)
{
    pl_history_note_call(history, pl_slice_z("web"), pl_slice_z(what));
}

TEST(each_sort_of_call_is_remembered_once_and_without_keys)
{
    struct pl_history history;
    pl_history_init(&history, 0);
    call(&history, "update v1/Pod default/a");
    call(&history, "update v1/Pod default/b");
    call(&history, "patch v1/Pod default/b status");
    call(&history, "GET http://example.com/ x");
    call(&history, "list v1/Pod ");
    call(&history, "odd");
    CHECK_INT(history.calls.count, 3);
    CHECK(pl_map_has(&history.calls, pl_slice_z("web update v1/Pod")));
    CHECK(pl_map_has(&history.calls, pl_slice_z("web patch v1/Pod status")));
    CHECK(pl_map_has(&history.calls, pl_slice_z("web list v1/Pod")));
    for (int i = 0; i < 3000; i++) {
        char what[64];
        snprintf(what, sizeof what, "get v1/Kind%d a", i);
        call(&history, what);
    }
    CHECK_INT(history.calls.count, 1000);
    pl_history_deinit(&history);
}

TEST_MAIN()
