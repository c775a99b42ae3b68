#!/bin/bash
# `leasehold sim --timeline FILE.svg`: who held what over time, with the faults. What is drawn is compared with the event log and the counts of
# the same run.
. "$(dirname "$0")/../tap.sh"
build="${LEASEHOLD_BUILD:-build}"
program=("$build/leasehold" sim)
drawn="$scratch/drawn.svg"

# drawing COMMANDS: python3 on the drawing: `spans` are (class, title, x, width), `texts` all texts, `log` the event log's lines, `out` what the run said.
drawing() {
    python3 - "$drawn" "$scratch/log" "$scratch/out" >>"$scratch/err" 2>&1 <<END
import re, sys, xml.etree.ElementTree as ET
tree = ET.parse(sys.argv[1])
svg = "{http://www.w3.org/2000/svg}"
spans = [(e.get("class"), e[0].text, float(e.get("x")), float(e.get("width"))) for e in tree.iter(svg + "rect") if len(e)]
texts = [e.text for e in tree.iter(svg + "text")]
lines = [e.get("class") for e in tree.iter(svg + "line")]
log = [line.split() for line in open(sys.argv[2])]
out = open(sys.argv[3]).read()
count = lambda name: int((re.search(name + r" (\d+)", out) or [0, 0])[1])
$1
END
}

gives 0 "clean" --seed 7 --timeline "$drawn" --log "$scratch/log" && drawing '
assert [t for t in texts if t.startswith("node ")] == ["node 1", "node 2", "node 3"], texts
holders = [s for s in spans if s[0] == "node"]
assert len(holders) == count("grants") > 100, (len(holders), count("grants"))
granted = [line for line in log if line[1] == "granted"][0]
assert holders[0][1].startswith("node %s holds n" % granted[2]) and "token %s," % granted[3] in holders[0][1], (granted, holders[0])
assert any(s[0] == "client" and "token %s," % granted[3] in s[1] for s in spans)'
verdict $? "a lane for each node, a bar for each grant of a node, and the client's within it"

drawing '
downs = [(line[2], int(line[0]) / 1e9) for line in log if line[1] == "down"]
crashes = [s for s in spans if s[0] == "crashed"]
assert len(crashes) == len(downs) == count("crashes") > 100, (len(crashes), len(downs))
assert any(s[1].startswith("node %s crashed, %.6f s to" % downs[0]) for s in crashes), (downs[0], crashes[0])
assert all(x >= 0 and width > 0 for kind, title, x, width in spans)
assert lines.count("healed") == 1 and "wrong" not in lines'
verdict $? "every crash of the event log is drawn where it happened"

gives 0 "clean" --seed 1 --timeline "$drawn" && drawing '
kinds = {s[0] for s in spans}
assert {"silent", "paused", "asleep", "link", "cut", "disk", "disk failing"} <= kinds, kinds
assert len([s for s in spans if s[0] in ("link", "cut")]) == count("cuts"), count("cuts")
assert len([s for s in spans if s[0] in ("paused", "asleep")]) == count("pauses"), count("pauses")'
verdict $? "pauses, cuts and trouble with disks are drawn"

gives 0 "event log" --seed 1 --timeline "$scratch/again.svg" && cmp "$drawn" "$scratch/again.svg" >>"$scratch/err" && grep 'event log' "$scratch/out" >"$scratch/hash" &&
    gives 0 "event log" --seed 1 && grep 'event log' "$scratch/out" | cmp - "$scratch/hash" >>"$scratch/err"
verdict $? "the same seed gives the same drawing, byte for byte, and is not changed by it"

gives 3 "both hold" --seeds 1..50 --weaken no-quarantine && seed=$(sed -n '/^replay/{s/.*--seed \([0-9]*\).*/\1/p;q}' "$scratch/out") &&
    gives 3 "both hold" --seed "$seed" --weaken no-quarantine --timeline "$drawn" && drawing '
assert len([s for s in spans if s[0] == "node two"]) == 2, spans[-9:]
assert lines.count("wrong") == 1 and any("both hold" in t for t in texts), texts[-5:]'
verdict $? "two that hold one lease are outlined, where the run ended"

gives 64 "needs a single --seed" --seeds 1..2 --timeline "$drawn" && gives 1 "No such file" --seed 1 --timeline "$scratch/none/x.svg" &&
    gives 64 "at most 1h" --seed 1 --duration 2h --timeline "$drawn"
verdict $? "several seeds, or more than an hour, are refused"

echo "1..$number"
