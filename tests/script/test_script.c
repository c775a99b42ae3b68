// Runs golden scripts, one TAP case each: see script.h.
//
//     test_script [SCRIPT ...]       compares; without names, every tests/script/*.script
//     test_script --rewrite SCRIPT   puts the present effects in place of the expected ones
//     test_script --safety SCRIPT    compares nothing; prints where the schedule breaks safety, if it does
#include <ctype.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "script.h"

enum mode { COMPARE, REWRITE, SAFETY };

struct text {
    char *bytes;
    size_t size_bytes, room_bytes;
};

static const char *current_script = "";
static int current_line;
static enum mode current_mode;
static int current_number; // of the TAP case

void script_say(struct script_output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t left = sizeof output->text - output->size_bytes;
    const int wrote = vsnprintf(output->text + output->size_bytes, left, format, arguments);
    va_end(arguments);
    if (wrote < 0 || (size_t)wrote + 1 >= left) {
        fprintf(stderr, "%s:%d: too many effects\n", current_script, current_line);
        exit(2);
    }
    output->size_bytes += (size_t)wrote;
    output->text[output->size_bytes++] = '\n';
    output->text[output->size_bytes] = '\0';
}

bool script_is(const struct script_line *line, int word, const char *text)
{
    return word < line->count && strcmp(line->words[word], text) == 0;
}

bool script_number(const char *text, const char *prefix, long long *ret)
{
    const size_t length = strlen(prefix);
    if (strncmp(text, prefix, length) != 0 || !isdigit((unsigned char)text[length]))
        return false;
    char *end = NULL;
    const long long number = strtoll(text + length, &end, 10);
    if (*end != '\0' && *end != ',')
        return false;
    *ret = number;
    return true;
}

static void append(struct text *text, const char *bytes, size_t size_bytes)
{
    if (text->size_bytes + size_bytes + 1 > text->room_bytes) {
        text->room_bytes = (text->size_bytes + size_bytes + 1) * 2;
        text->bytes = realloc(text->bytes, text->room_bytes);
        if (text->bytes == NULL)
            abort();
    }
    memcpy(text->bytes + text->size_bytes, bytes, size_bytes);
    text->size_bytes += size_bytes;
    text->bytes[text->size_bytes] = '\0';
}

static struct text read_file(const char *path)
{
    struct text text = {0};
    char bytes[4096];
    size_t size = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(2);
    }
    append(&text, "", 0);
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0)
        append(&text, bytes, size);
    fclose(file);
    return text;
}

static bool is_effect(const char *line)
{
    return strncmp(line, "    ", 4) == 0;
}

static bool is_command(const char *line)
{
    return *line != '\0' && *line != '\n' && *line != '#' && !is_effect(line);
}

