// Recordings: a grant and a release among three nodes are allowed; every altered line is refused
// with its rule, and those alterations that are behaviours too (a loss, a redelivery) are not.
#include "check/recording_judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/trace_check.h"

enum { LINES = 48, SIZE = 256 };

#define KEY "\"key\":\"00000000000000010000000000000002\""
#define TTL "\"ttl_ns\":1000"
#define AT(node, n, at) "{\"node\":" #node ",\"n\":" #n ",\"at\":" #at ",\"event\":"
// Ballot 65793 is counter 1 of node 1, 131330 is counter 2 of node 2.
static const char *const story[] = {
    AT(1, 1, 100) "\"admitted\",\"generation\":1,\"number\":1,\"text\":\"new\"}",
    AT(1, 2, 110) "\"send\",\"to\":2,\"kind\":\"prepare\"," KEY ",\"ballot\":65793," TTL "}",
    AT(1, 3, 110) "\"send\",\"to\":3,\"kind\":\"prepare\"," KEY ",\"ballot\":65793," TTL "}",
    AT(1, 4, 120) "\"receive\",\"from\":2,\"kind\":\"promise\"," KEY ",\"ballot\":65793}",
    AT(1, 5, 121) "\"receive\",\"from\":3,\"kind\":\"promise\"," KEY ",\"ballot\":65793}",
    AT(1, 6, 121) "\"send\",\"to\":2,\"kind\":\"accept\"," KEY ",\"ballot\":65793," TTL "}",
    AT(1, 7, 121) "\"send\",\"to\":3,\"kind\":\"accept\"," KEY ",\"ballot\":65793," TTL "}",
    AT(1, 8, 130) "\"receive\",\"from\":2,\"kind\":\"accepted\"," KEY ",\"ballot\":65793}",
    AT(1, 9, 131) "\"receive\",\"from\":3,\"kind\":\"accepted\"," KEY ",\"ballot\":65793}",
    AT(1, 10, 131) "\"granted\"," KEY ",\"token\":65793,\"until\":1110,\"name\":\"a\"}",
    AT(1, 11, 200) "\"send\",\"to\":2,\"kind\":\"release\"," KEY ",\"ballot\":65793}",
    AT(1, 12, 200) "\"released\"," KEY ",\"token\":65793,\"until\":1110,\"name\":\"a\"}",
    AT(1, 13, 300) "\"serving\"}",
    AT(2, 1, 50) "\"admitted\",\"generation\":1,\"number\":1,\"text\":\"new\"}",
    AT(2, 2, 60) "\"receive\",\"from\":1,\"kind\":\"prepare\"," KEY ",\"ballot\":65793," TTL "}",
    AT(2, 3, 60) "\"send\",\"to\":1,\"kind\":\"promise\"," KEY ",\"ballot\":65793}",
    AT(2, 4, 70) "\"receive\",\"from\":1,\"kind\":\"accept\"," KEY ",\"ballot\":65793," TTL "}",
    AT(2, 5, 70) "\"send\",\"to\":1,\"kind\":\"accepted\"," KEY ",\"ballot\":65793}",
    AT(2, 6, 150) "\"receive\",\"from\":1,\"kind\":\"release\"," KEY ",\"ballot\":65793}",
    AT(3, 1, 50) "\"admitted\",\"generation\":1,\"number\":1,\"text\":\"new\"}",
    AT(3, 2, 60) "\"receive\",\"from\":1,\"kind\":\"prepare\"," KEY ",\"ballot\":65793," TTL "}",
    AT(3, 3, 60) "\"send\",\"to\":1,\"kind\":\"promise\"," KEY ",\"ballot\":65793}",
    AT(3, 4, 70) "\"receive\",\"from\":1,\"kind\":\"accept\"," KEY ",\"ballot\":65793," TTL "}",
    AT(3, 5, 70) "\"send\",\"to\":1,\"kind\":\"accepted\"," KEY ",\"ballot\":65793}",
};

static char lines[LINES][SIZE];
static unsigned count;

