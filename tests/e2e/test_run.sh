#!/bin/bash
# The command line against real daemons: `leasehold run` and what becomes of its command, the other commands with their
# exit codes and JSON, `dev` and `demo`.
. "$(dirname "$0")/lib.sh"
plan 91
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=15s; done
start 1 2 3
check 'three nodes serve' serving 1 2 3
says() { grep -q -F -- "$1" "$dir/cli.log"; }
json() { node -e 'let text = ""; process.stdin.on("data", (d) => (text += d)).on("end", () => {
    const it = JSON.parse(text); if (!eval(process.argv[1])) process.exit(1); })' "$1" <<<"$out"; }

# --- run: the command's own end ---
check 'the exit code is passed through' exits 3 1 run job --ttl 2s -- sh -c 'exit 3'
check 'the lease is released at once' answers free 1 GET job
check 'a signal is 128 + its number' exits 143 1 run job --ttl 2s -- sh -c 'kill -TERM $$'
check 'no such command: 127' exits 127 1 run job --ttl 2s -- /nowhere
check 'which is told' says "cannot execute '/nowhere': No such file or directory"
check 'a line for a shell is told how to get one' eval 'exits 127 1 run job --ttl 2s -- "a && b" && says "write -- sh -c"'
check 'not executable: 126' exits 126 1 run job --ttl 2s -- "$dir/keyring"
check 'it was released all the same' answers free 1 GET job
check 'the environment tells name, token, TTL and holder' eval '
    exits 0 1 run job --ttl 1500ms -- sh -c "echo \$LEASEHOLD_NAME \$LEASEHOLD_TOKEN \$LEASEHOLD_TTL_MS \$LEASEHOLD_HOLDER" &&
        [[ $out =~ ^job\ [0-9]+\ 1500\ [^\ ]+@[^\ ]+:[0-9a-f]{16}$ ]]'
check 'the command and the hook ask the daemon that --connect names' eval '
    "$leasehold" run job --ttl 1s --connect "$dir/1.sock" --on-lost "echo hook \$LEASEHOLD_CONNECT" -- \
        sh -c "$leasehold get \$LEASEHOLD_NAME --json; $leasehold revoke job; exec sleep 60" >"$dir/asked" 2>"$dir/asked.log"
    grep -q "\"status\":\"held\"" "$dir/asked" && grep -qx "hook $dir/1.sock" "$dir/asked.log"'
check 'standard input and output are the command'"'"'s' eval '[ "$(echo through | "$leasehold" run job --connect "$dir/1.sock" -- cat)" = through ]'
check 'nothing is run without a lease name' exits 64 1 run --ttl 2s -- true
check 'nor with a TTL that is none' exits 64 1 run job --ttl never -- true
check 'nor above max-ttl, which is named' eval 'exits 64 1 run job --ttl 1m -- touch "$dir/ran" && says "max-ttl 15s" && ! [ -e "$dir/ran" ]'

# --- run: held by another ---
hold holder job 2s 1
check 'one holds' eventually 5 beats job
token=$(token_of job)
check '--nonblock at its node: 75, and the reason names the holder' eval 'exits 75 1 run job --nonblock -- true && says @'
check '--nonblock at another: 75, and when it can be free' eval 'exits 75 2 run job --nonblock -- true && says "free in"'
check '--wait: 75 when it is over' within 900 2000 exits 75 2 run job --wait 1s -- true
check 'a signal ends the waiting' eval '
    "$leasehold" run job --connect "$dir/2.sock" -- true 2>"$dir/cli.log" &
    waiting=$!; eventually 5 eval "[ \$(status_of 2 waiters) = 1 ]"; kill -TERM $waiting; wait $waiting; [ $? = 143 ]'
check 'the holder beats on' eval 'beats job; [ "$(token_of job)" = "$token" ]'

# --- run: TERM, KILL ---
kill -TERM "${pid[holder]}"
check 'a signal to the wrapper is passed on' ended holder 143
check 'and the lease released' eventually 2 answers free 1 GET job
hold holder job 2s 1
check 'another holds' eventually 5 beats job
command=$(pgrep -nx beat)
kill -KILL "${pid[holder]}"
check 'a wrapper killed hard takes its command with it' eventually 2 not kill -0 "$command" 2>/dev/null
check 'and the name is free within its TTL' within 0 2500 acquires 2 job TTL 300ms
check 'no two overlapped' no_overlap job
"$leasehold" run stubborn --ttl 1s --connect "$dir/1.sock" -- \
    sh -c 'trap "" TERM; echo $$; while :; do sleep 0.1; done' >"$dir/stubborn" 2>"$dir/stubborn.log" &
pid[stubborn]=$!
check 'a command that ignores TERM runs' eventually 5 test -s "$dir/stubborn"
cut_off 1
check 'cut off: the wrapper exits with 76' ended stubborn 76
check 'its command is dead' not kill -0 "$(cat "$dir/stubborn")" 2>/dev/null
check 'before the next owner can be' eval 'heal; serving 1 2 3; acquires 2 stubborn TTL 300ms'
check 'revoked by an operator' eval '
    hold holder revoked 2s 1; eventually 5 beats revoked && exits 0 3 revoke revoked && ended holder 76'
