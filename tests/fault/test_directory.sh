#!/bin/bash
# run-tests: timeout 300
# Data directories that are wiped, copied, swapped, shared, damaged, full or read-only: whatever a person or a script
# does to them, no node forgets a promise without a quarantine, and each message names the cause and the remedy.
. "$(dirname "$0")/../e2e/lib.sh"
plan 52
nets 4
cluster 3
for n in 1 2 3; do configure $n record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# refuses N TEXT [CODE]: a daemon started for N exits with CODE, 1 unless given, and an error that has TEXT.
refuses() {
    : >"$dir/$1.err"
    ip netns exec "n$1" "$leaseholdd" --config "$dir/$1.conf" 2>"$dir/$1.err" &
    local daemon=$!
    if ! eventually 10 not kill -0 $daemon 2>/dev/null; then
        kill -KILL $daemon
        return 1
    fi
    wait $daemon
    [ $? = "${3:-1}" ] && grep -q -F -- "$2" "$dir/$1.err"
}

# --- wiped ---
check 'a lease under which others act' acquires 1 job TTL 1s HOLDER me
token=${reply[token]}
kill9 3
cp -a "$dir/3.data" "$dir/3.old"
rm -rf "$dir/3.data"
start 3
check 'a wiped node comes back as a replacement' logged 3 'as=replacement generation=2'
check 'and serves a quarantine' logged 3 'event=quarantine'
check 'then it serves' serving 1 2 3
check 'the others know its generation' [ "$(peer_of 1 3 generation)" = 2 ]
check 'its tokens are above all before' eval 'acquires 3 job TTL 1s HOLDER me && [ ${reply[token]} -gt $token ]'
kill9 3
rm -rf "$dir/3.data"
start 3
check 'wiped again, it has generation 3' eval 'serving 1 2 3 && [ "$(status_of 3 generation)" = 3 ]'

# --- its old directory comes back ---
kill9 3
mv "$dir/3.data" "$dir/3.new"
cp -a "$dir/3.old" "$dir/3.data"
start 3
check 'an older generation is told that it was replaced' logged 3 'uses an old data directory that was replaced'
check 'with the remedy' logged 3 'stop it and remove that directory'
check 'it halts, and its status says why' eventually 5 eval '
    is_state 3 halted && [[ $(status_of 3 reason) == *"was replaced"* ]]'
check 'it grants nothing, and clients are sent on' eval 'lease 3 ACQUIRE old TTL 1s; [[ ${reply[error]} == NOTREADY*"ask another node" ]]'
kill9 3
rm -rf "$dir/3.data"
mv "$dir/3.new" "$dir/3.data"
start 3
check 'the right one is believed again' serving 1 2 3
check 'nobody complains any more' eventually 15 eval '[ -z "$(peer_of 1 3 reason)$(status_of 3 reason)" ]'

# --- wiped while nobody can tell ---
for n in 1 2 3; do kill9 $n; done
rm -rf "$dir/3.data"
start 3
check 'a wiped node alone waits for the others' eval 'is_state 3 joining && [[ $(status_of 3 reason) == *"other members"* ]]'
check 'and grants nothing' answers noquorum 3 ACQUIRE alone TTL 1s TIMEOUT 300ms
start 1
check 'one other answers it' eventually 10 eval '[[ "$(peer_of 3 1 rtt-us)" =~ ^[0-9]+$ ]]'
check 'which is not enough: it may be the one that does not know' is_state 3 joining
start 2
check 'with two it is a replacement' logged 3 'as=replacement generation=4'
check 'all serve' serving 1 2 3

# --- copied: a node that runs twice ---
kill9 2
cp -a "$dir/2.data" "$dir/4.data"
start 2
check 'node 2 serves' serving 1 2 3
connect 4
address_of() { [ "$2" = 2 ] && echo 10.0.0.4 || echo "10.0.0.$2"; }
members='1 2 3' configure 4 node=2 data-dir="$dir/4.data"
address_of() { echo "10.0.0.$2"; }
mv "$dir/4.data" "$dir/4.copy"
start 4
check 'a new one under its number, elsewhere, is not heard of' eventually 10 eval '
    is_state 4 joining && [[ $(status_of 4 reason) == *"the address that their configuration has"* ]]'
