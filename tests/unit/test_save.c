// F4: what a node that stops in order leaves behind, and who may take it over: bound to one
// directory and start, to members and timing, to the kernel's boot, its time namespace and a clock
// that has not gone back; whole or not at all, whatever was cut off or flipped; once; and with
// leases, records and tokens exactly as they were.
// run-tests: timeout 300
#include "lone_host.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "host/save.h"

#define MAX_TTL_MS 3000
#define SAVED_BYTES_MAX (1 << 16)
#define MAGIC_BYTES 8
#define DIGEST_BYTES 8

static const struct lh_clock_binding here = {{1, 2, 3, 4, 5, 6, 7, 8}, 4026531834};

// A save, and what the disk knew when it was made.
struct saved {
    uint8_t bytes[SAVED_BYTES_MAX];
    size_t size;
    struct lh_instant at;
    struct lh_identity_record identity;
    struct lh_host_config config;
};

// --- a first life ---

static void tell(struct lone_host *lone, const char *line)
{
    char bytes[LH_SESSION_INPUT_BYTES];
    size_t size = (size_t)snprintf(bytes, sizeof bytes, "%s\r\n", line);
    lone->clients[0].used = 0;
    assert_int_equal(lone_send(lone, 0, bytes, size), size);
}

static const struct lh_resp_value *call(struct lone_host *lone, const char *line)
{
    static struct lh_resp_value values[512];
    struct lh_resp_reply_parser parser;
    struct lone_client *client = &lone->clients[0];
    size_t consumed = 0;
    tell(lone, line);
    if (client->used == 0)
        lone_advance(lone, 10); // it asks around
    lh_resp_reply_parser_init(&parser, values, 512, LONE_OUTPUT_BYTES);
    assert_int_equal(lh_resp_reply_parse(&parser, client->output, client->used, &consumed),
                     LH_RESP_COMPLETE);
    return values;
}

static bool says(struct lone_host *lone, const char *line, const char *status)
{
    struct lh_slice text = {NULL, 0};
    const struct lh_resp_value *value = lh_resp_get(call(lone, line), "status");
    assert_true(lh_resp_as_text(value, &text));
    return text.size_bytes == strlen(status) && memcmp(text.data, status, text.size_bytes) == 0;
}

static int64_t number(struct lone_host *lone, const char *line, const char *key)
{
    int64_t value = -1;
    assert_true(lh_resp_as_integer(lh_resp_get(call(lone, line), key), &value));
    return value;
}

static struct lone_host *serving(void)
{
    struct lone_host *lone = lone_host_open(lh_ms(MAX_TTL_MS));
    lone_connect(lone, 0);
    return lone;
}

// Three leases held under their first, a later and a third ballot, one released, one that was never
// granted.
static struct lone_host *busy(void)
{
    struct lone_host *lone = serving();
    assert_true(says(lone, "LEASE ACQUIRE backup TTL 3000ms HOLDER me", "granted"));
    lone_advance(lone, 100);
    assert_true(says(lone, "LEASE ACQUIRE renewed TTL 2000ms HOLDER you", "granted"));
    assert_true(says(lone, "LEASE ACQUIRE gone TTL 2000ms HOLDER you", "granted"));
    assert_true(says(lone, "LEASE ACQUIRE third TTL 1500ms HOLDER \"a b\"", "granted"));
    lone_advance(lone, 100);
    char line[128];
    snprintf(line, sizeof line, "LEASE RENEW renewed %lld you TTL 2500ms",
             (long long)number(lone, "LEASE GET renewed", "token"));
    call(lone, line);
    snprintf(line, sizeof line, "LEASE RELEASE gone %lld you",
             (long long)number(lone, "LEASE GET gone", "token"));
    call(lone, line);
    return lone;
}

