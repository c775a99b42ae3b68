// What every command that talks to a daemon does alike: find one, and say why something did not
// work, on standard error, in one line, with the exit code that belongs to it.
#ifndef LH_CLI_SESSION_H
#define LH_CLI_SESSION_H

#include "cli/options.h"
#include "client/lease.h"

// Opens a client for --connect. On failure says why and sets *ret_exit.
bool lh_session_open(const char *command, const struct lh_common_options *common,
                     struct lh_client **ret_client, int *ret_exit);

// --timeout, or 5 s.
struct lh_duration lh_session_patience(const struct lh_common_options *common);

// Checks NAME and puts it into the lease; else says why and sets *ret_exit.
bool lh_session_name(const char *command, const char *name, struct lh_lease *lease, int *ret_exit);

// Checks and stores --holder as lh_session_name does; NULL makes a holder.
bool lh_session_holder(const char *command, const char *holder, struct lh_lease *lease,
                       int *ret_exit);

// Both --token and --holder must be given to renew and release: checks that, and stores the holder.
bool lh_session_owner(const char *command, const char *holder, struct lh_lease *lease,
                      int *ret_exit);

// One request to any endpoint. False after saying why, with *ret_exit: no daemon or no quorum
// answered, or the daemon refused it. An answer with the status `noquorum` is such a failure too.
bool lh_session_call(const char *command, struct lh_client *client,
                     const struct lh_common_options *common, const char *const *words, size_t count,
                     const struct lh_resp_value **ret_reply, int *ret_exit);

// "no quorum: ...", with what to do if nothing listens. Returns the exit code.
int lh_session_no_quorum(const char *command, const struct lh_client *client, const char *why);

// Says why a lease call ended as it did (HELD, LOST, NO_QUORUM, REFUSED) and returns the exit code.
int lh_session_lease_failed(const char *command, const struct lh_lease_call *call,
                            enum lh_lease_result result);

// A granted lease, for acquire and renew: one line, or JSON.
int lh_session_print_granted(const struct lh_lease *lease, bool json);

#endif
