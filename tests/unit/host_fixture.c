// A whole cluster in one process: see host_fixture.h. True time moves from event to event, with
// ties broken by the order in which events were made; nothing here depends on addresses or on the
// machine.
#include "host_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"

#define MILLION 1000000

__extension__ typedef __int128 wide;

enum event_kind {
    EVENT_DATAGRAM,
    EVENT_DISK,
    EVENT_FLUSH,
    EVENT_TO_NODE,   // bytes of a client
    EVENT_GONE,      // a client has closed
    EVENT_TO_CLIENT, // bytes, and then perhaps the end
};

struct cluster_event {
    int64_t at_ns;
    uint64_t sequence;
    enum event_kind kind;
    unsigned process, client;
    uint32_t life; // of the process or connection that it is for
    bool ended;    // a connection: its client has
    uint32_t session;
    uint8_t from, generation;
    bool close;
    uint8_t *bytes;
    size_t size;
};

void cluster_break(struct cluster *cluster, const char *format, ...)
{
    char text[512];
    va_list list;
    cluster->broken = true;
    if (cluster->expect_break)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "# seed %llu, %lld ns: %s\n", (unsigned long long)cluster->settings.seed,
            (long long)cluster->true_ns, text);
    fail_msg("seed %llu, %lld ns: %s", (unsigned long long)cluster->settings.seed,
             (long long)cluster->true_ns, text);
}

static bool chance(struct cluster *cluster, uint32_t ppm)
{
    return ppm > 0 && lh_prng_below(&cluster->prng, MILLION) < ppm;
}

// --- memory ---

// What is large and hardly touched: the kernel's zeroes, right before a page that nobody may touch. A
// sanitizer would write the shadow of all of it, three times.
static size_t pages_of(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

static void *take_pages(size_t size)
{
    const size_t mapped = pages_of(size), page = pages_of(1);
    uint8_t *pages = mmap(NULL, mapped + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + mapped, page, PROT_NONE) != 0)
        abort();
    return pages + mapped - size;
}

static void give_pages_back(void *memory, size_t size)
{
    const size_t mapped = pages_of(size);
    if (memory != NULL && munmap((uint8_t *)memory + size - mapped, mapped + pages_of(1)) != 0)
        abort();
}

// --- clocks ---

static int64_t read_clock(const struct cluster *cluster, const struct cluster_clock *clock)
{
    wide ns = cluster->true_ns;
    return (int64_t)(ns + ns * clock->rate_ppm / MILLION) + clock->offset_ns;
}

// The first true instant at which `clock` reads `local` or later.
static int64_t true_of(const struct cluster_clock *clock, int64_t local)
{
    wide behind = (wide)local - clock->offset_ns;
    if (behind <= 0)
        return 0;
    wide at = behind * MILLION / (MILLION + clock->rate_ppm);
    wide latest = INT64_MAX / 4;
    while (at + at * clock->rate_ppm / MILLION < behind && at < latest)
        at++;
    while (at > 0 && at - 1 + (at - 1) * clock->rate_ppm / MILLION >= behind)
        at--;
    return (int64_t)(at < latest ? at : latest);
}

static struct cluster_clock some_clock(struct cluster *cluster)
{
    int32_t drift = cluster->settings.drift_ppm;
    return (struct cluster_clock){
        .rate_ppm = (int32_t)lh_prng_between(&cluster->prng, -drift, drift),
        .offset_ns = lh_prng_between(&cluster->prng, 100 * LH_NS_PER_S, 1000 * LH_NS_PER_S),
    };
}

struct lh_instant cluster_now(const struct cluster *cluster, unsigned process)
{
    return (struct lh_instant){read_clock(cluster, &cluster->processes[process].clock)};
}

// --- events ---

static bool sooner(const struct cluster_event *a, const struct cluster_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void push_event(struct cluster *cluster, struct cluster_event event, const void *bytes,
                       size_t size)
{
    event.sequence = ++cluster->sequence;
    event.bytes = size > 0 ? malloc(size) : NULL;
    event.size = size;
    if (size > 0)
        memcpy(event.bytes, bytes, size);
    if (cluster->heap_count == cluster->heap_capacity) {
        cluster->heap_capacity = 2 * cluster->heap_capacity + 64;
        cluster->heap = realloc(cluster->heap, cluster->heap_capacity * sizeof cluster->heap[0]);
    }
    size_t at = cluster->heap_count++;
    while (at > 0 && sooner(&event, &cluster->heap[(at - 1) / 2])) {
        cluster->heap[at] = cluster->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    cluster->heap[at] = event;
}

static struct cluster_event pop_event(struct cluster *cluster)
{
    struct cluster_event first = cluster->heap[0];
    struct cluster_event last = cluster->heap[--cluster->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= cluster->heap_count)
            break;
        if (child + 1 < cluster->heap_count &&
            sooner(&cluster->heap[child + 1], &cluster->heap[child]))
            child++;
        if (!sooner(&cluster->heap[child], &last))
            break;
        cluster->heap[at] = cluster->heap[child];
        at = child;
    }
    if (cluster->heap_count > 0)
        cluster->heap[at] = last;
    return first;
}

// --- the referee ---

static struct cluster_name *name_of(struct cluster *cluster, const char *text)
{
    for (unsigned i = 0; i < cluster->name_count; i++)
        if (strcmp(cluster->names[i].text, text) == 0)
            return &cluster->names[i];
    if (cluster->name_count == CLUSTER_NAMES_MAX)
        cluster_break(cluster, "the fixture knows only %d names", CLUSTER_NAMES_MAX);
    struct cluster_name *name = &cluster->names[cluster->name_count++];
    *name = (struct cluster_name){.owner = CLUSTER_PROCESSES_MAX};
    snprintf(name->text, sizeof name->text, "%s", text);
    return name;
}

static const struct cluster_clock *clock_of(const struct cluster *cluster,
                                            const struct cluster_belief *belief)
{
    return belief->client ? &cluster->clients[belief->who].clock
                          : &cluster->processes[belief->who].clock;
}

static bool believes(const struct cluster *cluster, const struct cluster_belief *belief)
{
    return read_clock(cluster, clock_of(cluster, belief)) < belief->until_ns;
}

static void forget_ended(struct cluster *cluster, struct cluster_name *name)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < name->count; i++)
        if (believes(cluster, &name->beliefs[i]))
            name->beliefs[kept++] = name->beliefs[i];
    name->count = kept;
}

