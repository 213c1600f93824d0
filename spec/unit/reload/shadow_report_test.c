#include "reload/shadow_report.h"

#include "base/buf.h"
#include "support/test.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdio.h>
#include <string.h>

static void add(struct pl_capture *capture, const char *verb, const char *name, const char *after)
{
    struct pl_err err;
    struct pl_effect effect = {.name = (char *)name, .verb = verb, .is_write = true};
    effect.after = pl_scan_text(pl_slice_z(after), NULL, &err);
    effect.sent = pl_doc_ref(effect.after);
    pl_capture_add(capture, &effect);
}

/* A comparison of the key d/a: what each writes to one ConfigMap; NULL: nothing. at_rest: there is
 * no run of the running controller. */
static void compare(struct pl_shadow_report *report, const char *key, bool at_rest,
                    const char *running, const char *candidate, const char *error)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    if (running != NULL)
        add(a, "update", "v1/ConfigMap d/a", running);
    if (candidate != NULL)
        add(b, "update", "v1/ConfigMap d/a", candidate);
    struct pl_rehearsed rehearsed = {
        .key = pl_slice_z(key), .running = at_rest ? NULL : a, .candidate = b, .error = error};
    pl_shadow_report_add(report, "web", &rehearsed);
    pl_capture_unref(a);
    pl_capture_unref(b);
}

static void on_line(void *arg, struct pl_doc *line)
{
    struct pl_scratch s[3];
    struct pl_node root = pl_doc_root(line);
    pl_buf_add_f(arg, "%.*s%s", PL_FMT(pl_node_str(pl_node_getz(root, "key"), &s[0])),
                 pl_node_is_missing(pl_node_getz(root, "error")) ? "" : "!");
    for (struct pl_iter it = pl_iter(pl_node_getz(root, "differences")); pl_iter_next(&it);)
        pl_buf_add_f(arg, " %.*s/%.*s",
                     PL_FMT(pl_node_str(pl_node_getz(it.value, "running"), &s[1])),
                     PL_FMT(pl_node_str(pl_node_getz(it.value, "candidate"), &s[2])));
    pl_buf_add_char(arg, ';');
}

static void check(const struct pl_shadow_report *report, const char *want)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_shadow_report_each(report, on_line, &text);
    CHECK_STR(pl_buf_z(&text), want);
    pl_buf_deinit(&text);
}

TEST(a_difference_stays_until_both_do_the_same)
{
    struct pl_shadow_report report = {.keys = 0};
    compare(&report, "d/a", true, NULL, "{\"x\":1}", NULL);
    check(&report, "d/a /update;");
    compare(&report, "d/a", false, NULL, NULL, NULL); /* says nothing */
    check(&report, "d/a /update;");
    compare(&report, "d/a", false, "{\"x\":1}", "{\"x\":1}", NULL);
    check(&report, "");
    CHECK_INT(report.bytes, 0);
    CHECK_INT(report.keys, 1);
    pl_shadow_report_deinit(&report);
}

TEST(what_follows_from_a_difference_does_not_hide_it)
{
    struct pl_shadow_report report = {.keys = 0};
    compare(&report, "d/a", false, "{\"x\":1}", "{\"x\":2}", NULL);
    check(&report, "d/a update/update;");
    compare(&report, "d/a", false, NULL, "{\"x\":2}", NULL);
    check(&report, "d/a update/update;");
    pl_shadow_report_deinit(&report);
}

TEST(keys_come_in_order_and_failures_of_the_candidate_are_told)
{
    struct pl_shadow_report report = {.keys = 0};
    compare(&report, "d/b", true, NULL, "{\"x\":1}", NULL);
    compare(&report, "d/a", true, NULL, NULL, "it went wrong");
    compare(&report, "d/c", true, NULL, NULL, NULL);
    check(&report, "d/a!;d/b /update;");
    CHECK_INT(pl_shadow_report_count(&report), 2);
    CHECK_INT(report.keys, 3);
    compare(&report, "d/a", true, NULL, NULL, NULL);
    check(&report, "d/b /update;");
    pl_shadow_report_deinit(&report);
}

TEST(more_keys_than_fit_are_counted)
{
    struct pl_shadow_report report = {.keys = 0};
    for (int i = 0; i < PL_SHADOW_KEYS_MAX + 7; i++) {
        char key[20];
        snprintf(key, sizeof key, "d/%d", i);
        compare(&report, key, true, NULL, "{\"x\":1}", NULL);
    }
    CHECK_INT(pl_shadow_report_count(&report), PL_SHADOW_KEYS_MAX);
    CHECK_INT(report.left_out, 7);
    pl_shadow_report_deinit(&report);
}

TEST_MAIN()
