#!/bin/bash
# run-tests: timeout 300
# The daemon towards its operator: what --config-test computes, how mistyped keys are answered, readiness as systemd
# wants it, the recording, signals, the socket.
. "$(dirname "$0")/lib.sh"
plan 94
nets 3
cluster 3 max-ttl=10s rate-error=1%

# tests KEY=VALUE...: --config-test of node 1 with these keys; $out and $code tell.
tests() {
    configure 1 "$@"
    out=$("$leaseholdd" --config "$dir/1.conf" --config-test 2>&1)
    code=$?
}
has() { [[ $out == *"$1"* ]]; }

# --- the timing ---
tests max-ttl=10s
check 'a good configuration, exit 0' eval '[ $code = 0 ] && [[ $out == OK:* ]]'
check 'for people: max-ttl, quarantine, the keyring' eval 'has "max-ttl     10s" && has "quarantine  10.203s" && has "keyring     $dir/keyring, 1 key"'
echo "$out" | sed 's/^/# /'
number() { grep -o "$1[^0-9]*[0-9.]*" <<<"$out" | head -n 1 | grep -o '[0-9.]*$'; }
# D_A = Q = D_P * 1.01 / 0.99, rounded up to a nanosecond.
check 'D_A and Q are D_P (1 + rho) / (1 - rho), rounded up' eval '[ "$(grep -c 10202020203 <<<"$out")" -ge 2 ]'
check 'the guard is what lies between' has 202020203
tests max-ttl=60s rate-error=0.01%
check 'with another rate error: 60 s of 0.01 %' has 60012001201

# --- mistakes ---
mistake() {
    tests "${@:3}"
    [ $code != 0 ] && has "$1" && has "$2"
}
check 'a mistyped key: what was meant' mistake 'max-tll' 'did you mean max-ttl?' max-tll=5s
check 'its file and line' grep -q "^leaseholdd: $dir/1.conf:[0-9]*:" <<<"$out"
check 'a key of nothing' mistake 'frobnicate' 'no such key' frobnicate=1
check 'a TTL above an hour' mistake "'2h' is refused" '50ms to 1h' max-ttl=2h
check 'a TTL below the least' mistake "'49ms' is refused" '50ms' max-ttl=49ms
check 'a TTL with a space' mistake "'5 s' is refused" '' max-ttl='5 s'
check 'a rate error of nothing' mistake "'0%' is refused" '' rate-error=0%
check 'a switch that is neither' mistake "'yes' is refused" 'on or off' idle-forget=yes
check 'a client port for the world' mistake '0.0.0.0' 'loopback' client-listen=0.0.0.0:7742
check 'a port alone' mistake "'7742' is refused" 'such as 127.0.0.1:7742' client-listen=7742
check 'a mode that is none' mistake "'999' is refused" 'octal' socket-mode=999
members='1 2' check 'two members' mistake '2 members' '3 to 7'
members='2 3 4' check 'a node that is no member' mistake 'node 1' 'not among the members'
configure 1
echo ' max-leases = 5' >>"$dir/1.conf"
check 'an indented line' eval '! out=$("$leaseholdd" --config "$dir/1.conf" --config-test 2>&1) && has "begins with a blank"'
configure 1
sed -i '1i max-clients = 5\nmax-clients = 6' "$dir/1.conf"
check 'a key twice' eval '! out=$("$leaseholdd" --config "$dir/1.conf" --config-test 2>&1) && has "given before, on line 1"'
configure 1
check 'flags win over the file' eval '
    out=$("$leaseholdd" --config "$dir/1.conf" --max-ttl=1s --config-test 2>&1) && has 1020202021'
check 'a file that is not there' eval '! out=$("$leaseholdd" --config /nowhere 2>&1) && has /nowhere'

check 'no file and no setting: the usual file' eval '! out=$("$leaseholdd" 2>&1) && has /etc/leasehold/leasehold.conf && has --config'
check 'no keyring' eval 'mistake "NOT OK" "/nowhere" keyring=/nowhere && [ $code = 64 ]'
check 'a data directory that is a file' mistake 'NOT OK' "$dir/keyring: not a directory" data-dir="$dir/keyring"
check 'a socket that is none' mistake 'NOT OK' "$dir/keyring exists and is not a socket: remove it" socket="$dir/keyring"
sed 's/^key = ../key = /' "$dir/keyring" >"$dir/short" && chmod 0600 "$dir/short"
check 'a keyring that is none: the unit does not try again' eval '
    configure 1 keyring="$dir/short" && { out=$(ip netns exec n1 "$leaseholdd" --config "$dir/1.conf" 2>&1); [ $? = 64 ]; } &&
        has "64 hexadecimal digits, got 62 bytes (not shown): copy it anew from another node"'
