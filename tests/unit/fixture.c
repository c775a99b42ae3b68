// The tests' cluster: see fixture.h.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static const unsigned NO_NAME = FIXTURE_NAMES;

struct lh_key fixture_key(unsigned name)
{
    return (struct lh_key){{UINT64_C(0x9e3779b97f4a7c15) * (name + 1), name}};
}

static unsigned name_of(struct lh_key key)
{
    return key.word[1] < FIXTURE_NAMES ? (unsigned)key.word[1] : NO_NAME;
}

struct lh_instant fixture_now(const struct fixture *fixture, unsigned node)
{
    const struct fixture_node *it = &fixture->nodes[node];
    const int64_t whole = fixture->true_ns / LH_PPM * it->rate_ppm;
    const int64_t rest = fixture->true_ns % LH_PPM * it->rate_ppm;
    // Rounded down also below zero, as the counter of a real clock is.
    const int64_t gain = whole + (rest >= 0 ? rest / LH_PPM : -((-rest + LH_PPM - 1) / LH_PPM));
    return (struct lh_instant){it->offset_ns + fixture->true_ns + gain};
}

int64_t fixture_true_of(const struct fixture *fixture, unsigned node, struct lh_instant local)
{
    struct fixture probe = {.true_ns = 0};
    probe.nodes[node] = fixture->nodes[node];
    int64_t low = 0, high = INT64_C(1) << 50;
    while (low < high) {
        probe.true_ns = low + (high - low) / 2;
        if (lh_before(fixture_now(&probe, node), local))
            low = probe.true_ns + 1;
        else
            high = probe.true_ns;
    }
    return low;
}

struct lh_lease *fixture_lease(const struct fixture *fixture, unsigned node, unsigned name)
{
    struct lh_machine *machine = fixture->nodes[node].machine;
    return machine == NULL ? NULL : lh_machine_find(machine, fixture_key(name));
}

bool fixture_holds(const struct fixture *fixture, unsigned node, unsigned name)
{
    const struct lh_lease *lease = fixture_lease(fixture, node, name);
    return lease != NULL && lh_proposer_holds(&lease->proposer, fixture_now(fixture, node));
}

struct lh_acceptor_record *fixture_record(const struct fixture *fixture, unsigned node,
                                          unsigned name)
{
    struct lh_machine *machine = fixture->nodes[node].machine;
    return machine == NULL ? NULL : lh_acceptors_find(&machine->acceptors, fixture_key(name));
}

static struct lh_timing timing_of(const struct fixture *fixture)
{
    return (struct lh_timing){lh_ms(fixture->settings.max_ttl_ms), fixture->settings.rate_ppm};
}

// What a restart has to wait for, and F1 too: M's quarantine, unless less was ever promised (F5).
static struct lh_duration quarantine_of(const struct fixture *fixture, unsigned node)
{
    if (fixture->settings.quarantine_ceiling)
        return fixture->nodes[node].ceiling;
    return lh_timing_quarantine(timing_of(fixture), lh_ms(fixture->settings.max_ttl_ms));
}

static void start(struct fixture *fixture, unsigned node, struct lh_instant serves_at,
                  lh_ballot floor, uint64_t counter)
{
    struct fixture_node *it = &fixture->nodes[node];
    const struct fixture_settings *settings = &fixture->settings;
    struct lh_machine_config config = {
        .node = (uint8_t)(node + 1),
        .generation = 1,
        .member_count = (uint8_t)settings->nodes,
        .timing = timing_of(fixture),
        .max_leases = settings->max_leases,
        .idle_forget = settings->idle_forget,
        .one_round_renewal = settings->one_round_renewal,
        .quarantine_ceiling = settings->quarantine_ceiling,
    };
    for (unsigned i = 0; i < settings->nodes; i++)
        config.members[i] = (uint8_t)(i + 1);
    it->boot++;
    it->machine = calloc(1, sizeof *it->machine);
    it->memory = calloc(1, lh_machine_size(&config));
    if (it->machine == NULL || it->memory == NULL)
        abort();
    lh_prng_seed_number(&it->prng, settings->seed * 1000 + node * 100 + it->boot);
    lh_machine_init(it->machine, &config, it->memory, &it->prng, fixture_now(fixture, node));
    lh_machine_serve(it->machine, serves_at, floor, counter, it->reserved,
                     quarantine_of(fixture, node));
}

