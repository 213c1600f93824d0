/* A place follows from the names on the way to it. The operations of a JSON patch name such a way
 * themselves. */
#include "record/veil_place.h"

#include "base/base.h"
#include "base/text.h"
#include "object/meta.h"
#include "object/secret.h"

#include <string.h>
#include <strings.h>

static bool place_is(struct pl_node node, const char *name, const char *value)
{
    return pl_node_str_eq(pl_node_getz(node, name), pl_slice_z(value));
}

/* True for "/api/v1/secrets", "/api/v1/namespaces/a/secrets/b" and the like. */
static bool is_raw_secret(struct pl_node node)
{
    static const char word[] = "/secrets";
    struct pl_node path = pl_node_getz(node, "raw_path");
    struct pl_scratch scratch;
    if (pl_node_type(path) != PL_STRING)
        return false;
    struct pl_slice text = pl_node_str(path, &scratch);
    const char *at = pl_text_find(text, word);
    if (!pl_text_begins(text, "/api/v1/") || at == NULL)
        return false;
    size_t after = (size_t)(at - text.ptr) + sizeof word - 1;
    return after == text.len || strchr("/?", text.ptr[after]) != NULL;
}

static bool place_is_secret(struct pl_node node)
{
    return pl_secret_is_one(node) || place_is(node, "kind", "v1/Secret") || is_raw_secret(node) ||
           (place_is(node, "apiVersion", "v1") && place_is(node, "kind", "SecretList"));
}

static bool is_issued(struct pl_node node)
{
    struct pl_node version = pl_node_getz(node, "apiVersion");
    struct pl_scratch scratch;
    return (place_is(node, "kind", "TokenRequest") || place_is(node, "kind", "TokenReview")) &&
           pl_node_type(version) == PL_STRING &&
           pl_text_begins(pl_node_str(version, &scratch), "authentication.k8s.io/");
}

enum pl_place pl_place_of(struct pl_node node, enum pl_place place)
{
    struct pl_scratch scratch;
    if (pl_node_type(node) == PL_STRING && place == PL_PLACE_OTHER &&
        pl_text_find(pl_node_str(node, &scratch), "PRIVATE KEY-----") != NULL)
        return PL_PLACE_VALUE;
    if (pl_node_type(node) != PL_OBJECT)
        return place;
    if (place_is_secret(node))
        return PL_PLACE_SECRET;
    return is_issued(node) ? PL_PLACE_ISSUED : place;
}

/* True if one of the parts occurs in the name, in any case of letters. */
static bool has_part(struct pl_slice name, const char *const *parts)
{
    for (; *parts != NULL; parts++) {
        size_t len = strlen(*parts);
        for (size_t at = 0; at + len <= name.len; at++)
            if (strncasecmp(name.ptr + at, *parts, len) == 0)
                return true;
    }
    return false;
}

/* True for the names of headers that carry credentials. */
static bool is_credential(struct pl_slice name)
{
    static const char *const names[] = {"cookie", "x-api-key"};
    static const char *const parts[] = {"token", "secret", "password", "authorization", NULL};
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++)
        if (name.len == strlen(names[i]) && strncasecmp(name.ptr, names[i], name.len) == 0)
            return true;
    return has_part(name, parts);
}

bool pl_place_is_secret_variable(struct pl_slice name, struct pl_slice value)
{
    static const char *const parts[] = {"token", "secret",     "passw", "auth",
                                        "key",   "credential", NULL};
    static const char *const places[] = {"name", "file", "path", "dir", NULL}; /* where one is */
    const char *scheme = pl_text_find(value, "://");
    if (scheme != NULL && memchr(scheme, '@', value.len - (size_t)(scheme - value.ptr)) != NULL)
        return true;
    return has_part(name, parts) && !has_part(name, places);
}

