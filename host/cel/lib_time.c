/* Parts of times and durations. Time zones are UTC and offsets ("+01:00", "-0130"). Names of zones
 * are refused, since they would need the system's database. */
#include "cel/function.h"

#include "base/text.h"

#include <string.h>
#include <time.h>

enum part { YEAR, MONTH, DAY_OF_YEAR, DAY_OF_MONTH, DATE, DAY_OF_WEEK, HOURS, MINUTES, SECONDS };

static bool two_digits(struct pl_slice text, size_t i, int *value)
{
    if (i + 2 > text.len || !pl_is_digit(text.ptr[i]) || !pl_is_digit(text.ptr[i + 1]))
        return false;
    *value = (text.ptr[i] - '0') * 10 + text.ptr[i + 1] - '0';
    return true;
}

/* Seconds to add to UTC. */
static bool offset(struct pl_slice zone, int64_t *seconds)
{
    int hours, minutes;
    *seconds = 0;
    if (zone.len == 0 || pl_slice_eqz(zone, "UTC") || pl_slice_eqz(zone, "Z"))
        return true;
    size_t sign = zone.ptr[0] == '+' || zone.ptr[0] == '-';
    bool has_colon = zone.len > sign + 2 && zone.ptr[sign + 2] == ':';
    if (zone.len != sign + 4 + has_colon || !two_digits(zone, sign, &hours) ||
        !two_digits(zone, sign + 2 + has_colon, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * 60;
    if (zone.ptr[0] == '-')
        *seconds = -*seconds;
    return true;
}

static struct pl_cel lib_time_part_of(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n,
                                      enum part part)
{
    struct tm tm;
    int64_t shift;
    struct pl_slice zone = n > 1 ? args[1].s : pl_slice_z("UTC");
    if (!offset(zone, &shift))
        return pl_cel_fail(eval->arena, "unknown time zone %.*s (UTC and offsets are known)",
                           PL_FMT(zone));
    time_t seconds = (time_t)(args[0].t.seconds + shift);
    if (gmtime_r(&seconds, &tm) == NULL)
        return pl_cel_fail(eval->arena, "timestamp overflow");
    const int values[] = {tm.tm_year + 1900, tm.tm_mon,  tm.tm_yday, tm.tm_mday - 1, tm.tm_mday,
                          tm.tm_wday,        tm.tm_hour, tm.tm_min,  tm.tm_sec};
    return pl_cel_int(values[part]);
}

#define PART(fn_name, part)                                                                        \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        return lib_time_part_of(eval, args, n, part);                                              \
    }

PART(year, YEAR)
PART(month, MONTH)
PART(day_of_year, DAY_OF_YEAR)
PART(day_of_month, DAY_OF_MONTH)
PART(date, DATE)
PART(day_of_week, DAY_OF_WEEK)
PART(hours, HOURS)
PART(minutes, MINUTES)
PART(seconds, SECONDS)

static struct pl_cel milliseconds(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(eval);
    PL_UNUSED(n);
    return pl_cel_int(args[0].t.ns / 1000000);
}

#define WHOLE(fn_name, unit)                                                                       \
    static struct pl_cel fn_name(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)    \
    {                                                                                              \
        PL_UNUSED(eval);                                                                           \
        PL_UNUSED(n);                                                                              \
        return pl_cel_int(args[0].t.seconds / (unit));                                             \
    }

WHOLE(whole_hours, 3600)
WHOLE(whole_minutes, 60)
WHOLE(whole_seconds, 1)

#define BOTH(name, fn) PL_CEL_MEMBER(name, "t:i", fn), PL_CEL_MEMBER(name, "ts:i", fn)

const struct pl_cel_function pl_cel_time_functions[] = {
    BOTH("getFullYear", year),
    BOTH("getMonth", month),
    BOTH("getDayOfYear", day_of_year),
    BOTH("getDayOfMonth", day_of_month),
    BOTH("getDate", date),
    BOTH("getDayOfWeek", day_of_week),
    BOTH("getHours", hours),
    BOTH("getMinutes", minutes),
    BOTH("getSeconds", seconds),
    BOTH("getMilliseconds", milliseconds),
    PL_CEL_MEMBER("getHours", "r:i", whole_hours),
    PL_CEL_MEMBER("getMinutes", "r:i", whole_minutes),
    PL_CEL_MEMBER("getSeconds", "r:i", whole_seconds),
    PL_CEL_MEMBER("getMilliseconds", "r:i", milliseconds),
    {0},
};
