// `leasehold trace check FILES...`: whether what daemons recorded is a behaviour of the protocol,
// and if not, the first event of a node that cannot be.
#include "check/trace_check.h"

#include <stdio.h>
#include <string.h>

#include "check/recording_judge.h"
#include "check/say.h"

enum { EXIT_ALLOWED = 0, EXIT_NOT_ALLOWED = 1, EXIT_USAGE = 64, FILES_MOST = 256 };

static const char help[] =
    "Usage: leasehold trace check FILE...\n"
    "\n"
    "Reads what daemons recorded (record = FILE), one or more files, at best those of all nodes,\n"
    "and decides whether it is a behaviour of the protocol: the order of steps within each node,\n"
    "and every message received was sent. Names the first event that cannot be, and the rule.\n"
    "Daemons may still be writing to them; of copies they must have ended before the first.\n"
    "\n"
    "Exit: 0 it is, 1 it is not, 64 usage, or a file that is no recording.\n";

static int check_files(int count, char **paths)
{
    struct lh_recording recording = {0};
    const struct lh_recorded *event = NULL;
    char text[512] = "";
    int code = EXIT_ALLOWED;
    if (!lh_recording_read(&recording, (const char *const *)paths, (uint32_t)count, text,
                           sizeof text)) {
        lh_check_say(stderr, "leasehold trace: %s", text);
        code = EXIT_USAGE;
    }
    if (code == EXIT_ALLOWED && recording.count == 0) {
        lh_check_say(stderr, "leasehold trace: %s: nothing is recorded there", paths[0]);
        code = EXIT_USAGE;
    }
    if (code == EXIT_ALLOWED && !lh_recording_finish(&recording)) {
        lh_check_say(stderr, "leasehold trace: the machine has no memory left");
        code = EXIT_USAGE;
    }
    if (code == EXIT_ALLOWED && !lh_recording_judge(&recording, &event, text)) {
        if (event != NULL)
            lh_check_say(stdout, "%s:%u: node %u, n %llu: %s", paths[event->file], event->line,
                         event->node, (unsigned long long)event->n, text);
        code = event != NULL ? EXIT_NOT_ALLOWED : EXIT_USAGE;
    } else if (code == EXIT_ALLOWED) {
        printf("allowed: %zu events of %d nodes, %u names\n", recording.count,
               __builtin_popcountll(recording.recorders),
               recording.names == 0 ? 0 : recording.names - 1);
    }
    lh_recording_close(&recording);
    return code;
}

int lh_trace_command(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return EXIT_ALLOWED;
        }
        if (argv[i][0] == '-') {
            lh_check_say(stderr, "leasehold trace: %s: there is no such option; a file: ./%s",
                         argv[i], argv[i]);
            return EXIT_USAGE;
        }
    }
    if (argc < 3 || strcmp(argv[1], "check") != 0 || argc - 2 > FILES_MOST) {
        lh_check_say(stderr, "leasehold trace: give check and the files to be checked; see "
                             "leasehold trace --help");
        return EXIT_USAGE;
    }
    return check_files(argc - 2, argv + 2);
}
