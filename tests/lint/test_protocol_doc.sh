#!/bin/bash
# run-tests: timeout 300
# The documents against the tree: every `path` and `path:name` in backticks exists, every rule has a row with code and a
# test, operations.md gives each key of the daemon with its default, and the packaged configuration is accepted. What is
# planted into copies of the documents must be noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh


# has PATH NAME: a source defines or declares NAME; a test or a table of planted bugs has it as a word; a shell test
# has a case of that text.
has() {
    case $1 in
    *.sh) grep -qF -- "'$2'" "$1" ;;
    tests/planted/changes) grep -q "^change $2 " "$1" ;;
    tests/*) grep -qw -- "$2" "$1" ;;
    src/*) grep -qE "\b$2(\(|;)" "$1" ;;
    *) return 1 ;;
    esac
}

# names_of FILE: what it names in backticks that looks like a file of the tree.
names_of() {
    # shellcheck disable=SC2016 # backticks
    grep -oE '`(src|tests|tools|docs|examples|packaging|include)/[^`]*`' "$1" | tr -d '`' | sort -u
}

# names_exist FILE
names_exist() {
    local name path bad=0
    while IFS= read -r name; do
        path=${name%%[: ]*}
        if ! compgen -G "$path" >/dev/null; then
            echo "$1: no $path"
            bad=1
        elif [[ $name == "$path":* ]] && ! has "$path" "${name#*:}"; then
            echo "$1: no '${name#*:}' in $path"
            bad=1
        fi
    done < <(names_of "$1")
    return $bad
}

# links_exist FILE: the files it links to, relative to its own directory.
links_exist() {
    local link bad=0
    while IFS= read -r link; do
        [ -e "$(dirname "${2:-$1}")/$link" ] || { echo "$1: no $link" && bad=1; }
    done < <(grep -oE '\]\([^)#:]+\)' "$1" | sed 's/^](//; s/)$//' | sort -u)
    return $bad
}

rules='P1 P2 P3 P4 P5 P6 A1 A2 A3 A4 D L1 T1 T2 T3 T4 F1 F2 F3 F4 F5 Clock Stale Identity 1 2 3 4 5 6 7 8'

# rules_have_rows FILE: each rule, and each finding of the audit, has one row with code and tests.
rules_have_rows() {
    local rule row bad=0
    for rule in $rules; do
        row=$(grep -E "^\| ([A-Z0-9]+, )?${rule}[ ,]" "$1")
        # shellcheck disable=SC2016
        if ! [[ $row == *'`src/'*'`tests/'* ]]; then
            echo "$1: no row with code and tests for $rule"
            bad=1
        fi
    done
    return $bad
}

# keys_have_rows FILE: "| `key` | default |" for each row of the table in config_key.c.
keys_have_rows() {
    perl -0777 -ne '
        while (/^    \{"([a-z-]+)", LH_CONFIG_\w+, FIELD\([^)]*\), [^,]+, [^,]+, (NULL|"[^"]*"),/mg) {
            print "$1 ", $2 eq "NULL" ? "required" : $2 eq q("") ? "nothing" : substr($2, 1, -1), "\n"
        }' src/node/config_key.c >"$scratch/keys"
    local key value bad=0
    [ "$(wc -l <"$scratch/keys")" -gt 15 ] || { echo "config_key.c cannot be read" && return 1; }
    while read -r key value; do
        grep -qF "| \`$key\` | $value |" "$1" || { echo "$1: no row for $key, $value" && bad=1; }
    done <"$scratch/keys"
    return $bad
}

# refuses TEXT COMMAND...: COMMAND fails and says TEXT.
refuses() {
    local text=$1
    shift
    ! "$@" >"$scratch/out" 2>&1 && grep -qF -- "$text" "$scratch/out"
}

documents=(README.md CHANGELOG.md docs/*.md)
echo "1..$((2 * ${#documents[@]} + 10))"
for document in "${documents[@]}"; do
    names_exist "$document" >"$scratch/out" 2>&1
    verdict $? "$document: what it names exists"
    links_exist "$document" >"$scratch/out" 2>&1
    verdict $? "$document: what it links to exists"
done
rules_have_rows docs/protocol.md >"$scratch/out" 2>&1
verdict $? 'protocol.md: every rule and finding has code and tests'
keys_have_rows docs/operations.md >"$scratch/out" 2>&1
verdict $? 'operations.md: every key has its default'

daemon=${LEASEHOLD_BUILD:-build}/leaseholdd
"${LEASEHOLD_BUILD:-build}/leasehold" keygen "$scratch/keyring"
"$daemon" --config packaging/leasehold.conf --keyring "$scratch/keyring" --config-test >"$scratch/out" 2>&1
verdict $? 'packaging/leasehold.conf is accepted'
sed 's/^#\([a-z-]* =.*\)/\1/' packaging/leasehold.conf >"$scratch/all.conf"
"$daemon" --config "$scratch/all.conf" --keyring "$scratch/keyring" --config-test >"$scratch/out" 2>&1
verdict $? 'and so it is with every comment that shows a default taken in'

sed 's/lh_proposer_start/lh_proposer_begin/' docs/protocol.md >"$scratch/a.md"
refuses "no 'lh_proposer_begin' in src/lease/proposer.c" names_exist "$scratch/a.md"
verdict $? 'a function that is not there is noticed'
sed 's/P3_needs_now_before_td/P3_needs_now/' docs/protocol.md >"$scratch/b.md"
refuses "no 'P3_needs_now' in tests/unit/test_proposer.c" names_exist "$scratch/b.md"
verdict $? 'a test that is not there is noticed'
sed 's/late-timer\.script/later-timer.script/' docs/protocol.md >"$scratch/c.md"
refuses 'no tests/script/later-timer.script' names_exist "$scratch/c.md"
verdict $? 'a file that is not there is noticed'
grep -v '^| A2 ' docs/protocol.md >"$scratch/d.md"
refuses 'no row with code and tests for A2' rules_have_rows "$scratch/d.md"
verdict $? 'a rule without a row is noticed'
sed 's/| 60s |/| 10s |/' docs/operations.md >"$scratch/e.md"
refuses 'no row for max-ttl' keys_have_rows "$scratch/e.md"
verdict $? 'another default is noticed'
sed 's/timing\.md)/times.md)/' README.md >"$scratch/f.md"
refuses 'no docs/times.md' links_exist "$scratch/f.md" README.md
verdict $? 'a link to nowhere is noticed'
