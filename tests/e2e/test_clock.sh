#!/bin/bash
# run-tests: timeout 300
# Clocks: a daemon whose BOOTTIME is another (a time namespace), and a wall clock that jumps.
. "$(dirname "$0")/lib.sh"
plan 12
if ! unshare --time --boottime 1000 true 2>/dev/null; then
    for ((i = 1; i <= 12; i++)); do skip 'another clock' 'no time namespaces'; done
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
