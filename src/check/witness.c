// The table of witnesses, and the two runs of one.
#include "check/witness.h"

#include <string.h>

#include "check/witness_schedules.h"

#define PAPER_A2                                                                                   \
    "under the paper's A2: ours alone refuses the second owner, whatever else is weakened"

static const struct lh_witness witnesses[] = {
    {"insufficient-quarantine", "protocol execution",
     "two owners at once after acceptors restart without serving the quarantine",
     "quarantine for at least the attempt duration in real time",
     "two owners at once: p1 under 1, p2 under 2", lh_witness_insufficient_quarantine, NULL, false},
    {"owner-only-release", "protocol execution",
     "a release that matches the owner alone erases that owner's newer lease",
     "a release names the exact owner and ballot", "Release(1) erases the newer lease 2 at a1",
     lh_witness_owner_only_release, NULL, false},
    {"duplicate-quorum-counting", "protocol execution",
     "one acceptor's answer delivered twice counts as a quorum", "count distinct acceptors",
     "two owners at once: p1 under 1, p2 under 2", lh_witness_duplicate_quorum_counting, NULL,
     false},
    {"ballot-reuse-after-restart", "protocol execution",
     "an attempt after a restart uses a ballot used before it",
     "durable uniqueness component in the ballot", "p1 begins a second attempt under ballot 1",
     lh_witness_ballot_reuse_after_restart, NULL, false},
    {"skipped-paxos-recovery", "composed execution (lease + log)",
     "a leader that skips recovery ignores a value accepted earlier in its slot",
     "no admission before this epoch's recovery and repair", NULL, NULL, NULL, false},
    {"unfenced-external-effect", "resource",
     "an unfenced resource accepts the delayed write of an owner that lost its lease",
     "the resource refuses tokens below the highest seen",
     "the resource took token 1 after token 2", lh_witness_unfenced_external_effect, NULL, false},
    {"nonintersecting-reconfiguration", "rule",
     "old and new quorums do not intersect and each grants the lease",
     "keep intersection or wait out the old leases", "two owners at once: p1 under 1, p2 under 2",
     lh_witness_nonintersecting_reconfiguration, NULL, false},
    {"unsafe-clock-source", "rule", "a wall clock stepped back makes an expired lease look live",
     "monotonic elapsed time that counts suspend",
     "an expired lease looks live to p1, 500 ms after its end", lh_witness_unsafe_clock_source,
     NULL, false},
    {"renewal-without-quorum", "protocol execution",
     "a renewal answered by fewer than a quorum extends authority",
     "only a fresh accept quorum extends", "p1 has authority until 3000 ms from 1 acceptor, not 2",
     lh_witness_renewal_without_quorum, NULL, false},
    {"stale-accept-overwrites-newer", "protocol execution",
     "an accept below the promise replaces the newer record", "refuse ballots below the promise",
     "the live record of 2 at a1 is replaced by the older 1",
     lh_witness_stale_accept_overwrites_newer,
     "ours refuses it for the live record as well: without the rule both guards are gone", false},
    {"late-promise-reuse", "protocol execution",
     "two owners when the attempt timer starts at the prepare quorum; acceptors crashed and served "
     "the full quarantine",
     "store the deadline when Prepare is sent", "two owners at once: p1 under 1, p2 under 2",
     lh_witness_late_promise_reuse, PAPER_A2, true},
    {"stale-owner-open", "protocol execution",
     "two owners when a retrying proposer takes its abandoned attempt's record for permission",
     "own lease is open only as the exact renewal base",
     "two owners at once: p1 under 3, p2 under 1", lh_witness_stale_owner_open, PAPER_A2, true},
    {"split-brain-read-without-fence", "composed execution (lease + log)",
     "a local read by a former leader is concurrent with a newer leader's write",
     "reads need live authority and this epoch's recovery; or the log or a fence", NULL, NULL, NULL,
     false},
    {"suspended-event-loop", "protocol execution",
     "two nodes application-visible as owners after a loop suspended between its timer scan and "
     "its "
     "poll handles queued answers",
     "deadline is data checked in every handler", "two owners at once: p1 under 1, p3 under 2",
     lh_witness_suspended_event_loop, PAPER_A2, true},
    {"unsigned-expiry-underflow", "rule",
     "two clock reads around the deadline and an unsigned subtraction activate an expired lease",
     "one read; compare before subtracting", "p1 activates a lease that ended 1 ms ago",
     lh_witness_unsigned_expiry_underflow, NULL, false},
};

size_t lh_witness_count(void)
{
    return sizeof witnesses / sizeof witnesses[0];
}

const struct lh_witness *lh_witness_at(size_t index)
{
    return &witnesses[index];
}

const struct lh_witness *lh_witness_find(const char *name)
{
    for (size_t i = 0; i < lh_witness_count(); i++) {
        if (strcmp(witnesses[i].name, name) == 0)
            return &witnesses[i];
    }
    return NULL;
}

void lh_witness_run(const struct lh_witness *witness, bool weak, struct lh_witness_world *ret_world)
{
    memset(ret_world, 0, sizeof *ret_world);
    ret_world->timing = (struct lh_timing){lh_ms(60000), 10000};
    ret_world->ttl = lh_ms(2000);
    ret_world->quorum = 2;
    ret_world->weak = weak;
    ret_world->paper_a2 = witness->paper_a2;
    witness->run(ret_world);
}

enum lh_witness_verdict lh_witness_judge(const struct lh_witness *witness,
                                         const struct lh_witness_world *weakened,
                                         const struct lh_witness_world *restored)
{
    if (witness->failure == NULL)
        return LH_WITNESS_WAITS;
    if (restored->failure[0] != '\0')
        return LH_WITNESS_VIOLATED;
    return strcmp(weakened->failure, witness->failure) == 0 ? LH_WITNESS_AS_EXPECTED
                                                            : LH_WITNESS_DIFFERS;
}
