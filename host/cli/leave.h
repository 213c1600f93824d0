/* Ending the process at once, wherever it is: by a signal while it starts or ends, when nothing is
 * there yet, or no longer, that a signal could stop in order; by a second signal; with runs that
 * could not be ended. Main thread, but for what says otherwise. */
#pragma once

#include <signal.h>

/* Until pl_loop_watch_signals is called SIGINT and SIGTERM end the process with that code, and
 * SIGHUP and SIGUSR1 are passed over. */
void pl_leave_on_signals(int exit_code);
/* Holds both signals back from this thread, and from those that it starts meanwhile: what they
 * would have to undo is being made. Release with the same `before`. Any thread. */
void pl_leave_hold(sigset_t *before);
void pl_leave_release(const sigset_t *before);
/* Makes a folder from a template as mkdtemp does, which goes when the process leaves, with the
 * files `name` and `name`.crt in it. 0, or -1 with errno: ENAMETOOLONG when folder and name have
 * more than 200 bytes together. One at a time; every other thread holds the signals back. */
int pl_leave_make_folder(char *folder, const char *name);
/* Removes the folder now, with what is in it. Harmless when there is none. Any thread, also in a
 * handler of a signal. */
void pl_leave_remove_folder(void);
/* Removes the folder and ends the process. Any thread. */
_Noreturn void pl_leave(int exit_code);
