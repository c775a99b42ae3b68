// A recording of three real daemons (tests/unit/recording: two were stopped, one was killed with
// -9, one cut off, while eight wrappers contended for two names) is allowed. Then it is altered at
// random, 200 times for each of several seeds: a line is left out and the rest numbered again, two
// neighbours are exchanged, a value is edited. Whatever the judge still allows is explained:
//
// - the shipped role functions, given what the altered recording says was received, at the instants
//   that it names, make exactly the answers, grants and ends that it says were made
//   (recording_replay.h); so it is a behaviour, whatever was altered;
// - and it falls into a class whose condition is checked, which says why nobody notices.
//
// An alteration that is allowed and not explained fails the test. So does a judge that allows
// everything, or that refuses what was recorded.
//
//     test_check_altered SEED [COUNT]    these alterations, each with its verdict
// run-tests: timeout 300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/recording_judge.h"
#include "recording_replay.h"

enum { FILES = 3, LINES = 2048, SIZE = 512, SEEDS = 5, ALTERATIONS = 200 };

enum operation { DROP, SWAP, EDIT, OPERATIONS };

enum excuse {
    UNEXPLAINED,
    UNHEARD,   // a message that was sent and that nobody received
    REPEATED,  // a message that was sent once more besides
    LOST,      // a message that was received, and whose loss would have led to the same
    ELSEWHERE, // another message that was really sent is received instead
    COMMUTES,  // two steps after which the node is in the same state in either order
    MOVED,     // a step at another time, at which it leads to the same
    AT_END,    // the end of a lease, of which nothing follows in this life
    QUIET,     // a longer or shorter quarantine in which nothing is answered
    FOREIGN,   // what no rule of the lease speaks of
    CLASSES,
};

static const char *const class_names[CLASSES] = {
    "unexplained", "unheard",       "repeated",   "lost",  "another one sent",
    "commutes",    "moved in time", "at the end", "quiet", "not of the lease"};

static char text[FILES][LINES][SIZE];
static unsigned counts[FILES];

struct altered {
    enum operation operation;
    unsigned file, line; // of the first line altered
    char field[32];      // that was edited
    char before[SIZE];
};

// --- lines ---

static const char *path_of(unsigned file, bool own)
{
    static char paths[FILES][512];
    char *const path = paths[file];
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    if (own)
        snprintf(path, sizeof paths[file], "tests/unit/recording/%u.record", file + 1);
    else
        snprintf(path, sizeof paths[file], "%s/altered-%d-%u", directory, (int)getpid(), file);
    return path;
}

static void load(void)
{
    for (unsigned f = 0; f < FILES; f++) {
        FILE *file = fopen(path_of(f, true), "r");
        assert_non_null(file);
        counts[f] = 0;
        while (fgets(text[f][counts[f]], SIZE, file) != NULL)
            assert_true(++counts[f] < LINES);
        fclose(file);
    }
}

static uint64_t random_below(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % below;
}

static char *body_of(char *line) // behind node, n and at
{
    return strstr(line, "\"event\"");
}

static unsigned n_of(const char *line)
{
    return (unsigned)strtoul(strstr(line, "\"n\":") + 4, NULL, 10);
}

static void renumber(char *line, unsigned n)
{
    char rest[SIZE];
    char *number = strstr(line, "\"n\":") + 4;
    snprintf(rest, sizeof rest, "%s", strchr(number, ','));
    snprintf(number, SIZE - (size_t)(number - line), "%u%s", n, rest);
}

static void leave_out(unsigned f, unsigned line)
{
    const unsigned n = n_of(text[f][line]);
    memmove(text[f][line], text[f][line + 1], (size_t)(--counts[f] - line) * SIZE);
    for (unsigned i = line; i < counts[f] && n_of(text[f][i]) == n + 1 + i - line; i++)
        renumber(text[f][i], n + i - line);
}

static bool exchange(unsigned f, unsigned line)
{
    char kept[SIZE];
    char *first = body_of(text[f][line]);
    char *second = body_of(text[f][line + 1]);
    if (n_of(text[f][line + 1]) == 1 || strcmp(first, second) == 0)
        return false;
    snprintf(kept, sizeof kept, "%s", first);
    snprintf(first, SIZE - (size_t)(first - text[f][line]), "%s", second);
    snprintf(second, SIZE - (size_t)(second - text[f][line + 1]), "%s", kept);
    return true;
}

