// The file behind a clean restart (F4). Whatever it says, it is taken over whole by a host that
// then runs, or refused and nothing of it is.
//
//     'f' and a file as it is
//     's' and a file whose digest is made right
//     'b' floor 8, counter 8, record count 4, lease count 4, records and leases, below a true header
#include "../unit/lone_host.h"

#include "host/save.h"

#define DIGEST_BYTES 8
#define AT_MS 100000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct lh_clock_binding binding = {{1, 2, 3, 4, 5, 6, 7, 8}, 4026531834};
static struct lone_host *lone;
static uint8_t header[512]; // of a save made AT_MS, up to its floor
static size_t header_bytes;

// The same directory and start every time, whatever its random id would be.
static void begin(void)
{
    static const struct lh_identity_record identity = {
        .node = 1,
        .directory = "fuzz_save.c  16",
        .generation = 1,
        .admitted = true,
        .start = 7,
        .reservation = UINT64_C(1) << 21,
        .ceiling = {4 * LH_NS_PER_S},
        .member_epoch = 1,
        .max_ttl_ms = 3000,
        .rate_ppm = 10000,
    };
    struct lh_identity_record mine = identity;
    uint8_t value[LH_VALUE_BYTES_MAX];
    void *memory = lone->host;
    memset(memory, 0, lh_host_size(&lone->config));
    lone->host = lh_host_init(memory, &lone->config);
    mine.members_tag = lone->host->peers.members_tag;
    size_t size = lh_identity_encode(&mine, value);
    LH_ASSERT(lh_host_load(lone->host, LH_SLICE("I"), lh_slice_of(value, size)) == NULL);
    lone->now = (struct lh_instant){AT_MS * LH_NS_PER_MS};
    lone->head = lone->count = 0;
    lone->again = false;
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        lone->clients[i].open = false;
}

static void make_header(void)
{
    struct lh_writer writer = lh_writer_of(header, sizeof header);
    uint8_t identity[LH_VALUE_BYTES_MAX];
    size_t size = lh_identity_describe(lone->host, identity);
    lh_writer_bytes(&writer, (const uint8_t *)"LHsave02", 8);
    lh_writer_slice_u8(&writer, lh_slice_of(identity, size));
    lh_writer_bytes(&writer, binding.kernel_boot_id, sizeof binding.kernel_boot_id);
    lh_writer_u64(&writer, (uint64_t)binding.boottime_offset_ns);
    lh_writer_u64(&writer, (uint64_t)lone->now.ns);
    LH_ASSERT(!writer.failed);
    header_bytes = lh_writer_size_bytes(&writer);
}

static void seal(uint8_t *file, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size - DIGEST_BYTES; i++)
        sum = (sum ^ file[i]) * UINT64_C(0x100000001b3);
    lh_store_u64(file + size - DIGEST_BYTES, sum);
}

// The file that the input stands for, in memory of just its size.
static uint8_t *file_of(uint8_t form, const uint8_t *bytes, size_t size, size_t *ret_size)
{
    size_t before = form == 'b' ? header_bytes : 0;
    size_t after = form == 'b' ? DIGEST_BYTES : 0;
    uint8_t *file = malloc(before + size + after);
    memcpy(file, header, before);
    if (size > 0)
        memcpy(file + before, bytes, size);
    *ret_size = before + size + after;
    if (form != 'f' && *ret_size >= DIGEST_BYTES)
        seal(file, *ret_size);
    return file;
}

static void check_untouched(void)
{
    const struct lh_host *host = lone->host;
    LH_ASSERT(!host->identity.restored);
    LH_ASSERT_EQ(host->machine.acceptors.count, 0);
    LH_ASSERT_EQ(host->machine.count, 0);
    LH_ASSERT_EQ(host->machine.held, 0);
    LH_ASSERT_EQ(host->tenants.texts.used, host->tenants.texts.free_count);
}

// It serves, what it saves it takes over again, and leases end.
static void check_life(void)
{
    uint8_t *saved = NULL;
    lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_START});
    lone_advance(lone, 0);
    LH_ASSERT_EQ(lone->host->identity.state, LH_IDENTITY_SERVING);
    size_t room = lh_host_save_size(lone->host);
    saved = malloc(room);
    LH_ASSERT(lh_host_save(lone->host, lone->now, &binding, saved, room) > 0);
    free(saved);
    lone_connect(lone, 0);
    const char list[] = "LEASE LIST\r\nLEASE ACQUIRE a TTL 100ms HOLDER h\r\n";
    lone_send(lone, 0, list, sizeof list - 1);
    lone_advance(lone, 4000);
    lone->clients[0].used = 0;
    lone_disconnect(lone, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (lone == NULL)
        lone = lone_host_open(lh_ms(3000));
    if (size == 0)
        return 0;
    size_t file_bytes = 0;
    begin();
    make_header();
    uint8_t *file = file_of(bytes[0], bytes + 1, size - 1, &file_bytes);
    const char *reason =
        lh_host_restore(lone->host, lone->now, &binding, lh_slice_of(file, file_bytes));
    free(file);
    if (reason != NULL)
        check_untouched();
    else
        check_life();
    return 0;
}
