#!/bin/bash
# Nobody ends a lease under a holder that still believes: what the end of a connection does to a lease, and what it does
# not. `ON-DISCONNECT release` is for a client that itself does the work, on the Unix socket.
. "$(dirname "$0")/lib.sh"
plan 22
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=8s client-listen=127.0.0.1:7742; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# client WHO HOW WORD...: asks node 1 for something in a process of its own that keeps the connection; ${pid[WHO]}.
client() {
    local who=$1 how=$2
    shift 2
    "$tools/resp" "$dir/1.sock" keep "$how" >"$dir/$who.out" 2>&1 < <(printf '%s\r\n' "$*") &
    pid[$who]=$!
}
granted() { eventually 10 grep -q granted "$dir/$1.out"; }
gone() {
    kill -KILL "${pid[$1]}"
    wait "${pid[$1]}" 2>/dev/null
    true
}
is_free() { answers free 2 GET "$1"; }
# stays NAME MS: it is held for so long.
stays() {
    local until=$(($(now_ms) + $2))
    while [ "$(now_ms)" -lt $until ]; do
        answers held 2 GET "$1" || return 1
    done
}

client killed 0 'LEASE ACQUIRE killed TTL 8s ON-DISCONNECT release'
check 'a client on the Unix socket' granted killed
check 'holds' stays killed 300
gone killed
check 'killed: released at once' within 0 2000 eventually 2 is_free killed

client plain 0 'LEASE ACQUIRE plain TTL 2s'
check 'one that did not ask for that' granted plain
gone plain
check 'killed: its lease stays' stays plain 1000
check 'until it ends' eventually 5 is_free plain

client paused 0 'LEASE ACQUIRE paused TTL 3s ON-DISCONNECT release'
check 'a client' granted paused
kill -STOP "${pid[paused]}"
check 'paused: the connection stays, and so does the lease' stays paused 1500
gone paused
check 'killed while paused: released at once' within 0 1000 eventually 2 is_free paused

client parent 1 'LEASE ACQUIRE child TTL 4s ON-DISCONNECT release'
check 'a client with a child that has the connection too' eval 'granted parent && eventually 5 grep -q "^child" "$dir/parent.out"'
gone parent
check 'killed: the child may act, the lease stays' stays child 1000
kill -KILL "$(sed -n 's/^child //p' "$dir/parent.out")"
check 'the child killed, too: released' within 0 1500 eventually 2 is_free child

client half 2 'LEASE ACQUIRE half TTL 3s ON-DISCONNECT release'
check 'a client that only ceases to send' granted half
check 'may go on: its lease stays' stays half 1000
gone half

client stopped 0 'LEASE ACQUIRE stopped TTL 8s ON-DISCONNECT release'
check 'a client' granted stopped
stop 1 && start 1
check 'the daemon ends the connection: that proves nothing' stays stopped 1000
gone stopped

# --- TCP: the end of a connection is no proof ---
tcp() { ip netns exec n1 "${BASH:-bash}" -c 'exec 5<>/dev/tcp/127.0.0.1/7742; printf "%s\r\n" "$0" >&5; [ -z "$1" ] || head -c 5 <&5; read -rt 1 line <&5; printf "%s" "$line"' "$@"; }
check 'refused over TCP, with the reason' eval 'tcp "LEASE ACQUIRE tcp TTL 2s ON-DISCONNECT release" "" | grep -q "for clients of the Unix socket"'
tcp 'LEASE ACQUIRE tcp TTL 2s' once >/dev/null # what it leaves unread makes its end a reset
check 'a connection over TCP that is reset: the lease stays' eval 'answers held 2 GET tcp && stays tcp 800'

# --- a wrapper's child ---
hold wrapper wrapped 4s 1
check 'a command under run' eventually 5 beats wrapped
kill -STOP "$(pgrep -f "$tools/beat $dir/wrapped.beats" | tail -n1)"
gone wrapper
check 'the wrapper is killed: while its command may act, nobody else has the lease' eval 'acquires 2 wrapped TTL 300ms && ! pgrep -f "$tools/beat $dir/wrapped.beats"'

check 'a word that is neither' eval 'ask 1 LEASE ACQUIRE x ON-DISCONNECT relase && [[ "${answer[0]}" == *"'"'relase'"' is neither release nor keep"* ]]'
