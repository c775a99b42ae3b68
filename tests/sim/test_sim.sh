#!/bin/bash
# run-tests: timeout 300
# `leasehold sim` as it ships: seeds that must be clean, one seed twice, a broken rule that must be found, the
# words of the command line; and that no daemon carries any of it.
. "$(dirname "$0")/../tap.sh"
build="${LEASEHOLD_BUILD:-build}"
program=("$build/leasehold" sim)

gives 0 " 0 failed" --seeds 1..500 --duration 20s && grep -q 'clock-intervals [1-9]' "$scratch/out"
verdict $? "500 short seeds are clean, and what nodes measure of each other's clocks contains the truth"
tail -n 2 "$scratch/out" | sed 's/^/# /'

gives 0 " 0 failed" --seeds 1..4 --duration 1h
verdict $? "four hours of faults are clean"

gives 0 "event log" --seed 7 --log "$scratch/one" && cp "$scratch/out" "$scratch/first" &&
    gives 0 "event log" --seed 7 --log "$scratch/two" && cmp "$scratch/one" "$scratch/two" >>"$scratch/err" &&
    [ -s "$scratch/one" ] && grep -F 'event log' "$scratch/first" | cmp - <(grep -F 'event log' "$scratch/out")
verdict $? "the same seed gives the same event log, byte for byte"

gives 0 "event log" --seed 8 --log "$scratch/two" && ! cmp -s "$scratch/one" "$scratch/two"
verdict $? "another seed gives another"

gives 0 "loss=1234," --seed 7 --faults loss=1234,crash-every=0s && grep -qF "crash-every=0ms," "$scratch/out"
verdict $? "--faults overrides what the seed chose"

gives 64 "needs a single --seed" --seeds 1..2 --record "$scratch/recorded" &&
    gives 1 "Not a directory" --seed 1 --record "$scratch/one/recorded" &&
    gives 1 "not whole '/dev/full': No space left on device" --seed 1 --log /dev/full && gives 1 "not whole" --seed 1 --timeline /dev/full
verdict $? "--record is for one seed, and says what is wrong with its directory"

gives 0 clean --seed 1 --nodes 5 --record "$scratch/kept" && gives 1 "kept/node4': is of another recording" --seed 1 --nodes 3 --record "$scratch/kept" &&
    gives 0 clean --seed 2 --nodes 5 --record "$scratch/kept"
verdict $? "a recording leaves no node of a larger one beside it"

gives 64 "written by another option" --seed 1 --log "$scratch/both" --timeline "$scratch/both" &&
    gives 64 "written by another option" --seed 1 --nodes 5 --log "$scratch/kept/node1" --record "$scratch/kept"
[ $? -eq 0 ] && [ -s "$scratch/kept/node1" ]
verdict $? "one file is not written by two options, and keeps what it has"

