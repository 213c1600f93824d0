/* Formats of strings, one function or one expression for each. What Go's libraries accept is
 * accepted: addresses of IPv4 with leading zeros, durations such as "1 day", e-mail addresses with
 * a name before them. A comment in an e-mail address is not. */
#include "schema/formats.h"

#include "base/text.h"
#include "format/ip.h"
#include "format/units.h"

#include <string.h>

static bool formats_match(const char *pattern, struct pl_slice text,
                          struct pl_regex_cache *patterns)
{
    const struct pl_regex *regex = pl_regex_cache_get(patterns, pl_slice_z(pattern), NULL);
    return regex != NULL && pl_regex_cache_test(patterns, regex, text, NULL) == 1;
}

static bool all_are(struct pl_slice text, const char *letters)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || strchr(letters, text.ptr[i]) == NULL)
            return false;
    return text.len > 0;
}

/* ---- times ---- */

static int number_at(struct pl_slice text, size_t at, size_t len)
{
    int value = 0;
    for (size_t i = at; i < at + len; i++)
        value = value * 10 + text.ptr[i] - '0';
    return value;
}

static bool is_date(struct pl_slice text, struct pl_regex_cache *patterns)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (text.len != 10 || !formats_match("^\\d{4}-\\d{2}-\\d{2}$", text, patterns))
        return false;
    int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool is_date_time(struct pl_slice text, struct pl_regex_cache *patterns)
{
    PL_UNUSED(patterns);
    int64_t instant;
    return pl_time_parse(text, &instant);
}

/* Go's form, or a number with a unit somewhere in the text. */
static bool is_duration(struct pl_slice text, struct pl_regex_cache *patterns)
{
    int64_t ns;
    return pl_duration_parse(text, &ns) ||
           formats_match("\\d\\s*(?i:(ns|nano[a-z\xc2\xb5]*|us|\xc2\xb5s|micro[a-z\xc2\xb5]*|ms|"
                         "milli[a-z\xc2\xb5]*|s|sec[a-z\xc2\xb5]*|m|min[a-z\xc2\xb5]*|h|hr|"
                         "hour[a-z\xc2\xb5]*|d|day[a-z\xc2\xb5]*|w|wk|week[a-z\xc2\xb5]*))"
                         "([^A-Za-z\xc2\xb5]|$)",
                         text, patterns);
}

/* ---- addresses ---- */

/* The text without the zeros before its decimal numbers. */
static size_t drop_zeros(struct pl_slice text, char out[64])
{
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < 63; i++) {
        bool begins = i == 0 || text.ptr[i - 1] == '.';
        while (begins && text.ptr[i] == '0' && i + 1 < text.len && pl_is_digit(text.ptr[i + 1]))
            i++;
        out[len++] = text.ptr[i];
    }
    return len;
}

static bool formats_read_ip(struct pl_slice text, struct pl_ip *ip)
{
    char copy[64];
    if (text.len >= sizeof(copy))
        return false;
    return pl_ip_parse(pl_slice(copy, drop_zeros(text, copy)), ip, NULL) == 0;
}

static bool is_ipv4(struct pl_slice text, struct pl_regex_cache *patterns)
{
    PL_UNUSED(patterns);
    struct pl_ip ip;
    return formats_read_ip(text, &ip) && !ip.is_network && pl_slice_chr(text, '.') != NULL;
}

static bool is_ipv6(struct pl_slice text, struct pl_regex_cache *patterns)
{
    PL_UNUSED(patterns);
    struct pl_ip ip;
    return pl_ip_parse(text, &ip, NULL) == 0 && !ip.is_network && pl_slice_chr(text, ':') != NULL;
}

static bool is_cidr(struct pl_slice text, struct pl_regex_cache *patterns)
{
    PL_UNUSED(patterns);
    struct pl_ip ip;
    return formats_read_ip(text, &ip) && ip.is_network;
}

