/* From a sequence of values to a tape. Only host/value includes this.
 *
 * Values arrive in document order and are encoded at once into one growing buffer, children before
 * their container. When a container ends, its header is inserted in front of its children, or the
 * whole container is replaced by a handle. The calls must come in a legal order; scan.c and build.c
 * guarantee that. */
#pragma once

#include "base/buf.h"
#include "value/tape.h"

#include <sys/types.h>

struct enc_frame {
    uint32_t values; /* where its children begin in enc->values */
    uint32_t keys;   /* where its names begin in enc->keys */
    uint32_t count;
    bool is_object;
    bool is_new;   /* contains a value that no other object is known to have */
    uint64_t hash; /* of the children so far */
    /* With a pool (share.h). */
    uint32_t site;        /* the container's place in the document */
    uint32_t guess_shape; /* the handle of the guessed names */
    uint32_t guess_left;  /* the number of guessed names that are still to come */
    const uint8_t *guess; /* where the next guessed name stands; NULL: names are in enc->keys */
};

struct enc {
    struct pl_buf values, keys;
    struct enc_frame *frames; /* owned; frames[0] holds the root value */
    size_t depth, cap;
    bool refuse_duplicates;
    struct pl_pool *pool; /* borrowed for life; NULL: the fields below are unused */
    uint32_t
        owner; /* the object's number in the filter; FILTER_OWNER_UNKNOWN until its uid comes */
    struct pl_buf early;   /* uint64_t hashes of new values that came before the uid */
    struct pl_buf created; /* uint32_t handles of nodes created here, which may still be unused */
    struct pl_buf pins;    /* uint32_t handles that are counted while the document is half read */
    size_t pinned;         /* values before this offset have their handles in pins */
};

/* pool: share through it, in a turn from here on; NULL: an independent tape. */
void pl_enc_init(struct enc *enc, struct pl_pool *pool, bool refuse_duplicates);
void pl_enc_deinit(struct enc *enc);

void pl_enc_tag(struct enc *enc, uint8_t tag); /* null, true, false */
void pl_enc_int(struct enc *enc, int64_t value);
void pl_enc_number(struct enc *enc, struct pl_slice text);
void pl_enc_str(struct enc *enc, struct pl_slice text);
void pl_enc_node(struct enc *enc, struct pl_node node);

void pl_enc_begin(struct enc *enc, bool is_object);
void pl_enc_key(struct enc *enc, struct pl_slice key);
/* If a name is repeated, the last member stays. With refuse_duplicates, the ordinal of the second
 * is returned instead, and the caller must drop the document. Else -1. */
ssize_t pl_enc_end(struct enc *enc);

/* The value of metadata.uid, which identifies the object. */
void pl_enc_uid(struct enc *enc, struct pl_slice uid);
/* Gives the uid before it comes as a value. */
void pl_enc_owner(struct enc *enc, struct pl_slice uid);
/* No uid will come: each such document counts as a separate object. */
void pl_enc_no_uid(struct enc *enc);
/* Other code will run on this thread before the next call. The handles used so far stay valid,
 * whatever that code frees. */
void pl_enc_pause(struct enc *enc);

/* The last value, which is complete and begins at `at` of enc->values, as an independent document.
 * The encoder does not change. Only without a pool. The caller owns a reference. */
struct pl_doc *pl_enc_copy(const struct enc *enc, size_t at);
/* The one complete value, as a document; the encoder is empty again. The caller owns a reference.
 */
struct pl_doc *pl_enc_finish(struct enc *enc);
