#!/bin/bash
# run-tests: timeout 600
# A simulator that cannot find a planted bug cannot be believed when it finds nothing. Each is planted alone and
# must be found, with the swarm's own settings, in each of three ranges of seeds that share none. Where a rule's
# bare absence is no bug, since others stand before it, the model checker says so here, and how far it goes.
. "$(dirname "$0")/../tap.sh"
build="${LEASEHOLD_BUILD:-build}"

# found RULE: each range of seeds has one that breaks safety, and says who held what.
found() {
    local first status
    for first in 1 1001 2001; do
        status=0
        "$build/leasehold" sim --seeds $first..$((first + 199)) --duration 60s --weaken "$1" >"$scratch/out" 2>&1 || status=$?
        [ $status -eq 3 ] && grep -q '^seed [0-9]*: safety: ' "$scratch/out" || return 1
        sed -n "s/^\(seed [0-9]*\): safety: \(.*\)/# $1: \1: \2/p" "$scratch/out" | head -n 1
    done
}

rules="late-timer owner-only-release scalar-quorum stale-owner-open no-refusal shrinking-deadline no-quarantine
    short-quarantine no-guard stale-clock token-reuse forget-early early-release client-overgrant"
for rule in $rules; do
    found "$rule"
    verdict $? "$rule is found in three ranges of seeds"
done

# Two that do the same in every run would be one bug under two names.
for rule in $rules; do
    "$build/leasehold" sim --seeds 1..20 --duration 60s --workers 1 --keep-going --json --weaken "$rule" |
        sed -n 's/.*"log":"\([0-9a-f]*\)".*/\1/p' | tr '\n' ' '
    echo
done >"$scratch/logs"
[ "$(awk 'NF == 20' "$scratch/logs" | sort -u | wc -l)" -eq "$(echo $rules | wc -w)" ]
verdict $? "no two of them are the same bug"

# clean [OPTION ...]: in the same ranges nothing is wrong.
clean() {
    local first
    for first in 1 1001 2001; do
        "$build/leasehold" sim --seeds $first..$((first + 199)) --duration 60s "$@" >/dev/null 2>&1 || return 1
    done
}
clean
verdict $? "without a planted bug nothing is found"
clean --weaken live-overwrite
verdict $? "live-overwrite, which stale-owner-open takes along, is not found alone"

# model VERDICT CONSTANTS... : what the closed network says with A2 as in the paper (live-overwrite).
model() {
    "$build/leasehold" check --network closed --symmetry --set Proposers=2 --set Acceptors=2 --set Ballots=3 \
        --set Quarantine=2 --set AllowCrash=true --set AllowRelease=true --set AllowRenewal=true \
        --set AllowAbandon=true --set ProposerDurations=2 --weaken live-overwrite "${@:2}" >"$scratch/out" 2>&1
    grep -q "^closed: $1" "$scratch/out"
}

floor="--set PromiseFloor=true"
# shellcheck disable=SC2086 # two words
model violated && model pass $floor
verdict $? "A2 is a second line behind the floor of F2"
# shellcheck disable=SC2086
model violated --weaken late-timer && model pass $floor --weaken late-timer
verdict $? "T1 for the promises is a third line behind A2 and F2"
# shellcheck disable=SC2086
model violated --weaken stale-owner-open && model pass $floor --weaken stale-owner-open
verdict $? "P2 for one's own lease is a third line behind A2 and F2"
# shellcheck disable=SC2086
model violated --set IdleForget=true --weaken forget-early && model pass $floor --set IdleForget=true --weaken forget-early
verdict $? "F1's wait of a name at rest is a third line behind A2 and F2"

echo "1..$number"
