/*
 * PaxosLease in one file: who of three processes may act, for a bounded time, decided in memory.
 *
 * Each node is a proposer (wants the lease), an acceptor (votes) and a learner (knows the owner). A
 * proposer takes a fresh ballot, notes "I stop at td = now + D_P" and asks all acceptors to promise
 * that ballot and to name any lease that is alive (Prepare). If a majority names none, it asks them
 * to record its own (Accept); if a majority recorded it before td, it is the owner until td. An
 * acceptor refuses all others for D_A, on its own clock, from the moment it recorded. The owner's
 * count began earlier and D_A is the longer time, so the owner stops before they let go, and nobody
 * ever compares two clocks. To renew is to do both rounds again. An acceptor that crashed forgot
 * its votes: it is silent (quarantine) until every attempt that it may have voted for is over.
 *
 * Functions are named after the rules they are, P1..P6 of the proposer, A1..A4 of the acceptor, L1
 * of the learner; the timing rules T1..T4 are cited where they bite. If ever two owners overlap, a
 * referee aborts the program.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NODES = 3, QUORUM = NODES / 2 + 1, EXIT_USAGE = 64 };

/* ---- Timing ---------------------------------------------------------------------------------- */

static const int64_t MS = 1000000, NEVER = INT64_MAX, RATE_ERROR_PERCENT = 1;

static int64_t ttl_ns = 2000 * MS; /* D_P: how long one attempt, and the lease it wins, may last */
static int64_t started_ns;         /* for the log */

#define FAIL(...) (fflush(stdout), fprintf(stderr, __VA_ARGS__), abort())

/* BOOTTIME also counts while the machine is suspended: a sleeping owner's lease must run out. */
static int64_t clock_read(void)
{
    static int64_t last_ns;
    struct timespec t;
    if (clock_gettime(CLOCK_BOOTTIME, &t) != 0)
        FAIL("clock_gettime: %s\n", strerror(errno));
    int64_t now = (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
    if (now < last_ns)
        FAIL("the clock went back by %" PRId64 " ns\n", last_ns - now);
    return last_ns = now;
}

/* T2, T3: clocks may run 1 % fast or slow. A wait of outlast(d) on the fastest clock is no shorter
 * than d on the slowest: d * (1 + rho) <= outlast(d) * (1 - rho), rounded up. */
static int64_t outlast(int64_t d)
{
    int64_t slow = 100 - RATE_ERROR_PERCENT;
    return (d * (100 + RATE_ERROR_PERCENT) + slow - 1) / slow;
}

/* The same inequality seen from the other side: the longest wait that is surely over within d. */
static int64_t within(int64_t d)
{
    return d * (100 - RATE_ERROR_PERCENT) / (100 + RATE_ERROR_PERCENT);
}

static uint64_t random_state; /* splitmix64 */

static int64_t random_below(int64_t limit)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ (z >> 31)) % (uint64_t)limit);
}

/* ---- What a node is -------------------------------------------------------------------------- */

/* T4: a ballot is (counter, restarts, node), compared in that order. No two attempts ever share
 * one, not even in two lives of one node. Zero is no ballot. */
static uint64_t ballot_make(uint64_t counter, unsigned restarts, int id)
{
    return counter << 16 | (uint64_t)restarts << 8 | (uint64_t)id;
}

static uint64_t ballot_counter(uint64_t ballot)
{
    return ballot >> 16;
}

#define BALLOT "%" PRIu64 ".%u.%u"
#define BALLOT_ARGS(b) ballot_counter(b), (unsigned)((b) >> 8 & 255), (unsigned)((b)&255)

struct proposer {
    enum { IDLE, PREPARING, ACCEPTING } phase;
    uint64_t ballot; /* of the attempt */
    uint64_t base;   /* the exact lease this attempt renews, or none */
    int64_t td_ns;   /* T1: the attempt's deadline. Data that handlers compare, no callback */
    unsigned open, accepted;    /* sets of acceptors, one bit each: a set counts nobody twice */
    unsigned refused;           /* the acceptors that will not help this attempt ... */
    int64_t wait_ns;            /* ... and the longest exclusion that they reported */
    int64_t echo_ns[NODES + 1]; /* each peer's own clock, as its last answer carried it */
    uint64_t held;              /* the ballot of the lease we hold, or none */
    uint64_t token;             /* the ballot that first won it: rises from owner to owner */
    int64_t deadline_ns;        /* our authority ends here */
    int renewals;
    uint64_t counter;
    bool wants; /* takes part in elections */
};

