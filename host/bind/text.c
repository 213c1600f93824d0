/* host: bytes, units, names. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/rand.h"
#include "base/text.h"
#include "bind/list.h"
#include "crypto/sha256.h"
#include "format/units.h"
#include "lua/lerr.h"
#include "lua/lval.h"
#include "object/kind.h"
#include "object/label.h"
#include "object/path.h"
#include "object/pointer.h"
#include "object/selector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RANDOM_MAX (1 << 20)

/* ---- bytes ---- */

static int sha256(lua_State *L)
{
    char hex[2 * PL_SHA256_BYTES + 1];
    pl_sha256_hex(pl_lua_check_text(L, 1), hex);
    lua_pushstring(L, hex);
    return 1;
}

/* hash(text) -> 16 hexadecimal digits: of a fast hash, for names within this process and its
 * copies. */
static int text_hash(lua_State *L)
{
    char hex[17];
    struct pl_slice text = pl_lua_check_text(L, 1);
    snprintf(hex, sizeof hex, "%016" PRIx64, pl_hash(text.ptr, text.len, 0));
    lua_pushlstring(L, hex, sizeof hex - 1);
    return 1;
}

static int base64_encode(lua_State *L)
{
    struct pl_slice bytes = pl_lua_check_text(L, 1);
    struct pl_buf out = PL_BUF_INIT;
    pl_base64_encode(bytes, &out);
    return pl_lua_push_buf(L, &out);
}

static int base64_decode(lua_State *L)
{
    struct pl_slice text = pl_lua_check_text(L, 1);
    struct pl_buf out = PL_BUF_INIT;
    if (pl_base64_decode(text, &out)) {
        struct pl_secrets *secrets = &pl_state_of(L)->secrets;
        if (pl_secrets_has(secrets, text)) /* a part of a secret is secret too */
            pl_secrets_add(secrets, pl_buf_slice(&out));
        return pl_lua_push_buf(L, &out);
    }
    pl_buf_deinit(&out);
    return 0;
}

/* without_secrets(text) -> text, as it may be shown: before it is cut, as a part of a value would
 * not be found. */
static int without_secrets(lua_State *L)
{
    struct pl_slice text = pl_lua_check_text(L, 1);
    char *masked = pl_secrets_mask(&pl_state_of(L)->secrets, text);
    lua_settop(L, 1);
    if (masked != NULL) {
        struct pl_buf out = PL_BUF_INIT;
        pl_buf_add_z(&out, masked);
        pl_free(masked);
        return pl_lua_push_buf(L, &out);
    }
    return 1;
}

static void draw(struct pl_rand *rand, unsigned char *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (unsigned char)(pl_rand_u64(rand) >> 32);
}

static int random_bytes(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    lua_Number count = luaL_checknumber(L, 1);
    if (!(count >= 0 && count <= RANDOM_MAX))
        return pl_lerr_raise(L, s, "random: at most %d bytes at a time", RANDOM_MAX);
    void *bytes = lua_newuserdata(L, (size_t)count + 1);
    if (s->seeded)
        draw(&s->rand, bytes, (size_t)count);
    else if (pl_rand_bytes(bytes, (size_t)count) != 0)
        return pl_lerr_raise(L, s, "random: the system gives no random bytes");
    lua_pushlstring(L, bytes, (size_t)count);
    return 1;
}

/* ---- units ---- */

static int text_quantity(lua_State *L)
{
    double value;
    if (!pl_quantity_parse(pl_lua_check_text(L, 1), &value))
        return 0;
    lua_pushnumber(L, value);
    return 1;
}

static int push_seconds(lua_State *L, int64_t ns)
{
    /* Nanoseconds since 1970 exceed the precision of a double. */
    int64_t whole = ns / PL_SECOND, rest = ns % PL_SECOND;
    lua_pushnumber(L, (lua_Number)whole + (lua_Number)rest / (lua_Number)PL_SECOND);
    return 1;
}

/* duration(text) -> seconds | nil, whether it is one that is too long */
static int duration(lua_State *L)
{
    int64_t ns;
    int rc = pl_duration_parse_long(pl_lua_check_text(L, 1), &ns);
    if (rc == 0)
        return push_seconds(L, ns);
    lua_pushnil(L);
    lua_pushboolean(L, rc == PL_ELIMIT);
    return 2;
}

static int time_parse(lua_State *L)
{
    int64_t seconds;
    int ns;
    if (!pl_time_parse_wide(pl_lua_check_text(L, 1), &seconds, &ns))
        return 0;
    lua_pushnumber(L, (lua_Number)seconds + (lua_Number)ns / (lua_Number)PL_SECOND);
    return 1;
}