cat >"$dir/busy.py" <<'END'
import socket, subprocess, sys
busy = socket.create_server(("127.0.0.1", 7743))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
END
check 'a client port in use' eval '
    configure 1 client-listen=127.0.0.1:7743 && { out=$(ip netns exec n1 python3 "$dir/busy.py" "$leaseholdd" --config "$dir/1.conf" 2>&1); [ $? = 1 ]; } &&
        has "Address already in use; stop what listens there, or name another port"'
check 'a directory that the unit makes is no mistake' eval 'tests socket=/nowhere/1.sock && [ $code = 0 ] && has "there is no /nowhere"'
check 'but the daemon does not start without it' eval '
    configure 1 socket=/nowhere/1.sock && ! out=$(ip netns exec n1 "$leaseholdd" --config "$dir/1.conf" 2>&1) &&
        has "its directory /nowhere: No such file or directory"'
check 'a state directory that is not there is a warning' eval '
    tests state-dir=/nowhere && [ $code = 0 ] && has OK "warning: nothing can be saved in /nowhere: No such file"'
check 'so is a file in its place' eval 'tests state-dir="$dir/keyring" && [ $code = 0 ] && has "keyring: Not a directory"'
check 'a directory of the recording that nobody makes' mistake 'NOT OK' '/nowhere: No such file' record=/nowhere/record
check 'a recording into what is no file' mistake 'NOT OK' "$dir: Is a directory; name another file" record="$dir"
check 'or into another file' eval 'mistake "NOT OK" "record = $dir/keyring is no recording: name another file" record="$dir/keyring" && [ $code = 64 ]'
check 'which no start adds to' eval '
    configure 1 record="$dir/keyring" && { out=$(ip netns exec n1 "$leaseholdd" --config "$dir/1.conf" 2>&1); [ $? = 64 ]; } && has "is no recording"'
: >"$dir/empty"
check 'an empty one is good' eval 'tests record="$dir/empty" && [ $code = 0 ]'
check 'a member in the way of an option' mistake 'member: there is no such key' 'in a section [node N]' member=4=127.0.0.1:9
check 'a mistyped command' eval '! out=$("$leaseholdd" setmembers 2>&1) && has set-members'
check '-h and -V' eval '"$leaseholdd" -h | grep -q config-test && [ "$("$leaseholdd" -V)" = "$("$leaseholdd" --version)" ]'

# --- a keyring that others can read ---
chmod 644 "$dir/keyring"
for n in 1 2 3; do configure $n max-ttl=2s record="$dir/$n.record"; done
: >"$dir/notify"
# What systemd would be told.
notify() {
    "$tools/notify" "$dir/notify.sock" >"$dir/notify" &
    eventually 5 test -S "$dir/notify.sock"
}
notify
around=(env NOTIFY_SOCKET="$dir/notify.sock")
start 1
around=()
check 'READY=1 is told once it listens' eventually 5 grep -q '^READY=1' "$dir/notify"
check 'a keyring that others can read is warned about' logged 1 'event=keyring-open'
chmod 600 "$dir/keyring"
signal 1 HUP
check 'a reload is told as such, and then READY=1 again' eventually 5 eval '
    grep -q "^RELOADING=1" "$dir/notify" && [ $(grep -c "^READY=1" "$dir/notify") = 2 ]'
start 2 3
check 'all serve' serving 1 2 3
check 'the socket has its mode' [ "$(stat -c %a "$dir/1.sock")" = 660 ]
check 'a lease' acquires 1 recorded TTL 1s HOLDER 'who "is" it'
check 'its end' eventually 5 answers free 1 GET recorded
check 'stopping is told' eval 'stop 1 && grep -q "^STOPPING=1" "$dir/notify"'
check 'the socket is gone' not test -e "$dir/1.sock"

check 'another max-ttl than the directory has is told as such' eval '
    configure 1 max-ttl=3s && { out=$(ip netns exec n1 timeout 5 "$leaseholdd" --config "$dir/1.conf" 2>&1); [ $? = 64 ]; } &&
        has "max-ttl differs from that this data directory was used with: change it back" && has "(max-ttl was 2s, is 3s)"'
