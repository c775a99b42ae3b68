// The configuration: the file, the flags over it, and every refusal with its words.
#include "node/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/config_key.h"
#include "os/keyring.h"

#define DIRECTORY "data-dir = /tmp\n"
#define THREE                                                                                      \
    "[node 1]\naddress = 10.0.0.1\n[node 2]\naddress = 10.0.0.2\n[node 3]\naddress = 10.0.0.3\n"

static struct lh_error error;
static struct lh_node_config config;

static bool parse(const char *text)
{
    error.text[0] = '\0';
    return lh_config_parse(lh_slice_of_string(text), "x.ini", &config, &error);
}

static void assert_parses(const char *text)
{
    if (!parse(text))
        fail_msg("%s", error.text);
}

static void assert_refused(const char *text, const char *why)
{
    memset(&config, 0x55, sizeof(config));
    const struct lh_node_config before = config;
    assert_false(parse(text));
    assert_string_equal(error.text, why);
    assert_memory_equal(&config, &before, sizeof(config));
}

static void a_short_file_gets_the_defaults(void **state)
{
    (void)state;
    assert_parses("node = 2\n" DIRECTORY THREE);
    assert_int_equal(config.node, 2);
    assert_string_equal(config.data_dir, "/tmp");
    assert_string_equal(config.keyring, "/etc/leasehold/keyring");
    assert_string_equal(config.socket, "/run/leasehold/client.sock");
    assert_int_equal(config.socket_mode, 0660);
    assert_int_equal(config.client_listen.port, 0);
    assert_int_equal(config.timing.max_ttl.ns, 60 * LH_NS_PER_S);
    assert_int_equal(config.timing.rate_ppm, 10000);
    assert_int_equal(config.max_leases, 1000000);
    assert_int_equal(config.max_clients, 1024);
    assert_int_equal(config.member_epoch, 1);
    assert_string_equal(config.state_dir, "");
    assert_true(config.idle_forget);
    assert_true(config.one_round_renewal);
    assert_true(config.clean_restart);
    assert_true(config.quarantine_ceiling);
    assert_int_equal(config.log_level, LH_LOG_INFO);
    assert_string_equal(config.record, "");
    assert_int_equal(config.member_count, 3);
    assert_int_equal(config.members[2].node, 3);
    assert_string_equal(config.members[2].address.host, "10.0.0.3");
    assert_int_equal(config.members[2].address.port, 7741);
}

static void every_key_is_read(void **state)
{
    (void)state;
    assert_parses("# a comment\n; another\n\n   \nnode = 9   # which member\n"
                  "data-dir = /a b/c;d#e ; not this\nkeyring: k\nsocket=/s\nsocket-mode = 0600\n"
                  "client-listen = [::1]:9\nmax-ttl = 1500ms\nrate-error = 0.25%\r\n"
                  "max-leases = 5\nmax-clients = 6\nmember-epoch = 7\nstate-dir = /st\n"
                  "idle-forget = on\none-round-renewal = on\nclean-restart = on\n"
                  "quarantine-ceiling = on\nlog-level = debug\nrecord = r\n"
                  "[node 9]   # alone\naddress = db.example.org:1\n");
    assert_int_equal(config.node, 9);
    assert_string_equal(config.data_dir, "/a b/c;d#e");
    assert_string_equal(config.keyring, "k");
    assert_string_equal(config.socket, "/s");
    assert_int_equal(config.socket_mode, 0600);
    assert_string_equal(config.client_listen.host, "::1");
    assert_int_equal(config.client_listen.port, 9);
    assert_int_equal(config.timing.max_ttl.ns, 1500 * LH_NS_PER_MS);
    assert_int_equal(config.timing.rate_ppm, 2500);
    assert_int_equal(config.max_leases, 5);
    assert_int_equal(config.max_clients, 6);
    assert_int_equal(config.member_epoch, 7);
    assert_string_equal(config.state_dir, "/st");
    assert_true(config.idle_forget && config.one_round_renewal && config.clean_restart &&
                config.quarantine_ceiling);
    assert_int_equal(config.log_level, LH_LOG_DEBUG);
    assert_string_equal(config.record, "r");
    assert_int_equal(config.member_count, 1);
    assert_string_equal(config.members[0].address.host, "db.example.org");
}

