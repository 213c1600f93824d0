/* Checks the answer of an admission webhook as kube-apiserver does: each value has the type of its
 * member in Go, and a patch comes with its type, from mutating webhooks only. Pure; messages live
 * in the arena. */
#include "gotype/admission_response.h"

#include "gotype/typed.h"

#include <inttypes.h>

struct member {
    char name[20];
    char go[20]; /* the Go type */
    enum pl_type type;
};

static const struct member of_response[] = {
    {"uid", "types.UID", PL_STRING},          {"allowed", "bool", PL_BOOL},
    {"status", "v1.Status", PL_OBJECT},       {"patch", "[]uint8", PL_STRING},
    {"patchType", "v1.PatchType", PL_STRING}, {"auditAnnotations", "map[string]string", PL_OBJECT},
    {"warnings", "[]string", PL_ARRAY},
};

static const struct member of_status[] = {
    {"status", "string", PL_STRING},
    {"message", "string", PL_STRING},
    {"reason", "v1.StatusReason", PL_STRING},
    {"code", "int32", PL_NUMBER},
};

static const char *wrong_type(struct pl_arena *arena, struct pl_node value, const char *path,
                              const char *member, const char *go)
{
    enum pl_type type = pl_node_type(value);
    return pl_arena_f(arena, "json: cannot unmarshal %s into Go struct field %s%s of type %s",
                      type == PL_BOOL ? "bool" : pl_type_name(type), path, member, go)
        .ptr;
}

static const char *check_members(struct pl_arena *arena, struct pl_node object,
                                 const struct member *members, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        struct pl_node value = pl_node_getz(object, members[i].name);
        enum pl_type type = pl_node_type(value);
        if (type != PL_MISSING && type != PL_NULL && type != members[i].type)
            return wrong_type(arena, value, path, members[i].name, members[i].go);
    }
    return NULL;
}

/* The values of a list or map of texts. */
static const char *response_texts(struct pl_arena *arena, struct pl_node response,
                                  const char *member)
{
    struct pl_iter it = pl_iter(pl_node_getz(response, member));
    while (pl_iter_next(&it))
        if (pl_node_type(it.value) != PL_STRING && pl_node_type(it.value) != PL_NULL)
            return wrong_type(arena, it.value, "AdmissionResponse.response.", member, "string");
    return NULL;
}

const char *pl_admission_response_fault(struct pl_arena *arena, struct pl_node response)
{
    struct pl_scratch scratch;
    const char *wrong = check_members(arena, response, of_response, PL_ARRAY_LEN(of_response),
                                      "AdmissionResponse.response.");
    if (wrong == NULL)
        wrong = check_members(arena, pl_node_getz(response, "status"), of_status,
                              PL_ARRAY_LEN(of_status), "Status.response.status.");
    if (wrong == NULL)
        wrong = response_texts(arena, response, "auditAnnotations");
    if (wrong == NULL)
        wrong = response_texts(arena, response, "warnings");
    int64_t at = pl_typed_base64_fault(pl_node_str(pl_node_getz(response, "patch"), &scratch));
    if (wrong == NULL && at >= 0)
        wrong = pl_arena_f(arena, "illegal base64 data at input byte %" PRId64, at).ptr;
    return wrong;
}

const char *pl_admission_patch_fault(struct pl_arena *arena, struct pl_node response, bool mutates)
{
    struct pl_scratch scratch;
    struct pl_node type = pl_node_getz(response, "patchType");
    bool patches = pl_node_str(pl_node_getz(response, "patch"), &scratch).len > 0;
    bool is_typed = pl_node_type(type) == PL_STRING;
    if (!mutates && patches)
        return "validating webhook may not return response.patch";
    if (!mutates)
        return is_typed ? "validating webhook may not return response.patchType" : NULL;
    if (patches && !is_typed)
        return "webhook returned response.patch but not response.patchType";
    if (!patches && is_typed)
        return "webhook returned response.patchType but not response.patch";
    if (!is_typed || pl_node_str_eq(type, pl_slice_z("JSONPatch")))
        return NULL;
    return pl_arena_f(arena, "webhook returned invalid response.patchType of \"%.*s\"",
                      PL_FMT(pl_node_str(type, &scratch)))
        .ptr;
}
