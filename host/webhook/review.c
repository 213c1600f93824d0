/* Reviews: the API server's questions to a webhook, and the answers.
 *
 * All input comes from the network. A body is scanned as one document (the scanner limits depth and
 * size), and every member is checked before use: one with a wrong type is refused by name. A
 * handler's texts were made a document before, so they are valid. */
#include "webhook/review.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/text.h"
#include "format/units.h"
#include "net/http_server.h"
#include "object/meta.h"
#include "value/build.h"
#include "value/scan.h"
#include "value/write.h"

#include <string.h>

#define ADMISSION    "admission.k8s.io/v1"
#define CONVERSION   "apiextensions.k8s.io/v1"
#define MOST_NS      (30 * PL_SECOND) /* limit of the API server */
#define MOST_LESS_NS (500 * PL_MS)

static struct pl_slice text_at(struct pl_node node, const char *key, struct pl_scratch *scratch)
{
    return pl_node_str(pl_node_getz(node, key), scratch);
}

static char *dup_node(struct pl_node node)
{
    struct pl_scratch scratch;
    struct pl_slice text = pl_node_str(node, &scratch);
    return pl_text_copy(text);
}

static char *dup_text(struct pl_node node, const char *key)
{
    return dup_node(pl_node_getz(node, key));
}

/* ---- common parts ---- */

static int check_head(struct pl_node root, struct pl_node request, const char *version,
                      const char *kind, struct pl_err *err)
{
    struct pl_scratch a, b;
    if (pl_node_type(root) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "expected %s, but the body is a JSON %s", kind,
                          pl_type_name(pl_node_type(root)));
    struct pl_slice given = text_at(root, "apiVersion", &a), name = text_at(root, "kind", &b);
    if (!pl_slice_eqz(name, kind))
        return pl_err_set(err, PL_EINVAL, "expected %s, but the body is of kind \"%.*s\"", kind,
                          PL_FMT(name));
    if (!pl_slice_eqz(given, version))
        return pl_err_set(err, PL_EINVAL, "%s of version \"%.*s\" is not understood; \"%s\" is",
                          kind, PL_FMT(given), version);
    if (pl_node_type(request) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "the %s has no request", kind);
    if (text_at(request, "uid", &a).len == 0)
        return pl_err_set(err, PL_EINVAL, "the %s's request has no uid", kind);
    return 0;
}

/* ---- admission ---- */

enum member {
    DRY_RUN,
    KIND,
    RESOURCE,
    USER_INFO,
    OBJECT,
    OLD_OBJECT,
    OPTIONS,
    OPERATION,
    SUBRESOURCE,
    NAMESPACE,
    NAME,
    MEMBERS
};

static const struct {
    const char *name;
    enum pl_type type;
} members[MEMBERS] = {
    [DRY_RUN] = {"dryRun", PL_BOOL},
    [KIND] = {"kind", PL_OBJECT},
    [RESOURCE] = {"resource", PL_OBJECT},
    [USER_INFO] = {"userInfo", PL_OBJECT},
    [OBJECT] = {"object", PL_OBJECT},
    [OLD_OBJECT] = {"oldObject", PL_OBJECT},
    [OPTIONS] = {"options", PL_OBJECT},
    [OPERATION] = {"operation", PL_STRING},
    [SUBRESOURCE] = {"subResource", PL_STRING},
    [NAMESPACE] = {"namespace", PL_STRING},
    [NAME] = {"name", PL_STRING},
};

/* In one walk, since asking for each by its name would begin a walk for each. */
static void find_members(struct pl_node request, struct pl_node found[MEMBERS])
{
    struct pl_iter it = pl_iter(request);
    while (pl_iter_next(&it)) {
        for (int i = 0; i < MEMBERS; i++) {
            if (pl_slice_eqz(it.key, members[i].name))
                found[i] = it.value;
        }
    }
}

