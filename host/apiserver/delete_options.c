/* DeleteOptions: from a body in JSON, YAML or protobuf, or without a body from the query. A body
 * replaces the whole query. Faults are told together, in kube-apiserver's words. */
#include "apicall/body.h"
#include "apicall/protobuf.h"
#include "apiserver/steps.h"
#include "apiserver/write.h"
#include "format/yaml.h"
#include "gotype/typed.h"
#include "schema/go_words.h"
#include "value/scan.h"

#define UNSAFE "ignoreStoreReadErrorWithClusterBreakingPotential"

static void check_policy(struct pl_api_faults *faults, const struct pl_tree *tree)
{
    static const char known[][12] = {"Background", "Foreground", "Orphan"};
    const struct pl_tree *given = pl_tree_getz(tree, "propagationPolicy");
    struct pl_slice policy = pl_tree_text(given);
    if (!pl_tree_is(given, PL_STRING))
        return;
    if (pl_tree_is(pl_tree_getz(tree, "orphanDependents"), PL_BOOL))
        pl_api_fault(faults, "FieldValueInvalid", pl_slice_z("propagationPolicy"),
                     "Invalid value: \"%.*s\": orphanDependents and deletionPropagation cannot be "
                     "both set",
                     PL_FMT(policy));
    for (size_t i = 0; i < PL_ARRAY_LEN(known); i++)
        if (pl_slice_eqz(policy, known[i]))
            return;
    pl_api_fault(faults, "FieldValueNotSupported", pl_slice_z("propagationPolicy"),
                 "Unsupported value: \"%.*s\": supported values: \"Foreground\", \"Background\", "
                 "\"Orphan\", \"nil\"",
                 PL_FMT(policy));
}

/* The kind of the body, if the body names it. */
static int check_options_kind(struct pl_api_ctx *ctx, const struct pl_tree *tree)
{
    struct pl_slice kind = pl_tree_text_at(tree, "kind");
    struct pl_slice version = pl_tree_text_at(tree, "apiVersion");
    if (kind.len == 0 || pl_slice_eqz(kind, "DeleteOptions"))
        return 0;
    return pl_api_bad_request(&ctx->status,
                              "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                              "\"pkg/runtime/scheme.go:111\"",
                              PL_FMT(kind), PL_FMT(version));
}

static struct pl_doc *scan_options(struct pl_api_ctx *ctx, struct pl_err *err)
{
    if (ctx->request.body_form != PL_API_YAML)
        return pl_scan_text(ctx->request.call.body,
                            &(struct pl_scan_options){.replace_surrogates = true}, err);
    struct pl_docs docs = {0};
    struct pl_doc *doc = NULL;
    if (pl_yaml_decode(ctx->request.call.body, &docs, err) == 0 && docs.count > 0)
        doc = pl_doc_ref(docs.items[0]);
    pl_docs_deinit(&docs);
    return doc;
}

static struct pl_tree *parse_options(struct pl_api_ctx *ctx)
{
    struct pl_err err = {0};
    if (ctx->request.body_form == PL_API_PROTOBUF)
        return pl_api_body_protobuf(ctx, "DeleteOptions");
    if (ctx->request.body_form != PL_API_JSON && ctx->request.body_form != PL_API_YAML) {
        pl_api_fail_body_form(&ctx->status);
        return NULL;
    }
    struct pl_doc *doc = scan_options(ctx, &err);
    struct pl_tree *tree = pl_tree_from_node(&ctx->arena, pl_doc_root(doc));
    if (doc == NULL) {
        bool yaml = ctx->request.body_form == PL_API_YAML;
        const char *why = yaml ? pl_go_yaml_fault(&ctx->arena, &err)
                               : pl_go_json_fault(&ctx->arena, ctx->request.call.body);
        pl_api_bad_request(&ctx->status, "couldn't get version/kind; json parse error: %s",
                           why != NULL ? why : err.message);
    } else if (!pl_tree_is(tree, PL_OBJECT) && !pl_tree_is(tree, PL_NULL)) {
        pl_api_bad_request(&ctx->status, "couldn't get version/kind; json parse error: %s",
                           pl_api_no_object(ctx, pl_doc_root(doc)));
        tree = NULL;
    } else if (check_options_kind(ctx, tree) != 0) {
        tree = NULL;
    }
    pl_doc_unref(doc);
    if (tree == NULL || !pl_tree_is(tree, PL_OBJECT))
        return tree;
    struct pl_typed t = {.arena = &ctx->arena};
    struct pl_message type = pl_api_proto_type(pl_slice_z("v1"), pl_slice_z("DeleteOptions"));
    if (pl_typed_read(&t, tree, type) == 0)
        return tree;
    pl_api_bad_request(&ctx->status, "%.*s", PL_FMT(t.error));
    return NULL;
}

