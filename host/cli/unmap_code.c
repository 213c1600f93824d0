/* A host at rest does not run the code of its start (the loader, the load of scripts), and rarely
 * that of a TLS handshake. The kernel keeps such pages mapped, so they count as the process's
 * resident memory, and the kernel drops them late. Without them up to two thirds less is resident.
 *
 * Only parts of a file that were never writable are unmapped. A part that the loader has relocated
 * and protected since (RELRO) looks the same in /proc/self/maps, but its pages are not those of the
 * file: to unmap it would undo the relocation. So the program's own headers are asked. */
#include "cli/unmap_code.h"

#include "base/base.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static int unmap_constant_parts(struct dl_phdr_info *object, size_t size, void *user)
{
    PL_UNUSED(size);
    const uintptr_t *page = user;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0)
            continue;
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        uintptr_t first_page = start & ~(*page - 1);
        /* A failure (locked pages) changes nothing. */
        (void)madvise((void *)first_page, start + part->p_memsz - first_page, MADV_DONTNEED);
    }
    return 0;
}

void pl_unmap_code(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_constant_parts, &page);
}
