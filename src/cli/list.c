// `leasehold list`: every lease of the cluster, page by page. It is a view with an age, not a
// decision.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/lease_table.h"
#include "cli/session.h"

#define PAGE "500"

struct listing {
    bool json;
    const char *prefix;
    struct lh_table table;
    json_t *leases;
    json_t *missing; // ids of nodes that did not answer, of any page
    int64_t age_ms;  // of the oldest page
    size_t count;
    char cursor[128];
};

static void note_missing(struct listing *listing, const struct lh_resp_value *missing)
{
    for (size_t i = 0; missing != NULL && i < missing->child_count; i++) {
        int64_t node;
        bool known = false;
        if (!lh_resp_as_integer(lh_resp_child(missing, i), &node))
            continue;
        for (size_t j = 0; j < json_array_size(listing->missing); j++)
            known = known || json_integer_value(json_array_get(listing->missing, j)) == node;
        if (!known)
            json_array_append_new(listing->missing, json_integer(node));
    }
}

// Takes one page; false if it is not one.
static bool take_page(struct listing *listing, const struct lh_resp_value *reply)
{
    const struct lh_resp_value *leases = lh_resp_get(reply, "leases");
    struct lh_slice cursor;
    int64_t age_ms = 0;
    if (!lh_resp_is(leases, LH_RESP_ARRAY) ||
        !lh_resp_as_text(lh_resp_get(reply, "cursor"), &cursor) ||
        cursor.size_bytes >= sizeof listing->cursor)
        return false;
    snprintf(listing->cursor, sizeof listing->cursor, "%.*s", (int)cursor.size_bytes,
             (const char *)cursor.data);
    lh_resp_as_integer(lh_resp_get(reply, "age-ms"), &age_ms);
    if (age_ms > listing->age_ms)
        listing->age_ms = age_ms;
    note_missing(listing, lh_resp_get(reply, "missing"));
    const struct lh_resp_value *lease = leases + 1;
    for (uint32_t i = 0; i < leases->child_count; i++, lease += lease->span) {
        listing->count++;
        if (listing->json)
            json_array_append_new(listing->leases, lh_reply_json(lease));
        else
            lh_lease_table_add(&listing->table, lease);
    }
    return true;
}

static void open_listing(struct listing *listing, const char *prefix, bool json)
{
    *listing = (struct listing){
        .json = json, .prefix = prefix, .leases = json_array(), .missing = json_array()};
    lh_lease_table_open(&listing->table);
}

static void close_listing(struct listing *listing)
{
    lh_table_discard(&listing->table);
    json_decref(listing->leases);
    json_decref(listing->missing);
}

static bool read_pages(struct listing *listing, struct lh_channel *client,
                       const struct lh_common_options *common, int *ret_exit)
{
    const char *prefix = listing->prefix;
    snprintf(listing->cursor, sizeof listing->cursor, "0");
    do {
        char cursor[sizeof listing->cursor];
        const char *words[8] = {"LEASE", "LIST", "COUNT", PAGE, "CURSOR", cursor, "PREFIX", prefix};
        const struct lh_resp_value *reply;
        memcpy(cursor, listing->cursor, sizeof cursor);
        if (!lh_session_call("list", client, common, NULL, words, prefix ? 8 : 6, &reply, ret_exit))
            return false;
        if (!take_page(listing, reply)) {
            fprintf(stderr, "leasehold list: %s answered with something that is no list\n",
                    lh_channel_endpoint(client));
            *ret_exit = LH_EXIT_FAILED;
            return false;
        }
    } while (strcmp(listing->cursor, "0") != 0);
    return true;
}

// Whether so many nodes did not answer that a quorum may hold leases nobody here can see.
static bool lacks_quorum(const struct listing *listing, struct lh_channel *client,
                         const struct lh_common_options *common)
{
    static const char *const words[] = {"CLUSTER", "STATUS"};
    struct lh_trouble trouble;
    int64_t missing = (int64_t)json_array_size(listing->missing);
    int64_t quorum = 0;
    if (missing == 0)
        return false;
    if (!lh_channel_call(client, words, 2, lh_session_patience(common, NULL), &trouble))
        return true;
    const struct lh_resp_value *reply = lh_channel_reply(client);
    const struct lh_resp_value *members = lh_resp_get(reply, "members");
    return !lh_resp_as_integer(lh_resp_get(reply, "quorum"), &quorum) || members == NULL ||
           (int64_t)members->child_count - missing < quorum;
}

