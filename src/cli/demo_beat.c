// `leasehold demo-beat FILE`, the command that the demo wraps, and `leasehold demo-check FILE`,
// which holds such a file against the rules of beats.h. They are not in the help, but anybody may
// use them to try a cluster: under `leasehold run`, each beat of every holder lands in one file.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/beats.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"
#include "os/clock.h"

#define BEAT_NS (10 * LH_NS_PER_MS)

// One write, so that beats of several processes never mix in the file.
static bool beat(int file, const char *token)
{
    char line[64];
    int size = snprintf(line, sizeof line, "%s %" PRId64 "\n", token, lh_clock_now().ns);
    return write(file, line, (size_t)size) == (ssize_t)size;
}

int lh_demo_beat_command(int argc, char **argv)
{
    struct lh_parsed parsed;
    int exit_code;
    const struct lh_syntax syntax = {
        .command = "demo-beat",
        .arguments = "FILE",
        .about = "Appends `token boottime_ns` to FILE every 10 ms until it is killed.\n"
                 "Meant to run under `leasehold run`, which sets LEASEHOLD_TOKEN.",
        .positionals_least = 1,
        .positionals_most = 1,
    };
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    const char *token = getenv("LEASEHOLD_TOKEN");
    int64_t number;
    if (token == NULL || !lh_i64_parse(lh_slice_of_string(token), &number) || number <= 0) {
        fprintf(stderr,
                "leasehold demo-beat: LEASEHOLD_TOKEN is %s: run it under `leasehold run`\n",
                token == NULL ? "not set" : "not a token");
        return LH_EXIT_USAGE;
    }
    int file = open(parsed.positionals[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
        lh_complain("demo-beat", "cannot open %s: %s", parsed.positionals[0], strerror(errno));
        return LH_EXIT_FAILED;
    }
    printf("pid %ld token %s\n", (long)getpid(), token);
    fflush(stdout);
    while (beat(file, token)) {
        struct timespec pause = {.tv_nsec = BEAT_NS};
        nanosleep(&pause, NULL);
    }
    lh_complain("demo-beat", "cannot write to %s: %s", parsed.positionals[0], strerror(errno));
    return LH_EXIT_FAILED;
}

// "5,9": the tokens of holders that were stopped. Returns how many, or -1.
static int parse_tokens(const char *text, int64_t *tokens, int most)
{
    int count = 0;
    while (text != NULL && count < most) {
        const char *comma = strchr(text, ',');
        size_t size = comma ? (size_t)(comma - text) : strlen(text);
        if (!lh_i64_parse(lh_slice_of(text, size), &tokens[count]) || tokens[count] <= 0)
            return -1;
        count++;
        text = comma ? comma + 1 : NULL;
    }
    return text == NULL ? count : -1;
}

int lh_demo_check_command(int argc, char **argv)
{
    static struct lh_beats_verdict verdict;
    struct lh_parsed parsed;
    const char *stopped_text = NULL;
    int64_t stopped[64];
    int exit_code;
    const struct lh_option options[] = {
        {"stopped", LH_OPTION_TEXT, &stopped_text, "TOKEN[,..]",
         "holders that were stopped and continued: what they wrote late counts as refused"},
    };
    const struct lh_syntax syntax = {
        .command = "demo-check",
        .arguments = "FILE [--stopped TOKEN[,..]]",
        .about = "Checks that no two holders in FILE overlapped and that tokens only rose.",
        .positionals_least = 1,
        .positionals_most = 1,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    int stopped_count = parse_tokens(stopped_text, stopped, 64);
    if (stopped_count < 0) {
        lh_complain("demo-check", "--stopped '%s' is not a list of tokens: write 5,9",
                    stopped_text);
        return LH_EXIT_USAGE;
    }
    struct lh_error error;
    struct lh_beat *beats = NULL;
    size_t count = 0;
    bool good = lh_beats_read(parsed.positionals[0], &beats, &count, &error) &&
                lh_beats_check(beats, count, stopped, (size_t)stopped_count, &verdict, &error);
    free(beats);
    if (!good) {
        fprintf(stderr, "leasehold demo-check: %s\n", error.text);
        return LH_EXIT_FAILED;
    }
    printf("%zu beats of %zu holders: no overlap, tokens only rose, %zu refused\n", verdict.beats,
           verdict.span_count, verdict.refused);
    return LH_EXIT_OK;
}