struct acceptor {
    uint64_t promised;
    uint64_t spent; /* the last ballot recorded or released: never recorded a second time */
    int owner;      /* the record: owner and ballot together name one lease ... */
    uint64_t ballot;
    int64_t until_ns; /* ... and until then it excludes others */
    int64_t quarantine_until_ns;
    int dropped, answered; /* since the start, for the story */
};

struct learner {
    int owner;
    uint64_t ballot, token;
    int64_t until_ns; /* on the owner: authority. Anywhere else: a view, for information */
};

static struct node {
    int id;
    bool alive;
    int64_t wake_ns, booted_ns; /* when it acts unasked; when it started */
    struct {                    /* the only memory that survives a crash */
        unsigned restarts;      /* T4: written once a start */
        uint64_t reserved;      /* no counter above it was ever promised; written once in a block */
    } disk;
    struct proposer proposer;
    struct acceptor acceptor;
    struct learner learner;
} nodes[NODES + 1]; /* 1..NODES: owner 0 is nobody */

#define MILLIS(duration_ns) ((double)(duration_ns) / (double)MS)
#define SAY(now, id, rule, ...)                                                                    \
    (printf("%8.3f  node %d  %-5s ", MILLIS((now)-started_ns) / 1000, id, rule),                   \
     printf(__VA_ARGS__), putchar('\n'))

/* Counts how often a rule was needed; the end of the program shows it. */
static struct {
    const char *rule;
    int count;
} tally[16];

static void needed(const char *rule)
{
    int i = 0;
    while (tally[i].rule != NULL && strcmp(tally[i].rule, rule) != 0)
        i++;
    tally[i].rule = rule;
    tally[i].count++;
}

/* ---- Messages: an unkind network ------------------------------------------------------------- */

struct message {
    enum { PREPARE, PROMISE, ACCEPT, ACCEPTED, REJECTED, RELEASE, LEARN } kind;
    int from, to;
    int64_t due_ns;
    uint64_t ballot; /* the attempt or lease it is about */
    int64_t ttl_ns;  /* Prepare, Accept: D_P of the attempt; D_A follows from it */
    uint64_t base;   /* Accept: the live lease that it may replace */
    int owner;       /* Promise: the live lease, if there is one ... */
    uint64_t record; /* ... its ballot ... */
    int64_t left_ns; /* ... and what remains of its exclusion. Learn: of the owner's authority */
    uint64_t promised, token; /* Rejected; Learn */
    int64_t stamp_ns;         /* an answer: its sender's clock. Learn: that stamp, come back */
};

static struct message wire[1024];
static int in_flight;

/* One copy comes soon. One message in four has a twin, and half of the twins come when the attempt,
 * the lease or even the process that they speak for may be gone: no crash empties the wire. */
static void network_send(struct message m, int64_t now)
{
    int64_t luck = random_below(8), soon_ns = ttl_ns / 60, late_ns = ttl_ns * 3 / 2;
    for (int copies = luck < 2 ? 2 : 1; copies > 0 && in_flight < 1024; copies--) {
        m.due_ns = now + 1 + random_below(copies == 2 && luck == 0 ? late_ns : soon_ns);
        wire[in_flight++] = m;
    }
}

static void broadcast(const struct node *n, struct message m, int64_t now)
{
    m.from = n->id;
    for (m.to = 1; m.to <= NODES; m.to++)
        network_send(m, now);
}

/* ---- Referee --------------------------------------------------------------------------------- */

/* It sees what no node can: everybody's claim at once. A claim stands until its own deadline even
 * if its node has crashed, for the work begun under it may have outlived the process. */
static struct {
    uint64_t token[NODES + 1], highest;
    int64_t until_ns[NODES + 1];
    int acquisitions, renewals;
} referee;

