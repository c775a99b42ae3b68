// A client: an application over the client library that ships, which acquires, holds, writes to a
// fenced resource while it may, and then releases, crashes, stands still, moves to another node or
// shows no interest any more. What is said to a node, when, and until when the holder may act is
// src/client/keeper.c's; the world stands where library.c has sockets, a timer and the clock.
//
// A write is sent while the lease is valid and may arrive at any time later: between checking and
// acting lies all that a pause can do, and only the fence helps.
#include "sim/world.h"

#include <stdio.h>
#include <string.h>

#include "client/authority.h"

// Every reading is later than the last, as far as the settings go.
static struct lh_instant read_clock(const struct lh_sim_client *client, struct lh_sim *sim)
{
    if (sim->settings.turn_ns > 0)
        sim->now += lh_sim_between(sim, 0, sim->settings.turn_ns);
    return (struct lh_instant){lh_sim_clock_read(&client->clock, sim->now)};
}

static bool holds(const struct lh_sim_client *client, struct lh_sim *sim)
{
    return lh_authority_at(client->deadline, read_clock(client, sim));
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
                 struct lh_slice bytes)
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
    lh_sim_queue_push(sim->queue, at, &event, bytes.data, bytes.size_bytes);
}

static void disconnect(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (client->connected)
        send(client, sim, LH_SIM_GONE, (struct lh_slice){NULL, 0});
    client->connected = client->asking = false;
}

static bool connect_to(struct lh_sim_client *client, struct lh_sim *sim, unsigned node)
{
    disconnect(client, sim);
    if (sim->nodes[node].driver == NULL)
        return false;
    client->connected = true;
    client->life++;
    client->node = node;
    client->node_life = sim->nodes[node].life;
    client->to_node_at = client->to_client_at = 0;
    return true;
}

// --- around the keeper: what library.c does ---

// The deadline that lh_lease_valid goes by.
static void publish(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_instant deadline = client->keeping ? lh_keeper_deadline(&client->keeper) : LH_PAST;
    bool clings = (sim->settings.weakened & LH_SIM_WEAKEN_EARLY_RELEASE) != 0 && client->keeping &&
                  client->keeper.phase == LH_KEEPER_RELEASING;
    if (deadline.ns == client->deadline.ns || clings)
        return;
    client->deadline = deadline;
    if (holds(client, sim))
        client->grant = lh_sim_oracle_claim(&sim->oracle, who(client), client->name,
                                            (uint64_t)client->keeper.holding.token, sim->now);
    else if (deadline.ns == LH_PAST.ns)
        lh_sim_oracle_drop(&sim->oracle, who(client), client->name);
}

static void carry(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_keeper *keeper = &client->keeper;
    for (;;) {
        publish(client, sim);
        switch (lh_keeper_wish(keeper)) {
        case LH_KEEPER_NOTHING: return;
        case LH_KEEPER_DISCONNECT: disconnect(client, sim); break;
        case LH_KEEPER_CONNECT:
            if (connect_to(client, sim, (unsigned)keeper->endpoint))
                lh_keeper_connected(keeper, read_clock(client, sim));
            else
                lh_keeper_ended(keeper, read_clock(client, sim), LH_REACH_NOBODY, "nobody listens");
            break;
        case LH_KEEPER_WRITE: {
            struct lh_slice bytes = lh_keeper_output(keeper, read_clock(client, sim));
            send(client, sim, LH_SIM_TO_NODE, bytes);
            lh_keeper_wrote(keeper, bytes.size_bytes);
            break;
        }
        }
    }
}

static void arm(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_instant wake = lh_keeper_wake_at(&client->keeper);
    int64_t at = lh_sim_clock_when(&client->clock, wake.ns);
    if (at >= client->turn_at) // that turn will look, and arm again
        return;
    client->turn_at = at > sim->now ? at : sim->now;
    struct lh_sim_event event = {
        .kind = LH_SIM_TURN, .target = client->index, .life = ++client->turn};
    lh_sim_queue_push(sim->queue, client->turn_at, &event, NULL, 0);
}

