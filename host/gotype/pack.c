/* A tool of the build: `pack KINDS.TXT OUT.C` turns the table of the built-in kinds into constant C
 * data (packed.h). A line that it does not understand ends the build with an error and the line's
 * number, so the table is compiled as a whole or not at all. It frees no memory, since it runs for
 * milliseconds. */
#include "gotype/message.h"
#include "gotype/packed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 24
#define MAX_TEXT  (256 * 1024)
#define MAX_ROWS  16000

struct pack {
    const char *file;
    unsigned line;
    char *texts;
    size_t text_len;
    uint32_t buckets[16384]; /* hash table of texts; 0: free */
    struct pl_packed_field fields[MAX_ROWS];
    const char *types[MAX_ROWS]; /* of each field: the name of its message, NULL: none */
    struct pl_packed_extra extras[MAX_ROWS];
    struct pl_packed_message messages[MAX_ROWS];
    struct pl_packed_kind kinds[MAX_ROWS];
    const char *kind_types[MAX_ROWS];
    struct pl_packed_sub subs[MAX_ROWS];
    struct pl_packed_column columns[MAX_ROWS];
    size_t field_count, extra_count, message_count, kind_count, sub_count, column_count;
    uint32_t version;
};

static _Noreturn void pack_fail(const struct pack *p, const char *what, const char *which)
{
    fprintf(stderr, "pack: %s:%u: %s: %s\n", p->file, p->line, what, which);
    exit(1);
}

static void *pack_take(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        fputs("pack: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *pack_copy(const char *text)
{
    char *out = pack_take(strlen(text) + 1);
    strcpy(out, text);
    return out;
}

/* Adds the text to the pool and returns its offset; equal texts have the same offset. */
static uint32_t pool(struct pack *p, const char *text)
{
    uint32_t hash = 2166136261u;
    if (*text == '\0')
        return 0;
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    uint32_t *bucket = &p->buckets[hash % 16384];
    while (*bucket != 0) {
        if (strcmp(p->texts + *bucket, text) == 0)
            return *bucket;
        if (++bucket == p->buckets + 16384)
            bucket = p->buckets;
    }
    size_t len = strlen(text) + 1;
    if (p->text_len + len > MAX_TEXT)
        pack_fail(p, "too much text", text);
    memcpy(p->texts + p->text_len, text, len);
    *bucket = (uint32_t)p->text_len;
    p->text_len += len;
    return *bucket;
}

static const char *dashed(const char *part)
{
    return strcmp(part, "-") == 0 ? "" : part;
}

static size_t room(const struct pack *p, size_t *count)
{
    if (*count + 1 >= MAX_ROWS)
        pack_fail(p, "too many rows", "raise MAX_ROWS");
    return (*count)++;
}

/* ---- fields ---- */

static const struct {
    char name[16];
    enum pl_form form;
} forms[] = {
    {"string", PL_FORM_STRING},
    {"bool", PL_FORM_BOOL},
    {"int32", PL_FORM_INT32},
    {"int64", PL_FORM_INT64},
    {"double", PL_FORM_DOUBLE},
    {"bytes", PL_FORM_BYTES},
    {"time", PL_FORM_TIME},
    {"microtime", PL_FORM_MICROTIME},
    {"duration", PL_FORM_DURATION},
    {"quantity", PL_FORM_QUANTITY},
    {"intorstring", PL_FORM_INT_OR_STRING},
    {"fields", PL_FORM_FIELDS},
    {"raw", PL_FORM_RAW},
    {"json", PL_FORM_JSON},
    {"strings", PL_FORM_STRINGS},
    {"schemaorarray", PL_FORM_SCHEMA_OR_ARRAY},
    {"schemaorbool", PL_FORM_SCHEMA_OR_BOOL},
    {"schemaorstrings", PL_FORM_SCHEMA_OR_STRINGS},
};

static void set_type(struct pack *p, size_t at, const char *type)
{
    enum pl_many many = PL_MANY_ONE;
    if (strncmp(type, "[]", 2) == 0)
        many = PL_MANY_LIST, type += 2;
    else if (strncmp(type, "map:", 4) == 0)
        many = PL_MANY_MAP, type += 4;
    p->fields[at].form = (uint8_t)(many << 6);
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (strcmp(forms[i].name, type) == 0) {
            p->fields[at].form |= (uint8_t)forms[i].form;
            return;
        }
    if (strchr(type, '.') == NULL)
        pack_fail(p, "no such type", type);
    p->types[at] = pack_copy(type);
}

static unsigned pack_flags_of(const struct pack *p, const char *letters)
{
    unsigned flags = 0;
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'o':
            flags |= PL_PACKED_OMITEMPTY;
            break;
        case 'z':
            flags |= PL_PACKED_OMITZERO;
            break;
        case 'p':
            flags |= PL_PACKED_POINTER;
            break;
        case 'r':
            flags |= PL_PACKED_REQUIRED;
            break;
        case 'a':
            flags |= PL_PACKED_ATOMIC;
            break;
        case '-':
            break;
        default:
            pack_fail(p, "no such flag", letters);
        }
    }
    return flags;
}

