/* The Leases of members and shards as documents: their names, labels, annotations and spec. They
 * are read tolerantly, since others may write them. Pure. */
#include "lead/shard_lease.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "format/units.h"
#include "object/meta.h"
#include "object/patch.h"
#include "value/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int64_t number_in(struct pl_slice text)
{
    char copy[16], *end;
    if (text.len == 0 || text.len >= sizeof copy)
        return 0;
    snprintf(copy, sizeof copy, "%.*s", PL_FMT(text));
    long long value = strtoll(copy, &end, 10);
    return *end == '\0' && value > 0 ? value : 0;
}

static bool read_name(struct pl_slice text, const char *name, struct pl_shard_lease *lease)
{
    size_t len = strlen(name);
    if (!pl_text_begins(text, name))
        return false;
    struct pl_slice rest = pl_slice(text.ptr + len, text.len - len);
    if (rest.len == 0) {
        lease->kind = PL_LEASE_OF_NAME;
        return true;
    }
    if (rest.len > 8 && pl_text_begins(rest, "-member-") && rest.len - 8 < PL_MEMBER_ID) {
        lease->kind = PL_LEASE_OF_MEMBER;
        lease->id = pl_slice(rest.ptr + 8, rest.len - 8);
        return true;
    }
    if (rest.len <= 7 || !pl_text_begins(rest, "-shard-"))
        return false;
    struct pl_slice digits = pl_slice(rest.ptr + 7, rest.len - 7);
    int64_t index = number_in(digits);
    lease->kind = PL_LEASE_OF_SHARD;
    lease->index = (unsigned)index;
    return (index > 0 && index < PL_SHARDS_MAX && digits.ptr[0] != '0') ||
           pl_slice_eqz(digits, "0");
}

static struct pl_slice note_of(struct pl_node object, const char *note, struct pl_scratch *room)
{
    struct pl_node notes = pl_node_getz(pl_node_getz(object, "metadata"), "annotations");
    return pl_node_str(pl_node_getz(notes, note), room);
}

static int64_t count_in(struct pl_node node)
{
    int64_t value;
    return pl_node_int(node, &value) && value > 0 && value < INT32_MAX ? value : 0;
}

bool pl_shard_lease_read(struct pl_node object, const char *name, struct pl_shard_lease_room *room,
                         struct pl_shard_lease *lease)
{
    struct pl_scratch scratch;
    struct pl_node spec = pl_node_getz(object, "spec");
    *lease = (struct pl_shard_lease){0};
    if (!pl_node_str_eq(pl_node_getz(object, "kind"), pl_slice_z("Lease")) ||
        !read_name(pl_meta_name(object, &room->name), name, lease))
        return false;
    lease->version = pl_rv_number(pl_meta_rv(object, &scratch));
    lease->holder = pl_node_str(pl_node_getz(spec, "holderIdentity"), &room->holder);
    if (lease->holder.len >= PL_MEMBER_ID)
        lease->holder.len = PL_MEMBER_ID - 1;
    lease->duration_s = count_in(pl_node_getz(spec, "leaseDurationSeconds"));
    int64_t count = number_in(note_of(object, PL_SHARD_COUNT_NOTE, &scratch));
    lease->count = count <= PL_SHARDS_MAX ? (unsigned)count : 0;
    if (pl_slice_eqz(note_of(object, PL_SHARD_BY_NOTE, &scratch), "uid"))
        lease->by = PL_SHARD_BY_UID;
    lease->leaving = pl_slice_eqz(note_of(object, PL_SHARD_LEAVING_NOTE, &scratch), "true");
    struct pl_node labels = pl_node_getz(pl_node_getz(object, "metadata"), "labels");
    lease->unlabelled = !pl_node_str_eq(pl_node_getz(labels, PL_SHARDS_LABEL), pl_slice_z(name));
    int64_t ns;
    if (pl_time_parse(pl_node_str(pl_node_getz(spec, "renewTime"), &scratch), &ns))
        lease->stamp = ns / PL_US;
    return lease->version > 0;
}