static void write_something(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_sim_event event = {.kind = LH_SIM_STORE,
                                 .target = client->name,
                                 .token = (uint64_t)client->keeper.holding.token,
                                 .grant = client->grant};
    if (!holds(client, sim)) // asked at the moment of use
        return;
    int64_t at = sim->now + lh_sim_between(sim, 1, sim->settings.client_ns);
    if (lh_sim_chance(sim, sim->settings.held_ppm + sim->settings.stall_ppm))
        at += lh_sim_span(sim, LH_NS_PER_MS, 8 * sim->settings.max_ttl_ns);
    lh_sim_queue_push(sim->queue, at, &event, NULL, 0);
}

// The next moment at which a holder does something.
static void hold_on(struct lh_sim_client *client, struct lh_sim *sim)
{
    int64_t ttl_ns = client->keeper.plan.ttl.ns;
    wake_in(client, sim, lh_sim_between(sim, ttl_ns / 8, ttl_ns / 2));
}

static void stop_keeping(struct lh_sim_client *client, struct lh_sim *sim)
{
    disconnect(client, sim);
    if (client->keeping)
        client->released = lh_keeper_released(&client->keeper);
    client->keeping = false;
    client->turn_at = INT64_MAX;
    client->turn++;
    publish(client, sim);
}

// After every call of the library: what it wishes, what it tells, when it wants its turn.
static void settle(struct lh_sim_client *client, struct lh_sim *sim)
{
    struct lh_keeper_event event;
    carry(client, sim);
    while (lh_keeper_event(&client->keeper, &event)) {
        lh_sim_note(sim, "told", client->index, event.kind, (uint64_t)event.token);
        if (event.kind != LH_KEEPER_GRANTED)
            continue;
        client->granted = true;
        write_something(client, sim);
        hold_on(client, sim);
    }
    if (client->keeper.phase != LH_KEEPER_ENDED) {
        arm(client, sim);
        return;
    }
    stop_keeping(client, sim);
    wake_in(client, sim, soon(sim));
}

static void keep(struct lh_sim_client *client, struct lh_sim *sim, struct lh_keeper_plan plan)
{
    char name[8];
    snprintf(name, sizeof name, "n%u", client->name);
    plan.name = name;
    plan.holder = client->holder;
    plan.released = client->released;
    plan.endpoint_count = (size_t)sim->settings.nodes;
    plan.seed = lh_prng_next(&sim->prng);
    client->token = 0;
    client->granted = false;
    client->keeping = true;
    lh_keeper_init(&client->keeper, &plan, read_clock(client, sim));
    settle(client, sim);
}

// --- wanting ---

// A holder nobody else has. One holder asks for one name only.
static void become_somebody(struct lh_sim_client *client)
{
    snprintf(client->holder, sizeof client->holder, "c%u.%u", client->index, client->holders++);
    client->token = client->released = 0;
}

static void resume(struct lh_sim_client *client, struct lh_sim *sim)
{
    keep(client, sim,
         (struct lh_keeper_plan){
             .token = client->token,
             .ttl = client->keeper.plan.ttl,
             .patience = client->keeper.plan.patience,
             .endpoint = lh_sim_below(sim, (uint64_t)sim->settings.nodes),
         });
}

static void acquire(struct lh_sim_client *client, struct lh_sim *sim)
{
    int64_t most_ns = sim->settings.max_ttl_ns;
    int64_t least_ns =
        most_ns / 64 > LH_TTL_MIN_MS * LH_NS_PER_MS ? most_ns / 64 : LH_TTL_MIN_MS * LH_NS_PER_MS;
    unsigned name = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.names);
    if (name != client->name)
        become_somebody(client);
    client->name = name;
    struct lh_keeper_plan plan = {.endpoint = lh_sim_below(sim, (uint64_t)sim->settings.nodes)};
    plan.ttl = lh_ms(lh_sim_span(sim, least_ns, most_ns) / LH_NS_PER_MS);
    plan.patience.ns = lh_sim_span(sim, 20 * LH_NS_PER_MS, 2 * plan.ttl.ns);
    if (lh_sim_chance(sim, sim->settings.wait_ppm))
        plan.wait.ns = lh_sim_between(sim, 1, 4 * most_ns);
    if (plan.wait.ns > 0 && lh_sim_below(sim, 8) == 0) // it will not stay in line for so long
        wake_in(client, sim, lh_sim_between(sim, 1, plan.wait.ns));
    keep(client, sim, plan);
}

