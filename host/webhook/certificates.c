/* The schedule of certificates. Every decision follows from the certificates themselves and the
 * time, so replicas that share a Secret decide alike, even after months of absence. Certificates
 * that cannot be read, do not match or have expired are replaced as a whole: no client can verify
 * them any more. */
#include "webhook/certificates.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "crypto/authority.h"

#include <string.h>

#define DAY_S       INT64_C(86400)
#define AUTHORITY_S (3650 * DAY_S)
#define SERVED_S    (365 * DAY_S)
#define BACKDATED_S INT64_C(300) /* clocks differ */
#define OVERLAP_S   INT64_C(600) /* time until a bundle has reached all clients */
#define AGAIN_S     DAY_S        /* longest time between checks */
#define MOST_OLD    4            /* limit of authorities in a bundle */

void pl_certificates_deinit(struct pl_certificates *certificates)
{
    pl_free(certificates->cert_pem);
    pl_free(certificates->key_pem);
    pl_free(certificates->ca_pem);
    pl_free(certificates->ca_key_pem);
    *certificates = (struct pl_certificates){.cert_pem = NULL};
}

struct pl_certificates pl_certificates_copy(const struct pl_certificates *certificates)
{
    return (struct pl_certificates){.cert_pem = pl_strdup_or_null(certificates->cert_pem),
                                    .key_pem = pl_strdup_or_null(certificates->key_pem),
                                    .ca_pem = pl_strdup_or_null(certificates->ca_pem),
                                    .ca_key_pem = pl_strdup_or_null(certificates->ca_key_pem)};
}

bool pl_certificates_eq(const struct pl_certificates *a, const struct pl_certificates *b)
{
    return pl_text_eq(a->cert_pem, b->cert_pem) && pl_text_eq(a->key_pem, b->key_pem) &&
           pl_text_eq(a->ca_pem, b->ca_pem) && pl_text_eq(a->ca_key_pem, b->ca_key_pem);
}

/* ---- the plan ---- */

static int64_t two_thirds(const struct pl_validity *validity)
{
    return validity->from_s + (validity->until_s - validity->from_s) / 3 * 2;
}

static bool is_whole(const struct pl_certificates *have)
{
    return have->cert_pem != NULL && have->key_pem != NULL && have->ca_pem != NULL &&
           have->ca_key_pem != NULL && pl_certificates_count(have->ca_pem) > 0 &&
           pl_certificate_has_key(have->cert_pem, have->key_pem) &&
           pl_certificate_has_key(have->ca_pem, have->ca_key_pem);
}

static void earlier(int64_t *at_s, int64_t other_s)
{
    if (other_s < *at_s)
        *at_s = other_s;
}

/* When the newest of several authorities may sign the served certificate: the bundle needs some
 * time, but the served certificate must not expire meanwhile. */
static int64_t switch_at(const struct pl_validity *authority, const struct pl_validity *served)
{
    int64_t made_s = authority->from_s + BACKDATED_S;
    int64_t left_s = served->until_s - made_s;
    return made_s + (left_s / 2 < OVERLAP_S ? left_s / 2 : OVERLAP_S);
}

/* The first expired authority of the bundle, after the newest; 0: none. */
static size_t expired(const char *ca_pem, int64_t now_s, int64_t *at_s)
{
    size_t count = pl_certificates_count(ca_pem), found = 0;
    for (size_t i = 1; i < count && found == 0; i++) {
        struct pl_validity validity;
        char *one = pl_certificates_at(ca_pem, i);
        bool read = one != NULL && pl_certificate_validity(one, &validity);
        if (!read || validity.until_s <= now_s)
            found = i;
        else
            earlier(at_s, validity.until_s);
        pl_free(one);
    }
    return found;
}

