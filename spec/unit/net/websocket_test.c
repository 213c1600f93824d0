#include "net/websocket.h"

#include "support/test.h"

struct heard {
    struct pl_buf text; /* "TYPE:payload\n" each */
    int answer;
};

static int tell(void *arg, enum pl_ws_type type, struct pl_slice payload)
{
    struct heard *heard = arg;
    pl_buf_add_f(&heard->text, "%d:%.*s\n", (int)type, PL_FMT(payload));
    return heard->answer;
}

/* Fed whole and byte by byte: the results must be equal. */
static void check_feed(struct pl_slice bytes, bool from_client, int code, const char *said,
                       const char *why)
{
    for (size_t step = 1; step <= bytes.len; step += bytes.len > 1 ? bytes.len - 1 : 1) {
        struct pl_ws_reader reader = {.max_message = 1000, .from_client = from_client};
        struct heard heard = {.answer = 0};
        struct pl_err err;
        int got = 0;
        pl_err_clear(&err);
        for (size_t at = 0; at < bytes.len && got == 0; at += step)
            got = pl_ws_feed(
                &reader, pl_slice(bytes.ptr + at, step < bytes.len - at ? step : bytes.len - at),
                tell, &heard, &err);
        CHECK_INT(got, code);
        CHECK_STR(pl_buf_z(&heard.text), said);
        if (why != NULL)
            CHECK_STR(err.message, why);
        pl_buf_deinit(&heard.text);
        pl_ws_reader_deinit(&reader);
    }
}

#define BYTES(text) pl_slice(text, sizeof(text) - 1)

TEST(messages_come_whole_however_their_bytes_are_cut)
{
    check_feed(BYTES("\x81\x05Hello"), false, 0, "1:Hello\n", NULL);
    check_feed(BYTES("\x01\x03Hel\x80\x02lo"), false, 0, "1:Hello\n", NULL);
    check_feed(BYTES("\x02\x01"
                     "a\x89\x01p\x00\x01"
                     "b\x80\x00"),
               false, 0, "9:p\n2:ab\n", NULL);
    check_feed(BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), true, 0, "1:Hello\n", NULL);
    check_feed(BYTES("\x82\x00\x88\x02\x03\xe8"), false, 0, "2:\n8:\x03\xe8\n", NULL);
}

TEST(frames_that_lie_are_refused)
{
    check_feed(BYTES("\x81\x85\x37\xfa\x21\x3d"), false, PL_ESYNTAX, "",
               "WebSocket: the server masks its frames");
    check_feed(BYTES("\x81\x05H"), true, PL_ESYNTAX, "", "WebSocket: a frame is not masked");
    check_feed(BYTES("\xc1\x01H"), false, PL_ESYNTAX, "", "WebSocket: a frame uses an extension");
    check_feed(BYTES("\x83\x01H"), false, PL_ESYNTAX, "",
               "WebSocket: a frame of the unknown type 3");
    check_feed(BYTES("\x80\x01H"), false, PL_ESYNTAX, "",
               "WebSocket: a continuation frame without a first frame");
    check_feed(BYTES("\x01\x01H\x01\x01I"), false, PL_ESYNTAX, "",
               "WebSocket: a message begins inside of another one");
    check_feed(BYTES("\x81\x7e\x00\x05Hello"), false, PL_ESYNTAX, "",
               "WebSocket: a frame's length is malformed");
    check_feed(BYTES("\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00"), false, PL_ESYNTAX, "",
               "WebSocket: a frame's length is malformed");
    check_feed(BYTES("\x09\x00"), false, PL_ESYNTAX, "", "WebSocket: a control frame is malformed");
    check_feed(BYTES("\x89\x7e\x00\x7e"), false, PL_ESYNTAX, "",
               "WebSocket: a control frame is malformed");
    check_feed(BYTES("\x88\x01\x03"), false, PL_ESYNTAX, "",
               "WebSocket: a control frame is malformed");
    check_feed(BYTES("\x88\x00\x81\x00"), false, PL_ESYNTAX, "8:\n",
               "WebSocket: bytes follow the close frame");
}

TEST(a_message_over_the_limit_is_refused_by_its_head)
{
    check_feed(BYTES("\x82\x7e\x03\xe9"), false, PL_ELIMIT, "",
               "WebSocket: a message is over the limit of 1000 bytes");
    check_feed(BYTES("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), false, PL_ELIMIT, "",
               "WebSocket: a message is over the limit of 1000 bytes");
    check_feed(BYTES("\x02\x01H\x80\x7e\x03\xe8"), false, PL_ELIMIT, "",
               "WebSocket: a message is over the limit of 1000 bytes");
}

TEST(what_is_written_is_read_back)
{
    static const size_t sizes[] = {0, 1, 124, 125, 126, 127, 65534, 65535, 65536, 70000};
    static const uint8_t mask[4] = {1, 0x80, 0xff, 7};
    for (size_t i = 0; i < 2 * PL_ARRAY_LEN(sizes); i++) {
        size_t size = sizes[i / 2];
        bool masked = i % 2 == 1;
        struct pl_buf payload = PL_BUF_INIT, frame = PL_BUF_INIT, want = PL_BUF_INIT;
        struct pl_ws_reader reader = {.max_message = 1 << 20, .from_client = masked};
        struct heard heard = {.answer = 0};
        for (size_t k = 0; k < size; k++)
            pl_buf_add_char(&payload, (char)('a' + k % 26));
        pl_ws_write(&frame, PL_WS_BINARY, '!', pl_buf_slice(&payload), masked ? mask : NULL);
        pl_buf_add_f(&want, "2:!%s\n", pl_buf_z(&payload));
        CHECK_INT(pl_ws_feed(&reader, pl_buf_slice(&frame), tell, &heard, NULL), 0);
        CHECK(pl_slice_eq(pl_buf_slice(&heard.text), pl_buf_slice(&want)));
        pl_buf_deinit(&payload);
        pl_buf_deinit(&frame);
        pl_buf_deinit(&want);
        pl_buf_deinit(&heard.text);
        pl_ws_reader_deinit(&reader);
    }
}

TEST(what_the_callback_says_ends_the_reading)
{
    struct pl_ws_reader reader = {.max_message = 10};
    struct heard heard = {.answer = PL_ECANCELED};
    CHECK_INT(pl_ws_feed(&reader,
                         BYTES("\x81\x01"
                               "a\x81\x01"
                               "b"),
                         tell, &heard, NULL),
              PL_ECANCELED);
    CHECK_STR(pl_buf_z(&heard.text), "1:a\n");
    pl_buf_deinit(&heard.text);
    pl_ws_reader_deinit(&reader);
}

/* The example of RFC 6455, 1.3. */
TEST(the_handshake_is_that_of_the_standard)
{
    char accept[PL_WS_ACCEPT], key[PL_WS_KEY];
    pl_ws_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    CHECK_STR(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    pl_ws_key((const uint8_t *)"the sample nonce", key);
    CHECK_STR(key, "dGhlIHNhbXBsZSBub25jZQ==");
}

TEST_MAIN()
