/* YAML to documents. libyaml's events become a small tree of one document, because an alias may
 * stand for any part that came before; the tree then becomes a document.
 *
 * kubectl's reader decides what YAML leaves open: see yaml_scalar.h. "<<" takes members from one
 * mapping or several (members of the mapping itself win, wherever they are); tags without a meaning
 * in JSON are ignored; keys are strings, so 1: is "1" and on: is "true". */
#include "format/yaml.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/map.h"
#include "format/yaml_scalar.h"
#include "value/build.h"
#include "value/scan.h"

#include <yaml.h>

#define MAX_NODES (1u << 20) /* of one document, counting the targets of aliases */
#define NONE      UINT32_MAX

enum kind { SCALAR, SEQUENCE, MAPPING, ALIAS };
enum tag { TAG_NONE, TAG_STR, TAG_BINARY, TAG_NULL, TAG_BOOL, TAG_INT, TAG_FLOAT, TAG_MERGE };

struct node {
    uint32_t first, next; /* children (in a mapping: key, value, key, ...), NONE at the end */
    uint32_t text, len;   /* SCALAR: place in texts; ALIAS: text is the node it stands for */
    uint32_t line;
    uint8_t kind, tag;
    bool plain; /* written without quotes or tag */
    bool open;  /* being read or written: an alias to it would have no end */
};

struct reader {
    yaml_parser_t parser;
    struct pl_slice in;
    struct node *nodes; /* owned */
    uint32_t count, cap;
    struct pl_buf texts;
    struct pl_map anchors; /* name -> node + 1 */
    struct pl_build *b;
    size_t nodes_left, bytes_left; /* left for output */
    struct pl_err *err;
};

static int yaml_fail(struct reader *r, int code, uint32_t line, const char *what)
{
    pl_err_set(r->err, code, "line %u: %s", line, what);
    if (r->err != NULL)
        r->err->line = (int)line;
    return code;
}

static int fail_twin(struct reader *r, uint32_t line, struct pl_slice key)
{
    char what[128];
    snprintf(what, sizeof(what), "the key \"%.*s\" exists already",
             key.len < 80 ? (int)key.len : 80, key.ptr);
    return yaml_fail(r, PL_ESYNTAX, line, what);
}

/* ---- events to a tree ---- */

static int next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return 0;
    yaml_mark_t mark = r->parser.problem_mark;
    /* libyaml's reader, below its scanner, knows an offset but no line. */
    uint32_t line = (uint32_t)mark.line + 1;
    if (r->parser.error == YAML_READER_ERROR) {
        line = 1;
        for (size_t i = 0; i < r->parser.problem_offset && i < r->in.len; i++)
            line += r->in.ptr[i] == '\n';
    }
    const char *problem = r->parser.problem ? r->parser.problem : "the text cannot be read";
    char what[256];
    snprintf(what, sizeof(what), "%s%s%s", problem, r->parser.context ? " " : "",
             r->parser.context ? r->parser.context : "");
    return yaml_fail(r, PL_ESYNTAX, line, what);
}

static enum tag tag_of(const yaml_char_t *text)
{
    static const struct {
        const char *name;
        enum tag tag;
    } tags[] = {{"!", TAG_STR},
                {"tag:yaml.org,2002:str", TAG_STR},
                {"tag:yaml.org,2002:timestamp", TAG_STR},
                {"tag:yaml.org,2002:binary", TAG_BINARY},
                {"tag:yaml.org,2002:null", TAG_NULL},
                {"tag:yaml.org,2002:bool", TAG_BOOL},
                {"tag:yaml.org,2002:int", TAG_INT},
                {"tag:yaml.org,2002:float", TAG_FLOAT},
                {"tag:yaml.org,2002:merge", TAG_MERGE}};
    for (size_t i = 0; text != NULL && i < sizeof(tags) / sizeof(tags[0]); i++)
        if (strcmp((const char *)text, tags[i].name) == 0)
            return tags[i].tag;
    return text != NULL ? TAG_STR : TAG_NONE;
}

