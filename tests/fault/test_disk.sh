#!/bin/bash
# run-tests: timeout 300
# A disk that stands still for five seconds: no lease is lost, grants go on, and what has to wait for it waits.
# Should SIGKILL end this test while it does, a loop device stays behind: mount it, then `fsfreeze -u`, then umount.
. "$(dirname "$0")/../e2e/lib.sh"
plan 9
if [ "$(id -u)" != 0 ] || ! [ -e /dev/loop-control ]; then
    for ((i = 1; i <= 9; i++)); do skip 'a disk that stands still' 'no loop devices'; done
    exit 0
fi
nets 3
cluster 3
for n in 1 2 3; do
    configure $n max-ttl=2s record="$dir/$n.record"
    truncate -s 8M "$dir/$n.disk"
    mkfs.ext4 -q "$dir/$n.disk" && mkdir "$dir/$n.data" && mount -o loop "$dir/$n.disk" "$dir/$n.data"
done
still=()
thaw() {
    local n
    for n in "${still[@]}"; do fsfreeze -u "$dir/$n.data"; done
    still=()
}
trap 'thaw; end_everything' EXIT
start 1 2 3
check 'three nodes serve, each on a disk of its own' serving 1 2 3
hold holder job 2s 1
check 'a command runs' eventually 5 beats job
token=$(token_of job)

from=$(now_ms)
for n in 1 2 3; do
    fsfreeze -f "$dir/$n.data"
    still+=("$n")
done
grants() {
    local granted=0
    while [ $(($(now_ms) - from)) -lt 5000 ]; do
        acquires 1 "still$granted" TTL 300ms && acquires 2 "other$granted" TTL 300ms || return 1
        granted=$((granted + 1))
    done
    [ $granted -gt 5 ]
}
check 'all disks stand still for 5 s, and leases are granted all the while' grants
check 'the command beats' beats job
check 'under its token' [ "$(token_of job)" = "$token" ]

kill9 3
start_with 3
check 'a daemon that starts meanwhile waits for its disk, and grants nothing' eval '
    for_ms 500; ! { listens 3 && is_state 3 serving; }'
thaw
check 'the disks go on: it serves' serving 1 2 3
for n in 1 2 3; do stop $n; done
check 'the daemons end in order' true
check 'by the records, no name had two owners' only_one_owner
