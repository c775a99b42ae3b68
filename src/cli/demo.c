// `leasehold demo`: the main job, shown and checked in under 40 seconds. Three daemons, three
// wrapped commands that contend for one lease; the owner's daemon is killed, later another owner is
// stopped as a whole beyond its TTL and continued. What happened is judged at the end from the file
// that the commands wrote (beats.h), not from what anybody says.
//
// About the stopped owner: a process that does not run cannot end its command in time, so when all
// of it is continued, the command may write once more before its wrapper kills it. No lease service
// can prevent that; the token in each write lets the file's reader refuse it. The demo continues
// the command first, which is the worst order, and says how many writes were refused.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/beats.h"
#include "cli/command.h"
#include "cli/demo_stage.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "os/clock.h"

// What the fixed parts take: start, two take-overs, a quarantine, the stop, the end.
#define FIXED_SECONDS 5
#define SECONDS_DEFAULT 13
#define SECONDS_LEAST 7
#define SECONDS_MOST 33

struct demo {
    struct lh_demo_stage stage;
    struct lh_duration hold; // how long each quiet part lasts
    int64_t old_token;       // the holder's before a fault
    struct lh_instant fault;
    int victim;
    int64_t stopped; // the token whose holder was stopped; 0: none yet
    double takeover_kill_s;
    double takeover_stop_s;
};

// The stage's callbacks get the stage, which is the demo's first member.
static struct demo *demo_of(struct lh_demo_stage *stage)
{
    return (struct demo *)stage;
}

static void tell(struct demo *demo, const char *text)
{
    lh_timeline_event(&demo->stage.timeline, lh_clock_now(), "%s", text);
}

static bool broke(struct demo *demo, const char *what)
{
    struct lh_demo_stage *stage = &demo->stage;
    if (stage->interrupted) {
        tell(demo, "interrupted");
        return false;
    }
    lh_timeline_event(&stage->timeline, lh_clock_now(), "BROKEN: %s", what);
    for (int i = 0; i < LH_DEMO_NODES; i++) {
        const struct lh_demo_wrapper *wrapper = &stage->wrappers[i];
        size_t kept =
            wrapper->log_lines < LH_DEMO_LINES_KEPT ? wrapper->log_lines : LH_DEMO_LINES_KEPT;
        for (size_t j = wrapper->log_lines - kept; j < wrapper->log_lines; j++)
            lh_timeline_event(&stage->timeline, lh_clock_now(), "node %d logged: %s", i + 1,
                              wrapper->log[j % LH_DEMO_LINES_KEPT]);
    }
    return false;
}

// --- what the scenario waits for ---

static bool node_serves(struct lh_demo_stage *stage, int node)
{
    char state[32];
    int64_t left_ms = 0;
    bool answered = lh_cluster_state(&stage->cluster.nodes[node], lh_ms(200), state, &left_ms);
    stage->wrappers[node].quarantine = answered && strcmp(state, "quarantine") == 0;
    return answered && strcmp(state, "serving") == 0;
}

static bool all_serve(struct lh_demo_stage *stage)
{
    for (int i = 0; i < LH_DEMO_NODES; i++)
        if (stage->cluster.nodes[i].daemon.pid == 0 || !node_serves(stage, i))
            return false;
    return true;
}

static bool victim_serves(struct lh_demo_stage *stage)
{
    return node_serves(stage, demo_of(stage)->victim);
}

static bool somebody_holds(struct lh_demo_stage *stage)
{
    return stage->token > demo_of(stage)->old_token;
}

static bool victim_ended(struct lh_demo_stage *stage)
{
    const struct lh_demo_wrapper *wrapper = &stage->wrappers[demo_of(stage)->victim];
    return wrapper->process.pid == 0 || !lh_before(wrapper->ended_at, demo_of(stage)->fault);
}

