/* The names of a server's own certificate. A host that is no name is left out: the loopback names
 * are always there. */
#include "crypto/self_signed.h"

#include "crypto/x509_build.h"

#include <openssl/obj_mac.h>
#include <string.h>
#include <time.h>

#define DAY_S   (24L * 60 * 60)
#define VALID_S (3650 * DAY_S)

int pl_self_signed(const char *host, char **cert_pem, char **key_pem, struct pl_err *err)
{
    struct pl_buf names = PL_BUF_INIT;
    pl_buf_add_z(&names, "DNS:localhost,IP:127.0.0.1,IP:::1");
    if (host != NULL && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "::") != 0)
        pl_x509_add_name(&names, host);
    const struct pl_x509_extension extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE"},
        {NID_key_usage, "critical,digitalSignature,keyCertSign"},
        {NID_ext_key_usage, "serverAuth"},
        {NID_subject_alt_name, pl_buf_z(&names)},
        {0, NULL},
    };
    int64_t now = (int64_t)time(NULL);
    const struct pl_x509_plan plan = {.name = "perilune",
                                      .from_s = now - DAY_S,
                                      .until_s = now + VALID_S,
                                      .extensions = extensions};
    int rc = pl_x509_build(&plan, cert_pem, key_pem, err);
    pl_buf_deinit(&names);
    return rc;
}
