/* WebSocket frames, read and written byte by byte.
 *
 * The input is hostile. A frame's length is checked against the limit before any byte is stored, so
 * memory never exceeds the limit. A length must have its shortest form. Control frames may occur
 * between the frames of a message, but are not fragmented. After a CLOSE nothing may follow. After
 * the first error the reader must not be fed again. */
#include "net/websocket.h"

#include "base/base64.h"
#include "base/check.h"
#include "crypto/digest.h"

#include <string.h>

#define LAST      0x80u
#define RESERVED  0x70u
#define TYPE      0x0fu
#define MASKED    0x80u
#define IN_16     126u /* the length is in the next 2 bytes */
#define IN_64     127u /* the length is in the next 8 bytes */
#define SHA1_LEN  20
#define HANDSHAKE "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, 1.3 */

void pl_ws_reader_deinit(struct pl_ws_reader *reader)
{
    pl_buf_deinit(&reader->message);
    pl_buf_deinit(&reader->control);
}

/* ---- heads ---- */

static bool is_control(uint8_t type)
{
    return type >= PL_WS_CLOSE;
}

/* The length of the head, from its first bytes. */
static size_t head_size(const struct pl_ws_reader *reader)
{
    if (reader->head_len < 2)
        return 2;
    uint8_t len = reader->head[1] & 0x7fu;
    size_t more = len == IN_64 ? 8 : len == IN_16 ? 2 : 0;
    return 2 + more + ((reader->head[1] & MASKED) != 0 ? 4 : 0);
}

