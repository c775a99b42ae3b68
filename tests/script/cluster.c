// The world of whole machines: nodes n1.. of one cluster and one name, on the fixture of the unit
// tests. Time is true time; each node reads it through its own clock. Effects show true time too,
// and ballots as counter.node.
//
//     cluster 3 max-ttl=1s rho=1% [f1] [f3] [f5] [reserved=N]
//     clock n1 fast|slow                      at the end of the rate error
//     at 500ms-1ns
//     n1 acquires|renews [for 500ms] [waited 20ms]
//     n1 releases|stops
//     timer n1 n2
//     deliver prepare n1>n2 n1>n3             the oldest of that kind that is still under way
//     again prepare n1>n2                     the newest that was delivered before
//     settle [n1 n2]                          everything under way [among those], until nothing is left
//     lose prepare n1>n2
//     disk n1                                 its oldest write is done
//     crash n1 [after N writes]; restart n1
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fixture.h"
#include "script.h"

enum { NAME = 0, PACKETS = 4096 };

static const char *const KINDS[] = {
    [LH_MESSAGE_PREPARE] = "prepare",   [LH_MESSAGE_PROMISE] = "promise",
    [LH_MESSAGE_ACCEPT] = "accept",     [LH_MESSAGE_ACCEPTED] = "accepted",
    [LH_MESSAGE_EXTEND] = "extend",     [LH_MESSAGE_EXTENDED] = "extended",
    [LH_MESSAGE_REJECTED] = "rejected", [LH_MESSAGE_RELEASE] = "release",
    [LH_MESSAGE_WAKE] = "wake",         [LH_MESSAGE_WAITS] = "waits"};

struct cluster {
    struct fixture fixture;
    bool quiet;        // a settle shows notices only
    const char *wrong; // found between two deliveries of one command
    int owner;
};

// --- words ---

// Sums like 500ms, 1s+20ms, 1s-1ns.
static bool time_of(const char *word, int64_t *ret_ns)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } UNITS[] = {{"ns", 1}, {"us", LH_NS_PER_US}, {"ms", LH_NS_PER_MS}, {"s", LH_NS_PER_S}};
    int64_t sum = 0, sign = 1;
    while (*word != '\0') {
        char *end = NULL;
        if (!isdigit((unsigned char)*word))
            return false;
        const int64_t number = strtoll(word, &end, 10);
        size_t unit = 0, length = strcspn(end, "+-");
        while (unit < 4 &&
               (strlen(UNITS[unit].unit) != length || strncmp(end, UNITS[unit].unit, length) != 0))
            unit++;
        if (unit == 4)
            return false;
        sum += sign * number * UNITS[unit].ns;
        word = end + length;
        sign = *word == '-' ? -1 : 1;
        word += *word != '\0' ? 1 : 0;
    }
    *ret_ns = sum;
    return true;
}

static bool node_of(const struct cluster *cluster, const char *word, unsigned *ret)
{
    long long number = 0;
    if (!script_number(word, "n", &number) || number < 1 ||
        number > cluster->fixture.settings.nodes)
        return false;
    *ret = (unsigned)number - 1;
    return true;
}

static bool kind_of(const char *word, enum lh_message_kind *ret)
{
    for (int kind = LH_MESSAGE_PREPARE; kind <= LH_MESSAGE_LEASE_LAST; kind++) {
        if (strcmp(word, KINDS[kind]) == 0) {
            *ret = (enum lh_message_kind)kind;
            return true;
        }
    }
    return false;
}

static bool link_of(const struct cluster *cluster, const char *word, unsigned *ret_from,
                    unsigned *ret_to)
{
    char from[8];
    const size_t length = strcspn(word, ">");
    if (word[length] != '>' || length >= sizeof from)
        return false;
    memcpy(from, word, length);
    from[length] = '\0';
    return node_of(cluster, from, ret_from) && node_of(cluster, word + length + 1, ret_to);
}

// --- effects ---

// Milliseconds, with as many decimals as it needs.
static const char *ms_text(int64_t ns)
{
    static char text[4][40];
    static unsigned turn;
    char *it = text[++turn % 4];
    int length = snprintf(it, sizeof text[0], "%lld.%06lld", (long long)(ns / LH_NS_PER_MS),
                          (long long)(ns % LH_NS_PER_MS));
    while (it[length - 1] == '0')
        length--;
    length -= it[length - 1] == '.' ? 1 : 0;
    snprintf(it + length, 3, "ms");
    return it;
}

