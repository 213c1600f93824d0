/* Checks of names: DNS labels and subdomains, qualified names, labels and their selectors, names of
 * ports, keys of ConfigMaps, addresses. Messages are kube-apiserver's: first the length, then the
 * form. */
#include "valid/kinds.h"

#include "base/text.h"
#include "format/ip.h"
#include "object/tree.h"
#include "schema/validate.h"

#include <string.h>

#define SUBDOMAIN PL_API_SUBDOMAIN_TEXT
#define DNS1035                                                                                    \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "           \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define CONFIG_KEY                                                                                 \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "           \
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

/* ---- forms ---- */

/* ---- names ---- */

void pl_label(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
              const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (text.len == 0)
        return;
    if (text.len > 63)
        pl_bad_value(f, at, value, "must be no more than 63 characters");
    if (!pl_text_is_label(text))
        pl_bad_value(f, at, value,
                     pl_text_is_subdomain(text) ? "must not contain dots" : PL_API_LABEL_TEXT);
}

void pl_subdomain(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    bool always = arg != NULL && strcmp(arg, "always") == 0;
    if (text.len == 0 && !always)
        return;
    if (text.len > 253)
        pl_bad_value(f, at, value, "must be no more than 253 characters");
    if (!pl_text_is_subdomain(text))
        pl_bad_value(f, at, pl_or_empty(f, value), SUBDOMAIN);
}

void pl_given_subdomain(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    if (value != NULL && pl_is_empty(value))
        pl_subdomain(f, at, value, "always");
    else
        pl_subdomain(f, at, value, arg);
}

void pl_dns1035(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    if (text.len == 0 && arg == NULL)
        return;
    if (text.len > 63)
        pl_bad_value(f, at, value, "must be no more than 63 characters");
    if (!pl_text_is_label(text) || !pl_is_letter(text.ptr[0]))
        pl_bad_value(f, at, value, DNS1035);
}

void pl_qualified(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                  const char *arg)
{
    PL_UNUSED(arg);
    if (value != NULL || (arg != NULL && strcmp(arg, "always") == 0))
        pl_api_validate_qualified(f, pl_spot_text(f, at).ptr, pl_tree_text(value));
}

size_t pl_label_value_faults(struct pl_slice text, const char *why[2])
{
    size_t count = 0;
    if (text.len > 63)
        why[count++] = "must be no more than 63 bytes";
    if (text.len > 0 && !pl_text_is_word(text))
        why[count++] = PL_API_LABEL_VALUE_TEXT;
    return count;
}

void pl_label_value(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    const char *why[2];
    PL_UNUSED(arg);
    for (size_t i = 0, count = pl_label_value_faults(pl_tree_text(value), why); i < count; i++)
        pl_bad_value(f, at, value, "%s", why[i]);
}

