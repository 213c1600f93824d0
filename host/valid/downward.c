/* References to fields and resources of the pod itself, in variables and in volumes. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

/* ---- fields ---- */

static bool has_key(struct pl_slice path, const char *map)
{
    size_t len = strlen(map);
    return pl_text_begins(path, map) && path.len > len + 4 &&
           memcmp(path.ptr + len, "['", 2) == 0 && memcmp(path.ptr + path.len - 2, "']", 2) == 0;
}

static bool is_known(struct pl_slice path)
{
    return pl_is_among(path,
                       "metadata.name,metadata.namespace,metadata.uid,spec.nodeName,"
                       "spec.serviceAccountName,status.hostIP,status.hostIPs,status.podIP,"
                       "status.podIPs,metadata.labels,metadata.annotations,spec.restartPolicy,"
                       "status.phase,spec.host");
}

static void check_key(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice path,
                      const char *map, bool lower)
{
    size_t skip = strlen(map) + 2;
    struct pl_slice key = pl_slice(path.ptr + skip, path.len - skip - 2);
    pl_qualified(f, at, pl_tree_str(f->arena, lower ? pl_arena_lower(f->arena, key) : key),
                 "always");
}

void pl_valid_field_ref(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    const struct pl_tree *path = pl_tree_getz(value, "fieldPath");
    struct pl_slice text = pl_tree_text(path), version = pl_tree_text_at(value, "apiVersion");
    const struct pl_spot *here = PL_MEMBER(at, "fieldPath");
    if (value == NULL)
        return;
    if (text.len == 0)
        pl_bad_required(f, here, "");
    else if (version.len > 0 && !pl_slice_eqz(version, "v1"))
        pl_bad_value(f, here, path, "error converting fieldPath: unsupported pod version: %.*s",
                     PL_FMT(version));
    else if (has_key(text, "metadata.annotations"))
        check_key(f, at, text, "metadata.annotations", true);
    else if (has_key(text, "metadata.labels"))
        check_key(f, at, text, "metadata.labels", false);
    else if (!is_known(text))
        pl_bad_value(f, here, path, "error converting fieldPath: field label not supported: %.*s",
                     PL_FMT(text));
    else
        pl_one_of(f, here, path, arg);
}

/* ---- resources ---- */

void pl_valid_divisor(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    static const char sizes[] = "1,1k,1M,1G,1T,1P,1E,1Ki,1Mi,1Gi,1Ti,1Pi,1Ei";
    static const char said[] = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    struct pl_slice name = pl_tree_text_at(value, "resource");
    const struct pl_tree *shown = pl_tree_getz(value, "resource");
    const struct pl_tree *divisor = pl_tree_getz(value, "divisor");
    const struct pl_spot *here = PL_MEMBER(at, "divisor");
    const char *what =
        pl_is_among(name, "limits.memory,requests.memory") ? "memory"
        : pl_is_among(name, "limits.ephemeral-storage,requests.ephemeral-storage")
            ? "local ephemeral storage"
        : pl_text_begins(name, "limits.hugepages-") || pl_text_begins(name, "requests.hugepages-")
            ? "hugepages"
            : NULL;
    PL_UNUSED(arg);
    if (pl_quantity_sign(divisor) == 0)
        return;
    if (pl_is_among(name, "limits.cpu,requests.cpu") && !pl_is_among(divisor->text, "1m,1"))
        pl_bad_value(f, here, shown,
                     "only divisor's values 1m and 1 are supported with the cpu resource");
    else if (what != NULL && !pl_is_among(divisor->text, sizes))
        pl_bad_value(f, here, shown, "only divisor's values %s are supported with the %s resource",
                     said, what);
}
