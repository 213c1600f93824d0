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

static void show_side(const char *before, struct pl_node change, const char *name)
{
    struct pl_scratch scratch;
    struct pl_slice value = pl_show_text(change, name, &scratch);
    printf("%s%.*s", before, PL_FMT(value.ptr != NULL ? value : pl_slice_z("(none)")));
}

void pl_show_difference(struct pl_node difference, const char *as)
{
    struct pl_scratch s[3];
    struct pl_slice candidate = pl_show_text(difference, "candidate", &s[0]);
    struct pl_slice other = pl_show_text(difference, "running", &s[1]);
    bool both = candidate.len > 0 && other.len > 0;
    const char *sign = both ? "~" : candidate.len > 0 ? "+" : "-";
    printf("  %s %.*s", sign, PL_FMT(candidate.len > 0 ? candidate : other));
    if (both && !pl_slice_eq(candidate, other))
        printf(" (%s: %.*s)", as, PL_FMT(other));
    printf(" %.*s\n", PL_FMT(pl_show_text(difference, "what", &s[2])));
    for (struct pl_iter it = pl_iter(pl_node_getz(difference, "changes")); pl_iter_next(&it);) {
        struct pl_slice path = pl_show_text(it.value, "path", &s[2]);
        printf("      %.*s", PL_FMT(path.len > 0 ? path : pl_slice_z("content")));
        show_side(": ", it.value, "old");
        show_side(" -> ", it.value, "new");
        printf("\n");
    }
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
    struct pl_doc *answer = pl_admin_ask_host(flags, request, err);
    int rc = answer != NULL ? pl_show(flags, pl_doc_root(answer), text, err) : err->code;
    pl_doc_unref(answer);
    return rc;
}