static uint64_t number(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static int length_of(const uint8_t *head, uint64_t *len, struct pl_err *err)
{
    uint8_t first = head[1] & 0x7fu;
    *len = first;
    if (first == IN_16)
        *len = number(head + 2, 2);
    else if (first == IN_64)
        *len = number(head + 2, 8);
    bool is_short = first < IN_16 || (first == IN_16 ? *len >= IN_16 : *len > UINT16_MAX);
    if (!is_short || *len > INT64_MAX)
        return pl_err_set(err, PL_ESYNTAX, "WebSocket: a frame's length is malformed");
    return 0;
}

static int check_type(const struct pl_ws_reader *reader, uint8_t type, bool last, uint64_t len,
                      struct pl_err *err)
{
    if (is_control(type)) {
        if (type > PL_WS_PONG || !last || len > PL_WS_CONTROL || (type == PL_WS_CLOSE && len == 1))
            return pl_err_set(err, PL_ESYNTAX, "WebSocket: a control frame is malformed");
        return 0;
    }
    if (type > PL_WS_BINARY)
        return pl_err_set(err, PL_ESYNTAX, "WebSocket: a frame of the unknown type %u", type);
    if ((type == PL_WS_MORE) != reader->in_message)
        return pl_err_set(err, PL_ESYNTAX, "WebSocket: %s",
                          reader->in_message ? "a message begins inside of another one"
                                             : "a continuation frame without a first frame");
    if (len > reader->max_message - reader->message.len)
        return pl_err_set(err, PL_ELIMIT, "WebSocket: a message is over the limit of %zu bytes",
                          reader->max_message);
    return 0;
}

/* The head is complete. */
static int begin_frame(struct pl_ws_reader *reader, struct pl_err *err)
{
    const uint8_t *head = reader->head;
    uint64_t len;
    reader->last = (head[0] & LAST) != 0;
    reader->type = head[0] & TYPE;
    if ((head[0] & RESERVED) != 0)
        return pl_err_set(err, PL_ESYNTAX, "WebSocket: a frame uses an extension");
    bool masked = (head[1] & MASKED) != 0;
    if (masked != reader->from_client)
        return pl_err_set(err, PL_ESYNTAX, "WebSocket: %s",
                          masked ? "the server masks its frames" : "a frame is not masked");
    int code = length_of(head, &len, err);
    if (code == 0)
        code = check_type(reader, reader->type, reader->last, len, err);
    if (code != 0)
        return code;
    if (masked)
        memcpy(reader->mask, head + reader->head_len - 4, 4);
    if (!is_control(reader->type) && reader->type != PL_WS_MORE) {
        reader->message_type = reader->type;
        reader->in_message = true;
    }
    reader->left = len;
    reader->at = 0;
    reader->inside = true;
    return 0;
}

/* ---- payloads ---- */

static int end_frame(struct pl_ws_reader *reader, pl_ws_fn tell, void *arg)
{
    int code = 0;
    reader->inside = false;
    reader->head_len = 0;
    if (is_control(reader->type)) {
        reader->closed = reader->type == PL_WS_CLOSE;
        code = tell(arg, (enum pl_ws_type)reader->type, pl_buf_slice(&reader->control));
        pl_buf_clear(&reader->control);
    } else if (reader->last) {
        reader->in_message = false;
        code = tell(arg, (enum pl_ws_type)reader->message_type, pl_buf_slice(&reader->message));
        pl_buf_clear(&reader->message);
    }
    return code;
}

static size_t take_payload(struct pl_ws_reader *reader, struct pl_slice bytes)
{
    struct pl_buf *out = is_control(reader->type) ? &reader->control : &reader->message;
    size_t count = bytes.len < reader->left ? bytes.len : (size_t)reader->left, from = out->len;
    pl_buf_add(out, bytes.ptr, count);
    for (size_t i = 0; reader->from_client && i < count; i++)
        out->ptr[from + i] = (char)(out->ptr[from + i] ^ reader->mask[(reader->at + i) % 4]);
    reader->at += count;
    reader->left -= count;
    return count;
}

static size_t take_head(struct pl_ws_reader *reader, struct pl_slice bytes)
{
    size_t used = 0;
    while (used < bytes.len && reader->head_len < head_size(reader))
        reader->head[reader->head_len++] = (uint8_t)bytes.ptr[used++];
    return used;
}

int pl_ws_feed(struct pl_ws_reader *reader, struct pl_slice bytes, pl_ws_fn tell, void *arg,
               struct pl_err *err)
{
    int code = 0;
    for (size_t at = 0; at < bytes.len;) {
        if (reader->closed)
            return pl_err_set(err, PL_ESYNTAX, "WebSocket: bytes follow the close frame");
        struct pl_slice rest = pl_slice(bytes.ptr + at, bytes.len - at);
        if (reader->inside)
            at += take_payload(reader, rest);
        else
            at += take_head(reader, rest);
        if (!reader->inside && reader->head_len == head_size(reader))
            code = begin_frame(reader, err);
        if (code == 0 && reader->inside && reader->left == 0)
            code = end_frame(reader, tell, arg);
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- writing ---- */

static void write_head(struct pl_buf *out, enum pl_ws_type type, size_t len, bool masked)
{
    uint8_t bit = masked ? MASKED : 0;
    pl_buf_add_char(out, (char)(LAST | (uint8_t)type));
    if (len < IN_16) {
        pl_buf_add_char(out, (char)(bit | len));
        return;
    }
    size_t count = len <= UINT16_MAX ? 2 : 8;
    pl_buf_add_char(out, (char)(bit | (count == 2 ? IN_16 : IN_64)));
    for (size_t i = count; i-- > 0;)
        pl_buf_add_char(out, (char)((uint64_t)len >> (8 * i)));
}

void pl_ws_write(struct pl_buf *out, enum pl_ws_type type, int front, struct pl_slice payload,
                 const uint8_t mask[4])
{
    size_t len = payload.len + (front >= 0);
    PL_REQUIRE(type < PL_WS_CLOSE || len <= PL_WS_CONTROL);
    write_head(out, type, len, mask != NULL);
    if (mask != NULL)
        pl_buf_add(out, mask, 4);
    size_t from = out->len;
    if (front >= 0)
        pl_buf_add_char(out, (char)front);
    pl_buf_add_slice(out, payload);
    for (size_t i = 0; mask != NULL && i < len; i++)
        out->ptr[from + i] = (char)(out->ptr[from + i] ^ mask[i % 4]);
}

/* ---- the handshake ---- */

static void encode(struct pl_slice bytes, char *out, size_t size)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_base64_encode(bytes, &text);
    PL_REQUIRE(text.len + 1 == size);
    memcpy(out, text.ptr, size);
    pl_buf_deinit(&text);
}

void pl_ws_key(const uint8_t bytes[16], char out[PL_WS_KEY])
{
    encode(pl_slice((const char *)bytes, 16), out, PL_WS_KEY);
}

void pl_ws_accept(const char *key, char out[PL_WS_ACCEPT])
{
    struct pl_buf text = PL_BUF_INIT;
    uint8_t digest[PL_DIGEST_MAX];
    pl_buf_add_z(&text, key);
    pl_buf_add_z(&text, HANDSHAKE);
    PL_REQUIRE(pl_digest("sha1", pl_buf_slice(&text), digest) == SHA1_LEN);
    encode(pl_slice((const char *)digest, SHA1_LEN), out, PL_WS_ACCEPT);
    pl_buf_deinit(&text);
}
