// Who this node is: see identity.h.
#include "host/identity.h"

#include "base/assert.h"
#include "base/cursor.h"
#include "host/host_internal.h"

#include <string.h>

#define RECORD_VERSION 1
#define ASK_EVERY (200 * LH_NS_PER_MS)

static const uint8_t identity_key[1] = {'I'};

unsigned lh_identity_witnesses(unsigned member_count)
{
    if (member_count == 1)
        return 0;
    unsigned others = member_count - 1;
    unsigned faults = (member_count - 1) / 2;
    return (others + faults + 1) / 2; // 2 w - others >= faults
}

size_t lh_identity_encode(const struct lh_identity_record *record, uint8_t ret[LH_VALUE_BYTES_MAX])
{
    struct lh_writer writer = lh_writer_of(ret, LH_VALUE_BYTES_MAX);
    lh_writer_u8(&writer, RECORD_VERSION);
    lh_writer_u8(&writer, record->node);
    lh_writer_bytes(&writer, record->cluster_id, sizeof record->cluster_id);
    lh_writer_bytes(&writer, record->directory, sizeof record->directory);
    lh_writer_u8(&writer, record->generation);
    lh_writer_u8(&writer, record->admitted);
    lh_writer_u64(&writer, record->start);
    lh_writer_u64(&writer, record->reservation);
    lh_writer_u64(&writer, (uint64_t)record->ceiling.ns);
    lh_writer_u32(&writer, record->member_epoch);
    lh_writer_u64(&writer, record->members_tag);
    lh_writer_u32(&writer, record->max_ttl_ms);
    lh_writer_u32(&writer, record->rate_ppm);
    LH_ASSERT(!writer.failed);
    return lh_writer_size_bytes(&writer);
}

bool lh_identity_decode(struct lh_slice value, struct lh_identity_record *ret_record)
{
    struct lh_reader reader = lh_reader_of(value);
    struct lh_identity_record record = {0};
    if (lh_reader_u8(&reader) != RECORD_VERSION)
        return false;
    record.node = lh_reader_u8(&reader);
    lh_reader_bytes(&reader, record.cluster_id, sizeof record.cluster_id);
    lh_reader_bytes(&reader, record.directory, sizeof record.directory);
    record.generation = lh_reader_u8(&reader);
    uint8_t admitted = lh_reader_u8(&reader);
    record.admitted = admitted == 1;
    record.start = lh_reader_u64(&reader);
    record.reservation = lh_reader_u64(&reader);
    record.ceiling.ns = (int64_t)lh_reader_u64(&reader);
    record.member_epoch = lh_reader_u32(&reader);
    record.members_tag = lh_reader_u64(&reader);
    record.max_ttl_ms = lh_reader_u32(&reader);
    record.rate_ppm = lh_reader_u32(&reader);
    if (!lh_reader_done(&reader) || admitted > 1 || record.node == 0 || record.generation == 0 ||
        record.start == 0 || record.reservation > LH_COUNTER_MAX || record.ceiling.ns < 0 ||
        record.ceiling.ns > 2 * LH_TTL_MAX_MS * LH_NS_PER_MS)
        return false;
    *ret_record = record;
    return true;
}

void lh_identity_init(struct lh_host *host)
{
    host->identity = (struct lh_identity){.origin = "", .quarantine_until = LH_NEVER};
    for (unsigned i = 0; i < sizeof host->identity.directory; i++)
        host->identity.directory[i] = (uint8_t)lh_prng_next(&host->prng);
}

// What the stored identity says that the configuration does not, or NULL.
static const char *contradiction(const struct lh_host *host,
                                 const struct lh_identity_record *record)
{
    const struct lh_host_config *config = &host->config;
    if (memcmp(record->cluster_id, config->cluster_id, sizeof record->cluster_id) != 0)
        return "this data directory belongs to another cluster: check keyring (its cluster-id) and "
               "data-dir";
    if (record->node != config->node)
        return "this data directory belongs to another node of this cluster: check node and "
               "data-dir; directories must not be swapped or copied between nodes";
    if (record->member_epoch != config->member_epoch ||
        record->members_tag != host->peers.members_tag)
        return "the members or member-epoch differ from those this data directory was used with: "
               "stop every node and run 'leaseholdd set-members' on each";
    if (lh_ms(record->max_ttl_ms).ns != config->timing.max_ttl.ns)
        return "max-ttl differs from that this data directory was used with: change it back, or "
               "stop every node and run 'leaseholdd set-members' on each";
    if (record->rate_ppm != config->timing.rate_ppm)
        return "rate-error differs from that this data directory was used with: change it back, or "
               "stop every node and run 'leaseholdd set-members' on each";
    return NULL;
}