static void check_alone(struct cluster *cluster, struct cluster_name *name, uint64_t token)
{
    forget_ended(cluster, name);
    for (unsigned i = 0; i < name->count; i++)
        if (name->beliefs[i].token != token)
            cluster_break(cluster, "'%s' has token %llu while %s %u believes in %llu", name->text,
                          (unsigned long long)token, name->beliefs[i].client ? "client" : "process",
                          name->beliefs[i].who, (unsigned long long)name->beliefs[i].token);
}

static void believe(struct cluster *cluster, struct cluster_name *name, bool client, unsigned who,
                    uint64_t token, int64_t until_ns)
{
    check_alone(cluster, name, token);
    for (unsigned i = 0; i < name->count; i++) {
        struct cluster_belief *belief = &name->beliefs[i];
        if (belief->client != client || belief->who != who || belief->token != token)
            continue;
        if (!client && until_ns < belief->until_ns)
            cluster_break(cluster, "the deadline of '%s' moved back", name->text);
        if (until_ns > belief->until_ns)
            belief->until_ns = until_ns;
        return;
    }
    struct cluster_belief made = {client, who, token, until_ns};
    if (!believes(cluster, &made))
        return;
    if (name->count == CLUSTER_BELIEFS_MAX)
        cluster_break(cluster, "'%s' has more believers than the fixture can count", name->text);
    name->beliefs[name->count++] = made;
}

// A holder that lets go has stopped, whoever else speaks for it.
static void stop_believing(struct cluster *cluster, const char *text, uint64_t token, bool clients)
{
    struct cluster_name *name = name_of(cluster, text);
    unsigned kept = 0;
    for (unsigned i = 0; i < name->count; i++)
        if (name->beliefs[i].client != clients || name->beliefs[i].token != token)
            name->beliefs[kept++] = name->beliefs[i];
    name->count = kept;
}

static void on_granted(struct cluster *cluster, unsigned process, struct cluster_name *name,
                       const struct lh_event *event)
{
    if (event->ballot <= name->token)
        cluster_break(cluster, "'%s' was granted under %llu after %llu", name->text,
                      (unsigned long long)event->ballot, (unsigned long long)name->token);
    name->token = event->ballot;
    name->owner = process;
    name->released = false;
    name->td_ns = event->at.ns;
    cluster->grants++;
    believe(cluster, name, false, process, event->ballot, event->at.ns);
}

static void on_renewed(struct cluster *cluster, unsigned process, struct cluster_name *name,
                       const struct lh_event *event)
{
    if (event->ballot != name->token || name->owner != process || event->at.ns < name->td_ns)
        cluster_break(cluster, "'%s' was renewed under %llu to %lld, not %llu from %lld",
                      name->text, (unsigned long long)event->ballot, (long long)event->at.ns,
                      (unsigned long long)name->token, (long long)name->td_ns);
    name->td_ns = event->at.ns;
    believe(cluster, name, false, process, event->ballot, event->at.ns);
}

static void on_released(struct cluster *cluster, struct cluster_name *name,
                        const struct lh_event *event)
{
    forget_ended(cluster, name);
    for (unsigned i = 0; i < name->count; i++)
        if (name->beliefs[i].client && name->beliefs[i].token == event->ballot)
            cluster_break(cluster, "'%s' was let go while client %u believes", name->text,
                          name->beliefs[i].who);
    if (event->ballot == name->token)
        name->released = true;
    stop_believing(cluster, name->text, event->ballot, false);
}

static void on_event(void *context, struct lh_instant now, const struct lh_event *event)
{
    struct cluster_process *process = context;
    struct cluster *cluster = process->cluster;
    unsigned index = (unsigned)(process - cluster->processes);
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)event->name.size_bytes,
             event->name.size_bytes > 0 ? (const char *)event->name.data : "");
    process->events[event->kind]++;
    process->text[event->kind] = event->text;
    process->number[event->kind] = event->number;
    process->peer[event->kind] = event->peer;
    if (cluster->loud)
        fprintf(stderr, "# %12lld %u %s %s token %llu at %lld now %lld: %u %llu %s\n",
                (long long)cluster->true_ns, index, lh_event_name(event->kind), text,
                (unsigned long long)event->ballot, (long long)event->at.ns, (long long)now.ns,
                event->peer, (unsigned long long)event->number,
                event->text != NULL ? event->text : "");
    switch (event->kind) {
    case LH_EVENT_GRANTED: on_granted(cluster, index, name_of(cluster, text), event); break;
    case LH_EVENT_RENEWED: on_renewed(cluster, index, name_of(cluster, text), event); break;
    case LH_EVENT_RELEASED: on_released(cluster, name_of(cluster, text), event); break;
    case LH_EVENT_LOST:
        if (name_of(cluster, text)->token == event->ballot &&
            now.ns < name_of(cluster, text)->td_ns && !cluster_host(cluster, index)->clocks.bad)
            cluster_break(cluster, "'%s' was lost before its td", text);
        break;
    default: break;
    }
}

void cluster_tell(struct cluster *cluster, unsigned process, const struct lh_event *event)
{
    on_event(&cluster->processes[process], cluster_now(cluster, process), event);
}

uint64_t cluster_believed(struct cluster *cluster, const char *text)
{
    struct cluster_name *name = name_of(cluster, text);
    forget_ended(cluster, name);
    return name->count > 0 ? name->beliefs[0].token : 0;
}

// --- the world below a driver ---

