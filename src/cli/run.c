// `leasehold run`: its command line. What it does is in run_loop.c.
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/hook.h"
#include "cli/output.h"
#include "cli/run_loop.h"
#include "cli/run_schedule.h"
#include "cli/session.h"

static const char about[] =
    "Waits for the lease NAME, runs COMMAND while holding it, and ends the command before the\n"
    "lease ends: SIGTERM, then SIGKILL, timed back from the deadline. The command is executed\n"
    "without a shell, in a process group of its own, and finds LEASEHOLD_NAME, LEASEHOLD_TOKEN,\n"
    "LEASEHOLD_TTL_MS and LEASEHOLD_HOLDER in its environment, and --connect as\n"
    "LEASEHOLD_CONNECT. TERM, INT, HUP, QUIT, USR1 and USR2 are passed on to it; Ctrl-Z is\n"
    "undone, since a stopped command outlives its lease. What follows COMMAND is all its own,\n"
    "options too, with or without --.\n"
    "When the command has ended, what it started and left behind gets SIGTERM, after\n"
    "--kill-after SIGKILL, and then the lease is released. A guardian process beside it does\n"
    "this even if leasehold itself is stopped or killed.\n"
    "\n"
    "Exit code: the command's own, or 128 + the signal that ended it; 64 usage, 69 no quorum,\n"
    "75 not acquired, 76 the lease was lost while the command ran, 125, 126 and 127 as "
    "timeout(1).\n"
    "These may be the command's own as well: a line that begins `leasehold run:` tells.";

#define TTL_DEFAULT_NS (10 * LH_NS_PER_S) // a daemon's, unless its max-ttl is less

