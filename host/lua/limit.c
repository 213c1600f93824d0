/* The limits of every entry into Lua. CPU time is watched by a thread that signals the lane's
 * thread, whose hook then suspends the script for good. Memory is counted in the allocator. A
 * stopped script is never resumed, so none of its pcalls can continue. */
#include "lua/limit.h"

#include "base/alloc.h"
#include "base/base.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "lua/lerr.h"
#include "lua/profile.h"
#include "net/fence.h"

#include <errno.h>
#include <lauxlib.h>
#include <time.h>
#include <unistd.h>

#define HARD_FACTOR 4
#define BIG_BLOCK   ((size_t)1 << 20) /* only strings, buffers and tables are this big */

static void on_hook(lua_State *L, lua_Debug *ar);
static void on_line(lua_State *L, lua_Debug *ar);

/* A signal that comes while the hook is being changed must not change it too. */
static void set_hook(struct pl_limits *limits, bool armed)
{
    sig_atomic_t before = limits->armable;
    limits->armable = 0;
    limits->armed = armed;
    if (!armed && limits->lines != NULL)
        lua_sethook(limits->L, on_line, LUA_MASKLINE, 0);
    else
        lua_sethook(limits->L, armed ? on_hook : NULL, armed ? LUA_MASKCOUNT : 0, armed ? 1 : 0);
    limits->armable = before;
}

PL_COLD static void end_process(struct pl_limits *limits, size_t wanted)
{
    pl_log(PL_LOG_ERROR, "a script needs more than four times its memory limit; giving up",
           pl_str("script", limits->who ? limits->who(limits->who_arg) : "?"),
           pl_int("limit_bytes", (int64_t)limits->soft), pl_int("wanted_bytes", (int64_t)wanted));
    /* LuaJIT crashes when an allocation fails in the wrong place. Exiting in order is better, and
     * nothing can be unwound from here. */
    _exit(1);
}

/* Whether LuaJIT survives if this allocation fails. */
static bool can_refuse(const struct pl_limits *limits, size_t more)
{
    return more >= BIG_BLOCK && limits->armable && !limits->compiles;
}

/* The innermost frame of the script, not of host functions that it called. */
static bool find_script(lua_State *L, lua_Debug *ar)
{
    for (int level = 0; lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        if (ar->currentline > 0 && strncmp(ar->source, PL_OWN_CHUNK, strlen(PL_OWN_CHUNK)) != 0)
            return true;
    }
    return false;
}

static void note_where(struct pl_limits *limits, lua_State *L)
{
    lua_Debug ar;
    if (limits->where[0] == '\0' && L != NULL && find_script(L, &ar))
        snprintf(limits->where, sizeof limits->where, "%.*s:%d", PL_LIMIT_WHERE - 16,
                 pl_lerr_chunk(&ar), ar.currentline);
}

/* LuaJIT only says "not enough memory": the code that describes the error adds what is noted here.
 */
static void *limit_refuse(struct pl_limits *limits)
{
    limits->excess = PL_EXCESS_MEMORY;
    note_where(limits, limits->running);
    set_hook(limits, true);
    return NULL;
}

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static char pages; /* handed over by threads that close a state; only its address is used */

void pl_limits_closed(void)
{
    __tsan_release(&pages);
}

void pl_limits_opened(void)
{
    __tsan_acquire(&pages);
}
#else
void pl_limits_closed(void)
{
}

void pl_limits_opened(void)
{
}
#endif

static void note_used(struct pl_limits *limits, size_t used)
{
    atomic_store_explicit(&limits->used, used, memory_order_relaxed);
}

static __attribute__((noinline)) void *alloc_slowly(struct pl_limits *limits, void *ptr,
                                                    size_t old_size, size_t new_size)
{
    size_t used = pl_limits_used(limits) - old_size + new_size;
    if (new_size > old_size && used > limits->hard) {
        if (can_refuse(limits, new_size - old_size))
            return limit_refuse(limits);
        end_process(limits, used);
    }
    void *fresh = limits->alloc(limits->alloc_data, ptr, old_size, new_size);
    pl_limits_opened();
    if (fresh == NULL && new_size != 0)
        end_process(limits, used);
    note_used(limits, used);
    if (used > limits->soft && new_size > old_size && limits->armable && !limits->armed)
        set_hook(limits, true);
    return fresh;
}

static void *limited_alloc(void *data, void *ptr, size_t old_size, size_t new_size)
{
    struct pl_limits *limits = data;
    size_t used = pl_limits_used(limits) - old_size + new_size;
    void *spare = NULL;
    if (ptr == NULL && used <= limits->soft)
        spare = pl_spares_take(&limits->spares, new_size);
    if (spare == NULL &&
        !(new_size == 0 && ptr != NULL && pl_spares_keep(&limits->spares, ptr, old_size)))
        return alloc_slowly(limits, ptr, old_size, new_size);
    note_used(limits, used);
    return spare;
}

