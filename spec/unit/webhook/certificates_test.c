#include "webhook/certificates.h"

#include "crypto/authority.h"
#include "support/test.h"

#define DAY   INT64_C(86400)
#define BEGIN (INT64_C(1800000000))

static const char *const names[] = {"hooks.team.svc", "hooks.team.svc.cluster.local", "10.0.0.7",
                                    NULL};
static const char *const others[] = {"elsewhere.team.svc", NULL};

static enum pl_certificates_step plan(const struct pl_certificates *have, int64_t now)
{
    int64_t at;
    return pl_certificates_plan(have, names, now, &at);
}

/* Carries out the plan once. */
static void step(struct pl_certificates *have, enum pl_certificates_step want, int64_t now)
{
    struct pl_certificates next;
    struct pl_err err;
    CHECK_INT(plan(have, now), want);
    REQUIRE(pl_certificates_renew(have, plan(have, now), names, now, &next, &err) == 0);
    pl_certificates_deinit(have);
    *have = next;
}

static struct pl_certificates make(int64_t now)
{
    struct pl_certificates have = {.cert_pem = NULL};
    step(&have, PL_CERTIFICATES_ALL, now);
    CHECK_INT(plan(&have, now), PL_CERTIFICATES_KEEP);
    return have;
}

TEST(what_is_made_belongs_together)
{
    struct pl_certificates have = make(BEGIN);
    CHECK(pl_certificate_has_key(have.cert_pem, have.key_pem));
    CHECK_INT(pl_certificate_issuer(have.cert_pem, have.ca_pem), 0);
    CHECK(pl_certificate_is_for(have.cert_pem, names));
    CHECK(!pl_certificate_is_for(have.cert_pem, others));
    pl_certificates_deinit(&have);
}

TEST(a_certificate_is_renewed_at_two_thirds_by_the_same_authority)
{
    struct pl_certificates have = make(BEGIN);
    char *ca = strdup(have.ca_pem), *cert = strdup(have.cert_pem);
    CHECK_INT(plan(&have, BEGIN + 243 * DAY), PL_CERTIFICATES_KEEP);
    step(&have, PL_CERTIFICATES_SERVED, BEGIN + 244 * DAY);
    CHECK_STR(have.ca_pem, ca);
    CHECK(strcmp(have.cert_pem, cert) != 0);
    CHECK_INT(plan(&have, BEGIN + 244 * DAY), PL_CERTIFICATES_KEEP);
    free(ca);
    free(cert);
    pl_certificates_deinit(&have);
}

/* With the CA bundle of any moment, a client can verify the certificates that are served at that
 * moment and at the one before. */
TEST(an_authority_is_renewed_with_overlap)
{
    struct pl_certificates have = make(BEGIN);
    for (int64_t at = BEGIN; at < BEGIN + 2430 * DAY; at += 100 * DAY)
        if (plan(&have, at) == PL_CERTIFICATES_SERVED)
            step(&have, PL_CERTIFICATES_SERVED, at);
    int64_t now = BEGIN + 2434 * DAY;
    char *old_ca = strdup(have.ca_pem), *old_cert = strdup(have.cert_pem);
    step(&have, PL_CERTIFICATES_AUTHORITY, now);
    CHECK_INT(pl_certificates_count(have.ca_pem), 2);
    CHECK_STR(have.cert_pem, old_cert);
    CHECK(pl_certificate_issuer(old_cert, have.ca_pem) == 1);
    CHECK_INT(plan(&have, now + 60), PL_CERTIFICATES_KEEP);
    step(&have, PL_CERTIFICATES_SERVED, now + 600);
    CHECK_INT(pl_certificate_issuer(have.cert_pem, have.ca_pem), 0);
    CHECK_INT(pl_certificate_issuer(have.cert_pem, old_ca), -1);
    CHECK_INT(pl_certificates_count(have.ca_pem), 2);
    for (int64_t at = now; at < BEGIN + 3650 * DAY; at += 100 * DAY)
        if (plan(&have, at) == PL_CERTIFICATES_SERVED)
            step(&have, PL_CERTIFICATES_SERVED, at);
    int64_t later = BEGIN + 3651 * DAY;
    if (plan(&have, later) == PL_CERTIFICATES_SERVED)
        step(&have, PL_CERTIFICATES_SERVED, later);
    step(&have, PL_CERTIFICATES_FORGET, later);
    CHECK_INT(pl_certificates_count(have.ca_pem), 1);
    CHECK_INT(plan(&have, later), PL_CERTIFICATES_KEEP);
    free(old_ca);
    free(old_cert);
    pl_certificates_deinit(&have);
}

