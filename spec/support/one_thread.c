/* Linked to unit tests that are declared to start no thread (no THREADS in their pl_unit_test).
 * TSan does not run those, so a test that starts a thread anyway fails here. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <unistd.h>

static pid_t main_process;

__attribute__((constructor)) static void remember_process(void)
{
    main_process = getpid();
}

__attribute__((destructor)) static void check_threads(void)
{
    if (__libc_single_threaded || getpid() != main_process)
        return;
    fputs("this test starts threads: add THREADS to its pl_unit_test, so that TSan runs it\n",
          stderr);
    _exit(1);
}
