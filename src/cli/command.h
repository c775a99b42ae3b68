// The subcommands of leasehold. Each has a file of its own named after it; the one table of them is
// in cli.c. A command gets argv beginning with its own name and returns the exit code (exit.h).
#ifndef LH_CLI_COMMAND_H
#define LH_CLI_COMMAND_H

struct lh_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; // one line for the help; NULL: not shown
};

int lh_acquire_command(int argc, char **argv);
int lh_renew_command(int argc, char **argv);
int lh_release_command(int argc, char **argv);
int lh_revoke_command(int argc, char **argv);
int lh_get_command(int argc, char **argv);
int lh_list_command(int argc, char **argv);
int lh_watch_command(int argc, char **argv);
int lh_run_command(int argc, char **argv);
int lh_status_command(int argc, char **argv);
int lh_keygen_command(int argc, char **argv);
int lh_dev_command(int argc, char **argv);
int lh_demo_command(int argc, char **argv);
int lh_guard_command(int argc, char **argv);
int lh_witness_command(int argc, char **argv);
int lh_demo_beat_command(int argc, char **argv);
int lh_demo_check_command(int argc, char **argv);

// The whole program; `version` as it is printed.
int lh_cli_main(const char *version, int argc, char **argv);

#endif
