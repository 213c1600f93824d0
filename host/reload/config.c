/* --config, and files that are read as a whole: with a limit, and with the reason when they cannot
 * be read. */
#include "reload/config.h"

#include "format/yaml.h"
#include "value/docs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_LIMIT (8u << 20)

int pl_read_file(const char *path, size_t limit, struct pl_buf *out, struct pl_err *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    char chunk[16384];
    size_t got;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0 && out->len + got <= limit)
        pl_buf_add(out, chunk, got);
    int failed = ferror(file), reason = errno;
    fclose(file);
    if (failed)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(reason));
    if (got > 0)
        return pl_err_set(err, PL_ELIMIT, "%s is larger than %zu bytes", path, limit);
    return 0;
}

int pl_config_read(const char *path, struct pl_buf *text, struct pl_err *err)
{
    return pl_read_file(path, CONFIG_LIMIT, text, err);
}

int pl_config_decode(const char *path, struct pl_slice text, struct pl_doc **config,
                     struct pl_err *err)
{
    struct pl_docs docs = {0};
    *config = NULL;
    int rc = pl_yaml_decode(text, &docs, err);
    if (rc != 0)
        pl_err_prefix(err, "%s", path);
    if (rc == 0 && (docs.count > 1 ||
                    (docs.count == 1 && pl_node_type(pl_doc_root(docs.items[0])) != PL_OBJECT)))
        rc = pl_err_set(err, PL_EINVAL, "%s must be one YAML mapping", path);
    if (rc == 0 && docs.count == 1)
        *config = pl_doc_ref(docs.items[0]);
    pl_docs_deinit(&docs);
    return rc;
}
