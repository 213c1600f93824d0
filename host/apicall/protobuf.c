/* Answers in protobuf. An object is encoded from its document, which is never changed. Objects of
 * versions with other member names are converted through JSON, which is rare. The type is found by
 * apiVersion and kind; the type of a list is made from that of its items.
 *
 * A frame of a watch is its length in four bytes, big-endian, and a WatchEvent without an envelope;
 * its object has an envelope. client-go reads every form in spec/support/controller-runtime, and
 * the tests decode the output with our own decoder. */
#include "apicall/protobuf.h"

#include "base/text.h"
#include "gotype/proto.h"
#include "gotype/wire.h"
#include "valid/check.h"
#include "value/scan.h"

#include <string.h>

int pl_api_proto_choose(struct pl_api_ctx *ctx)
{
    struct pl_api_request *request = &ctx->request;
    if (!request->takes_proto)
        return 0;
    request->is_proto_answer = !ctx->type->is_custom || request->proto_form == PL_API_PARTIAL;
    if (request->is_proto_answer)
        request->form = request->proto_form;
    else if (request->takes_nothing_else)
        return pl_api_fail_media_type(&ctx->request, &ctx->status);
    return 0;
}

/* ---- types ---- */

static struct pl_message named(const char *package, struct pl_slice group, struct pl_slice version,
                               struct pl_slice kind)
{
    struct pl_buf name = PL_BUF_INIT;
    pl_buf_add_f(&name, "%s%.*s%s%.*s.%.*s", package, PL_FMT(group), group.len > 0 ? "." : "",
                 PL_FMT(version), PL_FMT(kind));
    struct pl_message found = pl_message_find(pl_buf_slice(&name));
    pl_buf_deinit(&name);
    return found;
}

struct pl_message pl_api_proto_type(struct pl_slice api_version, struct pl_slice kind)
{
    const char *slash = pl_slice_chr(api_version, '/');
    size_t len = slash != NULL ? (size_t)(slash - api_version.ptr) : 0;
    struct pl_slice group = pl_slice(api_version.ptr, len);
    struct pl_slice version =
        slash != NULL ? pl_slice(slash + 1, api_version.len - len - 1) : api_version;
    struct pl_message found = pl_message_of_kind(group, version, kind);
    if (pl_message_is_none(found) && (len == 0 || pl_slice_eqz(group, "meta.k8s.io")))
        found = named("io.k8s.apimachinery.pkg.apis.meta.", pl_slice("", 0), version, kind);
    const char *dot = len > 0 ? memchr(group.ptr, '.', len) : NULL;
    if (pl_message_is_none(found) && len > 0)
        found =
            named("io.k8s.api.", pl_slice(group.ptr, dot != NULL ? (size_t)(dot - group.ptr) : len),
                  version, kind);
    return found;
}

static bool is_list(struct pl_slice kind, struct pl_slice *of)
{
    *of = pl_slice(kind.ptr, kind.len > 4 ? kind.len - 4 : 0);
    return kind.len > 4 && pl_text_ends(kind, "List");
}

/* ---- objects and lists ---- */

static void write_field(struct pl_buf *out, unsigned number, struct pl_message type,
                        struct pl_node object)
{
    size_t begun = pl_wire_begin(out, number);
    pl_proto_encode(out, type, object);
    pl_wire_end(out, begun);
}

static void write_list(struct pl_buf *out, struct pl_message item, struct pl_node list)
{
    struct pl_message meta = named("io.k8s.apimachinery.pkg.apis.meta.", pl_slice("", 0),
                                   pl_slice_z("v1"), pl_slice_z("ListMeta"));
    write_field(out, 1, meta, pl_node_getz(list, "metadata"));
    struct pl_iter it = pl_iter(pl_node_getz(list, "items"));
    while (pl_iter_next(&it))
        write_field(out, 2, item, it.value);
}

/* Writes any object with apiVersion and kind, also a list, in its envelope. False if it has no
 * type; nothing is written then. */
static bool proto_write(struct pl_buf *out, struct pl_node object)
{
    struct pl_scratch scratch[2];
    struct pl_slice api_version = pl_node_str(pl_node_getz(object, "apiVersion"), &scratch[0]);
    struct pl_slice kind = pl_node_str(pl_node_getz(object, "kind"), &scratch[1]), of;
    struct pl_message type = pl_api_proto_type(api_version, kind), item = {NULL};
    if (pl_message_is_none(type) && is_list(kind, &of))
        item = pl_api_proto_type(api_version, of);
    if (pl_message_is_none(type) && pl_message_is_none(item))
        return false;
    size_t begun = pl_proto_begin(out, api_version, kind);
    if (pl_message_is_none(type))
        write_list(out, item, object);
    else
        pl_proto_encode(out, type, object);
    pl_proto_end(out, begun);
    return true;
}

bool pl_api_proto_write_json(struct pl_buf *out, struct pl_slice json)
{
    struct pl_scan_options options = {.keep_managed_fields = true, .max_bytes = SIZE_MAX};
    struct pl_doc *doc = pl_scan_text(json, &options, NULL);
    bool written = doc != NULL && proto_write(out, pl_doc_root(doc));
    pl_doc_unref(doc);
    return written;
}

