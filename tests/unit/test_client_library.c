// The public client over real sockets: what its calls promise about arguments, callbacks, memory and
// descriptors. What becomes of leases is test_client_keeper's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>

#include "fake_daemon.h"
#include "leasehold/client.h"

#define GRANTED                                                                                    \
    "status=granted token:=7 holder=$HOLDER ttl-ms:=10000 until-ns:=10000000000 rate-ppm:=0 "      \
    "node:=1"

// --- allocations that fail: the linker sends the library's here (tests/unit/meson.build) ---

static int allocations_left = -1; // -1: none fails

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

static bool allocation_fails(void)
{
    if (allocations_left < 0)
        return false;
    if (allocations_left == 0)
        return true;
    allocations_left--;
    return false;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : __real_strdup(text);
}

// --- one program ---

struct told {
    enum lh_lease_event_kind kinds[16];
    size_t count;
    struct lh_client *client;
    enum lh_return nested; // what a dispatch within the callback said
    void (*then)(struct lh_lease *lease);
};

static void on_event(struct lh_lease *lease, const struct lh_lease_event *event, void *context)
{
    struct told *told = context;
    assert_true(told->count < 16);
    told->kinds[told->count++] = event->kind;
    told->nested = lh_client_dispatch(told->client);
    if (told->then != NULL)
        told->then(lease);
}

static struct lh_client *open_client(const char *endpoints)
{
    struct lh_client *client = NULL;
    char why[256] = "";
    if (lh_client_open(endpoints, &client, why, sizeof why) != LH_OK)
        fail_msg("%s", why);
    return client;
}

static struct lh_lease *ask(struct lh_client *client, struct told *told)
{
    struct lh_lease_options options = {
        .size_bytes = sizeof options, .holder = "me", .on_event = on_event, .context = told};
    struct lh_lease *lease = NULL;
    told->client = client;
    assert_int_equal(lh_lease_acquire(client, "job", &options, &lease), LH_OK);
    return lease;
}

// Polls as a program would, until so many events were told.
static void wait_for(struct lh_client *client, const struct told *told, size_t count)
{
    while (told->count < count) {
        struct pollfd wanted = {.fd = lh_client_fd(client), .events = POLLIN};
        assert_int_equal(poll(&wanted, 1, 20000), 1);
        assert_int_equal(lh_client_dispatch(client), LH_OK);
    }
}

static size_t descriptors(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void test_granted_valid_released(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED, "status=released token:=7");
    struct told told = {.count = 0};
    size_t before = descriptors();
    struct lh_client *client = open_client(fake.path);
    struct lh_lease *lease = ask(client, &told);
    assert_int_equal(told.count, 0);
    assert_false(lh_lease_valid(lease));
    assert_int_equal(lh_lease_token(lease), 0);
    wait_for(client, &told, 1);
    assert_int_equal(told.kinds[0], LH_LEASE_GRANTED);
    assert_int_equal(told.nested, LH_STATE);
    assert_true(lh_lease_valid(lease));
    assert_int_equal(lh_lease_token(lease), 7);
    assert_in_range(lh_lease_remaining_ns(lease), 1, INT64_C(10000000000));
    assert_string_equal(lh_lease_name(lease), "job");
    assert_string_equal(lh_lease_holder(lease), "me");
    lh_lease_release(lease);
    assert_false(lh_lease_valid(lease));
    assert_int_equal(lh_lease_remaining_ns(lease), 0);
    assert_int_equal(told.count, 1);
    wait_for(client, &told, 2);
    assert_int_equal(told.kinds[1], LH_LEASE_RELEASED);
    lh_lease_release(lease);
    lh_lease_close(lease);
    lh_client_close(client);
    fake_stop(&fake); // three descriptors of its own
    assert_int_equal(descriptors(), before - 3);
}

static struct lh_lease *second; // asked for in a callback

static void close_it(struct lh_lease *lease)
{
    lh_lease_close(lease);
}

static void test_a_callback_may_close_its_lease(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED);
    struct told told = {.then = close_it};
    struct lh_client *client = open_client(fake.path);
    ask(client, &told);
    wait_for(client, &told, 1);
    lh_client_close(client);
    fake_stop(&fake);
}

