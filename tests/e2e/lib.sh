# What the tests against real daemons share: namespaces, nodes, faults, waiting, TAP. To be sourced first.
#
# Sourcing it runs the test again as process 1 of network, mount and process namespaces of its own, so whatever
# a test starts, mounts or configures ends with it, even by SIGKILL, and nothing can clash with another
# run. Inside, node N has the network namespace nN and the address 10.0.0.N on a bridge, on which the test itself
# is 10.0.0.254. Tests of tests/fault use the daemon with sanitizers, the others the one that ships.
#
# A test waits for conditions: `eventually SECONDS COMMAND` asks again until COMMAND is true. It sleeps only where
# time itself is the fault, and then reads the clock instead of trusting the sleep.
#
# shellcheck shell=bash
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C.UTF-8

if [ -z "${LH_E2E_INSIDE:-}" ]; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(--user --map-root-user)
    LH_E2E_INSIDE=1 exec unshare "${as_root[@]}" --mount --net --pid --fork --kill-child --mount-proc \
        "${BASH:-bash}" "$0" "$@"
fi

root=$(cd "$here/../.." && pwd)
tools=${LEASEHOLD_TESTS:-$root/build/tests}/tests/e2e
case $0 in
*/fault/*) programs=${LEASEHOLD_TESTS:-$root/build/tests} ;;
*) programs=${LEASEHOLD_BUILD:-$root/build} ;;
esac
leaseholdd=$programs/leaseholdd
leasehold=${LEASEHOLD_BUILD:-$root/build}/leasehold

dir=$(mktemp -d "${TMPDIR:-/tmp}/lh-e2e.XXXXXX") || exit 1
declare -A pid=() # of the daemon of each node
declare -A reply=()
number=0
ulimit -c 0

end_everything() {
    local job
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null; done
    cd / && rm -rf "$dir"
}
trap end_everything EXIT
trap 'exit 1' HUP INT TERM

# --- TAP ---

plan() { echo "1..$1"; }

# check TEXT COMMAND...: one case. On failure it says what the last reply and the logs were.
check() {
    local text=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $text"
    else
        echo "not ok $number - $text"
        tell_state "$*"
    fi
}

skip() {
    number=$((number + 1))
    echo "ok $number - $1 # skip $2"
}

tell_state() {
    local log key
    echo "# the condition was: $1"
    for key in "${!reply[@]}"; do echo "# last reply: $key = ${reply[$key]}"; done
    for log in "$dir"/*.log; do
        [ -e "$log" ] && tail -n 12 "$log" | sed "s/^/# $(basename "$log" .log): /"
    done
}

# not COMMAND...: true if it fails.
not() { ! "$@"; }

# --- waiting ---

now_ms() { echo $((${EPOCHREALTIME/[^0-9]/} / 1000)); }

# eventually SECONDS COMMAND...: true once COMMAND is; false if it was not within SECONDS.
eventually() {
    local until=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        [ "$(now_ms)" -lt "$until" ] || return 1
        sleep 0.02
    done
}

# for_ms MS: time passes, and that is the fault.
for_ms() {
    local until=$(($(now_ms) + $1))
    while [ "$(now_ms)" -lt "$until" ]; do sleep 0.05; done
}

# within LEAST MOST COMMAND...: true if it is true and took from LEAST to MOST milliseconds.
within() {
    local least=$1 most=$2 from took
    shift 2
    from=$(now_ms)
    "$@" || return 1
    took=$(($(now_ms) - from))
    reply[took-ms]=$took
    [ $took -ge "$least" ] && [ $took -le "$most" ]
}

# --- the net ---

# nets COUNT: a network namespace for each of COUNT nodes.
nets() {
    local n
    mount -t tmpfs none /run && mkdir /run/netns
    ip link set lo up
    ip link add hub0 type bridge forward_delay 0
    ip addr add 10.0.0.254/24 dev hub0
    ip link set hub0 up
    for ((n = 1; n <= $1; n++)); do
        ip netns add n$n
        ip link add v$n type veth peer name e0 netns n$n
        ip link set v$n master hub0 up
        ip -n n$n addr add 10.0.0.$n/24 dev e0
        ip -n n$n link set e0 up
        ip -n n$n link set lo up
        ip netns exec n$n nft 'table inet cut {
            set gone { type ipv4_addr; }
            chain in { type filter hook input priority 0; ip saddr @gone drop; }
        }'
    done
}

# cut A B: neither hears the other any more.
cut() {
    ip netns exec n"$1" nft add element inet cut gone "{ 10.0.0.$2 }"
    ip netns exec n"$2" nft add element inet cut gone "{ 10.0.0.$1 }"
}

# cut_off N: cut from all other nodes.
cut_off() {
    local n
    for n in $(nodes); do [ "$n" = "$1" ] || cut "$n" "$1"; done
}

heal() {
    local n
    for n in $(nodes); do ip netns exec "n$n" nft flush set inet cut gone; done
}

# --- nodes ---

nodes() { seq 1 "$count"; }

# cluster COUNT [KEY=VALUE]...: the configurations of COUNT nodes. Nothing runs yet.
cluster() {
    local n
    count=$1
    shift
    "$leasehold" keygen "$dir/keyring" >"$dir/keygen.log" 2>&1 || cat "$dir/keygen.log"
    for n in $(nodes); do configure "$n" "$@"; done
}

# configure N [KEY=VALUE]...: writes the configuration of node N: the usual one with these changes. Members are
# those of $members (default: all nodes) at the addresses that address_of names.
configure() {
    local n=$1 key member
    local -A keys=([node]=$n [data-dir]=$dir/$n.data [keyring]=$dir/keyring [socket]=$dir/$n.sock
        [max-ttl]=1s [max-leases]=1000 [log-level]=info)
    shift
    for key; do keys[${key%%=*}]=${key#*=}; done
    {
        for key in "${!keys[@]}"; do echo "$key = ${keys[$key]}"; done
        for member in ${members:-$(nodes)}; do
            echo "[node $member]"
            echo "address = $(address_of "$n" "$member")"
        done
    } >"$dir/$n.conf"
}

# address_of N M: where node N is told that node M is. A test with a relay replaces it.
address_of() { echo "10.0.0.$2"; }

# start N...: starts daemons and waits until they listen.
start() {
    local n
    for n; do start_with "$n"; done
    for n; do eventually 10 listens "$n" || return 1; done
}

# start_with N [FLAG]...: starts one daemon, without waiting.
start_with() {
    local n=$1
    shift
    ip netns exec "n$n" ${around[@]+"${around[@]}"} "$leaseholdd" --config "$dir/$n.conf" "$@" \
        2>>"$dir/$n.log" &
    pid[$n]=$!
}

listens() { redis-cli -s "$dir/$1.sock" PING >"$dir/ping" 2>&1 && grep -q PONG "$dir/ping"; }

# signal N SIGNAL
signal() { kill "-$2" "${pid[$1]}"; }

# stop N: ends the daemon in order; true if it exits with 0. kill9 N: ends it at once.
stop() { signal "$1" TERM && wait "${pid[$1]}"; }
kill9() {
    signal "$1" KILL
    wait "${pid[$1]}" 2>/dev/null
    true
}

# status_of N KEY: a value of CLUSTER STATUS, also a counter's.
status_of() {
    redis-cli -s "$dir/$1.sock" CLUSTER STATUS 2>/dev/null |
        awk -v key="$2" '$0 == key { getline; print; exit }'
}

# peer_of N M KEY: what node N says of node M.
peer_of() {
    redis-cli -s "$dir/$1.sock" CLUSTER STATUS 2>/dev/null |
        awk -v peer="$2" -v key="$3" '
            $0 == "peers" { inside = 1 }
            $0 == "counters" { exit }
            inside && $0 == "node" { getline; here = $0 == peer }
            here && $0 == key { getline; print; exit }'
}

is_state() { [ "$(status_of "$1" state)" = "$2" ]; }

# serving N...: waits until all of them serve and see each other.
serving() {
    local n m
    for n; do
        eventually 10 is_state "$n" serving || return 1
        for m; do
            [ "$m" = "$n" ] || eventually 10 sees "$n" "$m" || return 1
        done
    done
}

sees() { [ "$(peer_of "$1" "$2" state)" = up ]; }

# logged N TEXT: the log of node N has it, soon.
logged() { eventually 10 grep -q -F -- "$2" "$dir/$1.log"; }

# --- leases ---

# lease N WORD...: a LEASE command at node N. Its reply becomes $reply; an error becomes ${reply[error]}.
lease() {
    local n=$1 lines i
    shift
    reply=()
    mapfile -t lines < <(redis-cli -s "$dir/$n.sock" LEASE "$@" 2>&1)
    if [ "${lines[0]:-}" != status ]; then
        reply[error]="${lines[*]:-}"
        return 0
    fi
    for ((i = 0; i + 1 < ${#lines[@]}; i += 2)); do reply[${lines[i]}]=${lines[i + 1]}; done
}

# answers STATUS N WORD...: true if that is the status of the reply.
answers() {
    local wanted=$1
    shift
    lease "$@"
    [ "${reply[status]:-}" = "$wanted" ]
}

# acquires N NAME [WORD]...: soon granted at node N; $reply tells.
acquires() {
    local n=$1 name=$2
    shift 2
    eventually 10 answers granted "$n" ACQUIRE "$name" "$@"
}

renews() { answers granted "$1" RENEW "$2" "$3" "$4" "${@:5}"; }
