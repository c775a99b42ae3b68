// Hostile datagrams that are nevertheless authentic: a member gone mad. Each run is a node of three
// that serves, a client that waits and one that holds, and then what the input says: datagrams with
// a good header of a good peer in front of any bytes, datagrams of any bytes, time that passes, a
// disk that answers or does not. Nothing may trip an assertion, and the node must still answer
// PING.
//
// Input: records of (what:1, size:2, bytes). what & 3: 0 a good header of the peer in front, 1 as
// it is, 2 time in ms (from size), 3 the disk writes; what & 4: from node 3; what & 8: in
// generation 0; what & 16: framed as one message of kind bytes[0].
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/driver.h"
#include "host/host_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct fuzz {
    struct lh_driver *driver;
    struct lh_instant now;
    uint64_t asked, done;
    size_t replied;
    char last[64];
};

static struct lh_instant world_now(void *context)
{
    return ((struct fuzz *)context)->now;
}

static void world_send(void *context, uint8_t to, struct lh_slice bytes)
{
    (void)context;
    if (to == 0 || bytes.size_bytes > LH_DATAGRAM_MAX)
        abort();
}

static void world_persist(void *context, uint64_t number, const struct lh_host_pair *pairs,
                          unsigned count)
{
    struct lh_identity_record record;
    ((struct fuzz *)context)->asked = number;
    for (unsigned i = 0; i < count; i++)
        if (pairs[i].key[0] == 'I' &&
            !lh_identity_decode(lh_slice_of(pairs[i].value, pairs[i].value_size), &record))
            abort();
}

static void world_reply(void *context, uint32_t session, struct lh_slice bytes, bool close)
{
    struct fuzz *fuzz = context;
    (void)close;
    if (session > 3)
        abort();
    fuzz->replied += bytes.size_bytes;
    size_t kept = bytes.size_bytes < sizeof fuzz->last - 1 ? bytes.size_bytes : 63;
    memcpy(fuzz->last, bytes.data, kept);
    fuzz->last[kept] = '\0';
}

static void hash_name(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    (void)context;
    memset(ret_hash, 0, 16);
    memcpy(ret_hash, name.data, name.size_bytes < 16 ? name.size_bytes : 16);
}

static void write_disk(struct fuzz *fuzz)
{
    while (fuzz->done < fuzz->asked) {
        fuzz->done = fuzz->asked;
        lh_driver_persisted(fuzz->driver, fuzz->done);
    }
    lh_driver_flush(fuzz->driver);
}

static void pass(struct fuzz *fuzz, int64_t ms)
{
    struct lh_instant end = lh_after(fuzz->now, lh_ms(ms));
    for (unsigned i = 0; i < 400 && lh_before(lh_driver_deadline(fuzz->driver), end); i++) {
        fuzz->now = lh_later(fuzz->now, lh_driver_deadline(fuzz->driver));
        lh_driver_timer(fuzz->driver);
        lh_driver_flush(fuzz->driver);
    }
    fuzz->now = lh_later(fuzz->now, end);
}

static void write_header(struct fuzz *fuzz, uint8_t node, struct lh_writer *writer)
{
    struct lh_host *host = lh_driver_host(fuzz->driver);
    lh_header_write(writer, &(struct lh_header){.member_epoch = 1,
                                                .members_tag = host->peers.members_tag,
                                                .start = 1,
                                                .boot = node,
                                                .echo_boot = host->boot,
                                                .stamp = (uint64_t)fuzz->now.ns,
                                                .max_ttl_ms = 10000,
                                                .rate_ppm = 10000});
}

static void datagram(struct fuzz *fuzz, uint8_t what, struct lh_slice bytes)
{
    uint8_t whole[LH_DATAGRAM_MAX];
    uint8_t node = (what & 4) != 0 ? 3 : 2;
    struct lh_writer writer = lh_writer_of(whole, sizeof whole);
    if ((what & 3) == 0)
        write_header(fuzz, node, &writer);
    if ((what & 16) != 0 && bytes.size_bytes > 0) {
        lh_writer_u8(&writer, bytes.data[0]);
        lh_writer_u16(&writer, (uint16_t)(bytes.size_bytes - 1));
        bytes.data++;
        bytes.size_bytes--;
    }
    lh_writer_slice_bytes(&writer, bytes);
    struct lh_slice made = lh_writer_slice(&writer);
    uint8_t *exact = malloc(made.size_bytes);
    if (made.size_bytes > 0)
        memcpy(exact, whole, made.size_bytes);
    lh_driver_datagram(fuzz->driver, node, (what & 8) != 0 ? 0 : 1,
                       lh_slice_of(exact, made.size_bytes));
    lh_driver_flush(fuzz->driver);
    free(exact);
}

