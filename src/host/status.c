// What a node says of itself: see status.h.
#include "host/status.h"

static bool refuses_us(const struct lh_host *host, const struct lh_peer *peer)
{
    return peer->node != host->config.node && peer->refuses_us != LH_REFUSAL_NONE &&
           lh_before(LH_PAST, peer->refuses_us_at);
}

// Too many refuse this node for the others to make a quorum with it.
static const struct lh_peer *decisive_refuser(const struct lh_host *host)
{
    const struct lh_peer *refuser = NULL;
    unsigned refusing = 0;
    for (unsigned i = 0; i < host->config.member_count; i++) {
        if (!refuses_us(host, &host->peers.peers[i]))
            continue;
        refuser = &host->peers.peers[i];
        refusing++;
    }
    return refusing > host->config.member_count - host->machine.quorum ? refuser : NULL;
}

const char *lh_status_state(const struct lh_host *host)
{
    if (host->halted != NULL)
        return "halted";
    if (decisive_refuser(host) != NULL)
        return "refused";
    if (host->clocks.bad)
        return "bad-clock";
    switch (host->identity.state) {
    case LH_IDENTITY_SERVING: return "serving";
    case LH_IDENTITY_QUARANTINE: return "quarantine";
    case LH_IDENTITY_LOADING:
    case LH_IDENTITY_ASKING:
    case LH_IDENTITY_WRITING:
    case LH_IDENTITY_ANNOUNCING:
    case LH_IDENTITY_ADMITTING: break;
    }
    return "joining";
}

// By the number of witnesses; a member alone waits for nobody, and two members are refused.
#define ASKING(count)                                                                              \
    "waiting for " count " other members to say whether this node is new; they answer to the "     \
    "address that their configuration has for it"

const char *lh_status_reason(const struct lh_host *host)
{
    static const char *const asking[] = {"",          "",          ASKING("2"),
                                         ASKING("3"), ASKING("4"), ASKING("5")};
    _Static_assert(LH_MEMBERS_MAX == 7, "who asks waits for 5 others at the most");
    const struct lh_peer *refuser = decisive_refuser(host);
    if (host->halted != NULL)
        return host->halted;
    if (refuser != NULL)
        return lh_refusal_of_us_text(refuser->refuses_us);
    if (host->clocks.bad)
        return host->clocks.reason;
    switch (host->identity.state) {
    case LH_IDENTITY_LOADING: return "the data directory is being read";
    case LH_IDENTITY_ASKING: return asking[lh_identity_witnesses(host->config.member_count)];
    case LH_IDENTITY_WRITING: return "its generation is being written";
    case LH_IDENTITY_ANNOUNCING: return "waiting for other members to record this node";
    case LH_IDENTITY_ADMITTING: return "its admission is being written";
    case LH_IDENTITY_QUARANTINE:
        return "as acceptor it is silent until leases it may have forgotten have ended";
    case LH_IDENTITY_SERVING: break;
    }
    return "";
}

struct lh_duration lh_status_uptime(const struct lh_host *host, struct lh_instant now)
{
    return lh_left(host->started_at, now);
}

unsigned lh_status_members_up(const struct lh_host *host)
{
    unsigned up = 0;
    for (unsigned i = 0; i < host->config.member_count; i++) {
        const struct lh_peer *peer = &host->peers.peers[i];
        up += peer->node == host->config.node || peer->up;
    }
    return up;
}

size_t lh_status_counters(const struct lh_host *host,
                          struct lh_status_counter ret_counters[LH_STATUS_COUNTERS_MAX])
{
    const struct lh_machine_counters *machine = &host->machine.counters;
    uint64_t refused = 0, stale = 0;
    for (unsigned i = 0; i < host->config.member_count; i++) {
        refused += host->peers.peers[i].refused_count;
        stale += host->peers.peers[i].stale_count;
    }
    const struct lh_status_counter counters[] = {
        {"acquired", machine->acquired},
        {"renewed", machine->renewed},
        {"lost", machine->lost},
        {"released", machine->released},
        {"attempts", machine->attempts},
        {"retransmits", machine->retransmits},
        {"blocked", machine->blocked},
        {"stalled", machine->stalled},
        {"duels", machine->duels},
        {"dropped-quarantine", machine->dropped_quarantine},
        {"dropped-clock", machine->dropped_clock},
        {"dropped-ttl", machine->dropped_ttl},
        {"dropped-unreserved", machine->dropped_unreserved},
        {"dropped-full", machine->dropped_full},
        {"dropped-refused", refused},
        {"dropped-stale", stale},
        {"dropped-malformed", host->bad_messages},
        {"overwrites-refused", machine->overwrites_refused},
        {"forgotten", machine->forgotten},
        {"late-wakes", machine->late_wakes},
        {"connections", host->sessions.opened},
        {"connections-malformed", host->sessions.malformed},
        {"commands", host->sessions.commands},
        {"changes-left-out", host->sessions.left_out},
    };
    size_t count = sizeof counters / sizeof counters[0];
    _Static_assert(sizeof counters / sizeof counters[0] + LH_HOST_SHOWN_MAX <=
                       LH_STATUS_COUNTERS_MAX,
                   "room for all");
    memcpy(ret_counters, counters, sizeof counters);
    for (unsigned i = 0; i < host->shown_count; i++)
        ret_counters[count++] =
            (struct lh_status_counter){host->shown[i].name, *host->shown[i].value};
    return count;
}
