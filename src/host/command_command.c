// COMMAND: the table of commands, told in the forms that clients of Redis ask for. redis-cli makes
// its hints and its HELP from DOCS, so the words of each usage line are told as arguments: optional
// ones in brackets, a word in capitals as the token before a value.
#include "host/command.h"
#include "base/text.h"

#define NONE ((struct lh_slice){NULL, 0})

// --- COMMAND and COMMAND INFO ---

struct flag_name {
    unsigned flag;
    const char *name;
};

static const struct flag_name flag_names[] = {
    {LH_COMMAND_WRITES, "write"},   {LH_COMMAND_READS, "readonly"},  {LH_COMMAND_PUBSUB, "pubsub"},
    {LH_COMMAND_WAITS, "blocking"}, {LH_COMMAND_CONNECTION, "fast"},
};
#define FLAG_NAMES (sizeof flag_names / sizeof flag_names[0])

static void write_flags(struct lh_writer *writer, enum lh_resp_protocol protocol, unsigned flags)
{
    size_t count = 0;
    for (size_t i = 0; i < FLAG_NAMES; i++)
        count += (flags & flag_names[i].flag) != 0;
    lh_resp_write_set(writer, protocol, count);
    for (size_t i = 0; i < FLAG_NAMES; i++)
        if ((flags & flag_names[i].flag) != 0)
            lh_resp_write_simple(writer, lh_slice_of_string(flag_names[i].name));
}

// "acquire", or "lease|acquire" with its group: in lower case, as Redis names them.
static struct lh_slice lower_name(const struct lh_command *command, bool with_group,
                                  char buffer[32])
{
    struct lh_writer name = lh_writer_of(buffer, 32);
    bool both = with_group && command->sub.size_bytes > 0;
    if (both || command->sub.size_bytes == 0)
        lh_writer_slice_bytes(&name, command->name);
    if (both)
        lh_writer_u8(&name, '|');
    lh_writer_slice_bytes(&name, command->sub);
    for (uint8_t *at = name.start; at < name.at; at++)
        *at = lh_ascii_lower(*at);
    return lh_writer_slice(&name);
}

static bool is_top(const struct lh_command *command)
{
    return command->sub.size_bytes == 0;
}

// How many rows of its group stand behind `command`.
static size_t sub_count(const struct lh_command *command)
{
    const struct lh_command *end = lh_commands + lh_command_count;
    size_t count = 0;
    if (!is_top(command))
        return 0;
    while (command + 1 + count < end && !is_top(command + 1 + count))
        count++;
    return count;
}

// Name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands.
// There are no keys: nothing here is spread over nodes by a hash of its name.
static void write_description(struct lh_writer *writer, enum lh_resp_protocol protocol,
                              const struct lh_command *command)
{
    char name[32];
    lh_resp_write_array(writer, 10);
    lh_resp_write_bulk(writer, lower_name(command, true, name));
    lh_resp_write_integer(writer, command->arity);
    write_flags(writer, protocol, command->flags);
    for (unsigned i = 0; i < 3; i++)
        lh_resp_write_integer(writer, 0);
    lh_resp_write_set(writer, protocol, 0);
    lh_resp_write_array(writer, 0);
    lh_resp_write_array(writer, 0);
    size_t subs = sub_count(command);
    lh_resp_write_array(writer, subs);
    for (size_t i = 1; i <= subs; i++)
        write_description(writer, protocol, command + i); // once: a row within a group has none
}

// The row that "lease", "lease|get" or, in DOCS, either of them names.
static const struct lh_command *named(struct lh_slice word)
{
    const uint8_t *bar = word.size_bytes > 0 ? memchr(word.data, '|', word.size_bytes) : NULL;
    if (bar == NULL)
        return lh_command_find(word, NONE);
    size_t at = (size_t)(bar - word.data);
    struct lh_slice sub = {bar + 1, word.size_bytes - at - 1};
    return sub.size_bytes == 0 ? NULL : lh_command_find((struct lh_slice){word.data, at}, sub);
}

static size_t top_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < lh_command_count; i++)
        count += is_top(&lh_commands[i]);
    return count;
}

