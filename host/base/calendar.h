/* Days of the proleptic Gregorian calendar, counted from 1970-01-01. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pl_date {
    int year, month, day; /* months and days begin with 1 */
};

/* Of the month of that year. */
static inline int pl_days_in_month(int year, int month)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

/* These two count in years that begin in March, so that the leap day is the last one, and in eras
 * of 400 years, which have 146097 days. */
static inline int64_t pl_days_from_date(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static inline struct pl_date pl_date_from_days(int64_t days)
{
    int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    int day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
    int month = (int)(march_month + (march_month < 10 ? 3 : -9));
    return (struct pl_date){(int)(year_of_era + era * 400 + (month <= 2)), month, day};
}
