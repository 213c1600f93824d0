/* Shared by the commands that show a host's answers. */
#pragma once

#include "operate/admin_client.h"

/* -o text|json */
#define PL_OUTPUT_FLAG                                                                             \
    {                                                                                              \
        .name = "output", .letter = 'o', .type = PL_FLAG_CHOICE, .choices = "text|json",           \
        .fallback = "text", .help = "format of the answer"                                         \
    }

/* Members of an answer; empty or 0 when missing. */
struct pl_slice pl_show_text(struct pl_node object, const char *key, struct pl_scratch *scratch);
int64_t pl_show_int(struct pl_node object, const char *key);
/* Prints what two scripts do differently (write/compare.h), and below it what has another value.
 * as: what the other verb is called, "running" or "then". */
void pl_show_difference(struct pl_node difference, const char *as);
/* Writes the answer to stdout, as JSON or by `text`. EIO when writing fails. */
PL_MUST_USE int pl_show(const struct pl_flags *flags, struct pl_node answer,
                        void (*text)(struct pl_node answer), struct pl_err *err);
/* Asks the host that the flags name, and shows its answer. Takes the builder. */
PL_MUST_USE int pl_show_ask(const struct pl_flags *flags, struct pl_build *request,
                            void (*text)(struct pl_node answer), struct pl_err *err);