static void tell(void)
{
    count = sizeof story / sizeof story[0];
    for (unsigned i = 0; i < count; i++)
        snprintf(lines[i], SIZE, "%s", story[i]);
}

static void edit(unsigned line, const char *from, const char *to)
{
    char *found = strstr(lines[line], from);
    char rest[SIZE];
    assert_non_null(found);
    snprintf(rest, sizeof rest, "%s", found + strlen(from));
    snprintf(found, SIZE - (size_t)(found - lines[line]), "%s%s", to, rest);
}

// Leaves a line out, and numbers those behind it again.
static void leave_out(unsigned line)
{
    static const char start[] = "{\"node\":";
    static const char middle[] = ",\"n\":";
    assert_memory_equal(lines[line], start, strlen(start));
    char *rest;
    const unsigned node = (unsigned)strtoul(lines[line] + strlen(start), &rest, 10);
    assert_memory_equal(rest, middle, strlen(middle));
    unsigned n = (unsigned)strtoul(rest + strlen(middle), NULL, 10);
    memmove(lines[line], lines[line + 1], (size_t)(--count - line) * SIZE);
    for (; line < count; line++, n++) {
        char old[32];
        char new[32];
        snprintf(old, sizeof old, "{\"node\":%u,\"n\":%u,", node, n + 1);
        snprintf(new, sizeof new, "{\"node\":%u,\"n\":%u,", node, n);
        if (strncmp(lines[line], old, strlen(old)) != 0)
            return;
        edit(line, old, new);
    }
}

// Two steps of a node happen in the other order.
static void exchange(unsigned one, unsigned other)
{
    char kept[SIZE];
    char *first = strstr(lines[one], "\"event\"");
    char *second = strstr(lines[other], "\"event\"");
    snprintf(kept, sizeof kept, "%s", first);
    snprintf(first, SIZE - (size_t)(first - lines[one]), "%s", second);
    snprintf(second, SIZE - (size_t)(second - lines[other]), "%s", kept);
}

