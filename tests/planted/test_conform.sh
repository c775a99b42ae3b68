#!/bin/sh
# Every planted bug in P1 to P6, A1 to A4 and their like is noticed by the model checker's conformance alone.
# run-tests: timeout 900
exec "$(dirname "$0")/run" --conform
