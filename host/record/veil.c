/* A value is kept in each form in which it may occur: as in the document (base64), decoded, and
 * escaped for JSON or a URL. The list has a limit: with very many Secrets the oldest values are
 * still hidden in Secrets, but no longer in copies elsewhere. */
#include "record/veil.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "net/http_server.h"
#include "record/veil_place.h"
#include "value/build.h"
#include "value/write.h"

#include <string.h>

#define MARK     "pseudonym-"
#define DIGITS   24                         /* hexadecimal, after the mark */
#define TOKEN    (sizeof MARK - 1 + DIGITS) /* length of a pseudonym */
#define MARK64   "cHNldWRvbnlt"             /* the beginning of a pseudonym in base64 */
#define TOKEN64  ((TOKEN + 2) / 3 * 4)      /* and its length there */
#define SHORTEST 4 /* outside of Secrets, shorter values can't be told from ordinary words */
#define MOST     2000

struct known {
    char *text, *instead; /* owned */
    char *was; /* owned: the pseudonym before it was replaced by the record's; NULL: unchanged */
    size_t len;
};

struct pl_veil {
    unsigned char key[PL_VEIL_KEY];
    struct known known[MOST]; /* a ring */
    size_t count, next;
};

struct pl_veil *pl_veil_create(const unsigned char *key)
{
    struct pl_veil *veil = PL_NEW(struct pl_veil);
    memcpy(veil->key, key, PL_VEIL_KEY);
    return veil;
}

void pl_veil_destroy(struct pl_veil *veil)
{
    if (veil == NULL)
        return;
    for (size_t i = 0; i < veil->count; i++) {
        pl_free(veil->known[i].text);
        pl_free(veil->known[i].instead);
        pl_free(veil->known[i].was);
    }
    pl_free(veil);
}

static bool is_pseudonym(struct pl_slice value)
{
    return value.len == TOKEN && memcmp(value.ptr, MARK, sizeof MARK - 1) == 0;
}

static const struct known *find_known(const struct pl_veil *veil, struct pl_slice text)
{
    for (size_t i = 0; i < veil->count; i++)
        if (veil->known[i].len == text.len && memcmp(veil->known[i].text, text.ptr, text.len) == 0)
            return &veil->known[i];
    return NULL;
}

/* The length of a pseudonym that begins there, plain or in base64; 0: none. */
static size_t token_at(struct pl_slice text, size_t at)
{
    const char *from = text.ptr + at;
    size_t left = text.len - at;
    if (left >= TOKEN && memcmp(from, MARK, sizeof MARK - 1) == 0)
        return TOKEN;
    return left >= TOKEN64 && memcmp(from, MARK64, sizeof MARK64 - 1) == 0 ? TOKEN64 : 0;
}

static void add_pseudonym(struct pl_veil *veil, struct pl_slice value, struct pl_buf *out)
{
    unsigned char digest[64];
    const struct known *known = find_known(veil, value);
    if (is_pseudonym(value) || known != NULL) {
        pl_buf_add_slice(out, known != NULL ? pl_slice_z(known->instead) : value);
        return;
    }
    size_t len = pl_hmac("sha256", pl_slice((const char *)veil->key, PL_VEIL_KEY), value, digest);
    pl_buf_add_z(out, MARK);
    for (size_t i = 0; i < DIGITS / 2 && i < len; i++)
        pl_buf_add_f(out, "%02x", digest[i]);
}

static void remember(struct pl_veil *veil, struct pl_slice text, struct pl_slice instead)
{
    if (text.len < SHORTEST || pl_slice_eq(text, instead) || find_known(veil, text) != NULL)
        return;
    struct known *at = &veil->known[veil->next];
    if (veil->count == MOST) {
        pl_free(at->text);
        pl_free(at->instead);
        pl_free(at->was);
    } else {
        veil->count++;
    }
    *at = (struct known){
        .text = pl_text_copy(text), .instead = pl_text_copy(instead), .len = text.len};
    veil->next = (veil->next + 1) % MOST;
}

/* The forms that a text has inside the JSON of a document: once escaped and, when a script has made
 * JSON of it before, twice. */
static void remember_json(struct pl_veil *veil, struct pl_slice text, struct pl_slice instead)
{
    struct pl_buf once = PL_BUF_INIT, twice = PL_BUF_INIT;
    pl_write_str(&once, text);
    struct pl_slice inside = pl_slice(once.ptr + 1, once.len - 2);
    remember(veil, inside, instead);
    if (!pl_slice_eq(inside, text)) {
        pl_write_str(&twice, inside);
        remember(veil, pl_slice(twice.ptr + 1, twice.len - 2), instead);
    }
    pl_buf_deinit(&once);
    pl_buf_deinit(&twice);
}