// The end of the line that begins at `line`, behind its newline.
static char *line_end(char *line)
{
    char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

static void split(char *text, struct script_line *line)
{
    line->count = 0;
    for (char *word = strtok(text, " \n"); word != NULL; word = strtok(NULL, " \n"))
        if (line->count < SCRIPT_WORDS)
            line->words[line->count++] = word;
}

static void close_world(struct script_world *world)
{
    if (world->state != NULL)
        world->close(world->state);
    *world = (struct script_world){0};
}

static bool run_command(struct script_world *world, const struct script_line *line,
                        struct script_output *output)
{
    if (script_is(line, 0, "roles") || script_is(line, 0, "cluster")) {
        close_world(world);
        return (script_is(line, 0, "roles") ? roles_open : cluster_open)(world, line);
    }
    return world->state != NULL && world->run(world->state, line, output);
}

// The effects expected below a command, without their indentation. Returns the line after them.
static char *expected_effects(char *line, struct text *ret, int *ret_lines)
{
    ret->size_bytes = 0;
    append(ret, "", 0);
    for (; is_effect(line); line = line_end(line), ++*ret_lines)
        append(ret, line + 4, (size_t)(line_end(line) - line) - 4);
    return line;
}

static void print_indented(FILE *to, const char *prefix, const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        fprintf(to, "%s%.*s\n", prefix, (int)length, text);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

static void write_rewritten(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(text->bytes, 1, text->size_bytes, file) != text->size_bytes ||
        fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

static void add_effects(struct text *rewritten, const char *effects)
{
    for (const char *at = effects; *at != '\0'; at += strcspn(at, "\n") + 1) {
        append(rewritten, "    ", 4);
        append(rewritten, at, strcspn(at, "\n") + 1);
    }
}

static bool complain(const char *what)
{
    if (current_mode == SAFETY)
        printf("%s:%d: %s\n", current_script, current_line, what);
    else
        printf("# %s:%d: %s\n", current_script, current_line, what);
    return false;
}

// One command with what is expected of it. False ends the script.
static bool do_command(struct script_world *world, char *command, const char *expected,
                       struct script_output *output)
{
    struct script_line line;
    split(command, &line);
    output->size_bytes = 0;
    output->text[0] = '\0';
    if (!run_command(world, &line, output) && current_mode != SAFETY)
        return complain("this command makes no sense here");
    const char *wrong = world->state == NULL ? NULL : world->check(world->state);
    if (wrong != NULL)
        return complain(wrong);
    if (current_mode == COMPARE && strcmp(output->text, expected) != 0) {
        complain("it causes something else");
        print_indented(stdout, "#   expected:  ", expected);
        print_indented(stdout, "#   now:       ", output->text);
        return false;
    }
    return true;
}

static bool run_script(const char *path)
{
    static struct script_output output;
    struct text text = read_file(path), expected = {0}, rewritten = {0};
    struct script_world world = {0};
    bool good = true;
    current_script = path;
    current_line = 1;
    for (char *line = text.bytes; *line != '\0' && good;) {
        char *next = line_end(line);
        int lines = 1;
        append(&rewritten, line, (size_t)(next - line));
        if (is_command(line)) {
            char *command = strndup(line, (size_t)(next - line));
            next = expected_effects(next, &expected, &lines);
            good = do_command(&world, command, expected.bytes, &output);
            add_effects(&rewritten, output.text);
            free(command);
        } else if (is_effect(line) && current_mode == COMPARE) {
            good = complain("effects without a command");
        }
        line = next;
        current_line += lines;
    }
    if (current_mode == REWRITE && good)
        write_rewritten(path, &rewritten);
    close_world(&world);
    free(text.bytes);
    free(expected.bytes);
    free(rewritten.bytes);
    return good;
}

// A planted change may break an assertion before it breaks safety: then the schedule is refused
// there.
_Noreturn void lh_assert_failed(const char *file, int line, const char *expression, long long left,
                                long long right)
{
    printf("%s%s:%d: assertion failed: %s:%d: %s (%lld, %lld)\n",
           current_mode == SAFETY ? "" : "# ", current_script, current_line, file, line, expression,
           left, right);
    if (current_mode == COMPARE)
        printf("not ok %d - %s\n", current_number, current_script);
    exit(1);
}

int main(int argc, char **argv)
{
    glob_t found = {0};
    char **scripts = argv + 1;
    int count = argc - 1;
    if (count > 0 && strncmp(scripts[0], "--", 2) == 0) {
        current_mode = strcmp(scripts[0], "--rewrite") == 0 ? REWRITE : SAFETY;
        scripts++;
        count--;
    }
    if (count == 0 && glob("tests/script/*.script", 0, NULL, &found) == 0) {
        scripts = found.gl_pathv;
        count = (int)found.gl_pathc;
    }
    bool all_good = count > 0;
    if (current_mode == COMPARE)
        printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        current_number = i + 1;
        const bool good = run_script(scripts[i]);
        all_good = all_good && good;
        if (current_mode == COMPARE)
            printf("%s %d - %s\n", good ? "ok" : "not ok", i + 1, scripts[i]);
    }
    globfree(&found);
    return all_good ? 0 : 1;
}
