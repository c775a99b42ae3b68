// Addresses as people write them, and what is refused with which words.
#include "os/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct lh_address address;
static const char *reason;

static bool parse(const char *text)
{
    reason = NULL;
    return lh_address_parse(lh_slice_of_string(text), 7741, &address, &reason);
}

static void assert_refused(const char *text, const char *why)
{
    address.port = 77;
    assert_false(parse(text));
    assert_string_equal(reason, why);
    assert_int_equal(address.port, 77);
}

static void numeric_addresses_are_complete(void **state)
{
    (void)state;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address.socket;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address.socket;
    assert_true(parse("10.0.0.1:7000"));
    assert_true(address.is_numeric);
    assert_string_equal(address.host, "10.0.0.1");
    assert_int_equal(address.port, 7000);
    assert_int_equal(address.size_bytes, sizeof(*four));
    assert_int_equal(four->sin_family, AF_INET);
    assert_int_equal(four->sin_port, htons(7000));
    assert_int_equal(four->sin_addr.s_addr, htonl(0x0a000001));
    assert_true(parse("10.0.0.1"));
    assert_int_equal(four->sin_port, htons(7741));

    assert_true(parse("[2001:db8::1]:7000"));
    assert_true(address.is_numeric);
    assert_string_equal(address.host, "2001:db8::1");
    assert_int_equal(address.size_bytes, sizeof(*six));
    assert_int_equal(six->sin6_family, AF_INET6);
    assert_int_equal(six->sin6_port, htons(7000));
    assert_int_equal(six->sin6_addr.s6_addr[1], 0x01);
    assert_true(parse("[::1]"));
    assert_int_equal(six->sin6_port, htons(7741));
}

static void host_names_wait_to_be_looked_up(void **state)
{
    (void)state;
    struct lh_error error;
    assert_true(parse("db1.example.org:7000"));
    assert_false(address.is_numeric);
    assert_string_equal(address.host, "db1.example.org");
    assert_int_equal(address.port, 7000);
    assert_int_equal(address.size_bytes, 0);
    assert_true(parse("db_1-a"));
    assert_true(parse("example.org."));
    assert_true(parse("localhost:7000"));
    assert_true(lh_address_resolve(&address, &error));
    assert_false(address.is_numeric);
    assert_true(address.size_bytes > 0);
    // RFC 6761: never exists.
    assert_true(parse("nowhere.invalid"));
    assert_false(lh_address_resolve(&address, &error));
    assert_non_null(strstr(error.text, "host name nowhere.invalid: "));
    assert_int_equal(address.size_bytes, 0);
}

static void ports_are_1_to_65535(void **state)
{
    (void)state;
    static const char why[] = "the port must be a number from 1 to 65535";
    assert_true(parse("a:1"));
    assert_true(parse("a:65535"));
    assert_refused("a:0", why);
    assert_refused("a:65536", why);
    assert_refused("a:", why);
    assert_refused("a:+1", why);
    assert_refused("a:1x", why);
    assert_refused("[::1]:", why);
}

static void bad_hosts_are_refused(void **state)
{
    (void)state;
    static const char not_host[] = "the host is not a host name, an IPv4 or an [IPv6] address";
    static const char not_four[] = "an IPv4 address is four numbers from 0 to 255";
    char longer[300];
    assert_refused("", "it is empty");
    assert_refused(":7741", "the host is missing");
    assert_refused("[]", "the host is missing");
    assert_refused("::1", "write an IPv6 address in brackets: [::1]:7741");
    assert_refused("[::1", "the closing ']' is missing");
    assert_refused("[::1]7741", "after ']' there may only be ':' and a port");
    assert_refused("[10.0.0.1]", "between the brackets is no IPv6 address");
    assert_refused("[g::1]", "between the brackets is no IPv6 address");
    assert_refused("10.0.0.256", not_four);
    assert_refused("10.0.1", not_four);
    assert_refused("10:1", not_four);
    assert_refused("7742", "it is a port without a host: write HOST:PORT, such as 127.0.0.1:7742");
    assert_refused("a b", not_host);
    assert_refused("a/b", not_host);
    assert_refused("a..b", not_host);
    assert_refused(".a", not_host);
    assert_false(lh_address_parse(LH_SLICE("a\0b"), 1, &address, &reason));

    memset(longer, 'a', sizeof(longer));
    longer[63] = '\0';
    assert_true(parse(longer));
    longer[63] = 'a';
    longer[64] = '\0';
    assert_refused(longer, not_host);
    memset(longer, 'a', sizeof(longer));
    for (size_t i = 50; i < sizeof(longer); i += 50)
        longer[i] = '.';
    longer[LH_HOST_MAX_BYTES] = '\0';
    assert_true(parse(longer));
    longer[LH_HOST_MAX_BYTES] = 'a';
    longer[LH_HOST_MAX_BYTES + 1] = '\0';
    assert_refused(longer, not_host);
}

static void loopback_is_numeric_loopback(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1", true}, {"127.255.255.255", true}, {"128.0.0.1", false},
        {"[::1]", true},     {"[::2]", false},          {"[::ffff:127.0.0.1]", false},
        {"0.0.0.0", false},  {"localhost", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(parse(cases[i].text));
        assert_int_equal(lh_address_is_loopback(&address), cases[i].is_loopback);
    }
}

static void assert_equal_addresses(const char *a_text, const char *b_text, bool expected)
{
    struct lh_address a;
    assert_true(parse(a_text));
    a = address;
    assert_true(parse(b_text));
    assert_int_equal(lh_address_equal(&a, &address), expected);
}

static void addresses_compare_by_what_they_mean(void **state)
{
    (void)state;
    assert_equal_addresses("10.0.0.1", "10.0.0.1:7741", true);
    assert_equal_addresses("10.0.0.1", "10.0.0.1:7742", false);
    assert_equal_addresses("10.0.0.1", "10.0.0.2", false);
    assert_equal_addresses("[::1]", "[0:0::1]", true);
    assert_equal_addresses("[::1]", "127.0.0.1", false);
    assert_equal_addresses("Db1", "dB1", true);
    assert_equal_addresses("db1", "db2", false);
    assert_equal_addresses("db1", "10.0.0.1", false);
}

static void what_is_printed_parses_again(void **state)
{
    (void)state;
    static const char *const texts[] = {"10.0.0.1:7741", "[::1]:1", "db1.example.org:65535"};
    char text[LH_ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_true(parse(texts[i]));
        lh_address_format(&address, text);
        assert_string_equal(text, texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_addresses_are_complete),
        cmocka_unit_test(host_names_wait_to_be_looked_up),
        cmocka_unit_test(ports_are_1_to_65535),
        cmocka_unit_test(bad_hosts_are_refused),
        cmocka_unit_test(loopback_is_numeric_loopback),
        cmocka_unit_test(addresses_compare_by_what_they_mean),
        cmocka_unit_test(what_is_printed_parses_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
