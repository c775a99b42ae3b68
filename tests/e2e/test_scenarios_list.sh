#!/bin/bash
# run-tests: timeout 300
# What users of other lock services report (the numbers are those of the list), as far as get, list and revoke answer it:
# holder, age, renewals, last renewal, what remains, and when the next owner can come.
. "$(dirname "$0")/lib.sh"
plan 57
nets 3
cluster 3
for n in 1 2 3; do configure $n max-ttl=10s; done
start 1 2 3
check 'three nodes serve' serving 1 2 3
says() { grep -q -F -- "$1" "$dir/cli.log"; }
prints() { grep -qE -- "$1" <<<"$out"; }

# field KEY: a number or text of the JSON in $out; the first with that key.
field() { grep -oE "[{,]\"$1\":\"?[^\",}]*" <<<"$out" | head -n1 | sed -E 's/^[^:]*:"?//'; }
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

# --- scenario 1: A expires, comes back and still finds its old record ---
answers granted 1 ACQUIRE old TTL 300ms HOLDER ada
a=${reply[token]}
check 'scenario 1: A has expired' eventually 3 answers free 3 GET old
not_owner() { exits 76 "$1" "$2" old --token $a --holder ada && says "'old' is not held under token $a by 'ada'"; }
check 'scenario 1: A comes back to its own node: not the owner' not_owner 1 renew
check 'scenario 1: nor does its release mean anything at another' not_owner 3 release
check 'scenario 1: B gets a token above' eval 'acquires 2 old TTL 2s HOLDER bob && [ ${reply[token]} -gt $a ]'
b=${reply[token]}
check 'scenario 1: A is not the owner, while B is' eval 'not_owner 1 renew && not_owner 2 renew && not_owner 1 release'
check 'scenario 1: B still has it' eval 'answers held 3 GET old && is holder bob && is token $b'
check 'scenario 1: nor is A under the name of B' eval 'exits 76 1 renew old --token $a --holder bob && exits 76 1 renew old --token $b --holder ada'
check 'scenario 1: A may have it anew, under a token above' eval 'answers released 2 RELEASE old $b bob && acquires 1 old TTL 300ms HOLDER ada && [ ${reply[token]} -gt $b ]'

# --- scenario 13: T = 10 s: the next owner can come within [T, T + guard]. Here T is 2 s; with 1 % the guard is 41 ms. ---
check 'scenario 13: A holds for T' exits 0 1 acquire bounds --ttl 2s --holder ada
from=$(now_ms)
for n in 1 2 3; do
    check "scenario 13: get prints both bounds at node $n" eval 'exits 0 $n get bounds && prints "the next owner can come in [0-9.]+m?s, and no later than in [0-9.]+m?s"'
done
cli 2 get bounds --json
check 'scenario 13: and has both in JSON, the lower one first' eval 'between "$(field next_owner_min_ms)" 1 2000 && between "$(field next_owner_max_ms)" "$(field next_owner_min_ms)" 2041'
check 'what remains is not above the lower bound by more than the view is old' eval 'between "$(field remaining_ms)" 1 2000'
check 'scenario 13: B, who waits at another node, gets it' exits 0 2 acquire bounds --ttl 1s --wait 10s --holder bob
took=$(($(now_ms) - from))
check 'scenario 13: after T and not long after' between "$took" 1900 3000

# --- never below 0, through the end of a lease and after it, on every node ---
answers granted 1 ACQUIRE brief TTL 700ms HOLDER ada
never_below() {
    local n until=$(($(now_ms) + 1500))
    while [ "$(now_ms)" -lt $until ]; do
        for n in 1 2 3; do
            exits 0 $n get brief --json && ! prints '":-' || return 1
            exits 0 $n list --json && ! prints '":-' || return 1
        done
    done
    exits 0 1 get brief --json && prints '"status":"free","name":"brief"'
}
check 'nothing is below 0, however late it is' never_below

# --- scenario 15: T = 300 ms: granted exactly, or refused naming the minimum ---
for ttl in 300ms 0.3; do
    check "scenario 15: --ttl $ttl is 300 ms" eval 'exits 0 1 acquire "exact-$ttl" --ttl $ttl --json && [ "$(field ttl_ms)" = 300 ] && between "$(field remaining_ms)" 1 300'
