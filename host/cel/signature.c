/* Matches signatures with types and values, from left to right. A and B take the first type that
 * they are matched with. If that is dyn or null, a later type replaces it. */
#include "cel/function.h"

#include "base/check.h"

#include <string.h>

static enum pl_cel_kind kind_of(char letter)
{
    static const char letters[] = "DnbiudsyLMtrTOQUICFVZPGRE";
    static const enum pl_cel_kind kinds[] = {
        PL_CEL_DYN,        PL_CEL_NULL,       PL_CEL_BOOL,        PL_CEL_INT,
        PL_CEL_UINT,       PL_CEL_DOUBLE,     PL_CEL_STRING,      PL_CEL_BYTES,
        PL_CEL_LIST,       PL_CEL_MAP,        PL_CEL_TIMESTAMP,   PL_CEL_DURATION,
        PL_CEL_TYPE,       PL_CEL_OPTIONAL,   PL_CEL_QUANTITY,    PL_CEL_URL,
        PL_CEL_IP,         PL_CEL_CIDR,       PL_CEL_FORMAT,      PL_CEL_SEMVER,
        PL_CEL_AUTHORIZER, PL_CEL_PATH_CHECK, PL_CEL_GROUP_CHECK, PL_CEL_RESOURCE_CHECK,
        PL_CEL_DECISION};
    const char *at = strchr(letters, letter);
    PL_REQUIRE(at != NULL);
    return kinds[at - letters];
}

struct match {
    struct pl_arena *arena;
    const struct pl_cel_type *bound[2]; /* types of A and B; NULL: not matched yet */
};

static bool is_weak(const struct pl_cel_type *type)
{
    return pl_cel_type_is_dyn(type) || type->kind == PL_CEL_NULL ||
           type == pl_cel_type_empty_list();
}

/* Matches A or B with a type, and keeps the wider one of this type and the earlier ones. False:
 * they are unrelated. */
static bool signature_bind(struct match *m, int param, const struct pl_cel_type *type)
{
    const struct pl_cel_type **bound = &m->bound[param];
    if (*bound == NULL || (is_weak(*bound) && pl_cel_type_fits(*bound, type))) {
        *bound = type;
        return true;
    }
    if (pl_cel_type_fits(type, *bound))
        return true;
    if (!pl_cel_type_fits(*bound, type))
        return false;
    *bound = type;
    return true;
}

/* Matches one type of the signature and moves past it. */
static bool match_type(struct match *m, const char **sig, const struct pl_cel_type *type)
{
    char letter = *(*sig)++;
    if (letter == 'A' || letter == 'B')
        return signature_bind(m, letter - 'A', type);
    enum pl_cel_kind kind = kind_of(letter);
    const struct pl_cel_type *dyn = pl_cel_type_of(PL_CEL_DYN);
    bool is_dyn = pl_cel_type_is_dyn(type);
    bool is_map = type != NULL && (type->kind == PL_CEL_MAP || type->kind == PL_CEL_OBJECT);
    bool fits = kind == PL_CEL_DYN || is_dyn || type->kind == kind ||
                (type->kind == PL_CEL_NULL && pl_cel_type_fits(type, pl_cel_type_of(kind)) &&
                 kind != PL_CEL_LIST && kind != PL_CEL_MAP);
    if (kind == PL_CEL_MAP) {
        fits = is_dyn || (is_map && type->kind == PL_CEL_MAP);
        bool key = match_type(m, sig, fits && !is_dyn ? pl_cel_type_key(type) : dyn);
        return match_type(m, sig, fits && !is_dyn ? pl_cel_type_elem(type) : dyn) && key && fits;
    }
    if (kind == PL_CEL_LIST || kind == PL_CEL_OPTIONAL)
        return match_type(m, sig, fits && !is_dyn ? pl_cel_type_elem(type) : dyn) && fits;
    return fits;
}

static const struct pl_cel_type *make_type(struct match *m, const char **sig)
{
    char letter = *(*sig)++;
    if (letter == 'A' || letter == 'B')
        return m->bound[letter - 'A'];
    enum pl_cel_kind kind = kind_of(letter);
    if (kind == PL_CEL_LIST)
        return pl_cel_type_list(m->arena, make_type(m, sig));
    if (kind == PL_CEL_OPTIONAL)
        return pl_cel_type_optional(m->arena, make_type(m, sig));
    if (kind == PL_CEL_MAP) {
        const struct pl_cel_type *key = make_type(m, sig);
        return pl_cel_type_map(m->arena, key, make_type(m, sig));
    }
    return pl_cel_type_of(kind);
}

bool pl_cel_function_takes(struct pl_arena *arena, const struct pl_cel_function *function,
                           const struct pl_cel_type *const *args, size_t count,
                           const struct pl_cel_type **result)
{
    struct match m = {.arena = arena};
    const char *sig = pl_cel_signature(function);
    for (size_t i = 0; i < count; i++)
        if (*sig == ':' || !match_type(&m, &sig, args[i]))
            return false;
    if (*sig != ':')
        return false;
    sig++;
    *result = make_type(&m, &sig);
    return true;
}

/* Moves past one type of the signature. */
static void skip_type(const char **sig)
{
    char letter = *(*sig)++;
    if (letter == 'M')
        skip_type(sig);
    if (letter == 'M' || letter == 'L' || letter == 'O')
        skip_type(sig);
}

bool pl_cel_function_takes_values(const struct pl_cel_function *function, const struct pl_cel *args,
                                  size_t count)
{
    const char *sig = pl_cel_signature(function);
    for (size_t i = 0; i < count; i++) {
        if (*sig == ':')
            return false;
        if (*sig != 'A' && *sig != 'B' && *sig != 'D') {
            enum pl_cel_kind kind = kind_of(*sig);
            enum pl_cel_kind have = args[i].kind == PL_CEL_OBJECT ? PL_CEL_MAP : args[i].kind;
            if (kind != have)
                return false;
        }
        skip_type(&sig);
    }
    return *sig == ':';
}
