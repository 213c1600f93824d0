#include "operate/show.h"

#include "value/write.h"

#include <stdio.h>
#include <string.h>

struct pl_slice pl_show_text(struct pl_node object, const char *key, struct pl_scratch *scratch)
{
    return pl_node_str(pl_node_getz(object, key), scratch);
}

int64_t pl_show_int(struct pl_node object, const char *key)
{
    int64_t value = 0;
    pl_node_int(pl_node_getz(object, key), &value);
    return value;
}

int pl_show(const struct pl_flags *flags, struct pl_node answer,
            void (*text)(struct pl_node answer), struct pl_err *err)
{
    if (strcmp(pl_flags_text(flags, "output"), "json") == 0) {
        struct pl_buf json = PL_BUF_INIT;
        pl_write(&json, answer, PL_WRITE_PRETTY);
        puts(pl_buf_z(&json));
        pl_buf_deinit(&json);
    } else {
        text(answer);
    }
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    return written ? 0 : pl_err_set(err, PL_EIO, "the answer could not be written");
}

int pl_show_ask(const struct pl_flags *flags, struct pl_build *request,
                void (*text)(struct pl_node answer), struct pl_err *err)
{
    struct pl_admin_client client;
    struct pl_doc *answer = NULL;
    int rc = pl_admin_connect(&client, flags, err);
    if (rc == 0) {
        answer = pl_admin_ask(&client, request, err);
        rc = answer != NULL ? 0 : err->code;
    } else {
        pl_build_destroy(request);
    }
    if (rc == 0)
        rc = pl_show(flags, pl_doc_root(answer), text, err);
    pl_doc_unref(answer);
    pl_admin_disconnect(&client);
    return rc;
}
