// Whole clusters under everything at once: daemons crash with and without their disks, stop and go
// on, networks split, lose, repeat and delay, disks stall, clocks run apart, and clients acquire,
// renew, release, wait, vanish and ask through any node, under every combination of settings. The
// referee of host_fixture.h watches all of it; when everything is healed, a lease of every name
// must be granted within a stated bound.
//
// The seed chooses everything. `test_host_soak SEED [COUNT]` runs exactly those;
// LEASEHOLD_FIXTURE_LOUD shows why.
// run-tests: timeout 300
#include "host_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SLOW 1
#elif defined(__has_feature)
#define IS_SLOW __has_feature(address_sanitizer)
#else
#define IS_SLOW 0
#endif
#if IS_SLOW
#define SEEDS 48
#else
#define SEEDS 300
#endif
#define ACTORS_MAX 24
#define NAMES 4

enum actor_state { ACTOR_AWAY, ACTOR_IDLE, ACTOR_ASKING, ACTOR_HOLDING };

struct actor {
    enum actor_state state;
    unsigned client;
    bool connected, answered;
    int64_t next_ns;
    uint64_t token;
    unsigned name;
    char request[256]; // the last acquisition, to be sent again at its turn
    char holder[32];
    int64_t ttl_ms;
};

struct soak {
    struct cluster *cluster;
    struct actor actors[ACTORS_MAX];
    unsigned actor_count, names, holders;
    int64_t chaos_ns;
    int64_t calm; // greater: fewer things happen
    bool wiped[LH_MEMBERS_MAX];
    unsigned crashes, wipes, cuts;
};

static char seed_aborted[64]; // written before each seed: a signal handler may not format

static void on_abort(int number)
{
    if (write(STDERR_FILENO, seed_aborted, strlen(seed_aborted)) < 0)
        _exit(134);
    signal(number, SIG_DFL);
    raise(number);
}

static uint64_t below(struct soak *soak, uint64_t n)
{
    return lh_prng_below(&soak->cluster->prng, n);
}

static int64_t soon(struct soak *soak, int64_t most_ms)
{
    return soak->cluster->true_ns +
           lh_prng_between(&soak->cluster->prng, 0, most_ms * LH_NS_PER_MS);
}

// --- settings ---

static struct cluster_settings some_settings(uint64_t seed)
{
    struct lh_prng prng;
    lh_prng_seed_number(&prng, ~seed);
    const unsigned sizes[] = {3, 3, 3, 5, 5, 7};
    const int64_t ttls[] = {200, 1000, 1000, 3000};
    const uint32_t rates[] = {10, 1000, 10000, 100000};
    const int64_t latencies[] = {20, 50, 300, 3000};
    struct cluster_settings settings = cluster_defaults();
    settings.seed = seed;
    settings.nodes = sizes[lh_prng_below(&prng, 6)];
    settings.max_ttl_ms = ttls[lh_prng_below(&prng, 4)];
    settings.rate_ppm = rates[lh_prng_below(&prng, 4)];
    settings.drift_ppm = (int32_t)settings.rate_ppm;
    settings.idle_forget = lh_prng_below(&prng, 2) == 0;
    settings.one_round_renewal = lh_prng_below(&prng, 2) == 0;
    settings.quarantine_ceiling = lh_prng_below(&prng, 2) == 0;
    settings.clean_restart = lh_prng_below(&prng, 2) == 0;
    settings.latency_ns = latencies[lh_prng_below(&prng, 4)] * LH_NS_PER_US;
    settings.jitter_ns = lh_prng_below(&prng, 2) == 0 ? 0 : settings.latency_ns;
    settings.disk_ns = lh_prng_between(&prng, 10 * LH_NS_PER_US, 20 * LH_NS_PER_MS);
    settings.step_ns = lh_prng_below(&prng, 2) == 0 ? 0 : 2000;
    settings.max_leases = lh_prng_below(&prng, 4) == 0 ? 4 : 64;
    settings.max_clients = ACTORS_MAX + 8;
    return settings;
}

static void set_network(struct soak *soak)
{
    struct cluster *cluster = soak->cluster;
    const uint32_t losses[] = {0, 10000, 100000, 300000};
    cluster->loss_ppm = losses[below(soak, 4)];
    cluster->duplicate_ppm = losses[below(soak, 4)];
    cluster->late_ppm = losses[below(soak, 4)];
    cluster->batch_ppm = losses[below(soak, 4)] * 3;
}

// --- actors ---

