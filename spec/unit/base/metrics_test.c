#include "base/metrics.h"
#include "base/metrics_declare.h"

#include "support/test.h"

#include <pthread.h>

static const double bounds[] = {0.005, 0.1, 1};

static const struct pl_metric_spec events = {
    .name = "perilune_events_total",
    .help = "Events seen\\taken.\nBy kind.",
    .type = PL_METRIC_COUNTER,
    .labels = {"kind", "type"},
    .max_series = 2,
};

static void check_page(struct pl_metrics *metrics, const char *want)
{
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(metrics, &page);
    CHECK_STR(pl_buf_z(&page), want);
    pl_buf_deinit(&page);
}

TEST(counters_and_gauges_are_written_with_their_labels)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(metrics, &events);
    struct pl_series *series =
        pl_metric_series(metric, (const char *const[]){"v1/Pod", "a\"b\\c\nd"});
    pl_series_add(series, 2);
    pl_series_add(series, 0.5);
    struct pl_metric *up = pl_metrics_add(
        metrics, &(struct pl_metric_spec){.name = "up", .help = "Up.", .type = PL_METRIC_GAUGE});
    pl_series_set(pl_metric_series(up, NULL), -7);
    check_page(metrics, "# HELP perilune_events_total Events seen\\\\taken.\\nBy kind.\n"
                        "# TYPE perilune_events_total counter\n"
                        "perilune_events_total{kind=\"v1/Pod\",type=\"a\\\"b\\\\c\\nd\"} 2.5\n"
                        "# HELP up Up.\n# TYPE up gauge\nup -7\n");
    pl_metrics_destroy(metrics);
}

TEST(a_metric_without_series_is_left_out)
{
    struct pl_metrics *metrics = pl_metrics_create();
    pl_metrics_add(metrics, &events);
    check_page(metrics, "");
    pl_metrics_destroy(metrics);
    pl_metrics_destroy(NULL);
}

TEST(the_same_labels_give_the_same_series_and_the_same_name_the_same_metric)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(metrics, &events);
    CHECK(pl_metrics_add(metrics, &events) == metric);
    struct pl_series *a = pl_metric_series(metric, (const char *const[]){"a", NULL});
    CHECK(pl_metric_series(metric, (const char *const[]){"a", ""}) == a);
    CHECK(pl_metric_series(metric, (const char *const[]){"", "a"}) != a);
    pl_metrics_destroy(metrics);
}

TEST(series_beyond_the_limit_share_one_named_other)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(metrics, &events);
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof(name), "k%d", i);
        pl_series_add(pl_metric_series(metric, (const char *const[]){name, "t"}), 1);
    }
    check_page(metrics, "# HELP perilune_events_total Events seen\\\\taken.\\nBy kind.\n"
                        "# TYPE perilune_events_total counter\n"
                        "perilune_events_total{kind=\"k0\",type=\"t\"} 1\n"
                        "perilune_events_total{kind=\"k1\",type=\"t\"} 1\n"
                        "perilune_events_total{kind=\"other\",type=\"other\"} 8\n");
    pl_metrics_destroy(metrics);
}

TEST(histograms_count_up_to_each_bound)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric =
        pl_metrics_add(metrics, &(struct pl_metric_spec){.name = "t",
                                                         .help = "T.",
                                                         .type = PL_METRIC_HISTOGRAM,
                                                         .labels = {"c"},
                                                         .bounds = bounds,
                                                         .bound_count = PL_ARRAY_LEN(bounds)});
    struct pl_series *series = pl_metric_series(metric, (const char *const[]){"x"});
    pl_series_observe(series, 0.005);
    pl_series_observe(series, 0.05);
    pl_series_observe(series, 8);
    CHECK_INT(pl_series_value(series), 3);
    check_page(metrics, "# HELP t T.\n# TYPE t histogram\n"
                        "t_bucket{c=\"x\",le=\"0.005\"} 1\nt_bucket{c=\"x\",le=\"0.1\"} 2\n"
                        "t_bucket{c=\"x\",le=\"1\"} 2\nt_bucket{c=\"x\",le=\"+Inf\"} 3\n"
                        "t_sum{c=\"x\"} 8.055\nt_count{c=\"x\"} 3\n");
    pl_metrics_destroy(metrics);
}

