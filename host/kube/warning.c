/* Warning headers: `299 - "unknown field \"spec.x\"" "date"`, several in a line or each in its own.
 *
 * The server is not trusted: a text is cut at 1 KiB, an answer has at most 16 warnings, control
 * characters become spaces, and an incomplete header ends the search. */
#include "kube/warning.h"

#include <string.h>

#define MOST     16
#define MAX_TEXT 1024

/* Reads the quoted text at `at` and returns the place after it; NULL when it has no end. out NULL:
 * it is skipped. */
static const char *read_quoted(const char *at, struct pl_buf *out)
{
    size_t len = 0;
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if (*at == '\\')
            at++;
        if (*at == '\0')
            return NULL;
        if (out != NULL && len++ < MAX_TEXT)
            pl_buf_add_char(out, (unsigned char)*at < ' ' || *at == 127 ? ' ' : *at);
    }
    return at + 1;
}

/* Returns the place after `299 agent `; NULL: it is something else. */
static const char *skip_agent(const char *at)
{
    if (strncmp(at, "299 ", 4) != 0)
        return NULL;
    at += 4;
    at += strcspn(at, " \",");
    return *at == ' ' ? at + 1 : NULL;
}

/* Reads one warning; returns the place after it and its comma, or NULL: there is no other. */
static const char *read_warning(const char *at, struct pl_buf *out)
{
    size_t before = out->len;
    at += strspn(at, " \t");
    if ((at = skip_agent(at)) == NULL)
        return NULL;
    if ((at = read_quoted(at, out)) == NULL) {
        out->len = before;
        if (out->ptr != NULL)
            out->ptr[before] = '\0';
        return NULL;
    }
    pl_buf_add_char(out, '\0');
    if (at[0] == ' ' && at[1] == '"' && (at = read_quoted(at + 1, NULL)) == NULL)
        return NULL;
    at += strspn(at, " \t");
    return *at == ',' ? at + 1 : NULL;
}

void pl_warnings_add(struct pl_buf *out, const struct pl_http_response *response)
{
    size_t count = 0;
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcmp(response->headers[i].name, "warning") != 0)
            continue;
        for (const char *at = response->headers[i].value; at != NULL && count < MOST; count++)
            at = read_warning(at, out);
    }
}
