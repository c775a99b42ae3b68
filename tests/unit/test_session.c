// Client sessions, through the whole pure host of a cluster of one: what a client sends, byte by
// byte if need be, and what it reads. Both sides of each limit; every reply is parsed, so none is
// malformed.
// run-tests: timeout 300
#include "lone_host.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MAX_TTL_MS 60000
#define VALUES_MAX 4096

static struct lh_resp_value values[VALUES_MAX];

static int open_host(void **state)
{
    struct lone_host *lone = lone_host_open(lh_ms(MAX_TTL_MS));
    lone_connect(lone, 0);
    *state = lone;
    return 0;
}

static int close_host(void **state)
{
    lone_host_close(*state);
    return 0;
}

// --- asking and reading ---

static void send_text(struct lone_host *lone, uint32_t client, const char *text)
{
    size_t size = strlen(text);
    assert_int_equal(lone_send(lone, client, text, size), size);
}

// The words of `line`, cut at blanks, as an array of bulk strings.
static void send_words(struct lone_host *lone, uint32_t client, const char *line)
{
    char bytes[LH_SESSION_INPUT_BYTES];
    struct lh_writer writer = lh_writer_of(bytes, sizeof bytes);
    size_t count = 1;
    for (const char *at = line; *at != '\0'; at++)
        count += *at == ' ';
    lh_resp_write_array(&writer, count);
    while (count-- > 0) {
        size_t size = strcspn(line, " ");
        lh_resp_write_bulk(&writer, lh_slice_of(line, size));
        line += size + (line[size] == ' ');
    }
    assert_false(writer.failed);
    lone_send(lone, client, bytes, lh_writer_size_bytes(&writer));
}

// The next reply of `client`, which stays valid until the next is read.
static const struct lh_resp_value *read_reply(struct lone_host *lone, uint32_t index)
{
    static uint8_t bytes[LONE_OUTPUT_BYTES];
    struct lone_client *client = &lone->clients[index];
    struct lh_resp_reply_parser parser;
    size_t consumed = 0;
    memcpy(bytes, client->output, client->used);
    lh_resp_reply_parser_init(&parser, values, VALUES_MAX, sizeof bytes);
    assert_int_equal(lh_resp_reply_parse(&parser, bytes, client->used, &consumed),
                     LH_RESP_COMPLETE);
    client->used -= consumed;
    memmove(client->output, client->output + consumed, client->used);
    return values;
}

static const struct lh_resp_value *ask(struct lone_host *lone, const char *line)
{
    send_words(lone, 0, line);
    const struct lh_resp_value *reply = read_reply(lone, 0);
    assert_int_equal(lone->clients[0].used, 0);
    return reply;
}

static void assert_text(const struct lh_resp_value *value, const char *expected)
{
    struct lh_slice text = {NULL, 0};
    assert_true(lh_resp_as_text(value, &text));
    assert_int_equal(text.size_bytes, strlen(expected));
    assert_memory_equal(text.data, expected, text.size_bytes);
}

static void assert_error(const struct lh_resp_value *reply, const char *part)
{
    char text[2048];
    assert_true(lh_resp_is(reply, LH_RESP_ERROR));
    assert_true(reply->text.size_bytes < sizeof text);
    memcpy(text, reply->text.data, reply->text.size_bytes);
    text[reply->text.size_bytes] = '\0';
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not say '%s'", text, part);
}

static void refuses(struct lone_host *lone, const char *line, const char *part)
{
    assert_error(ask(lone, line), part);
}

static int64_t number_of(const struct lh_resp_value *map, const char *key)
{
    int64_t number = -1;
    assert_true(lh_resp_as_integer(lh_resp_get(map, key), &number));
    return number;
}

static void assert_status(const struct lh_resp_value *reply, const char *status)
{
    assert_text(lh_resp_get(reply, "status"), status);
}

// Exactly these keys, in this order.
static void assert_keys(const struct lh_resp_value *map, const char *keys)
{
    size_t count = 1;
    for (const char *at = keys; *at != '\0'; at++)
        count += *at == ' ';
    assert_int_equal(map->child_count, 2 * count);
    for (size_t i = 0; i < count; i++) {
        char key[64] = {0};
        size_t size = strcspn(keys, " ");
        memcpy(key, keys, size);
        assert_text(lh_resp_child(map, 2 * i), key);
        keys += size + (keys[size] == ' ');
    }
}

// --- bytes ---

static void answers_ping_as_array_and_inline(void **state)
{
    assert_text(ask(*state, "PING"), "PONG");
    assert_text(ask(*state, "ping hello"), "hello");
    send_text(*state, 0, "PING\r\n");
    assert_text(read_reply(*state, 0), "PONG");
    send_text(*state, 0, "echo \"two words\"\n");
    assert_text(read_reply(*state, 0), "two words");
}

static void takes_a_request_in_single_bytes(void **state)
{
    struct lone_host *lone = *state;
    const char request[] = "*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\n";
    for (size_t i = 0; i < sizeof request - 1; i++) {
        assert_int_equal(lone->clients[0].used, 0);
        lone_bytes(lone, 0, request + i, 1);
    }
    assert_text(read_reply(lone, 0), "a\r\n");
}

static void handles_one_command_a_step_and_says_that_more_wait(void **state)
{
    struct lone_host *lone = *state;
    const char requests[] = "PING a\r\nPING b\r\nPI";
    lone_bytes(lone, 0, requests, sizeof requests - 1);
    assert_text(read_reply(lone, 0), "a");
    assert_int_equal(lone->clients[0].used, 0);
    assert_true(lone->again);
    lone_bytes(lone, 0, NULL, 0);
    assert_text(read_reply(lone, 0), "b");
    assert_true(
        lone->again); // that what is left is no whole command shows only when it is looked at
    lone_bytes(lone, 0, NULL, 0);
    assert_false(lone->again);
    lone_bytes(lone, 0, "NG c\r\n", 6);
    assert_text(read_reply(lone, 0), "c");
    assert_false(lone->again);
}

