#include "base/file.h"

#include "support/test.h"

#include <unistd.h>

static char dir[] = "/tmp/perilune-file-XXXXXX";
static char path[64], other[64];

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void setup(void)
{
    memcpy(strrchr(dir, '-') + 1, "XXXXXX", 6);
    REQUIRE(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/a", dir);
    snprintf(other, sizeof other, "%s/b", dir);
}

static void teardown(void)
{
    unlink(path);
    unlink(other);
    rmdir(dir);
}

TEST(appends_the_whole_file)
{
    setup();
    write_file(path, "hello\n");
    struct pl_buf out = PL_BUF_INIT;
    pl_buf_add_z(&out, "> ");
    CHECK_INT(pl_file_read(path, 6, &out, NULL), 0);
    CHECK_SLICE(pl_buf_slice(&out), "> hello\n");
    pl_buf_deinit(&out);
    teardown();
}

TEST(refuses_a_file_over_the_limit_and_appends_nothing)
{
    setup();
    write_file(path, "1234567");
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    CHECK_INT(pl_file_read(path, 6, &out, &err), PL_ELIMIT);
    CHECK(strstr(err.message, path) != NULL && strstr(err.message, "6 bytes") != NULL);
    CHECK_INT(out.len, 0);
    pl_buf_deinit(&out);
    teardown();
}

TEST(names_the_file_that_is_not_there)
{
    setup();
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    CHECK_INT(pl_file_read(path, 6, &out, &err), PL_EIO);
    CHECK(strstr(err.message, path) != NULL && strstr(err.message, "No such file") != NULL);
    CHECK_INT(pl_file_read(dir, 6, &out, &err), PL_EIO);
    pl_buf_deinit(&out);
    teardown();
}

TEST(a_stamp_changes_when_the_file_is_written_or_replaced)
{
    setup();
    struct pl_file_stamp none = pl_file_stamp(path);
    CHECK_INT(none.inode, 0);
    write_file(path, "one");
    struct pl_file_stamp one = pl_file_stamp(path), again = pl_file_stamp(path);
    CHECK(pl_file_stamp_eq(&one, &again));
    CHECK(!pl_file_stamp_eq(&one, &none));
    write_file(path, "longer");
    struct pl_file_stamp two = pl_file_stamp(path);
    CHECK(!pl_file_stamp_eq(&one, &two));
    write_file(other, "longer");
    REQUIRE(rename(other, path) == 0);
    struct pl_file_stamp three = pl_file_stamp(path);
    CHECK(!pl_file_stamp_eq(&two, &three));
    teardown();
}

TEST_MAIN()
