/* Words of Go's parsers about texts that our own parsers have refused. The JSON here is read again
 * only for the message: nothing is built, and the depth has a limit. */
#include "schema/go_words.h"

#include "object/label.h"
#include "schema/validate.h"
#include "value/scan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON ---- */

struct json {
    struct pl_arena *arena;
    struct pl_slice text;
    size_t at;
    const char *fault;
};

/* The character as Go quotes it. */
static const char *quoted(const struct json *j)
{
    unsigned char c = (unsigned char)j->text.ptr[j->at];
    if (c == '\'')
        return "'\\''";
    if (c == '"')
        return "'\"'";
    if (c == '\\')
        return "'\\\\'";
    const char *escapes = "\a\b\f\n\r\t\v", *found = c != 0 ? strchr(escapes, c) : NULL;
    if (found != NULL)
        return pl_arena_f(j->arena, "'\\%c'", "abfnrtv"[found - escapes]).ptr;
    if (c < ' ' || c == 127)
        return pl_arena_f(j->arena, "'\\x%02x'", c).ptr;
    if (c < 127)
        return pl_arena_f(j->arena, "'%c'", c).ptr;
    if (c < 161 || c == 173) /* Go takes the byte for a code point */
        return pl_arena_f(j->arena, "'\\u%04x'", c).ptr;
    return pl_arena_f(j->arena, "'%c%c'", 0xc0 | (c >> 6), 0x80 | (c & 0x3f)).ptr;
}

static bool json_fail(struct json *j, const char *where)
{
    if (j->fault == NULL)
        j->fault = j->at >= j->text.len
                       ? "unexpected end of JSON input"
                       : pl_arena_f(j->arena, "invalid character %s %s", quoted(j), where).ptr;
    return false;
}

static int json_peek(const struct json *j)
{
    return j->at < j->text.len ? (unsigned char)j->text.ptr[j->at] : -1;
}

static void skip_space(struct json *j)
{
    while (json_peek(j) > 0 && strchr(" \t\r\n", json_peek(j)) != NULL)
        j->at++;
}

static bool json_escape(struct json *j)
{
    j->at++;
    if (json_peek(j) > 0 && strchr("bfnrt\\/\"", json_peek(j)) != NULL) {
        j->at++;
        return true;
    }
    if (json_peek(j) != 'u')
        return json_fail(j, "in string escape code");
    j->at++;
    for (int i = 0; i < 4; i++, j->at++)
        if (json_peek(j) < 0 || !isxdigit(json_peek(j)))
            return json_fail(j, "in \\u hexadecimal character escape");
    return true;
}

static bool json_string(struct json *j)
{
    j->at++;
    while (json_peek(j) != '"') {
        if (json_peek(j) < ' ')
            return json_fail(j, "in string literal");
        if (json_peek(j) == '\\' ? !json_escape(j) : (j->at++, false))
            return false;
    }
    j->at++;
    return true;
}

static bool json_digits(struct json *j, const char *where)
{
    if (json_peek(j) < '0' || json_peek(j) > '9')
        return json_fail(j, where);
    while (json_peek(j) >= '0' && json_peek(j) <= '9')
        j->at++;
    return true;
}

static bool json_number(struct json *j)
{
    j->at += json_peek(j) == '-';
    if (json_peek(j) == '0')
        j->at++;
    else if (!json_digits(j, "in numeric literal"))
        return false;
    if (json_peek(j) == '.') {
        j->at++;
        if (!json_digits(j, "after decimal point in numeric literal"))
            return false;
    }
    if (json_peek(j) == 'e' || json_peek(j) == 'E') {
        j->at++;
        j->at += json_peek(j) == '+' || json_peek(j) == '-';
        return json_digits(j, "in exponent of numeric literal");
    }
    return true;
}

static bool json_word(struct json *j, const char *word)
{
    for (const char *c = word; *c != '\0'; c++, j->at++)
        if (json_peek(j) != *c)
            return json_fail(j,
                             pl_arena_f(j->arena, "in literal %s (expecting '%c')", word, *c).ptr);
    return true;
}

static bool json_value(struct json *j, unsigned depth);

static bool json_object(struct json *j, unsigned depth)
{
    j->at++;
    skip_space(j);
    if (json_peek(j) == '}') {
        j->at++;
        return true;
    }
    for (;;) {
        skip_space(j);
        if (json_peek(j) != '"')
            return json_fail(j, "looking for beginning of object key string");
        if (!json_string(j))
            return false;
        skip_space(j);
        if (json_peek(j) != ':')
            return json_fail(j, "after object key");
        j->at++;
        if (!json_value(j, depth))
            return false;
        skip_space(j);
        if (json_peek(j) == '}')
            break;
        if (json_peek(j) != ',')
            return json_fail(j, "after object key:value pair");
        j->at++;
    }
    j->at++;
    return true;
}

static bool json_array(struct json *j, unsigned depth)
{
    j->at++;
    skip_space(j);
    if (json_peek(j) == ']') {
        j->at++;
        return true;
    }
    while (json_value(j, depth)) {
        skip_space(j);
        if (json_peek(j) == ']') {
            j->at++;
            return true;
        }
        if (json_peek(j) != ',')
            return json_fail(j, "after array element");
        j->at++;
    }
    return false;
}