static struct lh_identity_record identity_of(const struct lone_host *lone)
{
    uint8_t value[LH_VALUE_BYTES_MAX];
    struct lh_identity_record record;
    size_t size = lh_identity_describe(lone->host, value);
    assert_true(lh_identity_decode(lh_slice_of(value, size), &record));
    return record;
}

static struct saved *save(struct lone_host *lone)
{
    struct saved *saved = calloc(1, sizeof *saved);
    assert_non_null(saved);
    size_t room = lh_host_save_size(lone->host);
    assert_true(room <= sizeof saved->bytes);
    saved->at = lone->now;
    saved->config = lone->config;
    saved->identity = identity_of(lone);
    saved->size = lh_host_save(lone->host, lone->now, &here, saved->bytes, room);
    assert_true(saved->size > 0);
    return saved;
}

static struct saved *saved_while_busy(void)
{
    struct lone_host *lone = busy();
    struct saved *saved = save(lone);
    lone_host_close(lone);
    return saved;
}

// --- a second life ---

// The host as it was loaded: what a refused save must leave.
static uint8_t *as_loaded;
static size_t loaded_bytes;

// Up to what the disk says, and no further.
static void load(struct lone_host *lone, const struct lh_host_config *config,
                 const struct lh_identity_record *identity)
{
    uint8_t value[LH_VALUE_BYTES_MAX];
    size_t size = identity == NULL ? 0 : lh_identity_encode(identity, value);
    free(lone->host);
    lone->config = *config;
    lone->host = lh_host_init(calloc(1, lh_host_size(config)), config);
    if (identity != NULL)
        assert_null(lh_host_load(lone->host, LH_SLICE("I"), lh_slice_of(value, size)));
    lone->head = lone->count = 0;
    lone->again = false;
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        lone->clients[i].open = false;
    loaded_bytes = lh_host_size(config);
    as_loaded = realloc(as_loaded, loaded_bytes);
    memcpy(as_loaded, lone->host, loaded_bytes);
}

static bool untouched(const struct lone_host *lone)
{
    return memcmp(lone->host, as_loaded, loaded_bytes) == 0;
}

static void start(struct lone_host *lone)
{
    lone_input(lone, (struct lh_host_input){.kind = LH_INPUT_START});
    lone_connect(lone, 0);
    lone_advance(lone, 0);
}

// A life whose clock reads `ms` later, before it takes anything over.
static struct lone_host *next_life(const struct saved *saved, int64_t ms)
{
    struct lone_host *lone = serving();
    load(lone, &saved->config, &saved->identity);
    lone->now = lh_after(saved->at, lh_ms(ms));
    return lone;
}

static const char *restore(struct lone_host *lone, const struct saved *saved)
{
    return lh_host_restore(lone->host, lone->now, &here, lh_slice_of(saved->bytes, saved->size));
}

// Refused with a reason that says so, and not a byte of the host is another.
static void refuses_under(struct lone_host *lone, const struct saved *saved,
                          const struct lh_clock_binding *binding, const char *part)
{
    const char *reason =
        lh_host_restore(lone->host, lone->now, binding, lh_slice_of(saved->bytes, saved->size));
    assert_non_null(reason);
    if (strstr(reason, part) == NULL)
        fail_msg("'%s' does not say '%s'", reason, part);
    assert_true(untouched(lone));
}

static void refuses(struct lone_host *lone, const struct saved *saved, const char *part)
{
    refuses_under(lone, saved, &here, part);
}

// The same where it shows only while the tables are filled: they are empty again.
static void refuses_late(struct lone_host *lone, const struct saved *saved, const char *part)
{
    const struct lh_host *host = lone->host;
    const char *reason = restore(lone, saved);
    assert_non_null(reason);
    if (strstr(reason, part) == NULL)
        fail_msg("'%s' does not say '%s'", reason, part);
    assert_false(host->identity.restored);
    assert_int_equal(host->machine.acceptors.count, 0);
    assert_int_equal(host->machine.held, 0);
    assert_int_equal(host->machine.count, 0);
    assert_int_equal(lh_machine_deadline(&host->machine).ns, LH_NEVER.ns);
    assert_int_equal(host->tenants.texts.free_count, host->tenants.texts.used);
}

