#!/bin/bash
# tools/prove can fail: a claim that does not hold, a twin that does, a file without one, a solver that is missing. And the
# definitions are held against the compiled functions: a copy of timing.c that rounds down is told apart.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/given"
number=0

# given CLAIM TWIN: one obligation, about an x of at least 0.
given() {
    local which=unsat part
    {
        printf '(set-logic QF_LRA)\n(declare-const x Real)\n(assert (>= x 0.0))\n'
        for part; do
            printf '(push 1)\n(assert %s)\n(set-info :status %s)\n(check-sat)\n(pop 1)\n' "$part" $which
            which=sat
        done
    } >"$scratch/given/given.smt2"
}

# ends STATUS TEXT NAME COMMAND...: the command exits so, and prints that.
ends() {
    local status=0 verdict='not ok'
    number=$((number + 1))
    "${@:4}" >"$scratch/output" 2>&1 || status=1
    if [ $status = "$1" ] && grep -q -F -- "$2" "$scratch/output"; then
        verdict=ok
    fi
    echo "$verdict $number - $3"
    [ "$verdict" = ok ] || sed 's/^/# /' "$scratch/output"
}

given '(< x 0.0)' '(= x 1.0)'
ends 0 'proved  given' 'what holds is proved' tools/prove "$scratch/given"
given '(< x 1.0)' '(= x 1.0)'
ends 1 'part 1: sat from z3 instead of unsat; part 1: sat from cvc5 instead of unsat' 'what does not hold is not' \
    tools/prove "$scratch/given"
given '(< x 0.0)' '(< x 0.0)'
ends 1 'part 2: unsat from z3 instead of sat' 'a twin that holds is a failure' tools/prove "$scratch/given"
given '(< x 0.0)'
ends 1 'it has 1 parts instead of a claim and a twin' 'and so is none' tools/prove "$scratch/given"
given '(< x 0.0' '(= x 1.0)'
ends 1 'FAILED  given' 'and what no solver can read' tools/prove "$scratch/given"
rm "$scratch/given/given.smt2"
ends 1 '0 of 0 obligations' 'and nothing at all' tools/prove "$scratch/given"

mkdir -p "$scratch/tree/src" "$scratch/bin"
cp -r src/base src/lease src/os "$scratch/tree/src/"
cp -r proofs tools "$scratch/tree/"
find "$scratch/tree/proofs" -name '*.smt2' ! -name definitions.smt2 -delete
ends 0 'proved  definitions are timing.c' 'the definitions are those of timing.c' "$scratch/tree/tools/prove"
sed -i 's/ns + (inexact ? 1 : 0)/ns/' "$scratch/tree/src/lease/timing.c"
ends 1 'FAILED  definitions are timing.c' 'and not those of one that rounds down' "$scratch/tree/tools/prove"
for name in bash dirname mktemp rm env; do ln -s "$(command -v $name)" "$scratch/bin/"; done
ends 1 'z3 is not installed' 'without a solver nothing is proved' env PATH="$scratch/bin" tools/prove
echo "1..$number"