static bool json_value(struct json *j, unsigned depth)
{
    skip_space(j);
    if (depth == 0) {
        j->fault = "exceeded max depth";
        return false;
    }
    int c = json_peek(j);
    if (c == '{')
        return json_object(j, depth - 1);
    if (c == '[')
        return json_array(j, depth - 1);
    if (c == '"')
        return json_string(j);
    if (c == '-' || (c >= '0' && c <= '9'))
        return json_number(j);
    if (c == 't' || c == 'f' || c == 'n')
        return json_word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
    return json_fail(j, "looking for beginning of value");
}

const char *pl_go_json_fault(struct pl_arena *arena, struct pl_slice text)
{
    struct json j = {.arena = arena, .text = text};
    if (json_value(&j, PL_SCAN_DEPTH)) {
        skip_space(&j);
        if (j.at < text.len)
            json_fail(&j, "after top-level value");
    }
    return j.fault;
}

/* ---- YAML ---- */

const char *pl_go_yaml_fault(struct pl_arena *arena, const struct pl_err *err)
{
    static const char parser[] = "did not find expected ";
    const char *text = err->message;
    unsigned line = 0;
    int skip = 0;
    if (sscanf(text, "line %u: %n", &line, &skip) == 1 && skip > 0)
        text += skip;
    /* Go's parser counts lines from 0, its scanner from 1; 0 is not shown. */
    if (strncmp(text, parser, sizeof(parser) - 1) == 0 && line > 0)
        line--;
    const char *context = strstr(text, " while ");
    int len = context != NULL ? (int)(context - text) : (int)strlen(text);
    return line > 0 ? pl_arena_f(arena, "yaml: line %u: %.*s", line, len, text).ptr
                    : pl_arena_f(arena, "yaml: %.*s", len, text).ptr;
}

/* ---- selectors ---- */

static const char *value_fault(struct pl_slice word)
{
    return word.len > 63 ? "must be no more than 63 bytes" : PL_API_LABEL_VALUE_TEXT;
}

/* All faults of a key, without their beginning "Invalid value: ...: ". */
static const char *key_fault(struct pl_arena *arena, struct pl_slice word)
{
    struct pl_api_faults faults = {.arena = arena};
    size_t skip = pl_arena_f(arena, "Invalid value: \"%.*s\": ", PL_FMT(word)).len;
    struct pl_slice out = pl_slice_z("");
    pl_api_validate_qualified(&faults, "", word);
    PL_TREE_FOR(item, faults.causes)
    {
        struct pl_slice text = pl_tree_text_at(item->value, "message");
        if (text.len > skip)
            out = pl_arena_f(arena, "%.*s%s%s", PL_FMT(out), out.len > 0 ? "; " : "",
                             text.ptr + skip);
    }
    return out.ptr;
}

static struct pl_slice word_at(struct pl_slice text, size_t at)
{
    size_t len = 0;
    while (at + len < text.len && strchr(" \t\r\n=!(),<>", text.ptr[at + len]) == NULL)
        len++;
    return pl_slice(text.ptr + at, len);
}

/* The key of the requirement that this place is in. */
static struct pl_slice key_before(struct pl_slice text, size_t at)
{
    size_t begin = 0;
    bool in_set = false;
    for (size_t i = 0; i < at; i++) {
        if (text.ptr[i] == '(' || text.ptr[i] == ')')
            in_set = text.ptr[i] == '(';
        else if (text.ptr[i] == ',' && !in_set)
            begin = i + 1;
    }
    while (begin < at && strchr(" \t\r\n!", text.ptr[begin]) != NULL)
        begin++;
    return begin < at ? word_at(text, begin) : pl_slice("", 0);
}

/* A fault of a key or a value: the rules of labels say which. */
const char *pl_go_selector_fault(struct pl_arena *arena, struct pl_slice text,
                                 const struct pl_err *err)
{
    static const char ends[][20] = {"or 'end of string'", "after ','"};
    size_t len = strlen(err->message);
    for (size_t i = 0; i < PL_ARRAY_LEN(ends); i++)
        if (err->code == PL_ESYNTAX && len > strlen(ends[i]) &&
            strcmp(err->message + len - strlen(ends[i]), ends[i]) == 0)
            return err->message;
    if (err->code == PL_ESYNTAX || err->offset < 0 || (size_t)err->offset >= text.len)
        return pl_arena_f(arena, "unable to parse requirement: %s", err->message).ptr;
    struct pl_slice word = word_at(text, (size_t)err->offset);
    struct pl_slice key = key_before(text, (size_t)err->offset);
    if (key.len == 0)
        return pl_arena_f(arena, "unable to parse requirement: <nil>: Invalid value: \"%.*s\": %s",
                          PL_FMT(word), key_fault(arena, word))
            .ptr;
    bool fits = pl_label_check_value(word, NULL) == 0;
    return pl_arena_f(
               arena, "unable to parse requirement: values[0]%s%.*s%s: Invalid value: \"%.*s\": %s",
               fits ? "" : "[", fits ? 0 : (int)key.len, key.ptr, fits ? "" : "]", PL_FMT(word),
               fits ? "for 'Gt', 'Lt' operators, the value must be an integer" : value_fault(word))
        .ptr;
}
