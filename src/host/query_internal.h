// What the query's files share:
//
//     query.c        all questions: made, found, ended
//     query_state.c  what do you know of this name?
//     query_call.c   do this for a client of mine
//     query_list.c   what do you hold?
#ifndef LH_HOST_QUERY_INTERNAL_H
#define LH_HOST_QUERY_INTERNAL_H

#include "host/host_internal.h"

#define LH_QUERY_ROUND_LASTS (100 * LH_NS_PER_MS) // after which a question is asked again

// A question for `request`, or (NULL) for watchers. NULL if there is no room.
struct lh_query *lh_query_new(struct lh_host *host, enum lh_query_kind kind,
                              struct lh_request *request, struct lh_instant now);

// The question that an answer is for, or NULL: ended, or asked anew since.
struct lh_query *lh_query_of(struct lh_host *host, uint64_t nonce);

// Answers whoever asked, and ends the query. `query` stays readable until the next one begins.
void lh_query_finish(struct lh_host *host, struct lh_query *query, const struct lh_result *result,
                     struct lh_instant now, struct lh_host_effects *effects);
void lh_query_no_room(struct lh_host *host, struct lh_request *request,
                      struct lh_host_effects *effects);

// The name asked about; none for watchers.
struct lh_slice lh_query_name(struct lh_host *host, const struct lh_query *query);

// Waits for the answers of a round. The last one takes what is left, so none is cut short.
void lh_query_await(struct lh_host *host, struct lh_query *query, struct lh_instant now);

// The time of a round is over.
void lh_query_state_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                        struct lh_host_effects *effects);
void lh_query_call_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                       struct lh_host_effects *effects);
void lh_query_list_due(struct lh_host *host, struct lh_query *query, struct lh_instant now,
                       struct lh_host_effects *effects);

// Messages. `member` is the sender's position in the configuration.
void lh_query_on_query(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                       struct lh_instant now, struct lh_host_effects *effects);
void lh_query_on_state(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                       struct lh_instant now, struct lh_host_effects *effects);
void lh_query_on_call(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects);
void lh_query_on_return(struct lh_host *host, const struct lh_host_message *message,
                        struct lh_instant now, struct lh_host_effects *effects);
void lh_query_on_page_ask(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                          struct lh_instant now, struct lh_host_effects *effects);
void lh_query_on_page(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                      struct lh_instant now, struct lh_host_effects *effects);

#endif
