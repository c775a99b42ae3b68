// `leasehold watch`: one line for each change of a lease, for people, scripts and --exec. It goes on
// until it is ended: a daemon that stops, dies, falls silent or has no majority behind it is left
// for the next endpoint, and what changed meanwhile is told as a change when the state is known
// again. What did not change is not told again.
//
// What must stay true: --exec runs one command for each line, one at a time, in their order; nothing
// is read meanwhile, so who is slow is slow to the daemon, which leaves out changes and counts them.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/hook.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/watch_line.h"
#include "client/feed.h"
#include "os/clock.h"

// How long a daemon may not know before another one is asked.
#define BLIND_MOST_NS (2 * LH_NS_PER_S)
// How long it may say nothing at all.
#define SILENCE_MOST_NS (5 * LH_NS_PER_S)

struct watching {
    bool json;
    const char *hook;
    struct lh_feed *feed;
    struct lh_watched *leases;
    size_t count;
    struct lh_instant begin_by; // some state is to be known by then
    bool begun;
    bool troubled;              // it was said that an endpoint cannot help
    unsigned connection;        // that `blind_at` is about
    struct lh_instant blind_at; // when the present daemon has not known for too long
    struct lh_trouble trouble;
};

// --- --exec ---

static void run_hook(const char *hook, const struct lh_watch_line *line)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        lh_watch_line_export(line);
        lh_hook_become(hook, "watch", "--exec");
    }
    if (pid < 0) {
        fprintf(stderr, "leasehold watch: --exec was not run for '%s': %s\n", line->name,
                strerror(errno));
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "leasehold watch: --exec for '%s' was ended by signal %d\n", line->name,
                WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        fprintf(stderr, "leasehold watch: --exec for '%s' exited with %d\n", line->name,
                WEXITSTATUS(status));
}

// --- what comes ---

static struct lh_watched *find(struct watching *watching, const char *name)
{
    for (size_t i = 0; i < watching->count; i++) {
        const char *known = watching->leases[i].name; // never NULL, which clang-tidy cannot see
        if (known != NULL && strcmp(known, name) == 0)
            return &watching->leases[i];
    }
    return NULL;
}

static void say_resumed(struct watching *watching)
{
    if (watching->troubled)
        fprintf(stderr, "leasehold watch: watching at %s\n", lh_feed_endpoint(watching->feed));
    watching->troubled = false;
    watching->begun = true;
}

static void take_message(struct watching *watching)
{
    struct lh_watch_message message;
    struct lh_watch_line line;
    struct lh_watched *lease = NULL;
    if (lh_watch_message_read(lh_feed_message(watching->feed), &message))
        lease = find(watching, message.name);
    if (lease == NULL) // of a daemon from another time, or none at all
        return;
    lh_watch_take(lease, lh_feed_connection(watching->feed), &message, lh_clock_realtime_ns(),
                  &line);
    if (line.missed > 0)
        fprintf(stderr,
                "leasehold watch: changes of '%s' left out because they were read too slowly: "
                "%" PRId64 "\n",
                line.name, line.missed);
    if (line.event != LH_WATCH_UNKNOWN)
        say_resumed(watching);
    if (!line.news)
        return;
    lh_watch_line_print(&line, watching->json);
    if (watching->hook != NULL)
        run_hook(watching->hook, &line);
}

// --- daemons that cannot help ---

static void say_trouble(struct watching *watching, const char *why)
{
    if (watching->begun && !watching->troubled)
        fprintf(stderr, "leasehold watch: %s; trying %s\n", why,
                lh_feed_endpoint_count(watching->feed) > 1 ? "the next endpoint" : "again");
    watching->troubled = true;
}

static bool is_blind(const struct watching *watching)
{
    if (!watching->begun)
        return lh_feed_heard(watching->feed);
    for (size_t i = 0; i < watching->count; i++)
        if (watching->leases[i].unknown &&
            watching->leases[i].connection == lh_feed_connection(watching->feed))
            return true;
    return false;
}

