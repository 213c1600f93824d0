/* Whether a text is a value of a flag: its type, its limits, its choices. Pure. A value that is
 * refused here reaches no command, so limits that a command's code needs stand in the flag's row.
 */
#include "command/flag_value.h"

#include "base/base.h"
#include "base/text.h"
#include "format/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pl_flag_truth(const char *text, bool *value)
{
    *value = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *value || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

bool pl_flag_is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *p = choices; p != NULL; p = strchr(p, '|')) {
        if (*p == '|')
            p++;
        size_t end = strcspn(p, "|");
        if (end == len && memcmp(p, text, len) == 0)
            return true;
        p += end;
    }
    return false;
}

bool pl_flag_parse_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

bool pl_flag_parse_number(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && isfinite(*value);
}

/* "it must be a whole number from 1 to 600" */
static const char *out_of_range(const struct pl_flag *flag, char room[PL_FLAG_MISFIT])
{
    const char *what = flag->type == PL_FLAG_INTEGER ? "a whole number" : "a number";
    if (flag->most > 0)
        snprintf(room, PL_FLAG_MISFIT, "it must be %s from %lld to %lld", what,
                 (long long)flag->least, (long long)flag->most);
    else
        snprintf(room, PL_FLAG_MISFIT, "it must be %s of at least %lld", what,
                 (long long)flag->least);
    return room;
}

/* "24h", "1s", "1ms": limits are whole hours, seconds or milliseconds. */
static void limit_text(int64_t ns, char out[32])
{
    if (ns > 0 && ns % (3600 * PL_SECOND) == 0)
        snprintf(out, 32, "%lldh", (long long)(ns / (3600 * PL_SECOND)));
    else if (ns % PL_SECOND == 0)
        snprintf(out, 32, "%llds", (long long)(ns / PL_SECOND));
    else
        snprintf(out, 32, "%lldms", (long long)(ns / PL_MS));
}

/* "it must be from 1s to 24h" */
static const char *too_long(const struct pl_flag *flag, char room[PL_FLAG_MISFIT])
{
    char least[32], most[32];
    limit_text(flag->least, least);
    limit_text(flag->most, most);
    snprintf(room, PL_FLAG_MISFIT, "it must be from %s to %s", least, most);
    return room;
}

static const char *misfit_integer(const struct pl_flag *flag, const char *text,
                                  char room[PL_FLAG_MISFIT])
{
    int64_t value;
    bool good = pl_flag_parse_integer(text, &value) && value >= flag->least &&
                (flag->most == 0 || value <= flag->most);
    return good ? NULL : out_of_range(flag, room);
}

static const char *misfit_number(const struct pl_flag *flag, const char *text,
                                 char room[PL_FLAG_MISFIT])
{
    double value;
    bool good = pl_flag_parse_number(text, &value) && value >= (double)flag->least &&
                (flag->most == 0 || value <= (double)flag->most);
    return good ? NULL : out_of_range(flag, room);
}

static const char *misfit_duration(const struct pl_flag *flag, const char *text,
                                   char room[PL_FLAG_MISFIT])
{
    int64_t ns;
    bool is_short = pl_duration_parse(pl_slice_z(text), &ns) && ns >= 0;
    if (is_short)
        return ns >= flag->least && (flag->most == 0 || ns <= flag->most) ? NULL
                                                                          : too_long(flag, room);
    if (pl_duration_parse_long(pl_slice_z(text), &ns) != PL_ELIMIT)
        return "it must be a duration such as 30s or 1m30s";
    return flag->most > 0 ? too_long(flag, room) : "it is longer than 292 years";
}

/* Limits are whole MiB. */
static const char *misfit_size(const struct pl_flag *flag, const char *text,
                               char room[PL_FLAG_MISFIT])
{
    uint64_t size;
    if (pl_size_parse(pl_slice_z(text), &size) && size > 0 && size >= (uint64_t)flag->least &&
        (flag->most == 0 || size <= (uint64_t)flag->most))
        return NULL;
    if (flag->least == 0)
        return "it must be a size such as 512MiB";
    int len = snprintf(room, PL_FLAG_MISFIT, "it must be a size of at least %lldMiB",
                       (long long)(flag->least >> 20));
    if (flag->most > 0)
        snprintf(room + len, PL_FLAG_MISFIT - (size_t)len, " and at most %lldMiB",
                 (long long)(flag->most >> 20));
    return room;
}

/* ---- names ---- */

static bool is_object_name(struct pl_slice text, bool dots)
{
    return dots ? text.len <= 253 && pl_text_is_subdomain(text)
                : text.len <= 63 && pl_text_is_label(text);
}

/* NAMESPACE/NAME; the name of a Service has no dots. */
static bool is_object_path(struct pl_slice text, bool dots)
{
    const char *slash = pl_slice_chr(text, '/');
    size_t ns = slash != NULL ? (size_t)(slash - text.ptr) : 0;
    return slash != NULL && is_object_name(pl_slice(text.ptr, ns), false) &&
           is_object_name(pl_slice(slash + 1, text.len - ns - 1), dots);
}

static bool is_service(const char *text)
{
    size_t len = strcspn(text, ":");
    int64_t port = 443;
    bool has_port = text[len] == ':' && pl_is_digit(text[len + 1]) &&
                    pl_flag_parse_integer(text + len + 1, &port);
    return (text[len] == '\0' || has_port) && port >= 1 && port <= 65535 &&
           is_object_path(pl_slice(text, len), false);
}

static const char *misfit_text(const struct pl_flag *flag, const char *text)
{
    struct pl_slice slice = pl_slice_z(text);
    if (*text == '\0')
        return flag->may_be_empty ? NULL : "it must not be empty";
    switch (flag->names) {
    case PL_NAMES_NOTHING:
        return NULL;
    case PL_NAMES_NAME:
        return is_object_name(slice, true) ? NULL : "it must be an object's name such as my-app";
    case PL_NAMES_NAMESPACE:
        return is_object_name(slice, false) ? NULL : "it must be a namespace's name such as my-app";
    case PL_NAMES_OBJECT:
        return is_object_path(slice, true) ? NULL
                                           : "it must be NAMESPACE/NAME such as my-app/certs";
    case PL_NAMES_SERVICE:
        return is_service(text) ? NULL
                                : "it must be NAMESPACE/NAME[:PORT] such as my-app/hooks:443";
    }
    return NULL;
}

const char *pl_flag_misfit(const struct pl_flag *flag, const char *text, char room[PL_FLAG_MISFIT])
{
    bool truth;
    switch (flag->type) {
    case PL_FLAG_TEXT:
        return misfit_text(flag, text);
    case PL_FLAG_SWITCH:
        return pl_flag_truth(text, &truth) ? NULL : "it must be true or false";
    case PL_FLAG_INTEGER:
        return misfit_integer(flag, text, room);
    case PL_FLAG_NUMBER:
        return misfit_number(flag, text, room);
    case PL_FLAG_DURATION:
        return misfit_duration(flag, text, room);
    case PL_FLAG_SIZE:
        return misfit_size(flag, text, room);
    case PL_FLAG_CHOICE:
        return pl_flag_is_choice(flag->choices, text) ? NULL : flag->choices;
    }
    return NULL;
}
