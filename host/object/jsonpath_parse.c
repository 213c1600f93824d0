/* From text to the steps of a JSONPath, in one pass. The length of the text and the number of steps
 * have limits. */
#include "object/jsonpath_impl.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX  ((size_t)4 << 10)
#define STEPS_MAX 64

struct reader {
    struct pl_slice text;
    size_t at;
    struct pl_err *err;
};

static bool jsonpath_fail(struct reader *r, const char *what)
{
    pl_err_set(r->err, PL_ESYNTAX, "%s, at byte %zu of the path", what, r->at + 1);
    if (r->err != NULL)
        r->err->offset = (int64_t)r->at;
    return false;
}

static char peek(const struct reader *r)
{
    return r->at < r->text.len ? r->text.ptr[r->at] : '\0';
}

static bool jsonpath_take(struct reader *r, char c)
{
    if (r->at >= r->text.len || r->text.ptr[r->at] != c)
        return false;
    r->at++;
    return true;
}

static void skip_spaces(struct reader *r)
{
    while (jsonpath_take(r, ' '))
        continue;
}

static struct path_part *jsonpath_add_part(struct path_step *step, enum path_part_type type)
{
    step->parts = pl_reallocarray(step->parts, step->count + 1, sizeof *step->parts);
    struct path_part *part = &step->parts[step->count++];
    *part = (struct path_part){.type = type, .by = 1};
    return part;
}

/* 'it''s' is two strings, while "\'" is a quote. The caller frees the text. */
static char *jsonpath_quoted(struct reader *r)
{
    char quote = peek(r);
    struct pl_buf out = PL_BUF_INIT;
    r->at++;
    while (r->at < r->text.len && peek(r) != quote) {
        if (peek(r) == '\\' && r->at + 1 < r->text.len)
            r->at++;
        pl_buf_add_char(&out, r->text.ptr[r->at++]);
    }
    if (!jsonpath_take(r, quote)) {
        jsonpath_fail(r, "a quote is not closed");
        pl_buf_deinit(&out);
        return NULL;
    }
    pl_buf_z(&out);
    return pl_buf_take(&out);
}

static bool is_name_end(char c)
{
    return c == '\0' || strchr(".[]{}()@?!=<>,'\" ", c) != NULL;
}

static bool read_name(struct reader *r, struct path_step *step)
{
    if (jsonpath_take(r, '*')) {
        jsonpath_add_part(step, PART_ALL);
        return true;
    }
    struct pl_buf name = PL_BUF_INIT;
    while (!is_name_end(peek(r))) {
        if (peek(r) == '\\' && r->at + 1 < r->text.len)
            r->at++;
        pl_buf_add_char(&name, r->text.ptr[r->at++]);
    }
    if (name.len == 0) {
        pl_buf_deinit(&name);
        return jsonpath_fail(r, "expected a name");
    }
    pl_buf_z(&name);
    jsonpath_add_part(step, PART_NAME)->name = pl_buf_take(&name);
    return true;
}

/* False when there is none. */
static bool read_integer(struct reader *r, int64_t *out)
{
    size_t start = r->at;
    bool negative = jsonpath_take(r, '-');
    int64_t value = 0;
    size_t digits = r->at;
    while (pl_is_digit(peek(r)) && r->at - digits < 9)
        value = value * 10 + (r->text.ptr[r->at++] - '0');
    if (r->at == digits)
        r->at = start;
    *out = negative ? -value : value;
    return r->at != start;
}

static bool read_number_part(struct reader *r, struct path_step *step)
{
    struct path_part part = {.type = PART_INDEX, .by = 1};
    part.has_start = read_integer(r, &part.start);
    if (jsonpath_take(r, ':')) {
        part.type = PART_SLICE;
        part.has_end = read_integer(r, &part.end);
        if (jsonpath_take(r, ':') && (!read_integer(r, &part.by) || part.by < 1))
            return jsonpath_fail(r, "a step is a number above 0");
    } else if (!part.has_start) {
        return jsonpath_fail(r, "brackets must hold an index, a name in quotes, * or ?(...)");
    }
    *jsonpath_add_part(step, part.type) = part;
    return true;
}

static struct pl_jsonpath *read_steps(struct reader *r, bool inside);

static bool read_relation(struct reader *r, enum path_relation *out)
{
    static const struct {
        const char *text;
        enum path_relation relation;
    } known[] = {{"==", EQUAL},    {"!=", UNEQUAL}, {"<=", AT_MOST},
                 {">=", AT_LEAST}, {"<", LESS},     {">", MORE}};
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++) {
        size_t len = strlen(known[i].text);
        if (r->text.len - r->at < len || memcmp(r->text.ptr + r->at, known[i].text, len) != 0)
            continue;
        r->at += len;
        *out = known[i].relation;
        return true;
    }
    return false;
}