static int add_node(struct reader *r, enum kind kind, const yaml_event_t *event, uint32_t *at)
{
    uint32_t line = (uint32_t)event->start_mark.line + 1;
    if (r->count == MAX_NODES)
        return yaml_fail(r, PL_ELIMIT, line, "the document has too many values");
    if (r->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        r->nodes = pl_reallocarray(r->nodes, r->cap, sizeof(*r->nodes));
    }
    *at = r->count++;
    r->nodes[*at] = (struct node){.first = NONE, .next = NONE, .line = line, .kind = kind};
    return 0;
}

static void add_anchor(struct reader *r, const yaml_char_t *name, uint32_t at)
{
    if (name != NULL)
        pl_map_put(&r->anchors, pl_slice_z((const char *)name), (void *)(uintptr_t)(at + 1));
}

static void fill_scalar(struct reader *r, struct node *node, const yaml_event_t *event)
{
    node->plain = event->data.scalar.plain_implicit;
    node->tag = (uint8_t)tag_of(event->data.scalar.tag);
    if (node->tag == TAG_NONE && !node->plain)
        node->tag = TAG_STR;
    node->text = (uint32_t)r->texts.len;
    node->len = (uint32_t)event->data.scalar.length;
    pl_buf_add(&r->texts, event->data.scalar.value, event->data.scalar.length);
}

static int fill_alias(struct reader *r, struct node *node, const yaml_event_t *event)
{
    struct pl_slice name = pl_slice_z((const char *)event->data.alias.anchor);
    uintptr_t found = (uintptr_t)pl_map_get(&r->anchors, name);
    if (found == 0)
        return yaml_fail(r, PL_ESYNTAX, node->line, "the alias has no anchor before it");
    node->text = (uint32_t)(found - 1);
    return 0;
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, uint32_t *at);

static int read_children(struct reader *r, uint32_t parent, yaml_event_type_t end, unsigned depth)
{
    uint32_t last = NONE;
    for (;;) {
        yaml_event_t event;
        uint32_t child = NONE;
        int rc = next_event(r, &event);
        if (rc != 0)
            return rc;
        bool ends = event.type == end;
        if (!ends)
            rc = read_node(r, &event, depth, &child);
        yaml_event_delete(&event);
        if (rc != 0 || ends)
            return rc;
        if (last == NONE)
            r->nodes[parent].first = child;
        else
            r->nodes[last].next = child;
        last = child;
    }
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, uint32_t *at)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    enum kind kind = event->type == YAML_SCALAR_EVENT  ? SCALAR
                     : event->type == YAML_ALIAS_EVENT ? ALIAS
                     : mapping                         ? MAPPING
                                                       : SEQUENCE;
    int rc = add_node(r, kind, event, at);
    if (rc != 0)
        return rc;
    if (kind == SCALAR) {
        fill_scalar(r, &r->nodes[*at], event);
        add_anchor(r, event->data.scalar.anchor, *at);
        return 0;
    }
    if (kind == ALIAS)
        return fill_alias(r, &r->nodes[*at], event);
    if (depth == 0)
        return yaml_fail(r, PL_ELIMIT, r->nodes[*at].line, "the values are nested too deeply");
    add_anchor(r, mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
               *at);
    return read_children(r, *at, mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
                         depth - 1);
}

/* ---- the tree to a document ---- */

static int write_node(struct reader *r, uint32_t at, unsigned depth);

static struct pl_slice yaml_text_of(const struct reader *r, const struct node *node)
{
    return pl_slice(pl_buf_z(&r->texts) + node->text, node->len);
}

/* The node itself, or the target of an alias. */
static uint32_t yaml_follow(const struct reader *r, uint32_t at)
{
    return r->nodes[at].kind == ALIAS ? r->nodes[at].text : at;
}

static int yaml_spend(struct reader *r, const struct node *node, size_t bytes)
{
    if (r->nodes_left == 0 || bytes > r->bytes_left)
        return yaml_fail(r, PL_ELIMIT, node->line, "the document is too large with its aliases");
    r->nodes_left--;
    r->bytes_left -= bytes;
    return 0;
}

