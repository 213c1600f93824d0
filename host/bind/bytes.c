/* host: digests, certificates, addresses and URLs (crypto/digest.h, crypto/x509.h, format/ip.h,
 * format/url.h). Texts come from scripts and from their peers: each function returns nil and the
 * reason, and the Lua half makes the message. Private keys are removed from logs. */
#include "base/buf.h"
#include "base/secrets.h"
#include "bind/list.h"
#include "crypto/digest.h"
#include "crypto/x509.h"
#include "crypto/x509_seed.h"
#include "format/ip.h"
#include "format/url.h"
#include "net/http_server.h"

#include <string.h>

#define FIELDS_MAX 2060 /* 2048 names, and the other fields */

static int bytes_finish(lua_State *L, int rc, struct pl_buf *out, const struct pl_err *err)
{
    if (rc == 0)
        pl_lua_push(L, pl_buf_slice(out));
    pl_buf_deinit(out);
    return rc == 0 ? 1 : pl_lua_fail(L, err);
}

/* ---- digests ---- */

/* digest(algorithm, text) -> bytes | nil */
static int digest(lua_State *L)
{
    uint8_t out[PL_DIGEST_MAX];
    size_t len = pl_digest(luaL_checkstring(L, 1), pl_lua_check_text(L, 2), out);
    if (len == 0)
        return 0;
    lua_pushlstring(L, (const char *)out, len);
    return 1;
}

/* hmac(algorithm, key, text) -> bytes | nil */
static int hmac(lua_State *L)
{
    uint8_t out[PL_DIGEST_MAX];
    size_t len =
        pl_hmac(luaL_checkstring(L, 1), pl_lua_check_text(L, 2), pl_lua_check_text(L, 3), out);
    if (len == 0)
        return 0;
    lua_pushlstring(L, (const char *)out, len);
    return 1;
}

/* bytes_equal(a, b) -> bool */
static int bytes_equal(lua_State *L)
{
    lua_pushboolean(L, pl_bytes_equal(pl_lua_check_text(L, 1), pl_lua_check_text(L, 2)));
    return 1;
}

/* ---- certificates ---- */

/* The array at index, {name, value, name, value...}; the list is a userdata at the top, the array
 * keeps the texts. */
static struct pl_x509_fields check_fields(lua_State *L, int index)
{
    luaL_checktype(L, index, LUA_TTABLE);
    size_t count = lua_objlen(L, index) / 2;
    luaL_argcheck(L, count <= FIELDS_MAX, index, "too many names");
    struct pl_x509_field *list = lua_newuserdata(L, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, index, (int)(2 * i + 1));
        lua_rawgeti(L, index, (int)(2 * i + 2));
        if (lua_type(L, -1) != LUA_TSTRING || lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "fields are texts");
        list[i].name = lua_tostring(L, -2);
        list[i].value = pl_lua_slice(L, -1);
        lua_pop(L, 2);
    }
    return (struct pl_x509_fields){list, count};
}

/* Scripts of a world get the same keys each time: one number of theirs is the seed of all that a
 * call needs. Call unseed behind it. */
static void seed(lua_State *L)
{
    struct pl_state *s = pl_state_of(L);
    if (s->seeded)
        pl_x509_seed(pl_rand_u64(&s->rand) | 1);
}

static void unseed(void)
{
    pl_x509_seed(0);
}

/* x509_key(kind) -> pem | nil, message */
static int x509_key(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    const char *kind = luaL_checkstring(L, 1);
    seed(L);
    int rc = pl_x509_make_key(kind, &out, &err);
    unseed();
    if (rc == 0)
        pl_secrets_add(&pl_state_of(L)->secrets, pl_buf_slice(&out));
    return bytes_finish(L, rc, &out, &err);
}

/* x509_public(pem) -> pem | nil, message */
static int x509_public(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    int rc = pl_x509_public_key(pl_lua_check_text(L, 1), &out, &err);
    return bytes_finish(L, rc, &out, &err);
}

/* x509_request(key, fields) -> pem | nil, message */
static int x509_request(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    struct pl_slice key = pl_lua_check_text(L, 1);
    struct pl_x509_fields fields = check_fields(L, 2);
    seed(L);
    int rc = pl_x509_make_request(key, fields, &out, &err);
    unseed();
    return bytes_finish(L, rc, &out, &err);
}

/* x509_sign(subject, issuer, issuer's key, fields) -> pem | nil, message */
static int x509_sign(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    struct pl_slice subject = pl_lua_check_text(L, 1), issuer = pl_lua_check_text(L, 2),
                    key = pl_lua_check_text(L, 3);
    struct pl_x509_fields fields = check_fields(L, 4);
    seed(L);
    int rc = pl_x509_sign(subject, issuer, key, fields, &out, &err);
    unseed();
    return bytes_finish(L, rc, &out, &err);
}

/* x509_read(pem) -> "name\0value\0..." | nil, message */
static int x509_read(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    int rc = pl_x509_read(pl_lua_check_text(L, 1), &out, &err);
    return bytes_finish(L, rc, &out, &err);
}