// The value of a field and where it ends; NULL without one.
static char *value_of(char *line, const char *field, size_t *ret_size)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "\"%s\":", field);
    char *value = strstr(line, wanted);
    if (value == NULL)
        return NULL;
    value += strlen(wanted);
    *ret_size = *value == '"' ? strcspn(value + 1, "\"") + 2 : strcspn(value, ",}");
    return value;
}

// A field drawn from a line, `at` and what stands behind it.
static bool draw_field(char *line, uint64_t *seed, char ret_field[32])
{
    unsigned fields = 0;
    const char *start = strstr(line, "\"at\"");
    for (const char *at = start; (at = strstr(at, "\":")) != NULL; at += 2)
        fields++;
    unsigned wanted = (unsigned)random_below(seed, fields);
    for (const char *at = start; (at = strstr(at, "\":")) != NULL; at += 2) {
        if (wanted-- != 0)
            continue;
        const char *name = at;
        while (name[-1] != '"')
            name--;
        snprintf(ret_field, 32, "%.*s", (int)(at - name), name);
        return true;
    }
    return false;
}

// A number a little or a lot off, or what the field is in some other line.
static bool edit(unsigned f, unsigned line, uint64_t *seed, char ret_field[32])
{
    size_t size;
    char rest[SIZE];
    char new[SIZE];
    char *from = text[f][line];
    if (!draw_field(from, seed, ret_field))
        return false;
    char *value = value_of(from, ret_field, &size);
    const unsigned way = (unsigned)random_below(seed, 3);
    if (*value != '"' && way < 2) {
        const uint64_t off = way == 0 ? 1 : 1 + random_below(seed, 1000000);
        const uint64_t old = strtoull(value, NULL, 10);
        snprintf(
            new, sizeof new, "%llu",
            (unsigned long long)(random_below(seed, 2) == 0 || old < off ? old + off : old - off));
    } else {
        const unsigned g = (unsigned)random_below(seed, FILES);
        size_t other_size;
        const char *other =
            value_of(text[g][random_below(seed, counts[g])], ret_field, &other_size);
        if (other == NULL || (other_size == size && memcmp(other, value, size) == 0))
            return false;
        snprintf(new, sizeof new, "%.*s", (int)other_size, other);
    }
    snprintf(rest, sizeof rest, "%s", value + size);
    return snprintf(value, SIZE - (size_t)(value - from), "%s%s", new, rest) < SIZE;
}

static struct altered alter(uint64_t *seed)
{
    struct altered made = {.operation = (enum operation)random_below(seed, OPERATIONS)};
    for (bool done = false; !done;) {
        made.file = (unsigned)random_below(seed, FILES);
        made.line = (unsigned)random_below(seed, counts[made.file] - 1);
        snprintf(made.before, SIZE, "%s", text[made.file][made.line]);
        done = made.operation == DROP   ? true
               : made.operation == SWAP ? exchange(made.file, made.line)
                                        : edit(made.file, made.line, seed, made.field);
    }
    if (made.operation == DROP)
        leave_out(made.file, made.line);
    return made;
}

// --- judging ---

static bool read_all(struct lh_recording *recording)
{
    char error[512];
    const char *paths[FILES];
    *recording = (struct lh_recording){0};
    for (unsigned f = 0; f < FILES; f++) {
        FILE *file = fopen(path_of(f, false), "w");
        assert_non_null(file);
        for (unsigned i = 0; i < counts[f]; i++)
            fputs(text[f][i], file);
        fclose(file);
        paths[f] = path_of(f, false);
    }
    const bool good = lh_recording_read(recording, paths, FILES, error, sizeof error);
    for (unsigned f = 0; f < FILES; f++)
        unlink(paths[f]);
    return good && lh_recording_finish(recording);
}

static size_t number_of(const struct lh_recording *recording, unsigned file, unsigned line)
{
    for (size_t i = 0; i < recording->count; i++) {
        if (recording->events[i].file == file && recording->events[i].line == line + 1)
            return i;
    }
    return recording->count;
}

static bool replays(const struct lh_recording *recording)
{
    struct replay_seat seats[REPLAY_NAMES];
    size_t at;
    for (uint32_t node = 1; node <= FILES; node++) {
        if (!replay_node(recording, node, SIZE_MAX, seats, &at))
            return false;
    }
    return true;
}

// --- explaining ---

// Bytes that differ without meaning can only make an explanation fail.
static bool same(const void *one, const void *other, size_t size)
{
    return memcmp(one, other, size) == 0;
}