static void both_edges_of_every_range(void **state)
{
    (void)state;
    static const struct {
        const char *good[4];
        const char *name;
        const char *bad[8];
        const char *want;
    } cases[] = {
        {{"1", "255"}, "node", {"0", "256", "-1", "01", "1.0", "", "x"}, "want 1 to 255"},
        {{"0000", "777", "0600"},
         "socket-mode",
         {"660x", "08", "0778", "1000", "66", "", "01777"},
         "want three octal digits, with or without a leading 0"},
        {{"50ms", "1h", "60", "0.05"},
         "max-ttl",
         {"49ms", "3600001ms", "0"},
         "want 50ms to 1h, in whole milliseconds"},
        {{"0.0001%", "10%", "1.00000%", "10.0000%"},
         "rate-error",
         {"0%", "0.00009%", "10.0001%", "1", ".5%", "1.%", "%", "1 %"},
         "want 0.0001% to 10%"},
        {{"1", "100000000"}, "max-leases", {"0", "100000001", "1e6"}, "want 1 to 100000000"},
        {{"1", "65536"}, "max-clients", {"0", "65537"}, "want 1 to 65536"},
        {{"1", "4294967295"}, "member-epoch", {"0", "4294967296"}, "want 1 to 4294967295"},
        {{"on", "off"}, "clean-restart", {"yes", "ON", "1", ""}, "want on or off"},
        {{"error", "warn", "info", "debug"},
         "log-level",
         {"INFO", "trace", ""},
         "want error, warn, info or debug"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct lh_config_key *key =
            &lh_config_keys[lh_config_key_find(lh_slice_of_string(cases[i].name))];
        const char *reason = NULL;
        for (size_t j = 0; j < 4 && cases[i].good[j] != NULL; j++)
            assert_true(
                lh_config_key_set(key, lh_slice_of_string(cases[i].good[j]), &config, &reason));
        for (size_t j = 0; j < 8 && cases[i].bad[j] != NULL; j++) {
            char text[128], why[256];
            snprintf(text, sizeof(text), "\n%s = %s\n", cases[i].name, cases[i].bad[j]);
            snprintf(why, sizeof(why), "x.ini:2: %s: '%s' is refused: %s", cases[i].name,
                     cases[i].bad[j], cases[i].want);
            assert_refused(text, why);
        }
    }
}

static void a_duration_says_what_is_wrong_with_it(void **state)
{
    (void)state;
    assert_false(parse("max-ttl = 10 s\n"));
    assert_memory_equal(error.text, "x.ini:1: max-ttl: '10 s' is refused: ", 37);
    assert_true(strlen(error.text) > 37);
}

static void paths_have_a_length(void **state)
{
    (void)state;
    const struct lh_config_key *socket = &lh_config_keys[lh_config_key_find(LH_SLICE("socket"))];
    const struct lh_config_key *data = &lh_config_keys[lh_config_key_find(LH_SLICE("data-dir"))];
    const char *reason = NULL;
    char path[400];
    memset(path, 'p', sizeof(path));
    assert_true(lh_config_key_set(socket, lh_slice_of(path, 107), &config, &reason));
    assert_false(lh_config_key_set(socket, lh_slice_of(path, 108), &config, &reason));
    assert_true(lh_config_key_set(data, lh_slice_of(path, 255), &config, &reason));
    assert_int_equal(strlen(config.data_dir), 255);
    assert_false(lh_config_key_set(data, lh_slice_of(path, 256), &config, &reason));
    assert_refused("data-dir =\n",
                   "x.ini:1: data-dir: '' is refused: want a path of 1 to 255 bytes");
    assert_refused("data-dir = \"/x\"\n",
                   "x.ini:1: data-dir: '\"/x\"' is refused: write the path without quotes");
    assert_parses("node = 1\nrecord =\n" DIRECTORY "[node 1]\naddress = a\n");
}

static void clients_over_tcp_only_on_loopback(void **state)
{
    (void)state;
    assert_parses("node = 1\nclient-listen = 127.0.0.1\n" DIRECTORY "[node 1]\naddress = a\n");
    assert_int_equal(config.client_listen.port, 7742);
    assert_parses("node = 1\nclient-listen =\n" DIRECTORY "[node 1]\naddress = a\n");
    assert_int_equal(config.client_listen.port, 0);
    assert_refused("client-listen = 0.0.0.0:7742\n",
                   "x.ini:1: client-listen: '0.0.0.0:7742' is refused: only loopback (127.0.0.1 "
                   "or [::1]): what clients say is not encrypted");
    assert_refused("client-listen = 127.0.0.1:0\n",
                   "x.ini:1: client-listen: '127.0.0.1:0' is refused: the port must be a number "
                   "from 1 to 65535");
}

static void unknown_keys_suggest_the_nearest(void **state)
{
    (void)state;
    assert_refused("max-tll = 5s\n", "x.ini:1: max-tll: there is no such key; did you mean "
                                     "max-ttl?");
    assert_refused("rate_error = 1%\n",
                   "x.ini:1: rate_error: there is no such key; did you mean rate-error?");
    assert_refused("member = 4=127.0.0.1:9\n",
                   "x.ini:1: member: there is no such key; a member is `address = ...` in a "
                   "section [node N]");
    assert_refused("scoket = x\n", "x.ini:1: scoket: there is no such key; did you mean socket?");
    assert_refused("frobnicate = x\n", "x.ini:1: frobnicate: there is no such key; `leaseholdd "
                                       "--help` lists them");
    assert_refused("[node 1]\nadress = x\n",
                   "x.ini:2: adress: there is no such key; did you mean address?");
    assert_refused(" = x\n", "x.ini:1: begins with a blank; begin every line in its first column");
    assert_null(lh_config_key_nearest(LH_SLICE("")));
    assert_null(lh_config_key_nearest(LH_SLICE("a-name-of-more-than-thirty-two-letters")));
}

static void keys_belong_where_they_belong(void **state)
{
    (void)state;
    assert_refused("[node 1]\naddress = a\nmax-ttl = 5s\n",
                   "x.ini:3: max-ttl: does not belong into [node 1]; put it above the first "
                   "section");
    assert_refused("address = a\n", "x.ini:1: address: belongs into a section [node N]");
}

static void nothing_is_given_twice(void **state)
{
    (void)state;
    assert_refused("max-ttl = 5s\n\nmax-ttl = 5s\n",
                   "x.ini:3: max-ttl: given before, on line 1; remove one");
    assert_refused("[node 1]\naddress = a\naddress = b\n",
                   "x.ini:3: address: given before, on line 2; remove one");
    assert_refused("[node 1]\naddress = a\n[node 2]\naddress = b\n[node 1]\n",
                   "x.ini:5: [node 1]: given before, on line 1; remove one");
}

static void sections_are_nodes(void **state)
{
    (void)state;
#define NO_SECTION ": no such section; want [node N] with N from 1 to 255"
    assert_refused("[node 0]\n", "x.ini:1: [node 0]" NO_SECTION);
    assert_refused("[node 256]\n", "x.ini:1: [node 256]" NO_SECTION);
    assert_refused("[node 01]\n", "x.ini:1: [node 01]" NO_SECTION);
    assert_refused("[Node 1]\n", "x.ini:1: [Node 1]" NO_SECTION);
    assert_refused("[node 1] address = a\n", "x.ini:1: [node 1] address = a" NO_SECTION);
    assert_refused("[node 1\n", "x.ini:1: [node 1" NO_SECTION);
    assert_refused("[]\n", "x.ini:1: []" NO_SECTION);
    assert_refused("[node ]\n", "x.ini:1: [node ]" NO_SECTION);
    assert_refused("\n[node 255]\n", "x.ini:2: address: missing in [node 255]");
}

static void lines_inih_would_change_are_refused(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'x', sizeof(text));
    memcpy(text, "#", 1);
    memcpy(text + 198, "\n", 2);
    assert_refused(text, "x.ini:1: longer than 197 bytes, the most a line may have");
    memcpy(text + 197, "\n", 2);
    assert_false(parse(text));
    assert_non_null(strstr(error.text, "node is missing"));
    // The longest line with a value reaches it whole.
    memcpy(text, "record = ", 9);
    memcpy(text + 197, "\nnode = 1\n" DIRECTORY "[node 1]\naddress = a\n", 48);
    assert_parses(text);
    assert_int_equal(strlen(config.record), 188);

    assert_refused("node = 1\n  max-ttl = 5s\n",
                   "x.ini:2: begins with a blank; begin every line in its first column");
    assert_refused("node = 1\n\t# x\n",
                   "x.ini:2: begins with a blank; begin every line in its first column");
    assert_refused("node\n", "x.ini:1: want `key = value`, `[node N]` or a comment that begins "
                             "with # or ;");
    assert_refused("node = 1\x1b\n", "x.ini:1: a control character (0x1b) at byte 9");
    assert_false(lh_config_parse(LH_SLICE("node = 1\0\n"), "x.ini", &config, &error));
    assert_string_equal(error.text, "x.ini:1: a control character (0x00) at byte 9");
    assert_parses("\xef\xbb\xbfnode = 1\n" DIRECTORY
                  "[node 1]\naddress = a"); // and no last newline
}

