/* perilune reload --shadow PATH...: asks a running host for a shadow and shows its findings. */
#pragma once

#include "operate/admin_client.h"

#define PL_SHADOW_FLAGS                                                                            \
    {.name = "shadow",                                                                             \
     .type = PL_FLAG_SWITCH,                                                                       \
     .help =                                                                                       \
         "try PATH... beside the running scripts and print what they would write differently"},    \
        {.name = "duration",                                                                       \
         .with = "shadow",                                                                         \
         .type = PL_FLAG_DURATION,                                                                 \
         .fallback = "0s",                                                                         \
         .metavar = "DURATION",                                                                    \
         .help = "for --shadow: how long it lasts; 0s: until interrupted"},                        \
        {.name = "keys",                                                                           \
         .with = "shadow",                                                                         \
         .type = PL_FLAG_INTEGER,                                                                  \
         .fallback = "0",                                                                          \
         .metavar = "N",                                                                           \
         .help = "for --shadow: end when N keys were compared"},                                   \
    {                                                                                              \
        .name = "exit-code", .with = "shadow", .type = PL_FLAG_SWITCH,                             \
        .help = "for --shadow: exit with 1 when something differs"                                 \
    }

/* Returns the exit code. */
int pl_shadow_command(const struct pl_command *self, const struct pl_flags *flags);
