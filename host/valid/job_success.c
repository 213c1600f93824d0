/* A Job's success policy: rules about the indexes that must have succeeded. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

#define MOST_RULES 20
#define MOST_BYTES 65536

/* A number of decimal digits, as Go parses it; -1: none. */
static int64_t index_of(struct pl_slice text)
{
    int64_t is = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!pl_is_digit(text.ptr[i]) || is > INT32_MAX)
            return -1;
        is = is * 10 + (text.ptr[i] - '0');
    }
    return text.len == 0 ? -1 : is;
}

/* Returns the reason why one index cannot be read, or NULL. */
static const char *read_index(struct pl_api_faults *f, struct pl_slice text, int64_t completions,
                              int64_t *out)
{
    *out = index_of(text);
    if (*out < 0)
        return pl_arena_f(f->arena, "cannot convert string to integer for index: \"%.*s\"",
                          PL_FMT(text))
            .ptr;
    if (*out >= completions)
        return pl_arena_f(f->arena, "too large index: \"%.*s\"", PL_FMT(text)).ptr;
    return NULL;
}

static const char *not_rising(struct pl_api_faults *f, int64_t before, int64_t now)
{
    return pl_arena_f(f->arena, "non-increasing order, previous: %lld, current: %lld",
                      (long long)before, (long long)now)
        .ptr;
}

/* One index, or "3-5". */
static const char *read_interval(struct pl_api_faults *f, struct pl_slice text, int64_t completions,
                                 int64_t *from, int64_t *to)
{
    const char *dash = pl_slice_chr(text, '-');
    size_t len = dash != NULL ? (size_t)(dash - text.ptr) : text.len;
    struct pl_slice rest = pl_slice(text.ptr + len + 1, dash != NULL ? text.len - len - 1 : 0);
    if (dash != NULL && pl_slice_chr(rest, '-') != NULL)
        return pl_arena_f(f->arena,
                          "the fragment \"%.*s\" violates the requirement that an index interval "
                          "can have at most two parts separated by '-'",
                          PL_FMT(text))
            .ptr;
    const char *why = read_index(f, pl_slice(text.ptr, len), completions, from);
    *to = *from;
    if (why == NULL && dash != NULL)
        why = read_index(f, rest, completions, to);
    return why == NULL && dash != NULL && *from >= *to ? not_rising(f, *from, *to) : why;
}

const char *pl_valid_indexes(struct pl_api_faults *f, struct pl_slice text, int64_t completions,
                             int64_t *count)
{
    int64_t last = -1, from, to;
    *count = 0;
    while (text.len > 0) {
        const char *comma = pl_slice_chr(text, ',');
        size_t len = comma != NULL ? (size_t)(comma - text.ptr) : text.len;
        const char *why = read_interval(f, pl_slice(text.ptr, len), completions, &from, &to);
        if (why == NULL && last >= from)
            why = not_rising(f, last, from);
        if (why != NULL)
            return why;
        *count += to - from + 1;
        last = to;
        if (comma == NULL)
            break;
        text = pl_slice(comma + 1, text.len - len - 1);
        if (text.len == 0)
            return "cannot convert string to integer for index: \"\"";
    }
    return NULL;
}

static void check_rule(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *rule, int64_t completions)
{
    const struct pl_tree *indexes = pl_tree_getz(rule, "succeededIndexes");
    const struct pl_tree *count = pl_tree_getz(rule, "succeededCount");
    const struct pl_spot *here = PL_MEMBER(at, "succeededCount");
    int64_t all = 0, is = pl_number_at(rule, "succeededCount");
    if (indexes == NULL && count == NULL)
        pl_bad_required(f, at,
                        "at least one of succeededCount or succeededIndexes must be "
                        "specified");
    if (pl_tree_text(indexes).len > MOST_BYTES)
        pl_bad_long(f, PL_MEMBER(at, "succeededIndexes"), "65536 bytes");
    const char *why = pl_valid_indexes(f, pl_tree_text(indexes), completions, &all);
    if (why != NULL)
        pl_bad_value(f, PL_MEMBER(at, "succeededIndexes"), indexes,
                     "error parsing succeededIndexes: %s", why);
    all = why != NULL ? 0 : all;
    if (count == NULL)
        return;
    pl_natural(f, here, count, NULL);
    if (is > completions)
        pl_bad_value(f, here, count,
                     "must be less than or equal to %lld (the number of specified completions)",
                     (long long)completions);
    if (indexes != NULL && is > all)
        pl_bad_value(f, here, count,
                     "must be less than or equal to %lld (the number of indexes in the specified "
                     "succeededIndexes field)",
                     (long long)all);
}

void pl_valid_success_policy(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *spec)
{
    const struct pl_tree *policy = pl_tree_getz(spec, "successPolicy");
    const struct pl_tree *rules = pl_tree_getz(policy, "rules");
    const struct pl_spot *here = PL_MEMBER(at, "successPolicy"), *list = PL_MEMBER(here, "rules");
    size_t i = 0;
    if (policy == NULL)
        return;
    if (!pl_slice_eqz(pl_tree_text_at(spec, "completionMode"), "Indexed")) {
        pl_bad_struct(f, here, "@SuccessPolicy", policy, "requires indexed completion mode");
        return;
    }
    if (pl_is_empty(rules))
        pl_bad_required(f, list,
                        "at least one rules must be specified when the successPolicy is specified");
    pl_at_most(f, list, rules, MOST_RULES);
    PL_EACH(item, rules)
    check_rule(f, PL_INDEX(list, i++), item->value, pl_number_at(spec, "completions"));
}
