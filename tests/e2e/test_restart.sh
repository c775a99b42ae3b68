#!/bin/bash
# run-tests: timeout 300
# Restarts of one, two and three nodes, inside and after their quarantine. Nothing is acquired through a majority
# that may have forgotten, tokens only rise, and a rolling upgrade costs no lease.
. "$(dirname "$0")/lib.sh"
plan 41
nets 3
cluster 3
for n in 1 2 3; do
    configure $n max-ttl=2s clean-restart=off quarantine-ceiling=off record="$dir/$n.record"
done
start 1 2
check 'two that are new see each other, and say for how many they wait' eventually 5 eval '
    exits 69 1 status && [[ $out == *"waiting for 2 other members"*"node 2  joining  "*"it waits for other members"*"node 3  unknown  never "* ]]'
check 'what is not known is null' eval '
    exits 69 1 status --json && [[ $out == *"\"node\":3,\"state\":\"unknown\""*"\"heard_ago_ms\":null"*"\"rtt_us\":null"* ]]'
start 3
check 'three nodes serve' serving 1 2 3

# --- one, in order ---
hold holder job 2s 1
check 'a command runs through node 1' eventually 5 beats job
token=$(token_of job)
check 'a daemon told to end exits with 0' stop 3
start 3
check 'restarted, it is in quarantine' is_state 3 quarantine
check 'for no longer than max-ttl asks' [ "$(status_of 3 quarantine-left-ms)" -le 2060 ]
check 'clients of a quarantined node are served' acquires 3 through TTL 1s
check 'then it serves' serving 1 2 3

# --- again within the quarantine: it begins anew ---
kill9 3
start 3
for_ms 1000
kill9 3
start 3
check 'a second restart serves a whole quarantine again' [ "$(status_of 3 quarantine-left-ms)" -gt 1100 ]
check 'serving' serving 1 2 3
check 'the command has beaten all the time' [ "$(token_of job)" = "$token" ]

# --- two at once ---
check 'node 1 grants' acquires 1 two TTL 2s HOLDER me
two=${reply[token]}
kill9 2
kill9 3
start 2 3
from=$(now_ms)
check 'a majority in quarantine grants nothing' answers noquorum 1 ACQUIRE else TTL 1s TIMEOUT 500ms
check 'nor at a quarantined node' answers noquorum 2 ACQUIRE else TTL 1s TIMEOUT 500ms
check 'which says why' eval '[[ ${reply[reason]} == *quarantine* || ${reply[reason]} == *silent* ]]'
check 'nor does it call a name free' eval 'lease 2 GET else; [ $(($(now_ms) - from)) -ge 1500 ]'
check 'after the quarantine it grants' acquires 2 else TTL 1s HOLDER me
check 'tokens rise' eval 'acquires 3 two TTL 1s HOLDER you && [ ${reply[token]} -gt $two ]'
check 'all serve' serving 1 2 3

# --- three at once ---
check 'a last token' acquires 1 three TTL 2s HOLDER me
three=${reply[token]}
for n in 1 2 3; do kill9 $n; done
start 1 2 3
from=$(now_ms)
check 'nothing is granted' answers noquorum 1 ACQUIRE three TTL 1s TIMEOUT 500ms
check 'until the quarantine is over' eval 'acquires 1 three TTL 1s HOLDER you && [ $(($(now_ms) - from)) -ge 1500 ]'
check 'and the token is above all before' [ "${reply[token]}" -gt "$three" ]
check 'no two owners so far, by the records' only_one_owner
for n in 1 2 3; do stop $n; done

# --- a rolling upgrade ---
mkdir "$dir/state"
for n in 1 2 3; do configure $n max-ttl=3s state-dir="$dir/state" record="$dir/$n.record"; done
check 'a changed max-ttl is refused by the directory' eval 'start_with 1; logged 1 set-members'
for n in 1 2 3; do
    configure $n max-ttl=3s member-epoch=2 state-dir="$dir/state" record="$dir/$n.record"
    "$leaseholdd" set-members --config "$dir/$n.conf" >>"$dir/members.log" 2>&1
done
check 'set-members changes it' eval '[ $(grep -c "are set" "$dir/members.log") = 3 ]'
start 1 2 3
check 'three nodes serve with it' serving 1 2 3
rm -f "$dir/job.beats"
hold roller job 3s 1 2 3
check 'a command runs' eventually 10 beats job
token=$(token_of job)
roll() {
    local n
    for n in 1 2 3 1 2 3; do
        stop $n && start $n && eventually 3 is_state $n serving || return 1
        grep -q 'event=quarantine' <(sed -n '/state-restored/,$p' "$dir/$n.log") && return 1
        eventually 3 beats job || return 1
    done
}
check 'each node is restarted twice, without a quarantine' roll
check 'the command never lost its lease' eval 'beats job; [ "$(token_of job)" = "$token" ]'
check 'a save is used once' eval '[ -z "$(ls "$dir/state")" ]'
check 'a lease of a node that stays away' answers granted 2 ACQUIRE away TTL 1s
stop 2
check 'ends meanwhile' eventually 10 answers free 1 GET away
cp "$dir/state/leasehold-2.state" "$dir/saved"
start 2
eventually 5 is_state 2 serving # which its start number precedes: the save is consumed
check 'that ended meanwhile is counted as lost' eval '[ "$(counter_of 2 lost)" = 1 ] && logged 2 "state-restored leases-lost=1"'
kill9 2
cp "$dir/saved" "$dir/state/leasehold-2.state"
start 2
check 'an old save is refused' logged 2 'was saved by another start'
check 'and the quarantine served' eventually 2 is_state 2 quarantine
check 'the command still runs' eval '[ "$(token_of job)" = "$token" ]'
for n in 1 2 3; do kill9 $n; done
check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
check 'no overlap of commands' no_overlap job
