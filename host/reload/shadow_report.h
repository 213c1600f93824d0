/* The findings of a shadow so far: keys whose runs differ. Bounded. I/O thread. */
#pragma once

#include "base/map.h"
#include "control/rehearsal.h"
#include "value/build.h"

#define PL_SHADOW_KEYS_MAX  1000
#define PL_SHADOW_BYTES_MAX ((size_t)6 << 20)

/* Zero-initialised. */
struct pl_shadow_report {
    struct pl_map subjects; /* "controller key" -> differences, owned */
    struct pl_map compared; /* compared keys, up to a limit; the values point to the report */
    uint64_t keys;          /* number of compared keys */
    uint64_t left_out;      /* differences over the limits */
    size_t bytes;
};

void pl_shadow_report_deinit(struct pl_shadow_report *report);
/* A difference stays until both runs agree there by doing something. Of two differences the later
 * one counts, unless the earlier one has an effect of both runs. */
void pl_shadow_report_add(struct pl_shadow_report *report, const char *controller,
                          const struct pl_rehearsed *rehearsed);
/* Number of keys that differ. */
size_t pl_shadow_report_count(const struct pl_shadow_report *report);
/* In order of controllers and keys, one line each: {"type":"key","controller","key","error",
 * "differences":[...]} with the objects of compare.h. The line is borrowed. */
void pl_shadow_report_each(const struct pl_shadow_report *report,
                           void (*line)(void *arg, struct pl_doc *line), void *arg);
