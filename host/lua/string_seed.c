/* LuaJIT reads the seed of a state by syscall(SYS_getrandom). This file defines that function for
 * the whole process: while a thread has chosen a seed, it gets bytes that follow from the seed.
 * Every other call goes to the C library. A hash must stay unpredictable where clients choose the
 * strings, so a seed is chosen only for worlds of specs, and for states that are recorded or
 * replayed. */
#include "lua/string_seed.h"

#include "base/rand.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 6

typedef long (*syscall_fn)(long number, ...);

static _Thread_local uint64_t chosen;

void pl_string_seed(uint64_t seed)
{
    chosen = seed;
}

static long fill(void *bytes, size_t len)
{
    struct pl_rand rand;
    pl_rand_seed(&rand, chosen);
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(pl_rand_u64(&rand) >> 56);
    return (long)len;
}

/* It is looked up once, since dlsym takes locks, and a child of fork calls this, too. */
static syscall_fn library_syscall(void)
{
    static _Atomic(syscall_fn) known;
    union { /* the type has no prototype in common with dlsym's */
        void *symbol;
        syscall_fn function;
    } found = {.function = atomic_load_explicit(&known, memory_order_relaxed)};
    if (found.function == NULL) {
        found.symbol = dlsym(RTLD_NEXT, "syscall");
        atomic_store_explicit(&known, found.function, memory_order_relaxed);
    }
    return found.function;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    va_list list;
    long args[ARGUMENTS];
    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && chosen != 0)
        return fill((void *)args[0], (size_t)args[1]);
    return library_syscall()(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
