#!/bin/bash
# run-tests: timeout 900
# `leasehold check` as it ships. The quick rows, each a case, against numbers written down here: they were
# recorded by TLC from the paper's modules, and nothing of ours made them. Then what a user may try: constants
# typed in, quorums, symmetry, little memory, little time, a search in three parts, a frontier on disk, traces,
# and values that make no sense.
#
#     test_check.sh [GROUP...]    everything, or the groups of cases (the functions at the end) named
. "$(dirname "$0")/../tap.sh"
check="${LEASEHOLD_BUILD:-build}/leasehold check"
# shellcheck disable=SC2206 # two words
program=($check)

# counts DISTINCT GENERATED DEPTH: what the JSON of a passing configuration says.
counts() { echo "\"distinct\":$1,\"generated\":$2,\"depth\":$3,"; }
# breaks STATES [INVARIANT]: likewise of a violated one.
breaks() { echo "\"verdict\":\"violated\",\"invariant\":\"${2:-LeaseExclusivity}\",\"trace_states\":$1,"; }

# unreduced_of DISTINCT GENERATED: likewise of one under symmetry reduction, for the space without it.
unreduced_of() { echo "\"unreduced_distinct\":$1,\"unreduced_generated\":$2}"; }

# row NAME EXPECTED
row() {
    gives 0 "$2" "$1" --json
    verdict $? "$1"
}

quick_rows() {
    row base "$(counts 573975 1992396 29)"
    row renew-release "$(counts 7717 22158 29)"
    row crash-restart "$(counts 10059404 59115853 36)"
    row drift "$(counts 19656 87561 21)"
    row quarantine-equals-proposer23 "$(counts 9867548 57995085 37)"
    row redeliver "$(counts 1857563 12054516 27)"
    row renew-release-stale "$(counts 204050 675110 39)"
    row paxos-lease-paxos "$(counts 2095 4414 20)"
    row unsafe-quarantine12 "$(breaks 25)"
    row late-timer "$(breaks 27)"
    row late-timer-tcp "$(breaks 27)"
    row owner-only-release "$(breaks 36)"
    row scalar-quorum-counting "$(breaks 18)"
    row impl-timely-r-dominant "$(breaks 26)"
    row closed-paper-release "$(breaks 33)"
    row closed-exclusion-set "$(breaks 22)"
    row closed-floor-lost "$(breaks 21 TokenOrder)"
    none_is_left_out
    verdict $? 'no quick row is left out here'
}

# Every row that calls itself quick is in the list above, or is one of ours on the closed network.
none_is_left_out() {
    $check --list | awk '/, quick/ && !/^closed-/ { print $1 }' >"$scratch/out"
    : >"$scratch/err"
    while IFS= read -r name; do
        grep -q "^    row $name " "$0" || echo "$name is not here" >>"$scratch/err"
    done <"$scratch/out"
    [ -s "$scratch/out" ] && [ ! -s "$scratch/err" ]
}

closed_rows() {
    local name
    for name in $($check --list | awk '/^closed-.*, quick/ { print $1 }'); do
        gives 0 "\"config\":\"$name\"" "$name" --json
        verdict $? "$name"
    done
}

set_all() {
    local constant
    for constant; do printf '%s\n' --set "$constant"; done
}

# lease EXPECTED-STATUS TEXT NAME CONSTANT...: the lease module with these constants.
lease() {
    local arguments
    mapfile -t arguments < <(set_all "${@:4}")
    gives "$1" "$2" --module lease --json "${arguments[@]}"
    verdict $? "$3"
}

