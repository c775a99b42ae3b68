#!/bin/bash
# run-tests: timeout 300
# `leasehold run` at a terminal, under a shell with job control: who may read it, what the keys do, and who has it afterwards.
. "$(dirname "$0")/lib.sh"
plan 13
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=20s; done
start 1 2 3
check 'three nodes serve' serving 1 2 3
export LEASEHOLD_CONNECT=unix:$dir/1.sock
export TERM=vt100 # for less
run="$leasehold run"
typed() { "$here/tools/terminal.py" "$@"; }
is_free() { eventually 5 answers free 2 GET "$1"; }

check 'a command reads the terminal' typed "$run a -- sed s/^/X/\n" '' 'hello\n' Xhello '\x04' 'prompt> '
check 'Ctrl-C ends it once' typed "$run b -- sh -c 'trap \"echo got; exit 5\" INT; echo up; while :; do sleep 0.1; done'; echo code=\$?\n" \
    '\r\nup' '\x03' '^Cgot\r\ncode=5' 'true\n' 'prompt> '
check 'Ctrl-Z is undone' typed "$run c -- sh -c '(echo up; exec sleep 1); echo done'; echo code=\$?\n" '\r\nup' '\x1a' '\r\ncode=0'
check 'a shell with jobs of its own' typed "$run d -- bash --norc -i\n" '\r\n' '' 'prompt> ' '(echo sl""eeps; sleep 60)\n' sleeps '\x1a' Stopped 'exit\n' 'stopped jobs' \
    'exit\n' 'prompt> ' 'echo ba""ck\n' back
check 'what it left has ended' is_free d

# --- in a pipeline somebody else may want to read the terminal ---
if command -v less >/dev/null; then
    check 'its output paged: the pager reads the terminal' typed \
        "$run e -- sh -c 'seq 500; exec sleep 60' | (LESS= less; echo pa""ged)\n" '\r\n:' ' ' '\r\n40' 'q' paged '\x03' 'prompt> ' \
        'echo code=${PIPESTATUS[0]}\n' code=130
else
    skip 'its output paged' 'there is no less'
fi
check 'a command reads the terminal in one, too' typed "$run f -- cat | sed s/^/X/\n" '' 'hello\n' Xhello '\x04' 'prompt> '
check 'and there Ctrl-C ends it once' typed "$run g -- sh -c 'trap \"echo got; exit 5\" INT; echo up; while :; do sleep 0.1; done' | (trap '' INT; cat); echo code=\${PIPESTATUS[0]}\n" \
    '\r\nup' '\x03' '^Cgot\r\ncode=5'
check 'standard input is a pipe: it reads the terminal' typed "echo | $run h -- sh -c 'sed s/^/X/ </dev/tty'\n" '' 'hello\n' Xhello '\x04' 'prompt> '

# --- in the background ---
check 'in the background a command does not get it, until it is in front' typed "$run i -- sed s/^/X/ &\n" 'prompt> ' 'echo mi""ne\n' mine \
    'fg\n' '' 'hello\n' Xhello '\x04' 'prompt> '
check 'one that is stopped for that can be ended' typed "$run j -- cat &\n" 'prompt> ' \
    "until ps -o stat= -C cat | grep -q T; do sleep 0.1; done; kill %1; wait %1; echo code=\$?\n" code=143
check 'and its lease is free' is_free j
