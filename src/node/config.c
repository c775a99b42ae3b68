// Reading the configuration: the ini text line by line through inih, then the flags, then the whole
// is checked. inih would silently cut a long line, join an indented one to the one before, and skip
// what follows a section's ']', so each line is judged before inih sees it. See config.h.
#include "node/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ini.h>

#include "base/text.h"
#include "node/config_key.h"
#include "os/file.h"

// inih counts the two bytes of a line's end and the terminator.
enum { LINE_MAX_BYTES = INI_MAX_LINE - 3 };

// A configuration in the making, and where its parts came from.
struct draft {
    struct lh_node_config config;
    const char *path;                  // of the ini file; NULL: flags only
    unsigned line;                     // being read; 0: a flag
    struct lh_slice text;              // what inih has not read yet
    uint32_t section;                  // node of the section we are in; 0: none
    unsigned key_line[LH_CONFIG_KEYS]; // where it was given; 0: not
    unsigned section_line[256];
    unsigned address_line[256];
    bool setting_given; // by a flag
    bool data_dir_given;
    bool failed; // `error` holds the first mistake
    struct lh_error *error;
};

// Fails at the present line or flag. The message is "FILE:LINE: NAME: WHY" or "--NAME: WHY".
__attribute__((format(printf, 3, 4))) static bool fail(struct draft *draft, struct lh_slice name,
                                                       const char *format, ...)
{
    struct lh_error why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why.text, sizeof(why.text), format, arguments);
    va_end(arguments);
    draft->failed = true;
    if (draft->line == 0)
        return lh_error_set(draft->error, "--%.*s: %s", (int)name.size_bytes,
                            (const char *)name.data, why.text);
    return lh_error_set(draft->error, "%s:%u: %.*s%s%s", draft->path, draft->line,
                        (int)name.size_bytes, (const char *)name.data,
                        name.size_bytes == 0 ? "" : ": ", why.text);
}

// Fails about the whole.
__attribute__((format(printf, 2, 3))) static bool fail_whole(struct draft *draft,
                                                             const char *format, ...)
{
    struct lh_error why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why.text, sizeof(why.text), format, arguments);
    va_end(arguments);
    draft->failed = true;
    return lh_error_set(draft->error, "%s%s%s", draft->path == NULL ? "" : draft->path,
                        draft->path == NULL ? "" : ": ", why.text);
}

// What is nearest may be a flag that is no key: `member` has another form in a file, and `config`
// is nearest to itself.
static bool fail_unknown(struct draft *draft, struct lh_slice name)
{
    const char *nearest = lh_config_key_nearest(name);
    if (draft->line != 0 && nearest != NULL && strcmp(nearest, "member") == 0)
        return fail(draft, name,
                    "there is no such key; a member is `address = ...` in a section "
                    "[node N]");
    if (nearest == NULL || lh_slice_equal(name, lh_slice_of_string(nearest)))
        return fail(draft, name, "there is no such key; `leaseholdd --help` lists them");
    return fail(draft, name, "there is no such key; did you mean %s?", nearest);
}

// Sets a key of the upper part from a line or a flag.
static bool set_key(struct draft *draft, struct lh_slice name, struct lh_slice value)
{
    const char *reason = NULL;
    const size_t index = lh_config_key_find(name);
    if (index == LH_CONFIG_KEYS)
        return fail_unknown(draft, name);
    const struct lh_config_key *key = &lh_config_keys[index];
    if (draft->line != 0 && draft->key_line[index] != 0)
        return fail(draft, name, "given before, on line %u; remove one", draft->key_line[index]);
    if (!lh_config_key_set(key, value, &draft->config, &reason))
        return fail(draft, name, "'%.*s' is refused: %s%s", (int)value.size_bytes,
                    (const char *)value.data, reason == key->allowed ? "want " : "", reason);
    draft->key_line[index] = draft->line;
    if (key->offset == offsetof(struct lh_node_config, data_dir))
        draft->data_dir_given = true;
    return true;
}

