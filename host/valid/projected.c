/* Projected volumes of pods: their sources, and that no two of them write the same file. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

#define TEN_MINUTES    600
#define MOST_TOKEN     (INT64_C(1) << 32)
#define HOUR           3600
#define DAY            86400
#define LONGEST        (91 * DAY) /* life of a pod's certificate */
#define NO_BUNDLE_NAME "not a valid clustertrustbundlename: "

/* ---- paths ---- */

/* A path in a projected volume must not come from two sources. shown: the value of the message. The
 * paths of tokens are not looked at, as in kube-apiserver. */
static void only_once(struct pl_api_faults *f, const struct pl_spot *at, struct pl_tree *seen,
                      const struct pl_tree *path, const struct pl_tree *shown)
{
    if (pl_is_empty(path))
        return;
    if (pl_tree_get(seen, path->text) != NULL)
        pl_bad_value(f, at, shown, "conflicting duplicate paths");
    pl_tree_set(f->arena, seen, path->text, pl_tree_bool(f->arena, true));
}

static void check_paths(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *projected)
{
    static const char listed[][12] = {"secret", "configMap", "downwardAPI"};
    static const char single[][36] = {
        "clusterTrustBundle.path", "podCertificate.credentialBundlePath", "podCertificate.keyPath",
        "podCertificate.certificateChainPath"};
    struct pl_tree *seen = pl_tree_object(f->arena);
    PL_EACH(source, pl_tree_getz(projected, "sources"))
    {
        for (size_t i = 0; i < PL_ARRAY_LEN(listed); i++) {
            const struct pl_tree *from = pl_tree_getz(source->value, listed[i]);
            PL_EACH(item, pl_tree_getz(from, "items"))
            {
                const struct pl_tree *path = pl_tree_getz(item->value, "path");
                const struct pl_tree *name = pl_tree_getz(from, "name");
                only_once(f, at, seen, path, name != NULL ? name : path);
            }
        }
        for (size_t i = 0; i < PL_ARRAY_LEN(single); i++) {
            const struct pl_tree *path = pl_tree_dig(source->value, single[i]);
            only_once(f, at, seen, path, path);
        }
    }
}

/* ---- sources ---- */

static void check_token(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *token)
{
    const struct pl_tree *value = pl_tree_getz(token, "expirationSeconds");
    const struct pl_spot *spot = PL_MEMBER(at, "expirationSeconds");
    int64_t seconds;
    if (!pl_tree_integer(value, &seconds))
        return; /* the server fills it in */
    if (seconds < TEN_MINUTES)
        pl_bad_value(f, spot, value, "may not specify a duration less than 10 minutes");
    if (seconds > MOST_TOKEN)
        pl_bad_value(f, spot, value, "may not specify a duration larger than 2^32 seconds");
}

/* The name of a bundle: "name" or, if the bundle belongs to a signer, "signer:path:name". */
static void bundle_name(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value)
{
    struct pl_slice name = pl_tree_text(value), last = name;
    struct pl_api_faults found = {.arena = f->arena};
    if (name.len == 0)
        pl_bad_required(f, at, "must be a valid object name");
    for (const char *colon; (colon = pl_slice_chr(last, ':')) != NULL;)
        last = pl_slice(colon + 1, last.len - (size_t)(colon + 1 - last.ptr));
    pl_subdomain(&found, at, pl_tree_str(f->arena, last), "always");
    PL_TREE_FOR(item, found.causes)
    {
        struct pl_slice message = pl_tree_text_at(item->value, "message");
        const char *why = strstr(pl_arena_copy(f->arena, message).ptr, "\": ");
        if (why != NULL)
            pl_bad_value(f, at, value, NO_BUNDLE_NAME "%s", why + 3);
    }
}

static void check_bundle(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *bundle)
{
    const struct pl_tree *name = pl_tree_getz(bundle, "name");
    const struct pl_tree *signer = pl_tree_getz(bundle, "signerName");
    const struct pl_tree *selector = pl_tree_getz(bundle, "labelSelector");
    if (name == NULL && signer == NULL)
        pl_bad_required(f, at, "either name or signerName must be specified");
    else if (name != NULL && signer != NULL)
        pl_bad_value(f, at, bundle, "only one of name and signerName may be used");
    else if (name != NULL)
        bundle_name(f, PL_MEMBER(at, "name"), name);
    else if (pl_is_empty(signer))
        pl_bad_required(f, PL_MEMBER(at, "signerName"), "must be a valid signer name");
    if (name == NULL && signer != NULL) {
        pl_valid_signer_name(f, PL_MEMBER(at, "signerName"), signer, NULL);
        pl_selector(f, PL_MEMBER(at, "labelSelector"), selector, NULL);
    } else if (signer == NULL && name != NULL && selector != NULL) {
        pl_bad_struct(f, PL_MEMBER(at, "labelSelector"), "LabelSelector", selector,
                      "labelSelector must be unset if name is specified");
    }
    pl_valid_inner_path(f, PL_MEMBER(at, "path"), pl_tree_getz(bundle, "path"), NULL);
}

