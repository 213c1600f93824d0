#include "gotype/go_struct.h"

#include "support/test.h"

TEST(empty_members_are_shown_under_their_names_in_go)
{
    struct pl_arena arena = {0};
    struct pl_tree *spec = pl_tree_literal(
        &arena,
        "{\"minAvailable\":\"50%\",\"selector\":{\"matchLabels\":{\"b\":\"<\",\"a\":\"c\"}}}");
    CHECK_STR(
        pl_go_struct(&arena, "@PodDisruptionBudgetSpec", spec).ptr,
        "{\"MinAvailable\":\"50%\",\"Selector\":{\"matchLabels\":{\"a\":\"c\",\"b\":\"\\u003c\"}},"
        "\"MaxUnavailable\":null,\"UnhealthyPodEvictionPolicy\":null}");
    CHECK_STR(pl_go_struct(&arena, "*@PodFailurePolicy", NULL).ptr, "null");
    pl_arena_deinit(&arena);
}

TEST(a_difference_shows_the_lines_that_changed)
{
    struct pl_arena arena = {0};
    struct pl_tree *old = pl_tree_literal(&arena, "{\"hostPath\":{\"path\":\"/x\",\"type\":\"\"}}");
    struct pl_tree *now = pl_tree_literal(&arena, "{\"hostPath\":{\"path\":\"/y\",\"type\":\"\"}}");
    CHECK_STR(
        pl_go_struct_diff(&arena, "@PersistentVolumeSource", old, now).ptr,
        "@@ -2,7 +2,7 @@\n  \"GCEPersistentDisk\": null,\n  \"AWSElasticBlockStore\": null,\n"
        "  \"HostPath\": {\n-  \"Path\": \"/x\",\n+  \"Path\": \"/y\",\n   \"Type\": \"\"\n  },\n"
        "  \"Glusterfs\": null,\n");
    pl_arena_deinit(&arena);
}

TEST_MAIN()