// Adds member `node`, or gives it another address if it is there already (a flag over the file).
static bool set_member(struct draft *draft, struct lh_slice name, uint32_t node,
                       struct lh_slice value)
{
    struct lh_node_config *config = &draft->config;
    struct lh_address address;
    const char *reason = NULL;
    size_t index = 0;
    if (!lh_address_parse(value, LH_CONFIG_PORT, &address, &reason))
        return fail(draft, name, "'%.*s' is refused: %s", (int)value.size_bytes,
                    (const char *)value.data, reason);
    while (index < config->member_count && config->members[index].node < node)
        index++;
    if (index == config->member_count || config->members[index].node != node) {
        if (config->member_count == LH_CONFIG_MEMBERS_MAX)
            return fail(draft, name, "more than %d members", LH_CONFIG_MEMBERS_MAX);
        memmove(&config->members[index + 1], &config->members[index],
                (config->member_count - index) * sizeof(config->members[0]));
        config->member_count++;
    }
    config->members[index] = (struct lh_config_member){node, address};
    return true;
}

static bool parse_node(struct lh_slice text, uint32_t *ret_node)
{
    uint64_t node = 0;
    if (!lh_u64_parse(text, &node) || node == 0 || node > 255)
        return false;
    *ret_node = (uint32_t)node;
    return true;
}

// --- the ini file ---

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static struct lh_slice drop(struct lh_slice text, size_t size)
{
    return lh_slice_of(text.data + size, text.size_bytes - size);
}

static struct lh_slice drop_blanks_behind(struct lh_slice text)
{
    while (text.size_bytes > 0 && is_blank(text.data[text.size_bytes - 1]))
        text.size_bytes--;
    return text;
}

// A comment begins at a '#' or ';' that begins the line or follows a blank, as for inih, which
// knows ';' only.
static struct lh_slice drop_comment(struct lh_slice text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if ((text.data[i] == '#' || text.data[i] == ';') && (i == 0 || is_blank(text.data[i - 1])))
            text.size_bytes = i;
    }
    return drop_blanks_behind(text);
}

// "[node N]" and nothing else.
static bool enter_section(struct draft *draft, struct lh_slice line)
{
    const struct lh_slice start = LH_SLICE("[node ");
    const struct lh_slice title = drop_comment(line);
    uint32_t node = 0;
    if (!lh_slice_has_prefix(title, start) || title.data[title.size_bytes - 1] != ']' ||
        !parse_node(
            lh_slice_of(title.data + start.size_bytes, title.size_bytes - start.size_bytes - 1),
            &node))
        return fail(draft, title, "no such section; want [node N] with N from 1 to 255");
    if (draft->section_line[node] != 0)
        return fail(draft, title, "given before, on line %u; remove one",
                    draft->section_line[node]);
    draft->section = node;
    draft->section_line[node] = draft->line;
    return true;
}

static bool check_line(struct draft *draft, struct lh_slice line)
{
    const struct lh_slice none = {NULL, 0};
    if (line.size_bytes > LINE_MAX_BYTES)
        return fail(draft, none, "longer than %d bytes, the most a line may have", LINE_MAX_BYTES);
    for (size_t i = 0; i < line.size_bytes; i++) {
        if ((line.data[i] < ' ' && line.data[i] != '\t') || line.data[i] == 0x7f)
            return fail(draft, none, "a control character (0x%02x) at byte %zu", line.data[i],
                        i + 1);
    }
    line = drop_blanks_behind(line);
    if (line.size_bytes == 0)
        return true;
    if (is_blank(line.data[0]))
        return fail(draft, none, "begins with a blank; begin every line in its first column");
    return line.data[0] != '[' || enter_section(draft, line);
}