static void the_members_make_a_cluster(void **state)
{
    (void)state;
    assert_refused(DIRECTORY THREE,
                   "x.ini: node is missing: say which member this daemon is, 1 to 255");
    assert_refused("node = 1\n" DIRECTORY,
                   "x.ini: there are no members; want a section [node N] with its address for "
                   "each, or --member N=ADDRESS");
    assert_refused("node = 1\n" DIRECTORY "[node 1]\naddress = a\n[node 2]\naddress = b\n",
                   "x.ini: 2 members: both would be needed for every lease; want 3 to 7, or 1 for "
                   "development");
    assert_refused("node = 4\n" DIRECTORY THREE,
                   "x.ini: node 4, which this daemon is to be, is not among the members; correct "
                   "node, or add [node 4]");
    assert_refused("node = 1\n" DIRECTORY THREE "[node 4]\naddress = 10.0.0.2:7741\n",
                   "x.ini: node 2 and node 4 have the same address; each needs its own");
    assert_parses("node = 1\n" DIRECTORY THREE "[node 4]\naddress = 10.0.0.2:7742\n");
    char text[1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "node = 1\n" DIRECTORY);
    for (int node = 7; node >= 1; node--)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "[node %d]\naddress = n%d\n",
                                 node, node);
    assert_parses(text);
    assert_int_equal(config.member_count, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(config.members[i].node, i + 1); // sorted, whatever their order in the file
    snprintf(text + size, sizeof(text) - size, "[node 8]\naddress = n8\n");
    assert_refused(text, "x.ini:18: address: more than 7 members");
}

