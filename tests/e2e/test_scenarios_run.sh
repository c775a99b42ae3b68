#!/bin/bash
# run-tests: timeout 300
# What users of other lock services report (the numbers are those of the list), as far as `leasehold run` is concerned, and
# the options that answer it: --keep, --on-lost, --min-hold, -E.
. "$(dirname "$0")/lib.sh"
plan 50
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=30s; done
start 1 2 3
check 'three nodes serve' serving 1 2 3
says() { grep -q -F -- "$1" "$dir/cli.log"; }

# wrap WHO N WORD...: `leasehold run` through node N in the background.
wrap() {
    local who=$1 n=$2
    shift 2
    LEASEHOLD_CONNECT=unix:$dir/$n.sock "$leasehold" run "$@" >"$dir/$who.log" 2>&1 &
    pid[$who]=$!
}
seconds_up() { cut -d' ' -f1 /proc/uptime; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }
lines() { [ "$(cat "$dir/$1" 2>/dev/null | wc -l)" = "$2" ]; }

# --- scenario 4: partitioned at 0, T = 30 s, kill-after 5 s. Here T is 6 s and kill-after 2 s. ---
wrap four 1 four --ttl 6s --kill-after 2s -- sh -c '
    trap "cut -d\" \" -f1 /proc/uptime >$0/four.asked" TERM; trap "" INT; echo >$0/four.up
    while :; do cut -d" " -f1 /proc/uptime >>$0/four.beats; sleep 0.05; done' "$dir"
check 'scenario 4: A runs' eventually 5 test -e "$dir/four.up"
cut_off 1
wrap fourth 2 four --ttl 1s -- sh -c 'cut -d" " -f1 /proc/uptime >$0/four.next' "$dir"
check 'scenario 4: B starts' eventually 15 test -s "$dir/four.next"
check 'scenario 4: A was asked by TERM before' at_least "$(cat "$dir/four.next")" "$(cat "$dir/four.asked")"
check 'scenario 4: and has had 1 s for it at least' at_least "$(tail -n1 "$dir/four.beats")" "$(awk '{print $1 + 1}' "$dir/four.asked")"
check 'scenario 4: A was dead before' at_least "$(cat "$dir/four.next")" "$(tail -n1 "$dir/four.beats")"
check 'scenario 4: A exits with 76' ended four 76
heal
check 'all serve' serving 1 2 3

check 'scenario 23: exit 3' exits 3 1 run n -- sh -c 'exit 3'

# --- eight wrappers of `true` in a row, each waiting for the one before ---
eight() {
    local i
    for i in 1 2 3 4 5 6 7 8; do wrap "eight$i" $((i % 3 + 1)) eight -- true; done
    for i in 1 2 3 4 5 6 7 8; do wait "${pid[eight$i]}" || return 1; done
}
from=$(now_ms)
check 'eight wrappers of true take their turns' eight
echo "# in $(($(now_ms) - from)) ms"

# --- scenario 25 ---
hook='echo "$LEASEHOLD_NAME $LEASEHOLD_TOKEN $LEASEHOLD_TTL_MS $LEASEHOLD_HOLDER"'
wrap hooked 1 hooked --ttl 1s --on-lost "$hook >>$dir/hooked" -- "$tools/beat" "$dir/hooked.beats"
check 'scenario 25: a command runs under --on-lost' eventually 5 beats hooked
token=$(token_of hooked)
check 'scenario 25: its lease is revoked' exits 0 2 revoke hooked
check 'scenario 25: 76' ended hooked 76
check 'scenario 25: the hook has run once, with the token' eval 'lines hooked 1 && grep -q "^hooked $token 1000 " "$dir/hooked"'
check 'no loss, no hook' eval 'exits 5 1 run hooked --on-lost "$hook >>$dir/hooked" -- sh -c "exit 5" && lines hooked 1'
wrap hooked 1 hooked --ttl 1s --on-lost "$hook >>$dir/hooked" -- "$tools/beat" "$dir/hooked.beats"
check 'another' eventually 5 has_token_above hooked "$token"
kill -KILL "${pid[hooked]}"
check 'the hook runs even if the wrapper is killed' eventually 5 lines hooked 2
wrap hooked 1 hooked --ttl 2s --on-lost "sleep 0.3; $hook >>$dir/hooked" -- sh -c 'kill -STOP $PPID; echo >"$0/asleep"; sleep 60' "$dir"
check 'a guardian is stopped' eventually 5 test -e "$dir/asleep"
cut_off 1
check 'the hook runs then, too, and is waited for' eval 'ended hooked 76 && lines hooked 3'
heal
check 'all serve' serving 1 2 3
wrap slow 1 slow --ttl 1s --on-lost "echo >>$dir/slow.hooks; sleep 1; echo >>$dir/slow.hooks" -- "$tools/beat" "$dir/slow.beats"
check 'a command with a slow hook runs' eventually 5 beats slow
kill -STOP "${pid[slow]}"
check 'its wrapper stopped, the hook begins' eventually 5 lines slow.hooks 1
kill -CONT "${pid[slow]}"
check 'a wrapper that goes on lets it end, and starts no other' eval 'ended slow 76 && lines slow.hooks 2'

