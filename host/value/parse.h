/* One JSON value from bytes to an encoder, resumable at any token. Only host/value
 * includes this; scan.c finds where values begin.
 *
 * The bytes handed in must be followed by PARSE_PADDING zero bytes: vector loads run
 * past the end, and zero is in no token, so it stops every loop. */
#pragma once

#include "value/encode.h"
#include "value/skim.h"

enum { PARSE_PADDING = 32, PARSE_NUMBER_MAX = 4096 };

enum parse_result {
    PARSE_DONE,  /* the value is complete; *at is behind it */
    PARSE_MORE,  /* the bytes end inside the value; *at is where to go on with more */
    PARSE_ERROR, /* fault and fault_at say what and where */
};

struct parse {
    struct enc *enc; /* borrowed; NULL: check only */
    /* Limits and choices, set once. */
    unsigned max_depth;
    bool drop_managed_fields;
    const char *api_version, *kind; /* what documents without them get; NULL: nothing */
    bool replace_kind;              /* what the others have is left out, and they get them, too */
    /* Where it is in the value. */
    uint8_t state;
    bool at_uid;                    /* the value of metadata.uid comes next */
    bool in_metadata;               /* inside the member "metadata" of the value */
    bool add_api_version, add_kind; /* it lacks them so far, and they are to be added */
    unsigned depth;
    unsigned skip_depth; /* the value begun at this depth is only checked; UINT_MAX: none */
    uint8_t *is_object;  /* owned; one flag a level */
    struct skim skim;
    uint64_t skip_at; /* in the input: where the value that is skipped began */
    /* Progress in a string that the bytes ended in, from its first byte. */
    size_t string_seen;
    bool string_escaped;
    struct pl_buf text;   /* a string without its escapes */
    struct pl_buf key_at; /* refusing duplicates: where each open name stood (uint64_t) */
    /* Where the bytes stand in the input, for key_at: set by whoever calls. */
    const uint8_t *bytes;
    uint64_t bytes_at;
    /* The error. */
    int code;
    const char *fault;
    uint64_t fault_at; /* in the input */
};

void pl_parse_init(struct parse *ps, unsigned max_depth, bool drop_managed_fields);
void pl_parse_deinit(struct parse *ps);
/* Before each value. */
void pl_parse_start(struct parse *ps, struct enc *enc);
/* final: nothing follows `end`, so a number may end there. */
enum parse_result pl_parse_run(struct parse *ps, const uint8_t **at, const uint8_t *end,
                               bool final);

/* A string whose opening quote is at *at, for callers that read an envelope: *text is valid
 * until the next call. */
enum parse_result pl_parse_string(struct parse *ps, const uint8_t **at, const uint8_t *end,
                                  struct pl_slice *text);
