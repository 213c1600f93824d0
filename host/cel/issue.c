/* The compiler's messages, in the form of CEL's reference implementation: a text, the line of the
 * expression, and a mark below the place. */
#include "cel/ast.h"

#include <stdarg.h>
#include <stdio.h>

static struct pl_slice line_of(struct pl_slice text, uint32_t at, size_t *line, size_t *column)
{
    size_t start = 0;
    *line = 1;
    for (size_t i = 0; i < at && i < text.len; i++)
        if (text.ptr[i] == '\n')
            (*line)++, start = i + 1;
    size_t end = start;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    *column = pl_cel_characters(pl_slice(text.ptr + start, at > start ? at - start : 0));
    return pl_slice(text.ptr + start, end - start);
}

void pl_cel_issue(struct pl_cel_issues *issues, uint32_t at, const char *fmt, ...)
{
    size_t line, column;
    struct pl_slice shown = line_of(issues->text, at, &line, &column);
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (issues->count++ >= 10) /* further messages usually follow from the first ones */
        return;
    pl_buf_add_f(issues->out, "%sERROR: <input>:%zu:%zu: %s\n | ", issues->count > 1 ? "\n" : "",
                 line, column + 1, text);
    for (size_t i = 0; i < shown.len; i++)
        pl_buf_add_char(issues->out, shown.ptr[i] == '\t' ? ' ' : shown.ptr[i]);
    pl_buf_add_z(issues->out, "\n | ");
    for (size_t i = 0; i < column; i++)
        pl_buf_add_char(issues->out, '.');
    pl_buf_add_char(issues->out, '^');
}