/* ---- writing ---- */

char *pl_shard_lease_name(const char *name, const struct pl_shard_lease *lease)
{
    if (lease->kind == PL_LEASE_OF_MEMBER)
        return pl_format("%s-member-%.*s", name, PL_FMT(lease->id));
    if (lease->kind == PL_LEASE_OF_SHARD)
        return pl_format("%s-shard-%u", name, lease->index);
    return pl_strdup(name);
}

static void put_time(struct pl_build *b, const char *key, int64_t us)
{
    char text[40];
    pl_time_text(us * PL_US, 6, text);
    pl_build_put_strz(b, key, text);
}

static void put_metadata(struct pl_build *b, const struct pl_shard_lease_draft *draft)
{
    const struct pl_shard_lease *lease = draft->lease;
    char count[16];
    snprintf(count, sizeof count, "%u", lease->count);
    pl_build_keyz(b, "metadata");
    pl_build_object(b);
    pl_build_put_strz(b, "name", draft->lease_name);
    pl_build_put_strz(b, "namespace", draft->ns);
    if (lease->kind != PL_LEASE_OF_NAME) {
        pl_build_keyz(b, "labels");
        pl_build_object(b);
        pl_build_put_strz(b, PL_SHARDS_LABEL, draft->name);
        pl_build_end(b);
        pl_build_keyz(b, "annotations");
        pl_build_object(b);
        pl_build_put_strz(b, PL_SHARD_COUNT_NOTE, count);
        pl_build_put_strz(b, PL_SHARD_BY_NOTE, lease->by == PL_SHARD_BY_UID ? "uid" : "namespace");
        if (lease->leaving)
            pl_build_put_strz(b, PL_SHARD_LEAVING_NOTE, "true");
        pl_build_end(b);
    }
    pl_build_end(b);
}

/* A new holder begins a term; an unchanged holder keeps its time and count. */
static void put_spec(struct pl_build *b, struct pl_node before,
                     const struct pl_shard_lease_draft *draft)
{
    const struct pl_shard_lease *lease = draft->lease;
    struct pl_node spec = pl_node_getz(before, "spec");
    struct pl_node holder = pl_node_getz(spec, "holderIdentity");
    bool keeps = lease->holder.len > 0 && pl_node_str_eq(holder, lease->holder);
    int64_t terms = count_in(pl_node_getz(spec, "leaseTransitions"));
    pl_build_keyz(b, "spec");
    pl_build_object(b);
    pl_build_put_str(b, "holderIdentity", lease->holder);
    pl_build_put_int(b, "leaseDurationSeconds", lease->duration_s);
    put_time(b, "renewTime", draft->now_us);
    if (!keeps) {
        put_time(b, "acquireTime", draft->now_us);
        pl_build_put_int(b, "leaseTransitions",
                         terms + (!pl_node_is_missing(before) && lease->holder.len > 0));
    }
    pl_build_end(b);
}

struct pl_doc *pl_shard_lease_document(const struct pl_shard_lease_draft *draft,
                                       struct pl_doc *before)
{
    struct pl_node base = before != NULL ? pl_doc_root(before) : PL_NODE_MISSING;
    struct pl_build *b = pl_build_create(NULL);
    pl_build_object(b);
    pl_build_put_strz(b, "apiVersion", "coordination.k8s.io/v1");
    pl_build_put_strz(b, "kind", "Lease");
    put_metadata(b, draft);
    put_spec(b, base, draft);
    pl_build_end(b);
    struct pl_doc *patch = pl_build_close(b);
    if (before == NULL)
        return patch;
    struct pl_doc *doc = pl_patch_merge(base, pl_doc_root(patch), NULL);
    PL_REQUIRE(doc != NULL); /* our own patch cannot fail */
    pl_doc_unref(patch);
    return doc;
}
