#include "webhook/registration.h"

#include "support/json.h"

static char name[] = "validate.website.example.com", path[] = "/validate-example-com-v1-website";
static char create[] = "CREATE", status[] = "status";
static char *operations[] = {create, NULL}, *subresources[] = {status, NULL};

static struct pl_hook_kind kind = {
    .kind = {"example.com", "v1", "Website"}, .name = name, .path = path};

static struct pl_hook_spec spec_of(enum pl_hook_sort sort)
{
    return (struct pl_hook_spec){
        .sort = sort, .kinds = &kind, .kind_count = 1, .operations = operations, .timeout_s = 10};
}

static const struct pl_registration_target service = {
    .ns = "team", .name = "hooks", .port = 443, .ca_pem = "ca"};
static const struct pl_registration_target url = {.url = "https://127.0.0.1:9443"};

static void check_part(struct pl_doc *doc, const char *want)
{
    REQUIRE(doc != NULL);
    CHECK_JSON(pl_registration_part(pl_doc_root(doc)), want);
    pl_doc_unref(doc);
}

TEST(a_configuration_says_what_the_script_said)
{
    struct pl_hook_spec spec = spec_of(PL_HOOK_VALIDATE);
    struct pl_registration_entry entry = {.spec = &spec, .kind = &kind, .plural = "websites"};
    spec.subresources = subresources;
    spec.object_selector = (char *)"a=b,c!=d,e in (f,g),h notin (i),j,!k,l==m";
    struct pl_hook_condition condition = {(char *)"c", (char *)"true"};
    spec.conditions = &condition;
    spec.condition_count = 1;
    check_part(
        pl_registration_config(PL_HOOK_VALIDATE, "x", &entry, 1, &service),
        "[{'name':'validate.website.example.com','clientConfig':{'service':{'namespace':'team',"
        "'name':'hooks','path':'/validate-example-com-v1-website','port':443},'caBundle':'Y2E='},"
        "'rules':[{'apiGroups':['example.com'],'apiVersions':['v1'],'operations':['CREATE'],"
        "'resources':['websites','websites/status'],'scope':'*'}],'failurePolicy':'Fail',"
        "'matchPolicy':'Equivalent','objectSelector':{'matchExpressions':["
        "{'key':'a','operator':'In','values':['b']},{'key':'c','operator':'NotIn','values':['d']},"
        "{'key':'e','operator':'In','values':['f','g']},{'key':'h','operator':'NotIn','values':['i'"
        "]"
        "},{'key':'j','operator':'Exists'},{'key':'k','operator':'DoesNotExist'},"
        "{'key':'l','operator':'In','values':['m']}]},"
        "'matchConditions':[{'name':'c','expression':'true'}],'sideEffects':'None',"
        "'timeoutSeconds':10,'admissionReviewVersions':['v1']}]");
}

TEST(a_mutating_one_says_when_it_is_called_again)
{
    struct pl_hook_spec spec = spec_of(PL_HOOK_MUTATE);
    struct pl_registration_entry entry = {.spec = &spec, .kind = &kind, .plural = "websites"};
    spec.if_needed = spec.ignore = spec.on_dry_run = true;
    check_part(pl_registration_config(PL_HOOK_MUTATE, "x", &entry, 1, &url),
               "[{'name':'validate.website.example.com','clientConfig':{'url':"
               "'https://127.0.0.1:9443/validate-example-com-v1-website'},'rules':[{'apiGroups':["
               "'example.com'],'apiVersions':['v1'],'operations':['CREATE'],'resources':['websites'"
               "],'scope':'*'}],'failurePolicy':'Ignore','matchPolicy':'Equivalent','sideEffects':"
               "'NoneOnDryRun','timeoutSeconds':10,'admissionReviewVersions':['v1'],"
               "'reinvocationPolicy':'IfNeeded'}]");
}

