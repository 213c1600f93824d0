/* From an answer's bytes to documents, piece by piece. The text of a list or a watch is never kept.
 * Only its beginning is, to be quoted when it does not come from an API server (a proxy's page, a
 * login form, a redirect).
 *
 * Errors of the server become our errors here and in status.c, so that higher layers decide by
 * codes. A Table or a Status in place of objects is refused. Objects of a list get the kind and
 * apiVersion that the server leaves out. */
#include "kube/decode.h"

#include "base/text.h"
#include "kube/status.h"
#include "value/build.h"
#include "object/meta.h"

#include <stdio.h>
#include <strings.h>

#define MAX_ERROR_TEXT ((size_t)64 << 10)

int64_t pl_retry_after_ms(const struct pl_http_response *response)
{
    const char *text = pl_http_header(response, "retry-after");
    int64_t seconds = 0;
    if (text == NULL || *text == '\0' || strlen(text) > 9)
        return -1;
    for (; *text != '\0'; text++) {
        if (!pl_is_digit(*text))
            return -1;
        seconds = seconds * 10 + (*text - '0');
    }
    return seconds * 1000;
}

/* An object in another encoding, such as YAML, which may be a Secret. */
static bool may_be_object(const char *content_type)
{
    return strncasecmp(content_type, "application/", strlen("application/")) == 0;
}

/* A 200 that is not JSON: the message describes the answer. */
static void not_json(struct pl_err *err, const char *content_type, struct pl_slice text)
{
    struct pl_err quoted;
    if (may_be_object(content_type)) {
        pl_err_set(err, PL_ESYNTAX, "the answer is not JSON but %s", content_type);
        return;
    }
    pl_status_to_err(200, PL_NODE_MISSING, text, &quoted);
    pl_err_set(err, PL_ESYNTAX,
               "the answer is not JSON%s%s; is there a proxy or a login page in between? %s",
               content_type[0] ? " but " : "", content_type, quoted.message);
}

/* ---- kinds ---- */

static bool names_its_kind(struct pl_node root, const struct pl_kind *kind, bool replace)
{
    struct pl_node api_version, name;
    struct pl_scratch room[2];
    pl_meta_type(root, &api_version, &name);
    if (replace)
        return pl_kind_is(kind, pl_node_str(api_version, &room[0]), pl_node_str(name, &room[1]));
    return pl_node_type(name) == PL_STRING && pl_node_type(api_version) == PL_STRING;
}

/* Returns an object with its kind: members that lists leave out are added. With `replace`, another
 * kind is replaced (partial metadata names the kind of its object). Takes doc. */
static struct pl_doc *with_kind(struct pl_doc *doc, const struct pl_kind *kind, bool replace,
                                struct pl_pool *pool)
{
    struct pl_node root = pl_doc_root(doc);
    char api_version[PL_KIND_TEXT];
    if (pl_node_type(root) != PL_OBJECT || names_its_kind(root, kind, replace))
        return doc;
    struct pl_build *b = pl_build_create(pool);
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", pl_kind_api_version(kind, api_version));
    pl_build_put_strz(b, "kind", kind->kind);
    struct pl_iter it = pl_iter(root);
    while (pl_iter_next(&it)) {
        if (pl_slice_eqz(it.key, "apiVersion") || pl_slice_eqz(it.key, "kind"))
            continue;
        pl_build_key(b, it.key);
        pl_build_node(b, it.value);
    }
    pl_build_end(b);
    struct pl_doc *named = pl_build_close(b);
    pl_doc_unref(doc);
    return named;
}

/* ---- decoding ---- */

static enum pl_watch_type decode_type_of(struct pl_slice type)
{
    static const char names[][12] = {
        [PL_WATCH_ADDED] = "ADDED",     [PL_WATCH_MODIFIED] = "MODIFIED",
        [PL_WATCH_DELETED] = "DELETED", [PL_WATCH_BOOKMARK] = "BOOKMARK",
        [PL_WATCH_ERROR] = "ERROR",
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(names); i++) {
        if (pl_slice_eqz(type, names[i]))
            return (enum pl_watch_type)i;
    }
    return PL_WATCH_UNKNOWN;
}

