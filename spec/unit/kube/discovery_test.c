#include "kube/discovery.h"

#include "harness.h"
#include "kube/status.h"

static const struct pl_kind deployment = {"apps", "v1", "Deployment"};
static const struct pl_kind pod = {"", "v1", "Pod"};
static const struct pl_kind website = {"example.com", "v1", "Website"};

struct answer {
    int count;
    const struct pl_resource *resource;
    struct pl_err err;
};

static void on_resource(void *arg, const struct pl_resource *resource, const struct pl_err *err)
{
    struct answer *answer = arg;
    answer->count++;
    answer->resource = resource;
    pl_err_clear(&answer->err);
    if (err != NULL)
        answer->err = *err;
}

#define APPS                                                                                       \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/v1\",\"resources\":["                   \
    "{\"name\":\"deployments/status\",\"kind\":\"Deployment\",\"namespaced\":true},"               \
    "{\"name\":\"deployments/scale\",\"kind\":\"Scale\",\"group\":\"autoscaling\"},"               \
    "{\"name\":\"deployments\",\"kind\":\"Deployment\",\"namespaced\":true,"                       \
    "\"verbs\":[\"get\",\"list\",\"watch\"]},"                                                     \
    "{\"name\":\"controllerrevisions\",\"kind\":\"ControllerRevision\",\"namespaced\":true,"       \
    "\"verbs\":[\"get\"]}]}"
#define CORE                                                                                       \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["                        \
    "{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true,\"verbs\":[\"watch\"]},"              \
    "{\"name\":\"nodes\",\"kind\":\"Node\",\"namespaced\":false,\"verbs\":[\"watch\"]}]}"
#define SITES(version, kind)                                                                       \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"example.com/" version "\",\"resources\":["   \
    "{\"name\":\"websites\",\"kind\":\"" kind "\",\"namespaced\":true,\"verbs\":[\"watch\"]}]}"
#define GROUPS                                                                                     \
    "{\"kind\":\"APIGroupList\",\"groups\":["                                                      \
    "{\"name\":\"apps\",\"preferredVersion\":{\"groupVersion\":\"apps/v1\"}},"                     \
    "{\"name\":\"example.com\",\"preferredVersion\":{\"groupVersion\":\"example.com/v2\"}},"       \
    "{\"name\":\"metrics.k8s.io\",\"preferredVersion\":{\"groupVersion\":\"metrics.k8s.io/"        \
    "v1\"}}]}"
#define NOT_FOUND "404 page not found\n"