check 'and grants nothing' answers noquorum 4 ACQUIRE elsewhere TTL 1s TIMEOUT 300ms
check 'nor is the one that runs disturbed' eval 'serving 1 2 3 && acquires 2 elsewhere TTL 1s'
kill9 4
rm -rf "$dir/4.data"
mv "$dir/4.copy" "$dir/4.data"
start 4
check 'a copy that runs beside it is refused as running twice' logged 1 'node=2 reason="it runs twice'
check 'with the remedy' logged 1 'stop one and remove its copy'
kill9 4
check 'the copy gone, the original serves' eventually 10 acquires 2 twice TTL 1s
kill9 2
start 2
check 'the number of its next start is written' serving 2
kill9 2
start 2
check 'the original was restarted meanwhile' serving 1 2 3
start 4
check 'so the copy is behind, and refused as such' logged 1 'is older than what it has said before'
kill9 4

# --- swapped, another cluster, other settings ---
for n in 1 2; do stop $n; done
mv "$dir/1.data" "$dir/swap"
mv "$dir/2.data" "$dir/1.data"
mv "$dir/swap" "$dir/2.data"
check 'swapped directories are refused at the start, for good' refuses 1 'belongs to another node' 64
check 'both, with the remedy' refuses 2 'must not be swapped or copied' 64
mv "$dir/1.data" "$dir/swap"
mv "$dir/2.data" "$dir/1.data"
mv "$dir/swap" "$dir/2.data"
"$leasehold" keygen "$dir/other" >/dev/null
configure 1 keyring="$dir/other"
check 'a directory of another cluster is refused' refuses 1 'belongs to another cluster' 64
configure 1 max-ttl=3s
check 'another max-ttl is refused, with the remedy' refuses 1 'set-members' 64
configure 1 record="$dir/1.record"
start 1 2
check 'put right, all serve' serving 1 2 3

# --- shared ---
check 'a second daemon on a directory is refused, naming the first' refuses 1 "${pid[1]}"
check 'which goes on' acquires 1 shared TTL 1s

# --- damaged ---
stop 3
cp -a "$dir/3.data" "$dir/3.good"
printf 'garbage' | dd of="$dir/3.data/data.mdb" bs=1 seek=4100 conv=notrunc 2>/dev/null
dd if=/dev/urandom of="$dir/3.data/data.mdb" bs=1024 seek=4 count=200 conv=notrunc 2>/dev/null
check 'a damaged directory is refused' refuses 3 'damaged'
check 'with the remedy' grep -q 'replacement' "$dir/3.err"
foretold() { # TEXT: --config-test of node 3 says so, too
    local out
    out=$("$leaseholdd" --config "$dir/3.conf" --config-test 2>&1)
    [ $? = 64 ] && [[ $out == "NOT OK"*"$1"* ]]
}
check 'which --config-test says beforehand' foretold 'data.mdb is damaged'
cp "$dir/3.good/data.mdb" "$dir/3.data/data.mdb"
for page in 0 4096; do # the last page that each of LMDB's meta pages names
    printf '\x7f' | dd of="$dir/3.data/data.mdb" bs=1 seek=$((page + 142)) conv=notrunc 2>/dev/null
done
check 'so is one that asks for more memory than there is' refuses 3 'data.mdb is damaged'
rm -rf "$dir/3.data"
mkdir "$dir/3.data"
: >"$dir/3.data/data.mdb"
check 'so is an empty file' refuses 3 "$dir/3.data"
check 'beforehand, too' foretold 'data.mdb is damaged'
rm -rf "$dir/3.data"
mv "$dir/3.good" "$dir/3.data"
start 3
check 'the good one serves' serving 1 2 3

# --- read-only and full ---
stop 3
mount --bind "$dir/3.data" "$dir/3.data"
mount -o remount,ro,bind "$dir/3.data"
check 'a read-only directory is refused' refuses 3 "data directory $dir/3.data"
check 'with the remedy' grep -q -i 'read-only' "$dir/3.err"
umount "$dir/3.data"
start 3
check 'writable again, it serves' serving 1 2 3
stop 3
mv "$dir/3.data" "$dir/3.kept"
mkdir "$dir/3.data"
mount -t tmpfs -o size=64k none "$dir/3.data"
dd if=/dev/zero of="$dir/3.data/ballast" bs=4k 2>"$dir/dd"
check 'a full directory is refused, with the remedy' refuses 3 'no space left: free some'
check 'the others grant' acquires 1 full TTL 1s
rm "$dir/3.data/ballast"
start 3
check 'space freed, it is a replacement' logged 3 'generation=5'
check 'and serves' serving 1 2 3

for n in 1 2 3; do stop $n; done
check 'by the records, no name had two owners' only_one_owner
