# What shell tests of one program share: a directory that ends with the test, TAP, and a command whose output is
# kept in $scratch/out and $scratch/err. To be sourced.
#
# shellcheck shell=bash
set -uo pipefail
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
number=0
program=() # what `gives` runs, with words in front of its own

# verdict STATUS NAME: one TAP line; on failure with the last output.
verdict() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
    [ "$1" -eq 0 ] || cat "$scratch/out" "$scratch/err" 2>/dev/null | tail -n 40 | sed 's/^/# /'
}

# gives STATUSES TEXT ARGUMENT...: the program ends with a status of that pattern and says TEXT, on either stream.
gives() {
    local wanted=$1 text=$2 status=0
    "${program[@]}" "${@:3}" >"$scratch/out" 2>"$scratch/err" || status=$?
    echo "status $status, expected $wanted and: $text" >>"$scratch/err"
    # The outputs are no pipe into grep -q: it closes at the first match, and pipefail would report the writer.
    # shellcheck disable=SC2053 # a pattern
    [[ $status == $wanted ]] && grep -qF -- "$text" <(cat "$scratch/out" "$scratch/err" | sed '$d')
}
