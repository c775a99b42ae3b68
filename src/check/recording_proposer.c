// The proposer's rules, as they bear on what is recorded, and what its clients are told. Within a
// step a node records what it sends before what it tells.
#include "check/recording_roles.h"

static bool is_quorum(const struct lh_recording_judge *judge, uint64_t set)
{
    return (uint32_t)__builtin_popcountll(set) >= judge->quorum;
}

// P5: so many have refused that it was given up; whoever accepts it then comes too late.
static bool is_out_of_reach(const struct lh_recording_judge *judge,
                            const struct lh_recorded_name *name)
{
    return !is_quorum(judge, judge->recording->nodes & ~UINT64_C(1) & ~name->refused);
}

static void must_tell(struct lh_recording_judge *judge, const struct lh_recorded_name *name)
{
    judge->untold += !name->won && name->let_go == 0;
}

static void told(struct lh_recording_judge *judge, struct lh_recorded_name *name)
{
    judge->untold -= name->won || name->let_go != 0;
    name->won = false;
    name->let_go = 0;
}

// P4, D: a renewal in time keeps its token and the later deadline; otherwise it is a new lease.
static void win(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                const struct lh_recorded *event)
{
    const bool renews = name->base != 0 && name->base == name->held && event->at < name->until;
    must_tell(judge, name);
    name->won = true;
    name->renewed = renews;
    name->held = name->attempt;
    name->token = renews ? name->token : name->attempt;
    name->until = renews && name->until > name->td ? name->until : name->td;
}

void lh_recording_hear(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event)
{
    const uint64_t from = lh_recording_bit(event->message.from);
    const uint64_t reported = event->message.reported;
    const bool mine = event->message.ballot == name->attempt;
    if (event->message.kind == LH_RECORDED_PROMISE && mine &&
        name->phase == LH_RECORDED_PREPARING) {
        if (reported == 0 ||
            (reported == name->base && name->held == name->base && event->at < name->until))
            name->open |= from;
    } else if (event->message.kind == LH_RECORDED_ACCEPTED && mine &&
               name->phase == LH_RECORDED_ACCEPTING) {
        name->accepted |= from;
        if (!is_quorum(judge, name->accepted) || is_out_of_reach(judge, name))
            return;
        name->phase = LH_RECORDED_IDLE;
        if (event->at < name->td)
            win(judge, name, event);
    } else if (event->message.kind == LH_RECORDED_REJECTED && mine &&
               event->message.refused == LH_RECORDED_ACCEPT &&
               name->phase == LH_RECORDED_ACCEPTING) {
        name->refused |= from;
    } else if (event->message.kind == LH_RECORDED_EXTENDED && name->extending &&
               event->message.ballot == name->held && event->message.stamp == name->extend) {
        name->extended |= from;
        if (!is_quorum(judge, name->extended))
            return;
        name->extending = false;
        if (event->at >= name->extend_td || (judge->complete && event->at >= name->until))
            return;
        name->extended_in = judge->step;
    }
}

static bool send_prepare(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *event)
{
    const uint64_t ballot = event->message.ballot;
    if (ballot == name->attempt) { // to another acceptor, or once more
        if (event->message.ttl_ns != name->ttl_ns)
            return lh_recording_fail(judge, "P1: an attempt has one duration");
        return name->phase == LH_RECORDED_PREPARING ||
               lh_recording_fail(judge, "P5: a Prepare of an attempt that is over, or further");
    }
    if (ballot <= judge->used[event->name])
        return lh_recording_fail(judge, "T4: a ballot that is not above the last one of this node");
    judge->used[event->name] = ballot;
    if (event->at < name->until && name->revoked_until != 0)
        return lh_recording_fail(judge, "revoked: a renewal was begun");
    name->attempt = ballot;
    name->ttl_ns = event->message.ttl_ns;
    name->td = lh_recording_after(event->at, name->ttl_ns);
    name->base = event->at < name->until ? name->held : 0;
    name->open = name->accepted = name->refused = 0;
    name->phase = LH_RECORDED_PREPARING;
    name->extending = false;
    return true;
}

