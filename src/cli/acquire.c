// `leasehold acquire`: a lease for somebody who will act, renew and release by hand or from a
// script. It ends by itself at its TTL.
#include <signal.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/session.h"

static const char about[] =
    "Acquires the lease NAME and prints its token, its holder and how long it is held. It then\n"
    "lasts until its TTL unless it is renewed. Asked again for the same --holder, through any\n"
    "node, it shows the lease that the holder has already. So whoever knows that name can renew\n"
    "and release it: two processes share no --holder. Without it, each has a name of its own.\n"
    "A lease that was revoked is in its own holder's way, too, until it ends or is released.\n"
    "\n"
    "Exit code: 0 acquired, 75 it is held, 69 no quorum, 64 refused as wrong, 1 the\n"
    "token could not be printed.";

int lh_acquire_command(int argc, char **argv)
{
    struct lh_common_options common = {.json = false};
    struct lh_option_duration ttl = {.given = false};
    struct lh_option_duration wait = {.given = false};
    bool nonblock = false;
    const char *holder = NULL;
    const struct lh_option options[] = {
        {"ttl", LH_OPTION_DURATION, &ttl, "D",
         "how long, from 50ms (on quiet machines) to the cluster's max-ttl\n"
         "(default 10s, or max-ttl if that is less)"},
        {"wait", LH_OPTION_WAIT, &wait, "D", "wait in line for so long (default: ask once)"},
        {"nonblock", LH_OPTION_FLAG, &nonblock, NULL, "do not wait in line, as without --wait"},
        {"holder", LH_OPTION_TEXT, &holder, "H", "who holds it (default: user@host:RANDOM)"},
        LH_COMMON_OPTIONS(common),
    };
    const struct lh_syntax syntax = {
        .command = "acquire",
        .arguments = "NAME [--ttl D] [--wait D | --nonblock] [--holder H] [--json]",
        .about = about,
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    struct lh_parsed parsed;
    struct lh_holding lease = {.token = 0};
    struct lh_errand call;
    struct lh_channel *client;
    int exit_code;
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code) ||
        !lh_session_name("acquire", parsed.positionals[0], &lease, &exit_code) ||
        !lh_session_holder("acquire", holder, &lease, &exit_code) ||
        !lh_options_one_wait("acquire", nonblock, &wait, &exit_code) ||
        !lh_cli_session_open("acquire", &common, &client, &exit_code))
        return exit_code;
    signal(SIGPIPE, SIG_IGN); // a token that nobody reads is not printed: the lease is released
    lh_errand_acquire(&call, client, &lease, ttl.value, wait.value,
                      lh_session_patience(&common, &wait));
    return lh_session_finish("acquire", &call, &common);
}
