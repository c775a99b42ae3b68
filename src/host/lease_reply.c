// How the result of a LEASE command is written: a map that begins with its status. Which keys
// follow is a matter of the status alone, and stands in one table. Wherever `until-ns` may grant
// something, `rate-ppm` stands beside it: a client that shrank by nothing would believe too long.
#include "base/text.h"
#include "host/command.h"

enum {
    HAS_NAME = 1 << 0,
    HAS_TOKEN = 1 << 1,
    HAS_HOLDER = 1 << 2,
    HAS_NODE = 1 << 3,
    HAS_TTL = 1 << 4,
    HAS_UNTIL = 1 << 5,
    HAS_RATE = 1 << 6,
    HAS_FREE_IN = 1 << 7,
    HAS_ENDS_IN = 1 << 8,
    HAS_REMAINING = 1 << 9,
    HAS_AGE = 1 << 10,
    HAS_RENEWALS = 1 << 11,
    HAS_RENEWED_AGO = 1 << 12,
    HAS_NEXT_OWNER = 1 << 13, // two keys
    HAS_REVOKED = 1 << 14,
    HAS_REASON = 1 << 15,
};

#define HAS_LEASE (HAS_NAME | HAS_TOKEN | HAS_HOLDER | HAS_NODE)
#define HAS_VIEW                                                                                   \
    (HAS_LEASE | HAS_TTL | HAS_REMAINING | HAS_AGE | HAS_RENEWALS | HAS_RENEWED_AGO |              \
     HAS_NEXT_OWNER | HAS_REVOKED | HAS_REASON)

static unsigned keys_of(enum lh_request_kind kind, enum lh_status status)
{
    if (kind == LH_REQUEST_GET)
        return HAS_VIEW;
    switch (status) {
    case LH_STATUS_GRANTED: return HAS_LEASE | HAS_TTL | HAS_UNTIL | HAS_RATE;
    case LH_STATUS_HELD: return HAS_LEASE | HAS_FREE_IN | HAS_UNTIL | HAS_REVOKED | HAS_REASON;
    case LH_STATUS_TURN: return HAS_NAME | HAS_UNTIL | HAS_REASON;
    case LH_STATUS_REVOKED: return HAS_LEASE | HAS_ENDS_IN;
    case LH_STATUS_RELEASED: return HAS_NAME | HAS_TOKEN;
    case LH_STATUS_LOST:
    case LH_STATUS_NOQUORUM: {
        unsigned keys = HAS_NAME | HAS_UNTIL | HAS_REASON;
        // The owner that does not answer.
        keys |= status == LH_STATUS_NOQUORUM ? HAS_NODE : HAS_REVOKED;
        return kind == LH_REQUEST_RENEW ? keys | HAS_RATE : keys;
    }
    case LH_STATUS_FREE: return HAS_NAME;
    case LH_STATUS_UNDECIDED:
    case LH_STATUS_LISTED:
    case LH_STATUS_BUSY: break;
    }
    return HAS_NAME | HAS_REASON;
}

static unsigned pairs_of(unsigned keys)
{
    unsigned pairs = (keys & HAS_NEXT_OWNER) != 0;
    for (; keys != 0; keys &= keys - 1)
        pairs++;
    return pairs;
}

static void write_number(struct lh_writer *writer, const char *key, int64_t value)
{
    lh_resp_write_text(writer, key);
    lh_resp_write_integer(writer, value);
}

static void write_bytes(struct lh_writer *writer, const char *key, struct lh_slice value)
{
    lh_resp_write_text(writer, key);
    lh_resp_write_bulk(writer, value);
}

