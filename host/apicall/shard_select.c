/* Parsing and matching of shardSelector, with kube-apiserver 1.37's words.
 *
 * The text is parsed as a CEL expression, so that syntax errors are those of CEL. It is then read,
 * never evaluated: shardRange() is not a function. Bounds are hexadecimal numbers of 16 digits; the
 * end of the last range is 2^64, which has 17. A uid never changes, so an object that a watch does
 * not match is never sent, and no transition has to be detected. */
#include "apicall/shard_select.h"

#include "base/alloc.h"
#include "base/text.h"
#include "cel/ast.h"
#include "object/arena.h"
#include "shard/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UID       "object.metadata.uid"
#define NAMESPACE "object.metadata.namespace"
#define DIGITS    16
#define END       "0x10000000000000000" /* 2^64 */

struct reader {
    struct pl_api_shards *shards;
    struct pl_buf text; /* the selector as the server repeats it */
    struct pl_buf *why;
    const char *key; /* the key of the ranges so far; NULL: none yet */
    bool has_two_keys;
};

static int shard_select_fail(struct reader *r, const char *fmt, ...) PL_PRINTF(2, 3);

static int shard_select_fail(struct reader *r, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pl_buf_add_z(r->why, text);
    return -1;
}

/* The numbers of expression kinds in the reference implementation. */
static int kind_number(const struct pl_cel_expr *e)
{
    static const int numbers[] = {
        [PL_CEL_CONST] = 5,    [PL_CEL_IDENT] = 3,   [PL_CEL_SELECT] = 7, [PL_CEL_CALL] = 1,
        [PL_CEL_NEW_LIST] = 4, [PL_CEL_NEW_MAP] = 6, [PL_CEL_LOOP] = 2,   [PL_CEL_BIND] = 2};
    bool is_has = e->kind == PL_CEL_SELECT && e->select.is_test;
    return is_has ? 1 : numbers[e->kind];
}

/* ---- one range ---- */

static int shard_select_add_path(struct reader *r, const struct pl_cel_expr *e, struct pl_buf *path)
{
    bool is_name = e->kind == PL_CEL_IDENT;
    bool is_field = e->kind == PL_CEL_SELECT && !e->select.is_test && !e->select.is_optional;
    if (!is_name && !is_field)
        return shard_select_fail(r,
                                 "shardRange() first argument: expected field path (e.g. " UID
                                 "), got expression kind %d",
                                 kind_number(e));
    if (is_field && shard_select_add_path(r, e->select.of, path) != 0)
        return -1;
    if (is_field)
        pl_buf_add_char(path, '.');
    pl_buf_add_slice(path, is_name ? e->ident.name : e->select.field);
    return 0;
}

static int shard_select_read_key(struct reader *r, const struct pl_cel_expr *e, const char **key)
{
    struct pl_buf path = PL_BUF_INIT;
    int code = shard_select_add_path(r, e, &path);
    *key = pl_slice_eqz(pl_buf_slice(&path), UID)         ? UID
           : pl_slice_eqz(pl_buf_slice(&path), NAMESPACE) ? NAMESPACE
                                                          : NULL;
    if (code == 0 && *key == NULL)
        code =
            shard_select_fail(r, "unsupported field path \"%.*s\"; supported: " UID ", " NAMESPACE,
                              PL_FMT(pl_buf_slice(&path)));
    pl_buf_deinit(&path);
    return code;
}

static const char *shard_select_type_name(enum pl_cel_kind kind)
{
    switch (kind) {
    case PL_CEL_NULL:
        return "structpb.NullValue";
    case PL_CEL_BOOL:
        return "bool";
    case PL_CEL_INT:
        return "int64";
    case PL_CEL_UINT:
        return "uint64";
    case PL_CEL_DOUBLE:
        return "float64";
    default:
        return "[]uint8";
    }
}