static int yaml_resolve(struct reader *r, const struct node *node, enum pl_yaml_type *type,
                        struct pl_buf *number)
{
    static const char wrong[][28] = {[TAG_NULL] = "the value is not !!null",
                                     [TAG_BOOL] = "the value is not !!bool",
                                     [TAG_INT] = "the value is not !!int",
                                     [TAG_FLOAT] = "the value is not !!float"};
    *type = PL_YAML_STR;
    if (node->tag == TAG_STR || node->tag == TAG_BINARY)
        return 0;
    *type = pl_yaml_resolve(yaml_text_of(r, node), number);
    bool is_number = *type == PL_YAML_NUMBER || *type == PL_YAML_NOT_FINITE;
    bool is_integer = *type == PL_YAML_NUMBER && strpbrk(pl_buf_z(number), ".eE") == NULL;
    bool is_bool = *type == PL_YAML_TRUE || *type == PL_YAML_FALSE;
    if ((node->tag == TAG_NULL && *type != PL_YAML_NULL) || (node->tag == TAG_BOOL && !is_bool) ||
        (node->tag == TAG_INT && !is_integer) || (node->tag == TAG_FLOAT && !is_number))
        return yaml_fail(r, PL_ESYNTAX, node->line, wrong[node->tag]);
    return 0;
}

static int write_binary(struct reader *r, const struct node *node)
{
    struct pl_buf bytes = PL_BUF_INIT;
    int rc = 0;
    if (!pl_base64_decode(yaml_text_of(r, node), &bytes))
        rc = yaml_fail(r, PL_ESYNTAX, node->line, "the !!binary value is not base64");
    else if (!pl_is_utf8(pl_buf_slice(&bytes)))
        rc = yaml_fail(r, PL_ESYNTAX, node->line,
                       "the !!binary value is not UTF-8, as JSON must be");
    else
        pl_build_str(r->b, pl_buf_slice(&bytes));
    pl_buf_deinit(&bytes);
    return rc;
}

static int write_scalar(struct reader *r, const struct node *node)
{
    struct pl_buf number = PL_BUF_INIT;
    enum pl_yaml_type type;
    int rc = yaml_resolve(r, node, &type, &number);
    if (rc == 0 && type == PL_YAML_NOT_FINITE)
        rc = yaml_fail(r, PL_ESYNTAX, node->line, "JSON has no infinity and no NaN");
    else if (rc == 0 && node->tag == TAG_BINARY)
        rc = write_binary(r, node);
    else if (rc == 0 && type == PL_YAML_NULL)
        pl_build_null(r->b);
    else if (rc == 0 && type == PL_YAML_NUMBER)
        pl_build_number(r->b, pl_buf_slice(&number));
    else if (rc == 0 && (type == PL_YAML_TRUE || type == PL_YAML_FALSE))
        pl_build_bool(r->b, type == PL_YAML_TRUE);
    else if (rc == 0)
        pl_build_str(r->b, yaml_text_of(r, node));
    pl_buf_deinit(&number);
    return rc;
}

/* A key in JSON's form: a string. */
static int key_text(struct reader *r, uint32_t at, struct pl_buf *key)
{
    const struct node *node = &r->nodes[yaml_follow(r, at)];
    enum pl_yaml_type type;
    pl_buf_clear(key);
    if (node->kind != SCALAR)
        return yaml_fail(r, PL_ESYNTAX, r->nodes[at].line, "a key must be a scalar");
    int rc = yaml_resolve(r, node, &type, key);
    if (rc != 0)
        return rc;
    bool is_integer = type == PL_YAML_NUMBER && strpbrk(pl_buf_z(key), ".eE") == NULL;
    if (type == PL_YAML_NULL)
        return yaml_fail(r, PL_ESYNTAX, r->nodes[at].line, "a key must not be null");
    if (type == PL_YAML_TRUE || type == PL_YAML_FALSE)
        pl_buf_add_z(key, type == PL_YAML_TRUE ? "true" : "false");
    else if (!is_integer) {
        /* Other numbers keep their spelling: the key 1.10 is not 1.1. */
        pl_buf_clear(key);
        pl_buf_add_slice(key, yaml_text_of(r, node));
    }
    return yaml_spend(r, node, key->len);
}

