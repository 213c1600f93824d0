#include "event/handler.h"

#include "objects.h"
#include "store/workqueue.h"

/* The event's requests joined by spaces, in their order. */
static const char *requests_of(const struct pl_handler *handler, enum pl_event_type type,
                               const char *old_meta, const char *meta)
{
    static char text[512];
    struct pl_event event = {.type = type, .old = with_meta(old_meta), .object = with_meta(meta)};
    struct pl_requests requests = {0};
    CHECK(pl_handler_requests(handler, &event, &requests));
    text[0] = '\0';
    for (size_t i = 0; i < requests.count; i++) {
        if (i > 0)
            strcat(text, " ");
        strcat(text, pl_requests_key(&requests, i).ptr);
    }
    pl_requests_deinit(&requests);
    drop_event(&event);
    return text;
}

static const struct pl_handler itself = {.by = PL_MAP_SELF};
static const struct pl_handler owner = {
    .by = PL_MAP_OWNER, .owner = {"apps", "v1", "ReplicaSet"}, .every_owner = true};
static const struct pl_handler controller = {.by = PL_MAP_OWNER,
                                             .owner = {"apps", "v1", "ReplicaSet"}};

/* ---- requests ---- */

TEST(each_request_is_kept_once_however_many_there_are)
{
    struct pl_requests requests = {0};
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 100; i++) {
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            CHECK_INT(pl_requests_add(&requests, pl_slice_z(i % 2 ? "ns" : ""), pl_slice_z(name)),
                      0);
        }
    CHECK_INT(requests.count, 100);
    CHECK_STR(pl_requests_key(&requests, 0).ptr, "n0");
    CHECK_SLICE(pl_requests_key(&requests, 99), "ns/n99");
    CHECK_SLICE(pl_requests_at(&requests, 99).ns, "ns");
    CHECK_SLICE(pl_requests_at(&requests, 99).name, "n99");
    CHECK_SLICE(pl_requests_at(&requests, 0).ns, "");
    CHECK_SLICE(pl_requests_at(&requests, 0).name, "n0");
    pl_requests_clear(&requests);
    CHECK_INT(requests.count, 0);
    CHECK_INT(pl_requests_add(&requests, pl_slice_z("ns"), pl_slice_z("n1")), 0);
    CHECK_INT(requests.count, 1);
    CHECK_SLICE(pl_requests_key(&requests, 0), "ns/n1");
    pl_requests_deinit(&requests);
}

/* A request whose text begins another one is a different request. */
TEST(requests_of_like_names_are_told_apart)
{
    struct pl_requests requests = {0};
    pl_requests_add(&requests, pl_slice_z("ns"), pl_slice_z("ab"));
    pl_requests_add(&requests, pl_slice_z("ns"), pl_slice_z("a"));
    pl_requests_add(&requests, pl_slice_z("ns"), pl_slice_z("ab"));
    CHECK_INT(requests.count, 2);
    CHECK_SLICE(pl_requests_key(&requests, 1), "ns/a");
    pl_requests_deinit(&requests);
}

/* ---- self ---- */

/* rule 138 */
TEST(self_names_the_new_object_and_the_old_one_only_without_it)
{
    const char *a = "{\"namespace\":\"ns\",\"name\":\"a\"}", *b = "{\"name\":\"b\"}";
    CHECK_STR(requests_of(&itself, PL_EVENT_CREATE, NULL, a), "ns/a");
    CHECK_STR(requests_of(&itself, PL_EVENT_DELETE, NULL, b), "b");
    CHECK_STR(requests_of(&itself, PL_EVENT_UPDATE, a, b), "b");
    CHECK_STR(requests_of(&itself, PL_EVENT_UPDATE, a, NULL), "ns/a");
    CHECK_STR(requests_of(&itself, PL_EVENT_UPDATE, NULL, NULL), "");
    CHECK_STR(requests_of(&itself, PL_EVENT_CREATE, NULL, "{}"), "");
}

/* ---- owners ---- */

#define REF(version, kind, name, more)                                                             \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name "\"" more "}"
#define CHILD(refs) "{\"namespace\":\"ns\",\"name\":\"x\",\"ownerReferences\":[" refs "]}"
#define CONTROLS    ",\"controller\":true"

