/* Patterns of one evaluation: the one that was compiled last, since a loop uses it many times, and
 * the memory of searches. */
#include "cel/function.h"

#include "format/regex.h"

struct pl_regex_search *pl_cel_search(struct pl_cel_eval *eval)
{
    if (eval->search == NULL)
        eval->search = pl_regex_search_create();
    return eval->search;
}

const struct pl_regex *pl_cel_pattern(struct pl_cel_eval *eval, struct pl_slice text,
                                      struct pl_err *err)
{
    if (eval->regex != NULL && pl_slice_eq(eval->regex_text, text))
        return eval->regex;
    pl_regex_destroy(eval->regex);
    eval->regex = pl_regex_compile(text, err);
    eval->regex_text = text;
    return eval->regex;
}

int pl_cel_fits(struct pl_cel_eval *eval, const char *pattern, struct pl_slice text,
                struct pl_err *err)
{
    pl_err_clear(err);
    const struct pl_regex *regex = pl_cel_pattern(eval, pl_slice_z(pattern), err);
    return regex != NULL ? pl_regex_search(pl_cel_search(eval), regex, text, 0, false, err)
                         : err->code;
}