static int check_members(const struct pl_node found[MEMBERS], struct pl_err *err)
{
    struct pl_scratch scratch;
    for (int i = 0; i < MEMBERS; i++) {
        if (!pl_node_is_none(found[i]) && pl_node_type(found[i]) != members[i].type)
            return pl_err_set(err, PL_EINVAL, "request.%s must be a JSON %s, not a JSON %s",
                              members[i].name, pl_type_name(members[i].type),
                              pl_type_name(pl_node_type(found[i])));
    }
    if (pl_node_str(found[OPERATION], &scratch).len == 0)
        return pl_err_set(err, PL_EINVAL, "the AdmissionReview's request has no operation");
    if (text_at(found[KIND], "kind", &scratch).len == 0)
        return pl_err_set(err, PL_EINVAL, "the AdmissionReview's request has no kind");
    return 0;
}

static char *key_of(const struct pl_review *review, struct pl_node ns)
{
    struct pl_scratch scratch;
    struct pl_buf key = PL_BUF_INIT;
    if (*review->name == '\0')
        return pl_strdup(review->uid);
    pl_key_add(&key, pl_node_str(ns, &scratch), pl_slice_z(review->name));
    return pl_buf_take(&key);
}

static int read_admission(struct pl_review *review, struct pl_doc *doc, struct pl_node request,
                          struct pl_err *err)
{
    struct pl_node found[MEMBERS] = {{.at = NULL}};
    find_members(request, found);
    if (check_members(found, err) != 0)
        return PL_EINVAL;
    review->call->review = pl_doc_ref(doc);
    review->call->dry_run = pl_node_bool(found[DRY_RUN]);
    review->operation = dup_node(found[OPERATION]);
    review->name = dup_node(found[NAME]);
    review->group = dup_text(found[KIND], "group");
    review->kind_name = dup_text(found[KIND], "kind");
    review->key = key_of(review, found[NAMESPACE]);
    return 0;
}

/* ---- conversion ---- */

static int read_conversion(struct pl_review *review, struct pl_doc *doc, struct pl_node request,
                           struct pl_err *err)
{
    struct pl_hook_call *call = review->call;
    struct pl_node objects = pl_node_getz(request, "objects");
    if (!pl_node_is_none(objects) && pl_node_type(objects) != PL_ARRAY)
        return pl_err_set(err, PL_EINVAL, "request.objects is not an array but a JSON %s",
                          pl_type_name(pl_node_type(objects)));
    call->review = pl_doc_ref(doc);
    call->desired = dup_text(request, "desiredAPIVersion");
    review->operation = pl_strdup("CONVERT");
    review->key = pl_strdup(review->uid);
    if (*call->desired == '\0')
        return pl_err_set(err, PL_EINVAL, "the ConversionReview has no desiredAPIVersion");
    return 0;
}

static int review_check_object(struct pl_node object, size_t i, struct pl_kind *kind,
                               struct pl_err *err)
{
    if (pl_node_type(object) != PL_OBJECT)
        return pl_err_set(err, PL_EINVAL, "request.objects[%zu] is not an object", i);
    if (pl_kind_of(object, kind, err) != 0) {
        pl_err_prefix(err, "request.objects[%zu]", i);
        return err != NULL ? err->code : PL_EINVAL;
    }
    return 0;
}

int pl_review_kind(const struct pl_review *review, struct pl_kind *kind, struct pl_err *err)
{
    struct pl_node objects = pl_hook_call_objects(review->call);
    size_t count = pl_node_len(objects);
    if (count == 0)
        return pl_err_set(err, PL_ENOTFOUND, "there is nothing to convert");
    int rc = review_check_object(pl_node_at(objects, 0), 0, kind, err);
    struct pl_iter it = pl_iter(objects);
    while (rc == 0 && pl_iter_next(&it)) {
        struct pl_kind other;
        rc = review_check_object(it.value, it.index, &other, err);
        if (rc == 0 && !pl_kind_eq_group(kind, &other))
            rc = pl_err_set(err, PL_EINVAL, "request.objects has objects of several kinds");
    }
    return rc;
}

