#include "net/fence.h"

#include "base/base.h"
#include "base/check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define SOCKETS_MAX 1024

/* A signal handler finds nothing but what is global. Written by the sending thread only. */
static struct {
    struct {
        _Atomic(const struct pl_fence *) fence; /* NULL: free */
        atomic_int fd;
    } sockets[SOCKETS_MAX];
    pthread_t sender;
    atomic_bool guarded;
    struct sigaction before;
} table;

bool pl_fence_add_socket(const struct pl_fence *fence, int fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (atomic_load(&table.sockets[i].fence) != NULL)
            continue;
        atomic_store(&table.sockets[i].fd, fd);
        atomic_store(&table.sockets[i].fence, fence);
        return true;
    }
    return false;
}

void pl_fence_remove_socket(int fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (atomic_load(&table.sockets[i].fence) != NULL && atomic_load(&table.sockets[i].fd) == fd)
            atomic_store(&table.sockets[i].fence, NULL);
}

void pl_fence_shut(const struct pl_fence *fence)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (atomic_load(&table.sockets[i].fence) == fence)
            shutdown(atomic_load(&table.sockets[i].fd), SHUT_RDWR);
}

static void on_continued(int signum)
{
    int before = errno;
    if (!pthread_equal(pthread_self(), table.sender)) {
        pthread_kill(table.sender, signum);
        errno = before;
        return;
    }
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        const struct pl_fence *fence = atomic_load(&table.sockets[i].fence);
        if (fence != NULL && !pl_fence_is_open(fence))
            shutdown(atomic_load(&table.sockets[i].fd), SHUT_RDWR);
    }
    errno = before;
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    PL_REQUIRE(pthread_sigmask(how, &set, NULL) == 0);
}

void pl_fence_guard(void)
{
    struct sigaction action = {.sa_handler = on_continued, .sa_flags = SA_RESTART};
    PL_REQUIRE(!atomic_load(&table.guarded));
    sigemptyset(&action.sa_mask);
    table.sender = pthread_self();
    PL_REQUIRE(sigaction(SIGCONT, &action, &table.before) == 0);
    atomic_store(&table.guarded, true);
    mask(SIG_UNBLOCK);
}

void pl_fence_unguard(void)
{
    if (!atomic_exchange(&table.guarded, false))
        return;
    PL_REQUIRE(sigaction(SIGCONT, &table.before, NULL) == 0);
}

void pl_fence_leave_to_others(void)
{
    mask(SIG_BLOCK);
}