// At the beginning a daemon has its share of the time.
static struct lh_duration blindness_most(const struct watching *watching)
{
    struct lh_duration most = {BLIND_MOST_NS};
    struct lh_duration share = lh_feed_share(watching->feed);
    return !watching->begun && share.ns < most.ns ? share : most;
}

// A daemon that does not know for long is left for one that may.
static void mind_blindness(struct watching *watching)
{
    struct lh_instant now = lh_clock_now();
    struct lh_error why;
    if (lh_feed_endpoint_count(watching->feed) == 1 || !is_blind(watching)) {
        watching->blind_at = LH_NEVER;
    } else if (watching->blind_at.ns == LH_NEVER.ns ||
               watching->connection != lh_feed_connection(watching->feed)) {
        watching->connection = lh_feed_connection(watching->feed);
        watching->blind_at = lh_after(now, blindness_most(watching));
    } else if (!lh_before(now, watching->blind_at)) {
        static const char blind[] = "no majority of the members answers it";
        lh_error_set(&why, "%s: %s", lh_feed_endpoint(watching->feed), blind);
        say_trouble(watching, why.text);
        lh_trouble_note(&watching->trouble, LH_REACH_ANSWER, lh_feed_endpoint(watching->feed),
                        blind);
        lh_feed_try_next(watching->feed);
        watching->blind_at = LH_NEVER;
    }
}

static bool give_up(const struct watching *watching, size_t failures)
{
    if (watching->begun)
        return false;
    return !lh_before(lh_clock_now(), watching->begin_by) ||
           (watching->trouble.reach < LH_REACH_SILENCE &&
            failures >= lh_feed_endpoint_count(watching->feed));
}

static int say_given_up(struct watching *watching)
{
    struct lh_trouble *trouble = &watching->trouble;
    if (lh_feed_heard(watching->feed))
        lh_trouble_note(trouble, LH_REACH_ANSWER, lh_feed_endpoint(watching->feed), LH_NO_MAJORITY);
    else if (lh_feed_fd(watching->feed) >= 0)
        lh_trouble_note(trouble, LH_REACH_SILENCE, lh_feed_endpoint(watching->feed),
                        "no answer in time");
    fprintf(stderr, "leasehold watch: %s: %s\n", lh_session_cause(trouble->reach),
            trouble->error.text);
    lh_session_hint("watch", lh_feed_from_environment(watching->feed), trouble->reach);
    if (watching->json)
        lh_session_failure("watch", "noquorum", NULL, NULL, trouble->error.text);
    return LH_EXIT_NO_QUORUM;
}

static void wait_for_more(const struct watching *watching)
{
    struct lh_instant wake_at = lh_earlier(lh_feed_wake_at(watching->feed), watching->blind_at);
    if (!watching->begun)
        wake_at = lh_earlier(wake_at, watching->begin_by);
    struct pollfd wanted = {.fd = lh_feed_fd(watching->feed),
                            .events = lh_feed_events(watching->feed)};
    lh_channel_poll(&wanted, 1, wake_at);
}

static int watch(struct watching *watching)
{
    size_t failures = 0;
    for (;;) {
        switch (lh_feed_next(watching->feed)) {
        case LH_FEED_MESSAGE: take_message(watching); break;
        case LH_FEED_BROKEN:
            failures++;
            lh_trouble_take(&watching->trouble, lh_feed_trouble(watching->feed));
            say_trouble(watching, lh_feed_trouble(watching->feed)->error.text);
            break;
        case LH_FEED_REFUSED:
            fprintf(stderr, "leasehold watch: refused: %s\n",
                    lh_feed_trouble(watching->feed)->error.text);
            if (watching->json)
                lh_session_failure("watch", "refused", NULL, NULL,
                                   lh_feed_trouble(watching->feed)->error.text);
            return LH_EXIT_USAGE;
        case LH_FEED_QUIET:
            mind_blindness(watching);
            wait_for_more(watching);
            break;
        }
        if (ferror(stdout))
            return lh_output_end("watch");
        if (give_up(watching, failures))
            return say_given_up(watching);
    }
}