static struct pl_limits *limits_of(lua_State *L)
{
    void *data;
    PL_REQUIRE(lua_getallocf(L, &data) == limited_alloc);
    return data;
}

void pl_limits_describe(const struct pl_limits *limits, char out[PL_LIMIT_TEXT])
{
    if (limits->excess == PL_EXCESS_MEMORY)
        snprintf(out, PL_LIMIT_TEXT, "script memory limit exceeded (%d MiB)",
                 (int)(limits->soft >> 20));
    else
        snprintf(out, PL_LIMIT_TEXT, "script CPU limit exceeded (%g s without waiting)",
                 (double)atomic_load(&((struct pl_limits *)limits)->cpu_ns) / (double)PL_SECOND);
}

void pl_limits_collect(struct pl_limits *limits, lua_State *L)
{
    atomic_store(&limits->collecting, true);
    lua_gc(L, LUA_GCCOLLECT, 0);
    size_t before = SIZE_MAX;
    while (pl_limits_used(limits) > limits->soft / 4 &&
           pl_limits_used(limits) < before - before / 8) {
        before = pl_limits_used(limits);
        lua_gc(L, LUA_GCCOLLECT, 0);
    }
    pl_spares_drop(&limits->spares, limits->alloc, limits->alloc_data);
    atomic_store(&limits->collecting, false);
}

/* Whether the state stays over its memory limit. Tries one full collection. */
static bool is_over_memory(struct pl_limits *limits, lua_State *L)
{
    if (limits->excess == PL_EXCESS_MEMORY)
        return true;
    if (pl_limits_used(limits) <= limits->soft)
        return false;
    pl_limits_collect(limits, L);
    /* A quarter must be free. With less, the script would soon need the next full collection. */
    return pl_limits_used(limits) > limits->soft - limits->soft / 4;
}

/* Notes the limit that the slice exceeds, if any. */
static bool is_over(struct pl_limits *limits, lua_State *L)
{
    if (atomic_load(&limits->kill) == atomic_load(&limits->slice))
        limits->excess = PL_EXCESS_CPU;
    else if (is_over_memory(limits, L))
        limits->excess = PL_EXCESS_MEMORY;
    else
        return false;
    limits->armed = true;
    return true;
}

/* With the script's line that first exceeded it, even if a host function was running: later it may
 * be any line, or no frame of the script may be left. */
void pl_limits_push_message(const struct pl_limits *limits, lua_State *L)
{
    char message[PL_LIMIT_TEXT];
    pl_limits_describe(limits, message);
    lua_pushfstring(L, limits->where[0] != '\0' ? "%s: %s" : "%s%s", limits->where, message);
}

static void raise_limit(struct pl_limits *limits, lua_State *L)
{
    note_where(limits, L);
    pl_limits_push_message(limits, L);
    lua_error(L);
}

/* No script may resume it, since it would continue. */
static void bury(struct pl_limits *limits, lua_State *L)
{
    if (limits->ended == 0)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, limits->ended);
    lua_pushthread(L);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Only in a hook, where LuaJIT can suspend in the middle of a function. Does not return. */
static void suspend(struct pl_limits *limits, lua_State *L)
{
    note_where(limits, L);
    if (L == limits->running)
        limits->stopped = true;
    else
        bury(limits, L);
    lua_yield(L, 0);
}

/* Too late: that slice has ended, or the collection has made room. */
static void disarm(struct pl_limits *limits)
{
    set_hook(limits, false);
}

static void add_sample(struct pl_limits *limits, lua_State *L);

static void on_hook(lua_State *L, lua_Debug *ar)
{
    PL_UNUSED(ar);
    struct pl_limits *limits = limits_of(L);
    if (atomic_load(&limits->sample) == atomic_load(&limits->slice))
        add_sample(limits, L);
    if (!is_over(limits, L))
        disarm(limits);
    else if (lua_isyieldable(L))
        suspend(limits, L);
    else
        raise_limit(limits, L);
}

static void on_line(lua_State *L, lua_Debug *ar)
{
    const struct pl_line_watch *lines = limits_of(L)->lines;
    lua_getinfo(L, "Sl", ar);
    if (ar->currentline > 0 && strncmp(ar->source, PL_OWN_CHUNK, strlen(PL_OWN_CHUNK)) != 0)
        lines->at(lines->arg, L, pl_lerr_chunk(ar), ar->currentline);
}

void pl_limits_watch_lines(struct pl_limits *limits, const struct pl_line_watch *lines)
{
    bool changes = lines != limits->lines && !limits->armed;
    limits->lines = lines;
    if (changes)
        set_hook(limits, false);
}

void pl_limits_check(struct pl_limits *limits, lua_State *L)
{
    if (!limits->armed)
        return;
    if (is_over(limits, L))
        raise_limit(limits, L);
    disarm(limits);
}

