#!/bin/bash
# A client on a machine without a daemon: through `ssh -L`, as docs/operations.md says it, to a daemon's Unix socket. A lease
# through it is as safe as any: when the tunnel ends, the command is dead before the next starts.
. "$(dirname "$0")/lib.sh"
plan 8
if ! command -v sshd >/dev/null || [ "$(awk '{ print $3 }' /proc/self/uid_map)" -lt 65536 ]; then
    for ((n = 0; n < 8; n++)); do skip 'a tunnel' 'no sshd, or not root'; done
    exit 0
fi
nets 3
cluster 3 max-ttl=5s
start 1 2 3
check 'three nodes serve' serving 1 2 3

# --- an sshd on machine 1, a client on machine 254, which is this one ---
mkdir -p /run/sshd
for key in host client; do ssh-keygen -q -t ed25519 -N '' -f "$dir/$key"; done
cat >"$dir/sshd_config" <<C
HostKey $dir/host
AuthorizedKeysFile $dir/client.pub
ListenAddress 10.0.0.1
StrictModes no
UsePAM no
C
ip netns exec n1 "$(command -v sshd)" -D -e -f "$dir/sshd_config" 2>"$dir/sshd.log" &
remote=(-F none -i "$dir/client" -o UserKnownHostsFile="$dir/known" -o StrictHostKeyChecking=no
    -o ExitOnForwardFailure=yes -o BatchMode=yes)
check 'an sshd listens' eventually 10 grep -q 'Server listening' "$dir/sshd.log"

ssh "${remote[@]}" -N -L "$dir/far.sock:$dir/1.sock" 10.0.0.1 2>"$dir/ssh.log" &
pid[ssh]=$!
check 'a tunnel to the socket' eventually 10 test -S "$dir/far.sock"
check 'status through it' eval 'exits 0 far status && [[ $out == "node 1  serving"* ]]'
cli far run job --ttl 2s -- sh -c '"$0" get "$LEASEHOLD_NAME"' "$leasehold"
check 'run through it, and its command asks there, too' eval '[ $code = 0 ] && [[ $out == *"job "* ]]'

hold far cut 2s far
check 'a holder through it' eventually 5 beats cut
token=$(token_of cut)
hold near cut 2s 2
kill "${pid[ssh]}"
check 'the tunnel ends: its command is dead before the next starts' eval '
    eventually 10 has_token_above cut "$token" && no_overlap cut'
check 'and the loss is told' ended far 76
