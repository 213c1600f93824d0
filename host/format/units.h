/* Units of Kubernetes documents and of Go-style flags. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* "1h30m", "250ms", "1.5s", "-2s", "0"; units ns us ms s m h. Nanoseconds. */
bool pl_duration_parse(struct pl_slice text, int64_t *ns);
/* The same, also with days of 24 hours and weeks: "1w2d12h". Returns 0; PL_EINVAL for a text that
 * is not a duration; PL_ELIMIT for a duration of more than 292 years, which int64 cannot hold. */
PL_MUST_USE int pl_duration_parse_long(struct pl_slice text, int64_t *ns);
/* "500m", "1Gi", "1e3", "2.5k": in base units. */
bool pl_quantity_parse(struct pl_slice text, double *value);
/* RFC 3339 with any fraction and offset: nanoseconds since 1970. An instant before 1677 or after
 * 2262 (Go's zero time, "9999-12-31T23:59:59Z") gives INT64_MIN or INT64_MAX. */
bool pl_time_parse(struct pl_slice text, int64_t *wall_ns);
/* The same for all years from 0000 to 9999, as seconds since 1970 and the nanoseconds after them.
 */
bool pl_time_parse_wide(struct pl_slice text, int64_t *seconds, int *ns);
/* "2026-11-21T09:30:00Z"; digits: of the fraction of a second, 0 to 9. */
void pl_time_text(int64_t wall_ns, int digits, char out[40]);
/* The same for an instant of the years 0000 to 9999; ns: 0 to 999999999. */
void pl_time_text_wide(int64_t seconds, int ns, int digits, char out[40]);
/* "512MiB", "1Gi", "64k", "1000": bytes. */
bool pl_size_parse(struct pl_slice text, uint64_t *bytes);
