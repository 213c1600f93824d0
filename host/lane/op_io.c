/* The I/O thread's half of operations: how they begin, end and are cancelled, and reads, writes,
 * times and dialogs. Caches are in op_cache.c, queues in op_enqueue.c, followed kinds in
 * op_select.c, external servers in op_http.c. */
#include "lane/op_impl.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "control/hook_call.h"
#include "kube/exec.h"
#include "kube/status.h"
#include "lane/effects.h"
#include "lane/lane.h"
#include "net/http_server.h"
#include "object/meta.h"
#include "write/capture.h"

#include <stdio.h>
#include <string.h>

/* ---- operations: any thread ---- */

struct pl_lop *pl_lop_create(enum pl_lop_type type)
{
    struct pl_lop *op = PL_NEW(struct pl_lop);
    atomic_init(&op->refs, 1);
    op->type = type;
    op->controller = -1;
    op->options = LUA_NOREF;
    pl_err_clear(&op->out.err);
    return op;
}

struct pl_slice pl_lop_text(struct pl_lop *op, struct pl_slice text)
{
    if (text.ptr == NULL)
        return text;
    PL_REQUIRE(op->text_count < PL_LOP_TEXTS);
    char *copy = pl_text_copy(text);
    op->texts[op->text_count++] = copy;
    return pl_slice(copy, text.len);
}

void pl_lop_set_key(struct pl_lop *op, struct pl_slice ns, struct pl_slice name)
{
    struct pl_buf key = PL_BUF_INIT;
    pl_key_add(&key, ns, name);
    op->key = pl_lop_text(op, pl_buf_slice(&key));
    pl_buf_deinit(&key);
}

static void free_inputs(struct pl_lop *op)
{
    if (op->type == PL_LOP_WRITE) {
        pl_doc_unref(op->in.write.body);
        pl_doc_unref(op->in.write.base);
        pl_doc_unref(op->in.write.owner);
    } else if (op->type == PL_LOP_HTTP) {
        pl_free(op->in.http.headers);
        pl_buf_deinit(&op->in.http.blob);
    }
}

void pl_lop_unref(struct pl_lop *op)
{
    if (op == NULL || atomic_fetch_sub(&op->refs, 1) != 1)
        return;
    free_inputs(op);
    pl_exec_unref(op->exec);
    pl_secrets_clear(&op->hidden);
    for (size_t i = 0; i < op->text_count; i++)
        pl_free(op->texts[i]);
    pl_doc_unref(op->out.doc);
    pl_docs_deinit(&op->out.items);
    pl_buf_deinit(&op->out.blob);
    pl_buf_deinit(&op->out.body);
    pl_buf_deinit(&op->out.warnings);
    pl_free(op->io.url);
    pl_free(op);
}

/* ---- completion ---- */

static struct pl_timers *timers(struct pl_lop *op)
{
    return pl_loop_timers(op->lane->lanes->loop);
}

static void stop_waiting(struct pl_lop *op)
{
    if (op->io.timed)
        pl_timer_stop(timers(op), &op->io.timer);
    if (pl_link_is_linked(&op->io.sync.link))
        pl_informer_forget_sync(&op->io.sync);
    if (pl_link_is_linked(&op->io.watch.link))
        pl_informer_unwatch_key(&op->io.watch);
    if (pl_link_is_linked(&op->io.indexed.link))
        pl_informer_forget_indexed(&op->io.indexed);
    if (op->type == PL_LOP_SAY)
        op->lane->lanes->options.dialog->waiting = NULL;
}

/* The server's message may quote what the script sent, even a Secret's value, which only the lane
 * can mask. An uncaught error still has the message in the history. */
static void add_result(struct pl_buf *out, const struct pl_lop *op)
{
    const struct pl_err *err = &op->out.err;
    bool refused = op->type == PL_LOP_HTTP && (op->out.status < 200 || op->out.status > 299);
    if (err->code == PL_EAPI)
        pl_buf_add_f(out, "%d %s", err->status, err->reason);
    else if (err->code == 0 && refused)
        pl_buf_add_f(out, "answered %d", op->out.status);
    else if (err->code == PL_ESYNTAX)
        pl_buf_add_z(out, "an answer that cannot be read");
    else
        pl_buf_add_z(out, err->code != 0 ? err->message
                          : op->type == PL_LOP_WRITE && op->in.write.exec && !op->out.flag
                              ? "a command, not run"
                          : op->out.skipped ? "nothing to change, not sent"
                          : op->out.gone    ? "it was gone"
                                            : "ok");
}