static bool is_hostname(struct pl_slice text, struct pl_regex_cache *patterns)
{
    size_t label = 0;
    for (size_t i = 0; i < text.len; i++) {
        label = text.ptr[i] == '.' ? 0 : label + 1;
        if (label > 63)
            return false;
    }
    return text.len <= 255 &&
           formats_match("^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|"
                         "([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}"
                         "[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$",
                         text, patterns);
}

#define URI_SCHEME "[a-zA-Z][a-zA-Z0-9+.-]*:"
#define URI_PATH   "([^%?]|%[0-9a-fA-F]{2})*(\\?.*)?"

/* An absolute URI or an absolute path. */
static bool is_uri(struct pl_slice text, struct pl_regex_cache *patterns)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127)
            return false;
    return formats_match("^(\\*|/" URI_PATH "|" URI_SCHEME "//([^/?#\\s@]*@)?"
                         "([^/?#\\s<>\"\\\\^`{}|%\\[\\]:@]*|\\[[^\\]]*\\])(:[0-9]*)?"
                         "(/" URI_PATH ")?(\\?.*)?|" URI_SCHEME
                         "/(([^%/?]|%[0-9a-fA-F]{2})" URI_PATH ")?|" URI_SCHEME
                         "([^/?].*)?(\\?.*)?)$",
                         text, patterns);
}

/* ---- numbers with a digit that checks the others ---- */

/* The text's letters other than those that are skipped; 0: too many. */
static size_t formats_squeeze(struct pl_slice text, const char *skipped, char out[64])
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool skip =
            *skipped == '\0' ? !pl_is_digit(text.ptr[i]) : strchr(skipped, text.ptr[i]) != NULL;
        if (!skip && len == 63)
            return 0;
        if (!skip)
            out[len++] = text.ptr[i];
    }
    return len;
}

static bool is_credit_card(struct pl_slice text, struct pl_regex_cache *patterns)
{
    char digits[64];
    size_t len = formats_squeeze(text, "", digits);
    int sum = 0;
    if (!formats_match("^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|"
                       "3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|"
                       "(?:2131|1800|35\\d{3})\\d{11})$",
                       pl_slice(digits, len), patterns))
        return false;
    for (size_t i = 0; i < len; i++) {
        int digit = digits[len - 1 - i] - '0';
        sum += i % 2 == 0 ? digit : digit >= 5 ? digit * 2 - 9 : digit * 2;
    }
    return sum % 10 == 0;
}

static bool is_isbn10(struct pl_slice text, struct pl_regex_cache *patterns)
{
    char digits[64];
    size_t len = formats_squeeze(text, " \t\r\n\f\v-", digits);
    int sum = 0;
    if (!formats_match("^(?:[0-9]{9}X|[0-9]{10})$", pl_slice(digits, len), patterns))
        return false;
    for (int i = 0; i < 10; i++)
        sum += (i + 1) * (digits[i] == 'X' ? 10 : digits[i] - '0');
    return sum % 11 == 0;
}

static bool is_isbn13(struct pl_slice text, struct pl_regex_cache *patterns)
{
    PL_UNUSED(patterns);
    char digits[64];
    size_t len = formats_squeeze(text, " \t\r\n\f\v-", digits);
    int sum = 0;
    if (len != 13 || !all_are(pl_slice(digits, len), "0123456789"))
        return false;
    for (int i = 0; i < 12; i++)
        sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
    return digits[12] - '0' == (10 - sum % 10) % 10;
}

static bool is_isbn(struct pl_slice text, struct pl_regex_cache *patterns)
{
    return is_isbn10(text, patterns) || is_isbn13(text, patterns);
}

static bool is_ssn(struct pl_slice text, struct pl_regex_cache *patterns)
{
    return text.len == 11 && formats_match("^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$", text, patterns);
}

static bool is_short_name(struct pl_slice text, struct pl_regex_cache *patterns)
{
    return text.len <= 63 && formats_match("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", text, patterns);
}

