// The daemon: see daemon.h.
#include "node/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "host/driver.h"
#include "node/clients.h"
#include "node/events.h"
#include "node/history.h"
#include "node/log.h"
#include "node/notify.h"
#include "node/record.h"
#include "node/state.h"
#include "node/store.h"
#include "node/turn.h"
#include "node/udp.h"
#include "os/clock.h"
#include "os/file.h"

#define EXIT_TROUBLE 1
#define STORE_PATIENCE_MS 2000
#define RELOAD_LOG_EVERY_MS 1000
#define OWN_FILES 32 // open at once beside those of clients: 20, a keyring, looking up names

struct daemon {
    uv_loop_t loop;
    struct lh_node_config *config;
    struct lh_keyring keyring;
    struct lh_udp udp;
    struct lh_clients clients;
    struct lh_store *store;
    struct lh_record record;
    struct lh_events events;
    struct lh_driver *driver;
    void *memory;
    size_t memory_bytes;
    int timer_file;
    struct lh_instant armed;
    uv_poll_t timer;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    uv_signal_t signals[3];
    struct lh_log_limit reloaded_limit, kept_limit, open_limit;
    uint64_t log_lines_dropped; // as of the last turn
    struct lh_turn turn;
    bool stopping;
    int exit_code;
};

// --- the world below the driver ---

static struct lh_instant world_now(void *context)
{
    struct daemon *daemon = context;
    struct lh_instant now = lh_clock_now();
    lh_turn_read(&daemon->turn, now);
    return now;
}

static void world_send(void *context, uint8_t to, struct lh_slice bytes)
{
    struct daemon *daemon = context;
    lh_record_flush(&daemon->record);
    lh_udp_send(&daemon->udp, to, lh_host_generation(lh_driver_host(daemon->driver)), bytes);
}

static void world_persist(void *context, uint64_t number, const struct lh_host_pair *pairs,
                          unsigned count)
{
    struct daemon *daemon = context;
    struct lh_store_pair stored[LH_HOST_PAIRS_MAX];
    for (unsigned i = 0; i < count; i++)
        stored[i] =
            (struct lh_store_pair){.key = lh_slice_of(pairs[i].key, pairs[i].key_size),
                                   .value = lh_slice_of(pairs[i].value, pairs[i].value_size)};
    if (lh_store_write(daemon->store, number, stored, count))
        return;
    // Whatever waits for this write would wait for ever, and the disk has been stuck for hours.
    lh_log_event(LH_LOG_ERROR, "store-full");
    daemon->exit_code = EXIT_TROUBLE;
    uv_stop(&daemon->loop);
}

static void world_reply(void *context, uint32_t session, struct lh_slice bytes, bool close)
{
    struct daemon *daemon = context;
    lh_clients_reply(&daemon->clients, session, bytes, close);
}

static void hash_name(void *context, struct lh_slice name, uint8_t ret_hash[16])
{
    lh_name_hash(context, name, ret_hash);
}

static void world_event(void *context, struct lh_instant now, const struct lh_event *event)
{
    struct daemon *daemon = context;
    lh_events_add(&daemon->events, event);
    lh_record_event(&daemon->record, now, event);
}

static void world_trace(void *context, struct lh_instant now, const struct lh_trace *trace)
{
    struct daemon *daemon = context;
    lh_record_message(&daemon->record, now, trace);
}

// --- the turn ---

static void flush(struct daemon *daemon)
{
    lh_record_flush(&daemon->record); // before anybody hears of it
    lh_driver_flush(daemon->driver);
    lh_clients_flush(&daemon->clients);
    lh_events_write(&daemon->events);
}

