/* The files of a generation of scripts in a record, each with its text, so that the generation can
 * be loaded again where these files are missing or have changed. Writing: the thread of a lane that
 * has loaded them. Reading: the replay's thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "lua/origin.h"
#include "value/doc.h"

struct pl_lanes;

/* Appends JSON. */
void pl_scripts_write(const struct pl_lanes *lanes, struct pl_buf *out);

struct pl_scripts {
    struct pl_origin *origin; /* counted */
    char **paths;             /* owned, NULL-terminated */
    size_t path_count;
    struct pl_doc *config; /* counted; NULL: {} */
    uint64_t generation;
    char *version; /* owned: of the host; empty: an older record, which does not say it */
};

PL_MUST_USE int pl_scripts_read(struct pl_scripts *out, struct pl_slice json, struct pl_err *err);
void pl_scripts_deinit(struct pl_scripts *scripts);
