/* Private to net: a request that asks for another protocol on its connection. curl makes the
 * connection (TLS, proxies, trust); its bytes are written and read here. Loop's thread. */
#pragma once

#include "net/http_call.h"
#include "net/loop.h"

struct pl_http_upgrade;

/* The caller owns the upgrade. The call must outlive it. */
struct pl_http_upgrade *pl_http_upgrade_create(struct pl_http_call *call);
/* Sets up the call's handle to connect only. False: it cannot be sent, and the call has failed. */
bool pl_http_upgrade_describe(struct pl_http_upgrade *upgrade,
                              const struct pl_http_request *request);
/* curl has made the connection: sends the request. */
void pl_http_upgrade_open(struct pl_http_upgrade *upgrade, struct pl_loop *loop);
void pl_http_upgrade_send(struct pl_http_upgrade *upgrade, struct pl_slice bytes);
/* Call it before curl may close the connection; nothing is reported afterwards. */
void pl_http_upgrade_close(struct pl_http_upgrade *upgrade);
/* Accepts NULL. */
void pl_http_upgrade_destroy(struct pl_http_upgrade *upgrade);
