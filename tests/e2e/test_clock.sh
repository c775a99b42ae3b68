#!/bin/bash
# run-tests: timeout 300
# Clocks: a daemon whose BOOTTIME is another (a time namespace), and a wall clock that jumps.
. "$(dirname "$0")/lib.sh"
plan 16
if ! unshare --time --boottime 1000 true 2>/dev/null; then
    for ((i = 1; i <= 16; i++)); do skip 'another clock' 'no time namespaces'; done
    exit 0
fi
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=2s; done
start 1
around=(unshare --time --boottime 10000000)
start 2
around=(unshare --time --boottime 3)
start 3
around=()
check 'three nodes with clocks that are months apart serve' serving 1 2 3
check 'a lease at the first' acquires 1 job TTL 1s HOLDER me
token=${reply[token]}
check 'is held for a TTL, by the clock of any' eval 'answers held 2 GET job && [ ${reply[remaining-ns]} -le 1000000000 ]'
check 'ends, and another acquires it' within 0 4000 acquires 2 job TTL 1s HOLDER you
check 'under a higher token' [ "${reply[token]}" -gt "$token" ]
check 'renews it' renews 2 job "${reply[token]}" you TTL 2s
check 'and the third sees it' answers held 3 GET job
check 'the third cannot have it' answers held 3 ACQUIRE job TTL 1s HOLDER them
check 'what is left is never negative' [ "${reply[free-in-ns]}" -ge 0 ]
check 'until it ends' acquires 3 job TTL 1s HOLDER them
hold holder run 2s 2
check 'a client of another clock than its daemon holds' eventually 5 beats run
for_ms 2500
check 'and renews' beats run

# --- a saved state is bound to the offset, whichever namespace it comes from ---
around=(unshare --time --boottime 1000)
# A process in the time namespace that node 1 had keeps the kernel from using its number again.
keep() {
    nsenter --time="/proc/${pid[1]}/ns/time" sleep 1000 &
    kept=$!
    eventually 5 [ "/proc/$kept/ns/time" -ef "/proc/${pid[1]}/ns/time" ]
}
# Linux before 6.3 moves only children into a new time namespace.
# shellcheck disable=SC2016 # for the other shell
if "${around[@]}" "$BASH" -c '[ /proc/self/ns/time -ef /proc/self/ns/time_for_children ]'; then
    stop 1
    configure 1 max-ttl=2s
    start 1
    check 'a node that keeps its state in a time namespace' serving 1 2 3
    check 'which stops in order' eval 'keep && stop 1 && logged 1 state-saved'
    start 1
    check 'takes it over in another one with the same offset' logged 1 state-restored
    serving 1 2 3
    stop 1
    around=(unshare --time --boottime 1001)
    start 1
    check 'but not with another offset' logged 1 'the clock is another one'
    kill $kept
else
    for i in 1 2 3 4; do skip 'a saved state' 'unshare needs a child'; done
fi
