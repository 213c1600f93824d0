/* Look-ups in the packed table of the built-in kinds (packed.h), which the build makes from
 * kinds.txt. Types are found by binary search. Fields are found one by one, since a type has few.
 * Nothing is decoded or kept at run time, so a program that needs no type never reads the pages of
 * the table. */
#include "gotype/message.h"

#include "gotype/packed.h"

#include <string.h>

static const char *message_text(uint32_t at)
{
    return pl_packed_kinds()->texts + at;
}

const char *pl_message_release(void)
{
    return message_text(pl_packed_kinds()->version);
}

struct pl_message pl_message_find(struct pl_slice name)
{
    const struct pl_packed *all = pl_packed_kinds();
    size_t low = 0, high = all->message_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct pl_slice is = pl_slice_z(message_text(all->messages[middle].name));
        size_t least = is.len < name.len ? is.len : name.len;
        int order = least > 0 ? memcmp(is.ptr, name.ptr, least) : 0;
        if (order == 0 && is.len == name.len)
            return (struct pl_message){&all->messages[middle]};
        if (order < 0 || (order == 0 && is.len < name.len))
            low = middle + 1;
        else
            high = middle;
    }
    return (struct pl_message){NULL};
}

struct pl_message pl_message_of_kind(struct pl_slice group, struct pl_slice version,
                                     struct pl_slice kind)
{
    const struct pl_packed *all = pl_packed_kinds();
    for (size_t i = 0; i < all->kind_count; i++) {
        const struct pl_packed_kind *is = &all->kinds[i];
        if (pl_slice_eqz(kind, message_text(is->kind)) &&
            pl_slice_eqz(group, message_text(is->group)) &&
            pl_slice_eqz(version, message_text(is->version)))
            return (struct pl_message){&all->messages[is->message]};
    }
    return (struct pl_message){NULL};
}

const char *pl_message_name(struct pl_message message)
{
    return message.at != NULL ? message_text(message.at->name) : "";
}

const char *pl_message_go(struct pl_message message)
{
    const char *dot = strrchr(pl_message_name(message), '.');
    return dot != NULL ? dot + 1 : "";
}

struct pl_slice pl_message_package(struct pl_message message)
{
    const char *name = pl_message_name(message), *end = strrchr(name, '.');
    if (end == NULL)
        return pl_slice("", 0);
    const char *begin = end;
    while (begin > name && begin[-1] != '.')
        begin--;
    return pl_slice(begin, (size_t)(end - begin));
}

bool pl_message_has_kind(struct pl_message message)
{
    return message.at != NULL && (message.at->flags & 1) != 0;
}

bool pl_message_is_atomic(struct pl_message message)
{
    return message.at != NULL && (message.at->flags & 2) != 0;
}

/* ---- fields ---- */

static void unpack(const struct pl_packed_field *packed, struct pl_message_field *out)
{
    const struct pl_packed *all = pl_packed_kinds();
    const struct pl_packed_extra *extra = &all->extras[packed->extra];
    const char *texts = all->texts;
    *out = (struct pl_message_field){
        .name = texts + packed->name,
        .form = (enum pl_form)(packed->form & 63),
        .many = (enum pl_many)(packed->form >> 6),
        .number = packed->number,
        .flags = packed->flags,
        .go = texts + extra->go,
        .list_keys = texts + extra->keys,
        .merge_key = texts + extra->merge_key,
        .json_default = texts + extra->json_default,
        .values = texts + extra->values,
    };
    if (out->form == PL_FORM_MESSAGE)
        out->message.at = &all->messages[packed->type];
}

size_t pl_message_count(struct pl_message message)
{
    return message.at != NULL ? message.at->count : 0;
}

void pl_message_at(struct pl_message message, size_t index, struct pl_message_field *field)
{
    unpack(&pl_packed_kinds()->fields[message.at->first + index], field);
}

bool pl_message_get(struct pl_message message, struct pl_slice name, struct pl_message_field *field)
{
    const struct pl_packed *all = pl_packed_kinds();
    for (size_t i = 0; i < pl_message_count(message); i++) {
        const struct pl_packed_field *packed = &all->fields[message.at->first + i];
        if (packed->flags & PL_PACKED_INLINE) {
            struct pl_message inner = {&all->messages[packed->type]};
            if (pl_message_get(inner, name, field))
                return true;
        } else if (pl_slice_eqz(name, message_text(packed->name))) {
            unpack(packed, field);
            field->within = message;
            return true;
        }
    }
    return false;
}

bool pl_message_by_number(struct pl_message message, uint64_t number,
                          struct pl_message_field *field)
{
    const struct pl_packed *all = pl_packed_kinds();
    for (size_t i = 0; i < pl_message_count(message); i++) {
        const struct pl_packed_field *packed = &all->fields[message.at->first + i];
        if (packed->number == number && number != 0) {
            unpack(packed, field);
            return true;
        }
    }
    return false;
}

/* ---- kinds ---- */

size_t pl_message_kind_count(void)
{
    return pl_packed_kinds()->kind_count;
}

void pl_message_kind_at(size_t index, struct pl_message_kind *kind)
{
    const struct pl_packed *all = pl_packed_kinds();
    const struct pl_packed_kind *is = &all->kinds[index];
    *kind = (struct pl_message_kind){
        .group = message_text(is->group),
        .version = message_text(is->version),
        .kind = message_text(is->kind),
        .plural = message_text(is->plural),
        .singular = message_text(is->singular),
        .short_names = message_text(is->short_names),
        .categories = message_text(is->categories),
        .verbs = message_text(is->verbs),
        .namespaced = is->namespaced != 0,
        .message = {&all->messages[is->message]},
        .at = is,
    };
}

size_t pl_message_sub_count(const struct pl_message_kind *kind)
{
    return kind->at->sub_count;
}

void pl_message_sub_at(const struct pl_message_kind *kind, size_t index, struct pl_message_sub *sub)
{
    const struct pl_packed_sub *is = &pl_packed_kinds()->subs[kind->at->first_sub + index];
    *sub = (struct pl_message_sub){message_text(is->name), message_text(is->group),
                                   message_text(is->version), message_text(is->kind),
                                   message_text(is->verbs)};
}

size_t pl_message_column_count(const struct pl_message_kind *kind)
{
    return kind->at->column_count;
}

void pl_message_column_at(const struct pl_message_kind *kind, size_t index,
                          struct pl_message_column *column)
{
    const struct pl_packed_column *is = &pl_packed_kinds()->columns[kind->at->first_column + index];
    *column = (struct pl_message_column){message_text(is->name), message_text(is->type),
                                         message_text(is->format), is->priority};
}
