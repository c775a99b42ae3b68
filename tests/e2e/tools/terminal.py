#!/usr/bin/env python3
"""terminal.py [TYPED EXPECTED]...: an interactive bash on a terminal of its own. Types each TYPED (\\n, \\x03 and so on are
understood) and waits until EXPECTED is shown, after what was expected before. Exits with 1 after printing what was shown if
something is not within 10 s."""
import os
import pty
import select
import signal
import sys
import time

bash, terminal = pty.fork()
if bash == 0:
    os.environ["PS1"] = "prompt> "
    os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])
shown, at, code = b"", 0, 0


def shows(text):
    global shown, at
    until = time.monotonic() + 10
    while shown.find(text, at) < 0:
        if not select.select([terminal], [], [], max(0, until - time.monotonic()))[0]:
            return False
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the other end was closed
            return False
    at = shown.find(text, at) + len(text)
    return True


steps = [word.encode().decode("unicode_escape").encode() for word in sys.argv[1:]]
for typed, expected in zip([b""] + steps[::2], [b"prompt> "] + steps[1::2]):
    os.write(terminal, typed)
    if not shows(expected):
        print("# after %r came no %r: %r" % (typed, expected, shown[-400:]))
        code = 1
        break
os.kill(bash, signal.SIGHUP)
os.close(terminal)
os.waitpid(bash, 0)
sys.exit(code)