static void answers_a_long_pipeline_in_order(void **state)
{
    struct lone_host *lone = *state;
    static char requests[200 * 16];
    size_t size = 0;
    for (int i = 0; i < 200; i++)
        size += (size_t)snprintf(requests + size, sizeof requests - size, "ECHO %d\r\n", i);
    assert_int_equal(lone_send(lone, 0, requests, size), size);
    for (int i = 0; i < 200; i++) {
        char expected[8];
        snprintf(expected, sizeof expected, "%d", i);
        assert_text(read_reply(lone, 0), expected);
    }
}

static void passes_over_empty_requests(void **state)
{
    send_text(*state, 0, "\r\n*0\r\n\r\nPING\r\n");
    assert_text(read_reply(*state, 0), "PONG");
}

static void ends_the_connection_after_malformed_bytes(void **state)
{
    struct lone_host *lone = *state;
    send_words(lone, 0, "PING");
    assert_text(read_reply(lone, 0), "PONG");
    const char bytes[] = "*1\r\n:1\r\nPING\r\n";
    lone_bytes(lone, 0, bytes, sizeof bytes - 1);
    assert_error(read_reply(lone, 0), "ERR Protocol error: ");
    assert_true(lone->clients[0].closed);
    assert_false(lone->again);
    assert_int_equal(lh_session_room(&lone->host->sessions.sessions[0]), 0);
    lone->clients[0].closed = false; // the driver has not come to it yet
    lone_bytes(lone, 0, "PING\r\n", 6);
    assert_int_equal(lone->clients[0].used, 0);
    assert_int_equal(lone->host->sessions.malformed, 1);
}

#define ECHO_FRAME_BYTES strlen("*2\r\n$4\r\nECHO\r\n$4000\r\n\r\n")

// A request of `size` bytes: ECHO and one argument that fills it.
static size_t echo_of(size_t size, char *ret)
{
    size_t length = size - ECHO_FRAME_BYTES;
    size_t used = (size_t)sprintf(ret, "*2\r\n$4\r\nECHO\r\n$%zu\r\n", length);
    memset(ret + used, 'x', length);
    memcpy(ret + used + length, "\r\n", 2);
    return used + length + 2;
}

static void takes_a_request_of_the_whole_buffer(void **state)
{
    char request[8192];
    size_t size = echo_of(LH_SESSION_INPUT_BYTES, request);
    assert_int_equal(size, LH_SESSION_INPUT_BYTES);
    lone_bytes(*state, 0, request, size);
    assert_int_equal(read_reply(*state, 0)->text.size_bytes, size - ECHO_FRAME_BYTES);
}

static void refuses_a_longer_request_and_names_the_limit(void **state)
{
    struct lone_host *lone = *state;
    char request[8192];
    echo_of(LH_SESSION_INPUT_BYTES + 1, request);
    lone_bytes(lone, 0, request, 100);
    assert_error(read_reply(lone, 0), "at most 4096 bytes in at most 64 arguments");
    assert_true(lone->clients[0].closed);
}

static void refuses_a_longer_inline_request(void **state)
{
    struct lone_host *lone = *state;
    char request[LH_SESSION_INPUT_BYTES];
    memset(request, 'x', sizeof request);
    lone_bytes(lone, 0, request, sizeof request);
    assert_error(read_reply(lone, 0), "at most 4096 bytes");
    assert_true(lone->clients[0].closed);
}

static void keeps_what_comes_while_a_request_is_pending(void **state)
{
    struct lone_host *lone = *state;
    const char requests[] = "LEASE GET a\r\nPING b\r\n";
    lone->slow = true;
    lone_bytes(lone, 0, requests, sizeof requests - 1);
    assert_false(lone->again);
    assert_int_equal(lone->clients[0].used, 0);
    assert_int_equal(lh_host_room(lone->host, 0), LH_SESSION_INPUT_BYTES - 8);
    lone_bytes(lone, 0, NULL, 0);
    assert_int_equal(lone->clients[0].used, 0);
    lone->slow = false;
    lone_settle(lone);
    assert_status(read_reply(lone, 0), "free");
    lone_bytes(lone, 0, NULL, 0);
    assert_text(read_reply(lone, 0), "b");
}

static void takes_no_more_than_a_buffer_while_a_request_is_pending(void **state)
{
    struct lone_host *lone = *state;
    char ahead[LH_SESSION_INPUT_BYTES];
    lone->slow = true;
    send_words(lone, 0, "LEASE GET a");
    memset(ahead, '\n', sizeof ahead);
    lone_bytes(lone, 0, ahead, sizeof ahead);
    assert_int_equal(lh_host_room(lone->host, 0), 0);
    lone->slow = false;
    lone_settle(lone);
    assert_status(read_reply(lone, 0), "free");
    lone_bytes(lone, 0, NULL, 0);
    assert_int_equal(lh_host_room(lone->host, 0), LH_SESSION_INPUT_BYTES);
}

static void forgets_the_request_of_a_client_that_left(void **state)
{
    struct lone_host *lone = *state;
    lone->slow = true;
    send_words(lone, 0, "LEASE ACQUIRE a");
    lone_disconnect(lone, 0);
    assert_int_equal(lone->host->sessions.count_open, 0);
    lone->slow = false;
    lone_connect(lone, 0);
    lone_settle(lone);
    lone_advance(lone, 2 * MAX_TTL_MS);
    assert_int_equal(lone->clients[0].used, 0);
    assert_status(ask(lone, "LEASE ACQUIRE a"), "granted");
}

// --- commands that are none ---

static void suggests_what_was_meant(void **state)
{
    refuses(*state, "LEASSE GET a", "ERR unknown command 'LEASSE': did you mean LEASE?");
    refuses(*state, "pign", "unknown command 'pign': did you mean PING?");
    refuses(*state, "acquire a", "unknown command 'acquire': did you mean LEASE ACQUIRE?");
    refuses(*state, "LEASE aqcuire a", "did you mean LEASE ACQUIRE?");
    refuses(*state, "LEASE frobnicate", "unknown subcommand 'frobnicate' of LEASE: try LEASE HELP");
    refuses(*state, "SET a b NX PX 10000",
            "this is Leasehold, not Redis; try LEASE ACQUIRE, or LEASE HELP");
    refuses(*state, "pexpire a 10000", "try LEASE RENEW, or LEASE HELP");
    refuses(*state, "ZRANGEBYSCORE a", "this is Leasehold, not Redis");
    refuses(*state, "CLUSTER SLOTS", "unknown subcommand 'SLOTS' of CLUSTER");
    refuses(*state, "LEASE ", "unknown subcommand '' of LEASE");
    refuses(*state, "LEASE", "LEASE needs a subcommand: try LEASE HELP");
    refuses(*state, "CLIENT KILL 1", "unknown subcommand 'KILL' of CLIENT");
    refuses(*state, "LEASE|GET a", "unknown command");
}

