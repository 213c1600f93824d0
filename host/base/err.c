/* Filling error records. A record has a fixed size, so that failing never allocates. A message that
 * does not fit is cut, but never in the middle of a UTF-8 character. A NULL record is allowed
 * everywhere: then only the code is returned. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pl_err_clear(struct pl_err *err)
{
    if (err == NULL)
        return;
    /* Field by field: clearing the long texts too would cost time, and most records hold no error.
     */
    err->code = err->status = err->line = 0;
    err->retry_after_ms = err->offset = -1;
    err->reason[0] = err->message[0] = '\0';
}

/* A UTF-8 sequence must not be cut in half: logs and JSON would carry garbage. */
static void trim_partial_character(char *text)
{
    size_t len = strlen(text), start = len;
    while (start > 0 && len - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (len - start < want)
        text[start - 1] = '\0';
}

int pl_err_set(struct pl_err *err, int code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    pl_err_clear(err);
    err->code = code;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    trim_partial_character(err->message);
    return code;
}

void pl_err_prefix(struct pl_err *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char old[PL_ERR_MESSAGE];
    memcpy(old, err->message, sizeof(old));
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof(err->message) - len, ": %s", old);
    trim_partial_character(err->message);
}

const char *pl_code_name(int code)
{
    switch (code) {
#define PL_CODE_NAME(name, value, text)                                                            \
    case value:                                                                                    \
        return #name;
        PL_CODES(PL_CODE_NAME)
#undef PL_CODE_NAME
    default:
        return "?";
    }
}

const char *pl_code_text(int code)
{
    switch (code) {
#define PL_CODE_TEXT(name, value, text)                                                            \
    case value:                                                                                    \
        return text;
        PL_CODES(PL_CODE_TEXT)
#undef PL_CODE_TEXT
    default:
        return "?";
    }
}
