// leaseholdd: reads its configuration, then runs the daemon or does what it was asked instead.
#include <stdio.h>
#include <string.h>

#include "node/config.h"
#include "node/daemon.h"
#include "os/file.h"

#ifndef LH_VERSION
#define LH_VERSION "unknown"
#endif

static void write_usage(FILE *out)
{
    fputs("Usage: leaseholdd [--config FILE] [--KEY VALUE]...\n"
          "       leaseholdd set-members [--config FILE] [--KEY VALUE]...\n\n"
          "One daemon of a Leasehold cell. set-members gives a stopped node's data directory the\n"
          "members, member-epoch, max-ttl and rate-error of the configuration.\n\n",
          out);
    lh_config_write_help(out);
}

static int complain(const struct lh_error *error, int code)
{
    fprintf(stderr, "leaseholdd: %s\n", error->text);
    return code;
}

int main(int count, char **arguments)
{
    struct lh_node_config config;
    struct lh_error error = {""};
    enum lh_config_action action = LH_CONFIG_RUN;
    if (!lh_file_fill_standard())
        return 1; // and nowhere to say it
    bool set_members = count > 1 && strcmp(arguments[1], "set-members") == 0;
    int skip = set_members ? 2 : 1;
    if (!set_members && count > 1 && arguments[1][0] != '-') {
        lh_error_set(&error,
                     "there is no command '%s', only set-members; settings are flags, --KEY VALUE, "
                     "and `leaseholdd --help` lists them",
                     arguments[1]);
        return complain(&error, LH_DAEMON_EXIT_USAGE);
    }
    if (!lh_config_read(count - skip, arguments + skip, &config, &action, &error))
        return complain(&error, LH_DAEMON_EXIT_USAGE);
    switch (action) {
    case LH_CONFIG_HELP: write_usage(stdout); return 0;
    case LH_CONFIG_VERSION: puts("leaseholdd " LH_VERSION); return 0;
    case LH_CONFIG_TEST: return lh_config_test(stdout, &config) ? 0 : LH_DAEMON_EXIT_USAGE;
    case LH_CONFIG_RUN: break;
    }
    if (set_members) {
        if (!lh_daemon_set_members(&config, &error))
            return complain(&error, 1);
        printf(
            "%s: members, member-epoch %u, max-ttl and rate-error are set; start the node when all "
            "are done\n",
            config.data_dir, config.member_epoch);
        return 0;
    }
    int code = lh_daemon_run(&config, LH_VERSION, &error);
    return code == 0 || error.text[0] == '\0' ? code : complain(&error, code);
}
