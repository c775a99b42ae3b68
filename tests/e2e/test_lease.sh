#!/bin/bash
# The everyday of a lease on three nodes: any node takes any command, and all tell the same.
. "$(dirname "$0")/lib.sh"
nets 3
cluster 3
start 1 2 3
check 'start' serving 1 2 3
lease 1 ACQUIRE job TTL 1s HOLDER me
declare -p reply
leasehold=$leasehold
$leasehold status --connect unix:$dir/1.sock
cat $dir/1.log