static void referee_claim(int id, uint64_t token, int64_t now, int64_t until_ns)
{
    for (int other = 1; other <= NODES; other++)
        if (referee.token[other] != token && now < referee.until_ns[other])
            FAIL("REFEREE: two owners: node %d claims the lease under token " BALLOT
                 ", but node %d has it under " BALLOT " for another %.3f ms\n",
                 id, BALLOT_ARGS(token), other, BALLOT_ARGS(referee.token[other]),
                 MILLIS(referee.until_ns[other] - now));
    if (token == referee.token[id]) {
        referee.renewals++;
        if (until_ns < referee.until_ns[id])
            FAIL("REFEREE: a renewal moved the deadline of node %d back\n", id);
    } else {
        referee.acquisitions++;
        if (token <= referee.highest)
            FAIL("REFEREE: token " BALLOT " of node %d did not rise\n", BALLOT_ARGS(token), id);
        referee.highest = token;
    }
    referee.token[id] = token;
    referee.until_ns[id] = until_ns;
}

/* After every event: who acts now, by the owners' own learners? */
static struct node *referee_look(int64_t now)
{
    struct node *owner = NULL;
    for (struct node *n = &nodes[1]; n <= &nodes[NODES]; n++) {
        if (!n->alive || n->learner.owner != n->id || now >= n->learner.until_ns)
            continue;
        if (owner != NULL)
            FAIL("REFEREE: two owners: node %d and node %d both act\n", owner->id, n->id);
        owner = n;
    }
    return owner;
}

/* ---- Learner --------------------------------------------------------------------------------- */

/* L1 on the owner itself: the absolute deadline that its proposer stored at P1. */
static void l1_own(struct node *n, int64_t now)
{
    const struct proposer *p = &n->proposer;
    referee_claim(n->id, p->token, now, p->deadline_ns);
    n->learner = (struct learner){n->id, p->held, p->token, p->deadline_ns};
}

/* L1 elsewhere. To count from the arrival would trust the network to be quick. We count from our
 * own stamp, which the owner had before it computed what remained, and shrink for the rates. */
static void l1_learn(struct node *n, const struct message *m, int64_t now)
{
    int64_t until_ns = m->stamp_ns + within(m->left_ns);
    if (m->from == n->id || m->ballot <= n->learner.ballot || now >= until_ns)
        return; /* and the word of an earlier life of ours is no authority in this one */
    if (n->learner.token != m->token)
        SAY(now, n->id, "L1", "sees node %d as owner for %.1f ms", m->from, MILLIS(until_ns - now));
    n->learner = (struct learner){m->from, m->ballot, m->token, until_ns};
}

static void l1_forget(struct node *n, uint64_t ballot)
{
    if (ballot >= n->learner.ballot)
        n->learner = (struct learner){.ballot = ballot};
}

/* ---- Acceptor -------------------------------------------------------------------------------- */

static void t4_observe(struct node *n, uint64_t ballot)
{
    if (n->proposer.counter < ballot_counter(ballot))
        n->proposer.counter = ballot_counter(ballot);
}

/* Promises only rise, and the disk knows a bound of them: one write for a block of counters (here
 * 100, in a service a million), so hardly any promise waits for it. Exclusion needs none of this;
 * it goes beyond the paper, so that tokens rise even when acceptors crash. */
static void promise(struct node *n, uint64_t ballot)
{
    if (ballot_counter(ballot) > n->disk.reserved)
        n->disk.reserved = ballot_counter(ballot) + 100;
    n->acceptor.promised = ballot;
    t4_observe(n, ballot);
}

static void answer(struct node *n, const struct message *request, struct message m, int64_t now)
{
    if (n->disk.restarts > 0 && now - n->booted_ns < ttl_ns)
        FAIL("REFEREE: node %d votes although it lately forgot its votes (A4)\n", n->id);
    if (n->acceptor.answered++ == 0 && n->disk.restarts > 0)
        SAY(now, n->id, "A4", "quarantine is over: first answer, after %d requests were dropped",
            n->acceptor.dropped);
    m.from = n->id;
    m.to = request->from;
    m.ballot = request->ballot;
    m.stamp_ns = now;
    network_send(m, now);
}

/* A rejection tells what was promised, so that the next attempt can start above it (T4). */
static void reject(struct node *n, const struct message *m, int64_t now, const char *rule)
{
    needed(rule);
    answer(n, m, (struct message){.kind = REJECTED, .promised = n->acceptor.promised}, now);
}

static bool record_alive(const struct acceptor *a, int64_t now)
{
    return a->owner != 0 && now < a->until_ns;
}