static bool is_merge(const struct reader *r, uint32_t key)
{
    const struct node *node = &r->nodes[key];
    return node->kind == SCALAR && (node->plain || node->tag == TAG_MERGE) &&
           pl_slice_eqz(yaml_text_of(r, node), "<<");
}

/* Writes the members of this mapping. merged: it was included by "<<", and names in `seen` win. */
static int write_members(struct reader *r, uint32_t mapping, bool merged, struct pl_map *seen,
                         unsigned depth)
{
    struct pl_buf key = PL_BUF_INIT;
    int rc = 0;
    for (uint32_t at = r->nodes[mapping].first; rc == 0 && at != NONE;) {
        uint32_t value = r->nodes[at].next, name = at;
        at = r->nodes[value].next;
        if (is_merge(r, name))
            continue;
        rc = key_text(r, name, &key);
        if (rc != 0)
            break;
        if (pl_map_has(seen, pl_buf_slice(&key))) {
            if (!merged)
                rc = fail_twin(r, r->nodes[name].line, pl_buf_slice(&key));
            continue;
        }
        pl_map_put(seen, pl_buf_slice(&key), seen);
        pl_build_key(r->b, pl_buf_slice(&key));
        rc = write_node(r, value, depth);
    }
    pl_buf_deinit(&key);
    return rc;
}

static int write_merges(struct reader *r, uint32_t mapping, struct pl_map *seen, unsigned depth);

static int write_merged(struct reader *r, uint32_t at, struct pl_map *seen, unsigned depth)
{
    uint32_t source = yaml_follow(r, at);
    if (r->nodes[source].kind != MAPPING || depth == 0)
        return yaml_fail(r, PL_ESYNTAX, r->nodes[at].line,
                         "\"<<\" takes a mapping or a sequence of mappings");
    if (r->nodes[source].open)
        return yaml_fail(r, PL_ESYNTAX, r->nodes[at].line,
                         "the alias stands for what it is part of");
    r->nodes[source].open = true;
    int rc = yaml_spend(r, &r->nodes[at], 0);
    if (rc == 0)
        rc = write_members(r, source, true, seen, depth - 1);
    if (rc == 0)
        rc = write_merges(r, source, seen, depth - 1);
    r->nodes[source].open = false;
    return rc;
}

static int write_merges(struct reader *r, uint32_t mapping, struct pl_map *seen, unsigned depth)
{
    int rc = 0;
    for (uint32_t at = r->nodes[mapping].first; rc == 0 && at != NONE;) {
        uint32_t value = r->nodes[at].next, name = at;
        at = r->nodes[value].next;
        if (!is_merge(r, name))
            continue;
        uint32_t source = yaml_follow(r, value);
        if (r->nodes[source].kind != SEQUENCE) {
            rc = write_merged(r, value, seen, depth);
            continue;
        }
        for (uint32_t each = r->nodes[source].first; rc == 0 && each != NONE;
             each = r->nodes[each].next)
            rc = write_merged(r, each, seen, depth);
    }
    return rc;
}

static int write_mapping(struct reader *r, uint32_t mapping, unsigned depth)
{
    struct pl_map seen = PL_MAP_INIT;
    pl_build_object(r->b);
    int rc = write_members(r, mapping, false, &seen, depth);
    if (rc == 0)
        rc = write_merges(r, mapping, &seen, depth);
    if (rc == 0)
        pl_build_end(r->b);
    pl_map_deinit(&seen);
    return rc;
}

static int write_sequence(struct reader *r, uint32_t sequence, unsigned depth)
{
    int rc = 0;
    pl_build_array(r->b);
    for (uint32_t at = r->nodes[sequence].first; rc == 0 && at != NONE; at = r->nodes[at].next)
        rc = write_node(r, at, depth);
    if (rc == 0)
        pl_build_end(r->b);
    return rc;
}