static const char *pack_value_of(const char *part, const char *name)
{
    size_t len = strlen(name);
    return strncmp(part, name, len) == 0 && part[len] == '=' ? part + len + 1 : NULL;
}

static void attribute(struct pack *p, struct pl_packed_field *field, struct pl_packed_extra *extra,
                      const char *part)
{
    const char *v;
    if ((v = pack_value_of(part, "go")) != NULL)
        extra->go = pool(p, v);
    else if ((v = pack_value_of(part, "keys")) != NULL)
        extra->keys = pool(p, v);
    else if ((v = pack_value_of(part, "key")) != NULL)
        extra->merge_key = pool(p, v);
    else if ((v = pack_value_of(part, "default")) != NULL)
        extra->json_default = pool(p, v);
    else if ((v = pack_value_of(part, "enum")) != NULL)
        extra->values = pool(p, v);
    else if ((v = pack_value_of(part, "list")) != NULL)
        field->flags |= strcmp(v, "map") == 0   ? PL_PACKED_MAP
                        : strcmp(v, "set") == 0 ? PL_PACKED_SET
                                                : PL_PACKED_WHOLE;
    else if ((v = pack_value_of(part, "patch")) != NULL) {
        if (strstr(v, "merge") != NULL)
            field->flags |= PL_PACKED_MERGE;
        if (strstr(v, "retainKeys") != NULL)
            field->flags |= PL_PACKED_RETAIN;
    } else
        pack_fail(p, "no such attribute", part);
}

static uint16_t extra_of(struct pack *p, const struct pl_packed_extra *extra)
{
    for (size_t i = 0; i < p->extra_count; i++)
        if (memcmp(&p->extras[i], extra, sizeof(*extra)) == 0)
            return (uint16_t)i;
    p->extras[p->extra_count] = *extra;
    return (uint16_t)room(p, &p->extra_count);
}

static void pack_add_field(struct pack *p, char **part, size_t count)
{
    size_t at = room(p, &p->field_count);
    struct pl_packed_field *field = &p->fields[at];
    struct pl_packed_extra extra = {0};
    bool is_inline = **part == 'I';
    if (count < 4 || p->message_count == 0)
        pack_fail(p, "a field has a name, a number and a type", part[0]);
    long number = strtol(part[2], NULL, 10);
    if (number < 0 || number > 255)
        pack_fail(p, "the number of a field is not valid", part[2]);
    field->name = pool(p, dashed(part[1]));
    field->number = (uint8_t)number;
    set_type(p, at, part[3]);
    field->flags =
        (uint16_t)(is_inline ? PL_PACKED_INLINE : pack_flags_of(p, count > 4 ? part[4] : "-"));
    for (size_t i = 5; i < count; i++)
        attribute(p, field, &extra, part[i]);
    field->extra = extra_of(p, &extra);
    p->messages[p->message_count - 1].count++;
}

/* ---- the other lines ---- */

static void add_message(struct pack *p, char **part, size_t count)
{
    struct pl_packed_message *message = &p->messages[room(p, &p->message_count)];
    if (count != 3)
        pack_fail(p, "a type has a name and flags", part[0]);
    message->name = pool(p, part[1]);
    message->first = (uint16_t)p->field_count;
    message->flags =
        (uint16_t)((strchr(part[2], 'k') != NULL ? 1 : 0) | (strchr(part[2], 'a') != NULL ? 2 : 0));
}

