#include "bind/written_secrets.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/secrets.h"
#include "base/text.h"

static void note_value(struct pl_secrets *secrets, struct pl_node value)
{
    struct pl_scratch scratch;
    if (pl_node_type(value) != PL_STRING)
        return;
    struct pl_slice text = pl_node_str(value, &scratch);
    struct pl_buf decoded = PL_BUF_INIT;
    pl_secrets_add(secrets, text);
    if (pl_base64_decode(text, &decoded))
        pl_secrets_add(secrets, pl_buf_slice(&decoded));
    pl_buf_deinit(&decoded);
}

/* A value, or a map of them. */
static void note_values(struct pl_secrets *secrets, struct pl_node node)
{
    note_value(secrets, node);
    if (pl_node_type(node) != PL_OBJECT)
        return;
    for (struct pl_iter it = pl_iter(node); pl_iter_next(&it);)
        note_value(secrets, it.value);
}

/* path: of a JSON patch. */
static bool is_about_data(struct pl_slice path)
{
    return pl_slice_eqz(path, "/data") || pl_text_begins(path, "/data/") ||
           pl_slice_eqz(path, "/stringData") || pl_text_begins(path, "/stringData/");
}

void pl_note_written_secrets(struct pl_state *s, const struct pl_kind *kind,
                             const struct pl_doc *body)
{
    if (body == NULL || !pl_kind_is_secret(kind))
        return;
    struct pl_node root = pl_doc_root(body);
    if (pl_node_type(root) == PL_OBJECT) {
        note_values(&s->secrets, pl_node_getz(root, "data"));
        note_values(&s->secrets, pl_node_getz(root, "stringData"));
        return;
    }
    struct pl_scratch scratch;
    for (struct pl_iter it = pl_iter(root); pl_iter_next(&it);)
        if (is_about_data(pl_node_str(pl_node_getz(it.value, "path"), &scratch)))
            note_values(&s->secrets, pl_node_getz(it.value, "value"));
}