static int write_node(struct reader *r, uint32_t at, unsigned depth)
{
    uint32_t source = yaml_follow(r, at);
    struct node *node = &r->nodes[source];
    int rc = yaml_spend(r, &r->nodes[at], node->kind == SCALAR ? node->len : 0);
    if (rc != 0 || node->kind == SCALAR)
        return rc != 0 ? rc : write_scalar(r, node);
    if (node->open)
        return yaml_fail(r, PL_ESYNTAX, r->nodes[at].line,
                         "the alias stands for what it is part of");
    if (depth == 0)
        return yaml_fail(r, PL_ELIMIT, node->line, "the values are nested too deeply");
    node->open = true;
    rc = node->kind == MAPPING ? write_mapping(r, source, depth - 1)
                               : write_sequence(r, source, depth - 1);
    node->open = false;
    return rc;
}

/* ---- streams ---- */

static void forget_document(struct reader *r)
{
    r->count = 0;
    pl_buf_clear(&r->texts);
    pl_map_deinit(&r->anchors);
    r->nodes_left = MAX_NODES;
    r->bytes_left = PL_SCAN_BYTES;
}

/* A document without content: only comments, or the end of the stream. */
static bool yaml_is_empty(const struct reader *r, uint32_t root)
{
    const struct node *node = &r->nodes[root];
    return node->kind == SCALAR && node->plain && node->len == 0;
}

static int read_document(struct reader *r, struct pl_docs *out)
{
    yaml_event_t event;
    uint32_t root = 0;
    forget_document(r);
    int rc = next_event(r, &event);
    if (rc != 0)
        return rc;
    rc = read_node(r, &event, PL_SCAN_DEPTH, &root);
    yaml_event_delete(&event);
    if (rc != 0 || yaml_is_empty(r, root))
        return rc;
    r->b = pl_build_create(NULL);
    rc = write_node(r, root, PL_SCAN_DEPTH);
    if (rc == 0)
        pl_docs_add(out, pl_build_finish(r->b));
    pl_build_destroy(r->b);
    return rc;
}

static int read_stream(struct reader *r, struct pl_docs *out)
{
    for (;;) {
        yaml_event_t event;
        int rc = next_event(r, &event);
        if (rc != 0)
            return rc;
        yaml_event_type_t type = event.type;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return 0;
        if (type == YAML_DOCUMENT_START_EVENT)
            rc = read_document(r, out);
        if (rc != 0)
            return rc;
    }
}

/* JSON is nearly YAML, but libyaml does not accept surrogate pairs. Text that is one JSON document
 * is parsed as JSON. */
static bool decode_json(struct pl_slice text, struct pl_docs *out)
{
    size_t i = 0;
    while (i < text.len && strchr(" \t\r\n", text.ptr[i]) != NULL && text.ptr[i] != '\0')
        i++;
    if (i == text.len || (text.ptr[i] != '{' && text.ptr[i] != '['))
        return false;
    struct pl_scan_options options = {.keep_managed_fields = true, .refuse_duplicates = true};
    struct pl_doc *doc = pl_scan_text(text, &options, NULL);
    if (doc != NULL)
        pl_docs_add(out, doc);
    return doc != NULL;
}

/* Some editors begin a file with a byte order mark. libyaml takes it for a character of the text
 * when it is told the encoding. */
static struct pl_slice without_mark(struct pl_slice text)
{
    struct pl_slice mark = pl_slice_z("\xef\xbb\xbf");
    bool has_mark = text.len >= mark.len && memcmp(text.ptr, mark.ptr, mark.len) == 0;
    return has_mark ? pl_slice(text.ptr + mark.len, text.len - mark.len) : text;
}

int pl_yaml_decode(struct pl_slice text, struct pl_docs *out, struct pl_err *err)
{
    *out = (struct pl_docs){NULL, 0, 0};
    if (text.len > PL_SCAN_BYTES)
        return pl_err_set(err, PL_ELIMIT, "the text is longer than %u bytes", PL_SCAN_BYTES);
    text = without_mark(text);
    if (decode_json(text, out))
        return 0;
    struct reader r = {.in = text, .err = err};
    PL_REQUIRE(yaml_parser_initialize(&r.parser));
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.ptr ? text.ptr : ""),
                                 text.len);
    int rc = read_stream(&r, out);
    yaml_parser_delete(&r.parser);
    pl_free(r.nodes);
    pl_buf_deinit(&r.texts);
    pl_map_deinit(&r.anchors);
    if (rc != 0)
        pl_docs_deinit(out);
    return rc;
}
