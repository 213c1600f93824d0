/* Semantic versions (semver.org, 2.0.0): strict, or with omitted parts filled in. */
#include "cel/function.h"

#include "base/text.h"

#include <string.h>

static bool lib_semver_number(struct pl_slice *rest, bool is_lax, uint64_t *value)
{
    size_t len = 0;
    *value = 0;
    while (len < rest->len && pl_is_digit(rest->ptr[len])) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(rest->ptr[len] - '0'), value))
            return false;
        len++;
    }
    bool has_zero = len > 1 && rest->ptr[0] == '0';
    *rest = pl_slice(rest->ptr + len, rest->len - len);
    return len > 0 && (is_lax || !has_zero);
}

static bool lib_semver_take(struct pl_slice *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    *rest = pl_slice(rest->ptr + 1, rest->len - 1);
    return true;
}

/* "alpha.1": identifiers between dots, numbers without leading zeros. */
static bool identifiers(struct pl_slice text, bool may_have_zeros)
{
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '.') {
            if (!pl_is_alnum(text.ptr[i]) && text.ptr[i] != '-')
                return false;
            continue;
        }
        bool is_number = true;
        for (size_t j = start; j < i; j++)
            is_number &= pl_is_digit(text.ptr[j]);
        if (i == start || (is_number && !may_have_zeros && i - start > 1 && text.ptr[start] == '0'))
            return false;
        start = i + 1;
    }
    return true;
}

static bool lib_semver_parse(struct pl_slice text, bool is_lax, struct pl_cel_semver *v)
{
    struct pl_slice rest = text;
    *v = (struct pl_cel_semver){.pre = pl_slice_z("")};
    if (is_lax)
        lib_semver_take(&rest, 'v');
    if (!lib_semver_number(&rest, is_lax, &v->major))
        return false;
    bool has_minor = lib_semver_take(&rest, '.');
    if ((!has_minor && !is_lax) || (has_minor && !lib_semver_number(&rest, is_lax, &v->minor)))
        return false;
    bool has_patch = has_minor && lib_semver_take(&rest, '.');
    if ((!has_patch && !is_lax) || (has_patch && !lib_semver_number(&rest, is_lax, &v->patch)))
        return false;
    if (lib_semver_take(&rest, '-')) {
        const char *plus = pl_slice_chr(rest, '+');
        v->pre = pl_slice(rest.ptr, plus != NULL ? (size_t)(plus - rest.ptr) : rest.len);
        rest = pl_slice(rest.ptr + v->pre.len, rest.len - v->pre.len);
        if (!identifiers(v->pre, false))
            return false;
    }
    return rest.len == 0 || (lib_semver_take(&rest, '+') && identifiers(rest, true));
}

static struct pl_cel is_semver(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_semver v;
    PL_UNUSED(eval);
    return pl_cel_bool(lib_semver_parse(args[0].s, n > 1 && args[1].b, &v));
}

static struct pl_cel lib_semver_make(struct pl_cel_eval *eval, const struct pl_cel *args, size_t n)
{
    struct pl_cel_semver *v = pl_arena_alloc(eval->arena, sizeof *v);
    if (!lib_semver_parse(args[0].s, n > 1 && args[1].b, v))
        return pl_cel_fail(eval->arena, "not a semantic version: \"%.*s\"", PL_FMT(args[0].s));
    return (struct pl_cel){.kind = PL_CEL_SEMVER, .semver = v};
}

static struct pl_slice identifier(struct pl_slice *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '.')
        len++;
    struct pl_slice part = pl_slice(rest->ptr, len);
    *rest = len < rest->len ? pl_slice(rest->ptr + len + 1, rest->len - len - 1) : pl_slice("", 0);
    return part;
}

static bool lib_semver_is_number(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_digit(text.ptr[i]))
            return false;
    return true;
}

static int compare_pre(struct pl_slice a, struct pl_slice b)
{
    if (a.len == 0 || b.len == 0)
        return (a.len == 0) - (b.len == 0);
    while (a.len > 0 && b.len > 0) {
        struct pl_slice x = identifier(&a), y = identifier(&b);
        bool numbers = lib_semver_is_number(x) && lib_semver_is_number(y);
        int c = lib_semver_is_number(x) != lib_semver_is_number(y)
                    ? (lib_semver_is_number(x) ? -1 : 1)
                : numbers && x.len != y.len ? (x.len < y.len ? -1 : 1)
                                            : pl_slice_cmp(x, y);
        if (c != 0)
            return c < 0 ? -1 : 1;
    }
    return (a.len > 0) - (b.len > 0);
}

static int lib_semver_compare(const struct pl_cel *args)
{
    const struct pl_cel_semver *a = args[0].semver, *b = args[1].semver;
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    if (a->patch != b->patch)
        return a->patch < b->patch ? -1 : 1;
    return compare_pre(a->pre, b->pre);
}

PL_CEL_GETTER(compare_to, pl_cel_int(lib_semver_compare(args)))
PL_CEL_GETTER(is_less, pl_cel_bool(lib_semver_compare(args) < 0))
PL_CEL_GETTER(is_greater, pl_cel_bool(lib_semver_compare(args) > 0))
PL_CEL_GETTER(major, pl_cel_int((int64_t)args[0].semver->major))
PL_CEL_GETTER(minor, pl_cel_int((int64_t)args[0].semver->minor))
PL_CEL_GETTER(patch, pl_cel_int((int64_t)args[0].semver->patch))

const struct pl_cel_function pl_cel_semver_functions[] = {
    PL_CEL_READER("semver", "s:V", lib_semver_make),
    PL_CEL_READER("semver", "sb:V", lib_semver_make),
    PL_CEL_READER("isSemver", "s:b", is_semver),
    PL_CEL_READER("isSemver", "sb:b", is_semver),
    PL_CEL_MEMBER("major", "V:i", major),
    PL_CEL_MEMBER("minor", "V:i", minor),
    PL_CEL_MEMBER("patch", "V:i", patch),
    PL_CEL_MEMBER("compareTo", "VV:i", compare_to),
    PL_CEL_MEMBER("isLessThan", "VV:b", is_less),
    PL_CEL_MEMBER("isGreaterThan", "VV:b", is_greater),
    {0},
};