// fgets for inih: one line a call, terminated, or NULL at the end or after a mistake.
static char *next_line(char *buffer, int capacity, void *context)
{
    struct draft *draft = context;
    const struct lh_slice text = draft->text;
    if (draft->failed || text.size_bytes == 0)
        return NULL;
    const uint8_t *end = memchr(text.data, '\n', text.size_bytes);
    struct lh_slice line =
        lh_slice_of(text.data, end == NULL ? text.size_bytes : (size_t)(end - text.data));
    draft->text = drop(text, line.size_bytes + (end != NULL));
    draft->line++;
    if (line.size_bytes > 0 && line.data[line.size_bytes - 1] == '\r')
        line.size_bytes--;
    if (draft->line == 1 && lh_slice_has_prefix(line, LH_SLICE("\xef\xbb\xbf")))
        line = drop(line, 3);
    if (!check_line(draft, line))
        return NULL;
    if (line.size_bytes + 2 > (size_t)capacity) {
        fail(draft, (struct lh_slice){NULL, 0}, "longer than this build of inih takes");
        return NULL;
    }
    if (line.size_bytes > 0)
        memcpy(buffer, line.data, line.size_bytes);
    memcpy(buffer + line.size_bytes, "\n", 2);
    return buffer;
}

// One `name = value`, from inih. Returns 1 to go on, 0 after a mistake.
static int on_pair(void *context, const char *section, const char *name_text,
                   const char *value_text)
{
    struct draft *draft = context;
    const struct lh_slice name = lh_slice_of_string(name_text);
    const struct lh_slice value = drop_comment(lh_slice_of_string(value_text));
    (void)section; // next_line read its title more strictly
    if (draft->failed)
        return 0;
    if (draft->section == 0) {
        if (lh_slice_equal(name, LH_SLICE("address")))
            return fail(draft, name, "belongs into a section [node N]");
        return set_key(draft, name, value);
    }
    if (!lh_slice_equal(name, LH_SLICE("address"))) {
        if (lh_config_key_find(name) == LH_CONFIG_KEYS)
            return fail_unknown(draft, name);
        return fail(draft, name, "does not belong into [node %u]; put it above the first section",
                    draft->section);
    }
    if (draft->address_line[draft->section] != 0)
        return fail(draft, name, "given before, on line %u; remove one",
                    draft->address_line[draft->section]);
    draft->address_line[draft->section] = draft->line;
    return set_member(draft, name, draft->section, value);
}

static bool parse_file(struct draft *draft, struct lh_slice text)
{
    draft->text = text;
    const int wrong = ini_parse_stream(next_line, draft, on_pair, draft);
    if (!draft->failed && wrong != 0) {
        draft->line = wrong > 0 ? (unsigned)wrong : draft->line;
        fail(draft, (struct lh_slice){NULL, 0},
             "want `key = value`, `[node N]` or a comment that begins with # or ;");
    }
    for (uint32_t node = 1; node <= 255 && !draft->failed; node++) {
        if (draft->section_line[node] != 0 && draft->address_line[node] == 0) {
            draft->line = draft->section_line[node];
            fail(draft, LH_SLICE("address"), "missing in [node %u]", node);
        }
    }
    draft->line = 0;
    return !draft->failed;
}

static bool load_file(struct draft *draft)
{
    const char *reason = NULL;
    const int file = lh_file_open(draft->path, O_RDONLY, &reason);
    if (file < 0)
        return fail_whole(draft, "%s; %s", reason,
                          errno == EACCES ? "let the user of this daemon read it"
                                          : "name another file with --config");
    char *bytes = malloc(LH_CONFIG_FILE_MAX_BYTES + 1);
    size_t size = 0;
    ssize_t part = bytes == NULL ? -1 : 1;
    while (part > 0 && size <= LH_CONFIG_FILE_MAX_BYTES) {
        part = read(file, bytes + size, LH_CONFIG_FILE_MAX_BYTES + 1 - size);
        size += part > 0 ? (size_t)part : 0;
    }
    if (part < 0)
        fail_whole(draft, "%s", strerror(errno));
    else if (size > LH_CONFIG_FILE_MAX_BYTES)
        fail_whole(draft, "longer than %d bytes", LH_CONFIG_FILE_MAX_BYTES);
    else
        parse_file(draft, lh_slice_of(bytes, size));
    free(bytes);
    close(file);
    return !draft->failed;
}