static void a1_prepare(struct node *n, const struct message *m, int64_t now)
{
    const struct acceptor *a = &n->acceptor;
    struct message reply = {.kind = PROMISE};
    if (m->ballot < a->promised) {
        reject(n, m, now, "A1: a Prepare below the promise refused");
        return;
    }
    promise(n, m->ballot);
    if (record_alive(a, now)) { /* an expired lease is reported as none */
        reply.owner = a->owner;
        reply.record = a->ballot;
        reply.left_ns = a->until_ns - now;
    }
    answer(n, m, reply, now);
}

static void a2_accept(struct node *n, const struct message *m, int64_t now)
{
    struct acceptor *a = &n->acceptor;
    bool alive = record_alive(a, now), twin = alive && a->ballot == m->ballot;
    bool named = a->owner == m->from && a->ballot == m->base;
    if (m->ballot < a->promised) {
        reject(n, m, now, "A2: an Accept below the promise refused");
    } else if (twin) {
        needed("A2: a redelivered Accept did not restart the exclusion");
        answer(n, m, (struct message){.kind = ACCEPTED}, now);
    } else if (m->ballot == a->spent) {
        reject(n, m, now, "A2: an Accept of a lease that has ended did not revive it");
    } else if (alive && !named) {
        /* Stricter than the paper: what is alive is replaced only by an Accept that names it. Else
         * one left over from an abandoned attempt could wipe out the record of today's owner. */
        reject(n, m, now, "A2: an Accept that does not name the live record refused");
    } else {
        int64_t until_ns = now + outlast(m->ttl_ns); /* T2: D_P (1 + rho) <= D_A (1 - rho) */
        if (!alive || a->until_ns < until_ns)        /* D: no live deadline moves back */
            a->until_ns = until_ns;
        promise(n, m->ballot);
        a->owner = m->from;
        a->ballot = a->spent = m->ballot;
        answer(n, m, (struct message){.kind = ACCEPTED}, now);
    }
}

/* A3: only the exact lease. A Release that was delayed past its sender's next lease must not clear
 * that one; a Release that overtook its own Accept spends the ballot. */
static void a3_release(struct node *n, const struct message *m, int64_t now)
{
    struct acceptor *a = &n->acceptor;
    if (m->ballot >= a->promised) {
        promise(n, m->ballot);
        a->spent = m->ballot;
    }
    if (a->owner != m->from || a->ballot != m->ballot)
        return;
    a->owner = 0;
    l1_forget(n, m->ballot);
    if (n->proposer.wants && n->proposer.phase == IDLE) /* soon, but let the others hear it too */
        n->wake_ns = now + ttl_ns / 60 + random_below(ttl_ns / 8);
}

/* A4, T3: what a crash made us forget belongs to attempts prepared before it, all over after D_P.
 * Until then requests are dropped, not kept. Nor is a D_P served that Q would not cover. */
static bool a4_silent(struct node *n, const struct message *m, int64_t now)
{
    if (now >= n->acceptor.quarantine_until_ns && m->ttl_ns <= ttl_ns)
        return false;
    n->acceptor.dropped++;
    needed("A4: a request in quarantine dropped");
    return true;
}

/* ---- Proposer -------------------------------------------------------------------------------- */

/* P1, T1: td is stored before Prepare leaves. Counted only from the quorum of promises, an attempt
 * could outlive the quarantine of acceptors that forgot those promises: two owners. */
static void p1_start_acquire(struct node *n, int64_t now)
{
    struct proposer *p = &n->proposer;
    if (p->held != 0 && now >= p->deadline_ns) {
        SAY(now, n->id, "P1", "its lease ended before it could be renewed");
        p->held = 0;
    }
    p->phase = PREPARING;
    p->ballot = ballot_make(++p->counter, n->disk.restarts, n->id);
    p->base = p->held; /* what is renewed is decided here, not guessed from the answers */
    p->td_ns = now + ttl_ns;
    p->open = p->accepted = p->refused = 0;
    p->wait_ns = 0;
    memset(p->echo_ns, 0, sizeof p->echo_ns);
    n->wake_ns = now + ttl_ns / 4; /* patience only: safety is td_ns */
    broadcast(n, (struct message){.kind = PREPARE, .ballot = p->ballot, .ttl_ns = ttl_ns}, now);
}

/* P5: give up the attempt, keep a lease, retry under a higher ballot; comparing ballots makes late
 * answers harmless. The back-off is random, or two proposers could outbid each other for ever. */
