/* The admin command "keys": names of controllers, their kinds and the keys of their For objects,
 * for completion in a shell. A key that is queued without being cached is not listed. */
#include "admin/admin.h"

#include <string.h>

#define KEYS_MAX 2000 /* limit for a controller: more are of no use for completion */

static void build_keys(struct pl_build *b, struct pl_informer *informer, struct pl_slice prefix)
{
    char **keys = pl_store_keys(pl_informer_store(informer));
    size_t kept = 0;
    for (char **key = keys; key != NULL && *key != NULL && kept < KEYS_MAX; key++) {
        if (strncmp(*key, prefix.ptr ? prefix.ptr : "", prefix.len) != 0)
            continue;
        pl_build_strz(b, *key);
        kept++;
    }
    pl_store_free_names(keys);
}

static void keys_build_controller(struct pl_build *b, struct pl_controller *controller,
                                  struct pl_slice prefix)
{
    const struct pl_controller_spec *spec = pl_controller_spec(controller);
    struct pl_informer *informer = NULL;
    char kind[PL_KIND_TEXT];
    pl_build_object(b);
    pl_build_put_text(b, "controller", pl_slice_z(spec->name));
    for (size_t i = 0; i < spec->source_count; i++) {
        if (spec->sources[i].role != PL_SOURCE_FOR)
            continue;
        pl_build_put_strz(b, "kind", pl_kind_text(&spec->sources[i].kind, kind));
        informer = pl_controller_informer(controller, i);
    }
    pl_build_keyz(b, "keys");
    pl_build_array(b);
    if (informer != NULL)
        build_keys(b, informer, prefix);
    pl_build_end(b);
    pl_build_end(b);
}

void pl_admin_keys(void *arg, struct pl_admin_call *call)
{
    PL_UNUSED(arg);
    struct pl_manager *manager = pl_admin_host(call)->manager;
    const char *prefix = pl_admin_text(call, "prefix");
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "controllers");
    pl_build_array(b);
    for (size_t i = 0; i < pl_manager_count(manager); i++)
        keys_build_controller(b, pl_manager_at(manager, i),
                              pl_slice_z(prefix != NULL ? prefix : ""));
    pl_build_end(b);
    pl_build_end(b);
    struct pl_doc *result = pl_build_close(b);
    pl_admin_reply(call, result);
}
