#include "warnings/warn.h"

#include "support/json.h"
#include "support/test.h"

struct warned {
    const char *kind, *object, *old; /* old: NULL for a new one */
    const char *first;               /* the beginning of the first warning; NULL: there is none */
};

static struct pl_tree *tree(struct pl_arena *arena, const char *text)
{
    struct pl_doc *doc = json(text);
    struct pl_tree *out = pl_tree_from_node(arena, pl_doc_root(doc));
    pl_doc_unref(doc);
    return out;
}

static void check(const struct warned *want)
{
    struct pl_arena arena = {0};
    char kind[64];
    snprintf(kind, sizeof(kind), "%s", want->kind);
    struct pl_api_type type = {.kind = kind};
    const struct pl_tree *texts =
        pl_valid_warnings(&arena, &type, tree(&arena, want->object),
                          want->old != NULL ? tree(&arena, want->old) : NULL);
    struct pl_slice first = pl_tree_text(pl_tree_at(texts, 0));
    if (want->first == NULL && texts != NULL)
        TEST_FAIL("%s %s: %.*s", want->kind, want->object, PL_FMT(first));
    if (want->first != NULL &&
        strncmp(pl_arena_copy(&arena, first).ptr, want->first, strlen(want->first)) != 0)
        TEST_FAIL("%s %s: got %.*s", want->kind, want->object, PL_FMT(first));
    pl_arena_deinit(&arena);
}

#define POD(more) "{'metadata':{'name':'p'},'spec':{" more "}}"
#define DEPLOYMENT(generation, label)                                                              \
    "{'metadata':{'name':'d','generation':" generation                                             \
    "},'spec':{'template':{'spec':{'nodeSelector':{'" label "':'x'}}}}}"

TEST(what_does_nothing_or_will_go_is_warned_of)
{
    static const struct warned cases[] = {
        {"Pod", POD("'containers':[{'name':'c'}]"), NULL, NULL},
        {"Pod",
         POD("'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{"
             "'weight':1,'podAffinityTerm':{'topologyKey':'zone'}}]}}"),
         NULL,
         "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
         "podAffinityTerm.labelSelector: a null labelSelector results in matching no pod"},
        {"Pod",
         POD("'containers':[{'name':'c','env':[{'name':'A','value':'1'},{'name':'A','value':"
             "'2'}]}]"),
         NULL,
         "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when "
         "using apply"},
        {"Pod",
         POD("'containers':[{'name':'c','env':[{'name':'A','value':'1'},{'name':'A','value':"
             "'$(A)2'}]}]"),
         NULL, NULL},
        {"Pod",
         POD("'containers':[{'name':'c','ports':[{'containerPort':80,'protocol':'TCP'},"
             "{'containerPort':80,'protocol':'TCP','hostPort':1}]}]"),
         NULL,
         "spec.containers[0].ports[1]: overlapping port definition with "
         "spec.containers[0].ports[0]"},
        {"Pod",
         POD("'containers':[{'name':'c','ports':[{'containerPort':80,'protocol':'TCP'},"
             "{'containerPort':80,'protocol':'UDP'}]}]"),
         NULL, NULL},
        {"Pod", POD("'containers':[{'name':'c','resources':{'requests':{'memory':'100m'}}}]"), NULL,
         "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\""},
        {"Pod", "{'metadata':{'name':'a.b'},'spec':{}}", NULL,
         "metadata.name: this is used in the Pod's hostname"},
        {"Pod", "{'metadata':{'name':'a.b'},'spec':{}}", "{'metadata':{'name':'a.b'},'spec':{}}",
         NULL},
        {"Pod",
         POD("'volumes':[{'name':'v','configMap':{'name':'x','items':[{'path':'a'},{'path':"
             "'a/b'}]}}]"),
         NULL, "volume \"v\" (ConfigMap \"x\"): overlapping paths: \"a/b\" with \"a\""},
        {"Pod",
         POD("'volumes':[{'name':'v','configMap':{'name':'x','items':[{'path':'a'},{'path':"
             "'ab'}]}}]"),
         NULL, NULL},
        {"Deployment", DEPLOYMENT("1", "beta.kubernetes.io/os"), NULL,
         "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14"},
        {"Deployment", DEPLOYMENT("2", "beta.kubernetes.io/os"),
         DEPLOYMENT("1", "beta.kubernetes.io/os"), "spec.template.spec.nodeSelector["},
        {"Deployment", DEPLOYMENT("1", "beta.kubernetes.io/os"),
         DEPLOYMENT("1", "beta.kubernetes.io/os"), NULL},
        {"Service", "{'spec':{'type':'ClusterIP','externalIPs':['2001:DB8::1']}}", NULL,
         "spec.externalIPs[0]: IPv6 address \"2001:DB8::1\" should be in RFC 5952"},
        {"NetworkPolicy", "{'spec':{'ingress':[{'from':[{'ipBlock':{'cidr':'10.0.0.0/8'}}]}]}}",
         NULL, NULL},
        {"ResourceQuota", "{'spec':{'hard':{'cpu':'2','limits.cpu':'1'}}}", NULL,
         "ResourceQuota cpu (2) should be less than limits.cpu (1)"},
        {"Secret", "{'type':'kubernetes.io/tls','data':{'tls.crt':'eA==','tls.key':'eA=='}}", NULL,
         "tls: failed to find any PEM data in certificate input"},
        {"ConfigMap", "{'metadata':{'name':'a.b'}}", NULL, NULL},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++)
        check(&cases[i]);
}

/* A hostile object can't cause endless texts. */
TEST(there_is_a_most_of_warnings)
{
    struct pl_arena arena = {0};
    struct pl_buf text = PL_BUF_INIT;
    char kind[] = "Pod";
    struct pl_api_type type = {.kind = kind};
    pl_buf_add_z(&text, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','ports':[");
    for (int i = 0; i < 600; i++)
        pl_buf_add_f(&text, "%s{'containerPort':80}", i > 0 ? "," : "");
    pl_buf_add_z(&text, "]}]}}");
    const struct pl_tree *texts =
        pl_valid_warnings(&arena, &type, tree(&arena, pl_buf_z(&text)), NULL);
    CHECK_INT(texts->count, 100);
    pl_buf_deinit(&text);
    pl_arena_deinit(&arena);
}

TEST_MAIN()