static void end(struct lone_host *lone, struct saved *saved)
{
    lone_host_close(lone);
    free(saved);
    free(as_loaded);
    as_loaded = NULL;
}

// --- the form, as this test knows it ---

static uint64_t digest(const uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void seal(struct saved *saved)
{
    lh_store_u64(saved->bytes + saved->size - DIGEST_BYTES,
                 digest(saved->bytes, saved->size - DIGEST_BYTES));
}

struct form {
    uint8_t *boot_id, *boottime_offset, *saved_at, *floor, *counter, *record_count, *lease_count;
    uint8_t *records, *leases, *end;
};

static struct form form_of(struct saved *saved)
{
    struct form form;
    form.boot_id = saved->bytes + MAGIC_BYTES + 1 + saved->bytes[MAGIC_BYTES];
    form.boottime_offset = form.boot_id + 16;
    form.saved_at = form.boottime_offset + 8;
    form.floor = form.saved_at + 8;
    form.counter = form.floor + 8;
    form.record_count = form.counter + 8;
    form.lease_count = form.record_count + 4;
    form.records = form.lease_count + 4;
    form.leases = form.records + (size_t)lh_load_u32(form.record_count) * 48;
    form.end = saved->bytes + saved->size - DIGEST_BYTES;
    return form;
}

// --- what is taken over ---

static void a_restored_node_serves_at_once_with_the_same_leases(void **state)
{
    (void)state;
    struct lone_host *old = busy();
    int64_t tokens[3];
    static const char *const names[] = {"backup", "renewed", "third"};
    char line[64];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "LEASE GET %s", names[i]);
        tokens[i] = number(old, line, "token");
    }
    struct saved *saved = save(old);
    struct lone_host *lone = next_life(saved, 500);
    assert_null(restore(lone, saved));
    start(lone);
    assert_int_equal(lone->host->identity.state, LH_IDENTITY_SERVING);
    assert_string_equal(lone->host->identity.origin, "clean restart");
    for (unsigned i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "LEASE GET %s", names[i]);
        assert_true(says(lone, line, "held"));
        assert_int_equal(number(lone, line, "token"), tokens[i]);
    }
    assert_true(says(lone, "LEASE GET gone", "free"));
    lone_host_close(old);
    end(lone, saved);
}

// Saved again at once, it is the same to the byte but for the start number.
static void a_save_of_what_was_restored_is_the_same(void **state)
{
    (void)state;
    struct saved *first = saved_while_busy();
    struct lone_host *lone = next_life(first, 0);
    assert_null(restore(lone, first));
    start(lone);
    struct saved *second = save(lone);
    struct form a = form_of(first), b = form_of(second);
    assert_int_equal(second->identity.start, first->identity.start + 1);
    assert_int_equal(second->size, first->size);
    assert_memory_equal(a.boot_id, b.boot_id, (size_t)(a.end - a.boot_id));
    assert_int_equal(lh_load_u32(a.record_count), 4);
    assert_int_equal(lh_load_u32(a.lease_count), 3);
    free(second);
    end(lone, first);
}

