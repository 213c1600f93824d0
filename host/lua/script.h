/* The files of scripts: finding those of a PATH, reading them, loading them as text. */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "lua/lerr.h"
#include "lua/state.h"

/* The files of a PATH: the file itself, a folder's main.lua, or its *.lua files in name order,
 * except *_spec.lua. Absolute or as given; owned, NULL-terminated. */
char **pl_script_find(const char *path, struct pl_err *err);
bool pl_script_is_file(const char *path);
/* Appends the file's bytes. ENOTFOUND, EIO or ELIMIT with the path in the message. */
PL_MUST_USE int pl_script_read(const char *path, struct pl_buf *out, struct pl_err *err);
/* Also returns the file's stamp when it was opened, before reading. Unchanged if it was not opened.
 */
PL_MUST_USE int pl_script_read_stamped(const char *path, struct pl_buf *out,
                                       struct pl_file_stamp *stamp, struct pl_err *err);
/* Reads through the state's origin, if it has one; the I/O thread is told of new files at run time.
 * reader: see pl_script_load. */
PL_MUST_USE int pl_script_read_for(struct pl_state *s, const char *reader, const char *path,
                                   struct pl_buf *out, struct pl_err *err);

/* The text of a loaded file, for source lines in errors. */
struct pl_source_text {
    size_t len;
    char text[];
};

/* Loads the file's text (never bytecode) and pushes its chunk. reader: the script that requires it;
 * NULL: none, and `require` will search its folder. The message of err begins with file:line. */
PL_MUST_USE int pl_script_load(struct pl_state *s, const char *path, const char *reader,
                               struct pl_err *err);
/* Pushes the chunk of the text, whose name begins with "@"; or nothing, and err. */
PL_MUST_USE int pl_script_compile(struct pl_state *s, const char *name, struct pl_slice text,
                                  struct pl_err *err);
/* The text of a line of a loaded file, without surrounding white space. */
bool pl_script_line(struct pl_state *s, struct pl_slice path, int line, struct pl_slice *out);

void pl_script_deinit(struct pl_state *s);
