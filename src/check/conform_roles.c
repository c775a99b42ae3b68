// See conform_roles.h. One function of src/lease is called in each function here, and nothing of
// its rules is repeated.
#include "check/conform_roles.h"

#include "check/conform_convert.h"

static const enum lh_phase phases[] = {LH_IDLE, LH_PREPARING, LH_ACCEPTING, LH_EXTENDING};

static struct lh_proposer proposer_of(const struct lh_conform_place *place,
                                      const struct lh_conform_proposer *row)
{
    return (struct lh_proposer){.ballot = lh_conform_ballot(place, row->ballot),
                                .base = lh_conform_ballot(place, row->base),
                                .td = lh_conform_instant(row->td),
                                .stamp = lh_conform_stamp(row->stamp),
                                .phase = phases[row->phase],
                                .open = {row->open},
                                .accepted = {row->accepted},
                                .held = lh_conform_ballot(place, row->held),
                                .token = lh_conform_ballot(place, row->token),
                                .until = lh_conform_instant(row->until)};
}

static uint8_t set_back(struct lh_members_set set)
{
    return set.bits < LH_CONFORM_STRANGE ? (uint8_t)set.bits : LH_CONFORM_STRANGE;
}

static void put_back(const struct lh_conform_place *place, const struct lh_proposer *proposer,
                     struct lh_conform_proposer *ret_row)
{
    uint8_t phase = 0;
    while (phase < LH_CONFORM_EXTENDING && phases[phase] != proposer->phase)
        phase++;
    *ret_row = (struct lh_conform_proposer){
        .phase = phase,
        .ballot = lh_conform_ballot_back(place, proposer->ballot),
        .base = lh_conform_ballot_back(place, proposer->base),
        .td = lh_conform_instant_back(proposer->td),
        .stamp =
            proposer->stamp < LH_CONFORM_OLD_TOKEN ? (uint8_t)proposer->stamp : LH_CONFORM_STRANGE,
        .open = set_back(proposer->open),
        .accepted = set_back(proposer->accepted),
        .held = lh_conform_ballot_back(place, proposer->held),
        .token = lh_conform_ballot_back(place, proposer->token),
        .until = lh_conform_instant_back(proposer->until)};
}

bool lh_conform_holds(const struct lh_conform_place *place,
                      const struct lh_conform_proposer *proposer)
{
    const struct lh_proposer real = proposer_of(place, proposer);
    return lh_proposer_holds(&real, lh_conform_now(place));
}

bool lh_conform_live(const struct lh_conform_place *place,
                     const struct lh_conform_acceptor *acceptor)
{
    const struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    return lh_acceptor_live(&real, lh_conform_now(place));
}

void lh_conform_start(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                      uint8_t ballot, uint8_t ttl)
{
    struct lh_proposer real = proposer_of(place, proposer);
    lh_proposer_start(&real, lh_conform_now(place), lh_conform_ballot(place, ballot),
                      lh_conform_duration(ttl));
    put_back(place, &real, proposer);
}

bool lh_conform_promise(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                        uint8_t acceptor, uint8_t ballot, uint8_t reported)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const bool open =
        lh_proposer_promise(&real, lh_conform_now(place), acceptor,
                            lh_conform_ballot(place, ballot), lh_conform_ballot(place, reported));
    put_back(place, &real, proposer);
    return open;
}

bool lh_conform_propose(const struct lh_conform_place *place, struct lh_conform_proposer *proposer)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const bool proposed = lh_proposer_propose(&real, lh_conform_now(place), place->quorum);
    put_back(place, &real, proposer);
    return proposed;
}

static enum lh_conform_outcome outcome_back(enum lh_outcome outcome)
{
    switch (outcome) {
    case LH_NOTHING: break;
    case LH_ACQUIRED: return LH_CONFORM_ACQUIRED;
    case LH_RENEWED: return LH_CONFORM_RENEWED;
    }
    return LH_CONFORM_NOTHING;
}

enum lh_conform_outcome lh_conform_accepted(const struct lh_conform_place *place,
                                            struct lh_conform_proposer *proposer, uint8_t acceptor,
                                            uint8_t ballot)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const enum lh_outcome outcome = lh_proposer_accepted(
        &real, lh_conform_now(place), acceptor, lh_conform_ballot(place, ballot), place->quorum);
    put_back(place, &real, proposer);
    return outcome_back(outcome);
}

void lh_conform_abandon(const struct lh_conform_place *place, struct lh_conform_proposer *proposer)
{
    struct lh_proposer real = proposer_of(place, proposer);
    lh_proposer_abandon(&real);
    put_back(place, &real, proposer);
}

uint8_t lh_conform_release(const struct lh_conform_place *place,
                           struct lh_conform_proposer *proposer)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const lh_ballot named = lh_proposer_release(&real, lh_conform_now(place));
    put_back(place, &real, proposer);
    return lh_conform_ballot_back(place, named);
}