static bool is_long_name(struct pl_slice text, struct pl_regex_cache *patterns)
{
    return text.len <= 253 && formats_match("^[a-z0-9]([-a-z0-9]*[a-z0-9])?"
                                            "(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                                            text, patterns);
}

/* ---- all formats ---- */

#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\x{80}-\\x{10ffff}-]+"
#define WORD "(" ATOM "(\\." ATOM ")*|\"([^\"\\\\\\r\\n]|\\\\.)*\")"
#define ADDR WORD "@(" ATOM "(\\." ATOM ")*|\\[[^\\[\\]\\\\]*\\])"
#define HEX4 "[0-9a-f]{4}"

static const struct {
    const char *name;
    const char *pattern; /* or: */
    bool (*fits)(struct pl_slice text, struct pl_regex_cache *patterns);
} formats[] = {
    {"bsonobjectid", "^[0-9a-fA-F]{24}$", NULL},
    {"byte", "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
     NULL},
    {"cidr", NULL, is_cidr},
    {"creditcard", NULL, is_credit_card},
    {"date", NULL, is_date},
    {"datetime", NULL, is_date_time},
    {"duration", NULL, is_duration},
    {"email", "^\\s*(" ADDR "|((" WORD "|[ .])\\s*)*<\\s*" ADDR "\\s*>)\\s*$", NULL},
    {"hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", NULL},
    {"hostname", NULL, is_hostname},
    {"ipv4", NULL, is_ipv4},
    {"ipv6", NULL, is_ipv6},
    {"isbn", NULL, is_isbn},
    {"isbn10", NULL, is_isbn10},
    {"isbn13", NULL, is_isbn13},
    {"k8slongname", NULL, is_long_name},
    {"k8sshortname", NULL, is_short_name},
    {"mac",
     "^(([0-9a-fA-F]{2}:){5}(([0-9a-fA-F]{2}:){2}(([0-9a-fA-F]{2}:){12})?)?[0-9a-fA-F]{2}|"
     "([0-9a-fA-F]{2}-){5}(([0-9a-fA-F]{2}-){2}(([0-9a-fA-F]{2}-){12})?)?[0-9a-fA-F]{2}|"
     "([0-9a-fA-F]{4}\\.){2}([0-9a-fA-F]{4}\\.(([0-9a-fA-F]{4}\\.){6})?)?[0-9a-fA-F]{4})$",
     NULL},
    {"rgbcolor",
     "^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|"
     "25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$",
     NULL},
    {"ssn", NULL, is_ssn},
    {"uri", NULL, is_uri},
    {"uuid", "(?i)^[0-9a-f]{8}-?" HEX4 "-?" HEX4 "-?" HEX4 "-?[0-9a-f]{12}$", NULL},
    {"uuid3", "(?i)^[0-9a-f]{8}-?" HEX4 "-?3[0-9a-f]{3}-?" HEX4 "-?[0-9a-f]{12}$", NULL},
    {"uuid4", "(?i)^[0-9a-f]{8}-?" HEX4 "-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", NULL},
    {"uuid5", "(?i)^[0-9a-f]{8}-?" HEX4 "-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", NULL},
};

/* The row, or -1. */
static int formats_find(struct pl_slice format)
{
    char name[32];
    size_t len = 0;
    for (size_t i = 0; i < format.len && len < sizeof(name) - 1; i++)
        if (format.ptr[i] != '-')
            name[len++] = format.ptr[i];
    for (size_t i = 0; i < PL_ARRAY_LEN(formats); i++)
        if (pl_slice_eqz(pl_slice(name, len), formats[i].name))
            return (int)i;
    return -1;
}

bool pl_api_format_is_known(struct pl_slice format)
{
    return formats_find(format) >= 0;
}

bool pl_api_format_fits(struct pl_slice format, struct pl_slice text,
                        struct pl_regex_cache *patterns)
{
    int row = formats_find(format);
    if (row < 0)
        return true;
    return formats[row].fits != NULL ? formats[row].fits(text, patterns)
                                     : formats_match(formats[row].pattern, text, patterns);
}