TEST(a_kind_is_found_in_its_group_with_its_subresources_and_remembered)
{
    struct bench b;
    struct answer first = {0}, again = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    CHECK(pl_discovery_known(d, &deployment) == NULL);
    pl_discovery_find(d, &deployment, on_resource, &first);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/apps/v1"), 200, APPS);
    CHECK_INT(first.count, 0);
    bench_run(&b, 0);
    REQUIRE(first.count == 1 && first.resource != NULL);
    CHECK_STR(first.resource->plural, "deployments");
    CHECK(first.resource->namespaced && first.resource->has_status && first.resource->can_watch);
    CHECK(pl_kind_eq(&first.resource->kind, &deployment));
    CHECK(pl_discovery_known(d, &deployment) == first.resource);
    const struct pl_kind revision = {"apps", "v1", "ControllerRevision"};
    const struct pl_resource *other = pl_discovery_known(d, &revision);
    REQUIRE(other != NULL);
    CHECK(!other->has_status && !other->can_watch);
    CHECK(pl_discovery_known(d, &(struct pl_kind){"apps", "v1", "Scale"}) == NULL);
    pl_discovery_find(d, &deployment, on_resource, &again);
    CHECK_INT(again.count, 0);
    bench_run(&b, 0);
    CHECK(again.resource == first.resource);
    CHECK_INT(b.net.start_count, 1);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(the_core_group_has_a_path_of_its_own)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &pod, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/api/v1"), 200, CORE);
    bench_run(&b, 0);
    REQUIRE(got.resource != NULL);
    CHECK_STR(got.resource->plural, "pods");
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(questions_about_one_group_share_a_request)
{
    struct bench b;
    struct answer got[3] = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    for (int i = 0; i < 3; i++)
        pl_discovery_find(d, &deployment, on_resource, &got[i]);
    pl_discovery_forget(d, &got[1]);
    CHECK_INT(b.net.start_count, 1);
    fake_reply(fake_next(&b.net), 200, APPS);
    bench_run(&b, 0);
    CHECK_INT(got[0].count, 1);
    CHECK_INT(got[1].count, 0);
    CHECK(got[2].resource != NULL && got[2].resource == got[0].resource);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

/* Plays the search: the list of groups, then each group that was not asked before. */
static void play_search(struct bench *b)
{
    fake_reply(FAKE_EXPECT(&b->net, "GET", "/prefix/apis"), 200, GROUPS);
    fake_reply(FAKE_EXPECT(&b->net, "GET", "/prefix/api/v1"), 200, CORE);
    fake_reply(FAKE_EXPECT(&b->net, "GET", "/prefix/apis/apps/v1"), 200, APPS);
    fake_reply(FAKE_EXPECT(&b->net, "GET", "/prefix/apis/example.com/v2"), 200,
               SITES("v2", "Website"));
    /* One aggregated server that is down does not spoil the rest. */
    fake_reply(FAKE_EXPECT(&b->net, "GET", "/prefix/apis/metrics.k8s.io/v1"), 503, "down");
    bench_run(b, 0);
}

TEST(a_kind_in_another_version_or_group_is_named)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 404, NOT_FOUND);
    CHECK_INT(got.count, 0);
    play_search(&b);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ENOTFOUND);
    CHECK_STR(got.err.message, "the server does not serve example.com/v1/Website; it serves that "
                               "kind as example.com/v2/Website");
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(a_misspelt_kind_and_a_missing_group_are_explained)
{
    struct bench b;
    struct answer got[3] = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    const struct pl_kind misspelt = {"apps", "v1beta9", "Deploymnet"};
    pl_discovery_find(d, &misspelt, on_resource, &got[0]);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/apps/v1beta9"), 404, NOT_FOUND);
    play_search(&b);
    CHECK_STR(got[0].err.message, "the server does not serve apps/v1beta9/Deploymnet; did you mean "
                                  "apps/v1/Deployment?");
    /* The search is fresh: no second one. */
    const struct pl_kind missing = {"acme.org", "v1", "Rocket"};
    pl_discovery_find(d, &missing, on_resource, &got[1]);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/acme.org/v1"), 404, NOT_FOUND);
    bench_run(&b, 0);
    CHECK_STR(got[1].err.message, "the server does not serve acme.org/v1/Rocket; there is no API "
                                  "group acme.org: is its CustomResourceDefinition installed?");
    const struct pl_kind in_group = {"apps", "v1", "Deploymentt"};
    bench_run(&b, 3 * PL_SECOND);
    pl_discovery_find(d, &in_group, on_resource, &got[2]);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/apps/v1"), 200, APPS);
    bench_run(&b, 0);
    CHECK_STR(got[2].err.message, "the server does not serve apps/v1/Deploymentt; did you mean "
                                  "apps/v1/Deployment?");
    CHECK(fake_next(&b.net) == NULL);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

#define GROUP(name, version)                                                                       \
    "{\"name\":\"" name "\",\"versions\":[{\"groupVersion\":\"" name "/" version "\"}],"           \
    "\"preferredVersion\":{\"groupVersion\":\"" name "/" version "\"}}"

TEST(what_was_installed_since_is_suggested_and_what_is_gone_is_not)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 404, NOT_FOUND);
    play_search(&b);
    CHECK(strstr(got.err.message, "example.com/v2/Website") != NULL);
    bench_run(&b, 6 * PL_SECOND);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 404, NOT_FOUND);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis"), 200,
               "{\"groups\":[" GROUP("apps", "v1") "," GROUP("acme.org", "v1") "]}");
    /* The others were asked a moment ago. */
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/acme.org/v1"), 200, SITES("v1", "Website"));
    bench_run(&b, 0);
    CHECK_INT(got.count, 2);
    CHECK_STR(got.err.message, "the server does not serve example.com/v1/Website; it serves that "
                               "kind as acme.org/v1/Website");
    CHECK(fake_next(&b.net) == NULL);
    /* A minute later they may serve something else. */
    bench_run(&b, 61 * PL_SECOND);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 404, NOT_FOUND);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis"), 200,
               "{\"groups\":[" GROUP("acme.org", "v1") "]}");
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/api/v1"), 200, CORE);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/acme.org/v1"), 200, SITES("v1", "Rocket"));
    bench_run(&b, 0);
    CHECK(strstr(got.err.message, "acme.org") == NULL);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(a_kind_that_is_installed_while_suggestions_are_looked_for_is_found)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 404, NOT_FOUND);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis"), 200,
               "{\"groups\":[" GROUP("example.com", "v1") "," GROUP("acme.org", "v1") "]}");
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/api/v1"), 200, CORE);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 200,
               SITES("v1", "Website"));
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/acme.org/v1"), 200, SITES("v1", "Website"));
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    REQUIRE(got.resource != NULL);
    CHECK(pl_kind_eq(&got.resource->kind, &website));
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(a_kind_that_stays_unknown_is_asked_for_every_two_seconds_until_it_is_there)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(fake_next(&b.net), 404, NOT_FOUND);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis"), 500, "no list of groups");
    bench_run(&b, 0);
    CHECK_INT(got.count, 1);
    CHECK_INT(got.err.code, PL_ENOTFOUND);
    int before = b.net.start_count;
    bench_run(&b, 1900 * PL_MS);
    pl_discovery_find(d, &website, on_resource, &got);
    bench_run(&b, 0);
    CHECK_INT(got.count, 2);
    CHECK_INT(b.net.start_count, before);
    bench_run(&b, 100 * PL_MS);
    pl_discovery_find(d, &website, on_resource, &got);
    CHECK_INT(b.net.start_count, before + 1);
    fake_reply(fake_next(&b.net), 200, SITES("v1", "Website"));
    bench_run(&b, 0);
    CHECK_INT(got.count, 3);
    CHECK(got.resource != NULL && !got.resource->has_status);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(a_group_that_fails_concerns_only_its_kinds_and_is_asked_again)
{
    struct bench b;
    struct answer sick = {0}, fine = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &sick);
    pl_discovery_find(d, &pod, on_resource, &fine);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 503, "not available");
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/api/v1"), 200, CORE);
    bench_run(&b, 0);
    CHECK(fine.resource != NULL);
    CHECK_INT(sick.err.code, PL_EAPI);
    CHECK_INT(sick.err.status, 503);
    CHECK(strstr(sick.err.message, "discovery of example.com/v1") != NULL);
    pl_discovery_find(d, &website, on_resource, &sick);
    fake_reply(FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 200,
               SITES("v1", "Website"));
    bench_run(&b, 0);
    CHECK(sick.resource != NULL);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(a_doubted_kind_is_asked_for_again_and_old_pointers_stay_valid)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(fake_next(&b.net), 200, SITES("v1", "Website"));
    bench_run(&b, 3 * PL_SECOND);
    const struct pl_resource *old = got.resource;
    pl_discovery_doubt(d, &website);
    CHECK(pl_discovery_known(d, &website) == old);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(
        FAKE_EXPECT(&b.net, "GET", "/prefix/apis/example.com/v1"), 200,
        "{\"resources\":[{\"name\":\"websites\",\"kind\":\"Website\",\"namespaced\":false}]}");
    bench_run(&b, 3 * PL_SECOND);
    REQUIRE(got.resource != NULL);
    CHECK(!got.resource->namespaced && old->namespaced);
    /* The same as before is the same pointer again. */
    pl_discovery_doubt(d, &website);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(fake_next(&b.net), 200, SITES("v1", "Website"));
    bench_run(&b, 0);
    CHECK(got.resource == old);
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST(destroyed_with_questions_and_requests_open)
{
    struct bench b;
    struct answer got = {0}, known = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &deployment, on_resource, &known);
    fake_reply(fake_next(&b.net), 200, APPS);
    pl_discovery_find(d, &pod, on_resource, &got);
    pl_discovery_destroy(d);
    bench_run(&b, 0);
    CHECK_INT(got.count + known.count, 0);
    bench_deinit(&b);
}

TEST(nonsense_in_a_list_of_resources_is_passed_over)
{
    struct bench b;
    struct answer got = {0};
    bench_init(&b);
    struct pl_discovery *d = pl_discovery_create(b.client);
    pl_discovery_find(d, &website, on_resource, &got);
    fake_reply(
        fake_next(&b.net), 200,
        "{\"resources\":[1,{},{\"name\":5,\"kind\":\"Website\"},{\"name\":\"a\",\"kind\":\"\"},"
        "{\"name\":\"websites\",\"kind\":\"Website\"},"
        "{\"name\":\"others\",\"kind\":\"Website\"}]}");
    bench_run(&b, 0);
    REQUIRE(got.resource != NULL);
    CHECK_STR(got.resource->plural, "websites");
    pl_discovery_destroy(d);
    bench_deinit(&b);
}

TEST_MAIN()