static void shows_the_usage_when_words_are_missing_or_too_many(void **state)
{
    refuses(*state, "LEASE ACQUIRE",
            "ERR wrong number of arguments for 'LEASE': the usage is LEASE ACQUIRE name [TTL "
            "duration] [HOLDER holder] [WAIT duration] [TIMEOUT duration] [ID id]");
    refuses(*state, "LEASE RENEW a 65793", "the usage is LEASE RENEW name token holder");
    refuses(*state, "LEASE RELEASE a 65793",
            "the usage is LEASE RELEASE name token holder [TIMEOUT duration]");
    refuses(*state, "LEASE RELEASE a 65793 h TTL 5s", "LEASE RELEASE has no option 'TTL'");
    refuses(*state, "LEASE GET", "the usage is LEASE GET name [TIMEOUT duration]");
    refuses(*state, "LEASE GET a b",
            "LEASE GET has no option 'b': it takes name [TIMEOUT duration]");
    refuses(*state, "LEASE REVOKE a TIMEOUT 0", "TIMEOUT '0' is no duration");
    refuses(*state, "ECHO", "the usage is ECHO message");
    refuses(*state, "PING a b", "wrong number of arguments for 'ping' command");
}

static void echoes_no_byte_that_could_forge_a_reply(void **state)
{
    const char bytes[] = "*1\r\n$13\r\na\r\n+OK\r\n\x1b[2J\xff\r\n";
    send_text(*state, 0, bytes);
    const struct lh_resp_value *reply = read_reply(*state, 0);
    assert_error(reply, "unknown command 'a\\r\\n+OK\\r\\n\\u001b[2J");
    assert_int_equal(((struct lone_host *)*state)->clients[0].used, 0);
}

static void cuts_long_words_between_characters(void **state)
{
    char line[300] = "LEASE GET ";
    for (int i = 0; i < 100; i++)
        strcat(line, "\xc3\xa9"); // 200 bytes of name
    strcat(line, "\x01");
    refuses(*state, line, "\xc3\xa9...' is not UTF-8 or has control characters");
}

// --- names, durations, tokens, options ---

static void repeat(char *ret, const char *before, char byte, size_t count, const char *behind)
{
    size_t size = strlen(before);
    memcpy(ret, before, size);
    memset(ret + size, byte, count);
    strcpy(ret + size + count, behind);
}

static void takes_names_of_1_to_255_bytes(void **state)
{
    char line[512];
    assert_status(ask(*state, "LEASE GET a"), "free");
    repeat(line, "LEASE GET ", 'n', 255, "");
    assert_status(ask(*state, line), "free");
    repeat(line, "LEASE GET ", 'n', 256, "");
    refuses(*state, line, "BADNAME the name 'nnn");
    refuses(*state, line, "is longer than 255 bytes");
    refuses(*state, "LEASE GET ", "BADNAME the name is empty");
    refuses(*state, "LEASE ACQUIRE @leader", "BADNAME the name '@leader' begins with '@'");
    assert_status(ask(*state, "LEASE GET a@b"), "free");
    refuses(*state, "LEASE GET a\tb", "BADNAME the name 'a\\tb' is not UTF-8");
    refuses(*state, "LEASE GET \xff", "BADNAME");
}

static void takes_ttls_from_50_ms_to_max_ttl(void **state)
{
    assert_status(ask(*state, "LEASE ACQUIRE a TTL 50ms"), "granted");
    refuses(*state, "LEASE ACQUIRE b TTL 49ms", "BADTTL TTL '49ms' is below the least, 50ms");
    assert_status(ask(*state, "LEASE ACQUIRE b TTL 60s"), "granted");
    refuses(*state, "LEASE ACQUIRE c TTL 60001ms",
            "BADTTL TTL '60001ms' is above this cluster's max-ttl 60s; ask for less");
    refuses(*state, "LEASE ACQUIRE c TTL 10000",
            "BADTTL TTL '10000' (seconds) is above this cluster's max-ttl 60s");
    refuses(*state, "LEASE ACQUIRE c TTL -1", "BADTTL TTL '-1' is no duration such as 10s");
    refuses(*state, "LEASE ACQUIRE c TTL 1e3", "BADTTL");
    assert_int_equal(number_of(ask(*state, "LEASE ACQUIRE d TTL 1.5s"), "ttl-ms"), 1500);
    assert_int_equal(number_of(ask(*state, "LEASE ACQUIRE e"), "ttl-ms"), 10000);
}

static void the_default_ttl_is_at_most_max_ttl(void **state)
{
    (void)state;
    struct lone_host *lone = lone_host_open(lh_ms(1500));
    lone_connect(lone, 0);
    assert_int_equal(number_of(ask(lone, "LEASE ACQUIRE a"), "ttl-ms"), 1500);
    refuses(lone, "LEASE ACQUIRE b TTL 2s", "max-ttl 1500ms");
    lone_host_close(lone);
}

static void takes_tokens_that_can_be(void **state)
{
    assert_status(ask(*state, "LEASE RENEW a 65793 h"), "lost");
    refuses(*state, "LEASE RENEW a 0 h", "ERR '0' is no token");
    refuses(*state, "LEASE RENEW a 65535 h", "is no token"); // its counter is 0
    refuses(*state, "LEASE RENEW a 65536 h", "is no token"); // its node is 0
    refuses(*state, "LEASE RELEASE a -1 h", "ERR '-1' is no token");
    refuses(*state, "LEASE RELEASE a 9223372036854775808 h", "is no token");
    refuses(*state, "LEASE RENEW a 65793 ", "ERR the holder '' is not 1 to 255 bytes");
}