static void p5_abandon(struct node *n, int64_t now, const char *why)
{
    struct proposer *p = &n->proposer;
    bool holder = p->held != 0 && now < p->deadline_ns;
    SAY(now, n->id, "P5", "abandons " BALLOT ": %s%s", BALLOT_ARGS(p->ballot), why,
        holder ? " (and keeps its lease)" : "");
    p->phase = IDLE;
    n->wake_ns = now + 1 + random_below(ttl_ns / 8);
    if (!holder)
        n->wake_ns += p->wait_ns + random_below(ttl_ns / 8);
}

/* Is the lease that this attempt renews still ours at this very moment? */
static bool base_held(const struct proposer *p, int64_t now)
{
    return p->base != 0 && p->held == p->base && now < p->deadline_ns;
}

/* What any answer must pass: about the present attempt, and in time. */
static bool answer_counts(struct node *n, const struct message *m, int64_t now)
{
    struct proposer *p = &n->proposer;
    if (p->phase == IDLE || m->ballot != p->ballot) {
        needed("P2, P4: an answer to an attempt that is over ignored");
        return false;
    }
    if (now >= p->td_ns) {
        needed("T1: an attempt out of time stopped");
        p5_abandon(n, now, "its time is over");
        return false;
    }
    p->echo_ns[m->from] = m->stamp_ns;
    return true;
}

/* Records one more acceptor in the set; true when a quorum of different ones is in it. */
static bool quorum_with(unsigned *set, int from)
{
    int members = 0;
    if (*set & 1u << from)
        needed("P2, P4: a second answer of one acceptor not counted");
    *set |= 1u << from;
    for (int id = 1; id <= NODES; id++)
        members += *set >> id & 1u ? 1 : 0;
    return members >= QUORUM;
}

static void p3_send_accept(struct node *n, int64_t now)
{ /* now < td: P2 compared this reading */
    struct proposer *p = &n->proposer;
    struct message m = {.kind = ACCEPT, .ballot = p->ballot, .base = p->base, .ttl_ns = ttl_ns};
    p->phase = ACCEPTING;
    p->refused = 0;
    broadcast(n, m, now);
}

static void p2_promise(struct node *n, const struct message *m, int64_t now)
{
    struct proposer *p = &n->proposer;
    if (!answer_counts(n, m, now) || p->phase != PREPARING)
        return;
    /* Our own lease is no better than a stranger's, unless it is the very one that we renew and
     * still hold: an abandoned attempt may have left it in place of somebody's who owns now. */
    bool renews = base_held(p, now) && m->owner == n->id && m->record == p->base;
    if (m->owner == 0 || renews) {
        if (quorum_with(&p->open, m->from))
            p3_send_accept(n, now);
        return;
    }
    needed(m->owner == n->id
               ? "P2: an own lease that is not the renewal base counted as a stranger's"
               : "P2: a promise that reports a live lease not counted");
    if (p->wait_ns < m->left_ns)
        p->wait_ns = m->left_ns;
    if (quorum_with(&p->refused, m->from))
        p5_abandon(n, now, "another lease is alive");
}

static void p4_accepted(struct node *n, const struct message *m, int64_t now)
{
    struct proposer *p = &n->proposer;
    if (!answer_counts(n, m, now) || !quorum_with(&p->accepted, m->from))
        return;
    if (base_held(p, now)) {
        p->renewals++;
        SAY(now, n->id, "P4", "renews: " BALLOT ", renewal %d", BALLOT_ARGS(p->ballot),
            p->renewals);
    } else { /* also when the base ended on the way: somebody may have owned in between */
        p->token = p->ballot;
        p->renewals = 0;
        p->deadline_ns = 0;
        SAY(now, n->id, "P4", "is OWNER: token " BALLOT ", %.1f ms", BALLOT_ARGS(p->token),
            MILLIS(p->td_ns - now));
    }
    if (p->deadline_ns < p->td_ns) /* D again */
        p->deadline_ns = p->td_ns;
    p->held = p->ballot;
    p->phase = IDLE;
    n->wake_ns = p->td_ns - ttl_ns / 2; /* renew at half-life */
    l1_own(n, now);
    struct message learn = {.kind = LEARN, .from = n->id, .ballot = p->held, .token = p->token};
    learn.left_ns = p->deadline_ns - now; /* positive: now < td was compared with this reading */
    for (learn.to = 1; learn.to <= NODES; learn.to++) {
        learn.stamp_ns = p->echo_ns[learn.to];
        if (learn.stamp_ns != 0)
            network_send(learn, now);
    }
}