done
check 'scenario 15: a TTL below the minimum is refused, naming it' eval 'exits 64 1 acquire exact --ttl 49ms && says "TTL '"'49ms'"' is below the least, 50ms"'
check 'scenario 15: above the maximum too' eval "exits 64 1 acquire exact --ttl 11s && says \"TTL '11s' is above this cluster's max-ttl 10s\""
check 'scenario 15: and of a renewal' eval 'exits 64 1 renew exact --token 65793 --holder h --ttl 1ms && says "TTL '"'1ms'"' is below the least, 50ms"'

# --- scenario 19: the holder died an hour ago ---
answers granted 3 ACQUIRE dead TTL 300ms HOLDER gone
check 'scenario 19: it is over' eventually 3 answers free 1 GET dead
check 'scenario 19: B gets it at once, without watching a whole T' within 0 1500 exits 0 2 acquire dead --ttl 10s --nonblock --holder bob

# --- scenario 29: 100 wait for one lease; it is released: one is granted it, the oldest; 99 hear nothing ---
answers granted 1 ACQUIRE crowd TTL 10s HOLDER ada
token=${reply[token]}
LEASEHOLD_CONNECT=unix:$dir/2.sock "$leasehold" acquire crowd --ttl 10s --wait 60s --holder oldest >"$dir/oldest.out" 2>&1 &
check 'scenario 29: one waits' eventually 5 eval '[ "$(status_of 2 waiters)" = 1 ]'
for ((i = 1; i <= 99; i++)); do
    "$leasehold" acquire crowd --ttl 10s --wait 60s --connect "unix:$dir/$((i % 3 + 1)).sock" >"$dir/crowd.$i" 2>&1 &
    crowd[i]=$!
done
hundred_wait() {
    renews 1 crowd "$token" ada TTL 10s && [ $(($(status_of 1 waiters) + $(status_of 2 waiters) + $(status_of 3 waiters))) = 100 ]
}
check 'scenario 29: and then 99 more' eventually 20 hundred_wait
check 'scenario 29: A lets go' answers released 1 RELEASE crowd "$token" ada
check 'scenario 29: the oldest is granted it' eval 'eventually 5 test -s "$dir/oldest.out" && answers held 3 GET crowd && is holder oldest'
check 'scenario 29: 99 hear nothing' [ -z "$(cat "$dir"/crowd.*)" ]
kill "${crowd[@]}"

# --- scenario 32: somebody forgot a lease ---
hold forgotten forgotten 3s 1
check 'scenario 32: somebody holds and renews' eventually 5 beats forgotten
renewed() { cli 2 list --json --prefix forgotten && [ "$(field renewals)" -ge 2 ]; }
check 'scenario 32: list shows how often it was renewed' eventually 10 renewed
check 'scenario 32: and when last' between "$(field renewed_ago_ms)" 0 3000
check 'scenario 32: and its age, which is more' between "$(field age_ms)" "$(field renewed_ago_ms)" 60000
check 'scenario 32: and the holder' eval '[ "$(field holder)" = "$(cli 1 get forgotten --json; field holder)" ] && [ -n "$(field holder)" ]'
check 'scenario 32: for people too' eval 'exits 0 3 list && prints "^NAME +TOKEN +NODE +LEFT +AGE +RENEWED +HOLDER$" && prints "^forgotten +[0-9]+ +1 +[0-9.]+m?s +[0-9.]+s +[0-9]+x, [0-9.]+m?s ago +.+@.+:[0-9a-f]{16}$"'
check 'the names in the JSON of list are stable' eval 'exits 0 2 list --json --prefix forgotten && prints "^\{\"leases\":\[\{\"name\":\"forgotten\",\"token\":[0-9]+,\"holder\":\"[^\"]+\",\"node\":1,\"remaining_ms\":[0-9]+,\"age_ms\":[0-9]+,\"renewals\":[0-9]+,\"renewed_ago_ms\":[0-9]+,\"ttl_ms\":3000,\"revoked\":false\}\],\"age_ms\":[0-9]+,\"missing\":\[\]\}$"'
check 'and of get' eval 'exits 0 2 get forgotten --json && prints "^\{\"status\":\"held\",\"name\":\"forgotten\",\"token\":[0-9]+,\"holder\":\"[^\"]+\",\"node\":1,\"ttl_ms\":3000,\"remaining_ms\":[0-9]+,\"age_ms\":[0-9]+,\"renewals\":[0-9]+,\"renewed_ago_ms\":[0-9]+,\"next_owner_min_ms\":[0-9]+,\"next_owner_max_ms\":[0-9]+,\"revoked\":false,\"reason\":null\}$"'
check 'scenario 32: revoke says when it ends' eval 'exits 0 3 revoke forgotten && prints "^forgotten  revoked: token [0-9]+ of .+ on node 1 ends within [0-9.]+m?s$"'
check 'scenario 32: the holder learns of it' ended forgotten 76
check 'scenario 32: and it is free' eval 'eventually 10 answers free 1 GET forgotten && exits 0 1 get forgotten && prints "^forgotten  free$"'
check 'scenario 32: list shows it no more' eval 'exits 0 2 list --json --prefix forgotten && prints "^\{\"leases\":\[\],"'
check 'no lease, said in words' eval 'exits 0 2 list --prefix forgotten && says "no lease is held whose name begins with"'

