// What the service manager hears, on a socket of our own.
#include "node/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct manager {
    int socket;
    char name[96];
};

// Listens at `name`, where a leading '@' means the abstract namespace.
static void listen_at(struct manager *manager, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    manager->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    assert_int_equal(bind(manager->socket, (const struct sockaddr *)&address, size), 0);
    snprintf(manager->name, sizeof(manager->name), "%s", name);
    setenv("NOTIFY_SOCKET", name, 1);
}

static int set_up(void **state)
{
    static struct manager manager;
    char name[64];
    snprintf(name, sizeof(name), "@leasehold-notify-%d", (int)getpid());
    listen_at(&manager, name);
    *state = &manager;
    return 0;
}

static int tear_down(void **state)
{
    const struct manager *manager = *state;
    close(manager->socket);
    unsetenv("NOTIFY_SOCKET");
    return 0;
}

// A datagram is there as soon as it was sent, so nothing has to be waited for.
static const char *heard(const struct manager *manager)
{
    static char text[1024];
    const ssize_t size = recv(manager->socket, text, sizeof(text) - 1, 0);
    text[size < 0 ? 0 : size] = '\0';
    return text;
}

static void each_state_is_one_datagram(void **state)
{
    const struct manager *manager = *state;
    lh_notify_ready();
    assert_string_equal(heard(manager), "READY=1");
    lh_notify_stopping();
    assert_string_equal(heard(manager), "STOPPING=1");
    assert_string_equal(heard(manager), "");
}

static void reloading_tells_its_time(void **state)
{
    static const char start[] = "RELOADING=1\nMONOTONIC_USEC=";
    const struct manager *manager = *state;
    char *end = NULL;
    lh_notify_reloading();
    const char *text = heard(manager);
    assert_memory_equal(text, start, sizeof(start) - 1);
    assert_true(strtoull(text + sizeof(start) - 1, &end, 10) > 0);
    assert_string_equal(end, "");
}

static void a_path_works_as_well(void **state)
{
    struct manager manager;
    char name[64];
    (void)state;
    snprintf(name, sizeof(name), "/tmp/leasehold-notify-%d", (int)getpid());
    listen_at(&manager, name);
    assert_true(lh_notify("READY=1"));
    assert_string_equal(heard(&manager), "READY=1");
    close(manager.socket);
    assert_false(lh_notify("READY=1")); // nobody listens any more
    unlink(name);
}

static void without_a_manager_nothing_happens(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_false(lh_notify("READY=1"));
    setenv("NOTIFY_SOCKET", "vsock:2:1234", 1); // a kind we do not speak
    assert_false(lh_notify("READY=1"));
    setenv("NOTIFY_SOCKET", "", 1);
    assert_false(lh_notify("READY=1"));
    char longer[200];
    memset(longer, 'x', sizeof(longer));
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    setenv("NOTIFY_SOCKET", longer, 1);
    assert_false(lh_notify("READY=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_state_is_one_datagram, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reloading_tells_its_time, set_up, tear_down),
        cmocka_unit_test(a_path_works_as_well),
        cmocka_unit_test(without_a_manager_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
