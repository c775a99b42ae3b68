#!/bin/bash
# run-tests: timeout 300
# A rolling restart under load: no lease is lost, and nobody is refused for longer than one daemon is absent.
# Then an owner's daemon that is killed: its client hears at once that it cannot renew, and its deadline stands.
. "$(dirname "$0")/lib.sh"
plan 22
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=20s max-leases=100000 record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- holders that renew, through all nodes and through one; and at each node one who acquires what is free ---
holders=(all1 all2 all3 only1 only2 only3)
for n in 1 2 3; do
    hold all$n all$n 10s $n $((n % 3 + 1)) $(((n + 1) % 3 + 1))
    hold only$n only$n 10s $n
done
each() {
    local who
    for who in "${holders[@]}"; do "$@" $who || return 1; done
}
beats_on() { eventually 10 beats "$1"; }
check 'six commands run' each beats_on
declare -A first
remember() { first[$1]=$(token_of "$1"); }
each remember
keeps() { [ "$(token_of "$1")" = "${first[$1]}" ] && kill -0 "${pid[$1]}"; }

# acquirer N: when each of its attempts was granted.
acquirer() {
    local i=0
    while [ ! -e "$dir/enough" ]; do
        i=$((i + 1))
        [[ $(redis-cli -s "$dir/$1.sock" LEASE ACQUIRE "load$1.$i" TTL 500ms HOLDER me TIMEOUT 200ms 2>&1) != *granted* ]] ||
            now_ms
    done >"$dir/acquirer$1"
}
acquirers=()
for n in 1 2 3; do
    acquirer $n &
    acquirers+=($!)
done
granted_since() { [ "$(wc -l <"$dir/acquirer$1")" -gt "$2" ]; }
is_granted() { eventually 10 granted_since "$1" "$(wc -l <"$dir/acquirer$1")"; }
check 'who acquires is granted' eval 'is_granted 1 && is_granted 2 && is_granted 3'

# The owner's holders say when their lease is renewed again. Their TTL is far above the absence: on a busy machine starting
# a process may take seconds, and a lease that is due meanwhile is rightly lost.
absence=0
renewed_again() { [ "$(grep -c "'$1' is renewed again" "$dir/$1.log")" -ge "$2" ]; }
roll() {
    local time n from took
    for time in 1 2; do
        for n in 1 2 3; do
            from=$(now_ms)
            stop $n && start $n && eventually 10 is_state $n serving || return 1
            took=$(($(now_ms) - from))
            [ $took -le $absence ] || absence=$took
            eventually 10 renewed_again all$n $time && eventually 10 renewed_again only$n $time || return 1
            each beats_on || return 1
        done
    done
}
check 'each node is restarted twice, one after the other' roll
check 'without a quarantine' not grep -q 'event=quarantine.*left' <(sed -n '/state-restored/,$p' "$dir"/[123].log)
check 'no lease was lost' each keeps
check 'and every command beats' each beats_on
check 'who acquires is granted again' eval 'is_granted 1 && is_granted 2 && is_granted 3'
touch "$dir/enough"
wait "${acquirers[@]}"
# A pause is the absence, an attempt that was refused in it, and the next; on a busy machine each takes its time.
longest_pause() { awk '$1 - last > most && NR > 1 { most = $1 - last } { last = $1 } END { print most + 0 }' "$dir/acquirer$1"; }
not_for_longer() {
    local n pause
    for n in 1 2 3; do
        pause=$(longest_pause $n)
        echo "# node $n: $(wc -l <"$dir/acquirer$n") grants, at most $pause ms between two; a daemon was absent for $absence ms at most"
        [ "$pause" -le $((absence + 1500)) ] || return 1
    done
}
check 'nobody was refused for longer than a daemon was absent' not_for_longer
check 'no overlap of commands' each no_overlap

# --- kill -9 of the owner's daemon ---
# Renewals are due after 10 s: whoever speaks before did not wait for that.
hold slow slow 20s 1 2 3
hold slow1 slow1 20s 1
mkfifo "$dir/in"
exec {typing}<>"$dir/in"
"${LEASEHOLD_TESTS:-$root/build/tests}/examples/example_hold" library "$dir/1.sock,$dir/2.sock,$dir/3.sock" 20000 <"$dir/in" >"$dir/library.log" 2>&1 {typing}>&- &
pid[library]=$!
says() { grep -q -- "$2" "$dir/$1.log"; }
check 'three clients hold through node 1' eval \
    'beats_on slow && beats_on slow1 && eventually 5 says library "^granted"'
kill9 1
told() { eventually 5 says "$1" "'$1' cannot be renewed at present: node 1, which owns the lease, is gone: .*(1[0-9].*s of the lease left)"; }
check 'a wrapper is told at once' told slow
check 'also one that knows node 1 only' told slow1
check 'so is a client of the library' eventually 5 says library '^endangered, cause 6: '
echo >&"$typing"
check 'whose lease is still valid' eventually 5 says library '^valid token'
check 'the commands run on' eval 'beats_on slow && beats_on slow1'
check 'nobody else gets the lease' answers held 2 ACQUIRE slow TTL 1s HOLDER you
start 1
lost() { ended "$1" 76 && says "$1" "'$1' is lost: .*(1[0-9].*s of the lease left)"; }
check 'the daemon comes back without memory: the wrapper ends its command' lost slow
check 'also the one that knows node 1 only' lost slow1
check 'and the library says so' eval 'ended library 76 && says library "^lost, cause 8, 1[0-9]* ms left"'
check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
