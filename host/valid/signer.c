/* Names with a domain: those of signers of certificates, and of keys that need one. */
#include "valid/kinds.h"

#include "object/tree.h"
#include "base/text.h"
#include "schema/validate.h"

#include <string.h>

#define MOST_DOMAIN 253
#define MOST_PATH   (253 + 63 + 1)

static struct pl_slice up_to(struct pl_slice text, char stop)
{
    const char *end = pl_slice_chr(text, stop);
    return end != NULL ? pl_slice(text.ptr, (size_t)(end - text.ptr)) : text;
}

/* The first wrong part of some text with dots; in a domain each is a label. Returns the number of
 * parts. */
static size_t check_parts(struct pl_api_faults *f, const struct pl_spot *at, struct pl_slice all,
                          bool domain)
{
    struct pl_slice rest = all;
    size_t count = 0;
    for (bool wrong = false;;) {
        struct pl_slice part = up_to(rest, '.');
        bool good = domain ? pl_text_is_label(part) : pl_text_is_subdomain(part);
        size_t most = domain ? 63 : 253;
        if (!wrong && (!good || part.len > most)) {
            const struct pl_tree *shown = pl_tree_str(f->arena, all);
            wrong = true;
            if (part.len > most)
                pl_bad_value(f, at, shown,
                             "validating label \"%.*s\": must be no more than %zu characters",
                             PL_FMT(part), most);
            if (!good && part.len <= most)
                pl_bad_value(f, at, shown, "validating label \"%.*s\": %s", PL_FMT(part),
                             domain ? PL_API_LABEL_TEXT : PL_API_SUBDOMAIN_TEXT);
        }
        count++;
        if (part.len == rest.len)
            return count;
        rest = pl_slice(rest.ptr + part.len + 1, rest.len - part.len - 1);
    }
}

void pl_valid_signer_name(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value), domain = up_to(text, '/');
    struct pl_slice path = pl_slice("", 0);
    PL_UNUSED(arg);
    if (text.len == 0) {
        pl_bad_required(f, at, "");
        return;
    }
    if (domain.len < text.len)
        path = pl_slice(text.ptr + domain.len + 1, text.len - domain.len - 1);
    if (domain.len == text.len || pl_slice_chr(path, '/') != NULL) {
        pl_bad_value(f, at, value,
                     "must be a fully qualified domain and path of the form "
                     "'example.com/signer-name'");
        return;
    }
    if (domain.len > MOST_DOMAIN)
        pl_bad_long(f, at, "253 bytes");
    if (check_parts(f, at, domain, true) < 2)
        pl_bad_value(f, at, pl_tree_str(f->arena, domain),
                     "should be a domain with at least two segments separated by dots");
    check_parts(f, at, path, false);
    if (text.len > MOST_DOMAIN + MOST_PATH + 1)
        pl_bad_long(f, at, "571 bytes");
}

void pl_valid_domain_key(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *value, const char *arg)
{
    size_t faults = pl_api_fault_count(f);
    PL_UNUSED(arg);
    pl_need(f, at, value, NULL);
    pl_qualified(f, at, value, NULL);
    if (pl_api_fault_count(f) == faults && pl_slice_chr(pl_tree_text(value), '/') == NULL)
        pl_bad_value(f, at, value, "must be a domain-prefixed key (such as \"acme.io/foo\")");
}
