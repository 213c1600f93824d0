/* A fence decides whether requests of one kind (writes of a leader) may leave the process now.
 *
 * libcurl, OpenSSL and nghttp2 keep bytes of a request that did not fit into the socket, and send
 * them later without asking. So requests behind a fence have their own sockets, and a closed fence
 * is enforced on those sockets: after shutdown(2) no byte can follow, whatever a library still
 * holds. Bytes that the kernel had taken before have left the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A fence must outlive the requests and connections behind it. */
struct pl_fence {
    /* Must read the clock afresh, never use a cached time. A signal handler that interrupts the
     * loop's thread also calls it: it may only read clocks and plain fields. */
    bool (*may_write)(void *arg);
    void *arg;
};

static inline bool pl_fence_is_open(const struct pl_fence *fence)
{
    return fence == NULL || fence->may_write(fence->arg);
}

/* Registers a socket for requests behind the fence. False: there are too many, and the socket must
 * not be used. */
bool pl_fence_add_socket(const struct pl_fence *fence, int fd);
/* Call it before the socket is closed. A socket that is closed without this call is not confused
 * with a later file of the same number. Does nothing for other descriptors. */
void pl_fence_remove_socket(int fd);
/* Ends every connection behind this fence. */
void pl_fence_shut(const struct pl_fence *fence);

/* From now on a process that was stopped (SIGSTOP) asks its fences first when it continues
 * (SIGCONT), before the instruction at which it was stopped, which may be the one that sends. The
 * calling thread handles the signal; it must be the thread that sends. */
void pl_fence_guard(void);
void pl_fence_unguard(void);
/* For the other threads, so that the signal goes to the sending thread. New threads inherit it. */
void pl_fence_leave_to_others(void);
