/* Flags of all commands, from three sources: the command line overrides the environment, and that
 * overrides the --config file. Values are checked as they are read, and an error names its source,
 * the expected value, and the flag that was probably meant. Texts are copied; later code does not
 * refer to argv or the environment. */
#include "command/flags.h"
#include "base/text.h"
#include "command/flag_value.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/nearest.h"
#include "format/units.h"

#include <stdio.h>
#include <string.h>

#define MAX_FLAGS 128

static size_t flags_find(const struct pl_flags *flags, struct pl_slice name)
{
    for (size_t i = 0; i < flags->count; i++)
        if (pl_slice_eqz(name, flags->table[i].name))
            return i;
    return flags->count;
}

static size_t flags_at(const struct pl_flags *flags, const char *name)
{
    size_t i = flags_find(flags, pl_slice_z(name));
    PL_REQUIRE(i < flags->count);
    return i;
}

static void flags_append(char ***array, size_t *count, const char *text)
{
    *array = pl_reallocarray(*array, *count + 2, sizeof(char *));
    (*array)[(*count)++] = pl_strdup(text);
    (*array)[*count] = NULL;
}

/* ---- values ---- */

static bool takes_value(const struct pl_flag *flag)
{
    return flag->type != PL_FLAG_SWITCH;
}

/* source: "--lanes", "PERILUNE_LANES" or "FILE: flags.lanes". */
static int flags_put(struct pl_flags *flags, size_t i, const char *text, const char *source,
                     struct pl_err *err)
{
    const struct pl_flag *flag = &flags->table[i];
    struct pl_flag_value *value = &flags->values[i];
    char room[PL_FLAG_MISFIT];
    const char *problem = pl_flag_misfit(flag, text, room);
    if (problem != NULL)
        return pl_err_set(err, PL_EINVAL, "%s: \"%s\": %s%s", source, text,
                          flag->type == PL_FLAG_CHOICE ? "it must be one of " : "", problem);
    if (!pl_flag_is_taken(flag, flags->command))
        return 0;
    if (!flag->repeatable && value->count > 0) {
        pl_free(value->texts[--value->count]);
        value->texts[value->count] = NULL;
    }
    flags_append(&value->texts, &value->count, text);
    pl_free(value->source);
    value->source = pl_strdup(source);
    return 0;
}

/* ---- the command line ---- */

/* command: its flags are suggested; what: "unknown flag --lanez" or "FILE: unknown flag \"lanez\"".
 */
static int unknown(const struct pl_flags *flags, const char *command, struct pl_slice name,
                   const char *what, struct pl_err *err)
{
    const char *names[MAX_FLAGS];
    size_t count = 0;
    for (size_t i = 0; i < flags->count; i++)
        if (pl_flag_is_taken(&flags->table[i], command))
            names[count++] = flags->table[i].name;
    const char *best = pl_nearest(name, names, count);
    if (best != NULL)
        return pl_err_set(err, PL_EINVAL, "%s; did you mean --%s?", what, best);
    return pl_err_set(err, PL_EINVAL, "%s; --help lists them", what);
}

/* "--lanes is a flag of `perilune run` and `perilune dev`". */
static int of_others(const struct pl_flag *flag, const char *source, struct pl_err *err)
{
    struct pl_buf whose = PL_BUF_INIT;
    for (const char *p = flag->of; *p != '\0';) {
        size_t end = strcspn(p, "|");
        bool is_last = p[end] == '\0';
        const char *between = p == flag->of ? "" : is_last ? " and " : ", ";
        pl_buf_add_f(&whose, "%s`perilune %.*s`", between, (int)end, p);
        p += end + !is_last;
    }
    pl_err_set(err, PL_EINVAL, "%s is a flag of %s; --help lists the flags of this command", source,
               pl_buf_z(&whose));
    pl_buf_deinit(&whose);
    return PL_EINVAL;
}

static const char *metavar_of(const struct pl_flag *flag)
{
    return *flag->metavar != '\0' ? flag->metavar : "VALUE";
}

struct words {
    char *const *argv;
    int argc, at;
};

