#!/bin/bash
# run-tests: timeout 300
# The SQL of docs/fencing.md, taken from there, refuses a stale token: in the databases that this machine has.
. "$(dirname "$0")/lib.sh"
plan 11

# statement HEADING FIRST: the first statement below the heading that begins so, for token 42.
statement() {
    awk -v heading="## $1" -v first="$2" '
        $0 == heading { inside = 1; next }
        /^## / { inside = 0 }
        inside && index($0, "    " first) == 1 { taking = 1 }
        taking { print; if (/;$/) exit }' "$root/docs/fencing.md"
}
with_token() { sed "s/42/$1/g"; }

# --- SQLite ---
lite() { sqlite3 "$dir/lite.db" 2>"$dir/sqlite.log"; }
lite_admits() {
    local begin insert changes
    begin=$(statement SQLite BEGIN) insert=$(statement SQLite 'INSERT INTO fence') changes=$(statement SQLite SELECT)
    [ "$(with_token "$1" <<<"$begin $insert $changes COMMIT;" | lite)" = 1 ]
}
if command -v sqlite3 >/dev/null; then
    statement SQLite 'CREATE TABLE' | lite
    check 'SQLite: 41 is admitted' lite_admits 41
    check 'SQLite: 42 is admitted' lite_admits 42
    check 'SQLite: 41 is refused' not lite_admits 41
    check 'SQLite: 42 is admitted again' lite_admits 42
else
    for text in 41 42 '41 again' '42 again'; do skip "SQLite: $text" 'no sqlite3'; done
fi

# --- PostgreSQL, which does not run as root ---
bin=$(dirname "$(readlink -f "$(command -v postgres || echo /nowhere/postgres)")")
pgdir=/mnt/pg
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
pg() { nobody psql -X -A -t -q -h "$pgdir" -U nobody postgres 2>>"$dir/psql.log"; }
pg_ready() { echo 'SELECT 1;' | pg | grep -q 1; }
pg_starts() {
    # Its user cannot enter the test's own directory; /mnt is of this mount namespace only.
    mount -t tmpfs -o mode=755 none /mnt && mkdir "$pgdir" && chown 65534:65534 "$pgdir" && nobody true || return 1
    (cd "$pgdir" && nobody "$bin/initdb" -D "$pgdir/data" -U nobody -A trust --no-sync) >"$dir/initdb.log" 2>&1 || return 1
    (cd "$pgdir" && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/postgres" -D "$pgdir/data" \
        -c listen_addresses= -c unix_socket_directories="$pgdir" -c fsync=off) >"$dir/postgres.log" 2>&1 &
    eventually 30 pg_ready
}
insert=$(statement PostgreSQL 'INSERT INTO fence')
pg_admits() { [ "$(with_token "$1" <<<"BEGIN; $insert COMMIT;" | pg)" = "$1" ]; }
# acts TOKEN: admitted, then writes in the same transaction once the file $dir/go is there.
pg_acts() {
    {
        echo '\set ON_ERROR_STOP 1'
        with_token "$1" <<<"BEGIN; $insert"
        echo "\\o $pgdir/admitted.$1"
        echo "SELECT 1;"
        echo '\o'
        until [ -e "$dir/go" ]; do pause; done
        echo "INSERT INTO acts (token) VALUES ($1); COMMIT;"
    } | pg >/dev/null
}
waits_for_lock() { [ "$(echo "SELECT count(*) FROM pg_locks WHERE NOT granted;" | pg)" -gt 0 ]; }
one_row() { [ "$(echo "UPDATE account SET balance = $1, token = $1 WHERE id = 7 AND token <= $1 RETURNING token;" | pg)" = "${2-$1}" ]; }
if [ -x "$bin/initdb" ] && pg_starts; then
    statement PostgreSQL 'CREATE TABLE' | pg
    echo 'CREATE TABLE acts (n serial, token bigint);
          CREATE TABLE account (id int, balance int, token bigint); INSERT INTO account VALUES (7, 0, 0);' | pg
    check 'PostgreSQL: 41 is admitted' pg_admits 41
    pg_acts 41 &
    check 'PostgreSQL: 41 is admitted again and has not acted yet' eventually 10 test -s "$pgdir/admitted.41"
    pg_acts 42 &
    check 'PostgreSQL: 42 waits for it' eventually 10 waits_for_lock
    touch "$dir/go"
    order() { [ "$(echo 'SELECT token FROM acts ORDER BY n;' | pg)" = $'41\n42' ]; }
    check 'PostgreSQL: they act in the order of their tokens' eventually 10 order
    check 'PostgreSQL: 41 is refused from then on' not pg_admits 41
    check 'PostgreSQL: 42 is admitted again' pg_admits 42
    one_statement() { one_row 41 && one_row 42 && one_row 41 '' && one_row 42; }
    check 'PostgreSQL: a row that carries its own fence' one_statement
else
    for text in 41 'again' 'waits' 'order' '41 refused' '42 again' 'one row'; do
        skip "PostgreSQL: $text" 'no PostgreSQL that can be started here'
    done
fi