/* The options that the query has, in the form of a body. */
static struct pl_tree *options_of_query(struct pl_api_ctx *ctx)
{
    struct pl_arena *arena = &ctx->arena;
    const struct pl_api_request *request = &ctx->request;
    struct pl_tree *tree = pl_tree_object(arena);
    if (request->has_grace)
        pl_tree_setz(arena, tree, "gracePeriodSeconds", pl_tree_int(arena, request->grace_s));
    if (request->has_orphan)
        pl_tree_setz(arena, tree, "orphanDependents", pl_tree_bool(arena, request->orphan));
    if (request->propagation.ptr != NULL)
        pl_tree_setz(arena, tree, "propagationPolicy", pl_tree_str(arena, request->propagation));
    if (request->dry.ptr != NULL)
        pl_tree_push(arena, pl_tree_default(arena, tree, "dryRun", pl_tree_array(arena)),
                     pl_tree_str(arena, request->dry));
    if (request->ignore_unreadable)
        pl_tree_setz(arena, tree, UNSAFE, pl_tree_bool(arena, true));
    return tree;
}

static void read_options(const struct pl_tree *tree, struct pl_api_delete_options *options)
{
    const struct pl_tree *orphan = pl_tree_getz(tree, "orphanDependents");
    const struct pl_tree *unsafe = pl_tree_getz(tree, UNSAFE);
    const struct pl_tree *dry = pl_tree_getz(tree, "dryRun");
    *options = (struct pl_api_delete_options){.is_graceful = true, .is_asked = true};
    options->uid = pl_tree_text_at(tree, "preconditions.uid");
    options->rv = pl_tree_text_at(tree, "preconditions.resourceVersion");
    options->policy = pl_tree_text_at(tree, "propagationPolicy");
    if (options->policy.len == 0 && pl_tree_is(orphan, PL_BOOL))
        options->policy = pl_slice_z(orphan->boolean ? "Orphan" : "Background");
    options->has_grace =
        pl_tree_integer(pl_tree_getz(tree, "gracePeriodSeconds"), &options->grace_s);
    options->dry_run = pl_tree_is(dry, PL_ARRAY) && dry->count > 0;
    options->is_unsafe = pl_tree_is(unsafe, PL_BOOL) && unsafe->boolean;
    options->says_no_orphans = pl_tree_is(orphan, PL_BOOL) && !orphan->boolean;
}

/* The options as webhooks are told of them, without unknown and empty members. */
static struct pl_tree *show_options(struct pl_arena *arena, const struct pl_tree *tree)
{
    static const char *const members[] = {"gracePeriodSeconds", "preconditions", "orphanDependents",
                                          "propagationPolicy",  "dryRun",        UNSAFE};
    struct pl_tree *shown =
        pl_tree_literal(arena, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"meta.k8s.io/v1\"}");
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        const struct pl_tree *value = pl_tree_getz(tree, members[i]);
        bool is_empty = pl_tree_is(value, PL_ARRAY) && value->count == 0;
        if (value != NULL && !pl_tree_is(value, PL_NULL) && !is_empty)
            pl_tree_setz(arena, shown, members[i], pl_tree_copy(arena, value));
    }
    return shown;
}

int pl_api_delete_options_read(struct pl_api_ctx *ctx, struct pl_api_delete_options *options)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct pl_tree *tree =
        ctx->request.call.body.len > 0 ? parse_options(ctx) : options_of_query(ctx);
    if (tree == NULL)
        return -1;
    read_options(tree, options);
    check_policy(&faults, tree);
    if (options->dry_run)
        pl_api_check_dry(&faults, pl_tree_text(pl_tree_at(pl_tree_getz(tree, "dryRun"), 0)));
    ctx->request.dry_run = options->dry_run;
    ctx->delete_options = show_options(&ctx->arena, tree);
    return pl_api_fail_options(ctx, &faults, "DeleteOptions");
}
