// F4, clean restart: see save.h. The form is this version's own: another version does not read it,
// and serves its quarantine.
#include "host/save.h"

#include "base/assert.h"
#include "base/hash.h"
#include "host/host_internal.h"

static const uint8_t magic[8] = {'L', 'H', 's', 'a', 'v', 'e', '0', '2'};

#define RECORD_BYTES (6 * 8)
#define LEASE_BYTES_MAX (2 + 2 * LH_TEXT_MAX_BYTES + 2 * 8 + 8 * 8 + 4 + 1)
#define HEADER_BYTES_MAX 256
#define DIGEST_BYTES 8

struct header {
    uint8_t identity[LH_VALUE_BYTES_MAX]; // the durable identity as of the save
    size_t identity_size;
    struct lh_clock_binding binding;
    uint64_t saved_at, floor, counter;
    uint32_t record_count, lease_count;
};

// Against a torn or damaged file, not against an attacker with access to it.
static uint64_t digest(struct lh_slice bytes)
{
    return lh_hash_bytes(LH_HASH_START, bytes);
}

size_t lh_host_save_size(const struct lh_host *host)
{
    return sizeof magic + HEADER_BYTES_MAX + (size_t)host->machine.acceptors.count * RECORD_BYTES +
           (size_t)host->machine.held * LEASE_BYTES_MAX + DIGEST_BYTES;
}

static void write_record(struct lh_writer *writer, const struct lh_acceptor_record *record)
{
    lh_key_write(writer, record->key);
    lh_writer_u64(writer, record->promised);
    lh_writer_u64(writer, record->ballot);
    lh_writer_u64(writer, (uint64_t)record->deadline.ns);
    lh_writer_u64(writer, record->stamp);
}

static uint32_t write_records(struct lh_writer *writer, const struct lh_acceptors *acceptors)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < acceptors->used; i++) {
        if (!lh_acceptors_in_use(&acceptors->records[i]))
            continue;
        write_record(writer, &acceptors->records[i]);
        count++;
    }
    return count;
}

static void write_lease(struct lh_writer *writer, struct lh_host *host, uint32_t id)
{
    uint8_t text[LH_TEXT_MAX_BYTES];
    const struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    const struct lh_lease *lease = lh_machine_lease(&host->machine, id);
    lh_key_write(writer, lease->key);
    lh_writer_u64(writer, lease->proposer.ballot);
    lh_writer_u64(writer, lease->proposer.held);
    lh_writer_u64(writer, lease->proposer.token);
    lh_writer_u64(writer, (uint64_t)lease->proposer.until.ns);
    lh_writer_u64(writer, lease->proposer.stamp);
    lh_writer_u64(writer, (uint64_t)lease->ttl.ns);
    lh_writer_u64(writer, (uint64_t)tenant->granted_at.ns);
    lh_writer_u64(writer, (uint64_t)tenant->renewed_at.ns);
    lh_writer_u32(writer, tenant->renewals);
    lh_writer_u8(writer, tenant->revoked);
    lh_writer_slice_u8(writer, lh_texts_get(&host->tenants.texts, tenant->name, text));
    lh_writer_slice_u8(writer, lh_texts_get(&host->tenants.texts, tenant->holder, text));
}

static uint32_t write_leases(struct lh_writer *writer, struct lh_host *host, struct lh_instant now)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id <= host->machine.used; id++) {
        if (!lh_proposer_holds(&lh_machine_lease(&host->machine, id)->proposer, now))
            continue;
        write_lease(writer, host, id);
        count++;
    }
    return count;
}

size_t lh_host_save(struct lh_host *host, struct lh_instant now,
                    const struct lh_clock_binding *binding, uint8_t *out, size_t capacity)
{
    if (!lh_identity_acts(&host->identity) || lh_before(now, host->machine.quarantine_until))
        return 0;
    struct lh_writer writer = lh_writer_of(out, capacity);
    uint8_t identity[LH_VALUE_BYTES_MAX];
    size_t identity_size = lh_identity_describe(host, identity);
    lh_writer_bytes(&writer, magic, sizeof magic);
    lh_writer_slice_u8(&writer, lh_slice_of(identity, identity_size));
    lh_writer_bytes(&writer, binding->kernel_boot_id, sizeof binding->kernel_boot_id);
    lh_writer_u64(&writer, (uint64_t)binding->boottime_offset_ns);
    lh_writer_u64(&writer, (uint64_t)now.ns);
    lh_writer_u64(&writer, host->machine.acceptors.floor);
    lh_writer_u64(&writer, host->machine.seen > host->machine.counter ? host->machine.seen
                                                                      : host->machine.counter);
    uint8_t *counts = lh_writer_take(&writer, 8);
    uint32_t records = write_records(&writer, &host->machine.acceptors);
    uint32_t leases = write_leases(&writer, host, now);
    if (writer.failed)
        return 0;
    lh_store_u32(counts, records);
    lh_store_u32(counts + 4, leases);
    lh_writer_u64(&writer, digest(lh_writer_slice(&writer)));
    return writer.failed ? 0 : lh_writer_size_bytes(&writer);
}