static const char *ballot_text(lh_ballot ballot)
{
    static char text[4][40];
    static unsigned turn;
    char *it = text[++turn % 4];
    if (ballot == LH_BALLOT_NONE)
        return "none";
    if ((ballot & 0xffff) == 0xffff)
        snprintf(it, sizeof text[0], "%llu.*", (unsigned long long)lh_ballot_counter(ballot));
    else
        snprintf(it, sizeof text[0], "%llu.%u", (unsigned long long)lh_ballot_counter(ballot),
                 lh_ballot_node(ballot));
    return it;
}

static const char *true_text(const struct cluster *cluster, unsigned node, struct lh_instant at)
{
    return ms_text(fixture_true_of(&cluster->fixture, node, at));
}

static void say_told(const struct cluster *cluster, const struct fixture_told *told,
                     struct script_output *output)
{
    const unsigned n = told->node + 1u;
    const char *until = true_text(cluster, told->node, told->until);
    switch (told->notice.kind) {
    case LH_NOTICE_ACQUIRED:
        script_say(output, "n%u acquired, token %s, until %s", n, ballot_text(told->token), until);
        break;
    case LH_NOTICE_RENEWED:
        script_say(output, "n%u renewed, token %s, until %s", n, ballot_text(told->token), until);
        break;
    case LH_NOTICE_BLOCKED:
        script_say(output, "n%u blocked by %s, free at %s", n, ballot_text(told->notice.ballot),
                   true_text(cluster, told->node, told->notice.at));
        break;
    case LH_NOTICE_STALLED: script_say(output, "n%u stalled", n); break;
    case LH_NOTICE_LOST: script_say(output, "n%u lost it", n); break;
    case LH_NOTICE_WOKEN: script_say(output, "n%u woken", n); break;
    case LH_NOTICE_RESERVE:
        script_say(output, "n%u reserves counters up to %llu", n,
                   (unsigned long long)told->notice.counter);
        break;
    case LH_NOTICE_CEILING:
        script_say(output, "n%u writes the ceiling %s", n, ms_text(told->notice.quarantine.ns));
        break;
    }
}

static void detail_of(const struct lh_message *message, char *ret, size_t room)
{
    switch (message->kind) {
    case LH_MESSAGE_PREPARE: snprintf(ret, room, " for %s", ms_text(message->ttl.ns)); break;
    case LH_MESSAGE_ACCEPT:
        snprintf(ret, room, " base %s for %s", ballot_text(message->base),
                 ms_text(message->ttl.ns));
        break;
    case LH_MESSAGE_PROMISE: snprintf(ret, room, " live %s", ballot_text(message->reported)); break;
    case LH_MESSAGE_REJECTED:
        snprintf(ret, room, " (%s) promised %s live %s", KINDS[message->refused],
                 ballot_text(message->promised), ballot_text(message->reported));
        break;
    case LH_MESSAGE_EXTEND: snprintf(ret, room, " for %s", ms_text(message->ttl.ns)); break;
    default: *ret = '\0'; break;
    }
}

// Everything sent in the last call; equal messages to several nodes share a line.
static void say_sent(const struct cluster *cluster, unsigned first, struct script_output *output)
{
    const struct fixture *fixture = &cluster->fixture;
    for (unsigned i = first; i < fixture->packet_count;) {
        const struct fixture_packet *packet = &fixture->packets[i];
        char detail[128], to[64] = "";
        detail_of(&packet->message, detail, sizeof detail);
        for (; i < fixture->packet_count &&
               fixture->packets[i].message.kind == packet->message.kind &&
               fixture->packets[i].from == packet->from;
             i++)
            snprintf(to + strlen(to), sizeof to - strlen(to), " n%d", fixture->packets[i].to + 1);
        const bool waits = !fixture_deliverable(fixture, packet) && packet->waits_for != 0;
        if (packet->message.kind == LH_MESSAGE_WAKE)
            script_say(output, "n%d wakes%s", packet->from + 1, to);
        else
            script_say(output, "n%d %s %s%s to%s%s", packet->from + 1, KINDS[packet->message.kind],
                       ballot_text(packet->message.ballot), detail, to,
                       waits ? ", once its disk is done" : "");
    }
}

static void say_effects(struct cluster *cluster, unsigned first, struct script_output *output)
{
    for (unsigned i = 0; i < cluster->fixture.told_count; i++)
        say_told(cluster, &cluster->fixture.told[i], output);
    if (!cluster->quiet)
        say_sent(cluster, first, output);
    if (cluster->wrong == NULL)
        cluster->wrong = fixture_check(&cluster->fixture);
}

// --- commands ---

