/* Functions for expressions that make JSON patches. */
#include "cel/function.h"

/* '~' and '/' have a meaning in JSON pointers. */
static struct pl_cel escape_key(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    PL_UNUSED(n);
    struct pl_buf out = PL_BUF_INIT;
    for (size_t i = 0; i < args[0].s.len; i++) {
        char c = args[0].s.ptr[i];
        if (c == '~' || c == '/')
            pl_buf_add_z(&out, c == '~' ? "~0" : "~1");
        else
            pl_buf_add_char(&out, c);
    }
    return pl_cel_text_result(eval, &out);
}

const struct pl_cel_function pl_cel_patch_functions[] = {
    PL_CEL_ROW("jsonpatch.escapeKey", "s:s", false, PL_CEL_COST_SELF, PL_CEL_SIZE_SUM, escape_key),
    {0},
};
