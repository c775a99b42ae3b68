#!/bin/bash
# The table of users' scenarios in docs/testing.md against the tests: every number has its row; every test that a row names has a
# case of that number; every case with a number is named by its row. What is planted into a copy must be noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
numbers='1 2 4 6 7 8 10 11 12 13 14 15 17 19 21 22 23 25 26 27 29 30 31 32 34 35 37 39'

# trouble_in TABLE [DIRECTORY]: what is wrong with it, against the tests below DIRECTORY.
trouble_in() {
    # shellcheck disable=SC2086 # a list
    python3 - "$1" "${2:-.}" $numbers <<'END'
import glob, re, sys
table, below, numbers = sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3:]]
rows = {}
for line in open(table):
    row = re.match(r'\| (\d+) \|.*\|.*\|(.*)\|$', line)
    if row:
        rows.setdefault(int(row[1]), []).append(row[2])
cases = {}
for pattern in ('unit/test_*.c', 'e2e/test_*.sh'):
    for path in glob.glob(below + '/tests/' + pattern):
        found = re.findall(r'\b(?:test_)?scenario[ _](\d+)', open(path).read())
        cases[path[len(below) + 1:]] = {int(n) for n in found}
for number in numbers:
    if len(rows.get(number, [])) != 1:
        print(f'scenario {number} has no row, or two')
        continue
    files = re.findall(r'`(tests/[^`]*)`', rows[number][0])
    if not files and not re.fullmatch(r' with the (log|table) ', rows[number][0]):
        print(f'scenario {number} names no test')
    for path in files:
        if number not in cases.get(path, ()):
            print(f'{path} has no scenario {number}')
for path in cases:
    for number in cases[path]:
        if not any(f'`{path}`' in row for row in rows.get(number, [])):
            print(f'scenario {number} does not name {path}')
END
}
notices() { trouble_in "$@" >"$scratch/out" && grep -qF "$wanted" "$scratch/out"; }

echo 1..5
trouble_in docs/testing.md >"$scratch/out"
! [ -s "$scratch/out" ]
verdict $? 'every scenario has its tests, and every test its row'
grep -v '^| 27 |' docs/testing.md >"$scratch/table"
wanted='scenario 27 has no row' notices "$scratch/table"
verdict $? 'a row taken out is noticed'
sed '/^| 10 |/s/`tests.*`/later/' docs/testing.md >"$scratch/table"
wanted='scenario 10 names no test' notices "$scratch/table"
verdict $? 'a row without a test is noticed'
mkdir -p "$scratch/tree/tests" && cp -r tests/unit tests/e2e "$scratch/tree/tests"
sed -i 's/scenario 21/scenario 20/' "$scratch/tree/tests/e2e/test_scenarios_clock.sh"
wanted='tests/e2e/test_scenarios_clock.sh has no scenario 21' notices docs/testing.md "$scratch/tree"
verdict $? 'a test taken out is noticed'
grep -qx 'scenario 20 does not name tests/e2e/test_scenarios_clock.sh' "$scratch/out"
verdict $? 'and so is one that has no row'
