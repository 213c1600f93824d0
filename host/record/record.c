/* The writer of records. Entries are collected in a buffer under a lock. The writer thread takes
 * the buffer when it is large enough or a second old, compresses it, and appends it as one frame.
 * Entries that arrive faster than the thread can write are dropped, and a frame says so: the host
 * must neither wait nor grow.
 *
 * When the file is full, it is copied without its oldest minutes to a file beside it, which is then
 * renamed. This happens at most once per quarter of the size, and a reader always sees a complete
 * file. Frames of scripts and streams are kept while a kept minute needs them. */
#include "record/record.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rand.h"
#include "record/bytes.h"
#include "record/impl.h"
#include "record/veil.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define WAITING_MOST ((size_t)16 << 20) /* limit of unwritten bytes */
#define FLUSH_NS     PL_SECOND

/* One frame in the file. */
struct frame {
    char type;
    uint64_t number;                    /* number of a minute, a generation or a stream */
    uint64_t first_stream, last_stream; /* of a chunk */
    size_t len;                         /* with its head */
};

struct pl_record {
    char *path; /* owned */
    size_t max;
    bool veiled;
    unsigned char key[PL_VEIL_KEY];
    pthread_t thread;
    pthread_mutex_t lock; /* a leaf; protects the following members */
    pthread_cond_t wake;
    struct pl_buf frames;                       /* complete frames to write before the entries */
    struct pl_buf entries;                      /* of this minute */
    uint64_t minute, first_stream, last_stream; /* of the entries */
    uint64_t streams;
    uint64_t generation; /* the last generation whose scripts were added */
    bool gap, stop;
    /* the thread's own */
    int fd; /* -1: writing has failed */
    struct frame *index;
    size_t count;
    size_t size; /* of the file */
    uint64_t last_noted,
        first_live; /* the last stream, and the first stream of the newest scripts */
};

/* ---- frames ---- */

static void put_head(struct pl_buf *out, char type, size_t len)
{
    pl_buf_add_char(out, type);
    for (int i = 0; i < 4; i++)
        pl_buf_add_char(out, (char)(len >> (8 * i) & 0xff));
}

/* Appends the text's length and the text, deflated. */
static void put_packed(struct pl_buf *out, struct pl_slice text)
{
    uLongf room = compressBound((uLong)text.len);
    unsigned char *packed = pl_malloc(room);
    pl_bytes_put_int(out, text.len);
    if (compress2(packed, &room, (const unsigned char *)text.ptr, (uLong)text.len, 6) == Z_OK)
        pl_buf_add(out, packed, room);
    pl_free(packed);
}

static void put_frame(struct pl_buf *out, char type, uint64_t number, struct pl_slice text)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_bytes_put_int(&body, number);
    put_packed(&body, text);
    put_head(out, type, body.len);
    pl_buf_add_slice(out, pl_buf_slice(&body));
    pl_buf_deinit(&body);
}

/* ---- any thread ---- */

static uint64_t minute_now(void)
{
    return (uint64_t)(pl_clock_wall(pl_clock_system()) / (60 * PL_SECOND));
}

/* Makes a frame of the entries. */
static void close_chunk_locked(struct pl_record *record)
{
    if (record->entries.len == 0)
        return;
    struct pl_buf body = PL_BUF_INIT;
    pl_bytes_put_int(&body, record->first_stream);
    pl_bytes_put_int(&body, record->last_stream);
    pl_buf_add_slice(&body, pl_buf_slice(&record->entries));
    put_frame(&record->frames, PL_FRAME_CHUNK, record->minute, pl_buf_slice(&body));
    pl_buf_clear(&record->entries);
    pl_buf_deinit(&body);
}

static void add_frame(struct pl_record *record, char type, uint64_t number, struct pl_slice text)
{
    put_frame(&record->frames, type, number, text);
    pthread_cond_signal(&record->wake);
}

