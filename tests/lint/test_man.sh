#!/bin/bash
# The manual pages and the completion against the programs: every command, every option of every command and every key of the
# configuration that --help shows is there; groff has nothing to complain of. What is taken out of a copy must be noticed.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
build=${LEASEHOLD_BUILD:-$PWD/build}
export PATH=$build:$PATH LC_ALL=C.UTF-8

commands() { leasehold --help | sed -nE 's/^  ([a-z]+) .*/\1/p'; }
options() { leasehold "$1" --help 2>/dev/null | sed -nE 's/^  --?([A-Za-z-]+).*/\1/p'; }

# missing_in PAGE: what leasehold(1) does not have.
missing_in() {
    local command option section
    for command in $(commands); do
        section=$(sed -n "/^\.Ss $command\$/,/^\.S[hs] /p" "$1")
        [ -n "$section" ] || echo "no section on $command"
        case $command in help | version) continue ;; esac
        for option in $(options "$command"); do
            grep -qE "^(\.It Fl (\\\\-)?| +--)$option([ ,]|\$)" <<<"$section" || echo "$command: --$option is missing"
        done
    done
}
keys_missing_in() {
    local key
    for key in $("$build/leaseholdd" --help | sed -nE 's/^  --([a-z-]+).*/\1/p'); do
        case $key in config | config-test | help | member) continue ;; esac
        grep -qE "^\.It Cm $key( |\$)" "$1" || echo "the key $key is missing"
    done
}
is_empty() { ! [ -s "$scratch/out" ]; }

echo "1..27"
missing_in docs/man/leasehold.1 >"$scratch/out"
is_empty && [ "$(commands | wc -l)" -gt 10 ] && [ "$(options run | wc -l)" -gt 8 ]
verdict $? 'leasehold(1) has every command and option'
keys_missing_in docs/man/leasehold.conf.5 >"$scratch/out"
is_empty
verdict $? 'leasehold.conf(5) has every key'
grep -v 'Fl .-on-lost' docs/man/leasehold.1 >"$scratch/page"
missing_in "$scratch/page" >"$scratch/out"
grep -q '^run: --on-lost is missing$' "$scratch/out"
verdict $? 'an option taken out is noticed'
grep -v '^.It Cm max-ttl' docs/man/leasehold.conf.5 >"$scratch/page"
keys_missing_in "$scratch/page" >"$scratch/out"
grep -q 'max-ttl' "$scratch/out"
verdict $? 'a key taken out is noticed'
if command -v groff >/dev/null; then
    for page in docs/man/*.[1-8]; do groff -mdoc -ww -z -Tutf8 "$page" 2>&1; done >"$scratch/out"
    is_empty
    verdict $? 'groff has nothing to complain of'
else
    number=$((number + 1))
    echo "ok $number - groff has nothing to complain of # skip no groff"
fi

# completes WORD...: what bash offers after them, on one line.
completes() {
    "${BASH:-bash}" -c '. packaging/completion/leasehold; COMP_WORDS=(leasehold "$@"); COMP_CWORD=$#; _leasehold; echo "${COMPREPLY[*]}"' bash "$@"
}
check() {
    completes "${@:3}" >"$scratch/out"
    [ "$(cat "$scratch/out")" = "$2" ]
    verdict $? "$1"
}
check 'completion: a command' 'watch' wat
check 'completion: an option' '--kill-after --keep' run n --k
check 'completion: of watch' '--exec' watch --e
mkdir "$scratch/fake"
cat >"$scratch/fake/leasehold" <<'END'
#!/bin/sh
[ "$1 $2 $6" = "list --json jo" ] && echo '{"leases":[{"name":"job/a","holder":"x"},{"name":"jo b"},{"name":"job-2"}]}'
END
chmod +x "$scratch/fake/leasehold"
PATH=$scratch/fake:$PATH check 'completion: the names of leases' 'job/a job-2' get jo
check 'completion: no name without a daemon' '' get jo
check 'completion: an option that stands in the usage only' '--quick' check --q
check 'completion: the command under run' 'leaseholdd' run n -- leaseholdd
check 'completion: no option of another command' '' sim --tr
check 'completion: its options are its own' '' run n -- ls --k
check 'completion: only one command after help' '' help run wat

# The same in zsh, whose completion system is not there: what it is given is printed, without what it would not offer.
completes() {
    zsh -f -c '
        offer() { reply=("${(@P)1}") && print -rn -- ${${(M)reply:#${PREFIX}*}%%:*} "" }
        _describe() { offer $2 }
        compadd() { offer $2 }
        _files() { print -n files }
        _normal() { print -n "$CURRENT: $words" }
        words=(leasehold "$@") CURRENT=$#words PREFIX=$words[-1]
        . packaging/completion/_leasehold' zsh "$@" | tr -s ' ' | sed 's/^ //; s/ $//'
}
if command -v zsh >/dev/null; then
    check 'zsh: a command' 'watch' wat
    check 'zsh: an option' '--kill-after --keep' run n --k
    PATH=$scratch/fake:$PATH check 'zsh: the names of leases' 'job/a jo b job-2' get jo
    check 'zsh: an option that stands in the usage only' '--quick' check --q
    check 'zsh: the command under run' '2: ls --k' run n -- ls --k
    check 'zsh: a file' 'files' keygen pack
else
    for ((i = 0; i < 6; i++)); do echo "ok $((number += 1)) - zsh # skip it is not installed"; done
fi

# And in fish.
completes() {
    fish --no-config -c '
        source packaging/completion/leasehold.fish
        complete -C "$argv" | string replace -r "\t.*" "" | string join " "' leasehold "$@"
}
if command -v fish >/dev/null; then
    check 'fish: a command' 'watch' wat
    check 'fish: an option' '--keep --kill-after' run n --k
    PATH=$scratch/fake:$PATH check 'fish: the names of leases' 'jo b job/a job-2' get jo
    check 'fish: an option that stands in the usage only' '--quick' check --q
    check 'fish: the command under run' 'leaseholdd' run n -- leaseholdd
    check 'fish: a file' 'packaging/' keygen packag
else
    for ((i = 0; i < 6; i++)); do echo "ok $((number += 1)) - fish # skip it is not installed"; done
fi
