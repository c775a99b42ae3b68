#!/bin/bash
# run-tests: timeout 300
# Networks that are cut, at the receiving side: a cut owner's command is dead before another starts, a minority can
# decide nothing, a majority goes on, and who has no quorum says so with exit code 69 in time.
. "$(dirname "$0")/lib.sh"
plan 42
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=2s record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- the owner is cut off ---
hold first job 2s 1
check 'the command runs through node 1' eventually 5 beats job
token=$(token_of job)
hold second job 2s 2
hold third job 2s 3
check 'two others wait' eventually 5 eval '[ $(($(status_of 2 waiters) + $(status_of 3 waiters))) = 2 ]'
cut_off 1
check 'the cut-off command is ended, exit 76' ended first 76
check 'another takes over' eventually 5 has_token_above job "$token"
check 'no two overlapped' no_overlap job
check 'the cut-off node decides nothing' answers noquorum 1 ACQUIRE free TTL 1s TIMEOUT 300ms
check 'and says why' eval '[ -n "${reply[reason]}" ]'
check 'nor does it know who holds it' not answers held 1 GET job
check 'the next endpoint does' eval 'exits 0 1 get job --connect "$dir/1.sock,$dir/2.sock" && [[ $out == *@* ]]'
token=$(token_of job)
heal
check 'healed, it sees the others' serving 1 2 3
check 'and the owner' eventually 5 answers held 1 GET job
check 'which nobody disturbed' [ "$(token_of job)" = "$token" ]

# --- a node that owns nothing is cut off: its datagrams arrive, but it hears none ---
deaf=$(((token & 255) == 2 ? 3 : 2))
owner=$((5 - deaf))
ip netns exec n$deaf nft add element inet cut gone '{ 10.0.0.1, 10.0.0.2, 10.0.0.3 }'
check 'a deaf node decides nothing' answers noquorum $deaf ACQUIRE free TTL 1s TIMEOUT 300ms
check 'the majority grants' acquires 1 free TTL 2s HOLDER me
for_ms 2500
check 'the command has outlived its TTL' eventually 2 beats job
check 'under its token' [ "$(token_of job)" = "$token" ]
heal
check 'the deaf node hears again' acquires $deaf heard TTL 1s
check 'and the command beats on' eval '[ "$(token_of job)" = "$token" ]'

# --- nobody hears anybody ---
cut_link 1 2
cut_link 1 3
cut_link 2 3
check 'acquire, exit 69 within its time-out' within 900 2500 exits 69 $owner acquire none --timeout 1s
check 'and it says that there is no quorum' grep -q 'no quorum' "$dir/cli.log"
check 'get, exit 69' within 0 7000 exits 69 1 get job
check 'revoke, exit 69' within 0 7000 exits 69 1 revoke job
check 'and it says that there is no quorum' grep -q '^leasehold revoke: no quorum: .*no majority' "$dir/cli.log"
for command in get revoke; do
    check "$command --timeout 1s" within 900 2500 exits 69 1 $command job --timeout 1s
    check 'and it says that there is no quorum' grep -q "^leasehold $command: no quorum: .*no majority" "$dir/cli.log"
done
check 'watch --timeout 1s' within 900 2500 exits 69 1 watch job --timeout 1s
check 'and it says that there is no quorum' grep -q '^leasehold watch: no quorum: .*1.sock: no majority' "$dir/cli.log"
check 'list, exit 69' within 0 7000 exits 69 1 list
check 'and it says who did not answer' eval 'grep -q "node 2 did not answer" "$dir/cli.log" && grep -q "no quorum" "$dir/cli.log"'
check 'over the Redis protocol, GET says so' within 0 7000 answers noquorum 1 GET job
check 'REVOKE too' within 0 7000 answers noquorum 1 REVOKE job
lists() { ask 1 LEASE LIST && [ "$(after leases missing)" = 2 ]; }
check 'and LIST tells who is missing' within 0 7000 lists
check 'run, exit 69, and nothing ran' eval 'exits 69 1 run none --timeout 1s -- touch "$dir/ran" && ! [ -e "$dir/ran" ]'
check 'the command is ended by its deadline' eventually 5 not beats job
heal
check 'healed, all serve' serving 1 2 3
check 'a lease is granted at each node' eval 'acquires 1 a1 TTL 1s && acquires 2 a2 TTL 1s && acquires 3 a3 TTL 1s'
hold last job 2s 1 2 3
check 'the name moves on' eventually 10 has_token_above job "$token"

check 'by the records, no name had two owners' only_one_owner
check 'by the beats neither' no_overlap job
