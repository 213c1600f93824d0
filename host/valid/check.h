/* The building blocks of rules: the position of a value, checks of single values, and tables that
 * name the check of each path. Private to this folder. */
#pragma once

#include "base/map.h"
#include "schema/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A position in an object, as a chain on the stack. Each part is a name (of a member), a key (of a
 * map, shown in brackets), or an index (of a list). */
struct pl_spot {
    const struct pl_spot *up; /* NULL: the object itself */
    const char *name;
    struct pl_slice key;
    size_t index;
};

#define PL_MEMBER(up_, name_) (&(const struct pl_spot){.up = (up_), .name = (name_)})
#define PL_INDEX(up_, index_) (&(const struct pl_spot){.up = (up_), .index = (index_)})
#define PL_OF_KEY(up_, key_)  (&(const struct pl_spot){.up = (up_), .key = (key_)})
/* Visits a list's elements; `spot` is the position of each one. */
#define PL_EACH(item, list) PL_TREE_FOR(item, pl_tree_is(list, PL_ARRAY) ? (list) : NULL)

/* spec.containers[0].name, in the arena. */
struct pl_slice pl_spot_text(struct pl_api_faults *faults, const struct pl_spot *at);

/* ---- faults ---- */

/* why: "" for none. */
void pl_bad_required(struct pl_api_faults *f, const struct pl_spot *at, const char *why);
void pl_bad_value(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  const char *fmt, ...) PL_PRINTF(4, 5);
void pl_bad_forbidden(struct pl_api_faults *f, const struct pl_spot *at, const char *why);
void pl_bad_duplicate(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value);
void pl_bad_not_found(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice name);
/* allowed: "A,B", in the order of the message. */
void pl_bad_unsupported(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *allowed);
void pl_bad_long(struct pl_api_faults *f, const struct pl_spot *at, const char *most);
/* A value in the form of messages: JSON. */
struct pl_slice pl_shown(struct pl_api_faults *f, const struct pl_tree *value);

/* ---- simple questions ---- */

/* Absent, null, "", [] or {}. */
bool pl_is_empty(const struct pl_tree *value);
bool pl_is_true(const struct pl_tree *value);
bool pl_is_false(const struct pl_tree *value);
/* An IPv4 or IPv6 address, without a prefix length. */
bool pl_is_ip(struct pl_slice text);
/* The same, also with leading zeros, which old objects may have. */
bool pl_is_old_ip(struct pl_slice text);
/* An identifier of C: letters, digits and '_', and no digit at the beginning. */
bool pl_is_c_identifier(struct pl_slice text);
/* The element of a list with that name; NULL: there is none. */
const struct pl_tree *pl_named(const struct pl_tree *list, struct pl_slice name);
/* True for one of the texts in a list such as "A,B". */
bool pl_is_among(struct pl_slice text, const char *list);
/* Checks the value of a label. Returns the number of reasons why it is invalid, and the reasons. */
size_t pl_label_value_faults(struct pl_slice text, const char *why[2]);
/* Compares two quantities: -1, 0 or 1. Malformed quantities count as 0. */
int pl_quantity_cmp(const struct pl_tree *a, const struct pl_tree *b);
int pl_quantity_sign(const struct pl_tree *value);

/* ---- checks of one value; an absent value passes unless the check says otherwise ---- */

typedef void pl_check(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg);

pl_check pl_need;      /* refuses empty values; arg: the reason */
pl_check pl_one_of;    /* arg: the allowed texts, "A,B"; an empty value passes */
pl_check pl_must_be;   /* the same, but an empty value is refused as unsupported */
pl_check pl_if_set;    /* the same, but "" does not pass */
pl_check pl_needs_one; /* the same, but an empty value is refused as required */
pl_check pl_range;     /* arg: "1-65535": must be between 1 and 65535, inclusive */
pl_check pl_natural;   /* must be greater than or equal to 0; arg: other words for that */
pl_check pl_above_zero;
pl_check pl_exactly_one; /* "must be 1" */
pl_check pl_label;
pl_check pl_subdomain; /* arg "always": refuses empty values, too; the same for pl_qualified */
pl_check pl_given_subdomain; /* refuses an empty value that is not absent */
pl_check pl_dns1035;
pl_check pl_qualified;
pl_check pl_label_value;
pl_check pl_some_port_name; /* a port's name; an empty one passes */
pl_check pl_config_key;
pl_check pl_ip;
pl_check pl_cidr;
pl_check pl_port; /* a number or a name */
pl_check pl_labels;
pl_check pl_annotations;
pl_check pl_selector;
/* An expression of a label selector or a node selector: key, operator, values. arg: additional
 * operators that take one number, "Gt,Lt"; NULL: none; PL_ANY_OPERATOR: unknown ones pass. */
pl_check pl_requirement;
#define PL_ANY_OPERATOR "*"
/* Whether such an expression has values, as its operator asks. False: the operator is not In,
 * NotIn, Exists or DoesNotExist. */
bool pl_operator_values(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *one);
pl_check pl_unique;        /* a list; arg: the member that must be unique, "" for the elements */
pl_check pl_natural_all;   /* a map of quantities */
pl_check pl_percent;       /* a number of at least 0 or a percentage */
pl_check pl_not_above_100; /* no percentage above 100% */
/* False after a fault: the list has more than `most` elements. */
bool pl_at_most(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *list,
                size_t most);
/* The integer of that member; 0 where there is none. */
int64_t pl_number_at(const struct pl_tree *object, const char *member);
/* Adds the value, or the pair of values (other NULL: none), to the set. True if the set had it
 * already. With a set, a list of thousands of elements is walked only once. The caller ends the set
 * with pl_map_deinit. */
bool pl_comes_again(struct pl_map *seen, const struct pl_tree *value, const struct pl_tree *other);
/* The value; "" if it is absent, as messages show it. */
const struct pl_tree *pl_or_empty(struct pl_api_faults *f, const struct pl_tree *value);

/* ---- tables ---- */

/* The check applies to the value at path ("a.b", "[]" for each element, "*" for each member). If a
 * part before the last member is absent, nothing is checked; the last member may be absent. The
 * table ends with a path of NULL. */
struct pl_rule {
    const char *path;
    pl_check *check;
    const char *arg;
};

void pl_hold(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *object,
             const struct pl_rule *rules);

/* These two show the value as an internal Go type of kube-apiserver: "@PodTemplateSpec"
 * (go_struct.h). */
void pl_bad_struct(struct pl_api_faults *f, const struct pl_spot *at, const char *type,
                   const struct pl_tree *value, const char *why);
void pl_frozen_struct(struct pl_api_faults *f, const struct pl_spot *at, const char *type,
                      const struct pl_tree *value, const struct pl_tree *old);
/* Refuses a change of the value. Unseen: the message shows null in its place. */
void pl_frozen(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const struct pl_tree *old);
void pl_frozen_unseen(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const struct pl_tree *old);
