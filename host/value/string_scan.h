/* Finding the end of a JSON string, sixteen bytes at a time. Only host/value includes this. */
#pragma once

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* A bit for each of 16 bytes that is a quote, a backslash, a control character or not ASCII. */
static inline unsigned string_odd16(const uint8_t *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    /* As signed numbers, bytes from 0x80 on are negative, so one comparison finds them and the
     * control characters. */
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, slash)));
}

/* A bit for each of 16 bytes that differs. */
static inline unsigned string_differ16(const uint8_t *a, const uint8_t *b)
{
    __m128i equal =
        _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b));
    return (unsigned)_mm_movemask_epi8(equal) ^ 0xffff;
}
#else
static inline unsigned string_odd16(const uint8_t *p)
{
    unsigned odd = 0;
    for (unsigned i = 0; i < 16; i++)
        odd |= (unsigned)(p[i] < 0x20 || p[i] >= 0x80 || p[i] == '"' || p[i] == '\\') << i;
    return odd;
}

static inline unsigned string_differ16(const uint8_t *a, const uint8_t *b)
{
    unsigned differ = 0;
    for (unsigned i = 0; i < 16; i++)
        differ |= (unsigned)(a[i] != b[i]) << i;
    return differ;
}
#endif

/* The first byte at or after p that string_odd16 reports. Reads up to 16 bytes past it. */
static inline const uint8_t *string_run(const uint8_t *p)
{
    for (;; p += 16) {
        unsigned odd = string_odd16(p);
        if (odd != 0)
            return p + __builtin_ctz(odd);
    }
}