static void remember_forms(struct pl_veil *veil, struct pl_slice value, struct pl_slice instead)
{
    struct pl_buf coded = PL_BUF_INIT, coded_instead = PL_BUF_INIT, url = PL_BUF_INIT;
    if (value.len < SHORTEST)
        return;
    remember(veil, value, instead);
    pl_base64_encode(value, &coded);
    pl_base64_encode(instead, &coded_instead);
    remember(veil, pl_buf_slice(&coded), pl_buf_slice(&coded_instead));
    pl_url_escape(value, &url);
    remember(veil, pl_buf_slice(&url), instead);
    if (pl_is_utf8(value))
        remember_json(veil, value, instead);
    pl_buf_deinit(&coded);
    pl_buf_deinit(&coded_instead);
    pl_buf_deinit(&url);
}

/* Scripts often take the blanks around a value away, such as the newline at its end. */
static void remember_plain(struct pl_veil *veil, struct pl_slice value, struct pl_slice instead)
{
    struct pl_slice bare = pl_slice_trim(value);
    remember_forms(veil, value, instead);
    if (bare.len < value.len)
        remember_forms(veil, bare, instead);
}

/* Appends the replacement for a value of `data` (base64) or `stringData`. */
static void hide_value(struct pl_veil *veil, struct pl_slice text, bool is_base64,
                       struct pl_buf *out)
{
    struct pl_buf plain = PL_BUF_INIT, name = PL_BUF_INIT;
    if (!is_base64 || !pl_base64_decode(text, &plain))
        pl_buf_add_slice(&plain, text);
    add_pseudonym(veil, pl_buf_slice(&plain), &name);
    remember_plain(veil, pl_buf_slice(&plain), pl_buf_slice(&name));
    size_t before = out->len;
    if (is_base64)
        pl_base64_encode(pl_buf_slice(&name), out);
    else
        pl_buf_add_slice(out, pl_buf_slice(&name));
    if (plain.len >= SHORTEST)
        remember(veil, text, pl_slice(out->ptr + before, out->len - before));
    pl_buf_deinit(&plain);
    pl_buf_deinit(&name);
}

/* ---- documents ---- */

/* Appends the replacement for a text at that place. */
static void hide_at(struct pl_veil *veil, enum pl_place place, struct pl_slice text,
                    struct pl_buf *out)
{
    if (place != PL_PLACE_APPLIED) {
        hide_value(veil, text, place == PL_PLACE_CODED, out);
        return;
    }
    add_pseudonym(veil, text, out);
    remember(veil, text, pl_buf_slice(out));
    remember_json(veil, text, pl_buf_slice(out)); /* long texts: no forms that nobody makes */
}

static void build_hidden(struct pl_veil *veil, struct pl_build *b, struct pl_node node,
                         enum pl_place place)
{
    struct pl_buf out = PL_BUF_INIT;
    struct pl_scratch scratch;
    hide_at(veil, place, pl_node_str(node, &scratch), &out);
    pl_build_str(b, pl_buf_slice(&out));
    pl_buf_deinit(&out);
}

static void build(struct pl_veil *veil, struct pl_build *b, struct pl_node node,
                  enum pl_place place)
{
    enum pl_type type = pl_node_type(node);
    place = pl_place_of(node, place);
    if (type == PL_STRING && place >= PL_PLACE_CODED) {
        build_hidden(veil, b, node, place);
        return;
    }
    if (type != PL_OBJECT && type != PL_ARRAY) {
        pl_build_node(b, node);
        return;
    }
    struct pl_iter it = pl_iter(node);
    if (type == PL_OBJECT)
        pl_build_object(b);
    else
        pl_build_array(b);
    while (pl_iter_next(&it)) {
        if (type == PL_OBJECT)
            pl_build_key(b, it.key);
        build(veil, b, it.value,
              type == PL_OBJECT ? pl_place_of_member(node, place, it.key, it.value) : place);
    }
    pl_build_end(b);
}

/* ---- texts ---- */

/* The longest known value that begins there. */
static const struct known *known_at(const struct pl_veil *veil, struct pl_slice text, size_t at)
{
    const struct known *found = NULL;
    for (size_t i = 0; i < veil->count; i++) {
        const struct known *it = &veil->known[i];
        if (it->len <= text.len - at && (found == NULL || it->len > found->len) &&
            it->text[0] == text.ptr[at] && memcmp(text.ptr + at, it->text, it->len) == 0)
            found = it;
    }
    return found;
}

static bool has_any(const struct pl_veil *veil, struct pl_slice text)
{
    for (size_t i = 0; text.len > 0 && i < veil->count; i++)
        if (memmem(text.ptr, text.len, veil->known[i].text, veil->known[i].len) != NULL)
            return true;
    return false;
}