starts_not() { # TEXT [KEY=VALUE]...: node 1 does not start with these keys, and says TEXT
    configure 1 "${@:2}"
    out=$(ip netns exec n1 timeout 5 "$leaseholdd" --config "$dir/1.conf" 2>&1)
    [ $? = 64 ] && has "$1"
}
check 'all that differs is told with both values' starts_not '(max-ttl was 2s, is 2500ms; rate-error was 1%, is 0.25%)' max-ttl=2500ms rate-error=0.25%
check 'a member-epoch, too' starts_not '(member-epoch was 1, is 2; max-ttl was 2s, is 3s)' member-epoch=2 max-ttl=3s
members='1 2 4' check 'other nodes' starts_not '(the nodes are others, member-epoch is 1 as before)' max-ttl=2s

# --- --config-test looks into the directory ---
check 'another max-ttl is told beforehand, too' eval '
    tests max-ttl=3s && [ $code = 64 ] && has "NOT OK" && has "$dir/1.data; max-ttl differs" && has "(max-ttl was 2s, is 3s)"'
check 'another rate-error' eval 'tests max-ttl=2s rate-error=2%; [ $code = 64 ] && has "(rate-error was 1%, is 2%)"'
check 'a member-epoch' eval 'tests max-ttl=2s member-epoch=2; [ $code = 64 ] && has "(member-epoch was 1, is 2)"'
check 'the directory of another node' eval '
    tests max-ttl=2s data-dir="$dir/2.data"; [ $code = 64 ] && has "belongs to another node" && has "(node was 2, is 1)"'
check 'also while a daemon runs there' eval 'out=$("$leaseholdd" --config "$dir/2.conf" --max-ttl 3s --config-test 2>&1); [ $? = 64 ] && has "(max-ttl was 2s, is 3s)"'
check 'which is no mistake in itself' eval 'out=$("$leaseholdd" --config "$dir/2.conf" --config-test 2>&1) && [[ $out == OK:* ]]'
check 'nor disturbed by it' eval 'listens 2 && [ "$(ls "$dir/2.data")" = "data.mdb
lock" ]'
check 'what the directory was used with is good' eval 'tests max-ttl=2s && [ $code = 0 ]'

check 'a state directory that is not there is told at the start' eval '
    configure 1 max-ttl=2s state-dir=/nowhere && start 1 && logged 1 "event=state-not-saveable reason=\"nothing can be saved in /nowhere" && stop 1'

# --- the recording ---
check 'every recorded line is JSON' node -e '
    const lines = require("fs").readFileSync(process.argv[1], "utf8").split("\n").slice(0, -1);
    lines.map(JSON.parse); if (lines.length < 10) process.exit(1)' "$dir/1.record"
check 'with grant, holder, loss and messages' eval '
    grep -q "\"event\":\"granted\".*\"holder\":\"who \\\\\"is\\\\\" it\"" "$dir/1.record" &&
        grep -q "\"event\":\"lost\"" "$dir/1.record" && grep -q "\"kind\":\"promise\"" "$dir/1.record"'
numbered() { grep -o '"n":[0-9]*' "$1" | awk -F: '$2 != NR { print "# line " NR " is " $0; exit 1 }'; }
check 'lines are numbered without a gap' numbered "$dir/1.record"

# --- a socket left behind ---
kill9 2
check 'a killed daemon leaves its socket' test -S "$dir/2.sock"
check 'which the next one takes over' eval 'start 2 && serving 2 3'

# --- files that are none: a FIFO would be waited for ---
mkfifo "$dir/fifo"
refuses() { # KEY=FILE: the daemon does not start with it
    configure 1 "$@"
    out=$(ip netns exec n1 timeout 5 "$leaseholdd" --config "$dir/1.conf" 2>&1)
    code=$?
    [ $code != 0 ] && [ $code != 124 ] && has "$dir/fifo: not a regular file"
}
check 'a FIFO is no configuration' eval '
    ! out=$(timeout 5 "$leaseholdd" --config "$dir/fifo" 2>&1) && has "$dir/fifo: not a regular file"'
check 'no keyring' refuses keyring="$dir/fifo"
check 'no recording' refuses record="$dir/fifo"
mv "$dir/keyring" "$dir/keyring.good"
mkfifo "$dir/keyring"
signal 2 HUP
check 'nor a keyring later' logged 2 'event=keyring-kept reason="'"$dir/keyring"': not a regular file'
check 'and the node goes on' listens 2
# hup_often: 50 at once, each of which is taken before the next; true if few of them were told.
kept_count() { grep -c 'event=keyring-kept' "$dir/2.log"; }
hup_often() {
    local before i
    before=$(kept_count)
    for ((i = 0; i < 50; i++)); do
        signal 2 HUP
        listens 2
    done
    [ $(($(kept_count) - before)) -le 25 ]
}
check 'which does not tell each of many signals' hup_often
for_ms 1000
signal 2 HUP
check 'but how many it did not' eventually 5 grep -q 'keyring-kept.*also=[1-9]' "$dir/2.log"
rm "$dir/keyring"
mv "$dir/keyring.good" "$dir/keyring"
configure 1 max-ttl=2s
rm -f "$dir"/leasehold-1.state*
mkfifo "$dir/leasehold-1.state" "$dir/leasehold-1.state.new"
check 'no saved state' eval 'start 1 && logged 1 "leasehold-1.state is no regular file"'
check 'a node that saves its state' serving 1 2 3
check 'does not wait for one either' eval 'stop 1 && logged 1 state-saved && [ -f "$dir/leasehold-1.state" ]'

