/* How answers leave the API: a small table of functions, so that the API does not know sockets.
 * Only the server's thread. */
#pragma once

#include "base/slice.h"
#include "net/http.h"

/* Receives an answer: reply once; or begin, write any number of times, end. */
struct pl_api_responder_ops {
    void (*reply)(void *self, int status, const struct pl_http_header *headers, size_t count,
                  struct pl_slice body);
    /* on_close(arg): the client has left. Write nothing afterwards. */
    void (*begin)(void *self, int status, const char *content_type, void (*on_close)(void *arg),
                  void *arg);
    void (*write)(void *self, struct pl_slice piece);
    void (*end)(void *self);
    /* Instead of begin: answers 101 and switches to another protocol, see pl_exchange_upgrade.
     * Later writes are its bytes. NULL: upgrades are not possible here. */
    void (*upgrade)(void *self, const struct pl_http_header *headers, size_t count,
                    void (*on_bytes)(void *arg, struct pl_slice bytes), void (*on_close)(void *arg),
                    void *arg);
    /* Of a stream: bytes that the client has not read yet. */
    size_t (*unread)(void *self);
    /* Calls on_drained(arg of begin) once, later, when everything was read. */
    void (*on_drained)(void *self, void (*on_drained)(void *arg));
    /* Cuts the stream without a proper end. on_close is not called. */
    void (*abort)(void *self);
};

/* Of a request that the server makes itself: the answer is dropped. */
extern const struct pl_api_responder_ops pl_api_no_client;

struct pl_api_responder {
    const struct pl_api_responder_ops *ops;
    void *self;
};
