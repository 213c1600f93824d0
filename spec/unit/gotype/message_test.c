#include "gotype/message.h"

#include "gotype/packed.h"
#include "object/schema.h"
#include "support/json.h"

static struct pl_message find(const char *name)
{
    struct pl_message message = pl_message_find(pl_slice_z(name));
    if (pl_message_is_none(message))
        TEST_FAIL("no type %s", name);
    REQUIRE(!pl_message_is_none(message));
    return message;
}

static struct pl_message_field field(const char *type, const char *name)
{
    struct pl_message_field out = {.name = NULL};
    if (!pl_message_get(find(type), pl_slice_z(name), &out))
        TEST_FAIL("no field %s of %s", name, type);
    REQUIRE(out.name != NULL);
    return out;
}

TEST(a_field_has_its_facts)
{
    struct pl_message_field ports = field("io.k8s.api.core.v1.Container", "ports");
    CHECK_INT(ports.number, 6);
    CHECK_INT(ports.many, PL_MANY_LIST);
    CHECK_INT(ports.form, PL_FORM_MESSAGE);
    CHECK_STR(pl_message_name(ports.message), "io.k8s.api.core.v1.ContainerPort");
    CHECK_STR(ports.list_keys, "containerPort,protocol");
    CHECK_STR(ports.merge_key, "containerPort");
    CHECK(ports.flags & PL_PACKED_MAP);
    CHECK(ports.flags & PL_PACKED_MERGE);
    CHECK(ports.flags & PL_PACKED_OMITEMPTY);
    struct pl_message_field replicas = field("io.k8s.api.apps.v1.DeploymentSpec", "replicas");
    CHECK_INT(replicas.form, PL_FORM_INT32);
    CHECK(replicas.flags & PL_PACKED_POINTER);
    struct pl_message_field protocol = field("io.k8s.api.core.v1.ServicePort", "protocol");
    CHECK_STR(protocol.go, "v1.Protocol");
    CHECK_STR(protocol.values, "SCTP,TCP,UDP");
    CHECK_STR(protocol.json_default, "\"TCP\"");
    CHECK(field("io.k8s.api.core.v1.PodSpec", "containers").flags & PL_PACKED_REQUIRED);
    CHECK(field("io.k8s.api.core.v1.Volume", "name").flags & PL_PACKED_REQUIRED);
}

TEST(fields_of_inline_types_are_found_by_their_json_names)
{
    CHECK_INT(field("io.k8s.api.core.v1.Volume", "emptyDir").number, 2);
    struct pl_message_field inner;
    REQUIRE(pl_message_by_number(find("io.k8s.api.core.v1.Volume"), 2, &inner));
    CHECK(inner.flags & PL_PACKED_INLINE);
    CHECK_STR(pl_message_go(inner.message), "VolumeSource");
    CHECK(!pl_message_get(find("io.k8s.api.core.v1.Volume"), pl_slice_z("emptydir"), &inner));
    CHECK(!pl_message_by_number(find("io.k8s.api.core.v1.Volume"), 99, &inner));
    CHECK(!pl_message_by_number(find("io.k8s.api.core.v1.Volume"), 0, &inner));
}

TEST(what_is_not_there_is_not_found)
{
    CHECK(pl_message_is_none(pl_message_find(pl_slice_z("io.k8s.api.core.v1.Po"))));
    CHECK(pl_message_is_none(pl_message_find(pl_slice_z(""))));
    CHECK(pl_message_is_none(pl_message_find(pl_slice_z("zzz"))));
    CHECK(pl_message_is_none(
        pl_message_of_kind(pl_slice_z("apps"), pl_slice_z("v1"), pl_slice_z("Pod"))));
}

TEST(each_type_is_found_by_its_name_and_each_field_by_its_number)
{
    size_t fields = 0;
    for (size_t i = 0; i < pl_packed_kinds()->message_count; i++) {
        struct pl_message message = {&pl_packed_kinds()->messages[i]};
        CHECK(pl_message_find(pl_slice_z(pl_message_name(message))).at == message.at);
        for (size_t at = 0; at < pl_message_count(message); at++, fields++) {
            struct pl_message_field is, found;
            pl_message_at(message, at, &is);
            CHECK(is.form != PL_FORM_MESSAGE || !pl_message_is_none(is.message));
            if (is.number == 0 || !pl_message_by_number(message, is.number, &found) ||
                strcmp(is.name, found.name) != 0)
                TEST_FAIL("%s.%s: number %u", pl_message_name(message), is.name, is.number);
        }
    }
    CHECK(fields > 2000);
}

