// What a daemon finds in its recording when it starts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/record.h"

#define LINE "{\"node\":1,\"n\":1,\"at\":2,\"event\":\"serving\"}\n"

// The file had `before`; the daemon starts and records one event, or refuses to.
static void expect(const char *before, const char *after)
{
    const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char path[512];
    char found[8192];
    struct lh_record record;
    struct lh_error error;
    snprintf(path, sizeof path, "%s/record-%d", directory, (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(before, file);
    fclose(file);
    if (lh_record_open(&record, path, 1, &error)) {
        lh_record_event(&record, (struct lh_instant){2},
                        &(struct lh_event){.kind = LH_EVENT_SERVING});
        lh_record_close(&record);
    } else {
        assert_non_null(strstr(error.text, "is no recording: name another file"));
    }
    file = fopen(path, "r");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    assert_string_equal(found, after);
}

static void whole_lines_stay(void **state)
{
    (void)state;
    expect("", LINE);
    expect(LINE LINE, LINE LINE LINE);
}

static void the_line_that_a_killed_daemon_had_begun_goes(void **state)
{
    (void)state;
    expect("{", LINE);
    expect(LINE "{\"node\":1,\"n\":2,\"at\":9,\"event\":\"serving\"}", LINE LINE);
    char before[3 * LH_RECORDER_LINE_MAX / 2] = "";
    char after[sizeof before + sizeof LINE];
    while (strlen(before) < LH_RECORDER_LINE_MAX)
        strcat(before, LINE);
    snprintf(after, sizeof after, "%s%s", before, LINE);
    strcat(before, "{\"node\":");
    expect(before, after);
}

static void what_is_no_line_of_ours_stays(void **state)
{
    (void)state;
    expect(LINE "{ }", LINE "{ }" LINE);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    expect("a secret", "a secret");
    expect("{\"nodes\"", "{\"nodes\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_stay),
        cmocka_unit_test(the_line_that_a_killed_daemon_had_begun_goes),
        cmocka_unit_test(what_is_no_line_of_ours_stays),
        cmocka_unit_test(what_is_no_recording_is_refused),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