static void the_default_directory_must_exist(void **state)
{
    (void)state;
    if (access("/var/lib/leasehold", F_OK) == 0)
        skip();
    assert_refused("node = 1\n[node 1]\naddress = a\n",
                   "x.ini: data-dir is missing, and its default /var/lib/leasehold does not "
                   "exist: create it, or set data-dir");
}

// --- flags ---

static enum lh_config_action action;

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define read_flags(...) read_arguments(COUNT(((char *[]){__VA_ARGS__})), (char *[]){__VA_ARGS__})

static bool read_arguments(int count, char *const *arguments)
{
    error.text[0] = '\0';
    return lh_config_read(count, arguments, &config, &action, &error);
}

static void assert_flags_refused(bool was_read, const char *why)
{
    assert_false(was_read);
    assert_string_equal(error.text, why);
}

static void flags_alone_are_enough(void **state)
{
    (void)state;
    assert_true(read_flags("--node", "1", "--data-dir=/tmp", "--member", "1=127.0.0.1:7001",
                           "--member=3=[::1]:7003", "--member", "2=b", "--max-ttl=3s",
                           "--client-listen="));
    assert_int_equal(action, LH_CONFIG_RUN);
    assert_int_equal(config.member_count, 3);
    assert_int_equal(config.members[0].address.port, 7001);
    assert_string_equal(config.members[1].address.host, "b");
    assert_string_equal(config.members[2].address.host, "::1");
    assert_int_equal(config.timing.max_ttl.ns, 3 * LH_NS_PER_S);
}

static void flags_win_over_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/leasehold-config-XXXXXX";
    const int file = mkstemp(path);
    static const char text[] = "node = 1\nmax-ttl = 9s\n" DIRECTORY THREE;
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    assert_true(read_flags("--max-ttl", "5s", "--max-ttl", "6s", "--config", path, "--config-test",
                           "--member", "2=10.9.9.9"));
    assert_int_equal(action, LH_CONFIG_TEST);
    assert_int_equal(config.timing.max_ttl.ns, 6 * LH_NS_PER_S); // the last one
    assert_int_equal(config.member_count, 3);
    assert_string_equal(config.members[1].address.host, "10.9.9.9");
    assert_string_equal(config.members[2].address.host, "10.0.0.3");
    assert_flags_refused(read_flags("--config", path, "--config", path),
                         "--config: given twice; there is one file");
    assert_int_equal(truncate(path, 65537), 0);
    assert_false(read_flags("--config", path));
    assert_non_null(strstr(error.text, ": longer than 65536 bytes"));
    unlink(path);
    assert_false(read_flags("--config", path));
    assert_non_null(strstr(error.text, "No such file"));
}