uint64_t pl_record_stream(struct pl_record *record, struct pl_slice text)
{
    pthread_mutex_lock(&record->lock);
    uint64_t number = ++record->streams;
    add_frame(record, PL_FRAME_STREAM, number, text);
    pthread_mutex_unlock(&record->lock);
    return number;
}

void pl_record_scripts(struct pl_record *record, uint64_t generation, struct pl_slice text)
{
    pthread_mutex_lock(&record->lock);
    if (generation > record->generation) {
        record->generation = generation;
        add_frame(record, PL_FRAME_SCRIPTS, generation, text);
    }
    pthread_mutex_unlock(&record->lock);
}

/* There is no room. A gap frame is added once, at its beginning. */
static bool is_full_locked(struct pl_record *record)
{
    if (record->frames.len + record->entries.len < WAITING_MOST) {
        record->gap = false;
        return false;
    }
    if (!record->gap) {
        close_chunk_locked(record);
        put_frame(&record->frames, PL_FRAME_GAP, minute_now(), pl_slice("", 0));
    }
    record->gap = true;
    return true;
}

void pl_record_add(struct pl_record *record, uint64_t stream, struct pl_slice entry)
{
    uint64_t minute = minute_now();
    pthread_mutex_lock(&record->lock);
    if (!is_full_locked(record)) {
        if (minute != record->minute || record->entries.len >= PL_CHUNK_BYTES)
            close_chunk_locked(record);
        if (record->entries.len == 0) {
            record->minute = minute;
            record->first_stream = record->last_stream = stream;
        }
        record->first_stream = stream < record->first_stream ? stream : record->first_stream;
        record->last_stream = stream > record->last_stream ? stream : record->last_stream;
        pl_bytes_put_int(&record->entries, stream);
        pl_bytes_put_text(&record->entries, entry);
        if (record->frames.len >= PL_CHUNK_BYTES / 4)
            pthread_cond_signal(&record->wake);
    }
    pthread_mutex_unlock(&record->lock);
}

const unsigned char *pl_record_key(const struct pl_record *record)
{
    return record->veiled ? record->key : NULL;
}

/* ---- the thread: the file ---- */

static void record_give_up(struct pl_record *record, const char *what)
{
    pl_log(PL_LOG_ERROR, "recording ended: the file can't be written", pl_str("file", record->path),
           pl_str("while", what), pl_str("error", strerror(errno)));
    if (record->fd >= 0)
        close(record->fd);
    record->fd = -1;
}

/* The streams of the chunk: the compressed data begins with them. */
static void look_into_chunk(struct pl_slice packed, struct frame *frame)
{
    struct pl_bytes from = pl_bytes_of(packed);
    unsigned char head[20];
    pl_bytes_int(&from);
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)from.at,
                  .avail_in = (uInt)(from.end - from.at),
                  .next_out = head,
                  .avail_out = sizeof head};
    frame->last_stream = UINT64_MAX; /* all streams, when in doubt */
    if (inflateInit(&z) != Z_OK)
        return;
    int rc = inflate(&z, Z_SYNC_FLUSH);
    struct pl_bytes text = pl_bytes_of(pl_slice((char *)head, sizeof head - z.avail_out));
    if (rc == Z_OK || rc == Z_STREAM_END) {
        frame->first_stream = pl_bytes_int(&text);
        frame->last_stream = pl_bytes_int(&text);
    }
    inflateEnd(&z);
}

static void note_frame(struct pl_record *record, char type, struct pl_slice body)
{
    struct frame frame = {.type = type, .len = PL_FRAME_HEAD + body.len};
    struct pl_bytes from = pl_bytes_of(body);
    frame.number = pl_bytes_int(&from);
    if (type == PL_FRAME_STREAM)
        record->last_noted = frame.number;
    if (type == PL_FRAME_SCRIPTS) /* after their first stream */
        frame.first_stream = record->first_live = record->last_noted;
    if (type == PL_FRAME_CHUNK)
        look_into_chunk(pl_slice(from.at, (size_t)(from.end - from.at)), &frame);
    record->index = pl_reallocarray(record->index, record->count + 1, sizeof *record->index);
    record->index[record->count++] = frame;
    record->size += frame.len;
}