static struct lh_instant world_now(void *context)
{
    struct cluster_process *process = context;
    struct cluster *cluster = process->cluster;
    if (cluster->settings.step_ns > 0)
        cluster->true_ns += lh_prng_between(&cluster->prng, 0, cluster->settings.step_ns);
    return (struct lh_instant){read_clock(cluster, &process->clock)};
}

static void tape(struct cluster *cluster, const struct cluster_process *process, uint8_t to,
                 uint8_t generation, struct lh_slice bytes)
{
    if (!cluster->taping || cluster->tape_count == CLUSTER_TAPES_MAX)
        return;
    struct cluster_tape *made = &cluster->tapes[cluster->tape_count++];
    made->from = (unsigned)(process - cluster->processes);
    made->life = process->life;
    made->to = to;
    made->generation = generation;
    made->size = (uint16_t)bytes.size_bytes;
    memcpy(made->bytes, bytes.data, bytes.size_bytes);
}

static int64_t latency(struct cluster *cluster)
{
    const struct cluster_settings *settings = &cluster->settings;
    int64_t ns = settings->latency_ns + lh_prng_between(&cluster->prng, 0, settings->jitter_ns);
    if (chance(cluster, cluster->late_ppm))
        ns += lh_prng_between(&cluster->prng, 0, 20 * LH_NS_PER_MS);
    if (chance(cluster, cluster->late_ppm / 16))
        ns += lh_prng_between(&cluster->prng, 0, 2 * LH_NS_PER_S);
    return ns;
}

static void world_send(void *context, uint8_t to, struct lh_slice bytes)
{
    struct cluster_process *process = context;
    struct cluster *cluster = process->cluster;
    unsigned from = (unsigned)(process - cluster->processes);
    uint8_t generation = lh_host_generation(lh_driver_host(process->driver));
    cluster->datagrams++;
    cluster->datagram_bytes += bytes.size_bytes;
    tape(cluster, process, to, generation, bytes);
    for (unsigned i = 0; i < cluster->process_count; i++) {
        if (cluster->processes[i].config.node != to)
            continue;
        unsigned copies = chance(cluster, cluster->loss_ppm) ? 0 : 1;
        copies += chance(cluster, cluster->duplicate_ppm) ? 1 : 0;
        for (unsigned copy = 0; copy < copies && !cluster->cut[from][i]; copy++)
            push_event(cluster,
                       (struct cluster_event){.kind = EVENT_DATAGRAM,
                                              .at_ns = cluster->true_ns + latency(cluster),
                                              .process = i,
                                              .from = process->config.node,
                                              .generation = generation},
                       bytes.data, bytes.size_bytes);
    }
}

static void begin_writes(struct cluster_process *process)
{
    struct cluster *cluster = process->cluster;
    for (; !process->stalled && process->writes_begun < process->write_count;
         process->writes_begun++)
        push_event(
            cluster,
            (struct cluster_event){.kind = EVENT_DISK,
                                   .at_ns = cluster->true_ns +
                                            cluster->settings.disk_ns * (process->writes_begun + 1),
                                   .process = (unsigned)(process - cluster->processes),
                                   .life = process->life},
            NULL, 0);
}

static void world_persist(void *context, uint64_t number, const struct lh_host_pair *pairs,
                          unsigned count)
{
    struct cluster_process *process = context;
    if (process->write_count == CLUSTER_WRITES_MAX)
        cluster_break(process->cluster, "process asks for more writes than the fixture can keep");
    struct cluster_write *write = &process->writes[process->write_count++];
    write->number = number;
    write->count = count;
    memcpy(write->pairs, pairs, count * sizeof pairs[0]);
    begin_writes(process);
}

static void world_reply(void *context, uint32_t session, struct lh_slice bytes, bool close)
{
    struct cluster_process *process = context;
    struct cluster *cluster = process->cluster;
    if (session >= process->config.max_clients || process->sessions[session] == 0)
        cluster_break(cluster, "a reply to session %u, which is not open", session);
    unsigned client = process->sessions[session] - 1;
    if (close)
        process->sessions[session] = 0;
    push_event(cluster,
               (struct cluster_event){.kind = EVENT_TO_CLIENT,
                                      .at_ns = cluster->true_ns + cluster->settings.client_ns,
                                      .client = client,
                                      .life = process->lives[session],
                                      .close = close},
               bytes.data, bytes.size_bytes);
}

static void hash_name(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    uint64_t hash = lh_hash_bytes(LH_HASH_START, name);
    (void)context;
    lh_store_u64(ret_hash, hash ^ hash >> 29);
    lh_store_u64(ret_hash + 8, hash * UINT64_C(0x9e3779b97f4a7c15));
}

// --- disks ---

static void store(struct cluster_disk *disk, const struct lh_host_pair *pair)
{
    unsigned at = 0;
    while (at < disk->count && (disk->pairs[at].key_size != pair->key_size ||
                                memcmp(disk->pairs[at].key, pair->key, pair->key_size) != 0))
        at++;
    if (at == CLUSTER_PAIRS_MAX)
        abort();
    if (at == disk->count)
        disk->count++;
    disk->pairs[at] = *pair;
}

static void apply_write(struct cluster_process *process)
{
    const struct cluster_write *write = &process->writes[0];
    for (unsigned i = 0; i < write->count; i++)
        store(&process->disk, &write->pairs[i]);
    process->write_count--;
    process->writes_begun -= process->writes_begun > 0;
    memmove(&process->writes[0], &process->writes[1],
            process->write_count * sizeof process->writes[0]);
}

struct lh_host_pair *cluster_stored(struct cluster *cluster, unsigned process, char kind)
{
    struct cluster_disk *disk = &cluster->processes[process].disk;
    for (unsigned i = 0; i < disk->count; i++)
        if (disk->pairs[i].key[0] == (uint8_t)kind)
            return &disk->pairs[i];
    return NULL;
}

// --- turns ---

static void append(uint8_t **bytes, size_t *used, size_t *capacity, const void *more, size_t size)
{
    if (*used + size > *capacity) {
        *capacity = 2 * *capacity + size + 256;
        *bytes = realloc(*bytes, *capacity);
    }
    if (size > 0)
        memcpy(*bytes + *used, more, size);
    *used += size;
}