// --- the flags ---

// One flag and its value.
struct flag {
    struct lh_slice name; // without the dashes
    struct lh_slice value;
    bool has_value;
};

// A flag that is complete without a value.
static bool is_plain(struct lh_slice name)
{
    return lh_slice_equal(name, LH_SLICE("config-test")) ||
           lh_slice_equal(name, LH_SLICE("help")) || lh_slice_equal(name, LH_SLICE("version"));
}

// Takes the flag at *position, with its value behind '=' or in the next argument, and moves on.
static bool next_flag(struct draft *draft, int count, char *const *arguments, int *position,
                      struct flag *ret_flag)
{
    struct lh_slice argument = lh_slice_of_string(arguments[(*position)++]);
    if (lh_slice_equal(argument, LH_SLICE("-h")))
        argument = LH_SLICE("--help");
    else if (lh_slice_equal(argument, LH_SLICE("-V")))
        argument = LH_SLICE("--version");
    if (argument.size_bytes < 3 || !lh_slice_has_prefix(argument, LH_SLICE("--"))) {
        draft->failed = true;
        return lh_error_set(draft->error,
                            "'%s' is not a flag; every setting is --KEY VALUE, and `leaseholdd "
                            "--help` lists them",
                            arguments[*position - 1]);
    }
    struct flag flag = {.name = drop(argument, 2)};
    const uint8_t *equals = memchr(flag.name.data, '=', flag.name.size_bytes);
    if (equals != NULL) {
        const size_t before = (size_t)(equals - flag.name.data);
        flag.value = drop(flag.name, before + 1);
        flag.name.size_bytes = before;
        flag.has_value = true;
    }
    if (is_plain(flag.name)) {
        if (flag.has_value)
            return fail(draft, flag.name, "takes no value");
    } else if (!flag.has_value && *position < count) {
        flag.value = lh_slice_of_string(arguments[(*position)++]);
        flag.has_value = true;
    }
    *ret_flag = flag;
    return true;
}

// --member N=ADDRESS
static bool set_member_flag(struct draft *draft, const struct flag *flag)
{
    const uint8_t *equals = memchr(flag->value.data, '=', flag->value.size_bytes);
    const size_t before = equals == NULL ? 0 : (size_t)(equals - flag->value.data);
    uint32_t node = 0;
    if (equals == NULL || !parse_node(lh_slice_of(flag->value.data, before), &node))
        return fail(draft, flag->name, "'%.*s' is refused: want N=ADDRESS with N from 1 to 255",
                    (int)flag->value.size_bytes, (const char *)flag->value.data);
    return set_member(draft, flag->name, node, drop(flag->value, before + 1));
}

static bool apply_flag(struct draft *draft, const struct flag *flag)
{
    if (is_plain(flag->name) || lh_slice_equal(flag->name, LH_SLICE("config")))
        return true; // taken by find_actions
    const bool member = lh_slice_equal(flag->name, LH_SLICE("member"));
    if (!member && lh_config_key_find(flag->name) == LH_CONFIG_KEYS)
        return fail_unknown(draft, flag->name);
    if (!flag->has_value)
        return fail(draft, flag->name, "needs a value");
    return member ? set_member_flag(draft, flag) : set_key(draft, flag->name, flag->value);
}

