/* Listens to the log, to reloads and to shadows, and keeps the latest of each as JSON in a ring. */
#include "page/record.h"

#include "base/log.h"
#include "value/build.h"
#include "value/write.h"

#define LINE_MAX ((size_t)4 << 10)

static void record_keep(struct pl_ring *ring, struct pl_node item)
{
    struct pl_buf json = PL_BUF_INIT;
    pl_write(&json, item, PL_WRITE_COMPACT);
    pl_ring_add(ring, pl_buf_slice(&json));
    pl_buf_deinit(&json);
}

/* Takes the builder, whose object is open. */
static void keep_built(struct pl_ring *ring, struct pl_build *b)
{
    pl_build_end(b);
    struct pl_doc *item = pl_build_close(b);
    record_keep(ring, pl_doc_root(item));
    pl_doc_unref(item);
}

static void on_log(void *arg, enum pl_log_level level, struct pl_slice line)
{
    struct pl_record *record = arg;
    struct pl_build *b = pl_build_create(NULL);
    while (line.len > 0 && line.ptr[line.len - 1] == '\n')
        line.len--;
    pl_build_object(b);
    pl_build_put_strz(b, "level", pl_log_level_name(level));
    pl_build_put_text(b, "text", pl_slice(line.ptr, line.len < LINE_MAX ? line.len : LINE_MAX));
    keep_built(record->log, b);
}

static void on_reload(void *arg, const struct pl_reload_news *news)
{
    static const char kinds[][12] = {[PL_NEWS_APPLIED] = "applied",
                                     [PL_NEWS_REFUSED] = "refused",
                                     [PL_NEWS_GUARD_OVER] = "guard over",
                                     [PL_NEWS_ROLLED_BACK] = "rolled back"};
    struct pl_record *record = arg;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "what", kinds[news->kind]);
    pl_build_put_int(b, "generation", (int64_t)news->generation);
    if (news->trigger != NULL)
        pl_build_put_text(b, "trigger", pl_slice_z(news->trigger));
    pl_build_put_text(b, "text", news->text);
    pl_build_put_int(b, "at_ms", news->at_ns / PL_MS);
    keep_built(record->reloads, b);
}

static bool begins(struct pl_doc *line)
{
    struct pl_scratch scratch;
    return pl_slice_eqz(pl_node_str(pl_node_getz(pl_doc_root(line), "type"), &scratch), "begun");
}

static void on_shadow(void *arg, struct pl_doc *line, const struct pl_err *err)
{
    struct pl_record *record = arg;
    if (line != NULL) {
        if (begins(line))
            pl_ring_clear(record->shadow);
        record_keep(record->shadow, pl_doc_root(line));
    } else if (err != NULL) {
        struct pl_build *b = pl_build_create(NULL);
        pl_build_object(b);
        pl_build_put_strz(b, "type", "error");
        pl_build_put_text(b, "message", pl_slice_z(err->message));
        keep_built(record->shadow, b);
    }
}

void pl_record_begin(struct pl_record *record, struct pl_reload *reload, struct pl_shadow *shadow)
{
    *record = (struct pl_record){.log = pl_ring_create(1000, (size_t)512 << 10),
                                 .reloads = pl_ring_create(64, (size_t)256 << 10),
                                 .shadow = pl_ring_create(1000, (size_t)2 << 20),
                                 .reload_of = reload,
                                 .shadow_of = shadow};
    pl_log_set_tap(on_log, record);
    pl_reload_listen(reload, on_reload, record);
    pl_shadow_listen(shadow, on_shadow, record);
}

void pl_record_end(struct pl_record *record)
{
    pl_log_set_tap(NULL, NULL);
    pl_reload_listen(record->reload_of, NULL, NULL);
    pl_shadow_listen(record->shadow_of, NULL, NULL);
    pl_ring_destroy(record->log);
    pl_ring_destroy(record->reloads);
    pl_ring_destroy(record->shadow);
}