static struct told told_second;

static void acquire_another(struct lh_lease *lease)
{
    if (second == NULL)
        second = ask(told_second.client, &told_second);
    lh_lease_release(lease);
}

static void test_a_callback_may_acquire_and_release(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED, "status=released token:=7");
    struct told told = {.then = acquire_another};
    struct lh_client *client = open_client(fake.path);
    told_second = (struct told){.client = client};
    second = NULL;
    ask(client, &told);
    wait_for(client, &told, 2);
    assert_int_equal(told.kinds[1], LH_LEASE_RELEASED);
    wait_for(client, &told_second, 1);
    lh_client_close(client); // with both leases open
    fake_stop(&fake);
}

// The release of the first is still under way when the second asks, and was not answered: the
// second begins with a lease of its own, though the first object is long closed.
static void test_a_release_is_remembered(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED, "silent", GRANTED,
               "status=granted token:=8 holder=me ttl-ms:=10000 until-ns:=10000000000 rate-ppm:=0 "
               "node:=1");
    struct told told = {.count = 0};
    struct lh_client *client = open_client(fake.path);
    struct lh_lease *lease = ask(client, &told);
    wait_for(client, &told, 1);
    lh_lease_release(lease);
    lh_lease_close(lease);
    told = (struct told){.count = 0};
    lease = ask(client, &told);
    wait_for(client, &told, 1);
    assert_int_equal(told.kinds[0], LH_LEASE_GRANTED);
    assert_int_equal(lh_lease_token(lease), 8);
    lh_lease_close(lease);
    lh_client_close(client);
    fake_stop(&fake);
}

static void test_nobody_listens_is_told_when_the_patience_ends(void **state)
{
    (void)state;
    struct told told = {.count = 0};
    struct lh_client *client = open_client("/tmp/lh-there-is-no-such-socket");
    struct lh_lease_options options = {
        .size_bytes = sizeof options, .patience_ms = 100, .on_event = on_event, .context = &told};
    struct lh_lease *lease = NULL;
    told.client = client;
    assert_int_equal(lh_lease_acquire(client, "job", &options, &lease), LH_OK);
    assert_non_null(strchr(lh_lease_holder(lease), '@')); // made
    wait_for(client, &told, 1);
    assert_int_equal(told.kinds[0], LH_LEASE_NOT_ACQUIRED);
    lh_client_close(client);
}

static void test_wrong_endpoints(void **state)
{
    (void)state;
    struct lh_client *client = NULL;
    char why[256] = "";
    assert_int_equal(lh_client_open("nowhere", &client, why, sizeof why), LH_ARGUMENT);
    assert_non_null(strstr(why, "'nowhere'"));
    assert_int_equal(lh_client_open("nowhere", &client, NULL, 0), LH_ARGUMENT);
    assert_null(client);
}

