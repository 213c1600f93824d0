/* WebSocket frames (RFC 6455) for both sides: reads messages from bytes and writes messages as
 * bytes. Pure: knows no socket. Extensions are not supported, so their bits are refused. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum pl_ws_type {
    PL_WS_MORE = 0, /* continues a message; readers never report it */
    PL_WS_TEXT = 1,
    PL_WS_BINARY = 2,
    PL_WS_CLOSE = 8,
    PL_WS_PING = 9,
    PL_WS_PONG = 10,
};

#define PL_WS_KEY     25  /* with NUL: the key in a client's handshake */
#define PL_WS_ACCEPT  29  /* with NUL: the value in the server's answer */
#define PL_WS_CONTROL 125 /* maximum payload of a CLOSE, PING or PONG, in bytes */

/* The reader of one direction. Zero-initialise it and set the first two members. */
struct pl_ws_reader {
    size_t max_message; /* bytes */
    bool from_client;   /* clients mask their frames, servers must not */
    /* private */
    uint8_t head[14], mask[4];
    size_t head_len;
    uint64_t left, at; /* of the frame's payload: missing bytes, and received bytes */
    uint8_t type, message_type;
    bool inside, last, in_message, closed;
    struct pl_buf message, control; /* owned */
};

/* Called for each complete message or control frame; borrowed for the call. A value other than 0
 * ends the reading with it. */
typedef int (*pl_ws_fn)(void *arg, enum pl_ws_type type, struct pl_slice payload);

void pl_ws_reader_deinit(struct pl_ws_reader *reader);
/* Returns 0, the callback's value, ESYNTAX for frames that violate the protocol (also for bytes
 * after a CLOSE), or ELIMIT for a message over the limit, as soon as a frame's head announces it.
 */
PL_MUST_USE int pl_ws_feed(struct pl_ws_reader *reader, struct pl_slice bytes, pl_ws_fn tell,
                           void *arg, struct pl_err *err);
/* Appends one complete message or control frame. `front` is the first byte of the payload, or -1.
 * mask: the four bytes of a client; NULL for a server. */
void pl_ws_write(struct pl_buf *out, enum pl_ws_type type, int front, struct pl_slice payload,
                 const uint8_t mask[4]);
/* A client's key for the handshake, from 16 bytes; and the server's answer to a key. */
void pl_ws_key(const uint8_t bytes[16], char out[PL_WS_KEY]);
void pl_ws_accept(const char *key, char out[PL_WS_ACCEPT]);
