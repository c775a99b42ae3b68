#!/bin/bash
# run-tests: timeout 180
# What the commands say when somebody is silent: the node that holds the lease, a majority, the node that is asked. Each
# names who does not answer, whatever the endpoints and their order, and goes to the endpoint that can help.
. "$(dirname "$0")/lib.sh"
plan 23
nets 3
cluster 3 max-ttl=60s
start 1 2 3
serving 1 2 3
forward="unix:$dir/1.sock,unix:$dir/2.sock,unix:$dir/3.sock"
backward="unix:$dir/3.sock,unix:$dir/2.sock,unix:$dir/1.sock"

holds() { acquires 3 "$1" TTL 60s HOLDER me && token=${reply[token]}; }

within=1s
# says CODE TEXT ENDPOINTS WORD...: the command ends so and says that.
says() {
    local code=0
    timeout 20 "$leasehold" "${@:4}" --timeout "$within" --connect "$3" >"$dir/cli.log" 2>&1 || code=$?
    [ $code = "$1" ] && grep -qF -- "$2" "$dir/cli.log"
}
# all_say CODE TEXT ENDPOINTS COMMAND...: each of the commands, with what it needs.
all_say() {
    local command
    for command in "${@:4}"; do
        case $command in
        renew | release) says "$1" "$2" "$3" "$command" job --token "$token" --holder me ;;
        *) says "$1" "$2" "$3" "$command" job ;;
        esac || { sed "s/^/# $command: /" "$dir/cli.log" && return 1; }
    done
}
# watches ENDPOINTS: the present state is shown, by whatever endpoint can.
watches() {
    "$leasehold" watch job --timeout 5s --connect "$1" >"$dir/watch.log" 2>&1 &
    local watcher=$!
    eventually 10 grep -q ' held ' "$dir/watch.log"
    local shown=$?
    kill $watcher
    wait $watcher 2>/dev/null
    return $shown
}
owner='no answer: unix:[^ ]*/[12].sock: node 3 holds it and does not answer'
names_the_owner() {
    all_say 69 'node 3 holds it and does not answer' "$1" revoke renew release &&
        grep -qE "$owner" "$dir/cli.log" && grep -q 'only that node can' "$dir/cli.log"
}

# --- the node that holds the lease ---
holds job
signal 3 STOP
check 'owner stopped: revoke, renew and release name it, asked of another' names_the_owner "unix:$dir/1.sock"
check 'over all endpoints, the healthy ones first' names_the_owner "$forward"
check 'and the stopped one first' names_the_owner "$backward"
check 'get tells whose node names no holder' says 0 'node 3 names none' "$forward" get job
check 'so does an acquisition' says 75 'node 3 names none' "$forward" acquire job
check 'list names it' says 0 'node 3 did not answer' "$backward" list
check 'watch goes on to an endpoint that answers' watches "$backward"
lease 1 RELEASE job "$token" me TIMEOUT 200ms
check 'LEASE RELEASE ends at its TIMEOUT and names the node' eval 'is status noquorum && is node 3'
signal 3 CONT
serving 1 2 3
"$leasehold" release job --token "$token" --holder me --connect "$forward" >/dev/null 2>&1 # or one asked for before
check 'it goes on: the release is carried out' eventually 10 answers free 1 GET job

# --- the node that is asked ---
holds job
cut_off 1
check 'status is of the node that answers' eventually 10 says 69 'but no quorum (1 of 3)' "$forward" status
check 'own node cut off: the next endpoint shows the lease' says 0 job "$forward" get job
check 'list lists it' eval 'says 0 job "$forward" list && ! grep -q "none known" "$dir/cli.log"'
check 'watch watches it' watches "$forward"
heal
serving 1 2 3

# --- killed ---
kill9 3
check 'owner killed: the same' names_the_owner "unix:$dir/1.sock"
check 'over all endpoints' names_the_owner "$forward"
start 3
signal 3 STOP
signal 2 STOP

# --- a majority ---
within=2s # a node's share of it must be enough on a busy machine, too
no_majority='no majority of the members answer'
for order in forward backward; do
    check "majority stopped, endpoints $order: get, revoke and acquire say that there is no majority" \
        all_say 69 "no quorum: unix:$dir/1.sock: $no_majority" "${!order}" get revoke acquire
    check "watch, too" says 69 "$no_majority" "${!order}" watch job
    check "list" says 69 'no quorum: this is what the others know' "${!order}" list
done
kill9 3
kill9 2
check 'majority killed: the same' all_say 69 "no quorum: unix:$dir/1.sock: $no_majority" "$forward" get revoke acquire
check 'and watch' says 69 "no quorum: unix:$dir/1.sock: $no_majority" "$forward" watch job
