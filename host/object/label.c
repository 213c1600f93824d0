#include "object/label.h"
#include "base/text.h"

static bool label_is_name(struct pl_slice text)
{
    if (text.len == 0 || !pl_is_alnum(text.ptr[0]) || !pl_is_alnum(text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!pl_is_alnum(text.ptr[i]) && strchr("-_.", text.ptr[i]) == NULL)
            return false;
    return pl_slice_chr(text, '\0') == NULL;
}

/* Lower case names of letters, digits and inner dashes, joined by dots. */
static bool label_is_subdomain(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool edge = i == 0 || i + 1 == text.len || text.ptr[i - 1] == '.' || text.ptr[i + 1] == '.';
        bool inner = !edge && c == '-';
        bool dot = c == '.' && i != 0 && i + 1 != text.len && text.ptr[i - 1] != '.';
        if (!(pl_is_alnum(c) && !(c >= 'A' && c <= 'Z')) && !inner && !dot)
            return false;
    }
    return text.len != 0;
}

int pl_label_check_key(struct pl_slice key, struct pl_err *err)
{
    const char *slash = pl_slice_chr(key, '/');
    struct pl_slice name = key;
    const char *broken = NULL;
    if (slash != NULL) {
        struct pl_slice prefix = pl_slice(key.ptr, (size_t)(slash - key.ptr));
        name = pl_slice(slash + 1, key.len - prefix.len - 1);
        if (prefix.len == 0)
            broken = "the prefix before '/' is empty";
        else if (prefix.len > 253)
            broken = "the prefix before '/' is longer than 253 characters";
        else if (!label_is_subdomain(prefix))
            broken = "the prefix before '/' is not a DNS name in lower case";
        else if (pl_slice_chr(name, '/') != NULL)
            broken = "there is more than one '/'";
    }
    if (broken == NULL && name.len == 0)
        broken = "the name is empty";
    else if (broken == NULL && name.len > 63)
        broken = "the name is longer than 63 characters";
    else if (broken == NULL && !label_is_name(name))
        broken = "a name is letters, digits, '-', '_' and '.', with a letter or digit at both ends";
    if (broken == NULL)
        return 0;
    return pl_err_set(err, PL_EINVAL, "\"%.*s\" is not a label key: %s", PL_FMT(key), broken);
}

int pl_label_check_value(struct pl_slice value, struct pl_err *err)
{
    const char *broken = NULL;
    if (value.len > 63)
        broken = "it is longer than 63 characters";
    else if (value.len != 0 && !label_is_name(value))
        broken = "it is letters, digits, '-', '_' and '.', with a letter or digit at both ends";
    if (broken == NULL)
        return 0;
    return pl_err_set(err, PL_EINVAL, "\"%.*s\" is not a label value: %s", PL_FMT(value), broken);
}
