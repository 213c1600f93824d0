/* Paths into documents, as kubectl prints them. Parsing and printing are inverse: the output of
 * pl_path_add_key and pl_path_add_index is parsed to the same steps. Names with characters other
 * than letters, digits, "_", "-" and "$" are in brackets and quotes, so that a dot in a label's
 * name does not begin a step. Errors give the offset. */
#include "object/path.h"

#include "base/alloc.h"
#include "base/text.h"
#include "value/write.h"

struct pl_path {
    struct pl_step *steps; /* owned; keys point into text */
    size_t count;
    struct pl_buf text; /* the decoded names in sequence; the buffer must not move */
};

/* A name of only these characters needs no brackets. */
static bool is_bare(char c)
{
    return pl_is_alnum(c) || c == '_' || c == '-' || c == '$';
}

static int path_fail(struct pl_err *err, size_t offset, const char *what)
{
    pl_err_set(err, PL_EINVAL, "%s", what);
    if (err != NULL)
        err->offset = (int64_t)offset;
    return PL_EINVAL;
}

static void add_step(struct pl_path *path, struct pl_slice key, size_t index)
{
    path->steps = pl_reallocarray(path->steps, path->count + 1, sizeof(*path->steps));
    path->steps[path->count++] = (struct pl_step){key, index};
}

/* Adds the step for the name at the end of the text. */
static void path_add_name(struct pl_path *path, size_t start)
{
    add_step(path, pl_slice(path->text.ptr + start, path->text.len - start), 0);
}

static int hex4(struct pl_slice text, size_t at, unsigned *value)
{
    *value = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = at + i < text.len ? text.ptr[at + i] : 'x';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return PL_EINVAL;
        *value = *value << 4 | (unsigned)digit;
    }
    return 0;
}