/* Cuts secrets out of it. */
static void hide(struct pl_buf *text, const struct pl_secrets *secrets)
{
    char *masked = pl_secrets_mask(secrets, pl_buf_slice(text));
    if (masked == NULL)
        return;
    pl_buf_clear(text);
    pl_buf_add_z(text, masked);
    pl_free(masked);
}

/* Requests to the server are part of the key's history, including those that were not sent. */
static void op_io_note(struct pl_lop *op)
{
    bool asked = op->type == PL_LOP_READ || op->type == PL_LOP_WRITE || op->type == PL_LOP_HTTP;
    if (!asked || op->exec == NULL || op->exec->run == NULL)
        return;
    struct pl_buf what = PL_BUF_INIT;
    if (op->type == PL_LOP_HTTP) {
        pl_buf_add_f(&what, "%.*s ", PL_FMT(op->in.http.method));
        pl_url_add_public(&what, op->in.http.url);
    } else {
        pl_buf_add_f(&what, "%s %.*s%s%s %.*s", op->verb, PL_FMT(op->cluster),
                     op->cluster.ptr != NULL ? ":" : "", op->kind != NULL ? op->kind : "",
                     PL_FMT(op->key));
        struct pl_slice subresource = op->type == PL_LOP_WRITE  ? op->in.write.subresource
                                      : op->type == PL_LOP_READ ? op->in.read.subresource
                                                                : pl_slice(NULL, 0);
        if (subresource.len > 0)
            pl_buf_add_f(&what, " %.*s", PL_FMT(subresource));
    }
    struct pl_buf result = PL_BUF_INIT;
    add_result(&result, op);
    hide(&what, &op->hidden);
    hide(&result, &op->hidden);
    pl_run_called(op->exec->run, pl_buf_slice(&what), pl_buf_slice(&result),
                  pl_clock_mono(timers(op)->clock) - op->io.started_ns);
    pl_buf_deinit(&what);
    pl_buf_deinit(&result);
}

void pl_lop_complete(struct pl_lop *op)
{
    struct pl_lane *lane = op->lane;
    PL_REQUIRE(!op->io.done);
    op->io.done = true;
    op_io_note(op);
    stop_waiting(op);
    pl_link_unlink(&op->io.link);
    op->msg.kind = PL_LANE_OP_DONE;
    pl_mailbox_send(lane->box, &op->msg); /* the lane owns it again */
    pl_loop_expect(lane->lanes->loop);
    pl_lane_check_ended(lane);
}

void pl_lop_fail(struct pl_lop *op, const struct pl_err *err)
{
    op->out.err = *err;
    pl_lop_complete(op);
}

void pl_lop_set_timer(struct pl_lop *op, int64_t delay_ns, pl_timer_fn fire)
{
    op->io.timed = true;
    pl_timer_start(timers(op), &op->io.timer, delay_ns, fire);
}

struct pl_lop *pl_lop_of_timer(struct pl_timer *timer)
{
    return PL_CONTAINER_OF(timer, struct pl_lop, io.timer);
}

/* ---- reads and writes ---- */

/* For a shadow that follows this run. */
static void tell_found(const struct pl_lop *op, const struct pl_answer *answer)
{
    const struct pl_read *read = &op->in.read;
    bool whole = read->verb == PL_VERB_GET && read->subresource.len == 0 && !read->metadata_only &&
                 read->raw_path.len == 0;
    bool known = answer->err == NULL || pl_err_is_not_found(answer->err);
    struct pl_capture *capture = op->exec != NULL ? op->exec->capture : NULL;
    whole = whole && op->cluster.ptr == NULL; /* a shadow knows only the host's own cluster */
    if (capture != NULL && whole && known)
        pl_capture_show(capture, &read->kind, op->key, answer->err == NULL ? answer->doc : NULL,
                        true);
}

static void on_op_io_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_lop *op = arg;
    op->io.work = NULL;
    pl_buf_add_slice(&op->out.warnings, answer->warnings);
    tell_found(op, answer);
    if (answer->err != NULL && op->missing_is_nil && pl_err_is_not_found(answer->err)) {
        pl_lop_complete(op);
        return;
    }
    op->out.doc = pl_doc_ref(answer->doc);
    if (answer->err != NULL) {
        pl_lop_fail(op, answer->err);
        return;
    }
    if (answer->text.ptr != NULL) {
        op->out.is_text = true;
        pl_buf_add_slice(&op->out.body, answer->text);
    }
    if (answer->items != NULL) { /* moved out */
        op->out.items = *answer->items;
        *answer->items = (struct pl_docs){.items = NULL};
    }
    pl_lop_complete(op);
}