static void takes_each_option_once_with_a_value(void **state)
{
    refuses(*state, "LEASE ACQUIRE a TTL 1s ttl 2s", "ERR option TTL is given twice");
    refuses(*state, "LEASE ACQUIRE a TTL 1s WAIT", "ERR option WAIT has no value: it takes name");
    refuses(*state, "LEASE ACQUIRE a TTLL 1s",
            "LEASE ACQUIRE has no option 'TTLL': did you mean TTL?");
    refuses(*state, "LEASE ACQUIRE a NX 1", "has no option 'NX': it takes name [TTL duration]");
    refuses(*state, "LEASE RENEW a 65793 h WAIT 1s", "LEASE RENEW has no option 'WAIT'");
    refuses(*state, "LEASE ACQUIRE a WAIT soon", "ERR WAIT 'soon' is no duration");
    refuses(*state, "LEASE ACQUIRE a TIMEOUT 0", "ERR TIMEOUT '0' is no duration");
    assert_status(ask(*state, "LEASE ACQUIRE a wait 0 timeout 1ms ttl 1s holder h id 1"),
                  "granted");
    refuses(*state, "LEASE LIST COUNT 0", "ERR COUNT '0' is not a number from 1 up");
    refuses(*state, "LEASE LIST CURSOR x", "ERR CURSOR 'x' is not a cursor");
    refuses(*state, "LEASE LIST CURSOR 18446744073709551616", "is not a cursor");
    refuses(*state, "LEASE LIST PREFIX @", "BADNAME");
}

// --- leases ---

static void grants_with_exactly_the_promised_keys(void **state)
{
    const struct lh_resp_value *reply = ask(*state, "LEASE ACQUIRE a HOLDER h TTL 5s");
    assert_true(lh_resp_is(reply, LH_RESP_ARRAY));
    assert_keys(reply, "status name token holder node ttl-ms until-ns rate-ppm");
    assert_status(reply, "granted");
    assert_text(lh_resp_get(reply, "name"), "a");
    assert_text(lh_resp_get(reply, "holder"), "h");
    assert_int_equal(number_of(reply, "node"), 1);
    assert_int_equal(number_of(reply, "until-ns"), 5 * LH_NS_PER_S);
    assert_int_equal(number_of(reply, "rate-ppm"), 10000);
    ask(*state, "HELLO 3");
    reply = ask(*state, "LEASE ACQUIRE a HOLDER other");
    assert_true(lh_resp_is(reply, LH_RESP_MAP));
    assert_keys(reply, "status name token holder node free-in-ns until-ns revoked "
                       "reason");
    assert_status(reply, "held");
    assert_text(lh_resp_get(reply, "holder"), "h");
    assert_int_equal(number_of(reply, "until-ns"), 0);
}

static void makes_a_holder_that_says_where_it_came_from(void **state)
{
    struct lh_slice holder;
    assert_true(lh_resp_as_text(lh_resp_get(ask(*state, "LEASE ACQUIRE a"), "holder"), &holder));
    assert_int_equal(holder.size_bytes, strlen("client-1@node1:") + 16);
    assert_memory_equal(holder.data, "client-1@node1:", strlen("client-1@node1:"));
    char first[64] = {0};
    memcpy(first, holder.data, holder.size_bytes);
    assert_true(lh_resp_as_text(lh_resp_get(ask(*state, "LEASE ACQUIRE b"), "holder"), &holder));
    assert_memory_not_equal(holder.data, first, holder.size_bytes);
}

static void renews_and_releases_what_it_was_granted(void **state)
{
    char line[256];
    int64_t token = number_of(ask(*state, "LEASE ACQUIRE a HOLDER h TTL 5s"), "token");
    lone_advance(*state, 1000);
    snprintf(line, sizeof line, "LEASE RENEW a %lld h TTL 7s", (long long)token);
    const struct lh_resp_value *reply = ask(*state, line);
    assert_keys(reply, "status name token holder node ttl-ms until-ns rate-ppm");
    assert_status(reply, "granted");
    assert_int_equal(number_of(reply, "token"), token);
    assert_int_equal(number_of(reply, "until-ns"), 7 * LH_NS_PER_S);
    snprintf(line, sizeof line, "LEASE RENEW a %lld other", (long long)token);
    reply = ask(*state, line);
    assert_status(reply, "lost");
    assert_keys(reply, "status name until-ns rate-ppm revoked reason");
    snprintf(line, sizeof line, "LEASE RELEASE a %lld h", (long long)token);
    reply = ask(*state, line);
    assert_keys(reply, "status name token");
    assert_status(reply, "released");
    reply = ask(*state, line);
    assert_status(reply, "lost");
    assert_status(ask(*state, "LEASE GET a"), "free");
}

static void the_same_id_is_the_same_request(void **state)
{
    int64_t token = number_of(ask(*state, "LEASE ACQUIRE a HOLDER h ID 1"), "token");
    const struct lh_resp_value *reply = ask(*state, "LEASE ACQUIRE a HOLDER h ID 1");
    assert_status(reply, "granted");
    assert_int_equal(number_of(reply, "token"), token);
    assert_status(ask(*state, "LEASE ACQUIRE a HOLDER g ID 1"), "held");
    lone_advance(*state, MAX_TTL_MS);
    reply = ask(*state, "LEASE ACQUIRE a HOLDER h ID 1"); // a late copy is no new request
    assert_status(reply, "lost");
    assert_keys(reply, "status name until-ns revoked reason");
    assert_status(ask(*state, "LEASE ACQUIRE a HOLDER g ID 1"), "granted");
    lone_advance(*state, MAX_TTL_MS);
    assert_status(ask(*state, "LEASE ACQUIRE a HOLDER h ID 2"), "granted");
}

static void revokes(void **state)
{
    assert_status(ask(*state, "LEASE REVOKE a"), "free");
    ask(*state, "LEASE ACQUIRE a HOLDER h TTL 5s");
    const struct lh_resp_value *reply = ask(*state, "LEASE REVOKE a");
    assert_keys(reply, "status name token holder node ends-in-ns");
    assert_status(reply, "revoked");
    assert_text(lh_resp_get(reply, "holder"), "h");
}

