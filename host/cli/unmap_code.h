/* Unmaps pages of the program that are not in use now. */
#pragma once

/* Unmaps the code and the constants of the program and of its libraries. Pages that are used again
 * come back one fault each, as long as the kernel still has them, without reading the file. Changes
 * that a debugger has made to the code (breakpoints) are lost. Any thread. */
void pl_unmap_code(void);
