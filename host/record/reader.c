/* Reads a record frame by frame; see record/impl.h. The file is hostile: a length is checked before
 * memory is allocated, and the unpacked size is limited by the packed size. Entries point into the
 * unpacked chunks. */
#include "record/reader.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "record/impl.h"
#include "record/record.h"
#include "record/tape.h"
#include "value/scan.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define FILE_MOST    ((size_t)4 << 30)
#define BYTES_MOST   ((size_t)8 << 30) /* unpacked */
#define STREAMS_MOST 100000
#define PACKED_MOST  1200 /* deflate reaches at most about 1:1032 */

static int damaged(struct pl_err *err, const char *what)
{
    return pl_err_set(err, PL_ESYNTAX, "it is damaged: %s", what);
}

static int not_a_record(struct pl_err *err)
{
    return pl_err_set(err, PL_EINVAL, "it is not a record of perilune run --record");
}

/* The text after its length. *out is owned: free with pl_free. */
static int unpack(struct pl_reader *reader, struct pl_bytes from, char **out, size_t *len,
                  struct pl_err *err)
{
    size_t packed = (size_t)(from.end - from.at);
    uint64_t want = pl_bytes_int(&from);
    *out = NULL;
    if (from.bad || want > PL_FRAME_MOST || want > (uint64_t)packed * PACKED_MOST)
        return damaged(err, "the length of a part");
    if (reader->bytes + want > BYTES_MOST)
        return pl_err_set(err, PL_ELIMIT, "it is larger than 8 GiB when unpacked");
    uLongf got = (uLongf)want;
    char *text = pl_malloc((size_t)want + 1);
    if (uncompress((unsigned char *)text, &got, (const unsigned char *)from.at,
                   (uLong)(from.end - from.at)) != Z_OK ||
        got != want) {
        pl_free(text);
        return damaged(err, "a part can't be unpacked");
    }
    text[want] = '\0';
    reader->bytes += (size_t)want;
    *out = text;
    *len = (size_t)want;
    return 0;
}

static struct pl_doc *reader_scan(struct pl_slice json, struct pl_err *err)
{
    const struct pl_scan_options options = {.max_bytes = json.len + 1};
    return pl_scan_text(json, &options, err);
}

static int read_info(struct pl_reader *reader, struct pl_slice json, struct pl_err *err)
{
    struct pl_doc *doc = reader_scan(json, err);
    if (doc == NULL)
        return damaged(err, "its description of the host");
    reader->secrets = pl_node_bool(pl_node_getz(pl_doc_root(doc), "secrets"));
    pl_doc_unref(doc);
    pl_free(reader->info);
    reader->info = pl_text_copy(json);
    return 0;
}

static struct pl_reader_stream *stream_at(struct pl_reader *reader, uint64_t number)
{
    if (number == 0 || number > STREAMS_MOST)
        return NULL;
    if (number >= reader->stream_count) {
        size_t count = (size_t)number + 1;
        reader->streams = pl_reallocarray(reader->streams, count, sizeof *reader->streams);
        memset(reader->streams + reader->stream_count, 0,
               (count - reader->stream_count) * sizeof *reader->streams);
        reader->stream_count = count;
    }
    return &reader->streams[number];
}

static int read_stream(struct pl_reader *reader, uint64_t number, struct pl_slice json,
                       struct pl_err *err)
{
    struct pl_reader_stream *stream = stream_at(reader, number);
    struct pl_doc *doc = stream != NULL ? reader_scan(json, err) : NULL;
    int64_t generation = 0, lane = 0, seed = 0;
    if (doc == NULL)
        return damaged(err, "its description of a lane");
    pl_node_int(pl_node_getz(pl_doc_root(doc), "generation"), &generation);
    pl_node_int(pl_node_getz(pl_doc_root(doc), "lane"), &lane);
    pl_node_int(pl_node_getz(pl_doc_root(doc), "seed"), &seed);
    stream->generation = (uint64_t)generation;
    stream->lane = (int)lane;
    stream->seed = (uint64_t)seed;
    pl_doc_unref(doc);
    return 0;
}

static void keep_entry(struct pl_reader *reader, uint64_t number, struct pl_reader_stream *stream,
                       struct pl_slice text)
{
    if (stream->count == stream->cap) {
        stream->cap = stream->cap > 0 ? 2 * stream->cap : 64;
        stream->items = pl_reallocarray(stream->items, stream->cap, sizeof *stream->items);
    }
    if (reader->entry_count == reader->entry_cap) {
        reader->entry_cap = reader->entry_cap > 0 ? 2 * reader->entry_cap : 256;
        reader->entries =
            pl_reallocarray(reader->entries, reader->entry_cap, sizeof *reader->entries);
    }
    if (stream->count == 0)
        stream->whole = *text.ptr == PL_ENTRY_LOADS;
    stream->items[stream->count++] = text;
    reader->entries[reader->entry_count++] = (struct pl_reader_entry){(size_t)number, text};
}