// Each is refused, and lh_client_why names the argument and its value.
static void test_wrong_requests(void **state)
{
    (void)state;
    struct lh_lease *lease = NULL;
    struct lh_client *client = open_client("/tmp/lh-there-is-no-such-socket");
    assert_string_equal(lh_client_why(client), "");
// WRONG(CALL, WHY): it is refused, and lh_client_why has WHY in it.
#define WRONG(call, why)                                                                           \
    do {                                                                                           \
        assert_int_equal(call, LH_ARGUMENT);                                                       \
        assert_non_null(strstr(lh_client_why(client), why));                                       \
    } while (0)
#define WRONG_OPTION(why, ...)                                                                     \
    WRONG(lh_lease_acquire(client, "job",                                                          \
                           &(struct lh_lease_options){                                             \
                               .size_bytes = sizeof(struct lh_lease_options), __VA_ARGS__},        \
                           &lease),                                                                \
          why)
    WRONG(lh_lease_acquire(client, "", NULL, &lease), "the name is empty");
    WRONG(lh_lease_acquire(client, "@leader", NULL, &lease), "'@leader'");
    WRONG_OPTION("ttl_ms -1 is too small: give at least 0", .ttl_ms = -1);
    WRONG_OPTION("wait_ms -2 is too small: give at least -1", .wait_ms = -2);
    WRONG_OPTION("patience_ms -3 ", .patience_ms = -3);
    WRONG_OPTION("pulse_ms -4 ", .pulse_ms = -4);
    WRONG_OPTION("the holder '' of 0 bytes", .holder = "");
    WRONG_OPTION("control characters", .holder = "a\nb");
    struct lh_lease_options options = {.size_bytes = 3};
    WRONG(lh_lease_acquire(client, "job", &options, &lease), "size_bytes 3 is too small");
    WRONG(lh_lease_resume(client, "job", 7, &options, &lease), "size_bytes 3 is too small");
    options.size_bytes = sizeof options - 1;
    WRONG(lh_lease_acquire(client, "job", &options, &lease), "size_bytes");
    options = (struct lh_lease_options){.size_bytes = sizeof options, .holder = "me"};
    WRONG(lh_lease_resume(client, "job", 0, &options, &lease), "token 0 is too small");
    options.holder = NULL;
    WRONG(lh_lease_resume(client, "job", 7, &options, &lease), "the one that token 7 ");
    WRONG(lh_lease_resume(client, "job", 7, NULL, &lease), "holder is NULL");
    assert_null(lease);
    lh_lease_close(NULL);
    lh_client_close(client);
    lh_client_close(NULL);
}

// Each allocation fails in turn; what failed changed nothing, and the next try works.
static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED);
    size_t before = descriptors();
    struct lh_client *client = NULL;
    int failures = 0;
    for (int allowed = 0; client == NULL; allowed++) {
        allocations_left = allowed;
        enum lh_return result = lh_client_open(fake.path, &client, NULL, 0);
        allocations_left = -1;
        failures += result == LH_MEMORY;
        assert_true(result == LH_OK || result == LH_MEMORY);
        assert_int_equal(descriptors(), before + (result == LH_OK ? 2 : 0));
    }
    assert_int_equal(failures, 2);
    struct told told = {.client = client};
    struct lh_lease *lease = NULL;
    struct lh_lease_options options = {
        .size_bytes = sizeof options, .on_event = on_event, .context = &told};
    allocations_left = 0;
    assert_int_equal(lh_lease_acquire(client, "job", &options, &lease), LH_MEMORY);
    assert_null(lease);
    assert_int_equal(lh_client_dispatch(client), LH_OK);
    allocations_left = -1;
    assert_int_equal(lh_lease_acquire(client, "job", &options, &lease), LH_OK);
    allocations_left = 0; // from here on the library needs none
    wait_for(client, &told, 1);
    assert_int_equal(told.kinds[0], LH_LEASE_GRANTED);
    allocations_left = -1;
    lh_client_close(client);
    fake_stop(&fake);
}

static atomic_bool seen_elsewhere;

static void *ask_elsewhere(void *argument)
{
    struct lh_lease *lease = argument;
    bool valid = false;
    while (!valid)
        valid = lh_lease_valid(lease);
    lh_lease_pulse(lease);
    seen_elsewhere = true;
    while (lh_lease_valid(lease))
        ;
    return lease;
}

static void test_any_thread_may_ask(void **state)
{
    (void)state;
    FAKE_START(fake, GRANTED, "status=released token:=7");
    struct told told = {.count = 0};
    struct lh_client *client = open_client(fake.path);
    struct lh_lease *lease = ask(client, &told);
    pthread_t thread;
    pthread_create(&thread, NULL, ask_elsewhere, lease);
    wait_for(client, &told, 1);
    while (!seen_elsewhere)
        sched_yield();
    lh_lease_release(lease);
    pthread_join(thread, NULL);
    lh_client_close(client);
    fake_stop(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_granted_valid_released),
        cmocka_unit_test(test_a_callback_may_close_its_lease),
        cmocka_unit_test(test_a_callback_may_acquire_and_release),
        cmocka_unit_test(test_a_release_is_remembered),
        cmocka_unit_test(test_nobody_listens_is_told_when_the_patience_ends),
        cmocka_unit_test(test_wrong_endpoints),
        cmocka_unit_test(test_wrong_requests),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_any_thread_may_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
