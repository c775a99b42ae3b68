#!/bin/bash
# run-tests: timeout 300
# The everyday of a lease on three nodes: any node takes any command, and all of them tell the same.
. "$(dirname "$0")/lib.sh"
plan 45
nets 3
cluster 3 max-ttl=3s
check 'three new nodes serve at once, without a quarantine' within 0 4000 eval 'start 1 2 3 && serving 1 2 3'

# --- grant, renew, release; the other nodes' view ---
check 'a lease is granted' answers granted 1 ACQUIRE job TTL 3s HOLDER me
token=${reply[token]}
check 'the token names its node' [ $((token & 255)) = 1 ]
check 'what the client may count on is at most the TTL' [ "${reply[until-ns]}" -le 3000000000 ]
check 'another holder is refused at the same node' answers held 1 ACQUIRE job TTL 1s HOLDER other
check 'and told who has it' is holder me
check 'and at another node, which knows the owner' answers held 2 ACQUIRE job TTL 1s HOLDER other
check 'and when it can be free' [ "${reply[free-in-ns]}" -gt 0 ]
check 'a node that is not the owner renews' renews 2 job "$token" me TTL 3s
check 'under the same token' is token "$token"
for n in 1 2 3; do
    check "node $n says who holds it" eval 'answers held $n GET job && is token $token && is holder me && is node 1'
done
check 'a wrong token does not renew' answers lost 3 RENEW job $((token + 256)) me
check 'a wrong holder does not renew' answers lost 3 RENEW job "$token" you
check 'a wrong token does not release' answers lost 2 RELEASE job $((token + 256)) me
check 'it is held after all that' answers held 3 GET job
check 'any node releases' answers released 3 RELEASE job "$token" me
check 'released: free' eventually 2 answers free 2 GET job
check 'a second release is told that it was lost' answers lost 1 RELEASE job "$token" me
check 'the next owner has a higher token' eval 'acquires 3 job TTL 300ms HOLDER you && [ ${reply[token]} -gt $token ]'
check 'a lease that nobody renews ends by itself' eventually 3 answers free 1 GET job

# --- list, prefix, pages ---
for n in 1 2 3; do
    for i in 1 2 3; do answers granted $n ACQUIRE "page/$n$i" TTL 3s; done
done
ask 2 LEASE LIST PREFIX page/
check 'any node lists the leases of all nodes' [ "$(printf '%s\n' "${answer[@]}" | grep -c '^page/')" = 9 ]
pages() {
    local cursor=0 names=
    until ask 1 LEASE LIST PREFIX page/ COUNT 2 CURSOR "$cursor" && cursor=$(after cursor cursor) && [ "$cursor" = 0 ]; do
        names+=$(printf '%s\n' "${answer[@]}" | grep '^page/')$'\n'
    done
    names+=$(printf '%s\n' "${answer[@]}" | grep '^page/')
    [ "$(sort -u <<<"$names" | grep -c page)" = 9 ]
}
check 'pages of two hold every lease' pages

# --- waiting, turns, revoking ---
check 'one holds' answers granted 1 ACQUIRE queue TTL 3s HOLDER first
token=${reply[token]}
redis-cli -s "$dir/1.sock" LEASE ACQUIRE queue TTL 1s HOLDER second WAIT 10s >"$dir/second" &
waiter=$!
waits() { [ "$(status_of 1 waiters)" = 1 ]; }
check 'another waits in line at the same node' eventually 5 waits
check 'the first lets go' answers released 1 RELEASE queue "$token" first
wait $waiter
check 'who waited is told that it is its turn' grep -q '^turn$' "$dir/second"
check 'and gets it by asking again' eval 'answers granted 1 ACQUIRE queue TTL 3s HOLDER second && [ ${reply[token]} -gt $token ]'
token=${reply[token]}
check 'a revoked lease says when it ends' eval 'answers revoked 2 REVOKE queue && [ ${reply[ends-in-ns]} -gt 0 ]'
check 'its holder cannot renew it' answers lost 1 RENEW queue "$token" second
check 'but keeps what it was told' [ "${reply[until-ns]}" -gt 0 ]

# --- the command line ---
check 'acquire, exit 0' exits 0 2 acquire cli --ttl 3s --holder me
check 'another holder, exit 75' exits 75 3 acquire cli --ttl 3s --holder you
check 'nobody at the socket, exit 69' exits 69 9 acquire cli

# --- its own revoked lease is in a holder's way, until it ends ---
says() { grep -q -- "$1" "$dir/cli.log"; }
check 'one holds' exits 0 1 acquire again --ttl 3s --holder me
check 'and is revoked' exits 0 2 revoke again
for n in 1 2; do
    check "acquiring again, at node $n, it is told at once: 75" within 0 1000 exits 75 $n acquire again --ttl 1s --holder me
    check 'why, and until when' says 'held by me (token [0-9]*, node 1), free in at most [0-9.]*m\?s: it was revoked'
done
check 'with --wait it has it when that has ended' within 0 9000 exits 0 2 acquire again --ttl 1s --holder me --wait 9s

# --- what the holder of a revoked lease is told ---
acquires 1 barred TTL 3s HOLDER me && exits 0 2 revoke barred
token=${reply[token]}
check 'it cannot renew, and is told why' eval 'exits 76 2 renew barred --token $token --holder me && says "is not renewed under token $token by .me.: it was revoked"'
check 'in JSON too' eval 'exits 76 1 renew barred --token $token --holder me --json && grep -q "\"status\":\"lost\".*\"revoked\":true" <<<"$out"'
check 'which is another thing than not having it' eval 'exits 76 1 renew barred --token $((token + 1)) --holder me --json && says "is not held under" && grep -q "\"revoked\":false" <<<"$out"'