#define FIRST_SECOND (-62167219200.0) /* of the year 0000, and of the year 10000 */
#define AFTER_LAST   253402300800.0

/* time_format(seconds, digits | nil): RFC 3339 in UTC with that many digits after the point, the
 * rest cut; without a number, microseconds, rounded, if there is a fraction. */
static int time_format(lua_State *L)
{
    lua_Number seconds = luaL_checknumber(L, 1);
    int digits = (int)luaL_optinteger(L, 2, -1);
    if (!(seconds >= FIRST_SECOND && seconds < AFTER_LAST))
        return pl_lerr_raise(L, pl_state_of(L),
                             "time.format: %g is outside of the years 0000 to 9999", seconds);
    int64_t whole = (int64_t)floor(seconds);
    int us = (int)((seconds - floor(seconds)) * 1e6 + 0.5);
    if (us == 1000000) {
        whole++;
        us = 0;
    }
    char text[40];
    pl_time_text_wide(whole, us * 1000, digits >= 0 ? digits : us != 0 ? 6 : 0, text);
    lua_pushstring(L, text);
    return 1;
}

static int text_now(lua_State *L)
{
    return push_seconds(L, pl_clock_wall(pl_state_clock(pl_state_of(L))));
}

/* ---- selectors, paths, kinds ---- */

#define SELECTOR_MAX ((size_t)64 << 10)

/* Each term costs time, and users may supply them. */
static bool is_too_long(struct pl_slice text, struct pl_err *err)
{
    if (text.len > SELECTOR_MAX)
        pl_err_set(err, PL_ELIMIT, "a selector of more than 64 KiB");
    return text.len > SELECTOR_MAX;
}

static bool is_label_selector(struct pl_node node)
{
    struct pl_node labels = pl_node_getz(node, "matchLabels");
    struct pl_node expressions = pl_node_getz(node, "matchExpressions");
    return pl_node_type(labels) == PL_OBJECT || pl_node_type(expressions) == PL_ARRAY;
}

static struct pl_selector *selector_of_table(lua_State *L, struct pl_err *err)
{
    struct pl_state *s = pl_state_of(L);
    struct pl_doc *doc = pl_lval_doc(L, s, 1, err);
    if (doc == NULL)
        return NULL;
    struct pl_node root = pl_doc_root(doc);
    struct pl_selector *selector = is_label_selector(root) ? pl_selector_from_node(root, err)
                                                           : pl_selector_from_map(root, err);
    pl_doc_unref(doc);
    return selector;
}

/* Of the first argument. NULL and err if it is none. */
static struct pl_selector *read_selector(lua_State *L, struct pl_err *err)
{
    if (lua_type(L, 1) == LUA_TSTRING)
        return is_too_long(pl_lua_slice(L, 1), err) ? NULL
                                                    : pl_selector_parse(pl_lua_slice(L, 1), err);
    if (lua_type(L, 1) == LUA_TTABLE)
        return selector_of_table(L, err);
    pl_err_set(err, PL_EINVAL, "a selector is a text or a table, not %s%s",
               lua_isnil(L, 1) ? "" : "a ", luaL_typename(L, 1));
    return NULL;
}

/* selects(selector, labels) -> bool | nil, message */
static int text_selects(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_selector *parsed = read_selector(L, &err);
    struct pl_doc *labels = parsed != NULL ? pl_lval_doc(L, pl_state_of(L), 2, &err) : NULL;
    bool matches = labels != NULL && pl_selector_matches(parsed, pl_doc_root(labels));
    bool failed = labels == NULL;
    pl_doc_unref(labels);
    pl_selector_destroy(parsed);
    if (failed)
        return pl_lua_fail(L, &err);
    lua_pushboolean(L, matches);
    return 1;
}

static int selector(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_selector *parsed = read_selector(L, &err);
    if (parsed == NULL)
        return pl_lua_fail(L, &err);
    struct pl_buf out = PL_BUF_INIT;
    pl_selector_text(parsed, &out);
    bool empty = pl_selector_is_empty(parsed);
    pl_selector_destroy(parsed);
    if (empty) {
        pl_buf_deinit(&out);
        pl_err_set(&err, PL_EINVAL, "an empty selector; leave it out to mean everything");
        return pl_lua_fail(L, &err);
    }
    return pl_lua_push_buf(L, &out);
}