void lh_conform_extend(const struct lh_conform_place *place, struct lh_conform_proposer *proposer,
                       uint8_t ttl, bool again)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const uint8_t last = proposer->stamp;
    if (again)
        real.stamp = (uint64_t)lh_conform_now(place).ns;
    const uint64_t before = real.stamp;
    lh_proposer_extend(&real, lh_conform_now(place), lh_conform_duration(ttl));
    const bool rose = real.stamp > before && real.stamp >= (uint64_t)lh_conform_now(place).ns;
    real.stamp = 0;
    put_back(place, &real, proposer);
    proposer->stamp = rose ? (uint8_t)(last + 1) : LH_CONFORM_STRANGE;
}

enum lh_conform_outcome lh_conform_extended(const struct lh_conform_place *place,
                                            struct lh_conform_proposer *proposer, uint8_t acceptor,
                                            uint8_t ballot, uint8_t stamp)
{
    struct lh_proposer real = proposer_of(place, proposer);
    const enum lh_outcome outcome = lh_proposer_extended(&real, lh_conform_now(place), acceptor,
                                                         lh_conform_ballot(place, ballot),
                                                         lh_conform_stamp(stamp), place->quorum);
    put_back(place, &real, proposer);
    return outcome_back(outcome);
}

static struct lh_conform_answer answer_back(const struct lh_conform_place *place,
                                            struct lh_acceptor_answer answer)
{
    struct lh_conform_answer back = {.promised = lh_conform_ballot_back(place, answer.promised),
                                     .reported = lh_conform_ballot_back(place, answer.reported)};
    switch (answer.verdict) {
    case LH_REJECTED: back.verdict = LH_CONFORM_REJECTED; break;
    case LH_PROMISED: back.verdict = LH_CONFORM_PROMISED; break;
    case LH_ACCEPTED: back.verdict = LH_CONFORM_ACCEPTED; break;
    case LH_EXTENDED: back.verdict = LH_CONFORM_EXTENDED; break;
    }
    if (answer.exclusion.ns != 0)
        back.ends = lh_conform_instant_back(lh_after(lh_conform_now(place), answer.exclusion));
    return back;
}

struct lh_conform_answer lh_conform_prepare(const struct lh_conform_place *place,
                                            struct lh_conform_acceptor *acceptor, uint8_t ballot)
{
    struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    const struct lh_acceptor_answer answer =
        lh_acceptor_prepare(&real, lh_conform_now(place), lh_conform_ballot(place, ballot));
    *acceptor = lh_conform_record_back(place, &real);
    return answer_back(place, answer);
}

struct lh_conform_answer lh_conform_accept(const struct lh_conform_place *place,
                                           struct lh_conform_acceptor *acceptor, uint8_t ballot,
                                           uint8_t base, uint8_t exclusion)
{
    struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    const struct lh_acceptor_answer answer =
        lh_acceptor_accept(&real, lh_conform_now(place), lh_conform_ballot(place, ballot),
                           lh_conform_ballot(place, base), lh_conform_duration(exclusion));
    *acceptor = lh_conform_record_back(place, &real);
    return answer_back(place, answer);
}

bool lh_conform_clear(const struct lh_conform_place *place, struct lh_conform_acceptor *acceptor,
                      uint8_t ballot)
{
    struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    const bool cleared =
        lh_acceptor_release(&real, lh_conform_now(place), lh_conform_ballot(place, ballot));
    *acceptor = lh_conform_record_back(place, &real);
    return cleared;
}

struct lh_conform_answer lh_conform_lengthen(const struct lh_conform_place *place,
                                             struct lh_conform_acceptor *acceptor, uint8_t ballot,
                                             uint8_t stamp, uint8_t exclusion)
{
    struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    const struct lh_acceptor_answer answer =
        lh_acceptor_extend(&real, lh_conform_now(place), lh_conform_ballot(place, ballot),
                           lh_conform_stamp(stamp), lh_conform_duration(exclusion));
    *acceptor = lh_conform_record_back(place, &real);
    return answer_back(place, answer);
}

bool lh_conform_forgettable(const struct lh_conform_place *place,
                            const struct lh_conform_acceptor *acceptor, uint8_t quarantine)
{
    const struct lh_acceptor_record real = lh_conform_record(place, acceptor);
    return lh_acceptor_forgettable(&real, lh_conform_now(place), lh_conform_duration(quarantine));
}

struct lh_conform_acceptor lh_conform_fresh(const struct lh_conform_place *place, uint8_t floor)
{
    const struct lh_acceptor_record real = lh_acceptor_fresh(
        (struct lh_key){{7, 7}}, lh_conform_ballot(place, floor), lh_conform_now(place));
    return lh_conform_record_back(place, &real);
}
