// A trace as a space-time diagram: one line per process, steps from left to right, messages as
// arrows from the step that sent them to the step that took them, and bars for what lasts:
// authority and records, crashes, quarantine.
#ifndef LH_CHECK_TRACE_SVG_H
#define LH_CHECK_TRACE_SVG_H

#include "check/trace.h"

void lh_trace_draw(const struct lh_trace *trace, FILE *file);

#endif