void pl_api_proto_object(struct pl_buf *out, const struct pl_api_type *type, size_t version,
                         struct pl_node object)
{
    const struct pl_api_version *v = &type->versions[version];
    char text[PL_KIND_TEXT];
    struct pl_message message =
        pl_message_of_kind(pl_slice_z(v->group), pl_slice_z(v->name), pl_slice_z(type->kind));
    if (v->renames == NULL && !pl_message_is_none(message)) {
        size_t begun = pl_proto_begin(out, pl_api_version_text(v, text), pl_slice_z(type->kind));
        pl_proto_encode(out, message, object);
        pl_proto_end(out, begun);
        return;
    }
    struct pl_buf json = PL_BUF_INIT;
    pl_api_object_write(&json, type, version, object, false);
    pl_api_proto_write_json(out, pl_buf_slice(&json));
    pl_buf_deinit(&json);
}

/* ---- frames ---- */

struct pl_api_frame pl_api_frame_begin(struct pl_buf *out, const char *event)
{
    struct pl_api_frame frame = {.start = out->len};
    pl_buf_add(out, "\0\0\0\0", 4);
    pl_wire_put_bytes(out, 1, pl_slice_z(event));
    frame.object = pl_wire_begin(out, 2);
    frame.raw = pl_wire_begin(out, 1);
    return frame;
}

void pl_api_frame_end(struct pl_buf *out, struct pl_api_frame frame)
{
    pl_wire_end(out, frame.raw);
    pl_wire_end(out, frame.object);
    size_t len = out->len - frame.start - 4;
    for (size_t i = 0; i < 4; i++)
        out->ptr[frame.start + i] = (char)(unsigned char)(len >> (24 - 8 * i));
}

/* Kinds that kube-apiserver still knows without serving them. */
static bool was_there(struct pl_slice api_version, struct pl_slice kind)
{
    static const struct {
        const char *version, *kinds;
    } old[] = {
        {"v1", "List"},
        {"admissionregistration.k8s.io/v1beta1",
         "MutatingWebhookConfiguration,ValidatingAdmissionPolicy,ValidatingAdmissionPolicyBinding,"
         "ValidatingWebhookConfiguration"},
        {"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"},
        {"apps/v1beta1", "ControllerRevision,Deployment,StatefulSet"},
        {"apps/v1beta2", "ControllerRevision,DaemonSet,Deployment,ReplicaSet,StatefulSet"},
        {"authentication.k8s.io/v1beta1", "SelfSubjectReview,TokenReview"},
        {"authorization.k8s.io/v1beta1",
         "LocalSubjectAccessReview,SelfSubjectAccessReview,SelfSubjectRulesReview,"
         "SubjectAccessReview"},
        {"batch/v1beta1", "CronJob"},
        {"certificates.k8s.io/v1beta1", "CertificateSigningRequest"},
        {"coordination.k8s.io/v1beta1", "Lease"},
        {"discovery.k8s.io/v1beta1", "EndpointSlice"},
        {"events.k8s.io/v1beta1", "Event"},
        {"extensions/v1beta1", "DaemonSet,Deployment,Ingress,NetworkPolicy,ReplicaSet"},
        {"flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema,PriorityLevelConfiguration"},
        {"flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema,PriorityLevelConfiguration"},
        {"flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema,PriorityLevelConfiguration"},
        {"networking.k8s.io/v1beta1", "IPAddress,Ingress,IngressClass,ServiceCIDR"},
        {"node.k8s.io/v1beta1", "RuntimeClass"},
        {"policy/v1beta1", "Eviction,PodDisruptionBudget"},
        {"rbac.authorization.k8s.io/v1beta1", "ClusterRole,ClusterRoleBinding,Role,RoleBinding"},
        {"scheduling.k8s.io/v1beta1", "PriorityClass"},
        {"storage.k8s.io/v1beta1",
         "CSIDriver,CSINode,CSIStorageCapacity,StorageClass,VolumeAttachment,"
         "VolumeAttributesClass"},
    };
    for (size_t i = 0; i < PL_ARRAY_LEN(old); i++)
        if (pl_slice_eqz(api_version, old[i].version) && pl_is_among(kind, old[i].kinds))
            return true;
    return false;
}

const char *pl_api_no_kind(struct pl_api_ctx *ctx, struct pl_slice api_version,
                           struct pl_slice kind)
{
    bool is_list = kind.len > 4 && pl_text_ends(kind, "List");
    struct pl_slice one = is_list ? pl_slice(kind.ptr, kind.len - 4) : kind;
    if (!pl_message_is_none(pl_api_proto_type(api_version, one)) || was_there(api_version, kind))
        return NULL;
    return pl_arena_f(&ctx->arena,
                      "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                      "\"pkg/runtime/scheme.go:111\"",
                      PL_FMT(kind), PL_FMT(api_version))
        .ptr;
}
