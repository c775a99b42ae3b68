// What a run is made of. The seed chooses every setting ("swarm": each seed has its own mixture,
// and most leave some faults out, since what is always there hides what happens without it);
// `--faults name=value` overrides single ones; all are printed, so that a run can be read.
#ifndef LH_SIM_SETTINGS_H
#define LH_SIM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// field, name, kind, what it is. A span of 0 after "every" means never.
#define LH_SIM_SETTINGS(X)                                                                         \
    X(nodes, "nodes", COUNT, "members of the cluster")                                             \
    X(clients, "clients", COUNT, "clients")                                                        \
    X(names, "names", COUNT, "leases they ask for")                                                \
    X(max_ttl_ns, "max-ttl", SPAN, "the cluster's max-ttl")                                        \
    X(rate_ppm, "rate-error", CHANCE, "the cluster's rate-error")                                  \
    X(clock_ppm, "clock-rate", CHANCE, "how far true rates are from 1, at most")                   \
    X(extreme, "clock-extreme", CHANCE, "clocks at the very ends of that")                         \
    X(drift_ns, "drift-every", EVERY, "a clock's rate changes")                                    \
    X(idle_forget, "idle-forget", SWITCH, "rule F1")                                               \
    X(one_round_renewal, "one-round-renewal", SWITCH, "rule F3")                                   \
    X(clean_restart, "clean-restart", SWITCH, "rule F4")                                           \
    X(quarantine_ceiling, "quarantine-ceiling", SWITCH, "rule F5")                                 \
    X(delay_ns, "delay", SPAN, "of a datagram, at least")                                          \
    X(jitter_ns, "jitter", SPAN, "more, evenly")                                                   \
    X(loss_ppm, "loss", CHANCE, "of a datagram")                                                   \
    X(duplicate_ppm, "duplicate", CHANCE, "of a datagram")                                         \
    X(late_ppm, "late", CHANCE, "of a datagram: up to twice max-ttl")                              \
    X(held_ppm, "held", CHANCE, "of a datagram or a write: up to two hours")                       \
    X(corrupt_ppm, "corrupt", CHANCE, "of a datagram: damaged, so the seal refuses it")            \
    X(batch_ppm, "batch", CHANCE, "of a turn: its datagrams leave with the next one's")            \
    X(turn_ns, "turn", SPAN, "between two readings of a clock in one turn, at most")               \
    X(client_ns, "client-delay", SPAN, "between client and node, one way, at most")                \
    X(stall_ppm, "client-stall", CHANCE, "of a request or answer: up to twice max-ttl")            \
    X(disk_ns, "disk", SPAN, "of one write")                                                       \
    X(crash_ns, "crash-every", EVERY, "a node is killed")                                          \
    X(stop_ns, "stop-every", EVERY, "a node is stopped in order and started again")                \
    X(wipe_ppm, "wipe", CHANCE, "of a crash: its disk is lost, never of too many at once")         \
    X(reboot_ppm, "reboot", CHANCE, "of a crash: its clock begins anew")                           \
    X(black_ppm, "blackout", CHANCE, "of a crash: every node crashes")                             \
    X(pause_ns, "pause-every", EVERY, "a node stands still while time runs")                       \
    X(suspend_ns, "suspend-every", EVERY, "the same, and what comes meanwhile is lost")            \
    X(cut_ns, "cut-every", EVERY, "a link is cut in one direction, or a node cut off")             \
    X(disk_stall_ns, "disk-stall-every", EVERY, "a disk stands still")                             \
    X(disk_full_ns, "disk-full-every", EVERY, "a disk is full")                                    \
    X(disk_fail_ns, "disk-fail-every", EVERY, "a disk fails: what was written may count or not")   \
    X(span_ns, "span", SPAN, "how long such a thing lasts, at most")                               \
    X(client_crash_ppm, "client-crash", CHANCE, "of what a holder does: it crashes")               \
    X(client_hang_ppm, "client-hang", CHANCE, "it stands still")                                   \
    X(client_move_ppm, "client-move", CHANCE, "it goes to another node")                           \
    X(client_release_ppm, "client-release", CHANCE, "it releases")                                 \
    X(client_rest_ppm, "client-rest", CHANCE, "it renews no more and waits for the end")           \
    X(wait_ppm, "wait", CHANCE, "of an acquisition: it waits in line")

struct lh_sim_settings {
    uint64_t seed;
    int64_t duration_ns; // of the phase with faults
    unsigned weakened;   // LH_SIM_WEAKEN_*: rules that are broken on purpose
#define LH_SIM_FIELD(field, name, kind, help) int64_t field;
    LH_SIM_SETTINGS(LH_SIM_FIELD)
#undef LH_SIM_FIELD
};

#define LH_SIM_SETTINGS_CHANCE_MAX 1000000 // shares are in parts of this
#define LH_SIM_NODES_MAX 7
#define LH_SIM_CLIENTS_MAX 24
#define LH_SIM_NAMES_MAX 8

// The mixture of `seed` for a run of that length. `nodes` 0: the seed's choice.
void lh_sim_settings_draw(struct lh_sim_settings *settings, uint64_t seed, int64_t duration_ns,
                          unsigned nodes);

// What healing leaves of a network, disks, processors and clients slower than any that a seed
// draws.
void lh_sim_settings_heal(struct lh_sim_settings *settings);

// "name=value,name=value": overrides, each once. On failure says what is wrong in `ret_error`.
bool lh_sim_settings_override(struct lh_sim_settings *settings, const char *text, char *ret_error,
                              size_t error_size);

// One line, in the form that is read back.
void lh_sim_settings_print(const struct lh_sim_settings *settings, FILE *file);
void lh_sim_settings_help(FILE *file);

#endif