void fixture_open(struct fixture *fixture, const struct fixture_settings *settings)
{
    *fixture = (struct fixture){.settings = *settings};
    fixture->packets = calloc(settings->packet_capacity, sizeof *fixture->packets);
    if (fixture->packets == NULL)
        abort();
    for (unsigned i = 0; i < settings->nodes; i++) {
        struct fixture_node *node = &fixture->nodes[i];
        node->offset_ns = LH_NS_PER_S;
        node->reserved = settings->reserved;
        node->ceiling = settings->ceiling;
        start(fixture, i, fixture_now(fixture, i), LH_BALLOT_NONE, 0);
    }
}

static void stop_machine(struct fixture_node *node)
{
    free(node->machine);
    free(node->memory);
    node->machine = NULL;
    node->memory = NULL;
}

void fixture_close(struct fixture *fixture)
{
    if (fixture == NULL)
        return;
    for (unsigned i = 0; i < fixture->settings.nodes; i++)
        stop_machine(&fixture->nodes[i]);
    free(fixture->packets);
    fixture->packets = NULL;
}

static void ask_disk(struct fixture_node *node, struct fixture_persist write)
{
    LH_ASSERT(node->pending_count < FIXTURE_PERSISTS);
    node->pending[node->pending_count++] = write;
    node->asked++;
}

static void note(struct fixture *fixture, unsigned node, const struct lh_notice *notice)
{
    struct fixture_told *told = &fixture->told[fixture->told_count++];
    *told = (struct fixture_told){.node = (uint8_t)node, .notice = *notice, .name = NO_NAME};
    if (notice->lease == 0)
        return;
    const struct lh_lease *lease = lh_machine_lease(fixture->nodes[node].machine, notice->lease);
    told->name = name_of(lease->key);
    told->token = lease->proposer.token;
    told->until = lease->proposer.until;
}

// Every message takes the way over the wire form, so that a machine sees only what can be sent.
static struct lh_message over_the_wire(const struct lh_message *message)
{
    uint8_t bytes[128];
    struct lh_message read;
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    lh_message_encode(&writer, message);
    struct lh_slice body = lh_writer_slice(&writer);
    LH_ASSERT(!writer.failed);
    body.data += 3;
    body.size_bytes -= 3;
    LH_ASSERT(lh_message_decode(message->kind, body, &read));
    return read;
}

static void put_packet(struct fixture *fixture, struct fixture_packet packet)
{
    if (fixture->packet_count == fixture->settings.packet_capacity) {
        fixture->packets_lost++;
        return;
    }
    fixture->packets[fixture->packet_count++] = packet;
}

static void collect(struct fixture *fixture, unsigned node, uint32_t asker_boot)
{
    struct fixture_node *it = &fixture->nodes[node];
    const struct lh_lease_effects *effects = &fixture->effects;
    for (unsigned i = 0; i < effects->notice_count; i++) {
        const struct lh_notice *notice = &effects->notices[i];
        note(fixture, node, notice);
        if (notice->kind == LH_NOTICE_RESERVE && notice->counter > it->reserved)
            ask_disk(it, (struct fixture_persist){.reserved = notice->counter});
        else if (notice->kind == LH_NOTICE_CEILING)
            ask_disk(it, (struct fixture_persist){true, 0, notice->quarantine});
    }
    for (unsigned i = 0; i < effects->send_count; i++) {
        const struct lh_send *send = &effects->sends[i];
        put_packet(fixture,
                   (struct fixture_packet){
                       .from = (uint8_t)node,
                       .to = (uint8_t)(send->to - 1),
                       .sender_boot = it->boot,
                       .echoed_boot = lh_message_is_answer(send->message.kind) ? asker_boot : 0,
                       .waits_for = send->after_ceiling ? it->asked : 0,
                       .sent_ns = fixture->true_ns,
                       .message = over_the_wire(&send->message),
                   });
    }
}

static struct lh_machine *begin(struct fixture *fixture, unsigned node)
{
    fixture->effects.send_count = 0;
    fixture->effects.notice_count = 0;
    fixture->told_count = 0;
    return fixture->nodes[node].machine;
}

