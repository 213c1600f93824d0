/* Private to flags: the texts that are values of a flag. */
#pragma once

#include "command/flags.h"

#define PL_FLAG_MISFIT 96

/* "true", "1", "false", "0" */
bool pl_flag_truth(const char *text, bool *value);
/* Whether text is one of "a|b|c". */
bool pl_flag_is_choice(const char *choices, const char *text);
/* True if the command has this flag; command NULL: every flag. */
static inline bool pl_flag_is_taken(const struct pl_flag *flag, const char *command)
{
    return *flag->of == '\0' || command == NULL || pl_flag_is_choice(flag->of, command);
}

bool pl_flag_parse_integer(const char *text, int64_t *value);
bool pl_flag_parse_number(const char *text, double *value);
/* NULL when the value is valid, else the expected form, which may lie in room. */
const char *pl_flag_misfit(const struct pl_flag *flag, const char *text, char room[PL_FLAG_MISFIT]);
