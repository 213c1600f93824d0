/* The log: a line is formatted as a whole and written by one call where possible. Logging must
 * never stop the host. A line that cannot be written is counted and reported later. If nobody reads
 * the pipe, the log waits once, for 100 ms, and not again until the pipe has room.
 *
 * A message or a field may contain any text, also a script's. Line breaks and control characters
 * are escaped or indented, so that no text can pass for another line or another field; bytes that
 * are no UTF-8 are replaced, so that each line can be read as JSON. If a full disk has cut a line,
 * the log ends that line before the next one.
 *
 * The configuration is the only global state here; it is written before threads start. */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READER_MS 100 /* time that the reader of the log has to make room */

/* The one piece of global state beside the signal flag: written before threads start. */
static struct {
    atomic_int level; /* also changed later (pl_log_set_level) */
    bool json;
    int fd;
    /* Number of lost lines, reported as soon as a line can be written. */
    atomic_uint lost;
    atomic_int why;   /* the last errno */
    atomic_bool torn; /* a part of a line was written */
    bool is_pipe;
    atomic_bool stuck;    /* nobody reads the pipe: do not wait for it again */
    pthread_mutex_t room; /* held while writing into a pipe whose room was seen */
    /* A function that gets each line; is_tapped saves the lock when there is none. */
    atomic_bool is_tapped;
    pthread_mutex_t tap_lock;
    pl_log_tap_fn tap;
    void *tap_arg;
} config = {.level = PL_LOG_INFO,
            .fd = STDERR_FILENO,
            .room = PTHREAD_MUTEX_INITIALIZER,
            .tap_lock = PTHREAD_MUTEX_INITIALIZER};

static const char level_names[][8] = {"debug", "info", "warn", "error", "off"};

void pl_log_configure(enum pl_log_level level, bool json, int fd)
{
    atomic_store(&config.level, (int)level);
    config.json = json;
    config.fd = fd;
    struct stat info;
    config.is_pipe = fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
    atomic_store(&config.stuck, false);
}

bool pl_log_enabled(enum pl_log_level level)
{
    return (int)level >= atomic_load_explicit(&config.level, memory_order_relaxed);
}

void pl_log_set_level(enum pl_log_level level)
{
    atomic_store(&config.level, (int)level);
}

enum pl_log_level pl_log_get_level(void)
{
    return (enum pl_log_level)atomic_load(&config.level);
}

const char *pl_log_level_name(enum pl_log_level level)
{
    return level_names[level];
}

bool pl_log_parse_level(const char *text, enum pl_log_level *level)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum pl_log_level)i;
            return true;
        }
    }
    return false;
}

static void add_time(struct pl_buf *out)
{
    int64_t wall = pl_clock_wall(pl_clock_system());
    time_t seconds = (time_t)(wall / PL_SECOND);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    char text[32];
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    pl_buf_add_f(out, "%s.%03dZ", text, (int)(wall % PL_SECOND / PL_MS));
}

/* The length of the control character at s.ptr[i] that terminals obey: 1 byte, or the 2 of U+0080
 * to U+009F, which is appended as an escape; 0 for anything else. */
static size_t add_control(struct pl_buf *out, struct pl_slice s, size_t i)
{
    unsigned char c = (unsigned char)s.ptr[i];
    size_t len = c < 0x20 || c == 0x7f ? 1 : 0;
    if (c == 0xc2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xa0) {
        c = (unsigned char)s.ptr[i + 1];
        len = 2;
    }
    if (len > 0)
        pl_buf_add_f(out, "\\u%04x", c);
    return len;
}

static void add_escaped(struct pl_buf *out, struct pl_slice s)
{
    pl_buf_add_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        size_t control = c == '\n' ? 0 : add_control(out, s, i);
        if (control > 0)
            i += control - 1;
        else if (c == '"' || c == '\\')
            pl_buf_add_f(out, "\\%c", c);
        else if (c == '\n')
            pl_buf_add_z(out, "\\n");
        else
            pl_buf_add_char(out, (char)c);
    }
    pl_buf_add_char(out, '"');
}

/* Words that read well bare stay bare in the text form. */
static bool log_is_plain(struct pl_slice s)
{
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f || c == 0xc2)
            return false;
    }
    return true;
}

static void log_add_value(struct pl_buf *out, const struct pl_field *field, bool json)
{
    switch (field->type) {
    case PL_FIELD_STR:
        if (!json && log_is_plain(field->str))
            pl_buf_add_slice(out, field->str);
        else
            add_escaped(out, field->str);
        break;
    case PL_FIELD_JSON:
        pl_buf_add_slice(out, field->str);
        break;
    case PL_FIELD_INT:
        pl_buf_add_f(out, "%" PRId64, field->integer);
        break;
    case PL_FIELD_NUM:
        if (isfinite(field->number))
            pl_buf_add_f(out, "%.6g", field->number);
        else
            pl_buf_add_z(out, "null");
        break;
    case PL_FIELD_BOOL:
        pl_buf_add_z(out, field->integer ? "true" : "false");
        break;
    }
}

static void format_json(struct pl_buf *out, enum pl_log_level level, const char *message,
                        const struct pl_field *fields, size_t count)
{
    pl_buf_add_z(out, "{\"ts\":\"");
    add_time(out);
    pl_buf_add_f(out, "\",\"level\":\"%s\",\"msg\":", level_names[level]);
    add_escaped(out, pl_slice_z(message));
    for (size_t i = 0; i < count; i++) {
        pl_buf_add_char(out, ',');
        add_escaped(out, pl_slice_z(fields[i].key));
        pl_buf_add_char(out, ':');
        log_add_value(out, &fields[i], true);
    }
    pl_buf_add_z(out, "}\n");
}