/* The length of what stands there and is no value: a pseudonym, an escape of JSON, a character. */
static size_t unchanged_at(struct pl_slice text, size_t at, bool json)
{
    size_t token = token_at(text, at), left = text.len - at;
    if (token > 0)
        return token;
    size_t len = !json || text.ptr[at] != '\\' || left < 2 ? 1 : text.ptr[at + 1] == 'u' ? 6 : 2;
    return len < left ? len : left;
}

/* Existing pseudonyms are not changed. json: the inside of a string of JSON. */
static void replace_known(const struct pl_veil *veil, struct pl_slice text, bool json,
                          struct pl_buf *out)
{
    for (size_t i = 0; i < text.len;) {
        const struct known *known = token_at(text, i) == 0 ? known_at(veil, text, i) : NULL;
        size_t taken = known != NULL ? known->len : unchanged_at(text, i, json);
        if (known != NULL)
            pl_buf_add_z(out, known->instead);
        else
            pl_buf_add(out, text.ptr + i, taken);
        i += taken;
    }
}

/* True for the names of members that types have ("password"). Values are often such words, too. */
static bool is_type_member(struct pl_slice json, size_t from, size_t end)
{
    if (end + 1 >= json.len || json.ptr[end + 1] != ':')
        return false;
    for (size_t i = from; i < end; i++)
        if (!pl_is_letter(json.ptr[i]))
            return false;
    return true;
}

/* The same in each string of a JSON text. Numbers, words, and names of letters stay as they are. */
static void replace_in_strings(const struct pl_veil *veil, struct pl_slice json, struct pl_buf *out)
{
    size_t from = 0;
    if (!has_any(veil, json)) {
        pl_buf_add_slice(out, json);
        return;
    }
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] != '"')
            continue;
        pl_buf_add(out, json.ptr + from, i + 1 - from);
        from = ++i;
        while (i < json.len && json.ptr[i] != '"')
            i += json.ptr[i] == '\\' ? 2 : 1;
        i = i < json.len ? i : json.len;
        if (is_type_member(json, from, i))
            continue;
        replace_known(veil, pl_slice(json.ptr + from, i - from), true, out);
        from = i;
    }
    pl_buf_add(out, json.ptr + from, json.len - from);
}

void pl_veil_text(struct pl_veil *veil, struct pl_slice text, struct pl_buf *out)
{
    struct pl_buf name = PL_BUF_INIT;
    if (veil == NULL || text.len == 0) {
        pl_buf_add_slice(out, text);
        return;
    }
    if (pl_text_find(text, "PRIVATE KEY-----") != NULL && find_known(veil, text) == NULL) {
        add_pseudonym(veil, text, &name);
        remember_plain(veil, text, pl_buf_slice(&name));
    }
    if (has_any(veil, text))
        replace_known(veil, text, false, out);
    else
        pl_buf_add_slice(out, text);
    pl_buf_deinit(&name);
}

void pl_veil_hide(struct pl_veil *veil, struct pl_slice value)
{
    struct pl_buf out = PL_BUF_INIT;
    hide_value(veil, value, false, &out);
    pl_buf_deinit(&out);
}

/* Whether the JSON can hold a place where something is hidden. */
static bool may_hide(struct pl_slice json)
{
    static const char *const words[] = {
        "Secret", "stringData", "/secrets", "\"headers\":{", "\"TokenRe", "PRIVATE KEY-----", NULL};
    for (const char *const *word = words; *word != NULL; word++)
        if (pl_text_find(json, *word) != NULL)
            return true;
    return false;
}

void pl_veil_write(struct pl_veil *veil, struct pl_node root, struct pl_buf *out)
{
    struct pl_buf text = PL_BUF_INIT;
    pl_write(&text, root, PL_WRITE_SORTED);
    if (may_hide(pl_buf_slice(&text))) {
        struct pl_build *b = pl_build_create(NULL);
        build(veil, b, root, PL_PLACE_ROOT);
        pl_buf_clear(&text);
        pl_build_write(&text, b, PL_WRITE_SORTED);
    }
    replace_in_strings(veil, pl_buf_slice(&text), out);
    pl_buf_deinit(&text);
}

/* ---- for replays ---- */

/* The pseudonym itself. */
static void decode_token(struct pl_slice token, struct pl_buf *out)
{
    if (token.len == TOKEN || !pl_base64_decode(token, out))
        pl_buf_add_slice(out, token);
}

static void encode_token(struct pl_slice value, bool is_base64, struct pl_buf *out)
{
    if (is_base64)
        pl_base64_encode(value, out);
    else
        pl_buf_add_slice(out, value);
}