// Writes what is told into one file and judges it. Returns the rule that is broken, "" if none.
static const char *judged(void)
{
    static char why[512];
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    struct lh_recording recording = {0};
    const struct lh_recorded *event;
    snprintf(path, sizeof path, "%s/recording-%d", directory, (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "%s\n", lines[i]);
    fclose(file);
    why[0] = '\0';
    if (lh_recording_read(&recording, &(const char *){path}, 1, why, sizeof why)) {
        assert_true(lh_recording_finish(&recording));
        const bool allowed = lh_recording_judge(&recording, &event, why);
        assert_int_equal(allowed, why[0] == '\0');
    }
    lh_recording_close(&recording);
    unlink(path);
    return why;
}

static void expect(const char *words)
{
    const char *why = judged();
    if (words[0] == '\0' ? why[0] != '\0' : strstr(why, words) == NULL)
        fail_msg("expected '%s', found '%s'", words, why);
    tell();
}

static void expect_edited(unsigned line, const char *from, const char *to, const char *words)
{
    edit(line, from, to);
    expect(words);
}

static void a_grant_and_a_release_are_allowed(void **state)
{
    (void)state;
    tell();
    expect("");
}

static void a_loss_and_a_late_answer_are_allowed(void **state)
{
    (void)state;
    tell();
    leave_out(18); // the Release is lost
    expect("");
    leave_out(8); // two of three are enough only with the other two
    expect("P4: granted without a quorum");
}

static void the_proposer_is_held_to_its_rules(void **state)
{
    (void)state;
    tell();
    expect_edited(4, "\"at\":121", "\"at\":119", "Clock: time runs backwards");
    expect_edited(5, "\"at\":121", "\"at\":1110", "P3: an Accept at or after td");
    leave_out(4);
    expect("P3: an Accept without a quorum");
    expect_edited(9, "\"until\":1110", "\"until\":1111", "P4: granted for longer");
    expect_edited(9, "\"until\":1110", "\"until\":1109", "P4: granted for longer or shorter");
    expect_edited(9, "65793", "131329", "P4: granted under another token");
    expect_edited(9, "granted", "renewed", "P4: granted without a quorum");
    expect_edited(9, "\"until\":1110", "\"until\":131", "P4: granted at or after its end");
    expect_edited(5, TTL, "\"ttl_ns\":1001", "P1: an attempt has one duration");
    expect_edited(5, TTL, "\"base\":65793," TTL, "P1: an Accept names another base");
    edit(1, "65793", "131330");
    expect("T4: a request under the ballot of another node");
    edit(1, "65793", "65537");
    expect("T4: a ballot of another generation");
}

static void an_end_is_sent_and_told(void **state)
{
    (void)state;
    tell();
    leave_out(10);
    expect("P6: released, and no Release was sent");
    leave_out(11);
    expect("let go, and nobody told");
    leave_out(9);
    expect("won, or let go, and nobody told");
    expect_edited(10, "65793", "131329", "P6: a Release of neither");
    expect_edited(11, "\"until\":1110", "\"until\":1109", "P6: released with another end");
    expect_edited(11, "\"name\":\"a\"", "\"name\":\"b\"", "a key with two names");
    expect_edited(11, "\"name\":\"a\"", "\"name\":\"a\",\"holder\":\"b\"",
                  "to whom it was not granted");
    edit(11, "released", "lost");
    leave_out(10);
    expect("P5: lost before its end");
}

// AbandonRelease: what is given up before it was won, and only if it was fresh.
static void a_fresh_attempt_is_taken_back(void **state)
{
    (void)state;
    tell();
    leave_out(11);
    leave_out(9);
    leave_out(8);
    expect("");
    leave_out(11); // as above, but the attempt was not that far
    leave_out(9);
    leave_out(8);
    leave_out(7);
    leave_out(6);
    leave_out(5);
    expect("P6: a Release of neither");
    leave_out(11); // ... or had been won
    leave_out(9);
    expect("won, or let go, and nobody told");
}

static void a_revoked_lease_is_not_renewed(void **state)
{
    (void)state;
    static const char revoked[] =
        AT(1, 11, 200) "\"revoked\"," KEY ",\"token\":65793,\"until\":1110,\"name\":\"a\"}";
    static const char *const renewals[] = {
        AT(1, 12, 200) "\"send\",\"to\":2,\"kind\":\"extend\"," KEY
                       ",\"ballot\":65793,\"stamp\":200," TTL "}",
        AT(1, 12, 200) "\"send\",\"to\":2,\"kind\":\"prepare\"," KEY ",\"ballot\":196865," TTL "}",
    };
    const unsigned release_heard = 18;
    tell();
    for (unsigned i = 0; i < 4; i++) {
        snprintf(lines[10], SIZE, "%s", revoked);
        snprintf(lines[11], SIZE, "%s", renewals[i % 2]);
        leave_out(release_heard);
        if (i >= 2) // what may be, unless it is revoked
            leave_out(10);
        expect(i < 2 ? "revoked: a renewal was begun" : "");
    }
    snprintf(lines[10], SIZE, "%s", revoked);
    leave_out(11);
    leave_out(release_heard - 1);
    expect("");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(lines[10], SIZE, "%s", revoked);
        edit(10, "\"until\":1110", i == 0 ? "\"until\":1109" : "\"until\":1111");
        expect("revoked, and not as it was granted");
    }
}

