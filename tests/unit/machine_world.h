// What the tests of the machine's two halves share: the fixture's small cluster with one name, and
// requests as another node would send them.
#ifndef LH_TESTS_UNIT_MACHINE_WORLD_H
#define LH_TESTS_UNIT_MACHINE_WORLD_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

enum { NAME = 0, PACKETS = 2048 };

#define MS LH_NS_PER_MS

static inline struct fixture_settings usual(void)
{
    return (struct fixture_settings){.nodes = 3,
                                     .max_ttl_ms = 1000,
                                     .rate_ppm = 10000,
                                     .max_leases = FIXTURE_NAMES,
                                     .reserved = UINT64_C(1) << 20,
                                     .seed = 1,
                                     .packet_capacity = PACKETS};
}

static inline struct fixture *cluster_of(struct fixture_settings settings)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture_open(fixture, &settings);
    return fixture;
}

static inline struct fixture *cluster(void)
{
    return cluster_of(usual());
}

static inline void end(struct fixture *fixture)
{
    assert_null(fixture_check(fixture));
    fixture_close(fixture);
    free(fixture);
}

// Everything arrives at once; nobody's timers come.
static inline void acquire(struct fixture *fixture, unsigned node, int64_t ttl_ms)
{
    assert_true(fixture_acquire(fixture, node, NAME, lh_ms(ttl_ms)));
    fixture_settle(fixture);
    assert_true(fixture_holds(fixture, node, NAME));
}

static inline bool was_told(const struct fixture *fixture, enum lh_notice_kind kind)
{
    for (unsigned i = 0; i < fixture->told_count; i++)
        if (fixture->told[i].notice.kind == kind)
            return true;
    return false;
}

// Settles one packet at a time until a notice of this kind comes.
static inline bool settles_with(struct fixture *fixture, enum lh_notice_kind kind)
{
    for (unsigned i = 0; i < fixture->packet_count; i++)
        if (fixture->packets[i].delivered == 0 && fixture_deliver(fixture, i) &&
            was_told(fixture, kind))
            return true;
    return false;
}

static inline unsigned sent(const struct fixture *fixture, enum lh_message_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < fixture->packet_count; i++)
        count += fixture->packets[i].message.kind == kind ? 1 : 0;
    return count;
}

static inline void lose_everything(struct fixture *fixture)
{
    fixture->packet_count = 0;
}

static inline const struct fixture_packet *last(const struct fixture *fixture)
{
    assert_true(fixture->packet_count > 0);
    return &fixture->packets[fixture->packet_count - 1];
}

// Hands node `to` a request of node `from`. Returns the answer, or NULL if there was none.
static inline const struct fixture_packet *ask(struct fixture *fixture, unsigned from, unsigned to,
                                               struct lh_message message)
{
    message.key = fixture_key(NAME);
    fixture_inject(fixture, from, to, &message);
    const unsigned before = fixture->packet_count;
    assert_true(fixture_deliver(fixture, before - 1));
    return fixture->packet_count > before ? last(fixture) : NULL;
}

static inline lh_ballot ballot_of(unsigned node, uint64_t counter)
{
    return lh_ballot_make(counter, 1, (uint8_t)(node + 1));
}

static inline struct lh_message prepare(unsigned node, uint64_t counter, int64_t ttl_ms)
{
    return (struct lh_message){
        .kind = LH_MESSAGE_PREPARE, .ballot = ballot_of(node, counter), .ttl = lh_ms(ttl_ms)};
}

static inline struct lh_message accept_of(unsigned node, uint64_t counter, int64_t ttl_ms)
{
    return (struct lh_message){
        .kind = LH_MESSAGE_ACCEPT, .ballot = ballot_of(node, counter), .ttl = lh_ms(ttl_ms)};
}

static inline struct lh_message extend(unsigned node, uint64_t counter, uint64_t stamp,
                                       int64_t ttl_ms)
{
    return (struct lh_message){.kind = LH_MESSAGE_EXTEND,
                               .ballot = ballot_of(node, counter),
                               .stamp = stamp,
                               .ttl = lh_ms(ttl_ms)};
}

static inline struct lh_message release_of(unsigned node, uint64_t counter)
{
    return (struct lh_message){.kind = LH_MESSAGE_RELEASE, .ballot = ballot_of(node, counter)};
}

// Whether `what` ends in a failed assertion; it runs in a process of its own.
static inline bool dies(void (*what)(struct fixture *fixture), struct fixture *fixture)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); // cmocka's would go on in this process
        close(STDERR_FILENO);
        what(fixture);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