static void every_field_of_a_lease_comes_back(void **state)
{
    (void)state;
    struct lone_host *old = busy();
    struct saved *saved = save(old);
    struct lone_host *lone = next_life(saved, 0);
    assert_null(restore(lone, saved));
    for (uint32_t id = 1; id <= old->host->machine.used; id++) {
        struct lh_lease *was = lh_machine_lease(&old->host->machine, id);
        if (!lh_proposer_holds(&was->proposer, old->now))
            continue;
        struct lh_lease *is = lh_machine_find(&lone->host->machine, was->key);
        assert_non_null(is);
        assert_int_equal(is->proposer.ballot, was->proposer.ballot);
        assert_int_equal(is->proposer.held, was->proposer.held);
        assert_int_equal(is->proposer.token, was->proposer.token);
        assert_int_equal(is->proposer.until.ns, was->proposer.until.ns);
        assert_int_equal(is->proposer.stamp, was->proposer.stamp);
        assert_int_equal(is->proposer.phase, LH_IDLE);
        assert_int_equal(is->ttl.ns, was->ttl.ns);
        const struct lh_tenant *tenant = lh_tenant_of(&lone->host->tenants, is->id);
        const struct lh_tenant *before = lh_tenant_of(&old->host->tenants, id);
        uint8_t a[LH_TEXT_MAX_BYTES], b[LH_TEXT_MAX_BYTES];
        assert_true(lh_slice_equal(lh_texts_get(&lone->host->tenants.texts, tenant->name, a),
                                   lh_texts_get(&old->host->tenants.texts, before->name, b)));
        assert_true(lh_slice_equal(lh_texts_get(&lone->host->tenants.texts, tenant->holder, a),
                                   lh_texts_get(&old->host->tenants.texts, before->holder, b)));
        assert_int_equal(tenant->token, before->token);
        assert_int_equal(tenant->granted_at.ns, before->granted_at.ns);
        assert_int_equal(tenant->renewed_at.ns, before->renewed_at.ns);
        assert_int_equal(tenant->renewals, before->renewals);
        assert_int_equal(tenant->revoked, before->revoked);
    }
    assert_int_equal(lone->host->machine.held, 3);
    const struct lh_acceptors *acceptors = &old->host->machine.acceptors;
    for (uint32_t i = 0; i < acceptors->used; i++)
        assert_memory_equal(
            lh_acceptors_find(&lone->host->machine.acceptors, acceptors->records[i].key),
            &acceptors->records[i], sizeof acceptors->records[i]);
    assert_int_equal(lone->host->machine.acceptors.count, acceptors->count);
    lone_host_close(old);
    end(lone, saved);
}

static void a_restored_lease_is_renewed_and_released_under_its_token(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 500);
    assert_null(restore(lone, saved));
    start(lone);
    char line[128];
    int64_t token = number(lone, "LEASE GET backup", "token");
    snprintf(line, sizeof line, "LEASE RENEW backup %lld me", (long long)token);
    assert_int_equal(number(lone, line, "token"), token);
    assert_true(says(lone, line, "granted"));
    lone_advance(lone, 2900);
    assert_true(says(lone, "LEASE GET backup", "held"));
    snprintf(line, sizeof line, "LEASE RELEASE backup %lld me", (long long)token);
    assert_true(says(lone, line, "released"));
    assert_true(says(lone, "LEASE GET backup", "free"));
    end(lone, saved);
}

// Whoever asked before and asks again in the next life holds the same lease, as in one.
static void a_retry_across_the_restart_is_the_same_request(void **state)
{
    (void)state;
    struct lone_host *old = serving();
    int64_t token = number(old, "LEASE ACQUIRE backup TTL 3000ms HOLDER me", "token");
    struct saved *saved = save(old);
    struct lone_host *lone = next_life(saved, 10);
    assert_null(restore(lone, saved));
    start(lone);
    assert_int_equal(number(lone, "LEASE ACQUIRE backup TTL 3000ms HOLDER me", "token"), token);
    assert_true(says(lone, "LEASE ACQUIRE backup TTL 3000ms HOLDER other", "held"));
    lone_host_close(old);
    end(lone, saved);
}

// --- tokens ---

