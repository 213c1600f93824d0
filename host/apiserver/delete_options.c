/* DeleteOptions: from the query, and from a body in JSON, YAML or protobuf, which has priority.
 * Faults of both are told together, in kube-apiserver's words. */
#include "apicall/body.h"
#include "apicall/protobuf.h"
#include "apiserver/steps.h"
#include "apiserver/write.h"
#include "format/yaml.h"
#include "gotype/typed.h"
#include "schema/go_words.h"
#include "value/scan.h"

#define UNSAFE "ignoreStoreReadErrorWithClusterBreakingPotential"

static void check_policy(struct pl_api_faults *faults, struct pl_slice policy, bool says_orphan)
{
    static const char known[][12] = {"", "Background", "Foreground", "Orphan"};
    if (policy.len > 0 && says_orphan)
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

/* What is checked when both the query and the body are read. */
struct delete_said {
    struct pl_slice dry; /* dryRun */
    bool orphan;         /* both orphanDependents and a policy */
};

static void options_of_query(const struct pl_api_ctx *ctx, struct pl_api_delete_options *options,
                             struct delete_said *said)
{
    *options = (struct pl_api_delete_options){.policy = ctx->request.propagation,
                                              .dry_run = ctx->request.dry_run,
                                              .is_unsafe = ctx->request.ignore_unreadable,
                                              .is_graceful = true,
                                              .is_asked = true,
                                              .has_grace = ctx->request.has_grace,
                                              .grace_s = ctx->request.grace_s};
    said->orphan = ctx->request.has_orphan && options->policy.len > 0;
    said->dry = ctx->request.dry;
    if (ctx->request.has_orphan && options->policy.len == 0)
        options->policy = pl_slice_z(ctx->request.orphan ? "Orphan" : "Background");
    options->says_no_orphans = ctx->request.has_orphan && !ctx->request.orphan;
}

static void options_of_body(struct pl_tree *tree, struct pl_api_delete_options *options,
                            struct delete_said *said)
{
    struct pl_tree *orphan = pl_tree_getz(tree, "orphanDependents");
    struct pl_slice policy = pl_tree_text_at(tree, "propagationPolicy");
    options->uid = pl_tree_text_at(tree, "preconditions.uid");
    options->rv = pl_tree_text_at(tree, "preconditions.resourceVersion");
    if (policy.len > 0)
        options->policy = policy;
    else if (pl_tree_is(orphan, PL_BOOL))
        options->policy = pl_slice_z(orphan->boolean ? "Orphan" : "Background");
    if (pl_tree_integer(pl_tree_getz(tree, "gracePeriodSeconds"), &options->grace_s))
        options->has_grace = true;
    const struct pl_tree *dry = pl_tree_getz(tree, "dryRun");
    const struct pl_tree *unsafe = pl_tree_getz(tree, UNSAFE);
    options->is_unsafe = options->is_unsafe || (pl_tree_is(unsafe, PL_BOOL) && unsafe->boolean);
    if (pl_tree_is(dry, PL_ARRAY) && dry->count > 0) {
        options->dry_run = true;
        said->dry = pl_tree_text(pl_tree_at(dry, 0));
    }
    said->orphan = pl_tree_is(orphan, PL_BOOL) && policy.len > 0;
    options->says_no_orphans = pl_tree_is(orphan, PL_BOOL) && !orphan->boolean;
}

int pl_api_delete_options_read(struct pl_api_ctx *ctx, struct pl_api_delete_options *options)
{
    struct pl_api_faults faults = {.arena = &ctx->arena};
    struct delete_said said;
    options_of_query(ctx, options, &said);
    if (ctx->request.call.body.len > 0) {
        struct pl_tree *tree = parse_options(ctx);
        if (tree == NULL)
            return -1;
        options_of_body(tree, options, &said);
    }
    check_policy(&faults, options->policy, said.orphan);
    pl_api_check_dry(&faults, said.dry);
    return pl_api_fail_options(ctx, &faults, "DeleteOptions");
}
