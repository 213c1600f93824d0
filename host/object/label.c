#include "object/label.h"
#include "base/text.h"

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
        else if (!pl_text_is_subdomain(prefix))
            broken = "the prefix before '/' is not a DNS name in lower case";
        else if (pl_slice_chr(name, '/') != NULL)
            broken = "there is more than one '/'";
    }
    if (broken == NULL && name.len == 0)
        broken = "the name is empty";
    else if (broken == NULL && name.len > 63)
        broken = "the name is longer than 63 characters";
    else if (broken == NULL && !pl_text_is_word(name))
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
    else if (value.len != 0 && !pl_text_is_word(value))
        broken = "it is letters, digits, '-', '_' and '.', with a letter or digit at both ends";
    if (broken == NULL)
        return 0;
    return pl_err_set(err, PL_EINVAL, "\"%.*s\" is not a label value: %s", PL_FMT(value), broken);
}
