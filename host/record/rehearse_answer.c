/* Answers of webhooks as effects of a rehearsal, so that they are compared as writes are: what the
 * handler said, the object that it changed, and each object that it converted. The recorded answer
 * and the new one are both read from a call in the form of a record. */
#include "record/rehearse_impl.h"

#include "object/kind.h"
#include "record/value.h"

#include <stdio.h>

/* Takes the document. */
static void add_answer(struct pl_capture *capture, const char *name, const char *verb,
                       struct pl_doc *doc)
{
    struct pl_kind kind;
    if (doc == NULL)
        return;
    bool secret = pl_kind_of(pl_doc_root(doc), &kind, NULL) == 0 && pl_kind_is_secret(&kind);
    struct pl_effect effect = {.name = (char *)name,
                               .verb = verb,
                               .is_secret = secret,
                               .after = pl_doc_ref(doc),
                               .sent = doc};
    pl_capture_add(capture, &effect);
}

bool pl_rehearse_answer(struct pl_capture *capture, struct pl_slice call)
{
    struct pl_bytes from = pl_bytes_of(call);
    struct pl_slice name = pl_bytes_text(&from);
    pl_bytes_int(&from); /* the number of arguments */
    if (pl_slice_eqz(name, "hook_answer")) {
        add_answer(capture, "the object", "mutate", pl_value_doc(&from, NULL));
        add_answer(capture, "the answer", "answer", pl_value_doc(&from, NULL));
        return true;
    }
    if (pl_slice_eqz(name, "hook_converted")) {
        char text[32];
        snprintf(text, sizeof text, "object %zu", pl_capture_count(capture) + 1);
        add_answer(capture, text, "convert", pl_value_doc(&from, NULL));
        return true;
    }
    return false;
}