void lh_command_command(struct lh_call *call)
{
    enum lh_resp_protocol protocol = call->session->protocol;
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (call->word_count <= 2) {
        lh_resp_write_array(&reply, top_count());
        for (size_t i = 0; i < lh_command_count; i++)
            if (is_top(&lh_commands[i]))
                write_description(&reply, protocol, &lh_commands[i]);
    } else {
        lh_resp_write_array(&reply, call->word_count - 2);
        for (size_t i = 2; i < call->word_count; i++) {
            const struct lh_command *command = named(call->words[i]);
            if (command == NULL)
                lh_resp_write_null(&reply, protocol);
            else
                write_description(&reply, protocol, command);
        }
    }
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_command_count(struct lh_call *call)
{
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_integer(&reply, (int64_t)top_count());
    lh_reply_end(call->effects, call->session_id, &reply);
}

void lh_command_command_list(struct lh_call *call)
{
    char name[32];
    struct lh_writer reply = lh_reply_begin(call->effects);
    lh_resp_write_array(&reply, top_count());
    for (size_t i = 0; i < lh_command_count; i++)
        if (is_top(&lh_commands[i]))
            lh_resp_write_bulk(&reply, lower_name(&lh_commands[i], true, name));
    lh_reply_end(call->effects, call->session_id, &reply);
}

// --- COMMAND DOCS ---

// One argument of a usage line: `name`, `[name]`, `[TOKEN name]`, `[name ...]`.
struct argument {
    struct lh_slice name, token;
    bool optional, multiple;
};

static struct lh_slice next_word(const char **at)
{
    const char *start = *at;
    while (**at != '\0' && **at != ' ' && **at != ']' && **at != '[')
        (*at)++;
    return lh_slice_of(start, (size_t)(*at - start));
}

static bool is_token(struct lh_slice word)
{
    return word.size_bytes > 1 && word.data[0] >= 'A' && word.data[0] <= 'Z';
}

// The next argument of the usage line; false at its end. What stands in inner brackets is an
// argument of its own.
static bool next_argument(const char **at, bool *within, struct argument *ret_argument)
{
    struct argument argument = {NONE, NONE, false, false};
    while (**at == ' ' || **at == ']' || **at == '[') {
        if (**at != ' ')
            *within = **at == '[';
        (*at)++;
    }
    if (**at == '\0')
        return false;
    argument.optional = *within;
    argument.name = next_word(at);
    if (is_token(argument.name)) {
        argument.token = argument.name;
        while (**at == ' ')
            (*at)++;
        argument.name = next_word(at);
    }
    while (**at == ' ' && (*at)[1] == '.') {
        (*at)++;
        next_word(at);
        argument.multiple = true;
    }
    *ret_argument = argument;
    return true;
}

static size_t argument_count(const char *usage)
{
    struct argument argument;
    bool within = false;
    size_t count = 0;
    while (next_argument(&usage, &within, &argument))
        count++;
    return count;
}

static void write_argument(struct lh_writer *writer, enum lh_resp_protocol protocol,
                           const struct argument *argument)
{
    bool has_token = argument->token.size_bytes > 0;
    unsigned flags = (unsigned)argument->optional + (unsigned)argument->multiple;
    lh_resp_write_map(writer, protocol, 2u + has_token + (flags > 0));
    lh_resp_write_text(writer, "name");
    lh_resp_write_bulk(writer, argument->name);
    lh_resp_write_text(writer, "type");
    lh_resp_write_text(writer, "string");
    if (has_token) {
        lh_resp_write_text(writer, "token");
        lh_resp_write_bulk(writer, argument->token);
    }
    if (flags == 0)
        return;
    lh_resp_write_text(writer, "flags");
    lh_resp_write_set(writer, protocol, flags);
    if (argument->optional)
        lh_resp_write_simple(writer, LH_SLICE("optional"));
    if (argument->multiple)
        lh_resp_write_simple(writer, LH_SLICE("multiple"));
}

static const char *group_of(const struct lh_command *command)
{
    if ((command->flags & LH_COMMAND_PUBSUB) != 0)
        return "pubsub";
    if (lh_slice_equal(command->name, LH_SLICE("LEASE")))
        return "lease";
    if (lh_slice_equal(command->name, LH_SLICE("CLUSTER")))
        return "cluster";
    if (lh_slice_equal(command->name, LH_SLICE("COMMAND")) ||
        lh_slice_equal(command->name, LH_SLICE("INFO")))
        return "server";
    return "connection";
}

static void write_docs(struct lh_writer *writer, enum lh_resp_protocol protocol,
                       const struct lh_command *command)
{
    char name[32];
    size_t subs = sub_count(command);
    size_t arguments = argument_count(command->arguments);
    lh_resp_write_bulk(writer, lower_name(command, true, name));
    lh_resp_write_map(writer, protocol, 3u + (arguments > 0) + (subs > 0));
    lh_resp_write_text(writer, "summary");
    lh_resp_write_text(writer, command->summary);
    lh_resp_write_text(writer, "since");
    lh_resp_write_text(writer, "0.1.0");
    lh_resp_write_text(writer, "group");
    lh_resp_write_text(writer, group_of(command));
    if (arguments > 0) {
        struct argument argument;
        const char *at = command->arguments;
        bool within = false;
        lh_resp_write_text(writer, "arguments");
        lh_resp_write_array(writer, arguments);
        while (next_argument(&at, &within, &argument))
            write_argument(writer, protocol, &argument);
    }
    if (subs > 0) {
        lh_resp_write_text(writer, "subcommands");
        lh_resp_write_map(writer, protocol, subs);
        for (size_t i = 1; i <= subs; i++)
            write_docs(writer, protocol, command + i);
    }
}

// Names that are not there are left out, as in Redis.
void lh_command_command_docs(struct lh_call *call)
{
    enum lh_resp_protocol protocol = call->session->protocol;
    struct lh_writer reply = lh_reply_begin(call->effects);
    if (call->word_count == 2) {
        lh_resp_write_map(&reply, protocol, top_count());
        for (size_t i = 0; i < lh_command_count; i++)
            if (is_top(&lh_commands[i]))
                write_docs(&reply, protocol, &lh_commands[i]);
    } else {
        size_t count = 0;
        for (size_t i = 2; i < call->word_count; i++)
            count += named(call->words[i]) != NULL;
        lh_resp_write_map(&reply, protocol, count);
        for (size_t i = 2; i < call->word_count; i++)
            if (named(call->words[i]) != NULL)
                write_docs(&reply, protocol, named(call->words[i]));
    }
    lh_reply_end(call->effects, call->session_id, &reply);
}