static struct actor *actor_of(struct soak *soak, unsigned client)
{
    for (unsigned i = 0; i < soak->actor_count; i++)
        if (soak->actors[i].connected && soak->actors[i].client == client)
            return &soak->actors[i];
    return NULL;
}

static void on_reply(struct cluster *cluster, unsigned client, const struct lh_resp_value *reply)
{
    struct soak *soak = cluster->clients[client].context;
    struct actor *actor = actor_of(soak, client);
    struct lh_slice status = {NULL, 0};
    if (actor == NULL || actor->state != ACTOR_ASKING)
        return;
    lh_resp_as_text(lh_resp_get(reply, "status"), &status);
    int64_t token = 0;
    lh_resp_as_integer(lh_resp_get(reply, "token"), &token);
    actor->state = ACTOR_IDLE;
    actor->next_ns = soon(soak, 1 + (int64_t)below(soak, 50) * soak->calm);
    if (lh_slice_equal(status, LH_SLICE("granted"))) {
        actor->state = ACTOR_HOLDING;
        actor->token = (uint64_t)token;
        actor->next_ns = soon(soak, actor->ttl_ms * (below(soak, 8) == 0 ? 2 : 1));
    } else if (lh_slice_equal(status, LH_SLICE("turn")) && below(soak, 10) > 0) {
        actor->state = ACTOR_ASKING;
        cluster_command(cluster, client, "%s", actor->request);
    } else if (actor->token != 0) {
        actor->state = ACTOR_HOLDING; // perhaps
        if (lh_slice_equal(status, LH_SLICE("lost")))
            actor->token = 0, actor->state = ACTOR_IDLE;
    }
}

static bool connect_somewhere(struct soak *soak, struct actor *actor)
{
    struct cluster *cluster = soak->cluster;
    unsigned process = (unsigned)below(soak, cluster->process_count);
    actor->next_ns = soon(soak, 20 * soak->calm);
    if (cluster->processes[process].driver == NULL)
        return false;
    actor->client = cluster_connect(cluster, process);
    actor->connected = true;
    actor->state = actor->token != 0 ? ACTOR_HOLDING : ACTOR_IDLE;
    cluster->clients[actor->client].context = soak;
    cluster->clients[actor->client].on_reply = on_reply;
    return true;
}

static void ask(struct soak *soak, struct actor *actor)
{
    struct cluster *cluster = soak->cluster;
    actor->token = 0;
    actor->name = (unsigned)below(soak, soak->names);
    actor->ttl_ms = lh_prng_between(&cluster->prng, 50, cluster->settings.max_ttl_ms);
    snprintf(actor->holder, sizeof actor->holder, "h%u", (unsigned)below(soak, soak->holders));
    char wait[64] = "", id[32] = "";
    if (below(soak, 3) > 0)
        snprintf(wait, sizeof wait, "WAIT %ums", (unsigned)below(soak, 4000));
    if (below(soak, 3) == 0)
        snprintf(id, sizeof id, "ID %u", (unsigned)below(soak, 1000));
    snprintf(actor->request, sizeof actor->request,
             "LEASE ACQUIRE n%u TTL %lldms HOLDER %s TIMEOUT %ums %s %s", actor->name,
             (long long)actor->ttl_ms, actor->holder, 1 + (unsigned)below(soak, 3000), wait, id);
    actor->state = ACTOR_ASKING;
    cluster_command(cluster, actor->client, "%s", actor->request);
}

static void act_idle(struct soak *soak, struct actor *actor)
{
    unsigned client = actor->client;
    unsigned name = (unsigned)below(soak, soak->names);
    switch (below(soak, 14)) {
    case 0:
        cluster_disconnect(soak->cluster, client);
        actor->connected = false;
        actor->next_ns = soon(soak, 100);
        return;
    case 1: cluster_command(soak->cluster, client, "LEASE GET n%u", name); break;
    case 2: cluster_command(soak->cluster, client, "LEASE LIST COUNT %u", 1 + name); break;
    case 3: cluster_command(soak->cluster, client, "LEASE REVOKE n%u", name); break;
    case 4: cluster_command(soak->cluster, client, "CLUSTER STATUS"); break;
    default: ask(soak, actor); return;
    }
    actor->state = ACTOR_ASKING;
}