enum pl_certificates_step pl_certificates_plan(const struct pl_certificates *have,
                                               const char *const *names, int64_t now_s,
                                               int64_t *at_s)
{
    struct pl_validity authority, served;
    *at_s = now_s + AGAIN_S;
    int issuer = is_whole(have) ? pl_certificate_issuer(have->cert_pem, have->ca_pem) : -1;
    if (issuer < 0 || !pl_certificate_validity(have->ca_pem, &authority) ||
        !pl_certificate_validity(have->cert_pem, &served) || authority.until_s <= now_s)
        return PL_CERTIFICATES_ALL;
    if (two_thirds(&authority) <= now_s)
        return PL_CERTIFICATES_AUTHORITY;
    if (issuer > 0 && switch_at(&authority, &served) <= now_s)
        return PL_CERTIFICATES_SERVED;
    bool waits = issuer > 0 && served.until_s > now_s; /* until the bundle has arrived */
    if (!pl_certificate_is_for(have->cert_pem, names) || (!waits && two_thirds(&served) <= now_s))
        return PL_CERTIFICATES_SERVED;
    earlier(at_s, two_thirds(&authority));
    earlier(at_s, waits ? switch_at(&authority, &served) : two_thirds(&served));
    return issuer == 0 && expired(have->ca_pem, now_s, at_s) > 0 ? PL_CERTIFICATES_FORGET
                                                                 : PL_CERTIFICATES_KEEP;
}

/* ---- making them ---- */

static int make_authority(int64_t now_s, struct pl_certificates *out, struct pl_err *err)
{
    const struct pl_validity validity = {now_s - BACKDATED_S, now_s + AUTHORITY_S};
    return pl_authority_make(&validity, &out->ca_pem, &out->ca_key_pem, err);
}

static int issue(const char *const *names, int64_t now_s, struct pl_certificates *out,
                 struct pl_err *err)
{
    struct pl_validity validity = {now_s - BACKDATED_S, now_s + SERVED_S}, authority;
    if (pl_certificate_validity(out->ca_pem, &authority) && authority.until_s < validity.until_s)
        validity.until_s = authority.until_s;
    pl_free(out->cert_pem);
    pl_free(out->key_pem);
    out->cert_pem = out->key_pem = NULL;
    return pl_authority_issue(out->ca_pem, out->ca_key_pem, names, &validity, &out->cert_pem,
                              &out->key_pem, err);
}

/* The new authority in front of those that have not expired. */
static char *bundle(const char *newest, const char *older, int64_t now_s)
{
    struct pl_buf out = PL_BUF_INIT;
    size_t kept = 0, count = older != NULL ? pl_certificates_count(older) : 0;
    if (newest != NULL)
        pl_buf_add_z(&out, newest);
    for (size_t i = 0; i < count && kept < MOST_OLD; i++) {
        struct pl_validity validity;
        char *one = pl_certificates_at(older, i);
        if (one != NULL && pl_certificate_validity(one, &validity) &&
            (validity.until_s > now_s || (newest == NULL && i == 0))) {
            pl_buf_add_z(&out, one);
            kept++;
        }
        pl_free(one);
    }
    return pl_buf_take(&out);
}

static int renew_authority(const struct pl_certificates *have, int64_t now_s,
                           struct pl_certificates *out, struct pl_err *err)
{
    struct pl_certificates made = {.cert_pem = NULL};
    int rc = make_authority(now_s, &made, err);
    if (rc != 0)
        return rc;
    *out = (struct pl_certificates){.cert_pem = pl_strdup_or_null(have->cert_pem),
                                    .key_pem = pl_strdup_or_null(have->key_pem),
                                    .ca_pem = bundle(made.ca_pem, have->ca_pem, now_s),
                                    .ca_key_pem = made.ca_key_pem};
    pl_free(made.ca_pem);
    return 0;
}

int pl_certificates_renew(const struct pl_certificates *have, enum pl_certificates_step step,
                          const char *const *names, int64_t now_s, struct pl_certificates *out,
                          struct pl_err *err)
{
    int rc = 0;
    *out = (struct pl_certificates){.cert_pem = NULL};
    if (step == PL_CERTIFICATES_AUTHORITY)
        return renew_authority(have, now_s, out, err);
    if (step == PL_CERTIFICATES_ALL)
        rc = make_authority(now_s, out, err);
    else
        *out = pl_certificates_copy(have);
    if (step == PL_CERTIFICATES_FORGET) {
        pl_free(out->ca_pem);
        out->ca_pem = bundle(NULL, have->ca_pem, now_s);
    } else if (rc == 0 && step != PL_CERTIFICATES_KEEP) {
        rc = issue(names, now_s, out, err);
    }
    if (rc != 0)
        pl_certificates_deinit(out);
    return rc;
}
