#!/bin/bash
# run-tests: timeout 300
# What users of other lock services report (the numbers are those of docs/testing.md), as far as clocks and expiry are
# concerned: a wall clock that is set while leases are held, on every node, its clients and on one node alone; an owner that sleeps;
# and expiry that needs nobody to look.
. "$(dirname "$0")/lib.sh"
plan 27
leaseholdd=$root/build/leaseholdd # a sanitizer's library would have to be the first one
nets 3
cluster 3 max-ttl=20s idle-forget=off
for n in 1 2 3; do
    around=(env LD_PRELOAD="$tools/clock_rate.so" WALL_CLOCK_STEP="$dir/$n.step")
    start $n
done
around=()
check 'three nodes serve' serving 1 2 3

# step SECONDS N...: the wall clock of these nodes, and of what `stepped` runs there, is so far ahead from now on.
step() {
    local seconds=$1 n
    shift
    for n; do
        echo "$seconds" >"$dir/$n.new"
        mv "$dir/$n.new" "$dir/$n.step"
    done
}
field() { grep -oE "[{,]\"$1\":\"?[^\",}]*" <<<"$out" | head -n1 | sed -E 's/^[^:]*:"?//'; }
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

# remains N NAME: $left is what remains by `get` at node N, with a client whose wall clock is the node's; $held_ms is how long
# it has been held at most by then, by our own clock.
remains() {
    out=$(LD_PRELOAD="$tools/clock_rate.so" WALL_CLOCK_STEP="$dir/$1.step" LEASEHOLD_CONNECT="unix:$dir/$1.sock" \
        "$leasehold" get "$2" --json)
    left=$(field remaining_ms)
    held_ms=$(($(now_ms) - from))
    [ -n "$left" ]
}
# What is left and what has passed make up a TTL of 20 s, but for what the view is old and a busy machine's delays.
adds_up() { remains "$1" steps && between $((left + held_ms)) 19000 25000; }
# The daemon's log tells the wall clock: proof that the step was seen. Of a node that has something to say.
log_is_ahead() {
    local line
    answers granted "$1" ACQUIRE "told$2" TTL 300ms && line=$(grep "event=granted.*told$2" "$dir/$1.log" | head -n 1) &&
        line=${line#*time=} && between $(($(date -d "${line%% *}" +%s) - $(date +%s))) $(($2 - 60)) $(($2 + 60))
}

# --- scenario 10: the wall clock steps by 2000 s either way ---
from=$(now_ms)
check 'scenario 10: A holds for T' exits 0 1 acquire steps --ttl 20s --holder ada
for n in 1 2 3; do check "scenario 10: what remains, at node $n" adds_up $n; done
step 2000 1 2 3
check 'scenario 10: every wall clock is 2000 s ahead' log_is_ahead 1 2000
for n in 1 2 3; do check "scenario 10: what remains has not changed, at node $n" adds_up $n; done
step -2000 1 2 3
check 'scenario 10: and then 2000 s behind' log_is_ahead 1 -2000
for n in 1 2 3; do check "scenario 10: what remains has not changed, at node $n" adds_up $n; done
check 'scenario 10: list shows no negative number' eval 'exits 0 2 list --json && ! grep -q "\":-" <<<"$out"'
answers granted 3 ACQUIRE short TTL 500ms HOLDER ada
step 2000 1 2 3
never_below() {
    local until=$(($(now_ms) + 10000))
    until answers free 1 GET short; do
        remains 3 short
        [[ $out != *'":-'* ]] && [ "$(now_ms)" -lt $until ] || return 1
    done
    exits 0 3 get short --json && ! grep -q '":-' <<<"$out"
}
check 'scenario 10: nor while a lease ends' never_below
check 'scenario 10: A renews all the same' eval 'answers held 1 GET steps && renews 1 steps "${reply[token]}" ada TTL 500ms'

# --- scenario 21: one acceptor's wall clock steps by 10 s ---
step 0 1 2 3
hold ticking ticking 1s 1
check 'scenario 21: A holds' eventually 5 beats ticking
token=$(token_of ticking)
step 10 2
check 'scenario 21: node 2 is 10 s ahead' log_is_ahead 2 10
refused() {
    local i
    for i in 1 2 3 4 5 6; do
        exits 75 2 acquire ticking --ttl 1s --nonblock && exits 75 3 acquire ticking --ttl 1s --nonblock || return 1
        for_ms 300
    done
}
check 'scenario 21: nobody else gets it, for almost twice T' refused
check 'scenario 21: A still holds, under its token' eval 'beats ticking && [ "$(token_of ticking)" = "$token" ]'

# --- scenario 22: the owner's process stops for 2 T, then handles what queued up ---
step 0 2
check 'scenario 22: node 3 owns' acquires 3 asleep TTL 1s HOLDER ada
token=${reply[token]}
late=$(counter_of 3 late-wakes)
signal 3 STOP
printf '%s\n' "LEASE"$'\t'"RENEW"$'\t'"asleep"$'\t'"$token"$'\t'"ada" >&"${asking[3]}" # waits in its socket
from=$(now_ms)
check 'scenario 22: B gets it when T is over' acquires 1 asleep TTL 5s HOLDER bob
while [ $(($(now_ms) - from)) -lt 2000 ]; do pause; done
signal 3 CONT
answer=()
while IFS= read -rt 20 line <&"${telling[3]}" && [ "$line" != . ]; do answer+=("$line"); done
check 'scenario 22: the renewal that queued up grants nothing' eval '[[ " ${answer[*]} " != *" granted "* ]]'
check 'scenario 22: B has it, whoever is asked' eval 'answers held 3 GET asleep && is holder bob && answers held 1 GET asleep && is holder bob'
check 'scenario 22: a late wake-up is counted' eventually 5 eval '[ "$(counter_of 3 late-wakes)" -gt "$late" ]'

# --- scenario 17: T = 3 s, nothing is swept (idle-forget is off), B asks much later. Here T is 300 ms. ---
check 'scenario 17: A holds' answers granted 1 ACQUIRE unswept TTL 300ms HOLDER ada
for_ms 2400
check 'scenario 17: B is granted at once' within 0 1500 exits 0 2 acquire unswept --nonblock --holder bob
