/* The files in volumes of pods: their modes and paths, items of Secrets and ConfigMaps, fields of
 * the pod. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

void pl_valid_file_mode(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    int64_t is;
    PL_UNUSED(arg);
    if (pl_tree_integer(value, &is) && (is < 0 || is > 511))
        pl_bad_value(f, at, value, "must be a number between 0 and 0777 (octal), both inclusive");
}

void pl_valid_inner_path(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0) {
        pl_bad_required(f, at, arg != NULL ? arg : "");
        return;
    }
    pl_valid_descending_path(f, at, value, NULL);
    if (pl_text_begins(text, "..") && !pl_text_begins(text, "../"))
        pl_bad_value(f, at, value, "must not start with '..'");
}

void pl_valid_keys_to_paths(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *value, const char *arg)
{
    static const struct pl_rule rules[] = {
        {"[].key", pl_need, NULL},
        {"[].path", pl_valid_inner_path, NULL},
        {"[].mode", pl_valid_file_mode, NULL},
        {NULL, NULL, NULL},
    };
    PL_UNUSED(arg);
    pl_hold(f, at, value, rules);
}

static void check_resource_ref(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *ref)
{
    const struct pl_tree *name = pl_tree_getz(ref, "resource");
    if (pl_is_empty(pl_tree_getz(ref, "containerName")))
        pl_bad_required(f, PL_MEMBER(at, "containerName"), "");
    else if (pl_is_empty(name))
        pl_bad_required(f, PL_MEMBER(at, "resource"), "");
    else if (!pl_text_begins(name->text, "limits.hugepages-") &&
             !pl_text_begins(name->text, "requests.hugepages-"))
        pl_one_of(f, PL_MEMBER(at, "resource"), name,
                  "limits.cpu,limits.ephemeral-storage,limits.memory,requests.cpu,"
                  "requests.ephemeral-storage,requests.memory");
    pl_valid_divisor(f, at, ref, NULL);
}

/* kube-apiserver's message has no indices of items here. */
void pl_valid_downward(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *source)
{
    PL_EACH(item, pl_tree_getz(source, "items"))
    {
        const struct pl_tree *field = pl_tree_getz(item->value, "fieldRef");
        pl_valid_inner_path(f, PL_MEMBER(at, "path"), pl_tree_getz(item->value, "path"), NULL);
        pl_valid_file_mode(f, PL_MEMBER(at, "mode"), pl_tree_getz(item->value, "mode"), NULL);
        const struct pl_tree *resource = pl_tree_getz(item->value, "resourceFieldRef");
        const struct pl_spot *here = PL_MEMBER(at, "resourceFieldRef");
        pl_valid_field_ref(f, PL_MEMBER(at, "fieldRef"), field,
                           "metadata.annotations,metadata.labels,metadata.name,metadata.namespace,"
                           "metadata.uid");
        if (field != NULL && resource != NULL)
            pl_bad_value(f, at, pl_tree_strz(f->arena, "resource"),
                         "fieldRef and resourceFieldRef can not be specified simultaneously");
        else if (field == NULL && resource == NULL)
            pl_bad_required(f, at, "one of fieldRef and resourceFieldRef is required");
        else if (resource != NULL)
            check_resource_ref(f, here, resource);
    }
}
