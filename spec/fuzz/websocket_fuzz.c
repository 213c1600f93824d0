/* WebSocket frames in arbitrary pieces, and the channels of a command in them: the first byte
 * chooses the speaker and the pieces. Memory stays within its limit, the pieces make no difference,
 * and whatever was read can be written again. */
#include "base/check.h"
#include "kube/exec.h"
#include "net/websocket.h"

#include <string.h>

#define MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    struct pl_buf all; /* type, length and payload of each message */
};

static int tell(void *arg, enum pl_ws_type type, struct pl_slice payload)
{
    struct seen *seen = arg;
    PL_REQUIRE(payload.len <= (type >= PL_WS_CLOSE ? PL_WS_CONTROL : MOST));
    pl_buf_add_char(&seen->all, (char)type);
    pl_buf_add(&seen->all, &payload.len, sizeof payload.len);
    pl_buf_add_slice(&seen->all, payload);
    return 0;
}

static int read_all(struct pl_slice bytes, bool from_client, size_t step, struct seen *seen)
{
    struct pl_ws_reader reader = {.max_message = MOST, .from_client = from_client};
    struct pl_err err;
    int code = 0;
    for (size_t at = 0; at < bytes.len && code == 0; at += step) {
        size_t len = bytes.len - at < step ? bytes.len - at : step;
        code = pl_ws_feed(&reader, pl_slice(bytes.ptr + at, len), tell, seen, &err);
        PL_REQUIRE(reader.message.len <= MOST && reader.control.len <= PL_WS_CONTROL);
    }
    PL_REQUIRE(code == 0 || code == PL_ESYNTAX || code == PL_ELIMIT);
    pl_ws_reader_deinit(&reader);
    return code;
}

/* What was read, written by the other side, reads the same. */
static void write_again(const struct seen *seen, bool from_client)
{
    static const uint8_t mask[4] = {1, 2, 3, 0xfe};
    struct pl_buf out = PL_BUF_INIT;
    struct seen again = {PL_BUF_INIT};
    for (size_t at = 0; at < seen->all.len;) {
        size_t len;
        enum pl_ws_type type = (enum pl_ws_type)(uint8_t)seen->all.ptr[at];
        memcpy(&len, seen->all.ptr + at + 1, sizeof len);
        at += 1 + sizeof len;
        pl_ws_write(&out, type, -1, pl_slice(seen->all.ptr + at, len), from_client ? mask : NULL);
        at += len;
    }
    PL_REQUIRE(read_all(pl_buf_slice(&out), from_client, out.len + 1, &again) == 0);
    PL_REQUIRE(pl_slice_eq(pl_buf_slice(&again.all), pl_buf_slice(&seen->all)));
    pl_buf_deinit(&again.all);
    pl_buf_deinit(&out);
}

static void on_send(void *arg, struct pl_slice bytes)
{
    *(size_t *)arg += bytes.len;
}

static void channels(struct pl_slice bytes, size_t step)
{
    static const struct pl_http_header headers[] = {
        {"upgrade", "websocket"},
        {"sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
        {"sec-websocket-protocol", "v5.channel.k8s.io"}};
    struct pl_http_response response = {101, headers, 3};
    struct pl_rand rand;
    struct pl_err err;
    size_t sent = 0;
    pl_rand_seed(&rand, 1);
    struct pl_exec_params params = {.key = "dGhlIHNhbXBsZSBub25jZQ==",
                                    .most = MOST,
                                    .rand = &rand,
                                    .send = on_send,
                                    .arg = &sent};
    struct pl_exec *exec = pl_exec_create(&params, &response, &err);
    PL_REQUIRE(exec != NULL);
    int code = 0;
    for (size_t at = 0; at < bytes.len && code == 0; at += step)
        code = pl_exec_feed(
            exec, pl_slice(bytes.ptr + at, bytes.len - at < step ? bytes.len - at : step), &err);
    const struct pl_exec_result *result = pl_exec_end(exec, &err);
    PL_REQUIRE(result == NULL || result->out.len + result->err.len <= MOST);
    PL_REQUIRE(sent <= 4 * bytes.len); /* a pong is little longer than its ping */
    pl_exec_destroy(exec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool from_client = (data[0] & 1) != 0;
    size_t step = 1 + (data[0] >> 1) % 16;
    struct pl_slice bytes = pl_slice((const char *)data + 1, size - 1);
    struct seen cut = {PL_BUF_INIT}, whole = {PL_BUF_INIT};
    int code = read_all(bytes, from_client, step, &cut);
    PL_REQUIRE(code == read_all(bytes, from_client, size, &whole));
    PL_REQUIRE(pl_slice_eq(pl_buf_slice(&cut.all), pl_buf_slice(&whole.all)));
    write_again(&whole, from_client);
    channels(bytes, step);
    pl_buf_deinit(&cut.all);
    pl_buf_deinit(&whole.all);
    return 0;
}