/* Text for people. A line that follows a line break is indented, so that no text passes for a line
 * of the log. Control characters are shown, so that no terminal obeys them. */
static void add_plain(struct pl_buf *out, struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        size_t control = c == '\n' || c == '\t' ? 0 : add_control(out, text, i);
        if (control > 0)
            i += control - 1;
        else if (c == '\n')
            pl_buf_add_z(out, i + 1 < text.len ? "\n    " : "");
        else
            pl_buf_add_char(out, c);
    }
}

/* Long texts such as tracebacks go below their line, indented, where people can read them. */
static bool is_multiline(const struct pl_field *field)
{
    return field->type == PL_FIELD_STR && pl_slice_chr(field->str, '\n') != NULL;
}

/* Names of fields may come from scripts: they must not pass for other fields or lines. */
static void log_add_key(struct pl_buf *out, struct pl_slice key)
{
    if (log_is_plain(key))
        pl_buf_add_slice(out, key);
    else
        add_escaped(out, key);
    pl_buf_add_char(out, '=');
}

static void format_text(struct pl_buf *out, enum pl_log_level level, const char *message,
                        const struct pl_field *fields, size_t count)
{
    add_time(out);
    pl_buf_add_f(out, " %-5s ", level_names[level]);
    add_plain(out, pl_slice_z(message));
    for (size_t i = 0; i < count; i++) {
        if (is_multiline(&fields[i]))
            continue;
        pl_buf_add_char(out, ' ');
        log_add_key(out, pl_slice_z(fields[i].key));
        log_add_value(out, &fields[i], false);
    }
    for (size_t i = 0; i < count; i++)
        if (is_multiline(&fields[i])) {
            pl_buf_add_z(out, "\n    ");
            add_plain(out, fields[i].str);
        }
    pl_buf_add_char(out, '\n');
}

/* A reader that has stopped reading must not stop the threads that log; one of them renews the
 * Lease. */
static bool log_has_room(void)
{
    struct pollfd pipe = {.fd = config.fd, .events = POLLOUT};
    int found = poll(&pipe, 1, atomic_load(&config.stuck) ? 0 : READER_MS);
    if (found < 0)
        found = poll(&pipe, 1,
                     0); /* a signal interrupted poll; signals may come more often than READER_MS */
    atomic_store(&config.stuck, found <= 0);
    return found > 0;
}

/* A pipe that has room takes this many bytes without blocking. */
static ssize_t put_piece(const char *ptr, size_t len)
{
    if (!config.is_pipe)
        return write(config.fd, ptr, len);
    ssize_t n = -1;
    pthread_mutex_lock(&config.room);
    if (log_has_room())
        n = write(config.fd, ptr, len < PIPE_BUF ? len : PIPE_BUF);
    else
        errno = EAGAIN;
    pthread_mutex_unlock(&config.room);
    return n;
}

/* Returns false if the line is lost: a log that cannot be written must not stop the host. */
static bool log_put(const struct pl_buf *line)
{
    size_t done = 0;
    while (done < line->len) {
        ssize_t n = put_piece(line->ptr + done, line->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            atomic_store(&config.why, errno);
            /* The line break that should end an older line is still to be written. */
            atomic_store(&config.torn, done > 0 || line->ptr[0] == '\n');
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static void format(struct pl_buf *out, enum pl_log_level level, const char *message,
                   const struct pl_field *fields, size_t count)
{
    if (atomic_exchange(&config.torn, false))
        pl_buf_add_char(out, '\n');
    if (config.json)
        format_json(out, level, message, fields, count);
    else
        format_text(out, level, message, fields, count);
    if (pl_is_utf8(pl_buf_slice(out)))
        return;
    struct pl_buf valid = PL_BUF_INIT;
    pl_utf8_repair(pl_buf_slice(out), &valid);
    pl_buf_deinit(out);
    *out = valid;
}

static void tell_of_lost_lines(void)
{
    unsigned lost = atomic_exchange(&config.lost, 0);
    if (lost == 0)
        return;
    struct pl_buf line = PL_BUF_INIT;
    const struct pl_field fields[] = {pl_int("lines", lost),
                                      pl_str("error", strerror(atomic_load(&config.why)))};
    format(&line, PL_LOG_WARN, "log lines were lost", fields, PL_ARRAY_LEN(fields));
    if (!log_put(&line))
        atomic_fetch_add(&config.lost, lost);
    pl_buf_deinit(&line);
}

void pl_log_set_tap(pl_log_tap_fn tap, void *arg)
{
    pthread_mutex_lock(&config.tap_lock);
    config.tap = tap;
    config.tap_arg = arg;
    atomic_store(&config.is_tapped, tap != NULL);
    pthread_mutex_unlock(&config.tap_lock);
}

static void tell_tap(enum pl_log_level level, struct pl_slice line)
{
    if (!atomic_load_explicit(&config.is_tapped, memory_order_relaxed))
        return;
    pthread_mutex_lock(&config.tap_lock);
    if (config.tap != NULL)
        config.tap(config.tap_arg, level, line);
    pthread_mutex_unlock(&config.tap_lock);
}

void pl_log_fields(enum pl_log_level level, const char *message, const struct pl_field *fields,
                   size_t count)
{
    if (!pl_log_enabled(level))
        return;
    struct pl_buf line = PL_BUF_INIT;
    format(&line, level, message, fields, count);
    tell_tap(level, pl_buf_slice(&line));
    if (log_put(&line))
        tell_of_lost_lines();
    else
        atomic_fetch_add(&config.lost, 1);
    pl_buf_deinit(&line);
}