// A question about a lease, typed by hand; whatever comes back ends it.
static void ask_about(struct lh_sim_client *client, struct lh_sim *sim)
{
    char line[32];
    unsigned name = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.names);
    unsigned node = (unsigned)lh_sim_below(sim, (uint64_t)sim->settings.nodes);
    uint64_t choice = lh_sim_below(sim, 4);
    if (choice == 0)
        snprintf(line, sizeof line, "LEASE REVOKE n%u\r\n", name);
    else if (choice == 1)
        snprintf(line, sizeof line, "LEASE LIST COUNT 5\r\n");
    else
        snprintf(line, sizeof line, "LEASE GET n%u\r\n", name);
    if (connect_to(client, sim, node)) {
        client->asking = true;
        send(client, sim, LH_SIM_TO_NODE, lh_slice_of_string(line));
    }
    wake_in(client, sim, client->asking ? 2 * LH_NS_PER_S : soon(sim));
}

// --- holding ---

void lh_sim_client_crash(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (client->keeping && client->granted &&
        client->keeper.holding.released < client->keeper.holding.token)
        client->token = client->keeper.holding.token;
    stop_keeping(client, sim);
    if (sim->healed || lh_sim_below(sim, 3) > 0) // else it wrote down what it had and let go
        become_somebody(client);
    client->paused_until = 0;
    wake_in(client, sim, soon(sim));
}

static void stand_still(struct lh_sim_client *client, struct lh_sim *sim)
{
    client->paused_until = sim->now + lh_sim_span(sim, LH_NS_PER_MS, sim->settings.span_ns);
    lh_sim_note(sim, "client-hang", client->index, 0, 0);
}

// Its connection breaks, or it stops and goes on with the same lease at another node.
static void move(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (lh_sim_below(sim, 2) == 0) {
        disconnect(client, sim);
        lh_keeper_ended(&client->keeper, read_clock(client, sim), LH_REACH_BROKEN, "it broke");
        hold_on(client, sim);
        settle(client, sim);
        return;
    }
    client->token = client->keeper.holding.token;
    stop_keeping(client, sim);
    wake_in(client, sim, lh_sim_between(sim, 1, LH_NS_PER_MS));
}

static void let_go(struct lh_sim_client *client, struct lh_sim *sim)
{
    lh_keeper_release(&client->keeper, read_clock(client, sim));
    settle(client, sim);
}

static void act_as_holder(struct lh_sim_client *client, struct lh_sim *sim)
{
    const struct lh_sim_settings *settings = &sim->settings;
    int64_t dice = (int64_t)lh_sim_below(sim, LH_SIM_PPM);
    write_something(client, sim);
    if ((dice -= settings->client_crash_ppm) < 0) {
        lh_sim_client_crash(client, sim);
        return;
    }
    hold_on(client, sim);
    if ((dice -= settings->client_hang_ppm) < 0)
        stand_still(client, sim);
    else if ((dice -= settings->client_move_ppm) < 0)
        move(client, sim);
    else if ((dice -= settings->client_release_ppm) < 0)
        let_go(client, sim);
    else if (dice < settings->client_rest_ppm)
        lh_keeper_interest(&client->keeper, LH_PAST);
}

// Asks again, beginning at the next node, until somebody grants.
static void probe(struct lh_sim_client *client, struct lh_sim *sim)
{
    client->node = (client->node + 1) % (unsigned)sim->settings.nodes;
    keep(client, sim,
         (struct lh_keeper_plan){.ttl = {sim->settings.max_ttl_ns},
                                 .wait = {client->probe_ns},
                                 .patience = {client->probe_ns},
                                 .endpoint = client->node});
}