static size_t length_of(const char *head)
{
    size_t len = 0;
    for (int i = 3; i >= 0; i--)
        len = len << 8 | (unsigned char)head[1 + i];
    return len;
}

static void note_frames(struct pl_record *record, struct pl_slice frames)
{
    while (frames.len >= PL_FRAME_HEAD) {
        size_t len = length_of(frames.ptr);
        note_frame(record, *frames.ptr, pl_slice(frames.ptr + PL_FRAME_HEAD, len));
        frames = pl_slice(frames.ptr + PL_FRAME_HEAD + len, frames.len - PL_FRAME_HEAD - len);
    }
}

/* ---- the thread: a full file ---- */

static bool is_of_time(const struct frame *frame)
{
    return frame->type == PL_FRAME_CHUNK || frame->type == PL_FRAME_GAP;
}

/* The first minute from which the rest is small enough. */
static uint64_t first_kept(const struct pl_record *record)
{
    size_t size = record->size;
    uint64_t minute = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct frame *frame = &record->index[i];
        if (!is_of_time(frame))
            continue;
        if (frame->number >= minute && minute != 0 && size <= record->max / 4 * 3)
            return minute;
        size -= frame->len;
        minute = frame->number + 1;
    }
    return minute;
}

/* True if a chunk from that minute on, or the running scripts, need it. */
static uint64_t oldest_stream(const struct pl_record *record, uint64_t minute)
{
    uint64_t oldest = record->first_live;
    for (size_t i = 0; i < record->count; i++) {
        const struct frame *frame = &record->index[i];
        if (frame->type == PL_FRAME_CHUNK && frame->number >= minute &&
            frame->first_stream < oldest)
            oldest = frame->first_stream;
    }
    return oldest;
}

/* True if newer scripts replaced these before that stream. */
static bool is_replaced(const struct pl_record *record, size_t i, uint64_t oldest)
{
    for (size_t j = i + 1; j < record->count; j++)
        if (record->index[j].type == PL_FRAME_SCRIPTS)
            return record->index[j].first_stream <= oldest;
    return false;
}

static bool is_kept(const struct pl_record *record, size_t i, uint64_t minute, uint64_t oldest)
{
    const struct frame *frame = &record->index[i];
    if (is_of_time(frame))
        return frame->number >= minute;
    if (frame->type == PL_FRAME_STREAM)
        return frame->number >= oldest;
    return frame->type != PL_FRAME_SCRIPTS || !is_replaced(record, i, oldest);
}

static bool copy_frame(int from, int to, size_t len)
{
    char chunk[65536];
    while (len > 0) {
        ssize_t n = read(from, chunk, len < sizeof chunk ? len : sizeof chunk);
        if (n <= 0 || !pl_file_put(to, pl_slice(chunk, (size_t)n)))
            return false;
        len -= (size_t)n;
    }
    return true;
}

static bool copy_kept(struct pl_record *record, int from, int to, uint64_t minute)
{
    size_t kept = 0;
    bool *keeps = pl_calloc(record->count + 1, sizeof *keeps);
    uint64_t oldest = oldest_stream(record, minute);
    for (size_t i = 0; i < record->count; i++)
        keeps[i] = is_kept(record, i, minute, oldest);
    size_t magic = sizeof PL_RECORD_MAGIC - 1;
    bool good = lseek(from, 0, SEEK_SET) == 0 && copy_frame(from, to, magic);
    record->size = magic;
    for (size_t i = 0; i < record->count && good; i++) {
        const struct frame frame = record->index[i];
        if (!keeps[i]) {
            good = lseek(from, (off_t)frame.len, SEEK_CUR) >= 0;
            continue;
        }
        good = copy_frame(from, to, frame.len);
        record->index[kept++] = frame;
        record->size += frame.len;
    }
    record->count = kept;
    pl_free(keeps);
    return good;
}

