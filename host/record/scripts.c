/* Paths, files, names that were not found, and the content of folders, from the origin of the
 * generation. A text that is not UTF-8 is written as base64. */
#include "record/scripts.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/text.h"
#include "lane/lane.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include <string.h>

/* ---- writing ---- */

struct writing {
    struct pl_origin *origin;
    struct pl_build *b;
};

static void build_list(struct pl_build *b, char *const *texts)
{
    pl_build_array(b);
    for (; texts != NULL && *texts != NULL; texts++)
        pl_build_text(b, pl_slice_z(*texts));
    pl_build_end(b);
}

static void build_text(struct pl_build *b, struct pl_slice text)
{
    struct pl_buf coded = PL_BUF_INIT;
    if (pl_is_utf8(text)) {
        pl_build_put_str(b, "text", text);
        return;
    }
    pl_base64_encode(text, &coded);
    pl_build_put_str(b, "base64", pl_buf_slice(&coded));
    pl_buf_deinit(&coded);
}

static void visit(void *arg, const char *path, bool is_folder)
{
    struct writing *writing = arg;
    struct pl_build *b = writing->b;
    struct pl_buf text = PL_BUF_INIT;
    struct pl_err err;
    pl_err_clear(&err);
    pl_build_object(b);
    pl_build_put_text(b, "path", pl_slice_z(path));
    if (is_folder) {
        char **files = pl_origin_find(writing->origin, path, &err);
        pl_build_keyz(b, "scripts");
        build_list(b, files);
        pl_texts_free(files);
    } else if (pl_origin_is_file(writing->origin, NULL, path) &&
               pl_origin_read(writing->origin, NULL, path, &text, NULL, &err) == 0) {
        build_text(b, pl_buf_slice(&text));
    }
    pl_build_end(b);
    pl_buf_deinit(&text);
}

void pl_scripts_write(const struct pl_lanes *lanes, struct pl_buf *out)
{
    struct pl_build *b = pl_build_create(NULL);
    struct writing writing = {lanes->origin, b};
    pl_build_object(b);
    pl_build_put_int(b, "generation", (int64_t)lanes->options.generation);
    pl_build_put_text(b, "version", pl_slice_z(lanes->options.version));
    pl_build_keyz(b, "paths");
    build_list(b, lanes->paths);
    pl_build_keyz(b, "files");
    pl_build_array(b);
    pl_origin_each(lanes->origin, visit, &writing);
    pl_build_end(b);
    if (lanes->options.config != NULL) {
        pl_build_keyz(b, "config");
        pl_build_node(b, pl_doc_root(lanes->options.config));
    }
    pl_build_end(b);
    pl_build_write(out, b, PL_WRITE_COMPACT);
}

/* ---- reading ---- */

static char *copy_text(struct pl_node node)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(node, &scratch);
    return pl_text_copy(text);
}

static char **copy_list(struct pl_node array, size_t *count)
{
    struct pl_iter it = pl_iter(array);
    char **texts = pl_calloc(pl_node_len(array) + 1, sizeof *texts);
    *count = 0;
    while (pl_iter_next(&it))
        texts[(*count)++] = copy_text(it.value);
    return texts;
}

static void read_file(struct pl_origin *origin, struct pl_node file)
{
    struct pl_node text = pl_node_getz(file, "text"), coded = pl_node_getz(file, "base64");
    struct pl_node scripts = pl_node_getz(file, "scripts");
    struct pl_scratch scratch;
    struct pl_buf plain = PL_BUF_INIT;
    char *path = copy_text(pl_node_getz(file, "path"));
    if (!pl_node_is_missing(scripts)) {
        size_t count;
        char **files = copy_list(scripts, &count);
        pl_origin_add_scripts(origin, path, files);
        pl_texts_free(files);
    } else if (!pl_node_is_missing(text)) {
        pl_origin_add_common(origin, path, pl_node_str(text, &scratch));
    } else if (!pl_node_is_missing(coded) &&
               pl_base64_decode(pl_node_str(coded, &scratch), &plain)) {
        pl_origin_add_common(origin, path, pl_buf_slice(&plain));
    } else {
        pl_origin_add_missing(origin, path);
    }
    pl_buf_deinit(&plain);
    pl_free(path);
}

int pl_scripts_read(struct pl_scripts *out, struct pl_slice json, struct pl_err *err)
{
    const struct pl_scan_options options = {.keep_managed_fields = true, .max_bytes = json.len + 1};
    struct pl_doc *doc = pl_scan_text(json, &options, err);
    *out = (struct pl_scripts){.origin = NULL};
    if (doc == NULL)
        return err->code;
    struct pl_node root = pl_doc_root(doc), config = pl_node_getz(root, "config");
    int64_t generation = 1;
    pl_node_int(pl_node_getz(root, "generation"), &generation);
    out->generation = (uint64_t)generation;
    out->origin = pl_origin_create();
    out->version = copy_text(pl_node_getz(root, "version"));
    out->paths = copy_list(pl_node_getz(root, "paths"), &out->path_count);
    struct pl_iter it = pl_iter(pl_node_getz(root, "files"));
    while (pl_iter_next(&it))
        read_file(out->origin, it.value);
    if (!pl_node_is_missing(config))
        out->config = pl_doc_from_node(config, NULL);
    pl_doc_unref(doc);
    return 0;
}

void pl_scripts_deinit(struct pl_scripts *scripts)
{
    pl_origin_unref(scripts->origin);
    pl_texts_free(scripts->paths);
    pl_free(scripts->version);
    pl_doc_unref(scripts->config);
}
