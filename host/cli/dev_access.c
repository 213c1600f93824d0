/* Makes the token and the certificate, and writes the kubeconfig: readable only by its owner, whole
 * or not at all. The token of an earlier start is reused only from a file that no one else could
 * have read or written. */
#include "cli/dev_access.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/rand.h"
#include "cli/terminate.h"
#include "crypto/self_signed.h"
#include "value/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KUBECONFIG_BYTES ((size_t)64 << 10)

int pl_dev_access_make(struct pl_dev_access *access, const char *host, struct pl_err *err)
{
    *access = (struct pl_dev_access){.token = ""};
    if (pl_rand_hex(access->token, PL_DEV_TOKEN) != 0)
        return pl_err_set(err, PL_EIO, "a token can't be made: no randomness");
    return pl_self_signed(host, &access->cert_pem, &access->key_pem, err);
}

/* Files of other users, and files that others could read, are not trusted. */
static bool is_private(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

void pl_dev_access_keep_token(struct pl_dev_access *access, const char *path)
{
    static const char before[] = "user: {token: \"";
    struct pl_buf text = PL_BUF_INIT;
    if (is_private(path) && pl_file_read(path, KUBECONFIG_BYTES, &text, NULL) == 0) {
        const char *at = strstr(pl_buf_z(&text), before);
        at = at != NULL ? at + strlen(before) : "";
        if (strspn(at, "0123456789abcdef") == PL_DEV_TOKEN && at[PL_DEV_TOKEN] == '"')
            memcpy(access->token, at, PL_DEV_TOKEN);
    }
    pl_buf_deinit(&text);
}

void pl_dev_access_deinit(struct pl_dev_access *access)
{
    pl_free(access->cert_pem);
    pl_free(access->key_pem);
    *access = (struct pl_dev_access){.token = ""};
}

/* ---- the kubeconfig ---- */

/* The address for clients on this machine: every address includes loopback. */
static void add_server(struct pl_buf *out, const char *scheme, const char *host, int port)
{
    if (*host == '\0' || strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    if (strcmp(host, "::") == 0)
        host = "::1";
    bool bracket = strchr(host, ':') != NULL;
    pl_buf_add_f(out, "server: \"%s://%s%s%s:%d\"", scheme, bracket ? "[" : "", host,
                 bracket ? "]" : "", port);
}

static int dev_access_write_all(int fd, const char *path, struct pl_slice text, struct pl_err *err)
{
    if (pl_file_put(fd, text))
        return 0;
    return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
}

static int write_cert(const char *path, const char *pem, struct pl_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    int rc = dev_access_write_all(fd, path, pl_slice_z(pem), err);
    close(fd);
    return rc;
}

/* The certificate in a file beside the kubeconfig, by its full path, for all sorts of clients. */
static int add_cert(struct pl_buf *out, const char *path, bool is_regular, const char *pem,
                    struct pl_err *err)
{
    char *full = is_regular ? realpath(path, NULL) : NULL;
    int rc = 0;
    if (full != NULL) {
        char *beside = pl_format("%s.crt", full);
        rc = write_cert(beside, pem, err);
        pl_buf_add_z(out, ", certificate-authority: ");
        pl_write_str(out, pl_slice_z(beside));
        pl_free(beside);
    } else {
        pl_buf_add_z(out, ", certificate-authority-data: ");
        pl_base64_encode(pl_slice_z(pem), out);
    }
    free(full);
    return rc;
}

static int write_config(int fd, const char *path, const char *host, int port,
                        const struct pl_dev_access *access, struct pl_err *err)
{
    struct stat st;
    struct pl_buf text = PL_BUF_INIT;
    bool is_regular = lstat(path, &st) == 0 && S_ISREG(st.st_mode); /* not /dev/stdout */
    int rc = 0;
    if (is_regular && fchmod(fd, 0600) != 0)
        rc = pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    pl_buf_add_z(&text, "apiVersion: v1\nkind: Config\ncurrent-context: perilune\n"
                        "contexts:\n- name: perilune\n  context: {cluster: perilune, user: "
                        "perilune}\nclusters:\n- name: perilune\n  cluster: {");
    add_server(&text, access != NULL ? "https" : "http", host, port);
    if (rc == 0 && access != NULL)
        rc = add_cert(&text, path, is_regular, access->cert_pem, err);
    pl_buf_add_z(&text, "}\nusers:\n- name: perilune\n  user: {");
    if (access != NULL)
        pl_buf_add_f(&text, "token: \"%s\"", access->token);
    pl_buf_add_z(&text, "}\n");
    if (rc == 0)
        rc = dev_access_write_all(fd, path, pl_buf_slice(&text), err);
    pl_buf_deinit(&text);
    return rc;
}

int pl_dev_kubeconfig(const char *path, const char *host, int port,
                      const struct pl_dev_access *access, struct pl_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return pl_err_set(err, PL_EIO, "%s: %s", path, strerror(errno));
    int rc = write_config(fd, path, host, port, access, err);
    close(fd);
    return rc;
}

/* ---- a temporary one ---- */

#define NAME "kubeconfig"

char *pl_dev_temporary_kubeconfig(struct pl_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *folder = pl_format("%s/perilune-XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
    char *path = NULL;
    if (pl_terminate_make_folder(folder, NAME) == 0)
        path = pl_format("%s/" NAME, folder);
    else
        pl_err_set(err, PL_EIO, "%s: %s", folder, strerror(errno));
    pl_free(folder);
    return path;
}

void pl_dev_temporary_remove(char *path)
{
    if (path == NULL)
        return;
    pl_terminate_remove_folder();
    pl_free(path);
}
