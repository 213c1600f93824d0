#include "bind/written_secrets.h"

#include "base/text.h"
#include "object/secret.h"

/* path: of a JSON patch. */
static bool is_about_data(struct pl_slice path)
{
    return pl_slice_eqz(path, "/data") || pl_text_begins(path, "/data/") ||
           pl_slice_eqz(path, "/stringData") || pl_text_begins(path, "/stringData/");
}

static void note_body(struct pl_state *s, struct pl_node root)
{
    if (pl_node_type(root) == PL_OBJECT) {
        pl_secret_note_values(&s->secrets, pl_node_getz(root, "data"));
        pl_secret_note_values(&s->secrets, pl_node_getz(root, "stringData"));
        return;
    }
    struct pl_scratch scratch;
    for (struct pl_iter it = pl_iter(root); pl_iter_next(&it);)
        if (is_about_data(pl_node_str(pl_node_getz(it.value, "path"), &scratch)))
            pl_secret_note_values(&s->secrets, pl_node_getz(it.value, "value"));
}

void pl_note_written_secrets(struct pl_state *s, const struct pl_kind *kind,
                             const struct pl_doc *body)
{
    if (body != NULL && pl_kind_is_secret(kind))
        note_body(s, pl_doc_root(body));
}

/* Also true of a few other paths, whose bodies contain no Secrets. */
static bool is_about_secrets(struct pl_slice path)
{
    return pl_text_find(path, "/secrets") != NULL;
}

void pl_note_raw_body(struct pl_state *s, struct pl_slice path, const struct pl_doc *body)
{
    if (body != NULL && is_about_secrets(path))
        note_body(s, pl_doc_root(body));
}
