// The table of keys and the parsers of their values: see config_key.h.
#include "node/config_key.h"

#include <string.h>
#include <sys/un.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/text.h"

#define FIELD(field) offsetof(struct lh_node_config, field)

enum {
    PATH_MOST = LH_CONFIG_PATH_BYTES - 1,
    SOCKET_PATH_MOST = sizeof(((struct sockaddr_un *)0)->sun_path) - 1,
};

const struct lh_config_key lh_config_keys[LH_CONFIG_KEYS] = {
    {"node", LH_CONFIG_NUMBER, FIELD(node), 1, 255, NULL, "1 to 255",
     "which member this daemon is"},
    {"data-dir", LH_CONFIG_PATH, FIELD(data_dir), 1, PATH_MOST, "/var/lib/leasehold",
     "a path of 1 to 255 bytes",
     "where this node's identity is kept; never shared or copied between nodes"},
    {"keyring", LH_CONFIG_PATH, FIELD(keyring), 1, PATH_MOST, "/etc/leasehold/keyring",
     "a path of 1 to 255 bytes", "the cluster's keys, from `leasehold keygen`; read again on HUP"},
    {"socket", LH_CONFIG_PATH, FIELD(socket), 1, SOCKET_PATH_MOST, "/run/leasehold/client.sock",
     "a path of 1 to 107 bytes, which is what a Unix socket can have",
     "the Unix socket for clients"},
    {"socket-mode", LH_CONFIG_MODE, FIELD(socket_mode), 0, 0777, "0660",
     "three octal digits, with or without a leading 0", "the permissions of the socket"},
    {"client-listen", LH_CONFIG_LISTEN, FIELD(client_listen), 0, 0, "",
     "a loopback address such as 127.0.0.1:7742, or nothing",
     "TCP for clients; loopback only, since it is not encrypted; empty: off"},
    {"max-ttl", LH_CONFIG_DURATION, FIELD(timing.max_ttl), LH_TTL_MIN_MS, LH_TTL_MAX_MS, "60s",
     "50ms to 1h, in whole milliseconds",
     "the longest TTL anybody may ask for (M); the same on all nodes"},
    {"rate-error", LH_CONFIG_RATE, FIELD(timing.rate_ppm), LH_RATE_PPM_MIN, LH_RATE_PPM_MAX, "1%",
     "0.0001% to 10%",
     "bound on how far a clock's rate may be from real time (rho); the same on "
     "all nodes"},
    {"max-leases", LH_CONFIG_NUMBER, FIELD(max_leases), 1, 100000000, "1000000", "1 to 100000000",
     "how many names this node has memory for; memory is paid for where it is touched"},
    {"max-clients", LH_CONFIG_NUMBER, FIELD(max_clients), 1, 65536, "1024", "1 to 65536",
     "how many client connections are served at once"},
    {"member-epoch", LH_CONFIG_NUMBER, FIELD(member_epoch), 1, UINT32_MAX, "1", "1 to 4294967295",
     "the number of this set of members; the same on all nodes"},
    {"state-dir", LH_CONFIG_PATH, FIELD(state_dir), 0, PATH_MOST, "",
     "a path of at most 255 bytes, or nothing",
     "directory for the state of a clean restart, best in memory; empty: that of the socket"},
    {"idle-forget", LH_CONFIG_SWITCH, FIELD(idle_forget), 0, 1, "on", "on or off",
     "F1: forget names that were idle for a quarantine"},
    {"one-round-renewal", LH_CONFIG_SWITCH, FIELD(one_round_renewal), 0, 1, "on", "on or off",
     "F3: renew in one round"},
    {"clean-restart", LH_CONFIG_SWITCH, FIELD(clean_restart), 0, 1, "on", "on or off",
     "F4: keep leases over an orderly restart"},
    {"quarantine-ceiling", LH_CONFIG_SWITCH, FIELD(quarantine_ceiling), 0, 1, "on", "on or off",
     "F5: after a crash, quarantine for the longest TTL in use instead of max-ttl"},
    {"log-level", LH_CONFIG_LEVEL, FIELD(log_level), 0, 0, "info", "error, warn, info or debug",
     "what is logged on standard error"},
    {"record", LH_CONFIG_PATH, FIELD(record), 0, PATH_MOST, "",
     "a path of at most 255 bytes, or nothing",
     "file to which protocol events are added, one JSON line each; empty: off"},
};

size_t lh_config_key_find(struct lh_slice name)
{
    size_t index = 0;
    while (index < LH_CONFIG_KEYS &&
           !lh_slice_equal(name, lh_slice_of_string(lh_config_keys[index].name)))
        index++;
    return index;
}

const char *lh_config_key_nearest(struct lh_slice name)
{
    static const char *const others[] = {"address", "member", "config", "config-test", "help"};
    const char *nearest = NULL;
    // Beyond a third of its letters it was hardly meant.
    size_t least = name.size_bytes / 3 + 1;
    for (size_t i = 0; i < LH_CONFIG_KEYS + sizeof(others) / sizeof(others[0]); i++) {
        const char *candidate =
            i < LH_CONFIG_KEYS ? lh_config_keys[i].name : others[i - LH_CONFIG_KEYS];
        const size_t far = lh_slips(name, lh_slice_of_string(candidate));
        if (far <= least) {
            if (far < least || nearest == NULL)
                nearest = candidate;
            least = far;
        }
    }
    return nearest;
}