// A renewal whose Accepts are out when the lease is revoked: the end that is reported covers it.
static void a_revoked_lease_ends_as_reported(void **state)
{
#define RENEWAL "," KEY ",\"ballot\":196865"
#define REPORTED ",\"reported\":65793,\"exclusion_ns\":991"
    (void)state;
    static const char *const renewal[] = {
        AT(1, 11, 200) "\"send\",\"to\":2,\"kind\":\"prepare\"" RENEWAL "," TTL "}",
        AT(1, 12, 200) "\"send\",\"to\":3,\"kind\":\"prepare\"" RENEWAL "," TTL "}",
        AT(2, 6, 80) "\"receive\",\"from\":1,\"kind\":\"prepare\"" RENEWAL "," TTL "}",
        AT(2, 7, 80) "\"send\",\"to\":1,\"kind\":\"promise\"" RENEWAL REPORTED "}",
        AT(3, 6, 80) "\"receive\",\"from\":1,\"kind\":\"prepare\"" RENEWAL "," TTL "}",
        AT(3, 7, 80) "\"send\",\"to\":1,\"kind\":\"promise\"" RENEWAL REPORTED "}",
        AT(1, 13, 210) "\"receive\",\"from\":2,\"kind\":\"promise\"" RENEWAL REPORTED "}",
        AT(1, 14, 211) "\"receive\",\"from\":3,\"kind\":\"promise\"" RENEWAL REPORTED "}",
        AT(1, 15, 211) "\"send\",\"to\":2,\"kind\":\"accept\"" RENEWAL ",\"base\":65793," TTL "}",
        AT(1, 16, 211) "\"send\",\"to\":3,\"kind\":\"accept\"" RENEWAL ",\"base\":65793," TTL "}",
        AT(1, 17, 220) "\"revoked\"," KEY ",\"token\":65793,\"until\":1200,\"name\":\"a\"}",
        AT(2, 8, 90) "\"receive\",\"from\":1,\"kind\":\"accept\"" RENEWAL ",\"base\":65793," TTL
                     "}",
        AT(2, 9, 90) "\"send\",\"to\":1,\"kind\":\"accepted\"" RENEWAL "}",
        AT(3, 8, 90) "\"receive\",\"from\":1,\"kind\":\"accept\"" RENEWAL ",\"base\":65793," TTL
                     "}",
        AT(3, 9, 90) "\"send\",\"to\":1,\"kind\":\"accepted\"" RENEWAL "}",
        AT(1, 18, 230) "\"receive\",\"from\":2,\"kind\":\"accepted\"" RENEWAL "}",
        AT(1, 19, 231) "\"receive\",\"from\":3,\"kind\":\"accepted\"" RENEWAL "}",
        AT(1, 20, 231) "\"renewed\"," KEY ",\"token\":65793,\"until\":1200,\"name\":\"a\"}",
    };
    enum { RENEWAL_LINES = sizeof renewal / sizeof renewal[0], REVOKED = 10 };
    for (unsigned i = 0; i < 2; i++) {
        tell();
        leave_out(18); // the Release, and what follows at node 1
        for (unsigned line = 12; line >= 10; line--)
            leave_out(line);
        const unsigned first = count;
        for (unsigned line = 0; line < RENEWAL_LINES; line++)
            snprintf(lines[count++], SIZE, "%s", renewal[line]);
        if (i == 1)
            edit(first + REVOKED, "\"until\":1200", "\"until\":1110");
        expect(i == 0 ? "" : "revoked: renewed beyond the end that was reported");
    }
#undef RENEWAL
#undef REPORTED
}

// A lease that ran out while its node was away, or as it came back, may be told to be lost or not.
static void a_lease_that_ended_in_a_restart_is_told_or_not(void **state)
{
    (void)state;
    static const char restored[] = AT(1, 1, 1110) "\"state-restored\"}";
    static const char lost[] =
        AT(1, 2, 1110) "\"lost\"," KEY ",\"token\":65793,\"until\":1110,\"name\":\"a\"}";
    static const char admitted[] =
        AT(1, 3, 1110) "\"admitted\",\"generation\":1,\"number\":2,\"text\":\"clean restart\"}";
    tell();
    snprintf(lines[10], SIZE, "%s", restored);
    snprintf(lines[11], SIZE, "%s", lost);
    snprintf(lines[12], SIZE, "%s", admitted);
    const unsigned release_heard = 18;
    leave_out(release_heard);
    expect("");
    for (unsigned i = 0; i < 2; i++) { // told to another; told twice
        snprintf(lines[10], SIZE, "%s", restored);
        snprintf(lines[11], SIZE, "%s", lost);
        snprintf(lines[12], SIZE, "%s", i == 0 ? admitted : lost);
        leave_out(release_heard);
        edit(i == 0 ? 11 : 12, i == 0 ? "65793" : "\"n\":2", i == 0 ? "131329" : "\"n\":3");
        expect("to whom it was not granted");
    }
    snprintf(lines[10], SIZE, "%s", restored);
    snprintf(lines[11], SIZE, "%s", admitted);
    edit(11, "\"n\":3", "\"n\":2");
    snprintf(lines[12], SIZE, "%s", AT(1, 3, 1200) "\"serving\"}");
    leave_out(release_heard);
    expect("");
}