// The first of an attempt must be allowed; the same again says nothing new.
static bool send_accept(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                        const struct lh_recorded *event)
{
    if (event->message.ballot != name->attempt || event->message.ballot == name->taken_back)
        return lh_recording_fail(judge, "P3: an Accept of no attempt in flight");
    if (event->message.ttl_ns != name->ttl_ns)
        return lh_recording_fail(judge, "P1: an attempt has one duration");
    if (event->message.base != name->base && judge->complete)
        return lh_recording_fail(judge,
                                 "P1: an Accept names another base than its attempt began with");
    if (name->phase != LH_RECORDED_PREPARING)
        return true;
    if (event->at >= name->td)
        return lh_recording_fail(judge, "P3: an Accept at or after td");
    if (!is_quorum(judge, name->open))
        return lh_recording_fail(judge, "P3: an Accept without a quorum of open promises");
    name->phase = LH_RECORDED_ACCEPTING;
    return true;
}

static bool send_extend(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                        const struct lh_recorded *event)
{
    const uint64_t stamp = event->message.stamp;
    if (judge->complete && (event->message.ballot != name->held || event->at >= name->until))
        return lh_recording_fail(judge, "F3: an Extend of a lease that is not held");
    if (stamp < name->extend)
        return lh_recording_fail(judge, "F3: n falls");
    if (stamp == name->extend)
        return true;
    if (stamp < (uint64_t)event->at)
        return lh_recording_fail(judge, "F3: n is below the clock at the send");
    if (name->revoked_until != 0)
        return lh_recording_fail(judge, "revoked: a renewal was begun");
    name->extend = stamp;
    name->extend_td = lh_recording_after(event->at, event->message.ttl_ns);
    name->extended = 0;
    name->extending = true;
    name->phase = LH_RECORDED_IDLE;
    if (!judge->complete)
        name->held = event->message.ballot;
    return true;
}

// P6: the lease held, by its holder's own will; or (AbandonRelease) a fresh attempt that is given
// up with its Accepts out. Nothing else is ever released. The sends of one step go to all members.
static bool send_release(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *event)
{
    const uint64_t ballot = event->message.ballot;
    if (ballot == name->given_up)
        return true; // again, for who may have missed it: a redelivery
    if (ballot == name->held && event->at < name->until) {
        must_tell(judge, name);
        name->let_go = name->given_up = ballot;
        name->let_go_token = name->token;
        name->let_go_until = name->until;
        name->held = name->token = 0;
        name->until = 0;
        name->attempt = 0;
        name->phase = LH_RECORDED_IDLE;
        name->extending = false;
        return true;
    }
    if (ballot == name->attempt && name->phase == LH_RECORDED_ACCEPTING && name->base == 0) {
        name->taken_back = name->given_up = ballot;
        name->phase = LH_RECORDED_IDLE;
        return true;
    }
    return !judge->complete ||
           lh_recording_fail(judge, "P6: a Release of neither the lease held nor a fresh attempt "
                                    "with its Accepts out");
}

bool lh_recording_send(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event)
{
    const uint64_t kind = event->message.kind;
    const uint64_t ballot = event->message.ballot;
    if (lh_recording_is_request(kind) || kind == LH_RECORDED_RELEASE) {
        if (lh_recording_owner(ballot) != judge->node)
            return lh_recording_fail(judge, "T4: a request under the ballot of another node");
        const bool own = kind == LH_RECORDED_EXTEND || kind == LH_RECORDED_RELEASE;
        if (!judge->admitted && !(own && judge->restored)) // what it restored it goes on holding
            return lh_recording_fail(judge, "T4: a request before the node is admitted");
        if (judge->clock_bad && kind != LH_RECORDED_RELEASE)
            return lh_recording_fail(judge, "Clock: a request by a clock proved wrong");
        if (judge->admitted && (ballot >> 8 & 0xff) != judge->generation)
            return lh_recording_fail(judge, "T4: a ballot of another generation of this node");
    }
    switch (kind) {
    case LH_RECORDED_PREPARE: return send_prepare(judge, name, event);
    case LH_RECORDED_ACCEPT: return send_accept(judge, name, event);
    case LH_RECORDED_EXTEND: return send_extend(judge, name, event);
    case LH_RECORDED_RELEASE: return send_release(judge, name, event);
    default: return true; // answers were judged with their requests
    }
}

// A renewal by F3 need not be told: it may have been given up before (P5).
static void tell_extended(struct lh_recording_judge *judge, struct lh_recorded_name *name)
{
    int64_t *until = name->let_go != 0 ? &name->let_go_until : &name->until;
    must_tell(judge, name);
    name->won = name->renewed = true;
    *until = *until > name->extend_td ? *until : name->extend_td;
}

