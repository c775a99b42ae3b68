#!/bin/bash
# run-tests: timeout 240
# The scenario of the demo, harder: eight contending `leasehold run` wrappers on three nodes, while daemons are killed,
# stopped and cut off at random. Whoever holds the lease beats; nobody may overlap, tokens may only rise.
#
#   tests/e2e/test_torture.sh [ROUNDS [SEED]]     2 rounds in the suite; 20 are what a release asks for
. "$(dirname "$0")/lib.sh"
rounds=${1:-2}
seed=${2:-$((EPOCHSECONDS % 100000))}
RANDOM=$seed
plan $((rounds * 2 + 4))
echo "# seed $seed"
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=1s record="$dir/$n.record"; done
start 1 2 3
check 'three nodes serve' serving 1 2 3

# Eight wrappers, each begun again when it ends: a cut, a kill or a stop makes it exit.
keep_contending() {
    local who=$1 first=$(($1 % 3 + 1)) order
    order="unix:$dir/$first.sock,unix:$dir/$((first % 3 + 1)).sock,unix:$dir/$(((first + 1) % 3 + 1)).sock"
    while ! [ -e "$dir/enough" ]; do
        "$leasehold" run job --ttl 1s --connect "$order" -- "$tools/beat" "$dir/job.beats" 2>>"$dir/wrapper$who"
        pause
    done
}
for who in 1 2 3 4 5 6 7 8; do keep_contending $who & done
check 'one of eight holds' eventually 10 beats job

# find_holder: $command that beats and its $wrapper, if there are any just now.
find_holder() {
    command=$(pgrep -nx beat) && read -r _ _ _ wrapper _ 2>/dev/null <"/proc/$command/stat" &&
        [ "$wrapper" -gt 1 ]
}

# What a command that was stopped writes when it is continued, before its wrapper ends it, carries an old token, and
# a fence would refuse it: these are such tokens.
stopped=()
stop_holder() {
    find_holder || return
    kill -STOP "$wrapper" "$command" 2>/dev/null
    stopped+=("$(token_of job)")
    for_ms "$1"
    kill -CONT "$command" "$wrapper" 2>/dev/null # the worse order
}

# trouble: one random fault and its end. $fault names it.
trouble() {
    local n=$((RANDOM % 3 + 1)) length=$((RANDOM % 2000 + 200))
    [ $((RANDOM % 2)) = 0 ] && n=$(($(token_of job) & 255)) # often the owner
    case $((RANDOM % 7)) in
    0 | 1)
        fault="kill -9 of node $n"
        kill9 $n
        for_ms $((length / 4))
        start $n
        ;;
    2 | 3)
        fault="node $n stopped for $length ms"
        signal $n STOP
        for_ms $length
        signal $n CONT
        ;;
    4)
        fault="node $n cut off for $length ms"
        cut_off $n
        for_ms $length
        heal
        ;;
    5)
        fault="the holder stopped for $length ms"
        stop_holder $length
        ;;
    6)
        fault='kill -9 of the holding wrapper'
        find_holder && kill -KILL "$wrapper"
        ;;
    esac
    for_ms $((RANDOM % 500))
}

for ((round = 1; round <= rounds; round++)); do
    faults=
    for ((i = 0; i < 5; i++)); do
        trouble
        faults+="${faults:+, }$fault"
    done
    token=$(token_of job)
    check "round $round: $faults: the lease lives on" eval 'serving 1 2 3 && beats job; eventually 10 beats job'
    check "round $round: no overlap, tokens only rise" no_overlap job ${stopped[@]+"${stopped[@]}"}
done
touch "$dir/enough"
check 'by the records, no name had two owners' only_one_owner
check 'and every step was one of the protocol' is_behaviour
echo "# $(wc -l <"$dir/job.beats") beats under $(cut -d' ' -f1 "$dir/job.beats" | sort -u | wc -l) tokens"