static bool read_header(struct lh_reader *reader, struct header *ret)
{
    const uint8_t *found = lh_reader_take(reader, sizeof magic);
    struct lh_slice identity = lh_reader_slice_u8(reader);
    if (found == NULL || memcmp(found, magic, sizeof magic) != 0 ||
        identity.size_bytes > sizeof ret->identity)
        return false;
    if (identity.size_bytes > 0)
        memcpy(ret->identity, identity.data, identity.size_bytes);
    ret->identity_size = identity.size_bytes;
    lh_reader_bytes(reader, ret->binding.kernel_boot_id, sizeof ret->binding.kernel_boot_id);
    ret->binding.boottime_offset_ns = (int64_t)lh_reader_u64(reader);
    ret->saved_at = lh_reader_u64(reader);
    ret->floor = lh_reader_u64(reader);
    ret->counter = lh_reader_u64(reader);
    ret->record_count = lh_reader_u32(reader);
    ret->lease_count = lh_reader_u32(reader);
    return !reader->failed;
}

// Everything the save is bound to. NULL if all of it is as it was.
static const char *unbound(const struct lh_host *host, struct lh_instant now,
                           const struct lh_clock_binding *binding, const struct header *header)
{
    uint8_t identity[LH_VALUE_BYTES_MAX];
    size_t size = lh_identity_describe(host, identity);
    if (!host->identity.loaded)
        return "the data directory has no history";
    if (size != header->identity_size || memcmp(identity, header->identity, size) != 0)
        return "it was saved by another start, directory or configuration";
    if (memcmp(binding->kernel_boot_id, header->binding.kernel_boot_id,
               sizeof binding->kernel_boot_id) != 0 ||
        binding->boottime_offset_ns != header->binding.boottime_offset_ns)
        return "the machine was started again, or the clock is another one";
    if ((uint64_t)now.ns < header->saved_at)
        return "the clock is before the moment of the save";
    return header->counter > LH_COUNTER_MAX || header->floor > LH_BALLOT_MAX ? "it is damaged"
                                                                             : NULL;
}

// A deadline is never above `latest`; a cleared record was touched before the save.
static bool read_record(struct lh_reader *reader, const struct header *header, int64_t latest,
                        struct lh_acceptor_record *ret)
{
    ret->key = lh_key_read(reader);
    ret->promised = lh_reader_u64(reader);
    ret->ballot = lh_reader_u64(reader);
    ret->deadline.ns = (int64_t)lh_reader_u64(reader);
    ret->stamp = lh_reader_u64(reader);
    return !reader->failed && ret->promised <= LH_BALLOT_MAX && ret->ballot <= ret->promised &&
           ret->deadline.ns >= 0 && ret->deadline.ns <= latest && ret->stamp <= INT64_MAX &&
           (ret->deadline.ns != LH_PAST.ns || ret->stamp <= header->saved_at);
}

struct saved_lease {
    struct lh_key key;
    struct lh_proposer proposer;
    struct lh_duration ttl;
    struct lh_instant granted_at, renewed_at;
    uint32_t renewals;
    bool revoked;
    struct lh_slice name, holder;
};

static bool read_lease(struct lh_reader *reader, struct saved_lease *ret)
{
    *ret = (struct saved_lease){.revoked = false};
    ret->key = lh_key_read(reader);
    ret->proposer.ballot = lh_reader_u64(reader);
    ret->proposer.held = lh_reader_u64(reader);
    ret->proposer.token = lh_reader_u64(reader);
    ret->proposer.until.ns = (int64_t)lh_reader_u64(reader);
    ret->proposer.stamp = lh_reader_u64(reader);
    ret->ttl.ns = (int64_t)lh_reader_u64(reader);
    ret->granted_at.ns = (int64_t)lh_reader_u64(reader);
    ret->renewed_at.ns = (int64_t)lh_reader_u64(reader);
    ret->renewals = lh_reader_u32(reader);
    ret->revoked = lh_reader_u8(reader) != 0;
    ret->name = lh_reader_slice_u8(reader);
    ret->holder = lh_reader_slice_u8(reader);
    return !reader->failed && lh_ballot_valid(ret->proposer.held) &&
           lh_ballot_valid(ret->proposer.token) && ret->proposer.ballot <= LH_BALLOT_MAX &&
           ret->proposer.until.ns >= 0 && ret->ttl.ns >= LH_TTL_MIN_MS * LH_NS_PER_MS &&
           ret->ttl.ns % LH_NS_PER_MS == 0 && ret->name.size_bytes > 0 && ret->granted_at.ns >= 0 &&
           ret->renewed_at.ns >= 0;
}

