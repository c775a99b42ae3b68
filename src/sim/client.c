// A client: it connects, acquires, holds, renews, writes to a fenced resource while it may, and
// then releases, crashes, stands still, moves to another node or lets the lease run out. What it
// says and what it believes is library.c's; this file only decides what it wants.
//
// A write is sent while the lease is valid and may arrive at any time later: between checking and
// acting lies all that a pause can do, and only the fence helps.
#include "sim/world.h"

#include <stdio.h>
#include <string.h>

#define WAIT_AT_ONCE_MS 20000

static struct lh_instant now_of(const struct lh_sim_client *client, const struct lh_sim *sim)
{
    return (struct lh_instant){lh_sim_clock_read(&client->clock, sim->now)};
}

static bool holds(const struct lh_sim_client *client, const struct lh_sim *sim)
{
    return lh_sim_library_valid(&client->library, now_of(client, sim));
}

static unsigned who(const struct lh_sim_client *client)
{
    return LH_SIM_NODES_MAX + client->index;
}

static void wake_in(struct lh_sim_client *client, struct lh_sim *sim, int64_t ns)
{
    struct lh_sim_event event = {
        .kind = LH_SIM_WAKE, .target = client->index, .life = ++client->wake};
    lh_sim_queue_push(sim->queue, sim->now + ns, &event, NULL, 0);
}

static int64_t soon(struct lh_sim *sim)
{
    return lh_sim_span(sim, LH_NS_PER_MS, sim->settings.max_ttl_ns / 2);
}

// --- the connection ---

static void send(struct lh_sim_client *client, struct lh_sim *sim, enum lh_sim_event_kind kind,
                 const uint8_t *bytes, size_t size)
{
    struct lh_sim_event event = {.kind = kind,
                                 .target = client->node,
                                 .other = client->index,
                                 .life = client->life,
                                 .token = client->node_life};
    int64_t at = sim->now + lh_sim_between(sim, 1, sim->settings.client_ns);
    if (!sim->healed && lh_sim_chance(sim, sim->settings.stall_ppm))
        at += lh_sim_span(sim, LH_NS_PER_MS, 2 * sim->settings.max_ttl_ns);
    client->to_node_at = at = at > client->to_node_at ? at : client->to_node_at;
    lh_sim_queue_push(sim->queue, at, &event, bytes, size);
}

static void disconnect(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (client->connected)
        send(client, sim, LH_SIM_GONE, NULL, 0);
    client->connected = client->asking = false;
}

static bool connect_to(struct lh_sim_client *client, struct lh_sim *sim, unsigned node)
{
    if (sim->nodes[node].driver == NULL)
        return false;
    client->connected = true;
    client->asking = false;
    client->life++;
    client->node = node;
    client->node_life = sim->nodes[node].life;
    client->to_node_at = client->to_client_at = 0;
    lh_sim_library_connect(&client->library);
    return true;
}

// --- asking ---

static void ask(struct lh_sim_client *client, struct lh_sim *sim, enum lh_sim_verb verb)
{
    struct lh_sim_library *library = &client->library;
    int64_t timeout_ms =
        20 + lh_sim_between(sim, client->probes ? library->ttl_ms : 0, library->ttl_ms);
    int64_t wait_ms = verb == LH_SIM_ACQUIRE && !library->resuming ? client->wait_ms : 0;
    struct lh_slice bytes =
        lh_sim_library_request(library, verb, now_of(client, sim), wait_ms, timeout_ms * 9 / 10);
    client->asking = true;
    send(client, sim, LH_SIM_TO_NODE, bytes.data, bytes.size_bytes);
    wake_in(client, sim, (timeout_ms + wait_ms) * LH_NS_PER_MS);
}

static void ask_about(struct lh_sim_client *client, struct lh_sim *sim)
{
    char name[8];
    const char *const get[] = {"LEASE", "GET", name};
    const char *const revoke[] = {"LEASE", "REVOKE", name};
    const char *const list[] = {"LEASE", "LIST", "COUNT", "5"};
    snprintf(name, sizeof name, "n%u", (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.names));
    uint64_t choice = lh_sim_below(sim, 4);
    const char *const *words = choice == 0 ? revoke : choice == 1 ? list : get;
    struct lh_slice bytes =
        lh_sim_library_ask(&client->library, now_of(client, sim), words, choice == 1 ? 4 : 3);
    client->asking = true;
    send(client, sim, LH_SIM_TO_NODE, bytes.data, bytes.size_bytes);
    wake_in(client, sim, 2 * LH_NS_PER_S);
}