static void check_life(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *certificate)
{
    const struct pl_tree *value = pl_tree_getz(certificate, "maxExpirationSeconds");
    struct pl_slice signer = pl_tree_text_at(certificate, "signerName");
    const char *slash = pl_slice_chr(signer, '/');
    size_t len = slash != NULL ? (size_t)(slash - signer.ptr) : signer.len;
    int64_t most = pl_text_ends(pl_slice(signer.ptr, len), "kubernetes.io") ? DAY : LONGEST;
    int64_t seconds;
    if (!pl_tree_integer(value, &seconds))
        return;
    if (seconds < HOUR)
        pl_bad_value(f, at, value, "if provided, maxExpirationSeconds must be >= %d", HOUR);
    if (seconds > most)
        pl_bad_value(f, at, value, "if provided, maxExpirationSeconds must be <= %lld",
                     (long long)most);
}

static void check_certificate(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *certificate)
{
    static const char paths[][24] = {"credentialBundlePath", "keyPath", "certificateChainPath"};
    size_t count = 0;
    pl_valid_signer_name(f, PL_MEMBER(at, "signerName"), pl_tree_getz(certificate, "signerName"),
                         NULL);
    PL_TREE_FOR(item, pl_tree_getz(certificate, "userAnnotations"))
    pl_valid_domain_key(f, PL_MEMBER(at, "userAnnotations"),
                        pl_tree_str(f->arena, pl_arena_lower(f->arena, item->key)), NULL);
    const struct pl_tree *type = pl_or_empty(f, pl_tree_getz(certificate, "keyType"));
    pl_must_be(f, PL_MEMBER(at, "keyType"), type,
               "RSA3072,RSA4096,ECDSAP256,ECDSAP384,ECDSAP521,ED25519");
    check_life(f, PL_MEMBER(at, "maxExpirationSeconds"), certificate);
    for (size_t i = 0; i < PL_ARRAY_LEN(paths); i++) {
        const struct pl_tree *path = pl_tree_getz(certificate, paths[i]);
        if (pl_is_empty(path))
            continue;
        pl_valid_inner_path(f, PL_MEMBER(at, paths[i]), path, NULL);
        count++;
    }
    if (count == 0)
        pl_bad_required(
            f, at,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

static void check_projection(struct pl_api_faults *f, const struct pl_spot *at,
                             const struct pl_tree *source)
{
    static const struct pl_rule rules[] = {
        {"secret.name", pl_need, NULL}, {"configMap.name", pl_need, NULL}, {NULL, NULL, NULL}};
    static const char lists[][12] = {"secret", "configMap"};
    const struct pl_tree *bundle = pl_tree_getz(source, "clusterTrustBundle");
    const struct pl_tree *certificate = pl_tree_getz(source, "podCertificate");
    pl_hold(f, at, source, rules);
    for (size_t i = 0; i < PL_ARRAY_LEN(lists); i++)
        pl_valid_keys_to_paths(f, PL_MEMBER(PL_MEMBER(at, lists[i]), "items"),
                               pl_tree_getz(pl_tree_getz(source, lists[i]), "items"), NULL);
    pl_valid_downward(f, PL_MEMBER(at, "downwardAPI"), pl_tree_getz(source, "downwardAPI"));
    if (bundle != NULL)
        check_bundle(f, PL_MEMBER(at, "clusterTrustBundle"), bundle);
    if (certificate != NULL)
        check_certificate(f, PL_MEMBER(at, "podCertificate"), certificate);
    if (source->count > 1)
        pl_bad_forbidden(f, at, "may not specify more than 1 volume type per source");
}

void pl_valid_projected(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *projected)
{
    const struct pl_spot *list = PL_MEMBER(at, "sources");
    size_t i = 0;
    PL_EACH(item, pl_tree_getz(projected, "sources"))
    {
        const struct pl_spot *spot = PL_INDEX(list, i++);
        const struct pl_tree *token = pl_tree_getz(item->value, "serviceAccountToken");
        const struct pl_spot *token_at = PL_MEMBER(spot, "serviceAccountToken");
        if (token != NULL) { /* the same fault again, at the path that kube-apiserver reports */
            check_token(f, token_at, token);
            pl_valid_inner_path(f, PL_MEMBER(at, "path"), pl_tree_getz(token, "path"), NULL);
        }
        check_projection(f, spot, item->value);
    }
    check_paths(f, at, projected);
}

/* The volume itself is valid and can be mounted. */
void pl_valid_token_volumes(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *spec)
{
    const struct pl_spot *list = PL_MEMBER(at, "volumes");
    size_t i = 0;
    if (!pl_is_empty(pl_tree_getz(spec, "serviceAccountName")))
        return;
    PL_EACH(volume, pl_tree_getz(spec, "volumes"))
    {
        const struct pl_spot *here = PL_INDEX(list, i++);
        const struct pl_spot *sources = PL_MEMBER(PL_MEMBER(here, "projected"), "sources");
        size_t k = 0;
        PL_EACH(source, pl_tree_dig(volume->value, "projected.sources"))
        {
            const struct pl_spot *spot = PL_INDEX(sources, k++);
            if (pl_tree_getz(source->value, "serviceAccountToken") != NULL)
                pl_bad_forbidden(f, PL_MEMBER(spot, "serviceAccountToken"),
                                 "must not be specified when serviceAccountName is not set");
        }
    }
}
