/* The declaration of a controller as the builder gets it, checked by the product's own check. */
#include "handlers.h"

#include "base/alloc.h"
#include "control/controller.h"

#include <ctype.h>
#include <stdio.h>

static struct pl_source_spec source_of(struct pl_node node, enum pl_source_role role,
                                       enum pl_map_by map_by)
{
    struct pl_source_spec source = {.role = role, .map_by = map_by, .kind = {.version = "v1"}};
    struct pl_scratch room;
    struct pl_slice group = pl_node_str(pl_node_getz(node, "group"), &room);
    snprintf(source.kind.group, sizeof(source.kind.group), "%.*s", PL_FMT(group));
    struct pl_slice kind = pl_node_str(pl_node_getz(node, "kind"), &room);
    snprintf(source.kind.kind, sizeof(source.kind.kind), "%.*s", PL_FMT(kind));
    return source;
}

static void declare(struct pl_controller_spec *spec, struct pl_source_spec source)
{
    spec->sources = pl_reallocarray(spec->sources, spec->source_count + 1, sizeof(source));
    spec->sources[spec->source_count++] = source;
}

/* Without a name the reconciled kind in lower case gives one, as upstream's builder does. */
static char *name_of(struct pl_node builder)
{
    char *name = text_of(pl_node_getz(builder, "name"));
    if (name == NULL)
        name = text_of(pl_node_getz(pl_node_getz(builder, "for"), "kind"));
    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

static void declare_all(struct pl_controller_spec *spec, struct pl_node builder)
{
    static const char *const fors[] = {"for", "forAgain"};
    for (size_t i = 0; i < PL_ARRAY_LEN(fors); i++) {
        struct pl_node node = pl_node_getz(builder, fors[i]);
        if (!pl_node_is_missing(node))
            declare(spec, source_of(node, PL_SOURCE_FOR, PL_MAP_SELF));
    }
    struct pl_iter it = pl_iter(pl_node_getz(builder, "owns"));
    while (pl_iter_next(&it)) {
        struct pl_source_spec source = source_of(it.value, PL_SOURCE_OWNS, PL_MAP_OWNER);
        source.match_every_owner = bool_of(pl_node_getz(it.value, "matchEveryOwner"), false);
        declare(spec, source);
    }
    it = pl_iter(pl_node_getz(builder, "watches"));
    while (pl_iter_next(&it))
        declare(spec, source_of(it.value, PL_SOURCE_WATCHES, PL_MAP_EXTERNAL));
}

/* The check explains mistakes to people; scenarios name them. */
static const char *mistake_in(const char *message)
{
    static const struct {
        const char *says, *code;
    } mistakes[] = {{"For twice", "forTwice"},
                    {"not a controller name", "noName"},
                    {"nothing wakes", "noWatches"},
                    {"needs For", "ownsWithoutFor"}};
    for (size_t i = 0; i < PL_ARRAY_LEN(mistakes); i++)
        if (strstr(message, mistakes[i].says) != NULL)
            return mistakes[i].code;
    return "unknown";
}

/* The reconciled kind comes first, then the owned ones, then the others, as declared. */
static struct pl_node declared_node(struct pl_node builder, size_t i)
{
    struct pl_node owns = pl_node_getz(builder, "owns");
    bool has_for = !pl_node_is_missing(pl_node_getz(builder, "for"));
    if (has_for && i == 0)
        return pl_node_getz(builder, "for");
    i -= has_for;
    if (i < pl_node_len(owns))
        return pl_node_at(owns, i);
    return pl_node_at(pl_node_getz(builder, "watches"), i - pl_node_len(owns));
}

static void make_watch(const struct pl_controller_spec *spec, size_t i, struct pl_node builder,
                       struct watch *watch)
{
    const struct pl_source_spec *source = &spec->sources[i];
    struct pl_node node = declared_node(builder, i);
    *watch = (struct watch){.handler.core.by = source->map_by};
    if (source->role == PL_SOURCE_WATCHES)
        handler_init(&watch->handler, pl_node_getz(node, "handler"));
    watch->handler.core.every_owner = source->match_every_owner;
    if (source->role == PL_SOURCE_OWNS)
        watch->handler.core.owner = spec->sources[0].kind;
    watch_add_predicates(watch, pl_node_getz(builder, "filters"));
    watch_add_predicates(watch, pl_node_getz(node, "predicates"));
}

const char *build_controller(struct pl_node builder, struct built *built)
{
    struct pl_controller_spec spec = {
        .name = name_of(builder), .max_concurrent = 1, .max_retries = -1};
    struct pl_err err;
    const char *refused = NULL;
    declare_all(&spec, builder);
    if (pl_controller_spec_check(&spec, &err) != 0) {
        refused = mistake_in(err.message);
    } else {
        built->name = pl_strdup(spec.name);
        built->watches = pl_calloc(spec.source_count, sizeof(struct watch));
        built->count = spec.source_count;
        for (size_t i = 0; i < spec.source_count; i++)
            make_watch(&spec, i, builder, &built->watches[i]);
    }
    pl_controller_spec_deinit(&spec);
    return refused;
}