TEST(bounds_have_as_few_digits_as_read_back_the_same)
{
    static const double small[] = {1e-6, 1e-5, 0.1};
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric =
        pl_metrics_add(metrics, &(struct pl_metric_spec){.name = "t",
                                                         .help = "T.",
                                                         .type = PL_METRIC_HISTOGRAM,
                                                         .bounds = small,
                                                         .bound_count = PL_ARRAY_LEN(small)});
    pl_series_observe(pl_metric_series(metric, NULL), 1.0 / 3);
    check_page(metrics, "# HELP t T.\n# TYPE t histogram\n"
                        "t_bucket{le=\"1e-06\"} 0\nt_bucket{le=\"1e-05\"} 0\n"
                        "t_bucket{le=\"0.1\"} 0\nt_bucket{le=\"+Inf\"} 1\n"
                        "t_sum 0.3333333333333333\nt_count 1\n");
    pl_metrics_destroy(metrics);
}

static void collect(void *arg)
{
    pl_series_set(arg, 5);
}

TEST(collectors_run_before_the_page_is_written)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(
        metrics, &(struct pl_metric_spec){.name = "g", .help = "G.", .type = PL_METRIC_GAUGE});
    struct pl_series *series = pl_metric_series(metric, NULL);
    pl_metrics_collect(metrics, collect, series);
    check_page(metrics, "# HELP g G.\n# TYPE g gauge\ng 5\n");
    pl_metrics_uncollect(metrics, collect, series);
    pl_series_set(series, 6);
    check_page(metrics, "# HELP g G.\n# TYPE g gauge\ng 6\n");
    pl_metrics_destroy(metrics);
}

TEST(a_series_that_nobody_holds_leaves_the_page)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(metrics, &events);
    const char *const pods[] = {"Pod", "t"}, *const nodes[] = {"Node", "t"};
    struct pl_series *pod = pl_metric_hold(metric, pods), *node = pl_metric_hold(metric, nodes);
    CHECK(pl_metric_hold(metric, pods) == pod);
    pl_series_add(pod, 3);
    pl_series_release(node);
    pl_series_release(pod); /* one holder is left */
    check_page(metrics, "# HELP perilune_events_total Events seen\\\\taken.\\nBy kind.\n"
                        "# TYPE perilune_events_total counter\n"
                        "perilune_events_total{kind=\"Pod\",type=\"t\"} 3\n");
    pl_series_release(pod);
    pl_series_release(NULL);
    check_page(metrics, "");
    /* A thousand series that were removed leave room; those that are kept for ever stay. */
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "k%d", i);
        pl_series_release(pl_metric_hold(metric, (const char *const[]){name, "t"}));
    }
    pl_metric_series(metric, pods);
    pl_series_release(pl_metric_hold(metric, pods));
    check_page(metrics, "# HELP perilune_events_total Events seen\\\\taken.\\nBy kind.\n"
                        "# TYPE perilune_events_total counter\n"
                        "perilune_events_total{kind=\"Pod\",type=\"t\"} 0\n");
    pl_metrics_destroy(metrics);
}

TEST(what_is_no_utf8_does_not_spoil_the_page)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric = pl_metrics_add(
        metrics,
        &(struct pl_metric_spec){
            .name = "g", .help = "G.", .type = PL_METRIC_GAUGE, .labels = {"a"}, .max_series = 9});
    pl_metric_series(metric, (const char *const[]){"\xc3\xa4 \xff \xc3"});
    pl_metric_series(metric, (const char *const[]){"\xed\xa0\x80 \xf0\x9f\x98\x80"});
    check_page(metrics, "# HELP g G.\n# TYPE g gauge\n"
                        "g{a=\"\xc3\xa4 \xef\xbf\xbd \xef\xbf\xbd\"} 0\n"
                        "g{a=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x98\x80\"} 0\n");
    pl_metrics_destroy(metrics);
}

