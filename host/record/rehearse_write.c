/* Writes of a rehearsal become effects of a capture (write/capture.h). Recorded writes are
 * processed like new ones, so that additions of the server make no difference. Values of Secrets
 * are pseudonyms and are not compared. */
#include "record/rehearse_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "format/units.h"
#include "object/kind.h"
#include "object/meta.h"
#include "value/scan.h"
#include "value/write.h"
#include "write/compare.h"

#include <stdio.h>
#include <string.h>

static const char *verb_of_text(struct pl_slice verb)
{
    static const char verbs[][20] = {"create", "update", "patch",
                                     "apply",  "delete", "deletecollection"};
    for (size_t i = 0; i < PL_ARRAY_LEN(verbs); i++)
        if (pl_slice_eqz(verb, verbs[i]))
            return verbs[i];
    return NULL;
}

static enum pl_verb intent_verb(const char *verb)
{
    return strcmp(verb, "create") == 0   ? PL_VERB_CREATE
           : strcmp(verb, "update") == 0 ? PL_VERB_UPDATE
           : strcmp(verb, "delete") == 0 ? PL_VERB_DELETE
                                         : PL_VERB_PATCH;
}

static struct pl_slice member(struct pl_node request, const char *name, struct pl_scratch *scratch)
{
    struct pl_node node = pl_node_getz(request, name);
    return pl_node_type(node) == PL_STRING ? pl_node_str(node, scratch) : pl_slice("", 0);
}

static enum pl_patch_type patch_type_of(const char *verb, struct pl_node request)
{
    struct pl_scratch scratch;
    struct pl_slice type = member(request, "patch_type", &scratch);
    if (strcmp(verb, "apply") == 0)
        return PL_PATCH_APPLY;
    if (pl_slice_eqz(type, "json"))
        return PL_PATCH_JSON;
    return pl_slice_eqz(type, "strategic") ? PL_PATCH_STRATEGIC : PL_PATCH_MERGE;
}

struct pl_doc *pl_rehearse_scan(struct pl_slice text)
{
    const struct pl_scan_options options = {.keep_managed_fields = true};
    struct pl_err err;
    pl_err_clear(&err);
    return pl_scan_text(text, &options, &err);
}

/* A copy in which all pseudonyms are equal. Returns a reference that the caller owns. */
static struct pl_doc *comparable(const struct record_rehearsal *rehearsal, struct pl_node node,
                                 const struct pl_kind *kind)
{
    char name[PL_KIND_TEXT];
    struct pl_doc *bare = pl_intent_bare(node), *level = NULL;
    if (bare == NULL || rehearsal->veil == NULL)
        return bare;
    struct pl_buf text = PL_BUF_INIT, veiled = PL_BUF_INIT;
    pl_buf_add_f(&text, "{\"kind\":\"%s\",\"body\":", pl_kind_text(kind, name));
    pl_write(&text, pl_doc_root(bare), PL_WRITE_COMPACT);
    pl_buf_add_char(&text, '}');
    struct pl_doc *request = pl_rehearse_scan(pl_buf_slice(&text));
    if (request != NULL) {
        pl_veil_write(rehearsal->veil, pl_doc_root(request), &veiled);
        pl_buf_clear(&text);
        if (pl_veil_level(pl_buf_slice(&veiled), &text))
            rehearsal->out->veiled = true;
        level = pl_rehearse_scan(pl_buf_slice(&text));
    }
    struct pl_doc *body =
        level != NULL ? pl_doc_from_node(pl_node_getz(pl_doc_root(level), "body"), NULL) : NULL;
    pl_buf_deinit(&text);
    pl_buf_deinit(&veiled);
    pl_doc_unref(request);
    pl_doc_unref(level);
    pl_doc_unref(bare);
    return body;
}

/* ---- objects ---- */

struct pl_doc *pl_rehearse_found(const struct record_rehearsal *rehearsal,
                                 const struct pl_kind *kind, struct pl_slice key)
{
    struct pl_doc *doc = pl_known_get(&rehearsal->found, kind, key);
    return pl_doc_ref(doc != NULL ? doc : pl_known_get(&rehearsal->known, kind, key));
}

bool pl_rehearse_is_apart(const struct record_rehearsal *rehearsal, const struct pl_kind *kind,
                          struct pl_slice key)
{
    char *name = pl_known_name(kind, key);
    bool apart = pl_map_has(&rehearsal->apart, pl_slice_z(name));
    pl_free(name);
    return apart;
}

/* ---- writes ---- */

struct writing {
    const char *verb;
    struct pl_kind kind;
    struct pl_buf key, name;
};

