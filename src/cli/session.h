// What every command that talks to a daemon does alike: find one, ask, and say why something did
// not work: on standard error in one line, with --json on standard output too, and with the exit
// code that belongs to it.
#ifndef LH_CLI_SESSION_H
#define LH_CLI_SESSION_H

#include "cli/options.h"
#include "cli/output.h"
#include "client/drive.h"

// Opens a client for --connect. On failure says why and sets *ret_exit.
bool lh_cli_session_open(const char *command, const struct lh_common_options *common,
                         struct lh_channel **ret_client, int *ret_exit);

// Puts --connect into the environment: what is started from here on asks the same daemons.
void lh_session_export(const struct lh_common_options *common);

// The cluster's max-ttl; LH_WAIT_FOREVER if no daemon tells it within a second.
struct lh_duration lh_session_max_ttl(struct lh_channel *client);

// --timeout, or 5 s. Who waits in line (`wait`, NULL: nobody) for less than that wants to hear of
// a missing quorum as soon, though not within less than a second.
struct lh_duration lh_session_patience(const struct lh_common_options *common,
                                       const struct lh_option_duration *wait);

// Checks NAME and puts it into the lease; else says why and sets *ret_exit.
bool lh_session_name(const char *command, const char *name, struct lh_holding *lease,
                     int *ret_exit);

// Checks and stores --holder as lh_session_name does; NULL makes a holder.
bool lh_session_holder(const char *command, const char *holder, struct lh_holding *lease,
                       int *ret_exit);

// Both --token and --holder must be given to renew and release: checks that, and stores the holder.
bool lh_session_owner(const char *command, const char *holder, struct lh_holding *lease,
                      int *ret_exit);

// One request to any endpoint, about `name` (NULL: about none). False after saying why, with
// *ret_exit: no daemon or no quorum answered, or the daemon refused it. An answer with the status
// `noquorum` is such a failure too.
bool lh_session_call(const char *command, struct lh_channel *client,
                     const struct lh_common_options *common, const char *name,
                     const char *const *words, size_t count, const struct lh_resp_value **ret_reply,
                     int *ret_exit);

// The whole of a command that takes NAME and asks `LEASE verb NAME`: `print` shows the answer and
// returns the exit code.
int lh_session_ask(const struct lh_syntax *syntax, const struct lh_common_options *common, int argc,
                   char **argv, const char *verb,
                   int (*print)(const struct lh_resp_value *reply, const char *name, bool json));

// "no daemon", "no answer" or "no quorum", by how far a request got.
const char *lh_session_cause(enum lh_reach reach);

// With --json every failure has one form, the same keys; what is not known, as a `holder` or `name`
// that is NULL, is null.
void lh_session_failure(const char *command, const char *status, const char *name,
                        const struct lh_answer *holder, const char *reason);

// A line on what to do if nothing could be connected to, or the lease's own node is silent; nothing
// otherwise. `from_environment`: the endpoints are those of LEASEHOLD_CONNECT.
void lh_session_hint(const char *command, bool from_environment, enum lh_reach reach);

// What who sees standard error on a terminal is told of an acquisition that takes its time: once
// that no daemon or no quorum is there yet, and once who is waited for. False: nothing is to be said
// now.
struct lh_waited {
    bool told_trouble, told_holder;
    char text[LH_HELD_TEXT_BYTES + 64];
};
bool lh_session_waited(const struct lh_errand *errand, struct lh_waited *waited);

// Waits for the end of a call, prints what became of it, closes the client and returns the exit
// code. A lease acquired whose token could not be printed is of no use to anybody: it is released.
int lh_session_finish(const char *command, struct lh_errand *call,
                      const struct lh_common_options *common);

#endif