/* given: NULL, if the word has no value; then it is the next word, and "true" for a switch. */
static int take(struct pl_flags *flags, size_t i, const char *given, const char *source,
                struct words *words, struct pl_err *err)
{
    const struct pl_flag *flag = &flags->table[i];
    if (!pl_flag_is_taken(flag, flags->command))
        return of_others(flag, source, err);
    if (given == NULL && takes_value(flag)) {
        if (words->at + 1 >= words->argc)
            return pl_err_set(err, PL_EINVAL, "%s needs a value (%s)", source, metavar_of(flag));
        given = words->argv[++words->at];
    }
    return flags_put(flags, i, given != NULL ? given : "true", source, err);
}

static int parse_long(struct pl_flags *flags, struct words *words, struct pl_err *err)
{
    const char *word = words->argv[words->at];
    size_t name_len = strcspn(word + 2, "=");
    struct pl_slice name = pl_slice(word + 2, name_len);
    const char *given = word[2 + name_len] == '=' ? word + 2 + name_len + 1 : NULL;
    char source[128];
    snprintf(source, sizeof(source), "--%.*s", PL_FMT(name));
    size_t found = flags_find(flags, name);
    bool is_no =
        found == flags->count && given == NULL && name_len > 3 && pl_text_begins(name, "no-");
    if (is_no) {
        found = flags_find(flags, pl_slice(name.ptr + 3, name.len - 3));
        if (found < flags->count && takes_value(&flags->table[found]))
            found = flags->count;
    }
    if (found == flags->count) {
        char what[160];
        snprintf(what, sizeof(what), "unknown flag %s", source);
        return unknown(flags, flags->command, name, what, err);
    }
    return take(flags, found, is_no ? "false" : given, source, words, err);
}

/* The value may follow the letter at once: -nweb, -n=web, -n web. */
static int parse_short(struct pl_flags *flags, struct words *words, struct pl_err *err)
{
    const char *word = words->argv[words->at], *rest = word + 2;
    const char source[] = {'-', word[1], '\0'};
    const char *given = *rest == '\0' ? NULL : rest + (*rest == '=');
    for (size_t f = 0; f < flags->count; f++)
        if (flags->table[f].letter == word[1])
            return take(flags, f, given, source, words, err);
    return pl_err_set(err, PL_EINVAL, "unknown flag %s; --help lists them", word);
}

