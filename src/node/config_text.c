// What the configuration says of itself: --help and --config-test. See config.h.
#include "node/config.h"

#include <inttypes.h>

#include "node/config_key.h"

static const char member_help[] = "a member and its address: IPv4, [IPv6] or host name, port 7741 "
                                  "unless given; in the file: address, in a section [node N]";

static const char *placeholder(enum lh_config_type type)
{
    switch (type) {
    case LH_CONFIG_NUMBER: return "NUMBER";
    case LH_CONFIG_MODE: return "MODE";
    case LH_CONFIG_PATH: return "PATH";
    case LH_CONFIG_LISTEN: return "ADDRESS";
    case LH_CONFIG_DURATION: return "DURATION";
    case LH_CONFIG_RATE: return "PERCENT";
    case LH_CONFIG_SWITCH: return "on|off";
    case LH_CONFIG_LEVEL: return "LEVEL";
    }
    return "VALUE";
}

void lh_config_write_help(FILE *out)
{
    fputs("usage: leaseholdd [--config FILE] [--KEY VALUE]...\n\n"
          "  --config FILE       ini file; every key below is also a line `KEY = VALUE` of it,\n"
          "                      and flags win\n"
          "  --config-test       check the configuration, print the timing it means, and exit\n"
          "  --help, --version   print this, or the version, and exit\n\n",
          out);
    for (size_t i = 0; i < LH_CONFIG_KEYS; i++) {
        const struct lh_config_key *key = &lh_config_keys[i];
        fprintf(out, "  --%s %s\n        %s\n        %s", key->name, placeholder(key->type),
                key->help, key->allowed);
        if (key->initial == NULL)
            fputs("; required\n", out);
        else if (key->initial[0] == '\0')
            fputs("; default: off\n", out);
        else
            fprintf(out, "; default: %s\n", key->initial);
    }
    fprintf(out, "  --member N=ADDRESS\n        %s\n", member_help);
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

void lh_config_write_test(FILE *out, const struct lh_node_config *config)
{
    const struct lh_timing timing = config->timing;
    const struct lh_duration exclusion = lh_timing_exclusion(timing, timing.max_ttl);
    const struct lh_duration quarantine = lh_timing_quarantine(timing, timing.max_ttl);
    char address[LH_ADDRESS_TEXT_MAX];
    fprintf(out, "node %u of %zu, quorum %zu, member epoch %u\n", config->node,
            config->member_count, config->member_count / 2 + 1, config->member_epoch);
    for (size_t i = 0; i < config->member_count; i++) {
        lh_address_format(&config->members[i].address, address);
        fprintf(out, "node %u at %s\n", config->members[i].node, address);
    }
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