# recorded STATUS TEXT SEED WORDS...: what `trace check` says of the recordings of a run.
recorded() {
    rm -rf "$scratch/recorded"
    "$build/leasehold" sim --seed "$3" --record "$scratch/recorded" "${@:4}" >/dev/null 2>&1
    "$build/leasehold" trace check "$scratch/recorded"/* >"$scratch/out" 2>"$scratch/err"
    [ $? -eq "$1" ] && grep -qF "$2" "$scratch/out" "$scratch/err"
}

# 14, 34, 68 and 142: each was refused once, although it is allowed.
clean() { for seed in {1..20} 34 68 142; do recorded 0 "allowed: " "$seed" || return 1; done; }
clean
verdict $? "what a clean run records is what the rules allow"

recorded 1 "A4: a request is answered in quarantine" 4 --weaken short-quarantine &&
    recorded 1 "P3: an Accept without a quorum of open promises" 7 --weaken scalar-quorum &&
    recorded 1 "T4: a ballot that is not above the last one of this node" 7 --weaken token-reuse
verdict $? "what a broken rule does is refused where nodes record it"

# Of a simulator that reported failed commits as durable these settings found two holders within 206 seeds.
gives 0 " 0 failed" --seeds 1..60 --faults disk-full-every=1s,disk-fail-every=1s,crash-every=1s,quarantine-ceiling=on && grep -q 'disk-errors [1-9]' "$scratch/out"
verdict $? "disks that are full and disks that fail cost no safety"

gives 3 "both hold" --seeds 1..50 --weaken no-quarantine && replay=$(sed -n '/^replay/{s/^replay: leasehold sim //p;q}' "$scratch/out") &&
    found=$(grep -m 1 '^seed' "$scratch/out") && gives 3 "$found" $replay
verdict $? "what a broken rule does is found, and its replay line shows the same"

# The bound on clock rates is real, from both sides: up to its very ends nothing happens, beyond it two hold. Healed clocks
# keep the bound again, so the only failures are of safety.
rates() { gives "$1" "$2" --seeds 1..150 --keep-going --faults rate-error=1%,clock-extreme=100%,clock-rate="$3"; }
rates 0 " 0 failed" 9500 && rates 0 " 0 failed" 10000 && rates 3 "both hold" 11000 && rates 3 "both hold" 10500
verdict $? "clocks at the ends of rate-error are safe, and 5 % beyond it the oracle finds two holders"

# Each of these was blamed although only the simulator still held back a write, or a closed connection, after healing.
healed() { for seed in "$@"; do gives 0 clean --seed "$seed" --duration 1h || return 1; done; }
healed 24 777 1899 2001
verdict $? "what pauses and stalls held back comes when they are healed"

gives 3 "--duration 20500ms" --seeds 1..50 --weaken no-quarantine --duration 20500ms
verdict $? "the replay line has the duration to the millisecond"

# told SIGNAL SEEDS WORDS...: once a seed is done, the signal ends the campaign, and so its workers.
told() {
    rm -f "$scratch/out"
    "$build/leasehold" sim --seeds "$2" "${@:3}" >"$scratch/out" 2>"$scratch/err" &
    local pid=$!
    until [ -s "$scratch/out" ]; do sleep 0.05; done
    kill "-$1" $pid
    wait $pid
}
told INT 1.. --weaken no-quarantine
[ $? -eq 3 ] && grep -q '^seeds 1..: [0-9]* run, [1-9]' "$scratch/out" && sed '1,/^seeds/d' "$scratch/out" | grep -q '^replay: leasehold sim --seed [0-9]'
verdict $? "an open range goes on past failures, and SIGINT ends it with the seeds to replay"

told TERM 1.. --json
status=$?
told TERM 1..1000000 --json
[ $? -eq 143 ] && [ $status -eq 0 ]
verdict $? "SIGTERM ends an open range cleanly, and a closed one as cut short"

"$build/leasehold" sim --seed 1 --duration 9000h --log "$scratch/log" >"$scratch/out" 2>"$scratch/err" &
pid=$!
until [ -s "$scratch/log" ] || ! kill -0 $pid; do sleep 0.05; done
kill $pid
wait $pid
[ $? -eq 143 ] && grep -q "cut off" "$scratch/err"
verdict $? "a run that is ended says that what it writes is cut off"

gives 0 '"verdict":"clean"' --seeds 1..3 --json &&
    python3 -c 'import json, sys
runs = [json.loads(line) for line in sys.stdin]
assert len(runs) == 3 and all(r["seed"] and r["events"] > 0 and len(r["log"]) == 16 for r in runs), runs' <"$scratch/out" >>"$scratch/err" 2>&1
verdict $? "--json gives one object a seed"

gives 64 "'up' is not" --faults loss=up && gives 64 "'speed' is no setting" --faults speed=1 &&
    gives 64 "'--sed'" --sed 1 && gives 64 "the only one is monte-carlo" --preset casino && gives 64 "'everything'" --weaken everything && gives 64 "'no-guard,'" --weaken no-guard, && gives 64 "'5..2'" --seeds 5..2 &&
    gives 64 "'0s'" --duration 0s && gives 64 "max-ttl from 50ms" --faults max-ttl=1ms &&
    gives 64 "no value of '--seed'" --seed && gives 64 "give one number" --seed x && gives 64 "takes no value" --json=1 &&
    gives 64 "give two numbers" --seeds x.. && gives 1 "No such file" --seed 1 --log "$scratch/none/log" &&
    gives 64 "'': '' is not name=value" --faults '' && gives 64 "'' is not name=value" --faults loss=1%,
verdict $? "what is wrong in the command line is said back, with the remedy"

gives 64 "'2': given before" --seed 1 --seed 2 && gives 64 "exclude each other" --seed 1 --seeds 1..2 &&
    gives 64 "loss is given twice" --faults loss=1%,loss=2% && gives 64 "another number of nodes" --nodes 3 --faults nodes=5
verdict $? "what contradicts itself is refused"

gives 64 "not a duration from 1ms" --faults crash-every=1ns && gives 64 "to 10000h" --faults crash-every=9223372036854775us &&
    gives 64 "at most 10000h" --faults turn=10001h && gives 64 "no value of" --log --json && gives 0 clean --seed 1 --faults crash-every=1ms --duration 1s &&
    gives 0 " 0 failed" --seeds 1..40 --duration 20s --faults delay=1h,jitter=1h,turn=10s,disk=10h,client-delay=1h
verdict $? "a run ends, and healing mends a network, disks and processors that are too slow for any lease"

nm "$build/leaseholdd" >"$scratch/out" && ! grep -q 'lh_sim\|weaken' "$scratch/out" &&
    nm "$build/leasehold" >"$scratch/err" && grep -q 'lh_sim_weaken' "$scratch/err"
verdict $? "the daemon has no symbol of the simulator, so no switch that breaks a rule"

echo "1..$number"
