/* Loads the scripts of the command line. */
#pragma once

#include "cli/options.h"

/* Begins on the first lane's thread. with: the lanes' options. The caller owns the result until it
 * calls pl_load_finish. */
struct pl_lanes *pl_load_start(const struct pl_options *options,
                               const struct pl_lanes_options *with);
/* Waits for it. After an error, or when nothing is declared, prints that, destroys the lanes and
 * returns NULL; else returns the same lanes, which the caller owns. */
struct pl_lanes *pl_load_finish(const struct pl_options *options, struct pl_lanes *lanes,
                                struct pl_declarations *declarations);
/* Begins, and waits for it: pl_load_start, then pl_load_finish. */
struct pl_lanes *pl_load(const struct pl_options *options, const struct pl_lanes_options *with,
                         struct pl_declarations *declarations);