bool fixture_acquire_waited(struct fixture *fixture, unsigned node, unsigned name,
                            struct lh_duration ttl, struct lh_duration waited)
{
    struct lh_machine *machine = begin(fixture, node);
    if (machine == NULL || fixture_holds(fixture, node, name))
        return false;
    struct lh_lease *lease = lh_machine_open(machine, fixture_key(name));
    if (lease == NULL)
        return false;
    const struct lh_instant now = fixture_now(fixture, node);
    const struct lh_instant since =
        waited.ns == 0 ? LH_NEVER : (struct lh_instant){now.ns - waited.ns};
    lh_machine_acquire(machine, lease, now, ttl, since, &fixture->effects);
    collect(fixture, node, 0);
    return true;
}

bool fixture_acquire(struct fixture *fixture, unsigned node, unsigned name, struct lh_duration ttl)
{
    return fixture_acquire_waited(fixture, node, name, ttl, (struct lh_duration){0});
}

bool fixture_renew(struct fixture *fixture, unsigned node, unsigned name, struct lh_duration ttl)
{
    struct lh_machine *machine = begin(fixture, node);
    if (machine == NULL || !fixture_holds(fixture, node, name))
        return false;
    lh_machine_renew(machine, fixture_lease(fixture, node, name), fixture_now(fixture, node), ttl,
                     &fixture->effects);
    collect(fixture, node, 0);
    return true;
}

bool fixture_stop(struct fixture *fixture, unsigned node, unsigned name)
{
    struct lh_machine *machine = begin(fixture, node);
    struct lh_lease *lease = fixture_lease(fixture, node, name);
    if (lease == NULL)
        return false;
    lh_machine_stop(machine, lease);
    return true;
}

bool fixture_release(struct fixture *fixture, unsigned node, unsigned name)
{
    struct lh_machine *machine = begin(fixture, node);
    struct lh_lease *lease = fixture_lease(fixture, node, name);
    if (lease == NULL)
        return false;
    const bool was_held =
        lh_machine_release(machine, lease, fixture_now(fixture, node), &fixture->effects);
    collect(fixture, node, 0);
    return was_held;
}

bool fixture_timer(struct fixture *fixture, unsigned node)
{
    struct lh_machine *machine = begin(fixture, node);
    if (machine == NULL)
        return false;
    lh_machine_timer(machine, fixture_now(fixture, node), &fixture->effects);
    collect(fixture, node, 0);
    return true;
}

bool fixture_forget_lease(struct fixture *fixture, unsigned node, unsigned name)
{
    struct lh_machine *machine = begin(fixture, node);
    struct lh_lease *lease = fixture_lease(fixture, node, name);
    if (lease == NULL || lease->want != LH_WANT_NOTHING || lease->proposer.held != LH_BALLOT_NONE)
        return false;
    lh_machine_close(machine, lease);
    return true;
}

bool fixture_deliverable(const struct fixture *fixture, const struct fixture_packet *packet)
{
    const struct fixture_node *from = &fixture->nodes[packet->from];
    const struct fixture_node *to = &fixture->nodes[packet->to];
    // What waits for the disk of a crashed boot never left it.
    const bool has_left = packet->waits_for == 0 || packet->waits_for <= from->done;
    return to->machine != NULL && has_left &&
           (packet->echoed_boot == 0 || packet->echoed_boot == to->boot);
}

bool fixture_deliver(struct fixture *fixture, unsigned packet)
{
    const struct fixture_packet it = fixture->packets[packet];
    struct lh_machine *machine = begin(fixture, it.to);
    if (!fixture_deliverable(fixture, &it))
        return false;
    fixture->packets[packet].delivered++;
    lh_machine_message(machine, (uint8_t)(it.from + 1), &it.message, fixture_now(fixture, it.to),
                       &fixture->effects);
    collect(fixture, it.to, it.sender_boot);
    return true;
}

void fixture_forget_packet(struct fixture *fixture, unsigned packet)
{
    memmove(&fixture->packets[packet], &fixture->packets[packet + 1],
            sizeof *fixture->packets * (--fixture->packet_count - packet));
}

void fixture_inject(struct fixture *fixture, unsigned from, unsigned to,
                    const struct lh_message *message)
{
    put_packet(fixture,
               (struct fixture_packet){
                   .from = (uint8_t)from,
                   .to = (uint8_t)to,
                   .sender_boot = fixture->nodes[from].boot,
                   .echoed_boot = lh_message_is_answer(message->kind) ? fixture->nodes[to].boot : 0,
                   .sent_ns = fixture->true_ns,
                   .message = *message,
               });
}

