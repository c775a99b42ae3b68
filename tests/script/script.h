// What the script runner and its two worlds share. A script is a schedule told line by line:
//
//     # prose
//     p1 starts 2
//         prepare 2 to all, until 2
//     deliver prepare 2 to a1
//         a1 promises 2, nothing live
//
// A line that begins in the first column is a command, the indented lines below it are all that it
// causes. The runner compares them, and after every command asks the world whether exclusion holds
// and tokens only rise. `roles` opens a world of bare role records with abstract time, as the
// paper's traces are told; `cluster` one of whole machines.
//
// A line "#! CHANGE ..." says that the next command is where a second owner (or a fallen token)
// appears once the planted changes named are made to the code; tests/planted/run holds every such
// claim against the code.
#ifndef LH_TESTS_SCRIPT_SCRIPT_H
#define LH_TESTS_SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#define SCRIPT_WORDS 24
#define SCRIPT_OUTPUT_BYTES 16384

struct script_output {
    char text[SCRIPT_OUTPUT_BYTES]; // one effect a line
    size_t size_bytes;
};

struct script_line {
    char *words[SCRIPT_WORDS];
    int count;
};

struct script_world {
    // Carries out one command. False if it makes no sense.
    bool (*run)(void *state, const struct script_line *line, struct script_output *output);
    // NULL, or what is wrong now.
    const char *(*check)(void *state);
    void (*close)(void *state);
    void *state;
};

__attribute__((format(printf, 2, 3))) void script_say(struct script_output *output,
                                                      const char *format, ...);

bool script_is(const struct script_line *line, int word, const char *text);
// The number in `text` after `prefix`, as in "a2" or "n=7". False if it is anything else.
bool script_number(const char *text, const char *prefix, long long *ret);

bool roles_open(struct script_world *world, const struct script_line *line);
bool cluster_open(struct script_world *world, const struct script_line *line);

#endif