static int parse_argv(struct pl_flags *flags, int argc, char *const *argv, struct pl_err *err)
{
    bool only_paths = false;
    struct words words = {argv, argc, 0};
    for (; words.at < argc; words.at++) {
        const char *word = argv[words.at];
        int rc = 0;
        if (only_paths || word[0] != '-' || word[1] == '\0')
            flags_append(&flags->paths, &flags->path_count, word);
        else if (strcmp(word, "--") == 0)
            only_paths = true;
        else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            flags->help = true;
        else if (word[1] == '-')
            rc = parse_long(flags, &words, err);
        else
            rc = parse_short(flags, &words, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- the environment ---- */

static const char *environment_value(const char *const *environ, const char *name)
{
    size_t len = strlen(name);
    for (; environ != NULL && *environ != NULL; environ++)
        if (strncmp(*environ, name, len) == 0 && (*environ)[len] == '=')
            return *environ + len + 1;
    return NULL;
}

static void environment_name(const char *flag, char *out, size_t size)
{
    int len = snprintf(out, size, "PERILUNE_%s", flag);
    for (int i = 9; i < len; i++)
        out[i] =
            out[i] == '-' ? '_' : (char)(out[i] >= 'a' && out[i] <= 'z' ? out[i] - 32 : out[i]);
}

static int parse_environment(struct pl_flags *flags, const char *const *environ, struct pl_err *err)
{
    for (size_t i = 0; i < flags->count; i++) {
        char name[96];
        environment_name(flags->table[i].name, name, sizeof(name));
        const char *text = environment_value(environ, name);
        if (text == NULL || *text == '\0' || flags->values[i].count > 0 ||
            !pl_flag_is_taken(&flags->table[i], flags->command))
            continue;
        if (!flags->table[i].repeatable) {
            int rc = flags_put(flags, i, text, name, err);
            if (rc != 0)
                return rc;
            continue;
        }
        char *list = pl_strdup(text), *rest = list, *item; /* a,b for flags that repeat */
        int rc = 0;
        while (rc == 0 && (item = strsep(&rest, ",")) != NULL)
            rc = flags_put(flags, i, item, name, err);
        pl_free(list);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int pl_flags_parse(struct pl_flags *flags, const struct pl_flag_table *table, int argc,
                   char *const *argv, const char *const *environ, struct pl_err *err)
{
    PL_REQUIRE(table->count <= MAX_FLAGS);
    *flags =
        (struct pl_flags){.table = table->flags, .count = table->count, .command = table->command};
    flags->values = pl_calloc(table->count, sizeof(*flags->values));
    int rc = parse_argv(flags, argc, argv, err);
    for (size_t i = 0; i < flags->count; i++)
        flags->values[i].typed = flags->values[i].count > 0;
    if (rc == 0 && !flags->help)
        rc = parse_environment(flags, environ, err);
    return rc;
}

/* ---- the --config file ---- */

static int merge_value(struct pl_flags *flags, size_t i, struct pl_node value, const char *source,
                       struct pl_err *err)
{
    struct pl_scratch scratch;
    enum pl_type type = pl_node_type(value);
    struct pl_slice slice = {NULL, 0};
    if (type == PL_STRING)
        slice = pl_node_str(value, &scratch);
    else if (type == PL_NUMBER)
        slice = pl_node_number(value, &scratch);
    else if (type == PL_BOOL)
        slice = pl_slice_z(pl_node_bool(value) ? "true" : "false");
    if (slice.ptr == NULL)
        return pl_err_set(err, PL_EINVAL, "%s must be a string, number or boolean, not %s", source,
                          pl_type_name(type));
    if (pl_slice_chr(slice, '\0') != NULL)
        return pl_err_set(err, PL_EINVAL, "%s must not contain the character NUL", source);
    char *text = pl_memdup0(slice.ptr, slice.len);
    int rc = flags_put(flags, i, text, source, err);
    pl_free(text);
    return rc;
}

int pl_flags_merge(struct pl_flags *flags, struct pl_node mapping, const char *source,
                   struct pl_err *err)
{
    if (pl_node_is_missing(mapping))
        return 0;
    if (pl_node_type(mapping) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "%s: flags must be a mapping of names to values", source);
    struct pl_iter it = pl_iter(mapping);
    while (pl_iter_next(&it)) {
        char where[512];
        size_t i = flags_find(flags, it.key);
        if (i == flags->count) {
            snprintf(where, sizeof(where), "%s: flags: unknown flag \"%.*s\"", source,
                     PL_FMT(it.key));
            return unknown(flags, NULL, it.key, where, err);
        }
        snprintf(where, sizeof(where), "%s: flags.%.*s", source, PL_FMT(it.key));
        if (flags->table[i].not_in_file)
            return pl_err_set(err, PL_EINVAL,
                              "%s: only the command line and the environment can set it", where);
        if (flags->values[i].count > 0)
            continue;
        int rc = 0;
        if (flags->table[i].repeatable && pl_node_type(it.value) == PL_ARRAY) {
            struct pl_iter items = pl_iter(it.value);
            while (rc == 0 && pl_iter_next(&items))
                rc = merge_value(flags, i, items.value, where, err);
        } else {
            rc = merge_value(flags, i, it.value, where, err);
        }
        if (rc != 0)
            return rc;
        flags->values[i].in_file = true;
    }
    return 0;
}

int pl_flags_blame(const struct pl_flags *flags, const char *name, struct pl_err *err)
{
    const struct pl_flag_value *value = &flags->values[flags_at(flags, name)];
    pl_err_prefix(err, "%s", value->source);
    if (value->in_file)
        err->code = PL_ESYNTAX;
    return err->code;
}

/* ---- flags that have no effect without another one ---- */

/* A switch that is off is not set. */
static bool is_set(const struct pl_flags *flags, size_t i)
{
    const struct pl_flag_value *value = &flags->values[i];
    bool truth;
    return value->count > 0 &&
           (takes_value(&flags->table[i]) || (pl_flag_truth(value->texts[0], &truth) && truth));
}

/* True also when the command has none of them. */
static bool has_partner(const struct pl_flags *flags, const char *names)
{
    bool any = false;
    for (const char *p = names; *p != '\0'; p += *p == '|') {
        size_t end = strcspn(p, "|"), i = flags_find(flags, pl_slice(p, end));
        p += end;
        if (i == flags->count || !pl_flag_is_taken(&flags->table[i], flags->command))
            continue;
        if (is_set(flags, i))
            return true;
        any = true;
    }
    return !any;
}

/* "--late goes with --lead or --format" */
static int without_partner(const struct pl_flag *flag, struct pl_err *err)
{
    struct pl_buf names = PL_BUF_INIT;
    for (const char *p = flag->with; *p != '\0'; p += *p == '|') {
        size_t end = strcspn(p, "|");
        pl_buf_add_f(&names, "%s--%.*s", names.len > 0 ? " or " : "", (int)end, p);
        p += end;
    }
    pl_err_set(err, PL_EINVAL, "--%s goes with %s", flag->name, pl_buf_z(&names));
    pl_buf_deinit(&names);
    return PL_EINVAL;
}

int pl_flags_check(const struct pl_flags *flags, struct pl_err *err)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct pl_flag *flag = &flags->table[i];
        if (*flag->with == '\0' || !flags->values[i].typed || !is_set(flags, i) ||
            has_partner(flags, flag->with))
            continue;
        return without_partner(flag, err);
    }
    return 0;
}

void pl_flags_deinit(struct pl_flags *flags)
{
    for (size_t i = 0; i < flags->count && flags->values != NULL; i++) {
        for (size_t k = 0; k < flags->values[i].count; k++)
            pl_free(flags->values[i].texts[k]);
        pl_free(flags->values[i].texts);
        pl_free(flags->values[i].source);
    }
    for (size_t i = 0; i < flags->path_count; i++)
        pl_free(flags->paths[i]);
    pl_free(flags->values);
    pl_free(flags->paths);
    *flags = (struct pl_flags){0};
}

/* ---- reading ---- */

const char *pl_flags_text(const struct pl_flags *flags, const char *name)
{
    size_t i = flags_at(flags, name);
    const char *fallback = flags->table[i].fallback;
    if (flags->values[i].count > 0)
        return flags->values[i].texts[0];
    return *fallback != '\0' ? fallback : NULL;
}

bool pl_flags_switch(const struct pl_flags *flags, const char *name)
{
    const char *text = pl_flags_text(flags, name);
    bool value = false;
    return text != NULL && pl_flag_truth(text, &value) && value;
}

int64_t pl_flags_integer(const struct pl_flags *flags, const char *name)
{
    const char *text = pl_flags_text(flags, name);
    int64_t value = 0;
    PL_REQUIRE(text == NULL || pl_flag_parse_integer(text, &value));
    return value;
}

double pl_flags_number(const struct pl_flags *flags, const char *name)
{
    const char *text = pl_flags_text(flags, name);
    double value = 0;
    PL_REQUIRE(text == NULL || pl_flag_parse_number(text, &value));
    return value;
}

int64_t pl_flags_duration(const struct pl_flags *flags, const char *name)
{
    const char *text = pl_flags_text(flags, name);
    int64_t value = 0;
    PL_REQUIRE(text == NULL || pl_duration_parse(pl_slice_z(text), &value));
    return value;
}

uint64_t pl_flags_size(const struct pl_flags *flags, const char *name)
{
    const char *text = pl_flags_text(flags, name);
    uint64_t value = 0;
    PL_REQUIRE(text == NULL || pl_size_parse(pl_slice_z(text), &value));
    return value;
}

char *const *pl_flags_all(const struct pl_flags *flags, const char *name)
{
    return flags->values[flags_at(flags, name)].texts;
}

bool pl_flags_is_typed(const struct pl_flags *flags, const char *name)
{
    return flags->values[flags_at(flags, name)].typed;
}
