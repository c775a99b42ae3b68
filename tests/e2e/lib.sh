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
declare -A asking=() telling=() # files that lead to a node's client port and back
declare -A reply=()
answer=()
around=() # what a daemon is started by: a time namespace, an environment
number=0
ulimit -c 0

end_everything() {
    local job
    for job in $(jobs -p); do
        disown "$job" # which says nothing about its end
        kill -KILL "$job" 2>/dev/null
    done
    cd / && umount -q "$dir"/*.data "$dir/disk" 2>/dev/null
    rm -rf "$dir"
}
trap end_everything EXIT
trap 'exit 1' HUP INT TERM

# --- TAP ---

# plan COUNT: how many cases there will be.
plan() {
    echo "1..$1"
    [ -x "$leaseholdd" ] && [ -x "$leasehold" ] && [ -x "$tools/resp" ] && return
    echo "Bail out! $leaseholdd, $leasehold or $tools is not built"
    exit 1
}

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
        [ -e "$log" ] && tail -n 6 "$log" | sed "s/^/# $(basename "$log" .log): /"
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
        pause
    done
}

# A moment, without a process for it.
exec {never}<> <(:)
pause() { read -rt 0.02 -u "$never" || true; }

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
    {
        echo link set lo up
        echo link add hub0 type bridge forward_delay 0
        echo addr add 10.0.0.254/24 dev hub0
        echo link set hub0 up
        for ((n = 1; n <= $1; n++)); do
            echo netns add n$n
            echo link add v$n type veth peer name e0 netns n$n
            echo link set v$n master hub0 up
        done
    } | ip -batch -
    for ((n = 1; n <= $1; n++)); do
        printf '%s\n' "addr add 10.0.0.$n/24 dev e0" 'link set e0 up' 'link set lo up' | ip -n n$n -batch -
        ip netns exec n$n nft 'table inet cut {
            set gone { type ipv4_addr; }
            chain in { type filter hook input priority 0; ip saddr @gone drop; }
        }'
    done
}

# cut_link A B: neither hears the other any more.
cut_link() {
    ip netns exec n"$1" nft add element inet cut gone "{ 10.0.0.$2 }"
    ip netns exec n"$2" nft add element inet cut gone "{ 10.0.0.$1 }"
}

# cut_off N: cut from all other nodes.
cut_off() {
    local n
    for n in $(nodes); do [ "$n" = "$1" ] || cut_link "$n" "$1"; done
}

heal() {
    local n
    for n in $(nodes); do ip netns exec "n$n" nft flush set inet cut gone; done
}

# relayed COUNT: starts a relay and tells each node that the others are there, at a port for each direction:
# 7120 is the way from node 1 to node 2. To be called before `cluster`. relay WORD...: true if the relay did it
# (tools/relay.c); $did is its number.
relayed() {
    local ask tell from to
    mkfifo "$dir/relay.ask" "$dir/relay.tell"
    exec {ask}<>"$dir/relay.ask" {tell}<>"$dir/relay.tell"
    asking[relay]=$ask telling[relay]=$tell
    "$tools/relay" <&"$ask" >&"$tell" &
    address_of() {
        if [ "$1" = "$2" ]; then echo "10.0.0.$2"; else echo "10.0.0.254:7${1}${2}0"; fi
    }
    for ((from = 1; from <= $1; from++)); do
        for ((to = 1; to <= $1; to++)); do
            [ $from = $to ] || relay route 7$from${to}0 10.0.0.$to 7741
        done
    done
}

relay() {
    local word
    echo "$*" >&"${asking[relay]}"
    read -rt 30 word did <&"${telling[relay]}" && [ "$word" = ok ]
}

# --- nodes ---

nodes() { seq 1 "$count"; }

# cluster COUNT [KEY=VALUE]...: the configurations of COUNT nodes. Nothing runs yet.
cluster() {
    local n
    count=$1
    shift
    "$leasehold" keygen "$dir/keyring" >"$dir/keygen.log" 2>&1 || cat "$dir/keygen.log"
    for n in $(nodes); do
        configure "$n" "$@"
        connect "$n"
    done
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
    for n; do eventually 10 listens_or_ended "$n" && listens "$n" || return 1; done
}

listens_or_ended() { listens "$1" || ! kill -0 "${pid[$1]}" 2>/dev/null; }

# start_with N [FLAG]...: starts one daemon, without waiting.
start_with() {
    local n=$1
    shift
    ip netns exec "n$n" "${around[@]}" "$leaseholdd" --config "$dir/$n.conf" "$@" \
        2>>"$dir/$n.log" &
    pid[$n]=$!
}

listens() { ask "$1" PING && [ "${answer[0]}" = PONG ]; }

# signal N SIGNAL
signal() { kill "-$2" "${pid[$1]}"; }

# stop N: ends the daemon in order; true if it exits with 0. kill9 N: ends it at once.
stop() { signal "$1" TERM && wait "${pid[$1]}"; }
kill9() {
    signal "$1" KILL
    wait "${pid[$1]}" 2>/dev/null
    true
}

# connect N: a conversation with node N's client port, which outlives its daemons.
connect() {
    local ask tell
    mkfifo "$dir/$1.ask" "$dir/$1.tell"
    exec {ask}<>"$dir/$1.ask" {tell}<>"$dir/$1.tell"
    "$tools/resp" "$dir/$1.sock" talk <&"$ask" >&"$tell" 2>/dev/null &
    asking[$1]=$ask telling[$1]=$tell
}

# ask N WORD...: a command at node N; the scalars of its reply, in their order, become $answer.
ask() {
    local n=$1 line IFS=$'\t'
    shift
    echo "$*" >&"${asking[$n]}"
    answer=()
    while IFS= read -rt 20 line <&"${telling[$n]}" && [ "$line" != . ]; do answer+=("$line"); done
    [ ${#answer[@]} -gt 0 ]
}

# after FROM KEY: prints what follows KEY in $answer, from the first FROM on.
after() {
    local i seen=
    for ((i = 0; i + 1 < ${#answer[@]}; i++)); do
        [ "${answer[i]}" != "$1" ] || seen=1
        if [ "$seen" ] && [ "${answer[i]}" = "$2" ]; then
            echo "${answer[i + 1]}"
            return
        fi
    done
}

# status_of N KEY: a value of CLUSTER STATUS. peer_of N M KEY: what node N says of node M.
status_of() { ask "$1" CLUSTER STATUS && after "${answer[0]}" "$2"; }
counter_of() { ask "$1" CLUSTER STATUS && after counters "$2"; }
peer_of() {
    local i inside=
    ask "$1" CLUSTER STATUS
    for ((i = 0; i + 1 < ${#answer[@]}; i++)); do
        case ${answer[i]} in
        peers) inside=1 ;;
        node) [ "$inside" ] && [ "${answer[i + 1]}" = "$2" ] && answer=("${answer[@]:i}") && break ;;
        esac
    done
    after node "$3"
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
    local n=$1 i
    shift
    reply=()
    ask "$n" LEASE "$@"
    if [ "${answer[0]:-}" != status ]; then
        reply[error]="${answer[*]:-}"
        return 0
    fi
    for ((i = 0; i + 1 < ${#answer[@]}; i += 2)); do reply[${answer[i]}]=${answer[i + 1]}; done
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

is() { [ "${reply[$1]:-}" = "$2" ]; }

# cli N WORD...: the command line at node N; $out and $code tell. exits CODE N WORD...: true if it ends so.
cli() {
    local n=$1
    shift
    out=$(LEASEHOLD_CONNECT="unix:$dir/$n.sock" "$leasehold" "$@" 2>"$dir/cli.log")
    code=$?
}
exits() {
    local wanted=$1
    shift
    cli "$@"
    [ $code = "$wanted" ]
}
# The token in the JSON that cli printed.
told_token() { grep -o '"token": *[0-9]*' <<<"$out" | tr -dc 0-9; }

# --- holders and referees ---

# hold WHO NAME TTL N...: `leasehold run` for NAME in the background, through nodes N, with a command that beats in
# NAME.beats. ${pid[WHO]} is the wrapper's.
hold() {
    local who=$1 name=$2 ttl=$3 n endpoints=
    shift 3
    for n; do endpoints+=,unix:$dir/$n.sock; done
    "$leasehold" run "$name" --ttl "$ttl" --connect "${endpoints#,}" -- "$tools/beat" "$dir/$name.beats" \
        >"$dir/$who.log" 2>&1 &
    pid[$who]=$!
}

# beats NAME: true if the file of NAME has grown since this was asked last.
declare -A beaten=()
beats() {
    local size before=${beaten[$1]:-0}
    size=$(stat -c %s "$dir/$1.beats" 2>/dev/null || echo 0)
    beaten[$1]=$size
    [ "$size" -gt "$before" ]
}

# token_of NAME: the token of its last beat; 0 before the first.
token_of() {
    local last=0
    [ -s "$dir/$1.beats" ] && last=$(tail -n 1 "$dir/$1.beats")
    echo "${last%% *}"
}
has_token_above() { [ "$(token_of "$1")" -gt "$2" ]; }

# ended WHO CODE: its wrapper has ended, or does soon, with CODE.
ended() {
    eventually 10 not kill -0 "${pid[$1]}" 2>/dev/null || return 1
    wait "${pid[$1]}" 2>/dev/null
    [ $? = "$2" ]
}

# no_overlap NAME [TOKEN]...: in the file of NAME no two holders overlap and tokens only rise. The tokens named
# are those of holders that were stopped and continued: what they wrote late, a fence would refuse.
no_overlap() {
    local name=$1
    shift
    awk -v stopped="$*" '
        BEGIN { split(stopped, words, " "); for (i in words) excused[words[i]] = 1 }
        NF != 2 { bad = "line " NR " is no beat"; exit }
        $1 < highest && excused[$1] { refused++; next }
        $1 < highest { bad = "line " NR ": token " $1 " after " highest; exit }
        $1 > highest && $2 <= last { bad = "line " NR ": token " $1 " at " $2 ", before the last of " highest; exit }
        { highest = $1; if ($2 > last) last = $2 }
        END {
            if (bad == "" && NR == 0) bad = "nobody beat"
            if (bad != "") { print "# " bad; exit 1 }
        }' "$dir/$name.beats"
}

# only_one_owner: by what the daemons recorded (record=$dir/N.record), which all read one clock, no name ever had
# two owners, no grant came after its own end, and tokens rose.
only_one_owner() {
    cat "$dir"/*.record | awk -F '[,:{}]' '
        { delete field; for (i = 2; i < NF; i += 2) field[$i] = $(i + 1) }
        function value(name) { return field["\"" name "\""] }
        { event = value("event"); token = value("token"); key = value("key"); at = value("at") + 0 }
        event == "\"granted\"" || event == "\"renewed\"" {
            until = value("until") + 0
            if (at >= until) { print "# token " token " came after its end"; failed = 1 }
            if (event == "\"granted\"") { granted[key, token] = at; tokens[key] = tokens[key] " " token }
            if (until > ends[key, token]) ends[key, token] = until
        }
        event == "\"released\"" { released[key, token] = at }
        END {
            for (key in tokens) {
                count = split(tokens[key], list, " ")
                for (i = 1; i <= count; i++) for (j = 1; j <= count; j++) {
                    a = list[i]; b = list[j]
                    end = released[key, a] ? released[key, a] : ends[key, a]
                    if (a + 0 >= b + 0) continue
                    seen++
                    if (end > granted[key, b]) { print "# tokens " a " and " b " of " key " overlap"; failed = 1 }
                }
            }
            if (failed) exit 1
        }'
}

# is_behaviour: what the daemons recorded is a behaviour of the protocol, step by step.
is_behaviour() { "$leasehold" trace check "$dir"/*.record >"$dir/trace.log" 2>&1; }
