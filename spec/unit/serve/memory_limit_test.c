#include "serve/memory_limit.h"

#include "base/base.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct fixture {
    char root[64];
    struct virtual_clock clock;
    struct pl_timers timers;
    struct pl_memory_limit limit;
    int told;
    uint64_t used, of;
};

static void put(const struct fixture *f, const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", f->root, path);
    for (char *at = whole + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void near(void *arg, uint64_t used, uint64_t limit)
{
    struct fixture *f = arg;
    f->told++;
    f->used = used;
    f->of = limit;
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){.root = "/tmp/perilune-memory-XXXXXX"};
    REQUIRE(mkdtemp(f->root) != NULL);
    virtual_clock_init(&f->clock, 1000 * PL_SECOND);
    pl_timers_init(&f->timers, &f->clock.clock);
}

static void start(struct fixture *f)
{
    pl_memory_limit_start(&f->limit, &f->timers, f->root, near, f);
}

static void pass(struct fixture *f, int64_t ns)
{
    f->clock.now_ns += ns;
    pl_timers_run(&f->timers);
}

static void end(struct fixture *f)
{
    char command[128];
    pl_memory_limit_stop(&f->limit);
    CHECK(!pl_timers_next(&f->timers, &(int64_t){0}));
    pl_timers_deinit(&f->timers);
    snprintf(command, sizeof command, "rm -rf %s", f->root);
    REQUIRE(system(command) == 0);
}

TEST(it_is_told_at_ninety_percent_once_and_again_after_less_than_eighty)
{
    struct fixture f;
    begin(&f);
    put(&f, "proc/self/cgroup", "0::/pod/a\n");
    put(&f, "sys/fs/cgroup/pod/a/memory.max", "1000000\n");
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "899999\n");
    put(&f, "sys/fs/cgroup/pod/a/memory.stat", "anon 7\ninactive_file 0\n");
    start(&f);
    pass(&f, 2 * PL_SECOND);
    CHECK_INT(f.told, 0);
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "900000\n");
    pass(&f, 100 * PL_MS);
    CHECK_INT(f.told, 1);
    CHECK_INT(f.used, 900000);
    CHECK_INT(f.of, 1000000);
    pass(&f, 100 * PL_MS);
    CHECK_INT(f.told, 1);
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "850000\n");
    pass(&f, 100 * PL_MS);
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "950000\n");
    pass(&f, 100 * PL_MS);
    CHECK_INT(f.told, 1);
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "799999\n");
    pass(&f, 100 * PL_MS);
    put(&f, "sys/fs/cgroup/pod/a/memory.current", "990000\n");
    pass(&f, 100 * PL_MS);
    CHECK_INT(f.told, 2);
    end(&f);
}

TEST(pages_of_files_that_nobody_uses_do_not_count)
{
    struct fixture f;
    begin(&f);
    put(&f, "proc/self/cgroup", "0::/\n");
    put(&f, "sys/fs/cgroup/memory.max", "1000\n");
    put(&f, "sys/fs/cgroup/memory.current", "990\n");
    put(&f, "sys/fs/cgroup/memory.stat", "inactive_file_other 5\ninactive_file 100\n");
    start(&f);
    pass(&f, 2 * PL_SECOND);
    CHECK_INT(f.told, 0);
    put(&f, "sys/fs/cgroup/memory.stat", "inactive_file 90\n");
    pass(&f, 100 * PL_MS);
    CHECK_INT(f.told, 1);
    CHECK_INT(f.used, 900);
    end(&f);
}

TEST(the_first_version_is_understood_and_a_path_that_a_container_does_not_see)
{
    struct fixture f;
    begin(&f);
    put(&f, "proc/self/cgroup", "5:cpu:/\n4:memory:/docker/abc\n0::/\n");
    put(&f, "sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
    put(&f, "sys/fs/cgroup/memory/memory.usage_in_bytes", "950\n");
    put(&f, "sys/fs/cgroup/memory/memory.stat", "total_inactive_file 10\n");
    start(&f);
    pass(&f, 2 * PL_SECOND);
    CHECK_INT(f.told, 1);
    CHECK_INT(f.used, 940);
    end(&f);
}

TEST(without_a_limit_nothing_is_looked_at)
{
    static const char *const none[] = {"max\n", "0\n", "", "9223372036854771712\n", "-1\n"};
    for (size_t i = 0; i < PL_ARRAY_LEN(none); i++) {
        struct fixture f;
        begin(&f);
        put(&f, "sys/fs/cgroup/memory.max", none[i]);
        put(&f, "sys/fs/cgroup/memory/memory.limit_in_bytes", none[i]);
        start(&f);
        CHECK(!pl_timers_next(&f.timers, &(int64_t){0}));
        end(&f);
    }
}

TEST(a_group_that_goes_from_sight_is_left_alone)
{
    struct fixture f;
    begin(&f);
    put(&f, "sys/fs/cgroup/memory.max", "1000\n");
    start(&f);
    pass(&f, 2 * PL_SECOND);
    CHECK_INT(f.told, 0);
    CHECK(!pl_timers_next(&f.timers, &(int64_t){0}));
    end(&f);
}

TEST_MAIN()
