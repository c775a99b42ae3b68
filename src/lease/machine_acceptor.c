// The acceptor's half of the machine: what must hold before a message for any name is answered at
// all (A4, T2, F2, F5), then the role function, then the answer. A message that may not be answered
// is dropped and counted, never kept for later.
#include "lease/machine_internal.h"

#include "base/assert.h"

// A4, T3: an acceptor that lost its memory is silent until its quarantine has passed.
static bool serves(struct lh_machine *machine, struct lh_instant now)
{
    if (!lh_before(now, machine->quarantine_until))
        return true;
    machine->counters.dropped_quarantine++;
    return false;
}

// T2: no attempt may last longer than M, for which everybody's quarantine was made.
static bool ttl_allowed(struct lh_machine *machine, struct lh_duration ttl)
{
    if (ttl.ns >= LH_TTL_MIN_MS * LH_NS_PER_MS && ttl.ns <= machine->config.timing.max_ttl.ns)
        return true;
    machine->counters.dropped_ttl++;
    return false;
}

// F2: nothing above the reservation is promised or accepted, so that a restart at the reservation
// covers it.
static bool counter_reserved(struct lh_machine *machine, lh_ballot ballot,
                             struct lh_lease_effects *effects)
{
    lh_machine_observe(machine, lh_ballot_counter(ballot), effects);
    if (lh_ballot_counter(ballot) <= machine->reserved)
        return true;
    machine->counters.dropped_unreserved++;
    return false;
}

static bool may_answer(struct lh_machine *machine, const struct lh_message *message,
                       struct lh_instant now, struct lh_lease_effects *effects)
{
    return serves(machine, now) && ttl_allowed(machine, message->ttl) &&
           counter_reserved(machine, message->ballot, effects);
}

static struct lh_duration longer(struct lh_duration a, struct lh_duration b)
{
    return a.ns < b.ns ? b : a;
}

// The ceiling rises in steps of at most a quarter, so that few different TTLs cost many writes.
static struct lh_duration ceiling_step(const struct lh_machine *machine, struct lh_duration needed)
{
    struct lh_duration most =
        lh_timing_quarantine(machine->config.timing, machine->config.timing.max_ttl);
    int64_t step = 1;
    while (step <= needed.ns / 8)
        step <<= 1;
    struct lh_duration rounded = {(needed.ns + step - 1) / step * step};
    return rounded.ns < most.ns ? rounded : most;
}

// F5: the quarantine that an attempt of `ttl` implies must be durable before its first answer
// leaves. Returns true if the answer has to wait for that.
static bool above_ceiling(struct lh_machine *machine, struct lh_duration ttl,
                          struct lh_lease_effects *effects)
{
    if (!machine->config.quarantine_ceiling)
        return false;
    struct lh_duration needed = lh_timing_quarantine(machine->config.timing, ttl);
    machine->ceiling_recent = longer(machine->ceiling_recent, needed);
    if (machine->ceiling_wanted.ns < needed.ns) {
        machine->ceiling_wanted = ceiling_step(machine, needed);
        lh_machine_notify(effects, LH_NOTICE_CEILING, 0)->quarantine = machine->ceiling_wanted;
    }
    return needed.ns > machine->ceiling.ns;
}

// F5: lower the ceiling once its own Q has passed since the last answer above the lower one.
void lh_machine_ceiling_tick(struct lh_machine *machine, struct lh_instant now,
                             struct lh_lease_effects *effects)
{
    if (!machine->config.quarantine_ceiling || lh_before(now, machine->ceiling_turn) ||
        machine->ceiling.ns != machine->ceiling_wanted.ns)
        return;
    // This period lasted for the ceiling's Q: whatever was answered for more than `lower` is older
    // than that.
    struct lh_duration lower = ceiling_step(machine, machine->ceiling_recent);
    machine->ceiling_recent = (struct lh_duration){0};
    machine->ceiling_turn = lh_after(now, machine->ceiling);
    if (lower.ns >= machine->ceiling.ns)
        return;
    machine->ceiling = lower;
    machine->ceiling_wanted = lower;
    lh_machine_notify(effects, LH_NOTICE_CEILING, 0)->quarantine = lower;
}

// The record for a request, made at the floor if the name is unknown. NULL after having answered or
// counted.
static struct lh_acceptor_record *record_for(struct lh_machine *machine, uint8_t from,
                                             const struct lh_message *message,
                                             struct lh_instant now,
                                             struct lh_lease_effects *effects)
{
    struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, message->key);
    if (record != NULL)
        return record;
    if (message->ballot < machine->acceptors.floor) { // F2
        struct lh_message *rejected =
            lh_machine_send(effects, from, LH_MESSAGE_REJECTED, message->key, message->ballot);
        rejected->refused = message->kind;
        rejected->promised = machine->acceptors.floor;
        return NULL;
    }
    record = lh_acceptors_touch(&machine->acceptors, message->key, now);
    if (record == NULL)
        machine->counters.dropped_full++;
    return record;
}

