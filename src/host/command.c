// The table of commands, and what is the same for all: finding a row, counting words, refusing. See
// command.h. The rows of LEASE stand first, since they are what is asked for most.
#include "host/command.h"

#include "base/nearest.h"
#include "base/text.h"

#define READS LH_COMMAND_READS
#define WRITES LH_COMMAND_WRITES
#define WAITS LH_COMMAND_WAITS
#define GROUP LH_COMMAND_GROUP
#define PUBSUB (LH_COMMAND_PUBSUB | LH_COMMAND_SUBSCRIBER)
#define CONNECTION LH_COMMAND_CONNECTION
#define ALWAYS (LH_COMMAND_CONNECTION | LH_COMMAND_SUBSCRIBER)

#define ROW(name, sub, arity, flags, run, arguments, summary)                                      \
    {                                                                                              \
        LH_SLICE_INIT(name), LH_SLICE_INIT(sub), arity, flags, run, arguments, summary             \
    }
#define HELP(name)                                                                                 \
    ROW(name, "HELP", 2, CONNECTION, lh_command_help, "", "What the commands of this group are.")

// clang-format off
const struct lh_command lh_commands[] = {
    ROW("LEASE", "", -2, GROUP, NULL, "", "Acquires, renews, releases and shows leases."),
    ROW("LEASE", "ACQUIRE", -3, WRITES | WAITS, lh_command_lease_acquire,
        "name [TTL duration] [HOLDER holder] [WAIT duration] [TIMEOUT duration] [ID id] "
        "[ON-DISCONNECT release|keep]",
        "Acquires a lease, or says who holds it; with WAIT, waits for its end."),
    ROW("LEASE", "RENEW", -5, WRITES | WAITS, lh_command_lease_renew,
        "name token holder [TTL duration] [TIMEOUT duration]",
        "Makes a held lease last for another TTL."),
    ROW("LEASE", "RELEASE", -5, WRITES | WAITS, lh_command_lease_release,
        "name token holder [TIMEOUT duration]",
        "Ends a held lease. The holder must have stopped before."),
    ROW("LEASE", "REVOKE", -3, WRITES | WAITS, lh_command_lease_revoke, "name [TIMEOUT duration]",
        "Refuses further renewals of a lease; says when it ends."),
    ROW("LEASE", "GET", -3, READS | WAITS, lh_command_lease_get, "name [TIMEOUT duration]",
        "Says who holds a lease, as a majority of the members sees it."),
    ROW("LEASE", "LIST", -2, READS | WAITS, lh_command_lease_list,
        "[PREFIX prefix] [COUNT count] [CURSOR cursor]",
        "Lists held leases of all members: a view, with its age."),
    HELP("LEASE"),
    ROW("CLUSTER", "", -2, GROUP, NULL, "", "Shows this node and what it knows of the others."),
    ROW("CLUSTER", "STATUS", 2, READS, lh_command_cluster_status, "",
        "The state of this node, of its peers as it sees them, and its counters."),
    HELP("CLUSTER"),
    ROW("SUBSCRIBE", "", -2, PUBSUB, lh_command_subscribe, "lease:name [lease:name ...]",
        "Watches leases: the present state comes first, then each change."),
    ROW("UNSUBSCRIBE", "", -1, PUBSUB, lh_command_unsubscribe, "[lease:name ...]",
        "Ends watching the leases named, or all."),
    ROW("PSUBSCRIBE", "", -2, PUBSUB, lh_command_psubscribe, "pattern",
        "Refused: leases are watched by name, with SUBSCRIBE."),
    ROW("PUNSUBSCRIBE", "", -1, PUBSUB, lh_command_punsubscribe, "[pattern ...]",
        "Nothing, since no pattern is ever watched."),
    ROW("PING", "", -1, ALWAYS, lh_command_ping, "[message]", "Answers PONG, or the message."),
    ROW("HELLO", "", -1, CONNECTION, lh_command_hello,
        "[protocol-version [AUTH username password] [SETNAME client-name]]",
        "Chooses version 2 or 3 of the protocol; says what this server is."),
    ROW("AUTH", "", -2, CONNECTION, lh_command_auth, "[username] password",
        "Refused: there are no passwords; access is given by the permissions of the socket."),
    ROW("ECHO", "", 2, CONNECTION, lh_command_echo, "message", "Answers the message."),
    ROW("QUIT", "", -1, ALWAYS, lh_command_quit, "", "Ends the connection."),
    ROW("RESET", "", 1, ALWAYS, lh_command_reset, "",
        "Makes the connection as new: version 2, no name, nothing watched."),
    ROW("SELECT", "", 2, CONNECTION, lh_command_select, "index", "Does nothing; only 0 is there."),
    ROW("INFO", "", -1, READS, lh_command_info, "[section ...]",
        "Facts and counters of this node as text, in the form of Redis."),
    ROW("CLIENT", "", -2, GROUP, NULL, "", "About this connection and the others."),
    ROW("CLIENT", "ID", 2, CONNECTION, lh_command_client_id, "", "The number of this connection."),
    ROW("CLIENT", "INFO", 2, CONNECTION, lh_command_client_info, "", "This connection's line of LIST."),
    ROW("CLIENT", "LIST", 2, CONNECTION, lh_command_client_list, "", "A line for each connection."),
    ROW("CLIENT", "GETNAME", 2, CONNECTION, lh_command_client_getname, "",
        "The name of this connection."),
    ROW("CLIENT", "SETNAME", 3, CONNECTION, lh_command_client_setname, "client-name",
        "Names this connection."),
    ROW("CLIENT", "SETINFO", 4, CONNECTION, lh_command_client_setinfo, "attribute value",
        "Tells LIB-NAME or LIB-VER, the client library and its version."),
    ROW("CLIENT", "NO-EVICT", 3, CONNECTION, lh_command_client_flag, "on|off",
        "Does nothing: no connection is ever evicted."),
    ROW("CLIENT", "NO-TOUCH", 3, CONNECTION, lh_command_client_flag, "on|off",
        "Does nothing: reading a lease never prolongs it."),
    HELP("CLIENT"),
    ROW("COMMAND", "", -1, GROUP | CONNECTION, lh_command_command, "", "Describes all commands."),
    ROW("COMMAND", "COUNT", 2, CONNECTION, lh_command_command_count, "", "How many there are."),
    ROW("COMMAND", "DOCS", -2, CONNECTION, lh_command_command_docs, "[command-name ...]",
        "What commands are for and what they take."),
    ROW("COMMAND", "INFO", -2, CONNECTION, lh_command_command, "[command-name ...]",
        "Describes the commands named, or all."),
    ROW("COMMAND", "LIST", 2, CONNECTION, lh_command_command_list, "", "The names of all commands."),
    HELP("COMMAND"),
};
// clang-format on

