#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

/* The one piece of global state beside the signal flag: written before threads start. */
static struct {
    enum pl_log_level level;
    bool json;
    int fd;
} config = {PL_LOG_INFO, false, STDERR_FILENO};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void pl_log_configure(enum pl_log_level level, bool json, int fd)
{
    config.level = level;
    config.json = json;
    config.fd = fd;
}

bool pl_log_enabled(enum pl_log_level level)
{
    return level >= config.level;
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

static void add_escaped(struct pl_buf *out, struct pl_slice s)
{
    pl_buf_add_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\')
            pl_buf_add_f(out, "\\%c", c);
        else if (c == '\n')
            pl_buf_add_z(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            pl_buf_add_f(out, "\\u%04x", c);
        else
            pl_buf_add_char(out, (char)c);
    }
    pl_buf_add_char(out, '"');
}

/* Words that read well bare stay bare in the text form. */
static bool is_plain(struct pl_slice s)
{
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f)
            return false;
    }
    return true;
}

static void add_value(struct pl_buf *out, const struct pl_field *field, bool json)
{
    switch (field->type) {
    case PL_FIELD_STR:
        if (!json && is_plain(field->str))
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
        add_value(out, &fields[i], true);
    }
    pl_buf_add_z(out, "}\n");
}

/* Text as people read it: what follows a line break is indented, so that no text passes for a line
 * of the log, and control characters are shown, not obeyed by a terminal. */
static void add_plain(struct pl_buf *out, struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n')
            pl_buf_add_z(out, i + 1 < text.len ? "\n    " : "");
        else if (c != '\t' && (c < 0x20 || c == 0x7f))
            pl_buf_add_f(out, "\\u%04x", c);
        else
            pl_buf_add_char(out, (char)c);
    }
}

/* Long texts such as tracebacks go below their line, indented, where people can read them. */
static bool is_multiline(const struct pl_field *field)
{
    return field->type == PL_FIELD_STR &&
           memchr(field->str.ptr ? field->str.ptr : "", '\n', field->str.len) != NULL;
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
        pl_buf_add_f(out, " %s=", fields[i].key);
        add_value(out, &fields[i], false);
    }
    for (size_t i = 0; i < count; i++)
        if (is_multiline(&fields[i])) {
            pl_buf_add_z(out, "\n    ");
            add_plain(out, fields[i].str);
        }
    pl_buf_add_char(out, '\n');
}

void pl_log_fields(enum pl_log_level level, const char *message, const struct pl_field *fields,
                   size_t count)
{
    if (!pl_log_enabled(level))
        return;
    struct pl_buf line = PL_BUF_INIT;
    if (config.json)
        format_json(&line, level, message, fields, count);
    else
        format_text(&line, level, message, fields, count);
    /* A log that cannot be written must not stop the host; there is nowhere to say so. */
    ssize_t ignored = write(config.fd, line.ptr, line.len);
    PL_UNUSED(ignored);
    pl_buf_deinit(&line);
}
