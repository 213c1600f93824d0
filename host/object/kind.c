/* Kinds: "v1/Pod", "apps/v1/Deployment", and an object's apiVersion and kind. Texts are checked
 * against the API server's rules for groups, versions and kinds, so that a parsed kind fits its
 * fixed buffers and can be put into a URL or a message without escaping. Comparing never allocates.
 */
#include "object/kind.h"
#include "base/text.h"

#include <string.h>

static bool is_group(struct pl_slice text)
{
    return text.len <= 253 && pl_text_is_subdomain(text);
}

static bool is_version(struct pl_slice text)
{
    return text.len <= 63 && pl_text_is_label(text);
}

bool pl_kind_is_name(struct pl_slice text)
{
    if (text.len == 0 || text.len > 63)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool later = pl_is_digit(c) || (c == '-' && i + 1 != text.len);
        if (!pl_is_letter(c) && (i == 0 || !later))
            return false;
    }
    return true;
}

/* Appends to out, which has room; returns the new end. */
static char *kind_append(char *out, struct pl_slice text)
{
    if (text.len > 0)
        memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return out + text.len;
}

/* Takes the part before the first '/' off the text; the whole text when there is none. */
static struct pl_slice take_part(struct pl_slice *text)
{
    const char *slash = pl_slice_chr(*text, '/');
    struct pl_slice part = *text;
    if (slash == NULL) {
        *text = pl_slice(NULL, 0);
        return part;
    }
    part.len = (size_t)(slash - text->ptr);
    *text = pl_slice(slash + 1, text->len - part.len - 1);
    return part;
}

static bool kind_fill(struct pl_slice group, struct pl_slice version, struct pl_slice name,
                      struct pl_kind *kind)
{
    if ((group.len != 0 && !is_group(group)) || !is_version(version) || !pl_kind_is_name(name))
        return false;
    kind_append(kind->group, group);
    kind_append(kind->version, version);
    kind_append(kind->kind, name);
    return true;
}

int pl_kind_parse(struct pl_slice text, struct pl_kind *kind, struct pl_err *err)
{
    struct pl_slice rest = text, parts[3];
    size_t count = 0;
    while (count < 3 && rest.ptr != NULL)
        parts[count++] = take_part(&rest);
    bool good = rest.ptr == NULL;
    if (good && count == 2)
        good = kind_fill(pl_slice(NULL, 0), parts[0], parts[1], kind);
    else
        good = good && count == 3 && parts[0].len != 0 &&
               kind_fill(parts[0], parts[1], parts[2], kind);
    if (good)
        return 0;
    return pl_err_set(
        err, PL_EINVAL,
        "\"%.*s\" is not a kind: write apiVersion/Kind, like v1/Pod or apps/v1/Deployment",
        PL_FMT(text));
}

int pl_kind_from(struct pl_slice api_version, struct pl_slice kind_name, struct pl_kind *kind,
                 struct pl_err *err)
{
    struct pl_slice version = api_version, first = take_part(&version), group = pl_slice(NULL, 0);
    if (version.ptr == NULL)
        version = first;
    else
        group = first;
    if ((first.len != 0 || version.ptr == first.ptr) && kind_fill(group, version, kind_name, kind))
        return 0;
    return pl_err_set(err, PL_EINVAL,
                      "apiVersion \"%.*s\" and kind \"%.*s\" do not name a kind; an example is "
                      "apps/v1 and Deployment",
                      PL_FMT(api_version), PL_FMT(kind_name));
}

int pl_kind_of(struct pl_node object, struct pl_kind *kind, struct pl_err *err)
{
    struct pl_scratch scratch[2];
    if (pl_node_type(object) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "not an object but %s",
                          pl_type_name(pl_node_type(object)));
    struct pl_slice version = pl_node_str(pl_node_getz(object, "apiVersion"), &scratch[0]);
    struct pl_slice name = pl_node_str(pl_node_getz(object, "kind"), &scratch[1]);
    if (version.ptr == NULL || name.ptr == NULL)
        return pl_err_set(err, PL_EINVAL, "the object has no %s",
                          version.ptr == NULL ? "apiVersion" : "kind");
    return pl_kind_from(version, name, kind, err);
}

bool pl_kind_eq_group(const struct pl_kind *a, const struct pl_kind *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->group, b->group) == 0;
}

bool pl_kind_eq(const struct pl_kind *a, const struct pl_kind *b)
{
    return pl_kind_eq_group(a, b) && strcmp(a->version, b->version) == 0;
}

bool pl_kind_is(const struct pl_kind *kind, struct pl_slice api_version, struct pl_slice name)
{
    struct pl_slice group = pl_slice_z(kind->group), version = api_version;
    if (!pl_slice_eqz(name, kind->kind))
        return false;
    if (group.len != 0) {
        if (version.len <= group.len || version.ptr[group.len] != '/' ||
            memcmp(version.ptr, group.ptr, group.len) != 0)
            return false;
        version = pl_slice(version.ptr + group.len + 1, version.len - group.len - 1);
    }
    return pl_slice_eqz(version, kind->version);
}

/* Appends group and version, "apps/v1"; returns the end. */
static char *append_api_version(char *out, const struct pl_kind *kind)
{
    if (kind->group[0] != '\0') {
        out = kind_append(out, pl_slice_z(kind->group));
        *out++ = '/';
    }
    return kind_append(out, pl_slice_z(kind->version));
}

const char *pl_kind_text(const struct pl_kind *kind, char out[PL_KIND_TEXT])
{
    if (pl_kind_is_any(kind)) {
        kind_append(out, pl_slice_z("*"));
        return out;
    }
    char *end = append_api_version(out, kind);
    *end++ = '/';
    kind_append(end, pl_slice_z(kind->kind));
    return out;
}

const char *pl_kind_api_version(const struct pl_kind *kind, char out[PL_KIND_TEXT])
{
    append_api_version(out, kind);
    return out;
}

bool pl_kind_is_secret(const struct pl_kind *kind)
{
    return *kind->group == '\0' && strcmp(kind->kind, "Secret") == 0;
}

bool pl_kind_is_any(const struct pl_kind *kind)
{
    return strcmp(kind->kind, "*") == 0;
}

void pl_kind_set_any(struct pl_kind *kind)
{
    *kind = (struct pl_kind){.group = "*", .version = "*", .kind = "*"};
}