// A timer that wakes too early costs a turn, setting it anew costs a system call: it is left alone unless
// something is due earlier.
static void arm(struct daemon *daemon)
{
    struct lh_instant at = lh_driver_deadline(daemon->driver);
    if (!lh_before(at, daemon->armed))
        return;
    daemon->armed = at;
    int64_t ns = at.ns > 0 ? at.ns : 1; // zero would disarm
    const struct itimerspec spec = {
        .it_value = {.tv_sec = ns / LH_NS_PER_S, .tv_nsec = ns % LH_NS_PER_S}};
    if (timerfd_settime(daemon->timer_file, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
        abort(); // its arguments are ours
}

static void on_before_sleep(uv_prepare_t *prepare)
{
    struct daemon *daemon = prepare->data;
    flush(daemon);
    arm(daemon);
    daemon->log_lines_dropped = lh_log_dropped();
    lh_turn_end(&daemon->turn, lh_clock_now());
}

static void on_after_sleep(uv_check_t *check)
{
    flush(check->data);
}

static void on_timer(uv_poll_t *poll, int status, int events)
{
    struct daemon *daemon = poll->data;
    uint64_t expirations = 0;
    (void)status;
    (void)events;
    if (read(daemon->timer_file, &expirations, sizeof expirations) < 0 && errno == EAGAIN)
        return;
    daemon->armed = LH_NEVER;
    lh_driver_timer(daemon->driver);
}

static void on_datagram(void *context, uint8_t node, uint8_t generation, struct lh_slice bytes)
{
    struct daemon *daemon = context;
    lh_driver_datagram(daemon->driver, node, generation, bytes);
}

static void on_persisted(void *context, uint64_t number)
{
    struct daemon *daemon = context;
    lh_driver_persisted(daemon->driver, number);
}

static void on_store_trouble(void *context, const char *reason)
{
    (void)context;
    if (reason != NULL)
        lh_log(LH_LOG_ERROR, "store-trouble", "reason=%s", reason);
    else
        lh_log_event(LH_LOG_INFO, "store-recovered");
}

// --- signals ---

// Whoever sends HUP wants to see what came of it, whoever sends it without end must not fill a disk.
static bool is_due(struct daemon *daemon, struct lh_log_limit *limit, uint64_t *ret_missed)
{
    return lh_log_every(limit, world_now(daemon), lh_ms(RELOAD_LOG_EVERY_MS), ret_missed);
}

static void reload(struct daemon *daemon)
{
    uint64_t missed = 0;
    struct lh_error warning = {""};
    struct lh_error error;
    lh_notify_reloading();
    if (lh_keyring_reload(daemon->config->keyring, &daemon->keyring, &warning, &error)) {
        lh_udp_rekey(&daemon->udp, &daemon->keyring);
        if (is_due(daemon, &daemon->reloaded_limit, &missed))
            lh_log(LH_LOG_INFO, "keyring-reloaded", "keys=%zu also=%llu", daemon->keyring.key_count,
                   (unsigned long long)missed);
    } else if (is_due(daemon, &daemon->kept_limit, &missed)) {
        lh_log(LH_LOG_ERROR, "keyring-kept", "reason=%s also=%llu", error.text,
               (unsigned long long)missed);
    }
    if (warning.text[0] != '\0' && is_due(daemon, &daemon->open_limit, &missed))
        lh_log(LH_LOG_WARN, "keyring-open", "reason=%s also=%llu", warning.text,
               (unsigned long long)missed);
    lh_notify_ready();
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *daemon = handle->data;
    if (number == SIGHUP) {
        reload(daemon);
        return;
    }
    lh_log(LH_LOG_INFO, "stopping", "signal=%d", number);
    lh_notify_stopping();
    daemon->stopping = true;
    uv_stop(&daemon->loop);
}

// --- start ---

static bool make_driver(struct daemon *daemon, const char *version, struct lh_error *error)
{
    const struct lh_node_config *config = daemon->config;
    struct lh_host_config host = lh_history_identity(config, &daemon->keyring);
    host.max_leases = config->max_leases;
    host.max_clients = config->max_clients;
    host.idle_forget = config->idle_forget;
    host.one_round_renewal = config->one_round_renewal;
    host.quarantine_ceiling = config->quarantine_ceiling;
    host.hash_name = hash_name;
    host.hash_context = &daemon->keyring;
    host.version = lh_slice_of_string(version);
    if (getrandom(host.entropy, sizeof host.entropy, 0) != sizeof host.entropy)
        return lh_error_set(error, "no randomness from the kernel: %s", strerror(errno));
    struct lh_world world = {
        .context = daemon,
        .now = world_now,
        .send = world_send,
        .persist = world_persist,
        .reply = world_reply,
        .event = world_event,
        .trace = daemon->record.file != NULL ? world_trace : NULL,
    };
    // Zeroed, and paid for only where it is touched.
    daemon->memory_bytes = lh_driver_size(&host);
    daemon->memory = mmap(NULL, daemon->memory_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (daemon->memory == MAP_FAILED)
        return lh_error_set(error, "no address space for max-leases = %u (%zu bytes): %s",
                            config->max_leases, daemon->memory_bytes, strerror(errno));
    daemon->driver = lh_driver_init(daemon->memory, &host, &world);
    return true;
}

// F4. Without it, or where it does not fit, the quarantine is served.
static void restore(struct daemon *daemon)
{
    struct lh_error error = {""};
    if (!daemon->config->clean_restart)
        return;
    if (!lh_state_restore(daemon->config, lh_driver_host(daemon->driver), &error) &&
        error.text[0] != '\0')
        lh_log(LH_LOG_WARN, "state-not-restored", "reason=%s", error.text);
    if (!lh_state_check(daemon->config, &error))
        lh_log(LH_LOG_WARN, "state-not-saveable", "reason=%s", error.text);
}

static bool load_store(struct daemon *daemon, struct lh_error *error)
{
    const struct lh_host_config identity = lh_history_identity(daemon->config, &daemon->keyring);
    struct lh_history history = {.identity = &identity, .host = lh_driver_host(daemon->driver)};
    if (!lh_store_open(daemon->config->data_dir, &daemon->store, error) ||
        !lh_store_each(daemon->store, lh_history_load, &history, error))
        return false;
    if (history.refused) {
        daemon->exit_code = LH_DAEMON_EXIT_USAGE;
        return lh_error_set(error, "data-dir = %s: %s", daemon->config->data_dir,
                            history.reason.text);
    }
    restore(daemon);
    struct lh_store_events events = {
        .context = daemon, .persisted = on_persisted, .trouble = on_store_trouble};
    return lh_store_start(daemon->store, &daemon->loop, events, error);
}

static bool load_keyring(struct daemon *daemon, struct lh_error *error)
{
    struct lh_error warning = {""};
    if (!lh_keyring_load(daemon->config->keyring, &daemon->keyring, &warning, error)) {
        daemon->exit_code = LH_DAEMON_EXIT_USAGE;
        return false;
    }
    if (warning.text[0] != '\0')
        lh_log(LH_LOG_WARN, "keyring-open", "reason=%s", warning.text);
    return true;
}

static bool open_record(struct daemon *daemon, struct lh_error *error)
{
    const struct lh_node_config *config = daemon->config;
    if (!lh_record_look(config->record, error)) {
        daemon->exit_code = LH_DAEMON_EXIT_USAGE;
        return false;
    }
    return lh_record_open(&daemon->record, config->record, (uint8_t)config->node, error);
}

// Each client takes a descriptor. If there cannot be as many, fewer are served, and those that are too
// many are turned away in words.
static bool make_room_for_clients(struct lh_node_config *config, struct lh_error *error)
{
    const uint64_t limit = lh_file_raise_limit((uint64_t)config->max_clients + OWN_FILES);
    if (limit <= OWN_FILES)
        return lh_error_set(error,
                            "at most %llu files may be open, which leaves none for clients: raise "
                            "the hard limit (ulimit -Hn, LimitNOFILE=) to max-clients + %d",
                            (unsigned long long)limit, OWN_FILES);
    if (limit - OWN_FILES >= config->max_clients)
        return true;
    const uint32_t room = (uint32_t)(limit - OWN_FILES);
    lh_log(LH_LOG_WARN, "max-clients-lowered", "from=%u to=%u open-files=%llu remedy=%s",
           config->max_clients, room, (unsigned long long)limit,
           "raise the hard limit of open files (ulimit -Hn, LimitNOFILE=), or lower max-clients");
    config->max_clients = room;
    return true;
}

static void start_turns(struct daemon *daemon)
{
    static const int numbers[3] = {SIGTERM, SIGINT, SIGHUP};
    uv_poll_init(&daemon->loop, &daemon->timer, daemon->timer_file);
    daemon->timer.data = daemon;
    uv_poll_start(&daemon->timer, UV_READABLE, on_timer);
    uv_prepare_init(&daemon->loop, &daemon->before_sleep);
    daemon->before_sleep.data = daemon;
    uv_prepare_start(&daemon->before_sleep, on_before_sleep);
    uv_check_init(&daemon->loop, &daemon->after_sleep);
    daemon->after_sleep.data = daemon;
    uv_check_start(&daemon->after_sleep, on_after_sleep);
    for (unsigned i = 0; i < 3; i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    }
}

static void show_counters(const struct daemon *daemon)
{
    struct lh_host *host = lh_driver_host(daemon->driver);
    lh_udp_show_counters(&daemon->udp, host);
    lh_host_show_counter(host, "connections-turned-away", &daemon->clients.turned_away);
    lh_host_show_counter(host, "connections-let-go", &daemon->clients.let_go);
    lh_host_show_counter(host, "accepts-failed", &daemon->clients.listeners.failed);
    lh_host_show_counter(host, "log-lines-dropped", &daemon->log_lines_dropped);
    lh_host_show_counter(host, "longest-turn-us", &daemon->turn.longest_us);
}

static bool start(struct daemon *daemon, const char *version, struct lh_error *error)
{
    struct lh_node_config *config = daemon->config;
    if (!make_room_for_clients(config, error))
        return false;
    daemon->timer_file = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (daemon->timer_file < 0)
        return lh_error_set(error, "no BOOTTIME timer from the kernel: %s", strerror(errno));
    if (!load_keyring(daemon, error) || !open_record(daemon, error) ||
        !make_driver(daemon, version, error) || !load_store(daemon, error))
        return false;
    daemon->udp.context = daemon;
    daemon->udp.receive = on_datagram;
    if (!lh_udp_open(&daemon->udp, &daemon->loop, daemon->config, &daemon->keyring, error) ||
        !lh_clients_open(&daemon->clients, &daemon->loop, config, daemon->driver, error))
        return false;
    show_counters(daemon);
    start_turns(daemon);
    lh_driver_start(daemon->driver);
    return true;
}

// F4: nothing is answered any more; what was is kept for the next start.
static void save(struct daemon *daemon)
{
    struct lh_error error = {""};
    if (!daemon->config->clean_restart || daemon->exit_code != 0)
        return;
    if (lh_state_save(daemon->config, lh_driver_host(daemon->driver), &error))
        lh_log_event(LH_LOG_INFO, "state-saved");
    else if (error.text[0] != '\0')
        lh_log(LH_LOG_WARN, "state-not-saved", "reason=%s", error.text);
}

static void stop(struct daemon *daemon)
{
    lh_clients_close(&daemon->clients);
    flush(daemon);
    save(daemon);
    if (!lh_store_close(daemon->store, lh_ms(STORE_PATIENCE_MS)))
        lh_log_event(LH_LOG_ERROR, "store-not-drained");
    lh_record_close(&daemon->record);
    lh_udp_close(&daemon->udp);
    lh_keyring_wipe(&daemon->keyring);
}

int lh_daemon_run(struct lh_node_config *config, const char *version, struct lh_error *error)
{
    static struct daemon daemon; // large, and there is one a process
    daemon.config = config;
    daemon.armed = LH_NEVER; // as a new timer is
    lh_log_open(STDERR_FILENO, config->log_level);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&daemon.loop);
    if (!start(&daemon, version, error)) {
        lh_store_close(daemon.store, lh_ms(STORE_PATIENCE_MS));
        lh_listen_close(&daemon.clients.listeners);
        return daemon.exit_code != 0 ? daemon.exit_code : EXIT_TROUBLE;
    }
    lh_log(LH_LOG_INFO, "listening", "node=%u members=%zu socket=%s", config->node,
           config->member_count, config->socket);
    lh_notify_ready();
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    stop(&daemon);
    return daemon.exit_code;
}