static bool do_use(struct cluster *cluster, unsigned node, const struct script_line *line,
                   struct script_output *output)
{
    struct fixture *fixture = &cluster->fixture;
    const unsigned first = fixture->packet_count;
    struct lh_duration ttl = lh_ms(fixture->settings.max_ttl_ms), waited = {0};
    for (int word = 2; word + 1 < line->count; word += 2) {
        const bool is_ttl = script_is(line, word, "for");
        if ((!is_ttl && !script_is(line, word, "waited")) ||
            !time_of(line->words[word + 1], is_ttl ? &ttl.ns : &waited.ns))
            return false;
    }
    bool did = true;
    if (script_is(line, 1, "acquires"))
        did = fixture_acquire_waited(fixture, node, NAME, ttl, waited);
    else if (script_is(line, 1, "renews"))
        did = fixture_renew(fixture, node, NAME, ttl);
    else if (script_is(line, 1, "stops"))
        did = fixture_stop(fixture, node, NAME);
    else if (script_is(line, 1, "releases"))
        script_say(output,
                   fixture_release(fixture, node, NAME) ? "n%u let go"
                                                        : "n%u had nothing to let go",
                   node + 1);
    else
        return false;
    say_effects(cluster, first, output);
    return did;
}

static void deliver(struct cluster *cluster, unsigned packet, struct script_output *output)
{
    const unsigned first = cluster->fixture.packet_count;
    const struct fixture_packet it = cluster->fixture.packets[packet];
    struct lh_machine *machine = cluster->fixture.nodes[it.to].machine;
    const bool silent = machine != NULL &&
                        lh_before(fixture_now(&cluster->fixture, it.to), machine->quarantine_until);
    const uint64_t before = machine == NULL ? 0 : machine->counters.dropped_quarantine;
    if (!fixture_deliver(&cluster->fixture, packet)) {
        if (!cluster->quiet)
            script_say(output, "n%d does not get it", it.to + 1);
        return;
    }
    if (silent && machine->counters.dropped_quarantine > before)
        script_say(output, "n%d is silent until %s", it.to + 1,
                   true_text(cluster, it.to, machine->quarantine_until));
    say_effects(cluster, first, output);
}

static int find(const struct cluster *cluster, enum lh_message_kind kind, unsigned from,
                unsigned to, bool again)
{
    int found = -1;
    for (unsigned i = 0; i < cluster->fixture.packet_count; i++) {
        const struct fixture_packet *packet = &cluster->fixture.packets[i];
        if (packet->message.kind != kind || packet->from != from || packet->to != to ||
            (packet->delivered > 0) != again)
            continue;
        found = (int)i;
        if (!again)
            break;
    }
    return found;
}

// deliver, again and lose: a kind, then the ways.
static bool do_packets(struct cluster *cluster, const struct script_line *line,
                       struct script_output *output)
{
    enum lh_message_kind kind = LH_MESSAGE_PREPARE;
    if (line->count < 3 || !kind_of(line->words[1], &kind))
        return false;
    for (int word = 2; word < line->count; word++) {
        unsigned from = 0, to = 0;
        if (!link_of(cluster, line->words[word], &from, &to))
            return false;
        const int packet = find(cluster, kind, from, to, script_is(line, 0, "again"));
        if (packet < 0)
            script_say(output, "n%u never sent it to n%u", from + 1, to + 1);
        else if (script_is(line, 0, "lose"))
            fixture_forget_packet(&cluster->fixture, (unsigned)packet);
        else
            deliver(cluster, (unsigned)packet, output);
    }
    return true;
}

static bool do_settle(struct cluster *cluster, const struct script_line *line,
                      struct script_output *output)
{
    unsigned among = line->count == 1 ? ~0u : 0;
    for (int word = 1; word < line->count; word++) {
        unsigned node = 0;
        if (!node_of(cluster, line->words[word], &node))
            return false;
        among |= 1u << node;
    }
    cluster->quiet = true;
    for (unsigned i = 0; i < cluster->fixture.packet_count; i++) {
        const struct fixture_packet *packet = &cluster->fixture.packets[i];
        if (packet->delivered == 0 && (among >> packet->from & 1) != 0 &&
            (among >> packet->to & 1) != 0)
            deliver(cluster, i, output);
    }
    cluster->quiet = false;
    return true;
}

