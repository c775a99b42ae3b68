#!/bin/bash
# run-tests: timeout 300
# Hostile datagrams, through a relay between the members: lost, delayed, out of order, doubled, damaged, cut,
# invented, oversized, and replayed, of this life of a node and of an earlier one. A lease is never granted twice,
# none is lost for datagrams that only come too often, and each kind is counted.
. "$(dirname "$0")/../e2e/lib.sh"
plan 39
nets 3

relayed 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=2s record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve through the relay' serving 1 2 3
hold holder job 2s 1
check 'a command runs' eventually 10 beats job
token=$(token_of job)
# unharmed: the same command still beats after more than a TTL in which it had to renew.
unharmed() { for_ms "${1:-2200}" && eventually 2 beats job && [ "$(token_of job)" = "$token" ]; }

# --- doubled, out of order, some lost ---
relay set double 100
check 'every datagram twice: unharmed' unharmed
relay set delay 30
check 'and out of order: unharmed' unharmed
check 'others are granted' acquires 2 disorder TTL 1s
relay set double 0
relay set drop 20
check 'a fifth lost and late: unharmed' unharmed
check 'others are granted' acquires 3 loss TTL 1s
relay set delay 0
relay set drop 0
for k in 1 2 3 4 5 6; do hold keeper$k keep$k 2s $((k % 3 + 1)); done
all_beat() { for k in 1 2 3 4 5 6; do beats keep$k || return 1; done; }
tokens() { for k in 1 2 3 4 5 6; do token_of keep$k; done; }
check 'six more commands run' eventually 20 all_beat
relay set drop 30
kept=$(tokens)
for_ms 10000
check 'three of ten lost for 10 s: each still holds its first lease' [ "$(tokens)" = "$kept" ]
check 'and runs' eventually 5 all_beat
relay set drop 0
check 'retransmissions were counted' eval '[ "$(counter_of 1 retransmits)" -gt 0 ]'

# --- damaged and invented ---
relay set flip 100
check 'every datagram also with a bit flipped: unharmed' unharmed
relay set flip 0
check 'told as forged, with the remedy' logged 1 'cause=forged reason="the seal is broken'
relay keep on
check 'datagrams are kept' eval 'for_ms 1500; acquires 2 kept TTL 1s'
for kind in flips cuts 'garbage 300' 'huge 20'; do
    relay $kind
    check "$kind: the node serves on" eval '[ "$did" -gt 0 ] && acquires 2 "${kind%% *}" TTL 1s'
done
check 'cut ones are told' logged 1 'cause=too-short'
check 'foreign ones are told' logged 1 'cause=not-ours'
check 'unharmed' unharmed
quiet=$(grep -c datagram-refused "$dir/1.log")
relay garbage 1000
check 'a flood of them is a handful of log lines' [ $(($(grep -c datagram-refused "$dir/1.log") - quiet)) -le 8 ]

# --- replayed, of the same boots ---
relay keep none
relay keep on
check 'a lease is taken and released while datagrams are kept' eval '
    acquires 2 replayed TTL 2s HOLDER me && answers released 2 RELEASE replayed ${reply[token]} me'
check 'another has it' acquires 3 replayed TTL 2s HOLDER you
check 'all of it is sent again' eval 'relay replay 3 && [ "$did" -gt 20 ]'
check 'the old grant does not come back, nor does the old release end the new one' eval '
    answers held 1 GET replayed && is node 3'
check 'its owner renews it' renews 3 replayed "${reply[token]}" you TTL 2s
check 'unharmed' unharmed

# --- replayed, of an earlier life ---
relay keep none
relay keep on
check 'a lease through node 2' eval 'acquires 2 lives TTL 1s HOLDER me && for_ms 1200'
kill9 2
relay keep enough # what was kept is of the earlier life
start 2
check 'node 2 has another life' serving 1 2 3
dropped() { echo $(($(counter_of "$1" dropped-stale) + $(counter_of "$1" dropped-refused))); }
before_1=$(dropped 1)
before_2=$(dropped 2)
check 'the earlier one is sent again' eval 'relay replay 1 && [ "$did" -gt 20 ]'
check 'what node 2 said in it is dropped and counted' eventually 5 eval '[ $(($(dropped 1) - before_1)) -gt 1 ]'
check 'as is what was said to it' eventually 5 eval '[ $(($(dropped 2) - before_2)) -gt 1 ]'
check 'the present life of node 2 is believed all the same' eval 'serving 1 2 3 && acquires 2 lives TTL 1s HOLDER you'
check 'unharmed' unharmed

for n in 1 2 3; do check "node $n ends in order" stop $n; done
check 'by the records, no name had two owners' only_one_owner
