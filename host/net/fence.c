/* The sockets of fenced requests. When their fence is found closed, they are shut down, so that no
 * byte which a library still holds can leave. The fence is asked before bytes are sent; this file
 * makes the answer final.
 *
 * The table is static because the handler of SIGCONT uses it: a process that was stopped and
 * continued checks every fence before the sending thread goes on. So the code here uses only what a
 * signal handler may use: atomics, the clock, fstat, shutdown, pthread_kill.
 *
 * A descriptor's number may belong to another file by now, so each place also has the socket's
 * inode, and only a socket with that inode is shut down. */
#include "net/fence.h"

#include "base/check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SOCKETS_MAX 1024

/* A signal handler reaches only global data. Only the sending thread writes it. */
static struct {
    struct {
        _Atomic(const struct pl_fence *) fence; /* NULL: free */
        atomic_int fd;
        atomic_ulong inode; /* by now the number alone may belong to another file */
    } sockets[SOCKETS_MAX];
    pthread_t sender;
    atomic_bool guarded;
    struct sigaction before;
} table;

static bool inode_of(int fd, unsigned long *inode)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode))
        return false;
    *inode = info.st_ino;
    return true;
}

/* Some versions of libcurl, 7.88 among them, close sockets that never got a connection without
 * calling the close callback. */
static bool is_still_there(size_t i)
{
    unsigned long inode;
    return inode_of(atomic_load(&table.sockets[i].fd), &inode) &&
           inode == atomic_load(&table.sockets[i].inode);
}

static bool take_free_place(const struct pl_fence *fence, int fd, unsigned long inode)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (atomic_load(&table.sockets[i].fence) != NULL)
            continue;
        atomic_store(&table.sockets[i].fd, fd);
        atomic_store(&table.sockets[i].inode, inode);
        atomic_store(&table.sockets[i].fence, fence);
        return true;
    }
    return false;
}

static void drop_closed(void)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (atomic_load(&table.sockets[i].fence) != NULL && !is_still_there(i))
            atomic_store(&table.sockets[i].fence, NULL);
}

bool pl_fence_add_socket(const struct pl_fence *fence, int fd)
{
    unsigned long inode;
    if (!inode_of(fd, &inode))
        return false;
    pl_fence_remove_socket(fd); /* the former file with this number */
    if (take_free_place(fence, fd, inode))
        return true;
    drop_closed();
    return take_free_place(fence, fd, inode);
}

void pl_fence_remove_socket(int fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (atomic_load(&table.sockets[i].fence) != NULL && atomic_load(&table.sockets[i].fd) == fd)
            atomic_store(&table.sockets[i].fence, NULL);
}

static void shut(size_t i)
{
    if (is_still_there(i))
        shutdown(atomic_load(&table.sockets[i].fd), SHUT_RDWR);
}

void pl_fence_shut(const struct pl_fence *fence)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        if (atomic_load(&table.sockets[i].fence) == fence)
            shut(i);
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
            shut(i);
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
