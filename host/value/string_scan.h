/* Finding the end of a JSON string. Only host/value includes this. */
#pragma once

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* The first byte at or after p that is a quote, a backslash, a control character or
 * not ASCII. Reads up to 16 bytes past it. */
static inline const uint8_t *string_run(const uint8_t *p)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x20);
    for (;; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        /* Compared as signed numbers, bytes from 0x80 on are negative, so one comparison
         * finds them and the control characters. */
        __m128i odd =
            _mm_or_si128(_mm_cmplt_epi8(v, control),
                         _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(odd);
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
}
#else
static inline const uint8_t *string_run(const uint8_t *p)
{
    while (*p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}
#endif