static bool read_writing(struct pl_node request, struct writing *writing)
{
    struct pl_scratch s[5];
    struct pl_err err;
    pl_err_clear(&err);
    struct pl_slice kind = member(request, "kind", &s[0]),
                    sub = member(request, "subresource", &s[1]);
    *writing = (struct writing){.verb = verb_of_text(member(request, "verb", &s[2]))};
    if (writing->verb == NULL || pl_kind_parse(kind, &writing->kind, &err) != 0)
        return false;
    pl_key_add(&writing->key, member(request, "namespace", &s[3]), member(request, "name", &s[4]));
    pl_buf_add_f(&writing->name, "%.*s %s%s%.*s", PL_FMT(kind), pl_buf_z(&writing->key),
                 sub.len > 0 ? " " : "", PL_FMT(sub));
    return true;
}

static void end_writing(struct writing *writing)
{
    pl_buf_deinit(&writing->key);
    pl_buf_deinit(&writing->name);
}

bool pl_rehearse_writes_apart(const struct record_rehearsal *rehearsal, struct pl_node request)
{
    struct writing writing;
    bool apart = read_writing(request, &writing) &&
                 pl_rehearse_is_apart(rehearsal, &writing.kind, pl_buf_slice(&writing.key));
    end_writing(&writing);
    return apart;
}

bool pl_rehearse_has_written(struct pl_slice result)
{
    struct pl_bytes from = pl_bytes_of(result);
    if (result.ptr == NULL || pl_bytes_int(&from) < 2 || pl_bytes_char(&from) != 'f')
        return false;
    return pl_text_find(result, "\"skipped\":true") == NULL;
}

static int merge(struct record_rehearsal *rehearsal, struct pl_node request,
                 const struct writing *writing, struct pl_doc *existing, struct pl_doc **after,
                 struct pl_err *err)
{
    char made_up[40], now[40];
    struct pl_scratch scratch;
    pl_time_text(rehearsal->wall_ns, 0, now);
    snprintf(made_up, sizeof made_up, PL_MADE_UP "%u", ++rehearsal->made_up);
    const struct pl_intent intent = {
        .verb = intent_verb(writing->verb),
        .patch_type = patch_type_of(writing->verb, request),
        .kind = &writing->kind,
        .is_status = pl_slice_eqz(member(request, "subresource", &scratch), "status"),
        .body = pl_node_getz(request, "body"),
        .existing = pl_doc_root(existing),
        .made_up = made_up,
        .now = now};
    return pl_intent_merge(&intent, after, err);
}

/* The object as the run sees it: its own write, else what it found. */
static struct pl_doc *find_existing(const struct record_rehearsal *rehearsal,
                                    struct pl_capture *capture, const struct writing *writing)
{
    struct pl_doc *doc = NULL;
    if (pl_capture_sees(capture, &writing->kind, pl_buf_slice(&writing->key), &doc))
        return doc;
    return pl_rehearse_found(rehearsal, &writing->kind, pl_buf_slice(&writing->key));
}

static void note_writing(struct record_rehearsal *rehearsal, enum pl_rehearsed whose,
                         const struct writing *writing)
{
    struct pl_slice key = pl_buf_slice(&writing->key);
    if (whose == PL_REHEARSED_RECORDED)
        pl_known_keep(&rehearsal->found, &writing->kind, key);
    if (whose != PL_REHEARSED_OTHER)
        return;
    char *name = pl_known_name(&writing->kind, key);
    pl_map_put(&rehearsal->apart, pl_slice_z(name), NULL);
    pl_free(name);
}

int pl_rehearse_write(struct record_rehearsal *rehearsal, enum pl_rehearsed whose,
                      struct pl_node request, struct pl_doc **object, bool *skipped,
                      struct pl_err *err)
{
    struct pl_capture *capture =
        whose == PL_REHEARSED_RECORDED ? rehearsal->recorded : rehearsal->candidate;
    struct writing writing;
    *object = NULL;
    *skipped = false;
    if (!read_writing(request, &writing)) {
        end_writing(&writing);
        return 0;
    }
    struct pl_doc *existing = find_existing(rehearsal, capture, &writing);
    int rc = merge(rehearsal, request, &writing, existing, object, err);
    struct pl_effect effect = {
        .name = (char *)pl_buf_z(&writing.name),
        .verb = writing.verb,
        .is_write = true,
        .is_secret = pl_kind_is_secret(&writing.kind),
        .before = comparable(rehearsal, pl_doc_root(existing), &writing.kind),
        .after = comparable(rehearsal, pl_doc_root(*object), &writing.kind),
        .sent = comparable(rehearsal, pl_node_getz(request, "body"), &writing.kind)};
    *skipped = rc == 0 && effect.before != NULL && effect.after != NULL &&
               pl_node_equal(pl_doc_root(effect.before), pl_doc_root(effect.after));
    if (rc == 0 && !*skipped) {
        pl_capture_show(capture, &writing.kind, pl_buf_slice(&writing.key), *object, false);
        pl_capture_add(capture, &effect);
        note_writing(rehearsal, whose, &writing);
    } else {
        pl_doc_unref(effect.before);
        pl_doc_unref(effect.after);
        pl_doc_unref(effect.sent);
    }
    pl_doc_unref(existing);
    end_writing(&writing);
    return rc;
}
