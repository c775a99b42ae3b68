#!/bin/bash
# run-tests: timeout 300
# Nodes that do not fit: each is refused with its name, the cause and the remedy, in the log of both sides or in
# `status`, while the others go on; and once the cause is mended, nobody goes on complaining.
. "$(dirname "$0")/lib.sh"
plan 42
nets 4
cluster 3 max-ttl=2s
connect 4
start 1 2 3
check 'three nodes serve' serving 1 2 3
"$leasehold" keygen "$dir/other" >"$dir/keygen.log"

# joins KEY=VALUE...: node 3, with an empty data directory and a configuration of its own.
joins() {
    [ -z "${pid[3]:-}" ] || kill9 3
    rm -rf "$dir/3.data"
    : >"$dir/3.log"
    configure 3 max-ttl=2s "$@"
    start 3
}
holds() { acquires 1 "$1" TTL 1s; }

# --- keys and clusters ---
sed "s/^key .*/key = $(tail -n 1 "$dir/other" | sed 's/.*= *//')/" "$dir/keyring" >"$dir/other-key"
chmod 600 "$dir/other-key"
joins keyring="$dir/other-key"
check 'another key: refused as unknown-key' logged 1 'cause=unknown-key'
check 'with the remedy' logged 1 'add it here, then send HUP'
check 'and counted' eval '[ "$(counter_of 1 datagrams-unknown-key)" -gt 0 ]'
check 'by the other side as well' logged 3 'cause=unknown-key'
check 'the joining node says that it waits for the others' eval 'is_state 3 joining && [ -n "$(status_of 3 reason)" ]'
check 'it grants nothing' answers noquorum 3 ACQUIRE x TTL 1s TIMEOUT 200ms
check 'the others do' holds key
joins keyring="$dir/other"
check 'another cluster: refused as other-cluster' logged 1 'cause=other-cluster'
check 'with the remedy' logged 1 'compare the keyring files'
check 'the others grant' holds cluster

# --- members, epoch, timing ---
members='1 2 3 4' joins
check 'another list of members: refused' logged 1 'name other members'
check 'with the remedy' logged 1 'give every node the same list'
check 'and told so' logged 3 'name other members'
check 'its status names the others, since both refuse' eventually 10 eval '[[ $(peer_of 3 1 reason) == *"other members"* ]]'
check 'and so does that of the others' eventually 10 eval '[[ $(peer_of 1 3 reason) == *"other members"* ]]'
check 'the others grant' holds members
joins member-epoch=2
check 'another member-epoch: refused' logged 1 'another member-epoch'
check 'with the remedy' logged 3 'set-members'
check 'its status says it' eventually 10 eval '[[ $(peer_of 3 1 reason) == *set-members* ]]'
joins max-ttl=5s
check 'a longer max-ttl: refused' logged 1 'its max-ttl is longer'
check 'with the remedy' logged 1 'both must be equal'
check 'told so, and status says it' eval 'logged 3 "its max-ttl is longer" && is_state 3 refused'
joins rate-error=0.1%
check 'a smaller rate-error: refused' logged 1 'its rate-error smaller'
check 'the others grant' holds timing
joins max-ttl=1s
check 'a shorter max-ttl refuses the others' logged 3 'its max-ttl is longer'
check 'and has no quorum' answers noquorum 3 ACQUIRE x TTL 1s TIMEOUT 200ms

# --- mended ---
joins
check 'with the right configuration it serves' serving 1 2 3
check 'as a replacement' logged 3 'as=replacement'
check 'soon nobody complains any more' eventually 12 eval '[ -z "$(peer_of 1 3 reason)$(peer_of 3 1 reason)$(peer_of 1 3 refuses-us)" ]'
check 'it grants' acquires 3 mended TTL 1s

# --- a change of epoch that the others finish later ---
for n in 3 2 1; do
    stop $n
    configure $n max-ttl=2s member-epoch=2
    "$leaseholdd" set-members --config "$dir/$n.conf" >>"$dir/members.log" 2>&1
    start $n
done
check 'the last one finished the change: all serve' serving 1 2 3
check 'no node reports a refusal' eval '
    for n in 1 2 3; do [ "$(status_of $n state)" = serving ] && [ -z "$(status_of $n reason)" ] || exit 1; done'
check 'a lease is granted at each' eval 'acquires 1 e1 TTL 1s && acquires 2 e2 TTL 1s && acquires 3 e3 TTL 1s'

# --- HUP: the sealing key is rotated in three steps under load ---
hold holder job 2s 1
check 'a command runs' eventually 5 beats job
token=$(token_of job)
new=$("$leasehold" keygen --key)
old=$(grep '^key' "$dir/keyring")
# rekey LINE...: the keyring with these keys, then HUP for everybody.
rekey() {
    local n loaded
    grep -v '^key' "$dir/keyring" >"$dir/keyring.new"
    printf '%s\n' "$@" >>"$dir/keyring.new"
    chmod 600 "$dir/keyring.new"
    mv "$dir/keyring.new" "$dir/keyring"
    for n in 1 2 3; do
        loaded=$(grep -c keyring-reloaded "$dir/$n.log")
        signal $n HUP
        eventually 5 eval '[ "$(grep -c keyring-reloaded "$dir/$n.log")" -gt $loaded ]' || return 1
        acquires $n "rekey$n" TTL 300ms || return 1
    done
    for_ms 1200 # longer than half the TTL: at least one renewal under the new keys
}
unknown=$(cat "$dir"/[123].log | grep -c unknown-key)
check 'the new key is added' rekey "$old" "$new"
check 'the new key seals' rekey "$new" "$old"
check 'the old key is removed' rekey "$new"
check 'the command kept its lease' eval 'beats job; [ "$(token_of job)" = "$token" ]'
check 'no datagram was refused meanwhile' [ "$(cat "$dir"/[123].log | grep -c unknown-key)" = "$unknown" ]
echo 'key = nonsense' >>"$dir/keyring"
signal 1 HUP
check 'a keyring that cannot be read is not taken over' logged 1 'keyring-kept'
check 'and the node goes on' holds kept