// Hands a node what its clients sent, as far as it takes it.
static bool pump(struct cluster *cluster, struct cluster_process *process, uint32_t session)
{
    if (process->sessions[session] == 0)
        return false;
    struct cluster_client *client = &cluster->clients[process->sessions[session] - 1];
    if (client->life != process->lives[session])
        return false;
    size_t room = lh_driver_room(process->driver, session);
    size_t part = client->unread_used < room ? client->unread_used : room;
    if (part == 0)
        return false;
    uint8_t *exact = malloc(part);
    memcpy(exact, client->unread, part);
    client->unread_used -= part;
    memmove(client->unread, client->unread + part, client->unread_used);
    lh_driver_bytes(process->driver, session, lh_slice_of(exact, part));
    free(exact);
    return true;
}

static void end_turn(struct cluster *cluster, struct cluster_process *process)
{
    if (process->driver == NULL)
        return;
    for (uint32_t session = 0; session < process->config.max_clients; session++)
        if (process->sessions[session] != 0 &&
            cluster->clients[process->sessions[session] - 1].unread_used > 0)
            while (pump(cluster, process, session))
                ;
    if (!chance(cluster, cluster->batch_ppm)) {
        process->flush_due = false;
        lh_driver_flush(process->driver);
        return;
    }
    if (process->flush_due)
        return;
    process->flush_due = true; // the turn goes on with whatever comes in the next moment
    push_event(cluster,
               (struct cluster_event){.kind = EVENT_FLUSH,
                                      .at_ns = cluster->true_ns + 30 * LH_NS_PER_US,
                                      .process = (unsigned)(process - cluster->processes),
                                      .life = process->life},
               NULL, 0);
}

static void on_datagram(struct cluster *cluster, struct cluster_process *process,
                        const struct cluster_event *event)
{
    lh_driver_datagram(process->driver, event->from, event->generation,
                       lh_slice_of(event->bytes, event->size));
    end_turn(cluster, process);
}

static void on_disk(struct cluster *cluster, struct cluster_process *process)
{
    if (process->stalled || process->write_count == 0) {
        process->writes_begun = 0;
        return;
    }
    uint64_t number = process->writes[0].number;
    apply_write(process);
    lh_driver_persisted(process->driver, number);
    end_turn(cluster, process);
}

// --- answers at a client ---

static const struct lh_resp_value *values_of(struct cluster_client *client, const uint8_t *bytes,
                                             size_t size, size_t *ret_consumed)
{
    struct lh_resp_reply_parser parser;
    if (client->values == NULL)
        client->values = malloc(CLUSTER_VALUES_MAX * sizeof client->values[0]);
    lh_resp_reply_parser_init(&parser, client->values, CLUSTER_VALUES_MAX, 1 << 20);
    switch (lh_resp_reply_parse(&parser, bytes, size, ret_consumed)) {
    case LH_RESP_COMPLETE: return client->values;
    case LH_RESP_NEED_MORE: return NULL;
    case LH_RESP_MALFORMED: break;
    }
    fail_msg("a reply is malformed: %s", parser.reason);
    return NULL;
}

// The client's own authority: contained in the node's, as docs/protocol.md promises (Client).
static void compute_deadline(struct cluster *cluster, unsigned index,
                             const struct cluster_asked *asked, const struct lh_resp_value *reply)
{
    int64_t until = 0, ppm = 0, token = (int64_t)asked->token;
    lh_resp_as_integer(lh_resp_get(reply, "token"), &token);
    if (!lh_resp_as_integer(lh_resp_get(reply, "until-ns"), &until) || until == 0)
        return;
    if (!lh_resp_as_integer(lh_resp_get(reply, "rate-ppm"), &ppm) ||
        ppm != cluster->settings.rate_ppm)
        cluster_break(cluster, "until-ns without the rate beside it");
    struct cluster_client *client = &cluster->clients[index];
    struct cluster_name *name = name_of(cluster, asked->name);
    int64_t deadline = asked->sent_ns + (int64_t)((wide)until * (MILLION - ppm) / (MILLION + ppm));
    if ((uint64_t)token != name->token || name->owner >= cluster->process_count)
        return; // somebody else has it since; it must have ended then
    int64_t ends = true_of(&client->clock, deadline);
    int64_t td = true_of(&cluster->processes[name->owner].clock, name->td_ns);
    if (ends > td)
        cluster_break(cluster, "client %u believes in '%s' for %lld ns after its td", index,
                      name->text, (long long)(ends - td));
    if (!name->released && name->let_go != name->token)
        believe(cluster, name, true, index, (uint64_t)token, deadline);
}

static void keep_push(struct cluster *cluster, struct cluster_client *client,
                      const struct lh_resp_value *push)
{
    struct lh_slice kind, payload;
    if (!lh_resp_as_text(lh_resp_child(push, 0), &kind) ||
        !lh_slice_equal(kind, LH_SLICE("message")) ||
        !lh_resp_as_text(lh_resp_child(push, 2), &payload))
        return;
    (void)cluster;
    snprintf(client->push[client->pushes++ % CLUSTER_PUSHES_MAX], sizeof client->push[0], "%.*s",
             (int)payload.size_bytes, (const char *)payload.data);
}

static void on_reply(struct cluster *cluster, unsigned index, const struct lh_resp_value *reply,
                     size_t consumed)
{
    struct cluster_client *client = &cluster->clients[index];
    if (lh_resp_is(reply, LH_RESP_PUSH)) {
        keep_push(cluster, client, reply);
        return;
    }
    free(client->reply);
    client->reply = malloc(consumed);
    memcpy(client->reply, client->input, consumed);
    client->reply_size = consumed;
    client->reply_at = cluster->true_ns;
    client->replies++;
    if (client->asked_count > 0) {
        struct cluster_asked asked = client->asked[client->asked_first];
        client->asked_first = (client->asked_first + 1) % CLUSTER_ASKED_MAX;
        client->asked_count--;
        client->reply_took = cluster->true_ns - asked.true_ns;
        if (asked.acquire || asked.renew)
            compute_deadline(cluster, index, &asked, reply);
    }
    if (client->on_reply != NULL)
        client->on_reply(cluster, index, reply);
}

