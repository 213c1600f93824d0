#include "apicall/token.h"

#include "support/api_fixture.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define SELF     "/apis/authentication.k8s.io/v1/selfsubjectreviews"

/* "Bearer " and a token of the account s that ends in ten minutes; to free. */
static char *make_token(struct api *t)
{
    struct pl_scratch scratch;
    CHECK_INT(api_post(t, ACCOUNTS "/s/token", "{'spec':{'expirationSeconds':600}}"), 201);
    CHECK_AT(t, "kind", "'TokenRequest'");
    CHECK_AT(t, "status.expirationTimestamp", "'2026-11-21T09:40:00Z'");
    CHECK_AT(t, "spec.audiences", "['https://kubernetes.default.svc']");
    return pl_format("Bearer %.*s", PL_FMT(pl_node_str(api_node(t, "status.token"), &scratch)));
}

static int try(struct api *t, const char *bearer)
{
    const char *before = t->authorization;
    t->authorization = bearer;
    int status = api_post(t, SELF, "{}");
    t->authorization = before;
    return status;
}

static void open_with_account(struct api *t)
{
    api_open_cluster(t, (struct pl_api_options){.token = "secret"});
    t->authorization = "Bearer secret";
    CHECK_INT(api_post(t, ACCOUNTS, "{'metadata':{'name':'s'}}"), 201);
}

TEST(a_token_is_its_accounts)
{
    struct api t;
    open_with_account(&t);
    char *bearer = make_token(&t);
    CHECK_INT(try(&t, bearer), 201);
    CHECK_AT(&t, "status.userInfo.username", "'system:serviceaccount:default:s'");
    CHECK_AT(&t, "status.userInfo.groups",
             "['system:serviceaccounts','system:serviceaccounts:default','system:authenticated']");
    pl_free(bearer);
    api_close(&t);
}

TEST(no_byte_of_a_token_may_be_changed)
{
    struct api t;
    open_with_account(&t);
    char *bearer = make_token(&t);
    for (size_t i = strlen("Bearer "); i < strlen(bearer); i += 7) {
        char was = bearer[i];
        bearer[i] = was == 'A' ? 'B' : 'A';
        CHECK_INT(try(&t, bearer), 401);
        bearer[i] = was;
    }
    CHECK_INT(try(&t, "Bearer ..."), 401);
    CHECK_INT(try(&t, "Bearer a.b"), 401);
    CHECK_INT(try(&t, "Bearer "), 401);
    CHECK_INT(try(&t, "Basic secret"), 401);
    CHECK_INT(try(&t, NULL), 401);
    CHECK_INT(try(&t, bearer), 201);
    pl_free(bearer);
    api_close(&t);
}

TEST(a_token_ends_with_its_time_and_with_its_account)
{
    struct api t;
    open_with_account(&t);
    char *bearer = make_token(&t);
    CHECK_INT(api_delete(&t, ACCOUNTS "/s", NULL), 200);
    CHECK_INT(try(&t, bearer), 401);
    CHECK_INT(api_post(&t, ACCOUNTS, "{'metadata':{'name':'s'}}"), 201);
    CHECK_INT(try(&t, bearer), 401); /* another account of the same name */
    pl_free(bearer);
    bearer = make_token(&t);
    t.clock.now_ns += 599 * PL_SECOND;
    CHECK_INT(try(&t, bearer), 201);
    t.clock.now_ns += PL_SECOND;
    CHECK_INT(try(&t, bearer), 401);
    pl_free(bearer);
    api_close(&t);
}

TEST(tokens_that_are_too_short_lived_or_nobodys_are_refused)
{
    struct api t;
    open_with_account(&t);
    CHECK_INT(api_post(&t, ACCOUNTS "/s/token", "{'spec':{'expirationSeconds':60}}"), 422);
    CHECK_MESSAGE(&t, "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: "
                      "Invalid value: 60: may not specify a duration less than 10 minutes");
    CHECK_INT(api_post(&t, ACCOUNTS "/none/token", "{'spec':{}}"), 404);
    CHECK_INT(api_get(&t, ACCOUNTS "/s/token"), 405);
    api_close(&t);
}

TEST_MAIN()
