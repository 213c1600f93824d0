/* The admin command "reload", and the scripts in status. */
#include "base/alloc.h"
#include "admin/admin.h"
#include "reload/reload.h"

struct asked {
    struct pl_reload_wait wait;
    struct pl_admin_call *call;
    struct pl_reload *reload;
};

static void reload_reply(struct pl_admin_call *call, const struct pl_reload *reload,
                         const char *result, const char *message)
{
    struct pl_reload_status status;
    pl_reload_status(reload, &status);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_text(b, "result", pl_slice_z(result));
    pl_build_keyz(b, "generation");
    pl_build_int(b, (int64_t)status.generation);
    if (message != NULL)
        pl_build_put_text(b, "message", pl_slice_z(message));
    pl_build_end(b);
    struct pl_doc *doc = pl_build_close(b);
    pl_admin_reply(call, doc);
}

static void on_reloaded(struct pl_reload_wait *wait, enum pl_reload_result result,
                        const char *message)
{
    static const char names[][12] = {[PL_RELOAD_APPLIED] = "applied",
                                     [PL_RELOAD_UNCHANGED] = "unchanged",
                                     [PL_RELOAD_REJECTED] = "rejected",
                                     [PL_RELOAD_ROLLED_BACK] = "rolled_back"};
    struct asked *asked = PL_CONTAINER_OF(wait, struct asked, wait);
    reload_reply(asked->call, asked->reload, names[result], message);
    pl_free(asked);
}

static void reload_run(void *arg, struct pl_admin_call *call)
{
    struct asked *asked = PL_NEW(struct asked);
    asked->call = call;
    asked->reload = arg;
    asked->wait.until_guarded = pl_node_bool(pl_node_getz(pl_admin_request(call), "wait"));
    asked->wait.done = on_reloaded;
    pl_reload_request(asked->reload, "perilune reload", &asked->wait);
}

static void reload_build_status(void *arg, struct pl_build *b)
{
    struct pl_reload_status status;
    pl_reload_status(arg, &status);
    pl_build_keyz(b, "scripts");
    pl_build_object(b);
    pl_build_keyz(b, "generation");
    pl_build_int(b, (int64_t)status.generation);
    pl_build_put_text(b, "digest", pl_slice_z(status.digest));
    pl_build_keyz(b, "loading");
    pl_build_bool(b, status.loading);
    pl_build_keyz(b, "guarded");
    pl_build_bool(b, status.guarded);
    pl_build_keyz(b, "generations");
    pl_build_int(b, (int64_t)status.kept);
    pl_build_keyz(b, "ending");
    pl_build_int(b, (int64_t)status.ending);
    if (status.refusal != NULL)
        pl_build_put_text(b, "refused", pl_slice_z(status.refusal));
    pl_build_end(b);
}

void pl_admin_add_reload(struct pl_admin *admin, struct pl_reload *reload)
{
    static const struct pl_admin_command command = {"reload", reload_run};
    pl_admin_add(admin, &command, reload);
    pl_admin_add_status(admin, reload_build_status, reload);
}
