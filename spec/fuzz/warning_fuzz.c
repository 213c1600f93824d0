/* Warning headers of a hostile API server: whole texts, few and short, without control characters.
 */
#include "base/check.h"
#include "kube/warning.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_buf value = PL_BUF_INIT, out = PL_BUF_INIT;
    pl_buf_add(&value, data, size);
    struct pl_http_header headers[] = {{"warning", pl_buf_z(&value)}, {"warning", "299 - \"x\""}};
    struct pl_http_response response = {.headers = headers, .header_count = 2};
    pl_warnings_add(&out, &response);
    size_t count = 0;
    for (size_t at = 0; at < out.len; count++) {
        size_t len = strlen(out.ptr + at);
        PL_REQUIRE(len <= 1024 && at + len < out.len);
        for (size_t i = 0; i < len; i++)
            PL_REQUIRE((unsigned char)out.ptr[at + i] >= ' ');
        at += len + 1;
    }
    PL_REQUIRE(count <= 17);
    pl_buf_deinit(&value);
    pl_buf_deinit(&out);
    return 0;
}
