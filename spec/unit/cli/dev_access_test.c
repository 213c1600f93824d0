#include "cli/dev_access.h"

#include "base/alloc.h"
#include "base/file.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *text_of(const char *path)
{
    struct pl_err err;
    struct pl_buf text = PL_BUF_INIT;
    REQUIRE(pl_file_read(path, 1 << 20, &text, &err) == 0);
    return pl_buf_take(&text);
}

static int access_of(const char *path)
{
    return access(path, F_OK);
}

static int mode_of(const char *path)
{
    struct stat st;
    REQUIRE(stat(path, &st) == 0);
    return st.st_mode & 0777;
}

TEST(tokens_are_long_and_never_the_same)
{
    struct pl_dev_access a, b;
    struct pl_err err;
    REQUIRE(pl_dev_access_make(&a, NULL, &err) == 0);
    REQUIRE(pl_dev_access_make(&b, NULL, &err) == 0);
    CHECK_INT(strspn(a.token, "0123456789abcdef"), PL_DEV_TOKEN);
    CHECK(strcmp(a.token, b.token) != 0);
    pl_dev_access_deinit(&a);
    pl_dev_access_deinit(&b);
}

TEST(a_kubeconfig_has_all_that_a_client_needs_and_is_its_owners_alone)
{
    struct pl_dev_access made;
    struct pl_err err;
    REQUIRE(pl_dev_access_make(&made, "0.0.0.0", &err) == 0);
    char *path = pl_dev_temporary_kubeconfig(&err);
    REQUIRE(path != NULL);
    FILE *old = fopen(path, "w"); /* one that everybody could read */
    REQUIRE(old != NULL && fclose(old) == 0 && chmod(path, 0644) == 0);
    REQUIRE(pl_dev_kubeconfig(path, "0.0.0.0", 6443, &made, &err) == 0);
    CHECK_INT(mode_of(path), 0600);
    char *text = text_of(path), *beside = pl_format("%s.crt", path), *cert = text_of(beside);
    CHECK(strstr(text, "server: \"https://127.0.0.1:6443\"") != NULL);
    CHECK(strstr(text, made.token) != NULL);
    CHECK(strstr(text, beside) != NULL);
    CHECK_STR(cert, made.cert_pem);
    CHECK(strstr(text, "PRIVATE KEY") == NULL && strstr(cert, "PRIVATE KEY") == NULL);
    pl_dev_temporary_remove(path);
    CHECK(access_of(beside) != 0);
    pl_free(text);
    pl_free(cert);
    pl_free(beside);
    pl_dev_access_deinit(&made);
}

TEST(a_server_that_comes_back_keeps_the_token)
{
    struct pl_dev_access first, second;
    struct pl_err err;
    REQUIRE(pl_dev_access_make(&first, NULL, &err) == 0);
    REQUIRE(pl_dev_access_make(&second, NULL, &err) == 0);
    char *path = pl_dev_temporary_kubeconfig(&err);
    REQUIRE(path != NULL);
    pl_dev_access_keep_token(&second, path);
    CHECK(strcmp(first.token, second.token) != 0);
    REQUIRE(pl_dev_kubeconfig(path, "127.0.0.1", 1, &first, &err) == 0);
    REQUIRE(chmod(path, 0644) == 0); /* others may know it */
    pl_dev_access_keep_token(&second, path);
    CHECK(strcmp(first.token, second.token) != 0);
    REQUIRE(chmod(path, 0600) == 0);
    pl_dev_access_keep_token(&second, path);
    CHECK_STR(second.token, first.token);
    pl_dev_temporary_remove(path);
    pl_dev_access_deinit(&first);
    pl_dev_access_deinit(&second);
}

TEST(one_without_credentials_says_so)
{
    struct pl_err err;
    char *path = pl_dev_temporary_kubeconfig(&err);
    REQUIRE(path != NULL);
    REQUIRE(pl_dev_kubeconfig(path, "::1", 6443, NULL, &err) == 0);
    char *text = text_of(path);
    CHECK(strstr(text, "server: \"http://[::1]:6443\"") != NULL);
    CHECK(strstr(text, "token") == NULL);
    pl_free(text);
    pl_dev_temporary_remove(path);
}

TEST_MAIN()
