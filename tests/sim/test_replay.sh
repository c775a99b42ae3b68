#!/bin/bash
# run-tests: timeout 300
# Counterexamples of the model checker on the role functions that ship (`leasehold sim --replay`): where the rule stands they depart, at the
# step that breaks it; without the rule both owners are there. Broken files are refused.
. "$(dirname "$0")/../tap.sh"
build="${LEASEHOLD_BUILD:-build}"
program=("$build/leasehold" sim)

# traced NAME [OPTIONS]: the counterexample of a recorded configuration, in $trace.
traced() {
    trace="$scratch/$1.json"
    [ $# -eq 1 ] || shift
    [ -s "$trace" ] || "$build/leasehold" check "$@" --threads 1 --trace "$trace" >"$scratch/out" 2>"$scratch/err"
    [ -s "$trace" ]
}

traced late-timer && gives 0 "the code that ships departs from the trace: p" --replay "$trace" && grep -q 'counts no answer from this time on: .* (P3, T1)' "$scratch/out" &&
    gives 0 "the code that ships departs from the trace: a" --replay "$trace" --weaken late-timer && grep -qF '(A2, A4)' "$scratch/out" &&
    gives 3 "step 27: safety: p1 under " --replay "$trace" --weaken late-timer,live-overwrite
verdict $? "late-timer: T1 stops it, then A2; without both there are two owners in as many steps as the checker says"

traced owner-only-release && gives 0 "(A3)" --replay "$trace" && gives 3 "both hold the lease" --replay "$trace" --weaken owner-only-release
verdict $? "owner-only-release: A3 stops it"

traced scalar-quorum-counting && gives 0 "departs" --replay "$trace" && grep -q "(P[34], T1)" "$scratch/out" && gives 3 "both hold the lease" --replay "$trace" --weaken scalar-quorum,live-overwrite
verdict $? "scalar-quorum: a quorum of two is not one that answered twice"

# of_closed NAME RULE STEP WEAKENED: the closed network's trace, where RULE stops it, and all of it without.
of_closed() {
    traced "$1" && gives 0 "departs from the trace" --replay "$trace" && grep -qF "($2)" "$scratch/out" &&
        gives 3 "step $3: safety: " --replay "$trace" --weaken "$4" && grep -q "both hold the lease" "$scratch/out"
}
of_closed closed-paper-release "A2, A4" 33 live-overwrite && of_closed closed-paper-mixed "A2, A4" 28 live-overwrite &&
    of_closed closed-paper-late-timer "P3, T1" 21 late-timer,live-overwrite && of_closed closed-paper-stale-owner-open "A2, A4" 27 stale-owner-open,live-overwrite &&
    of_closed closed-owner-only-release A3 27 owner-only-release && of_closed closed-exclusion-set "A2, A4" 22 shrinking-deadline
verdict $? "the closed network: one rule stops each, and without it there are two owners in as many steps as the checker says"

traced closed-paper-not-held-open && gives 0 "p1 takes what a1 promised as not open" --replay "$trace" --weaken live-overwrite && grep -qF "(P2)" "$scratch/out" &&
    traced closed-ballot-reuse && gives 0 "no such step, or nothing that leads to it: StartAcquire (P1, T1)" --replay "$trace" &&
    traced closed-quarantine-1 && gives 3 "step 20: safety: " --replay "$trace"
verdict $? "a renewal of what is not held, a ballot used again, and a quarantine that is too short"

traced unsafe --module lease --set Quarantine=0 --set AllowCrash=true --set MaxTime=1 && gives 3 "both hold the lease" --replay "$trace"
verdict $? "a quarantine that is too short is so for the code, too"

gives 3 "both hold" --replay "$trace" && cp "$scratch/out" "$scratch/once" && gives 3 "both hold" --replay "$trace" && cmp "$scratch/once" "$scratch/out" >>"$scratch/err"
verdict $? "the same trace gives the same output, byte for byte"

traced closed-floor-lost && gives 64 "no trace with PromiseFloor=true" --replay "$trace" && traced closed-older-extend && gives 64 "OneRoundRenewal" --replay "$trace" &&
    sed 's/"module":"[a-z]*"/"module":"composition"/' "$trace" >"$scratch/composition.json" && gives 64 "modules lease, impl and closed" --replay "$scratch/composition.json" && gives 64 "No such file" --replay "$scratch/none" &&
    gives 64 "no file" --replay "$scratch" && mkfifo "$scratch/pipe" && gives 64 "no file" --replay "$scratch/pipe" &&
    gives 64 "takes --weaken only" --replay "$trace" --seed 1 && gives 64 "--duration" --replay "$trace" --duration 5s && gives 64 "live-overwrite" --replay "$trace" --weaken no-guard
verdict $? "what cannot be replayed is refused, with the reason"

# Every place where a file can be wrong, one at a time: it ends in a verdict or in a refusal with words.
python3 - "$build/leasehold" "$scratch/broken.json" "$scratch/late-timer.json" "$scratch/closed-paper-release.json" >"$scratch/out" 2>"$scratch/err" <<'END'
import copy, json, random, subprocess, sys
program, path, *good = sys.argv[1:]
random.seed(1)
refused = 0

def run(content):
    global refused
    open(path, "w").write(content)
    done = subprocess.run([program, "sim", "--replay", path, "--weaken", "late-timer,live-overwrite"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 3, 64), (done.returncode, done.stderr, content[:200])
    assert (done.returncode == 64) == bool(done.stderr), (done.returncode, done.stderr)
    refused += done.returncode == 64

def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value: yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for i in range(len(value)): yield from places(value[i], path + (i,))

for text in (open(name).read() for name in good):
    trace = json.loads(text)
    for cut in range(0, len(text), len(text) // 20): run(text[:cut])
    everywhere = [p for p in places(trace) if p and "network" not in p]
    durations = [p for p in everywhere if str(p[-1]).endswith(".duration")][:20]
    for place in random.sample(everywhere, 40) + durations + [p for p in everywhere if len(p) < 2 or "constants" in p or "message" in p][:40]:
        broken = copy.deepcopy(trace)
        inner = broken
        for key in place[:-1]: inner = inner[key]
        inner[place[-1]] = random.choice([None, -1, 0, 255, 256, 10**18, 1.5, "", "x" * 5000, [], {}, True, [[]] * 9])
        run(json.dumps(broken))
for content in ("", "[]", "{}", "null", "[" * 100000, '{"module":"lease"}', '{"module":"lease","module":"lease"}', "\0" * 100, "\xff\xfe"): run(content)
assert refused > 50, refused
print("refused", refused)
END
verdict $? "no broken file does harm"

echo "1..$number"