TEST(kinds_have_their_names)
{
    bool found = false;
    for (size_t i = 0; i < pl_message_kind_count(); i++) {
        struct pl_message_kind kind;
        pl_message_kind_at(i, &kind);
        CHECK(*kind.plural != '\0' && *kind.verbs != '\0');
        if (strcmp(kind.plural, "deployments") != 0)
            continue;
        found = true;
        CHECK_STR(kind.group, "apps");
        CHECK_STR(kind.short_names, "deploy");
        CHECK_STR(kind.categories, "all");
        CHECK(kind.namespaced);
        CHECK_STR(pl_message_go(kind.message), "Deployment");
        struct pl_message_sub sub;
        CHECK_INT(pl_message_sub_count(&kind), 2);
        pl_message_sub_at(&kind, 0, &sub);
        CHECK_STR(sub.name, "scale");
        CHECK_STR(sub.kind, "Scale");
        struct pl_message_column column;
        CHECK_INT(pl_message_column_count(&kind), 8);
        pl_message_column_at(&kind, 5, &column);
        CHECK_STR(column.name, "Containers");
        CHECK_INT(column.priority, 1);
    }
    CHECK(found);
}

/* ---- object/schema_builtin.c says the same ---- */

static void same_list(const char *where, const struct pl_message_field *is,
                      const struct pl_schema *schema)
{
    char keys[128] = "";
    const char *key;
    for (size_t i = 0; (key = pl_schema_list_key(schema, i)) != NULL; i++)
        snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", *keys ? "," : "", key);
    enum pl_list_type list = is->flags & PL_PACKED_MAP   ? PL_LIST_MAP
                             : is->flags & PL_PACKED_SET ? PL_LIST_SET
                                                         : PL_LIST_ATOMIC;
    const char *merge = pl_schema_merge_key(schema);
    bool set = (is->flags & PL_PACKED_MERGE) && *is->merge_key == '\0';
    if (list != pl_schema_list_type(schema) || strcmp(keys, is->list_keys) != 0 ||
        strcmp(merge != NULL ? merge : "", is->merge_key) != 0 ||
        set != pl_schema_merges_set(schema))
        TEST_FAIL("%s: the lists differ", where);
}

static void same(const char *where, struct pl_message type, const struct pl_schema *schema,
                 unsigned depth)
{
    for (size_t i = 0; i < pl_message_count(type) && depth < 14; i++) {
        struct pl_message_field is;
        char path[600];
        pl_message_at(type, i, &is);
        if (is.flags & PL_PACKED_INLINE) {
            same(where, is.message, schema, depth + 1);
            continue;
        }
        const struct pl_schema *of = pl_schema_field(schema, pl_slice_z(is.name));
        snprintf(path, sizeof(path), "%s.%s", where, is.name);
        if (is.many == PL_MANY_LIST)
            same_list(path, &is, of);
        bool atomic = is.many == PL_MANY_ONE && is.form == PL_FORM_MESSAGE &&
                      pl_message_is_atomic(is.message);
        atomic = atomic || (is.flags & PL_PACKED_ATOMIC) ||
                 (is.form == PL_FORM_RAW && strcmp(is.name, "data") == 0 && depth == 0);
        if (strcmp(is.name, "claimRef") ==
            0) /* marked as granular, which the table does not have */
            atomic = false;
        if (atomic != pl_schema_is_atomic(of))
            TEST_FAIL("%s: is%s one value", path, atomic ? "" : " not");
        bool below = is.form == PL_FORM_MESSAGE && is.many != PL_MANY_MAP && !atomic &&
                     !(is.many == PL_MANY_LIST && !(is.flags & (PL_PACKED_MAP | PL_PACKED_MERGE)));
        if (below)
            same(path, is.message, is.many == PL_MANY_LIST ? pl_schema_items(of) : of, depth + 1);
    }
}

TEST(lists_are_told_apart_and_merged_as_the_table_says)
{
    for (size_t i = 0; i < pl_message_kind_count(); i++) {
        struct pl_message_kind is;
        struct pl_kind kind;
        pl_message_kind_at(i, &is);
        snprintf(kind.group, sizeof(kind.group), "%s", is.group);
        snprintf(kind.version, sizeof(kind.version), "%s", is.version);
        snprintf(kind.kind, sizeof(kind.kind), "%s", is.kind);
        if (strcmp(is.kind, "CustomResourceDefinition") != 0 && pl_schema_builtin(&kind) != NULL)
            same(is.kind, is.message, pl_schema_builtin(&kind), 0);
    }
}

TEST_MAIN()
