/* The five fields of a CronJob's schedule: each must be well-formed and in its range. The messages
 * are those of kube-apiserver's parser. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/units.h"
#include "object/tree.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define FIELDS 5

struct bounds {
    int64_t least, most;
    const char *names; /* "jan,feb,...": the first one is `least` */
};

static const struct bounds bounds[FIELDS] = {
    {0, 59, NULL},
    {0, 23, NULL},
    {1, 31, NULL},
    {1, 12, "jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec"},
    {0, 6, "sun,mon,tue,wed,thu,fri,sat"},
};

struct reader {
    struct pl_arena *arena;
    struct pl_slice why; /* the reason for the refusal; empty: there is none */
};

static bool schedule_fail(struct reader *r, struct pl_slice why)
{
    r->why = why;
    return false;
}

static bool schedule_read_number(struct reader *r, struct pl_slice text, const struct bounds *b,
                                 struct pl_slice whole, int64_t *out)
{
    int64_t at = b->least;
    for (const char *name = b->names; name != NULL; at++) {
        size_t len = strcspn(name, ",");
        if (text.len == len && strncasecmp(text.ptr, name, len) == 0) {
            *out = at;
            return true;
        }
        name = name[len] == ',' ? name + len + 1 : NULL;
    }
    bool digits = text.len > 0 && text.len < 10;
    bool minus = digits && text.len > 1 && text.ptr[0] == '-';
    *out = 0;
    for (size_t i = minus; digits && i < text.len; i++) {
        digits = pl_is_digit(text.ptr[i]);
        *out = *out * 10 + (text.ptr[i] - '0');
    }
    if (!digits)
        return schedule_fail(
            r, pl_arena_f(r->arena,
                          "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": "
                          "invalid syntax",
                          PL_FMT(text), PL_FMT(text)));
    if (minus)
        return schedule_fail(r,
                             pl_arena_f(r->arena, "negative number (%" PRId64 ") not allowed: %.*s",
                                        -*out, PL_FMT(text)));
    PL_UNUSED(whole);
    return true;
}

static size_t schedule_split(struct pl_slice text, char by, struct pl_slice *parts, size_t most)
{
    size_t count = 0, start = 0;
    for (size_t i = 0; i <= text.len; i++)
        if (i == text.len || text.ptr[i] == by) {
            if (count < most)
                parts[count] = pl_slice(text.ptr + start, i - start);
            count++;
            start = i + 1;
        }
    return count;
}

static bool read_range(struct reader *r, struct pl_slice text, const struct bounds *b)
{
    struct pl_slice step[2], ends[2];
    size_t steps = schedule_split(text, '/', step, 2);
    size_t count = schedule_split(step[0], '-', ends, 2);
    int64_t low = b->least, high = b->most, by = 1;
    bool star = pl_slice_eqz(ends[0], "*") || pl_slice_eqz(ends[0], "?");
    if (!star) {
        if (!schedule_read_number(r, ends[0], b, text, &low))
            return false;
        high = low;
        if (count == 2 && !schedule_read_number(r, ends[1], b, text, &high))
            return false;
        if (count > 2)
            return schedule_fail(r, pl_arena_f(r->arena, "too many hyphens: %.*s", PL_FMT(text)));
        if (count == 1 && steps == 2)
            high = b->most;
    }
    if (steps > 2)
        return schedule_fail(r, pl_arena_f(r->arena, "too many slashes: %.*s", PL_FMT(text)));
    if (steps == 2 && !schedule_read_number(r, step[1], &(struct bounds){0, 0, NULL}, text, &by))
        return false;
    if (low < b->least)
        return schedule_fail(r, pl_arena_f(r->arena,
                                           "beginning of range (%" PRId64
                                           ") below minimum (%" PRId64 "): %.*s",
                                           low, b->least, PL_FMT(text)));
    if (high > b->most)
        return schedule_fail(
            r, pl_arena_f(r->arena, "end of range (%" PRId64 ") above maximum (%" PRId64 "): %.*s",
                          high, b->most, PL_FMT(text)));
    if (low > high)
        return schedule_fail(r, pl_arena_f(r->arena,
                                           "beginning of range (%" PRId64
                                           ") beyond end of range (%" PRId64 "): %.*s",
                                           low, high, PL_FMT(text)));
    return by != 0 ||
           schedule_fail(r, pl_arena_f(r->arena, "step of range should be a positive number: %.*s",
                                       PL_FMT(text)));
}

