/* A number that a double cannot hold keeps its digits: as int64_t if that holds it, else as text.
 * Decimals are compared to decide whether a double holds a text exactly. Texts of scripts and peers
 * have a limit of digits. */
#include "lua/number.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

#define EXACT_INT  INT64_C(9007199254740992) /* 2^53 */
#define TEXT_LIMIT 4096                      /* limit of digits in one number */

/* ---- comparing decimals ---- */

/* A decimal without the zeros around its digits: 0.d1d2d3... * 10^exponent. */
struct decimal {
    bool negative;
    char digits[24];
    size_t count; /* of significant digits, 25 when there are more than fit */
    long exponent;
};

static void add_digit(struct decimal *d, char c, size_t *zeros)
{
    if (c == '0') {
        (*zeros)++;
        return;
    }
    size_t at = d->count + *zeros;
    while (d->count < at && d->count < sizeof d->digits)
        d->digits[d->count++] = '0';
    if (d->count < sizeof d->digits)
        d->digits[d->count++] = c;
    else
        d->count = sizeof d->digits + 1;
    *zeros = 0;
}

/* The digits after the "e"; reads nothing beyond the text. Larger exponents than a million are
 * equal to it. */
static long parse_exponent(struct pl_slice text)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    long value = 0;
    for (size_t i = negative || (text.len > 0 && text.ptr[0] == '+'); i < text.len; i++)
        value = value < 100000 ? value * 10 + (text.ptr[i] - '0') : 1000000;
    return negative ? -value : value;
}

static struct decimal parse_decimal(struct pl_slice text)
{
    struct decimal d = {.negative = text.len && text.ptr[0] == '-'};
    size_t zeros = 0;
    long point = 0;
    bool fraction = false, started = false;
    for (size_t i = d.negative; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == 'e' || c == 'E') {
            point += parse_exponent(pl_slice(text.ptr + i + 1, text.len - i - 1));
            break;
        }
        if (c == '.') {
            fraction = true;
            continue;
        }
        started = started || c != '0';
        if (!fraction && started)
            point++;
        if (fraction && !started)
            point--;
        if (started && d.count <= sizeof d.digits)
            add_digit(&d, c, &zeros);
    }
    d.exponent = d.count ? point : 0;
    return d;
}

bool pl_number_is_exact(struct pl_slice text, double value)
{
    if (!isfinite(value))
        return false;
    char own[32];
    pl_text_of_double(value, own);
    struct decimal a = parse_decimal(text), b = parse_decimal(pl_slice_z(own));
    return a.count <= sizeof a.digits && a.count == b.count && a.exponent == b.exponent &&
           (a.negative == b.negative || a.count == 0) && memcmp(a.digits, b.digits, a.count) == 0;
}

/* ---- to Lua ---- */

static void push_int64(lua_State *L, struct pl_state *s, int64_t value)
{
    pl_ref_push(L, s->refs.new_int64);
    lua_call(L, 0, 1); /* Perilune's own function; never raises */
    memcpy((void *)lua_topointer(L, -1), &value, sizeof value);
}

static void push_text(lua_State *L, struct pl_state *s, struct pl_slice text)
{
    char *copy = lua_newuserdata(L, text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    pl_ref_push(L, s->refs.number_meta);
    lua_setmetatable(L, -2);
}

void pl_number_push(lua_State *L, struct pl_state *s, struct pl_node number)
{
    int64_t integer;
    if (pl_node_int(number, &integer)) {
        if (integer >= -EXACT_INT && integer <= EXACT_INT)
            lua_pushnumber(L, (lua_Number)integer);
        else
            push_int64(L, s, integer);
        return;
    }
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_number(number, &scratch);
    double value = pl_node_double(number);
    if (pl_number_is_exact(text, value))
        lua_pushnumber(L, value);
    else
        push_text(L, s, text);
}

bool pl_number_text(lua_State *L, struct pl_state *s, int index, struct pl_slice *text)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
        return false;
    bool is_number = lua_topointer(L, -1) == s->number_meta;
    lua_pop(L, 1);
    if (is_number)
        *text = pl_slice(lua_touserdata(L, index), lua_objlen(L, index) - 1);
    return is_number;
}

/* ---- from Lua ---- */

/* 1: int64_t, 2: uint64_t, 0: something else. */
static int cdata_class(lua_State *L, struct pl_state *s, int index)
{
    lua_pushvalue(L, index);
    pl_ref_push(L, s->refs.cdata_class);
    lua_insert(L, -2);
    int class = lua_pcall(L, 1, 1, 0) == 0 ? (int)lua_tointeger(L, -1) : 0;
    lua_pop(L, 1);
    return class;
}

