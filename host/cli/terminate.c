/* The data of the signal handler is global and written while signals are blocked. The handler calls
 * only safe functions: unlink, rmdir, write, _exit. */
#include "cli/terminate.h"

#include "base/base.h"
#include "base/check.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A signal handler reaches only global data. */
static struct {
    char folder[208], file[208], cert[208]; /* written while there is none */
    atomic_bool has_folder;
    atomic_int exit_code;
} left;

void pl_terminate_remove_folder(void)
{
    if (!atomic_exchange(&left.has_folder, false))
        return;
    unlink(left.file);
    unlink(left.cert);
    rmdir(left.folder);
}

_Noreturn void pl_terminate(int exit_code)
{
    pl_terminate_remove_folder();
    _exit(exit_code);
}

static void on_leave_signal(int signum)
{
    PL_UNUSED(signum);
    pl_terminate(atomic_load(&left.exit_code));
}

void pl_terminate_on_signals(int exit_code)
{
    struct sigaction end = {.sa_handler = on_leave_signal}, ignore = {.sa_handler = SIG_IGN};
    atomic_store(&left.exit_code, exit_code);
    PL_REQUIRE(sigaction(SIGINT, &end, NULL) == 0 && sigaction(SIGTERM, &end, NULL) == 0 &&
               sigaction(SIGHUP, &ignore, NULL) == 0 && sigaction(SIGUSR1, &ignore, NULL) == 0);
}

void pl_terminate_hold(sigset_t *before)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ours, before);
}

void pl_terminate_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int pl_terminate_make_folder(char *folder, const char *name)
{
    sigset_t before;
    PL_REQUIRE(!atomic_load(&left.has_folder));
    if (strlen(folder) + strlen(name) > 200) {
        errno = ENAMETOOLONG;
        return -1;
    }
    pl_terminate_hold(&before); /* otherwise a signal in between would leave the folder behind */
    int error = mkdtemp(folder) != NULL ? 0 : errno;
    if (error == 0) {
        snprintf(left.folder, sizeof left.folder, "%s", folder);
        snprintf(left.file, sizeof left.file, "%s/%s", folder, name);
        snprintf(left.cert, sizeof left.cert, "%s/%s.crt", folder, name);
        atomic_store(&left.has_folder, true);
    }
    pl_terminate_release(&before);
    errno = error;
    return error == 0 ? 0 : -1;
}
