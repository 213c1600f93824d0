/* Commands in Pods of the embedded API server, which runs none: a Pod's annotation says what each
 * command answers. */
#pragma once

#include "apicall/core.h"

#define PL_API_EXEC_ANNOTATION "perilune.dev/exec"

/* GET pods/NAME/exec as a WebSocket handshake, for a Pod with that annotation. 0 when it answers;
 * -1 with the status filled; 1: it is no such request, nothing is done. */
int pl_api_exec(struct pl_api_ctx *ctx, struct pl_node pod);
