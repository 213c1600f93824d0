/* A wall clock that a test sets, for processes that load this before the C library:
 *
 *     LD_PRELOAD=.../libspec_clock.so SPEC_CLOCK=FILE
 *
 * FILE has the number of seconds by which CLOCK_REALTIME and all other functions for the time of
 * day are off (no file: 0). Each change of the file is a jump. Monotonic clocks are not changed. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

typedef int (*clock_fn)(clockid_t clock, struct timespec *out);

static clock_fn next_clock(void)
{
    static _Atomic(clock_fn) next;
    clock_fn found = atomic_load(&next);
    if (found == NULL) {
        found = (clock_fn)dlsym(RTLD_NEXT, "clock_gettime");
        atomic_store(&next, found);
    }
    return found;
}

/* In seconds; the file is read ten times a second at most. */
static long offset(void)
{
    static _Atomic long looked_ms, seconds;
    struct timespec now;
    next_clock()(CLOCK_MONOTONIC, &now);
    long ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (ms - atomic_load(&looked_ms) < 100)
        return atomic_load(&seconds);
    char text[32] = "";
    const char *path = getenv("SPEC_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = '\0';
        close(fd);
    }
    atomic_store(&seconds, atol(text));
    atomic_store(&looked_ms, ms);
    return atomic_load(&seconds);
}

REPLACES int clock_gettime(clockid_t clock, struct timespec *out)
{
    int rc = next_clock()(clock, out);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += offset();
    return rc;
}

REPLACES int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

REPLACES time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