static void on_to_client(struct cluster *cluster, const struct cluster_event *event)
{
    struct cluster_client *client = &cluster->clients[event->client];
    if (!client->open || client->life != event->life)
        return;
    append(&client->input, &client->input_used, &client->input_capacity, event->bytes, event->size);
    size_t consumed = 0;
    while (client->open && client->input_used > 0) {
        const struct lh_resp_value *reply =
            values_of(client, client->input, client->input_used, &consumed);
        if (reply == NULL)
            break;
        on_reply(cluster, event->client, reply, consumed);
        client->input_used -= consumed;
        memmove(client->input, client->input + consumed, client->input_used);
    }
    if (event->close && client->life == event->life)
        client->open = false;
}

// --- running ---

static void on_to_node(struct cluster *cluster, const struct cluster_event *event)
{
    struct cluster_client *client = &cluster->clients[event->client];
    struct cluster_process *process = &cluster->processes[event->process];
    bool theirs = client->life == event->life && process->driver != NULL &&
                  process->sessions[client->session] == event->client + 1 &&
                  process->lives[client->session] == event->life;
    if (!theirs)
        return;
    append(&client->unread, &client->unread_used, &client->unread_capacity, event->bytes,
           event->size);
    end_turn(cluster, process);
}

static void on_gone(struct cluster *cluster, const struct cluster_event *event)
{
    struct cluster_process *process = &cluster->processes[event->process];
    uint32_t session = event->session;
    if (process->driver == NULL || process->sessions[session] != event->client + 1 ||
        process->lives[session] != event->life)
        return;
    process->sessions[session] = 0;
    lh_driver_close(process->driver, session, event->ended);
    end_turn(cluster, process);
}

// The kernel keeps what comes for a process that is stopped.
static void keep_for_later(struct cluster_process *process, struct cluster_event *event)
{
    if (process->backlog_count == process->backlog_capacity) {
        process->backlog_capacity = 2 * process->backlog_capacity + 16;
        process->backlog =
            realloc(process->backlog, process->backlog_capacity * sizeof process->backlog[0]);
    }
    process->backlog[process->backlog_count++] = *event;
    event->bytes = NULL; // they go with it
}

static void hand_backlog(struct cluster_process *process, bool alive)
{
    for (size_t i = 0; i < process->backlog_count; i++) {
        struct cluster_event event = process->backlog[i];
        event.at_ns = process->cluster->true_ns;
        if (alive)
            push_event(process->cluster, event, event.bytes, event.size);
        free(process->backlog[i].bytes);
    }
    process->backlog_count = 0;
}

static void handle(struct cluster *cluster, struct cluster_event *event)
{
    struct cluster_process *process = &cluster->processes[event->process];
    bool for_node = event->kind != EVENT_TO_CLIENT;
    if (for_node && process->stopped) {
        keep_for_later(process, event);
        return;
    }
    bool alive = process->driver != NULL && process->life == event->life;
    switch (event->kind) {
    case EVENT_DATAGRAM:
        if (process->driver != NULL)
            on_datagram(cluster, process, event);
        break;
    case EVENT_DISK:
        if (alive)
            on_disk(cluster, process);
        break;
    case EVENT_FLUSH:
        process->flush_due = false;
        if (alive)
            lh_driver_flush(process->driver);
        break;
    case EVENT_TO_NODE: on_to_node(cluster, event); break;
    case EVENT_GONE: on_gone(cluster, event); break;
    case EVENT_TO_CLIENT: on_to_client(cluster, event); break;
    }
}

// The process whose timer comes first, and when.
static struct cluster_process *first_timer(struct cluster *cluster, int64_t *ret_at)
{
    struct cluster_process *first = NULL;
    for (unsigned i = 0; i < cluster->process_count; i++) {
        struct cluster_process *process = &cluster->processes[i];
        if (process->driver == NULL || process->stopped)
            continue;
        struct lh_instant deadline = lh_driver_deadline(process->driver);
        if (deadline.ns == LH_NEVER.ns)
            continue;
        int64_t at = true_of(&process->clock, deadline.ns);
        if (first == NULL || at < *ret_at) {
            first = process;
            *ret_at = at;
        }
    }
    return first;
}

bool cluster_step(struct cluster *cluster, int64_t limit_ns)
{
    int64_t timer_at = INT64_MAX;
    struct cluster_process *process = first_timer(cluster, &timer_at);
    int64_t event_at = cluster->heap_count > 0 ? cluster->heap[0].at_ns : INT64_MAX;
    int64_t at = timer_at < event_at ? timer_at : event_at;
    if (at > limit_ns) {
        cluster->true_ns = limit_ns > cluster->true_ns ? limit_ns : cluster->true_ns;
        return false;
    }
    cluster->steps++;
    cluster->idle_turns =
        timer_at < event_at && timer_at <= cluster->true_ns ? cluster->idle_turns + 1 : 0;
    if (cluster->idle_turns > 1000)
        cluster_break(cluster, "process %u runs its timers without end",
                      (unsigned)(process - cluster->processes));
    cluster->true_ns = at > cluster->true_ns ? at : cluster->true_ns;
    if (timer_at < event_at) {
        lh_driver_timer(process->driver);
        end_turn(cluster, process);
        return true;
    }
    struct cluster_event event = pop_event(cluster);
    handle(cluster, &event);
    free(event.bytes);
    return true;
}

void cluster_run(struct cluster *cluster, int64_t ms)
{
    int64_t limit = cluster->true_ns + ms * LH_NS_PER_MS;
    while (cluster_step(cluster, limit))
        ;
}

bool cluster_run_until(struct cluster *cluster, cluster_condition condition, void *context,
                       int64_t ms)
{
    int64_t limit = cluster->true_ns + ms * LH_NS_PER_MS;
    while (!condition(cluster, context))
        if (!cluster_step(cluster, limit))
            return condition(cluster, context);
    return true;
}