static bool parse_octal(struct lh_slice value, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (value.size_bytes < 3 || value.size_bytes > 4 ||
        (value.size_bytes == 4 && value.data[0] != '0'))
        return false;
    for (size_t i = 0; i < value.size_bytes; i++) {
        if (value.data[i] < '0' || value.data[i] > '7')
            return false;
        number = number * 8 + (uint64_t)(value.data[i] - '0');
    }
    *ret_number = number;
    return true;
}

static bool parse_switch(struct lh_slice value, uint64_t *ret_on)
{
    const bool on = lh_slice_equal(value, LH_SLICE("on"));
    if (!on && !lh_slice_equal(value, LH_SLICE("off")))
        return false;
    *ret_on = on;
    return true;
}

static bool parse_level(struct lh_slice value, enum lh_log_level *ret_level)
{
    for (enum lh_log_level level = LH_LOG_ERROR; level <= LH_LOG_DEBUG; level++) {
        if (lh_slice_equal(value, lh_slice_of_string(lh_log_level_name(level)))) {
            *ret_level = level;
            return true;
        }
    }
    return false;
}

static bool set_number(const struct lh_config_key *key,
                       bool (*parse)(struct lh_slice value, uint64_t *ret_number),
                       struct lh_slice value, uint32_t *ret_field)
{
    uint64_t number = 0;
    if (!parse(value, &number) || number < key->least || number > key->most)
        return false;
    *ret_field = (uint32_t)number;
    return true;
}

static bool set_path(const struct lh_config_key *key, struct lh_slice value, char *ret_field,
                     const char **ret_reason)
{
    if (value.size_bytes < key->least || value.size_bytes > key->most)
        return false;
    if (value.size_bytes > 0 && (value.data[0] == '"' || value.data[0] == '\'')) {
        *ret_reason = "write the path without quotes";
        return false;
    }
    for (size_t i = 0; i < value.size_bytes; i++) {
        if (value.data[i] < ' ' || value.data[i] == 0x7f) {
            *ret_reason = "there is a control character in it";
            return false;
        }
    }
    if (value.size_bytes > 0)
        memcpy(ret_field, value.data, value.size_bytes);
    ret_field[value.size_bytes] = '\0';
    return true;
}

static bool set_listen(struct lh_slice value, struct lh_address *ret_field, const char **ret_reason)
{
    struct lh_address address = {.port = 0};
    if (value.size_bytes != 0) {
        if (!lh_address_parse(value, LH_CONFIG_CLIENT_PORT, &address, ret_reason))
            return false;
        if (!lh_address_is_loopback(&address)) {
            *ret_reason = "only loopback (127.0.0.1 or [::1]): what clients say is not encrypted";
            return false;
        }
    }
    *ret_field = address;
    return true;
}

static bool set_duration(const struct lh_config_key *key, struct lh_slice value,
                         struct lh_duration *ret_field, const char **ret_reason)
{
    struct lh_duration duration;
    if (!lh_duration_parse(value, &duration, ret_reason))
        return false;
    if (duration.ns < lh_ms((int64_t)key->least).ns || duration.ns > lh_ms((int64_t)key->most).ns) {
        *ret_reason = key->allowed;
        return false;
    }
    *ret_field = duration;
    return true;
}

bool lh_config_key_set(const struct lh_config_key *key, struct lh_slice value,
                       struct lh_node_config *config, const char **ret_reason)
{
    void *field = (char *)config + key->offset;
    uint64_t on = 0;
    *ret_reason = key->allowed;
    switch (key->type) {
    case LH_CONFIG_NUMBER: return set_number(key, lh_u64_parse, value, field);
    case LH_CONFIG_MODE: return set_number(key, parse_octal, value, field);
    case LH_CONFIG_RATE: return set_number(key, lh_percent_parse, value, field);
    case LH_CONFIG_PATH: return set_path(key, value, field, ret_reason);
    case LH_CONFIG_LISTEN: return set_listen(value, field, ret_reason);
    case LH_CONFIG_DURATION: return set_duration(key, value, field, ret_reason);
    case LH_CONFIG_LEVEL: return parse_level(value, field);
    case LH_CONFIG_SWITCH:
        if (!parse_switch(value, &on))
            return false;
        *(bool *)field = on != 0;
        return true;
    }
    return false;
}

void lh_config_defaults(struct lh_node_config *ret_config)
{
    struct lh_node_config config = {0};
    for (size_t i = 0; i < LH_CONFIG_KEYS; i++) {
        const struct lh_config_key *key = &lh_config_keys[i];
        const char *reason = NULL;
        if (key->initial == NULL)
            continue;
        const bool set = lh_config_key_set(key, lh_slice_of_string(key->initial), &config, &reason);
        LH_ASSERT(set);
    }
    *ret_config = config;
}