const char *lh_identity_load(struct lh_host *host, struct lh_slice value)
{
    struct lh_identity_record record;
    if (!lh_identity_decode(value, &record))
        return "the identity stored in this data directory cannot be read: if the directory is "
               "lost, remove it; the node then joins as a replacement";
    const char *problem = contradiction(host, &record);
    if (problem != NULL || !record.admitted)
        return problem; // never admitted: it never said anything, and asks again
    struct lh_identity *identity = &host->identity;
    memcpy(identity->directory, record.directory, sizeof identity->directory);
    identity->generation = record.generation;
    identity->admitted = true;
    identity->start = record.start;
    identity->reservation = record.reservation;
    identity->ceiling = record.ceiling;
    identity->loaded = true;
    return NULL;
}

size_t lh_identity_describe(const struct lh_host *host, uint8_t ret[LH_VALUE_BYTES_MAX])
{
    const struct lh_identity *identity = &host->identity;
    struct lh_identity_record record = {
        .node = host->config.node,
        .generation = identity->generation,
        .admitted = identity->admitted,
        .start = identity->start,
        .reservation = identity->reservation,
        .ceiling = identity->ceiling,
        .member_epoch = host->config.member_epoch,
        .members_tag = host->peers.members_tag,
        .max_ttl_ms = (uint32_t)lh_floor_ms(host->config.timing.max_ttl),
        .rate_ppm = host->config.timing.rate_ppm,
    };
    memcpy(record.cluster_id, host->config.cluster_id, sizeof record.cluster_id);
    memcpy(record.directory, identity->directory, sizeof record.directory);
    return lh_identity_encode(&record, ret);
}

static uint64_t persist(struct lh_host *host, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    uint8_t value[LH_VALUE_BYTES_MAX];
    size_t size = lh_identity_describe(host, value);
    uint64_t number = lh_host_persist(host, effects, lh_slice_of(identity_key, sizeof identity_key),
                                      lh_slice_of(value, size));
    // A disk that stands still: what is asked for last covers what was asked for before.
    if (identity->write_count == LH_IDENTITY_WRITES_MAX)
        identity->write_count--;
    identity->writes[identity->write_count++] = (struct lh_identity_write){
        .number = number, .reservation = identity->reservation, .ceiling = identity->ceiling};
    return number;
}

static struct lh_duration longest_quarantine(const struct lh_host *host)
{
    return lh_timing_quarantine(host->config.timing, host->config.timing.max_ttl);
}

static uint64_t one_block_more(uint64_t reservation)
{
    return reservation < LH_COUNTER_MAX - LH_RESERVATION_BLOCK ? reservation + LH_RESERVATION_BLOCK
                                                               : LH_COUNTER_MAX;
}

static void start_again(struct lh_host *host, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    struct lh_duration longest = longest_quarantine(host);
    identity->origin = "restart";
    identity->start++;
    identity->old_reservation = identity->reservation;
    identity->reservation = one_block_more(identity->reservation);
    // T3, F5: what was promised before decides, never the present M alone.
    if (!host->config.quarantine_ceiling && identity->ceiling.ns < longest.ns)
        identity->ceiling = longest;
    identity->served = identity->restored ? (struct lh_duration){0} : identity->ceiling; // F4
    if (identity->restored) {
        identity->origin = "clean restart";
        lh_host_event(effects, LH_EVENT_RESTORED)->number = host->machine.counters.lost;
    }
    identity->quarantine_until = lh_after(host->started_at, identity->served);
    identity->state = LH_IDENTITY_ADMITTING;
    identity->awaited = persist(host, effects);
}

static void decide(struct lh_host *host, struct lh_host_effects *effects);

void lh_identity_start(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    if (identity->loaded) {
        start_again(host, effects);
        return;
    }
    identity->state = LH_IDENTITY_ASKING;
    identity->ask_at = now;
    unsigned witnesses = lh_identity_witnesses(host->config.member_count);
    lh_host_event(effects, LH_EVENT_JOINING)->number = witnesses;
    if (witnesses == 0)
        decide(host, effects);
}

// Nobody has heard of this node, but perhaps all directories were in memory and the power failed:
// what the cluster granted before had ended once this machine was up for a quarantine. A new
// cluster on machines that are up for longer than that waits for nothing.
static struct lh_duration since_power_came(const struct lh_host *host)
{
    struct lh_instant over = {longest_quarantine(host).ns}; // the clock began at the boot
    return lh_left(host->started_at, over);
}

