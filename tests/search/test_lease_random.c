// Seeded random schedules over 3 and 5 machines: messages late, twice, out of order or never; nodes
// that crash with what their disk had, come back and serve their quarantine; timers late; clocks at
// the ends of their rate error; renewals with mixed durations; F1, F3 and F5 in every combination.
// After every step the referee of the fixture looks at true time, and every step of a machine
// checks its own invariants.
//
//     test_lease_random              every case with its share of seeds (LEASE_RANDOM_SEEDS each)
//     test_lease_random CASE SEED    one schedule, told step by step
// run-tests: timeout 300
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/fixture.h"
#include "base/assert.h"

enum { CASES = 16, STEPS = 2000, PACKETS = 64, DEFAULT_SEEDS = 800 };

struct run {
    struct fixture fixture;
    struct lh_prng prng;
    unsigned names;       // contended for
    unsigned late_timers; // of 100: how often a due timer is left waiting
    unsigned redeliver;   // of 100: how often a packet stays in the network after delivery
    unsigned disorder;    // of 1000: how often any packet comes next, instead of an early one
    unsigned crashes;     // of 1000 steps
    bool told;
};

struct seen {
    uint64_t acquired, renewed, lost, blocked, forgotten, quarantined, refused, restarts, waited;
};

static struct run run;
static struct seen seen;
static unsigned current_case;
static uint64_t current_seed;
static unsigned current_step;