static struct pl_metric *declare(struct pl_metrics *metrics, const char *name,
                                 enum pl_metric_type type, const char *label, struct pl_err *err)
{
    struct pl_metric_spec spec = {
        .name = name, .help = "Help.", .type = type, .labels = {label}, .bounds = bounds};
    spec.bound_count = type == PL_METRIC_HISTOGRAM ? PL_ARRAY_LEN(bounds) : 0;
    pl_err_clear(err);
    return pl_metrics_declare(metrics, &spec, err);
}

TEST(a_declaration_is_copied_and_the_same_again_is_the_same_metric)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_err err;
    char name[] = "jobs_total", label[] = "queue";
    struct pl_metric *metric = declare(metrics, name, PL_METRIC_COUNTER, label, &err);
    REQUIRE(metric != NULL);
    pl_series_add(pl_metric_series(metric, (const char *const[]){"q"}), 2);
    memset(name, 'x', sizeof(name) - 1);
    memset(label, 'x', sizeof(label) - 1);
    CHECK(declare(metrics, "jobs_total", PL_METRIC_COUNTER, "queue", &err) == metric);
    check_page(metrics, "# HELP jobs_total Help.\n# TYPE jobs_total counter\n"
                        "jobs_total{queue=\"q\"} 2\n");
    pl_metrics_destroy(metrics);
}

TEST(a_declaration_that_contradicts_another_is_refused)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_err err;
    REQUIRE(declare(metrics, "jobs", PL_METRIC_COUNTER, "queue", &err) != NULL);
    CHECK(declare(metrics, "jobs", PL_METRIC_GAUGE, "queue", &err) == NULL);
    CHECK_STR(err.message, "jobs is a counter with the labels {queue} already");
    CHECK(declare(metrics, "jobs", PL_METRIC_COUNTER, "name", &err) == NULL);
    CHECK(declare(metrics, "jobs", PL_METRIC_COUNTER, NULL, &err) == NULL);
    REQUIRE(declare(metrics, "t", PL_METRIC_HISTOGRAM, NULL, &err) != NULL);
    CHECK(declare(metrics, "t_count", PL_METRIC_GAUGE, NULL, &err) == NULL);
    CHECK_STR(err.message, "t_count and t would have series of the same name");
    REQUIRE(declare(metrics, "u_sum", PL_METRIC_GAUGE, NULL, &err) != NULL);
    CHECK(declare(metrics, "u", PL_METRIC_HISTOGRAM, NULL, &err) == NULL);
    pl_metrics_destroy(metrics);
}

TEST(names_that_prometheus_would_not_take_are_refused)
{
    static const char *const names[] = {"", "1a", "a-b", "a b", "\xc3\xa4"};
    static const char *const labels[] = {"", "1a", "a:b", "__a", "\n"};
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_err err;
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        CHECK(declare(metrics, names[i], PL_METRIC_GAUGE, NULL, &err) == NULL);
    for (size_t i = 0; i < PL_ARRAY_LEN(labels); i++)
        CHECK(declare(metrics, "fine", PL_METRIC_GAUGE, labels[i], &err) == NULL);
    CHECK(declare(metrics, "t", PL_METRIC_HISTOGRAM, "le", &err) == NULL);
    struct pl_metric_spec twice = {
        .name = "g", .help = "", .type = PL_METRIC_GAUGE, .labels = {"a", "b", "a"}};
    CHECK(pl_metrics_declare(metrics, &twice, &err) == NULL);
    CHECK_STR(err.message, "the label \"a\" is given twice");
    check_page(metrics, "");
    pl_metrics_destroy(metrics);
}

