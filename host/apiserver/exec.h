/* Commands in Pods of the embedded API server. It runs no commands: the code around it answers
 * them, or a Pod's annotation holds the answer. */
#pragma once

#include "apicall/core.h"

#define PL_API_EXEC_ANNOTATION "perilune.dev/exec"

/* GET pods/NAME/exec as a WebSocket handshake, for a Pod with an answer. 0 if it answers; -1
 * with the status filled in; 1 if the request is something else, nothing is done then. */
int pl_api_exec(struct pl_api_ctx *ctx, struct pl_node pod);