check 'its command has ended, so the name is free at once' within 0 400 eventually 1 answers free 3 GET revoked

# --- run: a command that becomes root, as under sudo, below a wrapper that is not ---
nobody=(setpriv --reuid 65534 --clear-groups --inh-caps +setuid --ambient-caps +setuid)
if "${nobody[@]}" setpriv --reuid 0 true 2>/dev/null; then
    cp "$leasehold" "$tools/beat" /run && touch /run/1.sock && mount --bind "$dir/1.sock" /run/1.sock && chmod 666 /run/1.sock
    "${nobody[@]}" /run/leasehold run rooted --ttl 1s --connect /run/1.sock -- \
        setpriv --reuid 0 /run/beat "$dir/rooted.beats" 2>"$dir/rooted.log" &
    pid[rooted]=$!
    check 'a command that became root runs' eventually 5 beats rooted
    command=$(pgrep -nx beat)
    kill -TERM "${pid[rooted]}"
    check 'that it cannot be signalled is said' eventually 2 grep -q 'cannot end its command' "$dir/rooted.log"
    check 'its lease is revoked' exits 0 1 revoke rooted
    check 'that it outlives the lease is said' eventually 5 grep -q "has ended, and its command (process $command) still runs" "$dir/rooted.log"
    check 'the first is said once' eval '[ "$(grep -c "cannot end its command" "$dir/rooted.log")" = 1 ]'
    check 'it is waited for' kill -0 "${pid[rooted]}"
    kill -KILL "$command"
    check 'and the loss told by 76' ended rooted 76
else
    for ((n = 0; n < 7; n++)); do skip 'a command that became root' 'there is one user only'; done
fi

# --- the other commands ---
check 'acquire --json' eval 'exits 0 1 acquire cli --ttl 15s --holder me --json && json "it.token > 0 && it.holder === \"me\" && it.remaining_ms <= 15000"'
token=$(told_token)
check 'again, by the same holder: the same lease' eval 'exits 0 1 acquire cli --ttl 15s --holder me && [[ $out == *"$token"* ]]'
check 'at another node too' eval 'exits 0 2 acquire cli --ttl 15s --holder me && [[ $out == *"$token"* ]]'
check 'renew at another node' exits 0 3 renew cli --token "$token" --holder me --ttl 15s
check 'renew with another token: 76' exits 76 1 renew cli --token $((token + 256)) --holder me
check 'acquire by another, waiting: 75 at its end' within 400 2000 exits 75 2 acquire cli --wait 500ms --holder you
check 'renewed' exits 0 1 renew cli --token "$token" --holder me --ttl 15s
check 'get --json' eval 'exits 0 2 get cli --json && json "it.status === \"held\" && it.token === $token"'
check 'list --json' eval 'exits 0 3 list --prefix cl --json && json "it.leases.length === 1 && it.leases[0].name === \"cli\""'
check 'list as a table' eval 'exits 0 1 renew cli --token "$token" --holder me --ttl 15s && exits 0 3 list && [[ $out == *NAME*cli* ]]'
check 'renewed again' exits 0 1 renew cli --token "$token" --holder me --ttl 15s
check 'release at another node' exits 0 2 release cli --token "$token" --holder me
check 'released again: 76' exits 76 2 release cli --token "$token" --holder me
check 'a TTL of 300 ms is granted as such' eval 'exits 0 1 acquire short --ttl 300ms --json && json "it.ttl_ms === 300"'
check 'status' eval 'exits 0 1 status && [[ $out == *serving*"quorum 2"*"node 2"*up* ]]'
check 'status --json' eval 'exits 0 1 status --json && json "it.state === \"serving\" && it.peers.length === 2"'
check 'a mistyped command is told what was meant' eval '! "$leasehold" aquire x 2>"$dir/cli.log" && says acquire'
check 'a mistyped option likewise' eval 'exits 64 1 acquire x --tll 1s && says --ttl'
check 'the second endpoint is tried when the first is dead' eval '
    "$leasehold" get cli --connect "$dir/no.sock,$dir/1.sock" >/dev/null 2>"$dir/cli.log"'
check 'keygen makes a file nobody else can read, once' eval '
    "$leasehold" keygen "$dir/new" && [ "$(stat -c %a "$dir/new")" = 600 ] && ! "$leasehold" keygen "$dir/new" 2>"$dir/cli.log"'