static void say(struct fuzz *fuzz, uint32_t session, const char *line)
{
    lh_driver_bytes(fuzz->driver, session, lh_slice_of_string(line));
    lh_driver_flush(fuzz->driver);
}

// A replacement without a disk of its own history would take long; the identity is loaded as if it
// were old.
static void begin(struct fuzz *fuzz, const struct lh_host_config *config)
{
    uint8_t value[LH_VALUE_BYTES_MAX], key = 'I';
    struct lh_identity_record record = {.node = 1,
                                        .generation = 1,
                                        .admitted = true,
                                        .start = 1,
                                        .reservation = LH_RESERVATION_BLOCK,
                                        .ceiling = lh_ms(100),
                                        .member_epoch = 1,
                                        .members_tag = lh_peers_tag(config->members, 3),
                                        .max_ttl_ms = 10000,
                                        .rate_ppm = 10000};
    size_t size = lh_identity_encode(&record, value);
    if (lh_driver_load(fuzz->driver, lh_slice_of(&key, 1), lh_slice_of(value, size)) != NULL)
        abort();
    lh_driver_start(fuzz->driver);
    write_disk(fuzz);
    pass(fuzz, 200);
    for (uint8_t node = 2; node <= 3; node++)
        datagram(fuzz, node == 3 ? 4 : 0, LH_SLICE(""));
    for (uint32_t session = 0; session < 4; session++)
        lh_driver_open(fuzz->driver, session, true);
    say(fuzz, 0, "LEASE ACQUIRE a HOLDER h TTL 5s\r\n");
    say(fuzz, 1, "SUBSCRIBE lease:a\r\n");
    say(fuzz, 2, "LEASE GET a\r\n");
}

// A node that serves is made once; every run begins with a copy of it, at the same address.
static void begin_again(struct fuzz *fuzz)
{
    static struct fuzz first;
    static uint8_t *memory, *copy;
    static size_t size;
    struct lh_host_config config = {.node = 1,
                                    .member_count = 3,
                                    .members = {1, 2, 3},
                                    .member_epoch = 1,
                                    .timing = {lh_ms(10000), 10000},
                                    .max_leases = 8,
                                    .max_clients = 4,
                                    .idle_forget = true,
                                    .one_round_renewal = true,
                                    .quarantine_ceiling = true,
                                    .entropy = {1, 2, 3},
                                    .hash_name = hash_name};
    struct lh_world world = {.context = fuzz,
                             .now = world_now,
                             .send = world_send,
                             .persist = world_persist,
                             .reply = world_reply};
    if (memory == NULL) {
        size = lh_driver_size(&config);
        memory = calloc(1, size);
        copy = malloc(size);
        *fuzz = (struct fuzz){.now = {LH_NS_PER_S}};
        fuzz->driver = lh_driver_init(memory, &config, &world);
        begin(fuzz, &config);
        memcpy(copy, memory, size);
        first = *fuzz;
    }
    memcpy(memory, copy, size);
    *fuzz = first;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct fuzz fuzz;
    begin_again(&fuzz);
    struct lh_reader reader = lh_reader_of(lh_slice_of(bytes, size));
    while (lh_reader_left_bytes(&reader) > 0) {
        uint8_t what = lh_reader_u8(&reader);
        uint16_t number = lh_reader_u16(&reader);
        if ((what & 3) == 2) {
            pass(&fuzz, number);
            continue;
        }
        if ((what & 3) == 3) {
            write_disk(&fuzz);
            continue;
        }
        size_t most = lh_reader_left_bytes(&reader) < 1300 ? lh_reader_left_bytes(&reader) : 1300;
        datagram(&fuzz, what, lh_reader_slice(&reader, number < most ? number : most));
    }
    pass(&fuzz, 100);
    say(&fuzz, 3, "PING\r\n");
    if (strcmp(fuzz.last, "+PONG\r\n") != 0)
        abort();
    return 0;
}