TEST(the_number_of_declarations_has_a_limit)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_err err;
    char name[16];
    for (int i = 0; i < PL_METRIC_DECLARED; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        REQUIRE(declare(metrics, name, PL_METRIC_GAUGE, NULL, &err) != NULL);
    }
    CHECK(declare(metrics, "more", PL_METRIC_GAUGE, NULL, &err) == NULL);
    CHECK_INT(err.code, PL_ELIMIT);
    CHECK(declare(metrics, "m7", PL_METRIC_GAUGE, NULL, &err) != NULL);
    pl_metrics_destroy(metrics);
}

enum { THREADS = 4, ADDS = 20000 };

static void *add_many(void *arg)
{
    struct pl_metric *metric = arg;
    for (int i = 0; i < ADDS; i++)
        pl_series_observe(pl_metric_series(metric, NULL), i % 2 ? 1 : 2);
    return NULL;
}

TEST(no_update_is_lost_between_threads)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric *metric =
        pl_metrics_add(metrics, &(struct pl_metric_spec){.name = "h",
                                                         .help = "H.",
                                                         .type = PL_METRIC_HISTOGRAM,
                                                         .bounds = bounds,
                                                         .bound_count = PL_ARRAY_LEN(bounds)});
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, add_many, metric) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(pl_series_value(pl_metric_series(metric, NULL)), THREADS * ADDS);
    struct pl_buf page = PL_BUF_INIT;
    pl_metrics_write(metrics, &page);
    CHECK(strstr(pl_buf_z(&page), "h_sum 120000\n") != NULL);
    pl_buf_deinit(&page);
    pl_metrics_destroy(metrics);
}

/* ---- series that are removed ---- */

static void put(struct pl_metric *metric, const char *kind, const char *owner, double value)
{
    pl_metric_put(metric, (const char *const[]){kind, ""}, owner, PL_METRIC_SET, value);
}

TEST(series_go_with_their_owner)
{
    struct pl_metrics *metrics = pl_metrics_create();
    struct pl_metric_spec spec = events;
    spec.name = "sizes";
    spec.type = PL_METRIC_GAUGE;
    spec.max_series = 4;
    struct pl_metric *metric = pl_metrics_declare(metrics, &spec, NULL);
    CHECK_INT(pl_metric_label(metric, "type"), 1);
    CHECK_INT(pl_metric_label(metric, "owner"), -1);
    put(metric, "a", "web d/a", 1);
    put(metric, "b", "web d/a", 2);
    put(metric, "c", "web d/c", 3);
    put(metric, "d", NULL, 4);
    put(metric, "e", "web d/e", 5); /* "other" has no owner */
    CHECK_INT(pl_metrics_owners(metrics), 2);
    put(metric, "b", "jobs d/a", 6); /* another owner from now on */
    put(metric, "b", NULL, 7);       /* which stays the owner */
    pl_metrics_disown(metrics, pl_slice_z("web d/a"));
    pl_metrics_disown(metrics, pl_slice_z("web d/x"));
    pl_metrics_disown_all(metrics, pl_slice_z("web "));
    CHECK_INT(pl_metrics_owners(metrics), 1);
    check_page(metrics, "# HELP sizes Events seen\\\\taken.\\nBy kind.\n# TYPE sizes gauge\n"
                        "sizes{kind=\"b\",type=\"\"} 7\n"
                        "sizes{kind=\"d\",type=\"\"} 4\n"
                        "sizes{kind=\"other\",type=\"other\"} 5\n");
    CHECK(pl_metric_remove(metric, (const char *const[]){"b", ""}));
    CHECK(!pl_metric_remove(metric, (const char *const[]){"b", ""}));
    CHECK_INT(pl_metrics_owners(metrics), 0);
    put(metric, "a", "web d/a", 1); /* freed with the registry */
    pl_metrics_destroy(metrics);
}

TEST_MAIN()
