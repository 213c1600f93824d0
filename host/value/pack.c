/* Strings of common forms in fewer bytes: uids, times, IPv4 addresses, runs of hex digits, decimal
 * numbers in quotes.
 *
 * Unpacking must give back exactly the same bytes. So each form is read strictly (lower-case hex,
 * no leading zero, an existing date); any other text stays unpacked. Two strings packed in one form
 * are equal exactly when their bytes are, so that equal.c need not unpack them. */
#include "value/pack.h"
#include "value/tape.h"

#include "base/calendar.h"

_Static_assert(sizeof(struct pl_scratch) >= PACK_MAX, "a packed string must fit the scratch");

static const char two_digits[] = "0001020304050607080910111213141516171819"
                                 "2021222324252627282930313233343536373839"
                                 "4041424344454647484950515253545556575859"
                                 "6061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

enum { HEX_MIN = 16 }; /* digits; a shorter run does not save enough for a length and a prefix */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool pack_hex_bytes(const char *text, size_t bytes, uint8_t *out)
{
    for (size_t i = 0; i < bytes; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if ((high | low) < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void unpack_hex_bytes(const uint8_t *at, size_t bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[at[i] >> 4];
        out[2 * i + 1] = digits[at[i] & 15];
    }
}

/* ---- uuid: groups of 4, 2, 2, 2 and 6 bytes ---- */

static const uint8_t uuid_groups[] = {4, 2, 2, 2, 6};

static uint8_t *pack_uuid(const char *text, uint8_t *out)
{
    *out++ = TAG_UUID;
    for (size_t i = 0; i < sizeof(uuid_groups); i++) {
        if (i > 0 && *text++ != '-')
            return NULL;
        if (!pack_hex_bytes(text, uuid_groups[i], out))
            return NULL;
        text += 2 * uuid_groups[i];
        out += uuid_groups[i];
    }
    return out;
}

static size_t unpack_uuid(const uint8_t *at, char *out)
{
    char *start = out;
    for (size_t i = 0; i < sizeof(uuid_groups); i++) {
        if (i > 0)
            *out++ = '-';
        unpack_hex_bytes(at, uuid_groups[i], out);
        at += uuid_groups[i];
        out += 2 * uuid_groups[i];
    }
    return (size_t)(out - start);
}

/* ---- times ---- */

/* Exactly `count` digits; -1 when one is not. */
static int digits_value(const char *text, int count)
{
    int v = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        v = v * 10 + (text[i] - '0');
    }
    return v;
}

/* Seconds since 1970 of "YYYY-MM-DDThh:mm:ss"; -1 for a time that would be unpacked differently
 * (leap seconds, the 30th of February). */
static int64_t pack_seconds(const char *t)
{
    if (t[4] != '-' || t[7] != '-' || t[13] != ':' || t[16] != ':')
        return -1;
    int year = digits_value(t, 4), month = digits_value(t + 5, 2), day = digits_value(t + 8, 2);
    int hour = digits_value(t + 11, 2), min = digits_value(t + 14, 2);
    int sec = digits_value(t + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || min < 0 ||
        min > 59 || sec < 0 || sec > 59 || day > pl_days_in_month(year, month))
        return -1;
    int64_t seconds = pl_days_from_date(year, month, day) * 86400 + hour * 3600 + min * 60 + sec;
    return seconds <= UINT32_MAX ? seconds : -1;
}

static void put_digits(char *out, int value, int count)
{
    for (int i = count - 1; i >= 0; i--, value /= 10)
        out[i] = (char)('0' + value % 10);
}

static void unpack_seconds(uint32_t seconds, char *out)
{
    static const char form[] = "0000-00-00T00:00:00";
    int of_day = (int)(seconds % 86400);
    struct pl_date date = pl_date_from_days(seconds / 86400);
    memcpy(out, form, sizeof(form) - 1);
    put_digits(out, date.year, 4);
    put_digits(out + 5, date.month, 2);
    put_digits(out + 8, date.day, 2);
    put_digits(out + 11, of_day / 3600, 2);
    put_digits(out + 14, of_day / 60 % 60, 2);
    put_digits(out + 17, of_day % 60, 2);
}

static uint8_t *pack_time(struct pl_slice text, uint8_t *out)
{
    int64_t seconds = text.ptr[10] == 'T' ? pack_seconds(text.ptr) : -1;
    if (seconds < 0 || text.ptr[text.len - 1] != 'Z')
        return NULL;
    uint32_t v = (uint32_t)seconds;
    memcpy(out + 1, &v, 4);
    if (text.len == 20) {
        *out = TAG_TIME;
        return out + 5;
    }
    int micros = text.ptr[19] == '.' ? digits_value(text.ptr + 20, 6) : -1;
    if (micros < 0)
        return NULL;
    *out = TAG_MICROTIME;
    v = (uint32_t)micros;
    memcpy(out + 5, &v, 3);
    return out + 8;
}

static size_t unpack_microtime(const uint8_t *at, char *out)
{
    unpack_seconds(tape_u32(at), out);
    int micros = at[4] | at[5] << 8 | at[6] << 16;
    out[19] = '.';
    put_digits(out + 20, micros, 6);
    out[26] = 'Z';
    return 27;
}

/* ---- the rest ---- */

/* A text that ends in many hex digits: container and image ids, digests. */
static uint8_t *pack_hex(struct pl_slice text, uint8_t *out)
{
    size_t digits = 0;
    while (digits < text.len && hex_value(text.ptr[text.len - 1 - digits]) >= 0)
        digits++;
    digits &= ~(size_t)1;
    if (digits < HEX_MIN)
        return NULL;
    size_t prefix = text.len - digits;
    *out++ = TAG_HEX;
    *out++ = (uint8_t)prefix;
    *out++ = (uint8_t)(digits / 2);
    memcpy(out, text.ptr, prefix);
    pack_hex_bytes(text.ptr + prefix, digits / 2, out + prefix);
    return out + prefix + digits / 2;
}

static size_t unpack_hex(const uint8_t *at, char *out)
{
    size_t prefix = at[0], bytes = at[1];
    memcpy(out, at + 2, prefix);
    unpack_hex_bytes(at + 2 + prefix, bytes, out + prefix);
    return prefix + 2 * bytes;
}

static uint8_t *pack_decimal(struct pl_slice text, uint8_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return NULL;
        v = v * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    if (text.ptr[0] == '0' || v > UINT32_MAX)
        return NULL;
    uint32_t v32 = (uint32_t)v;
    *out = TAG_DECIMAL;
    memcpy(out + 1, &v32, 4);
    return out + 5;
}

/* Two digits at a time, since the version of every object is unpacked. */
static size_t unpack_decimal(uint32_t v, char *out)
{
    char digits[10], *at = digits + sizeof(digits);
    for (; v >= 100; v /= 100)
        memcpy(at -= 2, two_digits + 2 * (v % 100), 2);
    memcpy(at -= 2, two_digits + 2 * v, 2);
    at += v < 10;
    size_t n = (size_t)(digits + sizeof(digits) - at);
    memcpy(out, at, n);
    return n;
}

static uint8_t *pack_ipv4(struct pl_slice text, uint8_t *out)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    *out++ = TAG_IPV4;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (p == end || *p++ != '.'))
            return NULL;
        int v = 0, digits = 0;
        for (; p < end && *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
            v = v * 10 + (*p - '0');
        if (digits == 0 || v > 255 || digits != (v > 99 ? 3 : v > 9 ? 2 : 1))
            return NULL;
        *out++ = (uint8_t)v;
    }
    return p == end ? out : NULL;
}

