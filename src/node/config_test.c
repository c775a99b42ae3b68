// --config-test: what a daemon would find if it were started now, and the timing that the
// configuration means. Nothing is made or changed. See config.h.
#include "node/config.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/history.h"
#include "node/record.h"
#include "node/state.h"
#include "os/keyring.h"

// What was found, one line each, and whether a daemon could start.
struct findings {
    bool good;
    struct lh_error keyring;
    struct lh_error socket;
    struct lh_error data_dir;
    struct lh_error state_dir, record; // empty where the configuration names none
};

static bool look_at_keyring(const char *path, struct lh_keyring *ret_keyring,
                            struct findings *findings)
{
    struct lh_error warning = {""};
    if (!lh_keyring_load(path, ret_keyring, &warning, &findings->keyring)) {
        findings->good = false;
        return false;
    }
    lh_error_set(&findings->keyring, "%s, %zu key%s%s%s", path, ret_keyring->key_count,
                 ret_keyring->key_count == 1 ? "" : "s", warning.text[0] != '\0' ? "; " : "",
                 warning.text);
    return true;
}

// `directory`, which is to be for `path`. One that the unit makes may be missing. True if it is
// there and good.
static bool look_at_directory(const char *path, const char *directory, bool made_by_unit,
                              struct findings *findings, struct lh_error *ret_line)
{
    struct stat status;
    const char *wrong = NULL;
    const bool found = stat(directory, &status) == 0;
    if (!found && errno == ENOENT && made_by_unit) {
        lh_error_set(ret_line, "%s; there is no %s: leaseholdd.service makes it, or make it", path,
                     directory);
        return false;
    }
    if (found && !S_ISDIR(status.st_mode))
        wrong = "not a directory";
    else if (!found || access(directory, W_OK | X_OK) != 0)
        wrong = strerror(errno);
    findings->good = findings->good && wrong == NULL;
    lh_error_set(ret_line, "%s%s%s%s%s", path, wrong != NULL ? "; " : "",
                 wrong != NULL ? directory : "", wrong != NULL ? ": " : "",
                 wrong != NULL ? wrong : "");
    return wrong == NULL;
}

static void look_at_history(const struct lh_node_config *config, const struct lh_keyring *keyring,
                            struct findings *findings)
{
    struct lh_error reason;
    if (!lh_history_look(config, keyring, &reason))
        findings->good = false;
    if (reason.text[0] != '\0')
        lh_error_set(&findings->data_dir, "%s; %s", config->data_dir, reason.text);
}

// A daemon starts without one, and says the same.
static void look_at_state_dir(const struct lh_node_config *config, struct lh_error *ret_line)
{
    struct lh_error warning;
    if (lh_state_check(config, &warning))
        lh_error_set(ret_line, "%s", config->state_dir);
    else
        lh_error_set(ret_line, "%s; warning: %s", config->state_dir, warning.text);
}

static void look_at_record(const struct lh_node_config *config, struct findings *findings)
{
    char directory[LH_CONFIG_PATH_BYTES];
    struct lh_error *line = &findings->record;
    if (!lh_record_look(config->record, line)) {
        findings->good = false;
    } else if (access(config->record, F_OK) == 0) {
        lh_error_set(line, "%s", config->record);
    } else {
        memcpy(directory, config->record, sizeof directory);
        look_at_directory(config->record, dirname(directory), false, findings, line);
    }
}

static void look(const struct lh_node_config *config, struct findings *ret_findings)
{
    char socket[LH_CONFIG_PATH_BYTES];
    struct stat status;
    struct lh_keyring keyring;
    *ret_findings = (struct findings){.good = true};
    const bool has_keyring = look_at_keyring(config->keyring, &keyring, ret_findings);
    memcpy(socket, config->socket, sizeof socket);
    look_at_directory(config->socket, dirname(socket), true, ret_findings, &ret_findings->socket);
    if (lstat(config->socket, &status) == 0 && !S_ISSOCK(status.st_mode)) {
        ret_findings->good = false;
        lh_error_set(&ret_findings->socket,
                     "%s exists and is not a socket: remove it, or name another", config->socket);
    }
    if (look_at_directory(config->data_dir, config->data_dir, true, ret_findings,
                          &ret_findings->data_dir) &&
        has_keyring)
        look_at_history(config, &keyring, ret_findings);
    lh_keyring_wipe(&keyring);
    if (config->clean_restart && config->state_dir[0] != '\0')
        look_at_state_dir(config, &ret_findings->state_dir);
    if (config->record[0] != '\0')
        look_at_record(config, ret_findings);
}

