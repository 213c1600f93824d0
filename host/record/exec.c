/* Runs without a controller: the reconciler of a lane is called as if a queue had given it a key.
 * There is no I/O thread, so the lane's messages to it are dropped. Controllers are found by names
 * from a record or a user. */
#include "record/exec.h"

#include "base/alloc.h"

#include <string.h>

#define STACK 40 /* slots that pl_value_push and the call need */

int pl_record_controller(const struct pl_lanes *lanes, struct pl_slice name)
{
    for (size_t i = 0; i < lanes->controller_count; i++)
        if (pl_slice_eqz(name, lanes->controllers[i].name))
            return (int)i;
    return -1;
}

static bool is_meant_kind(const struct pl_kind *kind, const char *wanted)
{
    char text[PL_KIND_TEXT];
    return strcmp(kind->kind, wanted) == 0 || strcmp(pl_kind_text(kind, text), wanted) == 0;
}

bool pl_record_is_meant(const struct pl_declarations *declared, struct pl_slice controller,
                        const char *wanted)
{
    if (wanted == NULL || pl_slice_eqz(controller, wanted))
        return true;
    for (size_t i = 0; i < declared->controller_count; i++) {
        const struct pl_controller_spec *spec = &declared->controllers[i];
        if (!pl_slice_eqz(controller, spec->name))
            continue;
        for (size_t j = 0; spec->hook != NULL && j < spec->hook->kind_count; j++)
            if (is_meant_kind(&spec->hook->kinds[j].kind, wanted))
                return true;
        for (size_t j = 0; j < spec->source_count; j++)
            if (spec->sources[j].role == PL_SOURCE_FOR &&
                is_meant_kind(&spec->sources[j].kind, wanted))
                return true;
    }
    return false;
}

static char *put_copy(char **to, struct pl_slice text)
{
    char *copy = *to;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *to += text.len + 1;
    return copy;
}

/* Its texts are stored behind it, as in pl_exec_create_io. */
struct pl_exec *pl_record_exec(struct pl_lane *lane, int controller, const struct pl_slice *texts)
{
    size_t size = 4;
    for (int i = 0; i < 4; i++)
        size += texts[i].len;
    struct pl_exec *exec = pl_calloc(1, sizeof *exec + size);
    char *to = (char *)(exec + 1);
    exec->key = put_copy(&to, texts[0]);
    exec->ns = put_copy(&to, texts[1]);
    exec->name = put_copy(&to, texts[2]);
    exec->id = put_copy(&to, texts[3]);
    exec->unread = pl_slice(exec->id, texts[3].len);
    atomic_init(&exec->refs, 1);
    exec->lane = lane;
    exec->controller = controller;
    pl_list_init(&exec->tasks);
    return exec;
}

void pl_record_begin_review(struct pl_lane *lane, struct pl_exec *exec, struct pl_bytes *from,
                            const struct pl_veil *veil)
{
    lua_State *L = lane->s->L;
    pl_declare_push_reconcile(L, lane->s, exec->controller);
    uint64_t count = pl_bytes_int(from);
    int pushed = 0;
    while ((uint64_t)pushed < count && !from->bad && lua_checkstack(L, STACK)) {
        pl_value_push(L, lane->s, from, veil);
        pushed++;
    }
    pl_exec_begin_pushed(lane, exec, pushed);
}

void pl_record_take_messages(struct pl_lanes *lanes)
{
    struct pl_list messages;
    struct pl_link *link;
    pl_list_init(&messages);
    pl_mailbox_take(lanes->io_box, &messages);
    while ((link = pl_list_pop(&messages)) != NULL) {
        struct pl_msg *msg = PL_CONTAINER_OF(link, struct pl_msg, link);
        if (msg->kind == PL_IO_OP_CANCEL) {
            pl_lop_unref(PL_CONTAINER_OF(msg, struct pl_lop, cancel));
        } else if (msg->kind == PL_IO_NOTE) {
            struct pl_lane_note *note = PL_CONTAINER_OF(msg, struct pl_lane_note, msg);
            note->drop(note);
        }
    }
}
