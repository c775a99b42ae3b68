#!/bin/bash
# run-tests: timeout 300
# The guardian of `leasehold run`: the command and all that it started is dead before another starts, whichever of wrapper,
# guardian, daemon and network fails first, and however the command hides.
. "$(dirname "$0")/lib.sh"
plan 68
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=5s; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# wrap WHO NAME TTL N SCRIPT: `leasehold run` for NAME through node N with a shell as its command.
wrap() {
    BEAT=$tools/beat FILE=$dir/$2.beats "$leasehold" run "$2" --ttl "$3" --connect "unix:$dir/$4.sock" -- sh -c "$5" \
        >"$dir/$1.log" 2>&1 &
    pid[$1]=$!
}

# A command that only SIGKILL ends, and that has sent what beats into a session of its own, orphaned, twice forked.
escape='trap "" TERM; (setsid "$BEAT" "$FILE" &); while :; do sleep 0.05; done'

guardian_of() { pgrep -P "${pid[$1]}" -x lh-guardian; }
says() { grep -q -F -- "$2" "$dir/$1.log"; }
last_alone() { [ "$(pgrep -cx beat)" = "$1" ]; }

# taken_over NAME TOKEN: the one who waited beats, and nobody overlapped.
taken_over() {
    eventually 10 has_token_above "$1" "$2" && last_alone 1 && no_overlap "$1"
}

# fault NAME: one holds at node 1 with a command that escapes, another waits at node 2; $token is the first's.
fault() {
    wrap first "$1" 2s 1 "$escape"
    eventually 5 beats "$1" && token=$(token_of "$1") && hold second "$1" 1s 2
}

# over: the second ends, too.
over() {
    kill -TERM "${pid[second]}"
    ended second 143 && last_alone 0
}

# --- the wrapper ---
check 'a command that escapes runs, another waits' fault stopped
kill -STOP "${pid[first]}"
check 'wrapper stopped: the command is dead before the next starts' taken_over stopped "$token"
kill -CONT "${pid[first]}"
check 'continued, the wrapper tells the loss' ended first 76
check 'nothing is left' over

check 'again' fault killed
kill -KILL "${pid[first]}"
check 'wrapper killed: the same' taken_over killed "$token"
check 'its guardian has told why' says first 'the wrapper is gone'
check 'and is gone, too' eventually 5 not pgrep -x lh-guardian -P 1
check 'nothing is left' over

wrap polite polite 5s 1 'trap "echo asked; exit" TERM; "$BEAT" "$FILE" & while :; do sleep 0.05; done'
check 'a command that heeds TERM runs' eventually 5 beats polite
kill -KILL "${pid[polite]}"
check 'wrapper killed: it is asked, long before the deadline' within 0 1000 eventually 5 says polite asked
check 'and all of it ends' eventually 5 last_alone 0

check 'again' fault group
kill -STOP "${pid[first]}"
kill9 1
check 'wrapper stopped and its daemon killed: the same' taken_over group "$token"
kill -CONT "${pid[first]}"
check 'the loss is told' ended first 76
check 'nothing is left' over
start 1
check 'all serve' serving 1 2 3

# --- the guardian ---
check 'again' fault unguarded
kill -KILL "$(guardian_of first)"
check 'guardian killed: 125' ended first 125
check 'which is said' says first 'has no guardian any more'
check 'the command is dead before the next starts' taken_over unguarded "$token"
check 'nothing is left' over

check 'again' fault asleep
kill -STOP "$(guardian_of first)"
cut_off 1
check 'guardian stopped, then the network cut: the same' taken_over asleep "$token"
check 'and the loss is told' ended first 76
check 'nothing is left' over
heal
check 'all serve' serving 1 2 3

wrap brief brief 5s 1 'while ! [ -e "$FILE.end" ]; do sleep 0.02; done'
check 'a command that is about to end' eventually 5 eval '[ "$(guardian_of brief)" ]'
kill -STOP "$(guardian_of brief)"
touch "$dir/brief.beats.end"
check 'its guardian was stopped: its end is noticed all the same, and the name is free' eval '
    within 0 2000 ended brief 0 && answers free 2 GET brief'
wrap asked asked 5s 1 'trap "exit 7" TERM; : >"$FILE"; while :; do sleep 0.02; done'
check 'a command that waits to be asked' eventually 5 test -e "$dir/asked.beats"
kill -STOP "$(guardian_of asked)"
kill -TERM "${pid[asked]}"
check 'its guardian was stopped: TERM reaches the command' within 0 2000 ended asked 7

