/* For the binary that scripts/package makes, which runs with glibc 2.31 and later though it was
 * built with a newer one: what glibc has had under another name, or in another form, before 2.34.
 * The linker replaces the names (--wrap); symbols that merely have an older version are in a file
 * that scripts/package writes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

int __xstat(int version, const char *path, struct stat *out);
int __lxstat(int version, const char *path, struct stat *out);
int __fxstat(int version, int fd, struct stat *out);
int __xstat64(int version, const char *path, struct stat64 *out);

int __wrap_stat(const char *path, struct stat *out);
int __wrap_stat64(const char *path, struct stat64 *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __fxstat64(int version, int fd, struct stat64 *out);
int __lxstat64(int version, const char *path, struct stat64 *out);
int __fxstatat(int version, int fd, const char *path, struct stat *out, int flags);
int __wrap_fstat64(int fd, struct stat64 *out);
int __wrap_lstat64(const char *path, struct stat64 *out);
int __wrap_fstatat(int fd, const char *path, struct stat *out, int flags);
struct mallinfo2 __wrap_mallinfo2(void);

int __wrap_stat(const char *path, struct stat *out)
{
    return __xstat(STAT_VERSION, path, out);
}

int __wrap_stat64(const char *path, struct stat64 *out)
{
    return __xstat64(STAT_VERSION, path, out);
}

int __wrap_lstat(const char *path, struct stat *out)
{
    return __lxstat(STAT_VERSION, path, out);
}

int __wrap_fstat(int fd, struct stat *out)
{
    return __fxstat(STAT_VERSION, fd, out);
}

int __wrap_fstat64(int fd, struct stat64 *out)
{
    return __fxstat64(STAT_VERSION, fd, out);
}

int __wrap_lstat64(const char *path, struct stat64 *out)
{
    return __lxstat64(STAT_VERSION, path, out);
}

int __wrap_fstatat(int fd, const char *path, struct stat *out, int flags)
{
    return __fxstatat(STAT_VERSION, fd, path, out, flags);
}

/* The older one counts in ints: with more than 2 GiB its figures are too small. */
struct mallinfo2 __wrap_mallinfo2(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo old = mallinfo();
#pragma GCC diagnostic pop
    struct mallinfo2 now;
    memset(&now, 0, sizeof now);
    now.arena = (unsigned)old.arena;
    now.ordblks = (unsigned)old.ordblks;
    now.smblks = (unsigned)old.smblks;
    now.hblks = (unsigned)old.hblks;
    now.hblkhd = (unsigned)old.hblkhd;
    now.usmblks = (unsigned)old.usmblks;
    now.fsmblks = (unsigned)old.fsmblks;
    now.uordblks = (unsigned)old.uordblks;
    now.fordblks = (unsigned)old.fordblks;
    now.keepcost = (unsigned)old.keepcost;
    return now;
}

/* What unwinds stacks asks for the object that holds an instruction. Until 2.35 it went through
 * all. */
struct search {
    ElfW(Addr) pc;
    struct dl_find_object *found;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    const ElfW(Phdr) *here = NULL, *frames = NULL;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        ElfW(Addr) start = info->dlpi_addr + phdr->p_vaddr;
        if (phdr->p_type == PT_LOAD && search->pc >= start && search->pc < start + phdr->p_memsz)
            here = phdr;
        if (phdr->p_type == PT_GNU_EH_FRAME)
            frames = phdr;
    }
    if (here == NULL || frames == NULL)
        return 0;
    memset(search->found, 0, sizeof *search->found);
    search->found->dlfo_map_start = (void *)(info->dlpi_addr + here->p_vaddr);
    search->found->dlfo_map_end = (void *)(info->dlpi_addr + here->p_vaddr + here->p_memsz);
    search->found->dlfo_eh_frame = (void *)(info->dlpi_addr + frames->p_vaddr);
    return 1;
}

int __wrap__dl_find_object(void *pc, struct dl_find_object *found);

int __wrap__dl_find_object(void *pc, struct dl_find_object *found)
{
    struct search search = {(ElfW(Addr))pc, found};
    return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

/* Until 2.34 the program brought the loop over its constructors along, in a piece that newer start
 * files do not have. */
typedef int main_fn(int, char **, char **);
typedef void fini_fn(void);

extern void (*__preinit_array_start[])(int, char **, char **) __attribute__((visibility("hidden")));
extern void (*__preinit_array_end[])(int, char **, char **) __attribute__((visibility("hidden")));
extern void (*__init_array_start[])(int, char **, char **) __attribute__((visibility("hidden")));
extern void (*__init_array_end[])(int, char **, char **) __attribute__((visibility("hidden")));

int shim_libc_start_main(main_fn *main, int argc, char **argv, void (*init)(int, char **, char **),
                         fini_fn *fini, fini_fn *rtld_fini, void *stack_end);
int __wrap___libc_start_main(main_fn *main, int argc, char **argv, void *init, fini_fn *fini,
                             fini_fn *rtld_fini, void *stack_end);

static void construct(int argc, char **argv, char **environ)
{
    for (void (**f)(int, char **, char **) = __preinit_array_start; f < __preinit_array_end; f++)
        (*f)(argc, argv, environ);
    for (void (**f)(int, char **, char **) = __init_array_start; f < __init_array_end; f++)
        (*f)(argc, argv, environ);
}

int __wrap___libc_start_main(main_fn *main, int argc, char **argv, void *init, fini_fn *fini,
                             fini_fn *rtld_fini, void *stack_end)
{
    (void)init;
    return shim_libc_start_main(main, argc, argv, construct, fini, rtld_fini, stack_end);
}