static void tokens_rise_through_a_clean_restart(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 10);
    assert_null(restore(lone, saved));
    start(lone);
    lh_ballot greatest = LH_BALLOT_NONE;
    for (uint32_t i = 0; i < lone->host->machine.acceptors.used; i++)
        if (lone->host->machine.acceptors.records[i].promised > greatest)
            greatest = lone->host->machine.acceptors.records[i].promised;
    assert_true(number(lone, "LEASE ACQUIRE gone TTL 1000ms HOLDER me", "token") >
                (int64_t)greatest);
    assert_true(number(lone, "LEASE ACQUIRE other TTL 1000ms HOLDER me", "token") >
                (int64_t)greatest);
    // And no block of counters is skipped, as a restart without a save must.
    assert_true(lh_ballot_counter(lone->host->machine.counter) <= lh_ballot_counter(greatest) + 2);
    end(lone, saved);
}

static void tokens_rise_when_the_save_is_lost(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 10);
    start(lone);
    assert_int_equal(lone->host->identity.state, LH_IDENTITY_QUARANTINE);
    lone_advance(lone, 2 * MAX_TTL_MS);
    assert_true(number(lone, "LEASE ACQUIRE backup TTL 1000ms HOLDER me", "token") >
                (int64_t)lh_ballot_ceiling(saved->identity.reservation));
    end(lone, saved);
}

// --- td ---

static void a_lease_whose_td_passed_is_not_held_again(void **state)
{
    (void)state;
    struct lone_host *old = serving();
    int64_t token = number(old, "LEASE ACQUIRE backup TTL 3000ms HOLDER me", "token");
    struct saved *saved = save(old);
    struct lh_instant td = old->host->machine.leases[0].proposer.until;
    for (int64_t off = -1; off <= 1; off++) {
        struct lone_host *lone = next_life(saved, 0);
        lone->now.ns = td.ns + off;
        assert_null(restore(lone, saved));
        assert_int_equal(lone->host->machine.held, off < 0 ? 1 : 0);
        start(lone);
        // The exclusion outlasts it: nobody else has it yet.
        assert_true(says(lone, "LEASE ACQUIRE backup TTL 1000ms HOLDER other", "held"));
        lone_advance(lone, 100);
        assert_true(number(lone, "LEASE ACQUIRE backup TTL 1000ms HOLDER other", "token") > token);
        lone_host_close(lone);
    }
    lone_host_close(old);
    free(saved);
}

static void a_save_long_after_is_an_empty_one(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 1000000);
    assert_null(restore(lone, saved));
    start(lone);
    assert_int_equal(lone->host->identity.state, LH_IDENTITY_SERVING);
    assert_int_equal(lone->host->machine.held, 0);
    assert_true(says(lone, "LEASE ACQUIRE backup TTL 1000ms HOLDER other", "granted"));
    end(lone, saved);
}

// --- bindings, one by one ---

static void another_kernel_boot_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (unsigned i = 0; i < 16; i++) {
        struct lh_clock_binding binding = here;
        binding.kernel_boot_id[i] ^= 1;
        refuses_under(lone, saved, &binding, "the machine was started again");
    }
    assert_null(restore(lone, saved));
    end(lone, saved);
}

static void another_boottime_offset_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    struct lh_clock_binding binding = here;
    binding.boottime_offset_ns++;
    refuses_under(lone, saved, &binding, "the clock is another one");
    end(lone, saved);
}

static void a_clock_before_the_save_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    lone->now.ns--;
    refuses(lone, saved, "the clock is before");
    lone->now.ns++;
    assert_null(restore(lone, saved));
    end(lone, saved);
}

static void a_directory_without_history_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    load(lone, &saved->config, NULL);
    refuses(lone, saved, "no history");
    end(lone, saved);
}

