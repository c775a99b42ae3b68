#!/bin/bash
# bench/plot draws what the benchmarks left: every series, of equal points the median, names that XML must not read.
#
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# drawn FILE LINES WORDS: it is XML with so many lines drawn, and it says WORDS.
drawn() {
    python3 - "$@" <<'END2'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
lines = [e for e in root.iter() if e.tag.endswith("polyline")]
assert len(lines) == int(sys.argv[2]), len(lines)
assert sys.argv[3] in [e.text for e in root.iter()], "words"
END2
}

echo 1..4
printf 'acquire\t%s\t%s\n' 10 0.1 10 0.5 100 0.5 100 0.5 1000 0.99 >"$scratch/latency.tsv"
printf 'a<b\t1\t100\nother\t1\t50\na<b\t32\t900\nother\t32\t70\n' >"$scratch/clients.tsv"
bench/plot "$scratch"
verdict $? 'draws what is there'
drawn "$scratch/bench-latency.svg" 1 acquire &&
    grep -qF 'points="80.0,328.0 340.0,200.0 600.0,43.2"' "$scratch/bench-latency.svg"
verdict $? 'latency: of rounds with the same share the median'
drawn "$scratch/bench-clients.svg" 2 'a<b' && [ ! -e "$scratch/bench-turns.svg" ]
verdict $? 'scaling: a line for each series; no plot without points'
mkdir "$scratch/empty" && ! bench/plot "$scratch/empty" 2>"$scratch/err" && grep -qF "BENCH_PLOTS=$scratch/empty" "$scratch/err"
verdict $? 'without points it says how to get them'