static void the_acceptor_is_held_to_its_rules(void **state)
{
    (void)state;
    tell();
    leave_out(14);
    expect("an answer to nothing");
    expect_edited(15, "\"ballot\":65793}", "\"ballot\":65793,\"reported\":65793}",
                  "lacks a field of its kind");
    expect_edited(15, "\"ballot\":65793}",
                  "\"ballot\":65793,\"reported\":65793,\"exclusion_ns\":9}",
                  "A1: a lease is reported that is not recorded");
    // In quarantine it says nothing.
    expect_edited(13, "\"admitted\",\"generation\":1,\"number\":1,\"text\":\"new\"",
                  "\"quarantine\",\"number\":20", "A4: a request is answered in quarantine");
    expect_edited(13, "\"admitted\",\"generation\":1,\"number\":1,\"text\":\"new\"",
                  "\"quarantine\",\"number\":10", "");
    // Rejected though nothing stood against it.
    expect_edited(15, "\"promise\"," KEY ",\"ballot\":65793",
                  "\"rejected\"," KEY
                  ",\"ballot\":65793,\"promised\":65793,\"refused\":\"prepare\"",
                  "A1: a Prepare that is not below");
}

static void the_network_is_held_to_what_was_sent(void **state)
{
    (void)state;
    tell();
    expect_edited(14, TTL, "\"ttl_ns\":999", "nobody has sent");
    expect_edited(18, "65793", "196609", "nobody has sent");
    // An Accepted leaves only after the Release that follows from it has come.
    exchange(16, 18);
    exchange(17, 18);
    edit(17, "\"at\":70", "\"at\":150");
    expect("nobody has sent");
}

// Writes the lines from `from` on into a file.
static void put(FILE *file, unsigned from, unsigned to)
{
    assert_non_null(file);
    for (unsigned i = from; i < to; i++)
        fprintf(file, "%s\n", lines[i]);
    fclose(file);
}

// Node 1 records into a pipe, so that reading it waits; meanwhile `late` more lines of the others come.
static const char *judged_growing(unsigned late)
{
    static char why[512];
    enum { FIRST_OF_OTHERS = 13 };
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char pipe[512];
    char others[512];
    struct lh_recording recording = {0};
    const struct lh_recorded *event;
    snprintf(pipe, sizeof pipe, "%s/pipe-%d", directory, (int)getpid());
    snprintf(others, sizeof others, "%s/others-%d", directory, (int)getpid());
    assert_int_equal(mkfifo(pipe, 0600), 0);
    put(fopen(others, "w"), FIRST_OF_OTHERS, count - late);
    const pid_t writer = fork();
    if (writer == 0) {
        FILE *file = fopen(pipe, "w"); // waits for the reader
        put(fopen(others, "a"), count - late, count);
        put(file, 0, FIRST_OF_OTHERS);
        _exit(0);
    }
    why[0] = '\0';
    assert_true(lh_recording_read(&recording, (const char *[]){pipe, others}, 2, why, sizeof why));
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_int_equal(recording.count, count);
    assert_true(lh_recording_finish(&recording));
    assert_int_equal(lh_recording_judge(&recording, &event, why), why[0] == '\0');
    lh_recording_close(&recording);
    unlink(pipe);
    unlink(others);
    return why;
}

