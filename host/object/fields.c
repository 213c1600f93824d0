/* Field selectors. Their text is split before it is unescaped: only "\\", "\," and "\="
 * are escapes, and only in values. */
#include "object/selector.h"

#include "base/alloc.h"
#include "base/text.h"
#include "object/path.h"

#include <stdlib.h>

struct term {
    char *text;           /* owned; as written */
    struct pl_slice name; /* in text */
    struct pl_path *path; /* owned */
    char *value;          /* owned; unescaped */
    size_t value_len;
    bool equals;
};

struct pl_fields {
    struct term *terms; /* owned; sorted by text */
    size_t count;
};

void pl_fields_destroy(struct pl_fields *fields)
{
    if (fields == NULL)
        return;
    for (size_t i = 0; i < fields->count; i++) {
        pl_free(fields->terms[i].text);
        pl_free(fields->terms[i].value);
        pl_path_destroy(fields->terms[i].path);
    }
    pl_free(fields->terms);
    pl_free(fields);
}

static int fields_fail_at(struct pl_err *err, size_t offset)
{
    if (err != NULL)
        err->offset = (int64_t)offset;
    return PL_EINVAL;
}

/* Fills value from the escaped text, which ends at the next unescaped comma. */
static int fields_unescape(struct term *term, struct pl_slice text, size_t at, struct pl_err *err)
{
    term->value = pl_text_copy(text);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '=') {
            pl_err_set(err, PL_EINVAL, "'=' in a value is written \\=");
            return fields_fail_at(err, at + i);
        }
        if (c == '\\') {
            char next = ++i < text.len ? text.ptr[i] : '\0';
            if (next != '\\' && next != ',' && next != '=') {
                pl_err_set(err, PL_EINVAL, "'\\' in a value is written \\\\");
                return fields_fail_at(err, at + i - 1);
            }
            c = next;
        }
        term->value[term->value_len++] = c;
    }
    term->value[term->value_len] = '\0';
    return 0;
}

static int parse_term(struct term *term, struct pl_slice text, size_t at, struct pl_err *err)
{
    term->text = pl_text_copy(text);
    size_t i = 0;
    while (i < text.len && text.ptr[i] != '=' &&
           !(text.ptr[i] == '!' && i + 1 < text.len && text.ptr[i + 1] == '='))
        i++;
    if (i == text.len || i == 0) {
        pl_err_set(err, PL_EINVAL,
                   "\"%.*s\" is not a field selector: write path=value or path!=value",
                   PL_FMT(text));
        return fields_fail_at(err, at);
    }
    term->equals = text.ptr[i] == '=';
    term->name = pl_slice(term->text, i);
    term->path = pl_path_parse(term->name, err);
    if (term->path == NULL)
        return fields_fail_at(err, at + (err != NULL && err->offset > 0 ? (size_t)err->offset : 0));
    i += !term->equals || (i + 1 < text.len && text.ptr[i + 1] == '=') ? 2 : 1;
    return fields_unescape(term, pl_slice(text.ptr + i, text.len - i), at + i, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct term *)a)->text, ((const struct term *)b)->text);
}

struct pl_fields *pl_fields_parse(struct pl_slice text, struct pl_err *err)
{
    struct pl_fields *fields = PL_NEW(struct pl_fields);
    for (size_t start = 0, end; start < text.len; start = end + 1) {
        end = start;
        while (end < text.len && text.ptr[end] != ',')
            end += text.ptr[end] == '\\' && end + 1 < text.len ? 2 : 1;
        if (end == start)
            continue;
        fields->terms = pl_reallocarray(fields->terms, fields->count + 1, sizeof(*fields->terms));
        struct term *term = &fields->terms[fields->count++];
        *term = (struct term){.text = NULL};
        if (parse_term(term, pl_slice(text.ptr + start, end - start), start, err) != 0) {
            pl_fields_destroy(fields);
            return NULL;
        }
    }
    if (fields->count > 1)
        qsort(fields->terms, fields->count, sizeof(*fields->terms), by_text);
    return fields;
}

static bool fields_has_value(struct pl_node node, struct pl_slice value)
{
    struct pl_scratch scratch;
    switch (pl_node_type(node)) {
    case PL_STRING:
        return pl_node_str_eq(node, value);
    case PL_NUMBER:
        return pl_slice_eq(pl_node_number(node, &scratch), value);
    case PL_BOOL:
        return pl_slice_eqz(value, pl_node_bool(node) ? "true" : "false");
    case PL_MISSING:
    case PL_NULL:
        return value.len == 0;
    default:
        return false;
    }
}

bool pl_fields_match(const struct pl_fields *fields, struct pl_node object)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct term *term = &fields->terms[i];
        struct pl_node node = pl_path_find(term->path, object);
        if (fields_has_value(node, pl_slice(term->value, term->value_len)) != term->equals)
            return false;
    }
    return true;
}

void pl_fields_text(const struct pl_fields *fields, struct pl_buf *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct term *term = &fields->terms[i];
        if (i != 0)
            pl_buf_add_char(out, ',');
        pl_buf_add_slice(out, term->name);
        pl_buf_add_z(out, term->equals ? "=" : "!=");
        for (size_t k = 0; k < term->value_len; k++) {
            if (strchr("\\,=", term->value[k]) != NULL && term->value[k] != '\0')
                pl_buf_add_char(out, '\\');
            pl_buf_add_char(out, term->value[k]);
        }
    }
}

size_t pl_fields_count(const struct pl_fields *fields)
{
    return fields->count;
}

void pl_fields_term(const struct pl_fields *fields, size_t i, struct pl_slice *path,
                    struct pl_slice *value, bool *equals)
{
    const struct term *term = &fields->terms[i];
    *path = term->name;
    *value = pl_slice(term->value, term->value_len);
    *equals = term->equals;
}
