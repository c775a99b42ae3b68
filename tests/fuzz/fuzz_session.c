// Client bytes into a whole host of a cluster of one. The input is what clients send, with 0xff
// before a letter that says what else happens; whatever that is, the host goes on, and all it
// writes is well-formed RESP.
//
//     0xff 0xff    a byte 0xff           0xff 0..7   the next bytes are this client's
//     0xff f       a packet ends here    0xff d      it disconnects, and connects again
//     0xff a, A    1 s, 100 s pass       0xff x      messages are lost, or no more
//     0xff s       messages are held back, or no more
#include "../unit/lone_host.h"

#include <stddef.h>

#define VALUES_MAX 8192
#define OPERATIONS_MAX 400 // one input shall not take a second

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct lh_resp_value values[VALUES_MAX];

// Everything that `client` was sent must be whole replies, one after the other.
static void check_output(struct lone_client *client)
{
    size_t at = 0;
    while (at < client->used) {
        struct lh_resp_reply_parser parser;
        size_t consumed = 0;
        lh_resp_reply_parser_init(&parser, values, VALUES_MAX, LONE_OUTPUT_BYTES);
        LH_ASSERT_EQ(
            lh_resp_reply_parse(&parser, client->output + at, client->used - at, &consumed),
            LH_RESP_COMPLETE);
        at += consumed;
    }
    client->used = 0;
}

static void check_outputs(struct lone_host *lone)
{
    for (unsigned i = 0; i < LONE_CLIENTS; i++) {
        check_output(&lone->clients[i]);
        if (!lone->clients[i].closed)
            continue;
        lone_disconnect(lone, i);
        lone_connect(lone, i);
    }
}

static void flush(struct lone_host *lone, uint32_t client, uint8_t *packet, size_t *packet_bytes)
{
    if (*packet_bytes > 0)
        lone_send(lone, client, packet, *packet_bytes);
    *packet_bytes = 0;
    check_outputs(lone);
}

static void happen(struct lone_host *lone, uint8_t what, uint32_t *client)
{
    switch (what) {
    case 'a': lone_advance(lone, 1000); break;
    case 'A': lone_advance(lone, 100000); break;
    case 'd':
        lone_disconnect(lone, *client);
        lone_connect(lone, *client);
        break;
    case 's': lone->slow = !lone->slow; break;
    case 'x': lone->deaf = !lone->deaf; break;
    default:
        if (what >= '0' && what < '0' + LONE_CLIENTS)
            *client = (uint32_t)(what - '0');
        break;
    }
    check_outputs(lone);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct lone_host *lone; // leaves with the process
    if (lone == NULL)
        lone = lone_host_open(lh_ms(3000));
    else
        lone_restart(lone);
    lone->full = true; // a minute of messages may be held back
    uint8_t packet[LH_SESSION_INPUT_BYTES];
    size_t packet_bytes = 0;
    uint32_t client = 0;
    unsigned operations = 0;
    for (unsigned i = 0; i < LONE_CLIENTS; i++)
        lone_connect(lone, i);
    for (size_t i = 0; i < size && operations < OPERATIONS_MAX; i++) {
        bool control = bytes[i] == 0xff && i + 1 < size;
        if (control && bytes[++i] != 0xff) {
            operations++;
            flush(lone, client, packet, &packet_bytes);
            happen(lone, bytes[i], &client);
            continue;
        }
        packet[packet_bytes++] = bytes[i];
        if (packet_bytes == sizeof packet)
            flush(lone, client, packet, &packet_bytes);
    }
    flush(lone, client, packet, &packet_bytes);
    // Whatever happened, the host still serves, and gives back what was lent.
    lone->slow = lone->deaf = false;
    lone_advance(lone, 100000);
    for (unsigned i = 0; i < LONE_CLIENTS; i++) {
        check_output(&lone->clients[i]);
        lone_disconnect(lone, i);
    }
    LH_ASSERT_EQ(lone->host->sessions.count_open, 0);
    return 0;
}
