#include "unit/control/bed.h"

#include "write/compare.h"
#include "base/alloc.h"
#include "value/write.h"

static struct pl_doc *doc_or_null(const char *json)
{
    return json != NULL ? bed_doc(json) : NULL;
}

static void write_to(struct pl_capture *capture, const char *name, const char *verb,
                     const char *before, const char *after, const char *sent)
{
    struct pl_effect effect = {.name = (char *)name,
                               .verb = verb,
                               .is_write = true,
                               .is_secret = strncmp(name, "v1/Secret", 9) == 0,
                               .before = doc_or_null(before),
                               .after = doc_or_null(after),
                               .sent = doc_or_null(sent)};
    pl_capture_add(capture, &effect);
}

static void differs(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_difference_build(b, running, candidate, NULL);
    pl_build_write(arg, b, PL_WRITE_COMPACT);
    pl_buf_add_char(arg, '\n');
}

static void agrees(void *arg, const struct pl_effect *running, const struct pl_effect *candidate)
{
    CHECK_STR(running->name, candidate->name);
    pl_buf_add_f(arg, "agrees %s\n", candidate->name);
}

static void check(const struct pl_capture *running, const struct pl_capture *candidate,
                  const char *want)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_compare(running, candidate, differs, agrees, &text);
    CHECK_STR(pl_buf_z(&text), want);
    pl_buf_deinit(&text);
}

TEST(the_same_result_or_the_same_request_is_no_difference)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    write_to(a, "v1/Pod d/p", "patch", "{}", "{\"x\":1}", "{\"x\":1}");
    write_to(b, "v1/Pod d/p", "patch", "{\"y\":1}", "{\"x\":1,\"y\":1}", "{\"x\":1}");
    write_to(a, "v1/Pod d/q", "patch", "{\"y\":0}", "{\"y\":2}", "{\"y\":2}");
    write_to(b, "v1/Pod d/q", "patch", "{\"y\":2}", "{\"y\":2}", "{\"y\":2,\"z\":null}");
    pl_capture_note(a, "event", "event Normal R", pl_slice_z("note"));
    pl_capture_note(b, "event", "event Normal R", pl_slice_z("note"));
    check(a, b, "agrees v1/Pod d/p\nagrees v1/Pod d/q\nagrees event Normal R\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
}

#define READY_AT "{\"conditions\":[{\"type\":\"Ready\",\"at\":\"2026-01-02T03:04:%s\"}],\"n\":%d}"

TEST(times_that_are_nearly_the_same_are_no_difference)
{
    static const struct {
        const char *seconds;
        int n;
        bool same;
    } others[] = {{"59Z", 1, true},
                  {"30.123456Z", 1, true},
                  {"59+01:00", 1, false},
                  {"59Z", 2, false},
                  {"not a time Z", 1, false}};
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++) {
        char one[200], other[200];
        struct pl_effect a = {.verb = "update", .is_write = true};
        struct pl_effect b = a;
        snprintf(one, sizeof one, READY_AT, "05Z", 1);
        snprintf(other, sizeof other, READY_AT, others[i].seconds, others[i].n);
        a.sent = bed_doc(one);
        b.sent = bed_doc(other);
        CHECK_INT(pl_effect_eq(&a, &b), others[i].same);
        pl_doc_unref(a.sent);
        pl_doc_unref(b.sent);
    }
}

TEST(two_times_mean_now_when_they_are_at_most_a_minute_apart)
{
    static const struct {
        const char *one, *other;
        bool same;
    } times[] = {
        {"2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z", true},
        {"2026-01-02T03:04:05Z", "2026-01-02T03:05:06Z", false},
        {"2026-01-02T03:04:05.5Z", "2026-01-02T03:05:05.6Z", false},
        {"2026-01-02T03:04:05Z", "2026-01-02T04:04:06+01:00", true},
        {"0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", false},
        {"2026-01-02T03:04:05Z", "now", false},
    };
    for (size_t i = 0; i < 2 * PL_ARRAY_LEN(times); i++) {
        char one[64], other[64];
        snprintf(one, sizeof one, "\"%s\"", times[i / 2].one);
        snprintf(other, sizeof other, "\"%s\"", times[i / 2].other);
        struct pl_effect a = {.verb = "update", .sent = bed_doc(i % 2 ? one : other)};
        struct pl_effect b = {.verb = "update", .sent = bed_doc(i % 2 ? other : one)};
        CHECK_INT(pl_effect_eq(&a, &b), times[i / 2].same);
        pl_doc_unref(a.sent);
        pl_doc_unref(b.sent);
    }
}

