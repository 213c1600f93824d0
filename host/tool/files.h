/* The file system for tools: what Lua's io cannot do. Each function returns nil and a message that
 * begins with the path when it failed.
 *
 *   tool.kind(path [, follow]) -> "file" | "folder" | "link" | "other" | nil   nil: nothing there
 *   tool.names(folder) -> sorted names without "." and ".."
 *   tool.make_folder(path) -> true
 *   tool.put(path, text) -> true       a new file; fails where there is one
 *   tool.link(from, to) -> true        a second name for a file; fails where there is one
 *   tool.rename(from, to) -> true      of a folder: fails where there is one that is not empty
 *   tool.remove(path) -> true          a file, or an empty folder
 *   tool.terminal(fd) -> bool */
#pragma once

struct lua_State;

/* Adds them to the table at the top. */
void pl_tool_files(struct lua_State *L);
