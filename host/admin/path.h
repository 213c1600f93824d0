/* Where admin sockets are: $XDG_RUNTIME_DIR/perilune/<pid>.sock, else in perilune-<uid>/ under the
 * system's temporary folder. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

#define PL_ADMIN_PATH 104 /* what a socket's address holds */

/* The path for this process; makes the folder (mode 0700) where it is missing. EREFUSED when the
 * folder is somebody else's or open to others. */
PL_MUST_USE int pl_admin_path_make(char out[PL_ADMIN_PATH], struct pl_err *err);
/* The socket of the only host that listens, or of `pid` (0: any). ENOTFOUND with the choices when
 * there is none or more than one. */
PL_MUST_USE int pl_admin_path_find(pid_t pid, char out[PL_ADMIN_PATH], struct pl_err *err);