TEST(what_is_not_served_or_of_another_sort_is_left_out)
{
    struct pl_hook_spec spec = spec_of(PL_HOOK_VALIDATE);
    struct pl_registration_entry entry = {.spec = &spec, .kind = &kind};
    CHECK(pl_registration_config(PL_HOOK_VALIDATE, "x", &entry, 1, &url) == NULL);
    entry.plural = "websites";
    CHECK(pl_registration_config(PL_HOOK_MUTATE, "x", &entry, 1, &url) == NULL);
}

TEST(conversion_is_told_and_taken_back)
{
    check_part(pl_registration_conversion("websites.example.com", &url),
               "{'strategy':'Webhook','webhook':{'clientConfig':{'url':"
               "'https://127.0.0.1:9443/convert'},'conversionReviewVersions':['v1']}}");
    struct pl_doc *nothing = pl_registration_conversion("websites.example.com", NULL);
    CHECK_JSON(pl_doc_root(nothing), "{'apiVersion':'apiextensions.k8s.io/v1','kind':"
                                     "'CustomResourceDefinition','metadata':{'name':"
                                     "'websites.example.com'}}");
    pl_doc_unref(nothing);
}

/* ---- whether it must be written again ---- */

#define OURS(time) "{'manager':'perilune-webhooks','operation':'Apply','time':'" time "'}"
#define OTHERS(time)                                                                               \
    "{'manager':'kubectl','operation':'Update','time':'" time "','fieldsV1':{'f:webhooks':{}}}"
#define LIVE(mark, fields, webhooks)                                                               \
    "{'kind':'ValidatingWebhookConfiguration','metadata':{'annotations':{'perilune.dev/webhooks':" \
    "'" mark "'},'managedFields':[" fields "]},'webhooks':" webhooks "}"

static void check_undone(const char *live, bool want)
{
    struct pl_registration_memory memory = {.accepted = NULL};
    struct pl_doc *written = json(LIVE("m1", OURS("t1"), "[{'name':'a'}]"));
    pl_registration_accept(&memory, pl_doc_root(written));
    struct pl_doc *now = json(live);
    bool undone = pl_registration_is_undone(&memory, pl_doc_root(now));
    if (undone != want)
        TEST_FAIL("%s: %s", live, want ? "should be written again" : "should be left alone");
    pl_doc_unref(now);
    pl_doc_unref(written);
    pl_registration_memory_deinit(&memory);
}

TEST(what_others_change_is_put_back_and_what_replicas_write_is_left)
{
    check_undone(LIVE("m1", OURS("t1"), "[{'name':'a'}]"), false);
    check_undone(LIVE("m1", OURS("t1"), "[]"), true); /* removed by hand */
    check_undone(LIVE("m1", OURS("t1") "," OTHERS("t2"), "[{'name':'b'}]"), true);
    check_undone(LIVE("m2", OURS("t2"), "[{'name':'b'}]"), false); /* another replica */
    check_undone(LIVE("m2", OURS("t2") "," OTHERS("t3"), "[{'name':'b'}]"), true);
    check_undone(LIVE("m2", OURS("t2") "," OTHERS("t1"), "[{'name':'b'}]"), false);
}

TEST(ours_under_another_name_is_known_by_manager_and_place)
{
    static const char *const cases[] = {
        "{'metadata':{'managedFields':[" OURS("t") "]},'webhooks':[{'clientConfig':{'url':"
                                                   "'https://127.0.0.1:9443/a'}}]}",
        "{'metadata':{'managedFields':[" OURS("t") "]},'webhooks':[{'clientConfig':{'url':"
                                                   "'https://127.0.0.1:94430/a'}}]}",
        "{'metadata':{'managedFields':[" OTHERS("t") "]},'webhooks':[{'clientConfig':{'url':"
                                                     "'https://127.0.0.1:9443/a'}}]}",
        "{'metadata':{'managedFields':[" OURS("t") "]},'webhooks':[]}",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        struct pl_doc *doc = json(cases[i]);
        CHECK_INT(pl_registration_is_ours(pl_doc_root(doc), &url), i == 0);
        CHECK(!pl_registration_is_ours(pl_doc_root(doc), &service));
        pl_doc_unref(doc);
    }
}

TEST_MAIN()
