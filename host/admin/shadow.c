/* The admin commands "shadow" and "shadow_stop". */
#include "base/alloc.h"
#include "admin/admin.h"
#include "reload/shadow.h"

#define PATHS_MAX 64

struct asked {
    struct pl_admin_call *call;
    struct pl_shadow *shadow;
};

static void on_shadow_line(void *arg, struct pl_doc *line)
{
    struct asked *asked = arg;
    pl_admin_more(asked->call, pl_doc_ref(line));
}

static struct pl_doc *last_line(void)
{
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_keyz(b, "type");
    pl_build_strz(b, "end");
    pl_build_end(b);
    return pl_build_close(b);
}

static void on_shadow_ended(void *arg, const struct pl_err *err)
{
    struct asked *asked = arg;
    if (err != NULL)
        pl_admin_fail(asked->call, "%s", err->message);
    else
        pl_admin_reply(asked->call, last_line());
    pl_free(asked);
}

static void on_shadow_gone(void *arg)
{
    struct asked *asked = arg;
    pl_shadow_abort(asked->shadow, "the client went away");
}

static int64_t shadow_number_of(struct pl_admin_call *call, const char *name)
{
    int64_t value = 0;
    pl_node_int(pl_node_getz(pl_admin_request(call), name), &value);
    return value > 0 ? value : 0;
}

static void shadow_run(void *arg, struct pl_admin_call *call)
{
    const char *paths[PATHS_MAX];
    struct pl_scratch scratch;
    struct pl_err err;
    size_t count = 0;
    struct pl_buf texts[PATHS_MAX] = {{0}};
    for (struct pl_iter it = pl_iter(pl_node_getz(pl_admin_request(call), "paths"));
         pl_iter_next(&it) && count < PATHS_MAX;) {
        pl_buf_add_slice(&texts[count], pl_node_str(it.value, &scratch));
        paths[count] = pl_buf_z(&texts[count]);
        count++;
    }
    struct asked *asked = PL_NEW(struct asked);
    asked->call = call;
    asked->shadow = arg;
    struct pl_shadow_request request = {
        .paths = paths,
        .path_count = count,
        .duration_ns = shadow_number_of(call, "duration_ns"),
        .keys = shadow_number_of(call, "keys"),
        .line = on_shadow_line,
        .ended = on_shadow_ended,
        .arg = asked,
    };
    pl_err_clear(&err);
    int code = count == 0 ? pl_err_set(&err, PL_EINVAL, "a shadow needs paths")
                          : pl_shadow_begin(arg, &request, &err);
    if (code != 0) {
        pl_admin_fail(call, "%s", err.message);
        pl_free(asked);
    } else {
        pl_admin_on_gone(call, on_shadow_gone, asked);
    }
    for (size_t i = 0; i < count; i++)
        pl_buf_deinit(&texts[i]);
}

static void shadow_stop_one(void *arg, struct pl_admin_call *call)
{
    if (pl_shadow_finish(arg))
        pl_admin_reply(call, last_line());
    else
        pl_admin_fail(call, "there is no shadow");
}

void pl_admin_add_shadow(struct pl_admin *admin, struct pl_shadow *shadow)
{
    static const struct pl_admin_command begin = {"shadow", shadow_run},
                                         end = {"shadow_stop", shadow_stop_one};
    pl_admin_add(admin, &begin, shadow);
    pl_admin_add(admin, &end, shadow);
}
