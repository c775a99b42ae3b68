#!/bin/bash
# run-tests: timeout 300
# The referees of these tests can fail: files with an overlap, a token that falls or a late grant are found out.
. "$(dirname "$0")/lib.sh"
plan 13

beaten() { printf '%s\n' "$@" >"$dir/x.beats"; }
beaten '5 100' '5 110' '7 111' '7 120'
check 'one after the other' no_overlap x
beaten '5 100' '7 110' '5 111' '7 120'
check 'a token that falls' not no_overlap x
check 'unless its holder was stopped' no_overlap x 5
check 'but not if another was' not no_overlap x 6
beaten '5 100' '5 120' '7 119'
check 'a beat before the last of the former holder' not no_overlap x
beaten '5 100' '7'
check 'a line that is no beat' not no_overlap x
: >"$dir/x.beats"
check 'nobody at all' not no_overlap x

recorded() { printf '%s\n' "$@" >"$dir/1.record"; }
grant='{"node":1,"n":1,"at":100,"event":"granted","key":"a","token":5,"until":200,"name":"x"}'
recorded "$grant" '{"node":2,"n":1,"at":201,"event":"granted","key":"a","token":7,"until":300}'
check 'a grant after the end of the other' only_one_owner
recorded "$grant" '{"node":2,"n":1,"at":199,"event":"granted","key":"a","token":7,"until":300}'
check 'a grant before the end of the other' not only_one_owner
recorded "$grant" '{"node":2,"n":1,"at":199,"event":"granted","key":"b","token":7,"until":300}'
check 'of another name' only_one_owner
recorded "$grant" '{"node":1,"n":2,"at":150,"event":"released","key":"a","token":5}' \
    '{"node":2,"n":1,"at":151,"event":"granted","key":"a","token":7,"until":300}'
check 'after a release' only_one_owner
recorded "$grant" '{"node":1,"n":2,"at":150,"event":"renewed","key":"a","token":5,"until":250}' \
    '{"node":2,"n":1,"at":210,"event":"granted","key":"a","token":7,"until":300}'
check 'before the end of a renewal' not only_one_owner
recorded '{"node":1,"n":1,"at":200,"event":"granted","key":"a","token":5,"until":200}'
check 'a grant that came after its own end' not only_one_owner
