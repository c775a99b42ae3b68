// The commands of the client port: one static table says each one's name, how many words it takes,
// who carries it out and what it is for; COMMAND, HELP, usage errors and suggestions all read that
// table. A handler gets the words of one request, checks them, and either writes a reply or makes a
// request whose result is written later (reply.h).
#ifndef LH_HOST_COMMAND_H
#define LH_HOST_COMMAND_H

#include "host/host_internal.h"
#include "host/reply.h"

enum {
    LH_COMMAND_GROUP = 1 << 0,      // words of its own follow: the rows behind it
    LH_COMMAND_SUBSCRIBER = 1 << 1, // allowed to a RESP2 session that watches something
    LH_COMMAND_READS = 1 << 2,
    LH_COMMAND_WRITES = 1 << 3,
    LH_COMMAND_WAITS = 1 << 4, // its answer may be a while
    LH_COMMAND_PUBSUB = 1 << 5,
    LH_COMMAND_CONNECTION = 1 << 6, // about this connection alone
};

struct lh_call;

struct lh_command {
    struct lh_slice name; // upper case
    struct lh_slice sub;  // second word, or empty
    // Words it takes, itself included; -n: n or more. As in the reply of COMMAND.
    int arity;
    unsigned flags;
    void (*run)(struct lh_call *call);
    const char *arguments; // behind the names, as in a usage line: "name [TTL duration]"
    const char *summary;
};

// One command being carried out. Words are the client's own bytes, valid until the handler makes a
// request.
struct lh_call {
    struct lh_host *host;
    struct lh_session *session;
    uint32_t session_id;
    struct lh_instant now;
    struct lh_host_effects *effects;
    const struct lh_command *command;
    const struct lh_slice *words;
    size_t word_count;
};

// The table: a group's rows stand behind the group's own.
extern const struct lh_command lh_commands[];
extern const size_t lh_command_count;

// "LEASE GET": both names in upper case.
void lh_command_write_name(struct lh_writer *writer, const struct lh_command *command);

// The row of one or two words, ignoring case; NULL if there is none.
const struct lh_command *lh_command_find(struct lh_slice name, struct lh_slice sub);

// Carries out one request of at least one word.
void lh_command_run(struct lh_call *call);

// Refuses: "-CODE text". Each % and $ in `format` stands for the next of `values`: % for a
// stranger's words, which are made printable and cut to a length that fits a line, $ for our own.
void lh_call_refuse(struct lh_call *call, const char *code, const char *format,
                    const struct lh_slice *values);
#define LH_VALUES(...) ((const struct lh_slice[]){__VA_ARGS__})

// Of the words given, the one that `typed` was probably meant to be: its index in `words`, or -1.
int lh_command_nearest(struct lh_slice typed, const struct lh_slice *words, size_t count);

void lh_call_ok(struct lh_call *call);

// True if `name` may name a lease of a client; refuses it otherwise.
bool lh_call_takes_name(struct lh_call *call, struct lh_slice name);

// --- handlers ---

void lh_command_help(struct lh_call *call); // of the group it stands in

void lh_command_lease_acquire(struct lh_call *call);
void lh_command_lease_renew(struct lh_call *call);
void lh_command_lease_release(struct lh_call *call);
void lh_command_lease_revoke(struct lh_call *call);
void lh_command_lease_get(struct lh_call *call);
void lh_command_lease_list(struct lh_call *call);

void lh_command_cluster_status(struct lh_call *call);

void lh_command_subscribe(struct lh_call *call);
void lh_command_unsubscribe(struct lh_call *call);
// Goes on with an UNSUBSCRIBE from everything.
void lh_command_unsubscribe_on(struct lh_host *host, uint32_t session_id,
                               struct lh_host_effects *effects);
void lh_command_psubscribe(struct lh_call *call);
void lh_command_punsubscribe(struct lh_call *call);

void lh_command_hello(struct lh_call *call);
void lh_command_auth(struct lh_call *call);
void lh_command_ping(struct lh_call *call);
void lh_command_echo(struct lh_call *call);
void lh_command_quit(struct lh_call *call);
void lh_command_reset(struct lh_call *call);
void lh_command_select(struct lh_call *call);
void lh_command_info(struct lh_call *call);
void lh_command_client_id(struct lh_call *call);
void lh_command_client_info(struct lh_call *call);
void lh_command_client_list(struct lh_call *call);
void lh_command_client_getname(struct lh_call *call);
void lh_command_client_setname(struct lh_call *call);
void lh_command_client_setinfo(struct lh_call *call);
void lh_command_client_flag(struct lh_call *call); // NO-EVICT, NO-TOUCH
void lh_command_command(struct lh_call *call);     // alone, and INFO
void lh_command_command_count(struct lh_call *call);
void lh_command_command_docs(struct lh_call *call);
void lh_command_command_list(struct lh_call *call);

// Gives this connection a name, or none if it is empty; refuses one that is not printable ASCII
// without spaces.
bool lh_call_takes_client_name(struct lh_call *call, struct lh_slice name);

// The version of Redis whose connection commands these are: what clients look for in INFO.
#define LH_REDIS_VERSION "7.0.15"

// Writes a result in the form its command promises.
void lh_lease_write_result(struct lh_writer *writer, enum lh_resp_protocol protocol,
                           const struct lh_host *host, const struct lh_request *request,
                           const struct lh_result *result);

#endif