// Waits for another holder after a fault and says how long it took.
static bool await_takeover(struct demo *demo, double *ret_seconds)
{
    struct lh_demo_stage *stage = &demo->stage;
    if (!lh_demo_watch(stage, somebody_holds, lh_ms(6000)))
        return broke(demo, "nobody took the lease over within 6 s");
    *ret_seconds = (double)lh_left(demo->fault, stage->token_began).ns / 1e9;
    lh_timeline_event(
        &stage->timeline, lh_clock_now(),
        "node %d took over %.3f s after that; the old command's last beat was %.0f ms "
        "before the new one's first",
        stage->holder + 1, *ret_seconds,
        (double)lh_left(stage->previous_end, stage->token_began).ns / 1e6);
    return true;
}

// --- the three parts ---

static bool first_owner(struct demo *demo)
{
    struct lh_demo_stage *stage = &demo->stage;
    struct lh_error error;
    if (!lh_demo_watch(stage, all_serve, lh_ms(5000)))
        return broke(demo, "not all three nodes were serving within 5 s");
    tell(demo, "three nodes serve; starting three wrappers that want the same lease, TTL 1 s");
    if (!lh_demo_start_wrappers(stage, &error))
        return broke(demo, error.text);
    if (!lh_demo_watch(stage, somebody_holds, lh_ms(5000)))
        return broke(demo, "nobody got the lease within 5 s");
    lh_demo_watch(stage, NULL, demo->hold);
    return !stage->interrupted || broke(demo, "");
}

static void begin_fault(struct demo *demo)
{
    demo->victim = demo->stage.holder;
    demo->old_token = demo->stage.token;
    demo->fault = lh_clock_now();
}

static bool daemon_killed(struct demo *demo)
{
    struct lh_demo_stage *stage = &demo->stage;
    struct lh_error error;
    begin_fault(demo);
    lh_cluster_signal(&stage->cluster.nodes[demo->victim], SIGKILL);
    lh_timeline_event(&stage->timeline, demo->fault,
                      "kill -9 of node %d's daemon, which owns the lease", demo->victim + 1);
    if (!await_takeover(demo, &demo->takeover_kill_s))
        return false;
    if (!lh_demo_watch(stage, victim_ended, lh_ms(3000)))
        return broke(demo, "the wrapper of the killed daemon did not end");
    lh_demo_watch(stage, NULL, demo->hold);

    struct lh_instant restarted = lh_clock_now();
    if (stage->interrupted ||
        !lh_cluster_start(&stage->cluster, &stage->cluster.nodes[demo->victim], &error))
        return broke(demo, error.text);
    stage->wrappers[demo->victim].ended_at = restarted; // its wrapper is started once it listens
    lh_timeline_event(&stage->timeline, restarted, "node %d's daemon is started again",
                      demo->victim + 1);
    if (!lh_demo_watch(stage, victim_serves, lh_ms(8000)))
        return broke(demo, "the restarted daemon was not serving within 8 s");
    stage->wrappers[demo->victim].quarantine = false;
    lh_timeline_event(&stage->timeline, lh_clock_now(),
                      "node %d serves again after %.3f s of quarantine: it had forgotten what it "
                      "promised",
                      demo->victim + 1, (double)lh_left(restarted, lh_clock_now()).ns / 1e9);
    lh_demo_watch(stage, NULL, demo->hold);
    return !stage->interrupted || broke(demo, "");
}

static bool owner_stopped(struct demo *demo)
{
    struct lh_demo_stage *stage = &demo->stage;
    begin_fault(demo);
    demo->stopped = demo->old_token;
    lh_demo_signal_all(stage, demo->victim, SIGSTOP);
    stage->wrappers[demo->victim].stopped = true;
    lh_timeline_event(&stage->timeline, demo->fault,
                      "node %d's daemon, wrapper and command are stopped, all at once",
                      demo->victim + 1);
    if (!await_takeover(demo, &demo->takeover_stop_s))
        return false;
    lh_demo_watch(stage, NULL, lh_ms(1500)); // well beyond the TTL

    struct lh_instant continued = lh_clock_now();
    demo->fault = continued;
    lh_demo_signal_all(stage, demo->victim, SIGCONT);
    stage->wrappers[demo->victim].stopped = false;
    lh_timeline_event(&stage->timeline, continued, "node %d is continued, its command first",
                      demo->victim + 1);
    if (!lh_demo_watch(stage, victim_ended, lh_ms(3000)))
        return broke(demo, "the wrapper that was stopped did not end its command");
    lh_timeline_event(&stage->timeline, lh_clock_now(),
                      "node %d's wrapper found its lease over and ended its command within %.0f ms",
                      demo->victim + 1,
                      (double)lh_left(continued, stage->wrappers[demo->victim].ended_at).ns / 1e6);
    lh_demo_watch(stage, NULL, demo->hold);
    return !stage->interrupted || broke(demo, "");
}