// Each name once. False after saying which is wrong.
static bool take_names(struct watching *watching, const struct lh_parsed *parsed)
{
    for (int i = 0; i < parsed->positional_count; i++) {
        struct lh_error error;
        const char *name = parsed->positionals[i];
        if (!lh_name_check(name, &error)) {
            fprintf(stderr, "leasehold watch: %s\n", error.text);
            return false;
        }
        if (find(watching, name) != NULL)
            continue;
        parsed->positionals[watching->count] = parsed->positionals[i];
        watching->leases[watching->count++].name = name;
    }
    return true;
}

static bool parse(int argc, char **argv, struct lh_common_options *common, const char **hook,
                  struct lh_parsed *ret_parsed, int *ret_exit)
{
    const struct lh_option options[] = {
        {"exec", LH_OPTION_TEXT, hook, "CMD",
         "run CMD with /bin/sh for each line, one at a time, with\n"
         "LEASEHOLD_EVENT (present, gained, lost, changed, revoked, unknown), _NAME,\n"
         "_STATE, _TOKEN, _HOLDER, _NODE, _PREVIOUS_TOKEN, _PREVIOUS_HOLDER,\n"
         "_PREVIOUS_NODE, _REVOKED (1 or empty) and _TIME in its environment,\n"
         "and --connect as LEASEHOLD_CONNECT"},
        LH_COMMON_OPTIONS(*common),
    };
    const struct lh_syntax syntax = {
        .command = "watch",
        .arguments = "NAME... [--exec CMD] [--json] [--timeout D]",
        .about =
            "Prints the present state of each lease (held, free), then a line for each change:\n"
            "gained, lost, changed (to another owner), revoked (it will not be renewed), with\n"
            "token, node and holder; of a lost one, whose it was; unknown: the daemon has no\n"
            "majority behind it, and the state is shown anew when one has. It goes on until it is\n"
            "ended; when a daemon is gone it says so, goes on at the next endpoint, and tells "
            "what\n"
            "is not as it was.\n"
            "\n"
            "Exit code: 69 no daemon or no quorum at the beginning, 64 refused as wrong.",
        .positionals_least = 1,
        .positionals_most = LH_POSITIONALS_ANY,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return lh_options_parse(&syntax, argc, argv, ret_parsed, ret_exit);
}

int lh_watch_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    struct watching watching = {.blind_at = LH_NEVER};
    struct lh_parsed parsed;
    struct lh_error error;
    int exit_code;
    if (!parse(argc, argv, &common, &watching.hook, &parsed, &exit_code) ||
        !lh_hook_check(watching.hook, "watch", "--exec", &exit_code))
        return exit_code;
    lh_session_export(&common);
    struct lh_duration patience = lh_session_patience(&common, NULL);
    exit_code = LH_EXIT_USAGE;
    watching.json = common.json;
    watching.begin_by = lh_after(lh_clock_now(), patience);
    watching.leases = calloc((size_t)parsed.positional_count, sizeof *watching.leases);
    if (watching.leases == NULL) {
        fprintf(stderr, "leasehold watch: out of memory\n");
        return LH_EXIT_FAILED;
    }
    if (patience.ns > SILENCE_MOST_NS)
        patience.ns = SILENCE_MOST_NS;
    if (take_names(&watching, &parsed)) {
        if (lh_feed_open(common.connect, parsed.positionals, watching.count, patience,
                         &watching.feed, &error))
            exit_code = watch(&watching);
        else
            fprintf(stderr, "leasehold watch: %s\n", error.text);
    }
    lh_feed_close(watching.feed);
    free(watching.leases);
    return exit_code;
}
