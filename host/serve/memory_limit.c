/* Reads the files of control groups, of the second version and of the first. A container mostly
 * sees its own group as the root; else /proc/self/cgroup says which one it is.
 *
 * Memory can grow by much within two seconds, so it is looked at more often when half is used. */
#include "serve/memory_limit.h"

#include "base/base.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 10)
#define CALM     (2 * PL_SECOND)
#define ALERT    (100 * PL_MS)
#define NO_LIMIT (UINT64_C(1) << 60) /* the first version says "none" as a number near 2^63 */

/* A number at the beginning of a file; false: there is no such file, or no number ("max"). */
static bool memory_limit_read_number(const char *path, uint64_t *number)
{
    struct pl_buf text = PL_BUF_INIT;
    char *end = NULL;
    bool found = pl_file_read(path, FILE_MAX, &text, NULL) == 0;
    errno = 0;
    *number = found ? strtoull(pl_buf_z(&text), &end, 10) : 0;
    found = found && end != pl_buf_z(&text) && errno == 0;
    pl_buf_deinit(&text);
    return found;
}

/* The line "NAME NUMBER" of a file; 0: there is none. */
static uint64_t read_line(const char *path, const char *name)
{
    struct pl_buf text = PL_BUF_INIT;
    uint64_t number = 0;
    size_t len = strlen(name);
    if (pl_file_read(path, FILE_MAX, &text, NULL) == 0)
        for (const char *at = pl_buf_z(&text); at != NULL;) {
            if (strncmp(at, name, len) == 0 && at[len] == ' ')
                number = strtoull(at + len, NULL, 10);
            at = strchr(at, '\n');
            at = at != NULL ? at + 1 : NULL;
        }
    pl_buf_deinit(&text);
    return number;
}

/* The group's path behind this, at the beginning of a line of /proc/self/cgroup; "" for the root.
 */
static void find_group(const char *root, const char *before, char *group, size_t size)
{
    struct pl_buf text = PL_BUF_INIT;
    char path[300];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    group[0] = '\0';
    if (pl_file_read(path, FILE_MAX, &text, NULL) == 0) {
        const char *at = strstr(pl_buf_z(&text), before);
        if (at != NULL)
            snprintf(group, size, "%.*s", (int)strcspn(at + strlen(before), "\n"),
                     at + strlen(before));
    }
    pl_buf_deinit(&text);
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
}

static bool try_folder(struct pl_memory_limit *limit, const char *folder, bool is_v1)
{
    char path[560];
    snprintf(path, sizeof path, "%s/%s", folder, is_v1 ? "memory.limit_in_bytes" : "memory.max");
    if (!memory_limit_read_number(path, &limit->limit) || limit->limit == 0 ||
        limit->limit >= NO_LIMIT)
        return false;
    limit->is_v1 = is_v1;
    snprintf(limit->current, sizeof limit->current, "%.480s/%s", folder,
             is_v1 ? "memory.usage_in_bytes" : "memory.current");
    snprintf(limit->stat, sizeof limit->stat, "%.480s/memory.stat", folder);
    return true;
}

static bool find_limit(struct pl_memory_limit *limit, const char *root)
{
    static const struct {
        const char *mount, *before;
        bool is_v1;
    } versions[] = {{"/sys/fs/cgroup", "0::", false}, {"/sys/fs/cgroup/memory", ":memory:", true}};
    for (size_t i = 0; i < PL_ARRAY_LEN(versions); i++) {
        char group[200], folder[500];
        find_group(root, versions[i].before, group, sizeof group);
        snprintf(folder, sizeof folder, "%.200s%s%s", root, versions[i].mount, group);
        if (try_folder(limit, folder, versions[i].is_v1))
            return true;
        snprintf(folder, sizeof folder, "%.200s%s", root, versions[i].mount);
        if (try_folder(limit, folder, versions[i].is_v1))
            return true;
    }
    return false;
}

static void look(struct pl_timer *timer)
{
    struct pl_memory_limit *limit = PL_CONTAINER_OF(timer, struct pl_memory_limit, timer);
    uint64_t used = 0;
    if (!memory_limit_read_number(limit->current, &used))
        return; /* the group's file cannot be read any more: checking ends */
    uint64_t spare = read_line(limit->stat, limit->is_v1 ? "total_inactive_file" : "inactive_file");
    used -= spare < used ? spare : used;
    if (used < limit->limit / 10 * 8) {
        limit->told = false;
    } else if (used >= limit->limit / 10 * 9 && !limit->told) {
        limit->told = true;
        limit->near(limit->arg, used, limit->limit);
    }
    pl_timer_start(limit->timers, timer, used > limit->limit / 2 ? ALERT : CALM, look);
}

void pl_memory_limit_start(struct pl_memory_limit *limit, struct pl_timers *timers,
                           const char *root, void (*near)(void *arg, uint64_t used, uint64_t limit),
                           void *arg)
{
    *limit = (struct pl_memory_limit){.timers = timers, .near = near, .arg = arg};
    if (find_limit(limit, root))
        pl_timer_start(timers, &limit->timer, CALM, look);
}

void pl_memory_limit_stop(struct pl_memory_limit *limit)
{
    if (limit->timers != NULL)
        pl_timer_stop(limit->timers, &limit->timer);
}
