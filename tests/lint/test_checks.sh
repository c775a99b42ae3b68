#!/bin/bash
# run-tests: timeout 300
# The include and purity checks can fail: bugs are planted in a scratch copy, each in a file of its own, and
# the check must name each file and what is wrong there. Before that it must pass: the check of includes on
# the sources as they are, that of purity on one clean file, since tools/lint runs it on all of them.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh


# plant FILE EXPECTED TEXT: the check must print a line with both FILE and EXPECTED.
plant() {
    mkdir -p "$(dirname "$scratch/tree/$1")"
    printf '%s\n' "$3" >"$scratch/tree/$1"
    printf '%s\t%s\n' "$1" "$2" >>"$scratch/expected"
}

run_check() {
    "tools/$check" "$scratch/tree" >"$scratch/out" 2>&1
}

refuses_all() {
    local file text
    run_check
    [ $? -ne 0 ]
    verdict $? "$check fails"
    while IFS=$'\t' read -r file text; do
        grep -F "$file" "$scratch/out" | grep -qF -- "$text"
        verdict $? "$check names $file: $text"
    done <"$scratch/expected"
}

echo 1..26
check=check-includes
mkdir "$scratch/tree"
cp -r src include "$scratch/tree/"
run_check
verdict $? 'check-includes passes on the sources as they are'
plant src/base/planted.c 'planted.c:2: base must not include "lease/acceptor.h"' '
#include "lease/acceptor.h"'
plant src/lease/upward.c 'must not include "host/machine.h"' '#include "host/machine.h"'
plant src/log/planted.h 'must not include "table/table.h"' '#include "table/table.h"'
plant src/table/planted.h 'must not include "log/log.h"' ' # include "log/log.h"'
plant src/host/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/sim/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/check/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/client/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/cli/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/os/planted.c 'must not include "node/loop.h"' '#include "node/loop.h"'
plant src/lease/beside.c 'does not start at src/' '#include "acceptor.h"'
plant src/lease/clock.c 'must not include <time.h>' '#include <time.h>'
plant src/extra/planted.c 'no such layer: extra' '#include <time.h>'
plant include/leasehold/planted.h 'must not include "base/time.h"' '#include "base/time.h"'
refuses_all

check=check-purity
rm -rf "$scratch/tree" "$scratch/expected"
mkdir -p "$scratch/tree/src/lease" "$scratch/tree/include"
echo '#include <string.h>
int f0(const char *a, const char *b); int f0(const char *a, const char *b) { return memcmp(a, b, strlen(a)); }' \
    >"$scratch/tree/src/lease/clean.c"
run_check
verdict $? 'check-purity passes on a clean file'
plant src/base/clock.c 'must not call time' '#include <time.h>
long f1(void); long f1(void) { return time(0); }'
plant src/lease/planted.c 'must not call malloc' '#include <stdlib.h>
void *f2(void); void *f2(void) { return malloc(9); }'
plant src/host/planted.c 'must not call printf' '#include <stdio.h>
void f3(int n); void f3(int n) { printf("%d", n); }'
plant src/log/planted.c 'must not call strdup' '#include <string.h>
char *f4(char *s); char *f4(char *s) { return strdup(s); }'
plant src/base/data.c 'hidden is data that can be written' '
static int hidden; int f5(void); int f5(void) { return ++hidden; }'
plant src/table/planted.c '#error' '#error does not compile'
plant src/host/upper.c 'must not call nowhere' '
int nowhere(void); int upper(void); int upper(void) { return nowhere(); }'
plant src/base/planted.c 'must not call upper' '
int upper(void); int f6(void); int f6(void) { return upper(); }'
refuses_all
