// The acceptor's role: see acceptor.h. One clock reading per call, compared before anything is
// subtracted.
#include "lease/acceptor.h"

#include "base/assert.h"

_Static_assert(sizeof(struct lh_acceptor_record) == 48, "the record is what a live lease costs");

static struct lh_acceptor_answer answer(const struct lh_acceptor_record *record,
                                        struct lh_instant now, enum lh_verdict verdict)
{
    struct lh_acceptor_answer made = {.verdict = verdict, .promised = record->promised};
    if (lh_acceptor_live(record, now)) {
        made.reported = record->ballot;
        made.exclusion = lh_left(now, record->deadline);
    }
    return made;
}

// From here on `stamp` tells when the name was last touched.
static void clear(struct lh_acceptor_record *record, struct lh_instant touched)
{
    record->deadline = LH_PAST;
    record->stamp = (uint64_t)touched.ns;
}

struct lh_acceptor_answer lh_acceptor_prepare(struct lh_acceptor_record *record,
                                              struct lh_instant now, lh_ballot ballot)
{
    if (ballot < record->promised)
        return answer(record, now, LH_REJECTED);
    record->promised = ballot;
    if (!lh_acceptor_live(record, now))
        clear(record, now);
    return answer(record, now, LH_PROMISED);
}

// A2: a live record is replaced only by an Accept that names it.
static bool names_live_lease(const struct lh_acceptor_record *record, lh_ballot ballot,
                             lh_ballot base)
{
    return base == record->ballot && lh_ballot_same_owner(ballot, record->ballot);
}

struct lh_acceptor_answer lh_acceptor_accept(struct lh_acceptor_record *record,
                                             struct lh_instant now, lh_ballot ballot,
                                             lh_ballot base, struct lh_duration exclusion)
{
    bool live = lh_acceptor_live(record, now);
    if (ballot < record->promised)
        return answer(record, now, LH_REJECTED);
    if (ballot == record->ballot) // recorded once: a redelivery restarts nothing
        return answer(record, now, live ? LH_ACCEPTED : LH_REJECTED);
    if (live && !names_live_lease(record, ballot, base))
        return answer(record, now, LH_REJECTED);
    struct lh_instant ends = lh_after(now, exclusion);
    record->promised = ballot;
    record->ballot = ballot;
    record->deadline = live ? lh_later(record->deadline, ends) : ends; // D
    record->stamp = 0;
    LH_ASSERT(record->promised >= record->ballot);
    return answer(record, now, LH_ACCEPTED);
}

bool lh_acceptor_release(struct lh_acceptor_record *record, struct lh_instant now, lh_ballot ballot)
{
    if (record->ballot != ballot || !lh_acceptor_live(record, now))
        return false;
    clear(record, now);
    return true;
}

struct lh_acceptor_answer lh_acceptor_extend(struct lh_acceptor_record *record,
                                             struct lh_instant now, lh_ballot ballot,
                                             uint64_t stamp, struct lh_duration exclusion)
{
    if (record->ballot != ballot || !lh_acceptor_live(record, now))
        return answer(record, now, LH_REJECTED);
    if (stamp > record->stamp) {
        record->stamp = stamp;
        record->deadline = lh_later(record->deadline, lh_after(now, exclusion)); // D
    }
    return answer(record, now, LH_EXTENDED);
}

struct lh_instant lh_acceptor_touched(const struct lh_acceptor_record *record)
{
    if (record->deadline.ns != LH_PAST.ns) // a promise made while it was live ended no later
        return record->deadline;
    return (struct lh_instant){(int64_t)record->stamp};
}

bool lh_acceptor_forgettable(const struct lh_acceptor_record *record, struct lh_instant now,
                             struct lh_duration quarantine)
{
    struct lh_instant served = lh_after(lh_acceptor_touched(record), quarantine);
    return !lh_acceptor_live(record, now) && !lh_before(now, served);
}

struct lh_acceptor_record lh_acceptor_fresh(struct lh_key key, lh_ballot floor,
                                            struct lh_instant now)
{
    return (struct lh_acceptor_record){
        .key = key, .promised = floor, .ballot = floor, .stamp = (uint64_t)now.ns};
}