static size_t unpack_ipv4(const uint8_t *at, char *out)
{
    size_t n = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0)
            out[n++] = '.';
        n += unpack_decimal(at[part], out + n);
    }
    return n;
}

uint8_t *pl_pack_short(struct pl_slice text, uint8_t *out)
{
    if (text.len < 6 || text.len > 27 || text.ptr[0] < '0' || text.ptr[0] > '9')
        return NULL;
    if (text.len >= 16)
        return text.len == 20 || text.len == 27 ? pack_time(text, out) : NULL;
    uint8_t *end = text.len <= 10 ? pack_decimal(text, out) : NULL;
    return end != NULL ? end : pack_ipv4(text, out);
}

uint8_t *pl_pack(struct pl_slice text, uint8_t *out)
{
    if (text.len < HEX_MIN || text.len > PACK_MAX)
        return pl_pack_short(text, out);
    if (text.len == 36 && text.ptr[8] == '-')
        return pack_uuid(text.ptr, out);
    uint8_t *end = pl_pack_short(text, out);
    return end != NULL ? end : pack_hex(text, out);
}

size_t pl_unpack(const uint8_t *at, char out[PACK_MAX])
{
    switch (*at++) {
    case TAG_UUID:
        return unpack_uuid(at, out);
    case TAG_TIME:
        unpack_seconds(tape_u32(at), out);
        out[19] = 'Z';
        return 20;
    case TAG_MICROTIME:
        return unpack_microtime(at, out);
    case TAG_HEX:
        return unpack_hex(at, out);
    case TAG_IPV4:
        return unpack_ipv4(at, out);
    default:
        return unpack_decimal(tape_u32(at), out);
    }
}