bool pl_limits_is_over(struct pl_limits *limits, lua_State *L)
{
    return limits->armed && is_over(limits, L);
}

void pl_limits_init(struct pl_limits *limits, lua_State *L, size_t memory)
{
    limits->L = L;
    pl_nesting_init(&limits->nesting);
    limits->soft = memory;
    limits->hard = memory * HARD_FACTOR;
    limits->alloc = lua_getallocf(L, &limits->alloc_data);
    atomic_store(&limits->used,
                 (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0));
    lua_setallocf(L, limited_alloc, limits);
}

void pl_limits_deinit(struct pl_limits *limits)
{
    if (limits->L != NULL) {
        pl_spares_drop(&limits->spares, limits->alloc, limits->alloc_data);
        lua_setallocf(limits->L, limits->alloc, limits->alloc_data);
    }
    limits->L = NULL;
}

/* ---- the watchdog ---- */

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
    _Atomic bool asleep;
    struct pl_profile *profile; /* owned; NULL: nobody asks for one */
};

static void add_sample(struct pl_limits *limits, lua_State *L)
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

static void on_limit_signal(int signum, siginfo_t *info, void *context)
{
    PL_UNUSED(signum);
    PL_UNUSED(context);
    if (info->si_code != SI_QUEUE)
        return; /* another sender's signal; by default urgent data is ignored, too */
    struct pl_limits *limits = info->si_value.sival_ptr;
    /* Late signals find another slice, or none. */
    if (limits == NULL || !limits->armable)
        return;
    uint64_t slice = atomic_load(&limits->slice);
    if (atomic_load(&limits->kill) != slice && atomic_load(&limits->sample) != slice)
        return;
    lua_sethook(limits->L, on_hook, LUA_MASKCOUNT, 1);
    limits->armed = true;
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
    kernel.handler = on_limit_signal;
    PL_REQUIRE(syscall(SYS_rt_sigaction, DOG_SIGNAL, &kernel, NULL, sizeof kernel.mask) == 0);
}
#endif

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_limit_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
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
static bool limit_look_at(struct pl_limits *limits)
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
        if (limit_look_at(PL_CONTAINER_OF(link, struct pl_limits, link)))
            busy = true;
    }
    return busy;
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

static void *limit_watch(void *arg)
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

static void wake(struct pl_watchdog *dog)
{
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
    PL_REQUIRE(pthread_create(&dog->thread, NULL, limit_watch, dog) == 0);
}

struct pl_watchdog *pl_watchdog_create(void)
{
    struct pl_watchdog *dog = PL_NEW(struct pl_watchdog);
    pl_list_init(&dog->states);
    install_handler();
    start_watching(dog);
    return dog;
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
    start_watching(dog);
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

void pl_limits_watch(struct pl_limits *limits, struct pl_watchdog *dog)
{
    note_thread(limits);
    limits->dog = dog;
    pthread_mutex_lock(&dog->lock);
    pl_list_push(&dog->states, &limits->link);
    pthread_mutex_unlock(&dog->lock);
}

void pl_limits_unwatch(struct pl_limits *limits)
{
    if (limits->dog == NULL)
        return;
    pthread_mutex_lock(&limits->dog->lock);
    pl_link_unlink(&limits->link);
    pthread_mutex_unlock(&limits->dog->lock);
    limits->dog = NULL;
}

/* ---- slices ---- */

void pl_limits_enter(struct pl_limits *limits, lua_State *L, int64_t cpu_ns)
{
    if (limits->L == NULL)
        return;
    limits->excess = PL_EXCESS_NONE;
    limits->where[0] = '\0';
    limits->stopped = false;
    pl_nesting_reset(&limits->nesting);
    limits->running = L;
    atomic_store_explicit(&limits->cpu_ns, cpu_ns, memory_order_relaxed);
    atomic_fetch_add(&limits->slice, 1);
    if (limits->dog != NULL && atomic_load(&limits->dog->asleep))
        wake(limits->dog);
    if (pl_limits_used(limits) > limits->soft)
        set_hook(limits, true);
    limits->armable = 1;
}

void pl_limits_until(struct pl_limits *limits, int64_t due_ns)
{
    atomic_store_explicit(&limits->due_ns, due_ns, memory_order_relaxed);
}

bool pl_limits_has_stopped(const struct pl_limits *limits)
{
    return limits->stopped;
}

enum pl_excess pl_limits_leave(struct pl_limits *limits)
{
    if (limits->L == NULL)
        return PL_EXCESS_NONE;
    limits->armable = 0;
    limits->running = NULL;
    atomic_fetch_add(&limits->slice, 1);
    atomic_store_explicit(&limits->due_ns, 0, memory_order_relaxed);
    if (limits->armed)
        set_hook(limits, false);
    return limits->excess;
}