// A machine's broken invariant is a failed case like two owners.
_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right)
{
    printf("not ok %u - case %u seed %" PRIu64 " step %u: %s:%d: %s (%lld, %lld)\n",
           current_case + 1, current_case, current_seed, current_step, file, line, expression, left,
           right);
    exit(1);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    if (!run.told)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("# %5u %14" PRId64 " ", current_step, run.fixture.true_ns);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

static bool chance(unsigned of_1000)
{
    return lh_prng_below(&run.prng, 1000) < of_1000;
}

static unsigned below(unsigned n)
{
    return (unsigned)lh_prng_below(&run.prng, n);
}

static struct lh_duration some_ttl(void)
{
    static const int64_t SHORT_MS[] = {50, 51, 60, 100};
    const int64_t most_ms = run.fixture.settings.max_ttl_ms;
    const int64_t ttl_ms = chance(300) ? most_ms : SHORT_MS[below(4)];
    return lh_ms(ttl_ms < most_ms ? ttl_ms : most_ms);
}

static struct fixture_settings settings_of(unsigned number, uint64_t seed)
{
    static const uint32_t RATES[] = {1, 10000, LH_RATE_PPM_MAX};
    static const int64_t MOST_MS[] = {100, 200, 1000};
    return (struct fixture_settings){
        .nodes = number < CASES / 2 ? 3 : 5,
        .max_ttl_ms = MOST_MS[below(3)],
        .rate_ppm = RATES[below(3)],
        .idle_forget = number & 1,
        .one_round_renewal = number & 2,
        .quarantine_ceiling = number & 4,
        .max_leases = FIXTURE_NAMES,
        .reserved = below(2) == 0 ? 0 : UINT64_C(1) << 20,
        .seed = seed,
        .packet_capacity = PACKETS,
    };
}

// Clocks at one end of their error, at the other, or somewhere between.
static int32_t some_rate(uint32_t most)
{
    const int32_t rate = (int32_t)most;
    switch (below(4)) {
    case 0: return (int32_t)lh_prng_between(&run.prng, -rate, rate);
    case 1: return rate;
    default: return -rate;
    }
}

static void begin_run(unsigned number, uint64_t seed)
{
    lh_prng_seed_number(&run.prng, seed * CASES + number);
    const struct fixture_settings settings = settings_of(number, seed);
    run.names = chance(800) ? 1 : 2;
    run.late_timers = below(3) * 40;
    run.redeliver = 5 + below(3) * 20;
    run.disorder = below(3) * 200;
    run.crashes = below(3) * 10;
    fixture_open(&run.fixture, &settings);
    for (unsigned i = 0; i < settings.nodes; i++)
        run.fixture.nodes[i].rate_ppm = some_rate(settings.rate_ppm);
}

// --- time ---

static int64_t candidate; // the next true instant at which something ends

static void consider(unsigned node, struct lh_instant local)
{
    if (local.ns == LH_NEVER.ns || !lh_before(fixture_now(&run.fixture, node), local))
        return;
    const int64_t at = fixture_true_of(&run.fixture, node, local);
    if (at > run.fixture.true_ns && (candidate == 0 || at < candidate))
        candidate = at;
}

// To where some deadline falls, one nanosecond before it, or just behind.
static void jump_to_an_edge(void)
{
    candidate = 0;
    const unsigned name = below(run.names);
    for (unsigned i = 0; i < run.fixture.settings.nodes; i++) {
        const struct lh_machine *machine = run.fixture.nodes[i].machine;
        if (machine == NULL)
            continue;
        consider(i, machine->quarantine_until);
        const struct lh_lease *lease = fixture_lease(&run.fixture, i, name);
        const struct lh_acceptor_record *record = fixture_record(&run.fixture, i, name);
        if (lease != NULL) {
            consider(i, lease->proposer.until);
            consider(i, lease->proposer.td);
        }
        if (record != NULL)
            consider(i, record->deadline);
    }
    const int64_t to = candidate + (int64_t)below(3) - 1;
    if (to > run.fixture.true_ns)
        run.fixture.true_ns = to;
}

static void let_time_pass(void)
{
    const unsigned what = below(100);
    if (what < 40)
        run.fixture.true_ns += 1 + below(1000);
    else if (what < 80)
        run.fixture.true_ns += below(1000000);
    else if (what < 85)
        run.fixture.true_ns += below(30000000);
    else
        jump_to_an_edge();
    tell("time");
}

// --- the network ---

// One of the packets that were (or were not) delivered before, mostly an early one; PACKETS if
// none.
static unsigned pick(bool delivered)
{
    unsigned found[PACKETS];
    unsigned count = 0;
    for (unsigned i = 0; i < run.fixture.packet_count; i++)
        if ((run.fixture.packets[i].delivered > 0) == delivered)
            found[count++] = i;
    if (count == 0)
        return PACKETS;
    return found[below(chance(run.disorder) || count < 4 ? count : 3)];
}

// Room for what the next call may send: old copies go first, the oldest first.
static void make_room(void)
{
    while (run.fixture.packet_count > PACKETS - 2 * LH_MEMBERS_MAX) {
        const unsigned old = pick(true);
        fixture_forget_packet(&run.fixture, old == PACKETS ? 0 : old);
    }
}

static void deliver(unsigned packet)
{
    const struct fixture_packet it = run.fixture.packets[packet];
    if (!fixture_deliverable(&run.fixture, &it)) {
        if (it.waits_for != 0)
            seen.waited++;
        else if (run.fixture.nodes[it.to].machine != NULL)
            fixture_forget_packet(&run.fixture, packet);
        else
            run.fixture.packets[packet].delivered++; // for later: it may be up again
        return;
    }
    if (it.sent_ns >= run.fixture.true_ns)
        run.fixture.true_ns = it.sent_ns + 1; // nothing arrives the instant it was sent
    tell("deliver kind %d ballot %" PRIx64 " n%d -> n%d", it.message.kind, it.message.ballot,
         it.from + 1, it.to + 1);
    fixture_deliver(&run.fixture, packet);
    if (below(100) >= run.redeliver)
        fixture_forget_packet(&run.fixture, packet);
}

static void deliver_some(void)
{
    make_room();
    const unsigned packet = pick(chance(100));
    if (packet != PACKETS)
        deliver(packet);
}

// A good moment of the network: everything arrives at once.
static void deliver_much(void)
{
    for (unsigned i = 0; i < 30; i++) {
        make_room();
        const unsigned packet = pick(false);
        if (packet == PACKETS)
            return;
        deliver(packet);
    }
}

static void drop_some(void)
{
    if (run.fixture.packet_count > 0)
        fixture_forget_packet(&run.fixture, below(run.fixture.packet_count));
}

// --- the nodes ---

static void use_a_lease(void)
{
    const unsigned node = below(run.fixture.settings.nodes);
    const unsigned name = below(run.names);
    const struct lh_lease *lease = fixture_lease(&run.fixture, node, name);
    const unsigned what = below(100);
    if (!fixture_holds(&run.fixture, node, name)) {
        if (lease != NULL && lease->want == LH_WANT_ACQUIRE && what < 90)
            return;
        if (lease != NULL && what < 5)
            fixture_forget_lease(&run.fixture, node, name);
        else if (lease != NULL && what < 15)
            fixture_stop(&run.fixture, node, name);
        else
            fixture_acquire_waited(&run.fixture, node, name, some_ttl(),
                                   lh_ms(chance(300) ? 10 : 0));
        tell("n%u acquires", node + 1);
    } else if (what < 60) {
        if (lease->want == LH_WANT_NOTHING || what < 10) {
            fixture_renew(&run.fixture, node, name, some_ttl());
            tell("n%u renews", node + 1);
        }
    } else if (what < 75) {
        fixture_release(&run.fixture, node, name);
        tell("n%u releases", node + 1);
    } else if (what < 80) {
        fixture_stop(&run.fixture, node, name);
        tell("n%u stops", node + 1);
    }
}

static void run_timers(void)
{
    for (unsigned i = 0; i < run.fixture.settings.nodes; i++) {
        const struct lh_machine *machine = run.fixture.nodes[i].machine;
        if (machine == NULL ||
            lh_before(fixture_now(&run.fixture, i), lh_machine_deadline(machine)))
            continue;
        if (below(100) < run.late_timers)
            continue;
        fixture_timer(&run.fixture, i);
        tell("n%u timer", i + 1);
    }
}

static void finish_a_write(void)
{
    fixture_persisted(&run.fixture, below(run.fixture.settings.nodes));
}

static void crash_or_restart(void)
{
    const unsigned node = below(run.fixture.settings.nodes);
    struct fixture_node *it = &run.fixture.nodes[node];
    if (it->machine == NULL) {
        fixture_restart(&run.fixture, node);
        seen.restarts++;
        tell("n%u restarts", node + 1);
    } else if (chance(run.crashes * 4)) {
        fixture_crash(&run.fixture, node, below(it->pending_count + 1));
        tell("n%u crashes", node + 1);
    }
}

static void step(void)
{
    const unsigned what = below(100);
    if (what < 55)
        deliver_some();
    else if (what < 57)
        deliver_much();
    else if (what < 59)
        drop_some();
    else if (what < 72)
        let_time_pass();
    else if (what < 80)
        run_timers();
    else if (what < 90)
        use_a_lease();
    else if (what < 96)
        finish_a_write();
    else
        crash_or_restart();
}

static void count_what_was_seen(void)
{
    struct lh_machine_counters sum = run.fixture.past;
    for (unsigned i = 0; i < run.fixture.settings.nodes; i++) {
        fixture_crash(&run.fixture, i, 0);
        sum = run.fixture.past;
    }
    seen.acquired += sum.acquired;
    seen.renewed += sum.renewed;
    seen.lost += sum.lost;
    seen.blocked += sum.blocked;
    seen.forgotten += sum.forgotten;
    seen.quarantined += sum.dropped_quarantine;
    seen.refused += sum.overwrites_refused;
}

// One schedule. Returns NULL, or what went wrong at current_step.
static const char *run_seed(unsigned number, uint64_t seed)
{
    const char *wrong = NULL;
    current_case = number;
    current_seed = seed;
    begin_run(number, seed);
    for (current_step = 0; current_step < STEPS && wrong == NULL; current_step++) {
        step();
        wrong = fixture_check(&run.fixture);
    }
    if (wrong == NULL)
        count_what_was_seen();
    fixture_close(&run.fixture);
    return wrong;
}

// A search that meets nothing proves nothing.
static const char *missed(unsigned number)
{
    if (seen.acquired == 0 || seen.renewed == 0 || seen.lost == 0 || seen.blocked == 0)
        return "no acquisition, renewal, loss or refusal";
    if (seen.restarts == 0 || seen.quarantined == 0)
        return "no restart or quarantine";
    if ((number & 1) != 0 && seen.forgotten == 0)
        return "nothing forgotten";
    if ((number & 4) != 0 && seen.waited == 0)
        return "nothing waited for the ceiling";
    return NULL;
}

static bool run_case(unsigned number, uint64_t seeds)
{
    const char *wrong = NULL;
    seen = (struct seen){0};
    for (uint64_t seed = 1; seed <= seeds && wrong == NULL; seed++)
        wrong = run_seed(number, seed);
    if (wrong == NULL)
        wrong = missed(number);
    printf("%s %u - %d nodes%s%s%s\n", wrong == NULL ? "ok" : "not ok", number + 1,
           number < CASES / 2 ? 3 : 5, number & 1 ? ", F1" : "", number & 2 ? ", F3" : "",
           number & 4 ? ", F5" : "");
    if (wrong != NULL)
        printf("# %s: replay with: test_lease_random %u %" PRIu64 " (step %u)\n", wrong, number,
               current_seed, current_step);
    else
        printf("# %" PRIu64 " acquired, %" PRIu64 " renewed, %" PRIu64 " lost, %" PRIu64
               " blocked, %" PRIu64 " restarts, %" PRIu64 " dropped in quarantine, %" PRIu64
               " overwrites refused, %" PRIu64 " forgotten\n",
               seen.acquired, seen.renewed, seen.lost, seen.blocked, seen.restarts,
               seen.quarantined, seen.refused, seen.forgotten);
    fflush(stdout);
    return wrong == NULL;
}

int main(int argc, char **argv)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 26); // machines come and go
    mallopt(M_MMAP_THRESHOLD, 1 << 24);
    if (argc == 3) {
        run.told = true;
        const char *wrong =
            run_seed((unsigned)strtoul(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
        printf("# %s\n", wrong == NULL ? "nothing wrong" : wrong);
        return wrong == NULL ? 0 : 1;
    }
    const char *wanted = getenv("LEASE_RANDOM_SEEDS");
    const uint64_t seeds = wanted == NULL ? DEFAULT_SEEDS : strtoull(wanted, NULL, 10);
    bool good = true;
    printf("1..%d\n", CASES);
    for (unsigned number = 0; number < CASES; number++)
        good = run_case(number, seeds) && good;
    return good ? 0 : 1;
}