static unsigned same_messages(const struct lh_recording *recording, const struct lh_recorded *event,
                              enum lh_recorded_what what)
{
    unsigned count = 0;
    for (size_t i = 0; i < recording->count; i++)
        count += recording->events[i].what == what &&
                 memcmp(&recording->events[i].message, &event->message, sizeof event->message) == 0;
    return count;
}

static enum excuse explain_send(const struct lh_recording *altered,
                                const struct lh_recorded *before)
{
    if (same_messages(altered, before, LH_RECORDED_RECEIVE) == 0)
        return UNHEARD;
    return same_messages(altered, before, LH_RECORDED_SEND) != 0 ? REPEATED : UNEXPLAINED;
}

static bool followed_in_life(const struct lh_recording *recording, const struct lh_recorded *event)
{
    for (size_t i = 0; i < recording->count; i++) {
        const struct lh_recorded *other = &recording->events[i];
        if (other->file == event->file && other->line > event->line && other->n > event->n &&
            other->name == event->name && other->what >= LH_RECORDED_GRANTED &&
            other->what <= LH_RECORDED_REVOKED)
            return true;
        if (other->file == event->file && other->line > event->line && other->n == 1)
            return false;
    }
    return false;
}

static enum excuse explain_drop(const struct lh_recording *original,
                                const struct lh_recording *altered,
                                const struct lh_recorded *before)
{
    switch (before->what) {
    case LH_RECORDED_SEND: return explain_send(altered, before);
    case LH_RECORDED_RECEIVE: return LOST; // the replay made everything else without it
    case LH_RECORDED_SERVING:
    case LH_RECORDED_OTHER: return FOREIGN;
    case LH_RECORDED_LOST:
    case LH_RECORDED_GRANTED:
    case LH_RECORDED_RENEWED:
    case LH_RECORDED_RELEASED: return followed_in_life(original, before) ? UNEXPLAINED : AT_END;
    default: return UNEXPLAINED;
    }
}

static enum excuse explain_swap(const struct lh_recording *original,
                                const struct lh_recording *altered,
                                const struct lh_recorded *before, size_t at)
{
    struct replay_seat one[REPLAY_NAMES];
    struct replay_seat other[REPLAY_NAMES];
    size_t ended;
    if (!replay_node(original, before->node, at + 1, one, &ended) ||
        !replay_node(altered, before->node, at + 1, other, &ended))
        return UNEXPLAINED;
    if (same(one, other, sizeof one))
        return COMMUTES;
    return before->at != before[1].at ? MOVED : UNEXPLAINED;
}

static bool is_foreign(const struct lh_recorded *before, const struct lh_recorded *after)
{
    struct lh_recorded copy = *after;
    copy.number = before->number; // of whose start, or how many answers are needed
    copy.text = before->text;
    const bool speaks = before->what != LH_RECORDED_OTHER && before->what != LH_RECORDED_ADMITTED;
    if (before->what == LH_RECORDED_OTHER && after->what == LH_RECORDED_OTHER)
        copy.generation = before->generation; // of a peer
    return !speaks && same(&copy, before, sizeof copy);
}

static enum excuse explain_edit(const struct lh_recording *altered, const struct altered *made,
                                const struct lh_recorded *before, const struct lh_recorded *after)
{
    if (is_foreign(before, after))
        return FOREIGN;
    if (strcmp(made->field, "at") == 0)
        return MOVED;
    if (before->what == LH_RECORDED_QUARANTINE && after->what == LH_RECORDED_QUARANTINE &&
        strcmp(made->field, "number") == 0)
        return QUIET;
    if (before->what == LH_RECORDED_SEND && after->what == LH_RECORDED_SEND)
        return explain_send(altered, before);
    if (before->what == LH_RECORDED_RECEIVE && after->what == LH_RECORDED_RECEIVE)
        return same_messages(altered, after, LH_RECORDED_SEND) != 0 ? ELSEWHERE : UNEXPLAINED;
    if ((before->what == LH_RECORDED_OTHER || before->what == LH_RECORDED_SERVING) &&
        (after->what == LH_RECORDED_OTHER || after->what == LH_RECORDED_SERVING))
        return FOREIGN;
    return UNEXPLAINED;
}

static enum excuse explain(const struct lh_recording *original, const struct lh_recording *altered,
                           const struct altered *made)
{
    const size_t at = number_of(original, made->file, made->line);
    const struct lh_recorded *before = &original->events[at];
    if (!replays(altered))
        return UNEXPLAINED;
    switch (made->operation) {
    case DROP: return explain_drop(original, altered, before);
    case SWAP: return explain_swap(original, altered, before, at);
    default: return explain_edit(altered, made, before, &altered->events[at]);
    }
}