static void shows_a_lease(void **state)
{
    static const char keys[] =
        "status name token holder node ttl-ms remaining-ns age-ns "
        "renewals renewed-ago-ns next-owner-min-ns next-owner-max-ns revoked "
        "reason";
    assert_keys(ask(*state, "LEASE GET a"), keys);
    ask(*state, "LEASE ACQUIRE a HOLDER h TTL 5s");
    lone_advance(*state, 1000);
    const struct lh_resp_value *reply = ask(*state, "LEASE GET a");
    assert_keys(reply, keys);
    assert_status(reply, "held");
    assert_int_equal(number_of(reply, "age-ns"), LH_NS_PER_S);
    assert_true(number_of(reply, "remaining-ns") <= 4 * LH_NS_PER_S);
    assert_int_equal(number_of(reply, "revoked"), 0);
    ask(*state, "LEASE REVOKE a");
    assert_int_equal(number_of(ask(*state, "LEASE GET a"), "revoked"), 1);
    reply = lh_resp_child(lh_resp_get(ask(*state, "LEASE LIST"), "leases"), 0);
    assert_int_equal(number_of(reply, "revoked"), 1);
}

static void lists_in_pages(void **state)
{
    char line[64];
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof line, "LEASE ACQUIRE list-%02d HOLDER h", i);
        assert_status(ask(*state, line), "granted");
    }
    ask(*state, "LEASE ACQUIRE other");
    ask(*state, "HELLO 3");
    char cursor[LH_INTEGER_TEXT_BYTES] = "0";
    size_t listed = 0, pages = 0;
    do {
        char ask_page[128];
        snprintf(ask_page, sizeof ask_page, "LEASE LIST PREFIX list- COUNT 4 CURSOR %s", cursor);
        const struct lh_resp_value *reply = ask(*state, ask_page);
        assert_keys(reply, "leases cursor age-ms missing");
        const struct lh_resp_value *leases = lh_resp_get(reply, "leases");
        for (size_t i = 0; i < leases->child_count; i++)
            assert_keys(lh_resp_child(leases, i), "name token holder node remaining-ns age-ns "
                                                  "renewals renewed-ago-ns ttl-ms revoked");
        listed += leases->child_count;
        struct lh_slice next;
        assert_true(lh_resp_as_text(lh_resp_get(reply, "cursor"), &next));
        memcpy(cursor, next.data, next.size_bytes);
        cursor[next.size_bytes] = '\0';
        assert_true(++pages <= 30);
    } while (strcmp(cursor, "0") != 0);
    assert_int_equal(listed, 30);
    assert_int_equal(lh_resp_get(ask(*state, "LEASE LIST"), "leases")->child_count, 31);
}

static void says_that_there_is_no_quorum(void **state)
{
    struct lone_host *lone = *state;
    int64_t token = number_of(ask(*state, "LEASE ACQUIRE held HOLDER h TTL 60s"), "token");
    char line[128];
    lone->deaf = true;
    send_words(lone, 0, "LEASE ACQUIRE a TIMEOUT 1s");
    assert_int_equal(lone->clients[0].used, 0);
    lone_advance(lone, 1100);
    const struct lh_resp_value *reply = read_reply(lone, 0);
    assert_keys(reply, "status name node until-ns reason");
    assert_status(reply, "noquorum");
    snprintf(line, sizeof line, "LEASE RENEW held %lld h TIMEOUT 1s", (long long)token);
    send_words(lone, 0, line);
    lone_advance(lone, 1100);
    reply = read_reply(lone, 0);
    assert_status(reply, "noquorum");
    assert_true(number_of(reply, "until-ns") > 0); // of the old lease
    assert_int_equal(number_of(reply, "rate-ppm"), 10000);
}

static void refuses_leases_once_halted(void **state)
{
    struct lone_host *lone = *state;
    lone->host->halted = "its clock is broken";
    refuses(lone, "LEASE ACQUIRE a", "NOTREADY this node has stopped serving: its clock is broken");
    assert_text(lh_resp_get(ask(lone, "CLUSTER STATUS"), "state"), "halted");
    assert_text(ask(lone, "PING"), "PONG");
}

// --- subscriptions ---

static void assert_push(const struct lh_resp_value *push, const char *what, const char *channel)
{
    assert_int_equal(push->child_count, 3);
    assert_text(lh_resp_child(push, 0), what);
    assert_text(lh_resp_child(push, 1), channel);
}

static void confirms_a_subscription_before_its_first_message(void **state)
{
    struct lone_host *lone = *state;
    send_words(lone, 0, "SUBSCRIBE lease:a");
    const struct lh_resp_value *push = read_reply(lone, 0);
    assert_true(lh_resp_is(push, LH_RESP_ARRAY));
    assert_push(push, "subscribe", "lease:a");
    assert_int_equal(lh_resp_child(push, 2)->integer, 1);
    push = read_reply(lone, 0);
    assert_push(push, "message", "lease:a");
    assert_text(lh_resp_child(push, 2),
                "{\"seq\":1,\"name\":\"a\",\"state\":\"free\",\"token\":0,"
                "\"holder\":\"\",\"node\":0,\"remaining_ms\":0,\"revoked\":false}");
}

static void tells_watchers_of_changes_in_order(void **state)
{
    struct lone_host *lone = *state;
    lone_connect(lone, 1);
    send_words(lone, 1, "HELLO 3");
    read_reply(lone, 1);
    send_words(lone, 1, "SUBSCRIBE lease:a\"b");
    assert_true(lh_resp_is(read_reply(lone, 1), LH_RESP_PUSH));
    read_reply(lone, 1);
    ask(lone, "LEASE ACQUIRE a\"b HOLDER h TTL 5s");
    lone_advance(lone, 1000);
    const struct lh_resp_value *push = read_reply(lone, 1);
    assert_true(lh_resp_is(push, LH_RESP_PUSH));
    assert_push(push, "message", "lease:a\"b");
    struct lh_slice json;
    static const char begin[] = "{\"seq\":2,\"name\":\"a\\\"b\",\"state\":\"held\",\"token\":";
    assert_true(lh_resp_as_text(lh_resp_child(push, 2), &json));
    assert_memory_equal(json.data, begin, sizeof begin - 1);
    // In version 3 everything else may be asked meanwhile.
    send_words(lone, 1, "LEASE GET a\"b");
    assert_status(read_reply(lone, 1), "held");
}

