/* json-verdict: reads standard input as one JSON text and prints "ok TEXT", with sorted members, or
 * "error OFFSET MESSAGE". Specs compare the output with other parsers. Arguments: -d refuses
 * duplicate names, -m keeps metadata.managedFields. */
#include "base/buf.h"
#include "value/scan.h"
#include "value/write.h"

#include <stdio.h>
#include <string.h>

static void read_all(struct pl_buf *text)
{
    char chunk[4096];
    size_t len;
    while ((len = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
        pl_buf_add(text, chunk, len);
}

int main(int argc, char **argv)
{
    struct pl_scan_options options = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-d") == 0) {
            options.refuse_duplicates = true;
        } else if (strcmp(argv[i], "-m") == 0) {
            options.keep_managed_fields = true;
        } else {
            fprintf(stderr, "usage: json-verdict [-d] [-m] <TEXT\n");
            return 2;
        }
    }
    struct pl_buf text = PL_BUF_INIT, out = PL_BUF_INIT;
    struct pl_err err;
    read_all(&text);
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&text), &options, &err);
    if (doc != NULL)
        pl_write(&out, pl_doc_root(doc), PL_WRITE_SORTED);
    if (doc != NULL)
        printf("ok %.*s\n", PL_FMT(pl_buf_slice(&out)));
    else
        printf("error %lld %s\n", (long long)err.offset, err.message);
    pl_doc_unref(doc);
    pl_buf_deinit(&text);
    pl_buf_deinit(&out);
    return 0;
}
