/* Perilune and the embedded server write these bodies and events, so values are found by their
 * text, without decoding documents that the host decodes anyway. */
#include "world/point_details.h"

#include "base/alloc.h"
#include "base/text.h"
#include "value/doc.h"
#include "value/scan.h"

#include <string.h>

/* The string that begins at `at`, into a buffer of `size`. */
static void copy_string(char *out, size_t size, struct pl_slice text, const char *at)
{
    size_t i = 0;
    const char *end = text.ptr + text.len;
    while (at < end && *at != '"' && i + 1 < size)
        out[i++] = *at++;
    out[i] = '\0';
}

/* metadata.name of a body. */
static char *name_in(struct pl_slice body)
{
    struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_doc *doc = body.len > 0 ? pl_scan_text(body, &options, &err) : NULL;
    if (doc == NULL)
        return pl_strdup("");
    struct pl_scratch scratch;
    struct pl_node meta = pl_node_getz(pl_doc_root(doc), "metadata");
    struct pl_node node = pl_node_getz(meta, "name");
    struct pl_slice name = pl_node_is_missing(node) ? pl_slice("", 0) : pl_node_str(node, &scratch);
    char *copy = pl_text_copy(name);
    pl_doc_unref(doc);
    return copy;
}

static struct pl_slice details_key_of(const struct pl_target *target)
{
    const char *space = strchr(target->object, ' ');
    return pl_slice_z(space != NULL ? space + 1 : "");
}

static char *whole_key(const struct pl_target *target, const char *name)
{
    struct pl_slice key = details_key_of(target);
    if (strcmp(target->verb, "create") != 0 || target->subresource[0] != '\0')
        return pl_text_copy(key);
    if (name[0] == '\0')
        return pl_strdup("");
    return pl_format("%.*s%s%s", PL_FMT(key), key.len > 0 ? "/" : "", name);
}

void pl_point_details_request(struct pl_point_details *about, struct pl_point *point,
                              const struct pl_target *target, struct pl_slice body, pl_who_fn who,
                              void *arg)
{
    bool creates = strcmp(target->verb, "create") == 0;
    about->name = creates ? name_in(body) : pl_strdup("");
    point->name = about->name;
    point->body = body;
    point->versioned = target->writes && pl_text_find(body, "\"resourceVersion\":\"") != NULL;
    char *key = whole_key(target, about->name);
    const struct pl_sought asked = {pl_slice_z(target->resource), pl_slice_z(key), target->writes};
    bool reads_many = strcmp(target->verb, "watch") == 0;
    if (who != NULL && !reads_many && who(arg, &asked, &about->asker)) {
        point->controller = about->asker.controller;
        point->key = about->asker.key;
        point->run_id = about->asker.run;
        point->line = about->asker.line;
        point->api_kind = about->asker.kind;
    }
    pl_free(key);
}

static const char *event_verb(struct pl_slice text)
{
    static const char verbs[][12] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct pl_slice head = pl_slice(text.ptr, text.len < 40 ? text.len : 40);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (pl_text_find(head, verbs[i]) != NULL)
            return verbs[i];
    return "";
}

void pl_point_details_event(struct pl_point_details *about, struct pl_point *point,
                            struct pl_slice text)
{
    static const char mark[] = "\"resourceVersion\":\"";
    const char *meta = pl_text_find(text, "\"metadata\":");
    about->version[0] = '\0';
    if (meta != NULL) {
        struct pl_slice rest = pl_slice(meta, (size_t)(text.ptr + text.len - meta));
        const char *at = pl_text_find(rest, mark);
        if (at != NULL)
            copy_string(about->version, sizeof about->version, text, at + strlen(mark));
    }
    point->verb = event_verb(text);
    point->version = about->version;
}

void pl_point_details_deinit(struct pl_point_details *about)
{
    pl_free(about->name);
}

bool pl_ran_failed(const struct pl_ran *ran)
{
    return ran->outcome->outcome == PL_OUTCOME_ERROR ||
           ran->outcome->outcome == PL_OUTCOME_TERMINAL;
}

void pl_point_details_ran(const struct pl_chooser *chooser, const char *host,
                          const char *controller, const struct pl_ran *ran)
{
    struct pl_disturbance none = {PL_ACT_GO, 0, NULL, 0, 0};
    bool failed = pl_ran_failed(ran);
    char *key = pl_text_copy(ran->run->key);
    const struct pl_point point = {
        .kind = PL_POINT_RAN,
        .host = host,
        .controller = controller,
        .key = key,
        .run_id = ran->run->id,
        .line = ran->outcome->traceback,
        .message = failed ? ran->outcome->message : "",
        .by_script = failed && ran->outcome->by_script,
        .delayed = !failed && ran->outcome->after_ns > 0,
    };
    chooser->at(chooser->arg, &point, &none);
    pl_free(key);
}

void pl_point_details_fault(const struct pl_chooser *chooser, const char *host,
                            const struct pl_ask_fault *fault)
{
    struct pl_disturbance none = {PL_ACT_GO, 0, NULL, 0, 0};
    char *key = pl_text_copy(fault->key);
    const struct pl_point point = {
        .kind = PL_POINT_FAULT,
        .host = host,
        .controller = fault->controller,
        .key = key,
        .api_kind = fault->kind,
        .line = fault->traceback,
        .message = fault->message,
    };
    chooser->at(chooser->arg, &point, &none);
    pl_free(key);
}