static int fields(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_slice text = pl_lua_check_text(L, 1);
    struct pl_fields *parsed = is_too_long(text, &err) ? NULL : pl_fields_parse(text, &err);
    if (parsed == NULL)
        return pl_lua_fail(L, &err);
    struct pl_buf out = PL_BUF_INIT;
    pl_fields_text(parsed, &out);
    size_t count = pl_fields_count(parsed);
    pl_fields_destroy(parsed);
    if (count == 0) {
        pl_buf_deinit(&out);
        pl_err_set(&err, PL_EINVAL, "an empty selector; leave it out to mean everything");
        return pl_lua_fail(L, &err);
    }
    return pl_lua_push_buf(L, &out);
}

static int path(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_path *parsed = pl_path_parse(pl_lua_check_text(L, 1), &err);
    if (parsed == NULL)
        return pl_lua_fail(L, &err);
    lua_createtable(L, (int)pl_path_len(parsed), 0);
    for (size_t i = 0; i < pl_path_len(parsed); i++) {
        struct pl_step step = pl_path_step(parsed, i);
        if (step.key.ptr != NULL)
            pl_lua_push(L, step.key);
        else
            lua_pushinteger(L, (lua_Integer)step.index);
        lua_rawseti(L, -2, (int)i + 1);
    }
    pl_path_destroy(parsed);
    return 1;
}

/* pointer(text) -> array of words | nil, message */
static int pointer(lua_State *L)
{
    struct pl_err err;
    struct pl_slice text = pl_lua_check_text(L, 1);
    struct pl_buf word = PL_BUF_INIT;
    int rc, count = 0;
    lua_newtable(L);
    while ((rc = pl_pointer_next(&text, &word, &err)) == 1) {
        pl_lua_push(L, pl_buf_slice(&word));
        lua_rawseti(L, -2, ++count);
    }
    pl_buf_deinit(&word);
    return rc == 0 ? 1 : pl_lua_fail(L, &err);
}

/* pointer_word(word) -> "/word", encoded */
static int pointer_word(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_pointer_add(&out, pl_lua_check_text(L, 1));
    return pl_lua_push_buf(L, &out);
}

static int kind(lua_State *L)
{
    struct pl_err err;
    struct pl_kind parsed;
    pl_err_clear(&err);
    if (pl_kind_parse(pl_lua_check_text(L, 1), &parsed, &err) != 0)
        return pl_lua_fail(L, &err);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, parsed.group);
    lua_setfield(L, -2, "group");
    lua_pushstring(L, parsed.version);
    lua_setfield(L, -2, "version");
    lua_pushstring(L, parsed.kind);
    lua_setfield(L, -2, "kind");
    return 1;
}

/* ---- words and names ---- */

static int nearest(lua_State *L)
{
    struct pl_slice word = pl_lua_check_text(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    int count = (int)lua_objlen(L, 2);
    const char **words = lua_newuserdata(L, ((size_t)count + 1) * sizeof *words);
    size_t kept = 0;
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, 2, i);
        if (lua_type(L, -1) == LUA_TSTRING)
            words[kept++] = lua_tostring(L, -1); /* the array keeps it alive */
        lua_pop(L, 1);
    }
    lua_pushstring(L, pl_nearest(word, words, kept)); /* nil for NULL */
    return 1;
}

static int text_is_name(lua_State *L)
{
    struct pl_slice text = pl_lua_check_text(L, 1), form = pl_lua_check_text(L, 2);
    struct pl_err err;
    bool fits;
    if (pl_slice_eqz(form, "dns-label"))
        fits = text.len <= 63 && pl_text_is_label(text);
    else if (pl_slice_eqz(form, "dns-subdomain"))
        fits = text.len <= 253 && pl_text_is_subdomain(text);
    else if (pl_slice_eqz(form, "qualified"))
        fits = pl_label_check_key(text, &err) == 0;
    else
        return luaL_error(L, "no such form of names: %s", form.ptr);
    lua_pushboolean(L, fits);
    return 1;
}

const luaL_Reg pl_bind_texts[] = {
    {"hash", text_hash},
    {"sha256", sha256},
    {"base64_encode", base64_encode},
    {"base64_decode", base64_decode},
    {"without_secrets", without_secrets},
    {"random", random_bytes},
    {"quantity", text_quantity},
    {"duration", duration},
    {"time_parse", time_parse},
    {"time_format", time_format},
    {"now", text_now},
    {"selector", selector},
    {"selects", text_selects},
    {"fields", fields},
    {"path", path},
    {"pointer", pointer},
    {"pointer_word", pointer_word},
    {"kind", kind},
    {"nearest", nearest},
    {"is_name", text_is_name},
    {NULL, NULL},
};