static void act_holding(struct soak *soak, struct actor *actor)
{
    struct cluster *cluster = soak->cluster;
    unsigned long long token = actor->token;
    switch (below(soak, 10)) {
    case 0: // as if killed
        cluster_disconnect(cluster, actor->client);
        actor->connected = false;
        actor->token = below(soak, 2) == 0 ? 0 : actor->token;
        actor->next_ns = soon(soak, 100);
        return;
    case 1:
        actor->state = ACTOR_IDLE;
        actor->token = 0;
        actor->next_ns = soon(soak, 100);
        return;
    case 2:
    case 3:
        cluster_command(cluster, actor->client, "LEASE RELEASE n%u %llu %s", actor->name, token,
                        actor->holder);
        actor->token = 0;
        break;
    default:
        actor->ttl_ms = lh_prng_between(&cluster->prng, 50, cluster->settings.max_ttl_ms);
        cluster_command(cluster, actor->client, "LEASE RENEW n%u %llu %s TTL %lldms TIMEOUT %ums",
                        actor->name, token, actor->holder, (long long)actor->ttl_ms,
                        1 + (unsigned)below(soak, 2000));
    }
    actor->state = ACTOR_ASKING;
}

static void act(struct soak *soak, struct actor *actor)
{
    actor->next_ns = INT64_MAX;
    if (actor->connected && !soak->cluster->clients[actor->client].open) {
        actor->connected = false;
        actor->state = ACTOR_AWAY;
    }
    if (!actor->connected && !connect_somewhere(soak, actor))
        return;
    switch (actor->state) {
    case ACTOR_AWAY:
    case ACTOR_IDLE: act_idle(soak, actor); break;
    case ACTOR_HOLDING: act_holding(soak, actor); break;
    case ACTOR_ASKING:
        if (below(soak, 4) == 0) { // no patience left
            cluster_disconnect(soak->cluster, actor->client);
            actor->connected = false;
        }
        break;
    }
    if (actor->next_ns == INT64_MAX)
        actor->next_ns = soon(soak, 6000);
}

// --- chaos ---

static unsigned faults_allowed(const struct soak *soak)
{
    return (soak->cluster->settings.nodes - 1) / 2;
}

static unsigned missing_memories(struct soak *soak)
{
    unsigned count = 0;
    for (unsigned i = 0; i < soak->cluster->process_count; i++) {
        if (soak->wiped[i] && cluster_serving(soak->cluster, i))
            soak->wiped[i] = false;
        count += soak->wiped[i];
    }
    return count;
}

static void crash(struct soak *soak, unsigned process)
{
    struct cluster *cluster = soak->cluster;
    soak->crashes++;
    if (cluster->settings.clean_restart && below(soak, 2) == 0) { // as an upgrade does
        cluster_shut_down(cluster, process, below(soak, 8) == 0 ? 0 : CLUSTER_WRITES_MAX);
        if (below(soak, 4) > 0)
            assert_true(cluster_start(cluster, process));
        return;
    }
    cluster_crash(cluster, process, (unsigned)below(soak, 3));
    bool wipe = below(soak, 5) == 0 && missing_memories(soak) < faults_allowed(soak);
    if (!wipe || soak->wiped[process])
        return;
    soak->wipes++;
    soak->wiped[process] = true;
    cluster_wipe(cluster, process);
}

static void disturb(struct soak *soak)
{
    struct cluster *cluster = soak->cluster;
    unsigned process = (unsigned)below(soak, cluster->process_count);
    unsigned other = (unsigned)below(soak, cluster->process_count);
    switch (below(soak, 12)) {
    case 0:
    case 1:
        if (cluster->processes[process].driver != NULL)
            crash(soak, process);
        break;
    case 2:
    case 3:
    case 4:
        if (cluster->processes[process].driver == NULL)
            assert_true(cluster_start(cluster, process));
        break;
    case 5: cluster_isolate(cluster, process, below(soak, 3) == 0); break;
    case 6:
        cluster->cut[process][other] = below(soak, 2) == 0;
        soak->cuts++;
        break;
    case 7: memset(cluster->cut, 0, sizeof cluster->cut); break;
    case 8: cluster_stall_disk(cluster, process, below(soak, 3) == 0); break;
    case 9:
        if (below(soak, 3) == 0)
            cluster_stop(cluster, process);
        break;
    case 10:
        for (unsigned i = 0; i < cluster->process_count; i++)
            cluster_continue(cluster, i);
        break;
    case 11: set_network(soak); break;
    }
    soak->chaos_ns = soon(soak, 300 * soak->calm);
}