check 'a --kill-after that max-ttl leaves no room for is refused without waiting for the holder' eval '
    answers granted 2 ACQUIRE taken TTL 5s && exits 64 1 run taken --kill-after 3s -- true &&
        grep -qF "half of the TTL, 5s unless given: no time would be left to renew: allow at most 2.5s" "$dir/cli.log" &&
        answers held 2 GET taken'

# --- wrapper and guardian ---
check 'again' fault both
kill -STOP "${pid[first]}" "$(guardian_of first)"
check 'wrapper stopped, and then its guardian: the command is dead before the next starts' taken_over both "$token"
kill -CONT "${pid[first]}"
check 'continued, the wrapper tells the loss' ended first 76
check 'nothing is left' over

check 'again' fault reverse
kill -STOP "$(guardian_of first)" "${pid[first]}"
check 'guardian stopped, and then its wrapper: the same' taken_over reverse "$token"
kill -CONT "${pid[first]}"
check 'continued, the wrapper tells the loss' ended first 76
check 'nothing is left' over

check 'again' fault alone
guardian=$(guardian_of first)
kill -STOP "${pid[first]}" "$guardian" "$(pgrep -P "$guardian" -x sh)"
kill -KILL "${pid[first]}"
check 'guardian and command stopped, the wrapper killed: the same' taken_over alone "$token"
check 'the guardian is gone, too' eventually 5 not kill -0 "$guardian" 2>/dev/null
check 'nothing is left' over

wrap patricide patricide 2s 1 '(setsid "$BEAT" "$FILE" &); while ! [ -s "$FILE" ]; do :; done; kill -9 $PPID; sleep 60'
check 'a command that kills its guardian dies with it' ended patricide 125
check 'and so does what it hid' last_alone 0

# --- the cluster ---
check 'again' fault cut
cut_off 1
check 'network cut: the command is dead before the next starts' taken_over cut "$token"
check 'and the loss is told' ended first 76
check 'nothing is left' over
heal
check 'all serve' serving 1 2 3
check 'again' fault orphaned
kill9 1
check 'daemon killed: the same' taken_over orphaned "$token"
check 'and the loss is told' ended first 76
check 'nothing is left' over
start 1
check 'all serve' serving 1 2 3

# --- what commands do ---
wrap daemon daemon 5s 1 '(setsid "$BEAT" "$FILE" &); while ! [ -s "$FILE" ]; do :; done; exit 4'
check 'a command that leaves a daemon behind: its own code' ended daemon 4
check 'the daemon was ended before the lease was released' eval 'last_alone 0 && answers free 2 GET daemon && no_overlap daemon'
wrap bomb bomb 2s 1 'trap "" TERM; while :; do (setsid sleep 60 & setsid sh -c "setsid sleep 61 & :" &); done'
check 'a command that forks on and on' eventually 5 eval '[ $(pgrep -cx sleep) -ge 50 ]'
signal 1 STOP
check 'is ended with all of it, in time' eval 'ended bomb 76 && ! pgrep -x sleep && ! says bomb "has ended"'
signal 1 CONT

# --- a delegated control group: even what became another user's is dead in time ---
nobody=(setpriv --reuid 65534 --clear-groups --inh-caps +setuid --ambient-caps +setuid)
group=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)/$(basename "$dir")
trap 'end_everything; rmdir "$group" 2>/dev/null' EXIT
if "${nobody[@]}" setpriv --reuid 0 true 2>/dev/null && mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.kill" ] &&
    chown 65534 "$group" "$group/cgroup.procs"; then
    cp "$leasehold" "$tools/beat" /run && touch /run/1.sock && mount --bind "$dir/1.sock" /run/1.sock && chmod 666 /run/1.sock
    (
        echo 0 >"$group/cgroup.procs"
        exec "${nobody[@]}" /run/leasehold run rooted --ttl 2s --connect /run/1.sock -- \
            setpriv --reuid 0 /run/beat "$dir/rooted.beats"
    ) >"$dir/first.log" 2>&1 &
    pid[first]=$!
    check 'a command that became root runs in a group of its own' eventually 5 eval '
        beats rooted && grep -qx "$(pgrep -x beat)" "$group"/leasehold-run-*/cgroup.procs'
    token=$(token_of rooted)
    hold second rooted 1s 2
    check 'its lease is revoked' exits 0 1 revoke rooted
    check 'it is dead before the next starts' taken_over rooted "$token"
    check 'the loss is told' ended first 76
    check 'without a word that it outlived the lease' not says first 'still runs'
    check 'the group is removed' not ls "$group"/leasehold-run-* 2>/dev/null
    check 'nothing is left' over
else
    for ((n = 0; n < 7; n++)); do skip 'a delegated control group' 'there is none, or one user only'; done
fi