static int check_digits(struct reader *r, const char *name, struct pl_slice text)
{
    struct pl_slice hex = pl_slice(text.ptr + 2, text.len - 2);
    if (hex.len == 0)
        return shard_select_fail(r, "%s: hex value is required after '0x'", name);
    if (hex.len > DIGITS + 1)
        return shard_select_fail(r, "%s: hex value too long (%zu chars, max %d): \"%.*s\"", name,
                                 hex.len, DIGITS + 1, PL_FMT(hex));
    for (size_t i = 0; i < hex.len; i++)
        if (strchr("0123456789abcdef", hex.ptr[i]) == NULL || hex.ptr[i] == '\0')
            return shard_select_fail(r, "%s: invalid hex character \"%c\" in \"%.*s\"", name,
                                     hex.ptr[i], PL_FMT(text));
    if (hex.len == DIGITS + 1 && !pl_slice_eqz(text, END))
        return shard_select_fail(r, "%s: 17-digit hex value must be '" END "' (2^64), got \"%.*s\"",
                                 name, PL_FMT(text));
    if (hex.len < DIGITS)
        return shard_select_fail(
            r,
            "%s must be a 0x-prefixed 16-digit hex value, got \"%.*s\" (did you mean "
            "\"0x%0*d%.*s\"?)",
            name, PL_FMT(text), (int)(DIGITS - hex.len), 0, PL_FMT(hex));
    return 0;
}

static int read_bound(struct reader *r, const struct pl_cel_expr *e, const char *name,
                      unsigned __int128 *bound)
{
    if (e->kind != PL_CEL_CONST)
        return shard_select_fail(
            r, "%s must be a string literal (e.g. '0xff'), got expression kind %d", name,
            kind_number(e));
    if (e->constant.kind != PL_CEL_STRING)
        return shard_select_fail(r, "%s must be a string literal, got %s", name,
                                 shard_select_type_name(e->constant.kind));
    struct pl_slice text = e->constant.s;
    if (!pl_text_begins(text, "0x"))
        return shard_select_fail(r, "%s must have '0x' prefix, got \"%.*s\"", name, PL_FMT(text));
    if (check_digits(r, name, text) != 0)
        return -1;
    *bound = 0;
    for (size_t i = 2; i < text.len; i++)
        *bound = *bound << 4 |
                 (unsigned)(text.ptr[i] <= '9' ? text.ptr[i] - '0' : text.ptr[i] - 'a' + 10);
    return 0;
}

static void add_range(struct reader *r, const char *key, struct pl_api_shard_range range,
                      struct pl_slice start, struct pl_slice end)
{
    struct pl_api_shards *shards = r->shards;
    shards->ranges = pl_reallocarray(shards->ranges, shards->count + 1, sizeof(*shards->ranges));
    shards->ranges[shards->count++] = range;
    pl_buf_add_f(&r->text, "%sshardRange(%s, '%.*s', '%.*s')", shards->count > 1 ? " || " : "", key,
                 PL_FMT(start), PL_FMT(end));
}

static int read_range(struct reader *r, const struct pl_cel_expr *e)
{
    struct pl_cel_expr **args = e->call.args + (e->call.is_member ? 1 : 0);
    size_t count = e->call.count - (e->call.is_member ? 1 : 0);
    const char *key;
    unsigned __int128 start, end;
    if (count != 3)
        return shard_select_fail(r, "shardRange() requires exactly 3 arguments, got %zu", count);
    if (shard_select_read_key(r, args[0], &key) != 0 ||
        read_bound(r, args[1], "hexStart", &start) != 0 ||
        read_bound(r, args[2], "hexEnd", &end) != 0)
        return -1;
    struct pl_slice from = args[1]->constant.s, to = args[2]->constant.s;
    if (start >= end)
        return shard_select_fail(r, "shard range start %.*s must be less than end %.*s",
                                 PL_FMT(from), PL_FMT(to));
    r->has_two_keys = r->has_two_keys || (r->key != NULL && strcmp(r->key, key) != 0);
    if (r->key == NULL)
        r->key = key;
    add_range(r, key, (struct pl_api_shard_range){(uint64_t)start, (uint64_t)(end - 1)}, from, to);
    return 0;
}