static enum pl_place below_secret(struct pl_slice key)
{
    if (pl_slice_eqz(key, "data"))
        return PL_PLACE_DATA;
    if (pl_slice_eqz(key, "stringData"))
        return PL_PLACE_PLAIN_DATA;
    if (pl_slice_eqz(key, "metadata"))
        return PL_PLACE_METADATA;
    return pl_slice_eqz(key, "body") || pl_slice_eqz(key, "object") ||
                   pl_slice_eqz(key, "oldObject") || pl_slice_eqz(key, "items")
               ? PL_PLACE_SECRET
               : PL_PLACE_OTHER;
}

static enum pl_place place_below(enum pl_place place, struct pl_slice key)
{
    switch (place) {
    case PL_PLACE_SECRET:
        return below_secret(key);
    case PL_PLACE_METADATA:
        return pl_slice_eqz(key, "annotations") ? PL_PLACE_ANNOTATIONS : PL_PLACE_OTHER;
    case PL_PLACE_ANNOTATIONS:
        return pl_slice_eqz(key, PL_META_APPLIED) ? PL_PLACE_APPLIED : PL_PLACE_OTHER;
    case PL_PLACE_DATA:
        return PL_PLACE_CODED;
    case PL_PLACE_PLAIN_DATA:
        return PL_PLACE_VALUE;
    case PL_PLACE_HEADERS:
        return is_credential(key) ? PL_PLACE_VALUE : PL_PLACE_OTHER;
    case PL_PLACE_ISSUED:
        return pl_slice_eqz(key, "status") || pl_slice_eqz(key, "spec") ? PL_PLACE_TOKEN
                                                                        : PL_PLACE_OTHER;
    case PL_PLACE_TOKEN:
        return pl_slice_eqz(key, "token") ? PL_PLACE_VALUE : PL_PLACE_OTHER;
    case PL_PLACE_CODED:
    case PL_PLACE_VALUE:
        return place;
    default:
        return pl_slice_eqz(key, "stringData") ? PL_PLACE_PLAIN_DATA : PL_PLACE_OTHER;
    }
}

/* The next part of a JSON pointer, without its escapes. out: as large as the pointer. */
static struct pl_slice next_part(struct pl_slice *pointer, char *out)
{
    size_t i = *pointer->ptr == '/' ? 1 : 0, len = 0;
    for (; i < pointer->len && pointer->ptr[i] != '/'; i++) {
        char c = pointer->ptr[i];
        if (c == '~' && i + 1 < pointer->len)
            c = pointer->ptr[++i] == '1' ? '/' : '~';
        out[len++] = c;
    }
    *pointer = pl_slice(pointer->ptr + i, pointer->len - i);
    return pl_slice(out, len);
}

/* The place that a JSON patch of a Secret names. */
static enum pl_place place_at(struct pl_node path)
{
    char part[512];
    struct pl_scratch scratch;
    struct pl_slice pointer = pl_node_str(path, &scratch);
    enum pl_place place = PL_PLACE_SECRET;
    if (pointer.len > sizeof part) /* names in a Secret are shorter */
        return PL_PLACE_VALUE;
    while (pointer.len > 0)
        place = place_below(place, next_part(&pointer, part));
    return place;
}

enum pl_place pl_place_of_member(struct pl_node object, enum pl_place place, struct pl_slice key,
                                 struct pl_node value)
{
    struct pl_node path = pl_node_getz(object, "path");
    struct pl_scratch scratch;
    if (place == PL_PLACE_SECRET && pl_slice_eqz(key, "value") && pl_node_type(path) == PL_STRING)
        return place_at(path);
    if (place == PL_PLACE_ROOT && pl_slice_eqz(key, "headers") &&
        pl_node_type(pl_node_getz(object, "url")) == PL_STRING)
        return PL_PLACE_HEADERS;
    if (pl_slice_eqz(key, PL_META_APPLIED) && pl_node_type(value) == PL_STRING &&
        pl_text_find(pl_node_str(value, &scratch), "\"Secret\"") != NULL)
        return PL_PLACE_APPLIED;
    return place_below(place, key);
}