/* rule 135 */
TEST(owners_match_by_group_and_kind_in_any_version)
{
    CHECK_STR(requests_of(&owner, PL_EVENT_CREATE, NULL,
                          CHILD(REF("apps/v1", "ReplicaSet", "a", "") "," REF(
                              "apps/v1beta2", "ReplicaSet", "b",
                              "") "," REF("extensions/v1", "ReplicaSet", "c",
                                          "") "," REF("apps/v1", "Deployment", "d",
                                                      "") "," REF("v1", "ReplicaSet", "e", ""))),
              "ns/a ns/b");
}

/* Rule 135: the scan continues after a reference that cannot be read. */
TEST(a_reference_that_cannot_be_read_hides_no_other)
{
    CHECK_STR(requests_of(&owner, PL_EVENT_CREATE, NULL,
                          CHILD(REF("a/b/c", "ReplicaSet", "x",
                                    "") ",7,{}," REF("apps/v1", "ReplicaSet", "a", ""))),
              "ns/a");
}

/* rule 135 */
TEST(the_controller_alone_counts_unless_every_owner_is_asked_for)
{
    const char *child = CHILD(REF("apps/v1", "ReplicaSet", "a", "") "," REF(
        "apps/v1", "ReplicaSet", "b", CONTROLS) "," REF("apps/v1", "ReplicaSet", "c", CONTROLS));
    CHECK_STR(requests_of(&controller, PL_EVENT_CREATE, NULL, child), "ns/b");
    CHECK_STR(requests_of(&owner, PL_EVENT_CREATE, NULL, child), "ns/a ns/b ns/c");
    CHECK_STR(requests_of(&controller, PL_EVENT_CREATE, NULL,
                          CHILD(REF("apps/v1", "ReplicaSet", "a",
                                    "") "," REF("apps/v1", "Deployment", "d", CONTROLS))),
              "");
}

/* rule 136 */
TEST(an_update_names_the_owners_of_both_sides_once)
{
    CHECK_STR(requests_of(&owner, PL_EVENT_UPDATE,
                          CHILD(REF("apps/v1", "ReplicaSet", "old",
                                    "") "," REF("apps/v1", "ReplicaSet", "both", "")),
                          CHILD(REF("apps/v1", "ReplicaSet", "both",
                                    "") "," REF("apps/v1", "ReplicaSet", "new", ""))),
              "ns/old ns/both ns/new");
}

/* rule 137 */
TEST(a_cluster_scoped_owner_is_named_without_a_namespace)
{
    const struct pl_handler node = {.by = PL_MAP_OWNER,
                                    .owner = {"", "v1", "Node"},
                                    .every_owner = true,
                                    .owner_cluster_scoped = true};
    CHECK_STR(requests_of(&node, PL_EVENT_CREATE, NULL, CHILD(REF("v1", "Node", "n1", ""))), "n1");
}

TEST(a_scripts_map_is_left_to_the_script)
{
    const struct pl_handler map = {.by = PL_MAP_EXTERNAL};
    struct pl_event event = {.type = PL_EVENT_CREATE};
    struct pl_requests requests = {0};
    CHECK(!pl_handler_requests(&map, &event, &requests));
    CHECK_INT(requests.count, 0);
    pl_requests_deinit(&requests);
}

/* ---- priorities ---- */

/* rule 108 */
TEST(the_first_list_and_unchanged_objects_are_queued_low)
{
    static const struct {
        struct pl_event event;
        const char *old, *object;
        int want;
    } rows[] = {
        {{.type = PL_EVENT_CREATE, .initial = true}, NULL, "{}", PL_PRIORITY_LOW},
        {{.type = PL_EVENT_CREATE}, NULL, "{}", 0},
        {{.type = PL_EVENT_UPDATE},
         "{\"resourceVersion\":\"1\"}",
         "{\"resourceVersion\":\"1\"}",
         PL_PRIORITY_LOW},
        {{.type = PL_EVENT_UPDATE}, "{}", "{}", PL_PRIORITY_LOW},
        {{.type = PL_EVENT_UPDATE},
         "{\"resourceVersion\":\"1\"}",
         "{\"resourceVersion\":\"2\"}",
         0},
        {{.type = PL_EVENT_UPDATE}, NULL, "{}", 0},
        {{.type = PL_EVENT_DELETE, .initial = true}, NULL, "{}", 0},
        {{.type = PL_EVENT_GENERIC}, NULL, "{}", 0},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(rows); i++) {
        struct pl_event event = rows[i].event;
        event.old = with_meta(rows[i].old);
        event.object = with_meta(rows[i].object);
        CHECK_INT(pl_event_priority(&event), rows[i].want);
        drop_event(&event);
    }
}

TEST_MAIN()