static int build_cdata(lua_State *L, struct pl_state *s, int index, struct pl_build *build,
                       struct pl_err *err)
{
    int class = cdata_class(L, s, index);
    if (class == 0)
        return pl_err_set(err, PL_EINVAL, "a cdata that is not a 64-bit integer can't be encoded");
    int64_t value;
    memcpy(&value, lua_topointer(L, index), sizeof value);
    if (class == 1 || value >= 0) {
        pl_build_int(build, value);
        return 0;
    }
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    pl_build_number(build, pl_slice(text, (size_t)len));
    return 0;
}

int pl_number_build(lua_State *L, struct pl_state *s, int index, struct pl_build *build,
                    struct pl_err *err)
{
    struct pl_slice text;
    if (lua_type(L, index) == LUA_TNUMBER) {
        double value = lua_tonumber(L, index);
        if (isnan(value))
            return pl_err_set(err, PL_EINVAL, "NaN can't be encoded");
        if (isinf(value))
            return pl_err_set(err, PL_EINVAL, "an infinite number can't be encoded");
        if (value == floor(value) && fabs(value) <= (double)EXACT_INT)
            pl_build_int(build, (int64_t)value);
        else
            pl_build_double(build, value);
        return 0;
    }
    if (lua_type(L, index) == PL_TCDATA)
        return build_cdata(L, s, index, build, err);
    if (!pl_number_text(L, s, index, &text))
        return pl_err_set(err, PL_EINVAL, "a %s can't be encoded", luaL_typename(L, index));
    pl_build_number(build, text);
    return 0;
}

/* ---- what scripts can do with a perilune.number ---- */

static struct pl_slice check_number(lua_State *L, int index)
{
    struct pl_slice text = {NULL, 0};
    if (!pl_number_text(L, pl_state_of(L), index, &text))
        luaL_typerror(L, index, "perilune.number");
    return text;
}

static int number_tostring(lua_State *L)
{
    pl_lua_push(L, check_number(L, 1));
    return 1;
}

static int number_eq(lua_State *L)
{
    struct pl_slice a = check_number(L, 1), b = check_number(L, 2);
    struct decimal x = parse_decimal(a), y = parse_decimal(b);
    bool small = x.count <= sizeof x.digits && y.count <= sizeof y.digits;
    bool same = small ? x.count == y.count && x.exponent == y.exponent &&
                            x.negative == y.negative && memcmp(x.digits, y.digits, x.count) == 0
                      : pl_slice_eq(a, b);
    lua_pushboolean(L, same);
    return 1;
}

int pl_number_from_text(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    struct pl_slice text = pl_slice(bytes, len);
    if (len > TEXT_LIMIT || !pl_is_json_number(text)) {
        lua_pushnil(L);
        lua_pushfstring(L, len > 60 ? "this text is not a number" : "\"%s\" is not a number",
                        bytes);
        return 2;
    }
    struct pl_build *build = pl_build_create(NULL);
    pl_build_number(build, text);
    struct pl_doc *doc = pl_build_close(build);
    pl_number_push(L, s, pl_doc_root(doc));
    pl_doc_unref(doc);
    return 1;
}

/* ---- int64 ---- */

static const char prelude[] = "local ffi = ...\n"
                              "local int64, uint64 = ffi.typeof('int64_t'), "
                              "ffi.typeof('uint64_t')\n"
                              "local istype = ffi.istype\n"
                              "return function() return int64() end, function(v)\n"
                              "  return istype(int64, v) and 1 or istype(uint64, v) and 2 or nil\n"
                              "end\n";

void pl_number_open(struct pl_state *s)
{
    lua_State *L = s->L;
    static const luaL_Reg metamethods[] = {
        {"__tostring", number_tostring},
        {"__eq", number_eq},
        {NULL, NULL},
    };
    lua_newtable(L);
    pl_state_register(L, s, metamethods);
    lua_pushliteral(L, "perilune.number");
    lua_setfield(L, -2, "__metatable");
    s->number_meta = lua_topointer(L, -1);
    s->refs.number_meta = luaL_ref(L, LUA_REGISTRYINDEX);

    lua_pushcfunction(L, luaopen_ffi);
    lua_pushliteral(L, "ffi");
    lua_call(L, 1, 1);
    lua_pushvalue(L, -1);
    s->refs.ffi = luaL_ref(L, LUA_REGISTRYINDEX);
    if (luaL_loadbuffer(L, prelude, sizeof prelude - 1, PL_OWN_CHUNK "number") != 0)
        lua_error(L);
    lua_insert(L, -2);
    lua_call(L, 1, 2); /* new, class */
    s->refs.cdata_class = luaL_ref(L, LUA_REGISTRYINDEX);
    s->refs.new_int64 = luaL_ref(L, LUA_REGISTRYINDEX);
}