static void run_wild(struct soak *soak, int64_t ms)
{
    struct cluster *cluster = soak->cluster;
    int64_t end = cluster->true_ns + ms * LH_NS_PER_MS;
    while (cluster->true_ns < end) {
        int64_t next = soak->chaos_ns < end ? soak->chaos_ns : end;
        struct actor *actor = NULL;
        for (unsigned i = 0; i < soak->actor_count; i++) {
            struct actor *candidate = &soak->actors[i];
            if (candidate->next_ns < next) {
                next = candidate->next_ns;
                actor = candidate;
            }
        }
        if (cluster_step(cluster, next))
            continue;
        if (actor != NULL)
            act(soak, actor);
        else if (next == soak->chaos_ns)
            disturb(soak);
    }
}

// --- healing ---

static void heal(struct soak *soak)
{
    struct cluster *cluster = soak->cluster;
    memset(cluster->cut, 0, sizeof cluster->cut);
    cluster->loss_ppm = cluster->duplicate_ppm = cluster->late_ppm = 0;
    for (unsigned i = 0; i < cluster->process_count; i++) {
        cluster_continue(cluster, i);
        cluster_stall_disk(cluster, i, false);
        if (cluster->processes[i].driver == NULL)
            assert_true(cluster_start(cluster, i));
    }
    for (unsigned i = 0; i < soak->actor_count; i++)
        if (soak->actors[i].connected)
            cluster_disconnect(cluster, soak->actors[i].client);
    // Ask and Announce are repeated every 200 ms, stragglers are up to 2 s late; then at most the
    // longest Q.
    int64_t longest = cluster->settings.max_ttl_ms * 5 / 4;
    if (!cluster_run_until_serving(cluster, longest + 5000))
        cluster_break(cluster, "not everybody serves after everything was healed");
    for (unsigned i = 0; i < soak->names; i++) {
        unsigned process = (unsigned)below(soak, cluster->process_count);
        unsigned client = cluster_connect(cluster, process);
        char request[128];
        snprintf(request, sizeof request, "LEASE ACQUIRE n%u TTL 100ms WAIT %lldms HOLDER last%u",
                 i, (long long)longest + 3000, i);
        int64_t began = cluster->true_ns;
        cluster_call(cluster, client, "%s", request);
        for (unsigned turns = 0; turns < 8 && strcmp(cluster_status(cluster, client), "turn") == 0;
             turns++)
            cluster_call(cluster, client, "%s", request);
        if (strcmp(cluster_status(cluster, client), "granted") != 0)
            cluster_break(cluster, "healed, and yet n%u is not granted within %lld ms: %s %s %s", i,
                          (long long)((cluster->true_ns - began) / LH_NS_PER_MS),
                          cluster_status(cluster, client), cluster_text(cluster, client, "reason"),
                          cluster_error(cluster, client));
        cluster_disconnect(cluster, client);
    }
}

static void soak_one(uint64_t seed, uint64_t *grants, uint64_t *steps, uint64_t *restores)
{
    struct cluster_settings settings = some_settings(seed);
    struct soak *soak = calloc(1, sizeof *soak);
    snprintf(seed_aborted, sizeof seed_aborted, "# seed %llu aborted\n", (unsigned long long)seed);
    soak->cluster = cluster_open(&settings);
    soak->names = 1 + (unsigned)below(soak, NAMES);
    soak->holders = 1 + (unsigned)below(soak, 40);
    soak->actor_count = 2 + (unsigned)below(soak, ACTORS_MAX - 2);
    soak->calm = INT64_C(1) << below(soak, 6);
    cluster_run(soak->cluster, (int64_t)below(soak, 1000));
    for (unsigned round = 0; round < 3; round++) {
        set_network(soak);
        soak->chaos_ns = soon(soak, 300 * soak->calm);
        for (unsigned i = 0; i < soak->actor_count; i++)
            soak->actors[i] = (struct actor){.next_ns = soon(soak, 1000)};
        run_wild(soak, 5000 + (int64_t)below(soak, 5000));
        heal(soak);
    }
    for (unsigned i = 0; i < soak->cluster->process_count; i++)
        *restores += soak->cluster->processes[i].restores;
    *grants += soak->cluster->grants;
    *steps += soak->cluster->steps;
    cluster_close(soak->cluster);
    free(soak);
}

static uint64_t first_seed = 1, seed_count = SEEDS;

static void test_soak(void **state)
{
    uint64_t grants = 0, steps = 0, restores = 0;
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        soak_one(seed, &grants, &steps, &restores);
    printf("# seeds %llu to %llu: %llu grants, %llu saves taken over, in %llu events\n",
           (unsigned long long)first_seed, (unsigned long long)(first_seed + seed_count - 1),
           (unsigned long long)grants, (unsigned long long)restores, (unsigned long long)steps);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    }
    signal(SIGABRT, on_abort);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