static void act(struct lh_sim_client *client, struct lh_sim *sim)
{
    if (client->asking) // no answer in time: it must meet nobody when it comes
        disconnect(client, sim);
    if (client->probes && !client->keeping)
        probe(client, sim);
    if (client->gone)
        return;
    if (client->keeping) {
        if (holds(client, sim))
            act_as_holder(client, sim);
        else if (!client->granted)
            let_go(client, sim);
    } else if (client->token != 0 && lh_sim_below(sim, 2) == 0) {
        resume(client, sim);
    } else if (lh_sim_below(sim, 12) == 0) {
        ask_about(client, sim);
    } else {
        acquire(client, sim);
    }
}

// --- what comes ---

static void on_bytes(struct lh_sim_client *client, struct lh_sim *sim,
                     const struct lh_sim_event *event)
{
    if (client->asking) {
        disconnect(client, sim);
        wake_in(client, sim, soon(sim));
        return;
    }
    for (size_t done = 0; done < event->size && client->connected;) {
        size_t room = 0;
        uint8_t *input = lh_keeper_input(&client->keeper, &room);
        size_t part = event->size - done < room ? event->size - done : room;
        struct lh_instant now = read_clock(client, sim);
        if (part == 0)
            break;
        memcpy(input, event->bytes + done, part);
        done += part;
        if ((sim->settings.weakened & LH_SIM_WEAKEN_CLIENT_OVERGRANT) != 0)
            client->keeper.stream.sent = now;
        lh_keeper_received(&client->keeper, now, part);
        carry(client, sim);
    }
    settle(client, sim);
}

static void on_reset(struct lh_sim_client *client, struct lh_sim *sim)
{
    client->connected = false;
    if (client->asking)
        wake_in(client, sim, lh_sim_between(sim, 1, LH_NS_PER_MS));
    client->asking = false;
    if (!client->keeping)
        return;
    lh_keeper_ended(&client->keeper, read_clock(client, sim), LH_REACH_BROKEN, "it was closed");
    settle(client, sim);
}

static bool is_current(const struct lh_sim_client *client, const struct lh_sim_event *event)
{
    if (event->kind == LH_SIM_WAKE)
        return event->life == client->wake;
    if (event->kind == LH_SIM_TURN)
        return event->life == client->turn;
    return client->connected && event->life == client->life;
}

void lh_sim_client_event(struct lh_sim_client *client, struct lh_sim *sim,
                         const struct lh_sim_event *event)
{
    if (!is_current(client, event))
        return;
    if (client->paused_until > sim->now) {
        lh_sim_queue_push(sim->queue, client->paused_until, event, event->bytes, event->size);
        return;
    }
    switch (event->kind) {
    case LH_SIM_WAKE: act(client, sim); break;
    case LH_SIM_TURN:
        client->turn_at = INT64_MAX;
        lh_keeper_turn(&client->keeper, read_clock(client, sim));
        settle(client, sim);
        break;
    case LH_SIM_TO_CLIENT: on_bytes(client, sim, event); break;
    default: on_reset(client, sim); break;
    }
}

// --- lives ---

void lh_sim_client_init(struct lh_sim *sim, unsigned index)
{
    struct lh_sim_client *client = &sim->clients[index];
    client->index = index;
    client->clock = lh_sim_some_clock(sim);
    client->turn_at = INT64_MAX;
    become_somebody(client);
    wake_in(client, sim, soon(sim));
}

void lh_sim_client_bend(struct lh_sim_client *client, struct lh_sim *sim, int64_t rate_ppm)
{
    lh_sim_clock_bend(&client->clock, sim->now, rate_ppm);
    client->turn_at = INT64_MAX;
    if (client->keeping)
        arm(client, sim);
}

void lh_sim_client_probe(struct lh_sim *sim, unsigned node, unsigned name, int64_t wait_ns)
{
    struct lh_sim_client *client = &sim->clients[sim->settings.clients];
    client->probes = true; // and gone: it does nothing else
    stop_keeping(client, sim);
    become_somebody(client);
    client->name = name;
    client->node = node;
    client->probe_ns = wait_ns;
    probe(client, sim);
}