static void a_subscriber_of_version_2_may_do_little_else(void **state)
{
    struct lone_host *lone = *state;
    send_words(lone, 0, "SUBSCRIBE lease:a lease:b");
    for (int i = 0; i < 4; i++)
        read_reply(lone, 0);
    refuses(lone, "LEASE GET a", "ERR Can't execute 'LEASE'");
    refuses(lone, "HELLO 3", "Can't execute 'HELLO'");
    const struct lh_resp_value *pong = ask(lone, "PING");
    assert_text(lh_resp_child(pong, 0), "pong");
    assert_text(lh_resp_child(pong, 1), "");
    assert_push(ask(lone, "UNSUBSCRIBE lease:a"), "unsubscribe", "lease:a");
    send_words(lone, 0, "UNSUBSCRIBE");
    const struct lh_resp_value *push = read_reply(lone, 0);
    assert_push(push, "unsubscribe", "lease:b");
    assert_int_equal(lh_resp_child(push, 2)->integer, 0);
    assert_status(ask(lone, "LEASE GET a"), "free");
    push = ask(lone, "UNSUBSCRIBE");
    assert_true(lh_resp_is(lh_resp_child(push, 1), LH_RESP_NULL));
}

static void refuses_channels_that_are_none(void **state)
{
    refuses(*state, "SUBSCRIBE news", "ERR 'news' is no channel: subscribe to lease:NAME");
    refuses(*state, "SUBSCRIBE lease:", "is no channel");
    refuses(*state, "SUBSCRIBE lease:a lease:@b", "BADNAME");
    refuses(*state, "PSUBSCRIBE lease:*", "ERR patterns such as 'lease:*' cannot be watched");
    assert_push(ask(*state, "PUNSUBSCRIBE x"), "punsubscribe", "x");
    assert_push(ask(*state, "UNSUBSCRIBE news"), "unsubscribe", "news");
    assert_status(ask(*state, "LEASE GET a"), "free"); // nothing is watched
}

static void subscribes_to_32_channels_at_once_and_no_more(void **state)
{
    struct lone_host *lone = *state;
    char line[1024] = "SUBSCRIBE";
    for (int i = 0; i < 32; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " lease:s%d", i);
    char longer[1100];
    snprintf(longer, sizeof longer, "%s lease:more", line);
    refuses(lone, longer, "one SUBSCRIBE takes at most 32 channels");
    send_words(lone, 0, line);
    for (int i = 0; i < 64; i++)
        read_reply(lone, 0);
    assert_int_equal(lone->host->sessions.sessions[0].watch_count, 32);
    lone_disconnect(lone, 0);
    assert_int_equal(lone->host->machine.count, 0);
}

static void says_so_when_no_watch_is_free(void **state)
{
    struct lone_host *lone = *state;
    lone->host->watches.capacity = 1;
    send_words(lone, 0, "SUBSCRIBE lease:a lease:b");
    bool refused = false, confirmed = false;
    for (int i = 0; i < 3; i++) {
        const struct lh_resp_value *reply = read_reply(lone, 0);
        if (lh_resp_is(reply, LH_RESP_ERROR)) {
            assert_error(reply, "BUSY this node cannot watch more leases");
            refused = true;
        } else {
            confirmed = true;
        }
    }
    assert_true(refused && confirmed);
    assert_int_equal(lone->clients[0].used, 0);
}

static void a_message_without_room_is_told_with_the_next_answer(void **state)
{
    struct lone_host *lone = *state;
    struct lh_watch *watch = lone->host->watches.pool;
    send_words(lone, 0, "SUBSCRIBE lease:a");
    lone->clients[0].used = 0;
    uint32_t told = watch->sequence;
    struct lh_result result = {.status = LH_STATUS_FREE};
    lh_host_effects_clear(lone->effects);
    lone->effects->reply_count = LH_HOST_REPLIES_MAX / 2;
    watch->sequence++;
    lh_session_publish(lone->host, watch, &result, lone->effects);
    assert_int_equal(lone->effects->reply_count, LH_HOST_REPLIES_MAX / 2);
    assert_int_equal(watch->sequence, told);
    assert_true(watch->fresh);
    lone_advance(lone, 2000);
    assert_push(read_reply(lone, 0), "message", "lease:a");
}

// --- the connection ---

static void says_hello_in_both_versions(void **state)
{
    const struct lh_resp_value *reply = ask(*state, "HELLO");
    assert_true(lh_resp_is(reply, LH_RESP_ARRAY));
    assert_keys(reply, "server version proto id mode role modules");
    assert_int_equal(number_of(reply, "proto"), 2);
    reply = ask(*state, "HELLO 3 SETNAME me");
    assert_true(lh_resp_is(reply, LH_RESP_MAP));
    assert_text(lh_resp_get(reply, "server"), "leasehold");
    assert_text(lh_resp_get(reply, "version"), "0.1.0");
    assert_text(ask(*state, "CLIENT GETNAME"), "me");
    assert_int_equal(number_of(ask(*state, "HELLO 2"), "proto"), 2);
    refuses(*state, "HELLO 4", "NOPROTO unsupported protocol version");
    refuses(*state, "HELLO x", "ERR Protocol version is not an integer");
    refuses(*state, "HELLO 3 SETNAME", "Syntax error in HELLO option 'SETNAME'");
    refuses(*state, "HELLO 3 AUTH nobody x", "WRONGPASS");
    assert_true(lh_resp_is(ask(*state, "LEASE GET a"), LH_RESP_ARRAY)); // a refusal changed nothing
    assert_true(lh_resp_is(ask(*state, "HELLO 3 AUTH default x SETNAME y"), LH_RESP_MAP));
}

static void knows_no_passwords_and_one_database(void **state)
{
    refuses(*state, "AUTH x",
            "ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your configuration is correct?");
    assert_text(ask(*state, "AUTH default x"), "OK");
    refuses(*state, "AUTH nobody x", "WRONGPASS");
    assert_text(ask(*state, "SELECT 0"), "OK");
    refuses(*state, "SELECT 1", "ERR DB index is out of range");
    refuses(*state, "SELECT x", "ERR invalid DB index");
}