typed_in() {
    lease 0 "$(counts 573975 1992396 29)" 'the row base, typed in' Acceptors=3
    lease 0 "$(counts 573975 1992396 29)" 'majorities, named one by one' Acceptors=3 Quorums=12,13,23
    lease 0 "$(counts 7717 22158 29)" 'the row renew-release, typed in' \
        Proposers=1 MaxTime=3 MaxNetwork=3 AllowRelease=true AllowRenewal=true
    lease 0 "$(counts 19656 87561 21)" 'the row drift, typed in' \
        Proposers=1 Ballots=1 ProposerDuration=1 MaxNetwork=3 AllowCrash=true
    # One proposer, one acceptor, one ballot, no time: the first state, six steps, and a stutter at each of seven.
    lease 0 "$(counts 7 14 7)" 'seven states, counted by hand' Proposers=1 Acceptors=1 Ballots=1 MaxTime=0
    lease 0 '"verdict":"pass"' 'one acceptor decides alone' Acceptors=3 Quorums=1 MaxTime=1
    gives 0 "$(counts 7717 22158 29)" renew-release --set MaxTime=3 --json
    verdict $? 'a row with a constant set to what it is'
    gives 12 "$(breaks 18)" --module lease --set ProposerDuration=1 --set AcceptorDuration=1 --set Quarantine=0 \
        --set AllowRedeliver=true --weaken scalar-quorum --json
    verdict $? 'the row scalar-quorum-counting, typed in'
}

# random EXPECTED MODULE CONSTANT... [--weaken RULE]...: one of the random configurations that TLC was given as well
# (docs/evidence.md), and what TLC found.
random() {
    local expected=$1 module=$2 name="as TLC: ${*:2}" arguments=() status=0 word
    shift 2
    for word; do
        case $word in
        *=*) arguments+=(--set "$word") ;;
        *) arguments+=("$word") ;;
        esac
    done
    [[ $expected != *violated* ]] || status=12
    gives $status "$expected" --module "$module" --json "${arguments[@]}"
    verdict $? "$name"
}

as_tlc() {
    random "$(counts 413 800 17)" composition Values=1 MaxTime=4 LeaseDuration=3
    random "$(counts 274603 667079 28)" composition Proposers=3 Values=3 MaxTime=3 MaxSlot=3 LeaseDuration=1
    random "$(counts 416 4993 11)" lease Proposers=3 Acceptors=5 MaxTime=1 ProposerDuration=2 AcceptorDuration=2 \
        Quarantine=2 MaxNetwork=4 AllowCrash=true AllowRelease=true AllowDrop=true AllowRenewal=true AllowRedeliver=true \
        RefuseLiveOverwrite=true CrashableAcceptors=2,5
    random "$(counts 31283 210714 43)" lease Proposers=1 Acceptors=2 Ballots=4 MaxTime=0 ProposerDuration=2 \
        AcceptorDuration=2 Quarantine=2 MaxNetwork=3 AllowDrop=true AllowRenewal=true AllowRedeliver=true CrashDropsIncoming=true
    random "$(counts 14336 121857 16)" lease Proposers=3 Acceptors=3 Ballots=1 MaxTime=3 ProposerDuration=0 \
        AcceptorDuration=0 Quarantine=3 MaxNetwork=1 AllowCrash=true AllowRelease=true --weaken stale-owner-open
    random "$(breaks 34)" lease Ballots=3 MaxTime=1 ProposerDuration=1 AcceptorDuration=2 Quarantine=2 MaxNetwork=3 \
        AllowRelease=true AllowRenewal=true CrashDropsIncoming=true --weaken owner-only-release
    random "$(counts 232 1857 10)" impl Proposers=1 Acceptors=3 Ballots=4 MaxTime=2 ProposerDuration=2 AcceptorDuration=2 \
        Quarantine=5 MaxNetwork=1 AllowCrash=true AllowDrop=true AllowRenewal=true CrashDropsIncoming=true \
        TimelyDispatch=true RetryTimeout=3 CrashableAcceptors=1,3
    random "$(counts 1351 5864 32)" impl Acceptors=4 MaxTime=0 ProposerDuration=2 AcceptorDuration=2 Quarantine=2 \
        MaxNetwork=4 CrashDropsIncoming=true TimelyDispatch=true RetryTimeout=3 Quorums=234,124,3 \
        --weaken owner-only-release --weaken quorums
    random "$(breaks 8 AcceptedCoherence)" impl Ballots=4 MaxTime=4 ProposerDuration=0 AcceptorDuration=0 Quarantine=0 \
        MaxNetwork=6 AllowCrash=true TimelyDispatch=true RetryTimeout=1 --weaken scalar-quorum
}

