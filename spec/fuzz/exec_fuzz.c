/* Answers of exec plugins: a good answer has a token or a certificate with its key, a bad one gives
 * a reason. In both cases the token that it contains is hidden from then on. */
#include "base/alloc.h"
#include "base/check.h"
#include "kube/exec_plugin.h"

#define VERSION "client.authentication.k8s.io/v1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_hidden(struct pl_slice output, const char *token)
{
    struct pl_exec_plugin plugin = {.command = NULL};
    struct pl_secrets secrets = {.count = 0};
    pl_exec_add_secrets(&plugin, output, &secrets);
    if (token != NULL && strlen(token) >= 4 && strpbrk(token, "\n-") == NULL) {
        char *masked = pl_secrets_mask(&secrets, pl_slice_z(token));
        PL_REQUIRE(masked != NULL && strstr(masked, token) == NULL);
        pl_free(masked);
    }
    pl_secrets_clear(&secrets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_slice output = pl_slice((const char *)data, size);
    struct pl_exec_answer answer;
    struct pl_err err;
    pl_err_clear(&err);
    int rc = pl_exec_answer_parse(output, VERSION, &answer, &err);
    PL_REQUIRE(rc == err.code && (rc == 0) == (err.message[0] == '\0'));
    PL_REQUIRE(rc != 0 || answer.token != NULL || answer.cert_pem != NULL);
    PL_REQUIRE(rc != 0 || (answer.cert_pem == NULL) == (answer.key_pem == NULL));
    check_hidden(output, answer.token);
    pl_exec_answer_deinit(&answer);
    return 0;
}
