// The words of --connect: what is an endpoint and what is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/endpoint.h"

static struct lh_endpoint_list parse(const char *text)
{
    struct lh_endpoint_list list;
    struct lh_error error;
    if (lh_endpoint_list_parse(text, &list, &error) != LH_OK)
        fail_msg("%s", error.text);
    return list;
}

static void assert_unix(const struct lh_endpoint *endpoint, const char *path)
{
    const struct sockaddr_un *address = (const struct sockaddr_un *)&endpoint->address;
    assert_int_equal(address->sun_family, AF_UNIX);
    assert_string_equal(address->sun_path, path);
}

static void assert_tcp(const struct lh_endpoint *endpoint, const char *host, int port)
{
    const struct sockaddr_in *address = (const struct sockaddr_in *)&endpoint->address;
    char text[INET_ADDRSTRLEN];
    assert_int_equal(address->sin_family, AF_INET);
    assert_string_equal(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text), host);
    assert_int_equal(ntohs(address->sin_port), port);
}

static void test_forms(void **state)
{
    (void)state;
    struct lh_endpoint_list list =
        parse("unix:/a/b,/c,./d,tcp:127.0.0.1:7742,10.0.0.1:1,[::1]:65535");
    assert_int_equal(list.count, 6);
    assert_unix(&list.items[0], "/a/b");
    assert_unix(&list.items[1], "/c");
    assert_unix(&list.items[2], "./d");
    assert_tcp(&list.items[3], "127.0.0.1", 7742);
    assert_tcp(&list.items[4], "10.0.0.1", 1);
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&list.items[5].address;
    assert_int_equal(six->sin6_family, AF_INET6);
    assert_int_equal(ntohs(six->sin6_port), 65535);
    assert_string_equal(list.items[3].text, "tcp:127.0.0.1:7742");
}

static void test_blanks_around_endpoints_do_not_matter(void **state)
{
    (void)state;
    struct lh_endpoint_list list = parse(" /a ,\t./b c\n");
    assert_int_equal(list.count, 2);
    assert_unix(&list.items[0], "/a");
    assert_unix(&list.items[1], "./b c");
    assert_string_equal(list.items[1].text, "./b c");
}

// What could be a socket here is told how it is written; a file of another kind is not.
static void test_a_socket_in_this_directory_is_suggested(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "lh-endpoint-test.sock"};
    struct lh_endpoint_list list;
    struct lh_error error = {""};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(lh_endpoint_list_parse(address.sun_path, &list, &error), LH_ARGUMENT);
    assert_non_null(strstr(error.text, "write ./lh-endpoint-test.sock"));
    unlink(address.sun_path);
    assert_int_equal(mkdir(address.sun_path, 0700), 0);
    assert_int_equal(lh_endpoint_list_parse(address.sun_path, &list, &error), LH_ARGUMENT);
    assert_non_null(strstr(error.text, "has no port"));
    rmdir(address.sun_path);
    close(fd);
}

static void test_a_host_name_gives_all_its_addresses(void **state)
{
    (void)state;
    struct lh_endpoint_list list = parse("localhost:7742");
    bool ipv4 = false;
    for (size_t i = 0; i < list.count; i++)
        ipv4 = ipv4 || list.items[i].address.ss_family == AF_INET;
    assert_true(ipv4);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        ",",
        "/a,",
        ",/a",
        "unix:",
        "nope",
        "tcp:host",
        "host:",
        ":7742",
        "1.2.3.4:0",
        "1.2.3.4:65536",
        "1.2.3.4:x",
        "1.2.3.4:-1",
        "::1:7742",
        "[::1]",
        "[::1:7742",
        "/1,/2,/3,/4,/5,/6,/7,/8,/9,/10,/11,/12,/13,/14,/15,/16,/17"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lh_endpoint_list list = {.count = 99};
        struct lh_error error = {""};
        if (lh_endpoint_list_parse(wrong[i], &list, &error) == LH_OK)
            fail_msg("'%s' was accepted", wrong[i]);
        assert_int_equal(list.count, 99); // untouched
        assert_true(strlen(error.text) > 10);
    }
}

static void test_the_longest_path(void **state)
{
    (void)state;
    char path[110] = "/";
    struct lh_endpoint_list list;
    struct lh_error error;
    memset(path + 1, 'a', sizeof path - 1);
    path[107] = '\0';
    assert_int_equal(lh_endpoint_list_parse(path, &list, &error), LH_OK);
    path[107] = 'a';
    path[108] = '\0';
    assert_int_equal(lh_endpoint_list_parse(path, &list, &error), LH_ARGUMENT);
    assert_non_null(strstr(error.text, "at most 107 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_blanks_around_endpoints_do_not_matter),
        cmocka_unit_test(test_a_socket_in_this_directory_is_suggested),
        cmocka_unit_test(test_a_host_name_gives_all_its_addresses),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_the_longest_path),
    };
    return cmocka_run_group_tests_name("client_endpoint", tests, NULL, NULL);
}