// --- the test ---

static const char *const operation_names[] = {"left out", "exchanged", "edited"};

struct tally {
    unsigned refused;
    unsigned
        alone; // refused because of the clock or of other nodes: this one alone would have made it
    unsigned allowed[OPERATIONS];
    unsigned classes[CLASSES];
};

// One alteration of the recording as it was. Returns false if it is allowed and not explained.
static bool try_one(const struct lh_recording *original, uint64_t *seed, bool loud,
                    struct tally *tally)
{
    static char kept[FILES][LINES][SIZE];
    unsigned kept_counts[FILES];
    struct lh_recording altered;
    const struct lh_recorded *event;
    char why[256] = "is no recording";
    memcpy(kept, text, sizeof text);
    memcpy(kept_counts, counts, sizeof counts);
    const struct altered made = alter(seed);
    const bool readable = read_all(&altered);
    const bool allowed = readable && lh_recording_judge(&altered, &event, why);
    enum excuse class = UNEXPLAINED;
    if (readable)
        class = explain(original, &altered, &made);
    if (allowed) {
        tally->allowed[made.operation]++;
        tally->classes[class]++;
    } else {
        tally->refused++;
        tally->alone += class != UNEXPLAINED;
    }
    if (loud || (allowed && class == UNEXPLAINED))
        print_message("%s%s%s: %s%s\n  %s  %s", operation_names[made.operation],
                      made.field[0] == '\0' ? "" : " ", made.field,
                      allowed ? class_names[class] : why,
                      !allowed && class != UNEXPLAINED ? " (made node by node)" : "", made.before,
                      made.operation == DROP ? "\n" : text[made.file][made.line]);
    lh_recording_close(&altered);
    memcpy(text, kept, sizeof text);
    memcpy(counts, kept_counts, sizeof counts);
    return !allowed || class != UNEXPLAINED;
}

static void tell(const char *what, uint64_t seed, const struct tally *tally)
{
    print_message("# %s %llu: refused %u (%u of them made node by node); left out %u, exchanged "
                  "%u, edited %u allowed:",
                  what, (unsigned long long)seed, tally->refused, tally->alone,
                  tally->allowed[DROP], tally->allowed[SWAP], tally->allowed[EDIT]);
    for (unsigned i = 0; i < CLASSES; i++)
        print_message(" %s %u%s", class_names[i], tally->classes[i], i + 1 < CLASSES ? "," : "\n");
}

static void the_recording_is_allowed_and_replayed(void **state)
{
    (void)state;
    struct lh_recording recording;
    const struct lh_recorded *event;
    char why[256];
    load();
    assert_true(read_all(&recording));
    assert_true(lh_recording_judge(&recording, &event, why));
    assert_true(replays(&recording));
    lh_recording_close(&recording);
}

static void what_is_allowed_is_explained(void **state)
{
    (void)state;
    struct lh_recording original;
    struct tally all = {0};
    unsigned unexplained = 0;
    load();
    assert_true(read_all(&original));
    for (uint64_t first = 1; first <= SEEDS; first++) {
        struct tally tally = {0};
        uint64_t seed = first;
        for (unsigned i = 0; i < ALTERATIONS; i++)
            unexplained += !try_one(&original, &seed, false, &tally);
        tell("seed", first, &tally);
        all.refused += tally.refused;
        all.alone += tally.alone;
    }
    lh_recording_close(&original);
    assert_int_equal(unexplained, 0);
    assert_true(all.refused > SEEDS * ALTERATIONS / 2);
    assert_true(all.alone < all.refused / 4); // an explanation is not had for nothing
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recording_is_allowed_and_replayed),
        cmocka_unit_test(what_is_allowed_is_explained),
    };
    if (argc > 1) {
        struct lh_recording original;
        struct tally tally = {0};
        uint64_t seed = strtoull(argv[1], NULL, 10);
        const unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : ALTERATIONS;
        load();
        if (!read_all(&original))
            return 1;
        for (unsigned i = 0; i < count; i++)
            try_one(&original, &seed, true, &tally);
        tell("seed", strtoull(argv[1], NULL, 10), &tally);
        lh_recording_close(&original);
        return tally.classes[UNEXPLAINED] != 0;
    }
    return cmocka_run_group_tests_name("check_altered", tests, NULL, NULL);
}
