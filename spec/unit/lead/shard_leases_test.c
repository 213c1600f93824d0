#include "lead/shard_leases.h"

#include "support/test.h"
#include "value/scan.h"

struct reading {
    struct pl_doc *doc;
    struct pl_shard_lease_room room;
    struct pl_shard_lease lease;
    bool ok;
};

static void begin_reading(struct reading *r, const char *name, const char *annotations,
                          const char *spec)
{
    char text[1024];
    struct pl_err err;
    snprintf(text, sizeof text,
             "{\"apiVersion\":\"coordination.k8s.io/"
             "v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\","
             "\"resourceVersion\":\"7\",\"annotations\":%s},\"spec\":%s}",
             name, annotations, spec);
    r->doc = pl_scan_text(pl_slice_z(text), NULL, &err);
    REQUIRE(r->doc != NULL);
    r->ok = pl_shard_lease_read(pl_doc_root(r->doc), "web", &r->room, &r->lease);
}

static bool is_read(const char *name)
{
    struct reading r;
    begin_reading(&r, name, "{}", "{}");
    pl_doc_unref(r.doc);
    return r.ok;
}

TEST(a_members_lease_says_whose_it_is)
{
    struct reading r;
    begin_reading(&r, "web-member-host-1",
                  "{\"perilune.dev/shard-count\":\"16\",\"perilune.dev/leaving\":\"true\"}",
                  "{\"holderIdentity\":\"host-1\",\"leaseDurationSeconds\":15,"
                  "\"renewTime\":\"1970-01-01T00:00:01.000002Z\"}");
    CHECK(r.ok);
    CHECK_INT(r.lease.kind, PL_LEASE_OF_MEMBER);
    CHECK(pl_slice_eqz(r.lease.id, "host-1") && pl_slice_eqz(r.lease.holder, "host-1"));
    CHECK_INT(r.lease.count, 16);
    CHECK_INT(r.lease.duration_s, 15);
    CHECK_INT(r.lease.stamp, 1000002);
    CHECK_INT((int64_t)r.lease.version, 7);
    CHECK(r.lease.leaving);
    pl_doc_unref(r.doc);
}

TEST(names_say_what_a_lease_is)
{
    struct reading r;
    begin_reading(&r, "web-shard-255", "{}", "{}");
    CHECK(r.ok && r.lease.kind == PL_LEASE_OF_SHARD && r.lease.index == 255);
    pl_doc_unref(r.doc);
    begin_reading(&r, "web", "{}", "{}");
    CHECK(r.ok && r.lease.kind == PL_LEASE_OF_NAME);
    pl_doc_unref(r.doc);
    CHECK(is_read("web-shard-0"));
    static const char *const others[] = {
        "web-shard-256", "web-shard-",   "web-shard-01",
        "web-shard--1",  "web-shard-1x", "web-member-",
        "webs",          "other",        "web-shard-99999999999999999999"};
    for (size_t i = 0; i < PL_ARRAY_LEN(others); i++)
        if (is_read(others[i]))
            TEST_FAIL("%s is none of them", others[i]);
}

TEST(nonsense_is_not_said)
{
    static const char *const notes[] = {
        "{\"perilune.dev/shard-count\":\"257\"}", "{\"perilune.dev/shard-count\":\"-3\"}",
        "{\"perilune.dev/shard-count\":\"3x\"}",  "{\"perilune.dev/shard-count\":16}",
        "{\"perilune.dev/shard-count\":\"\"}",    "[]",
        "{\"perilune.dev/leaving\":\"maybe\"}",
    };
    static const char *const specs[] = {
        "{\"leaseDurationSeconds\":-1}", "{\"leaseDurationSeconds\":\"x\"}",
        "{\"leaseDurationSeconds\":99999999999}",
        "{\"holderIdentity\":3,\"renewTime\":\"yesterday\"}", "null"};
    for (size_t i = 0; i < PL_ARRAY_LEN(notes) * PL_ARRAY_LEN(specs); i++) {
        struct reading r;
        begin_reading(&r, "web-member-a", notes[i % PL_ARRAY_LEN(notes)],
                      specs[i / PL_ARRAY_LEN(notes)]);
        CHECK(r.ok && r.lease.count == 0 && !r.lease.leaving && r.lease.duration_s == 0 &&
              r.lease.holder.len == 0 && r.lease.stamp == 0);
        pl_doc_unref(r.doc);
    }
}

TEST_MAIN()
