#!/bin/bash
# run-tests: timeout 300
# Every benchmark runs, tiny, and writes lines of the shape that bench/run promises, as it goes; what it started
# and made is gone afterwards. No time is asserted.
#
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export BENCH_TINY=1 BENCH_ROUNDS=1 BENCH_THREADS=1 TMPDIR=$scratch BENCH_PLOTS=$scratch/points
mkdir "$BENCH_PLOTS"

# shaped COUNT: $scratch/out has at least COUNT lines of JSON, with the seven keys and no other.
shaped() {
    python3 - "$1" "$scratch/out" <<'END' 2>>"$scratch/err"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[2])]
assert len(lines) >= int(sys.argv[1]), f"{len(lines)} lines"
assert len({line["name"] for line in lines}) == len(lines), "a name twice"
for line in lines:
    assert list(line) == ["name", "value", "unit", "against", "ratio", "goal", "met"], line
    assert line["name"] and line["unit"] and isinstance(line["value"], (int, float)), line
    assert (line["against"] is None) == (line["ratio"] is None), line
    assert (line["goal"] == "-") == (line["met"] is None), line
END
}

# clean: nothing of a benchmark is left, in the directory or running from it.
clean() {
    [ -z "$(find "$scratch" -name 'lh-bench*')" ] && ! grep -ls "$scratch/lh-[b]ench" /proc/[0-9]*/cmdline
}

# bench NAME COUNT: two cases.
bench() {
    bench/run --json "$1" >"$scratch/out" 2>"$scratch/err" && shaped "$2"
    verdict $? "$1: at least $2 figures of the promised shape"
    clean
    verdict $? "$1: nothing is left"
}

# refused TEXT: bench/run fails, and says so.
refused() {
    ! bench/run --json "$1" >"$scratch/out" 2>"$scratch/err" && grep -qF -- "$2" "$scratch/err"
}

echo 1..16
bench latency 12
bench takeover 10
bench leases 7
bench steps 13
grep -q '"name":"renew, 1000 leases".*"ratio":[0-9]' "$scratch/out"
verdict $? 'steps: many leases stand beside few'
bench clients 21
bench check 6
refused no-such 'there is no bench/bench_no-such'
verdict $? 'a benchmark that is not there is an error'
mkdir "$scratch/bin"
for program in bash awk dirname grep mktemp rm; do ln -s "$(command -v $program)" "$scratch/bin"; done
PATH=$scratch/bin refused clients 'cannot run redis-server: No such file'
verdict $? 'a server that is not installed is named'
bench/plot "$BENCH_PLOTS" "$scratch" && [ "$(find "$scratch" -maxdepth 1 -name 'bench-*.svg' | wc -l)" = 3 ]
verdict $? 'what they left for plots is drawn'