# --- scenario 26 ---
wrap hard 1 hard --ttl 2s -- "$tools/beat" "$dir/hard.beats"
check 'scenario 26: a client runs' eventually 5 beats hard
kill -KILL "${pid[hard]}"
check 'scenario 26: killed hard, the name is free within T' within 0 2500 acquires 2 hard TTL 300ms

# --- scenario 27 ---
wrap held 1 held --ttl 1s -- "$tools/beat" "$dir/held.beats"
check 'scenario 27: held by A' eventually 5 beats held
check 'scenario 27: acquire --wait 2s: 75 at 2 s' within 2000 3500 exits 75 2 acquire held --wait 2s
check 'scenario 27: run --wait 1s: 75 at 1 s' within 1000 2500 exits 75 2 run held --wait 1s -- true
check 'scenario 27: revoke clears it, and A learns' eval 'exits 0 2 revoke held && ended held 76 && grep -q revoked "$dir/held.log"'
check 'scenario 27: it is free' acquires 2 held TTL 300ms

# --- scenario 34: the worker hangs, and what renews for it does not ---
wrap hung 1 hung --ttl 1s --pulse 500ms -- sh -c '
    for i in 1 2 3 4 5 6 7 8 9 10; do echo >&$LEASEHOLD_PULSE_FD; sleep 0.2; done; echo >"$0/hung.hangs"; exec sleep 60' "$dir"
check 'scenario 34: a worker that pulses keeps its lease, for twice the TTL' eventually 10 test -e "$dir/hung.hangs"
check 'scenario 34: one that hangs loses it: B gets it' acquires 2 hung TTL 300ms
check 'scenario 34: after the worker was ended' ended hung 76
check 'scenario 34: and the reason is told' grep -q 'its command gave no pulse for .* (--pulse 500ms)' "$dir/hung.log"

# --- scenario 39: a candidate that loses once stays one ---
wrap elect 1 elect --ttl 1s --keep --on-lost "echo >>$dir/elect.losses" -- "$tools/beat" "$dir/elect.beats"
check 'scenario 39: a candidate leads' eventually 5 beats elect
token=$(token_of elect)
check 'scenario 39: it loses' exits 0 2 revoke elect
check 'scenario 39: it stays a candidate and leads again, under a higher token' eventually 10 has_token_above elect "$token"
check 'each loss is one call of the hook' lines elect.losses 1
token=$(token_of elect)
kill9 1
check 'its daemon dies: it waits for one' eventually 10 grep -q 'was not acquired: no daemon' "$dir/elect.log"
kill -TERM "${pid[elect]}"
check 'a signal ends the waiting' ended elect 143
start 1
check 'no two overlapped' no_overlap elect

# --- --min-hold, -E ---
check '--min-hold: the lease is held on' within 2000 3500 exits 7 2 run brief --ttl 1s --min-hold 2s -- sh -c 'exit 7'
check 'and then released' answers free 2 GET brief
wrap brief 2 brief --ttl 1s --min-hold 1m -- touch "$dir/brief"
check 'the command has ended' eventually 5 eval '[ -e "$dir/brief" ] && ! pgrep -P "${pid[brief]}"'
check 'nobody else has it meanwhile' answers held 3 GET brief
kill -TERM "${pid[brief]}"
check 'a signal ends that, with the code of the command' eval 'ended brief 0 && answers free 2 GET brief'
wrap brief 2 brief --ttl 4s --min-hold 1m -- true
check 'it is revoked meanwhile' eval 'eventually 5 answers held 2 GET brief && exits 0 3 revoke brief'
check 'its code is that of the command, and the name is free at once' eval '
    ended brief 0 && within 0 1000 eventually 1 answers free 3 GET brief'
wrap taken 2 taken --ttl 1s -- "$tools/beat" "$dir/taken.beats"
check '-E 0: not acquired is no failure' eval 'eventually 5 beats taken && exits 0 3 run taken --nonblock -E 0 -- false && says "was not acquired"'
check '-E with a word: 64' eval 'exits 64 3 run taken -E none -- true && says "'"'none'"'"'
