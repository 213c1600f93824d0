/* The file format of a record: PL_RECORD_MAGIC, then frames. A frame is its type, the length of its
 * content (four bytes, little-endian), and the content. Private to host/record. Constants only. */
#pragma once

#define PL_FRAME_HEAD 5                   /* bytes */
#define PL_FRAME_MOST ((size_t)256 << 20) /* of one frame, also when unpacked */
#define PL_CHUNK_BYTES                                                                             \
    ((size_t)256 << 10) /* approximate size of entries that are compressed together */

/* Frame types. Texts and entries are deflated; their unpacked length comes first. */
#define PL_FRAME_INFO    'I' /* JSON: about the host */
#define PL_FRAME_SCRIPTS 'G' /* a generation's number, then JSON */
#define PL_FRAME_STREAM  'S' /* a stream's number, then JSON */
#define PL_FRAME_CHUNK   'M' /* minute since 1970, then entries: stream, text */
#define PL_FRAME_GAP     'X' /* entries were left out here */
