/* Writes of objects with many fields take linear time: with quadratic time these tests would run
 * for minutes. scripts/bench/fields has the figures. */
#include "apiserver/api.h"

#include "support/api_fixture.h"

enum { KEYS = 60000, ELEMENTS = 10000 };

static char *config_map(const char *name, const char *value)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_buf_add_f(&body, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s'},'data':{",
                 name);
    for (int i = 0; i < KEYS; i++)
        pl_buf_add_f(&body, "%s'%x':'%s'", i > 0 ? "," : "", i, value);
    pl_buf_add_z(&body, "}}");
    return pl_buf_take(&body);
}

static int write_map(struct api *t, const char *method, const char *target, const char *type,
                     const char *value)
{
    char *body = config_map(strcmp(method, "POST") == 0 ? "a" : "b", value);
    int status = api_send(t, method, target, type, body);
    pl_free(body);
    return status;
}

static void check_keys(struct api *t, const char *value)
{
    char want[16];
    snprintf(want, sizeof(want), "'%s'", value);
    CHECK_INT(pl_node_len(api_node(t, "data")), KEYS);
    CHECK_AT(t, "data.ea5f", want);
    CHECK_INT(pl_node_len(api_node(t, "metadata.managedFields[0].fieldsV1[\"f:data\"]")), KEYS + 1);
}

TEST(a_config_map_may_have_60000_keys)
{
    struct api t;
    api_open(&t);
    CHECK_INT(write_map(&t, "POST", DEFAULT_CMS, "application/json", ""), 201);
    check_keys(&t, "");
    CHECK_INT(write_map(&t, "PATCH", DEFAULT_CMS "/b?fieldManager=m", APPLY, ""), 201);
    CHECK_INT(write_map(&t, "PATCH", DEFAULT_CMS "/b?fieldManager=m", APPLY, "1"), 200);
    CHECK_INT(pl_node_len(api_node(&t, "data")), KEYS);
    CHECK_INT(write_map(&t, "PATCH", DEFAULT_CMS "/b?fieldManager=o", APPLY, "2"), 409);
    CHECK_INT(write_map(&t, "PATCH", DEFAULT_CMS "/b", MERGE, "3"), 200);
    CHECK_AT(&t, "data.ea5f", "'3'");
    CHECK_INT(write_map(&t, "PUT", DEFAULT_CMS "/b", "application/json", "4"), 200);
    CHECK_AT(&t, "data.ea5f", "'4'");
    api_close(&t);
}

static char *widget(const char *name, int value)
{
    struct pl_buf body = PL_BUF_INIT;
    pl_buf_add_f(&body, "{" WIDGET ",'metadata':{'name':'%s'},'spec':{'size':1,'list':[", name);
    for (int i = 0; i < ELEMENTS; i++)
        pl_buf_add_f(&body, "%s{'name':'%x','v':%d}", i > 0 ? "," : "", i, value);
    pl_buf_add_z(&body, "]");
    for (int i = 0; i < ELEMENTS; i++)
        pl_buf_add_f(&body, ",'u%x':1", i);
    pl_buf_add_z(&body, "}}");
    return pl_buf_take(&body);
}

TEST(a_list_told_apart_by_keys_may_be_long)
{
    struct api t;
    char *bodies[] = {widget("a", 0), widget("a", 1)};
    api_open(&t);
    api_make_widgets(&t);
    CHECK_INT(api_post(&t, WIDGETS "?fieldValidation=Warn", bodies[0]), 201);
    CHECK(t.warning != NULL);
    CHECK_INT(pl_node_len(api_node(&t, "spec")), 3); /* with the default colour */
    CHECK_INT(api_merge(&t, WIDGETS "/a", bodies[1]), 200);
    CHECK_INT(pl_node_len(api_node(&t, "spec.list")), ELEMENTS);
    CHECK_AT(&t, "spec.list[9999].v", "1");
    CHECK_INT(api_delete(&t, WIDGETS "/a", NULL), 200);
    api_close(&t);
    for (size_t i = 0; i < PL_ARRAY_LEN(bodies); i++)
        pl_free(bodies[i]);
}

TEST_MAIN()
