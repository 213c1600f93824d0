/* Entries that were added to a record are read from its file. A cut or damaged file is refused or
 * read up to there, and a full file drops its oldest minutes. */
#include "record/reader.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/rand.h"
#include "record/record.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static struct pl_record *create(size_t max)
{
    struct pl_err err;
    const struct pl_record_options options = {.path = path, .max = max, .version = "1"};
    pl_err_clear(&err);
    snprintf(path, sizeof path, "/tmp/pl-record-%d", (int)getpid());
    struct pl_record *record = pl_record_create(&options, &err);
    CHECK(record != NULL);
    return record;
}

static void write_some(struct pl_record *record)
{
    uint64_t a = pl_record_stream(record, pl_slice_z("{\"generation\":1,\"lane\":0,\"seed\":7}"));
    pl_record_scripts(record, 1, pl_slice_z("{\"paths\":[]}"));
    pl_record_scripts(record, 1, pl_slice_z("{\"paths\":[]}")); /* once is enough */
    uint64_t b = pl_record_stream(record, pl_slice_z("{\"generation\":1,\"lane\":1,\"seed\":8}"));
    pl_record_add(record, a, pl_slice_z("L"));
    pl_record_add(record, b, pl_slice_z("L"));
    pl_record_add(record, a, pl_slice_z("cfirst"));
    pl_record_add(record, b, pl_slice_z("csecond"));
}

TEST(what_was_added_is_read_in_its_order)
{
    struct pl_reader reader;
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_record *record = create(0);
    write_some(record);
    pl_record_destroy(record);
    CHECK_INT(pl_reader_open(&reader, path, &err), 0);
    CHECK_INT(reader.stream_count, 3); /* from 1 */
    CHECK_INT(reader.entry_count, 4);
    CHECK_INT(reader.script_count, 1);
    CHECK_INT(reader.streams[1].seed, 7);
    CHECK(reader.streams[2].whole);
    CHECK(pl_slice_eqz(reader.streams[2].items[1], "csecond"));
    CHECK(!reader.cut && !reader.gap && !reader.secrets);
    CHECK(pl_reader_scripts_of(&reader, 1) != NULL);
    CHECK(pl_reader_scripts_of(&reader, 2) == NULL);
    pl_reader_deinit(&reader);
    unlink(path);
}

TEST(a_file_that_ends_anywhere_is_read_up_to_there)
{
    struct pl_err err;
    struct pl_buf file = PL_BUF_INIT;
    pl_err_clear(&err);
    struct pl_record *record = create(0);
    write_some(record);
    pl_record_destroy(record);
    CHECK_INT(pl_file_read(path, 1 << 20, &file, &err), 0);
    for (size_t len = 0; len < file.len; len++) {
        struct pl_reader reader;
        int rc = pl_reader_parse(&reader, pl_slice(file.ptr, len), &err);
        CHECK(rc == 0 || len < sizeof PL_RECORD_MAGIC - 1);
        pl_reader_deinit(&reader);
    }
    pl_buf_deinit(&file);
    unlink(path);
}

TEST(damage_is_refused_or_harmless)
{
    struct pl_err err;
    struct pl_buf file = PL_BUF_INIT;
    pl_err_clear(&err);
    struct pl_record *record = create(0);
    write_some(record);
    pl_record_destroy(record);
    CHECK_INT(pl_file_read(path, 1 << 20, &file, &err), 0);
    for (size_t at = 0; at < file.len; at++) {
        struct pl_reader reader;
        file.ptr[at] = (char)(file.ptr[at] ^ 0x5a);
        PL_IGNORE(pl_reader_parse(&reader, pl_buf_slice(&file), &err));
        pl_reader_deinit(&reader);
        file.ptr[at] = (char)(file.ptr[at] ^ 0x5a);
    }
    pl_buf_deinit(&file);
    unlink(path);
}

TEST(a_full_file_keeps_to_its_size)
{
    struct pl_rand rand;
    struct stat info;
    struct pl_reader reader;
    struct pl_err err;
    char noise[4000];
    pl_err_clear(&err);
    struct pl_record *record = create(PL_RECORD_LEAST);
    pl_rand_seed(&rand, 1);
    uint64_t stream = pl_record_stream(record, pl_slice_z("{\"generation\":1}"));
    pl_record_scripts(record, 1, pl_slice_z("{}"));
    for (int i = 0; i < 2000; i++) { /* 8 MB that can't be compressed */
        for (size_t j = 0; j < sizeof noise; j++)
            noise[j] = (char)pl_rand_u64(&rand);
        noise[0] = 'c';
        pl_record_add(record, stream, pl_slice(noise, sizeof noise));
    }
    pl_record_destroy(record);
    CHECK_INT(stat(path, &info), 0);
    CHECK((size_t)info.st_size <= PL_RECORD_LEAST);
    CHECK_INT(pl_reader_open(&reader, path, &err), 0);
    CHECK_INT(reader.script_count, 1); /* they are needed by what comes next */
    CHECK(reader.stream_count == 2);
    pl_reader_deinit(&reader);
    unlink(path);
}

TEST(a_file_that_cannot_be_made_says_so)
{
    struct pl_err err;
    const struct pl_record_options options = {.path = "/nowhere/at/all"};
    pl_err_clear(&err);
    CHECK(pl_record_create(&options, &err) == NULL);
    CHECK(strstr(err.message, "/nowhere/at/all") != NULL);
}

TEST(a_huge_file_that_is_no_record_is_not_read)
{
    struct pl_reader reader;
    struct pl_err err;
    pl_err_clear(&err);
    snprintf(path, sizeof path, "/tmp/pl-record-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && ftruncate(fileno(file), (off_t)5 << 30) == 0);
    fclose(file);
    CHECK(pl_reader_open(&reader, path, &err) == PL_EINVAL); /* else it would be too large */
    CHECK(strstr(err.message, "it is not a record") != NULL);
    pl_reader_deinit(&reader);
    unlink(path);
}

TEST_MAIN()
