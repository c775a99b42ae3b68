#!/bin/sh
# run-tests: timeout 300
# examples/paxoslease.c compiles alone without a warning, acts out its whole story, and its referee
# can fail: copies with one rule taken out by sed must abort with the message for that rule. A sed
# that no longer matches the source fails its case, so that no planted bug can go missing silently.
# Output: TAP. Usage: test_example_paxoslease.sh [path of paxoslease.c]; CC is respected.
set -u
# shellcheck disable=SC3045 # not POSIX, but known to every sh that Linux ships
ulimit -c 0
source=${1:-$(dirname "$0")/../../examples/paxoslease.c}
cc=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
number=0
failed=0

# verdict STATUS TEXT: one TAP line; on failure the last output is shown as comments.
verdict() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        failed=$((failed + 1))
        sed 's/^/# /' "$dir/log"
    fi
}

# run STATUS COMMAND...: true if the command ends with that status. Its output is in $dir/log.
run() {
    wanted=$1
    shift
    "$@" >"$dir/log" 2>&1
    status=$?
    echo "exit status $status, expected $wanted" >>"$dir/log"
    [ "$status" -eq "$wanted" ]
}

# compiles COMPILER: alone, with the flags that the project and the example's readers use.
compiles() {
    run 0 "$1" -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Werror -O2 "$source" -o "$dir/paxoslease"
}

# in_order PATTERN...: lines of the log match the patterns one after the other.
in_order() {
    at=0
    for pattern in "$@"; do
        next=$(awk -v at="$at" -v pattern="$pattern" \
            'NR > at && $0 ~ pattern { print NR; exit }' "$dir/log")
        if [ -z "$next" ]; then
            echo "no line like '$pattern' after line $at" >>"$dir/log"
            return 1
        fi
        at=$next
    done
}

# story PROGRAM SEED: the whole of it, and the referee content.
story() {
    run 0 "$1" --fast --seed "$2" &&
        in_order "^seed $2: " 'is OWNER' 'renewal 1' 'renewal 4' 'DIES' 'restarts without memory' \
            'quarantine is over' 'RELEASES' 'TAKES OVER .* after the release' 'renewal 1' \
            'referee: .* no two owners overlapped' &&
        in_order 'DIES' 'is OWNER' 'TAKES OVER .* after the death' 'RELEASES'
}

# planted NAME STATUS MESSAGE SED-EXPRESSION...: with that rule gone the program ends so and says why,
# with one seed of ten at the latest: timers are real, so one run may miss the moment that matters.
planted() {
    name=$1
    expected=$2
    message=$3
    shift 3
    cp "$source" "$dir/bug.c"
    for expression in "$@"; do
        cp "$dir/bug.c" "$dir/before.c"
        sed "$expression" "$dir/before.c" >"$dir/bug.c"
        if cmp -s "$dir/before.c" "$dir/bug.c"; then
            echo "this sed changes nothing: $expression" >"$dir/log"
            verdict 1 "$name"
            return
        fi
    done
    if run 0 "$cc" -std=c17 -w -O1 "$dir/bug.c" -o "$dir/bug"; then
        for seed in 1 2 3 4 5 6 7 8 9 10; do
            if run "$expected" "$dir/bug" --fast --seed "$seed" && in_order "$message"; then
                verdict 0 "$name"
                return
            fi
        done
    fi
    verdict 1 "$name"
}

echo 'TAP version 13'

compilers=$cc
for other in gcc clang; do
    [ "$other" != "$cc" ] && command -v "$other" >/dev/null && compilers="$compilers $other"
done
for compiler in $compilers; do
    compiles "$compiler"
    verdict $? "compiles alone with $compiler, no warning"
done
grep '#include "' "$source" >"$dir/log"
[ $? -eq 1 ]
verdict $? 'shares no header with the project'

for seed in 1 2 3; do
    story "$dir/paxoslease" "$seed"
    verdict $? "whole story with seed $seed"
done
run 0 "$cc" -std=c17 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "$source" \
    -o "$dir/sanitized" && story "$dir/sanitized" 4
verdict $? 'whole story under the address and undefined-behaviour sanitizers'

run 0 "$dir/paxoslease" --help && in_order '^usage: paxoslease'
verdict $? '--help'
run 64 "$dir/paxoslease" --fats && in_order "'--fats'"
verdict $? 'an unknown option is echoed, exit 64'
for value in '' x -1 12x 18446744073709551616; do
    run 64 "$dir/paxoslease" --seed "$value" && in_order "'$value'"
    verdict $? "--seed '$value' is echoed, exit 64"
done
run 64 "$dir/paxoslease" --seed && in_order "'--seed'"
verdict $? '--seed without a value, exit 64'

two_owners='REFEREE: two owners: node [1-3] .*node [1-3] '
no_live_record='s/return a->owner != 0 && now < a->until_ns;/return false;/'
no_quarantine='s/now >= n->acceptor.quarantine_until_ns && //'
planted 'caught: acceptors that ignore live records and quarantine' 134 "$two_owners" \
    "$no_live_record" "$no_quarantine"
planted 'caught at the claim: acceptors that ignore live records' 134 "${two_owners}has it under" \
    "$no_live_record"
planted 'caught by the look after each event: the same, with claims unchecked' 134 \
    "${two_owners}both act" "$no_live_record" \
    's/if (referee.token\[other\] != token &&.*/if (0)/' 's/token <= referee.highest/0/'
planted 'caught: no quarantine' 134 'REFEREE: node [1-3] votes although' "$no_quarantine"
planted 'caught: a token that does not rise' 134 'REFEREE: token .* did not rise' \
    's/p->token = p->ballot;/p->token = 1;/'
planted 'caught: a shorter renewal that moves the deadline back' 134 'REFEREE: a renewal moved' \
    's|p->td_ns = now + ttl_ns;|p->td_ns = now + ttl_ns / (p->held != 0 ? 3 : 1);|' \
    's/if (p->deadline_ns < p->td_ns).*/if (true)/'
planted 'a story that cannot go on ends with exit 1' 1 'gave up waiting until ' \
    's/quarantine_until_ns = now + outlast(ttl_ns);/quarantine_until_ns = NEVER;/' \
    's/< 100 \* ttl_ns/< 10 * ttl_ns/'

echo "1..$number"
[ "$failed" -eq 0 ]