// The disk and the configuration agree with each other, and not with the save.
static void another_identity_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (unsigned what = 0; what < 12; what++) {
        struct lh_identity_record identity = saved->identity;
        struct lh_host_config config = saved->config;
        switch (what) {
        case 0: identity.start++; break; // consumed
        case 1: identity.start += 2; break;
        case 2: identity.directory[15] ^= 1; break;
        case 3: identity.generation++; break;
        case 4: identity.reservation++; break;
        case 5: identity.ceiling.ns++; break;
        case 6: identity.cluster_id[0] = config.cluster_id[0] = 1; break;
        case 7: identity.node = config.node = config.members[0] = 2; break;
        case 8: identity.member_epoch = ++config.member_epoch; break;
        case 9: config.members[config.member_count++] = 2; break;
        case 10:
            config.timing.max_ttl = lh_ms(MAX_TTL_MS + 1);
            identity.max_ttl_ms = MAX_TTL_MS + 1;
            break;
        default: identity.rate_ppm = ++config.timing.rate_ppm; break;
        }
        load(lone, &config, NULL); // tells the hash of these members
        identity.members_tag = lone->host->peers.members_tag;
        load(lone, &config, &identity);
        lone->now = saved->at;
        refuses(lone, saved, "another start, directory or configuration");
    }
    load(lone, &saved->config, &saved->identity);
    assert_null(restore(lone, saved));
    end(lone, saved);
}

static void a_save_is_used_up_by_the_start_that_follows(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 10);
    assert_null(restore(lone, saved));
    // It crashes before its start number is durable: nothing was said, and the save is good still.
    load(lone, &saved->config, &saved->identity);
    assert_null(restore(lone, saved));
    start(lone);
    struct lh_identity_record identity = identity_of(lone);
    load(lone, &saved->config, &identity);
    refuses(lone, saved, "another start");
    start(lone);
    assert_int_equal(lone->host->identity.state, LH_IDENTITY_QUARANTINE);
    end(lone, saved);
}

static void another_version_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (unsigned i = 0; i < MAGIC_BYTES; i++) {
        saved->bytes[i] ^= 1;
        seal(saved);
        refuses(lone, saved, "another version");
        saved->bytes[i] ^= 1;
    }
    end(lone, saved);
}

// --- damage ---

static void cut_off_anywhere_it_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (size_t length = 0; length < saved->size; length++) {
        for (int resealed = 0; resealed <= 1; resealed++) {
            uint8_t *exact = malloc(length);
            if (length > 0)
                memcpy(exact, saved->bytes, length);
            if (resealed && length >= DIGEST_BYTES)
                lh_store_u64(exact + length - DIGEST_BYTES, digest(exact, length - DIGEST_BYTES));
            assert_non_null(
                lh_host_restore(lone->host, lone->now, &here, lh_slice_of(exact, length)));
            free(exact);
        }
    }
    assert_true(untouched(lone));
    end(lone, saved);
}

static void a_byte_too_many_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    saved->size++;
    seal(saved);
    refuses(lone, saved, "damaged");
    end(lone, saved);
}

static void any_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (size_t bit = 0; bit < saved->size * 8; bit++) {
        saved->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_string_equal(restore(lone, saved), "it is damaged");
        saved->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(untouched(lone));
    assert_null(restore(lone, saved));
    end(lone, saved);
}

// A value no node writes, under a digest that is right.
static void impossible(struct lone_host *lone, struct saved *saved, uint8_t *at, uint64_t value)
{
    uint64_t true_value = lh_load_u64(at);
    lh_store_u64(at, value);
    seal(saved);
    refuses(lone, saved, "damaged");
    lh_store_u64(at, true_value);
    seal(saved);
}