/* ---- recording, and what a shadow only records ---- */

static struct pl_capture *capture_of(const struct pl_lop *op)
{
    return op->exec != NULL ? op->exec->capture : NULL;
}

bool pl_lop_keeps(struct pl_lop *op, const char *name, struct pl_slice sent)
{
    if (capture_of(op) != NULL)
        pl_capture_note(capture_of(op), op->verb, name, sent);
    return pl_lanes_hold(op->lane->lanes);
}

/* A read from the server of an object that a shadow's run sees differently. */
static bool is_seen(struct pl_lop *op)
{
    const struct pl_read *read = &op->in.read;
    struct pl_capture *view = pl_exec_view(op->exec);
    struct pl_doc *doc = NULL;
    if (view == NULL || read->verb != PL_VERB_GET || read->subresource.len > 0 ||
        read->raw_path.len > 0 || !pl_capture_sees(view, &read->kind, op->key, &doc))
        return false;
    op->out.doc = doc;
    if (doc != NULL || op->missing_is_nil) {
        pl_lop_complete(op);
        return true;
    }
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EAPI, "the object was not found");
    err.status = 404;
    snprintf(err.reason, sizeof err.reason, "NotFound");
    pl_lop_fail(op, &err);
    return true;
}

/* Its target. NULL: there is no such cluster, and the operation has failed. */
static struct pl_cluster *lop_cluster(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    struct pl_err err;
    if (op->cluster.ptr == NULL)
        return lanes->cluster;
    for (size_t i = 0; i < lanes->other_count; i++)
        if (pl_slice_eqz(op->cluster, lanes->others[i].name))
            return lanes->others[i].cluster;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EINVAL, "the cluster \"%.*s\" is not declared", PL_FMT(op->cluster));
    pl_lop_fail(op, &err);
    return NULL;
}

static void start_read(struct pl_lop *op)
{
    struct pl_cluster *cluster = lop_cluster(op);
    if (cluster == NULL || is_seen(op))
        return;
    op->in.read.deadline_ns = op->deadline_ns;
    op->io.work = pl_read_start(pl_cluster_site(cluster), &op->in.read, on_op_io_answer, op);
}

static void take_result(struct pl_lop *op, const struct pl_exec_result *result)
{
    op->out.flag = true;
    op->out.status = result->code;
    pl_buf_add_slice(&op->out.body, pl_buf_slice(&result->out));
    pl_buf_add_slice(&op->out.blob, pl_buf_slice(&result->err));
}

static void on_op_io_written(void *arg, const struct pl_written *written)
{
    struct pl_lop *op = arg;
    op->io.work = NULL;
    if (written->exec != NULL)
        take_result(op, written->exec);
    op->out.doc = pl_doc_ref(written->object);
    op->out.skipped = written->skipped;
    op->out.gone = written->gone;
    pl_buf_add_slice(&op->out.warnings, written->warnings);
    if (written->err == NULL && !written->skipped && written->object != NULL && op->exec != NULL &&
        op->exec->run != NULL)
        pl_run_wrote(op->exec->run, pl_doc_root(written->object));
    if (written->err != NULL)
        pl_lop_fail(op, written->err);
    else
        pl_lop_complete_write(op);
}

static void start_write(struct pl_lop *op)
{
    struct pl_lanes *lanes = op->lane->lanes;
    struct pl_cluster *cluster = lop_cluster(op);
    if (cluster == NULL)
        return;
    const struct pl_controller *controller =
        op->controller >= 0 ? lanes->controllers[op->controller].controller : NULL;
    op->in.write.deadline_ns = op->deadline_ns;
    if (controller != NULL)
        op->in.write.controller = pl_controller_writer(controller);
    op->in.write.capture = capture_of(op);
    op->in.write.held = pl_lanes_hold(lanes);
    if (op->exec != NULL && op->exec->hook != NULL) { /* every replica answers */
        op->in.write.any_replica = true;
        op->in.write.dry_run = op->in.write.dry_run || op->exec->hook->dry_run;
    }
    op->in.write.shard = op->exec != NULL ? op->exec->shard : 0;
    if (op->exec != NULL)
        op->in.write.edition = pl_edition_writer(lanes->controllers[op->exec->controller].edition);
    op->io.work = pl_gate_write(pl_cluster_gate(cluster), &op->in.write, on_op_io_written, op);
}

