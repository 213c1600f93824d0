/* Writes every event of the storage to the data folder, before the request is answered. restore.c
 * reads it back at start. */
#include "apiserver/persist.h"

#include "apistore/disk.h"
#include "object/meta.h"
#include "value/write.h"

static struct pl_slice persist_text_of(struct pl_buf *buf, const struct pl_doc *doc)
{
    if (doc == NULL)
        return pl_slice(NULL, 0);
    pl_write(buf, pl_doc_root(doc), 0);
    return pl_buf_slice(buf);
}

void pl_api_persist_event(struct pl_api *api, const struct pl_api_event *event)
{
    struct pl_buf key = PL_BUF_INIT, text = PL_BUF_INIT, old = PL_BUF_INIT;
    if (api->disk == NULL)
        return;
    pl_meta_put_key(pl_doc_root(event->doc), &key);
    struct pl_api_disk_row row = {
        .rv = event->rv,
        .change = (int)event->change,
        .group = pl_slice_z(pl_api_type_group(event->type)),
        .plural = pl_slice_z(event->type->plural),
        .key = pl_buf_slice(&key),
        .text = persist_text_of(&text, event->doc),
        .old = persist_text_of(&old, event->old),
    };
    pl_api_disk_write(api->disk, &row, event->change == PL_API_DELETED);
    pl_buf_deinit(&key);
    pl_buf_deinit(&text);
    pl_buf_deinit(&old);
}

void pl_api_persist_forget(struct pl_api *api, const struct pl_api_type *type)
{
    if (api->disk != NULL)
        pl_api_disk_forget_events(api->disk, pl_slice_z(pl_api_type_group(type)),
                                  pl_slice_z(type->plural));
}

int pl_api_persist_check(struct pl_api_ctx *ctx)
{
    const char *why = ctx->api->disk != NULL ? pl_api_disk_failure(ctx->api->disk) : NULL;
    if (why == NULL)
        return 0;
    return pl_api_fail(&ctx->status, 500, "InternalError",
                       "the data folder can't be written, so nothing is: %s. Mend it and start the "
                       "server again",
                       why);
}