static void bad_flags_are_named(void **state)
{
    (void)state;
    assert_flags_refused(read_flags("--max-ttl", "10m5"),
                         error.text); // its reason is the duration parser's
    assert_memory_equal(error.text, "--max-ttl: '10m5' is refused: ", 30);
    assert_flags_refused(read_flags("--node", "0"), "--node: '0' is refused: want 1 to 255");
    assert_flags_refused(read_flags("--nod", "1"),
                         "--nod: there is no such key; did you mean node?");
    assert_flags_refused(read_flags("--node"), "--node: needs a value");
    assert_flags_refused(read_flags("--config"), "--config: needs the path of a file");
    assert_flags_refused(read_flags("--config="), "--config: needs the path of a file");
    assert_flags_refused(read_flags("--help=x"), "--help: takes no value");
    assert_flags_refused(read_flags("node", "1"),
                         "'node' is not a flag; every setting is --KEY VALUE, and `leaseholdd "
                         "--help` lists them");
    assert_flags_refused(read_flags("--"), "'--' is not a flag; every setting is --KEY VALUE, and "
                                           "`leaseholdd --help` lists them");
    assert_flags_refused(read_flags("--member", "x"),
                         "--member: 'x' is refused: want N=ADDRESS with N from 1 to 255");
    assert_flags_refused(read_flags("--member", "0=x"),
                         "--member: '0=x' is refused: want N=ADDRESS with N from 1 to 255");
    assert_flags_refused(read_flags("--member", "1="), "--member: '' is refused: it is empty");
    assert_flags_refused(read_flags("--data-dir", "/tmp"),
                         "node is missing: say which member this daemon is, 1 to 255");
}

static void actions_need_no_configuration(void **state)
{
    (void)state;
    assert_true(read_flags("--help"));
    assert_int_equal(action, LH_CONFIG_HELP);
    assert_true(read_flags("--node", "900", "--version"));
    assert_int_equal(action, LH_CONFIG_VERSION);
    assert_true(read_flags("-h"));
    assert_int_equal(action, LH_CONFIG_HELP);
    assert_true(read_flags("-V"));
    assert_int_equal(action, LH_CONFIG_VERSION);
}

// Neither a file nor a setting: the default file.
static void a_default_file_is_read_without_settings(void **state)
{
    (void)state;
    if (access(LH_CONFIG_FILE_DEFAULT, F_OK) == 0)
        skip();
    static const char missing[] =
        LH_CONFIG_FILE_DEFAULT ": No such file or directory; name another file with --config";
    assert_false(read_arguments(0, NULL));
    assert_string_equal(error.text, missing);
    assert_flags_refused(read_flags("--config-test"), missing);
    assert_flags_refused(read_flags("--config-test", "--node", "1", "--data-dir=/tmp"),
                         "there are no members; want a section [node N] with its address for "
                         "each, or --member N=ADDRESS");
}

// --- what is printed ---

static char printed[32768];

static const char *print(void (*write_text)(FILE *out))
{
    FILE *out = fmemopen(printed, sizeof(printed), "w");
    write_text(out);
    fclose(out);
    return printed;
}

static void help_names_every_key(void **state)
{
    (void)state;
    char text[128];
    print(lh_config_write_help);
    for (size_t i = 0; i < LH_CONFIG_KEYS; i++) {
        snprintf(text, sizeof(text), "\n  --%s ", lh_config_keys[i].name);
        assert_non_null(strstr(printed, text));
    }
    assert_non_null(strstr(printed, "--member N=ADDRESS"));
}

static bool test_was_good;

static void write_test(FILE *out)
{
    test_was_good = lh_config_test(out, &config);
}

// What was printed before the members: the verdict and what was found.
static void assert_found(bool good, const char *what)
{
    print(write_test);
    assert_int_equal(test_was_good, good);
    if (strstr(printed, what) == NULL || strstr(printed, what) > strstr(printed, "\n\n"))
        fail_msg("no '%s' in:\n%s", what, printed);
}