// Known before anything is waited for, if a daemon is there to tell its max-ttl.
static bool check_times(const struct lh_option_duration *ttl, const struct lh_run_plan *plan,
                        struct lh_channel *client, int *ret_exit)
{
    char most[LH_DURATION_TEXT_BYTES];
    char asked[LH_DURATION_TEXT_BYTES];
    char granted[LH_DURATION_TEXT_BYTES];
    struct lh_duration longest = ttl->value;
    if (!plan->kill_after_given)
        return true;
    if (!ttl->given) {
        longest = lh_session_max_ttl(client);
        if (longest.ns > TTL_DEFAULT_NS)
            longest.ns = TTL_DEFAULT_NS;
    }
    if (plan->kill_after.ns <= lh_run_kill_after_most(longest).ns)
        return true;
    lh_complain("run",
                "--kill-after %s is longer than half of the TTL, %s%s: no time would be left to "
                "renew: allow at most %s, or ask for a longer --ttl",
                lh_duration_text(plan->kill_after, asked), lh_duration_text(longest, granted),
                ttl->given ? "" : " unless given",
                lh_duration_text(lh_run_kill_after_most(longest), most));
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

static bool read_code(struct lh_slice text, int *ret_code)
{
    int64_t code;
    if (!lh_i64_parse(text, &code) || code < 0 || code > 255)
        return false;
    *ret_code = (int)code;
    return true;
}

// -E N or -E N,M.
static bool read_codes(const char *text, struct lh_run_codes *codes, int *ret_exit)
{
    if (text == NULL)
        return true;
    struct lh_slice first = lh_slice_of_string(text);
    struct lh_slice second = {.size_bytes = 0};
    const char *comma = strchr(text, ',');
    if (comma != NULL) {
        first.size_bytes = (size_t)(comma - text);
        second = lh_slice_of_string(comma + 1);
    }
    if (read_code(first, &codes->not_acquired) &&
        (comma == NULL || read_code(second, &codes->lost)))
        return true;
    lh_complain("run",
                "the exit codes '%s' of -E are refused: write one for 75, or two with a comma for "
                "75 and 76, from 0 to 255",
                text);
    *ret_exit = LH_EXIT_USAGE;
    return false;
}

// What the options say, as they were given.
struct asked {
    struct lh_common_options common;
    struct lh_option_duration ttl, wait, kill_after, min_hold, pulse;
    const char *codes, *on_lost;
    bool nonblock, keep;
};

static bool parse(int argc, char **argv, struct asked *asked, struct lh_parsed *ret_parsed,
                  int *ret_exit)
{
    const struct lh_option options[] = {
        {"ttl", LH_OPTION_DURATION, &asked->ttl, "D",
         "how long one grant lasts, renewed at half of it: from 50ms (on quiet\n"
         "machines) to the cluster's max-ttl (default 10s, or max-ttl if that is less)"},
        {"wait", LH_OPTION_WAIT, &asked->wait, "D",
         "wait in line for so long (default: without end)"},
        {"nonblock", LH_OPTION_FLAG, &asked->nonblock, NULL,
         "do not wait: exit with 75 if it is held\n"
         "(without a quorum: with 69 after --timeout)"},
        {"kill-after", LH_OPTION_WAIT, &asked->kill_after, "D",
         "SIGTERM so long before the end (default: 5s, at most a quarter of the TTL)"},
        {"keep", LH_OPTION_FLAG, &asked->keep, NULL,
         "after a loss wait for the lease and run COMMAND again; without --wait\n"
         "a missing quorum is waited for, too"},
        {"on-lost", LH_OPTION_TEXT, &asked->on_lost, "HOOK",
         "a line for /bin/sh, run once after each loss when the command has ended,\n"
         "without a lease but with its LEASEHOLD_TOKEN and the others"},
        {"min-hold", LH_OPTION_WAIT, &asked->min_hold, "D",
         "hold the lease for so long even if the command ends sooner"},
        {"pulse", LH_OPTION_DURATION, &asked->pulse, "D",
         "renew only while COMMAND writes something to the descriptor\n"
         "LEASEHOLD_PULSE_FD at least so often: one that hangs loses the lease"},
        {"E", LH_OPTION_TEXT, &asked->codes, "N[,M]",
         "exit with N instead of 75 if it was not acquired, M instead of 76 if lost"},
        {"connect", LH_OPTION_TEXT, &asked->common.connect, "ENDPOINT[,..]",
         "where daemons are (default $LEASEHOLD_CONNECT, then unix:/run/leasehold/client.sock)"},
        {"timeout", LH_OPTION_DURATION, &asked->common.timeout, "D",
         "give up after so long without an answer of a quorum; who waits for another\n"
         "to let go gives up after --wait\n"
         "(default 5s, or --wait if that is less, but at least 1s)"},
    };
    const struct lh_syntax syntax = {
        .command = "run",
        .arguments = "NAME [options] [--] COMMAND [ARGS]",
        .about = about,
        .positionals_least = 1,
        .positionals_most = 1,
        .takes_command = true,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    return lh_options_parse(&syntax, argc, argv, ret_parsed, ret_exit);
}

int lh_run_command(int argc, char **argv)
{
    struct asked asked = {.keep = false};
    struct lh_run_codes codes = {LH_EXIT_NOT_ACQUIRED, LH_EXIT_LOST};
    struct lh_parsed parsed;
    struct lh_holding lease = {.token = 0};
    struct lh_channel *client;
    int exit_code;
    if (!parse(argc, argv, &asked, &parsed, &exit_code) ||
        !lh_session_name("run", parsed.positionals[0], &lease, &exit_code) ||
        !lh_options_one_wait("run", asked.nonblock, &asked.wait, &exit_code) ||
        !lh_hook_check(asked.on_lost, "run", "--on-lost", &exit_code) ||
        !read_codes(asked.codes, &codes, &exit_code))
        return exit_code;
    struct lh_run_plan plan = {
        .command = parsed.command,
        .ttl = asked.ttl.value,
        .wait = asked.nonblock || asked.wait.given ? asked.wait.value : LH_WAIT_FOREVER,
        .patience = lh_session_patience(&asked.common, &asked.wait),
        .kill_after = asked.kill_after.value,
        .kill_after_given = asked.kill_after.given,
        .pulse = asked.pulse.value,
        .min_hold = asked.min_hold.value,
        .keep = asked.keep,
        .on_lost = asked.on_lost,
        .codes = &codes,
    };
    lh_holder_make(lease.holder); // never chosen by the user: two wrappers must not be one holder
    if (!lh_cli_session_open("run", &asked.common, &client, &exit_code))
        return exit_code;
    lh_session_export(&asked.common);
    if (check_times(&asked.ttl, &plan, client, &exit_code))
        exit_code = lh_run_loop(&plan, client, &lease);
    lh_channel_close(client);
    return exit_code;
}