static void impossible_values_are_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    struct form form = form_of(saved);
    const uint64_t negative = UINT64_C(1) << 63;
    impossible(lone, saved, form.floor, LH_BALLOT_MAX + 1);
    impossible(lone, saved, form.counter, LH_COUNTER_MAX + 1);
    impossible(lone, saved, form.counter, 0); // below what was issued
    for (uint8_t *record = form.records; record < form.leases; record += 48) {
        impossible(lone, saved, record + 16, LH_BALLOT_MAX + 1); // promised
        impossible(lone, saved, record + 16,
                   lh_load_u64(record + 24) - 1); // below what was accepted
        impossible(lone, saved, record + 24, lh_load_u64(record + 16) + 1);
        impossible(lone, saved, record + 32, negative); // deadline
        impossible(lone, saved, record + 40, negative); // stamp
    }
    uint8_t *lease = form.leases;
    impossible(lone, saved, lease + 16, LH_BALLOT_MAX + 1); // ballot
    impossible(lone, saved, lease + 24, 0);                 // held
    impossible(lone, saved, lease + 24, LH_BALLOT_MAX + 1);
    impossible(lone, saved, lease + 32, 0); // token
    impossible(lone, saved, lease + 32, LH_BALLOT_MAX + 1);
    impossible(lone, saved, lease + 40, negative); // until
    impossible(lone, saved, lease + 56, 0);        // ttl
    impossible(lone, saved, lease + 56, 49 * LH_NS_PER_MS);
    impossible(lone, saved, lease + 56, 1000 * LH_NS_PER_MS + 1);
    impossible(lone, saved, lease + 56, (MAX_TTL_MS + 1) * LH_NS_PER_MS);
    impossible(lone, saved, lease + 64, negative); // granted at
    impossible(lone, saved, lease + 72, negative); // renewed at
    assert_null(restore(lone, saved));
    end(lone, saved);
}

static void counts_that_are_not_true_are_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    struct form form = form_of(saved);
    uint8_t *const counts[] = {form.record_count, form.lease_count};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t count = lh_load_u32(counts[i]);
        const uint32_t wrong[] = {0, count - 1, count + 1, 64, 65, UINT32_MAX};
        for (unsigned k = 0; k < 6; k++) {
            lh_store_u32(counts[i], wrong[k]);
            seal(saved);
            refuses(lone, saved, "damaged");
        }
        lh_store_u32(counts[i], count);
    }
    end(lone, saved);
}

// --- room ---

static void fewer_leases_than_before_are_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 0);
    for (uint32_t max_leases = 1; max_leases <= 4; max_leases++) {
        struct lh_host_config config = saved->config;
        config.max_leases = max_leases;
        load(lone, &config, &saved->identity);
        if (max_leases < 4)
            refuses(lone, saved, "max-leases is smaller than before");
        else
            assert_null(restore(lone, saved));
    }
    end(lone, saved);
}

static struct saved *saved_with_long_texts(void)
{
    struct lone_host *old = serving();
    char line[1024];
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "LEASE ACQUIRE %d%0254d TTL 3000ms HOLDER %0255d", i, i, i);
        assert_true(says(old, line, "granted"));
    }
    struct saved *saved = save(old);
    lone_host_close(old);
    return saved;
}

static void the_longest_texts_are_saved_and_restored(void **state)
{
    (void)state;
    struct saved *saved = saved_with_long_texts();
    struct lone_host *lone = next_life(saved, 0);
    assert_null(restore(lone, saved));
    assert_int_equal(lone->host->machine.held, 4);
    end(lone, saved);
}

// --- when there is nothing to save ---

static void a_node_that_does_not_serve_saves_nothing(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    struct saved *saved = saved_while_busy();
    struct lone_host *lone = next_life(saved, 10);
    assert_int_equal(lh_host_save(lone->host, lone->now, &here, bytes, sizeof bytes), 0);
    start(lone); // without its save, into quarantine
    lone_advance(lone, 100);
    assert_int_equal(lh_host_save(lone->host, lone->now, &here, bytes, sizeof bytes), 0);
    lone_advance(lone, 2 * MAX_TTL_MS);
    assert_int_not_equal(lh_host_save(lone->host, lone->now, &here, bytes, sizeof bytes), 0);
    end(lone, saved);
}

static void a_save_needs_all_of_its_room(void **state)
{
    (void)state;
    struct lone_host *lone = busy();
    struct saved *saved = save(lone);
    for (size_t room = 0; room < saved->size; room++) {
        uint8_t *exact = malloc(room);
        assert_int_equal(lh_host_save(lone->host, lone->now, &here, exact, room), 0);
        free(exact);
    }
    end(lone, saved);
}