static char place[] = "/tmp/leasehold-config-XXXXXX";

// A directory with a keyring in it.
static int make_place(void **state)
{
    (void)state;
    char path[64];
    struct lh_keyring keyring;
    if (mkdtemp(place) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/keyring", place);
    return lh_keyring_generate(&keyring, &error) && lh_keyring_create(path, &keyring, &error) ? 0
                                                                                              : -1;
}

static int remove_place(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/keyring", place);
    unlink(path);
    return rmdir(place);
}

// Reads a configuration in which every file lies in `place`.
static void configure_place(const char *more)
{
    char text[1024];
    snprintf(text, sizeof text,
             "node = 2\nkeyring = %s/keyring\nsocket = %s/socket\ndata-dir = %s\n%s" THREE, place,
             place, place, more);
    assert_parses(text);
}

static void the_test_shows_the_timing_it_means(void **state)
{
    (void)state;
    char wanted[2048];
    configure_place("");
    snprintf(wanted, sizeof wanted,
             "OK: node 2 of 3, quorum 2, member epoch 1\n"
             "max-ttl     60s\n"
             "quarantine  61.213s\n"
             "keyring     %s/keyring, 1 key\n"
             "socket      %s/socket\n"
             "data-dir    %s\n\n"
             "node 1 at 10.0.0.1:7741\n"
             "node 2 at 10.0.0.2:7741\n"
             "node 3 at 10.0.0.3:7741\n"
             "rho   1.0000 %% (rate-error)\n"
             "D_P       60000000000 ns  the longest lease an owner may believe in (max-ttl)\n"
             "D_A       61212121213 ns  how long an acceptor refuses others for it\n"
             "Q         61212121213 ns  how long a node that lost its memory is silent\n"
             "guard      1212121213 ns  D_A - D_P\n"
             "D_P*(1+rho) <= D_A*(1-rho): 60600000000.000000 ns <= 60600000000.870000 ns: holds\n"
             "D_P*(1+rho) <= Q*(1-rho): 60600000000.000000 ns <= 60600000000.870000 ns: holds\n",
             place, place, place);
    assert_string_equal(print(write_test), wanted);
    // The greatest values do not overflow.
    configure_place("max-ttl = 1h\nrate-error = 10%\n");
    print(write_test);
    assert_non_null(strstr(printed, "3960000000000.000000 ns <= 3960000000000.000000 ns: holds"));
}

static void the_test_looks_at_what_is_named(void **state)
{
    (void)state;
    configure_place("");
    assert_found(true, "keyring, 1 key\n");
    strcpy(config.keyring, "/nowhere/keyring");
    assert_found(false, "NOT OK: node 2");
    assert_found(false, "/nowhere/keyring: ");
    configure_place("");
    strcpy(config.socket, "/nowhere/socket"); // the unit makes it
    assert_found(true, "socket      /nowhere/socket; there is no /nowhere: ");
    configure_place("");
    strcpy(config.data_dir, "/nowhere");
    assert_found(true, "data-dir    /nowhere; there is no /nowhere: ");
    strcpy(config.data_dir, "/dev/null");
    assert_found(false, "data-dir    /dev/null; /dev/null: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_file_gets_the_defaults),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(both_edges_of_every_range),
        cmocka_unit_test(a_duration_says_what_is_wrong_with_it),
        cmocka_unit_test(paths_have_a_length),
        cmocka_unit_test(clients_over_tcp_only_on_loopback),
        cmocka_unit_test(unknown_keys_suggest_the_nearest),
        cmocka_unit_test(keys_belong_where_they_belong),
        cmocka_unit_test(nothing_is_given_twice),
        cmocka_unit_test(sections_are_nodes),
        cmocka_unit_test(lines_inih_would_change_are_refused),
        cmocka_unit_test(the_members_make_a_cluster),
        cmocka_unit_test(the_default_directory_must_exist),
        cmocka_unit_test(flags_alone_are_enough),
        cmocka_unit_test(flags_win_over_the_file),
        cmocka_unit_test(bad_flags_are_named),
        cmocka_unit_test(actions_need_no_configuration),
        cmocka_unit_test(help_names_every_key),
        cmocka_unit_test(the_test_shows_the_timing_it_means),
        cmocka_unit_test(the_test_looks_at_what_is_named),
        cmocka_unit_test(a_default_file_is_read_without_settings),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