/* The overlap fits into the rest of a short lifetime. */
TEST(short_lives_have_short_overlaps)
{
    struct pl_certificates have = {.cert_pem = NULL};
    const struct pl_validity life = {BEGIN, BEGIN + 90};
    REQUIRE(pl_authority_make(&life, &have.ca_pem, &have.ca_key_pem, NULL) == 0);
    REQUIRE(pl_authority_issue(have.ca_pem, have.ca_key_pem, names, &life, &have.cert_pem,
                               &have.key_pem, NULL) == 0);
    CHECK_INT(plan(&have, BEGIN + 59), PL_CERTIFICATES_KEEP);
    step(&have, PL_CERTIFICATES_AUTHORITY, BEGIN + 60);
    CHECK_INT(plan(&have, BEGIN + 61), PL_CERTIFICATES_KEEP);
    step(&have, PL_CERTIFICATES_SERVED, BEGIN + 75);
    CHECK_INT(plan(&have, BEGIN + 76), PL_CERTIFICATES_KEEP);
    pl_certificates_deinit(&have);
}

static void check_broken(char *struct_text, char **member)
{
    char *kept = *member;
    struct pl_certificates *have = (void *)struct_text;
    *member = strdup("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
    CHECK_INT(plan(have, BEGIN), PL_CERTIFICATES_ALL);
    free(*member);
    *member = NULL;
    CHECK_INT(plan(have, BEGIN), PL_CERTIFICATES_ALL);
    *member = kept;
}

TEST(what_somebody_broke_is_made_anew)
{
    struct pl_certificates have = make(BEGIN), other = make(BEGIN);
    check_broken((char *)&have, &have.cert_pem);
    check_broken((char *)&have, &have.key_pem);
    check_broken((char *)&have, &have.ca_pem);
    check_broken((char *)&have, &have.ca_key_pem);
    char *key = have.key_pem;
    have.key_pem = other.key_pem;
    CHECK_INT(plan(&have, BEGIN), PL_CERTIFICATES_ALL);
    have.key_pem = key;
    char *ca = have.ca_pem, *ca_key = have.ca_key_pem;
    have.ca_pem = other.ca_pem;
    have.ca_key_pem = other.ca_key_pem;
    CHECK_INT(plan(&have, BEGIN), PL_CERTIFICATES_ALL);
    have.ca_pem = ca;
    have.ca_key_pem = ca_key;
    CHECK_INT(plan(&have, BEGIN + 4000 * DAY), PL_CERTIFICATES_ALL);
    pl_certificates_deinit(&have);
    pl_certificates_deinit(&other);
}

TEST(other_names_need_another_certificate)
{
    struct pl_certificates have = make(BEGIN), next;
    int64_t at;
    CHECK_INT(pl_certificates_plan(&have, others, BEGIN, &at), PL_CERTIFICATES_SERVED);
    REQUIRE(pl_certificates_renew(&have, PL_CERTIFICATES_SERVED, others, BEGIN, &next, NULL) == 0);
    CHECK_STR(next.ca_pem, have.ca_pem);
    CHECK(pl_certificate_is_for(next.cert_pem, others));
    CHECK(!pl_certificates_eq(&have, &next));
    pl_certificates_deinit(&have);
    pl_certificates_deinit(&next);
}

TEST(names_are_checked_before_openssl_sees_them)
{
    static const char *const bad[] = {"a.svc,DNS:*", NULL};
    struct pl_certificates have = make(BEGIN), next;
    struct pl_err err;
    CHECK_INT(pl_certificates_renew(&have, PL_CERTIFICATES_SERVED, bad, BEGIN, &next, &err),
              PL_EINVAL);
    CHECK(next.cert_pem == NULL);
    pl_certificates_deinit(&have);
}

TEST_MAIN()