/* ---- the whole selector ---- */

static int read_expression(struct reader *r, const struct pl_cel_expr *e)
{
    int kind = kind_number(e);
    if (kind != 1)
        return shard_select_fail(
            r, "unexpected expression kind %d; expected shardRange() call or || operator", kind);
    struct pl_slice name = e->kind == PL_CEL_CALL ? e->call.name : pl_slice_z("has");
    if (pl_slice_eqz(name, "shardRange"))
        return read_range(r, e);
    if (!pl_slice_eqz(name, "_||_"))
        return shard_select_fail(
            r, "unsupported function \"%.*s\"; only shardRange() and || are allowed", PL_FMT(name));
    for (size_t i = 0; i < e->call.count; i++)
        if (read_expression(r, e->call.args[i]) != 0)
            return -1;
    return 0;
}

/* The first message of the parser, without its position: "ERROR: <input>:1:9: Syntax error: ..." */
static void add_syntax_error(struct pl_buf *why, struct pl_slice issues)
{
    static const char head[] = "ERROR: <input>:";
    size_t at = issues.len > sizeof head ? sizeof head - 1 : 0;
    while (at < issues.len && issues.ptr[at] != ' ')
        at++;
    size_t end = ++at;
    while (end < issues.len && issues.ptr[end] != '\n')
        end++;
    pl_buf_add_f(why, "CEL parse error: %.*s",
                 PL_FMT(pl_slice(issues.ptr + at, end > at ? end - at : 0)));
}

static int read_text(struct reader *r, struct pl_arena *arena, struct pl_slice text)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_cel_issues issues = {.text = text, .out = &out};
    const struct pl_cel_expr *e = pl_cel_parse(arena, text, &issues);
    if (e == NULL)
        add_syntax_error(r->why, pl_buf_slice(&out));
    pl_buf_deinit(&out);
    if (e == NULL || read_expression(r, e) != 0)
        return -1;
    if (r->has_two_keys)
        return shard_select_fail(r,
                                 "all shard ranges must use the same field, got \"%s\" and \"%s\"",
                                 r->key, strcmp(r->key, UID) == 0 ? NAMESPACE : UID);
    return 0;
}

int pl_api_shards_parse(struct pl_api_shards *shards, struct pl_slice text, struct pl_buf *why)
{
    struct reader r = {.shards = shards, .text = PL_BUF_INIT, .why = why};
    struct pl_arena arena = {0};
    *shards = (struct pl_api_shards){0};
    text = pl_slice_trim(text);
    int code =
        text.len > 0
            ? read_text(&r, &arena, text)
            : shard_select_fail(&r, "empty shard selector is not allowed; omit the parameter "
                                    "for unfiltered lists");
    pl_arena_deinit(&arena);
    if (code == 0) {
        shards->by_namespace = strcmp(r.key, NAMESPACE) == 0;
        shards->text = pl_text_copy(pl_buf_slice(&r.text));
    } else {
        pl_api_shards_deinit(shards);
    }
    pl_buf_deinit(&r.text);
    return code;
}

void pl_api_shards_deinit(struct pl_api_shards *shards)
{
    pl_free(shards->ranges);
    pl_free(shards->text);
    *shards = (struct pl_api_shards){0};
}

bool pl_api_shards_match(const struct pl_api_shards *shards, struct pl_node object)
{
    if (shards->count == 0)
        return true;
    struct pl_scratch scratch;
    struct pl_node field =
        pl_node_dig(object, "metadata", shards->by_namespace ? "namespace" : "uid");
    uint64_t hash = pl_fnv1a64(pl_node_str(field, &scratch));
    for (size_t i = 0; i < shards->count; i++)
        if (hash >= shards->ranges[i].start && hash <= shards->ranges[i].last)
            return true;
    return false;
}
