#include "admission/certificates.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "crypto/x509.h"

#include "support/api_fixture.h"

/* Every expectation was checked against kube-apiserver 1.37. */

#define REQUESTS "/apis/certificates.k8s.io/v1/certificatesigningrequests"

/* The request of a new key, in base64. */
static char *request_of(const char *organization)
{
    struct pl_buf key = PL_BUF_INIT, pem = PL_BUF_INIT, text = PL_BUF_INIT;
    struct pl_err err;
    struct pl_x509_field fields[] = {{"subject.CN", pl_slice_z("x")},
                                     {"subject.O", pl_slice_z(organization)}};
    CHECK_INT(pl_x509_make_key("ecdsa-p256", &key, &err), 0);
    CHECK_INT(
        pl_x509_make_request(pl_buf_slice(&key), (struct pl_x509_fields){fields, 2}, &pem, &err),
        0);
    pl_base64_encode(pl_buf_slice(&pem), &text);
    char *copy = pl_strdup(pl_buf_z(&text));
    pl_buf_deinit(&key);
    pl_buf_deinit(&pem);
    pl_buf_deinit(&text);
    return copy;
}

static int post_request(struct api *t, const char *name, const char *signer, const char *request)
{
    char *body = pl_format("{'metadata':{'name':'%s'},'spec':{'signerName':'%s','usages':['client "
                           "auth'],'request':'%s'}}",
                           name, signer, request);
    int code = api_post(t, REQUESTS, body);
    pl_free(body);
    return code;
}

TEST(a_request_is_read_and_its_signature_is_checked)
{
    struct api t;
    api_open(&t);
    char *good = request_of("team");
    CHECK_INT(post_request(&t, "a", "example.com/a", good), 201);
    /* -----BEGIN CERTIFICATE REQUEST-----, "MIIB", -----END CERTIFICATE REQUEST----- */
    CHECK_INT(post_request(&t, "b", "example.com/a",
                           "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQgotLS0tLUVORCBDRV"
                           "JUSUZJQ0FURSBSRVFVRVNULS0tLS0K"),
              422);
    CHECK_AT(&t, "details.causes[0].field", "'spec.request'");
    pl_free(good);
    api_close(&t);
}

TEST(nobody_asks_for_the_group_of_all_rights)
{
    struct api t;
    api_open(&t);
    char *bad = request_of("system:masters");
    CHECK_INT(post_request(&t, "a", "kubernetes.io/kube-apiserver-client", bad), 403);
    CHECK_AT(&t, "message",
             "'certificatesigningrequests.certificates.k8s.io \\\"a\\\" is forbidden: use of "
             "kubernetes.io/kube-apiserver-client signer with system:masters group is not "
             "allowed'");
    CHECK_INT(post_request(&t, "a", "example.com/a", bad), 201);
    pl_free(bad);
    api_close(&t);
}

TEST(approvals_need_the_right_for_the_signer)
{
    static const char approval[] =
        "{'status':{'conditions':[{'type':'Approved','status':'True'}]}}";
    struct api t;
    api_open(&t);
    char *good = request_of("team");
    CHECK_INT(post_request(&t, "a", "example.com/a", good), 201);
    CHECK_INT(api_post(&t, "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                       "{'metadata':{'name':'r'},'rules':[{'apiGroups':['certificates.k8s.io'],"
                       "'resources':['certificatesigningrequests/approval'],'verbs':['*']}]}"),
              201);
    CHECK_INT(api_post(&t, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                       "{'metadata':{'name':'r'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
                       "'kind':'ClusterRole','name':'r'},'subjects':[{'kind':'User','name':'bob'}]"
                       "}"),
              201);
    t.impersonate[0] = (struct pl_http_header){"Impersonate-User", "bob"};
    CHECK_INT(api_merge(&t, REQUESTS "/a/approval", approval), 403);
    t.impersonate[0] = (struct pl_http_header){0};
    CHECK_INT(api_merge(&t, "/apis/rbac.authorization.k8s.io/v1/clusterroles/r",
                        "{'rules':[{'apiGroups':['certificates.k8s.io'],'resources':["
                        "'certificatesigningrequests/approval'],'verbs':['*']},{'apiGroups':["
                        "'certificates.k8s.io'],'resources':['signers'],'resourceNames':["
                        "'example.com/*'],'verbs':['approve']}]}"),
              200);
    t.impersonate[0] = (struct pl_http_header){"Impersonate-User", "bob"};
    CHECK_INT(api_merge(&t, REQUESTS "/a/approval", approval), 200);
    t.impersonate[0] = (struct pl_http_header){0};
    pl_free(good);
    api_close(&t);
}

TEST_MAIN()