static void add_utf8(struct pl_buf *out, unsigned c)
{
    if (c < 0x80) {
        pl_buf_add_char(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned leads[] = {0, 0xc0, 0xe0, 0xf0};
    pl_buf_add_char(out, (char)(leads[more] | c >> (6 * more)));
    while (more-- > 0)
        pl_buf_add_char(out, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

/* \uXXXX; two of them may form one character. *at is after the "u". */
static int add_unicode(struct pl_buf *out, struct pl_slice text, size_t *at)
{
    unsigned c, low;
    if (hex4(text, *at, &c) != 0 || (c >= 0xdc00 && c < 0xe000))
        return PL_EINVAL;
    *at += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        if (*at + 1 >= text.len || text.ptr[*at] != '\\' || text.ptr[*at + 1] != 'u' ||
            hex4(text, *at + 2, &low) != 0 || low < 0xdc00 || low >= 0xe000)
            return PL_EINVAL;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    add_utf8(out, c);
    return 0;
}

static int add_escape(struct pl_buf *out, struct pl_slice text, size_t *at)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = *at < text.len ? text.ptr[*at] : '\0';
    const char *known = c != '\0' ? strchr(names, c) : NULL;
    (*at)++;
    if (c == 'u')
        return add_unicode(out, text, at);
    if (known == NULL)
        return PL_EINVAL;
    pl_buf_add_char(out, values[known - names]);
    return 0;
}

/* ["name"] with JSON's escapes; *at is after the quote. */
static int parse_quoted(struct pl_path *path, struct pl_slice text, size_t *at, struct pl_err *err)
{
    size_t start = path->text.len, opened = *at - 1;
    char quote = text.ptr[opened];
    while (*at < text.len && text.ptr[*at] != quote) {
        size_t escape = *at;
        char c = text.ptr[(*at)++];
        if (c != '\\')
            pl_buf_add_char(&path->text, c);
        else if (add_escape(&path->text, text, at) != 0)
            return path_fail(err, escape, "no such escape in a name");
    }
    if (*at == text.len)
        return path_fail(err, opened, "the name's quote is not closed");
    (*at)++;
    path_add_name(path, start);
    return 0;
}

static int parse_index(struct pl_path *path, struct pl_slice text, size_t *at, struct pl_err *err)
{
    size_t start = *at, index = 0;
    while (*at < text.len && pl_is_digit(text.ptr[*at])) {
        if (__builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, (size_t)(text.ptr[*at] - '0'), &index))
            return path_fail(err, start, "the index is too large");
        (*at)++;
    }
    if (*at == start)
        return path_fail(err, start, "brackets hold an index or a name in quotes");
    add_step(path, pl_slice(NULL, 0), index);
    return 0;
}

static int parse_bracket(struct pl_path *path, struct pl_slice text, size_t *at, struct pl_err *err)
{
    size_t opened = (*at)++;
    bool quoted = *at < text.len && (text.ptr[*at] == '"' || text.ptr[*at] == '\'');
    if (quoted)
        (*at)++;
    int rc = quoted ? parse_quoted(path, text, at, err) : parse_index(path, text, at, err);
    if (rc != 0)
        return rc;
    if (*at >= text.len || text.ptr[*at] != ']')
        return path_fail(err, opened, "the bracket is not closed");
    (*at)++;
    return 0;
}

static int parse_name(struct pl_path *path, struct pl_slice text, size_t *at, struct pl_err *err)
{
    size_t start = *at;
    while (*at < text.len && text.ptr[*at] != '.' && text.ptr[*at] != '[') {
        unsigned char c = (unsigned char)text.ptr[*at];
        if (c <= ' ' || c == ']' || c == '"' || c == '\'' || c == 0x7f)
            return path_fail(err, *at, "such a name is written [\"name\"]");
        (*at)++;
    }
    if (*at == start)
        return path_fail(err, start, "a name is missing");
    size_t key = path->text.len;
    pl_buf_add(&path->text, text.ptr + start, *at - start);
    path_add_name(path, key);
    return 0;
}

static int parse_steps(struct pl_path *path, struct pl_slice text, struct pl_err *err)
{
    size_t at = text.len != 0 && text.ptr[0] == '.' && (text.len == 1 || text.ptr[1] != '[');
    bool name = at < text.len && text.ptr[at] != '[';
    while (at < text.len) {
        int rc = name ? parse_name(path, text, &at, err) : parse_bracket(path, text, &at, err);
        if (rc != 0)
            return rc;
        if (at == text.len)
            return 0;
        name = text.ptr[at] != '[';
        if (name && text.ptr[at++] != '.')
            return path_fail(err, at - 1, "a '.' or '[' must come between two steps");
        if (name && at == text.len)
            return path_fail(err, at, "a name is missing");
    }
    return 0;
}

struct pl_path *pl_path_parse(struct pl_slice text, struct pl_err *err)
{
    struct pl_path *path = PL_NEW(struct pl_path);
    /* Decoding never makes a text longer: with this much room the names do not move. */
    pl_buf_reserve(&path->text, text.len);
    if (parse_steps(path, text, err) == 0)
        return path;
    pl_err_prefix(err, "\"%.*s\" is not a path", PL_FMT(text));
    pl_path_destroy(path);
    return NULL;
}

void pl_path_destroy(struct pl_path *path)
{
    if (path == NULL)
        return;
    pl_buf_deinit(&path->text);
    pl_free(path->steps);
    pl_free(path);
}

struct pl_node pl_path_find(const struct pl_path *path, struct pl_node root)
{
    for (size_t i = 0; i < path->count && !pl_node_is_missing(root); i++) {
        const struct pl_step *step = &path->steps[i];
        root = step->key.ptr != NULL ? pl_node_get(root, step->key) : pl_node_at(root, step->index);
    }
    return root;
}

size_t pl_path_len(const struct pl_path *path)
{
    return path->count;
}

struct pl_step pl_path_step(const struct pl_path *path, size_t i)
{
    return path->steps[i];
}

void pl_path_add_key(struct pl_buf *out, struct pl_slice key)
{
    size_t bare = 0;
    while (bare < key.len && is_bare(key.ptr[bare]))
        bare++;
    if (bare == key.len && bare > 0) {
        if (out->len != 0)
            pl_buf_add_char(out, '.');
        pl_buf_add_slice(out, key);
        return;
    }
    pl_buf_add_char(out, '[');
    pl_write_str(out, key);
    pl_buf_add_char(out, ']');
}

void pl_path_add_index(struct pl_buf *out, size_t index)
{
    pl_buf_add_f(out, "[%zu]", index);
}