static int push_verdict(lua_State *L, int rc, const struct pl_err *err)
{
    if (rc < 0)
        return pl_lua_fail(L, err);
    lua_pushboolean(L, rc);
    if (rc == 0)
        lua_pushstring(L, err->message);
    return rc == 0 ? 2 : 1;
}

/* x509_verify(pem, roots, intermediates, host, usage, at) -> true | false, why | nil, message */
static int x509_verify(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_x509_wish wish = {
        .roots = pl_lua_check_text(L, 2),
        .intermediates = pl_lua_check_text(L, 3),
        .host = pl_lua_check_text(L, 4),
        .usage = pl_lua_check_text(L, 5),
        .at = (int64_t)luaL_checknumber(L, 6),
    };
    return push_verdict(L, pl_x509_verify(pl_lua_check_text(L, 1), &wish, &err), &err);
}

/* x509_is_pair(pem, key) -> bool | nil, message */
static int x509_is_pair(lua_State *L)
{
    struct pl_err err;
    pl_err_clear(&err);
    return push_verdict(L, pl_x509_is_pair(pl_lua_check_text(L, 1), pl_lua_check_text(L, 2), &err),
                        &err);
}

/* ---- addresses ---- */

static void bytes_set_address(lua_State *L, const char *field, const struct pl_ip *ip)
{
    char text[PL_IP_TEXT];
    pl_ip_text(ip, text);
    lua_pushstring(L, text);
    lua_setfield(L, -2, field);
}

/* ip(text) -> {version=, address=, prefix=, first=, last=} | nil, message; the last three of a
 * network alone */
static int ip_parse(lua_State *L)
{
    struct pl_ip ip;
    struct pl_err err;
    if (pl_ip_parse(pl_lua_check_text(L, 1), &ip, &err) != 0)
        return pl_lua_fail(L, &err);
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, ip.len == 4 ? 4 : 6);
    lua_setfield(L, -2, "version");
    bytes_set_address(L, "address", &ip);
    if (!ip.is_network)
        return 1;
    struct pl_ip first = pl_ip_first(&ip), last = pl_ip_last(&ip);
    lua_pushinteger(L, ip.prefix);
    lua_setfield(L, -2, "prefix");
    bytes_set_address(L, "first", &first);
    bytes_set_address(L, "last", &last);
    return 1;
}

/* ip_contains(outer, inner) -> bool | nil, message, which of them */
static int ip_contains(lua_State *L)
{
    struct pl_ip ips[2];
    struct pl_err err;
    for (int i = 0; i < 2; i++) {
        if (pl_ip_parse(pl_lua_check_text(L, i + 1), &ips[i], &err) != 0) {
            pl_lua_fail(L, &err);
            lua_pushinteger(L, i + 1);
            return 3;
        }
    }
    lua_pushboolean(L, pl_ip_contains(&ips[0], &ips[1]));
    return 1;
}

/* ---- URLs ---- */

static void set_part(lua_State *L, const char *field, struct pl_slice part)
{
    if (part.ptr == NULL)
        return;
    pl_lua_push(L, part);
    lua_setfield(L, -2, field);
}

/* url(text) -> {scheme=, user=, password=, host=, port=, path=, query=, fragment=}, as they stand
 * there | nil, message */
static int url_parse(lua_State *L)
{
    struct pl_url url;
    struct pl_err err;
    if (pl_url_parse(pl_lua_check_text(L, 1), &url, &err) != 0)
        return pl_lua_fail(L, &err);
    lua_createtable(L, 0, 8);
    set_part(L, "scheme", url.scheme);
    set_part(L, "user", url.user);
    set_part(L, "password", url.password);
    set_part(L, "host", url.host);
    set_part(L, "path", url.path);
    set_part(L, "query", url.query);
    set_part(L, "fragment", url.fragment);
    if (url.port >= 0) {
        lua_pushinteger(L, url.port);
        lua_setfield(L, -2, "port");
    }
    return 1;
}

/* url_escape(text) -> text: all but letters, digits and -._~ */
static int url_escape(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    pl_url_escape(pl_lua_check_text(L, 1), &out);
    return bytes_finish(L, 0, &out, NULL);
}

/* url_unescape(text, plus is a space) -> text | nil, message */
static int url_unescape(lua_State *L)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_err err;
    struct pl_slice text = pl_lua_check_text(L, 1);
    int rc = pl_url_check_escapes(text, &err);
    if (rc == 0)
        pl_url_unescape(text, lua_toboolean(L, 2), &out);
    return bytes_finish(L, rc, &out, &err);
}

const luaL_Reg pl_bind_bytes[] = {
    {"digest", digest},
    {"hmac", hmac},
    {"bytes_equal", bytes_equal},
    {"x509_key", x509_key},
    {"x509_public", x509_public},
    {"x509_request", x509_request},
    {"x509_sign", x509_sign},
    {"x509_read", x509_read},
    {"x509_verify", x509_verify},
    {"x509_is_pair", x509_is_pair},
    {"ip", ip_parse},
    {"ip_contains", ip_contains},
    {"url", url_parse},
    {"url_escape", url_escape},
    {"url_unescape", url_unescape},
    {NULL, NULL},
};