static void takes_what_clients_say_about_themselves(void **state)
{
    assert_int_equal(ask(*state, "CLIENT ID")->integer, 1);
    assert_true(lh_resp_is(ask(*state, "CLIENT GETNAME"), LH_RESP_NULL));
    assert_text(ask(*state, "CLIENT SETNAME worker-1"), "OK");
    assert_text(ask(*state, "CLIENT GETNAME"), "worker-1");
    refuses(*state, "CLIENT SETNAME a\tb", "cannot contain spaces, newlines or special characters");
    char line[128];
    repeat(line, "CLIENT SETNAME ", 'n', LH_SESSION_NAME_BYTES_MAX, "");
    assert_text(ask(*state, line), "OK");
    repeat(line, "CLIENT SETNAME ", 'n', LH_SESSION_NAME_BYTES_MAX + 1, "");
    refuses(*state, line, "at most 64 bytes");
    assert_text(ask(*state, "CLIENT SETNAME "), "OK");
    assert_true(lh_resp_is(ask(*state, "CLIENT GETNAME"), LH_RESP_NULL));
    assert_text(ask(*state, "CLIENT SETINFO LIB-NAME ioredis"), "OK");
    assert_text(ask(*state, "client setinfo lib-ver 5.4.1"), "OK");
    refuses(*state, "CLIENT SETINFO LIB-X 1", "ERR Unrecognized option 'LIB-X'");
    assert_text(ask(*state, "CLIENT NO-EVICT on"), "OK");
    refuses(*state, "CLIENT NO-TOUCH maybe", "neither on nor off");
    assert_text(
        ask(*state, "CLIENT INFO"),
        "id=1 name= flags=N db=0 sub=0 psub=0 qbuf=0 resp=2 lib-name=ioredis lib-ver=5.4.1\n");
}

static void lists_its_clients(void **state)
{
    struct lone_host *lone = *state;
    lone_connect(lone, 3);
    send_words(lone, 3, "SUBSCRIBE lease:a");
    assert_text(ask(lone, "CLIENT LIST"),
                "id=1 name= flags=N db=0 sub=0 psub=0 qbuf=0 resp=2 lib-name= lib-ver=\n"
                "id=2 name= flags=P db=0 sub=1 psub=0 qbuf=0 resp=2 lib-name= lib-ver=\n");
}

static void resets_to_what_a_new_connection_is(void **state)
{
    struct lone_host *lone = *state;
    ask(lone, "CLIENT SETNAME me");
    send_words(lone, 0, "SUBSCRIBE lease:a");
    read_reply(lone, 0);
    read_reply(lone, 0);
    assert_text(ask(lone, "RESET"), "RESET");
    assert_true(lh_resp_is(ask(lone, "CLIENT GETNAME"), LH_RESP_NULL));
    ask(lone, "HELLO 3");
    assert_text(ask(lone, "RESET"), "RESET");
    assert_true(lh_resp_is(ask(lone, "LEASE GET a"), LH_RESP_ARRAY));
}

static void quits(void **state)
{
    struct lone_host *lone = *state;
    send_text(lone, 0, "QUIT\r\nPING\r\n");
    assert_text(read_reply(lone, 0), "OK");
    assert_true(lone->clients[0].closed);
    assert_int_equal(lone->clients[0].used, 0);
    lone_disconnect(lone, 0);
    lone_connect(lone, 0);
    assert_int_equal(ask(lone, "CLIENT ID")->integer, 2);
}

// --- what the server says of itself ---

static bool holds_line(struct lh_slice text, const char *line)
{
    char copy[8192];
    assert_true(text.size_bytes < sizeof copy);
    memcpy(copy, text.data, text.size_bytes);
    copy[text.size_bytes] = '\0';
    return strstr(copy, line) != NULL;
}

static void info_passes_a_ready_check(void **state)
{
    struct lh_slice text;
    assert_true(lh_resp_as_text(ask(*state, "INFO"), &text));
    assert_true(holds_line(text, "\r\nloading:0\r\n"));
    assert_true(holds_line(text, "redis_version:7."));
    assert_true(holds_line(text, "\r\nleasehold_version:0.1.0\r\n"));
    assert_true(holds_line(text, "\r\nrole:master\r\n"));
    assert_true(holds_line(text, "\r\nstate:serving\r\n"));
    assert_true(lh_resp_as_text(ask(*state, "INFO persistence Clients"), &text));
    assert_true(holds_line(text, "loading:0"));
    assert_true(holds_line(text, "connected_clients:1"));
    assert_false(holds_line(text, "redis_version"));
    assert_text(ask(*state, "INFO keyspace"), "");
}

static void status_is_one_nested_map(void **state)
{
    ask(*state, "LEASE ACQUIRE a");
    ask(*state, "HELLO 3");
    const struct lh_resp_value *reply = ask(*state, "CLUSTER STATUS");
    assert_keys(reply, "node generation start boot state quarantine-left-ms reason version members "
                       "quorum max-ttl-ms rate-ppm leases waiters records capacity counter "
                       "reservation uptime-ms connections peers clocks counters");
    assert_text(lh_resp_get(reply, "state"), "serving");
    assert_int_equal(number_of(reply, "leases"), 1);
    assert_int_equal(number_of(reply, "quorum"), 1);
    assert_int_equal(lh_resp_get(reply, "members")->child_count, 1);
    assert_int_equal(lh_resp_get(reply, "peers")->child_count, 0);
    assert_keys(lh_resp_get(reply, "clocks"), "allowed-least-ppb allowed-most-ppb guard-us");
    assert_int_equal(number_of(lh_resp_get(reply, "counters"), "acquired"), 1);
}

