// The demo's stage: three daemons, three `leasehold run` wrappers (one a daemon, each talking only
// to its own) around `leasehold demo-beat`, the file of beats, and the loop that watches all of it.
// The scenario in demo.c says what happens; nothing here decides.
//
// Who holds is never asked of the cluster: it is read from the file of beats, which only the
// wrapped commands write.
#ifndef LH_CLI_DEMO_STAGE_H
#define LH_CLI_DEMO_STAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/cluster.h"
#include "cli/demo_timeline.h"

#define LH_DEMO_NODES 3
#define LH_DEMO_LINES_KEPT 8

struct lh_demo_wrapper {
    struct lh_process process; // it and its command
    pid_t command;             // of the last command that began to beat
    int64_t token;             // its token
    bool stopped;              // by the scenario, with its daemon and its command
    bool quarantine;           // its daemon came back without memory and is silent
    int last_code;             // exit code of the wrapper that ended last
    struct lh_instant ended_at;
    char log[LH_DEMO_LINES_KEPT][200]; // the daemon's last lines, shown if something breaks
    size_t log_lines;
};

struct lh_demo_stage {
    struct lh_cluster cluster;
    struct lh_demo_wrapper wrappers[LH_DEMO_NODES];
    struct lh_timeline timeline;
    char self[4096];
    char beats_path[LH_CLUSTER_PATH_BYTES + 16];
    const char *ttl;
    int beats_fd;
    int signal_fd;
    char beat_line[64];
    size_t beat_line_size;
    int holder;                    // index of the node that beat last; -1: none yet
    int64_t token;                 // of the last new holder
    struct lh_instant token_began; // its first beat
    struct lh_instant last_beat;
    struct lh_instant previous_end; // the last beat of the holder before it
    bool interrupted;
    bool ending; // wrappers that end are not started again
};

// Makes and starts the cluster. False with the reason.
bool lh_demo_stage_open(struct lh_demo_stage *stage, struct lh_duration length,
                        struct lh_error *error);
// Ends the wrappers and their commands, first in order, then with SIGKILL. The beats are complete
// then.
void lh_demo_end_wrappers(struct lh_demo_stage *stage);
// Ends the daemons too and removes every file, the beats among them.
void lh_demo_stage_close(struct lh_demo_stage *stage);

// Starts every wrapper that does not run though its daemon does.
bool lh_demo_start_wrappers(struct lh_demo_stage *stage, struct lh_error *error);

// Watches until `done` says so (NULL: never) or `timeout` has passed. True if `done` did.
bool lh_demo_watch(struct lh_demo_stage *stage, bool (*done)(struct lh_demo_stage *stage),
                   struct lh_duration timeout);

// Sends `signal` to a node's command, wrapper and daemon, in this order.
void lh_demo_signal_all(struct lh_demo_stage *stage, int node, int signal);

#endif
