/* A folder on a disk that does not answer, for processes that load this before the C library:
 *
 *     LD_PRELOAD=.../libspec_hung.so SPEC_HUNG_UNDER=FOLDER SPEC_HUNG=FILE
 *
 * While FILE exists, calls that open, stat or watch a path in FOLDER wait. Each waiting call adds a
 * byte to FILE.asked. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

typedef int (*open_fn)(const char *path, int flags, ...);

static open_fn next_open(void)
{
    return (open_fn)dlsym(RTLD_NEXT, "open");
}

static void count(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s.asked", file);
    int fd = next_open()(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        if (write(fd, ".", 1) != 1)
            abort();
        close(fd);
    }
}

static void wait_for(const char *path)
{
    const char *under = getenv("SPEC_HUNG_UNDER"), *file = getenv("SPEC_HUNG");
    if (under == NULL || file == NULL || path == NULL || strncmp(path, under, strlen(under)) != 0 ||
        access(file, F_OK) != 0)
        return;
    count(file);
    while (access(file, F_OK) == 0)
        poll(NULL, 0, 10);
}

REPLACES int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    wait_for(path);
    return next_open()(path, flags, mode);
}

REPLACES int stat(const char *path, struct stat *out)
{
    wait_for(path);
    return ((int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat"))(path, out);
}

REPLACES FILE *fopen(const char *path, const char *mode)
{
    wait_for(path);
    return ((FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen"))(path, mode);
}

REPLACES DIR *opendir(const char *path)
{
    wait_for(path);
    return ((DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir"))(path);
}

REPLACES int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    wait_for(path);
    return ((int (*)(int, const char *, uint32_t))dlsym(RTLD_NEXT, "inotify_add_watch"))(fd, path,
                                                                                         mask);
}
