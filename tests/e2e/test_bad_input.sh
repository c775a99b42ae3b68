#!/bin/bash
# run-tests: timeout 300
# What a person may mistype, and what a machine may do to a daemon: each refusal has its exit code, names the value, says what
# to do, and is one line that no terminal obeys. The configuration's kinds are in test_daemon.sh, the client port's in
# tests/fault/test_resp.sh, data directories in tests/fault/test_directory.sh.
. "$(dirname "$0")/lib.sh"
plan 109
nets 3
cluster 3 max-ttl=30s
leaseholdd=$root/build/leaseholdd # a sanitizer's library would have to be the first one
around=(env LD_PRELOAD="$tools/clock_rate.so" BOOT_CLOCK_STEP="$dir/step")
start 1
around=()
start 2 3
check 'three nodes serve' serving 1 2 3

# refused TEXT WORD...: exit 64, and a line that begins with "leasehold COMMAND: " and has the text; no byte a terminal obeys.
refused() {
    local text=$1
    shift
    exits 64 1 "$@" && head -n 1 "$dir/cli.log" | grep -q "^leasehold[a-z ]*: " && grep -qF -- "$text" <(head -n 1 "$dir/cli.log") &&
        ! grep -q '[[:cntrl:]]' "$dir/cli.log" && [ -z "$out" ]
}
refuses() { check "refused: ${*:2}" refused "$@"; }
long=$(printf 'a%.0s' {1..256})
not_utf8=$(printf 'a\377b')
hostile=$(printf 'a\033[31mb\nc')

# --- the name, of every command that takes one ---
for command in acquire get revoke watch 'renew --token 65793 --holder me' 'release --token 65793 --holder me' 'run job -- true'; do
    read -ra words <<<"$command"
    [ "${words[0]}" = run ] && unset 'words[1]'
    for name in '' "$long" "$not_utf8" @leader "$hostile"; do
        case $name in
        '') text='is empty' ;;
        "$long") text='has 256 bytes: at most 255' ;;
        "$not_utf8" | "$hostile") text='is not UTF-8 or has control characters' ;;
        @*) text="'@leader' begins with '@'" ;;
        esac
        check "${words[0]}: the name $text" refused "$text" "${words[0]}" "$name" "${words[@]:1}"
    done
done

# --- durations ---
refuses "the duration '0' of --ttl is refused: must be longer than 0" acquire x --ttl 0
refuses "the duration '-1s' of --ttl is refused" acquire x --ttl=-1s
refuses "the duration '0.0001s' of --ttl is refused: it must be a whole number of milliseconds" acquire x --ttl 0.0001s
refuses "the duration '1e3' of --ttl is refused" acquire x --ttl 1e3
refuses "the duration '' of --ttl is refused" acquire x --ttl ''
refuses "the duration 'a?[31mb?c' of --wait is refused" acquire x --wait "$hostile"
refuses "TTL '49ms' is below the least, 50ms; ask for more" acquire x --ttl 49ms
refuses "TTL '31s' is above this cluster's max-ttl 30s; ask for less" run x --ttl 31s -- true
refuses '--kill-after 6s is longer than half of the TTL, 10s unless given' run x --kill-after 6s -- true
refuses "the duration '0' of --pulse is refused" run x --pulse 0 -- true

# --- hooks and others ---
refuses "'' of --on-lost is no command: write a line for /bin/sh" run job --on-lost '' -- true
refuses "'' of --exec is no command: write a line for /bin/sh" watch job --exec ''
refuses "the name '@x' begins with '@'" list --prefix @x

# --- tokens and holders ---
check 'A holds' answers granted 1 ACQUIRE held TTL 30s HOLDER me
token=${reply[token]}
refuses "'abc' of --token is not a positive whole number" renew held --token abc --holder me
refuses "'-5' of --token is not a positive whole number" renew held --token -5 --holder me
refuses "'99999999999999999999' of --token is too large" renew held --token 99999999999999999999 --holder me
refuses "'99999999999999999999' of --token" renew held --token 99999999999999999999 --holder me
refuses "'5' is no token: give the one that was granted" renew held --token 5 --holder me
refuses '--token is missing' renew held --holder me
refuses '--holder is missing' release held --token "$token"
refuses "the holder '' of 0 bytes is refused" acquire held --holder ''
refuses "...' of 256 bytes is refused: write 1 to 255" acquire held --holder "${long//a/h}"
refuses "the holder 'a?[31mb?c'" acquire held --holder "$hostile"
others() { exits 76 2 "$1" held --token "$2" --holder "$3" && grep -qF "'held' is not held under token $2 by '$3': $4" "$dir/cli.log"; }
check "renew with another's token" others renew $((token + 256)) me 'the token is not the present one'
check "renew with another's holder" others renew "$token" you 'the holder is not the present one'
check "release with another's token" others release $((token + 256)) me 'the token is not the present one'
check "release with another's holder" others release "$token" you 'the holder is not the present one'
check 'after all that A holds' answers held 3 GET held

