/* process_* metrics, read from /proc when the page is written. If a file cannot be read (no
 * descriptor is left), its metric keeps its last value. */
#include "serve/process_metrics.h"

#include "base/alloc.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct pl_process_metrics {
    struct pl_metrics *metrics; /* borrowed */
    struct pl_series *cpu, *open_fds, *max_fds, *virtual_bytes, *resident_bytes, *started, *threads;
    double cpu_seen;
};

static struct pl_series *process_metrics_series(struct pl_metrics *metrics,
                                                enum pl_metric_type type, const char *name,
                                                const char *help)
{
    const struct pl_metric_spec spec = {.name = name, .help = help, .type = type};
    return pl_metric_series(pl_metrics_add(metrics, &spec), NULL);
}

/* Seconds since 1970 at which the machine was started; 0: unknown. */
static double boot_time(void)
{
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL)
        return 0;
    char line[256];
    unsigned long long seconds = 0;
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "btime %llu", &seconds) == 1)
            break;
    fclose(file);
    return (double)seconds;
}

static void read_stat(struct pl_process_metrics *process)
{
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return; /* out of descriptors: the last value stays */
    char text[2048];
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *rest = strrchr(text, ')'); /* the name may contain any character */
    unsigned long long user, system, started, bytes;
    long threads, pages;
    if (rest == NULL || sscanf(rest + 1,
                               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d "
                               "%*d %ld %*d %llu %llu %ld",
                               &user, &system, &threads, &started, &bytes, &pages) != 6)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    double cpu = (double)(user + system) / ticks;
    pl_series_add(process->cpu, cpu - process->cpu_seen);
    process->cpu_seen = cpu;
    pl_series_set(process->threads, (double)threads);
    pl_series_set(process->virtual_bytes, (double)bytes);
    pl_series_set(process->resident_bytes, (double)pages * (double)sysconf(_SC_PAGESIZE));
    if (pl_series_value(process->started) == 0)
        pl_series_set(process->started, boot_time() + (double)started / ticks);
}

static void count_descriptors(struct pl_process_metrics *process)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        pl_series_set(process->max_fds, (double)limit.rlim_cur);
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(folder);
    pl_series_set(process->open_fds, (double)(count - 1)); /* without the folder's own */
}

static void process_metrics_collect(void *arg)
{
    read_stat(arg);
    count_descriptors(arg);
}

struct pl_process_metrics *pl_process_metrics_add(struct pl_metrics *metrics)
{
    struct pl_process_metrics *process = PL_NEW(struct pl_process_metrics);
    process->metrics = metrics;
    process->cpu = process_metrics_series(metrics, PL_METRIC_COUNTER, "process_cpu_seconds_total",
                                          "User and system CPU time.");
    process->open_fds = process_metrics_series(metrics, PL_METRIC_GAUGE, "process_open_fds",
                                               "Open file descriptors.");
    process->max_fds = process_metrics_series(metrics, PL_METRIC_GAUGE, "process_max_fds",
                                              "File descriptors that may be open at once.");
    process->virtual_bytes = process_metrics_series(
        metrics, PL_METRIC_GAUGE, "process_virtual_memory_bytes", "Virtual memory.");
    process->resident_bytes = process_metrics_series(
        metrics, PL_METRIC_GAUGE, "process_resident_memory_bytes", "Resident memory.");
    process->started =
        process_metrics_series(metrics, PL_METRIC_GAUGE, "process_start_time_seconds",
                               "When the process started, in seconds since 1970.");
    process->threads =
        process_metrics_series(metrics, PL_METRIC_GAUGE, "process_threads", "Threads.");
    pl_metrics_collect(metrics, process_metrics_collect, process);
    return process;
}

void pl_process_metrics_remove(struct pl_process_metrics *process)
{
    if (process == NULL)
        return;
    pl_metrics_uncollect(process->metrics, process_metrics_collect, process);
    pl_free(process);
}