static struct pl_node failed_object(const struct pl_review *review)
{
    return pl_node_at(pl_hook_call_objects(review->call), review->call->answer.count);
}

char *pl_review_failed_name(const struct pl_review *review)
{
    return dup_text(pl_node_getz(failed_object(review), "metadata"), "name");
}

char *pl_review_failed_key(const struct pl_review *review)
{
    struct pl_buf key = PL_BUF_INIT;
    if (review->call->sort != PL_HOOK_CONVERT)
        return pl_strdup(review->key);
    pl_meta_put_key(failed_object(review), &key);
    return pl_buf_take(&key);
}

/* ---- reading ---- */

int pl_review_read(struct pl_slice body, enum pl_hook_sort sort, struct pl_review *review,
                   struct pl_err *err)
{
    bool converts = sort == PL_HOOK_CONVERT;
    const struct pl_scan_options options = {.keep_managed_fields = true};
    *review = (struct pl_review){.call = NULL};
    struct pl_doc *doc = pl_scan_text(body, &options, err);
    if (doc == NULL) {
        pl_err_prefix(err, "the body is not JSON");
        return PL_EINVAL;
    }
    struct pl_node root = pl_doc_root(doc), request = pl_node_getz(root, "request");
    int rc = check_head(root, request, converts ? CONVERSION : ADMISSION,
                        converts ? "ConversionReview" : "AdmissionReview", err);
    if (rc == 0) {
        review->call = pl_hook_call_create(sort);
        review->uid = dup_text(request, "uid");
        rc = converts ? read_conversion(review, doc, request, err)
                      : read_admission(review, doc, request, err);
    }
    pl_doc_unref(doc);
    if (rc != 0)
        pl_review_deinit(review);
    return rc;
}

void pl_review_deinit(struct pl_review *review)
{
    pl_hook_call_unref(review->call);
    pl_free(review->uid);
    pl_free(review->key);
    pl_free(review->operation);
    pl_free(review->name);
    pl_free(review->group);
    pl_free(review->kind_name);
    *review = (struct pl_review){.call = NULL};
}

bool pl_review_timeout(struct pl_slice query, int64_t *ns)
{
    struct pl_buf text = PL_BUF_INIT;
    bool given = pl_query_get(query, "timeout", &text) &&
                 pl_duration_parse(pl_buf_slice(&text), ns) && *ns > 0;
    pl_buf_deinit(&text);
    if (given && *ns > MOST_NS)
        *ns = MOST_NS;
    return given;
}

int64_t pl_review_deadline(int64_t timeout_ns)
{
    int64_t less = timeout_ns / 10;
    return timeout_ns - (less < MOST_LESS_NS ? less : MOST_LESS_NS);
}

/* ---- answers ---- */

static struct pl_node said_of(const struct pl_review *review, const char *key)
{
    return pl_node_getz(pl_doc_root(review->call->answer.said), key);
}

bool pl_review_is_denied(const struct pl_review *review)
{
    return review->call->sort != PL_HOOK_CONVERT && !pl_node_bool(said_of(review, "allowed"));
}

static void put_member(struct pl_build *b, const char *name, struct pl_node from, const char *key)
{
    struct pl_scratch scratch;
    pl_build_put_str(b, name, text_at(from, key, &scratch));
}

static void put_causes(struct pl_build *b, struct pl_node causes)
{
    pl_build_keyz(b, "causes");
    pl_build_array(b);
    struct pl_iter it = pl_iter(causes);
    while (pl_iter_next(&it)) {
        pl_build_object(b);
        pl_build_put_strz(b, "reason", "FieldValueInvalid");
        put_member(b, "message", it.value, "message");
        put_member(b, "field", it.value, "field");
        pl_build_end(b);
    }
    pl_build_end(b);
}

static void put_details(struct pl_build *b, const struct pl_review *review, struct pl_node causes)
{
    pl_build_keyz(b, "details");
    pl_build_object(b);
    if (*review->name != '\0')
        pl_build_put_strz(b, "name", review->name);
    if (*review->group != '\0')
        pl_build_put_strz(b, "group", review->group);
    pl_build_put_strz(b, "kind", review->kind_name);
    put_causes(b, causes);
    pl_build_end(b);
}