const size_t lh_command_count = sizeof lh_commands / sizeof lh_commands[0];

// --- replies that many commands give ---

#define ECHOED_BYTES_MAX 64

// `value` as it may stand in a line of text: printable, and cut between two characters.
static void write_echoed(struct lh_writer *writer, struct lh_slice value)
{
    struct lh_slice shown = {value.data, 0};
    while (shown.size_bytes < value.size_bytes) {
        struct lh_slice rest = {value.data + shown.size_bytes, value.size_bytes - shown.size_bytes};
        size_t char_bytes = lh_utf8_char_bytes(rest);
        if (char_bytes == 0)
            char_bytes = 1;
        if (shown.size_bytes + char_bytes > ECHOED_BYTES_MAX)
            break;
        shown.size_bytes += char_bytes;
    }
    lh_json_escape(writer, shown);
    if (shown.size_bytes < value.size_bytes)
        lh_writer_string(writer, "...");
}

void lh_call_refuse(struct lh_call *call, const char *code, const char *format,
                    const struct lh_slice *values)
{
    char line[2048];
    struct lh_writer text = lh_writer_of(line, sizeof line);
    lh_writer_string(&text, code);
    lh_writer_u8(&text, ' ');
    for (const char *at = format; *at != '\0'; at++) {
        if (*at == '%')
            write_echoed(&text, *values++);
        else if (*at == '$')
            lh_writer_slice_bytes(&text, *values++);
        else
            lh_writer_u8(&text, (uint8_t)*at);
    }
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_error(&reply, lh_writer_slice(&text));
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_call_ok(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_simple(&reply, LH_SLICE("OK"));
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_write_name(struct lh_writer *writer, const struct lh_command *command)
{
    lh_writer_slice_bytes(writer, command->name);
    if (command->sub.size_bytes > 0)
        lh_writer_u8(writer, ' ');
    lh_writer_slice_bytes(writer, command->sub);
}

static void write_usage(struct lh_writer *writer, const struct lh_command *command)
{
    lh_command_write_name(writer, command);
    if (command->arguments[0] != '\0')
        lh_writer_u8(writer, ' ');
    lh_writer_string(writer, command->arguments);
}

void lh_command_help(struct lh_call *call)
{
    size_t count = 0;
    for (size_t i = 0; i < lh_command_count; i++)
        count += lh_slice_equal(lh_commands[i].name, call->command->name) &&
                 lh_commands[i].sub.size_bytes > 0;
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_array(&reply, 2 * count);
    for (size_t i = 0; i < lh_command_count; i++) {
        const struct lh_command *command = &lh_commands[i];
        if (!lh_slice_equal(command->name, call->command->name) || command->sub.size_bytes == 0)
            continue;
        char line[256];
        struct lh_writer usage = lh_writer_of(line, sizeof line);
        write_usage(&usage, command);
        lh_resp_write_simple(&reply, lh_writer_slice(&usage));
        usage = lh_writer_of(line, sizeof line);
        lh_writer_string(&usage, "    ");
        lh_writer_string(&usage, command->summary);
        lh_resp_write_simple(&reply, lh_writer_slice(&usage));
    }
    lh_reply_end(call->effects, call->session_id, &reply);
}

// --- finding ---

const struct lh_command *lh_command_find(struct lh_slice name, struct lh_slice sub)
{
    for (size_t i = 0; i < lh_command_count; i++) {
        const struct lh_command *command = &lh_commands[i];
        if (lh_slice_equal_ignoring_case(command->sub, sub) &&
            lh_slice_equal_ignoring_case(command->name, name))
            return command;
    }
    return NULL;
}

#define WORD_BYTES_MAX 16
#define SLIPS_MAX 2

static struct lh_slice lower(struct lh_slice word, uint8_t buffer[WORD_BYTES_MAX])
{
    for (size_t i = 0; i < word.size_bytes; i++)
        buffer[i] = lh_ascii_lower(word.data[i]);
    return lh_slice_of(buffer, word.size_bytes);
}

int lh_command_nearest(struct lh_slice typed, const struct lh_slice *words, size_t count)
{
    unsigned most = (unsigned)typed.size_bytes / 3; // of a short word little would be left
    unsigned fewest = (most < SLIPS_MAX ? most : SLIPS_MAX) + 1;
    int nearest = -1;
    uint8_t buffers[2][WORD_BYTES_MAX];
    if (typed.size_bytes > WORD_BYTES_MAX)
        return -1;
    struct lh_slice meant = lower(typed, buffers[0]);
    for (size_t i = 0; i < count; i++) {
        if (words[i].size_bytes == 0 || words[i].size_bytes > WORD_BYTES_MAX)
            continue;
        unsigned found = (unsigned)lh_slips(meant, lower(words[i], buffers[1]));
        if (found < fewest && 2 * found < words[i].size_bytes) {
            fewest = found;
            nearest = (int)i;
        }
    }
    return nearest;
}

// --- what is no command ---

static void refuse_unknown_sub(struct lh_call *call, const struct lh_command *group)
{
    struct lh_slice subs[sizeof lh_commands / sizeof lh_commands[0]];
    for (size_t i = 0; i < lh_command_count; i++) {
        bool theirs = lh_slice_equal(lh_commands[i].name, group->name);
        subs[i] = theirs ? lh_commands[i].sub : (struct lh_slice){NULL, 0};
    }
    int nearest = lh_command_nearest(call->words[1], subs, lh_command_count);
    if (nearest >= 0)
        lh_call_refuse(call, "ERR", "unknown subcommand '%' of $: did you mean $ $?",
                       LH_VALUES(call->words[1], group->name, group->name, subs[nearest]));
    else
        lh_call_refuse(call, "ERR", "unknown subcommand '%' of $: try $ HELP",
                       LH_VALUES(call->words[1], group->name, group->name));
}

// What a lock on Redis is made of.
static const char *instead_of(struct lh_slice word)
{
    static const struct {
        struct lh_slice word;
        const char *ours;
    } commands[] = {
        {LH_SLICE_INIT("SET"), "LEASE ACQUIRE"},  {LH_SLICE_INIT("SETNX"), "LEASE ACQUIRE"},
        {LH_SLICE_INIT("DEL"), "LEASE RELEASE"},  {LH_SLICE_INIT("UNLINK"), "LEASE RELEASE"},
        {LH_SLICE_INIT("EXPIRE"), "LEASE RENEW"}, {LH_SLICE_INIT("PEXPIRE"), "LEASE RENEW"},
        {LH_SLICE_INIT("TTL"), "LEASE GET"},      {LH_SLICE_INIT("PTTL"), "LEASE GET"},
        {LH_SLICE_INIT("EXISTS"), "LEASE GET"},   {LH_SLICE_INIT("KEYS"), "LEASE LIST"},
        {LH_SLICE_INIT("SCAN"), "LEASE LIST"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (lh_slice_equal_ignoring_case(commands[i].word, word))
            return commands[i].ours;
    return NULL;
}

// A slip of the typing first; then a subcommand without its group, such as ACQUIRE.
static void refuse_unknown(struct lh_call *call)
{
    struct lh_slice names[sizeof lh_commands / sizeof lh_commands[0]];
    for (size_t i = 0; i < lh_command_count; i++) {
        if (lh_commands[i].sub.size_bytes > 0 &&
            lh_slice_equal_ignoring_case(lh_commands[i].sub, call->words[0])) {
            lh_call_refuse(call, "ERR", "unknown command '%': did you mean $ $?",
                           LH_VALUES(call->words[0], lh_commands[i].name, lh_commands[i].sub));
            return;
        }
        names[i] =
            lh_commands[i].sub.size_bytes > 0 ? (struct lh_slice){NULL, 0} : lh_commands[i].name;
    }
    const char *ours = instead_of(call->words[0]);
    if (ours != NULL) {
        lh_call_refuse(call, "ERR",
                       "unknown command '%': this is Leasehold, not Redis; try $, or LEASE HELP",
                       LH_VALUES(call->words[0], lh_slice_of_string(ours)));
        return;
    }
    int nearest = lh_command_nearest(call->words[0], names, lh_command_count);
    if (nearest >= 0)
        lh_call_refuse(call, "ERR", "unknown command '%': did you mean $?",
                       LH_VALUES(call->words[0], names[nearest]));
    else
        lh_call_refuse(call, "ERR",
                       "unknown command '%': this is Leasehold, not Redis; try LEASE HELP, or "
                       "COMMAND LIST for all commands",
                       LH_VALUES(call->words[0]));
}

static void refuse_arity(struct lh_call *call, const struct lh_command *command)
{
    char line[256];
    struct lh_writer usage = lh_writer_of(line, sizeof line);
    write_usage(&usage, command);
    lh_call_refuse(call, "ERR", "wrong number of arguments for '$': the usage is $",
                   LH_VALUES(command->name, lh_writer_slice(&usage)));
}

// --- running ---

static bool takes(const struct lh_command *command, size_t word_count)
{
    int count = (int)word_count;
    return command->arity >= 0 ? count == command->arity : count >= -command->arity;
}

void lh_command_run(struct lh_call *call)
{
    const struct lh_command *command = lh_command_find(call->words[0], (struct lh_slice){NULL, 0});
    if (command == NULL) {
        refuse_unknown(call);
        return;
    }
    if ((command->flags & LH_COMMAND_GROUP) != 0 && call->word_count > 1) {
        const struct lh_command *group = command;
        command = lh_command_find(group->name, call->words[1]);
        if (command == NULL || command == group) {
            refuse_unknown_sub(call, group);
            return;
        }
    }
    if (command->run == NULL) {
        lh_call_refuse(call, "ERR", "$ needs a subcommand: try $ HELP",
                       LH_VALUES(command->name, command->name));
        return;
    }
    if (!takes(command, call->word_count)) {
        refuse_arity(call, command);
        return;
    }
    const struct lh_session *session = call->session;
    if (session->protocol == LH_RESP2 && session->watch_count > 0 &&
        (command->flags & LH_COMMAND_SUBSCRIBER) == 0) {
        lh_call_refuse(call, "ERR",
                       "Can't execute '%': only (UN)SUBSCRIBE / PING / QUIT / RESET are allowed in "
                       "this context; HELLO 3 before SUBSCRIBE lifts this",
                       LH_VALUES(call->words[0]));
        return;
    }
    call->command = command;
    command->run(call);
}