/* ---- time ---- */

static void on_sleep(struct pl_timer *timer)
{
    pl_lop_complete(pl_lop_of_timer(timer));
}

/* ---- dialogs ---- */

static bool only_reads(const struct pl_lop *op)
{
    switch (op->type) {
    case PL_LOP_WRITE:
        return op->in.write.verb == PL_VERB_GET;
    case PL_LOP_ENQUEUE:
    case PL_LOP_SELECT:
        return false;
    case PL_LOP_HTTP:
        return pl_slice_eqz(op->in.http.method, "GET") || pl_slice_eqz(op->in.http.method, "HEAD");
    default:
        return true;
    }
}

static void op_io_refuse(struct pl_lop *op)
{
    struct pl_err err;
    pl_err_clear(&err);
    pl_err_set(&err, PL_EREFUSED, "nothing can be changed here: only reads are allowed");
    snprintf(err.reason, sizeof err.reason, "read-only");
    pl_lop_fail(op, &err);
}

static void start_say(struct pl_lop *op)
{
    struct pl_dialog *dialog = op->lane->lanes->options.dialog;
    dialog->waiting = op;
    dialog->heard(dialog, op->in.say.text, op->in.say.failed);
}

bool pl_dialog_say(struct pl_dialog *dialog, struct pl_slice text)
{
    struct pl_lop *op = dialog->waiting;
    if (op == NULL)
        return false;
    pl_buf_add_slice(&op->out.body, text);
    pl_lop_complete(op);
    return true;
}

/* ---- starting and ending ---- */

static void start_sleep(struct pl_lop *op)
{
    pl_lop_set_timer(op, op->delay_ns, on_sleep);
}

void pl_lop_start_io(struct pl_lop *op)
{
    static void (*const starts[])(struct pl_lop * op) = {
        [PL_LOP_READ] = start_read,
        [PL_LOP_WRITE] = start_write,
        [PL_LOP_SYNC] = pl_lop_start_sync,
        [PL_LOP_KEY] = pl_lop_start_key,
        [PL_LOP_SLEEP] = start_sleep,
        [PL_LOP_ENQUEUE] = pl_lop_start_enqueue,
        [PL_LOP_SELECT] = pl_lop_start_select,
        [PL_LOP_HTTP] = pl_lop_start_http,
        [PL_LOP_SAY] = start_say,
    };
    struct pl_lane *lane = op->lane;
    if (atomic_load(&lane->abandoned))
        return; /* the operation is abandoned with its lane: nobody could get the answer */
    pl_list_push(&lane->io.ops, &op->io.link);
    if (op->exec != NULL && op->exec->run != NULL)
        pl_run_waits(op->exec->run);
    op->io.started_ns = pl_clock_mono(timers(op)->clock);
    if (lane->lanes->options.dialog != NULL && !only_reads(op))
        op_io_refuse(op);
    else
        starts[op->type](op);
}

static void op_io_cancel(struct pl_lop *op)
{
    if (op->io.done || op->io.canceled)
        return;
    op->io.canceled = true;
    if (op->io.work != NULL && op->type == PL_LOP_READ) {
        pl_read_op_cancel(op->io.work);
    } else if (op->io.work != NULL && op->type == PL_LOP_WRITE) {
        pl_gate_op_cancel(op->io.work);
    } else if (op->io.work != NULL && op->type == PL_LOP_HTTP) {
        pl_lop_cancel_http(op);
    } else if (pl_link_is_linked(&op->io.indexed.link)) { /* the write was carried out */
        pl_lop_complete(op);
    } else if (op->type != PL_LOP_READ && op->type != PL_LOP_WRITE && op->type != PL_LOP_HTTP) {
        struct pl_err err;
        pl_err_clear(&err);
        pl_err_set(&err, PL_ECANCELED, "canceled");
        pl_lop_fail(op, &err);
    }
}

void pl_lop_cancel_io(struct pl_lop *op)
{
    op_io_cancel(op);
    pl_lop_unref(op);
}

void pl_lop_abandon_io(struct pl_lop *op)
{
    op_io_cancel(op);
}
