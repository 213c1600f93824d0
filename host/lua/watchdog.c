/* The thread that watches all states. Every 10 ms it looks which states run Lua, and since when; a
 * slice that is over its time is marked and its thread gets a signal, whose handler arms the hook
 * of lua/limit.c. The same signal asks for a stack while a profile is made.
 *
 * A short-lived copy of the process has a timer instead of the thread: every 10 ms of its CPU time
 * the handler itself looks at the states.
 *
 * The handler runs in the middle of anything: it reads what it needs from the signal, and does
 * nothing unless the slice that it was sent for still runs. The lock is held while a state is
 * looked at, so that its thread can't end meanwhile. */
#include "lua/watchdog.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/check.h"
#include "base/clock.h"
#include "lua/limit.h"
#include "lua/profile.h"
#include "net/fence.h"

#include <time.h>
#include <unistd.h>

#define TICK_NS    (10 * PL_MS)
#define IDLE_TICKS 50 /* after this many ticks without Lua, it sleeps */
#define DOG_SIGNAL SIGURG
#define GRACE_NS   (200 * PL_MS) /* time for a slice over the limit to end by itself */

struct pl_watchdog {
    pthread_t thread;
    pthread_mutex_t lock; /* protects the following fields, and a state's thread against ending */
    pthread_cond_t wake;
    struct pl_list states;
    bool stop;
    bool has_timer; /* instead of the thread */
    _Atomic bool asleep;
    struct pl_profile *profile; /* owned; NULL: nobody asks for one */
};

void pl_watchdog_sample(struct pl_limits *limits, lua_State *L)
{
    struct pl_watchdog *dog = limits->dog;
    atomic_store(&limits->sample, 0);
    if (dog == NULL)
        return;
    struct pl_buf stack = PL_BUF_INIT;
    pl_profile_fold(L, &stack);
    pthread_mutex_lock(&dog->lock);
    if (dog->profile != NULL && stack.len > 0)
        pl_profile_count(dog->profile, pl_buf_slice(&stack));
    pthread_mutex_unlock(&dog->lock);
    pl_buf_deinit(&stack);
}

static void on_timer(struct pl_watchdog *dog);

static void on_dog_signal(int signum, siginfo_t *info, void *context)
{
    PL_UNUSED(signum);
    PL_UNUSED(context);
    if (info->si_code == SI_TIMER) {
        on_timer(info->si_value.sival_ptr);
        return;
    }
    if (info->si_code != SI_QUEUE)
        return; /* another sender's signal; by default urgent data is ignored, too */
    struct pl_limits *limits = info->si_value.sival_ptr;
    /* Late signals find another slice, or none. */
    if (limits == NULL || !limits->armable)
        return;
    uint64_t slice = atomic_load(&limits->slice);
    if (atomic_load(&limits->kill) != slice && atomic_load(&limits->sample) != slice)
        return;
    limits->arm(limits);
}

#if defined(__SANITIZE_THREAD__)
#include <sys/syscall.h>
/* ThreadSanitizer delays handlers installed by sigaction until the thread calls an intercepted
 * function, which a Lua loop never does. So the handler is replaced directly. */
static void install_raw(void)
{
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } kernel;
    PL_REQUIRE(syscall(SYS_rt_sigaction, DOG_SIGNAL, NULL, &kernel, sizeof kernel.mask) == 0);
    kernel.handler = on_dog_signal;
    PL_REQUIRE(syscall(SYS_rt_sigaction, DOG_SIGNAL, &kernel, NULL, sizeof kernel.mask) == 0);
}
#endif

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_dog_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    PL_REQUIRE(sigaction(DOG_SIGNAL, &action, NULL) == 0);
#if defined(__SANITIZE_THREAD__)
    install_raw();
#endif
}

static int64_t cpu_now(const struct pl_limits *limits)
{
    struct timespec now;
    if (clock_gettime(limits->cpu_clock, &now) != 0)
        return 0;
    return now.tv_sec * PL_SECOND + now.tv_nsec;
}

static bool is_to_end(const struct pl_limits *limits, int64_t cpu)
{
    int64_t limit = atomic_load(&limits->cpu_ns), due = atomic_load(&limits->due_ns);
    return (limit > 0 && cpu - limits->seen_cpu_ns >= limit) ||
           (due > 0 && pl_clock_mono(pl_clock_system()) >= due);
}

/* True while the state is in Lua. */
static bool look_at(struct pl_limits *limits)
{
    uint64_t slice = atomic_load(&limits->slice);
    if ((slice & 1) == 0)
        return false;
    int64_t cpu = cpu_now(limits);
    if (slice != limits->seen) {
        limits->seen = slice;
        limits->seen_cpu_ns = cpu;
        limits->over_cpu_ns = 0;
        limits->told = false;
        return true;
    }
    if (!is_to_end(limits, cpu))
        return true;
    if (limits->over_cpu_ns == 0)
        limits->over_cpu_ns = cpu;
    atomic_store(&limits->kill, slice);
    pthread_sigqueue(limits->thread, DOG_SIGNAL, (union sigval){.sival_ptr = limits});
    /* It has not ended: compiled code, or one long library call. */
    if (cpu - limits->over_cpu_ns > GRACE_NS && !limits->told &&
        !atomic_load(&limits->collecting)) {
        limits->told = true;
        if (limits->dog->has_timer)
            _exit(1); /* this is a handler, in which nothing can be logged */
        if (limits->on_stuck != NULL)
            limits->on_stuck(limits->stuck_arg);
    }
    return true;
}

/* Its stack is noted at the next instruction of its script. */
static void ask_for_sample(struct pl_limits *limits)
{
    uint64_t slice = atomic_load(&limits->slice);
    if ((slice & 1) == 0)
        return;
    atomic_store(&limits->sample, slice);
    pthread_sigqueue(limits->thread, DOG_SIGNAL, (union sigval){.sival_ptr = limits});
}

