/* Ends the process at once, from any place: by a signal during start or end, when an orderly stop
 * is not possible; by a second signal; with runs that could not be ended. Main thread, unless
 * stated otherwise. */
#pragma once

#include <signal.h>

/* Until pl_signals_watch is called, SIGINT and SIGTERM end the process with that code, and
 * SIGHUP and SIGUSR1 are ignored. */
void pl_terminate_on_signals(int exit_code);
/* Blocks both signals in this thread, and in threads that it starts meanwhile, while files that
 * they would remove are being created. Release with the same `before`. Any thread. */
void pl_terminate_hold(sigset_t *before);
void pl_terminate_release(const sigset_t *before);
/* Makes a folder from a template, like mkdtemp, which is removed when the process leaves, together
 * with the files `name` and `name`.crt in it. 0, or -1 with errno: ENAMETOOLONG when folder and
 * name have more than 200 bytes together. One at a time; every other thread blocks the signals. */
int pl_terminate_make_folder(char *folder, const char *name);
/* Removes the folder and its files now. Does nothing when there is none. Any thread, also in a
 * signal handler. */
void pl_terminate_remove_folder(void);
/* Removes the folder and ends the process. Any thread. */
_Noreturn void pl_terminate(int exit_code);
