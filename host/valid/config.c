/* ConfigMaps and Secrets: keys, members that a Secret's type requires, and immutability. */
#include "valid/kinds.h"

#include "base/base64.h"
#include "object/tree.h"
#include "schema/go_words.h"
#include "value/scan.h"

#include <string.h>

#define MOST_BYTES ((size_t)1 << 20)

static void check_frozen(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    static const char members[][12] = {"data", "binaryData", "stringData"};
    if (!pl_is_true(pl_tree_getz(old, "immutable")))
        return;
    if (!pl_is_true(pl_tree_getz(object, "immutable")))
        pl_bad_forbidden(f, PL_MEMBER(NULL, "immutable"),
                         "field is immutable when `immutable` is set");
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++) {
        const struct pl_tree *is = pl_tree_getz(object, members[i]);
        const struct pl_tree *was = pl_tree_getz(old, members[i]);
        if (!(pl_is_empty(is) && pl_is_empty(was)) && !pl_tree_equal(is, was))
            pl_bad_forbidden(f, PL_MEMBER(NULL, members[i]),
                             "field is immutable when `immutable` is set");
    }
}

/* The total size of all values; is_base64: of the decoded bytes. */
static size_t check_keys(struct pl_api_faults *f, const struct pl_tree *object, const char *member,
                         bool is_base64)
{
    size_t size = 0;
    PL_TREE_FOR(item, pl_tree_getz(object, member))
    {
        const struct pl_spot *at = PL_MEMBER(NULL, member);
        pl_config_key(f, PL_OF_KEY(at, item->key), pl_tree_str(f->arena, item->key), NULL);
        size_t len = pl_tree_text(item->value).len;
        size += is_base64 ? len / 4 * 3 : len;
    }
    return size;
}

void pl_valid_config_map(struct pl_api_faults *f, const struct pl_tree *object,
                         const struct pl_tree *old)
{
    size_t size = check_keys(f, object, "data", false);
    size += check_keys(f, object, "binaryData", true);
    PL_TREE_FOR(item, pl_tree_getz(object, "data"))
    if (pl_tree_get(pl_tree_getz(object, "binaryData"), item->key) != NULL)
        pl_bad_value(f, PL_OF_KEY(PL_MEMBER(NULL, "data"), item->key),
                     pl_tree_str(f->arena, item->key), "duplicate of key present in binaryData");
    if (size > MOST_BYTES)
        pl_api_fault(f, "FieldValueTooLong", pl_slice_z("[]"),
                     "Too long: may not be more than %zu bytes", MOST_BYTES);
    check_frozen(f, object, old);
}

/* ---- Secrets ---- */

static void need_key(struct pl_api_faults *f, const struct pl_tree *object, const char *key)
{
    if (pl_tree_getz(pl_tree_getz(object, "data"), key) == NULL)
        pl_bad_required(f, PL_OF_KEY(PL_MEMBER(NULL, "data"), pl_slice_z(key)), "");
}

/* NULL, or why the text is not one JSON object, in Go's words. null is an empty one. */
static const char *fault_of_object(struct pl_arena *arena, struct pl_slice text)
{
    static const char kinds[][8] = {
        [PL_BOOL] = "bool", [PL_NUMBER] = "number", [PL_STRING] = "string", [PL_ARRAY] = "array"};
    const char *fault = pl_go_json_fault(arena, text);
    struct pl_doc *doc = fault == NULL ? pl_scan_text(text, NULL, NULL) : NULL;
    if (fault != NULL)
        return fault;
    enum pl_type type = doc != NULL ? pl_node_type(pl_doc_root(doc)) : PL_NULL;
    pl_doc_unref(doc);
    if (type == PL_OBJECT || type == PL_NULL)
        return NULL;
    return pl_arena_f(arena,
                      "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                      kinds[type])
        .ptr;
}

static void need_json(struct pl_api_faults *f, const struct pl_tree *object, const char *key)
{
    const struct pl_tree *value = pl_tree_getz(pl_tree_getz(object, "data"), key);
    struct pl_buf bytes = PL_BUF_INIT;
    const struct pl_spot *at = PL_OF_KEY(PL_MEMBER(NULL, "data"), pl_slice_z(key));
    if (value == NULL) {
        pl_bad_required(f, at, "");
        return;
    }
    pl_base64_decode(pl_tree_text(value), &bytes);
    const char *fault = fault_of_object(f->arena, pl_buf_slice(&bytes));
    if (fault != NULL)
        pl_bad_value(f, at, pl_tree_strz(f->arena, "<secret contents redacted>"), "%s", fault);
    pl_buf_deinit(&bytes);
}

static void check_account(struct pl_api_faults *f, const struct pl_tree *object)
{
    static const char annotation[] = "kubernetes.io/service-account.name";
    const struct pl_tree *all = pl_tree_dig(object, "metadata.annotations");
    if (pl_is_empty(pl_tree_getz(all, annotation)))
        pl_bad_required(f,
                        PL_OF_KEY(PL_MEMBER(PL_MEMBER(NULL, "metadata"), "annotations"),
                                  pl_slice_z(annotation)),
                        "");
}

static void config_check_type(struct pl_api_faults *f, const struct pl_tree *object)
{
    struct pl_slice type = pl_tree_text_at(object, "type");
    const struct pl_tree *data = pl_tree_getz(object, "data");
    if (pl_slice_eqz(type, "kubernetes.io/service-account-token")) {
        check_account(f, object);
    } else if (pl_slice_eqz(type, "kubernetes.io/dockercfg")) {
        need_json(f, object, ".dockercfg");
    } else if (pl_slice_eqz(type, "kubernetes.io/dockerconfigjson")) {
        need_json(f, object, ".dockerconfigjson");
    } else if (pl_slice_eqz(type, "kubernetes.io/ssh-auth")) {
        if (pl_is_empty(pl_tree_getz(data, "ssh-privatekey")))
            pl_bad_required(f, PL_OF_KEY(PL_MEMBER(NULL, "data"), pl_slice_z("ssh-privatekey")),
                            "");
    } else if (pl_slice_eqz(type, "kubernetes.io/tls")) {
        need_key(f, object, "tls.crt");
        need_key(f, object, "tls.key");
    } else if (pl_slice_eqz(type, "kubernetes.io/basic-auth") &&
               pl_tree_getz(data, "username") == NULL && pl_tree_getz(data, "password") == NULL) {
        need_key(f, object, "username");
        need_key(f, object, "password");
    }
}

void pl_valid_secret(struct pl_api_faults *f, const struct pl_tree *object,
                     const struct pl_tree *old)
{
    size_t size = check_keys(f, object, "data", true);
    if (size > MOST_BYTES)
        pl_bad_long(f, PL_MEMBER(NULL, "data"), "1048576 bytes");
    config_check_type(f, object);
    if (old != NULL)
        pl_frozen(f, PL_MEMBER(NULL, "type"), pl_tree_getz(object, "type"),
                  pl_tree_getz(old, "type"));
    check_frozen(f, object, old);
}