TEST(what_was_created_and_written_again_may_hold_the_servers_defaults)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    write_to(a, "v1/Pod d/p", "create", NULL, "{\"n\":1}", "{\"n\":1}");
    write_to(b, "v1/Pod d/p", "create", NULL, "{\"n\":1}", "{\"n\":1}");
    write_to(a, "v1/Pod d/p", "update", NULL, "{\"n\":2,\"d\":0}", "{\"n\":2,\"d\":0}");
    write_to(b, "v1/Pod d/p", "update", NULL, "{\"n\":2}", "{\"n\":2}");
    check(a, b, "agrees v1/Pod d/p\n");
    check(b, a,
          "{\"what\":\"v1/Pod d/p\",\"candidate\":\"create\",\"running\":\"create\",\"changes\":"
          "[{\"path\":\"d\",\"new\":\"0\"}]}\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
    a = pl_capture_create();
    b = pl_capture_create();
    write_to(a, "v1/Pod d/p", "create", NULL, "{\"n\":1,\"d\":0}", "{\"n\":1,\"d\":0}");
    write_to(b, "v1/Pod d/p", "create", NULL, "{\"n\":1}", "{\"n\":1}");
    check(a, b,
          "{\"what\":\"v1/Pod d/p\",\"candidate\":\"create\",\"running\":\"create\",\"changes\":"
          "[{\"path\":\"d\",\"old\":\"0\"}]}\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
}

TEST(what_only_one_does_is_told_by_what_it_changes)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    write_to(a, "v1/Pod d/p", "delete", "{\"x\":1}", NULL, NULL);
    write_to(b, "v1/Pod d/q", "update", "{\"x\":1,\"y\":[1]}", "{\"x\":\"\xc3\xa9\",\"y\":[1]}",
             "{}");
    write_to(b, "v1/Pod d/r", "create", NULL, "{\"spec\":{\"b\":1,\"a\":2}}", "{}");
    check(a, b,
          "{\"what\":\"v1/Pod d/q\",\"candidate\":\"update\",\"running\":\"\",\"changes\":"
          "[{\"path\":\"x\",\"old\":\"1\",\"new\":\"\\\"\xc3\xa9\\\"\"}]}\n"
          "{\"what\":\"v1/Pod d/r\",\"candidate\":\"create\",\"running\":\"\",\"changes\":"
          "[{\"path\":\"spec\",\"new\":\"{\\\"a\\\":2,\\\"b\\\":1}\"}]}\n"
          "{\"what\":\"v1/Pod d/p\",\"candidate\":\"\",\"running\":\"delete\",\"changes\":[]}\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
}

TEST(what_both_do_is_told_by_what_each_makes)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    write_to(a, "v1/Pod d/p", "update", "{\"x\":0}", "{\"x\":1}", "{\"x\":1}");
    write_to(b, "v1/Pod d/p", "update", "{\"x\":0}", "{\"x\":2}", "{\"x\":2}");
    write_to(a, "v1/Pod d/q", "update", "{\"x\":0}", "{\"x\":1}", "{\"x\":1}");
    write_to(b, "v1/Pod d/q", "patch", "{\"x\":0}", "{\"x\":1}", "{\"x\":1}");
    pl_capture_note(a, "event", "event Normal R", pl_slice_z("one"));
    pl_capture_note(b, "event", "event Normal R", pl_slice_z("two"));
    check(
        a, b,
        "{\"what\":\"v1/Pod d/p\",\"candidate\":\"update\",\"running\":\"update\",\"changes\":"
        "[{\"path\":\"x\",\"old\":\"1\",\"new\":\"2\"}]}\n"
        "{\"what\":\"v1/Pod d/q\",\"candidate\":\"patch\",\"running\":\"update\",\"changes\":[]}\n"
        "{\"what\":\"event Normal R\",\"candidate\":\"event\",\"running\":\"event\",\"changes\":"
        "[{\"path\":\"\",\"old\":\"\\\"one\\\"\",\"new\":\"\\\"two\\\"\"}]}\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
}

TEST(arrays_are_told_as_a_whole_and_of_many_fields_the_first)
{
    struct pl_capture *a = pl_capture_create(), *b = pl_capture_create();
    struct pl_buf before = PL_BUF_INIT, after = PL_BUF_INIT, text = PL_BUF_INIT;
    write_to(a, "v1/Pod d/p", "patch", NULL, NULL, "[1]");
    write_to(b, "v1/Pod d/p", "patch", NULL, NULL, "{\"n\":1}");
    check(a, b,
          "{\"what\":\"v1/Pod d/p\",\"candidate\":\"patch\",\"running\":\"patch\",\"changes\":"
          "[{\"path\":\"\",\"old\":\"[1]\",\"new\":\"{\\\"n\\\":1}\"}]}\n");
    pl_capture_unref(a);
    pl_capture_unref(b);
    a = pl_capture_create();
    b = pl_capture_create();
    for (int i = 0; i < 40; i++) {
        pl_buf_add_f(&before, "%s\"f%d\":1", i == 0 ? "{" : ",", i);
        pl_buf_add_f(&after, "%s\"f%d\":2", i == 0 ? "{" : ",", i);
    }
    pl_buf_add_char(&before, '}');
    pl_buf_add_char(&after, '}');
    write_to(a, "v1/Pod d/p", "update", NULL, pl_buf_z(&before), pl_buf_z(&before));
    write_to(b, "v1/Pod d/p", "update", NULL, pl_buf_z(&after), pl_buf_z(&after));
    pl_compare(a, b, differs, agrees, &text);
    CHECK(strstr(pl_buf_z(&text), ",\"more\":true}\n") != NULL);
    pl_buf_deinit(&before);
    pl_buf_deinit(&after);
    pl_buf_deinit(&text);
    pl_capture_unref(a);
    pl_capture_unref(b);
}

TEST(of_a_key_at_rest_writes_alone_are_compared)
{
    struct pl_capture *b = pl_capture_create();
    pl_capture_note(b, "event", "event Normal R", pl_slice_z("two"));
    check(NULL, b, "");
    pl_capture_unref(b);
}

TEST(values_of_secrets_are_sizes_and_long_values_are_cut)
{
    struct pl_capture *b = pl_capture_create();
    char *long_text = pl_format("{\"x\":\"%0300d\"}", 0);
    write_to(b, "v1/Secret d/s", "update", "{\"data\":{\"a\":\"AAAA\"},\"type\":\"t\"}",
             "{\"data\":{\"a\":\"BBBBBBBB\",\"b\":\"CC\"},\"stringData\":{\"c\":\"plain\"},"
             "\"type\":\"u\"}",
             "{}");
    struct pl_buf text = PL_BUF_INIT;
    pl_compare(NULL, b, differs, agrees, &text);
    const char *got = pl_buf_z(&text);
    CHECK(strstr(got, "{\"path\":\"data.a\",\"old\":\"<4 bytes>\",\"new\":\"<8 bytes>\"}") != NULL);
    CHECK(strstr(got, "{\"path\":\"stringData\",\"new\":\"{\\\"c\\\":<5 bytes>}\"}") != NULL);
    CHECK(strstr(got, "{\"path\":\"type\",\"old\":\"\\\"t\\\"\",\"new\":\"\\\"u\\\"\"}") != NULL);
    CHECK(strstr(got, "AAAA") == NULL && strstr(got, "BBBB") == NULL);
    CHECK(strstr(got, "plain") == NULL);
    pl_buf_clear(&text);
    write_to(b, "v1/Pod d/p", "create", NULL, long_text, "{}");
    pl_compare(NULL, b, differs, agrees, &text);
    CHECK(strstr(pl_buf_z(&text), "000...\"") != NULL);
    CHECK(text.len < 1000);
    pl_buf_deinit(&text);
    pl_free(long_text);
    pl_capture_unref(b);
}

TEST_MAIN()