static void take_lease(struct lh_host *host, const struct saved_lease *saved)
{
    enum lh_reason reason = LH_REASON_NONE;
    uint32_t id = lh_tenant_open(host, saved->name, saved->key, &reason);
    LH_ASSERT_NE(id, 0);
    struct lh_tenant *tenant = lh_tenant_of(&host->tenants, id);
    bool stored = lh_texts_put(&host->tenants.texts, saved->holder, &tenant->holder);
    LH_ASSERT(stored);
    tenant->token = saved->proposer.token;
    tenant->granted_at = saved->granted_at;
    tenant->renewed_at = saved->renewed_at;
    tenant->renewals = saved->renewals;
    tenant->revoked = saved->revoked;
    tenant->granted_to = LH_GRANTED_TO_MANY;
    lh_machine_restore_lease(&host->machine, lh_machine_lease(&host->machine, id), &saved->proposer,
                             saved->ttl);
}

static int64_t latest_deadline(const struct lh_host *host, const struct header *header)
{
    struct lh_timing timing = host->config.timing;
    return (int64_t)header->saved_at + lh_timing_exclusion(timing, timing.max_ttl).ns;
}

// Every value is one that a node writes, and there is room for all texts.
static bool check_body(const struct lh_host *host, struct lh_reader reader,
                       const struct header *header, struct lh_instant now)
{
    uint64_t chunks = 0;
    struct lh_acceptor_record record;
    struct saved_lease lease;
    int64_t latest = (int64_t)header->saved_at + host->config.timing.max_ttl.ns;
    for (uint32_t i = 0; i < header->record_count; i++)
        if (!read_record(&reader, header, latest_deadline(host, header), &record))
            return false;
    for (uint32_t i = 0; i < header->lease_count; i++) {
        if (!read_lease(&reader, &lease) ||
            lh_ballot_counter(lease.proposer.ballot) > header->counter ||
            lease.ttl.ns > host->config.timing.max_ttl.ns || lease.proposer.until.ns > latest)
            return false;
        if (!lh_proposer_holds(&lease.proposer, now))
            continue;
        if (!lh_key_equal(lease.key, lh_host_key(host, lease.name)))
            return false;
        chunks += lh_texts_chunks(lease.name) + lh_texts_chunks(lease.holder);
    }
    return lh_reader_done(&reader) && chunks <= host->tenants.texts.capacity;
}

// Opens every lease that is held still. Returns false, with none open, if one is there twice.
static bool open_leases(struct lh_host *host, struct lh_reader reader, const struct header *header,
                        struct lh_instant now)
{
    struct lh_acceptor_record record;
    struct saved_lease lease;
    for (uint32_t i = 0; i < header->record_count; i++)
        read_record(&reader, header, INT64_MAX, &record);
    for (uint32_t i = 0; i < header->lease_count; i++) {
        if (!read_lease(&reader, &lease) || !lh_proposer_holds(&lease.proposer, now))
            continue;
        if (lh_machine_find(&host->machine, lease.key) == NULL &&
            lh_machine_open(&host->machine, lease.key) != NULL)
            continue;
        for (uint32_t id = host->machine.used; id > 0; id--)
            lh_machine_close(&host->machine, lh_machine_lease(&host->machine, id));
        return false;
    }
    return true;
}

static void take_body(struct lh_host *host, struct lh_reader reader, const struct header *header,
                      struct lh_instant now)
{
    struct lh_acceptor_record record;
    struct saved_lease lease;
    for (uint32_t i = 0; i < header->record_count; i++) {
        bool fits = read_record(&reader, header, INT64_MAX, &record) &&
                    lh_acceptors_restore(&host->machine.acceptors, &record);
        LH_ASSERT(fits);
    }
    for (uint32_t i = 0; i < header->lease_count; i++) {
        bool reads = read_lease(&reader, &lease);
        LH_ASSERT(reads);
        if (lh_proposer_holds(&lease.proposer, now))
            take_lease(host, &lease);
        else
            host->machine.counters.lost++; // it ended while nobody was here
    }
}

const char *lh_host_restore(struct lh_host *host, struct lh_instant now,
                            const struct lh_clock_binding *binding, struct lh_slice saved)
{
    if (saved.size_bytes < DIGEST_BYTES)
        return "it is cut off";
    struct lh_slice body = lh_slice_of(saved.data, saved.size_bytes - DIGEST_BYTES);
    if (lh_load_u64(saved.data + body.size_bytes) != digest(body))
        return "it is damaged";
    struct lh_reader reader = lh_reader_of(body);
    struct header header;
    if (!read_header(&reader, &header))
        return "it is of another version";
    const char *reason = unbound(host, now, binding, &header);
    if (reason != NULL)
        return reason;
    // More than fits means smaller tables than before.
    bool fits = header.record_count <= host->config.max_leases &&
                header.lease_count <= host->config.max_leases;
    if (!fits || !check_body(host, reader, &header, now) ||
        !open_leases(host, reader, &header, now))
        return "it does not fit: max-leases is smaller than before, or it is damaged";
    take_body(host, reader, &header, now);
    host->identity.restored = true;
    host->identity.restored_floor = header.floor;
    host->identity.restored_counter = header.counter;
    return NULL;
}