// What the lease must be told as. In a step sends come first, so it may be let go already.
static bool as_won(struct lh_recording_judge *judge, const struct lh_recorded_name *name,
                   const struct lh_recorded *event)
{
    const bool let_go = name->let_go != 0;
    if (!name->won || name->renewed == (event->what == LH_RECORDED_GRANTED))
        return lh_recording_fail(judge,
                                 "P4: granted without a quorum of accepted answers just now");
    if ((int64_t)event->until != (let_go ? name->let_go_until : name->until))
        return lh_recording_fail(judge, "P4: granted for longer or shorter than td says");
    return event->token == (let_go ? name->let_go_token : name->token) ||
           lh_recording_fail(judge, "P4: granted under another token than it was won by");
}

static bool tell_granted(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *event)
{
    const bool granted = event->what == LH_RECORDED_GRANTED;
    if (event->at >= (int64_t)event->until)
        return lh_recording_fail(judge, "P4: granted at or after its end");
    if (!granted && !name->won && name->extended_in == judge->step)
        tell_extended(judge, name);
    if ((judge->complete || granted) && !as_won(judge, name, event))
        return false;
    if (granted && name->told != 0 && !name->lapsed)
        return lh_recording_fail(judge, "granted before the last lease was told to be lost");
    if (!granted && judge->complete &&
        (event->token != name->told || event->holder != name->told_holder))
        return lh_recording_fail(judge, "renewed for somebody to whom it was not granted");
    if (granted)
        name->revoked_until = 0;
    else if (name->revoked_until != 0 && (int64_t)event->until > name->revoked_until)
        return lh_recording_fail(judge, "revoked: renewed beyond the end that was reported");
    if (name->let_go != 0) {
        name->won = false; // its end is still to be told
    } else {
        told(judge, name);
        name->token = event->token;
    }
    name->lapsed = false;
    name->told = event->token;
    name->told_holder = event->holder;
    name->told_until = (int64_t)event->until;
    return true;
}

static bool tell_end(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                     const struct lh_recorded *event)
{
    const bool lost = event->what == LH_RECORDED_LOST;
    // Nobody wanted the lease any more that was just won: it was not told, and is let go.
    const bool untold = name->told == 0 || name->lapsed;
    const bool unwanted = !lost && untold && name->let_go != 0;
    if (judge->complete && !unwanted &&
        (event->token != name->told || event->holder != name->told_holder))
        return lh_recording_fail(judge, "an end is told to somebody to whom it was not granted");
    if (unwanted && event->token != name->let_go_token)
        return lh_recording_fail(judge, "P6: released under another token than it was won by");
    if (lost && event->at < name->told_until && !judge->clock_bad)
        return lh_recording_fail(judge, "P5: lost before its end");
    if (!lost && judge->complete && event->at < name->told_until && name->let_go == 0)
        return lh_recording_fail(judge, "P6: released, and no Release was sent");
    if (!lost && name->let_go != 0 && (int64_t)event->until != name->let_go_until)
        return lh_recording_fail(judge, "P6: released with another end than it had");
    name->told = 0;
    name->revoked_until = 0;
    if (!lost)
        told(judge, name);
    if (lost && !name->won && name->base != 0) // what was to renew it is given up
        name->phase = LH_RECORDED_IDLE;
    if (judge->clock_bad) {
        name->held = name->token = name->attempt = 0;
        name->until = 0;
    }
    return true;
}

// Its end is known, but for a renewal whose Accepts are out: that may complete.
static bool tell_revoked(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                         const struct lh_recorded *event)
{
    const int64_t until = (int64_t)event->until;
    const bool renewing = name->phase == LH_RECORDED_ACCEPTING && name->base != 0;
    if (judge->complete && (event->token != name->told || event->holder != name->told_holder ||
                            (until != name->told_until &&
                             !(renewing && until > name->told_until && until == name->td))))
        return lh_recording_fail(judge, "revoked, and not as it was granted");
    name->revoked_until = until;
    return true;
}

bool lh_recording_tell(struct lh_recording_judge *judge, struct lh_recorded_name *name,
                       const struct lh_recorded *event)
{
    uint64_t *text = &judge->texts[event->name];
    if (*text != 0 && *text != event->text)
        return lh_recording_fail(judge, "a key with two names");
    *text = event->text;
    switch (event->what) {
    case LH_RECORDED_GRANTED:
    case LH_RECORDED_RENEWED: return tell_granted(judge, name, event);
    case LH_RECORDED_REVOKED: return tell_revoked(judge, name, event);
    default: return tell_end(judge, name, event);
    }
}