static int read_chunk(struct pl_reader *reader, struct pl_slice chunk, struct pl_err *err)
{
    struct pl_bytes from = pl_bytes_of(chunk);
    pl_bytes_int(&from);
    pl_bytes_int(&from);
    while (!pl_bytes_is_over(&from)) {
        uint64_t number = pl_bytes_int(&from);
        struct pl_slice text = pl_bytes_text(&from);
        struct pl_reader_stream *stream = from.bad ? NULL : stream_at(reader, number);
        if (stream == NULL || text.len == 0)
            return damaged(err, "an entry");
        keep_entry(reader, number, stream, text);
    }
    return from.bad ? damaged(err, "an entry") : 0;
}

static void keep_text(struct pl_reader *reader, char *text)
{
    reader->texts = pl_reallocarray(reader->texts, reader->text_count + 1, sizeof *reader->texts);
    reader->texts[reader->text_count++] = text;
}

static void see_gap(struct pl_reader *reader)
{
    reader->gap = true;
    for (size_t i = 0; i < reader->stream_count; i++)
        reader->streams[i].whole = false;
}

static void keep_scripts(struct pl_reader *reader, uint64_t generation, char *json, size_t len)
{
    reader->scripts =
        pl_reallocarray(reader->scripts, reader->script_count + 1, sizeof *reader->scripts);
    reader->scripts[reader->script_count++] = (struct pl_reader_scripts){generation, json, len};
}

static int read_frame(struct pl_reader *reader, char type, struct pl_slice body, struct pl_err *err)
{
    struct pl_bytes from = pl_bytes_of(body);
    uint64_t number = pl_bytes_int(&from);
    char *text = NULL;
    size_t len = 0;
    if (type == PL_FRAME_GAP) {
        see_gap(reader);
        return 0;
    }
    int rc = unpack(reader, from, &text, &len, err);
    if (rc != 0)
        return rc;
    switch (type) {
    case PL_FRAME_SCRIPTS:
        keep_scripts(reader, number, text, len);
        return 0;
    case PL_FRAME_CHUNK:
        keep_text(reader, text);
        return read_chunk(reader, pl_slice(text, len), err);
    case PL_FRAME_INFO:
        rc = read_info(reader, pl_slice(text, len), err);
        break;
    case PL_FRAME_STREAM:
        rc = read_stream(reader, number, pl_slice(text, len), err);
        break;
    default:
        rc = damaged(err, "a part of an unknown kind");
    }
    pl_free(text);
    return rc;
}

int pl_reader_parse(struct pl_reader *reader, struct pl_slice file, struct pl_err *err)
{
    size_t magic = sizeof PL_RECORD_MAGIC - 1;
    *reader = (struct pl_reader){.info = NULL};
    if (file.len < magic || memcmp(file.ptr, PL_RECORD_MAGIC, magic) != 0)
        return not_a_record(err);
    file = pl_slice(file.ptr + magic, file.len - magic);
    while (file.len >= PL_FRAME_HEAD) {
        size_t len = 0;
        for (int i = 3; i >= 0; i--)
            len = len << 8 | (unsigned char)file.ptr[1 + i];
        if (len > file.len - PL_FRAME_HEAD)
            break;
        int rc = read_frame(reader, *file.ptr, pl_slice(file.ptr + PL_FRAME_HEAD, len), err);
        if (rc != 0)
            return rc;
        file = pl_slice(file.ptr + PL_FRAME_HEAD + len, file.len - PL_FRAME_HEAD - len);
    }
    reader->cut = file.len > 0;
    return 0;
}

/* Looks at the beginning of a file, which may be huge. Only of files: a pipe is read and checked
 * later. */
static bool lacks_magic(const char *path)
{
    char begin[sizeof PL_RECORD_MAGIC - 1];
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? pread(fd, begin, sizeof begin, 0) : -1;
    if (fd >= 0)
        close(fd);
    return len >= 0 &&
           ((size_t)len < sizeof begin || memcmp(begin, PL_RECORD_MAGIC, sizeof begin) != 0);
}

int pl_reader_open(struct pl_reader *reader, const char *path, struct pl_err *err)
{
    struct pl_buf file = PL_BUF_INIT;
    *reader = (struct pl_reader){.info = NULL};
    bool lacks = lacks_magic(path);
    int rc = lacks ? not_a_record(err) : pl_file_read(path, FILE_MOST, &file, err);
    if (rc == 0)
        rc = pl_reader_parse(reader, pl_buf_slice(&file), err);
    if (rc != 0 && (lacks || file.len > 0))
        pl_err_prefix(err, "%s", path);
    pl_buf_deinit(&file);
    return rc;
}

const struct pl_reader_scripts *pl_reader_scripts_of(const struct pl_reader *reader,
                                                     uint64_t generation)
{
    for (size_t i = 0; i < reader->script_count; i++)
        if (reader->scripts[i].generation == generation)
            return &reader->scripts[i];
    return NULL;
}

void pl_reader_deinit(struct pl_reader *reader)
{
    for (size_t i = 0; i < reader->stream_count; i++)
        pl_free(reader->streams[i].items);
    for (size_t i = 0; i < reader->script_count; i++)
        pl_free(reader->scripts[i].json);
    for (size_t i = 0; i < reader->text_count; i++)
        pl_free(reader->texts[i]);
    pl_free(reader->streams);
    pl_free(reader->scripts);
    pl_free(reader->entries);
    pl_free(reader->texts);
    pl_free(reader->info);
    *reader = (struct pl_reader){.info = NULL};
}