static void add_event(struct pl_decoder *d, enum pl_watch_type type, struct pl_doc *object)
{
    if (type != PL_WATCH_ERROR && type != PL_WATCH_UNKNOWN)
        object = with_kind(object, &d->expected.kind, d->expected.metadata_only, d->expected.pool);
    d->changes = d->changes || type != PL_WATCH_ADDED;
    pl_docs_add(&d->items, object);
    pl_buf_add_char(&d->types, (char)type);
}

static int on_doc(void *arg, struct pl_slice type, struct pl_doc *doc)
{
    struct pl_decoder *d = arg;
    if (d->expected.form == PL_FORM_EVENTS) {
        add_event(d, decode_type_of(type), doc);
        return 0;
    }
    if (d->expected.form == PL_FORM_LIST) {
        pl_docs_add(&d->items, doc);
        return 0;
    }
    if (d->doc != NULL) {
        pl_doc_unref(doc);
        return pl_err_set(&d->err, PL_ESYNTAX, "the answer holds more than one document");
    }
    d->doc = doc;
    return 0;
}

static int on_decode_list(void *arg, struct pl_doc *list)
{
    struct pl_decoder *d = arg;
    d->doc = list;
    return 0;
}

static void on_metadata(void *arg, const struct pl_doc *metadata)
{
    struct pl_decoder *d = arg;
    struct pl_scratch scratch;
    pl_buf_clear(&d->token);
    pl_buf_add_slice(&d->token,
                     pl_node_str(pl_node_getz(pl_doc_root(metadata), "continue"), &scratch));
}

static bool is_success(const struct pl_decoder *d)
{
    return d->status >= 200 && d->status < 300;
}

static bool is_json_type(const char *content_type)
{
    return content_type == NULL || strstr(content_type, "json") != NULL;
}

static bool is_text_type(const char *content_type)
{
    return content_type != NULL && strncasecmp(content_type, "text/", 5) == 0 &&
           strstr(content_type, "json") == NULL;
}

static struct pl_scan *create_scan(struct pl_decoder *d)
{
    static const enum pl_scan_form forms[] = {[PL_FORM_OBJECT] = PL_SCAN_VALUES,
                                              [PL_FORM_LIST] = PL_SCAN_LIST,
                                              [PL_FORM_EVENTS] = PL_SCAN_WATCH};
    const struct pl_expected *expected = &d->expected;
    struct pl_scan_sink sink = {on_doc, on_decode_list, on_metadata, d};
    struct pl_scan_options options = {.pool = expected->pool,
                                      .keep_managed_fields = expected->keep_managed_fields};
    if (expected->has_kind) {
        options.replace_kind = expected->metadata_only;
        options.api_version = pl_kind_api_version(&expected->kind, d->api_version);
        options.kind = expected->kind.kind;
    }
    return pl_scan_create(forms[expected->form], &options, &sink);
}

void pl_decoder_begin(struct pl_decoder *d, const struct pl_http_response *response)
{
    const char *content_type = pl_http_header(response, "content-type");
    pl_err_clear(&d->err);
    d->status = response->status;
    d->is_json = is_json_type(content_type);
    d->is_text = d->expected.takes_text && is_success(d) && is_text_type(content_type);
    snprintf(d->content_type, sizeof d->content_type, "%s", content_type ? content_type : "");
    if (is_success(d) && d->is_json)
        d->scan = create_scan(d);
}

static int feed_text(struct pl_decoder *d, struct pl_slice piece)
{
    if (piece.len > PL_SCAN_BYTES - d->text.len)
        return pl_err_set(&d->err, PL_ELIMIT, "the text is longer than %u bytes", PL_SCAN_BYTES);
    pl_buf_add_slice(&d->text, piece);
    return 0;
}