quorums() {
    lease 64 '1 and 2 do not intersect' 'quorums that do not intersect are refused' Quorums=1,2
    gives 12 '"invariant":"LeaseExclusivity"' --module lease --set Quorums=1,2 --weaken quorums --json
    verdict $? 'and grant two leases where they are not'
    gives 12 '"invariant":"LeaseExclusivity"' --module lease --set Acceptors=3 --set Quorums=12,3 --weaken quorums --json
    verdict $? 'a majority and the one outside it'
    gives 12 '"invariant":"LeaseExclusivity"' --network closed --set Acceptors=3 --set Quorums=12,3 --weaken quorums --json
    verdict $? 'likewise on the closed network'
    gives 0 '"verdict":"pass"' --network closed --set Acceptors=3 --set Quorums=1 --set Ballots=2 --json
    verdict $? 'one acceptor decides alone there too'
}

# verdicts_agree NAME ARGUMENT...: with and without symmetry reduction; fewer states with it.
verdicts_agree() {
    local with without small large
    # shellcheck disable=SC2086
    with=$($check "${@:2}" --symmetry --json 2>"$scratch/err")
    # shellcheck disable=SC2086
    without=$($check "${@:2}" --no-symmetry --json 2>>"$scratch/err")
    printf '%s\n%s\n' "$with" "$without" >"$scratch/out"
    small=$(sed 's/.*"distinct":\([0-9]*\).*/\1/' <<<"$with")
    large=$(sed 's/.*"distinct":\([0-9]*\).*/\1/' <<<"$without")
    [ "$(sed 's/,"distinct.*//' <<<"$with")" = "$(sed 's/,"distinct.*//' <<<"$without")" ] && [ "$small" -lt "$large" ]
    verdict $? "the same verdict with and without symmetry: $1"
}

# unreduced DISTINCT GENERATED ARGUMENT...: what a reduced search says that one without reduction counts.
unreduced() {
    gives 0 "$(unreduced_of "$1" "$2")" "${@:3}" --symmetry --json
    verdict $? "counts of the whole space from a reduced search: ${*:3}"
}

symmetry() {
    unreduced 573975 1992396 base
    unreduced 10059404 59115853 crash-restart
    unreduced 1857563 12054516 redeliver
    unreduced 204050 675110 renew-release-stale
    unreduced 19656 87561 drift
    verdicts_agree 'base' base
    verdicts_agree 'a trace of 36' owner-only-release
    verdicts_agree 'a trace of 18, answers counted' scalar-quorum-counting
    verdicts_agree 'three proposers' --module lease --set Proposers=3 --set MaxTime=1 --set MaxNetwork=3
    verdicts_agree 'three acceptors, one may crash' --module lease --set Acceptors=3 --set MaxTime=1 --set MaxNetwork=3 \
        --set AllowCrash=true --set CrashableAcceptors=2
    verdicts_agree 'the closed network' closed-rules
    verdicts_agree 'the closed network, a trace of 20' closed-quarantine-1
    verdicts_agree 'the closed network, three proposers' --network closed --set Proposers=3 --set Ballots=2
}

# A search that keeps what nothing reads any more finds the same as one that settles it.
settled() {
    local name found
    for name in closed-promise-floor closed-quarantine-1 closed-paper-release closed-late-renewal-token closed-older-extend; do
        # shellcheck disable=SC2086
        found=$($check "$name" --json 2>"$scratch/err" | sed 's/.*\("verdict":.*\),"distinct":.*/\1/')
        # shellcheck disable=SC2086
        $check "$name" --set KeepDead=true --json >"$scratch/out" 2>>"$scratch/err"
        [ -n "$found" ] && grep -qF "$found" "$scratch/out"
        verdict $? "the same verdict and trace with every value kept: $name"
    done
}

limits() {
    gives 75 '"verdict":"incomplete"' crash-restart --memory 1M --json
    verdict $? 'too little memory: incomplete, 75'
    gives 75 'raise --memory' crash-restart --memory 20M
    verdict $? 'and what to do about it'
    gives 75 'raise --time' retry --time 1s
    verdict $? 'too little time: incomplete, 75'
    gives 0 "$(counts 10059404 59115853 36)" crash-restart --memory 92M --threads 1 --spill "$scratch" --json
    verdict $? 'a frontier on disk: the numbers of one in memory'
    gives 64 '--spill takes a directory' base --spill "$scratch/nowhere"
    verdict $? 'a directory for the frontier that is not there'
    (ulimit -s 65536 && ulimit -v 3000000 && gives 75 'lower --threads' renew-release --threads 256)
    verdict $? 'more threads than the machine makes'
    $check drift >/dev/full 2>"$scratch/err"
    [ $? -eq 1 ] && grep -q 'cannot write to standard output' "$scratch/err"
    verdict $? 'what cannot be written is no success'
    interrupted
    verdict $? 'a signal ends the whole list'
}

# ended_by SIGNAL ARGUMENTS: sends it once the search catches signals; whether that ended it without a verdict.
ended_by() {
    local signal=$1 pid
    shift
    "${program[@]}" "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    until catches_signals "$pid" || ! kill -0 "$pid"; do sleep 0.02; done
    kill -s "$signal" "$pid"
    wait "$pid"
    [ $? -eq 75 ]
}

# HUP, INT and TERM: bits 0, 1 and 14.
catches_signals() {
    local caught
    caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status")
    [ $((0x${caught:-0} & 0x4003)) -eq $((0x4003)) ]
}

# SIGINT while the first of many runs: no other is begun.
interrupted() {
    ended_by INT crash-restart redeliver-crash retry --json --threads 1 &&
        [ "$(wc -l <"$scratch/out")" -eq 1 ] && grep -q interrupted "$scratch/err"
}

# The search says how to go on, and going on gives the numbers of one search.
stopped_by() {
    rm -f "$scratch/stopped"
    ended_by "$1" crash-restart --symmetry --checkpoint "$scratch/stopped" --json &&
        grep -q 'with --resume and the checkpoint it goes on' "$scratch/err" &&
        gives 0 "$(unreduced_of 10059404 59115853)" crash-restart --symmetry --resume "$scratch/stopped" --json
}

# The search is stopped twice, and goes on in a third process.
parts() {
    local file=$scratch/checkpoint part
    gives 75 'go' crash-restart --checkpoint "$file" --time 1s --threads 2 --json
    verdict $? 'stopped in time, with a checkpoint'
    part=$(sed 's/.*"distinct":\([0-9]*\).*/\1/' "$scratch/out")
    gives 75 'go' crash-restart --resume "$file" --checkpoint "$file.2" --time 1s --threads 1 --json
    verdict $? 'gone on, and stopped again'
    [ "$part" -lt "$(sed 's/.*"distinct":\([0-9]*\).*/\1/' "$scratch/out")" ]
    verdict $? 'further than before'
    gives 0 "$(counts 10059404 59115853 36)" crash-restart --resume "$file.2" --threads 2 --spill "$scratch" --json
    verdict $? 'gone on to the end: the numbers of one search'
    # The same under symmetry: what is counted for whole orbits goes through the file, too.
    gives 75 'go' crash-restart --symmetry --checkpoint "$file" --time 1s --threads 2 --json
    verdict $? 'a reduced search, stopped'
    gives 0 "$(unreduced_of 10059404 59115853)" crash-restart --symmetry --resume "$file" --threads 2 --json
    verdict $? 'and gone on to the end'
    gives 75 'not a checkpoint of this configuration' base --resume "$file.2"
    verdict $? 'a checkpoint of another configuration'
    head -c 1000 "$file.2" >"$file"
    gives 75 'cut short' crash-restart --resume "$file"
    verdict $? 'a checkpoint that is cut short'
    gives 75 'raise --memory; with --resume' --module lease --set AllowCrash=true --memory 20M --checkpoint "$file" --threads 1
    verdict $? 'out of memory, with a checkpoint'
    mkfifo "$scratch/pipe"
    for part in "$file.3" "$scratch/pipe" "$scratch" /dev/zero; do
        gives 64 '--resume takes a file that --checkpoint wrote' base --resume "$part"
        verdict $? "no checkpoint: ${part##*/}"
    done
    for part in INT TERM HUP; do
        stopped_by "$part"
        verdict $? "SIG$part leaves a checkpoint"
    done
}

traces() {
    local name
    gives 0 'owns the lease' scalar-quorum-counting --trace "$scratch/trace.json"
    verdict $? 'a trace in words'
    [ "$(grep -c '^{"number":' "$scratch/trace.json")" -eq 18 ]
    verdict $? 'and in JSON, all of its states'
    gives 0 'owns the lease' scalar-quorum-counting --trace "$scratch/trace.svg" && grep -q '</svg>' "$scratch/trace.svg"
    verdict $? 'and drawn'
    gives 0 'owns the lease' closed-quarantine-1
    verdict $? 'a trace on the closed network'
    grep -q 't=1  time passes' "$scratch/out"
    verdict $? 'which tells how much time has passed'
    for name in $($check --list | awk '/^closed-.*violated.*, quick/ { print $1 }'); do
        drawn "$name"
        verdict $? "drawn and written: $name"
    done
}

# drawn NAME: the violation of a row, as a drawing and as an object that a reader of such can read.
drawn() {
    gives 0 '"violated"' "$1" --threads 1 --json --trace "$scratch/trace.svg" &&
        gives 0 '"violated"' "$1" --threads 1 --json --trace "$scratch/trace.json" &&
        python3 - "$scratch" >"$scratch/out" 2>"$scratch/err" <<'END'
import json, sys, xml.etree.ElementTree as xml
svg = xml.parse(sys.argv[1] + "/trace.svg").getroot()
trace = json.load(open(sys.argv[1] + "/trace.json"))
classes = [c for e in svg.iter() for c in e.get("class", "").split()]
states = [s["state"] for s in trace["states"]]
owners = [sum(v > 0 for k, v in s.items() if k.endswith((".authority", ".orphan"))) for s in states]
assert classes.count("arrow") >= sum(s["action"].startswith("Deliver") for s in trace["states"])
assert classes.count("authority") + classes.count("orphan") == sum(owners), (classes, owners)
assert classes.count("two") == sum(o > 1 for o in owners)
assert trace["invariant"] != "LeaseExclusivity" or classes.count("owner") == 2
END
}

# wrong TEXT ARGUMENT...: refused with 64 and words that name the value and what would do.
wrong() {
    gives 64 "$1" "${@:2}"
    verdict $? "refused: $1"
}

refusals() {
    wrong 'MaxTime=8: give a whole number from 0 to 7' --module lease --set MaxTime=8
    wrong 'Ballots=six: give a whole number from 1 to 5' --module lease --set Ballots=six
    wrong 'AllowCrash=maybe: give true or false' --module lease --set AllowCrash=maybe
    wrong 'there is no such constant' --module lease --set Balots=2
    wrong 'module lease has no constant RetryTimeout' --module lease --set RetryTimeout=1
    wrong 'ProposerDuration=3 is above AcceptorDuration=2' --module lease --set ProposerDuration=3
    wrong 'Quarantine=8: the closed network takes up to 7' --network closed --set Quarantine=8
    wrong 'ProposerDurations=0: list durations from 1 to 7' --network closed --set ProposerDurations=0
    wrong 'name acceptors by number' --module lease --set CrashableAcceptors=x
    wrong '--module takes lease, impl, composition or closed' --module paxos
    wrong 'the closed network is a search over the lease module' --module impl --network closed
    wrong 'gravity: there is no such rule' --network closed --weaken gravity
    wrong 'no configuration has this name' bass
    wrong '--memory takes a size' base --memory lots
    wrong '--time takes a time' base --time 5d
    gives 64 'abandon-goes-on' --network closed --weaken gravity
    verdict $? 'the whole list of rules'
    not_repeated check $'\e[2J'
    not_repeated check --set $'Ballots=\e[2J'
    not_repeated check base --trace $'\e[2J.svg/x.svg'
    not_repeated trace check $'\e[2J'
    not_repeated trace $'-\e[2J'
    not_repeated witness $'\e[2J'
    not_repeated sim --seeds $'\e[2J'
}

# What a terminal would obey is shown as something else.
not_repeated() {
    local program=("${program[0]}")
    gives 64 '?[2J' "$@" && ! grep -q $'\e' "$scratch/err"
    verdict $? "control characters given to $1"
}

for group in "${@:-quick_rows closed_rows typed_in as_tlc quorums symmetry settled limits parts traces refusals}"; do
    for part in $group; do $part; done
done
echo "1..$number"