static bool all_serve(struct cluster *cluster, void *context)
{
    (void)context;
    for (unsigned i = 0; i < cluster->process_count; i++)
        if (cluster->processes[i].driver != NULL && !cluster_serving(cluster, i))
            return false;
    return true;
}

bool cluster_run_until_serving(struct cluster *cluster, int64_t ms)
{
    return cluster_run_until(cluster, all_serve, NULL, ms);
}

// --- processes ---

static const struct lh_clock_binding binding = {{1}, 2};

struct lh_host *cluster_host(struct cluster *cluster, unsigned process)
{
    return lh_driver_host(cluster->processes[process].driver);
}

struct lh_identity *cluster_identity(struct cluster *cluster, unsigned process)
{
    return &cluster_host(cluster, process)->identity;
}

bool cluster_serving(struct cluster *cluster, unsigned process)
{
    return cluster->processes[process].driver != NULL &&
           cluster_identity(cluster, process)->state == LH_IDENTITY_SERVING;
}

unsigned cluster_add(struct cluster *cluster, uint8_t node)
{
    const struct cluster_settings *settings = &cluster->settings;
    unsigned index = cluster->process_count++;
    struct cluster_process *process = &cluster->processes[index];
    process->cluster = cluster;
    process->clock = some_clock(cluster);
    process->config = (struct lh_host_config){
        .node = node,
        .member_count = (uint8_t)settings->nodes,
        .member_epoch = 1,
        .cluster_id = "a cluster",
        .timing = {lh_ms(settings->max_ttl_ms), settings->rate_ppm},
        .max_leases = settings->max_leases,
        .max_clients = settings->max_clients,
        .idle_forget = settings->idle_forget,
        .one_round_renewal = settings->one_round_renewal,
        .quarantine_ceiling = settings->quarantine_ceiling,
        .hash_name = hash_name,
        .version = LH_SLICE_INIT("test"),
    };
    for (unsigned i = 0; i < settings->nodes; i++)
        process->config.members[i] = (uint8_t)(i + 1);
    return index;
}

bool cluster_start(struct cluster *cluster, unsigned index)
{
    struct cluster_process *process = &cluster->processes[index];
    struct lh_world world = {.context = process,
                             .now = world_now,
                             .send = world_send,
                             .persist = world_persist,
                             .reply = world_reply,
                             .event = on_event};
    if (process->driver != NULL)
        abort();
    for (unsigned i = 0; i < sizeof process->config.entropy; i++)
        process->config.entropy[i] = (uint8_t)lh_prng_next(&cluster->prng);
    if (process->memory == NULL) {
        process->memory_size = (lh_driver_size(&process->config) + 15) & ~(size_t)15;
        process->memory = take_pages(process->memory_size);
    }
    struct lh_driver *driver = lh_driver_init(process->memory, &process->config, &world);
    process->life++;
    process->refused = NULL;
    process->flush_due = process->stopped = false;
    process->write_count = process->writes_begun = 0;
    for (unsigned i = 0; i < process->disk.count && process->refused == NULL; i++) {
        const struct lh_host_pair *pair = &process->disk.pairs[i];
        process->refused = lh_driver_load(driver, lh_slice_of(pair->key, pair->key_size),
                                          lh_slice_of(pair->value, pair->value_size));
    }
    if (process->refused != NULL) {
        lh_driver_clear(driver);
        return false;
    }
    if (process->saved_size > 0 &&
        lh_host_restore(lh_driver_host(driver), cluster_now(cluster, index), &binding,
                        lh_slice_of(process->saved, process->saved_size)) == NULL)
        process->restores++;
    process->driver = driver;
    lh_driver_start(driver);
    end_turn(cluster, process);
    return true;
}

void cluster_shut_down(struct cluster *cluster, unsigned index, unsigned durable)
{
    struct cluster_process *process = &cluster->processes[index];
    if (process->driver == NULL)
        return;
    struct lh_host *host = cluster_host(cluster, index);
    size_t size = lh_host_save_size(host);
    free(process->saved);
    process->saved = malloc(size);
    process->saved_size =
        lh_host_save(host, cluster_now(cluster, index), &binding, process->saved, size);
    cluster_crash(cluster, index, durable);
}

void cluster_crash(struct cluster *cluster, unsigned index, unsigned durable)
{
    struct cluster_process *process = &cluster->processes[index];
    if (process->driver == NULL)
        return;
    for (unsigned i = 0; i < durable && process->write_count > 0; i++)
        apply_write(process);
    process->write_count = process->writes_begun = 0;
    lh_driver_clear(process->driver);
    process->driver = NULL;
    process->stopped = false;
    hand_backlog(process, false);
    for (unsigned i = 0; i < cluster->client_count; i++)
        if (cluster->clients[i].open && cluster->clients[i].process == index)
            cluster->clients[i].open = false;
    memset(process->sessions, 0, sizeof process->sessions);
}

void cluster_stop(struct cluster *cluster, unsigned process)
{
    cluster->processes[process].stopped = true;
}

void cluster_continue(struct cluster *cluster, unsigned process)
{
    cluster->processes[process].stopped = false;
    hand_backlog(&cluster->processes[process], true);
}

void cluster_wipe(struct cluster *cluster, unsigned process)
{
    cluster->processes[process].disk = (struct cluster_disk){0};
}

void cluster_copy_disk(struct cluster *cluster, unsigned from, unsigned to)
{
    cluster->processes[to].disk = cluster->processes[from].disk;
}

void cluster_stall_disk(struct cluster *cluster, unsigned process, bool stalled)
{
    cluster->processes[process].stalled = stalled;
    if (stalled)
        cluster->processes[process].writes_begun = 0;
    else
        begin_writes(&cluster->processes[process]);
}

void cluster_cut(struct cluster *cluster, unsigned a, unsigned b, bool cut)
{
    cluster->cut[a][b] = cluster->cut[b][a] = cut;
}

