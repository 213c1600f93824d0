#include "podsecurity/security.h"

#include "support/json.h"
#include "support/test.h"

static struct pl_tree *tree(struct pl_arena *arena, const char *text)
{
    struct pl_doc *doc = json(text);
    struct pl_tree *out = pl_tree_from_node(arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return out;
}

struct secured {
    enum pl_security_level level;
    int minor;
    const char *spec, *want; /* the reasons; "" for none */
};

#define C "'containers':[{'name':'c'"
#define GOOD                                                                                       \
    "'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'RuntimeDefault'}}," C        \
    ",'securityContext':{'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']}}}]"

static void check(const struct secured *want)
{
    struct pl_arena arena = {0};
    struct pl_tree *pod = pl_tree_object(&arena);
    pl_tree_setz(&arena, pod, "spec", tree(&arena, want->spec));
    struct pl_slice got =
        pl_security_violations(&arena, (struct pl_security){want->level, want->minor}, pod, false);
    if (!pl_slice_eqz(got, want->want))
        TEST_FAIL("%s at %d of 1.%d: got %.*s", want->spec, (int)want->level, want->minor,
                  PL_FMT(got));
    pl_arena_deinit(&arena);
}

/* Every expectation was checked against kube-apiserver 1.37. */
TEST(levels_forbid_what_the_standards_say)
{
    static const struct secured cases[] = {
        {PL_SECURITY_PRIVILEGED, PL_SECURITY_LATEST, "{'hostNetwork':true," C "}]}", ""},
        {PL_SECURITY_BASELINE, PL_SECURITY_LATEST, "{" C "}]}", ""},
        {PL_SECURITY_BASELINE, PL_SECURITY_LATEST,
         "{'hostNetwork':true,'volumes':[{'name':'v','hostPath':{}}]," C
         ",'ports':[{'hostPort':1}],'securityContext':{'privileged':true}}]}",
         "host namespaces, hostPath volumes, hostPort, privileged"},
        {PL_SECURITY_BASELINE, 33, "{" C ",'livenessProbe':{'httpGet':{'host':'x'}}}]}", ""},
        {PL_SECURITY_BASELINE, 34, "{" C ",'livenessProbe':{'httpGet':{'host':'x'}}}]}",
         "probe or lifecycle host"},
        {PL_SECURITY_BASELINE, 26,
         "{'securityContext':{'sysctls':[{'name':'net.ipv4.ip_local_reserved_ports'}]}," C "}]}",
         "forbidden sysctls"},
        {PL_SECURITY_BASELINE, 27,
         "{'securityContext':{'sysctls':[{'name':'net.ipv4.ip_local_reserved_ports'}]}," C "}]}",
         ""},
        {PL_SECURITY_RESTRICTED, PL_SECURITY_LATEST, "{" C "}]}",
         "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, "
         "seccompProfile"},
        {PL_SECURITY_RESTRICTED, PL_SECURITY_LATEST, "{" GOOD "}", ""},
        {PL_SECURITY_RESTRICTED, 0, "{" C "}]}", "runAsNonRoot != true"},
        {PL_SECURITY_RESTRICTED, 24, "{'os':{'name':'windows'}," GOOD "}", ""},
        {PL_SECURITY_RESTRICTED, 25,
         "{'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true}," C "}]}", ""},
        {PL_SECURITY_RESTRICTED, 24,
         "{'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true}," C "}]}",
         "allowPrivilegeEscalation != false, unrestricted capabilities, seccompProfile"},
        {PL_SECURITY_RESTRICTED, PL_SECURITY_LATEST,
         "{'volumes':[{'name':'v','hostPath':{}}]," GOOD "}", "restricted volume types"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

TEST(labels_say_levels_and_versions)
{
    struct pl_arena arena = {0};
    struct pl_api_faults faults = {.arena = &arena};
    struct pl_security_policy p =
        pl_security_policy_of(tree(&arena, "{'pod-security.kubernetes.io/enforce':'baseline',"
                                           "'pod-security.kubernetes.io/enforce-version':'v1.30'}"),
                              &faults);
    CHECK(faults.causes == NULL);
    CHECK(pl_slice_eqz(pl_security_text(&arena, p.enforce), "baseline:v1.30"));
    CHECK(pl_slice_eqz(pl_security_text(&arena, p.warn), "baseline:v1.30"));
    CHECK(pl_slice_eqz(pl_security_text(&arena, p.audit), "privileged:latest"));
    p = pl_security_policy_of(tree(&arena, "{'pod-security.kubernetes.io/enforce':'none',"
                                           "'pod-security.kubernetes.io/warn-version':'v1.01'}"),
                              &faults);
    CHECK_INT(faults.causes->count, 2);
    CHECK_INT(p.enforce.level, PL_SECURITY_RESTRICTED);
    CHECK_INT(p.warn.level, PL_SECURITY_PRIVILEGED);
    pl_arena_deinit(&arena);
}

TEST_MAIN()
