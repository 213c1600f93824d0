/* A resolver that fails on demand, for processes that load this before the C library:
 *
 *     LD_PRELOAD=.../libspec_names.so SPEC_NAME=api.example SPEC_NAME_TROUBLE=FILE
 *
 * SPEC_NAME resolves to 127.0.0.1. While FILE exists it has no address: after the number of seconds
 * in the file (empty: at once) the answer is EAI_AGAIN, as when no name server can be reached. Each
 * look-up of the name adds a byte to FILE.asked. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*lookup_fn)(const char *node, const char *service, const struct addrinfo *hints,
                         struct addrinfo **out);

static void count(const char *trouble)
{
    char path[512];
    snprintf(path, sizeof path, "%s.asked", trouble);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        if (write(fd, ".", 1) != 1)
            abort();
        close(fd);
    }
}

/* Seconds until the look-up fails; negative: it does not fail. */
static int trouble_in(const char *path)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    return len > 0 ? atoi(text) : 0;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    const char *name = getenv("SPEC_NAME"), *trouble = getenv("SPEC_NAME_TROUBLE");
    lookup_fn next = (lookup_fn)dlsym(RTLD_NEXT, "getaddrinfo");
    if (next == NULL || name == NULL || trouble == NULL || node == NULL || strcmp(node, name) != 0)
        return next != NULL ? next(node, service, hints, out) : EAI_FAIL;
    count(trouble);
    int seconds = trouble_in(trouble);
    if (seconds < 0)
        return next("127.0.0.1", service, hints, out);
    poll(NULL, 0, seconds * 1000);
    return EAI_AGAIN;
}