// A holder nobody else has. One holder asks for one name only.
static void become_somebody(struct lh_sim_client *client)
{
    char holder[32];
    snprintf(holder, sizeof holder, "c%u.%u", client->index, client->holders++);
    lh_sim_library_begin(&client->library, holder);
}

static void acquire(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_sim_library *library = &client->library;
    int64_t most_ms = sim->settings.max_ttl_ns / LH_NS_PER_MS;
    int64_t least_ms = most_ms / 64 > LH_TTL_MIN_MS ? most_ms / 64 : LH_TTL_MIN_MS;
    unsigned name = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.names);
    if (name != client->name)
        become_somebody(client);
    client->name = name;
    snprintf(library->name, sizeof library->name, "n%u", name);
    library->ttl_ms =
        lh_sim_span(sim, least_ms * LH_NS_PER_MS, most_ms * LH_NS_PER_MS) / LH_NS_PER_MS;
    library->id = lh_prng_next(&sim->prng) >> 1;
    library->token = 0;
    library->deadline = LH_PAST;
    library->resuming = false;
    client->wait_ms = 0;
    if (lh_sim_chance(sim, sim->settings.wait_ppm))
        client->wait_ms = lh_sim_between(sim, 1, 4 * most_ms);
    if (client->wait_ms > WAIT_AT_ONCE_MS + most_ms)
        client->wait_ms = WAIT_AT_ONCE_MS + most_ms;
    client->turns = 0;
    ask(client, sim, LH_SIM_ACQUIRE);
}

// --- holding ---

static void write_something(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_sim_event event = {.kind = LH_SIM_STORE,
                                 .target = client->name,
                                 .token = (uint64_t)client->library.token,
                                 .grant = client->grant};
    if (!holds(client, sim)) // asked at the moment of use
        return;
    int64_t at = sim->now + lh_sim_between(sim, 1, sim->settings.client_ns);
    if (lh_sim_chance(sim, sim->settings.held_ppm + sim->settings.stall_ppm))
        at += lh_sim_span(sim, LH_NS_PER_MS, 8 * sim->settings.max_ttl_ns);
    lh_sim_queue_push(sim->queue, at, &event, NULL, 0);
}

// The next moment at which a holder does something: before half of what it asked for has passed.
static void hold_on(struct lh_sim_client *client, struct lh_sim *sim)
{
    wake_in(client, sim,
            lh_sim_between(sim, client->library.ttl_ms * LH_NS_PER_MS / 8,
                           client->library.ttl_ms * LH_NS_PER_MS / 2));
}

void lh_sim_client_crash(struct lh_sim_client *client, struct lh_sim *sim)
{
    disconnect(client, sim);
    lh_sim_oracle_drop(&sim->oracle, who(client), client->name);
    client->library.deadline = LH_PAST;
    client->library.resuming = false;
    if (sim->healed || lh_sim_below(sim, 3) > 0) // else it wrote down what it had, and will renew
        become_somebody(client);
    client->paused_until = 0;
    wake_in(client, sim, soon(sim));
}

static void stand_still(struct lh_sim_client *client, struct lh_sim *sim)
{
    client->paused_until = sim->now + lh_sim_span(sim, LH_NS_PER_MS, sim->settings.span_ns);
    lh_sim_note(sim, "client-hang", client->index, 0, 0);
}

static void act_as_holder(struct lh_sim_client *client, struct lh_sim *sim)
{
    const struct lh_sim_settings *settings = &sim->settings;
    int64_t dice = (int64_t)lh_sim_below(sim, LH_SIM_PPM);
    write_something(client, sim);
    if ((dice -= settings->client_crash_ppm) < 0) {
        lh_sim_client_crash(client, sim);
    } else if ((dice -= settings->client_hang_ppm) < 0) {
        stand_still(client, sim);
        hold_on(client, sim);
    } else if ((dice -= settings->client_move_ppm) < 0) {
        disconnect(client, sim);
        wake_in(client, sim, lh_sim_between(sim, 1, LH_NS_PER_MS));
    } else if ((dice -= settings->client_release_ppm) < 0) {
        ask(client, sim, LH_SIM_RELEASE);
        if (!holds(client, sim))
            lh_sim_oracle_drop(&sim->oracle, who(client), client->name);
    } else if (dice < settings->client_rest_ppm) {
        wake_in(client, sim, client->library.ttl_ms * LH_NS_PER_MS * 2);
    } else if (lh_sim_below(sim, 3) == 0) {
        hold_on(client, sim);
    } else {
        ask(client, sim, LH_SIM_RENEW);
    }
}

// Asks one node after the other until somebody grants.
static void probe(struct lh_sim_client *client, struct lh_sim *sim)
{
    disconnect(client, sim);
    client->library.resuming = false;
    unsigned next = (client->node + 1) % (unsigned)sim->settings.nodes;
    if (connect_to(client, sim, next))
        ask(client, sim, LH_SIM_ACQUIRE);
    else
        client->node = next, wake_in(client, sim, LH_NS_PER_MS);
}

