/* Paths of admin sockets: $XDG_RUNTIME_DIR/perilune/<pid>.sock, else in perilune-<uid>/ under the
 * system's temporary folder. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

#define PL_ADMIN_PATH 104 /* limit of a socket's address */

/* The path for this process; creates the folder (mode 0700) if it is missing. EREFUSED when the
 * folder belongs to another user or is open to others. */
PL_MUST_USE int pl_admin_path_make(char out[PL_ADMIN_PATH], struct pl_err *err);
/* The socket of the only listening host, or of `pid` (0: any). ENOTFOUND with the choices when
 * there is none or more than one. */
PL_MUST_USE int pl_admin_path_find(pid_t pid, char out[PL_ADMIN_PATH], struct pl_err *err);
