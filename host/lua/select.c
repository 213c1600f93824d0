#include "lua/select.h"

#include "base/alloc.h"
#include "base/text.h"
#include "object/path.h"

static struct pl_part *select_part_of(struct pl_part **parts, struct pl_slice name)
{
    for (; *parts != NULL; parts = &(*parts)->next) {
        if (pl_slice_eq((*parts)->name, name))
            return *parts;
    }
    struct pl_part *part = PL_NEW(struct pl_part);
    part->text = pl_text_copy(name);
    part->name = pl_slice(part->text, name.len);
    *parts = part;
    return part;
}

int pl_parts_add(struct pl_part **parts, struct pl_slice text, struct pl_err *err)
{
    struct pl_path *path = pl_path_parse(text, err);
    if (path == NULL)
        return PL_EINVAL;
    struct pl_part *part = NULL;
    for (size_t i = 0; i < pl_path_len(path) && pl_path_step(path, i).key.ptr != NULL; i++) {
        part = select_part_of(parts, pl_path_step(path, i).key);
        parts = &part->below;
    }
    if (part != NULL)
        part->whole = true;
    pl_path_destroy(path);
    return 0;
}

void pl_parts_free(struct pl_part *parts)
{
    while (parts != NULL) {
        struct pl_part *next = parts->next;
        pl_parts_free(parts->below);
        pl_free(parts->text);
        pl_free(parts);
        parts = next;
    }
}
