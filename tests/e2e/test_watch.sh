#!/bin/bash
# run-tests: timeout 300
# `leasehold watch`: gain, loss and change of owner, one line each, from any node, through kills and restarts of the daemon
# that tells them.
. "$(dirname "$0")/lib.sh"
plan 61
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=5s max-leases=3000 state-dir="$dir/$n.state"; mkdir "$dir/$n.state"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# watch WHO NODES WORD...: `leasehold watch` at the nodes (12: 1, then 2) in the background; lines to WHO.out.
watch() {
    local who=$1 nodes=$2 i endpoints=
    shift 2
    for ((i = 0; i < ${#nodes}; i++)); do endpoints+=,unix:$dir/${nodes:i:1}.sock; done
    "$leasehold" watch --connect "${endpoints#,}" "$@" >"$dir/$who.out" 2>"$dir/$who.log" &
    pid[$who]=$!
}
# tells WHO NUMBER REGEX: the line of that number is there, soon, and the last one.
tells() { eventually 5 told "$@"; }
told() { [ "$(wc -l <"$dir/$1.out")" = "$2" ] && tail -n1 "$dir/$1.out" | grep -qE -- "$3"; }
said() { eventually 10 grep -qF -- "$2" "$dir/$1.log"; }
says() { grep -q -F -- "$1" "$dir/cli.log"; }
end() { kill "${pid[$1]}" && { wait "${pid[$1]}" 2>/dev/null; true; }; }

# --- gain, loss, change ---
watch one 1 job
watch two 2 job --json
check 'the present state is the first line' tells one 1 '^20..-..-..T..:..:..\....Z  free     job$'
check 'and in JSON' tells two 1 '^\{"time":"20.*Z","event":"present","name":"job","state":"free","token":null,"holder":null,"node":null,"remaining_ms":null,"revoked":null,"previous_token":null,"previous_holder":null,"previous_node":null,"missed":0}$'
answers granted 1 ACQUIRE job TTL 5s HOLDER ada
token=${reply[token]}
check 'gained: token, node, holder' tells one 2 "Z  gained   job  token $token  node 1  ada\$"
check 'told by another node too' tells two 2 "\"event\":\"gained\",\"name\":\"job\",\"state\":\"held\",\"token\":$token,\"holder\":\"ada\",\"node\":1,\"remaining_ms\":[0-9]+,\"revoked\":false,\"previous_token\":null"
check 'a renewal is no change' eval 'renews 1 job $token ada && renews 1 job $token ada'
check 'released' answers released 2 RELEASE job "$token" ada
check 'lost: whose it was' tells one 3 "Z  lost     job  token $token  node 1  ada\$"
check 'told by another node too' tells two 3 "\"event\":\"lost\",\"name\":\"job\",\"state\":\"free\",\"token\":null,\"holder\":null,\"node\":null,\"remaining_ms\":null,\"revoked\":null,\"previous_token\":$token,\"previous_holder\":\"ada\",\"previous_node\":1"
answers granted 1 ACQUIRE job TTL 600ms HOLDER bob
check 'expiry: gained' tells one 4 'gained   job .* bob$'
check 'and lost, with nobody saying so' tells one 5 'lost     job .* bob$'

# --- hand-over: who waits follows at once ---
answers granted 1 ACQUIRE job TTL 5s HOLDER ada
token=${reply[token]}
check 'gained' tells one 6 'gained .* ada$'
LEASEHOLD_CONNECT=unix:$dir/1.sock "$leasehold" acquire job --ttl 3s --wait 10s --holder next >"$dir/next.out" 2>&1 &
waits() { [ "$(status_of 1 waiters)" = 1 ]; }
check 'somebody waits' eventually 5 waits
check 'released' answers released 1 RELEASE job "$token" ada
hand_over() { tail -n 2 "$dir/one.out" | grep -qE 'gained .* next$|changed .* next  before: .* ada$'; }
check 'the hand-over is told' eventually 5 hand_over
lines=$(wc -l <"$dir/one.out")

# --- revoke ---
eventually 5 grep -q '"state":"held",.*"holder":"next"' "$dir/two.out" # a node asks the others every 250 ms, and may see the revocation with it otherwise
check 'revoked' exits 0 2 revoke job
check 'and told' tells one $((lines + 1)) 'revoked  job .* next$'
check 'by another node too' eventually 5 grep -q '"event":"revoked","name":"job","state":"held",.*"holder":"next".*"revoked":true,' "$dir/two.out"
check 'a revoked lease is lost when it ends' tells one $((lines + 2)) 'lost .* next$'

# --- the owner's daemon dies ---
check 'a lease of node 3' answers granted 3 ACQUIRE dying TTL 2s HOLDER carl
watch dying 12 dying --json
check 'it is held at first' tells dying 1 '"event":"present".*"state":"held".*"holder":"carl","node":3'
kill9 3
check 'it is lost when its time is over' tells dying 2 '"event":"lost".*"previous_holder":"carl"'
start 3
check 'all serve' serving 1 2 3

# --- the daemon that tells dies; the next one goes on ---
check 'held' answers granted 2 ACQUIRE kept TTL 5s HOLDER dora
kept=${reply[token]}
watch kept 12 kept quick
eventually 5 told kept 2 .
kill9 1
check 'that the daemon is gone is said' said kept '1.sock: the server closed the connection; trying the next endpoint'
check 'and who tells instead' said kept "watching at unix:$dir/2.sock"
check 'what is as it was is not told again, a change is' eval 'answers granted 2 ACQUIRE quick TTL 3s HOLDER eve && tells kept 3 "gained   quick .* eve"'
end kept
start 1
check 'all serve' serving 1 2 3

# --- a restart of the only daemon; what changed meanwhile is told as a change ---
watch lone 1 lone
check 'free' tells lone 1 'free     lone$'
stop 1
check 'gone' said lone '1.sock: the server closed the connection; trying again'
answers granted 2 ACQUIRE lone TTL 5s HOLDER fred
start 1
check 'it happened while nobody told: gained' tells lone 2 'gained   lone .* fred$'
end lone

# --- --exec ---
cat >"$dir/hook" <<'H'
echo "$LEASEHOLD_EVENT $LEASEHOLD_NAME $LEASEHOLD_STATE ${LEASEHOLD_TOKEN:--} ${LEASEHOLD_HOLDER:--} ${LEASEHOLD_NODE:--} ${LEASEHOLD_PREVIOUS_TOKEN:--} ${LEASEHOLD_PREVIOUS_HOLDER:--}" >>"$0.log"
[ "$LEASEHOLD_CONNECT" ] || echo unconnected >>"$0.log"
mkdir "$0.busy" || echo overlap >>"$0.log"
sleep 0.3
rmdir "$0.busy"
[ "$LEASEHOLD_EVENT" != lost ] || exit 9
H
watch hooked 2 hooked --exec "sh $dir/hook"
watch seen 2 hooked
hook_ran() { eventually 5 hook_has "$@"; }
hook_has() { [ "$(sed -n "${1}p" "$dir/hook.log")" = "$2" ]; }
check '--exec is run for the first state, and could ask' hook_ran 1 'present hooked free - - - - -'
tokens=()
for who in x y z; do # faster than the hook is
    answers granted 2 ACQUIRE hooked TTL 5s HOLDER $who
    tokens+=("${reply[token]}")
    eventually 5 grep -q "gained .* $who$" "$dir/seen.out"
    answers released 2 RELEASE hooked "${reply[token]}" $who
    eventually 5 grep -q "lost .* $who$" "$dir/seen.out"
done
check 'once for each change, in order' eval 'hook_ran 2 "gained hooked held ${tokens[0]} x 2 - -" && hook_ran 3 "lost hooked free - - - ${tokens[0]} x" && hook_ran 7 "lost hooked free - - - ${tokens[2]} z"'
check 'one at a time' not grep -q overlap "$dir/hook.log"
check 'its failure is said' said hooked "--exec for 'hooked' exited with 9"
end hooked

# --- the owner is the daemon that tells, and stopped: the next one knows who holds it, not for how long ---
check 'held by node 1' answers granted 1 ACQUIRE mute TTL 5s HOLDER judy
watch mute 12 mute --json --timeout 1s --exec 'echo "$LEASEHOLD_EVENT" >>'"$dir/mute.events"
watch other 2 mute --json
check 'held' eval 'tells mute 1 "\"holder\":\"judy\"" && tells other 1 "\"remaining_ms\":[0-9]+,"'
kill -STOP "${pid[1]}"
watch late 2 mute --json
check 'how long is not known' tells late 1 '"event":"present",.*"state":"held","token":null,"holder":null,"node":1,"remaining_ms":null,'
check 'the next one goes on' said mute "watching at unix:$dir/2.sock"
kill -CONT "${pid[1]}"
check 'lost when it ends, and nothing between' eval 'eventually 10 told mute 2 "\"event\":\"lost\"" && eventually 5 eval "[ \"\$(paste -sd, $dir/mute.events)\" = present,lost ]"'
end mute && end other && end late
check 'all serve' serving 1 2 3

# --- the daemon that tells is cut off: it says so, and another one knows ---
watch blind 12 blind
watch stays 1 blind
check 'free' eval 'tells blind 1 "free     blind" && tells stays 1 "free     blind"'
cut_off 1
check 'cut off it does not know' tells stays 2 'unknown  blind$'
check 'and is left for the next' said blind '1.sock: no majority of the members answers it; trying the next endpoint'
check 'which knows' said blind "watching at unix:$dir/2.sock"
answers granted 2 ACQUIRE blind TTL 5s HOLDER gus
check 'and tells changes' eventually 5 eval 'tail -n1 "$dir/blind.out" | grep -q "gained   blind .* gus"'
heal
check 'all serve' serving 1 2 3
check 'who stayed is told what it missed' eventually 5 eval 'tail -n1 "$dir/stays.out" | grep -q "gained   blind .* gus"'
end blind && end stays

# --- a thousand on one connection ---
mapfile -t many < <(seq -f 'many/%g' 1000)
watch many 1 "${many[@]}"
lines_are() { [ "$(wc -l <"$dir/$1.out")" = "$2" ]; }
check 'a thousand leases are watched by one' eventually 20 lines_are many 1000
for i in 1 500 1000; do answers granted 2 ACQUIRE many/$i TTL 1s HOLDER hal; done
check 'any of them tells' eval 'tells many 1006 lost && [ "$(grep -c "gained .* hal" "$dir/many.out")" = 3 ]'
end many

# --- one that does not read holds nothing up; what it missed is counted and said ---
mapfile -t long < <(seq -f 'long-%0240.0f' 200)
watch slow 1 "${long[@]}"
check 'it reads' eventually 10 lines_are slow 200
kill -STOP "${pid[slow]}"
change_all() {
    local name
    for name in "${long[@]}"; do answers granted 1 ACQUIRE "$name" TTL 300ms HOLDER ida || return 1; done
}
left_out() { [ "$(counter_of 1 changes-left-out)" -gt 0 ]; }
until left_out || [ $((tries = ${tries:-0} + 1)) -gt 8 ]; do change_all; done
check 'it does not, and changes are left out' left_out
check 'others are served meanwhile' within 0 2000 exits 0 1 get job
check 'it is not let go' not grep -q client-let-go "$dir/1.log"
kill -CONT "${pid[slow]}"
check 'it is told that there is a gap' said slow 'left out because they were read too slowly: '
answers granted 1 ACQUIRE "${long[7]}" TTL 5s HOLDER ivy
check 'and hears of the next change' eventually 5 grep -Eq "(gained|changed) .* ${long[7]} .* ivy" "$dir/slow.out"
end slow

# --- mistypes ---
check 'no name: 64' eval 'exits 64 1 watch && says "NAME is missing"'
check 'a name of the system: 64' eval "exits 64 1 watch good @bad && says \"'@bad'\""
check 'nobody at the socket: 69, at once' eval 'within 0 2000 exits 69 9 watch x && says "no daemon: unix:'"$dir"'/9.sock"'
check 'with --json it is an object, too' eval 'exits 69 9 watch x --json && [[ $out == "{\"status\":\"noquorum\",\"name\":null,\"token\":null,\"holder\":null,\"node\":null,\"free_in_ms\":null,\"revoked\":null,\"reason\":\"unix:"* ]]'
check 'a slip of the finger' eval 'exits 64 1 watch x --exce true && says "did you mean '"'--exec'"'"'