int pl_decoder_feed(struct pl_decoder *d, struct pl_slice piece)
{
    if (d->is_text)
        return feed_text(d, piece);
    if (d->scan == NULL || d->text.len < 256) { /* errors quote the beginning */
        size_t max = d->scan == NULL ? MAX_ERROR_TEXT : 256;
        size_t room = d->text.len < max ? max - d->text.len : 0;
        pl_buf_add(&d->text, piece.ptr, piece.len < room ? piece.len : room);
    }
    if (d->scan == NULL)
        return 0;
    struct pl_err err;
    int code = pl_scan_feed(d->scan, piece, &err);
    if (code != 0 && d->err.code == 0)
        d->err = err;
    return code;
}

static int fail_with_status(struct pl_decoder *d, struct pl_err *err)
{
    if (d->status >= 300 && d->status < 400) {
        pl_err_set(err, PL_EAPI, "HTTP %d: the server redirects, which is not followed", d->status);
        err->status = d->status;
        return PL_EAPI;
    }
    struct pl_doc *doc = pl_scan_text(pl_buf_slice(&d->text), &(struct pl_scan_options){0}, NULL);
    pl_status_to_err(d->status, pl_doc_root(doc), pl_buf_slice(&d->text), err);
    if (pl_node_type(pl_doc_root(doc)) == PL_OBJECT)
        d->doc = doc;
    else
        pl_doc_unref(doc);
    return PL_EAPI;
}

static bool is_kind(const struct pl_doc *doc, const char *kind)
{
    return pl_node_str_eq(pl_node_getz(pl_doc_root(doc), "kind"), pl_slice_z(kind));
}

/* The answer is JSON; checks that it is of the requested form. */
static int check_document(struct pl_decoder *d, struct pl_err *err)
{
    if (is_kind(d->doc, "Status") &&
        pl_node_str_eq(pl_node_getz(pl_doc_root(d->doc), "status"), pl_slice_z("Failure"))) {
        pl_status_event_to_err(pl_doc_root(d->doc), err);
        return PL_EAPI;
    }
    if (is_kind(d->doc, "Table")) /* rule 56 */
        return pl_err_set(err, PL_ESYNTAX, "the server answered with a Table, not with objects");
    if (d->expected.form == PL_FORM_LIST && is_kind(d->doc, "Status"))
        return pl_err_set(err, PL_ESYNTAX, "the server answered with a Status, not with a list");
    return 0;
}

int pl_decoder_end(struct pl_decoder *d, struct pl_err *err)
{
    if (d->err.code != 0) {
        if (err != NULL)
            *err = d->err;
        return d->err.code;
    }
    if (!is_success(d))
        return fail_with_status(d, err);
    if (d->is_text)
        return 0;
    if (d->text.len == 0 &&
        d->expected.form != PL_FORM_LIST) { /* an empty body is an answer, too */
        d->is_text = d->expected.takes_text && d->content_type[0] == '\0';
        return 0;
    }
    if (!d->is_json) {
        not_json(err, d->content_type, pl_buf_slice(&d->text));
        return PL_ESYNTAX;
    }
    if (d->expected.form == PL_FORM_EVENTS)
        return 0;
    int code = pl_scan_end(d->scan, err);
    return code != 0 ? code : check_document(d, err);
}

void pl_decoder_reset(struct pl_decoder *d)
{
    pl_scan_destroy(d->scan);
    d->scan = NULL;
    pl_buf_deinit(&d->text);
    pl_doc_unref(d->doc);
    d->doc = NULL;
    pl_docs_deinit(&d->items);
    pl_buf_deinit(&d->types);
    d->changes = false;
    pl_buf_deinit(&d->token);
    d->status = 0;
    d->is_text = false;
    pl_err_clear(&d->err);
}
