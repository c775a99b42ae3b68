// What both RESP parsers share: lines that end in CR LF, cut from a buffer that fills up piece by
// piece. A parser remembers how far it has looked, so bytes that trickle in are looked at once; and
// whether input is accepted never depends on how it was cut into pieces.
#ifndef LH_BASE_RESP_LINE_H
#define LH_BASE_RESP_LINE_H

#include "base/slice.h"

enum lh_resp_result {
    LH_RESP_NEED_MORE, // all is well so far: call again when more bytes have come
    LH_RESP_COMPLETE,
    LH_RESP_MALFORMED, // not this protocol, or beyond a limit: the connection is of no more use
};

// A line that says a type and a length is at most this long, without its LF.
#define LH_RESP_HEADER_MAX_BYTES 32

struct lh_resp_scan {
    size_t at;      // bytes of the buffer that are understood
    size_t scanned; // bytes known to hold no LF behind `at`; at least `at`
};

// Cuts the line at scan->at, which may have up to most_bytes bytes before its LF. COMPLETE:
// *ret_line is the line without LF (with its CR, if it has one) and the scan is behind it.
// MALFORMED: it is too long.
enum lh_resp_result lh_resp_scan_line(struct lh_resp_scan *scan, const uint8_t *buffer,
                                      size_t size_bytes, size_t most_bytes,
                                      struct lh_slice *ret_line);

// Takes the CR off the line's end. False if there is none, or another one within.
bool lh_resp_trim_cr(struct lh_slice *line);

static inline void lh_resp_scan_to(struct lh_resp_scan *scan, size_t at)
{
    scan->at = at;
    scan->scanned = at;
}

#endif