static bool do_node(struct cluster *cluster, const struct script_line *line,
                    struct script_output *output)
{
    struct fixture *fixture = &cluster->fixture;
    unsigned node = 0;
    if (line->count < 2 || !node_of(cluster, line->words[1], &node))
        return false;
    if (script_is(line, 0, "disk")) {
        if (!fixture_persisted(fixture, node))
            script_say(output, "n%u has nothing to write", node + 1);
        return true;
    }
    if (script_is(line, 0, "clock")) {
        const int32_t rate = (int32_t)fixture->settings.rate_ppm;
        fixture->nodes[node].rate_ppm = script_is(line, 2, "fast") ? rate : -rate;
        return line->count == 3 && fixture->true_ns == 0;
    }
    if (script_is(line, 0, "restart")) {
        fixture_restart(fixture, node);
        script_say(output, "n%u is silent until %s", node + 1,
                   true_text(cluster, node, fixture->nodes[node].machine->quarantine_until));
        return true;
    }
    long long writes = 0;
    if (line->count == 5 && !script_number(line->words[3], "", &writes))
        return false;
    fixture_crash(fixture, node, (unsigned)writes);
    return true;
}

static bool do_timers(struct cluster *cluster, const struct script_line *line,
                      struct script_output *output)
{
    for (int word = 1; word < line->count; word++) {
        const unsigned first = cluster->fixture.packet_count;
        unsigned node = 0;
        if (!node_of(cluster, line->words[word], &node) || !fixture_timer(&cluster->fixture, node))
            return false;
        say_effects(cluster, first, output);
    }
    return true;
}

static bool dispatch(struct cluster *cluster, const struct script_line *line,
                     struct script_output *output)
{
    static const char *const OF_NODES[] = {"disk", "clock", "restart", "crash"};
    unsigned node = 0;
    int64_t at = 0;
    if (script_is(line, 0, "at") && line->count == 2 && time_of(line->words[1], &at)) {
        if (at < cluster->fixture.true_ns)
            return false;
        cluster->fixture.true_ns = at;
        return true;
    }
    if (script_is(line, 0, "deliver") || script_is(line, 0, "again") || script_is(line, 0, "lose"))
        return do_packets(cluster, line, output);
    if (script_is(line, 0, "settle"))
        return do_settle(cluster, line, output);
    if (script_is(line, 0, "timer"))
        return do_timers(cluster, line, output);
    for (size_t i = 0; i < sizeof OF_NODES / sizeof *OF_NODES; i++)
        if (script_is(line, 0, OF_NODES[i]))
            return do_node(cluster, line, output);
    return line->count >= 2 && node_of(cluster, line->words[0], &node) &&
           do_use(cluster, node, line, output);
}

static bool run(void *state, const struct script_line *line, struct script_output *output)
{
    struct cluster *cluster = state;
    const bool known = dispatch(cluster, line, output);
    int owner = -1;
    for (unsigned i = 0; i < cluster->fixture.settings.nodes; i++)
        if (fixture_holds(&cluster->fixture, i, NAME))
            owner = (int)i;
    if (owner < 0 && cluster->owner >= 0)
        script_say(output, "nobody owns it now");
    cluster->owner = owner;
    return known;
}

static const char *check(void *state)
{
    struct cluster *cluster = state;
    return cluster->wrong != NULL ? cluster->wrong : fixture_check(&cluster->fixture);
}

static void close_cluster(void *state)
{
    struct cluster *cluster = state;
    fixture_close(&cluster->fixture);
    free(cluster);
}

bool cluster_open(struct script_world *world, const struct script_line *line)
{
    struct fixture_settings settings = {.max_ttl_ms = 1000,
                                        .rate_ppm = 10000,
                                        .max_leases = FIXTURE_NAMES,
                                        .reserved = UINT64_C(1) << 20,
                                        .seed = 1,
                                        .packet_capacity = PACKETS};
    long long number = 0;
    if (line->count < 2 || !script_number(line->words[1], "", &number))
        return false;
    settings.nodes = (unsigned)number;
    for (int word = 2; word < line->count; word++) {
        const char *it = line->words[word];
        int64_t span = 0;
        if (strncmp(it, "max-ttl=", 8) == 0 && time_of(it + 8, &span))
            settings.max_ttl_ms = span / LH_NS_PER_MS;
        else if (strncmp(it, "rho=", 4) == 0)
            settings.rate_ppm = (uint32_t)strtoul(it + 4, NULL, 10) * 10000;
        else if (strncmp(it, "ceiling=", 8) == 0 && time_of(it + 8, &span))
            settings.ceiling.ns = span;
        else if (script_number(it, "reserved=", &number))
            settings.reserved = (uint64_t)number;
        else if (strcmp(it, "f1") == 0)
            settings.idle_forget = true;
        else if (strcmp(it, "f3") == 0)
            settings.one_round_renewal = true;
        else if (strcmp(it, "f5") == 0)
            settings.quarantine_ceiling = true;
        else
            return false;
    }
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL)
        abort();
    cluster->owner = -1;
    fixture_open(&cluster->fixture, &settings);
    *world = (struct script_world){run, check, close_cluster, cluster};
    return true;
}
