#include "gotype/typed.h"

#include "base/base.h"
#include "support/json.h"

/* Messages and forms were checked against kube-apiserver 1.37. */

static struct pl_message type_of(const char *kind)
{
    bool apps = strcmp(kind, "Deployment") == 0;
    struct pl_message type =
        pl_message_of_kind(pl_slice_z(apps ? "apps" : ""), pl_slice_z("v1"), pl_slice_z(kind));
    REQUIRE(!pl_message_is_none(type));
    return type;
}

static void check_error(const char *kind, const char *object, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_typed t = {.arena = &arena};
    char *text = json_text(object);
    struct pl_tree *tree = pl_typed_parse(&arena, pl_slice_z(text));
    int code = pl_typed_read(&t, tree, type_of(kind));
    CHECK_INT(code, *want != '\0' ? -1 : 0);
    if (!pl_slice_eqz(t.error, want))
        TEST_FAIL("%s: got %.*s, want %s", text, PL_FMT(t.error), want);
    free(text);
    pl_arena_deinit(&arena);
}

TEST(a_wrong_type_is_told_as_go_tells_it)
{
    static const char *const go = "json: cannot unmarshal ";
    static const struct {
        const char *kind, *object, *want;
    } cases[] = {
        {"Deployment", "{'spec':{'replicas':'three'}}",
         "string into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"Deployment", "{'spec':{'replicas':1.5}}",
         "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"Deployment", "{'spec':{'replicas':3000000000}}",
         "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"Deployment", "{'spec':{'template':{'spec':{'containers':'x'}}}}",
         "string into Go struct field PodSpec.spec.template.spec.containers of type "
         "[]v1.Container"},
        {"Deployment", "{'spec':{'template':{'spec':{'containers':[{'name':5}]}}}}",
         "number into Go struct field Container.spec.template.spec.containers.name of type "
         "string"},
        {"Deployment", "{'spec':{'template':{'spec':{'containers':[{'imagePullPolicy':5}]}}}}",
         "number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of "
         "type v1.PullPolicy"},
        {"Deployment", "{'spec':[]}",
         "array into Go struct field Deployment.spec of type v1.DeploymentSpec"},
        {"Deployment", "{'metadata':{'labels':{'a':5}}}",
         "number into Go struct field ObjectMeta.metadata.labels of type string"},
        {"Deployment", "{'metadata':{'labels':5}}",
         "number into Go struct field ObjectMeta.metadata.labels of type map[string]string"},
        {"Deployment", "{'metadata':{'creationTimestamp':5}}",
         "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"},
        {"Deployment", "{'spec':{'strategy':{'rollingUpdate':{'maxSurge':true}}}}",
         "bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge "
         "of type int32"},
        {"Secret", "{'data':{'a':5}}", "number into Go struct field Secret.data of type []uint8"},
        {"ConfigMap", "{'metadata':5}",
         "number into Go struct field ConfigMap.metadata of type v1.ObjectMeta"},
        {"ConfigMap", "{'immutable':'x'}",
         "string into Go struct field ConfigMap.immutable of type bool"},
        {"ConfigMap", "{'metadata':{'name':5},'data':{'a':5}}",
         "number into Go struct field ObjectMeta.metadata.name of type string"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(cases); i++) {
        char want[256];
        snprintf(want, sizeof(want), "%s%s", go, cases[i].want);
        check_error(cases[i].kind, cases[i].object, want);
    }
}

TEST(texts_that_are_none)
{
    static const char quantities[] = "quantities must match the regular expression "
                                     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    check_error("Pod", "{'spec':{'containers':[{'resources':{'limits':{'cpu':'abc'}}}]}}",
                quantities);
    check_error("Pod", "{'spec':{'containers':[{'resources':{'limits':{'cpu':true}}}]}}",
                quantities);
    check_error("Secret", "{'data':{'a':'%%'}}", "illegal base64 data at input byte 0");
    check_error("Secret", "{'data':{'a':'YQ='}}", "illegal base64 data at input byte 3");
    check_error("Secret", "{'data':{'a':'YQ=='}}", "");
    check_error("Pod", "{'metadata':{'creationTimestamp':'x'}}",
                "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as "
                "\"2006\"");
    check_error("Pod", "{'metadata':{'creationTimestamp':'2026-01-02T03:04:05Z'}}", "");
}

static void check_strict(const char *object, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_typed t = {.arena = &arena};
    struct pl_buf got = PL_BUF_INIT;
    char *text = json_text(object), *wanted = json_text(want);
    struct pl_tree *tree = pl_typed_parse(&arena, pl_slice_z(text));
    CHECK_INT(pl_typed_read(&t, tree, type_of("Deployment")), 0);
    PL_TREE_FOR(item, t.strict)
    pl_buf_add_f(&got, "%s%.*s", got.len > 0 ? ", " : "", PL_FMT(item->value->text));
    CHECK_STR(pl_buf_z(&got), wanted);
    pl_buf_deinit(&got);
    free(text);
    free(wanted);
    pl_arena_deinit(&arena);
}

TEST(what_a_strict_decoder_refuses_is_told_in_order)
{
    check_strict("{'metadata':{'name':'d'}}", "");
    check_strict("{'spec':{'template':{'spec':{'containers':[{'foo':5,'name':'a'},{'name':'a','bar'"
                 ":6,'env':[{'x':5}],'env':[{'x':5}]}]}},'replica':5}}",
                 "unknown field 'spec.template.spec.containers[0].foo', unknown field "
                 "'spec.template.spec.containers[1].bar', unknown field "
                 "'spec.template.spec.containers[1].env[0].x', duplicate field "
                 "'spec.template.spec.containers[1].env', unknown field 'spec.replica'");
    check_strict("{'dat':{},'dat':4,'metadata':{'labels':{'x':'y','x':'z'}}}",
                 "unknown field 'dat', duplicate field 'metadata.labels.x'");
    check_strict("{'Spec':{}}", "unknown field 'Spec'");
    check_strict("{'apiVersion':'apps/v1','kind':'Deployment'}", "");
    check_strict("{'spec':{'template':{'apiVersion':'v1'}}}",
                 "unknown field 'spec.template.apiVersion'");
}

static void check_read(const char *kind, const char *object, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_typed t = {.arena = &arena};
    char *text = json_text(object);
    struct pl_tree *tree = pl_typed_parse(&arena, pl_slice_z(text));
    CHECK_INT(pl_typed_read(&t, tree, type_of(kind)), 0);
    pl_typed_fill_nulls(&arena, tree, type_of(kind));
    struct pl_doc *doc = pl_tree_doc(tree, NULL);
    struct pl_doc *wanted = json(want);
    if (!pl_node_equal(pl_doc_root(doc), pl_doc_root(wanted)))
        CHECK_JSON(pl_doc_root(doc), want);
    pl_doc_unref(wanted);
    pl_doc_unref(doc);
    free(text);
    pl_arena_deinit(&arena);
}

TEST(what_says_nothing_is_dropped_and_what_is_always_there_comes)
{
    check_read("ConfigMap", "{'metadata':{'name':'a','labels':{},'finalizers':[]},'data':null}",
               "{'metadata':{'name':'a'}}");
    check_read("ConfigMap", "{'data':{'k':'v','k':'w','n':null}}",
               "{'metadata':{},'data':{'k':'w','n':''}}");
    check_read("Pod", "{'spec':{'containers':[{'tty':false,'command':[]}],'hostname':''}}",
               "{'metadata':{},'spec':{'containers':[{'name':'','resources':{}}]},'status':{}}");
    check_read("Pod",
               "{'spec':{'volumes':[{'name':'v','emptyDir':{}}],'priority':0,'containers':"
               "[]}}",
               "{'metadata':{},'spec':{'volumes':[{'name':'v','emptyDir':{}}],'priority':0,"
               "'containers':null},'status':{}}");
    check_read("Deployment", "{'spec':{'selector':{}}}",
               "{'metadata':{},'spec':{'selector':{},'template':{'metadata':{},'spec':{"
               "'containers':null}},'strategy':{}},'status':{}}");
}

TEST(values_get_the_form_in_which_go_writes_them)
{
    check_read("Pod",
               "{'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':0.5,"
               "'memory':'1024Mi'}}}]}}",
               "{'metadata':{},'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':"
               "'500m','memory':'1Gi'}}}]},'status':{}}");
    check_read("ConfigMap", "{'metadata':{'creationTimestamp':'2026-01-02T03:04:05.5+01:00'}}",
               "{'metadata':{'creationTimestamp':'2026-01-02T02:04:05Z'}}");
}

TEST(escapes_in_names_and_strings_are_read)
{
    check_read("ConfigMap", "{'d\\u0061ta':{'a\\n':'\\\\\\u00e9'}}",
               "{'metadata':{},'data':{'a\\n':'\\\\\\u00e9'}}");
}

static void check_apply(const char *object, const char *want)
{
    struct pl_arena arena = {0};
    struct pl_doc *doc = json(object);
    struct pl_tree *tree = pl_tree_from_node(&arena, pl_doc_root(doc));
    const char *got = pl_typed_apply_error(&arena, tree, type_of("Deployment"));
    CHECK_STR(got != NULL ? got : "", want);
    pl_doc_unref(doc);
    pl_arena_deinit(&arena);
}

TEST(apply_has_words_of_its_own)
{
    check_apply("{'kind':'Deployment','spec':{'replicas':1}}", "");
    check_apply("{'spec':{'replicas':'x'}}",
                ".spec.replicas: expected numeric (int or float), got string");
    check_apply("{'foo':'x','spec':{'foo':'x'}}", ".foo: field not declared in schema");
    check_apply("{'spec':{'template':{'spec':{'containers':'x'}}}}",
                ".spec.template.spec.containers: expected list, got &{x}");
    check_apply("{'spec':'x'}", ".spec: expected map, got &{x}");
    check_apply("{'metadata':{'labels':{'a':5}}}",
                ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:5}");
    check_apply("{'spec':{'template':{'spec':{'containers':[{'name':'x','tty':'zz'}]}}}}",
                ".spec.template.spec.containers[name=\"x\"].tty: expected boolean, got &{zz}");
}

TEST_MAIN()