struct item {
    json_t *lease;
};

static const char *name_of(const void *item)
{
    const char *name =
        json_string_value(json_object_get(((const struct item *)item)->lease, "name"));
    return name != NULL ? name : "";
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(name_of(one), name_of(other));
}

// In the order of the names' bytes, of whatever node they came. False without memory.
static bool sort_leases(json_t *leases)
{
    size_t count = json_array_size(leases);
    struct item *items = calloc(count + 1, sizeof *items);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i].lease = json_incref(json_array_get(leases, i));
    qsort(items, count, sizeof *items, compare_names);
    json_array_clear(leases);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(leases, items[i].lease);
    free(items);
    return true;
}

static int print_listing(struct listing *listing, bool complete)
{
    size_t missing = json_array_size(listing->missing);
    for (size_t i = 0; i < missing; i++)
        fprintf(stderr,
                "leasehold list: node %" JSON_INTEGER_FORMAT " did not answer: its leases may be "
                "missing\n",
                json_integer_value(json_array_get(listing->missing, i)));
    if (!complete)
        fprintf(stderr, "leasehold list: no quorum: this is what the others know\n");
    int exit_code = LH_EXIT_OK;
    if (listing->json) {
        if (!sort_leases(listing->leases))
            lh_complain("list", "not sorted: out of memory");
        exit_code = lh_json_print("list", json_pack("{s:O, s:I, s:O}", "leases", listing->leases,
                                                    "age_ms", (json_int_t)listing->age_ms,
                                                    "missing", listing->missing));
    } else if (listing->count > 0) {
        lh_table_sort(&listing->table);
        lh_table_close(&listing->table);
        exit_code = lh_output_end("list");
    } else {
        const char *prefix = listing->prefix != NULL ? listing->prefix : "";
        const char *none = missing == 0 ? "no lease is held" : "none known";
        if (prefix[0] != '\0')
            lh_complain("list", "%s whose name begins with '%s'", none, prefix);
        else
            lh_complain("list", "%s", none);
    }
    return exit_code == LH_EXIT_OK && !complete ? LH_EXIT_NO_QUORUM : exit_code;
}

// A node that hears of no quorum knows the least: the other endpoints are asked, each once.
static int list(struct lh_channel *client, const struct lh_common_options *common,
                const char *prefix)
{
    const char *first = NULL;
    struct listing listing;
    int exit_code;
    for (;;) {
        open_listing(&listing, prefix, common->json);
        if (!read_pages(&listing, client, common, &exit_code))
            break;
        const char *endpoint = lh_channel_endpoint(client);
        bool complete = !lacks_quorum(&listing, client, common);
        if (complete || endpoint == first || lh_channel_endpoint_count(client) == 1) {
            exit_code = print_listing(&listing, complete);
            break;
        }
        if (first == NULL)
            first = endpoint;
        lh_channel_try_next(client);
        close_listing(&listing);
    }
    close_listing(&listing);
    return exit_code;
}

int lh_list_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    const char *prefix = NULL;
    const struct lh_option options[] = {
        {"prefix", LH_OPTION_TEXT, &prefix, "P", "only names that begin with P"},
        LH_COMMON_OPTIONS(common),
    };
    const struct lh_syntax syntax = {
        .command = "list",
        .arguments = "[--prefix P] [--json]",
        .about =
            "Shows all leases of the cluster: who holds them, what is left, since when, how often\n"
            "renewed. It is a view a moment old: `get` asks a quorum.\n"
            "\n"
            "Exit code: 0 listed, 69 no daemon or no quorum: what is listed may be a part.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_holding unused;
    struct lh_channel *client;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        (prefix != NULL && prefix[0] != '\0' &&
         !lh_session_name("list", prefix, &unused, &exit_code)) ||
        !lh_cli_session_open("list", &common, &client, &exit_code))
        return exit_code;
    exit_code = list(client, &common, prefix);
    lh_channel_close(client);
    return exit_code;
}
