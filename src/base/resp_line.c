// Line cutting for the RESP parsers; the header says what must stay true.
#include "base/resp_line.h"

enum lh_resp_result lh_resp_scan_line(struct lh_resp_scan *scan, const uint8_t *buffer,
                                      size_t size_bytes, size_t most_bytes,
                                      struct lh_slice *ret_line)
{
    const uint8_t *feed = NULL;
    if (size_bytes > scan->scanned)
        feed = memchr(buffer + scan->scanned, '\n', size_bytes - scan->scanned);
    size_t line_end = feed == NULL ? size_bytes : (size_t)(feed - buffer);
    if (line_end - scan->at > most_bytes)
        return LH_RESP_MALFORMED;
    if (feed == NULL) {
        scan->scanned = size_bytes;
        return LH_RESP_NEED_MORE;
    }
    *ret_line = (struct lh_slice){buffer + scan->at, line_end - scan->at};
    lh_resp_scan_to(scan, line_end + 1);
    return LH_RESP_COMPLETE;
}

bool lh_resp_trim_cr(struct lh_slice *line)
{
    if (line->size_bytes == 0)
        return false;
    const uint8_t *cr = memchr(line->data, '\r', line->size_bytes);
    if (cr == NULL || cr != line->data + line->size_bytes - 1)
        return false;
    line->size_bytes--;
    return true;
}