// What is received after node 1's file was read may have been sent after that, too.
static void files_may_grow_while_they_are_read(void **state)
{
    (void)state;
    static const char *const heard[] = {
        AT(3, 6, 80) "\"receive\",\"from\":1,\"kind\":\"prepare\"," KEY ",\"ballot\":196865," TTL
                     "}",
        AT(3, 7, 80) "\"send\",\"to\":1,\"kind\":\"promise\"," KEY
                     ",\"ballot\":196865,\"reported\":65793,\"exclusion_ns\":991}",
    };
    tell();
    snprintf(lines[count++], SIZE, "%s", heard[0]);
    snprintf(lines[count++], SIZE, "%s", heard[1]);
    assert_string_equal(judged_growing(0), "a message that nobody has sent before");
    assert_string_equal(judged_growing(1), "a message that nobody has sent before");
    assert_string_equal(judged_growing(2), "");
    edit(24, "196865", "131329"); // but that node is held to its rules
    assert_string_equal(judged_growing(2), "an answer to nothing that was received");
    tell();
}

static void lines_that_are_none_are_refused(void **state)
{
    (void)state;
    tell();
    expect_edited(2, "\"n\":3", "\"n\":4", "lines are missing");
    expect_edited(2, "\"to\":3", "\"two\":3", "no such field");
    expect_edited(2, "\"send\"", "\"sent\"", "no such event");
    expect_edited(2, "\"prepare\"", "\"prepares\"", "no such message");
    expect_edited(2, "\"to\":3", "\"to\":64", "go up to 63");
    expect_edited(2, "\"node\":1", "\"node\":64", "1 to 63");
    expect_edited(2, "\"node\":1", "\"node\":4294967297", "too great");
    expect_edited(2, "\"at\":110", "\"at\":9223372036854775808", "too great");
    expect_edited(2, "\"ballot\":65793", "\"ballot\":18446744073709551616", "too great");
    expect_edited(2, "\"to\":3,", "", "needs kind and peer");
    expect_edited(2, "000002\"", "00002\"", "32 hexadecimal digits");
    expect_edited(9, "\"token\":65793", "\"number\":65793", "belong together");
    expect_edited(2, "}", "", "not a line");
    expect_edited(2, "}", "}}", "behind the object");
}

static void the_command_wants_files(void **state)
{
    (void)state;
    char trace[] = "trace";
    char check[] = "check";
    char nowhere[] = "/nowhere/1.record";
    char *argv[] = {trace, check, nowhere, NULL};
    assert_int_equal(lh_trace_command(2, argv), 64);
    assert_int_equal(lh_trace_command(3, argv), 64);
    // What has no event in it was not found to be allowed, and an option is no file.
    const struct {
        char argument[16];
        int code;
    } others[] = {{".", 64}, {"/dev/null", 64}, {"--json", 64}, {"--help", 0}, {"-h", 0}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char argument[16];
        memcpy(argument, others[i].argument, sizeof argument);
        argv[2] = argument;
        assert_int_equal(lh_trace_command(3, argv), others[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_and_a_release_are_allowed),
        cmocka_unit_test(a_loss_and_a_late_answer_are_allowed),
        cmocka_unit_test(the_proposer_is_held_to_its_rules),
        cmocka_unit_test(an_end_is_sent_and_told),
        cmocka_unit_test(a_fresh_attempt_is_taken_back),
        cmocka_unit_test(a_revoked_lease_is_not_renewed),
        cmocka_unit_test(a_revoked_lease_ends_as_reported),
        cmocka_unit_test(a_lease_that_ended_in_a_restart_is_told_or_not),
        cmocka_unit_test(the_acceptor_is_held_to_its_rules),
        cmocka_unit_test(the_network_is_held_to_what_was_sent),
        cmocka_unit_test(files_may_grow_while_they_are_read),
        cmocka_unit_test(lines_that_are_none_are_refused),
        cmocka_unit_test(the_command_wants_files),
    };
    return cmocka_run_group_tests_name("check_recording", tests, NULL, NULL);
}
