#!/bin/bash
# run-tests: timeout 300
# A daemon whose clock runs 5 % fast: it proves so by what the others stamp, gives up its lease, and falls silent;
# the others go on.
. "$(dirname "$0")/../e2e/lib.sh"
plan 9
leaseholdd=$root/build/leaseholdd # a sanitizer's library would have to be the first one
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=60s; done
around=(env LD_PRELOAD="$tools/clock_rate.so" CLOCK_RATE_PPM=50000)
start 1
around=()
start 2 3
check 'three nodes serve, one of them on a clock that runs 5 % fast' serving 1 2 3
check 'it is granted a lease' acquires 1 job TTL 60s HOLDER me
check 'it finds its clock out of its bound' eventually 60 is_state 1 bad-clock
check 'logs so, with the peer and by how much' logged 1 'event=clock-bad node='
check 'gives its lease up' logged 1 'event=lost'
check 'says which way it runs' eval '[[ $(status_of 1 reason) == "this node'\''s clock runs fast"* ]]'
check 'the others serve' eval 'is_state 2 serving && is_state 3 serving'
check 'and grant' acquires 2 other TTL 1s HOLDER you
check 'it answers none of it' eval '[ "$(counter_of 1 dropped-clock)" -gt 0 ]'
