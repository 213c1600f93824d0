/* How a record lies in its file: PL_RECORD_MAGIC, then frames of a type, the length of what follows
 * (four bytes, the lowest first), and that. Private to host/record. */
#pragma once

#define PL_FRAME_HEAD  5                   /* bytes */
#define PL_FRAME_MOST  ((size_t)256 << 20) /* of one frame, also unpacked */
#define PL_CHUNK_BYTES ((size_t)256 << 10) /* of entries that are compressed together, about */

/* The types. Texts and entries are deflated, behind their length when they are not. */
#define PL_FRAME_INFO    'I' /* JSON: of the host */
#define PL_FRAME_SCRIPTS 'G' /* a generation's number, then JSON */
#define PL_FRAME_STREAM  'S' /* a stream's number, then JSON */
#define PL_FRAME_CHUNK   'M' /* which minute since 1970, then entries: stream, text */
#define PL_FRAME_GAP     'X' /* entries were left out here */