static bool read_field(struct reader *r, struct pl_slice field, const struct bounds *b)
{
    size_t start = 0;
    for (size_t i = 0; i <= field.len; i++)
        if (i == field.len || field.ptr[i] == ',') {
            if (i > start && !read_range(r, pl_slice(field.ptr + start, i - start), b))
                return false;
            start = i + 1;
        }
    return true;
}

static size_t words_of(struct pl_slice text, struct pl_slice *words, struct pl_buf *shown)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len;) {
        size_t start = i;
        while (i < text.len && text.ptr[i] != ' ' && text.ptr[i] != '\t')
            i++;
        if (i > start) {
            struct pl_slice word = pl_slice(text.ptr + start, i - start);
            pl_buf_add_f(shown, "%s%.*s", count > 0 ? " " : "", PL_FMT(word));
            if (count < FIELDS)
                words[count] = word;
            count++;
        }
        i++;
    }
    return count;
}

/* Why Go's time.ParseDuration refuses the text. */
static struct pl_slice duration_fault(struct pl_arena *arena, struct pl_slice text)
{
    size_t i = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    while (i < text.len) {
        size_t number = i;
        while (i < text.len && (pl_is_digit(text.ptr[i]) || text.ptr[i] == '.'))
            i++;
        size_t unit = i;
        while (i < text.len && !pl_is_digit(text.ptr[i]) && text.ptr[i] != '.')
            i++;
        struct pl_slice name = pl_slice(text.ptr + unit, i - unit);
        if (unit == number)
            break;
        if (name.len == 0)
            return pl_arena_f(arena, "time: missing unit in duration \"%.*s\"", PL_FMT(text));
        if (!pl_is_among(name, "ns,us,ms,s,m,h"))
            return pl_arena_f(arena, "time: unknown unit \"%.*s\" in duration \"%.*s\"",
                              PL_FMT(name), PL_FMT(text));
    }
    return pl_arena_f(arena, "time: invalid duration \"%.*s\"", PL_FMT(text));
}

static bool read_descriptor(struct reader *r, struct pl_slice text)
{
    static const char macros[] = "@yearly,@annually,@monthly,@weekly,@daily,@midnight,@hourly";
    const size_t head = sizeof "@every " - 1;
    int64_t ns;
    if (pl_is_among(text, macros))
        return true;
    if (!pl_text_begins(text, "@every "))
        return schedule_fail(r,
                             pl_arena_f(r->arena, "unrecognized descriptor: %.*s", PL_FMT(text)));
    struct pl_slice period = pl_slice(text.ptr + head, text.len - head);
    return pl_duration_parse(period, &ns) ||
           schedule_fail(r, pl_arena_f(r->arena, "failed to parse duration %.*s: %.*s",
                                       PL_FMT(text), PL_FMT(duration_fault(r->arena, period))));
}

static bool read_all(struct reader *r, struct pl_slice text)
{
    struct pl_slice words[FIELDS];
    if (text.ptr[0] == '@')
        return read_descriptor(r, text);
    struct pl_buf shown = PL_BUF_INIT;
    size_t count = words_of(text, words, &shown);
    if (count != FIELDS)
        schedule_fail(r, pl_arena_f(r->arena, "expected exactly %d fields, found %zu: [%s]", FIELDS,
                                    count, pl_buf_z(&shown)));
    for (size_t i = 0; i < FIELDS && count == FIELDS; i++)
        if (!read_field(r, words[i], &bounds[i]))
            break;
    pl_buf_deinit(&shown);
    return r->why.len == 0;
}

void pl_valid_schedule(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *schedule)
{
    struct reader r = {.arena = f->arena};
    struct pl_slice text = pl_tree_text(schedule);
    if (pl_text_find(text, "TZ=") != NULL)
        pl_bad_value(f, at, schedule,
                     "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (!read_all(&r, text))
        pl_bad_value(f, at, schedule, "%.*s", PL_FMT(r.why));
}