static void add_kind(struct pack *p, char **part, size_t count)
{
    size_t at = room(p, &p->kind_count);
    struct pl_packed_kind *kind = &p->kinds[at];
    if (count < 7)
        pack_fail(p, "a kind has group, version, kind, plural, singular and type", part[0]);
    kind->group = pool(p, dashed(part[1]));
    kind->version = pool(p, part[2]);
    kind->kind = pool(p, part[3]);
    kind->plural = pool(p, part[4]);
    kind->singular = pool(p, part[5]);
    p->kind_types[at] = pack_copy(part[6]);
    kind->first_sub = (uint16_t)p->sub_count;
    kind->first_column = (uint16_t)p->column_count;
    for (size_t i = 7; i < count; i++) {
        const char *v;
        if ((v = pack_value_of(part[i], "scope")) != NULL)
            kind->namespaced = strcmp(v, "Namespaced") == 0;
        else if ((v = pack_value_of(part[i], "short")) != NULL)
            kind->short_names = pool(p, v);
        else if ((v = pack_value_of(part[i], "categories")) != NULL)
            kind->categories = pool(p, v);
        else if ((v = pack_value_of(part[i], "verbs")) != NULL)
            kind->verbs = pool(p, v);
        else
            pack_fail(p, "no such attribute", part[i]);
    }
}

static void add_sub(struct pack *p, char **part, size_t count)
{
    struct pl_packed_sub *sub = &p->subs[room(p, &p->sub_count)];
    if (count != 6 || p->kind_count == 0 || pack_value_of(part[5], "verbs") == NULL)
        pack_fail(p, "a subresource has name, group, version, kind and verbs", part[0]);
    *sub = (struct pl_packed_sub){pool(p, part[1]), pool(p, dashed(part[2])), pool(p, part[3]),
                                  pool(p, part[4]), pool(p, pack_value_of(part[5], "verbs"))};
    p->kinds[p->kind_count - 1].sub_count++;
}

static void add_column(struct pack *p, char **part, size_t count)
{
    struct pl_packed_column *column = &p->columns[room(p, &p->column_count)];
    if (count != 5 || p->kind_count == 0)
        pack_fail(p, "a column has name, type, format and priority", part[0]);
    *column =
        (struct pl_packed_column){pool(p, part[1]), pool(p, part[2]), pool(p, dashed(part[3])),
                                  (uint32_t)strtoul(part[4], NULL, 10)};
    p->kinds[p->kind_count - 1].column_count++;
}

static void pack_add_line(struct pack *p, char *line)
{
    char *part[MAX_PARTS] = {line};
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at != NULL && count < MAX_PARTS; count++) {
        part[count] = at;
        at = strchr(at, '\t');
        if (at != NULL)
            *at++ = '\0';
    }
    if (strcmp(part[0], "kubernetes") == 0 && count == 2)
        p->version = pool(p, part[1]);
    else if (strcmp(part[0], "T") == 0)
        add_message(p, part, count);
    else if (strcmp(part[0], "F") == 0 || strcmp(part[0], "I") == 0)
        pack_add_field(p, part, count);
    else if (strcmp(part[0], "K") == 0)
        add_kind(p, part, count);
    else if (strcmp(part[0], "S") == 0)
        add_sub(p, part, count);
    else if (strcmp(part[0], "C") == 0)
        add_column(p, part, count);
    else
        pack_fail(p, "no such line", part[0]);
}

static uint16_t message_index(const struct pack *p, const char *name)
{
    for (size_t i = 0; i < p->message_count; i++)
        if (strcmp(p->texts + p->messages[i].name, name) == 0)
            return (uint16_t)i;
    pack_fail(p, "no such type", name);
}

static void pack_resolve(struct pack *p)
{
    for (size_t i = 1; i < p->message_count; i++)
        if (strcmp(p->texts + p->messages[i - 1].name, p->texts + p->messages[i].name) >= 0)
            pack_fail(p, "types are not sorted", p->texts + p->messages[i].name);
    for (size_t i = 0; i < p->field_count; i++)
        if (p->types[i] != NULL)
            p->fields[i].type = message_index(p, p->types[i]);
    for (size_t i = 0; i < p->kind_count; i++)
        p->kinds[i].message = message_index(p, p->kind_types[i]);
}