void fixture_settle(struct fixture *fixture)
{
    for (unsigned i = 0; i < fixture->packet_count; i++)
        if (fixture->packets[i].delivered == 0)
            fixture_deliver(fixture, i);
}

static void write_disk(struct fixture_node *node, const struct fixture_persist *write)
{
    if (write->is_ceiling)
        node->ceiling = write->ceiling;
    else if (node->reserved < write->reserved)
        node->reserved = write->reserved;
}

bool fixture_persisted(struct fixture *fixture, unsigned node)
{
    struct fixture_node *it = &fixture->nodes[node];
    begin(fixture, node);
    if (it->machine == NULL || it->pending_count == 0)
        return false;
    const struct fixture_persist write = it->pending[0];
    memmove(it->pending, it->pending + 1, sizeof *it->pending * --it->pending_count);
    write_disk(it, &write);
    it->done++;
    if (write.is_ceiling)
        lh_machine_ceiling_raised(it->machine, write.ceiling);
    else
        lh_machine_reserved(it->machine, it->reserved);
    return true;
}

static void add_counters(struct lh_machine_counters *sum, const struct lh_machine_counters *more)
{
    sum->acquired += more->acquired;
    sum->renewed += more->renewed;
    sum->lost += more->lost;
    sum->released += more->released;
    sum->blocked += more->blocked;
    sum->stalled += more->stalled;
    sum->duels += more->duels;
    sum->dropped_quarantine += more->dropped_quarantine;
    sum->dropped_unreserved += more->dropped_unreserved;
    sum->overwrites_refused += more->overwrites_refused;
    sum->forgotten += more->forgotten;
}

void fixture_crash(struct fixture *fixture, unsigned node, unsigned durable)
{
    struct fixture_node *it = &fixture->nodes[node];
    begin(fixture, node);
    if (it->machine == NULL)
        return;
    for (unsigned i = 0; i < durable && i < it->pending_count; i++)
        write_disk(it, &it->pending[i]);
    // Answers that waited for a write that was never confirmed are gone.
    for (unsigned i = fixture->packet_count; i-- > 0;)
        if (fixture->packets[i].from == node && fixture->packets[i].waits_for > it->done)
            fixture_forget_packet(fixture, i);
    it->pending_count = 0;
    it->done = it->asked;
    add_counters(&fixture->past, &it->machine->counters);
    stop_machine(it);
}

void fixture_restart(struct fixture *fixture, unsigned node)
{
    struct fixture_node *it = &fixture->nodes[node];
    begin(fixture, node);
    if (it->machine != NULL)
        return;
    const struct lh_instant now = fixture_now(fixture, node);
    start(fixture, node, lh_after(now, quarantine_of(fixture, node)),
          lh_ballot_ceiling(it->reserved), it->reserved);
}

// The holder of the name at this instant, or settings.nodes; `ret_count` tells how many there are.
static unsigned holder_of(const struct fixture *fixture, unsigned name, unsigned *ret_count)
{
    unsigned holder = fixture->settings.nodes;
    *ret_count = 0;
    for (unsigned i = 0; i < fixture->settings.nodes; i++) {
        if (fixture_holds(fixture, i, name)) {
            holder = i;
            ++*ret_count;
        }
    }
    return holder;
}

static const char *check_name(struct fixture *fixture, unsigned name)
{
    struct fixture_name *it = &fixture->names[name];
    unsigned count = 0;
    const unsigned node = holder_of(fixture, name, &count);
    if (count > 1)
        return "two owners";
    if (count == 0) {
        it->over = true;
        return NULL;
    }
    const struct lh_proposer *proposer = &fixture_lease(fixture, node, name)->proposer;
    if (proposer->token < it->token || proposer->token == LH_BALLOT_NONE)
        return "a token fell";
    if (proposer->token == it->token) {
        if (it->over || it->node != node)
            return "a token came back";
        if (lh_before(proposer->until, it->until))
            return "a deadline moved back";
    }
    *it = (struct fixture_name){proposer->token, node, proposer->until, false};
    return NULL;
}

const char *fixture_check(struct fixture *fixture)
{
    for (unsigned name = 0; name < FIXTURE_NAMES; name++) {
        const char *wrong = check_name(fixture, name);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}
