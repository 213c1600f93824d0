#include "webhook/review.h"

#include "base/clock.h"
#include "support/json.h"

#define REQUEST                                                                                    \
    "'request':{'uid':'u-1','kind':{'group':'example.com','version':'v1','kind':'Website'},"       \
    "'resource':{'group':'example.com','version':'v1','resource':'websites'},'name':'blog',"       \
    "'namespace':'default','operation':'UPDATE','userInfo':{'username':'jo','uid':'7',"            \
    "'groups':['a','b'],'extra':{'k':['v']}},'object':{'kind':'Website','spec':{'n':1.50}},"       \
    "'oldObject':null,'dryRun':true,'options':{'kind':'UpdateOptions'}}"

static int read_as(enum pl_hook_sort sort, const char *quoted, struct pl_review *review,
                   struct pl_err *err)
{
    char *text = json_text(quoted);
    pl_err_clear(err);
    int rc = pl_review_read(pl_slice_z(text), sort, review, err);
    free(text);
    return rc;
}

static void check_refused(enum pl_hook_sort sort, const char *quoted, const char *part)
{
    struct pl_review review;
    struct pl_err err;
    CHECK_INT(read_as(sort, quoted, &review, &err), PL_EINVAL);
    if (strstr(err.message, part) == NULL)
        TEST_FAIL("%s: got \"%s\", want \"%s\"", quoted, err.message, part);
    CHECK(review.call == NULL);
}

static struct pl_review must_read(enum pl_hook_sort sort, const char *quoted)
{
    struct pl_review review;
    struct pl_err err;
    int rc = read_as(sort, quoted, &review, &err);
    if (rc != 0)
        TEST_FAIL("%s", err.message);
    REQUIRE(rc == 0);
    return review;
}

TEST(a_review_is_taken_apart_into_what_scripts_see)
{
    struct pl_review review =
        must_read(PL_HOOK_VALIDATE,
                  "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'," REQUEST "}");
    CHECK_STR(review.uid, "u-1");
    CHECK_STR(review.key, "default/blog");
    CHECK(review.call->dry_run);
    pl_hook_call_open(review.call);
    CHECK(review.call->old == NULL);
    CHECK_JSON(pl_doc_root(review.call->object), "{'kind':'Website','spec':{'n':1.50}}");
    CHECK_JSON(pl_doc_root(review.call->request),
               "{'uid':'u-1','operation':'UPDATE','kind':'example.com/v1/Website',"
               "'resource':'websites','namespace':'default','name':'blog','user':{'username':'jo',"
               "'uid':'7','groups':['a','b'],'extra':{'k':['v']}},'dry_run':true,"
               "'options':{'kind':'UpdateOptions'},'audit_annotations':{}}");
    pl_review_deinit(&review);
}

TEST(what_the_handler_has_no_parameter_for_is_not_made)
{
    static const char text[] =
        "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{'uid':'u',"
        "'kind':{'version':'v1','kind':'Pod'},'operation':'UPDATE','object':{'a':1},"
        "'oldObject':{'a':2}}}";
    for (int count = 0; count <= PL_HOOK_PARAMETERS; count++) {
        struct pl_review review = must_read(PL_HOOK_VALIDATE, text);
        review.call->parameters = count;
        pl_hook_call_open(review.call);
        CHECK_JSON(pl_doc_root(review.call->object), "{'a':1}");
        CHECK((review.call->old != NULL) == (count >= 2));
        CHECK((review.call->request != NULL) == (count >= 3));
        pl_review_deinit(&review);
    }
}

TEST(what_is_no_review_is_refused_by_name)
{
    check_refused(PL_HOOK_MUTATE, "{", "not JSON");
    check_refused(PL_HOOK_MUTATE, "[]", "expected AdmissionReview, but the body is a JSON array");
    check_refused(PL_HOOK_MUTATE, "{'kind':'Pod'}", "of kind \"Pod\"");
    check_refused(PL_HOOK_MUTATE,
                  "{'apiVersion':'admission.k8s.io/v1beta1','kind':'AdmissionReview'," REQUEST "}",
                  "\"admission.k8s.io/v1beta1\" is not understood; \"admission.k8s.io/v1\" is");
    check_refused(PL_HOOK_MUTATE, "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'}",
                  "has no request");
    check_refused(PL_HOOK_MUTATE,
                  "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{}}",
                  "has no uid");
    check_refused(PL_HOOK_MUTATE,
                  "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':"
                  "{'uid':'1','operation':'CREATE','kind':{'kind':'A'},'object':[1]}}",
                  "request.object must be a JSON object, not a JSON array");
    check_refused(PL_HOOK_CONVERT,
                  "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'," REQUEST "}",
                  "expected ConversionReview");
    check_refused(PL_HOOK_CONVERT,
                  "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview','request':"
                  "{'uid':'1','objects':[]}}",
                  "no desiredAPIVersion");
}

static void check_answer(const struct pl_review *review, const char *want)
{
    struct pl_buf out = PL_BUF_INIT;
    char *text = json_text(want);
    pl_review_answer(review, &out);
    CHECK_STR(pl_buf_z(&out), text);
    free(text);
    pl_buf_deinit(&out);
}