static void a_lease_that_ended_is_not_saved(void **state)
{
    (void)state;
    struct lone_host *lone = busy();
    lone->now = lh_after(lone->now, lh_ms(5000)); // its timers have not come
    struct saved *saved = save(lone);
    struct form form = form_of(saved);
    assert_int_equal(lh_load_u32(form.lease_count), 0);
    assert_int_equal(lh_load_u32(form.record_count), 4);
    end(lone, saved);
}

// --- what only the tables can tell ---

// As many leases as fit, but not their names and holders.
static void less_room_for_texts_than_before_is_refused(void **state)
{
    (void)state;
    struct saved *saved = saved_with_long_texts();
    struct lone_host *lone = next_life(saved, 0);
    for (uint32_t max_leases = 4; max_leases <= 19; max_leases++) {
        struct lh_host_config config = saved->config;
        config.max_leases = max_leases;
        load(lone, &config, &saved->identity);
        refuses_late(lone, saved, "max-leases is smaller than before");
    }
    end(lone, saved);
}

// One lease twice: restoring it twice is an assertion, and bytes from a file must never reach one.
static void a_lease_that_is_there_twice_is_refused(void **state)
{
    (void)state;
    struct lone_host *old = serving();
    assert_true(says(old, "LEASE ACQUIRE backup TTL 3000ms HOLDER me", "granted"));
    struct saved *saved = save(old);
    struct lone_host *lone = next_life(saved, 0);
    struct form form = form_of(saved);
    size_t size = (size_t)(form.end - form.leases);
    memcpy(form.end, form.leases, size);
    saved->size += size;
    lh_store_u32(form.lease_count, 2);
    seal(saved);
    refuses_late(lone, saved, "damaged");
    lone_host_close(old);
    end(lone, saved);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_node_serves_at_once_with_the_same_leases),
        cmocka_unit_test(a_save_of_what_was_restored_is_the_same),
        cmocka_unit_test(every_field_of_a_lease_comes_back),
        cmocka_unit_test(a_restored_lease_is_renewed_and_released_under_its_token),
        cmocka_unit_test(a_retry_across_the_restart_is_the_same_request),
        cmocka_unit_test(tokens_rise_through_a_clean_restart),
        cmocka_unit_test(tokens_rise_when_the_save_is_lost),
        cmocka_unit_test(a_lease_whose_td_passed_is_not_held_again),
        cmocka_unit_test(a_save_long_after_is_an_empty_one),
        cmocka_unit_test(another_kernel_boot_is_refused),
        cmocka_unit_test(another_boottime_offset_is_refused),
        cmocka_unit_test(a_clock_before_the_save_is_refused),
        cmocka_unit_test(a_directory_without_history_is_refused),
        cmocka_unit_test(another_identity_is_refused),
        cmocka_unit_test(a_save_is_used_up_by_the_start_that_follows),
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(cut_off_anywhere_it_is_refused),
        cmocka_unit_test(a_byte_too_many_is_refused),
        cmocka_unit_test(any_flipped_bit_is_noticed),
        cmocka_unit_test(impossible_values_are_refused),
        cmocka_unit_test(counts_that_are_not_true_are_refused),
        cmocka_unit_test(fewer_leases_than_before_are_refused),
        cmocka_unit_test(the_longest_texts_are_saved_and_restored),
        cmocka_unit_test(a_node_that_does_not_serve_saves_nothing),
        cmocka_unit_test(a_save_needs_all_of_its_room),
        cmocka_unit_test(a_lease_that_ended_is_not_saved),
        cmocka_unit_test(less_room_for_texts_than_before_is_refused),
        cmocka_unit_test(a_lease_that_is_there_twice_is_refused),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
