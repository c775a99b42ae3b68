// See drive.h.
#include "client/drive.h"

#include <poll.h>

#include "os/clock.h"

static void follow(struct lh_errand *errand)
{
    struct lh_channel *channel = errand->client;
    if (errand->afresh)
        lh_channel_abandon(channel);
    lh_channel_go_to(channel, errand->endpoint);
    if (errand->move == LH_ERRAND_SEND)
        lh_channel_begin(channel, errand->words, errand->word_count, errand->timeout);
}

static void begin(struct lh_errand *errand, struct lh_channel *channel, struct lh_holding *holding,
                  struct lh_errand_plan plan)
{
    plan.endpoint_count = lh_channel_endpoint_count(channel);
    plan.endpoint = lh_channel_next(channel);
    plan.seed = lh_random_bits();
    lh_errand_begin(errand, holding, &plan, lh_clock_now());
    errand->client = channel;
    follow(errand);
}

void lh_errand_acquire(struct lh_errand *errand, struct lh_channel *channel,
                       struct lh_holding *holding, struct lh_duration ttl, struct lh_duration wait,
                       struct lh_duration patience)
{
    begin(errand, channel, holding,
          (struct lh_errand_plan){
              .verb = LH_ERRAND_ACQUIRE, .ttl = ttl, .wait = wait, .patience = patience});
}

void lh_errand_renew(struct lh_errand *errand, struct lh_channel *channel,
                     struct lh_holding *holding, struct lh_duration ttl,
                     struct lh_duration patience)
{
    begin(errand, channel, holding,
          (struct lh_errand_plan){.verb = LH_ERRAND_RENEW, .ttl = ttl, .patience = patience});
}

void lh_errand_release(struct lh_errand *errand, struct lh_channel *channel,
                       struct lh_holding *holding, struct lh_duration patience)
{
    begin(errand, channel, holding,
          (struct lh_errand_plan){.verb = LH_ERRAND_RELEASE, .patience = patience});
}

enum lh_errand_result lh_errand_advance(struct lh_errand *errand)
{
    struct lh_channel *channel = errand->client;
    while (errand->move != LH_ERRAND_END) {
        if (errand->move == LH_ERRAND_PAUSE) {
            if (lh_before(lh_clock_now(), errand->pause_until))
                return LH_ERRAND_BUSY;
            lh_errand_go_on(errand, lh_clock_now());
            follow(errand);
        }
        enum lh_channel_state state = lh_channel_advance(channel);
        if (state == LH_CHANNEL_BUSY || state == LH_CHANNEL_IDLE)
            return LH_ERRAND_BUSY;
        const char *where = lh_channel_endpoint(channel);
        if (state == LH_CHANNEL_ANSWERED)
            lh_errand_answered(errand, lh_clock_now(), lh_channel_sent(channel), where,
                               lh_channel_reply(channel));
        else
            lh_errand_failed(errand, lh_clock_now(), lh_channel_reach(channel), where,
                             lh_channel_error(channel));
        follow(errand);
    }
    return errand->result;
}

int lh_errand_fd(const struct lh_errand *errand)
{
    return errand->move == LH_ERRAND_PAUSE ? -1 : lh_channel_fd(errand->client);
}

short lh_errand_events(const struct lh_errand *errand)
{
    return lh_channel_events(errand->client);
}

struct lh_instant lh_errand_wake_at(const struct lh_errand *errand)
{
    return errand->move == LH_ERRAND_PAUSE ? errand->pause_until
                                           : lh_channel_wake_at(errand->client);
}

void lh_errand_await(const struct lh_errand *errand)
{
    struct pollfd wanted = {.fd = lh_errand_fd(errand), .events = lh_errand_events(errand)};
    lh_channel_poll(&wanted, 1, lh_errand_wake_at(errand));
}

enum lh_errand_result lh_errand_finish(struct lh_errand *errand)
{
    enum lh_errand_result result;
    while ((result = lh_errand_advance(errand)) == LH_ERRAND_BUSY)
        lh_errand_await(errand);
    return result;
}