// The flags that are not settings, wherever they stand.
static bool find_actions(struct draft *draft, int count, char *const *arguments,
                         enum lh_config_action *ret_action)
{
    enum lh_config_action action = LH_CONFIG_RUN;
    struct flag flag = {0};
    for (int position = 0; position < count;) {
        if (!next_flag(draft, count, arguments, &position, &flag))
            return false;
        if (lh_slice_equal(flag.name, LH_SLICE("help")))
            action = LH_CONFIG_HELP;
        else if (lh_slice_equal(flag.name, LH_SLICE("version")) && action != LH_CONFIG_HELP)
            action = LH_CONFIG_VERSION;
        else if (lh_slice_equal(flag.name, LH_SLICE("config-test")) && action == LH_CONFIG_RUN)
            action = LH_CONFIG_TEST;
        else if (lh_slice_equal(flag.name, LH_SLICE("config"))) {
            if (!flag.has_value || flag.value.size_bytes == 0)
                return fail(draft, flag.name, "needs the path of a file");
            if (draft->path != NULL)
                return fail(draft, flag.name, "given twice; there is one file");
            draft->path = (const char *)flag.value.data; // the end of an argument: terminated
        } else {
            draft->setting_given = true;
        }
    }
    *ret_action = action;
    return true;
}

// --- the whole ---

static bool check_members(struct draft *draft)
{
    const struct lh_node_config *config = &draft->config;
    const size_t count = config->member_count;
    bool present = false;
    if (count == 0)
        return fail_whole(draft, "there are no members; want a section [node N] with its address "
                                 "for each, or --member N=ADDRESS");
    if (count == 2)
        return fail_whole(draft,
                          "2 members: both would be needed for every lease; want 3 to %d, "
                          "or 1 for development",
                          LH_CONFIG_MEMBERS_MAX);
    for (size_t i = 0; i < count; i++) {
        present |= config->members[i].node == config->node;
        for (size_t j = 0; j < i; j++) {
            if (lh_address_equal(&config->members[i].address, &config->members[j].address))
                return fail_whole(draft,
                                  "node %u and node %u have the same address; each needs "
                                  "its own",
                                  config->members[j].node, config->members[i].node);
        }
    }
    return present || fail_whole(draft,
                                 "node %u, which this daemon is to be, is not among the "
                                 "members; correct node, or add [node %u]",
                                 config->node, config->node);
}

static bool check_whole(struct draft *draft)
{
    const struct lh_node_config *config = &draft->config;
    struct stat status;
    if (config->node == 0)
        return fail_whole(draft, "node is missing: say which member this daemon is, 1 to 255");
    if (!draft->data_dir_given && stat(config->data_dir, &status) != 0)
        return fail_whole(draft,
                          "data-dir is missing, and its default %s does not exist: create "
                          "it, or set data-dir",
                          config->data_dir);
    return check_members(draft);
}

bool lh_config_parse(struct lh_slice text, const char *path, struct lh_node_config *ret_config,
                     struct lh_error *error)
{
    struct draft draft = {.path = path, .error = error};
    lh_config_defaults(&draft.config);
    if (!parse_file(&draft, text) || !check_whole(&draft))
        return false;
    *ret_config = draft.config;
    return true;
}

bool lh_config_read(int count, char *const *arguments, struct lh_node_config *ret_config,
                    enum lh_config_action *ret_action, struct lh_error *error)
{
    struct draft draft = {.error = error};
    enum lh_config_action action = LH_CONFIG_RUN;
    struct flag flag = {0};
    if (!find_actions(&draft, count, arguments, &action))
        return false;
    if (action == LH_CONFIG_HELP || action == LH_CONFIG_VERSION) {
        *ret_action = action;
        return true;
    }
    lh_config_defaults(&draft.config);
    if (draft.path == NULL && !draft.setting_given)
        draft.path = LH_CONFIG_FILE_DEFAULT;
    if (draft.path != NULL && !load_file(&draft))
        return false;
    for (int position = 0; position < count;) {
        if (!next_flag(&draft, count, arguments, &position, &flag) || !apply_flag(&draft, &flag))
            return false;
    }
    if (!check_whole(&draft))
        return false;
    *ret_config = draft.config;
    *ret_action = action;
    return true;
}
