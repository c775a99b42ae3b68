#!/usr/bin/env python3
"""hold.py SOCKET NAME: waits for the lease NAME, acts while it is valid, and releases it at Ctrl-C or SIGTERM.

The client is redis-py, from Debian's python3-redis; with any other of the Redis protocol it is the same."""
import signal
import socket
import sys
import time
import uuid

import redis

TTL_NS = 3_000_000_000


def clock():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def ask(*words):
    """The answer, and how long it lets us act: counted from before the request left, shrunk by how far clocks may differ."""
    sent = clock()
    reply = daemon.execute_command("LEASE", *words)
    answer = dict(zip(reply[::2], reply[1::2]))
    until, rate = answer.get("until-ns", 0), answer.get("rate-ppm", 0)
    return answer, sent + until * (1_000_000 - rate) // (1_000_000 + rate)


def acquire(name, holder):
    """Waits in line. Whose turn it is asks again, with the same ID."""
    status = None
    while status != "granted":
        if status != "turn":
            request = uuid.uuid4().int >> 66
        answer, deadline = ask("ACQUIRE", name, "TTL", "3s", "HOLDER", holder, "ID", request, "WAIT", "30s")
        status = answer["status"]
    return answer["token"], deadline


path, name = sys.argv[1:]
daemon = redis.Redis(unix_socket_path=path, decode_responses=True)
holder = f"{socket.gethostname()}:{uuid.uuid4()}"  # no two processes share one
signal.signal(signal.SIGTERM, signal.default_int_handler)
token, deadline = acquire(name, holder)
try:
    while clock() < deadline:  # asked anew before each step, however long the last answer took
        print("acting under token", token, flush=True)
        time.sleep(0.1)
        if deadline - clock() < TTL_NS / 2:
            answer, renewed = ask("RENEW", name, token, holder)
            if answer["status"] == "lost":
                sys.exit("lost: " + answer["reason"])
            deadline = max(deadline, renewed)
except KeyboardInterrupt:
    pass
finally:
    ask("RELEASE", name, token, holder)
