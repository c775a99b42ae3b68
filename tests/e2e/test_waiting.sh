#!/bin/bash
# run-tests: timeout 120
# What is said on a terminal to who waits in line: whom for, and for how long at most. A pipe gets nothing of it. And
# what is said to a holder that asks again for what it has, with another TTL.
. "$(dirname "$0")/lib.sh"
plan 15
nets 3
cluster 3 max-ttl=30s
start 1 2 3
serving 1 2 3
export LEASEHOLD_CONNECT="unix:$dir/1.sock"

# on_terminal FILE WORD...: the command line with a terminal as standard error, which is written to FILE.
on_terminal() {
    python3 - "$leasehold" "$@" <<'PYTHON'
import os, pty, subprocess, sys
leasehold, path, *words = sys.argv[1:]
ours, theirs = pty.openpty()
process = subprocess.Popen([leasehold, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
with open(path, 'wb', 0) as file:
    try:
        while (text := os.read(ours, 4096)):
            file.write(text)
    except OSError:
        pass
sys.exit(process.wait())
PYTHON
}
said() { grep -qE "$2" "$dir/$1" 2>/dev/null; }
once() { [ "$(grep -c 'is waited for' "$dir/$1")" = 1 ]; }

acquires 1 job TTL 20s HOLDER ada
token=${reply[token]}
on_terminal "$dir/acquire" acquire job --wait 25s &
on_terminal "$dir/run" run job -- true &
"$leasehold" run job --wait 25s -- true 2>"$dir/pipe" &
waits="'job' is waited for: held by ada \\(token $token, node 1\\), free in at most [0-9.]+s unless renewed"
check 'acquire --wait says whom it waits for, and how long at most' eventually 10 said acquire "^leasehold acquire: $waits; waiting for 2[0-9.]+s"
check 'so does run, which waits without end' eventually 10 said run "^leasehold run: $waits.?$"
check 'and who waits has a place in the line' eventually 10 eval '[ "$(status_of 1 waiters)" -ge 3 ]'
lease 1 RELEASE job "$token" ada
check 'once' eventually 10 eval 'once acquire && once run'
check 'what is no terminal is told nothing' [ ! -s "$dir/pipe" ]

# --- a daemon that is away ---
stop 1
"$leasehold" run away --timeout 30s -- true 2>"$dir/away.pipe" &
silent=$!
on_terminal "$dir/away" run away --timeout 30s -- true &
waiting=$!
check 'run waits for a daemon, and says so' eventually 10 \
    said away "^leasehold run: 'away' is not acquired yet: no daemon: unix:$dir/1.sock: cannot connect: [a-zA-Z ]+; trying for [0-9.]+s"
check 'without a wait it is told at once' within 0 2000 exits 69 1 run away --nonblock -- true
check 'to acquire as well' within 0 2000 exits 69 1 acquire away
start 1
serving 1
check 'once the daemon is back it goes on' wait $waiting
check 'to a terminal or not' wait $silent
check 'where nothing was said of it' [ ! -s "$dir/away.pipe" ]

# --- the same holder again ---
"$leasehold" acquire again --holder ada --ttl 10s >/dev/null
check 'the same holder has the same lease' eval '"$leasehold" acquire again --holder ada --ttl 10s >"$dir/out" 2>"$dir/err"'
check 'nothing is said of it' [ ! -s "$dir/err" ]
check 'asked with another TTL, too' eval '"$leasehold" acquire again --holder ada --ttl 20s >"$dir/out" 2>"$dir/err"'
check 'and it is said which one counts' grep -qF "'again' is held already with a TTL of 10s, not 20s: renew it for another" "$dir/err"
