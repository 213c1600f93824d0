/* Reads the data folder into the storage at start: objects, history and the version are restored.
 *
 * CRDs are read first, so that objects find their kinds. Objects without a kind are left out. Then
 * the garbage collector processes all objects that are being deleted or have an owner, because its
 * queue is not stored. An empty folder gets the initial objects. */
#include "apiserver/api.h"
#include "apiserver/api_impl.h"
#include "apiserver/gc.h"
#include "apiserver/verbs.h"
#include "apistore/disk.h"
#include "schema/crd.h"
#include "value/scan.h"

#include <inttypes.h>
#include <stdio.h>

#define CRDS      "customresourcedefinitions"
#define TOKEN_KEY "token-key"

struct reading {
    struct pl_api *api;
    uint64_t first_event; /* 0: none yet */
};

static struct pl_doc *doc_of(struct pl_api *api, const struct pl_api_disk_row *row,
                             struct pl_slice text, struct pl_err *err)
{
    struct pl_scan_options options = {
        .pool = api->pool, .keep_managed_fields = true, .max_bytes = SIZE_MAX};
    struct pl_err inner = {0};
    struct pl_doc *doc = pl_scan_text(text, &options, &inner);
    if (doc == NULL)
        pl_err_set(err, PL_EIO, "the data folder is damaged: %.*s %.*s at version %" PRIu64 ": %s",
                   PL_FMT(row->plural), PL_FMT(row->key), row->rv, inner.message);
    return doc;
}

/* Addresses and ports of existing Services must not be assigned again. */
static void note_service(struct pl_api *api, struct pl_node service)
{
    struct pl_scratch scratch;
    unsigned high, low;
    struct pl_slice ip = pl_node_str(pl_node_dig(service, "spec", "clusterIP"), &scratch);
    char text[32];
    snprintf(text, sizeof(text), "%.*s", PL_FMT(ip));
    if (sscanf(text, "10.0.%u.%u", &high, &low) == 2 && high < 256 && low < 256 &&
        high * 256 + low >= api->next_ip)
        api->next_ip = high * 256 + low + 1;
    struct pl_iter it = pl_iter(pl_node_dig(service, "spec", "ports"));
    while (pl_iter_next(&it)) {
        int64_t port = 0;
        if (pl_node_int(pl_node_getz(it.value, "nodePort"), &port) && port < 65536 &&
            port >= (int64_t)api->next_port)
            api->next_port = (unsigned)port + 1;
    }
}

/* A definition that was changed may be newer than stored objects. */
static int restore_definition(struct pl_api *api, struct pl_doc *crd, struct pl_err *err)
{
    struct pl_scratch group, plural;
    struct pl_node spec = pl_node_getz(pl_doc_root(crd), "spec");
    int64_t generation = 0;
    if (pl_api_crd_waits(pl_doc_root(crd)))
        return 0;
    if (pl_api_registry_apply(api->registry, crd, err) != 0)
        return err->code;
    pl_node_int(pl_node_dig(pl_doc_root(crd), "metadata", "generation"), &generation);
    pl_api_registry_find_group(api->registry, pl_node_str(pl_node_getz(spec, "group"), &group),
                               pl_node_str(pl_node_dig(spec, "names", "plural"), &plural))
        ->is_changed = generation > 1;
    return 0;
}

static int on_object(void *arg, const struct pl_api_disk_row *row, struct pl_err *err)
{
    struct reading *reading = arg;
    struct pl_api *api = reading->api;
    struct pl_api_type *type = pl_api_registry_find_group(api->registry, row->group, row->plural);
    if (type == NULL)
        return 0;
    struct pl_doc *doc = doc_of(api, row, row->text, err);
    if (doc == NULL)
        return PL_EIO;
    pl_api_storage_restore(api->storage, type, row->key, doc, row->rv);
    bool is_crd = !type->is_custom && strcmp(type->plural, CRDS) == 0;
    if (!type->is_custom && strcmp(type->kind, "Service") == 0)
        note_service(api, pl_doc_root(doc));
    return is_crd ? restore_definition(api, doc, err) : 0;
}

static int on_restore_event(void *arg, const struct pl_api_disk_row *row, struct pl_err *err)
{
    struct reading *reading = arg;
    struct pl_api *api = reading->api;
    if (reading->first_event == 0)
        reading->first_event = row->rv;
    struct pl_api_event event = {
        .rv = row->rv,
        .change = (enum pl_api_change)row->change,
        .type = pl_api_registry_find_group(api->registry, row->group, row->plural),
        .bytes = row->text.len,
    };
    event.doc = doc_of(api, row, row->text, err);
    if (row->old.ptr != NULL && event.doc != NULL)
        event.old = doc_of(api, row, row->old, err);
    if (event.doc == NULL || (row->old.ptr != NULL && event.old == NULL)) {
        pl_doc_unref(event.doc);
        return PL_EIO;
    }
    pl_api_storage_restore_event(api->storage, &event);
    return 0;
}

static void wake_collector(struct pl_api *api)
{
    struct pl_api_gc *gc = pl_api_server_of(api)->gc;
    for (struct pl_api_type *type = pl_api_registry_first(api->registry); type != NULL;
         type = type->next)
        for (size_t i = 0; i < type->table->count; i++)
            pl_api_gc_note(gc, &(struct pl_api_event){.change = PL_API_MODIFIED,
                                                      .type = type,
                                                      .doc = type->table->entries[i]->doc});
}

static int restore(struct pl_api *api, struct pl_err *err)
{
    static const struct pl_api_disk_reader reader = {.on_object = on_object,
                                                     .on_event = on_restore_event};
    struct reading reading = {.api = api};
    uint64_t version = pl_api_disk_version(api->disk);
    pl_api_storage_restore_begin(api->storage);
    int rc = pl_api_disk_read(api->disk, CRDS, &reader, &reading, err);
    if (rc != 0)
        return rc;
    pl_api_storage_restore_version(api->storage, version,
                                   reading.first_event > 0 ? reading.first_event - 1 : version);
    wake_collector(api);
    return 0;
}

int pl_api_persist_in(struct pl_api *api, const char *folder, struct pl_err *err)
{
    api->disk = pl_api_disk_open(folder, err);
    if (api->disk == NULL)
        return PL_EIO;
    bool is_new = pl_api_disk_version(api->disk) == 0;
    if (!pl_api_disk_get(api->disk, TOKEN_KEY, api->token_key, sizeof(api->token_key)))
        pl_api_disk_put(api->disk, TOKEN_KEY, api->token_key, sizeof(api->token_key));
    if (!is_new)
        return restore(api, err);
    pl_api_make_first(api);
    const char *why = pl_api_disk_failure(api->disk);
    return why == NULL ? 0 : pl_err_set(err, PL_EIO, "%s", why);
}
