#!/bin/bash
# run-tests: timeout 300
# Hostile clients: requests that are oversized, nested, endless, negative or slow, clients that never read and
# too many of them. Each is refused in words or let go, the daemon's memory stays bounded, and all the while
# others are served.
. "$(dirname "$0")/../e2e/lib.sh"
plan 35
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=2s max-clients=40; done
start 1 2 3
check 'three nodes serve' serving 1 2 3
hold holder job 2s 1
check 'a command holds a lease through node 1' eventually 5 beats job
token=$(token_of job)

# says TEXT FORMAT: what printf makes of FORMAT is sent; the answer has TEXT, and others are served afterwards.
says() {
    # shellcheck disable=SC2059 # a format is what it is
    printf "$2" | "$tools/resp" "$dir/1.sock" say >"$dir/said" 2>&1
    grep -q -a -F -- "$1" "$dir/said" && listens 1
}
pours() {
    "$tools/resp" "$dir/1.sock" say >"$dir/said" 2>&1
    grep -q -a -F -- "$1" "$dir/said" && listens 1
}
memory_kb() { awk '/^VmRSS/ { print $2 }' "/proc/${pid[1]}/status"; }
before=$(memory_kb)

# --- malformed requests ---
check 'a bulk of 2 GB' says 'Protocol error' '*1\r\n$2000000000\r\n'
check 'a bulk longer than a long' says 'Protocol error' '*1\r\n$99999999999999999999999\r\n'
check 'a bulk of negative length' says 'Protocol error' '*1\r\n$-5\r\nx\r\n'
check 'a million arguments' says 'Protocol error' '*1000000\r\n'
check 'a negative number of arguments' says 'Protocol error' '*-1\r\n*1\r\n$4\r\nPING\r\n'
check 'a request of no arguments is nothing' says '+PONG' '*0\r\n*1\r\n$4\r\nPING\r\n'
check 'nested arrays' says 'Protocol error' '*1\r\n*1\r\n*1\r\n$4\r\nPING\r\n'
check 'a type that is no bulk' says 'Protocol error' '*1\r\n:5\r\n'
check 'a bulk without its end' says 'Protocol error' '*1\r\n$4\r\nPINGxx*1\r\n'
check 'a length that is no number' says 'Protocol error' '*1\r\n$abc\r\nPING\r\n'
check 'bytes of nothing' says ERR '\001\002\003\377\376\r\n'
check 'a name with a zero byte' says 'BADNAME' '*3\r\n$5\r\nLEASE\r\n$3\r\nGET\r\n$3\r\na\000b\r\n'
check 'a name that is not UTF-8' says 'BADNAME' '*3\r\n$5\r\nLEASE\r\n$3\r\nGET\r\n$2\r\n\303\050\r\n'
check 'a name of the system' says 'BADNAME' '*3\r\n$5\r\nLEASE\r\n$7\r\nACQUIRE\r\n$7\r\n@leader\r\n'
check 'HTTP' says 'ERR' 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
printf '*1\r\n%.0s' {1..10000} >"$dir/nested"
head -c 2000000 /dev/zero | tr '\0' a >"$dir/endless"
head -c 300000 /dev/urandom >"$dir/random"
check 'ten thousand nested arrays' pours 'Protocol error' <"$dir/nested"
check 'an endless line' pours 'Protocol error' <"$dir/endless"
check 'random bytes' pours ERR <"$dir/random"
check 'a request that stops in the middle' not says ERR '*1\r\n$400\r\nPI'
check 'such connections are counted' eval '[ "$(counter_of 1 connections-malformed)" -ge 10 ]'

# --- pace ---
pings() {
    local i
    for ((i = 0; i < $1; i++)); do printf '*1\r\n$4\r\nPING\r\n'; done
}
pings 20000 >"$dir/pings"
pong_count() { grep -c -a PONG "$dir/said"; }
check 'twenty thousand requests at once, each answered' eval 'pours +PONG <"$dir/pings" && [ "$(pong_count)" = 20000 ]'
check 'commands behind one that takes time, in their order' eval '
    printf "LEASE ACQUIRE pipe TTL 1s\r\nPING\r\nLEASE GET pipe\r\nECHO last\r\n" | pours last &&
        grep -a -E "^(granted|.PONG|held|last)" "$dir/said" | tr -d "\r" | tr "\n" " " | grep -q "^granted +PONG held last "'
slow() { printf '*3\r\n$5\r\nLEASE\r\n$3\r\nGET\r\n$3\r\njob\r\n' | "$tools/resp" "$dir/1.sock" say 20000 | grep -q held; }
check 'a request byte by byte' slow

# --- clients that never read ---
for i in 1 2 3 4 5 6 7 8; do "$tools/resp" "$dir/1.sock" deaf 20000 >"$dir/deaf.$i" 2>&1 & deaf[i]=$!; done
wait_deaf() {
    local job
    for job in "${deaf[@]}"; do wait "$job" || return 1; done
}
check 'eight that never read are let go' wait_deaf
check 'and it is told' logged 1 'event=client-let-go'
check 'others are served meanwhile' eval 'listens 1 && acquires 1 served TTL 1s'
check 'memory has not grown beyond some megabytes' [ $(($(memory_kb) - before)) -lt 65536 ]

# --- too many clients ---
coproc CROWD { "$tools/resp" "$dir/1.sock" crowd 100; }
read -rt 30 crowd <&"${CROWD[0]}"
check "a crowd of a hundred: ${crowd% served*} are served, the rest turned away in words" eval '
    [[ $crowd =~ ^([0-9]+)\ served,\ ([0-9]+)\ turned ]] &&
    [ ${BASH_REMATCH[1]} -le 40 ] && [ ${BASH_REMATCH[1]} -ge 30 ] &&
    [ $((${BASH_REMATCH[1]} + ${BASH_REMATCH[2]})) = 100 ]'
check 'a client that is there is served' listens 1
eval "exec ${CROWD[1]}>&-"
check 'the crowd gone, others come in' eventually 5 eval '"$tools/resp" "$dir/1.sock" say <"$dir/pings" | head -n 1 | grep -q PONG'
check 'those turned away are counted' eval '[ "$(counter_of 1 connections-turned-away)" -gt 0 ]'

check 'the command kept its lease all the time' eval 'beats job; [ "$(token_of job)" = "$token" ]'
check 'the daemon ends in order' stop 1
