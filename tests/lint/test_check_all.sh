#!/bin/bash
# tools/check-all with a checker that only says what it was called with: the smallest row first, compared
# where it is what ships, each once, those without a verdict again, and a wrong end noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export LEASEHOLD_BUILD=$scratch

cat >"$scratch/leasehold" <<'SCRIPT'
#!/bin/bash
if [ "$2" = --list ]; then
    echo '{"config":"large","module":"lease","weaken":null,"distinct":900}'
    echo '{"config":"weak","module":"lease","weaken":"late-timer","distinct":70}'
    echo '{"config":"others","module":"impl","weaken":null,"distinct":80}'
    echo '{"config":"small","module":"closed","weaken":null,"distinct":9}'
    exit
fi
echo "{\"config\":\"$2\",\"called\":\"${*:3}\"}"
! [ "$2" = "$FAILS" ] || exit "$CODE"
SCRIPT
chmod +x "$scratch/leasehold"

echo 1..6
export FAILS=others CODE=75
! tools/check-all "$scratch/rows"
verdict $? "a search without a verdict is noticed"
[ "$(sed 's/.*config":"\([a-z]*\).*/\1/' "$scratch/rows" | xargs)" = "small weak large" ]
verdict $? "the smallest first, and what has no verdict is not kept"
grep -qx '{"config":"small","called":"--json --conform"}' "$scratch/rows"
verdict $? "what ships is compared"
grep -qx '{"config":"weak","called":"--json"}' "$scratch/rows"
verdict $? "a weakened rule is not"
FAILS=others CODE=1
! tools/check-all "$scratch/rows"
verdict $? "a search that ends otherwise than recorded is noticed"
FAILS='' tools/check-all "$scratch/rows" && [ "$(wc -l <"$scratch/rows")" = 4 ] && grep -qx '{"config":"others","called":"--json"}' "$scratch/rows"
verdict $? "each row is there once, and stays"