static void act(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (client->probes && !holds(client, sim))
        probe(client, sim);
    if (client->gone)
        return;
    if (client->asking) { // no answer in time: it must meet nobody when it comes
        disconnect(client, sim);
        client->library.resuming = false;
    }
    if (!client->connected &&
        !connect_to(client, sim, (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes))) {
        wake_in(client, sim, lh_sim_between(sim, LH_NS_PER_MS, 20 * LH_NS_PER_MS));
        return;
    }
    bool held_before = client->library.token > client->library.released &&
                       client->library.deadline.ns == LH_PAST.ns;
    if (holds(client, sim))
        act_as_holder(client, sim);
    else if (held_before && lh_sim_below(sim, 2) == 0)
        ask(client, sim, LH_SIM_RENEW);
    else if (lh_sim_below(sim, 12) == 0)
        ask_about(client, sim);
    else
        acquire(client, sim);
}

// --- answers ---

static void on_granted(struct lh_sim_client *client, struct lh_sim *sim)
{
    client->grant = lh_sim_oracle_claim(&sim->oracle, who(client), client->name,
                                        (uint64_t)client->library.token, sim->now);
    client->failures = 0;
    write_something(client, sim);
    hold_on(client, sim);
}

static void on_bytes(struct lh_sim_client *client, struct lh_sim *sim,
                     const struct lh_sim_event *event)
{
    enum lh_sim_outcome outcome =
        lh_sim_library_bytes(&client->library, now_of(client, sim), event->bytes, event->size);
    if (outcome == LH_SIM_PENDING)
        return;
    client->asking = false;
    lh_sim_note(sim, "answer", client->index, outcome, (uint64_t)client->library.token);
    switch (outcome) {
    case LH_SIM_GRANTED: on_granted(client, sim); return;
    case LH_SIM_AGAIN:
        if (client->turns++ < 20) {
            ask(client, sim, client->library.verb);
            return;
        }
        break;
    case LH_SIM_LOST:
        if (!holds(client, sim))
            client->library.token = 0;
        break;
    case LH_SIM_RELEASED:
        lh_sim_oracle_drop(&sim->oracle, who(client), client->name);
        client->library.token = 0;
        break;
    case LH_SIM_FAILED:
    case LH_SIM_BROKEN: disconnect(client, sim); break;
    default: break;
    }
    if (holds(client, sim)) // it goes on until its deadline, and tries again
        wake_in(client, sim, lh_sim_between(sim, LH_NS_PER_MS, 20 * LH_NS_PER_MS));
    else
        wake_in(client, sim, soon(sim));
}

void lh_sim_client_event(struct lh_sim_client *client, struct lh_sim *sim,
                         const struct lh_sim_event *event)
{
    bool current = event->kind == LH_SIM_WAKE ? event->life == client->wake
                                              : client->connected && event->life == client->life;
    if (!current)
        return;
    if (client->paused_until > sim->now) {
        lh_sim_queue_push(sim->queue, client->paused_until, event, event->bytes, event->size);
        return;
    }
    switch (event->kind) {
    case LH_SIM_WAKE: act(client, sim); break;
    case LH_SIM_TO_CLIENT: on_bytes(client, sim, event); break;
    default:
        client->connected = false;
        if (client->asking)
            wake_in(client, sim, lh_sim_between(sim, 1, LH_NS_PER_MS));
        client->asking = false;
        client->library.resuming = false;
        break;
    }
}

// --- lives ---

void lh_sim_client_init(struct lh_sim *sim, unsigned index)
{
    struct lh_sim_client *client = &sim->clients[index];
    client->index = index;
    client->clock = lh_sim_some_clock(sim);
    client->library.weakened = sim->settings.weakened;
    become_somebody(client);
    wake_in(client, sim, soon(sim));
}

void lh_sim_client_probe(struct lh_sim *sim, unsigned node, unsigned name, int64_t wait_ms)
{
    struct lh_sim_client *client = &sim->clients[sim->settings.clients];
    client->probes = true; // and gone: it does nothing else
    become_somebody(client);
    client->name = name;
    snprintf(client->library.name, sizeof client->library.name, "n%u", name);
    client->library.answer.status = LH_ANSWER_UNKNOWN;
    client->library.ttl_ms = sim->settings.max_ttl_ns / LH_NS_PER_MS;
    client->library.id = lh_prng_next(&sim->prng) >> 1;
    client->wait_ms = wait_ms;
    client->node = node;
    probe(client, sim);
}
