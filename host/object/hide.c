/* Walks the document once and writes a copy. A Secret is recognised by its apiVersion and kind
 * anywhere in the document. Elsewhere, known values of Secrets are found as texts. */
#include "object/hide.h"

#include "base/alloc.h"
#include "object/meta.h"
#include "object/secret.h"

#include <stdio.h>

static char *mask(const struct pl_secrets *secrets, struct pl_slice text)
{
    return secrets != NULL ? pl_secrets_mask(secrets, text) : NULL;
}

static void hide_key(struct pl_build *b, struct pl_slice key, const struct pl_secrets *secrets)
{
    char *masked = mask(secrets, key);
    pl_build_key(b, masked != NULL ? pl_slice_z(masked) : key);
    pl_free(masked);
}

void pl_hide_text(struct pl_build *b, struct pl_slice text, const struct pl_secrets *secrets)
{
    char *masked = mask(secrets, text);
    pl_build_str(b, masked != NULL ? pl_slice_z(masked) : text);
    pl_free(masked);
}

/* Where in a Secret a table stands. */
enum place { ELSEWHERE, IN_METADATA, IN_ANNOTATIONS };

static void hide_node(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                      bool all, enum place place);

static enum place place_below(struct pl_slice key, bool secret, enum place up)
{
    if (secret && pl_slice_eqz(key, "metadata"))
        return IN_METADATA;
    return up == IN_METADATA && pl_slice_eqz(key, "annotations") ? IN_ANNOTATIONS : ELSEWHERE;
}

static void hide_members(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                         bool all, enum place place)
{
    bool secret = pl_secret_is_one(node);
    struct pl_iter it = pl_iter(node);
    pl_build_object(b);
    while (pl_iter_next(&it)) {
        bool values = secret && pl_secret_is_key(it.key);
        bool applied = place == IN_ANNOTATIONS && pl_slice_eqz(it.key, PL_META_APPLIED);
        hide_key(b, it.key, secrets);
        hide_node(b, it.value, secrets, all || values || applied,
                  place_below(it.key, secret, place));
    }
    pl_build_end(b);
}

static void hide_node(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                      bool all, enum place place)
{
    struct pl_scratch scratch;
    struct pl_iter it;
    char size[40];
    switch (pl_node_type(node)) {
    case PL_OBJECT:
        hide_members(b, node, secrets, all, place);
        break;
    case PL_ARRAY:
        pl_build_array(b);
        for (it = pl_iter(node); pl_iter_next(&it);)
            hide_node(b, it.value, secrets, all, ELSEWHERE);
        pl_build_end(b);
        break;
    case PL_STRING:
        snprintf(size, sizeof size, "<%zu bytes>", pl_node_str(node, &scratch).len);
        if (all)
            pl_build_strz(b, size);
        else
            pl_hide_text(b, pl_node_str(node, &scratch), secrets);
        break;
    default:
        pl_build_node(b, node);
    }
}

void pl_hide_build(struct pl_build *b, struct pl_node node, const struct pl_secrets *secrets,
                   bool all)
{
    hide_node(b, node, secrets, all, ELSEWHERE);
}
