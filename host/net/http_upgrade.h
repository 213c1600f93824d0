/* Private to net: a request of the client that asks for another protocol on its connection. curl
 * makes the connection (TLS, proxies, trust); what goes over it is written and read here. */
#pragma once

#include "net/http_call.h"
#include "net/loop.h"

struct pl_http_upgrade;

struct pl_http_upgrade *pl_http_upgrade_create(struct pl_http_call *call);
/* Tells the call's handle to connect and no more. False: it cannot be sent, the call has failed. */
bool pl_http_upgrade_describe(struct pl_http_upgrade *upgrade,
                              const struct pl_http_request *request);
/* curl has made the connection: the request goes over it now. */
void pl_http_upgrade_open(struct pl_http_upgrade *upgrade, struct pl_loop *loop);
bool pl_http_upgrade_is_open(const struct pl_http_upgrade *upgrade);
void pl_http_upgrade_send(struct pl_http_upgrade *upgrade, struct pl_slice bytes);
/* Before curl may close the connection; nothing is told afterwards. */
void pl_http_upgrade_close(struct pl_http_upgrade *upgrade);
/* Accepts NULL. */
void pl_http_upgrade_destroy(struct pl_http_upgrade *upgrade);
