#!/bin/bash
# run-tests: timeout 300
# Clients that nobody here wrote: redis-cli, hiredis, ioredis and redis-py, over the Unix socket and TCP, in both versions of
# the protocol.
. "$(dirname "$0")/lib.sh"
plan 32
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

# --- redis-py: the example for who does not write C ---
# hold_py WHO NODE: runs it in the background.
hold_py() {
    /usr/bin/python3 "$root/examples/hold.py" "$dir/$2.sock" script >"$dir/$1.log" 2>&1 &
    pid[$1]=$!
}
acts() { grep -q '^acting under token' "$dir/$1.log"; }
renewed() { lease 1 GET script && [ "${reply[renewals]:-0}" -ge "$1" ]; }
acted_under() { grep -o '[0-9]*$' "$dir/$1.log" | sort -un; }
if /usr/bin/python3 -c 'import redis' 2>/dev/null; then
    hold_py first 1
    check 'redis-py: one holds' eventually 10 acts first
    hold_py second 2
    check 'beyond its TTL' eventually 15 renewed 2
    check 'while another waits' not acts second
    signal first TERM
    check 'and has it at once when the first lets go' eventually 2 acts second
    signal second TERM
    wait "${pid[first]}" "${pid[second]}"
    check 'under a greater token' [ "$(acted_under first)" -lt "$(acted_under second)" ]
else
    for ((i = 0; i < 5; i++)); do skip redis-py 'python3-redis is not installed'; done
fi
