#!/bin/bash
# run-tests: timeout 300
# Daemons that are killed or stopped: the lease of a dead owner is free once its TTL has passed and not before,
# and a process that slept through its TTL activates nothing of what it finds in its queues.
. "$(dirname "$0")/lib.sh"
plan 31
nets 3
for n in 1 2 3; do records[n]=record=$dir/$n.record; done
cluster 3 max-ttl=2s
for n in 1 2 3; do configure $n max-ttl=2s "${records[n]}"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- kill -9 of the owner ---
check 'node 1 grants' answers granted 1 ACQUIRE owner TTL 1s HOLDER me
token=${reply[token]}
kill9 1
check 'its lease ends a TTL later and not before' within 900 4000 acquires 2 owner TTL 1s HOLDER you
check 'under a higher token' [ "${reply[token]}" -gt "$token" ]
token=${reply[token]}
start 1
check 'the killed daemon serves its quarantine' is_state 1 quarantine
check 'but its clients are served by the others' answers held 1 GET owner
check 'then it serves again' serving 1 2 3
check 'its own tokens go on rising' eval 'acquires 1 owner TTL 1s HOLDER me && [ ${reply[token]} -gt $token ]'

# --- kill -9 of a node that owns nothing ---
hold holder other 2s 1
check 'a wrapped command holds through node 1' eventually 5 beats other
token=$(token_of other)
kill9 2
check 'a killed acceptor costs nothing' answers granted 3 ACQUIRE third TTL 2s HOLDER me
start 2
check 'it comes back' serving 1 2 3
kill9 3
start 3
check 'another likewise' serving 1 2 3
check 'the command still beats' eventually 2 beats other
check 'under its first token' [ "$(token_of other)" = "$token" ]

# --- SIGSTOP of the owner's daemon, beyond the TTL ---
signal 1 STOP
check 'the wrapper ends its command, exit 76' ended holder 76
check 'node 2 takes over' acquires 2 other TTL 2s HOLDER you
check 'under a higher token' [ "${reply[token]}" -gt "$token" ]
for_ms 500
signal 1 CONT
check 'the continued daemon does not renew the old lease' not answers granted 1 RENEW other "$token" me
check 'and sees the new one' eventually 5 eval 'answers held 1 GET other && is node 2'
check 'a wake-up so late is counted' eventually 5 eval '[ "$(counter_of 1 late-wakes)" -gt 0 ]'

# --- SIGSTOP in the middle of an attempt: its promises wait in the socket for longer than it may live ---
check 'all serve' serving 1 2 3
stalled=$(counter_of 1 stalled)
attempts=$(counter_of 1 attempts)
signal 2 STOP
signal 3 STOP
redis-cli -s "$dir/1.sock" LEASE ACQUIRE midway TTL 500ms HOLDER me TIMEOUT 20s >"$dir/midway" &
asker=$!
check 'an attempt is under way' eventually 5 eval '[ "$(counter_of 1 attempts)" -gt $attempts ]'
signal 1 STOP
signal 2 CONT
signal 3 CONT
check 'meanwhile another node gets it' acquires 2 midway TTL 1s HOLDER you
for_ms 700
signal 1 CONT
check 'the attempt that slept is given up' eventually 5 eval '[ "$(counter_of 1 stalled)" -gt $stalled ]'
wait $asker
check 'nothing is granted from what waited in its queue' not grep -q '^granted$' "$dir/midway"

# --- killed by the kernel as it records what it is about to say, once with nothing and once with half a line written ---
# Its disk is not written meanwhile, and its log is shorter than that.
killed_recording() { # BYTES
    prlimit --pid "${pid[1]}" --fsize=$(($(stat -c %s "$dir/1.record") + $1)) &&
        ! redis-cli -s "$dir/1.sock" LEASE ACQUIRE "unsaid$1" TTL 1s HOLDER me >"$dir/unsaid" 2>&1
    wait "${pid[1]}"
    [ $? = $((128 + $(kill -l XFSZ))) ] && start 1 && serving 1 2 3
} 2>>"$dir/killed.log" # where the shell also tells how each daemon ended
check 'all serve again' serving 1 2 3
check 'nobody hears what is not recorded' killed_recording 0
check 'nor what is recorded in part' killed_recording 100

check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
check 'nobody overlapped' no_overlap other
