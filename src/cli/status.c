// `leasehold status`: how the node that answers is, and how it sees its peers.
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/session.h"

static int64_t integer(const struct lh_resp_value *map, const char *key)
{
    int64_t number = 0;
    lh_resp_as_integer(lh_resp_get(map, key), &number);
    return number;
}

// A text of the map for printf("%.*s").
static struct lh_slice text(const struct lh_resp_value *map, const char *key)
{
    struct lh_slice found = LH_SLICE("-");
    lh_resp_as_text(lh_resp_get(map, key), &found);
    return found;
}
#define SHOW(slice) (int)(slice).size_bytes, (const char *)(slice).data

// The members that could grant a lease now, as far as this node hears of them.
static int64_t count_up(const struct lh_resp_value *reply)
{
    const struct lh_resp_value *peers = lh_resp_get(reply, "peers");
    int64_t up = 1;
    if (!lh_resp_is(peers, LH_RESP_ARRAY))
        return up;
    const struct lh_resp_value *peer = peers + 1;
    for (uint32_t i = 0; i < peers->child_count; i++, peer += peer->span)
        up += lh_slice_equal(text(peer, "state"), LH_SLICE("up"));
    return up;
}

static bool serves(const struct lh_resp_value *reply)
{
    return lh_slice_equal(text(reply, "state"), LH_SLICE("serving"));
}

static void print_members(const struct lh_resp_value *members)
{
    printf("members");
    for (size_t i = 0; members != NULL && i < members->child_count; i++) {
        int64_t node = 0;
        lh_resp_as_integer(lh_resp_child(members, i), &node);
        printf("%s%" PRId64, i == 0 ? " " : ",", node);
    }
}

static uint32_t count_members(const struct lh_resp_value *reply)
{
    const struct lh_resp_value *members = lh_resp_get(reply, "members");
    return members != NULL ? members->child_count : 0;
}

static void print_node(const struct lh_resp_value *reply)
{
    char uptime[LH_DURATION_TEXT_BYTES];
    char max_ttl[LH_DURATION_TEXT_BYTES];
    char quarantine[LH_DURATION_TEXT_BYTES];
    struct lh_slice state = text(reply, "state");
    struct lh_slice reason = text(reply, "reason");
    struct lh_slice version = text(reply, "version");
    int64_t quarantine_ms = integer(reply, "quarantine-left-ms");
    printf("node %" PRId64 "  %.*s", integer(reply, "node"), SHOW(state));
    if (serves(reply) && count_up(reply) < integer(reply, "quorum"))
        printf(", but no quorum (%" PRId64 " of %" PRIu32 ")", count_up(reply),
               count_members(reply));
    if (quarantine_ms > 0)
        printf(", %s more", lh_duration_text_up(lh_ms(quarantine_ms), quarantine));
    if (reason.size_bytes > 0 && !lh_slice_equal(reason, LH_SLICE("-")))
        printf(": %.*s", SHOW(reason));
    printf("\nversion %.*s  up %s  generation %" PRId64 "  start %" PRId64 "\n", SHOW(version),
           lh_duration_text(lh_ms(integer(reply, "uptime-ms")), uptime),
           integer(reply, "generation"), integer(reply, "start"));
    print_members(lh_resp_get(reply, "members"));
    printf("  quorum %" PRId64 "  max-ttl %s  rate-error %.4g%%\n", integer(reply, "quorum"),
           lh_duration_text(lh_ms(integer(reply, "max-ttl-ms")), max_ttl),
           (double)integer(reply, "rate-ppm") / 10000.0);
    printf("leases %" PRId64 "  waiters %" PRId64 "  records %" PRId64 " of %" PRId64
           "  counter %" PRId64 " of %" PRId64 "\n",
           integer(reply, "leases"), integer(reply, "waiters"), integer(reply, "records"),
           integer(reply, "capacity"), integer(reply, "counter"), integer(reply, "reservation"));
}

static void print_peers(const struct lh_resp_value *peers)
{
    static const char *const headings[] = {"PEER", "STATE", "HEARD", "RTT", "GENERATION", "REASON"};
    struct lh_table table;
    if (!lh_resp_is(peers, LH_RESP_ARRAY) || peers->child_count == 0)
        return;
    lh_table_open(&table, headings, sizeof headings / sizeof headings[0]);
    const struct lh_resp_value *peer = peers + 1;
    for (uint32_t i = 0; i < peers->child_count; i++, peer += peer->span) {
        char heard[LH_DURATION_TEXT_BYTES];
        int64_t heard_ms = -1;
        lh_resp_as_integer(lh_resp_get(peer, "heard-ago-ms"), &heard_ms);
        lh_table_add(&table, "node %" PRId64, integer(peer, "node"));
        lh_table_add(&table, "%.*s", SHOW(text(peer, "state")));
        if (heard_ms < 0)
            lh_table_add(&table, "never");
        else
            lh_table_add(&table, "%s ago", lh_duration_text(lh_ms(heard_ms), heard));
        if (integer(peer, "rtt-us") == 0)
            lh_table_add(&table, "-");
        else
            lh_table_add(&table, "%.2fms", (double)integer(peer, "rtt-us") / 1000.0);
        lh_table_add(&table, "%" PRId64, integer(peer, "generation"));
        lh_table_add(&table, "%.*s", SHOW(text(peer, "reason")));
    }
    lh_table_close(&table);
}

