/* Reads times as Go's time.Parse does with the layouts of metav1.Time and metav1.MicroTime, with
 * its messages: hours may have one digit, a comma may stand for the point, and times without the
 * layout's fraction may have one. Checked against kube-apiserver 1.37. */
#include "format/units.h"
#include "gotype/typed_scalar.h"

#include "base/calendar.h"
#include "base/text.h"

#define TIME_LAYOUT  "2006-01-02T15:04:05Z07:00"
#define MICRO_LAYOUT "2006-01-02T15:04:05.000000Z07:00"
#define ZERO_SECONDS (-62135596800) /* year 1, which Go writes as null */

enum part { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION, ZONE, LITERAL };

static const struct {
    enum part part;
    char text[8];
    char range[8]; /* "hour out of range"; "": none is told */
    int least, most;
} parts[] = {
    {YEAR, "2006", "", 0, 9999}, {LITERAL, "-", "", 0, 0},        {MONTH, "01", "month", 1, 12},
    {LITERAL, "-", "", 0, 0},    {DAY, "02", "", 0, 99},          {LITERAL, "T", "", 0, 0},
    {HOUR, "15", "hour", 0, 23}, {LITERAL, ":", "", 0, 0},        {MINUTE, "04", "minute", 0, 59},
    {LITERAL, ":", "", 0, 0},    {SECOND, "05", "second", 0, 59}, {FRACTION, ".000000", "", 0, 0},
    {ZONE, "Z07:00", "", 0, 0},
};

struct reading_time {
    struct pl_arena *arena;
    struct pl_slice whole, rest;
    bool micro;
    int value[LITERAL]; /* ZONE: seconds east of UTC; FRACTION: nanoseconds */
    const char *out_of_range;
};

static bool is_digit_at(struct pl_slice text, size_t i)
{
    return i < text.len && pl_is_digit(text.ptr[i]);
}

static void skip(struct reading_time *r, size_t len)
{
    r->rest = pl_slice(r->rest.ptr + len, r->rest.len - len);
}

/* Exactly `len` digits. */
static bool take_number(struct reading_time *r, size_t len, int *value)
{
    *value = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit_at(r->rest, i))
            return false;
        *value = *value * 10 + (r->rest.ptr[i] - '0');
    }
    skip(r, len);
    return true;
}

/* A point or comma and digits, of which nine count. six: exactly so many. */
static bool take_fraction(struct reading_time *r, bool six)
{
    size_t len = 1;
    int nanos = 0;
    if (r->rest.len == 0 || (r->rest.ptr[0] != '.' && r->rest.ptr[0] != ','))
        return false;
    while (is_digit_at(r->rest, len) && (!six || len <= 6))
        len++;
    if (six && len != 7)
        return false;
    for (size_t i = 1; i <= 9; i++)
        nanos = nanos * 10 + (i < len ? r->rest.ptr[i] - '0' : 0);
    r->value[FRACTION] = nanos;
    skip(r, len);
    return true;
}

static bool take_zone(struct reading_time *r)
{
    int hours, minutes;
    char sign = r->rest.len > 0 ? r->rest.ptr[0] : '\0';
    if (sign == 'Z') {
        skip(r, 1);
        return true;
    }
    if (r->rest.len < 6 || (sign != '+' && sign != '-') || r->rest.ptr[3] != ':')
        return false;
    skip(r, 1);
    if (!take_number(r, 2, &hours))
        return false;
    skip(r, 1);
    if (!take_number(r, 2, &minutes))
        return false;
    if (hours > 24 || minutes > 60)
        r->out_of_range = hours > 24 ? "time zone offset hour" : "time zone offset minute";
    r->value[ZONE] = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return true;
}

static bool take_part(struct reading_time *r, size_t i)
{
    int *value = &r->value[parts[i].part];
    switch (parts[i].part) {
    case LITERAL:
        if (r->rest.len == 0 || r->rest.ptr[0] != parts[i].text[0])
            return false;
        skip(r, 1);
        return true;
    case FRACTION:
        if (r->micro)
            return take_fraction(r, true);
        if (is_digit_at(r->rest, 1))
            take_fraction(r, false);
        return true;
    case ZONE:
        return take_zone(r);
    case HOUR:
        return take_number(r, is_digit_at(r->rest, 1) ? 2 : 1, value);
    default:
        return take_number(r, parts[i].part == YEAR ? 4 : 2, value);
    }
}

/* Returns the message; a NULL text: there is none. */
static struct pl_slice read_parts(struct reading_time *r)
{
    for (size_t i = 0; i < PL_ARRAY_LEN(parts); i++) {
        struct pl_slice before = r->rest;
        if (!take_part(r, i))
            return pl_arena_f(r->arena,
                              "parsing time \"%.*s\" as \"%s\": cannot parse \"%.*s\" as \"%s\"",
                              PL_FMT(r->whole), r->micro ? MICRO_LAYOUT : TIME_LAYOUT,
                              PL_FMT(before), parts[i].text);
        int value = r->value[parts[i].part < LITERAL ? parts[i].part : YEAR];
        if (parts[i].range[0] != '\0' && (value < parts[i].least || value > parts[i].most))
            r->out_of_range = parts[i].range;
        if (r->out_of_range != NULL)
            return pl_arena_f(r->arena, "parsing time \"%.*s\": %s out of range", PL_FMT(r->whole),
                              r->out_of_range);
    }
    if (r->rest.len > 0)
        return pl_arena_f(r->arena, "parsing time \"%.*s\": extra text: \"%.*s\"", PL_FMT(r->whole),
                          PL_FMT(r->rest));
    if (r->value[DAY] < 1 || r->value[DAY] > pl_days_in_month(r->value[YEAR], r->value[MONTH]))
        return pl_arena_f(r->arena, "parsing time \"%.*s\": day out of range", PL_FMT(r->whole));
    return (struct pl_slice){NULL, 0};
}

bool pl_typed_time(struct pl_arena *arena, struct pl_tree *value, bool micro,
                   struct pl_slice *error)
{
    struct reading_time r = {
        .arena = arena, .whole = value->text, .rest = value->text, .micro = micro};
    char text[40];
    int64_t ns;
    *error = read_parts(&r);
    if (error->ptr != NULL)
        return false;
    const int *v = r.value;
    int64_t seconds = pl_days_from_date(v[YEAR], v[MONTH], v[DAY]) * 86400 + v[HOUR] * 3600 +
                      v[MINUTE] * 60 + v[SECOND] - v[ZONE];
    if (seconds == ZERO_SECONDS && v[FRACTION] == 0) {
        value->type = PL_NULL;
    } else if (!__builtin_mul_overflow(seconds, PL_SECOND, &ns) &&
               !__builtin_add_overflow(ns, v[FRACTION], &ns)) {
        pl_time_text(ns, micro ? 6 : 0, text);
        value->text = pl_arena_copy(arena, pl_slice_z(text));
    } /* others are outside the range of our nanoseconds, and stay as they are */
    return true;
}
