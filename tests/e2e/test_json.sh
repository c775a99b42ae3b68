#!/bin/bash
# run-tests: timeout 120
# The keys of --json and their types are those of the table in docs/operations.md: the commands are led through what they can
# meet, and what they print is compared with it in both directions.
. "$(dirname "$0")/lib.sh"
plan 17
nets 3
cluster 3 max-ttl=5s

# tell N COMMAND WORD...: keeps what the command prints at node N, as json_names.py reads it.
tell() {
    cli "$1" "${@:2}" --json
    printf '%s\t%s\t%s\n' "$2" "$code" "$out" >>"$dir/said"
}
tells() {
    tell "${@:2}"
    [ $code = "$1" ]
}
# compare [TABLE]: whether what is told is what it says. differs WANTED: whether only this differs.
compare() { python3 "$here/tools/json_names.py" "${1:-$root/docs/operations.md}" "$dir/said" >"$dir/differs.log"; }
differs() { not compare "$dir/table" && [ "$(cat "$dir/differs.log")" = "$1" ]; }
# differing: a stand-in for a daemon whose members differ about `job`, at $dir/differing.sock, for one client.
differing() {
    python3 - "$dir/differing.sock" <<'PYTHON'
import os, socket, sys
view = {"status": "undecided", "name": "job", "token": 0, "holder": "", "node": 0, "ttl-ms": 0, "remaining-ns": 0, "age-ns": 0,
        "renewals": 0, "renewed-ago-ns": 0, "next-owner-min-ns": 0, "next-owner-max-ns": 0, "revoked": 0}
word = lambda text: f"${len(text.encode())}\r\n{text}\r\n"
value = lambda value: word(value) if isinstance(value, str) else f":{value}\r\n"
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + ".not-yet")
server.listen()
os.rename(sys.argv[1] + ".not-yet", sys.argv[1])
client, _ = server.accept()
client.recv(4096)
client.sendall(("%0\r\n" + f"%{len(view)}\r\n" + "".join(word(key) + value(view[key]) for key in view)).encode())
client.recv(4096)
PYTHON
}
not_decided() { tells 0 differing get job && [[ $out == *'"status":"undecided"'* && $out == *'"node":null'* ]]; }
measured() { cli 1 status --json && [[ $out == *measured_guard_us* && $out == *rate_least_ppb* ]]; }

tell 1 status
tell 1 list
tell 1 get job
check 'no daemon' test $code = 69
start 1
check 'a node that waits for others' tells 69 1 status
configure 3 max-ttl=10s
start 2 3
check 'one that is refused' eval 'logged 3 "its max-ttl is longer" && tells 69 3 status && [[ $out == *"max-ttl is longer"* ]]'
kill9 3
rm -rf "$dir/3.data"
configure 3 max-ttl=5s
start 3
check 'three that serve' serving 1 2 3

LEASEHOLD_CONNECT="unix:$dir/1.sock" "$leasehold" watch job --json >"$dir/watched" 2>/dev/null &
watcher=$!
check 'a watcher' eventually 5 test -s "$dir/watched"
tell 1 get job
tell 1 revoke job
check 'granted' tells 0 1 acquire job --ttl 5s --holder me
token=$(told_token)
tell 1 renew job --token "$token" --holder me
tell 2 get job
tell 2 list
tell 1 acquire job --ttl 5s --holder you --nonblock
check 'gained' eventually 5 grep -q gained "$dir/watched"
tell 1 release job --token "$token" --holder me
tell 1 renew job --token "$token" --holder me
tell 1 acquire job --ttl 5s --holder you --wait 10s
tell 2 revoke job
tell 2 get job
tell 1 acquire job --ttl 5s --holder you --nonblock
check 'a wrong request' tells 64 1 acquire job --ttl 1h
check 'what revoke of a free name tells' eval 'tells 0 1 revoke nothing && [ "$out" = "{\"status\":\"free\",\"name\":\"nothing\"}" ]'
check 'measured clocks' eventually 30 measured
tell 1 status
check 'a lease at node 3' tells 0 3 acquire far --ttl 5s --holder me
token=$(told_token)
signal 3 STOP
check 'whose node does not answer' tells 0 1 get far
tell 1 renew far --token "$token" --holder me
tell 1 list
signal 3 CONT
kill "$watcher"
differing &
check 'a stand-in whose members differ' eventually 5 test -S "$dir/differing.sock"
check 'what is not decided is null' not_decided
sed 's/^/watch\t0\t/' "$dir/watched" >>"$dir/said"

check 'what they told is what the table says' compare
grep -v '^| `free_in_ms`' "$root/docs/operations.md" >"$dir/table"
check 'a key that the table lacks is noticed' differs $'failure: free_in_ms is integer, which the table does not say\nfailure: free_in_ms is null, which the table does not say'
sed 's/^| `version` .*/&\n| `versions` | status | text | |/' "$root/docs/operations.md" >"$dir/table"
check 'and one that nobody tells' differs 'status: versions was never text, as the table says'
