/* Scripts and their modules: which files a PATH names, loading them as text, and require. */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "lua/lerr.h"
#include "lua/state.h"

/* The files of a PATH: the file itself, a folder's main.lua, or its *.lua but
 * *_spec.lua in name order. Absolute or as given; owned, NULL-terminated. */
char **pl_script_find(const char *path, struct pl_err *err);
void pl_script_free(char **files);
/* Appends the file's bytes. ENOTFOUND, EIO or ELIMIT with the path in the message. */
PL_MUST_USE int pl_script_read(const char *path, struct pl_buf *out, struct pl_err *err);
/* And what the file was when it was opened, before anything was read. Untouched when it was not. */
PL_MUST_USE int pl_script_read_stamped(const char *path, struct pl_buf *out,
                                       struct pl_file_stamp *stamp, struct pl_err *err);

/* What was loaded of a file, for the lines that errors show. */
struct pl_source_text {
    size_t len;
    char text[];
};

/* Loads the file's text (never bytecode) and pushes its chunk. reader: the script that requires it;
 * NULL: none, and its folder becomes one that `require` searches. The message of err begins with
 * file:line. */
PL_MUST_USE int pl_script_load(struct pl_state *s, const char *path, const char *reader,
                               struct pl_err *err);
/* The text of a line of something loaded, without white space around it. */
bool pl_script_line(struct pl_state *s, struct pl_slice path, int line, struct pl_slice *out);

/* require of scripts; host.read_file. */
int pl_script_require(lua_State *L);
int pl_script_read_file(lua_State *L);
void pl_script_deinit(struct pl_state *s);