// Enough members have answered: new, or a replacement?
static void decide(struct lh_host *host, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    if (identity->heard_generation == UINT8_MAX) {
        host->halted = "all 255 generations of this node number are used up: give the member a new "
                       "number with 'leaseholdd set-members'";
        lh_host_event(effects, LH_EVENT_HALTED)->text = host->halted;
        return;
    }
    // A single node has nobody who could know, and new members may be a majority of a changed set
    // that knows nothing of what the old one granted: they serve the quarantine as if they had been
    // here before.
    bool replaces =
        identity->heard_of || host->config.member_count == 1 || host->config.member_epoch > 1;
    identity->origin = identity->heard_of ? "replacement" : "new";
    identity->generation = (uint8_t)(identity->heard_generation + 1);
    identity->start = 1;
    identity->old_reservation = replaces ? identity->heard_reservation : 0;
    identity->reservation = one_block_more(identity->heard_reservation);
    identity->served = replaces ? longest_quarantine(host) : since_power_came(host);
    identity->ceiling = host->config.quarantine_ceiling && !replaces ? (struct lh_duration){0}
                                                                     : longest_quarantine(host);
    identity->state = LH_IDENTITY_WRITING;
    identity->awaited = persist(host, effects);
}

static void admit(struct lh_host *host, struct lh_host_effects *effects)
{
    host->identity.admitted = true;
    host->identity.state = LH_IDENTITY_ADMITTING;
    host->identity.awaited = persist(host, effects);
}

static void ask(struct lh_host *host, struct lh_host_effects *effects)
{
    const struct lh_identity *identity = &host->identity;
    bool asking = identity->state == LH_IDENTITY_ASKING;
    struct lh_host_message message = {.kind = asking ? LH_HOST_ASK : LH_HOST_ANNOUNCE,
                                      .generation = identity->generation};
    memcpy(message.directory, identity->directory, sizeof message.directory);
    struct lh_members_set done = asking ? identity->answered : identity->recorded;
    for (unsigned i = 0; i < host->config.member_count; i++)
        if (host->config.members[i] != host->config.node && !lh_set_has(done, i))
            lh_host_send(effects, host->config.members[i], &message, 0);
}

static void on_known(struct lh_host *host, unsigned member, const struct lh_host_message *message,
                     struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    if (identity->state == LH_IDENTITY_ANNOUNCING && message->generation >= identity->generation) {
        // Somebody else was here under this generation: ask again.
        identity->state = LH_IDENTITY_ASKING;
        identity->answered = LH_SET_EMPTY;
        identity->recorded = LH_SET_EMPTY;
    }
    if (identity->state != LH_IDENTITY_ASKING)
        return;
    lh_set_add(&identity->answered, member);
    identity->heard_of = identity->heard_of || message->generation > 0;
    if (message->generation > identity->heard_generation)
        identity->heard_generation = message->generation;
    if (message->reservation > identity->heard_reservation)
        identity->heard_reservation = message->reservation;
    if (lh_set_count(identity->answered) >= lh_identity_witnesses(host->config.member_count))
        decide(host, effects);
}

static void on_recorded(struct lh_host *host, unsigned member,
                        const struct lh_host_message *message, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    if (identity->state != LH_IDENTITY_ANNOUNCING || message->generation != identity->generation)
        return;
    lh_set_add(&identity->recorded, member);
    if (lh_set_count(identity->recorded) >= lh_identity_witnesses(host->config.member_count))
        admit(host, effects);
}

void lh_identity_message(struct lh_host *host, uint8_t node, const struct lh_host_message *message,
                         struct lh_host_effects *effects)
{
    for (unsigned i = 0; i < host->config.member_count; i++) {
        if (host->config.members[i] != node)
            continue;
        if (message->kind == LH_HOST_KNOWN)
            on_known(host, i, message, effects);
        if (message->kind == LH_HOST_RECORDED)
            on_recorded(host, i, message, effects);
    }
}

void lh_identity_tell_known(struct lh_host *host, const struct lh_peer *peer, uint8_t generation,
                            struct lh_host_effects *effects)
{
    const struct lh_identity *identity = &host->identity;
    struct lh_host_message message = {
        .kind = LH_HOST_KNOWN,
        .generation = generation,
        .reservation = identity->reservation,
    };
    lh_host_send(effects, peer->node, &message, 0);
}

