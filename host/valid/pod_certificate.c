/* PodCertificateRequests: what a kubelet asks for a pod, and the signer's answer. What needs
 * OpenSSL is checked in admission/certificates.c. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

#define SPEC      PL_MEMBER(NULL, "spec")
#define STATUS    PL_MEMBER(NULL, "status")
#define MOST_UID  128
#define AN_HOUR   3600
#define MOST_DAYS 91
#define FINAL     "Issued,Denied,Failed"
#define ONE_OF_THE                                                                                 \
    "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must "               \
    "be set"

static void bad_unshown(struct pl_api_faults *f, const struct pl_spot *at, const char *why)
{
    pl_api_fault(f, "FieldValueInvalid", pl_spot_text(f, at), "Invalid value: %s", why);
}

static void check_uid(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value))
        pl_bad_value(f, at, pl_or_empty(f, value), "must not be empty");
    if (pl_tree_text(value).len > MOST_UID)
        pl_bad_long(f, at, "128 bytes");
}

static void check_annotations(struct pl_api_faults *f, const struct pl_spot *at,
                              const struct pl_tree *map)
{
    size_t bytes = 0;
    PL_TREE_FOR(item, pl_tree_is(map, PL_OBJECT) ? map : NULL)
    {
        const struct pl_tree *key = pl_tree_str(f->arena, item->key);
        bytes += item->key.len + pl_tree_text(item->value).len;
        pl_valid_domain_key(f, at, pl_in_small_letters(f, key), NULL);
    }
    if (bytes > 256 * 1024)
        pl_bad_long(f, at, "262144 bytes");
}

/* Kubernetes' own signers issue certificates for a day, others for 91 days. */
static void check_seconds(struct pl_api_faults *f, const struct pl_tree *spec)
{
    const struct pl_tree *seconds = pl_tree_getz(spec, "maxExpirationSeconds");
    const struct pl_spot *at = PL_MEMBER(SPEC, "maxExpirationSeconds");
    struct pl_slice signer = pl_tree_text_at(spec, "signerName");
    const char *slash = pl_slice_chr(signer, '/');
    struct pl_slice domain =
        slash != NULL ? pl_slice(signer.ptr, (size_t)(slash - signer.ptr)) : signer;
    int64_t most = (pl_slice_eqz(domain, "kubernetes.io") || pl_text_ends(domain, ".kubernetes.io")
                        ? 1
                        : MOST_DAYS) *
                   24 * (int64_t)AN_HOUR;
    int64_t is = 0;
    pl_tree_integer(seconds, &is); /* it has a default */
    if (is < AN_HOUR || is > most)
        pl_bad_value(f, at, seconds, "must be in the range [%d, %lld]", AN_HOUR, (long long)most);
}

void pl_valid_pod_certificate(struct pl_api_faults *f, const struct pl_tree *object,
                              const struct pl_tree *old)
{
    static const struct pl_rule rules[] = {
        {"podName", pl_subdomain, "always"},
        {"podUID", check_uid, NULL},
        {"serviceAccountName", pl_subdomain, "always"},
        {"serviceAccountUID", check_uid, NULL},
        {"nodeName", pl_subdomain, "always"},
        {"nodeUID", check_uid, NULL},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *spec = pl_tree_getz(object, "spec");
    if (old != NULL) {
        pl_frozen_struct(f, SPEC, "@PodCertificateRequestSpec", spec, pl_tree_getz(old, "spec"));
        return;
    }
    pl_valid_signer_name(f, PL_MEMBER(SPEC, "signerName"), pl_tree_getz(spec, "signerName"), NULL);
    check_annotations(f, PL_MEMBER(SPEC, "unverifiedUserAnnotations"),
                      pl_tree_getz(spec, "unverifiedUserAnnotations"));
    pl_hold(f, SPEC, spec, rules);
    check_seconds(f, spec);
    if (pl_is_empty(pl_tree_getz(spec, "stubPKCS10Request")))
        bad_unshown(f, SPEC, ONE_OF_THE);
}

/* ---- the answer ---- */

static bool is_final(const struct pl_tree *object, const char *types)
{
    PL_EACH(item, pl_tree_dig(object, "status.conditions"))
    if (pl_is_among(pl_tree_text_at(item->value, "type"), types) &&
        pl_slice_eqz(pl_tree_text_at(item->value, "status"), "True"))
        return true;
    return false;
}

static void check_verdicts(struct pl_api_faults *f, const struct pl_tree *list)
{
    const struct pl_spot *at = PL_MEMBER(STATUS, "conditions");
    size_t i = 0, count = 0;
    PL_EACH(item, list)
    {
        /* kube-apiserver writes a dot before the index */
        const struct pl_spot *here = PL_MEMBER(at, pl_arena_f(f->arena, "[%zu]", i++).ptr);
        const struct pl_tree *type = pl_tree_getz(item->value, "type");
        if (!pl_is_among(pl_tree_text(type), FINAL)) {
            pl_bad_unsupported(f, PL_MEMBER(here, "type"), type, FINAL);
            continue;
        }
        if (++count > 1)
            pl_bad_value(f, PL_MEMBER(here, "type"), type,
                         "There may be at most one condition with type \"Issued\", \"Denied\", or "
                         "\"Failed\"");
        pl_must_be(f, PL_MEMBER(here, "status"), pl_tree_getz(item->value, "status"), "True");
    }
    pl_valid_conditions(f, at, list);
}

static bool has_more_than_conditions(const struct pl_tree *status)
{
    PL_TREE_FOR(item, status)
    if (!pl_slice_eqz(item->key, "conditions") && !pl_is_empty(item->value))
        return true;
    return false;
}

void pl_valid_pod_certificate_state(struct pl_api_faults *f, const struct pl_tree *object,
                                    const struct pl_tree *old)
{
    const struct pl_tree *status = pl_tree_getz(object, "status");
    const struct pl_tree *was = pl_tree_getz(old, "status");
    bool same = pl_is_empty(status) ? pl_is_empty(was) : pl_tree_equal(status, was);
    size_t before = pl_api_fault_count(f);
    check_verdicts(f, pl_tree_getz(status, "conditions"));
    if (pl_api_fault_count(f) > before)
        return;
    if (is_final(old, FINAL)) {
        if (!same)
            bad_unshown(f, STATUS,
                        "immutable after PodCertificateRequest is issued, denied, or failed");
    } else if (is_final(object, "Denied,Failed")) {
        if (has_more_than_conditions(status))
            bad_unshown(f, STATUS,
                        "non-condition status fields must be empty when denying or failing the "
                        "PodCertificateRequest");
    } else if (!is_final(object, "Issued") && !same) {
        bad_unshown(f, STATUS,
                    "status is immutable unless transitioning to \"Issued\", \"Denied\", or "
                    "\"Failed\"");
    }
}