static void add_denial(struct pl_buf *out, const struct pl_review *review)
{
    struct pl_node causes = said_of(review, "causes");
    bool invalid = !pl_node_is_missing(causes);
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "status", "Failure");
    put_member(b, "message", pl_doc_root(review->call->answer.said), "message");
    pl_build_put_strz(b, "reason", invalid ? "Invalid" : "Forbidden");
    if (invalid)
        put_details(b, review, causes);
    pl_build_put_int(b, "code", invalid ? 422 : 403);
    pl_build_end(b);
    pl_buf_add_z(out, ",\"status\":");
    pl_build_write(out, b, PL_WRITE_COMPACT);
}

static void add_patch(struct pl_buf *out, const struct pl_doc *patch)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, pl_doc_root(patch), PL_WRITE_COMPACT);
    pl_buf_add_z(out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
    pl_base64_encode(pl_buf_slice(&text), out);
    pl_buf_add_char(out, '"');
    pl_buf_deinit(&text);
}

static void add_said(struct pl_buf *out, const char *head, struct pl_node said)
{
    if (pl_node_is_none(said))
        return;
    pl_buf_add_z(out, head);
    pl_write(out, said, PL_WRITE_COMPACT);
}

static void begin_answer(const struct pl_review *review, const char *head, struct pl_buf *out)
{
    pl_buf_add_z(out, head);
    pl_write_str(out, pl_slice_z(review->uid));
}

/* Written directly, since most answers are short and alike. */
static void answer_admission(const struct pl_review *review, struct pl_buf *out)
{
    const struct pl_hook_call *call = review->call;
    bool denied = pl_review_is_denied(review);
    begin_answer(review,
                 "{\"apiVersion\":\"" ADMISSION
                 "\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":",
                 out);
    pl_buf_add_z(out, denied ? ",\"allowed\":false" : ",\"allowed\":true");
    if (denied)
        add_denial(out, review);
    else if (call->answer.patch != NULL)
        add_patch(out, call->answer.patch);
    add_said(out, ",\"warnings\":", said_of(review, "warnings"));
    add_said(out, ",\"auditAnnotations\":", said_of(review, "audit"));
    pl_buf_add_z(out, "}}");
}

static void begin_conversion(const struct pl_review *review, struct pl_buf *out)
{
    begin_answer(review,
                 "{\"apiVersion\":\"" CONVERSION
                 "\",\"kind\":\"ConversionReview\",\"response\":{\"uid\":",
                 out);
}

/* The objects are written directly, since there may be thousands. */
static void answer_conversion(const struct pl_review *review, struct pl_buf *out)
{
    const struct pl_hook_call *call = review->call;
    begin_conversion(review, out);
    pl_buf_add_z(out, ",\"convertedObjects\":[");
    for (size_t i = 0; i < call->answer.count; i++) {
        if (i > 0)
            pl_buf_add_char(out, ',');
        pl_write(out, pl_doc_root(call->answer.objects[i]), PL_WRITE_COMPACT);
    }
    pl_buf_add_z(out, "],\"result\":{\"status\":\"Success\"}}}");
}

void pl_review_answer(const struct pl_review *review, struct pl_buf *out)
{
    if (review->call->sort == PL_HOOK_CONVERT)
        answer_conversion(review, out);
    else
        answer_admission(review, out);
}

void pl_review_refuse(const struct pl_review *review, const char *message, struct pl_buf *out)
{
    begin_conversion(review, out);
    pl_buf_add_z(out, ",\"result\":{\"status\":\"Failure\",\"message\":");
    struct pl_buf valid = PL_BUF_INIT;
    pl_utf8_repair(pl_slice_z(message), &valid);
    pl_write_str(out, pl_buf_slice(&valid));
    pl_buf_deinit(&valid);
    pl_buf_add_z(out, "}}}");
}
