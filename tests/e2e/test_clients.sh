#!/bin/bash
# run-tests: timeout 300
# Clients that nobody here wrote: redis-cli, hiredis and ioredis, over the Unix socket and TCP, in both versions of
# the protocol.
. "$(dirname "$0")/lib.sh"
plan 27
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=3s client-listen=127.0.0.1:7742; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- redis-cli, as typed ---
redis() { redis-cli -s "$dir/1.sock" "$@"; }
check 'LEASE ACQUIRE' eval '[ "$(redis LEASE ACQUIRE typed TTL 3s HOLDER me | head -n 2 | tr "\n" " ")" = "status granted " ]'
check 'LEASE LIST' eval 'redis LEASE LIST | grep -q "^typed$"'
check 'in RESP3, as a map' eval 'redis -3 --no-raw LEASE LIST | grep -q "leases.*=>"'
check 'lower case' eval 'redis lease get typed | grep -q "^held$"'
check 'an option of nothing is told what it takes' eval 'redis LEASE ACQUIRE x TTTL 1s | grep -q "did you mean TTL"'
check 'a Redis command is refused politely' eval 'redis SET a b | grep -q "^ERR unknown command .SET.: this is Leasehold, not Redis"'
check 'LEASE HELP' eval 'redis LEASE HELP | grep -q "LEASE ACQUIRE name"'
check 'over TCP' eval 'ip netns exec n1 redis-cli -p 7742 PING | grep -q PONG'
redis --no-raw SUBSCRIBE lease:watched >"$dir/watched" &
watcher=$!
check 'SUBSCRIBE tells the present state first' eventually 5 grep -q 'seq.*:1,.*watched.*free' "$dir/watched"
check 'a grant at another node' acquires 2 watched TTL 3s HOLDER me
token=${reply[token]}
check 'is told' eventually 5 grep -q "held.*token.*:$token" "$dir/watched"
check 'the release' answers released 2 RELEASE watched "$token" me
check 'is told' eventually 5 eval '[ $(grep -c free "$dir/watched") -ge 2 ]'
kill $watcher
check 'INFO' eval 'redis INFO | grep -q "^redis_version:"'

# --- hiredis ---
if [ -x "$tools/hiredis_lease" ]; then
    check 'hiredis acquires, renews, gets and releases' "$tools/hiredis_lease" "$dir/2.sock"
else
    skip 'hiredis' 'it was not there when the tests were built'
fi

# --- ioredis ---
ioredis() { timeout 30 node "$here/node/$1" "${@:2}" >"$dir/ioredis.log" 2>&1; }
if node -e 'require("ioredis")' 2>/dev/null; then
    check 'ioredis connects and passes its ready check' ioredis lease.js "$dir/3.sock" ready
    for what in acquire held-elsewhere renew list get refused pipeline subscribe release reconnect; do
        check "ioredis: $what" ioredis lease.js "$dir/3.sock" $what
    done
else
    for ((i = 0; i < 11; i++)); do skip ioredis 'it is not installed: build/node'; done
fi
