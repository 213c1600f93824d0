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