check 'an option before the command is told where it belongs' eval '! "$leasehold" --connect x status 2>"$dir/cli.log" && says "options come after it"'
check 'an empty endpoint is no default' eval 'exits 64 1 get x --connect "" && says empty'
check 'LEASEHOLD_CONNECT is named where it is wrong' eval '! LEASEHOLD_CONNECT=nope "$leasehold" get x 2>"$dir/cli.log" && says LEASEHOLD_CONNECT'
check 'keygen does not take a directory for a keyring' eval '! "$leasehold" keygen "$dir" 2>"$dir/cli.log" && says "is a directory"'
check 'what is refused is said back as it was typed' eval 'exits 64 1 acquire x --ttl 61s && says "'"'61s'"'"'
check 'acquire --nonblock is acquire' eval 'exits 0 1 acquire now --ttl 1s --nonblock'
check 'but not with --wait' eval 'exits 64 1 acquire now --nonblock --wait 1s && says exclude'
check '--kill-after beyond half of any TTL is refused at once' eval 'exits 64 1 run job --kill-after 5001ms -- true && says "at most 5s"'
check 'a failure is JSON, too' eval 'exits 0 1 acquire cli --holder me && exits 75 1 acquire cli --holder you --json &&
    json "it.status === \"held\" && it.holder === \"me\" && it.free_in_ms > 0" &&
    exits 76 1 renew cli --token $((token + 256)) --holder me --json && json "it.status === \"lost\" && it.reason" &&
    exits 64 1 acquire cli --ttl 61s --json && json "it.status === \"refused\""'
check 'what is free has no owner in JSON' eval 'exits 0 1 get nobody --json && [ "$out" = "{\"status\":\"free\",\"name\":\"nobody\"}" ]'
check 'all times are in milliseconds' eval 'exits 0 1 list --json && [[ $out == *_ms* && $out != *_ns* ]] && exits 0 1 status --json && [[ $out != *_ns* ]]'

# --- where nothing can be printed ---
unprinted() {
    "$leasehold" "$@" --connect "$dir/1.sock" 2>"$dir/cli.log" >/dev/full
    [ $? = 1 ] && says 'cannot write to standard output' &&
        { "$leasehold" "$@" --connect "$dir/1.sock" 2>"$dir/cli.log" >&-; [ $? = 1 ]; } && says 'cannot write to standard output'
}
check 'acquire says so' unprinted acquire unseen
check 'and keeps no lease' answers free 1 GET unseen
unread() {
    local pipe
    exec {pipe}> >(:)
    wait $!
    "$leasehold" "$@" --connect "$dir/1.sock" 2>"$dir/cli.log" >&"$pipe"
    [ $? = 1 ] && says 'cannot write to standard output: Broken pipe'
}
check 'so it does where nobody reads it' unread acquire unseen
check 'and keeps no lease' answers free 1 GET unseen
for command in status 'get unseen' 'list --json'; do
    # shellcheck disable=SC2086 # words
    check "$command says so" unprinted $command
done

# --- who is gone ---
hold holder orphan 2s 1
check 'a command runs under node 1' eventually 5 beats orphan
kill9 1
check 'its daemon dies: 76' ended holder 76
check 'and it is the daemon that is named' grep -q 'node 1, which owns the lease, is gone' "$dir/holder.log"
check 'the furthest endpoint is told, not the first' eval '
    signal 3 STOP; exits 69 2 acquire x --connect "$dir/1.sock,$dir/2.sock" --wait 1s && says "no quorum: $dir/2.sock: no majority"'
check 'with a wait, a missing quorum is told in its time' within 900 2500 exits 69 2 acquire x --wait 1s
check 'status without a quorum: 69' eventually 10 eval 'exits 69 2 status && [[ $out == *"serving, but no quorum (1 of 3)"* ]]'
check 'list without a quorum: 69' eval 'exits 69 2 list && says "none known"'
signal 3 CONT
start 1

# --- dev and demo ---
(cd "$dir" && exec "$leasehold" dev --dir "a dev" >"$dir/dev.log" 2>&1) &
pid[dev]=$!
check 'dev starts a cluster and says how to talk to it' eventually 10 grep -q LEASEHOLD_CONNECT= "$dir/dev.log"
check 'which grants' eventually 10 eval '"$leasehold" acquire x --ttl 1s --connect "$dir/a dev/1.sock" >"$dir/cli.log" 2>&1'
check 'its lines can be pasted anywhere' eval '
    eval "$(grep -o "export LEASEHOLD_CONNECT=.*" "$dir/dev.log")" && (cd / && "$leasehold" get x >/dev/null 2>"$dir/cli.log"); unset LEASEHOLD_CONNECT'
kill -INT "${pid[dev]}"
check 'and ends in order, with its files' eval 'ended dev 0; ! [ -e "$dir/a dev" ]'
(cd "$dir" && exec "$leasehold" dev --dir killed >"$dir/dev.log" 2>&1) &
pid[dev]=$!
eventually 10 grep -q LEASEHOLD_CONNECT= "$dir/dev.log"
mapfile -t daemons < <(sed -nE 's/^node[0-9]+ \| pid ([0-9]+), .*/\1/p' "$dir/dev.log")
kill9 dev
check 'killed, it leaves neither daemon nor file' eventually 10 eval '
    [ "${#daemons[@]}" -eq 3 ] && ! [ -e "$dir/killed" ] && ! kill -0 "${daemons[@]}" 2>/dev/null'
check 'demo' eval '"$leasehold" demo --seconds 7 >"$dir/demo.log" 2>&1 && grep -q "No two holders overlapped" "$dir/demo.log"'
