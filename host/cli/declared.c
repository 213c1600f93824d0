/* Loads the scripts as `check` does, and returns their declarations as a document. */
#include "cli/declared.h"

#include "cli/load.h"
#include "lua/origin.h"
#include "value/scan.h"

struct files {
    struct pl_build *b;
};

static void add_file(void *arg, const char *path, bool is_folder)
{
    struct files *files = arg;
    if (!is_folder && pl_is_utf8(pl_slice_z(path)))
        pl_build_strz(files->b, path);
}

static void add_description(struct pl_build *b, const char *text)
{
    struct pl_err err;
    struct pl_doc *doc = text != NULL ? pl_scan_text(pl_slice_z(text), NULL, &err) : NULL;
    if (doc == NULL)
        return;
    pl_build_keyz(b, "declared");
    pl_build_node(b, pl_doc_root(doc));
    pl_doc_unref(doc);
}

void pl_declared_build(struct pl_lanes *lanes, const struct pl_declarations *declarations,
                       struct pl_build *b)
{
    struct files files = {b};
    add_description(b, declarations->description);
    pl_build_keyz(b, "files");
    pl_build_array(b);
    pl_origin_each(pl_lanes_origin(lanes), add_file, &files);
    pl_build_end(b);
}

bool pl_declared_add(const struct pl_options *options, struct pl_build *b)
{
    struct pl_lanes_options with = options->lanes;
    struct pl_declarations declarations = {0};
    with.count = 1;
    with.describe = true;
    struct pl_lanes *lanes = pl_load(options, &with, &declarations);
    if (lanes != NULL)
        pl_declared_build(lanes, &declarations, b);
    pl_declarations_deinit(&declarations);
    pl_lanes_destroy(lanes);
    return lanes != NULL;
}