static void p_rejected(struct node *n, const struct message *m, int64_t now)
{
    t4_observe(n, m->promised);
    if (answer_counts(n, m, now) && quorum_with(&n->proposer.refused, m->from))
        p5_abandon(n, now, "refused");
}

/* P6: first stop acting, then say so, naming the exact lease. Nobody but its owner sends this. */
static void p6_release(struct node *n, int64_t now)
{
    struct message m = {.kind = RELEASE, .ballot = n->proposer.held};
    l1_forget(n, m.ballot);
    referee.until_ns[n->id] = 0;
    n->proposer.held = 0;
    n->proposer.phase = IDLE; /* an attempt in flight was a renewal of what is now gone */
    n->proposer.wants = false;
    broadcast(n, m, now);
}

/* ---- Life of a node, and the event loop ------------------------------------------------------ */

/* Proposer, acceptor and learner die together, as in a real process. Its supervisor is quick: the
 * dead owner's lease still runs when the node comes back and knows nothing of it. */
static void node_crash(struct node *n, int64_t now)
{
    *n = (struct node){.id = n->id, .disk = n->disk, .wake_ns = now + ttl_ns / 4};
}

static void a4_restart(struct node *n, int64_t now)
{
    n->alive = true;
    n->booted_ns = now;
    n->disk.restarts++; /* T4: durable before the first ballot of this life */
    n->acceptor.promised = ballot_make(n->disk.reserved, 255, 255); /* no promise was above */
    n->acceptor.quarantine_until_ns = now + outlast(ttl_ns);
    SAY(now, n->id, "A4", "restarts without memory: silent for %.1f ms", MILLIS(outlast(ttl_ns)));
}

static void node_wants(struct node *n, int64_t now)
{
    n->proposer.wants = true;
    n->wake_ns = now + random_below(ttl_ns / 10);
}

static void node_wake(struct node *n, int64_t now)
{
    n->wake_ns = NEVER;
    if (!n->alive)
        a4_restart(n, now);
    else if (n->proposer.phase != IDLE)
        p5_abandon(n, now, "too few answers");
    else if (n->proposer.wants)
        p1_start_acquire(n, now);
}

static void node_deliver(struct node *n, const struct message *m, int64_t now)
{
    static void (*const handlers[])(struct node *, const struct message *, int64_t) = {
        [PREPARE] = a1_prepare, [ACCEPT] = a2_accept,   [RELEASE] = a3_release,
        [LEARN] = l1_learn,     [PROMISE] = p2_promise, [ACCEPTED] = p4_accepted,
        [REJECTED] = p_rejected};
    bool request = m->kind == PREPARE || m->kind == ACCEPT || m->kind == RELEASE;
    if (n->alive && !(request && a4_silent(n, m, now)))
        handlers[m->kind](n, m, now);
}

/* Handles one event, or sleeps until one is due. Messages go before timers on purpose: that order
 * breaks a program whose deadlines are callbacks. Each handler gets one clock reading, taken after
 * its message was received and before anything is sent. */
static void loop_turn(void)
{
    int first = 0;
    struct node *sleeper = &nodes[1];
    for (int i = 1; i < in_flight; i++)
        if (wire[i].due_ns < wire[first].due_ns)
            first = i;
    for (int id = 2; id <= NODES; id++)
        if (nodes[id].wake_ns < sleeper->wake_ns)
            sleeper = &nodes[id];

    int64_t now = clock_read(), due_ns = in_flight > 0 ? wire[first].due_ns : NEVER;
    if (due_ns <= now) {
        struct message m = wire[first];
        wire[first] = wire[--in_flight];
        node_deliver(&nodes[m.to], &m, clock_read());
    } else if (sleeper->wake_ns <= now) {
        node_wake(sleeper, now);
    } else { /* poll only wakes us, early or late */
        int64_t wait_ns = (due_ns < sleeper->wake_ns ? due_ns : sleeper->wake_ns) - now;
        poll(NULL, 0, (int)(wait_ns < ttl_ns ? wait_ns / MS + 1 : ttl_ns / MS));
    }
}