void cluster_isolate(struct cluster *cluster, unsigned process, bool cut)
{
    for (unsigned i = 0; i < cluster->process_count; i++)
        cluster_cut(cluster, process, i, cut);
}

void cluster_inject(struct cluster *cluster, uint8_t to, uint8_t from, uint8_t generation,
                    struct lh_slice bytes)
{
    for (unsigned i = 0; i < cluster->process_count; i++)
        if (cluster->processes[i].config.node == to)
            push_event(cluster,
                       (struct cluster_event){.kind = EVENT_DATAGRAM,
                                              .at_ns = cluster->true_ns,
                                              .process = i,
                                              .from = from,
                                              .generation = generation},
                       bytes.data, bytes.size_bytes);
}

void cluster_replay(struct cluster *cluster, const struct cluster_tape *tape)
{
    cluster_inject(cluster, tape->to, cluster->processes[tape->from].config.node, tape->generation,
                   lh_slice_of(tape->bytes, tape->size));
}

// --- clients ---

unsigned cluster_connect(struct cluster *cluster, unsigned index)
{
    struct cluster_process *process = &cluster->processes[index];
    unsigned at = 0;
    while (at < cluster->client_count && (cluster->clients[at].open || cluster->clients[at].kept))
        at++;
    if (at == CLUSTER_CLIENTS_MAX || process->driver == NULL)
        cluster_break(cluster, "no client can connect to process %u", index);
    struct cluster_client *client = &cluster->clients[at];
    if (at == cluster->client_count) {
        cluster->client_count++;
        client->clock = some_clock(cluster);
    }
    uint32_t session = 0;
    while (process->sessions[session] != 0)
        if (++session == process->config.max_clients)
            cluster_break(cluster, "process %u has no session left", index);
    client->open = true;
    client->life++;
    client->process = index;
    client->session = session;
    client->asked_first = client->asked_count = client->replies = client->pushes = 0;
    client->input_used = client->unread_used = 0;
    client->on_reply = NULL;
    client->corked = false;
    process->sessions[session] = at + 1;
    process->lives[session] = client->life;
    lh_driver_open(process->driver, session, true);
    end_turn(cluster, process);
    return at;
}

static void disconnect(struct cluster *cluster, unsigned index, bool ended)
{
    struct cluster_client *client = &cluster->clients[index];
    if (!client->open)
        return;
    client->open = false;
    push_event(cluster,
               (struct cluster_event){.kind = EVENT_GONE,
                                      .at_ns = cluster->true_ns + cluster->settings.client_ns,
                                      .process = client->process,
                                      .client = index,
                                      .session = client->session,
                                      .life = client->life,
                                      .ended = ended},
               NULL, 0);
}

void cluster_disconnect(struct cluster *cluster, unsigned index)
{
    disconnect(cluster, index, false);
}

void cluster_end_client(struct cluster *cluster, unsigned index)
{
    for (unsigned i = 0; i < cluster->name_count; i++) {
        struct cluster_name *name = &cluster->names[i];
        unsigned kept = 0;
        for (unsigned j = 0; j < name->count; j++)
            if (!name->beliefs[j].client || name->beliefs[j].who != index)
                name->beliefs[kept++] = name->beliefs[j];
        name->count = kept;
    }
    disconnect(cluster, index, true);
}

void cluster_send_bytes(struct cluster *cluster, unsigned index, const void *bytes, size_t size)
{
    struct cluster_client *client = &cluster->clients[index];
    if (client->corked)
        append(&client->corked_bytes, &client->corked_used, &client->corked_capacity, bytes, size);
    if (!client->open || client->corked)
        return;
    push_event(cluster,
               (struct cluster_event){.kind = EVENT_TO_NODE,
                                      .at_ns = cluster->true_ns + cluster->settings.client_ns,
                                      .process = client->process,
                                      .client = index,
                                      .life = client->life},
               bytes, size);
}

void cluster_cork(struct cluster *cluster, unsigned index, bool corked)
{
    struct cluster_client *client = &cluster->clients[index];
    client->corked = corked;
    if (!corked)
        cluster_send_bytes(cluster, index, client->corked_bytes, client->corked_used);
    client->corked_used = 0;
}