#define ADMITTED "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','response':{"

TEST(answers_to_admission)
{
    struct pl_review review =
        must_read(PL_HOOK_MUTATE,
                  "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'," REQUEST "}");
    review.call->parameters = 1; /* the details of a denial do not need the others */
    pl_hook_call_open(review.call);
    review.call->answer.said = json("{'allowed':true,'warnings':['w'],'audit':{'k':'v'}}");
    review.call->answer.patch = json("[]");
    check_answer(&review,
                 ADMITTED "'uid':'u-1','allowed':true,'patchType':'JSONPatch',"
                          "'patch':'W10=','warnings':['w'],'auditAnnotations':{'k':'v'}}}");
    CHECK(!pl_review_is_denied(&review));
    pl_doc_unref(review.call->answer.said);
    review.call->answer.said = json("{'allowed':false,'message':'no'}");
    check_answer(&review, ADMITTED "'uid':'u-1','allowed':false,'status':{'status':'Failure',"
                                   "'message':'no','reason':'Forbidden','code':403}}}");
    CHECK(pl_review_is_denied(&review));
    pl_doc_unref(review.call->answer.said);
    review.call->answer.said =
        json("{'allowed':false,'message':'a: b','causes':[{'field':'a','message':'b'}]}");
    check_answer(&review, ADMITTED
                 "'uid':'u-1','allowed':false,'status':{'status':'Failure','message':'a: b',"
                 "'reason':'Invalid','details':{'name':'blog','group':'example.com',"
                 "'kind':'Website','causes':[{'reason':'FieldValueInvalid','message':'b',"
                 "'field':'a'}]},'code':422}}}");
    pl_review_deinit(&review);
}

#define CONVERTS                                                                                   \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview','request':{'uid':'u',"      \
    "'desiredAPIVersion':'example.com/v2','objects':"

TEST(conversions_are_of_one_kind)
{
    struct pl_kind kind;
    struct pl_err err;
    struct pl_review review =
        must_read(PL_HOOK_CONVERT, CONVERTS "[{'apiVersion':'example.com/v1','kind':'A','metadata':"
                                            "{'name':'x'}},{'apiVersion':'example.com/v3',"
                                            "'kind':'A'}]}}");
    CHECK_INT(pl_review_kind(&review, &kind, &err), 0);
    CHECK_STR(kind.group, "example.com");
    char *name = pl_review_failed_name(&review);
    CHECK_STR(name, "x");
    free(name);
    pl_hook_call_add(review.call, json("{'a':1}"));
    pl_hook_call_add(review.call, json("{'b':2}"));
    check_answer(&review, "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview',"
                          "'response':{'uid':'u','convertedObjects':[{'a':1},{'b':2}],"
                          "'result':{'status':'Success'}}}");
    struct pl_buf out = PL_BUF_INIT;
    pl_review_refuse(&review, "x: it \"broke\"", &out);
    CHECK_STR(pl_buf_z(&out), "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
                              "\"ConversionReview\",\"response\":{\"uid\":\"u\",\"result\":{"
                              "\"status\":\"Failure\",\"message\":\"x: it \\\"broke\\\"\"}}}");
    pl_buf_deinit(&out);
    pl_review_deinit(&review);
    review = must_read(PL_HOOK_CONVERT, CONVERTS "[{'apiVersion':'example.com/v1','kind':'A'},"
                                                 "{'apiVersion':'example.com/v1','kind':'B'}]}}");
    CHECK_INT(pl_review_kind(&review, &kind, &err), PL_EINVAL);
    pl_review_deinit(&review);
    review = must_read(PL_HOOK_CONVERT, CONVERTS "[]}}");
    CHECK_INT(pl_review_kind(&review, &kind, &err), PL_ENOTFOUND);
    pl_review_deinit(&review);
    review = must_read(PL_HOOK_CONVERT, CONVERTS "[7]}}");
    CHECK_INT(pl_review_kind(&review, &kind, &err), PL_EINVAL);
    pl_review_deinit(&review);
}

static int64_t timeout_of(const char *query)
{
    int64_t ns;
    return pl_review_timeout(pl_slice_z(query), &ns) ? ns : -1;
}

TEST(deadlines_leave_the_api_server_time_to_hear_the_answer)
{
    CHECK_INT(timeout_of("timeout=10s"), 10 * PL_SECOND);
    CHECK_INT(timeout_of("a=b&timeout=500ms"), 500 * PL_MS);
    CHECK_INT(timeout_of("timeout=1000h"), 30 * PL_SECOND);
    CHECK_INT(timeout_of("timeout=soon"), -1);
    CHECK_INT(timeout_of("timeout=0s"), -1);
    CHECK_INT(timeout_of(""), -1);
    CHECK_INT(pl_review_deadline(10 * PL_SECOND), 9500 * PL_MS);
    CHECK_INT(pl_review_deadline(1 * PL_SECOND), 900 * PL_MS);
}

TEST_MAIN()
