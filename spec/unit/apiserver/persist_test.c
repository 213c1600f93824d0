#include "apiserver/persist.h"

#include "support/api_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CRDS   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THINGS "/apis/example.com/v1/namespaces/default/things"

struct folder {
    char path[64], database[96], log[104];
};

static void make(struct folder *folder)
{
    char base[] = "/tmp/perilune-keep-XXXXXX";
    CHECK(mkdtemp(base) != NULL);
    snprintf(folder->path, sizeof(folder->path), "%s/data", base);
    snprintf(folder->database, sizeof(folder->database), "%s/perilune.db", folder->path);
    snprintf(folder->log, sizeof(folder->log), "%s-wal", folder->database);
}

static void remove_all(struct folder *folder)
{
    unlink(folder->database);
    unlink(folder->log);
    rmdir(folder->path);
    folder->path[strlen(folder->path) - strlen("/data")] = '\0';
    rmdir(folder->path);
}

static void open_on(struct api *t, const struct folder *folder)
{
    struct pl_err err = {0};
    api_open_with(t, (struct pl_api_options){.empty = true, .first_version = 100});
    int rc = pl_api_persist_in(t->api, folder->path, &err);
    CHECK_STR(err.message, "");
    CHECK_INT(rc, 0);
}

/* A server that ends, or that was killed: nothing is written at the end, so both are the same. */
static void again(struct api *t, const struct folder *folder)
{
    api_close(t);
    open_on(t, folder);
}

TEST(objects_and_versions_come_back)
{
    struct folder folder;
    struct api t;
    make(&folder);
    open_on(&t, &folder);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'},'data':{'k':'v'}}"), 201);
    CHECK_AT(&t, "metadata.resourceVersion", "'105'");
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}"), 201);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/b", NULL), 200);
    again(&t, &folder);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 200);
    CHECK_AT(&t, "data", "{'k':'v'}");
    CHECK_AT(&t, "metadata.resourceVersion", "'105'");
    CHECK_AT(&t, "metadata.managedFields[0].manager", "'test'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "/b"), 404);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'c'}}"), 201);
    CHECK_AT(&t, "metadata.resourceVersion", "'108'");
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=106&resourceVersionMatch=Exact"), 200);
    CHECK_AT(&t, "items[1].metadata.name", "'b'");
    api_close(&t);
    remove_all(&folder);
}

TEST(custom_kinds_come_back_before_their_objects)
{
    struct folder folder;
    struct api t;
    make(&folder);
    open_on(&t, &folder);
    CHECK_INT(api_post(&t, CRDS,
                       "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
                       "'metadata':{'name':'things.example.com'},'spec':{'group':'example.com',"
                       "'scope':'Namespaced','names':{'kind':'Thing','plural':'things'},'versions':"
                       "[{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':{"
                       "'type':'object','x-kubernetes-preserve-unknown-fields':true}}}]}}"),
              201);
    CHECK_INT(api_post(&t, THINGS,
                       "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'x'}}"),
              201);
    again(&t, &folder);
    CHECK_INT(api_get(&t, THINGS "/x"), 200);
    CHECK_AT(&t, "kind", "'Thing'");
    api_close(&t);
    remove_all(&folder);
}

TEST(what_was_being_collected_is_collected_after_a_restart)
{
    struct folder folder;
    struct api t;
    struct pl_scratch scratch;
    char body[256];
    make(&folder);
    open_on(&t, &folder);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'owner'}}"), 201);
    struct pl_slice uid = pl_node_str(api_node(&t, "metadata.uid"), &scratch);
    snprintf(body, sizeof(body),
             "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
             "'name':'owner','uid':'%.*s'}]}}",
             PL_FMT(uid));
    CHECK_INT(api_post(&t, DEFAULT_CMS, body), 201);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/owner", NULL), 200);
    again(&t, &folder); /* the collector had no turn yet */
    CHECK_INT(api_get(&t, DEFAULT_CMS "/child"), 200);
    pl_timers_run(&t.timers);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/child"), 404);
    api_close(&t);
    remove_all(&folder);
}

TEST(a_compacted_history_stays_so)
{
    struct folder folder;
    struct api t;
    make(&folder);
    open_on(&t, &folder);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 201);
    CHECK_INT(api_delete(&t, DEFAULT_CMS "/a", NULL), 200);
    CHECK_INT(api_post(&t, "/debug/compact", ""), 200);
    CHECK_AT(&t, "resourceVersion", "'106'");
    again(&t, &folder);
    CHECK_INT(api_get(&t, DEFAULT_CMS "?resourceVersion=105&resourceVersionMatch=Exact"), 410);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 201);
    CHECK_AT(&t, "metadata.resourceVersion", "'107'");
    api_close(&t);
    remove_all(&folder);
}

TEST(two_servers_never_share_a_folder)
{
    struct folder folder;
    struct api t, other;
    struct pl_err err = {0};
    make(&folder);
    open_on(&t, &folder);
    api_open_with(&other, (struct pl_api_options){.empty = true});
    CHECK(pl_api_persist_in(other.api, folder.path, &err) != 0);
    CHECK(strstr(err.message, "another server has it open") != NULL);
    api_close(&other);
    api_close(&t);
    remove_all(&folder);
}

TEST(what_is_no_data_folder_is_told)
{
    struct folder folder;
    struct api t;
    struct pl_err err = {0};
    make(&folder);
    CHECK_INT(mkdir(folder.path, 0700), 0);
    FILE *file = fopen(folder.database, "w");
    fputs("this is no database, but a text that is long enough to be taken for one", file);
    fclose(file);
    api_open_with(&t, (struct pl_api_options){.empty = true});
    CHECK(pl_api_persist_in(t.api, folder.path, &err) != 0);
    CHECK(strstr(err.message, "not a database") != NULL);
    CHECK(strstr(err.message, folder.database) != NULL);
    api_close(&t);
    remove_all(&folder);
}

/* As when the disk is full: no file of this process may grow. */
TEST(what_cannot_be_kept_is_not_acknowledged)
{
    struct folder folder;
    struct api t;
    struct rlimit before, none = {0};
    make(&folder);
    open_on(&t, &folder);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &none);
    int status = api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}");
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_INT(status, 500);
    CHECK(strstr(t.text, "the data folder can't be written") != NULL);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'b'}}"), 500);
    CHECK_INT(api_get(&t, "/api/v1/namespaces/default"), 200);
    again(&t, &folder);
    CHECK_INT(api_get(&t, DEFAULT_CMS "/a"), 404);
    CHECK_INT(api_post(&t, DEFAULT_CMS, "{'metadata':{'name':'a'}}"), 201);
    api_close(&t);
    remove_all(&folder);
}

TEST_MAIN()
