// `leasehold dev`: a cluster to try things on, in the foreground of a terminal, gone on Ctrl-C.
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cluster.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/options.h"

static void print_line(void *context, int id, const char *text)
{
    (void)context;
    printf("node%d | %s\n", id, text);
    fflush(stdout);
}

// A word for the shell that the lines are pasted into: quoted where it must be.
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-:,+@%";
    bool quoted = word[strspn(word, plain)] != '\0';
    printf("%s", quoted ? "'" : "");
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            printf("'\\'"); // ends the quotes, says one, and begins them anew
        putchar(*word);
    }
    printf("%s", quoted ? "'" : "");
}

static void print_welcome(const struct lh_cluster *cluster)
{
    printf("%d node%s in %s, max-ttl 3s. Try, in another terminal:\n\n", cluster->count,
           cluster->count == 1 ? "" : "s", cluster->directory);
    printf("  export LEASEHOLD_CONNECT=");
    for (int i = 0; i < cluster->count; i++) {
        printf("%sunix:", i ? "," : "");
        print_word(cluster->nodes[i].socket);
    }
    printf("\n  leasehold status\n");
    printf("  leasehold run hello -- sh -c 'echo token $LEASEHOLD_TOKEN; sleep 60'\n");
    printf("  redis-cli -s ");
    print_word(cluster->nodes[0].socket);
    printf(" LEASE LIST\n");
    printf("  redis-cli -p %u SUBSCRIBE lease:hello\n\n", (unsigned)cluster->nodes[0].client_port);
    for (int i = 0; i < cluster->count; i++)
        printf("node%d | pid %ld, unix:%s, tcp:127.0.0.1:%u\n", cluster->nodes[i].daemon.id,
               (long)cluster->nodes[i].daemon.pid, cluster->nodes[i].socket,
               (unsigned)cluster->nodes[i].client_port);
    printf("Ctrl-C ends them and removes the directory.\n\n");
    fflush(stdout);
}

static void note_ended(struct lh_cluster *cluster)
{
    for (int i = 0; i < cluster->count; i++) {
        struct lh_cluster_node *node = &cluster->nodes[i];
        int status;
        if (!lh_process_reap(&node->daemon, &status))
            continue;
        lh_process_read(&node->daemon, print_line, NULL);
        if (WIFSIGNALED(status))
            printf("node%d | ended by signal %d", node->daemon.id, WTERMSIG(status));
        else
            printf("node%d | ended with code %d", node->daemon.id, WEXITSTATUS(status));
        printf("; start it again: ");
        print_word(cluster->daemon);
        printf(" --config ");
        print_word(node->config);
        printf("\n");
        fflush(stdout);
    }
}

// Passes log lines on until a signal asks for the end.
static void watch(struct lh_cluster *cluster, int signal_fd)
{
    for (;;) {
        struct pollfd wanted[LH_CLUSTER_NODES_MOST + 1] = {{.fd = signal_fd, .events = POLLIN}};
        for (int i = 0; i < cluster->count; i++)
            wanted[i + 1] =
                (struct pollfd){.fd = cluster->nodes[i].daemon.output, .events = POLLIN};
        poll(wanted, (nfds_t)cluster->count + 1, -1);
        for (int i = 0; i < cluster->count; i++)
            lh_process_read(&cluster->nodes[i].daemon, print_line, NULL);
        struct signalfd_siginfo info;
        while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo != SIGCHLD)
                return;
        note_ended(cluster);
    }
}

static int run_cluster(struct lh_cluster *cluster, int signal_fd)
{
    struct lh_error error;
    for (int i = 0; i < cluster->count; i++) {
        if (!lh_cluster_start(cluster, &cluster->nodes[i], &error)) {
            fprintf(stderr, "leasehold dev: %s\n", error.text);
            return LH_EXIT_FAILED;
        }
    }
    print_welcome(cluster);
    watch(cluster, signal_fd);
    return LH_EXIT_OK;
}

int lh_dev_command(int argc, char **argv)
{
    static struct lh_cluster cluster;
    struct lh_parsed parsed;
    struct lh_error error;
    const char *directory = NULL;
    int64_t nodes = 3;
    int exit_code;
    const struct lh_option options[] = {
        {"nodes", LH_OPTION_NUMBER, &nodes, "N", "1, or 3 to 7 (default 3)"},
        {"dir", LH_OPTION_TEXT, &directory, "DIR",
         "an empty or new directory for their files (default: a temporary one)"},
    };
    const struct lh_syntax syntax = {
        .command = "dev",
        .arguments = "[--nodes N] [--dir DIR]",
        .about =
            "Starts a cluster on this machine's loopback, in the foreground, with short leases\n"
            "(max-ttl 3s), and prints how to talk to it. Ctrl-C ends it and removes its files.",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
    };
    if (!lh_options_parse(&syntax, argc, argv, &parsed, &exit_code))
        return exit_code;
    if (nodes != 1 && (nodes < 3 || nodes > LH_CLUSTER_NODES_MOST)) {
        fprintf(stderr, "leasehold dev: %" PRId64 " nodes are refused: start 1, or 3 to %d\n",
                nodes, LH_CLUSTER_NODES_MOST);
        return LH_EXIT_USAGE;
    }
    exit_code = LH_EXIT_FAILED;
    int signal_fd = lh_cluster_open_signals(&error);
    if (signal_fd >= 0 && lh_cluster_open((int)nodes, directory, "3s", &cluster, &error)) {
        exit_code = run_cluster(&cluster, signal_fd);
        lh_cluster_close(&cluster);
    } else {
        fprintf(stderr, "leasehold dev: %s\n", error.text);
    }
    if (signal_fd >= 0)
        close(signal_fd);
    return exit_code;
}
