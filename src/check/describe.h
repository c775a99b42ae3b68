// Words for states and steps, shared by the text, JSON and SVG forms of a trace. Processes are
// named p1.. and a1.., ballots b1.., as in the paper.
#ifndef LH_CHECK_DESCRIBE_H
#define LH_CHECK_DESCRIBE_H

#include "check/model.h"

enum { LH_DESCRIPTION_SIZE = 1024 };

// A sentence: who did what, with what outcome.
void lh_describe_action(const struct lh_model *model, const uint8_t *from, struct lh_action action,
                        const uint8_t *to, char ret_text[LH_DESCRIPTION_SIZE]);

// Every variable that changed, old and new value, and the messages that came and went.
void lh_describe_changes(const struct lh_model *model, const uint8_t *from, const uint8_t *to,
                         char ret_text[LH_DESCRIPTION_SIZE]);

// "Promise(b1) a1->p2, reports p1's b1 until 3"
void lh_describe_message(const struct lh_model *model, uint32_t message, char *ret_text,
                         size_t size);

// "a1.promised"
void lh_describe_variable(const struct lh_model *model, uint32_t variable, char *ret_text,
                          size_t size);

#endif
