#!/bin/bash
# The paper's Monte Carlo as a preset: random schedules of single steps over the role functions that ship, and the same without
# quarantine, which must break safety and print a schedule that can be replayed.
. "$(dirname "$0")/../tap.sh"
build="${LEASEHOLD_BUILD:-build}"
program=("$build/leasehold" sim --preset monte-carlo)

counted() {
    gives 0 '"verdict":"clean"' --json && cp "$scratch/out" "$scratch/first" && python3 - "$scratch/out" >>"$scratch/err" 2>&1 <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
assert run["schedules"] == 10000 and run["steps"] == 1000000 and run["violations"] == 0, run
assert run["effective"] + run["idle"] == run["steps"], run
assert run["delivered"] + run["dropped"] + run["repeated"] + run["ticks"] < run["effective"], run
assert run["crashes_under_lease"] < run["acceptor_crashes"], run
assert all(count > 100 for name, count in run.items() if name not in ("preset", "first", "last", "verdict", "queued", "violations")), run
END
}
counted
verdict $? "10,000 schedules of 100 steps: no violation, and everything that can happen did"
sed 's/^/# /' "$scratch/first"

gives 0 "steps that changed something" && cp "$scratch/out" "$scratch/text" && gives 0 "schedules that broke a rule" &&
    cmp "$scratch/text" "$scratch/out" >>"$scratch/err" && [ "$(wc -l <"$scratch/out")" -eq 17 ]
verdict $? "the same seeds give the same output, byte for byte"

replay=
# shellcheck disable=SC2086 # words
gives 3 "both hold the lease" --weaken no-quarantine && cp "$scratch/out" "$scratch/text" &&
    replay=$(sed -n 's/^replay: leasehold sim --preset monte-carlo //p' "$scratch/out") && [ -n "$replay" ] &&
    grep -q 'silent for 0.000000 s' "$scratch/out" &&
    gives 3 "both hold the lease" $replay &&
    cmp <(sed '/^replay/q' "$scratch/text") <(sed '/^replay/q' "$scratch/out") >>"$scratch/err"
verdict $? "without quarantine two hold the lease, and the schedule printed is replayed"

# shellcheck disable=SC2086
gives 0 "in quarantine" ${replay% --weaken*} && ! grep -q 'both hold' "$scratch/out"
verdict $? "with it that schedule is clean"

gives 3 '"verdict":"safety"' --weaken no-quarantine --keep-going --json && grep -q '"steps":9[0-9]*,.*"violations":[2-9]' "$scratch/out"
verdict $? "--keep-going counts all that are broken"

gives 64 "--duration" --duration 60s && gives 64 "--faults" --faults loss=0 && gives 64 "give it once" --preset casino &&
    gives 64 "no-quarantine" --weaken token-reuse && gives 64 "give the last one" --seeds 1..
verdict $? "what the preset has no use for is refused"

echo "1..$number"