static void write_keys(struct lh_writer *writer, unsigned keys, const struct lh_host *host,
                       const struct lh_result *result, struct lh_slice name)
{
    if ((keys & HAS_NAME) != 0)
        write_bytes(writer, "name", name);
    if ((keys & HAS_TOKEN) != 0)
        write_number(writer, "token", (int64_t)result->token);
    if ((keys & HAS_HOLDER) != 0)
        write_bytes(writer, "holder", result->holder);
    if ((keys & HAS_NODE) != 0)
        write_number(writer, "node", result->node);
    if ((keys & HAS_TTL) != 0)
        write_number(writer, "ttl-ms", lh_floor_ms(result->ttl));
    if ((keys & HAS_FREE_IN) != 0)
        write_number(writer, "free-in-ns", result->free_in.ns);
    if ((keys & HAS_UNTIL) != 0)
        write_number(writer, "until-ns", result->until_ns > 0 ? result->until_ns : 0);
    if ((keys & HAS_RATE) != 0)
        write_number(writer, "rate-ppm", host->config.timing.rate_ppm);
    if ((keys & HAS_ENDS_IN) != 0)
        write_number(writer, "ends-in-ns", result->ends_in.ns);
    if ((keys & HAS_REMAINING) != 0)
        write_number(writer, "remaining-ns", result->remaining.ns);
    if ((keys & HAS_AGE) != 0)
        write_number(writer, "age-ns", result->age.ns);
    if ((keys & HAS_RENEWALS) != 0)
        write_number(writer, "renewals", result->renewals);
    if ((keys & HAS_RENEWED_AGO) != 0)
        write_number(writer, "renewed-ago-ns", result->renewed_ago.ns);
    if ((keys & HAS_NEXT_OWNER) != 0) {
        write_number(writer, "next-owner-min-ns", result->next_owner_min.ns);
        write_number(writer, "next-owner-max-ns", result->next_owner_max.ns);
    }
    if ((keys & HAS_REVOKED) != 0)
        write_number(writer, "revoked", result->revoked);
    if ((keys & HAS_REASON) != 0)
        write_bytes(writer, "reason", lh_slice_of_string(lh_reason_text(result->reason)));
}

static void write_entry(struct lh_writer *writer, enum lh_resp_protocol protocol,
                        const struct lh_entry *entry)
{
    lh_resp_write_map(writer, protocol, 10);
    write_bytes(writer, "name", entry->name);
    write_number(writer, "token", (int64_t)entry->token);
    write_bytes(writer, "holder", entry->holder);
    write_number(writer, "node", entry->node);
    write_number(writer, "remaining-ns", entry->remaining.ns);
    write_number(writer, "age-ns", entry->age.ns);
    write_number(writer, "renewals", entry->renewals);
    write_number(writer, "renewed-ago-ns", entry->renewed_ago.ns);
    write_number(writer, "ttl-ms", lh_floor_ms(entry->ttl));
    write_number(writer, "revoked", entry->revoked);
}

// The entries were checked when they came from a peer; they are read twice only to be counted,
// because a map's length comes first.
static void write_list(struct lh_writer *writer, enum lh_resp_protocol protocol,
                       const struct lh_result *result)
{
    struct lh_reader reader = lh_reader_of(result->entries);
    struct lh_entry entry;
    char cursor[LH_INTEGER_TEXT_BYTES];
    lh_resp_write_map(writer, protocol, 4);
    lh_resp_write_text(writer, "leases");
    lh_resp_write_array(writer, result->entry_count);
    for (uint32_t i = 0; i < result->entry_count; i++) {
        lh_entry_read(&reader, &entry);
        write_entry(writer, protocol, &entry);
    }
    LH_ASSERT(lh_reader_done(&reader));
    lh_u64_format(result->cursor, cursor);
    lh_resp_write_text(writer, "cursor");
    lh_resp_write_text(writer, cursor);
    write_number(writer, "age-ms", lh_floor_ms(result->age) + (result->age.ns % LH_NS_PER_MS != 0));
    lh_resp_write_text(writer, "missing");
    lh_resp_write_array(writer, result->missing_count);
    for (unsigned i = 0; i < result->missing_count; i++)
        lh_resp_write_integer(writer, result->missing[i]);
}

// A full table of ours, said as an error, since it is no answer about the lease.
static void write_busy(struct lh_writer *writer, const struct lh_result *result)
{
    char line[256];
    struct lh_writer text = lh_writer_of(line, sizeof line);
    lh_writer_string(&text, "BUSY ");
    lh_writer_string(&text, lh_reason_text(result->reason));
    lh_writer_string(&text, ": ask again later, or another node");
    lh_resp_write_error(writer, lh_writer_slice(&text));
}

void lh_lease_write_result(struct lh_writer *writer, enum lh_resp_protocol protocol,
                           const struct lh_host *host, const struct lh_request *request,
                           const struct lh_result *result)
{
    if (result->status == LH_STATUS_BUSY) {
        write_busy(writer, result);
        return;
    }
    if (request->kind == LH_REQUEST_LIST && result->status == LH_STATUS_LISTED) {
        write_list(writer, protocol, result);
        return;
    }
    unsigned keys = keys_of(request->kind, result->status);
    lh_resp_write_map(writer, protocol, 1 + pairs_of(keys));
    lh_resp_write_text(writer, "status");
    lh_resp_write_text(writer, lh_status_name(result->status));
    write_keys(writer, keys, host, result, lh_request_name(request));
}