# --- nothing where standard input, output and errors should be ---
ip netns exec n1 bash -c 'exec "$@" <&- >&- 2>&-' closed "$leaseholdd" --config "$dir/1.conf" &
pid[1]=$!
check 'started with them closed it serves' eval 'eventually 10 listens 1 && serving 1 2 3 && acquires 1 closed TTL 1s'
signal 1 HUP
check 'its descriptors 0 to 2 are /dev/null' eval '
    [ "$(stat -Lc %t:%T /proc/${pid[1]}/fd/[012] | sort | uniq -c | tr -s " ")" = " 3 1:3" ]'
check 'and it ends in order' stop 1

# --- a log that nobody reads ---
mkfifo "$dir/log"
exec {reader}<>"$dir/log"
ip netns exec n1 "$leaseholdd" --config "$dir/1.conf" --log-level debug 2>"$dir/log" &
pid[1]=$!
check 'a node whose log is a pipe' eval 'eventually 10 listens 1 && serving 1 2 3'
dropped() {
    lease 1 ACQUIRE unread TTL 50ms HOLDER h
    [ "$(counter_of 1 log-lines-dropped)" -gt 0 ]
}
check 'that nobody reads' eventually 60 dropped
check 'serves on' acquires 1 unread TTL 1s
read_some() { dd bs=65536 count=1 status=none <&"$reader" >>"$dir/1.log"; }
check 'and once it is read tells how many lines are gone' eventually 10 eval '
    read_some; lease 1 ACQUIRE unread TTL 50ms HOLDER h; grep -q "event=log-lines-dropped lines=[1-9]" "$dir/1.log"'
check 'TERM ends it' stop 1

# --- out of descriptors ---
# crowd COUNT: that many connections at node 1, which stay until `disperse`; $served and $turned are how many were.
crowd() {
    local words
    coproc CROWD { "$tools/resp" "$dir/1.sock" crowd "$1"; }
    crowd_pid=$CROWD_PID
    read -rt 60 -a words <&"${CROWD[0]}"
    served=${words[0]} turned=${words[2]}
    echo "# served $served, turned away $turned"
}
disperse() {
    eval "exec ${CROWD[1]}>&-"
    wait "$crowd_pid"
}
limited() { # SOFT:HARD MAX_CLIENTS
    configure 1 max-ttl=2s max-clients="$2"
    around=(prlimit --nofile="$1")
    start 1
    around=()
}
check 'a soft limit below max-clients' limited 40:1000 100
crowd 90
check 'is raised: all are served' eval '[ "$served" = 90 ] && ! grep -q max-clients-lowered "$dir/1.log"'
disperse
stop 1
check 'a hard limit below max-clients' limited 60:60 100
check 'is told' logged 1 'event=max-clients-lowered from=100 to=28'
crowd 90
check 'some are served, and each of the others is told' eval '[ "$served" -ge 20 ] && [ $((served + turned)) = 90 ]'
disperse
stop 1
configure 1 max-ttl=2s
check 'a hard limit that leaves nothing' eval '
    ! out=$(ip netns exec n1 prlimit --nofile=32:32 "$leaseholdd" --config "$dir/1.conf" 2>&1) && has "LimitNOFILE="'
limited 1000:1000 100
prlimit --pid "${pid[1]}" --nofile=30:1000
crowd 90
check 'a limit that is lowered later: each is served or told' eval '[ "$turned" -ge 60 ] && [ $((served + turned)) = 90 ]'
check 'which is logged once, and counted' eval '
    [ "$(grep -c event=accept-failed "$dir/1.log")" = 1 ] && [ "$(counter_of 1 accepts-failed)" = "$turned" ]'
disperse
prlimit --pid "${pid[1]}" --nofile=1000:1000
crowd 90
check 'and raised again: all are served' [ "$served" = 90 ]
disperse
