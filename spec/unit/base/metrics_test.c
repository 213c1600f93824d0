#include "base/metrics.h"

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

TEST_MAIN()
