/* Frames of WebSocket (RFC 6455) for both sides: bytes become messages, messages become bytes.
 * Pure: knows no socket. Extensions are not spoken, so their bits are refused. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum pl_ws_type {
    PL_WS_MORE = 0, /* of a message that has begun; readers never tell of it */
    PL_WS_TEXT = 1,
    PL_WS_BINARY = 2,
    PL_WS_CLOSE = 8,
    PL_WS_PING = 9,
    PL_WS_PONG = 10,
};

#define PL_WS_KEY     25  /* with NUL: what a client's handshake has */
#define PL_WS_ACCEPT  29  /* with NUL: what the server's answer must have */
#define PL_WS_CONTROL 125 /* bytes of a CLOSE, PING or PONG at most */

/* What has come of one direction. Zero-initialise, set the first two. */
struct pl_ws_reader {
    size_t max_message; /* bytes */
    bool from_client;   /* clients mask their frames, servers must not */
    /* private */
    uint8_t head[14], mask[4];
    size_t head_len;
    uint64_t left, at; /* of the frame's payload: bytes to come, and those that came */
    uint8_t type, message_type;
    bool inside, last, in_message, closed;
    struct pl_buf message, control; /* owned */
};

/* A whole message or control frame; borrowed for the call. Non-zero ends the reading with it. */
typedef int (*pl_ws_fn)(void *arg, enum pl_ws_type type, struct pl_slice payload);

void pl_ws_reader_deinit(struct pl_ws_reader *reader);
/* 0; what the callback said; ESYNTAX for frames that break the protocol (also for any byte behind a
 * CLOSE), ELIMIT for a message over the limit: as soon as a frame's head says so. */
PL_MUST_USE int pl_ws_feed(struct pl_ws_reader *reader, struct pl_slice bytes, pl_ws_fn tell,
                           void *arg, struct pl_err *err);
/* Appends one whole message or control frame, in two pieces: `front` is a first byte of the
 * payload, or -1. mask: four bytes of a client's; NULL: a server's. */
void pl_ws_write(struct pl_buf *out, enum pl_ws_type type, int front, struct pl_slice payload,
                 const uint8_t mask[4]);
/* A client's key for the handshake, from 16 bytes; and what the server makes of any key. */
void pl_ws_key(const uint8_t bytes[16], char out[PL_WS_KEY]);
void pl_ws_accept(const char *key, char out[PL_WS_ACCEPT]);
