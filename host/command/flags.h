/* Flags of a command: declared in a table, read from the command line, from PERILUNE_*
 * variables and from the `flags:` of a --config file, in that order of precedence. */
#pragma once

#include "base/err.h"
#include "value/doc.h"

#include <stdbool.h>
#include <stdint.h>

enum pl_flag_type {
    PL_FLAG_TEXT,
    PL_FLAG_SWITCH,   /* --name, --no-name, --name=true|false */
    PL_FLAG_INTEGER,  /* from `least` to `most` */
    PL_FLAG_NUMBER,   /* from `least` to `most` */
    PL_FLAG_DURATION, /* "30s"; from `least` to `most`, in nanoseconds */
    PL_FLAG_SIZE,     /* "512MiB"; from `least` to `most` */
    PL_FLAG_CHOICE,   /* one of `choices` */
};

/* What a text names. */
enum pl_flag_names {
    PL_NAMES_NOTHING,
    PL_NAMES_NAME,      /* of an object: "my-app.example" */
    PL_NAMES_NAMESPACE, /* "my-app" */
    PL_NAMES_OBJECT,    /* "NAMESPACE/NAME" */
    PL_NAMES_SERVICE,   /* "NAMESPACE/NAME[:PORT]" */
};

struct pl_flag {
    char name[32];
    enum pl_flag_type type;
    char fallback[12];        /* the default as text; "": not set */
    char metavar[28];         /* "FILE"; "" for switches */
    char help[152];           /* one line */
    char choices[28];         /* "text|json" */
    char of[36];              /* "run|dev": commands with this flag; "": all that have the table */
    char with[40];            /* "a|b": it needs one of these flags; "": none */
    int64_t least, most;      /* of numbers, durations, sizes; most 0: no limit */
    char letter;              /* -f; 0: none */
    bool repeatable;          /* texts only */
    bool may_be_empty;        /* texts only */
    bool not_in_file;         /* a --config file cannot set it */
    enum pl_flag_names names; /* of texts */
};

/* Flags of several commands. A command accepts its own, and names the commands of the others. */
struct pl_flag_table {
    const struct pl_flag *flags; /* borrowed for life */
    size_t count;
    const char *command; /* borrowed for life; NULL: takes all */
};

struct pl_flags {
    const struct pl_flag *table; /* borrowed, count entries */
    size_t count;
    const char *command; /* as above */
    struct pl_flag_value {
        char **texts; /* owned */
        size_t count;
        char *source; /* owned: "--lanes", "PERILUNE_LANES", "FILE: flags.lanes"; NULL: not set */
        bool typed;   /* on the command line */
        bool in_file;
    } * values;   /* owned, one for each flag */
    char **paths; /* owned: arguments that are not flags */
    size_t path_count;
    bool help; /* --help was given */
};

/* Reads argv[0..argc) (without the command's name) and environ. Values are checked against their
 * types; EINVAL with a message that names the flag and its source. Variables of other commands'
 * flags are ignored. */
PL_MUST_USE int pl_flags_parse(struct pl_flags *flags, const struct pl_flag_table *table, int argc,
                               char *const *argv, const char *const *environ, struct pl_err *err);
/* Takes values of a mapping for flags that neither command line nor environment set. One file
 * serves several commands: other commands' flags are checked, but not used. */
PL_MUST_USE int pl_flags_merge(struct pl_flags *flags, struct pl_node mapping, const char *source,
                               struct pl_err *err);
/* EINVAL when the command line has a flag that needs another one, which is not set anywhere. Call
 * it when all sources are read. The environment and a --config file, which serve several commands,
 * may have such flags. */
PL_MUST_USE int pl_flags_check(const struct pl_flags *flags, struct pl_err *err);
void pl_flags_deinit(struct pl_flags *flags);

/* For a command that looks closer at the value of a flag that is set: puts the value's source
 * before the message. Returns the code of err, which becomes ESYNTAX for a --config file. */
int pl_flags_blame(const struct pl_flags *flags, const char *name, struct pl_err *err);

/* Values, or their defaults, also for other commands' flags. The name must be in the table. Texts
 * live as long as the flags. NULL: not set. */
const char *pl_flags_text(const struct pl_flags *flags, const char *name);
bool pl_flags_switch(const struct pl_flags *flags, const char *name);
int64_t pl_flags_integer(const struct pl_flags *flags, const char *name);
double pl_flags_number(const struct pl_flags *flags, const char *name);
int64_t pl_flags_duration(const struct pl_flags *flags, const char *name); /* nanoseconds */
uint64_t pl_flags_size(const struct pl_flags *flags, const char *name);
/* Every value of a repeatable flag, NULL-terminated; NULL when it was not given. They live as long
 * as the flags. */
char *const *pl_flags_all(const struct pl_flags *flags, const char *name);
/* Whether the command line has the flag. */
bool pl_flags_is_typed(const struct pl_flags *flags, const char *name);

/* Appends the command's flags as --help shows them. */
struct pl_buf;
void pl_flags_help(struct pl_buf *out, const struct pl_flag_table *table);

/* Adds them to the array under construction; see pl_commands_describe. */
struct pl_build;
void pl_flags_describe(struct pl_build *b, const struct pl_flag_table *table);
/* Adds a member for each flag that was given or has a default: texts, numbers and booleans
 * unchanged; sizes in bytes, durations in seconds, repeatable flags as arrays. */
void pl_flags_build(struct pl_build *b, const struct pl_flags *flags);