static enum lh_message_kind answer_kind(enum lh_verdict verdict)
{
    switch (verdict) {
    case LH_PROMISED: return LH_MESSAGE_PROMISE;
    case LH_ACCEPTED: return LH_MESSAGE_ACCEPTED;
    case LH_EXTENDED: return LH_MESSAGE_EXTENDED;
    case LH_REJECTED: break;
    }
    return LH_MESSAGE_REJECTED;
}

static void send_answer(struct lh_machine *machine, uint8_t to, const struct lh_message *request,
                        struct lh_acceptor_answer answer, struct lh_lease_effects *effects)
{
    bool waits = answer.verdict != LH_REJECTED && above_ceiling(machine, request->ttl, effects);
    struct lh_message *made =
        lh_machine_send(effects, to, answer_kind(answer.verdict), request->key, request->ballot);
    effects->sends[effects->send_count - 1].after_ceiling = waits;
    made->stamp = request->stamp;
    if (answer.verdict == LH_REJECTED) {
        made->refused = request->kind;
        made->promised = answer.promised;
    }
    if (answer.verdict == LH_REJECTED || answer.verdict == LH_PROMISED) {
        made->reported = answer.reported;
        made->exclusion = answer.exclusion;
    }
}

// Whoever waits for a lease that we hold is told when we let go.
static void remember_waiter(struct lh_machine *machine, uint8_t from,
                            const struct lh_message *message, lh_ballot reported)
{
    if (message->waited.ns == 0 || reported == LH_BALLOT_NONE ||
        lh_ballot_node(reported) != machine->config.node)
        return;
    struct lh_lease *lease = lh_machine_find(machine, message->key);
    int member = lh_machine_member(machine, from);
    if (lease == NULL || member < 0)
        return;
    lh_set_add(&lease->waiters, (unsigned)member);
}

void lh_machine_on_prepare(struct lh_machine *machine, uint8_t from,
                           const struct lh_message *message, struct lh_instant now,
                           struct lh_lease_effects *effects)
{
    if (!may_answer(machine, message, now, effects))
        return;
    struct lh_acceptor_record *record = record_for(machine, from, message, now, effects);
    if (record == NULL)
        return;
    struct lh_acceptor_answer answer = lh_acceptor_prepare(record, now, message->ballot);
    remember_waiter(machine, from, message, answer.reported);
    send_answer(machine, from, message, answer, effects);
    if (from != machine->config.node)
        lh_machine_let_go_again(machine, message->key, effects);
}

void lh_machine_on_accept(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant now,
                          struct lh_lease_effects *effects)
{
    if (!may_answer(machine, message, now, effects))
        return;
    struct lh_acceptor_record *record = record_for(machine, from, message, now, effects);
    if (record == NULL)
        return;
    struct lh_duration exclusion = lh_timing_exclusion(machine->config.timing, message->ttl);
    LH_ASSERT(lh_timing_covers(machine->config.timing, message->ttl, exclusion)); // T2
    struct lh_acceptor_answer answer =
        lh_acceptor_accept(record, now, message->ballot, message->base, exclusion);
    if (answer.verdict == LH_REJECTED && message->ballot >= answer.promised)
        machine->counters.overwrites_refused++;
    send_answer(machine, from, message, answer, effects);
    if (message->ballot >= answer.promised && lh_acceptor_live(record, now) &&
        from != machine->config.node)
        lh_machine_passed_to(machine, from, message, record->deadline, effects);
}

void lh_machine_on_extend(struct lh_machine *machine, uint8_t from,
                          const struct lh_message *message, struct lh_instant now,
                          struct lh_lease_effects *effects)
{
    if (!may_answer(machine, message, now, effects))
        return;
    struct lh_acceptor_record none = lh_acceptor_fresh(message->key, machine->acceptors.floor, now);
    struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, message->key);
    struct lh_duration exclusion = lh_timing_exclusion(machine->config.timing, message->ttl);
    struct lh_acceptor_answer answer = lh_acceptor_extend(
        record != NULL ? record : &none, now, message->ballot, message->stamp, exclusion);
    send_answer(machine, from, message, answer, effects);
}

void lh_machine_on_release(struct lh_machine *machine, const struct lh_message *message,
                           struct lh_instant now, struct lh_lease_effects *effects)
{
    lh_machine_heard_release(machine, message, now, effects);
    if (!serves(machine, now))
        return;
    struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, message->key);
    if (record != NULL)
        lh_acceptor_release(record, now, message->ballot);
}

bool lh_machine_view(struct lh_machine *machine, struct lh_key key, struct lh_instant now,
                     lh_ballot *ret_ballot, struct lh_duration *ret_exclusion)
{
    if (machine->suspended || lh_before(now, machine->quarantine_until))
        return false;
    const struct lh_acceptor_record *record = lh_acceptors_find(&machine->acceptors, key);
    bool live = record != NULL && lh_acceptor_live(record, now);
    *ret_ballot = live ? record->ballot : LH_BALLOT_NONE;
    *ret_exclusion = live ? lh_left(now, record->deadline) : (struct lh_duration){0};
    return true;
}
