/* The files of a generation: what it remembers, and what counts as a change. */
#include "lua/origin.h"

#include "base/alloc.h"
#include "base/text.h"
#include "lua/script.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[32];

static void enter_folder(void)
{
    strcpy(dir, "/tmp/perilune-XXXXXX");
    REQUIRE(mkdtemp(dir) != NULL && chdir(dir) == 0);
}

static void leave_folder(void)
{
    static const char *const names[] = {"a.lua", "b.lua", "word.lua", "text.yaml", "late.yaml"};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        unlink(names[i]);
    REQUIRE(chdir("/") == 0 && rmdir(dir) == 0);
}

static void save(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static int reads(struct pl_origin *origin, const char *reader, const char *path)
{
    struct pl_buf text = PL_BUF_INIT;
    int code = pl_origin_read(origin, reader, path, &text, NULL, NULL);
    pl_buf_deinit(&text);
    return code;
}

/* a.lua declares "controller a" and reads word.lua; b.lua stands alone. */
static struct pl_origin *load(void)
{
    struct pl_origin *origin = pl_origin_create();
    pl_texts_free(pl_origin_find(origin, ".", NULL));
    CHECK_INT(reads(origin, NULL, "./a.lua"), 0);
    CHECK_INT(reads(origin, NULL, "./b.lua"), 0);
    CHECK_INT(reads(origin, "./a.lua", "./word.lua"), 0);
    pl_origin_add_unit(origin, "controller a", "./a.lua");
    pl_origin_add_unit(origin, "controller b", "./b.lua");
    pl_origin_seal(origin);
    return origin;
}

static void save_all(void)
{
    save("a.lua", "a");
    save("b.lua", "b");
    save("word.lua", "word");
}

TEST(a_generation_reads_each_file_once)
{
    enter_folder();
    save_all();
    struct pl_origin *origin = load();
    struct pl_buf text = PL_BUF_INIT;
    bool is_new = true;
    save("word.lua", "other");
    CHECK_INT(pl_origin_read(origin, "./b.lua", "./word.lua", &text, &is_new, NULL), 0);
    CHECK_SLICE(pl_buf_slice(&text), "word");
    CHECK(!is_new);
    pl_buf_deinit(&text);
    save("c.lua", "");
    char **files = pl_origin_find(origin, ".", NULL);
    CHECK_STR(files[2], "./word.lua");
    CHECK(files[3] == NULL);
    pl_texts_free(files);
    unlink("c.lua");
    pl_origin_unref(origin);
    leave_folder();
}

TEST(a_change_is_one_of_what_read_it)
{
    static const struct {
        const char *file, *text;
        bool a, b;
    } cases[] = {
        {"a.lua", "a", false, false},
        {"a.lua", "a2", true, false},
        {"b.lua", "b2", false, true},
        {"word.lua", "word2", true, false},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        enter_folder();
        save_all();
        struct pl_origin *before = load();
        save(cases[i].file, cases[i].text);
        char *path = NULL;
        CHECK_INT(pl_origin_is_current(before, &path), !cases[i].a && !cases[i].b);
        pl_free(path);
        struct pl_origin *now = load();
        CHECK(pl_origin_is_current(now, NULL));
        CHECK_INT(pl_origin_unit_changed(before, now, "controller a"), cases[i].a);
        CHECK_INT(pl_origin_unit_changed(before, now, "controller b"), cases[i].b);
        CHECK(pl_origin_unit_changed(before, now, "controller unknown"));
        pl_origin_unref(before);
        pl_origin_unref(now);
        leave_folder();
    }
}

TEST(everything_depends_on_what_is_common)
{
    enter_folder();
    save_all();
    struct pl_origin *before = load(), *now = load();
    pl_origin_add_common(before, "text.yaml", pl_slice_z("x: 1"));
    pl_origin_add_common(now, "text.yaml", pl_slice_z("x: 2"));
    CHECK(pl_origin_unit_changed(before, now, "controller a"));
    CHECK(pl_origin_unit_changed(before, now, "controller b"));
    pl_origin_unref(before);
    pl_origin_unref(now);
    leave_folder();
}

TEST(what_was_looked_for_in_vain_is_a_change_once_it_is_there)
{
    enter_folder();
    save_all();
    struct pl_origin *origin = load();
    CHECK_INT(reads(origin, "./a.lua", "./text.yaml"), PL_ENOTFOUND);
    CHECK(!pl_origin_is_file(origin, "./a.lua", "./late.yaml"));
    CHECK(pl_origin_is_current(origin, NULL));
    save("late.yaml", "");
    char *path = NULL;
    CHECK(!pl_origin_is_current(origin, &path));
    CHECK_STR(path, "./late.yaml");
    pl_free(path);
    unlink("late.yaml");
    unlink("b.lua"); /* the listing of the folder has changed */
    CHECK(!pl_origin_is_current(origin, NULL));
    pl_origin_unref(origin);
    leave_folder();
}

TEST(a_folder_without_scripts_is_remembered_as_such)
{
    enter_folder();
    struct pl_origin *origin = pl_origin_create();
    CHECK(pl_origin_find(origin, ".", NULL) == NULL);
    CHECK(pl_origin_is_current(origin, NULL));
    CHECK(pl_origin_find(origin, ".", NULL) == NULL);
    save("a.lua", "a");
    CHECK(!pl_origin_is_current(origin, NULL));
    pl_origin_unref(origin);
    leave_folder();
}

TEST(what_runs_have_read_is_carried_over)
{
    enter_folder();
    save_all();
    save("late.yaml", "1");
    struct pl_origin *before = load();
    CHECK_INT(reads(before, "./a.lua", "./late.yaml"), 0);
    struct pl_origin *same = load();
    CHECK(pl_origin_unit_changed(before, same, "controller a"));
    pl_origin_carry_over(same, before);
    CHECK(!pl_origin_unit_changed(before, same, "controller a"));
    save("late.yaml", "2");
    CHECK(!pl_origin_is_current(same, NULL));
    struct pl_origin *now = load();
    pl_origin_carry_over(now, same);
    CHECK(pl_origin_unit_changed(same, now, "controller a"));
    CHECK(!pl_origin_unit_changed(same, now, "controller b"));
    pl_origin_unref(before);
    pl_origin_unref(same);
    pl_origin_unref(now);
    leave_folder();
}

static void count_part(void *arg, const char *path, bool is_folder)
{
    PL_UNUSED(path);
    PL_UNUSED(is_folder);
    ++*(int *)arg;
}

TEST(a_script_that_reads_ever_more_names_does_not_grow_it_for_ever)
{
    struct pl_origin *origin = pl_origin_create();
    struct pl_buf text = PL_BUF_INIT;
    char name[32];
    bool is_new;
    enter_folder();
    save("a.lua", "a");
    CHECK_INT(pl_origin_read(origin, NULL, "a.lua", &text, &is_new, NULL), 0);
    for (int i = 0; i < 10050; i++) {
        snprintf(name, sizeof name, "missing-%d", i);
        CHECK_INT(pl_origin_read(origin, "a.lua", name, &text, &is_new, NULL), PL_ENOTFOUND);
        if (is_new != (i < 9999)) { /* because of "new" the host compares all its files again */
            TEST_FAIL("%s: new %d", name, is_new);
            break;
        }
    }
    int count = 0;
    pl_origin_each(origin, count_part, &count);
    CHECK_INT(count, 10000);
    save("late.yaml", "b");
    CHECK_INT(pl_origin_read(origin, "a.lua", "late.yaml", &text, &is_new, NULL), 0);
    CHECK_STR(pl_buf_z(&text), "ab"); /* it can be read all the same */
    CHECK(!is_new);
    leave_folder();
    pl_buf_deinit(&text);
    pl_origin_unref(origin);
}

/* Old enough for the resolution of the clock, so that comparing the entry is enough. */
static void age(const char *name)
{
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    REQUIRE(utimensat(AT_FDCWD, name, times, 0) == 0);
}

/* Another text of the same size. */
static void save_in_place(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_INT(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

TEST(texts_are_compared_where_times_say_nothing)
{
    enter_folder();
    save_all();
    struct pl_origin *origin =
        load(); /* just written: the text may change within the same tick of the clock */
    save_in_place("word.lua", "drow");
    CHECK(!pl_origin_is_current(origin, NULL));
    save_in_place("word.lua", "word");
    CHECK(pl_origin_is_current(origin, NULL));
    save_in_place("word.lua", "drow");
    age("word.lua"); /* as after cp -p and rsync -t */
    CHECK(!pl_origin_is_current(origin, NULL));
    save("word.lua", "word");
    CHECK(pl_origin_is_current(origin, NULL));
    pl_origin_unref(origin);
    leave_folder();
}

TEST_MAIN()
