// Runs an errand over a channel, for programs that wait for one thing at a time: the command line.
// Nothing here blocks but lh_errand_finish.
#ifndef LH_CLIENT_DRIVE_H
#define LH_CLIENT_DRIVE_H

#include "client/channel.h"
#include "client/errand.h"
#include "client/holder.h"

#define LH_WAIT_FOREVER ((struct lh_duration){INT64_MAX})

// Begins to acquire holding->name for holding->holder. `wait` 0 asks once, LH_WAIT_FOREVER stays in
// line without end. Then advance. An errand refers to the channel and the holding, each of which
// has at most one errand at a time.
void lh_errand_acquire(struct lh_errand *errand, struct lh_channel *channel,
                       struct lh_holding *holding, struct lh_duration ttl, struct lh_duration wait,
                       struct lh_duration patience);

// Begins to renew under the holding's name, token and holder; goes on until the patience or the
// lease's deadline ends. `ttl` 0 asks for as long as before.
void lh_errand_renew(struct lh_errand *errand, struct lh_channel *channel,
                     struct lh_holding *holding, struct lh_duration ttl,
                     struct lh_duration patience);

// Begins to release. The holder must have stopped.
void lh_errand_release(struct lh_errand *errand, struct lh_channel *channel,
                       struct lh_holding *holding, struct lh_duration patience);

// Does what can be done without waiting. Any result but BUSY ends the errand.
enum lh_errand_result lh_errand_advance(struct lh_errand *errand);

// What to wait for while BUSY, as in channel.h.
int lh_errand_fd(const struct lh_errand *errand);
short lh_errand_events(const struct lh_errand *errand);
struct lh_instant lh_errand_wake_at(const struct lh_errand *errand);

// Waits for that.
void lh_errand_await(const struct lh_errand *errand);

// Advances and waits until the errand has ended.
enum lh_errand_result lh_errand_finish(struct lh_errand *errand);

#endif
