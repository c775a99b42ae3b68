#!/bin/bash
# run-tests: timeout 300
# libleasehold against three daemons: the examples, compiled as a user would against the installed tree.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/installed.sh"
plan 43
install_tree

# build NAME: compiles examples/NAME.c with what pkg-config says.
build() {
    # shellcheck disable=SC2046 # words
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror "$root/examples/$1.c" \
        $(pkg-config --cflags --libs leasehold) -o "$dir/$1" >"$dir/build.log" 2>&1
}

nets 3
cluster 3 max-ttl=3s
for example in hold failover fence embed_core; do
    check "$example compiles against the installed tree, as C99" build $example
done
check 'three nodes serve' eval 'start 1 2 3 && serving 1 2 3'
all=$dir/1.sock,$dir/2.sock,$dir/3.sock

# holds WHO NAME TTL_MS [ENDPOINTS]: starts hold in the background; a line to ${typing[WHO]} is a line typed.
declare -A typing=()
holds() {
    local who=$1 type
    mkfifo "$dir/$who.in"
    exec {type}<>"$dir/$who.in"
    typing[$who]=$type
    (
        exec <"$dir/$who.in"
        for type in "${typing[@]}"; do exec {type}>&-; done # or it would hold its own input open
        exec "$dir/hold" "$2" "${4:-$all}" "$3" >"$dir/$who.log" 2>&1
    ) &
    pid[$who]=$!
}
closes() { local fd=${typing[$1]}; exec {fd}>&-; }
says() { grep -q -- "$2" "$dir/$1.log"; }
types() { echo >&"${typing[$1]}"; }
token_said() { sed -n 's/^granted token \([0-9]*\).*/\1/p' "$dir/$1.log"; }

# --- acquire, renew, wait, release ---
holds a job 600
check 'A is granted' eventually 10 says a '^granted'
token=$(token_said a)
lease 2 GET job
check 'under the token that the cluster knows' is token "$token"
for_ms 2000
types a
check 'and holds it beyond three TTLs, by renewing' eventually 5 says a "^valid token $token"
holds b job 600 "$dir/2.sock"
check 'B waits, and is told for whom' eventually 5 says b "^waiting for .* token $token"
closes a
check 'A releases when it has stopped' ended a 0
check 'B is granted then' eventually 10 says b '^granted'
check 'under a greater token' [ "$(token_said b)" -gt "$token" ]
check 'and knows its predecessor' says b "after token $token of '.*@"

# --- lost ---
cli 1 revoke job
check 'revoked, B is told so' ended b 76
check 'with the cause' says b '^lost, cause 4, '
holds r revoked 3000
check 'one with much left' eventually 10 says r '^granted'
cli 1 revoke revoked
check 'revoked, it releases what is left, and the name is free at once' eval '
    eventually 10 says r "^lost, cause 4, 1[0-9][0-9][0-9] ms left" && ended r 76 && within 0 500 eventually 1 answers free 1 GET revoked'
holds c job 600 "$dir/2.sock"
check 'C is granted' eventually 10 says c '^granted'
kill9 2
check 'its node is killed: C is told that the lease is in danger, then that it is lost' ended c 76
check 'because the node is gone' says c '^lost, cause 6, '
holds d job 600
check 'D, which knows all three, gets it from another' eventually 10 says d '^granted'
closes d
ended d 0

# --- scenario 7: A lapses, B takes it and dies, A acquires again ---
holds a7 seven 600
check 'A has it' eventually 10 says a7 '^granted'
signal a7 KILL
holds b7 seven 600
check 'A is killed: B gets it' eventually 10 says b7 '^granted'
signal b7 KILL
holds c7 seven 600
check 'B is killed: A gets it again' eventually 10 says c7 '^granted'
check 'under a fresh token' [ "$(token_said c7)" -gt "$(token_said b7)" ]
check 'and is told who had it before' says c7 "after token $(token_said b7) of '"
closes c7

# --- the core, by itself ---
acts_out() { "$dir/embed_core" >"$dir/embed.log" 2>&1; }
check 'three embedded cores have it in turn' acts_out

# --- scenario 6: the resource refuses 41 after 42 ---
appends() { "$dir/fence" "$dir/resource" "$1" "$2" 2>"$dir/fence.log"; }
check 'A writes under 41' appends 41 a
check 'B writes under 42' appends 42 b
check 'A wakes, and its write is refused' not appends 41 late
check 'so it is not there' [ "$(cat "$dir/resource")" = $'41 a\n42 b' ]

check 'what is no token is refused as such' eval "! appends 0 x && ! appends 43x x && grep -qF \"'43x' is no token\" \"\$dir/fence.log\""

# --- fail-over: three candidates, one acts; each in turn is killed or stopped ---
candidate() {
    "$dir/failover" primary "$dir/acts" "$all" 600 >"$dir/$1.log" 2>&1 &
    pid[$1]=$!
}
last_actor() { tail -n 1 "$dir/acts" 2>/dev/null | cut -d ' ' -f 2; }
acts() { [ "$(last_actor)" = "${pid[$1]}" ]; }
acts_not() { [ -n "$(last_actor)" ] && ! acts "$1"; }
rises() { cut -d ' ' -f 1 "$dir/acts" | sort -c -n; }
candidate x
check 'x is primary' eventually 10 acts x
candidate y
check 'y stands by' eventually 10 grep -q '^standby' "$dir/y.log"
signal x STOP
check 'x is stopped: y takes over' eventually 10 acts_not x
signal x CONT
check 'x goes on, hears that it stood still too long' eventually 10 grep -q '^not primary, cause 5' "$dir/x.log"
check 'and stands by' eventually 10 grep -q '^standby' "$dir/x.log"
signal y KILL
check 'y is killed: x takes over again' eventually 10 acts x
signal x TERM
check 'told to end, x releases and ends' ended x 0
check 'every act was under a token not below the one before' rises

# --- every function at random (tools/library_storm.c), while daemons are stopped, killed and told to revoke ---
storm() { "$tools/library_storm" "$all" 8 "$1" >"$dir/storm.log" 2>&1; }
storms() { cli 1 list --json && [[ $out == *'"storm-'* ]]; }
disturb() {
    eventually 10 storms || return
    for name in 1 2 3 4; do cli 1 revoke "storm-$name"; done
    signal 2 STOP
    sleep 1
    signal 2 CONT
    kill9 3
    start 3
}
check 'a storm of calls under sanitizers: one holder at a time, tokens rise, nothing follows an end' storm 1
disturb &
check 'and while leases are revoked, a node is stopped and one is killed' storm 2
check 'which was done to them' wait $!