static unsigned split(char *line, char *words[64])
{
    unsigned count = 0;
    for (char *word = strtok(line, " "); word != NULL && count < 64; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

// What the answer will be about. A release is believed by its sender at once.
static void note_asked(struct cluster *cluster, struct cluster_client *client, char **words,
                       unsigned count)
{
    if (client->asked_count == CLUSTER_ASKED_MAX)
        cluster_break(cluster, "a client has asked for too much at once");
    struct cluster_asked *asked =
        &client->asked[(client->asked_first + client->asked_count++) % CLUSTER_ASKED_MAX];
    *asked = (struct cluster_asked){.sent_ns = read_clock(cluster, &client->clock),
                                    .true_ns = cluster->true_ns};
    if (count < 3 || strcmp(words[0], "LEASE") != 0)
        return;
    snprintf(asked->name, sizeof asked->name, "%s", words[2]);
    asked->acquire = strcmp(words[1], "ACQUIRE") == 0;
    asked->renew = strcmp(words[1], "RENEW") == 0;
    asked->release = strcmp(words[1], "RELEASE") == 0;
    asked->token = count > 3 ? strtoull(words[3], NULL, 10) : 0;
    if (!asked->release)
        return;
    struct cluster_name *name = name_of(cluster, asked->name);
    if (asked->token > name->let_go) // a late one of an earlier lease takes nothing back
        name->let_go = asked->token;
    stop_believing(cluster, asked->name, asked->token, true);
}

static void command(struct cluster *cluster, unsigned index, const char *format, va_list list)
{
    char line[4096], bytes[8192];
    char *words[64];
    vsnprintf(line, sizeof line, format, list);
    if (cluster->loud)
        fprintf(stderr, "# %12lld client %u: %s\n", (long long)cluster->true_ns, index, line);
    unsigned count = split(line, words);
    int used = snprintf(bytes, sizeof bytes, "*%u\r\n", count);
    for (unsigned i = 0; i < count; i++)
        used += snprintf(bytes + used, sizeof bytes - (size_t)used, "$%zu\r\n%s\r\n",
                         strlen(words[i]), words[i]);
    if (!cluster->clients[index].open)
        return;
    note_asked(cluster, &cluster->clients[index], words, count);
    cluster_send_bytes(cluster, index, bytes, (size_t)used);
}

void cluster_command(struct cluster *cluster, unsigned client, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    command(cluster, client, format, list);
    va_end(list);
}

static bool answered(struct cluster *cluster, void *context)
{
    const struct cluster_client *client = &cluster->clients[*(unsigned *)context];
    return client->asked_count == 0 || !client->open;
}

const struct lh_resp_value *cluster_await(struct cluster *cluster, unsigned client, int64_t ms)
{
    if (!cluster_run_until(cluster, answered, &client, ms) || !cluster->clients[client].open)
        return NULL;
    return cluster_reply(cluster, client);
}

const struct lh_resp_value *cluster_call(struct cluster *cluster, unsigned client,
                                         const char *format, ...)
{
    va_list list;
    va_start(list, format);
    command(cluster, client, format, list);
    va_end(list);
    const struct lh_resp_value *reply = cluster_await(cluster, client, 60000);
    if (reply == NULL)
        cluster_break(cluster, "client %u got no answer to %s", client, format);
    return reply;
}

const struct lh_resp_value *cluster_reply(struct cluster *cluster, unsigned index)
{
    struct cluster_client *client = &cluster->clients[index];
    size_t consumed = 0;
    return client->reply == NULL ? NULL
                                 : values_of(client, client->reply, client->reply_size, &consumed);
}

const char *cluster_text(struct cluster *cluster, unsigned client, const char *key)
{
    static char texts[8][256];
    static unsigned next;
    struct lh_slice text = {NULL, 0};
    char *at = texts[next++ % 8];
    if (!lh_resp_as_text(lh_resp_get(cluster_reply(cluster, client), key), &text))
        return "";
    snprintf(at, sizeof texts[0], "%.*s", (int)text.size_bytes, (const char *)text.data);
    return at;
}

const char *cluster_status(struct cluster *cluster, unsigned client)
{
    return cluster_text(cluster, client, "status");
}

int64_t cluster_integer(struct cluster *cluster, unsigned client, const char *key)
{
    int64_t value = -1;
    lh_resp_as_integer(lh_resp_get(cluster_reply(cluster, client), key), &value);
    return value;
}

const char *cluster_error(struct cluster *cluster, unsigned client)
{
    static char text[512];
    const struct lh_resp_value *reply = cluster_reply(cluster, client);
    if (!lh_resp_is(reply, LH_RESP_ERROR))
        return "";
    snprintf(text, sizeof text, "%.*s", (int)reply->text.size_bytes,
             (const char *)reply->text.data);
    return text;
}

unsigned long long cluster_token(struct cluster *cluster, unsigned client)
{
    return (unsigned long long)cluster_integer(cluster, client, "token");
}

void cluster_expect(struct cluster *cluster, unsigned client, const char *status,
                    const char *reason)
{
    if (strcmp(cluster_status(cluster, client), status) != 0 ||
        (reason != NULL && strstr(cluster_text(cluster, client, "reason"), reason) == NULL))
        fail_msg("client %u: '%s' (%s%s), not '%s' (%s)", client, cluster_status(cluster, client),
                 cluster_text(cluster, client, "reason"), cluster_error(cluster, client), status,
                 reason != NULL ? reason : "any");
}

int64_t cluster_push_integer(const char *payload, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(payload, quoted);
    return at == NULL ? -1 : strtoll(at + strlen(quoted), NULL, 10);
}

// --- opening ---

struct cluster_settings cluster_defaults(void)
{
    return (struct cluster_settings){
        .nodes = 3,
        .max_ttl_ms = 10000,
        .rate_ppm = 10000,
        .max_leases = 256,
        .max_clients = 64,
        .seed = 1,
        .latency_ns = 50 * LH_NS_PER_US,
        .jitter_ns = 10 * LH_NS_PER_US,
        .client_ns = 10 * LH_NS_PER_US,
        .disk_ns = 2 * LH_NS_PER_MS,
    };
}

struct cluster *cluster_open(const struct cluster_settings *settings)
{
    struct cluster *cluster = take_pages(sizeof *cluster);
    cluster->settings = *settings;
    cluster->loud = getenv("LEASEHOLD_FIXTURE_LOUD") != NULL;
    cluster->tapes = take_pages(CLUSTER_TAPES_MAX * sizeof cluster->tapes[0]);
    lh_prng_seed_number(&cluster->prng, settings->seed);
    cluster->true_ns = LH_NS_PER_S;
    for (unsigned i = 0; i < settings->nodes; i++)
        cluster_add(cluster, (uint8_t)(i + 1));
    for (unsigned i = 0; i < settings->nodes && !settings->dormant; i++)
        cluster_start(cluster, i);
    return cluster;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    for (unsigned i = 0; i < cluster->process_count; i++) {
        hand_backlog(&cluster->processes[i], false);
        free(cluster->processes[i].saved);
        free(cluster->processes[i].backlog);
        give_pages_back(cluster->processes[i].memory, cluster->processes[i].memory_size);
    }
    for (unsigned i = 0; i < cluster->client_count; i++) {
        free(cluster->clients[i].input);
        free(cluster->clients[i].unread);
        free(cluster->clients[i].corked_bytes);
        free(cluster->clients[i].values);
        free(cluster->clients[i].reply);
    }
    for (size_t i = 0; i < cluster->heap_count; i++)
        free(cluster->heap[i].bytes);
    free(cluster->heap);
    give_pages_back(cluster->tapes, CLUSTER_TAPES_MAX * sizeof cluster->tapes[0]);
    give_pages_back(cluster, sizeof *cluster);
}