/* ---- out ---- */

/* Writes rows that consist only of numbers. */
#define ROWS(out, p, name, rows, count, ...)                                                       \
    do {                                                                                           \
        fprintf(out, "static const struct pl_packed_%s %ss[] = {\n", name, name);                  \
        for (size_t i = 0; i < (count); i++)                                                       \
            fprintf(out, __VA_ARGS__);                                                             \
        fprintf(out, "};\n");                                                                      \
    } while (0)

static void write_texts(const struct pack *p, FILE *out)
{
    fprintf(out, "static const char texts[] = {");
    for (size_t i = 0; i < p->text_len; i++)
        fprintf(out, "%s%u,", i % 24 == 0 ? "\n" : "", (unsigned char)p->texts[i]);
    fprintf(out, "\n};\n");
}

static void pack_write_all(const struct pack *p, FILE *out)
{
    fprintf(out, "#include \"gotype/packed.h\"\n\n");
    write_texts(p, out);
    ROWS(out, p, "field", p->fields, p->field_count, "{%u,%u,%u,%u,%u,%u},\n", p->fields[i].name,
         p->fields[i].type, p->fields[i].extra, p->fields[i].flags, p->fields[i].number,
         p->fields[i].form);
    ROWS(out, p, "extra", p->extras, p->extra_count, "{%u,%u,%u,%u,%u},\n", p->extras[i].go,
         p->extras[i].keys, p->extras[i].merge_key, p->extras[i].json_default, p->extras[i].values);
    ROWS(out, p, "message", p->messages, p->message_count, "{%u,%u,%u,%u},\n", p->messages[i].name,
         p->messages[i].first, p->messages[i].count, p->messages[i].flags);
    ROWS(out, p, "kind", p->kinds, p->kind_count, "{%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u},\n",
         p->kinds[i].group, p->kinds[i].version, p->kinds[i].kind, p->kinds[i].plural,
         p->kinds[i].singular, p->kinds[i].short_names, p->kinds[i].categories, p->kinds[i].verbs,
         p->kinds[i].message, p->kinds[i].first_sub, p->kinds[i].sub_count,
         p->kinds[i].first_column, p->kinds[i].column_count, p->kinds[i].namespaced);
    ROWS(out, p, "sub", p->subs, p->sub_count, "{%u,%u,%u,%u,%u},\n", p->subs[i].name,
         p->subs[i].group, p->subs[i].version, p->subs[i].kind, p->subs[i].verbs);
    ROWS(out, p, "column", p->columns, p->column_count, "{%u,%u,%u,%u},\n", p->columns[i].name,
         p->columns[i].type, p->columns[i].format, p->columns[i].priority);
    fprintf(out,
            "const struct pl_packed *pl_packed_kinds(void)\n{\n"
            "    static const struct pl_packed all = {texts, fields, extras, messages, kinds, subs,"
            " columns, %u, %zu, %zu, %zu};\n    return &all;\n}\n",
            p->version, p->field_count, p->message_count, p->kind_count);
}

int main(int argc, char **argv)
{
    static char line[16384];
    struct pack *p = pack_take(sizeof(*p));
    if (argc != 3) {
        fputs("usage: pack KINDS.TXT OUT.C\n", stderr);
        return 2;
    }
    p->file = argv[1];
    p->texts = pack_take(MAX_TEXT);
    p->text_len = 1;
    p->extra_count = 1;
    FILE *in = fopen(argv[1], "r");
    if (in == NULL)
        pack_fail(p, "cannot read", strerror(errno));
    while (p->line++, fgets(line, sizeof(line), in) != NULL)
        pack_add_line(p, line);
    fclose(in);
    pack_resolve(p);
    FILE *out = fopen(argv[2], "w");
    if (out == NULL)
        pack_fail(p, argv[2], strerror(errno));
    pack_write_all(p, out);
    if (fclose(out) != 0)
        pack_fail(p, argv[2], strerror(errno));
    return 0;
}