// For people, rounded up to a millisecond.
static void write_duration(FILE *out, const char *name, struct lh_duration duration)
{
    int64_t ms = lh_floor_ms(duration) + (duration.ns % LH_NS_PER_MS != 0);
    if (ms % 1000 == 0)
        fprintf(out, "%-11s %" PRId64 "s\n", name, ms / 1000);
    else
        fprintf(out, "%-11s %" PRId64 ".%03" PRId64 "s\n", name, ms / 1000, ms % 1000);
}

static void write_inequality(FILE *out, const char *name, struct lh_timing timing,
                             struct lh_duration cover)
{
    // At most an hour and 10 %: both products fit.
    const int64_t left = timing.max_ttl.ns * ((int64_t)LH_PPM + timing.rate_ppm);
    const int64_t right = cover.ns * ((int64_t)LH_PPM - timing.rate_ppm);
    fprintf(out,
            "D_P*(1+rho) <= %s*(1-rho): %" PRId64 ".%06" PRId64 " ns <= %" PRId64 ".%06" PRId64
            " ns: %s\n",
            name, left / LH_PPM, left % LH_PPM, right / LH_PPM, right % LH_PPM,
            lh_timing_covers(timing, timing.max_ttl, cover) ? "holds" : "BROKEN");
}

static void write_timing(FILE *out, struct lh_timing timing)
{
    const struct lh_duration exclusion = lh_timing_exclusion(timing, timing.max_ttl);
    const struct lh_duration quarantine = lh_timing_quarantine(timing, timing.max_ttl);
    fprintf(out, "rho   %" PRIu32 ".%04" PRIu32 " %% (rate-error)\n", timing.rate_ppm / 10000,
            timing.rate_ppm % 10000);
    fprintf(out, "D_P   %15" PRId64 " ns  the longest lease an owner may believe in (max-ttl)\n",
            timing.max_ttl.ns);
    fprintf(out, "D_A   %15" PRId64 " ns  how long an acceptor refuses others for it\n",
            exclusion.ns);
    fprintf(out, "Q     %15" PRId64 " ns  how long a node that lost its memory is silent\n",
            quarantine.ns);
    fprintf(out, "guard %15" PRId64 " ns  D_A - D_P\n", exclusion.ns - timing.max_ttl.ns);
    write_inequality(out, "D_A", timing, exclusion);
    write_inequality(out, "Q", timing, quarantine);
}

bool lh_config_test(FILE *out, const struct lh_node_config *config)
{
    const struct lh_timing timing = config->timing;
    struct findings findings;
    char address[LH_ADDRESS_TEXT_MAX];
    look(config, &findings);
    fprintf(out, "%s: node %u of %zu, quorum %zu, member epoch %u\n",
            findings.good ? "OK" : "NOT OK", config->node, config->member_count,
            config->member_count / 2 + 1, config->member_epoch);
    write_duration(out, "max-ttl", timing.max_ttl);
    write_duration(out, "quarantine", lh_timing_quarantine(timing, timing.max_ttl));
    fprintf(out, "%-11s %s\n", "keyring", findings.keyring.text);
    fprintf(out, "%-11s %s\n", "socket", findings.socket.text);
    fprintf(out, "%-11s %s\n", "data-dir", findings.data_dir.text);
    if (findings.state_dir.text[0] != '\0')
        fprintf(out, "%-11s %s\n", "state-dir", findings.state_dir.text);
    if (findings.record.text[0] != '\0')
        fprintf(out, "%-11s %s\n", "record", findings.record.text);
    fputc('\n', out);
    for (size_t i = 0; i < config->member_count; i++) {
        lh_address_format(&config->members[i].address, address);
        fprintf(out, "node %u at %s\n", config->members[i].node, address);
    }
    write_timing(out, timing);
    return findings.good;
}