# --- commands, options, endpoints ---
refuses "unknown command 'aquire': did you mean 'acquire'?" aquire x
refuses "unknown command 'lock': did you mean 'run'?" lock x true
refuses "unknown command 'lease': did you mean 'acquire'?" lease grant 10
refuses 'the command to run is missing: to hold the lease until Ctrl-C, write -- sleep infinity' run x
refuses "unknown option '-n': did you mean '--nonblock'?" run x -n true
refuses "unknown option '-w': did you mean '--wait'?" run x -w 5 true
refuses "unknown option '-w': did you mean '--json'?" get x -w json
refuses "unknown option '--endpoints': did you mean '--connect'?" run x --endpoints=a true
refuses "unknown option '-try': did you mean '--wait'?" run x -try=5s true
refuses "unknown option '-child-exit-code': leave it out" run x -child-exit-code true
refuses "unknown option '-c': for a line of a shell write -- sh -c" run x -c true
refuses "unknown option '--holder': leave it out" run x --holder me true
refuses "unknown option '--id': did you mean '--holder'?" acquire x --id me
refuses "unknown option '-ttl': did you mean '--ttl'?" run x -ttl=5 true
refuses "unknown option '-c': options begin with '--'" get x -c
refuses "one argument too many: 'x'" version x
refuses "one argument too many: 'x'" help run x
refuses "'-E0': the value of -E is a word of its own: write -E 0" run x -E0 -- true
refuses "'-E=5,6': the value of -E is a word of its own: write -E 5,6" run x -E=5,6 -- true
refuses "'-E=': the value of -E is a word of its own: write -E N" run x -E= -- true
refuses "--on-lost needs a value (HOOK)" run x --on-lost -- true
refuses "unknown option '-E=5': options begin with '--'" acquire x -E=5
refuses "unknown command 'a?[31mb?c'" "$hostile"
refuses "unknown option '--a?[31mb?c'" acquire x "--$hostile"
refuses "one argument too many: 'a?[31mb?c'" acquire x "$hostile"
unreached() { ! LEASEHOLD_CONNECT=$1 "$leasehold" get x >"$dir/get.out" 2>"$dir/cli.log" && grep -qF -- "$2" "$dir/cli.log"; }
check 'a socket that nobody listens on' unreached "$dir/nobody.sock" "no daemon: $dir/nobody.sock"
install -m 0600 /dev/null "$dir/file"
check 'a file that is no socket' unreached "$dir/file" "$dir/file: cannot connect"
check 'a URL' unreached http://localhost:7741 "endpoint 'http://localhost:7741' is a URL: write unix:PATH, /PATH, tcp:HOST:PORT or HOST:PORT"
check 'a URL of tcp' unreached tcp://localhost:7741 "endpoint 'tcp://localhost:7741' is a URL: write"
check 'an endpoint without a port' unreached 127.0.0.1 "endpoint '127.0.0.1' has no port"

refuses "unknown option '--bogus': \`leasehold sim --help\` lists them" sim --bogus
check 'a cluster to try things on, without loopback' eval \
    'ip netns add down && ! ip netns exec down "$leasehold" dev >"$dir/dev.out" 2>"$dir/dev.log"'
check 'says what to do' grep -q '^leasehold dev: .*127.0.0.1.*ip link set lo up' "$dir/dev.log"

# --- as a user who may not: below /run, since $dir is closed to others ---
mkdir -m 0755 /run/open
install -m 0755 "$leasehold" "$leaseholdd" /run/open
install -m 0600 "$dir/keyring" /run/open/keyring
sed 's|^keyring = .*|keyring = /run/open/keyring|' "$dir/1.conf" >/run/open/conf
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/run/open/sock")'
chmod 0 /run/open/sock
somebody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
# denied CODE TEXT COMMAND...: somebody else's command exits so and says so.
denied() {
    local wanted=$1 text=$2
    shift 2
    "${somebody[@]}" "$@" >"$dir/denied.out" 2>"$dir/cli.log"
    [ $? = "$wanted" ] && grep -qF -- "$text" "$dir/cli.log"
}
if "${somebody[@]}" true 2>/dev/null; then
    check 'a socket of others' denied 69 "the socket is for its owner and group (leaseholdd's socket-mode)" \
        /run/open/leasehold get x --connect /run/open/sock
    check "a keyring of another's" denied 64 '/run/open/keyring: Permission denied: chown it to the user of this daemon' \
        /run/open/leaseholdd --config /run/open/conf
    chmod 0 /run/open/keyring
    check 'a keyring that nobody may read' denied 64 '/run/open/keyring: Permission denied: chown it' \
        /run/open/leaseholdd --config /run/open/conf
    chmod 0 /run/open/conf
    check 'a configuration that nobody may read' denied 64 '/run/open/conf: Permission denied; let the user of this daemon read it' \
        /run/open/leaseholdd --config /run/open/conf
else
    for what in 'a socket of others' "a keyring of another's" 'a keyring that nobody may read' \
        'a configuration that nobody may read'; do
        skip "$what" 'no other user here'
    done
fi

# --- a clock that goes backwards ---
echo -5 >"$dir/step"
check 'a daemon whose clock goes backwards stops at once' eventually 10 not kill -0 "${pid[1]}"
check 'and says why' grep -q 'CLOCK_BOOTTIME went backwards, from [0-9]* ns to [0-9]* ns: no lease can be timed' "$dir/1.log"
check 'the others serve' acquires 2 after TTL 1s
rm "$dir/step"
(
    LD_PRELOAD="$tools/clock_rate.so" BOOT_CLOCK_STEP="$dir/client.step" LEASEHOLD_CONNECT=unix:$dir/2.sock \
        exec "$leasehold" run clocked --ttl 1s -- env -u LD_PRELOAD "$tools/beat" "$dir/clocked.beats" 2>"$dir/clocked.log"
) &
pid[clocked]=$!
check 'a wrapper with such a clock runs' eventually 5 beats clocked
echo -5 >"$dir/client.step"
check 'stops' eventually 10 not kill -0 "${pid[clocked]}"
check 'says why' grep -q 'CLOCK_BOOTTIME went backwards' "$dir/clocked.log"
check 'and its command has ended before the next starts' eval 'acquires 3 clocked TTL 1s; beats clocked; for_ms 100; ! beats clocked && no_overlap clocked'