static bool has(const struct lh_resp_value *map, const char *key)
{
    return lh_resp_get(map, key) != NULL;
}

// "-12.300 .. 4.500": microseconds as milliseconds, parts per billion as parts per million.
static void add_interval(struct lh_table *table, const struct lh_resp_value *map, const char *least,
                         const char *most)
{
    if (has(map, least))
        lh_table_add(table, "%.3f .. %.3f", (double)integer(map, least) / 1000.0,
                     (double)integer(map, most) / 1000.0);
    else
        lh_table_add(table, "-");
}

static void print_clocks(const struct lh_resp_value *reply)
{
    static const char *const headings[] = {"PEER", "RATE ppm", "MARGIN ppm", "OFFSET ms"};
    const struct lh_resp_value *peers = lh_resp_get(reply, "peers");
    const struct lh_resp_value *clocks = lh_resp_get(reply, "clocks");
    struct lh_table table;
    if (clocks == NULL || !lh_resp_is(peers, LH_RESP_ARRAY)) {
        printf("clocks: this daemon is of a version that does not measure them\n");
        return;
    }
    printf("clocks: two within rate-error differ by %.3f .. %.3f ppm\n",
           (double)integer(clocks, "allowed-least-ppb") / 1000.0,
           (double)integer(clocks, "allowed-most-ppb") / 1000.0);
    printf("guard for max-ttl: %.3f ms as configured, ", (double)integer(clocks, "guard-us") / 1e3);
    if (has(clocks, "measured-guard-us"))
        printf("%.3f ms by what is measured\n", (double)integer(clocks, "measured-guard-us") / 1e3);
    else
        printf("not every peer is measured yet\n");
    lh_table_open(&table, headings, sizeof headings / sizeof headings[0]);
    const struct lh_resp_value *peer = peers + 1;
    for (uint32_t i = 0; i < peers->child_count; i++, peer += peer->span) {
        const struct lh_resp_value *clock = lh_resp_get(peer, "clock");
        lh_table_add(&table, "node %" PRId64, integer(peer, "node"));
        add_interval(&table, clock, "rate-least-ppb", "rate-most-ppb");
        if (!has(clock, "margin-ppb"))
            lh_table_add(&table, "-");
        else if (integer(clock, "excess-ppb") != 0)
            lh_table_add(&table, "out by %.3f", (double)integer(clock, "excess-ppb") / 1000.0);
        else
            lh_table_add(&table, "%.3f", (double)integer(clock, "margin-ppb") / 1000.0);
        add_interval(&table, clock, "offset-least-us", "offset-most-us");
    }
    lh_table_close(&table);
}

int lh_status_command(int argc, char **argv)
{
    static const char *const words[] = {"CLUSTER", "STATUS"};
    struct lh_common_options common = {.json = false};
    bool clocks = false;
    const struct lh_option options[] = {
        LH_COMMON_OPTIONS(common),
        {"clocks", LH_OPTION_FLAG, &clocks, NULL,
         "show what the peers' clocks are measured to be: rate and offset\nagainst this node's, as "
         "bounds"},
    };
    const struct lh_syntax syntax = {
        .command = "status",
        .arguments = "[--connect ENDPOINT] [--clocks] [--json]",
        .about =
            "Shows the state of the node that answers and how it sees its peers. With --json\n"
            "everything it tells is printed, its counters too.\n"
            "\n"
            "Exit code: 0 it serves and sees a quorum; 69 it does not (joining, quarantine, no\n"
            "quorum, refused, halted, a bad clock), or no daemon answered.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_channel *client;
    const struct lh_resp_value *reply;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        !lh_cli_session_open("status", &common, &client, &exit_code))
        return exit_code;
    if (lh_session_call("status", client, &common, NULL, words, 2, &reply, &exit_code)) {
        if (common.json) {
            exit_code = lh_json_print("status", lh_reply_json(reply));
        } else {
            print_node(reply);
            if (clocks)
                print_clocks(reply);
            else
                print_peers(lh_resp_get(reply, "peers"));
            exit_code = lh_output_end("status");
        }
        if (exit_code == LH_EXIT_OK &&
            (!serves(reply) || count_up(reply) < integer(reply, "quorum")))
            exit_code = LH_EXIT_NO_QUORUM;
    }
    lh_channel_close(client);
    return exit_code;
}