static bool read_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if (r->text.len - r->at < len || memcmp(r->text.ptr + r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static bool read_literal(struct reader *r, struct path_filter *f)
{
    if (peek(r) == '"' || peek(r) == '\'') {
        f->type = PL_STRING;
        f->text = jsonpath_quoted(r);
        return f->text != NULL;
    }
    if (read_word(r, "true") || read_word(r, "false")) {
        f->type = PL_BOOL;
        f->yes = r->text.ptr[r->at - 2] == 'u';
        return true;
    }
    if (read_word(r, "null")) {
        f->type = PL_NULL;
        return true;
    }
    char text[40], *end;
    size_t len = 0;
    while (len < sizeof text - 1 && peek(r) != '\0' && strchr("+-.0123456789eE", peek(r)) != NULL)
        text[len++] = r->text.ptr[r->at++];
    text[len] = '\0';
    f->type = PL_NUMBER;
    f->number = strtod(text, &end);
    return (len > 0 && *end == '\0') ||
           jsonpath_fail(r, "expected a string in quotes, a number, true, false or null");
}

/* The text after "?": "(@.a.b == 'x')" */
static bool read_filter(struct reader *r, struct path_step *step)
{
    if (!jsonpath_take(r, '('))
        return jsonpath_fail(r, "? must be followed by a filter such as (@.type==\"Ready\")");
    skip_spaces(r);
    if (!jsonpath_take(r, '@'))
        return jsonpath_fail(r, "a filter begins with @");
    struct path_filter *f = &jsonpath_add_part(step, PART_FILTER)->filter;
    f->path = read_steps(r, true);
    if (f->path == NULL)
        return false;
    skip_spaces(r);
    if (read_relation(r, &f->relation)) {
        skip_spaces(r);
        if (!read_literal(r, f))
            return false;
        skip_spaces(r);
    }
    return jsonpath_take(r, ')') || jsonpath_fail(r, "a filter ends with )");
}

static bool read_part(struct reader *r, struct path_step *step)
{
    skip_spaces(r);
    bool read = true;
    if (peek(r) == '\'' || peek(r) == '"') {
        char *name = jsonpath_quoted(r);
        if (name == NULL)
            return false;
        jsonpath_add_part(step, PART_NAME)->name = name;
    } else if (jsonpath_take(r, '*')) {
        jsonpath_add_part(step, PART_ALL);
    } else if (jsonpath_take(r, '?')) {
        read = read_filter(r, step);
    } else {
        read = read_number_part(r, step);
    }
    skip_spaces(r);
    return read;
}

static bool read_brackets(struct reader *r, struct path_step *step)
{
    do {
        if (!read_part(r, step))
            return false;
    } while (jsonpath_take(r, ','));
    return jsonpath_take(r, ']') || jsonpath_fail(r, "a bracket is not closed");
}

static struct path_step *add_step(struct pl_jsonpath *path)
{
    path->steps = pl_reallocarray(path->steps, path->count + 1, sizeof *path->steps);
    path->steps[path->count] = (struct path_step){0};
    return &path->steps[path->count++];
}

/* inside: a filter's path, which ends where no step begins. */
static bool read_step(struct reader *r, struct pl_jsonpath *path, bool inside)
{
    if (path->count == STEPS_MAX)
        return jsonpath_fail(r, "more than 64 steps");
    struct path_step *step = add_step(path);
    if (jsonpath_take(r, '['))
        return read_brackets(r, step);
    bool dot = jsonpath_take(r, '.');
    if (!dot && (inside || path->count > 1))
        return jsonpath_fail(r, "expected a dot or a bracket");
    step->deep = dot && jsonpath_take(r, '.');
    if (step->deep && jsonpath_take(r, '['))
        return read_brackets(r, step);
    if (dot && !step->deep && path->count == 1 && (peek(r) == '\0' || peek(r) == '[')) {
        path->count--; /* "." alone is the root */
        return true;
    }
    return read_name(r, step);
}

static struct pl_jsonpath *read_steps(struct reader *r, bool inside)
{
    struct pl_jsonpath *path = pl_calloc(1, sizeof *path);
    while (r->at < r->text.len && !(inside && peek(r) != '.' && peek(r) != '[')) {
        if (read_step(r, path, inside))
            continue;
        pl_jsonpath_destroy(path);
        return NULL;
    }
    return path;
}

struct pl_jsonpath *pl_jsonpath_parse(struct pl_slice text, struct pl_err *err)
{
    struct reader r = {.text = text, .err = err};
    if (text.len > TEXT_MAX || pl_slice_chr(text, '\0') != NULL) {
        jsonpath_fail(&r, "a path of more than 4 KiB, or with a NUL byte");
        return NULL;
    }
    if (text.len >= 2 && text.ptr[0] == '{' && text.ptr[text.len - 1] == '}')
        r.text = pl_slice(text.ptr + 1, text.len - 2);
    jsonpath_take(&r, '$');
    return read_steps(&r, false);
}

void pl_jsonpath_destroy(struct pl_jsonpath *path)
{
    if (path == NULL)
        return;
    for (size_t i = 0; i < path->count; i++) {
        for (size_t j = 0; j < path->steps[i].count; j++) {
            struct path_part *part = &path->steps[i].parts[j];
            pl_free(part->name);
            pl_free(part->filter.text);
            pl_jsonpath_destroy(part->filter.path);
        }
        pl_free(path->steps[i].parts);
    }
    pl_free(path->steps);
    pl_free(path);
}