static bool look_at_all(struct pl_watchdog *dog)
{
    bool busy = false;
    PL_LIST_FOR (link, &dog->states) {
        if (dog->profile != NULL)
            ask_for_sample(PL_CONTAINER_OF(link, struct pl_limits, link));
        if (look_at(PL_CONTAINER_OF(link, struct pl_limits, link)))
            busy = true;
    }
    return busy;
}

/* The thread that was interrupted may hold the lock, while it changes the list: next time. */
static void on_timer(struct pl_watchdog *dog)
{
    if (pthread_mutex_trylock(&dog->lock) != 0)
        return;
    look_at_all(dog);
    pthread_mutex_unlock(&dog->lock);
}

static void wait_a_tick(struct pl_watchdog *dog)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += dog->profile != NULL ? PL_PROFILE_MS * PL_MS : TICK_NS;
    if (until.tv_nsec >= PL_SECOND) {
        until.tv_nsec -= PL_SECOND;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&dog->wake, &dog->lock, &until);
}

static void *watch_all(void *arg)
{
    struct pl_watchdog *dog = arg;
    int idle = 0;
    pl_fence_leave_to_others();
    pthread_mutex_lock(&dog->lock);
    while (!dog->stop) {
        idle = look_at_all(dog) ? 0 : idle + 1;
        if (idle < IDLE_TICKS) {
            wait_a_tick(dog);
            continue;
        }
        /* A thread that enters Lua after this store sees it and wakes us; one that entered before
         * is seen by the check that follows. */
        atomic_store(&dog->asleep, true);
        if (!look_at_all(dog) && !dog->stop)
            pthread_cond_wait(&dog->wake, &dog->lock);
        atomic_store(&dog->asleep, false);
        idle = 0;
    }
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

void pl_watchdog_wake(struct pl_watchdog *dog)
{
    if (!atomic_load(&dog->asleep))
        return;
    pthread_mutex_lock(&dog->lock);
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
}

static void start_watching(struct pl_watchdog *dog)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dog->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&dog->lock, NULL);
    PL_REQUIRE(pthread_create(&dog->thread, NULL, watch_all, dog) == 0);
}

struct pl_watchdog *pl_watchdog_create(void)
{
    struct pl_watchdog *dog = PL_NEW(struct pl_watchdog);
    pl_list_init(&dog->states);
    install_handler();
    start_watching(dog);
    return dog;
}

static void start_timer(struct pl_watchdog *dog)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = DOG_SIGNAL};
    event.sigev_value.sival_ptr = dog;
    timer_t timer;
    PL_REQUIRE(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0);
    const struct itimerspec every = {{.tv_nsec = TICK_NS}, {.tv_nsec = TICK_NS}};
    PL_REQUIRE(timer_settime(timer, 0, &every, NULL) == 0);
    dog->has_timer = true;
}

static void note_thread(struct pl_limits *limits)
{
    limits->thread = pthread_self();
    PL_REQUIRE(pthread_getcpuclockid(limits->thread, &limits->cpu_clock) == 0);
}

pid_t pl_watchdog_fork(struct pl_watchdog *dog)
{
    pthread_mutex_lock(&dog->lock); /* so that the watching thread is at no place that matters */
    pid_t child = fork();
    if (child != 0) {
        pthread_mutex_unlock(&dog->lock);
        return child;
    }
    PL_LIST_FOR (link, &dog->states) {
        struct pl_limits *limits = PL_CONTAINER_OF(link, struct pl_limits, link);
        note_thread(limits);
        limits->seen = 0; /* the CPU time of the child begins anew */
    }
    atomic_store(&dog->asleep, false);
    pthread_mutex_unlock(&dog->lock);
    start_timer(dog);
    return 0;
}

void pl_watchdog_destroy(struct pl_watchdog *dog)
{
    if (dog == NULL)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->stop = true;
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
    pthread_cond_destroy(&dog->wake);
    pthread_mutex_destroy(&dog->lock);
    pl_free(dog);
}

void pl_watchdog_profile_begin(struct pl_watchdog *dog)
{
    struct pl_profile *profile = pl_profile_create();
    pthread_mutex_lock(&dog->lock);
    PL_REQUIRE(dog->profile == NULL);
    dog->profile = profile;
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
}

size_t pl_watchdog_profile_end(struct pl_watchdog *dog, struct pl_buf *stacks)
{
    pthread_mutex_lock(&dog->lock);
    struct pl_profile *profile = dog->profile;
    dog->profile = NULL;
    pthread_mutex_unlock(&dog->lock);
    size_t samples = pl_profile_write(profile, stacks);
    pl_profile_destroy(profile);
    return samples;
}

bool pl_watchdog_try_destroy(struct pl_watchdog *dog)
{
    pthread_mutex_lock(&dog->lock);
    bool is_free = pl_list_empty(&dog->states);
    pthread_mutex_unlock(&dog->lock);
    if (is_free)
        pl_watchdog_destroy(dog);
    return is_free;
}

void pl_watchdog_add(struct pl_watchdog *dog, struct pl_limits *limits)
{
    note_thread(limits);
    limits->dog = dog;
    pthread_mutex_lock(&dog->lock);
    pl_list_push(&dog->states, &limits->link);
    pthread_mutex_unlock(&dog->lock);
}

void pl_watchdog_remove(struct pl_limits *limits)
{
    if (limits->dog == NULL)
        return;
    pthread_mutex_lock(&limits->dog->lock);
    pl_link_unlink(&limits->link);
    pthread_mutex_unlock(&limits->dog->lock);
    limits->dog = NULL;
}
