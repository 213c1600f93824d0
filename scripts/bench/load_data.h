/* The objects of the load server: texts in one block of memory, each with the positions of the
 * numbers that change. These have a fixed width, so an update overwrites digits and nothing moves.
 * A list under way may mix versions, since no client of this server compares them. */
#pragma once

#include "base/buf.h"
#include "base/map.h"

#include <stdint.h>

enum {
    LOAD_DIGITS = 10,               /* of every number that changes */
    LOAD_FIRST_NUMBER = 1000000000, /* resourceVersions and revisions count from here */
    LOAD_SENTINEL =
        1999999999, /* a revision that scripts always answer, even if they otherwise only count */
};

struct load_message;

struct load_object {
    size_t at; /* in kind->texts */
    uint32_t len;
    uint32_t rv, revision, seen; /* where these digits are, from `at` */
    uint32_t meta, meta_len;     /* the value of "metadata" */
    bool deleted;
};

enum load_kind_id { LOAD_PODS, LOAD_WEBSITES, LOAD_PAGES, LOAD_KINDS };

struct load_kind {
    const char *path; /* of the collection in all namespaces */
    const char *root; /* the API's path, before "/namespaces/" */
    const char *plural;
    const char *api_version, *kind;
    uint32_t bare; /* bytes of apiVersion and kind at the start, which lists of it leave out */
    struct pl_buf texts;
    struct load_object *objects; /* owned */
    uint32_t count;
    struct pl_map by_key; /* "namespace/name" -> struct load_object */
    uint64_t newest;      /* resourceVersion */
    /* The same as protobuf (load_protobuf.h), by object; NULL: not made. */
    struct load_message *messages; /* owned */
    struct pl_buf message_bytes;
};

/* `count` objects; pages belong to `parents`, `count / parents->count` each. */
void load_kind_init(struct load_kind *kind, enum load_kind_id id, uint32_t count,
                    const struct load_kind *parents);
void load_kind_deinit(struct load_kind *kind);

struct pl_slice load_text(const struct load_kind *kind, const struct load_object *object);
struct pl_slice load_metadata(const struct load_kind *kind, const struct load_object *object);
/* Overwrites the digits at `place` of the object. */
void load_put(struct load_kind *kind, const struct load_object *object, uint32_t place,
              uint64_t number);
uint64_t load_number(const struct load_kind *kind, const struct load_object *object,
                     uint32_t place);
