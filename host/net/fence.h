/* A fence: whether requests of one kind (writes of a leader) may leave the process now.
 *
 * libcurl, OpenSSL and nghttp2 keep bytes of a request that did not fit into the socket, and
 * send them whenever the socket takes more, without asking anybody. So what is behind a
 * fence has sockets of its own, and a fence that is found closed is enforced on those: after
 * shutdown(2) nothing can follow, whatever a library still holds. What the kernel took before has
 * left the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Must outlive the requests and connections behind it. */
struct pl_fence {
    /* With a fresh reading of the clock, never a cached one. It is also asked from a signal
     * handler that interrupts the loop's thread: it reads clocks and plain fields, nothing else. */
    bool (*may_write)(void *arg);
    void *arg;
};

static inline bool pl_fence_is_open(const struct pl_fence *fence)
{
    return fence == NULL || fence->may_write(fence->arg);
}

/* A socket for requests behind the fence. False: there are too many, it must not be used. */
bool pl_fence_add_socket(const struct pl_fence *fence, int fd);
/* Before it is closed; one that is closed without it is not mistaken for what gets its number.
 * Harmless for others. */
void pl_fence_remove_socket(int fd);
/* Ends every connection behind this fence. */
void pl_fence_shut(const struct pl_fence *fence);

/* From now on a process that was stopped (SIGSTOP) asks its fences first when it goes on
 * (SIGCONT), before the instruction at which it was stopped: be that the one that sends. The
 * calling thread becomes the one that does so; it must be the one that sends. */
void pl_fence_guard(void);
void pl_fence_unguard(void);
/* For the other threads, so that the signal goes to that one. Children inherit it. */
void pl_fence_leave_to_others(void);