static void port_name(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    bool letter = false, form = text.len > 0, twice = false;
    PL_UNUSED(arg);
    for (size_t i = 0; i < text.len; i++) {
        letter = letter || (text.ptr[i] >= 'a' && text.ptr[i] <= 'z');
        form = form && (pl_is_lower_or_digit(text.ptr[i]) || text.ptr[i] == '-');
        twice = twice || (i > 0 && text.ptr[i] == '-' && text.ptr[i - 1] == '-');
    }
    if (text.len > 15)
        pl_bad_value(f, at, value, "must be no more than 15 characters");
    if (!form)
        pl_bad_value(f, at, value,
                     "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letter)
        pl_bad_value(f, at, value, "must contain at least one letter (a-z)");
    if (twice)
        pl_bad_value(f, at, value, "must not contain consecutive hyphens");
    if (text.len > 0 && (text.ptr[0] == '-' || text.ptr[text.len - 1] == '-'))
        pl_bad_value(f, at, value, "must not begin or end with a hyphen");
}

void pl_some_port_name(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    if (!pl_is_empty(value))
        port_name(f, at, value, arg);
}

void pl_config_key(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                   const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    bool good = text.len > 0;
    PL_UNUSED(arg);
    for (size_t i = 0; good && i < text.len; i++)
        good = pl_is_alnum(text.ptr[i]) || strchr("-_.", text.ptr[i]) != NULL;
    if (text.len > 253)
        pl_bad_value(f, at, value, "must be no more than 253 characters");
    if (!good)
        pl_bad_value(f, at, value, CONFIG_KEY);
    if (pl_slice_eqz(text, "."))
        pl_bad_value(f, at, value, "must not be '.'");
    else if (pl_slice_eqz(text, ".."))
        pl_bad_value(f, at, value, "must not be '..'");
    else if (text.len > 2 && pl_text_begins(text, ".."))
        pl_bad_value(f, at, value, "must not start with '..'");
}

/* ---- addresses ---- */

bool pl_is_ip(struct pl_slice text)
{
    struct pl_ip ip;
    return pl_ip_parse(text, &ip, NULL) == 0 && !ip.is_network;
}

/* True for "010.0.0.01" and the like: some parsers read a leading zero as octal, so these are
 * refused. */
static bool has_zeros(struct pl_slice text)
{
    char copy[64];
    size_t len = 0;
    for (size_t i = 0; i < text.len && len + 1 < sizeof(copy); i++) {
        bool begins = i == 0 || text.ptr[i - 1] == '.' || (len > 0 && copy[len - 1] == '.');
        bool more = i + 1 < text.len && pl_is_digit(text.ptr[i + 1]);
        if (!(text.ptr[i] == '0' && begins && more))
            copy[len++] = text.ptr[i];
    }
    return len < text.len && pl_is_ip(pl_slice(copy, len));
}

bool pl_is_old_ip(struct pl_slice text)
{
    return pl_is_ip(text) || has_zeros(text);
}

/* True for an IPv4 address in IPv6 form, which pl_ip_parse converts to IPv4. */
static bool is_mapped(struct pl_slice text)
{
    struct pl_ip ip;
    return pl_ip_parse(text, &ip, NULL) == 0 && ip.len == 4 && pl_slice_chr(text, ':');
}

void pl_ip(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
           const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (!pl_is_ip(text))
        pl_bad_value(f, at, pl_or_empty(f, value), "%s",
                     has_zeros(text)
                         ? "must not have leading 0s"
                         : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    else if (is_mapped(text))
        pl_bad_value(f, at, value, "must not be an IPv4-mapped IPv6 address");
}

/* The reason why the address of a network is invalid, or NULL: it may not have bits after its
 * prefix. */
static const char *network_fault(struct pl_slice text, struct pl_slice address)
{
    struct pl_ip ip;
    if (is_mapped(address))
        return "must not have an IPv4-mapped IPv6 address";
    if (pl_ip_parse(text, &ip, NULL) != 0)
        return NULL;
    struct pl_ip first = pl_ip_first(&ip);
    return memcmp(first.bytes, ip.bytes, (size_t)ip.len) != 0
               ? "must not have bits set beyond the prefix length"
               : NULL;
}

void pl_cidr(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
             const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    const char *slash = pl_slice_chr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text.ptr) : 0;
    bool good = slash != NULL && pl_is_ip(pl_slice(text.ptr, len)) && text.len - len - 1 > 0 &&
                text.len - len - 1 <= 3;
    long bits = 0;
    PL_UNUSED(arg);
    for (size_t i = len + 1; good && i < text.len; i++) {
        good = pl_is_digit(text.ptr[i]);
        bits = bits * 10 + (text.ptr[i] - '0');
    }
    bool zeros = len > 0 && (has_zeros(pl_slice(text.ptr, len)) ||
                             (good && text.len - len > 2 && text.ptr[len + 1] == '0'));
    bool six = len > 0 && memchr(text.ptr, ':', len) != NULL;
    if (!good || zeros || bits > (six ? 128 : 32))
        pl_bad_value(f, at, value, "%s",
                     zeros ? "must not have leading 0s in IP or prefix length"
                           : "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    else if (network_fault(text, pl_slice(text.ptr, len)) != NULL)
        pl_bad_value(f, at, value, "%s", network_fault(text, pl_slice(text.ptr, len)));
}

void pl_port(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
             const char *arg)
{
    PL_UNUSED(arg);
    if (pl_tree_is(value, PL_STRING))
        port_name(f, at, value, NULL);
    else if (value != NULL)
        pl_range(f, at, value, "1-65535");
    else
        pl_range(f, at, pl_tree_int(f->arena, 0), "1-65535");
}

/* ---- labels and their selectors ---- */

void pl_annotations(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                    const char *arg)
{
    PL_UNUSED(arg);
    pl_api_validate_annotations(f, pl_spot_text(f, at).ptr, value);
}

void pl_labels(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
               const char *arg)
{
    PL_UNUSED(arg);
    PL_TREE_FOR(item, pl_tree_is(value, PL_OBJECT) ? value : NULL)
    {
        pl_api_validate_qualified(f, pl_spot_text(f, at).ptr, item->key);
        pl_label_value(f, at, item->value, NULL);
    }
}

bool pl_operator_values(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *one)
{
    struct pl_slice how = pl_tree_text_at(one, "operator");
    bool empty = pl_is_empty(pl_tree_getz(one, "values"));
    bool wants = pl_is_among(how, "In,NotIn");
    if (!wants && !pl_is_among(how, "Exists,DoesNotExist"))
        return false;
    if (wants && empty)
        pl_bad_required(f, PL_MEMBER(at, "values"),
                        "must be specified when `operator` is 'In' or 'NotIn'");
    else if (!wants && !empty)
        pl_bad_forbidden(f, PL_MEMBER(at, "values"),
                         "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    return true;
}

static void check_operator(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *one, const char *numbers)
{
    const struct pl_tree *how = pl_tree_getz(one, "operator");
    const struct pl_tree *values = pl_tree_getz(one, "values");
    if (pl_operator_values(f, at, one))
        return;
    if (numbers == NULL ||
        (strcmp(numbers, PL_ANY_OPERATOR) != 0 && !pl_is_among(pl_tree_text(how), numbers)))
        pl_bad_value(f, PL_MEMBER(at, "operator"), pl_or_empty(f, how),
                     "not a valid selector operator");
    else if (strcmp(numbers, PL_ANY_OPERATOR) != 0 && (values == NULL || values->count != 1))
        pl_bad_required(f, PL_MEMBER(at, "values"),
                        "must be specified single value when `operator` is 'Lt' or 'Gt'");
}

void pl_requirement(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *one,
                    const char *numbers)
{
    static const struct pl_rule rules[] = {
        {"key", pl_qualified, "always"}, {"values[]", pl_label_value, NULL}, {NULL, NULL, NULL}};
    check_operator(f, at, one, numbers);
    pl_hold(f, at, one, rules);
}

void pl_selector(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                 const char *arg)
{
    size_t i = 0;
    PL_UNUSED(arg);
    pl_labels(f, PL_MEMBER(at, "matchLabels"), pl_tree_getz(value, "matchLabels"), NULL);
    const struct pl_spot *list = PL_MEMBER(at, "matchExpressions");
    PL_EACH(item, pl_tree_getz(value, "matchExpressions"))
    pl_requirement(f, PL_INDEX(list, i++), item->value, NULL);
}

struct pl_tree *pl_in_small_letters(struct pl_api_faults *f, const struct pl_tree *name)
{
    return pl_tree_str(f->arena, pl_arena_lower(f->arena, pl_tree_text(name)));
}

void pl_valid_driver_name(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    pl_need(f, at, value, "");
    if (pl_tree_text(value).len > 63)
        pl_bad_long(f, at, "63");
    pl_subdomain(f, at, pl_in_small_letters(f, value), NULL);
}

/* ---- paths ---- */

void pl_valid_path_segment(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    PL_UNUSED(arg);
    if (pl_is_among(text, ".,..")) {
        pl_bad_value(f, at, value, "may not be '%.*s'", PL_FMT(text));
        return;
    }
    if (pl_slice_chr(text, '/') != NULL)
        pl_bad_value(f, at, value, "may not contain '/'");
    if (pl_slice_chr(text, '%') != NULL)
        pl_bad_value(f, at, value, "may not contain '%%'");
}

void pl_valid_domain_path(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    const char *slash = pl_slice_chr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text.ptr) : 0;
    PL_UNUSED(arg);
    if (value == NULL)
        return;
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    if (len == 0 || len + 1 == text.len) {
        pl_bad_value(f, at, value, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    pl_subdomain(f, at, pl_tree_str(f->arena, pl_slice(text.ptr, len)), NULL);
    for (size_t i = len + 1; i < text.len; i++)
        if (!pl_is_alnum(text.ptr[i]) && strchr("/-._~%!$&'()*+,;=:", text.ptr[i]) == NULL) {
            pl_bad_value(f, at, pl_tree_str(f->arena, pl_slice(slash + 1, text.len - len - 1)),
                         "Invalid path (regex used for validation is "
                         "'[A-Za-z0-9/\\-._~%%!$&'()*+,;=:]+')");
            return;
        }
}