static void drop_oldest(struct pl_record *record)
{
    char *beside = pl_format("%s.new", record->path);
    int to = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = to >= 0 && copy_kept(record, record->fd, to, first_kept(record)) &&
                rename(beside, record->path) == 0;
    if (good) {
        close(record->fd);
        record->fd = to;
    } else {
        record_give_up(record, "its oldest minutes are dropped");
        if (to >= 0) {
            close(to);
            unlink(beside);
        }
    }
    pl_free(beside);
}

static void append(struct pl_record *record, struct pl_slice frames)
{
    if (record->fd < 0 || frames.len == 0)
        return;
    if (!pl_file_put(record->fd, frames)) {
        record_give_up(record, "writing");
        return;
    }
    note_frames(record, frames);
    if (record->size > record->max)
        drop_oldest(record);
}

static void *record_run(void *arg)
{
    struct pl_record *record = arg;
    bool stop = false;
    pthread_setname_np(pthread_self(), "record");
    while (!stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += FLUSH_NS / PL_SECOND;
        pthread_mutex_lock(&record->lock);
        if (!record->stop && record->frames.len < PL_CHUNK_BYTES / 4)
            pthread_cond_timedwait(&record->wake, &record->lock, &until);
        stop = record->stop;
        close_chunk_locked(record);
        struct pl_buf frames = record->frames;
        record->frames = (struct pl_buf)PL_BUF_INIT;
        pthread_mutex_unlock(&record->lock);
        append(record, pl_buf_slice(&frames));
        pl_buf_deinit(&frames);
    }
    return NULL;
}

/* ---- life ---- */

static void put_info(struct pl_record *record, const struct pl_record_options *options)
{
    struct pl_buf info = PL_BUF_INIT;
    pl_buf_add_f(&info, "{\"version\":\"%s\",\"secrets\":%s}",
                 options->version != NULL ? options->version : "",
                 options->secrets ? "true" : "false");
    put_frame(&record->frames, PL_FRAME_INFO, 0, pl_buf_slice(&info));
    pl_buf_deinit(&info);
}

struct pl_record *pl_record_create(const struct pl_record_options *options, struct pl_err *err)
{
    if (options->path == NULL)
        return NULL;
    struct pl_record *record = PL_NEW(struct pl_record);
    record->veiled = !options->secrets;
    record->fd = open(options->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (record->fd < 0 || !pl_file_put(record->fd, pl_slice_z(PL_RECORD_MAGIC)) ||
        pl_rand_bytes(record->key, sizeof record->key) != 0) {
        pl_err_set(err, PL_EIO, "--record: %s: %s", options->path, strerror(errno));
        if (record->fd >= 0)
            close(record->fd);
        pl_free(record);
        return NULL;
    }
    record->path = pl_strdup(options->path);
    record->max = options->max < PL_RECORD_LEAST ? PL_RECORD_LEAST : options->max;
    record->size = sizeof PL_RECORD_MAGIC - 1;
    pthread_mutex_init(&record->lock, NULL);
    pthread_cond_init(&record->wake, NULL);
    put_info(record, options);
    pthread_create(&record->thread, NULL, record_run, record);
    return record;
}

void pl_record_destroy(struct pl_record *record)
{
    if (record == NULL)
        return;
    pthread_mutex_lock(&record->lock);
    record->stop = true;
    pthread_cond_signal(&record->wake);
    pthread_mutex_unlock(&record->lock);
    pthread_join(record->thread, NULL);
    pl_buf_deinit(&record->frames);
    pl_buf_deinit(&record->entries);
    pthread_cond_destroy(&record->wake);
    pthread_mutex_destroy(&record->lock);
    if (record->fd >= 0)
        close(record->fd);
    pl_free(record->index);
    pl_free(record->path);
    pl_free(record);
}
