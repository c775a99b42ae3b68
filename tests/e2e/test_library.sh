#!/bin/bash
# run-tests: timeout 300
# libleasehold against three daemons: the examples, compiled as a user would against the installed tree.
. "$(dirname "$0")/lib.sh"
plan 16
(cd "$root" && DESTDIR=$dir/root meson install -C build --no-rebuild --quiet) >"$dir/install.log" 2>&1
for pc in "$dir"/root/usr/local/lib/*/pkgconfig "$dir"/root/usr/local/lib/pkgconfig; do
    [ -d "$pc" ] && export PKG_CONFIG_PATH=$pc
done
export PKG_CONFIG_SYSROOT_DIR=$dir/root
LD_LIBRARY_PATH=$(pkg-config --variable=libdir leasehold)
case $LD_LIBRARY_PATH in "$dir"*) ;; *) LD_LIBRARY_PATH=$dir/root$LD_LIBRARY_PATH ;; esac
export LD_LIBRARY_PATH

# build NAME: compiles examples/NAME.c with what pkg-config says.
build() {
    # shellcheck disable=SC2046 # words
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror "$root/examples/$1.c" \
        $(pkg-config --cflags --libs leasehold) -o "$dir/$1" >"$dir/build.log" 2>&1
}

nets 3
cluster 3 max-ttl=3s
check 'hold compiles against the installed tree, as C99' build hold
check 'three nodes serve' eval 'start 1 2 3 && serving 1 2 3'
all=$dir/1.sock,$dir/2.sock,$dir/3.sock

# holds WHO NAME TTL_MS [ENDPOINTS]: starts hold in the background; a line to ${typing[WHO]} is a line typed.
declare -A typing=()
holds() {
    local who=$1 type
    mkfifo "$dir/$who.in"
    exec {type}<>"$dir/$who.in"
    typing[$who]=$type
    (
        exec <"$dir/$who.in"
        for type in "${typing[@]}"; do exec {type}>&-; done # or it would hold its own input open
        exec "$dir/hold" "$2" "${4:-$all}" "$3" >"$dir/$who.log" 2>&1
    ) &
    pid[$who]=$!
}
closes() { local fd=${typing[$1]}; exec {fd}>&-; }
says() { grep -q -- "$2" "$dir/$1.log"; }
types() { echo >&"${typing[$1]}"; }
token_said() { sed -n 's/^granted token \([0-9]*\).*/\1/p' "$dir/$1.log"; }

# --- acquire, renew, wait, release ---
holds a job 600
check 'A is granted' eventually 10 says a '^granted'
token=$(token_said a)
lease 2 GET job
check 'under the token that the cluster knows' is token "$token"
for_ms 2000
types a
check 'and holds it beyond three TTLs, by renewing' eventually 5 says a "^valid token $token"
holds b job 600 "$dir/2.sock"
check 'B waits, and is told for whom' eventually 5 says b "^waiting for .* token $token"
closes a
check 'A releases when it has stopped' ended a 0
check 'B is granted then' eventually 10 says b '^granted'
check 'under a greater token' [ "$(token_said b)" -gt "$token" ]
check 'and knows its predecessor' says b "after token $token of '.*@"

# --- lost ---
cli 1 revoke job
check 'revoked, B is told so' ended b 76
check 'with the cause' says b '^lost, cause 4, '
holds c job 600 "$dir/2.sock"
check 'C is granted' eventually 10 says c '^granted'
kill9 2
check 'its node is killed: C is told that the lease is in danger, then that it is lost' ended c 76
check 'because the node is gone' says c '^lost, cause 6, '
holds d job 600
check 'D, which knows all three, gets it from another' eventually 10 says d '^granted'