// Everything that must be durable is: from here on this node takes part.
static void take_part(struct lh_host *host, struct lh_instant now, struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    struct lh_machine *machine = &host->machine;
    // A replacement counts from here: until its generation was recorded, its predecessor might have
    // answered.
    if (identity->quarantine_until.ns == LH_NEVER.ns)
        identity->quarantine_until = lh_after(now, identity->served);
    machine->config.generation = identity->generation;
    lh_ballot floor = identity->old_reservation == 0 ? LH_BALLOT_NONE
                                                     : lh_ballot_ceiling(identity->old_reservation);
    uint64_t counter = identity->old_reservation;
    if (identity->restored) { // F4
        floor = identity->restored_floor;
        counter = identity->restored_counter;
    }
    lh_machine_serve(machine, identity->quarantine_until, floor, counter, identity->reservation,
                     identity->ceiling);
    identity->state = LH_IDENTITY_QUARANTINE;
    struct lh_event *event = lh_host_event(effects, LH_EVENT_ADMITTED);
    event->generation = identity->generation;
    event->text = identity->origin;
    event->number = identity->start;
    if (lh_before(now, identity->quarantine_until))
        lh_host_event(effects, LH_EVENT_QUARANTINE)->number =
            (uint64_t)lh_left(now, identity->quarantine_until).ns;
}

struct lh_instant lh_identity_quarantine(struct lh_host *host, struct lh_instant now,
                                         struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    const struct lh_duration span = longest_quarantine(host);
    identity->quarantine_until = lh_later(identity->quarantine_until, lh_after(now, span));
    identity->state = LH_IDENTITY_QUARANTINE;
    lh_host_event(effects, LH_EVENT_QUARANTINE)->number =
        (uint64_t)lh_left(now, identity->quarantine_until).ns;
    return identity->quarantine_until;
}

// Hands the machine what the oldest finished writes made durable.
static void settle_writes(struct lh_host *host)
{
    struct lh_identity *identity = &host->identity;
    unsigned done = 0;
    while (done < identity->write_count &&
           identity->writes[done].number <= host->persisted_number) {
        const struct lh_identity_write *write = &identity->writes[done++];
        if (lh_identity_acts(identity)) {
            lh_machine_reserved(&host->machine, write->reservation);
            lh_machine_ceiling_raised(&host->machine, write->ceiling);
        }
    }
    memmove(identity->writes, identity->writes + done,
            (identity->write_count - done) * sizeof identity->writes[0]);
    identity->write_count -= done;
}

void lh_identity_persisted(struct lh_host *host, struct lh_instant now,
                           struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    settle_writes(host);
    if (host->persisted_number < identity->awaited)
        return;
    if (identity->state == LH_IDENTITY_WRITING) {
        identity->state = LH_IDENTITY_ANNOUNCING;
        identity->ask_at = now;
        if (lh_identity_witnesses(host->config.member_count) == 0)
            admit(host, effects);
    } else if (identity->state == LH_IDENTITY_ADMITTING) {
        take_part(host, now, effects);
    }
}

uint64_t lh_identity_reserve(struct lh_host *host, uint64_t counter,
                             struct lh_host_effects *effects)
{
    if (counter > host->identity.reservation)
        host->identity.reservation = counter;
    return persist(host, effects);
}

uint64_t lh_identity_raise_ceiling(struct lh_host *host, struct lh_duration ceiling,
                                   struct lh_host_effects *effects)
{
    host->identity.ceiling = ceiling;
    return persist(host, effects);
}

struct lh_instant lh_identity_tick(struct lh_host *host, struct lh_instant now,
                                   struct lh_host_effects *effects)
{
    struct lh_identity *identity = &host->identity;
    switch (identity->state) {
    case LH_IDENTITY_ASKING:
    case LH_IDENTITY_ANNOUNCING:
        if (!lh_before(now, identity->ask_at)) {
            ask(host, effects);
            identity->ask_at = lh_after(now, (struct lh_duration){ASK_EVERY});
        }
        return identity->ask_at;
    case LH_IDENTITY_QUARANTINE:
        if (lh_before(now, identity->quarantine_until))
            return identity->quarantine_until;
        identity->state = LH_IDENTITY_SERVING;
        lh_host_event(effects, LH_EVENT_SERVING);
        return LH_NEVER;
    case LH_IDENTITY_LOADING:
    case LH_IDENTITY_WRITING:
    case LH_IDENTITY_ADMITTING:
    case LH_IDENTITY_SERVING: break;
    }
    return LH_NEVER;
}
