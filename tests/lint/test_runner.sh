#!/bin/bash
# The test runner can fail: in a scratch tree of its own it is given programs that fail, die, hang or report,
# and what it counts and says of each is compared.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tools"
cp tools/run-tests "$scratch/tools/"
number=0

# given FILE TEXT: the scratch tree holds this one test.
given() {
    rm -rf "$scratch/tests"
    mkdir -p "$(dirname "$scratch/tests/$1")"
    printf '#!/bin/bash\n%s\n' "$2" >"$scratch/tests/$1"
    chmod +x "$scratch/tests/$1"
}

# ends STATUS LAST_LINE NAME [TEXT]: the runner exits so, its last line is that, and its output has TEXT.
ends() {
    local status=0 verdict='not ok'
    number=$((number + 1))
    "$scratch/tools/run-tests" "${@:5}" >"$scratch/output" 2>&1 || status=1
    if [ $status = "$1" ] && [ "$(tail -n 1 "$scratch/output")" = "$2" ] &&
        grep -q -F -- "${4:-}" "$scratch/output"; then
        verdict=ok
    fi
    echo "$verdict $number - $3"
    [ "$verdict" = ok ] || sed 's/^/# /' "$scratch/output"
}

echo 1..15
given x/test_a.sh 'echo 1..3; echo "ok 1 - a"; echo ok 2; echo "ok 3 # skip no disk"'
ends 0 '2 passed, 0 failed, 1 skipped' 'counts cases, and skipped ones apart' 'no disk'
given x/test_a.sh 'echo 1..2; echo "ok 1 - a"; echo "# told before"; echo "not ok 2 - the cause"; echo "# told why"'
ends 1 '1 passed, 1 failed' 'a case that is not ok, with what was said after it' 'told why'
ends 1 '1 passed, 1 failed' 'a case that is not ok, with what was said before it' 'told before'
given x/test_a.sh 'echo 1..2; echo "ok 1 - a"; echo last words >&2; kill -SEGV $$'
ends 1 '1 passed, 1 failed' 'a program that dies within its plan' 'last words'
given x/test_a.sh 'echo 1..1; echo "ok 1 - a"; exit 3'
ends 1 '1 passed, 1 failed' 'an error after the last case' 'status 3'
given x/test_a.sh 'echo 1..1; echo "ok 1 - a"; echo "ok 2 - b"'
ends 1 '2 passed, 1 failed' 'more cases than planned' 'a plan of 1'
given x/test_a.sh 'echo "ok 1 - a"'
ends 1 '1 passed, 1 failed' 'no plan'
given x/test_a.sh '# run-tests: timeout 1
echo 1..1; sleep 100'
ends 1 '0 passed, 1 failed' 'a program that hangs' 'timeout of 1 s'
given x/test_a.sh 'echo 1..1; echo "ok 1 - a"; echo "stack of a child" >${ASAN_OPTIONS##*log_path=}.7'
ends 1 '1 passed, 1 failed' 'a sanitizer report of any process' 'stack of a child'
given x/test_a.sh 'echo 1..2; echo "Bail out! no network"; exit 1'
ends 1 '0 passed, 1 failed' 'a program that gives up' 'no network'
given unit/test_a.c ''
ends 1 '0 passed, 1 failed' 'a test that nobody built' 'is not built'
rm -rf "$scratch/tests"
ends 1 '0 passed, 0 failed' 'no test at all'
given x/test_a.sh 'echo 1..1; echo "ok 1 - a"'
ends 1 '0 passed, 0 failed' 'no test of the name asked for' "no test 'y/test_b'" y/test_b
ends 1 '0 passed, 0 failed' 'nor of one of two' "no test 'x/test_b'" x/test_a x/test_b
ends 0 '1 passed, 0 failed' 'the test of the name asked for' '' x/test_a
