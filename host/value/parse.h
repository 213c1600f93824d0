/* Parses one JSON value from bytes into an encoder. It can stop before any token and resume. Only
 * host/value includes this; scan.c finds where values begin.
 *
 * PARSE_PADDING zero bytes must follow the input: vector loads read past the end, and no token
 * contains a zero byte, so it stops every loop. */
#pragma once

#include "base/err.h"
#include "value/encode.h"
#include "value/skim.h"

enum { PARSE_PADDING = 32, PARSE_NUMBER_MAX = 4096 };

enum parse_result {
    PARSE_DONE,  /* the value is complete; *at is after it */
    PARSE_MORE,  /* the input ends inside the value; resume at *at with more input */
    PARSE_ERROR, /* fault and fault_at give the error and its place */
};

struct parse {
    struct enc *enc; /* borrowed; NULL: check only */
    /* Limits and choices, set once. */
    unsigned max_depth;
    bool drop_managed_fields;
    bool replaces_halves;           /* of surrogate pairs, by U+FFFD */
    const char *api_version, *kind; /* for documents that lack them; NULL: nothing is added */
    bool replace_kind;              /* documents that have their own get these instead */
    /* State of the parser inside the value. */
    uint8_t state;
    bool at_uid;                    /* the value of metadata.uid comes next */
    bool in_metadata;               /* inside the member "metadata" of the value */
    bool add_api_version, add_kind; /* the document lacks them so far, and they are to be added */
    unsigned depth;
    unsigned skip_depth; /* the value that began at this depth is only checked; UINT_MAX: none */
    uint8_t *is_object;  /* owned; one flag a level */
    struct skim skim;
    uint64_t skip_at; /* in the input: start of the skipped value */
    /* Progress in a string that the input cut, from its first byte. */
    size_t string_seen;
    bool string_escaped;
    struct pl_buf text;   /* the text of a string with its escapes decoded */
    struct pl_buf key_at; /* with refuse_duplicates: the position of each open name (uint64_t) */
    /* The position of `bytes` in the input, for key_at: set by the caller. */
    const uint8_t *bytes;
    uint64_t bytes_at;
    /* The error. */
    int code;
    const char *fault;
    uint64_t fault_at; /* in the input */
};

/* Of zeroed memory. */
void pl_parse_init(struct parse *ps, unsigned max_depth, bool drop_managed_fields);
void pl_parse_deinit(struct parse *ps);
/* Call it before each value. */
void pl_parse_start(struct parse *ps, struct enc *enc);
/* final: nothing follows `end`, so a number may end there. */
enum parse_result pl_parse_run(struct parse *ps, const uint8_t **at, const uint8_t *end,
                               bool final);

/* A string whose opening quote is at *at, for callers that parse an envelope. *text is valid until
 * the next call. */
enum parse_result pl_parse_string(struct parse *ps, const uint8_t **at, const uint8_t *end,
                                  struct pl_slice *text);

/* ---- between parse.c and parse_string.c ---- */

/* Notes the fault. Returns NULL, which stops the scan. */
static PL_COLD inline const uint8_t *pl_parse_fail(struct parse *ps, const uint8_t *at, int code,
                                                   const char *fault)
{
    ps->code = code;
    ps->fault = fault;
    ps->fault_at = ps->bytes_at + (uint64_t)(at - ps->bytes);
    return NULL;
}

/* A byte that does not fit here, unless it belongs to the padding after the end. Returns NULL. */
static PL_COLD inline const uint8_t *pl_parse_unexpected(struct parse *ps, const uint8_t *at,
                                                         const uint8_t *end, const char *fault)
{
    return at < end ? pl_parse_fail(ps, at, PL_ESYNTAX, fault) : NULL;
}

/* Reads the string whose opening quote is at p, from where the last call stopped. Returns the place
 * after the closing quote; NULL with a fault, or without one if the input ends first. */
const uint8_t *pl_parse_odd_string(struct parse *ps, const uint8_t *p, const uint8_t *end,
                                   struct pl_slice *text);