static void describes_every_command_it_has(void **state)
{
    ask(*state, "HELLO 3");
    int64_t count = ask(*state, "COMMAND COUNT")->integer;
    assert_int_equal(ask(*state, "COMMAND")->child_count, count);
    assert_int_equal(ask(*state, "COMMAND LIST")->child_count, count);
    assert_int_equal(ask(*state, "COMMAND DOCS")->child_count, 2 * count);
    const struct lh_resp_value *reply = ask(*state, "COMMAND INFO ping nothing lease|get");
    assert_int_equal(reply->child_count, 3);
    assert_text(lh_resp_child(lh_resp_child(reply, 0), 0), "ping");
    assert_int_equal(lh_resp_child(lh_resp_child(reply, 0), 1)->integer, -1);
    assert_true(lh_resp_is(lh_resp_child(reply, 1), LH_RESP_NULL));
    assert_text(lh_resp_child(lh_resp_child(reply, 2), 0), "lease|get");
    reply = ask(*state, "COMMAND DOCS lease|acquire nothing");
    assert_int_equal(reply->child_count, 2);
    const struct lh_resp_value *arguments =
        lh_resp_get(lh_resp_get(reply, "lease|acquire"), "arguments");
    assert_int_equal(arguments->child_count, 7);
    assert_text(lh_resp_get(lh_resp_child(arguments, 0), "name"), "name");
    assert_text(lh_resp_get(lh_resp_child(arguments, 1), "token"), "TTL");
    assert_text(lh_resp_get(lh_resp_child(arguments, 1), "name"), "duration");
}

static void every_group_has_help(void **state)
{
    assert_int_equal(ask(*state, "LEASE HELP")->child_count, 14);
    assert_int_equal(ask(*state, "cluster help")->child_count, 4);
    assert_true(lh_resp_is(ask(*state, "CLIENT HELP"), LH_RESP_ARRAY));
    assert_true(lh_resp_is(ask(*state, "COMMAND HELP"), LH_RESP_ARRAY));
}

static void the_table_holds_what_the_code_relies_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < lh_command_count; i++) {
        const struct lh_command *command = &lh_commands[i];
        bool group = (command->flags & LH_COMMAND_GROUP) != 0;
        assert_ptr_equal(lh_command_find(command->name, command->sub), command); // no row twice
        assert_true(command->run != NULL || group);
        assert_true(command->summary[0] != '\0');
        // A group's rows stand behind it.
        if (command->sub.size_bytes > 0)
            assert_true(lh_slice_equal(lh_commands[i - 1].name, command->name));
        else if (group)
            assert_true(lh_slice_equal(lh_commands[i + 1].name, command->name));
        // Words that a handler reads without asking are there.
        int words = command->arity < 0 ? -command->arity : command->arity;
        assert_true(words >= (command->sub.size_bytes > 0 ? 2 : 1));
    }
}

static void what_does_not_fit_is_refused_instead(void **state)
{
    struct lone_host *lone = *state;
    lh_host_effects_clear(lone->effects);
    struct lh_writer writer = lh_reply_begin(lone->effects);
    size_t room = lh_writer_left_bytes(&writer);
    assert_int_equal(room, LH_HOST_ARENA_BYTES - LH_REPLY_RESERVE_BYTES);
    assert_non_null(lh_writer_take(&writer, room));
    lh_writer_u8(&writer, 'x');
    lh_reply_end(lone->effects, 0, &writer);
    assert_int_equal(lone->effects->reply_count, 1);
    assert_memory_equal(lone->effects->arena, "-BUSY ", 6);
    // Side by side, replies to one session are one.
    uint32_t first = lone->effects->replies[0].size;
    writer = lh_reply_begin(lone->effects);
    lh_writer_string(&writer, "+OK\r\n");
    lh_reply_end(lone->effects, 0, &writer);
    assert_int_equal(lone->effects->reply_count, 1);
    assert_int_equal(lone->effects->replies[0].size, first + 5);
    lh_reply_end(lone->effects, 1, &writer);
    assert_int_equal(lone->effects->reply_count, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_host, close_host)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(answers_ping_as_array_and_inline),
        CASE(takes_a_request_in_single_bytes),
        CASE(handles_one_command_a_step_and_says_that_more_wait),
        CASE(answers_a_long_pipeline_in_order),
        CASE(passes_over_empty_requests),
        CASE(ends_the_connection_after_malformed_bytes),
        CASE(takes_a_request_of_the_whole_buffer),
        CASE(refuses_a_longer_request_and_names_the_limit),
        CASE(refuses_a_longer_inline_request),
        CASE(keeps_what_comes_while_a_request_is_pending),
        CASE(takes_no_more_than_a_buffer_while_a_request_is_pending),
        CASE(forgets_the_request_of_a_client_that_left),
        CASE(suggests_what_was_meant),
        CASE(shows_the_usage_when_words_are_missing_or_too_many),
        CASE(echoes_no_byte_that_could_forge_a_reply),
        CASE(cuts_long_words_between_characters),
        CASE(takes_names_of_1_to_255_bytes),
        CASE(takes_ttls_from_50_ms_to_max_ttl),
        CASE(the_default_ttl_is_at_most_max_ttl),
        CASE(takes_tokens_that_can_be),
        CASE(takes_each_option_once_with_a_value),
        CASE(grants_with_exactly_the_promised_keys),
        CASE(makes_a_holder_that_says_where_it_came_from),
        CASE(renews_and_releases_what_it_was_granted),
        CASE(the_same_id_is_the_same_request),
        CASE(revokes),
        CASE(shows_a_lease),
        CASE(lists_in_pages),
        CASE(says_that_there_is_no_quorum),
        CASE(refuses_leases_once_halted),
        CASE(confirms_a_subscription_before_its_first_message),
        CASE(tells_watchers_of_changes_in_order),
        CASE(a_subscriber_of_version_2_may_do_little_else),
        CASE(refuses_channels_that_are_none),
        CASE(subscribes_to_32_channels_at_once_and_no_more),
        CASE(says_so_when_no_watch_is_free),
        CASE(a_message_without_room_is_told_with_the_next_answer),
        CASE(says_hello_in_both_versions),
        CASE(knows_no_passwords_and_one_database),
        CASE(takes_what_clients_say_about_themselves),
        CASE(lists_its_clients),
        CASE(resets_to_what_a_new_connection_is),
        CASE(quits),
        CASE(info_passes_a_ready_check),
        CASE(status_is_one_nested_map),
        CASE(describes_every_command_it_has),
        CASE(every_group_has_help),
        CASE(what_does_not_fit_is_refused_instead),
        cmocka_unit_test(the_table_holds_what_the_code_relies_on),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
