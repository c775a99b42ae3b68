#!/bin/bash
# run-tests: timeout 300
# The SQL of docs/fencing.md, taken from there, refuses a stale token: in the databases that this machine has.
. "$(dirname "$0")/lib.sh"
plan 17

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

# --- MariaDB, whose programs need no installation beyond their files ---
my_dir=/mnt/my
my_sql() { mariadb --no-defaults -S "$my_dir/sock" -u root -N -B -n test 2>>"$dir/mariadb.log"; }
my_ready() { echo 'SELECT 1;' | my_sql | grep -q 1; }
my_starts() {
    mountpoint -q /mnt || mount -t tmpfs -o mode=755 none /mnt
    mkdir -p "$my_dir" && mariadb-install-db --no-defaults --user=root --auth-root-authentication-method=normal \
        --datadir="$my_dir/data" >"$dir/mariadb-install.log" 2>&1 || return 1
    mariadbd --no-defaults --user=root --datadir="$my_dir/data" --socket="$my_dir/sock" --skip-networking \
        --innodb-flush-log-at-trx-commit=0 >"$dir/mariadbd.log" 2>&1 &
    echo 'CREATE DATABASE IF NOT EXISTS test;' >"$dir/create"
    eventually 60 eval 'mariadb --no-defaults -S "$my_dir/sock" -u root <"$dir/create" 2>>"$dir/mariadb.log" && my_ready'
}
# my_acts TOKEN [FILE]: a transaction as it stands in the document. It stops where the document says so; once admitted it tells, and
# waits for FILE before it writes.
my_acts() {
    local seen to from pipe
    pipe=$(mktemp -u "$dir/my.XXXXXX")
    mkfifo "$pipe.to" "$pipe.from"
    my_sql <"$pipe.to" >"$pipe.from" &
    exec {to}>"$pipe.to" {from}<"$pipe.from"
    echo "$my_begin $my_select" >&"$to"
    if ! read -rt 30 seen <&"$from" || [ "$seen" -gt "$1" ]; then
        echo 'ROLLBACK;' >&"$to"
        exec {to}>&- {from}<&-
        return 1
    fi
    touch "$dir/my.admitted.$1"
    [ -z "${2:-}" ] || until [ -e "$2" ]; do pause; done
    { with_token "$1" <<<"$my_update" && echo "INSERT INTO acts (token) VALUES ($1); COMMIT;"; } >&"$to"
    exec {to}>&-
    cat <&"$from"
    exec {from}<&-
}
# information_schema.innodb_trx would be a copy that is not renewed for as long as it is asked for more often than every 100 ms.
my_waits() { echo "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits';" | my_sql | grep -qw '[1-9]'; }
my_order() { [ "$(echo 'SELECT token FROM acts ORDER BY n;' | my_sql)" = "$1" ]; }
if command -v mariadbd mariadb mariadb-install-db >/dev/null && my_starts; then
    my_begin=$(statement 'MySQL, MariaDB' START) my_select=$(statement 'MySQL, MariaDB' SELECT)
    my_update=$(statement 'MySQL, MariaDB' 'UPDATE fence')
    {
        statement 'MySQL, MariaDB' 'CREATE TABLE' && statement 'MySQL, MariaDB' 'INSERT IGNORE'
        echo 'CREATE TABLE acts (n int AUTO_INCREMENT PRIMARY KEY, token bigint) ENGINE = InnoDB;'
    } | my_sql
    check 'MariaDB: 41 is admitted' my_acts 41
    rm "$dir/my.admitted.41"
    my_acts 41 "$dir/my.go" &
    check 'MariaDB: 41 is admitted again and has not acted yet' eventually 30 test -e "$dir/my.admitted.41"
    my_acts 42 &
    check 'MariaDB: 42 waits for it' eventually 30 my_waits
    touch "$dir/my.go"
    check 'MariaDB: they act in the order of their tokens' eventually 30 my_order $'41\n41\n42'
    check 'MariaDB: 41 is refused from then on' eval '! my_acts 41 && my_order $'"'41\n41\n42'"
    check 'MariaDB: 42 is admitted again' my_acts 42
else
    for text in 41 'again' 'waits' 'order' '41 refused' '42 again'; do
        skip "MariaDB: $text" 'no MariaDB that can be started here'
    done
fi