/* ---- The story ------------------------------------------------------------------------------- */

static int64_t now_ns;     /* of the story: when the last event was over */
static struct node *owner; /* at that time, if there was one */

/* The story waits for what happens, never for a time. */
static void next_event(const char *awaited)
{
    loop_turn();
    now_ns = clock_read();
    owner = referee_look(now_ns);
    if (now_ns - started_ns < 100 * ttl_ns)
        return;
    printf("gave up waiting until %s\n", awaited);
    exit(EXIT_FAILURE);
}

#define AWAIT(condition)                                                                           \
    do                                                                                             \
        next_event(#condition);                                                                    \
    while (!(condition))

static bool renewed(const struct node *n, int times)
{
    return n != NULL && n->proposer.phase == IDLE && n->proposer.renewals >= times;
}

static void story(void)
{
    AWAIT(renewed(owner, 4)); /* an owner emerges, renews, dies */
    struct node *last = owner;
    int64_t since_ns = now_ns, lease_ns = last->learner.until_ns;
    SAY(now_ns, last->id, "story", "DIES, its lease had %.1f ms left", MILLIS(lease_ns - now_ns));
    node_crash(last, now_ns);

    AWAIT(owner != NULL && owner != last); /* a survivor takes over when the exclusion lets it */
    SAY(now_ns, owner->id, "story", "TAKES OVER %.1f ms after the death, %.1f ms after the lease",
        MILLIS(now_ns - since_ns), MILLIS(now_ns - lease_ns));

    AWAIT(last->acceptor.answered > 0); /* the dead node is back and has served its quarantine */
    node_wants(last, now_ns);

    do { /* an owner lets go, and nobody need wait; if by bad luck they waited, we look again */
        AWAIT(renewed(owner, 1));
        last = owner;
        since_ns = now_ns;
        lease_ns = last->learner.until_ns;
        SAY(now_ns, last->id, "story", "RELEASES, %.1f ms early", MILLIS(lease_ns - now_ns));
        p6_release(last, now_ns);
        AWAIT(owner != NULL);
        SAY(now_ns, owner->id, "story", "TAKES OVER %.1f ms after the release",
            MILLIS(now_ns - since_ns));
        node_wants(last, now_ns);
    } while (now_ns >= lease_ns);

    AWAIT(renewed(owner, 1)); /* and life goes on */
}

int main(int argc, char **argv)
{
    random_state = (uint64_t)clock_read() % 1000000;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            puts("usage: paxoslease [--fast] [--seed N]\n"
                 "Three PaxosLease nodes in one process act out a story, watched by a referee.\n"
                 "  --fast    leases of 200 ms instead of 2 s\n"
                 "  --seed N  the dice of the network and the back-off; the timers stay real\n"
                 "Exits 0 when the whole story happened and no two owners overlapped.");
            return EXIT_SUCCESS;
        }
        const char *bad = argv[i];
        if (strcmp(argv[i], "--fast") == 0) {
            ttl_ns = 200 * MS;
            bad = NULL;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            char *end;
            bad = argv[++i];
            errno = 0;
            random_state = strtoull(bad, &end, 10);
            if (bad[0] >= '0' && bad[0] <= '9' && *end == '\0' && errno == 0)
                bad = NULL;
        }
        if (bad != NULL) {
            fprintf(stderr, "paxoslease: cannot use '%s'; see --help\n", bad);
            return EXIT_USAGE;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    started_ns = clock_read();
    printf("seed %" PRIu64 ": D_P %.1f ms, D_A and quarantine %.1f ms, clocks within %d %%\n",
           random_state, MILLIS(ttl_ns), MILLIS(outlast(ttl_ns)), (int)RATE_ERROR_PERCENT);
    for (int id = 1; id <= NODES; id++) { /* a new cluster has no votes to forget: no quarantine */
        nodes[id] = (struct node){.id = id, .alive = true};
        node_wants(&nodes[id], started_ns);
    }
    story();
    puts("how often the rules were needed:");
    for (int i = 0; tally[i].rule != NULL; i++)
        printf("%6d  %s\n", tally[i].count, tally[i].rule);
    printf("referee: %d acquisitions under rising tokens, %d renewals, no two owners overlapped\n",
           referee.acquisitions, referee.renewals);
    return EXIT_SUCCESS;
}
