/* Flags for people (--help) and for programs: the table, and the values, as documents. */
#include "command/flag_value.h"
#include "command/flags.h"

#include "base/buf.h"
#include "value/build.h"

#include <stdio.h>

void pl_flags_help(struct pl_buf *out, const struct pl_flag_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct pl_flag *flag = &table->flags[i];
        if (!pl_flag_is_taken(flag, table->command))
            continue;
        char left[80];
        int len = flag->letter
                      ? snprintf(left, sizeof(left), "  -%c, --%s", flag->letter, flag->name)
                      : snprintf(left, sizeof(left), "  --%s", flag->name);
        if (flag->type == PL_FLAG_CHOICE)
            snprintf(left + len, sizeof(left) - (size_t)len, " %s", flag->choices);
        else if (*flag->metavar != '\0')
            snprintf(left + len, sizeof(left) - (size_t)len, " %s", flag->metavar);
        pl_buf_add_f(out, "%-44s %s", left, flag->help);
        if (*flag->fallback != '\0')
            pl_buf_add_f(out, " (default %s)", flag->fallback);
        pl_buf_add_z(out, flag->repeatable ? "; may be given more than once\n" : "\n");
    }
}

static void flags_describe(struct pl_build *b, const struct pl_flag *flag)
{
    char letter[2] = {flag->letter, '\0'};
    pl_build_object(b);
    pl_build_put_strz(b, "name", flag->name);
    pl_build_put_strz(b, "help", flag->help);
    if (flag->letter != 0)
        pl_build_put_strz(b, "letter", letter);
    if (*flag->metavar != '\0')
        pl_build_put_strz(b, "metavar", flag->metavar);
    if (*flag->choices != '\0')
        pl_build_put_strz(b, "choices", flag->choices);
    if (*flag->fallback != '\0')
        pl_build_put_strz(b, "default", flag->fallback);
    pl_build_put_bool(b, "repeatable", flag->repeatable);
    pl_build_put_bool(b, "switch", flag->type == PL_FLAG_SWITCH);
    pl_build_end(b);
}

void pl_flags_describe(struct pl_build *b, const struct pl_flag_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (pl_flag_is_taken(&table->flags[i], table->command))
            flags_describe(b, &table->flags[i]);
}

static void flags_build_value(struct pl_build *b, const struct pl_flags *flags,
                              const struct pl_flag *flag)
{
    switch (flag->type) {
    case PL_FLAG_SWITCH:
        pl_build_bool(b, pl_flags_switch(flags, flag->name));
        break;
    case PL_FLAG_INTEGER:
        pl_build_int(b, pl_flags_integer(flags, flag->name));
        break;
    case PL_FLAG_NUMBER:
        pl_build_double(b, pl_flags_number(flags, flag->name));
        break;
    case PL_FLAG_DURATION:
        pl_build_double(b, (double)pl_flags_duration(flags, flag->name) / (double)PL_SECOND);
        break;
    case PL_FLAG_SIZE:
        pl_build_int(b, (int64_t)pl_flags_size(flags, flag->name));
        break;
    case PL_FLAG_TEXT:
    case PL_FLAG_CHOICE:
        pl_build_strz(b, pl_flags_text(flags, flag->name));
        break;
    }
}

void pl_flags_build(struct pl_build *b, const struct pl_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct pl_flag *flag = &flags->table[i];
        char *const *all = flags->values[i].texts;
        if (all == NULL && *flag->fallback == '\0')
            continue;
        pl_build_keyz(b, flag->name);
        if (!flag->repeatable) {
            flags_build_value(b, flags, flag);
            continue;
        }
        pl_build_array(b);
        for (; all != NULL && *all != NULL; all++)
            pl_build_strz(b, *all);
        pl_build_end(b);
    }
}
