#!/bin/bash
# run-tests: timeout 300
# The rules that go beyond the paper, all on at once as they are by default: idle-forget, one-round-renewal,
# quarantine-ceiling and clean-restart, with a max-ttl that nobody uses.
. "$(dirname "$0")/lib.sh"
plan 24
nets 3
cluster 3
for n in 1 2 3; do
    configure $n max-ttl=30s record="$dir/$n.record"
done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- F3 ---
check 'a lease' acquires 1 job TTL 1s HOLDER me
token=${reply[token]}
rounds() { grep -c '"event":"send".*"kind":"prepare"' "$dir/1.record"; }
before=$(rounds)
check 'is renewed under its token' eval 'renews 1 job $token me TTL 1s && is token "$token"'
check 'in one round: nobody prepares' [ "$(rounds)" = "$before" ]
check 'and extended' grep -q '"kind":"extended"' "$dir/1.record"
check 'a contender does not disturb it' eval 'answers held 2 ACQUIRE job TTL 1s HOLDER you; renews 1 job $token me TTL 1s'
check 'the holder lets go' answers released 1 RELEASE job "$token" me

# --- F1 ---
forgotten() { [ "$(counter_of 1 forgotten)" -gt 0 ] && [ "$(status_of 1 records)" = 0 ]; }
check 'names that nobody uses are forgotten' eventually 15 forgotten
check 'their tokens rise all the same' eval 'acquires 2 job TTL 1s HOLDER you && [ ${reply[token]} -gt $token ]'
token=${reply[token]}

# --- F5 ---
kill9 3
start 3
check 'after a crash the quarantine covers what was used, not max-ttl' logged 3 'event=quarantine ms='
check 'which is a second or so' eval '
    ms=$(grep -o "event=quarantine ms=[0-9]*" "$dir/3.log" | tail -n 1 | tr -dc 0-9) && [ $ms -le 1300 ] && [ $ms -ge 500 ]'
check 'it serves' serving 1 2 3
check 'a longer lease' acquires 1 longer TTL 3s HOLDER me
check 'which node 3 answered' eventually 5 grep -q '"event":"send".*"kind":"accepted".*"ttl_ns":3000000000\|"kind":"accepted"' "$dir/3.record"
kill9 3
: >"$dir/3.log"
start 3
check 'raises the quarantine' eval '
    logged 3 event=quarantine && ms=$(grep -o "event=quarantine ms=[0-9]*" "$dir/3.log" | tr -dc 0-9) &&
        [ $ms -le 3600 ] && [ $ms -ge 2500 ]'
check 'it serves' serving 1 2 3

# --- F4, with all of that ---
hold holder roll 3s 1 2 3
check 'a command runs' eventually 5 beats roll
token=$(token_of roll)
roll() {
    local n
    for n in 1 2 3; do
        stop $n && start $n && eventually 3 is_state $n serving && logged $n state-restored || return 1
        eventually 3 beats roll || return 1
    done
}
check 'each node is restarted in order, without a quarantine' roll
for_ms 3500
check 'the command kept its lease' eval 'beats roll; [ "$(token_of roll)" = "$token" ]'
check 'and it is renewed in one round still' eval '[ "$(counter_of 1 renewed)" -gt 0 ] || [ "$(counter_of 2 renewed)" -gt 0 ] || [ "$(counter_of 3 renewed)" -gt 0 ]'
for n in 1 2 3; do kill9 $n; done
start 1 2 3
check 'a crash of all three: the command is ended' eventually 10 not kill -0 "${pid[holder]}"
check 'and a later one has a higher token' eval 'acquires 1 roll TTL 1s HOLDER late && [ ${reply[token]} -gt $token ]'
check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