# --- that a lease is revoked is shown; nobody releases this one ---
answers granted 1 ACQUIRE barred TTL 10s HOLDER ada
check 'revoked' exits 0 2 revoke barred
check 'get tells so' eval 'exits 0 2 get barred && prints "^It was revoked: unless it is released, the next owner can come in " && ! prints "Unless it is renewed"'
check 'list too' eval 'exits 0 2 list --prefix barred && prints "^barred .* never, revoked +ada"'
check 'and both in JSON' eval 'exits 0 1 get barred --json && prints "\"revoked\":true" && exits 0 1 list --prefix barred --json && prints "\"revoked\":true"'
for name in s4 s1 s6 s2 s5 s3; do answers granted $((${name#s} % 3 + 1)) ACQUIRE $name TTL 10s HOLDER ada; done
check 'list is in the order of the names' eval 'exits 0 2 list --prefix s && [ "$(grep -oE "^s[0-9]" <<<"$out" | tr -d "\n")" = s1s2s3s4s5s6 ]'
check 'and in JSON' eval 'exits 0 2 list --prefix s --json && [ "$(grep -oE "\"s[0-9]\"" <<<"$out" | tr -d "\n\"")" = s1s2s3s4s5s6 ]'

# --- scenario 37: no owner, or two: a number for each name that alerts can be written on ---
owners() { cli 2 list --json --prefix alert && grep -o '"name":"alert"' <<<"$out" | wc -l; }
check 'scenario 37: none' [ "$(owners)" = 0 ]
hold alert alert 600ms 1
check 'scenario 37: one' eventually 5 eval '[ "$(owners)" = 1 ]'
hold standby alert 600ms 2
# Hand-overs, by revoking: never two.
most=0
for i in 1 2 3; do
    cli 3 revoke alert
    for ((j = 0; j < 20; j++)); do
        count_now=$(owners)
        [ "$count_now" -le $most ] || most=$count_now
    done
    hold again$i alert 600ms $((i % 3 + 1))
done
check 'scenario 37: never two, while it changes hands' [ $most -le 1 ]
check 'scenario 37: what was written shows no two either' no_overlap alert

# --- mistypes ---
check 'get without a name' eval 'exits 64 1 get && says "NAME is missing"'
check 'get of a system name' eval "exits 64 1 get @x && says \"'@x'\""

# --- columns: names as wide as a terminal shows them, and one that is very long ---
for name in t-plain t-日本語 $'t-e\u0301' t-🦊 "t-$(printf 'x%.0s' {1..253})"; do acquires 1 "$name" TTL 10s HOLDER ada; done
aligned() {
    python3 - "$dir/table" <<'PYTHON'
import sys, unicodedata
def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)
heading, *rows = open(sys.argv[1], encoding='utf-8').read().splitlines()
column = heading.index('TOKEN')
assert len(rows) == 5 and column == 50, (rows, column)
for row in rows:
    name, rest = row.split('  ', 1)
    at = width(row[:len(row) - len(rest.lstrip())])
    assert at == column or (len(name) == 255 and at == 257), row
PYTHON
}
for locale in C.UTF-8 C; do
    check "columns stand under their headings, in the locale $locale" eval \
        'LC_ALL=$locale LEASEHOLD_CONNECT=unix:$dir/1.sock "$leasehold" list --prefix t- >"$dir/table" && aligned'
done