// --- the judgement ---

static bool judge(struct demo *demo, bool complete)
{
    static struct lh_beats_verdict verdict;
    struct lh_beat *beats = NULL;
    size_t count = 0;
    struct lh_error error;
    lh_demo_end_wrappers(&demo->stage);
    bool good = lh_beats_read(demo->stage.beats_path, &beats, &count, &error) &&
                lh_beats_check(beats, count, &demo->stopped, demo->stopped > 0, &verdict, &error);
    free(beats);
    if (!good) {
        printf("\nBROKEN: %s\n", error.text);
        return false;
    }
    if (verdict.beats == 0) {
        printf("\nNothing was seen: no command ever held the lease.\n");
        return false;
    }
    printf("\n%zu beats of %zu holder%s:\n", verdict.beats, verdict.span_count,
           verdict.span_count == 1 ? "" : "s");
    for (size_t i = 0; i < verdict.span_count; i++) {
        const struct lh_beat_span *span = &verdict.spans[i];
        printf("  node %d  token %-12" PRId64 " %7.3fs to %7.3fs  %5zu beats",
               (int)(span->token & 0xff), span->token,
               (double)(span->first_ns - demo->stage.timeline.begin.ns) / 1e9,
               (double)(span->last_ns - demo->stage.timeline.begin.ns) / 1e9, span->beats);
        if (span->refused > 0)
            printf("; stopped, then %zu late beat%s refused for the old token", span->refused,
                   span->refused == 1 ? "" : "s");
        printf("\n");
    }
    printf("%sNo two holders overlapped. Tokens only rose.\n",
           complete ? "" : "Incomplete: not all of it was played. Up to there: ");
    return true;
}

static bool play(struct demo *demo)
{
    bool played = first_owner(demo) && daemon_killed(demo) && owner_stopped(demo);
    bool interrupted = demo->stage.interrupted;
    bool judged = judge(demo, played && !interrupted);
    if (!played || !judged)
        return false;
    printf("Take-over: %.3f s after kill -9, %.3f s after the stop; the TTL was 1 s.\n",
           demo->takeover_kill_s, demo->takeover_stop_s);
    return !interrupted;
}

int lh_demo_command(int argc, char **argv)
{
    static struct demo demo;
    struct lh_parsed parsed;
    struct lh_error error;
    int64_t seconds = SECONDS_DEFAULT;
    int exit_code;
    const struct lh_option options[] = {
        {"seconds", LH_OPTION_NUMBER, &seconds, "N",
         "about how long it takes, 7 to 33 (default 13)"},
    };
    const struct lh_syntax syntax = {
        .command = "demo",
        .arguments = "[--seconds N]",
        .about =
            "Three daemons and three contending commands on this machine; one owner's daemon is\n"
            "killed, another owner is stopped and continued. Checks that no two commands ever\n"
            "acted at once and that tokens only rose; exits 0, or says what broke.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    if (seconds < SECONDS_LEAST || seconds > SECONDS_MOST) {
        fprintf(stderr, "leasehold demo: %" PRId64 " seconds are refused: choose %d to %d\n",
                seconds, SECONDS_LEAST, SECONDS_MOST);
        return LH_EXIT_USAGE;
    }
    if (!lh_demo_stage_open(&demo.stage, lh_ms(seconds * 1000), &error)) {
        fprintf(stderr, "leasehold demo: %s\n", error.text);
        return LH_EXIT_FAILED;
    }
    demo.hold = lh_ms((seconds - FIXED_SECONDS) * 1000 / 4);
    bool good = play(&demo);
    lh_demo_stage_close(&demo.stage);
    return good ? LH_EXIT_OK : LH_EXIT_FAILED;
}
