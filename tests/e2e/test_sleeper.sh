#!/bin/bash
# A proposer that sleeps while the answers to its attempt lie in its queue (P1, P3, P4): the time that counts began
# before it asked, so a quorum of Accepted that it reads after its td makes it no owner. The relay holds each
# round back until its moment has come.
. "$(dirname "$0")/lib.sh"
plan 17
nets 3
relayed 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=2s record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# recorded N EVENT KIND: node N has recorded more messages of that kind than when `mark` was called.
declare -A marked=()
count_of() { grep -c "\"event\":\"$2\".*\"kind\":\"$3\"" "$dir/$1.record"; }
mark() {
    local n kind
    for n in 1 2 3; do
        for kind in promise accept accepted; do marked[$n$kind]=$(count_of $n send $kind); done
    done
}
sent() { [ "$(count_of "$1" send "$2")" -gt "${marked[$1$2]}" ]; }
hold_answers() { relay hold 7210 && relay hold 7310; }
let_answers() { relay let 7210 && relay let 7310; }

# attempt NAME: node 1 attempts in the background, and its answers are held back.
attempt() {
    mark
    hold_answers
    redis-cli -s "$dir/1.sock" LEASE ACQUIRE "$1" TTL 1s HOLDER sleeper TIMEOUT 20s >"$dir/$1" &
    asker=$!
}

# --- asleep with the promises ---
attempt promised
check 'promises are under way' eventually 5 eval 'sent 2 promise && sent 3 promise'
signal 1 STOP
let_answers
check 'another acquires meanwhile' acquires 2 promised TTL 2s HOLDER awake
for_ms 1200
signal 1 CONT
wait $asker
check 'the sleeper is granted nothing' not grep -q '^granted$' "$dir/promised"
check 'the other holds' answers held 3 GET promised

# --- asleep with the acceptances ---
check 'all serve' serving 1 2 3
attempt accepted
check 'promises are under way' eventually 5 eval 'sent 2 promise && sent 3 promise'
relay pass 7210 # one promise beside its own is enough; what comes after it is held
check 'it proposes' eventually 5 sent 1 accept
check 'acceptances are under way' eventually 5 eval 'sent 2 accepted && sent 3 accepted'
signal 1 STOP
let_answers
from=$(now_ms)
check 'nobody acquires while it might own the lease' eventually 5 answers granted 2 ACQUIRE accepted TTL 2s HOLDER awake
check 'but once it cannot' [ $(($(now_ms) - from)) -ge 700 ]
signal 1 CONT
wait $asker
check 'the sleeper read a quorum of acceptances, and is granted nothing' not grep -q '^granted$' "$dir/accepted"
check 'the other holds' answers held 3 GET accepted
check 'and renews' renews 2 accepted "${reply[token]}" awake TTL 2s

# --- the same without a sleep ---
attempt awake
check 'in time, it is granted' eval '
    eventually 5 eval "sent 2 promise && sent 3 promise"; let_answers; wait $asker; grep -q "^granted$" "$dir/awake"'
check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