/* From now on `to` replaces `from`. */
static void use_instead(struct pl_veil *veil, struct pl_slice from, struct pl_slice to)
{
    for (size_t i = 0; i < veil->count; i++) {
        struct known *known = &veil->known[i];
        if (!pl_slice_eqz(from, known->instead))
            continue;
        pl_free(known->was);
        known->was = known->instead;
        known->instead = pl_text_copy(to);
    }
}

/* Replaces both forms. False if `then` already stands for another value. */
static bool learn(struct pl_veil *veil, struct pl_slice then, struct pl_slice now)
{
    struct pl_buf a = PL_BUF_INIT, b = PL_BUF_INIT, a64 = PL_BUF_INIT, b64 = PL_BUF_INIT;
    bool taken = false, same = false;
    decode_token(then, &a);
    decode_token(now, &b);
    for (size_t i = 0; i < veil->count; i++) {
        const struct known *known = &veil->known[i];
        if (!pl_slice_eqz(pl_buf_slice(&a), known->instead))
            continue;
        taken = true;
        same = same || (known->was != NULL && pl_slice_eqz(pl_buf_slice(&b), known->was));
    }
    if (!taken) {
        pl_base64_encode(pl_buf_slice(&a), &a64);
        pl_base64_encode(pl_buf_slice(&b), &b64);
        use_instead(veil, pl_buf_slice(&b), pl_buf_slice(&a));
        use_instead(veil, pl_buf_slice(&b64), pl_buf_slice(&a64));
    }
    pl_buf_deinit(&a);
    pl_buf_deinit(&b);
    pl_buf_deinit(&a64);
    pl_buf_deinit(&b64);
    return same || !taken;
}

/* True if the texts are equal except for pseudonyms. */
static bool are_alike(struct pl_slice then, struct pl_slice now)
{
    size_t i = 0;
    while (then.len == now.len && i < then.len) {
        size_t len = token_at(then, i);
        if (len > 0 && token_at(now, i) == len)
            i += len;
        else if (then.ptr[i] == now.ptr[i])
            i++;
        else
            return false;
    }
    return then.len == now.len;
}

bool pl_veil_same(struct pl_veil *veil, struct pl_slice then, struct pl_slice now)
{
    if (veil == NULL)
        return pl_slice_eq(then, now);
    if (!are_alike(then, now))
        return false;
    for (size_t i = 0; i < then.len;) {
        size_t len = token_at(then, i);
        struct pl_slice a = pl_slice(then.ptr + i, len), b = pl_slice(now.ptr + i, len);
        if (len > 0 && !pl_slice_eq(a, b) && !learn(veil, a, b))
            return false;
        i += len > 0 ? len : 1;
    }
    return true;
}

static void lift_token(const struct pl_veil *veil, struct pl_slice token, bool json,
                       struct pl_buf *out)
{
    struct pl_buf name = PL_BUF_INIT, quoted = PL_BUF_INIT;
    const struct known *found = NULL;
    decode_token(token, &name);
    for (size_t i = 0; i < veil->count && found == NULL; i++)
        if (pl_slice_eqz(pl_buf_slice(&name), veil->known[i].instead))
            found = &veil->known[i]; /* the first form is the value itself */
    struct pl_slice value = found != NULL ? pl_slice(found->text, found->len) : token;
    bool is_base64 = found != NULL && token.len == TOKEN64;
    if (json && found != NULL && !is_base64) {
        pl_write_str(&quoted, value);
        value = pl_slice(quoted.ptr + 1, quoted.len - 2);
    }
    encode_token(value, is_base64, out);
    pl_buf_deinit(&name);
    pl_buf_deinit(&quoted);
}

void pl_veil_lift(const struct pl_veil *veil, struct pl_slice text, bool json, struct pl_buf *out)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len;) {
        size_t len = token_at(text, i);
        if (len == 0) {
            i++;
            continue;
        }
        pl_buf_add(out, text.ptr + from, i - from);
        lift_token(veil, pl_slice(text.ptr + i, len), json, out);
        i += len;
        from = i;
    }
    pl_buf_add(out, text.ptr + from, text.len - from);
}

bool pl_veil_level(struct pl_slice text, struct pl_buf *out)
{
    bool some = false;
    for (size_t i = 0; i < text.len;) {
        size_t len = token_at(text, i);
        if (len > 0)
            pl_buf_add_z(out, "pseudonym");
        else
            pl_buf_add_char(out, text.ptr[i]);
        some = some || len > 0;
        i += len > 0 ? len : 1;
    }
    return some;
}

bool pl_veil_marks(struct pl_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (token_at(text, i) > 0)
            return true;
    return false;
}
